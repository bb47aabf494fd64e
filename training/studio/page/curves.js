// Curves of runs, side by side. It imports nothing: a report is this file and its data in one page.

const NS = "http://www.w3.org/2000/svg";
const FIRST = ["episode/return_mean", "evaluation/return", "rounds/hit_rate", "train/entropy", "train/kl", "sps"];
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 4", "1 2"];
const WIDE = 420, HIGH = 200, LEFT = 52, BOTTOM = 24;

function make(tag, attributes, ...children) {
  const svg = ["svg", "path", "line", "text", "title", "g", "circle"].includes(tag);
  const node = svg ? document.createElementNS(NS, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null) node.setAttribute(name, value);
  node.append(...children.flat().filter((child) => child !== null));
  return node;
}

const short = (value) => (Math.abs(value) >= 1e6 ? `${+(value / 1e6).toPrecision(3)} M`
  : value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(1)
  : Math.abs(value) >= 1e4 ? `${+(value / 1e3).toPrecision(3)} k` : String(+value.toPrecision(3)));

export function measures(curves) {
  const all = new Set(Object.values(curves).flatMap((run) => Object.keys(run)));
  const named = FIRST.filter((name) => all.has(name));
  return [...named, ...[...all].filter((name) => !named.includes(name)).sort()];
}

function chart(measure, curves, names) {
  const lines = names.map((name) => [name, (curves[name] || {})[measure] || []]).filter(([, points]) => points.length > 0);
  const points = lines.flatMap(([, line]) => line);
  const span = (k) => {
    const values = points.map((point) => point[k]);
    const low = Math.min(...values), high = Math.max(...values);
    return high > low ? [low, high] : [low - 1, high + 1];
  };
  const [x0, x1] = span(0), [y0, y1] = span(1);
  const x = (value) => LEFT + ((WIDE - LEFT - 8) * (value - x0)) / (x1 - x0);
  const y = (value) => HIGH - BOTTOM - ((HIGH - BOTTOM - 10) * (value - y0)) / (y1 - y0);
  const ticks = [0, 0.5, 1].map((share) => y0 + share * (y1 - y0));
  const axis = ticks.map((value) => make("g", {}, make("line", { class: "grid-line", x1: LEFT, x2: WIDE - 8, y1: y(value), y2: y(value) }),
    make("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, short(value))));
  const ends = [[x0, "start"], [x1, "end"]].map(([value, anchor]) => make("text", { x: x(value), y: HIGH - 6, "text-anchor": anchor }, short(value)));
  const drawn = lines.map(([name, line]) => {
    const number = names.indexOf(name);
    const path = line.map((point, k) => `${k ? "L" : "M"}${x(point[0]).toFixed(1)} ${y(point[1]).toFixed(1)}`).join("");
    return make("path", { d: path, class: `line line-${number % 6}`, "stroke-dasharray": DASHES[number % 6], "data-run": name, "data-points": line.length }, make("title", {}, name));
  });
  const said = lines.map(([name, line]) => `${name} ends at ${short(line[line.length - 1][1])}`).join(", ");
  return make("figure", {}, make("figcaption", {}, measure),
    make("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "chart", role: "img", "aria-label": `${measure}: ${said}` }, axis, ends, drawn));
}

export function showCurves(root, message, chosen = null) {
  const names = (message.runs || []).map((run) => run.name);
  const known = measures(message.curves || {});
  const shown = chosen || known.slice(0, 6);
  const key = names.map((name, k) => make("li", {}, make("svg", { viewBox: "0 0 30 8", class: "key-line", "aria-hidden": "true" },
    make("line", { x1: 0, x2: 30, y1: 4, y2: 4, class: `line line-${k % 6}`, "stroke-dasharray": DASHES[k % 6] })), name));
  const rows = (message.runs || []).flatMap((run) => run.evaluated.slice(0, 12).map(([name, value, low, high]) => make("tr", {},
    make("td", {}, run.name), make("th", { scope: "row" }, name), make("td", { class: "number" }, `${short(value)} [${short(low)}, ${short(high)}]`))));
  const table = rows.length > 0 ? make("details", { open: "" }, make("summary", {}, "Evaluations, with their intervals"), make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Evaluations" }, make("table", {}, make("tbody", {}, ...rows)))) : null;
  root.replaceChildren(...[make("ul", { class: "legend" }, ...key),
    make("div", { class: "charts" }, ...shown.map((measure) => chart(measure, message.curves, names))), table].filter(Boolean));
  return known;
}
