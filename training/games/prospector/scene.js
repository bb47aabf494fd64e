// The belt of Prospector: chart, gauges, market and asteroids.

const NS = "http://www.w3.org/2000/svg";
const LEVELS = ["fine", "look", "danger"];

function s(tag, attributes, ...children) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) node.setAttribute(name, value);
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const round = (value, digits = 0) => Number(value).toLocaleString("en", { maximumFractionDigits: digits });

function places(scene) {
  if (scene.places) return scene.places;
  const most = Math.max(1, ...scene.node_hops.map((hops) => hops ?? 0));
  const rings = new Map();
  scene.node_hops.forEach((hops, node) => {
    const ring = hops ?? most + 1;
    rings.set(ring, [...(rings.get(ring) || []), node]);
  });
  const found = [];
  for (const [ring, nodes] of rings) {
    nodes.forEach((node, k) => {
      const angle = (2 * Math.PI * k) / nodes.length + ring;
      found[node] = [(ring / (most + 1)) * Math.cos(angle), (ring / (most + 1)) * Math.sin(angle)];
    });
  }
  return found;
}

function shape(kind, x, y, size) {
  if (kind === "station") return s("rect", { x: x - size, y: y - size, width: 2 * size, height: 2 * size, class: "node station" });
  if (kind === "hazard") return s("path", { d: `M${x} ${y - 1.3 * size}l${1.3 * size} ${2.2 * size}h${-2.6 * size}z`, class: "node hazard" });
  return s("circle", { cx: x, cy: y, r: size, class: "node cluster" });
}

function chart(scene, yours, api) {
  const at = places(scene).map(([x, y]) => [150 + 135 * x, 150 + 135 * y]);
  const ways = new Map(scene.ways.map((way) => [way.node, way]));
  const edges = scene.edges.map(({ ends: [a, b], threats }) => {
    const heard = threats.filter((threat) => threat !== null);
    const threat = heard.length > 0 ? Math.max(...heard) : null;
    return s("line", {
      x1: at[a][0], y1: at[a][1], x2: at[b][0], y2: at[b][1],
      class: `way${threat === null ? " unheard" : threat > 0.6 ? " danger" : threat > 0.3 ? " look" : " fine"}`,
    });
  });
  const nodes = scene.node_kinds.map((kind, node) => {
    const way = ways.get(node), here = node === scene.node;
    const parts = [shape(kind, at[node][0], at[node][1], here ? 9 : 6), here && s("circle", { cx: at[node][0], cy: at[node][1], r: 14, class: "ring" }),
      s("text", { x: at[node][0], y: at[node][1] + 20, "text-anchor": "middle" }, node)];
    if (!way || !yours) return s("g", {}, s("title", {}, `node ${node}, ${kind}`), parts);
    const text = `Travel to node ${node}, ${kind}: ${way.ticks} ticks, fuel ${round(way.fuel)}${way.heard ? `, threat ${round(way.threat, 2)}` : ""}`;
    const go = () => api.act(way.slot);
    const link = s("g", { class: "go", role: "button", tabindex: "0", "aria-label": text, "data-key": `node-${node}` }, s("title", {}, text),
      s("circle", { cx: at[node][0], cy: at[node][1], r: 15, class: "halo" }), parts);
    link.addEventListener("click", go);
    link.addEventListener("keydown", (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), go()));
    return link;
  });
  return s("svg", { viewBox: "0 0 300 310", class: "chart-belt", role: "group", "aria-label": `Chart: the ship is at node ${scene.node}, ${scene.kind}` }, edges, nodes);
}

export const offersAll = true;

