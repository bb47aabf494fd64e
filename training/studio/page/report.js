// Runs side by side: curves, and what is said of them. It imports nothing: a report is this file and
// its data in one page.

const NS = "http://www.w3.org/2000/svg";
const SVG = ["svg", "path", "line", "text", "title", "g", "circle", "rect"];
const FIRST = ["episode/return_mean", "rounds/hit_rate", "train/entropy", "train/kl", "sps"];
const EVALUATION = "evaluation/"; // before what was measured during a training
const SHOWN = 6; // measures at first
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 4", "1 2"];
const WIDEST = 640; // pixels of a map that is made larger
const WIDE = 420, HIGH = 200, LEFT = 52, BOTTOM = 24;

function make(tag, attributes, ...children) {
  const node = SVG.includes(tag) ? document.createElementNS(NS, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const short = (value) => (Math.abs(value) >= 1e6 ? `${+(value / 1e6).toPrecision(3)} M`
  : value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(1)
  : Math.abs(value) >= 1e4 ? `${+(value / 1e3).toPrecision(3)} k` : String(+value.toPrecision(3)));

const keyLine = (run) => make("svg", { viewBox: "0 0 30 8", class: "key-line", "aria-hidden": "true" },
  make("line", { x1: 0, x2: 30, y1: 4, y2: 4, class: `line run-${run % 6}`, "stroke-dasharray": DASHES[run % 6] }));

// -- curves -----------------------------------------------------------------------------------------

function measures(curves) {
  const all = new Set(Object.values(curves).flatMap((run) => Object.keys(run)));
  const evaluations = [...all].filter((name) => name.startsWith(EVALUATION)).sort();
  const named = [...FIRST.slice(0, 1), ...evaluations.slice(0, 2), ...FIRST.slice(1)].filter((name) => all.has(name));
  return [...named, ...[...all].filter((name) => !named.includes(name)).sort()];
}

// The mean over the last twentieth of the points, five at least.
function smooth(points) {
  const width = Math.max(5, Math.floor(points.length / 20));
  let sum = 0;
  return points.map(([x, y], k) => {
    sum += y - (k >= width ? points[k - width][1] : 0);
    return [x, sum / Math.min(k + 1, width)];
  });
}

// Points over time instead of over decisions: when so many decisions were taken is a curve too.
function overTime(points, clock) {
  const found = [];
  let k = 0;
  for (const [step, ...values] of points) {
    while (k + 1 < clock.length && clock[k][0] < step) k += 1;
    if (clock.length > 0) found.push([clock[k][1] / 60, ...values]);
  }
  return found;
}

function spans(lines) {
  const xs = lines.flatMap((line) => line.points.map((point) => point[0]));
  const ys = lines.flatMap((line) => line.points.flatMap((point) => point.slice(1)));
  return [xs, ys].map((values) => {
    const low = values.reduce((a, b) => Math.min(a, b), Infinity), high = values.reduce((a, b) => Math.max(a, b), -Infinity);
    return high > low ? [low, high] : [low - 1, high + 1];
  });
}

function drawLine(line, x, y) {
  const { name, run, points, raw } = line;
  const path = (of) => of.map((point, k) => `${k ? "L" : "M"}${x(point[0]).toFixed(1)} ${y(point[1]).toFixed(1)}`).join("");
  const whole = points.length > 0 && points[0].length === 4;
  const band = whole && `${path(points.map((p) => [p[0], p[2]]))}${path(points.map((p) => [p[0], p[3]]).reverse()).replace("M", "L")}Z`;
  const own = raw ? smooth(points) : points;
  return [
    band && make("path", { d: band, class: `band run-${run % 6}` }),
    raw && points.length > 1 && make("path", { d: path(points), class: `line raw run-${run % 6}` }),
    points.length < 13 && own.map((point) => make("circle", { cx: x(point[0]), cy: y(point[1]), r: 2.5, class: `point run-${run % 6}` })),
    make("path", { d: path(own), class: `line run-${run % 6}`, "stroke-dasharray": DASHES[run % 6], "data-run": name, "data-points": points.length }, make("title", {}, name)),
  ];
}

function chart(title, about, lines) {
  const [[x0, x1], [y0, y1]] = spans(lines);
  const x = (value) => LEFT + ((WIDE - LEFT - 8) * (value - x0)) / (x1 - x0);
  const y = (value) => HIGH - BOTTOM - ((HIGH - BOTTOM - 10) * (value - y0)) / (y1 - y0);
  const axis = [0, 0.5, 1].map((share) => y0 + share * (y1 - y0)).map((value) => make("g", {},
    make("line", { class: "grid-line", x1: LEFT, x2: WIDE - 8, y1: y(value), y2: y(value) }),
    make("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, short(value))));
  const ends = [[x0, "start"], [x1, "end"]].map(([value, anchor]) => make("text", { x: x(value), y: HIGH - 6, "text-anchor": anchor }, short(value)));
  const under = make("text", { x: (LEFT + WIDE) / 2, y: HIGH - 6, "text-anchor": "middle" }, about);
  const said = lines.map(({ name, points }) => `${name} ends at ${short(points[points.length - 1][1])}`).join(", ");
  return make("figure", {}, make("figcaption", {}, title),
    make("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "chart", role: "img", "aria-label": `${title}: ${said}` }, axis, ends, under, lines.map((line) => drawLine(line, x, y))));
}

// -- what is said -----------------------------------------------------------------------------------

function cell(tag, value, right, head) {
  const of = typeof value === "string" ? { text: value } : value;
  const said = [of.run !== undefined && of.run !== null && keyLine(of.run), of.text, of.limits && make("span", { class: "dim" }, ` ${of.limits}`)];
  const below = of.below && make("small", { class: "below dim" }, `${of.below.text} ${of.below.limits || ""}`);
  const heads = { th: "row", "th-col": "col" };
  return make(tag === "th-col" ? "th" : tag, { scope: heads[tag], "data-head": head, class: right ? "number" : of.text.length > 60 ? "long" : null }, said, below);
}

function table(part, about) {
  const right = (k) => part.numbers.includes(k);
  const head = (k) => (typeof part.head[k] === "string" ? part.head[k] : part.head[k].text);
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": part.title ? `${about}: ${part.title}` : about }, make("table", {},
    make("thead", {}, make("tr", {}, part.head.map((value, k) => cell("th-col", value, right(k))))),
    make("tbody", {}, part.rows.map((row) => make("tr", {}, row.map((value, k) => (k === 0 ? cell("th", value, right(k)) : cell("td", value, right(k), head(k)))))))));
}

// A line for each player, a dot with its interval on it; panels of a measure have one scale.
function dots(part) {
  const [low, high] = part.panels.flatMap((panel) => panel.rows.flatMap((row) => row.interval))
    .reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  const x = (value) => 4 + (92 * (value - low)) / (high - low || 1);
  const said = (value) => (part.percent ? `${+(100 * value).toPrecision(3)} %` : short(value));
  const row = ({ name, run, interval: [value, a, b] }) => make("li", {}, make("span", {}, name),
    make("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", class: run === null ? "dots" : `dots run-${run % 6}`, "aria-hidden": "true" },
      make("line", { x1: x(a), x2: x(b), y1: 6, y2: 6 }), make("rect", { x: x(value) - 0.6, width: 1.2, y: 1, height: 10 })),
    make("span", { class: "number" }, said(value), make("span", { class: "dim" }, ` [${said(a)}, ${said(b)}]`)));
  return make("div", { class: "panels" }, part.panels.map((panel) => make("figure", {}, make("figcaption", {}, panel.title),
    make("ul", {}, panel.rows.map(row)))));
}

function drawPart(part, about) {
  const content = part.kind === "table" ? table(part, about) : part.kind === "dots" ? dots(part)
    : make("div", { class: "charts" }, part.charts.map(({ title, x, lines }) => chart(title, x, lines)));
  if (part.folded) return make("details", {}, make("summary", {}, part.title), content);
  return [part.title && make("h3", {}, part.title), content];
}

const section = ({ title, notes, parts }) => make("section", {}, make("h2", {}, title), notes.map((note) => make("p", { class: "dim" }, note)), parts.map((part) => drawPart(part, title)));

// -- live maps --------------------------------------------------------------------------------------

// Where the lanes of a run are and have been, map by map. The picture of a map is said when it is new.
class LiveMap {
  constructor(name) {
    Object.assign(this, { name, images: new Map(), chosen: null, map: null });
    this.choice = make("select", { "aria-label": `Map of ${name}`, onchange: (event) => { this.chosen = Number(event.target.value); this.draw(); } });
    this.canvas = make("canvas", { class: "live-map", role: "img" });
    this.said = make("figcaption", {});
    this.note = make("p", { class: "dim" });
    this.node = make("section", { "data-map": name }, make("h2", {}, `Map: ${name}`), this.note,
      make("div", { class: "row" }, make("label", {}, "Map number ", this.choice)), make("figure", {}, this.said, this.canvas));
  }

  show(map) {
    this.note.textContent = map.note || "";
    if (map.note) return;
    this.map = map;
    for (const { number, picture } of map.maps) {
      if (!picture) continue;
      const image = new Image();
      image.addEventListener("load", () => { this.images.set(number, image); this.draw(); });
      image.src = picture;
    }
    const choices = map.maps.map(({ number, visits }) => make("option", { value: number }, `${number}: ${visits.toLocaleString("en")} visits`));
    this.choice.replaceChildren(...choices);
    this.draw();
  }

  draw() {
    const { maps, square, steps } = this.map;
    const map = maps.find((each) => each.number === this.chosen) || maps[0];
    this.node.hidden = !map;
    if (!map) return;
    this.choice.value = String(map.number);
    const cells = triples(map.cells), lanes = triples(map.lanes), image = this.images.get(map.number);
    const [left, top, right, bottom] = [...cells, ...lanes].reduce(([a, b, c, d], [x, y]) => [Math.min(a, x), Math.min(b, y), Math.max(c, x + 1), Math.max(d, y + 1)],
      map.box ? [map.box[0], map.box[1], map.box[0] + map.box[2], map.box[1] + map.box[3]] : [Infinity, Infinity, -Infinity, -Infinity]);
    this.canvas.width = (right - left) * square;
    this.canvas.height = (bottom - top) * square;
    this.canvas.style.width = `${this.canvas.width * Math.max(1, Math.floor(WIDEST / this.canvas.width))}px`; // a room is small
    const pen = this.canvas.getContext("2d"), most = cells.reduce((found, [, , visits]) => Math.max(found, visits), 1);
    const at = (x, y) => [(x - left) * square, (y - top) * square];
    if (image && map.box) pen.drawImage(image, ...at(map.box[0], map.box[1]));
    for (const [x, y, visits] of cells) {
      pen.fillStyle = `rgba(217, 115, 13, ${0.15 + 0.55 * Math.sqrt(visits / most)})`;
      pen.fillRect(...at(x, y), square, square);
    }
    for (const [x, y, count] of lanes) {
      const [across, down] = at(x + 0.5, y + 0.5);
      pen.beginPath();
      pen.arc(across, down, square * Math.min(0.5, 0.22 + 0.06 * Math.log2(count)), 0, 2 * Math.PI);
      pen.fillStyle = "#1f5fae";
      pen.strokeStyle = "#fff";
      pen.fill();
      pen.stroke();
    }
    const here = lanes.reduce((sum, [, , count]) => sum + count, 0);
    this.said.textContent = `Map ${map.number} after ${steps.toLocaleString("en")} decisions: ${cells.length} squares visited, the often visited darker; ${here} lanes, as dots.`;
    this.canvas.setAttribute("aria-label", this.said.textContent);
    Object.assign(this.canvas.dataset, { steps, visits: map.visits, lanes: here, pictured: Boolean(image) });
  }
}

function triples(numbers) {
  return Array.from({ length: numbers.length / 3 }, (_, k) => numbers.slice(3 * k, 3 * k + 3));
}

// -- the whole --------------------------------------------------------------------------------------

export class Report {
  constructor(root) {
    Object.assign(this, { root, message: null, chosen: null, known: "", said: "", axis: "decisions" });
    this.legend = make("ul", { class: "legend" });
    this.controls = make("div", { class: "row" });
    this.charts = make("div", { class: "charts" });
    this.maps = make("div", { class: "maps" });
    this.sections = make("div", { class: "sections" });
    this.liveMaps = new Map();
    root.replaceChildren(this.legend, this.controls, this.charts, this.maps, this.sections);
  }

  show(message) {
    this.message = message;
    const names = message.runs.map((run) => run.name);
    this.legend.replaceChildren(...names.map((name, run) => make("li", {}, keyLine(run), name)));
    for (const [name, { node }] of this.liveMaps) {
      if (!names.includes(name)) { node.remove(); this.liveMaps.delete(name); }
    }
    this.showMaps(message.maps || {});
    const known = measures(message.curves);
    if (JSON.stringify(known) !== this.known) this.choices(known);
    const said = JSON.stringify(message.sections);
    if (said !== this.said) this.say(said);
    this.draw();
  }

  showMaps(maps) {
    for (const [name, map] of Object.entries(maps)) {
      if (!this.liveMaps.has(name)) {
        this.liveMaps.set(name, new LiveMap(name));
        this.maps.append(this.liveMaps.get(name).node);
      }
      this.liveMaps.get(name).show(map);
    }
  }

  // A table that is folded or unfolded, or was scrolled, stays so while a run goes on.
  say(said) {
    const open = [...this.sections.querySelectorAll("details")].map((each) => each.open);
    const places = [...this.sections.querySelectorAll(".scroll")].map((each) => [each.scrollLeft, each.scrollTop]);
    this.said = said;
    this.sections.replaceChildren(...this.message.sections.map(section));
    this.sections.querySelectorAll("details").forEach((each, k) => { each.open = open[k] || false; });
    this.sections.querySelectorAll(".scroll").forEach((each, k) => { if (places[k]) [each.scrollLeft, each.scrollTop] = places[k]; });
  }

  choices(known) {
    this.known = JSON.stringify(known);
    const chosen = () => this.chosen || known.slice(0, SHOWN);
    const box = (name) => make("label", { class: "check" }, make("input", {
      type: "checkbox", checked: chosen().includes(name), "data-measure": name,
      onchange: (event) => {
        this.chosen = event.target.checked ? [...chosen(), name] : chosen().filter((each) => each !== name);
        this.draw();
      },
    }), name);
    const open = this.controls.querySelector("details");
    const axes = ["decisions", "minutes"].map((axis) => make("option", { value: axis, selected: axis === this.axis }, axis));
    this.controls.replaceChildren(...(known.length === 0 ? [] : [
      make("label", {}, "Over ", make("select", { id: "axis", onchange: (event) => { this.axis = event.target.value; this.draw(); } }, axes)),
      make("details", { open: open ? open.open : false }, make("summary", {}, `Measures: ${known.length}`), make("div", { class: "measures" }, known.map(box)))]));
  }

  draw() {
    const { runs, curves } = this.message;
    const known = measures(curves);
    const shown = (this.chosen || known.slice(0, SHOWN)).filter((name) => known.includes(name));
    const lines = (measure) => runs.map(({ name }, run) => {
      const own = curves[name] || {};
      const points = own[measure] || [];
      const placed = this.axis === "minutes" ? overTime(points, own.wall_s || []) : points;
      return { name, run, points: placed, raw: !measure.startsWith(EVALUATION) && placed.length > 12 };
    }).filter((line) => line.points.length > 0);
    this.charts.replaceChildren(...shown.map((measure) => [measure, lines(measure)]).filter(([, found]) => found.length > 0)
      .map(([measure, found]) => chart(measure, this.axis, found)));
  }
}
