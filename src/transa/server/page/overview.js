/* A run: its sizes, its training, what it is worth. */

import { address, get } from "./api.js";
import { curve } from "./drawings.js";
import { el, failure, figures, number, table } from "./dom.js";

const MEASURES = [["MR", "mr"], ["MRR", "mrr"], ["Hits@1", "hits@1"], ["Hits@3", "hits@3"], ["Hits@10", "hits@10"]];

export async function overview({ run, about }) {
  const found = await get(run, "");
  const relations = await get(run, "/relations", { limit: 100 });
  const worth = el("div", {}, el("button", { onclick: () => measure(run, worth) }, "Measure it on the test split"));
  const scored = found.curve.filter((line) => line.validation !== null);
  return {
    elements: [
      el("h1", {}, `${found.label} on ${run}`),
      figures([
        ["entities", number(found.entities)], ["relations", number(found.relations)], ["training triples", number(found.train)],
        ["validation triples", number(found.valid)], ["test triples", number(found.test)], ["dimensions", number(found.dim)],
      ]),
      el("p", {}, "Type a name above to open an entity, or ", el("a", { href: address(run, "ask") }, "ask a question"), "."),
      el("h2", {}, "Training"),
      found.curve.length
        ? curve([
          { name: "loss", points: found.curve.map((line) => [line.epoch, line.loss]) },
          { name: "score on valid", points: scored.map((line) => [line.epoch, line.validation]) },
        ])
        : el("p", { class: "quiet" }, "The run has no log."),
      el("h2", {}, "Link prediction"),
      about.test ? worth : el("p", { class: "quiet" }, "The graph has no test triples."),
      el("h2", {}, "Relations"),
      table(`${number(relations.total)} relations, the largest first`, [
        ["relation", (row) => el("a", { href: address(run, "relation", { name: row.key }) }, row.name)],
        ["training triples", (row) => number(row.triples), true],
      ], relations.items),
    ],
  };
}

async function measure(run, place) {
  place.replaceChildren("Ranking …");
  try {
    const found = await get(run, "/evaluation", { limit: 2000 });
    const rows = ["both", "head", "tail"].map((side) => [side, found[side].filtered]);
    const part = found.estimate ? `a sample of ${number(found.n)} of ${number(found.estimate.population)}` : `all ${number(found.n)}`;
    place.replaceChildren(table(`Filtered ranks of ${part} test triples`, [
      ["side", ([side]) => side],
      ...MEASURES.map(([name, key]) => [name, ([, values]) => number(values[key], 3), true]),
    ], rows));
  } catch (error) {
    place.replaceChildren(failure(error));
  }
}
