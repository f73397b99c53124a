/* All entities in the plane. Points are written into an image pixel by pixel, which stays smooth for 100,000 of them. */

import { address, get } from "./api.js";
import { combobox } from "./combobox.js";
import { el, number } from "./dom.js";

const PALETTE = [[31, 106, 201], [201, 92, 16], [24, 128, 72], [176, 40, 60], [120, 80, 190], [130, 90, 50], [200, 80, 160], [90, 110, 120], [140, 140, 20], [20, 140, 160]];
const OTHER = [128, 134, 142], CELL = 24;

export async function map({ run, about, values }) {
  const colour = values.colour || (about.types ? "type" : "role");
  const usual = [...(about.types ? [["type", "its type"]] : []), ["role", "the role it has most often"], ["degree", "its number of training triples"]];
  const found = await get(run, "/map", { colour });
  const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": `Map of ${number(found.x.length)} entities. Arrow keys move it, plus and minus zoom; search above opens an entity.` });
  const tip = el("div", { class: "tip", hidden: true });
  const { colours, legend } = colouring(found);
  const choice = el("select", { onchange: (event) => { location.hash = address(run, "map", { colour: event.target.value }); } },
    usual.map(([value, text]) => el("option", { value, selected: value === colour }, text)),
    usual.some(([value]) => value === colour) ? null : el("option", { value: colour, selected: true }, colour));
  const field = combobox(run, "relations", { label: "or by what a relation leads to", chosen: (item) => { location.hash = address(run, "map", { colour: item.key }); } });
  const view = new View(run, canvas, tip, found, colours);
  const share = found.explained ? `Two directions hold ${found.explained.map((each) => `${(100 * each).toFixed(0)} %`).join(" and ")} of the variance.` : "";
  return {
    elements: [el("h1", {}, "Map"), el("form", { onsubmit: (event) => event.preventDefault() }, el("label", {}, el("span", {}, "colour by"), choice), field.box),
      el("div", { class: "map" }, canvas, tip), el("p", { class: "quiet" }, `${share} Drag to move, wheel to zoom, click to open an entity.`), legend],
    ready: () => view.start(),
    leave: () => view.stop(),
  };
}

function colouring(found) {
  const size = found.x.length;
  if (!found.types) {
    const most = Math.log1p(found.degree.reduce((one, two) => Math.max(one, two), 1));
    const shade = (degree) => { const part = Math.log1p(degree) / most; return [0, 1, 2].map((n) => Math.round(OTHER[n] + part * (PALETTE[0][n] - OTHER[n]))); };
    return { colours: found.degree.map(shade), legend: el("p", { class: "quiet" }, "The bluer, the more training triples.") };
  }
  const counts = new Map();
  for (const type of found.type) counts.set(type, (counts.get(type) || 0) + 1);
  const largest = [...counts].filter(([type]) => type >= 0).sort((one, two) => two[1] - one[1]).slice(0, PALETTE.length);
  const place = new Map(largest.map(([type], n) => [type, n]));
  const rest = size - largest.reduce((sum, [, count]) => sum + count, 0);
  const entries = [...largest.map(([type, count], n) => [PALETTE[n], found.types[type], count]), ...(rest ? [[OTHER, "others", rest]] : [])];
  const legend = el("ul", { class: "legend", "aria-label": "Colours" }, entries.map(([rgb, name, count]) => {
    const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = `rgb(${rgb})`;
    return el("li", {}, swatch, `${name} (${number(count)})`);
  }));
  return { colours: found.type.map((type) => (place.has(type) ? PALETTE[place.get(type)] : OTHER)), legend };
}

class View {
  constructor(run, canvas, tip, found, colours) {
    Object.assign(this, { run, canvas, tip, colours, x: Float32Array.from(found.x), y: Float32Array.from(found.y), names: new Map(), zoom: 1, left: 0, top: 0, asked: 0 });
    const low = (values) => values.reduce((one, two) => Math.min(one, two)), high = (values) => values.reduce((one, two) => Math.max(one, two));
    [this.x0, this.x1, this.y0, this.y1] = [low(this.x), high(this.x), low(this.y), high(this.y)];
    this.frames = 0;
  }

