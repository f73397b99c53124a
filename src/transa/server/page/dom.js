/* Elements. Whatever comes from a graph becomes text, never markup: nothing here reads HTML. */

const SVG = new Set(["svg", "g", "path", "line", "circle", "rect", "text", "title", "polyline", "a:svg"]);

/** Make an element. Properties that begin with "on" are listeners, "class" and others are attributes; null children are left out. */
export function el(tag, properties = {}, ...children) {
  const name = tag.replace(":svg", "");
  const made = SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function show(...children) {
  document.getElementById("main").replaceChildren(...children.flat().filter(Boolean));
}

/** Tell something to those who cannot see that it happened. */
export function say(text) {
  document.getElementById("status").textContent = text;
}

export function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  if (Math.abs(value) < 1e-3) return value.toExponential(1);
  return Number(value.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
}

export function bar(value) {
  if (value === null || value === undefined) return el("span", {}, "–");
  const inside = el("span");
  inside.style.width = `${100 * value}%`;
  return el("span", {}, el("span", { class: "bar", "aria-hidden": "true" }, inside), value.toFixed(3));
}

export function mark(found) {
  const state = found.known ? "known" : found.note === "labelled false in the graph" ? "false" : "new";
  return el("span", { class: `mark ${state}` }, state);
}

/** A table: columns are [title, function of a row, whether numbers]. */
export function table(caption, columns, rows, properties = () => ({})) {
  const head = columns.map(([title, , numeric]) => el("th", { scope: "col", class: numeric && "number" }, title));
  const body = rows.map((row, place) =>
    el("tr", properties(row, place), columns.map(([, cell, numeric]) => el("td", { class: numeric && "number" }, cell(row, place)))));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)));
}

export function figures(pairs) {
  return el("ul", { class: "figures" }, pairs.map(([name, value]) => el("li", {}, el("strong", {}, value), name)));
}

export function failure(error) {
  return el("p", { class: "error", role: "alert" }, error.message);
}
