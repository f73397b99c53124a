/* An entity: what it is, its facts in and out, its neighbours, and its neighbourhood as a graph. */

import { address, get, post } from "./api.js";
import { el, failure, figures, number, table } from "./dom.js";
import { neighbourhood } from "./neighbourhood.js";

const PAGE = 50, DRAWN = 24, RELATIONS = 8;

export async function entity({ run, about, values }) {
  const offset = Number(values.offset) || 0;
  const which = values.id === undefined ? { name: values.name } : { id: values.id };
  const found = await get(run, "/entity", { ...which, offset, limit: PAGE });
  const near = el("div", {}), drawn = el("div", {});
  return {
    elements: [
      el("h1", {}, found.name),
      found.key === found.name ? null : el("p", { class: "quiet" }, found.key),
      found.description ? el("p", {}, found.description) : null,
      figures([["training triples", number(found.triples)], ["facts out", number(found.out.total)], ["facts in", number(found.in.total)],
        ...(found.types.length ? [["types", found.types.join(", ")]] : [])]),
      el("p", {}, el("a", { href: address(run, "ask", { head: found.key }) }, `Ask about ${found.name}`)),
      el("h2", {}, "Neighbourhood"), drawn,
      el("div", { class: "columns" },
        el("section", {}, el("h2", {}, "Facts out"), facts(run, found.out, "tail", found.name)),
        el("section", {}, el("h2", {}, "Facts in"), facts(run, found.in, "head", found.name))),
      pages(run, found, offset),
      about.vectors ? [el("h2", {}, "Nearest entities"), near] : null,
    ].flat(),
    ready: () => {
      if (about.vectors) neighbours(run, found, near);
      graph(run, found, drawn);
    },
  };
}

function facts(run, found, other, name) {
  if (!found.facts.length) return el("p", { class: "quiet" }, "None.");
  const shown = found.facts.length === found.total ? "all" : `${found.facts.length} of`;
  return table(`${other === "tail" ? `${name} is the head` : `${name} is the tail`}: ${shown} ${number(found.total)}`, [
    ["relation", (row) => el("a", { href: address(run, "relation", { name: row.relation }) }, row.relation_name)],
    [other, (row) => el("a", { href: address(run, "entity", { name: row[other] }) }, row[`${other}_name`])],
    ["reasons", (row) => el("a", { href: address(run, "explain", { head: row.head, relation: row.relation, tail: row.tail }),
      "aria-label": `Why ${row.head_name} ${row.relation_name} ${row.tail_name}` }, "why")],
  ], found.facts);
}

function pages(run, found, offset) {
  const total = Math.max(found.out.total, found.in.total);
  const link = (to, text) => el("a", { href: address(run, "entity", { name: found.key, offset: to }) }, text);
  const back = offset ? link(Math.max(0, offset - PAGE), "Earlier facts") : null;
  const on = offset + PAGE < total ? link(offset + PAGE, "More facts") : null;
  return back || on ? el("p", {}, back, " ", on) : null;
}

async function neighbours(run, found, place) {
  try {
    const near = await get(run, "/neighbours", { entity: found.key, top: 10 });
    place.replaceChildren(table(`Distance: ${near.measure}`, [
      ["entity", (row) => el("a", { href: address(run, "entity", { name: row.key }) }, row.name)],
      ["distance", (row) => number(row.distance), true],
      ["training triples", (row) => number(row.degree), true],
    ], near.neighbours));
  } catch (error) {
    place.replaceChildren(failure(error));
  }
}

/** Some facts of each relation in turn, so that no relation hides the others. */
function varied(facts, most) {
  const turns = new Map();
  const turn = (fact) => { turns.set(fact.relation, (turns.get(fact.relation) || 0) + 1); return turns.get(fact.relation); };
  return facts.map((fact) => [turn(fact), fact]).sort(([one], [two]) => one - two).slice(0, most).map(([, fact]) => fact);
}

/** Draw known facts, and of the relations that the entity heads the best new answers, dashed. */
async function graph(run, found, place) {
  const known = [...varied(found.out.facts, DRAWN / 2), ...varied(found.in.facts, DRAWN / 2)];
  const relations = [...new Map(found.out.facts.map((fact) => [fact.relation, fact.relation_name]))].slice(0, RELATIONS);
  let predicted = [];
  if (relations.length) {
    const asked = { questions: relations.map(([relation]) => ({ head: found.key, relation })), top: 1, new_only: true, in_range: true };
    const answers = await post(run, "/predict", asked).catch(() => ({ questions: [] }));
    predicted = answers.questions.flatMap((question, place) => question.answers.map((answer) => ({
      head: found.key, head_name: found.name, relation: relations[place][0], relation_name: relations[place][1],
      tail: answer.key, tail_name: answer.name, probability: answer.probability })));
  }
  place.replaceChildren(neighbourhood(run, found, known, predicted));
}
