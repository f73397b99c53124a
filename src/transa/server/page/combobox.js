/* A field that suggests entities or relations as one types, worked by mouse or keyboard. */

import { get } from "./api.js";
import { el } from "./dom.js";

let count = 0;

/**
 * kind: "entities" or "relations"; chosen(item) is called when one is taken. The field's value is the name of what was taken,
 * `input.dataset.key` its key.
 */
export function combobox(run, kind, { label, value = "", key = "", chosen = () => {}, hideLabel = false }) {
  const id = `combobox-${++count}`;
  const list = el("ul", { role: "listbox", id, hidden: true, "aria-label": `${label}: suggestions` });
  const input = el("input", {
    type: "text", role: "combobox", autocomplete: "off", spellcheck: "false", "aria-expanded": "false", "aria-controls": id,
    "aria-autocomplete": "list", "aria-label": hideLabel ? label : null, placeholder: hideLabel ? label : null, value,
  });
  input.dataset.key = key;
  let items = [], active = -1, asked = 0;

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    active = -1;
  }

  function choose(item) {
    input.value = item.name;
    input.dataset.key = item.key;
    close();
    chosen(item);
  }

  function point(place) {
    active = (place + items.length) % items.length;
    [...list.children].forEach((option, n) => option.setAttribute("aria-selected", n === active ? "true" : "false"));
    input.setAttribute("aria-activedescendant", `${id}-${active}`);
    list.children[active].scrollIntoView({ block: "nearest" });
  }

  async function suggest() {
    const mine = ++asked;
    const found = await get(run, `/${kind}`, { search: input.value, limit: 12 }).catch(() => ({ items: [] }));
    if (mine !== asked || document.activeElement !== input) return;
    items = found.items;
    list.replaceChildren(...items.map((item, n) =>
      el("li", { role: "option", id: `${id}-${n}`, "aria-selected": "false", onmousedown: (event) => { event.preventDefault(); choose(item); } },
        item.name, " ", el("span", { class: "quiet" }, item.key === item.name ? `${item.triples} facts` : item.key))));
    list.hidden = items.length === 0;
    input.setAttribute("aria-expanded", String(items.length > 0));
    active = -1;
  }

  /* Keys wait for the suggestions to what was typed before them: an answer may be slower than the fingers. */
  let ready = Promise.resolve(), waiting = 0;
  const after = (step) => { waiting += 1; ready = ready.then(step).finally(() => { waiting -= 1; }); };
  const ask = () => { ready = Promise.resolve(); after(suggest); };

  input.addEventListener("input", () => { input.dataset.key = ""; ask(); });
  input.addEventListener("focus", ask);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      after(() => (list.hidden ? suggest() : point(step > 0 || active >= 0 ? active + step : -1)));
    } else if (event.key === "Escape") close();
    else if (event.key === "Enter" && (waiting || !list.hidden) && (active >= 0 || (input.value && !input.dataset.key))) {
      event.preventDefault();
      after(() => { if (!list.hidden) choose(items[Math.max(active, 0)]); });
    }
  });
  const box = el("span", { class: "combobox" }, input, list);
  return { input, box: hideLabel ? box : el("label", {}, el("span", {}, label), box) };
}
