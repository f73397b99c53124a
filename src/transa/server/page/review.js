/* Review: facts one after the other, accepted or rejected by mouse or keyboard. */

import { address, file, get, post } from "./api.js";
import { bar, el, failure, number, say, table } from "./dom.js";

const SAID = { accept: "accepted", reject: "rejected", withdraw: "withdrawn" };

const reviewer = () => localStorage.getItem("reviewer") || "";

export async function judge(run, fact, verdict) {
  const { head, relation, tail } = fact;
  await post(run, "/verdicts", { head, relation, tail, verdict, by: reviewer() || null });
  say(`${SAID[verdict]}: ${fact.head_name} ${fact.relation_name} ${fact.tail_name}`);
}

/** Buttons for one fact, as they stand under its explanation. */
export function verdictButtons(run, fact) {
  const said = el("span", { role: "status" });
  const button = (verdict, text) => el("button", {
    class: verdict,
    onclick: () => judge(run, fact, verdict).then(() => { said.replaceChildren(el("span", { class: `mark ${verdict}` }, SAID[verdict])); }).catch((error) => { said.replaceChildren(failure(error)); }),
  }, text);
  return el("p", {}, button("accept", "Accept"), " ", button("reject", "Reject"), " ", said);
}

export async function review({ run, values }) {
  const kind = values.kind === "doubtful" ? "doubtful" : "new";
  const queue = await get(run, "/review", { kind, limit: 50 });
  const state = { facts: queue.triples, total: queue.total, at: 0, undone: [] };
  const list = el("div", {}), counts = el("p", { class: "quiet" });
  const by = el("input", { type: "text", value: reviewer(), maxlength: 200, autocomplete: "name", onchange: (event) => localStorage.setItem("reviewer", event.target.value.trim()) });

  async function count() {
    const found = await get(run, "/verdicts");
    counts.replaceChildren(`${number(found.accepted)} accepted, ${number(found.rejected)} rejected. Files: `,
      ...[["csv", "all"], ["csv", "accept"], ["ttl", "accept"], ["nt", "accept"]].flatMap(([format, verdict]) =>
        [el("a", { href: file(run, { format, verdict }), download: "" }, `${verdict === "all" ? "all" : "accepted"} (.${format})`), " "]));
  }

  function draw() {
    const columns = [
      ["fact", (row) => el("a", { href: address(run, "explain", { head: row.head, relation: row.relation, tail: row.tail }) }, `${row.head_name} —${row.relation_name}→ ${row.tail_name}`)],
      ["probability", (row) => bar(row.probability)],
      ["verdict", (row) => [el("button", { class: "accept", "aria-label": `Accept ${row.head_name} ${row.relation_name} ${row.tail_name}`, onclick: () => decide("accept", row) }, "Accept"), " ",
        el("button", { class: "reject", "aria-label": `Reject ${row.head_name} ${row.relation_name} ${row.tail_name}`, onclick: () => decide("reject", row) }, "Reject")]],
    ];
    list.replaceChildren(state.facts.length
      ? table(`${number(state.total)} facts wait`, columns, state.facts, (_, place) => ({ "aria-current": place === state.at ? "true" : null }))
      : el("p", {}, "Nothing is left to review."));
    const current = list.querySelector("tr[aria-current]");
    if (current) current.scrollIntoView({ block: "nearest" });
  }

  async function decide(verdict, fact) {
    try {
      await judge(run, fact, verdict);
      state.undone.push([fact, state.facts.indexOf(fact)]);
      state.facts = state.facts.filter((each) => each !== fact);
      state.total -= 1;
      state.at = Math.max(0, Math.min(state.at, state.facts.length - 1));
      if (state.facts.length < 10 && state.total > state.facts.length) {
        const more = await get(run, "/review", { kind, limit: 50 });
        [state.facts, state.total] = [more.triples, more.total];
      }
      draw();
      count();
    } catch (error) {
      list.prepend(failure(error));
    }
  }

  async function undo() {
    const last = state.undone.pop();
    if (!last) return;
    const [fact, place] = last;
    await judge(run, fact, "withdraw");
    state.facts.splice(Math.max(0, place), 0, fact);
    state.total += 1;
    state.at = Math.max(0, place);
    draw();
    count();
  }

  function keys(event) {
    if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const fact = state.facts[state.at];
    const step = (by) => { state.at = Math.max(0, Math.min(state.facts.length - 1, state.at + by)); draw(); };
    const does = { a: () => fact && decide("accept", fact), r: () => fact && decide("reject", fact), u: undo, j: () => step(1), k: () => step(-1),
      e: () => { if (fact) location.hash = address(run, "explain", { head: fact.head, relation: fact.relation, tail: fact.tail }); } }[event.key];
    if (does) { event.preventDefault(); does(); }
  }

  const link = (name, text) => el("a", { href: address(run, "review", { kind: name }), "aria-current": name === kind ? "true" : null }, text);
  const key = (name, text) => [el("kbd", {}, name), ` ${text} `];
  draw();
  return {
    elements: [el("h1", {}, kind === "new" ? "Review: the most probable new facts" : "Review: the least probable known facts"),
      el("p", {}, link("new", "New facts"), " · ", link("doubtful", "Doubtful known facts")),
      el("form", { onsubmit: (event) => event.preventDefault() }, el("label", {}, el("span", {}, "your name, kept with verdicts"), by)),
      el("p", { class: "quiet" }, key("a", "accept"), key("r", "reject"), key("u", "undo"), key("j", "next"), key("k", "previous"), key("e", "explain")),
      counts, list],
    ready: () => { document.addEventListener("keydown", keys); count(); },
    leave: () => document.removeEventListener("keydown", keys),
  };
}
