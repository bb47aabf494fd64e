// The display of the Game Boy, as pixels.

import { paint } from "/page/pixels.js";

export const offersAll = true;

export function create(root, api, table) {
  const canvas = api.h("canvas", { class: "pixels", width: 160, height: 144, role: "img", "aria-label": "Display" });
  const counts = api.h("p", { class: "counters" });
  root.append(canvas, counts);
  return {
    draw(view, pixels) {
      if (pixels) paint(canvas, pixels, view.picture[0], view.picture[1]);
      const { scene } = view;
      const parts = Object.entries(scene).map(([name, value]) => `${name} ${value}`);
      const text = parts.join(" · ");
      if (counts.textContent !== text) counts.textContent = text;
      if (!view.running) canvas.setAttribute("aria-label", `Display of ${table.env}, ${text}`);
    },
  };
}
