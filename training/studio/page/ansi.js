// Text with the colours of a terminal, as elements.

import { h } from "./dom.js";

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

function shade(code) {
  if (code < 16) return null;
  if (code >= 232) {
    const gray = 8 + 10 * (code - 232);
    return `rgb(${gray},${gray},${gray})`;
  }
  const level = (k) => (k ? 55 + 40 * k : 0);
  const cube = code - 16;
  return `rgb(${level(Math.floor(cube / 36))},${level(Math.floor(cube / 6) % 6)},${level(cube % 6)})`;
}

function apply(style, codes) {
  for (let k = 0; k < codes.length; k += 1) {
    const code = codes[k];
    if (code === 0) Object.assign(style, { classes: new Set(), fg: null, bg: null });
    else if (code === 1) style.classes.add("bold");
    else if (code === 2) style.classes.add("dim");
    else if (code === 7) style.classes.add("inverse");
    else if (code === 22) ["bold", "dim"].forEach((name) => style.classes.delete(name));
    else if ((code === 38 || code === 48) && codes[k + 1] === 5) {
      style[code === 38 ? "fg" : "bg"] = shade(codes[k + 2]);
      k += 2;
    } else if ((code === 38 || code === 48) && codes[k + 1] === 2) {
      style[code === 38 ? "fg" : "bg"] = `rgb(${codes.slice(k + 2, k + 5).join(",")})`;
      k += 4;
    } else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) {
      for (const name of NAMES) style.classes.delete(`ansi-${name}`);
      style.classes.add(`ansi-${NAMES[code % 10]}`);
    } else if (code === 39) {
      for (const name of NAMES) style.classes.delete(`ansi-${name}`);
      style.fg = null;
    } else if (code === 49) style.bg = null;
  }
}

export function ansi(text) {
  const style = { classes: new Set(), fg: null, bg: null };
  const parts = [];
  for (const piece of text.split(/(\x1b\[[0-9;]*m)/)) {
    const codes = /^\x1b\[([0-9;]*)m$/.exec(piece);
    if (codes) apply(style, codes[1].split(";").map(Number));
    else if (piece) {
      const look = {};
      if (style.fg) look.color = style.fg;
      if (style.bg) look.backgroundColor = style.bg;
      parts.push(h("span", { class: [...style.classes].join(" ") || null, style: look }, piece));
    }
  }
  return h("pre", { class: "screen", tabindex: "0", "aria-label": "The game as text" }, parts);
}
