// Many games at once, each a tile that can be picked; and where they have been.

import { h, s, replace, number } from "./dom.js";
import { ansi } from "./ansi.js";
import { paint } from "./pixels.js";

export class Tiles {
  constructor(root, module, pick) {
    Object.assign(this, { root, module, pick, tiles: [] });
    this.head = h("p", { class: "dim" });
    this.grid = h("div", { class: "grid" });
    this.map = h("div", { class: "visits" });
    root.append(this.head, this.grid, this.map);
  }

  draw(view, pixels) {
    this.head.textContent = `${view.lanes} games, ${number(view.decisions)} decisions, ${number(view.episodes)} finished. Choose a game to go on with it alone.`;
    const count = view.texts ? view.texts.length : view.lanes;
    this.grid.classList.toggle("few", count <= 32);
    while (this.tiles.length < count) this.add(this.tiles.length, view);
    if (view.picture) {
      const [width, height] = view.picture;
      const size = (width * height) / 4;
      this.tiles.forEach((tile, lane) => paint(tile, pixels.subarray(lane * size, (lane + 1) * size), width, height));
    } else if (view.texts) {
      this.tiles.forEach((tile, lane) => tile.replaceChildren(ansi(view.texts[lane])));
    } else {
      this.tiles.forEach((tile, lane) => this.module.tile(tile, view.scenes[lane]));
    }
    if (view.visits.length > 0) this.visits(view.visits);
  }

  add(lane, view) {
    const tile = view.texts ? h("div") : h("canvas", { width: 80, height: 72 });
    this.tiles.push(tile);
    this.grid.append(h("button", { type: "button", class: "tile", "aria-label": `Game ${lane}`, title: `Go on with game ${lane}`, onclick: () => this.pick(lane) }, tile));
  }

  visits(visits) {
    replace(this.map, visitMaps(visits));
  }
}

// A map for each place of the program: the darker, the more often somebody was there.
export function visitMaps(visits) {
  const maps = new Map();
  for (const [map, x, y, count] of visits) {
    if (!maps.has(map)) maps.set(map, []);
    maps.get(map).push([x, y, count]);
  }
  return [...maps].sort(([a], [b]) => a - b).map(([map, cells]) => {
    const wide = Math.max(...cells.map(([x]) => x)) + 1;
    const high = Math.max(...cells.map(([, y]) => y)) + 1;
    const most = Math.log1p(Math.max(...cells.map((cell) => cell[2])));
    return h("figure", {}, s("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `Visits of map ${map}: ${cells.length} cells` },
      cells.map(([x, y, count]) => s("rect", { x, y, width: 1, height: 1, class: "visit", opacity: 0.15 + (0.85 * Math.log1p(count)) / most }, s("title", {}, `${x}, ${y}: ${count}`)))),
    h("figcaption", {}, `map ${map}: ${cells.length} cells`));
  });
}
