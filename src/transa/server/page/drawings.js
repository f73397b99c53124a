/* Curves and bars as SVG. */

import { el, number } from "./dom.js";

const WIDTH = 720, HEIGHT = 240, EDGE = 46;

const reach = (values) => [Math.min(...values), Math.max(...values)];

/** Up to two curves over the same numbers, each with its own scale: the first to the left, the second to the right. */
export function curve(series) {
  const drawn = series.filter((each) => each.points.length);
  const [first, last] = reach(drawn.flatMap((each) => each.points.map(([x]) => x)));
  const parts = drawn.flatMap((each, place) => {
    const [low, high] = reach(each.points.map(([, y]) => y));
    const across = (x) => EDGE + ((x - first) / (last - first || 1)) * (WIDTH - 2 * EDGE);
    const up = (y) => HEIGHT - EDGE + ((low - y) / (high - low || 1)) * (HEIGHT - 2 * EDGE);
    const side = place ? { x: WIDTH - 4, "text-anchor": "end" } : { x: 4 };
    return [
      el("polyline", { class: `curve${place ? " second" : ""}`, points: each.points.map(([x, y]) => `${across(x)},${up(y)}`).join(" ") }),
      el("text", { ...side, y: 16 }, `${each.name}: ${number(high, 3)}`),
      el("text", { ...side, y: HEIGHT - EDGE + 14 }, number(low, 3)),
    ];
  });
  const words = drawn.map((each) => `${each.name} ends at ${number(each.points.at(-1)[1], 3)}`).join(", ");
  return el("svg", { class: "drawing", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Epochs ${first} to ${last}: ${words}` },
    el("line", { class: "axis", x1: EDGE, x2: WIDTH - EDGE, y1: HEIGHT - EDGE, y2: HEIGHT - EDGE }),
    el("text", { x: WIDTH / 2, y: HEIGHT - 14, "text-anchor": "middle" }, `epoch ${first} to ${last}`), parts);
}

/** Bars to the right for values above 0, to the left below; rows are {name, value}. */
export function bars(rows, label) {
  const height = 20, left = 140, width = WIDTH - left - 90;
  const low = Math.min(0, ...rows.map((row) => row.value)), high = Math.max(0, ...rows.map((row) => row.value));
  const across = (value) => left + ((value - low) / (high - low || 1)) * width;
  return el("svg", { class: "drawing", viewBox: `0 0 ${WIDTH} ${rows.length * height + 20}`, role: "img", "aria-label": label },
    rows.flatMap((row, place) => {
      const y = place * height + 10, [from, to] = [across(Math.min(0, row.value)), across(Math.max(0, row.value))];
      return [
        el("text", { x: left - 8, y: y + 14, "text-anchor": "end" }, row.name),
        el("rect", { class: row.value < 0 ? "minus" : "fill", x: from, y: y + 3, width: Math.max(to - from, 1), height: height - 6 }),
        el("text", { x: to + 6, y: y + 14 }, number(row.value, 3)),
      ];
    }), el("line", { class: "axis", x1: across(0), x2: across(0), y1: 6, y2: rows.length * height + 14 }));
}
