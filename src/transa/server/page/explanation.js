/* Why a triple is plausible or not: a sentence, reasons, and the residual under the metric. */

import { address, get } from "./api.js";
import { bars } from "./drawings.js";
import { bar, el, figures, mark, number, table } from "./dom.js";
import { verdictButtons } from "./review.js";

const DRAWN = 15;

export async function explanation({ run, values }) {
  const { head, relation, tail, side } = values;
  const found = await get(run, "/explain", { head, relation, tail, side, top: 5 });
  const link = (key, name) => el("a", { href: address(run, "entity", { name: key }) }, name);
  const why = (fact, text) => el("a", { href: address(run, "explain", { head: fact.head, relation: found.relation, tail: fact.tail }) }, text);
  const like = (rows, of, name) => rows.length
    ? [el("h2", {}, `Similar to ${name}, with the same fact`), table(of, [
      ["entity", (row) => link(row.key, row.name)], ["neighbour", (row) => `${number(row.nearness)}.`, true],
      ["facts in common", (row) => `${number(row.shared)}${row.facts.length ? `: ${row.facts.map((f) => `${f.relation_name} ${f.tail_name}`).join(", ")}, …` : ""}`]], rows)]
    : [];
  const list = (title, rows) => rows.length ? [el("h2", {}, title), el("ul", { class: "plain" }, rows.map((row) => el("li", {}, row)))] : [];
  return {
    elements: [
      el("h1", {}, `${found.head_name} —${found.relation_name}→ ${found.tail_name}`),
      el("p", {}, mark(found), " ", link(found.head, found.head_name), " · ",
        el("a", { href: address(run, "relation", { name: found.relation }) }, found.relation_name), " · ", link(found.tail, found.tail_name)),
      el("p", { class: "sentence" }, found.sentence),
      figures([["probability", bar(found.probability)], ["score", number(found.score)], ["threshold", number(found.threshold)],
        ["rank as tail", number(found.tail_rank.filtered)], ["rank as head", number(found.head_rank.filtered)]]),
      verdictButtons(run, found),
      about(found.head_name, found.about_head), about(found.tail_name, found.about_tail),
      list("Words of its text that speak for it", found.words.map((each) => `${each.word} (${each.entity}): ${number(each.effect, 3)}`)),
      list("Rules that speak for it", found.rules.map((rule) => `${rule.text} — ${rule.rule}`)),
      list("What speaks against it", found.against.map((each) => `${each.name} is a known ${each.side} already, and ${number(each.single)} of ${number(each.questions)} such questions have one answer`)),
      like(found.like_head, "Heads near this one", found.head_name),
      like(found.like_tail, "Tails near this one", found.tail_name),
      list("Paths from head to tail", found.paths.map((path) => path.text)),
      found.support.length ? [el("h2", {}, "Nearest training facts"), table(`of ${found.relation_name}`, [
        ["head", (row) => link(row.head, row.head_name)], ["tail", (row) => link(row.tail, row.tail_name)],
        ["distance", (row) => number(row.distance), true], ["reasons", (row) => why(row, "why")]], found.support)] : [],
      found.residual.length ? dimensions(found) : [],
      el("h2", {}, "Best answers"), table(`to the question about the ${found.asked}`, [
        ["place", (row) => row.place, true], ["entity", (row) => link(row.key, row.name)], ["probability", (row) => bar(row.probability)], ["state", (row) => mark(row)]], found.answers),
    ].flat(2),
  };
}

/** What the graph says of an entity, if anything. */
function about(name, { types, description }) {
  if (!types.length && !description) return [];
  return el("p", {}, el("strong", {}, name), types.length ? ` (${types.join(", ")})` : "", description ? `: ${description}` : "");
}

function dimensions(found) {
  const drawing = (rows, label) => bars(rows.slice(0, DRAWN).map((row) => ({ name: `dimension ${row.dimension}`, value: row.part })), label);
  const parts = [el("h2", {}, "What each dimension adds to the score"), el("p", { class: "quiet" }, `${found.residual_of}; in all ${number(found.total)}`),
    drawing(found.residual, "Parts of the score by dimension of the residual, the largest first")];
  if (found.dimensions_of !== found.residual_of) {
    const all = found.dimensions.reduce((sum, row) => sum + Math.abs(row.part), 0), first = found.dimensions[0];
    const nearly = Math.abs(first.part) > 0.95 * all;
    parts.push(el("p", { class: "quiet" }, nearly
      ? `In the dimensions of ${found.dimensions_of}, the first holds ${((100 * Math.abs(first.part)) / all).toFixed(1)} % of it.`
      : `The same in the dimensions of ${found.dimensions_of}:`));
    if (!nearly) parts.push(drawing(found.dimensions, "Parts of the score by transformed dimension"));
  }
  return parts;
}
