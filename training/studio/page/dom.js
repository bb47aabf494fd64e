// Elements from plain calls: h("button", {class: "x", onclick: f}, "text", child).

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(node.style, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// Replace what a node holds; who had the focus keeps it, by data-key.
export function replace(node, ...children) {
  const active = document.activeElement;
  const key = node.contains(active) ? active.dataset.key : undefined;
  node.replaceChildren(...children.flat(Infinity).filter(Boolean));
  if (key === undefined) return;
  const same = node.querySelector(`[data-key="${CSS.escape(key)}"]`);
  const next = same || node.querySelector("[data-key]:not([disabled])");
  if (next) next.focus({ preventScroll: true });
}

export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Math.abs(value) >= 1e4 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(digits));
}
