// The bottles of Dr. Mario on a canvas. A colour has a shape too: ring, square, triangle.

const COLUMNS = 8, ROWS = 16, CELL = 20, NECK = 2;
const INKS = ["#f2c832", "#e2403f", "#4a8cf5"]; // yellow, red, blue
const DARK = ["#6b5200", "#5e0d10", "#0b2a66"];
const KINDS = { 0x40: "top", 0x50: "bottom", 0x60: "left", 0x70: "right", 0x80: "single", 0xb0: "clearing", 0xd0: "virus", 0xf0: "emptied" };
const ROUND = { top: [1, 1, 0, 0], bottom: [0, 0, 1, 1], left: [1, 0, 0, 1], right: [0, 1, 1, 0], single: [1, 1, 1, 1], virus: [1, 1, 1, 1] };

function sign(pen, x, y, size, color) {
  pen.fillStyle = pen.strokeStyle = DARK[color];
  pen.lineWidth = size / 5;
  pen.beginPath();
  if (color === 0) pen.arc(x, y, size / 2, 0, 7);
  else if (color === 1) pen.rect(x - size / 2, y - size / 2, size, size);
  else {
    pen.moveTo(x, y - size / 1.7);
    pen.lineTo(x + size / 1.7, y + size / 2);
    pen.lineTo(x - size / 1.7, y + size / 2);
    pen.closePath();
  }
  if (color === 0) pen.stroke();
  else pen.fill();
}

function virus(pen, x, y, size, color) {
  const half = size / 2;
  pen.fillStyle = INKS[color];
  pen.beginPath();
  for (let k = 0; k < 16; k += 1) {
    const reach = half * (k % 2 ? 0.72 : 0.98), angle = (Math.PI * k) / 8;
    pen.lineTo(x + half + reach * Math.cos(angle), y + half + reach * Math.sin(angle));
  }
  pen.fill();
  pen.fillStyle = "#fff";
  for (const side of [-1, 1]) {
    pen.beginPath();
    pen.arc(x + half + side * size * 0.17, y + size * 0.38, size * 0.12, 0, 7);
    pen.fill();
  }
  pen.fillStyle = "#000";
  for (const side of [-1, 1]) pen.fillRect(x + half + side * size * 0.17 - 1, y + size * 0.36, 2, 3);
  sign(pen, x + half, y + size * 0.68, size * 0.24, color);
}

function half(pen, x, y, size, kind, color, ghost) {
  const radii = (ROUND[kind] || [0, 0, 0, 0]).map((round) => (round * size) / 2.4);
  pen.globalAlpha = ghost ? 0.35 : 1;
  pen.fillStyle = INKS[color];
  pen.beginPath();
  pen.roundRect(x + 1, y + 1, size - 2, size - 2, radii);
  if (kind === "clearing" || kind === "emptied") {
    pen.strokeStyle = INKS[color];
    pen.lineWidth = 2;
    pen.stroke();
  } else {
    pen.fill();
    sign(pen, x + size / 2, y + size / 2, size * 0.3, color);
  }
  pen.globalAlpha = 1;
}

function piece(pen, x, y, size, tile, color, ghost = false) {
  const kind = KINDS[tile & 0xf0];
  if (kind === "virus") virus(pen, x, y, size, color);
  else half(pen, x, y, size, kind, color, ghost);
}

function bottle(pen, view, left, top, size) {
  const wide = COLUMNS * size, high = ROWS * size;
  pen.fillStyle = "#0b1020";
  pen.fillRect(left, top - NECK * size, wide, high + NECK * size);
  pen.strokeStyle = "#6d7fb8";
  pen.lineWidth = 3;
  pen.beginPath();
  pen.moveTo(left + 2.6 * size, top - 1.6 * size);
  pen.lineTo(left + 2.6 * size, top - 2);
  pen.lineTo(left - 2, top - 2);
  pen.lineTo(left - 2, top + high + 2);
  pen.lineTo(left + wide + 2, top + high + 2);
  pen.lineTo(left + wide + 2, top - 2);
  pen.lineTo(left + 5.4 * size, top - 2);
  pen.lineTo(left + 5.4 * size, top - 1.6 * size);
  pen.stroke();
  for (let cell = 0; cell < ROWS * COLUMNS; cell += 1) {
    const tile = parseInt(view.cells.substr(2 * cell, 2), 16);
    if (tile !== 0xff) piece(pen, left + (cell % COLUMNS) * size, top + Math.floor(cell / COLUMNS) * size, size, tile, tile & 3);
  }
  for (const [row, column, tile, color] of view.ghost) piece(pen, left + column * size, top + row * size, size, tile, color, true);
  for (const [row, column, tile, color] of view.pill) piece(pen, left + column * size, top + row * size, size, tile, color);
}

