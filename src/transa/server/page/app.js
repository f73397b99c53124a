/* The page: a header, and a view for each address. */

import { address, get, here } from "./api.js";
import { combobox } from "./combobox.js";
import { el, failure, say, show } from "./dom.js";
import { ask } from "./ask.js";
import { entity } from "./entity.js";
import { explanation } from "./explanation.js";
import { map } from "./map.js";
import { overview } from "./overview.js";
import { relation } from "./relation.js";
import { review } from "./review.js";

const VIEWS = { "": overview, ask, entity, explain: explanation, map, relation, review };
const NAVIGATION = [["", "Run"], ["ask", "Ask"], ["map", "Map"], ["review", "Review"]];

let runs = [];
let leave = null;
let shown = 0;

function header(run, view) {
  const search = combobox(run, "entities", {
    label: "Search entities", hideLabel: true, chosen: (item) => { location.hash = address(run, "entity", { name: item.key }); },
  });
  search.input.id = "search";
  const choice = el("select", { "aria-label": "Run", onchange: (event) => { location.hash = address(event.target.value); } },
    runs.map((each) => el("option", { value: each.run, selected: each.run === run }, each.run)));
  const links = NAVIGATION.map(([name, text]) =>
    el("a", { href: address(run, name), "aria-current": name === view ? "page" : null }, text));
  document.getElementById("header").replaceChildren(
    el("div", {}, el("a", { class: "brand", href: address(run) }, "transa"), choice, el("nav", { "aria-label": "Views" }, links),
      el("div", { class: "search", role: "search" }, search.box)));
}

async function route() {
  const mine = ++shown;
  const { run, view, values } = here();
  const found = runs.find((each) => each.run === run);
  if (!found) {
    location.replace(address(runs[0].run));
    return;
  }
  if (leave) leave();
  leave = null;
  header(run, view);
  document.title = `${view || "run"} · ${run} · transa`;
  try {
    const make = VIEWS[view];
    if (!make) throw new Error("there is no such view");
    const made = await make({ run, about: found, values, current: () => mine === shown });
    if (mine !== shown) return;
    show(made.elements);
    leave = made.leave || null;
    if (made.ready) made.ready();
  } catch (error) {
    if (mine === shown) show(el("h1", {}, "Not found"), failure(error));
  }
  const title = document.querySelector("main h1");
  if (title) {
    document.title = `${title.textContent} · ${run} · transa`;
    say(title.textContent);
  }
  document.body.dataset.shown = location.hash;
}

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.matches("input, select, textarea")) {
    event.preventDefault();
    document.getElementById("search").focus();
  }
});

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();  // its address is none of a view
  document.getElementById("main").focus();
});
window.addEventListener("hashchange", route);
get(null, "").then((found) => { runs = found.runs; route(); }).catch((error) => show(failure(error)));