  start() {
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(this.canvas);
    const on = (name, listener, options) => this.canvas.addEventListener(name, listener, options);
    let from = null, moved = false;
    on("pointerdown", (event) => { from = [event.offsetX, event.offsetY]; moved = false; this.canvas.setPointerCapture(event.pointerId); });
    on("pointermove", (event) => {
      if (from) {
        const [dx, dy] = [event.offsetX - from[0], event.offsetY - from[1]];
        if (moved || Math.hypot(dx, dy) > 4) { moved = true; this.move(dx, dy); from = [event.offsetX, event.offsetY]; }
      } else this.hover(event.offsetX, event.offsetY);
    });
    on("pointerup", (event) => {
      if (from && !moved) this.open(event.offsetX, event.offsetY);
      from = null;
    });
    on("pointerleave", () => { this.tip.hidden = true; });
    on("wheel", (event) => { event.preventDefault(); this.scale(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY); }, { passive: false });
    on("keydown", (event) => {
      const steps = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
      if (steps[event.key]) this.move(...steps[event.key]);
      else if (event.key === "+" || event.key === "=") this.scale(1.25, this.canvas.clientWidth / 2, this.canvas.clientHeight / 2);
      else if (event.key === "-") this.scale(0.8, this.canvas.clientWidth / 2, this.canvas.clientHeight / 2);
      else return;
      event.preventDefault();
    });
  }

  stop() { this.watch.disconnect(); cancelAnimationFrame(this.waiting); }

  resize() {
    this.density = Math.min(2, window.devicePixelRatio || 1);
    this.canvas.width = Math.max(1, this.canvas.clientWidth * this.density);
    this.canvas.height = Math.max(1, this.canvas.clientHeight * this.density);
    this.draw();
  }

  move(dx, dy) { this.left += dx; this.top += dy; this.draw(); }

  scale(by, x, y) {
    const zoom = Math.min(200, Math.max(0.5, this.zoom * by)), real = zoom / this.zoom;
    [this.left, this.top, this.zoom] = [x - (x - this.left) * real, y - (y - this.top) * real, zoom];
    this.draw();
  }

  /** Where an entity stands on the canvas, in its own pixels. */
  place(entity) {
    const edge = 20, width = this.canvas.clientWidth - 2 * edge, height = this.canvas.clientHeight - 2 * edge;
    const x = edge + ((this.x[entity] - this.x0) / (this.x1 - this.x0 || 1)) * width;
    const y = edge + ((this.y1 - this.y[entity]) / (this.y1 - this.y0 || 1)) * height;
    return [x * this.zoom + this.left, y * this.zoom + this.top];
  }

  draw() { cancelAnimationFrame(this.waiting); this.waiting = requestAnimationFrame(() => this.paint()); }

  paint() {
    const { width, height } = this.canvas, pen = this.canvas.getContext("2d"), image = pen.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer), size = Math.max(2, Math.round(this.density * (this.x.length > 20000 ? 2 : this.x.length > 2000 ? 3 : 6)));
    this.grid = new Map();
    for (let entity = 0; entity < this.x.length; entity++) {
      const [x, y] = this.place(entity), [left, top] = [Math.round(x * this.density - size / 2), Math.round(y * this.density - size / 2)];
      if (left < 0 || top < 0 || left + size >= width || top + size >= height) continue;
      const [red, green, blue] = this.colours[entity], colour = (255 << 24) | (blue << 16) | (green << 8) | red;
      for (let row = top; row < top + size; row++) pixels.fill(colour, row * width + left, row * width + left + size);
      const cell = Math.floor(y / CELL) * 10000 + Math.floor(x / CELL), inside = this.grid.get(cell);
      inside ? inside.push(entity) : this.grid.set(cell, [entity]);
    }
    pen.putImageData(image, 0, 0);
    this.canvas.dataset.frames = ++this.frames;
  }

  /** The entity nearest to a point, if one is near. */
  at(x, y) {
    let best = null, nearest = 12;
    for (let row = -1; row <= 1; row++) {
      for (let column = -1; column <= 1; column++) {
        for (const entity of this.grid.get((Math.floor(y / CELL) + row) * 10000 + Math.floor(x / CELL) + column) || []) {
          const [a, b] = this.place(entity), far = Math.hypot(a - x, b - y);
          if (far < nearest) [best, nearest] = [entity, far];
        }
      }
    }
    return best;
  }

  async hover(x, y) {
    const entity = this.at(x, y), mine = ++this.asked;
    this.tip.hidden = entity === null;
    if (entity === null) return;
    if (!this.names.has(entity)) {
      await new Promise((done) => setTimeout(done, 60));  // while the pointer runs over many, none is asked for
      if (mine !== this.asked) return;
      const found = await get(this.run, "/entity", { id: entity, limit: 1 }).catch(() => ({ name: "?" }));
      this.names.set(entity, found.name);
      if (mine !== this.asked) return;
    }
    this.tip.textContent = this.names.get(entity);
    const [a, b] = this.place(entity);
    this.tip.style.left = `${Math.min(a + 10, this.canvas.clientWidth - 120)}px`;
    this.tip.style.top = `${b + 10}px`;
  }

  open(x, y) {
    const entity = this.at(x, y);
    if (entity !== null) location.hash = address(this.run, "entity", { id: entity });
  }
}
