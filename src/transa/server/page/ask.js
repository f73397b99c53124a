/* A question: two of head, relation and tail are given, and the third is answered. */

import { address, post } from "./api.js";
import { combobox } from "./combobox.js";
import { bar, el, mark, number, say, table } from "./dom.js";

const KINDS = { head: "entities", relation: "relations", tail: "entities" };

export async function ask({ run, values }) {
  const fields = Object.fromEntries(Object.entries(KINDS).map(([place, kind]) =>
    [place, combobox(run, kind, { label: place, value: values[place] || "", key: values[place] || "" })]));
  const top = el("input", { type: "number", min: 1, max: 1000, value: values.top || 10 });
  const fresh = el("input", { type: "checkbox", checked: values.new_only === "true" });
  const within = el("input", { type: "checkbox", checked: values.in_range === "true" });
  const said = el("p", { class: "quiet" }, "Leave one of the three empty: it is asked for.");
  const form = el("form", {
    onsubmit: (event) => {
      event.preventDefault();
      const given = Object.fromEntries(Object.entries(fields).map(([place, { input }]) => [place, input.dataset.key || input.value.trim()]));
      if (Object.values(given).filter(Boolean).length !== 2) {
        said.textContent = "Give exactly two of head, relation and tail.";
        say(said.textContent);
        return;
      }
      location.hash = address(run, "ask", { ...given, top: top.value, new_only: fresh.checked || "", in_range: within.checked || "" });
    },
  }, Object.values(fields).map((field) => field.box), el("label", {}, el("span", {}, "answers"), top),
  el("label", { class: "check" }, fresh, el("span", {}, "only new facts")), el("label", { class: "check" }, within, el("span", {}, "only entities in range")),
  el("button", { class: "main" }, "Ask"));
  const answers = await answered(run, values);
  return { elements: [el("h1", {}, answers ? answers.title : "Ask"), form, answers ? null : said, answers && answers.elements].flat() };
}

async function answered(run, values) {
  const question = Object.fromEntries(Object.keys(KINDS).filter((place) => values[place]).map((place) => [place, values[place]]));
  if (Object.keys(question).length !== 2) return null;
  const found = await post(run, "/predict", {
    questions: [question], top: Number(values.top) || 10, new_only: values.new_only === "true", in_range: values.in_range === "true" });
  const [{ question: keys, asked, answers }] = found.questions;
  const triple = (answer) => ({ ...keys, [asked]: answer.key });
  const title = `(${["head", "relation", "tail"].map((place) => keys[place] || "?").join(", ")})`;
  const view = asked === "relation" ? "relation" : "entity";
  const shown = answers.length
    ? table(`${answers.length} answers, the most plausible first`, [
      ["place", (row) => row.place, true],
      [asked, (row) => el("a", { href: address(run, view, { name: row.key }) }, row.name)],
      ["probability", (row) => bar(row.probability)],
      ["score", (row) => number(row.score), true],
      ["state", (row) => mark(row)],
      ["reasons", (row) => el("a", { href: address(run, "explain", { ...triple(row), side: asked === "head" ? "head" : "" }), "aria-label": `Why ${row.name}` }, "why")],
    ], answers)
    : el("p", {}, "No answer is left.");
  return { title, elements: [shown, found.notes.map((note) => el("p", { class: "quiet" }, note))].flat() };
}