export function create(root, api) {
  const { h } = api;
  root.classList.add("belt");
  const gauge = ({ name, value, limit, level }) => h("div", { class: `gauge ${LEVELS[level] || "fine"}` }, h("span", {}, name),
    h("meter", { min: 0, max: limit, value, "aria-label": name }), h("span", { class: "number" }, round(value), level > 0 && " !".repeat(level)));

  return {
    draw(view) {
      const { scene } = view;
      const key = root.contains(document.activeElement) ? document.activeElement.dataset.key : null;
      const legal = new Set(view.yours ? scene.legal : []);
      const button = (action, text = scene.actions[action]) => h("button", { type: "button", "data-key": `action-${action}`, onclick: () => api.act(action) }, text);
      const named = (test) => scene.legal.filter((action) => legal.has(action) && test(scene.actions[action]));
      const market = h("table", {}, h("caption", {}, "Hold and market"), h("thead", {}, h("tr", {}, ["good", "held", "price", "stock", "sell"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, scene.goods.map((good) => h("tr", {}, h("th", { scope: "row" }, good.name), h("td", { class: "number" }, round(good.held, 1)),
          h("td", { class: "number" }, `${round(good.price)} ${good.change > 0 ? "▲" : good.change < 0 ? "▼" : ""}`), h("td", { class: "number" }, round(good.stock)),
          h("td", {}, named((name) => name.startsWith(`sell ${good.name} `) && good.held > 0).map((action) => button(action, scene.actions[action].split(" ").pop())))))));
      const field = scene.asteroids.length > 0 && h("table", {}, h("caption", {}, "Asteroids"), h("thead", {}, h("tr", {}, ["", "value", "stable", "sure", "used"].map((name) => h("th", { scope: "col" }, name || h("span", { class: "unseen" }, "number"))))),
        h("tbody", {}, scene.asteroids.map((each) => {
          const select = named((name) => name === `select asteroid ${each.slot}`)[0];
          return h("tr", { class: each.selected ? "chosen" : null }, h("td", {}, select !== undefined ? button(select, each.slot) : each.slot),
            [each.value, 100 * each.stability, 100 * each.confidence, 100 * each.depletion].map((value, k) => h("td", { class: "number" }, round(value), k > 0 && " %")));
        })));
      const others = named((name) => !/^(sell|travel|select|jettison)/.test(name));
      const rest = named((name) => /^jettison/.test(name));
      const travel = named((name) => /^travel/.test(name));
      root.replaceChildren(h("div", { class: "belt-left" }, chart(scene, view.yours, api), h("div", { class: "row" }, travel.map((action) => {
        const way = scene.ways.find((each) => each.slot === action);
        return button(action, way ? `to ${way.node}: ${way.ticks} ticks` : undefined);
      }))),
      h("div", { class: "belt-right" }, h("p", {}, h("b", {}, `${round(scene.credits)} credits`), ` · ${scene.supplies.join(", ")}`),
        h("div", { class: "gauges" }, [scene.time, ...scene.gauges, scene.hold].map(gauge)),
        h("p", { "aria-live": "polite" }, scene.ending || scene.news.join(" ")), h("div", { class: "row" }, others.map((action) => button(action))), market, field,
        rest.length > 0 && h("details", {}, h("summary", {}, "Jettison"), h("div", { class: "row" }, rest.map((action) => button(action))))));
      const again = key && root.querySelector(`[data-key="${CSS.escape(key)}"]`);
      if (key) (again || root.querySelector("button")).focus({ preventScroll: true });
    },
  };
}

export function tile(canvas, scene) {
  canvas.width = 240;
  canvas.height = 180;
  canvas.style.imageRendering = "auto"; // letters, not pixels
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#0b101e";
  pen.fillRect(0, 0, 240, 180);
  const at = places(scene).map(([x, y]) => [90 + 80 * x, 90 + 80 * y]);
  at.forEach(([x, y], node) => {
    const size = node === scene.node ? 14 : 6;
    pen.fillStyle = node === scene.node ? "#fff" : { station: "#f0e442", hazard: "#e69f00" }[scene.node_kinds[node]] || "#56b4e9";
    pen.fillRect(x - size / 2, y - size / 2, size, size);
  });
  pen.fillStyle = "#fff";
  pen.font = "16px sans-serif";
  pen.textAlign = "right";
  pen.fillText(`${round(scene.credits)} credits`, 234, 172);
}
