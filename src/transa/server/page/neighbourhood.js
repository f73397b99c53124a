/* Facts around an entity as a graph. Nodes can be dragged; a click opens one. Predicted facts are dashed. */

import { address } from "./api.js";
import { el } from "./dom.js";

const WIDTH = 900, HEIGHT = 520;

export function neighbourhood(run, centre, known, predicted) {
  const nodes = new Map([[centre.key, { key: centre.key, name: centre.name, x: WIDTH / 2, y: HEIGHT / 2, fixed: true }]]);
  const edges = [...known.map((fact) => ({ ...fact, predicted: false })), ...predicted.map((fact) => ({ ...fact, predicted: true }))];
  for (const fact of edges) {
    for (const side of ["head", "tail"]) {
      if (nodes.has(fact[side])) continue;
      const angle = 2.4 * nodes.size, far = 120 + 9 * nodes.size;  // a spiral, from which the layout unfolds
      nodes.set(fact[side], { key: fact[side], name: fact[`${side}_name`], x: WIDTH / 2 + far * Math.cos(angle), y: HEIGHT / 2 + 0.6 * far * Math.sin(angle) });
    }
  }
  const ends = joined(edges.filter((fact) => fact.head !== fact.tail)).map((fact) => [nodes.get(fact.head), nodes.get(fact.tail), fact]);
  settle([...nodes.values()], ends);
  return draw(run, centre, [...nodes.values()], ends);
}

/** Facts between the same two entities as one edge, with all their relations. */
function joined(facts) {
  const found = new Map();
  for (const fact of facts) {
    const key = JSON.stringify([fact.head, fact.tail, fact.predicted]), text = fact.relation_name + (fact.probability ? ` ${fact.probability.toFixed(2)}` : "");
    found.set(key, { ...fact, text: found.has(key) ? `${found.get(key).text}, ${text}` : text });
  }
  return [...found.values()];
}

/** Let nodes push each other away and edges pull their ends together, for a fixed number of steps. */
function settle(nodes, ends) {
  for (let step = 0; step < 250; step++) {
    const heat = 12 * (1 - step / 250);
    for (const node of nodes) [node.dx, node.dy] = [(WIDTH / 2 - node.x) * 0.01, (HEIGHT / 2 - node.y) * 0.02];
    for (const one of nodes) {
      for (const two of nodes) {
        const [x, y] = [one.x - two.x, 1.6 * (one.y - two.y)], square = x * x + y * y + 0.01;
        if (one !== two && square < 90000) { one.dx += (2600 * x) / square; one.dy += (2600 * y) / square; }
      }
    }
    for (const [one, two] of ends) {
      const [x, y] = [two.x - one.x, two.y - one.y], pull = 0.05 * (1 - 150 / (Math.hypot(x, y) + 0.01));
      one.dx += pull * x; one.dy += pull * y; two.dx -= pull * x; two.dy -= pull * y;
    }
    for (const node of nodes) {
      if (node.fixed) continue;
      const size = Math.hypot(node.dx, node.dy) || 1, by = Math.min(size, heat) / size;
      node.x = Math.min(WIDTH - 95, Math.max(95, node.x + by * node.dx));
      node.y = Math.min(HEIGHT - 24, Math.max(24, node.y + by * node.dy));
    }
  }
}

function draw(run, centre, nodes, ends) {
  const between = new Map();  // how many edges there are between two entities, whose labels stand below each other
  const lines = ends.map(([one, two, fact]) => {
    const pair = JSON.stringify([one.key, two.key].sort()), nth = between.get(pair) || 0;
    between.set(pair, nth + 1);
    const line = el("line", { class: `edge${fact.predicted ? " predicted" : ""}` });
    const text = el("text", { class: fact.predicted ? "edge-label predicted-label" : "edge-label", "text-anchor": "middle" },
      fact.text);
    const part = one.key === centre.key ? 0.62 : 0.38;  // nearer to the outer end, where edges are further apart
    return { one, two, line, text, part, nth };
  });
  const svg = el("svg", { class: "drawing", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": `Facts around ${centre.name}; predicted ones are dashed` });
  const place = () => {
    for (const { one, two, line, text, part, nth } of lines) {
      for (const [name, value] of Object.entries({ x1: one.x, y1: one.y, x2: two.x, y2: two.y })) line.setAttribute(name, value);
      text.setAttribute("x", one.x + part * (two.x - one.x));
      text.setAttribute("y", one.y + part * (two.y - one.y) - 3 + 12 * nth);
    }
    for (const node of nodes) node.drawn.setAttribute("transform", `translate(${node.x},${node.y})`);
  };
  for (const node of nodes) {
    const name = node.name.length > 26 ? `${node.name.slice(0, 25)}…` : node.name;
    node.drawn = el("a:svg", { class: `node${node.key === centre.key ? " centre" : ""}`, href: address(run, "entity", { name: node.key }), "aria-label": node.name },
      el("circle", { r: node.key === centre.key ? 11 : 8 }), el("text", { y: -13, "text-anchor": "middle" }, name));
    drag(svg, node, place);
  }
  svg.append(...lines.map((each) => each.line), ...lines.map((each) => each.text), ...nodes.map((node) => node.drawn));
  place();
  return svg;
}

function drag(svg, node, place) {
  let from = null, moved = false;
  node.drawn.addEventListener("pointerdown", (event) => { from = [event.clientX, event.clientY]; moved = false; node.drawn.setPointerCapture(event.pointerId); });
  node.drawn.addEventListener("pointermove", (event) => {
    if (!from) return;
    const scale = WIDTH / svg.clientWidth, [x, y] = [event.clientX - from[0], event.clientY - from[1]];
    if (!moved && Math.hypot(x, y) < 4) return;
    moved = true;
    node.x += scale * x; node.y += scale * y;
    from = [event.clientX, event.clientY];
    place();
  });
  node.drawn.addEventListener("pointerup", () => { from = null; });
  node.drawn.addEventListener("click", (event) => { if (moved) event.preventDefault(); });
  node.drawn.addEventListener("dragstart", (event) => event.preventDefault());
}
