/* The API, and the addresses of views. */

async function called(path, options) {
  for (let tries = 0; ; tries++) {
    const response = await fetch(path, options);
    if (response.ok) return response.json();
    const again = response.headers.get("retry-after");
    if ((response.status === 429 || response.status === 503) && again && tries < 5) {
      await new Promise((done) => setTimeout(done, 1000 * Number(again)));
      continue;
    }
    if (response.status === 401) location.reload();
    const said = await response.json().catch(() => ({}));
    throw new Error(said.error || `the server says ${response.status}`);
  }
}

function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

const place = (run, call) => `api/v1/runs${run === null ? "" : `/${encodeURIComponent(run)}`}${call}`;

export const get = (run, call, values = {}) => called(place(run, call) + query(values));

export const post = (run, call, body) =>
  called(place(run, call), { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

export const file = (run, values) => place(run, "/verdicts/file") + query(values);

/** The address of a view: #/RUN/VIEW?name=value. */
export const address = (run, view = "", values = {}) => `#/${encodeURIComponent(run)}${view ? `/${view}` : ""}${query(values)}`;

export function here() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?");
  const [run, view] = path.split("/").map(decodeURIComponent);
  return { run: run || null, view: view || "", values: Object.fromEntries(new URLSearchParams(search || "")) };
}
