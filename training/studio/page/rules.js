// The rules of a game, one click away: a button that opens them beside the game.

import { h } from "./dom.js";

export function rulesButton(env) {
  return h("button", { type: "button", class: "rules", "data-key": "rules", onclick: () => open(env) }, "How to play");
}

async function open(env) {
  const answer = await fetch(`/game/${env}/rules`);
  if (!answer.ok) return;
  const text = h("div", { class: "told" });
  text.innerHTML = await answer.text(); // ours, from the server of this page
  const close = h("button", { type: "button", class: "primary", onclick: () => dialog.close() }, "Close");
  const dialog = h("dialog", { id: "rules", "aria-label": "How to play", onclose: () => dialog.remove(), onclick: (event) => event.target === dialog && dialog.close() },
    h("div", { class: "row" }, h("h2", {}, "How to play"), close), text);
  document.body.append(dialog);
  dialog.showModal();
}