function preview(pen, view, left, top, size) {
  half(pen, left, top, size, "left", view.preview[0]);
  half(pen, left + size, top, size, "right", view.preview[1]);
}

export const offersAll = false;

export function create(root, api) {
  const canvas = api.h("canvas", { class: "bottles", role: "img" });
  const counts = api.h("div", { class: "counters" });
  root.append(canvas, counts);
  const pen = canvas.getContext("2d");
  let said = "";
  return {
    draw(view) {
      const { bottles, names } = view.scene;
      const wide = bottles.length * (COLUMNS + 3) * CELL, high = (ROWS + NECK + 1.4) * CELL;
      if (canvas.width !== 2 * wide) {
        canvas.width = 2 * wide;
        canvas.height = 2 * high;
        canvas.style.maxWidth = `${wide * 1.6}px`;
      }
      pen.setTransform(2, 0, 0, 2, 0, 0);
      pen.fillStyle = "#182040";
      pen.fillRect(0, 0, wide, high);
      bottles.forEach((each, k) => {
        const left = (k * (COLUMNS + 3) + 1.5) * CELL, top = (NECK + 0.7) * CELL;
        bottle(pen, each, left, top, CELL);
        preview(pen, each, left + 5.8 * CELL, top - 1.7 * CELL, CELL);
        if (each.ending) {
          pen.fillStyle = "rgba(0,0,0,.75)";
          pen.fillRect(left, top + 6.5 * CELL, COLUMNS * CELL, 2 * CELL);
          pen.fillStyle = "#fff";
          pen.font = `bold ${CELL}px sans-serif`;
          pen.textAlign = "center";
          pen.fillText(each.ending, left + 4 * CELL, top + 7.8 * CELL);
        }
      });
      const text = bottles.map((each, k) => `${names.length > 1 ? `${names[k]}: ` : ""}${[...each.counters.map(([name, value]) => `${name} ${value}`), ...each.news].join(" · ")}`);
      if (text.join() === said) return;
      said = text.join();
      counts.replaceChildren(...text.map((line) => api.h("p", {}, line)));
      if (!view.running) canvas.setAttribute("aria-label", `Bottles. ${said}`);
    },
  };
}

export function tile(canvas, scene) {
  const size = 6, count = scene.bottles.length;
  canvas.width = count * COLUMNS * size + (count - 1) * size;
  canvas.height = ROWS * size;
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#0b1020";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  scene.bottles.forEach((view, k) => {
    const left = k * (COLUMNS + 1) * size;
    const dot = (row, column, color, full) => {
      pen.fillStyle = INKS[color];
      pen.fillRect(left + column * size + (full ? 0 : 1), row * size + (full ? 0 : 1), size - (full ? 0 : 2), size - (full ? 0 : 2));
    };
    for (let cell = 0; cell < ROWS * COLUMNS; cell += 1) {
      const value = parseInt(view.cells.substr(2 * cell, 2), 16);
      if (value !== 0xff) dot(Math.floor(cell / COLUMNS), cell % COLUMNS, value & 3, (value & 0xf0) === 0xd0);
    }
    for (const [row, column, , color] of view.pill) if (row >= 0) dot(row, column, color, false);
  });
}

// The planner's map: how soon half a pill could lie in each cell.
export function insight(found, h, s) {
  if (!found.costs) return null;
  const known = found.costs.filter((cost) => cost !== null);
  const most = Math.max(1, ...known);
  return h("figure", {}, s("svg", { viewBox: `0 0 ${10 * found.columns} ${10 * ROWS}`, class: "costs", role: "img", "aria-label": `Frames to the lock, ${found.reachable} placements within reach` },
    found.costs.map((cost, cell) => {
      const x = 10 * (cell % found.columns), y = 10 * Math.floor(cell / found.columns);
      return cost === null ? s("rect", { x, y, width: 10, height: 10, class: "unreached" }) : s("g", {},
        s("rect", { x, y, width: 10, height: 10, class: "visit", opacity: 1 - (0.85 * cost) / most }),
        s("text", { x: x + 5, y: y + 6.5, "text-anchor": "middle" }, cost));
    })), h("figcaption", {}, `frames to the lock; ${found.reachable} placements within reach`));
}
