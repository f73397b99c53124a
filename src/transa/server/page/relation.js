/* A relation: its category, its figures, examples, and what its metric weighs. */

import { address, get } from "./api.js";
import { bars } from "./drawings.js";
import { el, failure, figures, number, table } from "./dom.js";

const DRAWN = 20;

export async function relation({ run, about, values }) {
  const found = await get(run, "/relation", { name: values.name });
  const metric = el("div", {}), worth = el("div", {}, "Measuring …");
  const end = (row, side) => el("a", { href: address(run, "entity", { name: row[side] }) }, row[`${side}_name`]);
  return {
    elements: [
      el("h1", {}, found.name), found.key === found.name ? null : el("p", { class: "quiet" }, found.key),
      found.description ? el("p", {}, found.description) : null,
      figures([["category", found.category], ["training triples", number(found.triples)], ["tails of a head", number(found.tails_per_head, 3)],
        ["heads of a tail", number(found.heads_per_tail, 3)], ["loops", `${(100 * found.loops).toFixed(0)} %`], ["threshold", number(found.threshold)]]),
      found.domain.length || found.range.length ? el("p", {}, `From ${found.domain.join(", ") || "anything"} to ${found.range.join(", ") || "anything"}.`) : null,
      el("p", {}, el("a", { href: address(run, "map", { colour: found.key }) }, "Colour the map by it")),
      el("h2", {}, "Examples"),
      table("Training triples drawn at random", [["head", (row) => end(row, "head")], ["tail", (row) => end(row, "tail")],
        ["reasons", (row) => el("a", { href: address(run, "explain", { head: row.head, relation: row.relation, tail: row.tail }),
          "aria-label": `Why ${row.head_name} ${row.tail_name}` }, "why")]], found.examples),
      about.metric ? [el("h2", {}, "Weights of its metric"), metric] : null,
      about.test ? [el("h2", {}, "Evaluation and calibration"), worth] : null,
    ].flat(),
    ready: () => {
      if (about.metric) weigh(run, found, metric);
      if (about.test) measure(run, found, worth);
    },
  };
}

async function weigh(run, found, place) {
  try {
    const { relations: [one] } = await get(run, "/metric", { relation: found.key, dimensions: DRAWN });
    place.replaceChildren(
      figures([["largest weight", number(one.largest_weight, 3)], ["median weight", number(one.median_weight, 3)], ["weights below 0", number(one.negative_weights)],
        ["condition", number(one.condition, 3)], ["positive definite", one.positive_definite ? "yes" : "no"], ["from Euclidean", number(one.distance_from_euclidean, 3)]]),
      el("p", { class: "quiet" }, "Shares of the score of a residual of ones, the largest first:"),
      bars(one.dimensions.map((part) => ({ name: `dimension ${part.dimension}`, value: part.share })), "Share of each dimension"),
      el("p", { class: "quiet" }, "The weights D of W = L D Lᵀ, in the order of the pivots:"),
      bars(one.weights.map((value, n) => ({ name: `pivot ${one.pivots[n]}`, value })).sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, DRAWN), "Weights of the metric"));
  } catch (error) {
    place.replaceChildren(failure(error));
  }
}

async function measure(run, found, place) {
  try {
    const ranks = await get(run, "/evaluation", { limit: 2000 }), decided = await get(run, "/classification", { limit: 2000 });
    const mine = ranks.relations[found.key], said = decided.relations[found.key], parts = [];
    if (mine) {
      parts.push(table(`Filtered ranks of ${number(mine.n)} test triples`, [["side", (side) => side],
        ...[["MR", "mr"], ["MRR", "mrr"], ["Hits@10", "hits@10"]].map(([name, key]) => [name, (side) => number(mine[side].filtered[key], 3), true])], ["both", "head", "tail"]));
    }
    if (said) {
      parts.push(figures([["accuracy", number(said.accuracy, 3)], ["without a model", number(said.by_share, 3)], ["F1", number(said.f1, 3)], ["ROC-AUC", number(said.auc, 3)], ["classified", number(said.n)],
        ...(decided.calibration ? [["Brier score, all relations", number(decided.calibration.brier, 3)], ["calibration error, all", number(decided.calibration.ece, 3)]] : [])]));
    }
    place.replaceChildren(...(parts.length ? parts : [el("p", { class: "quiet" }, "The test split, or its sample, has no triple of this relation.")]));
  } catch (error) {
    place.replaceChildren(failure(error));
  }
}
