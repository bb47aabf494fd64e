// The table of Skull King: cards to click, seats, and what was played.

const NS = "http://www.w3.org/2000/svg";
// A shape for each suit, so that no colour stands alone: feather, cross, chest, skull.
const SUITS = [
  "M20 3C8 4 3 12 4 20c8 1 16-4 16-17zM3 21L13 10",
  "M4 4l16 16M20 4L4 20",
  "M3 9q0-5 5-5h8q5 0 5 5zM3 11h18v9H3zM10 10h4v4h-4z",
  "M12 3c-6 0-9 4-9 8 0 3 2 5 4 6v3h10v-3c2-1 4-3 4-6 0-4-3-8-9-8zM8 11h2M14 11h2M12 14v2",
];
const NAMES = ["parrot", "map", "chest", "roger"];
const KINDS = { escape: "⚑", loot: "$", tigress: "T", pirate: "P", mermaid: "M", king: "K", kraken: "X", whale: "W" };

function svg(path, name) {
  const node = document.createElementNS(NS, "svg");
  node.setAttribute("viewBox", "0 0 24 24");
  node.setAttribute("aria-hidden", "true");
  node.setAttribute("class", `suit ${name}`);
  const line = document.createElementNS(NS, "path");
  line.setAttribute("d", path);
  node.append(line);
  return node;
}

function face(card, h) {
  if (card.suit !== undefined) {
    const name = NAMES[card.suit];
    return [h("b", { class: "value" }, card.number), svg(SUITS[card.suit], name), h("small", {}, name)];
  }
  return [h("b", { class: "value" }, KINDS[card.kind] || "?"), h("small", {}, card.name)];
}

const look = (card) => (card.suit !== undefined ? `card suit-${card.suit}` : `card special kind-${card.kind}`);

export const offersAll = true;

export function create(root, api) {
  const { h } = api;
  const seats = h("div", { class: "seats-row", role: "group", "aria-label": "Players" });
  const title = h("p", { class: "dim title" });
  const trick = h("div", { class: "trick", role: "group", "aria-label": "Trick" });
  const prompt = h("p", { class: "prompt", "aria-live": "polite" });
  const choices = h("div", { class: "row choices", role: "group", "aria-label": "Choices" });
  const hand = h("div", { class: "hand", role: "group", "aria-label": "Your hand" });
  const open = h("div", { class: "opened" });
  root.classList.add("skull");
  root.append(seats, title, trick, prompt, choices, hand, open);

  const card = (each, slot, scene, yours) => {
    const playable = yours && scene.legal.includes(slot);
    const notes = [scene.drawn.includes(slot) && "drawn", scene.discarded === slot && "discarded"].filter(Boolean).join(", ");
    return h("button", {
      type: "button", class: `${look(each)}${playable ? " legal" : ""}`, "data-key": `card-${slot}`, "aria-disabled": String(!playable),
      "aria-label": `${each.name}${notes ? `, ${notes}` : ""}${yours && !playable ? ", not now" : ""}`, title: each.name, onclick: () => api.act(slot),
    }, face(each, h), notes && h("em", {}, notes));
  };

  const laid = (plays, winner, names, now) => plays.map((each, k) => h("div", { class: `laid${k === winner ? " wins" : ""}` },
    h("div", { class: look(each), role: "img", "aria-label": each.name }, face(each, h)),
    h("span", {}, names[each.seat], k === winner && (now ? " wins so far" : " won"))));

  return {
    draw(view) {
      const { scene } = view;
      const yours = view.yours && scene.due;
      const names = scene.seats.map((seat) => seat.name);
      const focus = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : null;
      const inside = root.contains(document.activeElement);
      title.textContent = [...scene.title, scene.follow].filter(Boolean).join(" · ");
      seats.replaceChildren(...scene.seats.map((seat) => h("div", { class: `player${view.actor === seat.number ? " due" : ""}${seat.number === scene.agent ? " own" : ""}` },
        h("b", {}, seat.name), h("span", {}, `bid ${seat.bid === null ? "–" : seat.bid} · won ${seat.won}`),
        h("span", {}, `${seat.cards} card${seat.cards === 1 ? "" : "s"} · ${seat.total === null ? "–" : seat.total} points`),
        seat.leads && h("small", {}, scene.plays.length > 0 ? "led" : "leads"), seat.notes.map((note) => h("small", {}, note)))));
      const now = scene.plays.length > 0;
      trick.replaceChildren(h("h3", {}, now ? "Trick" : scene.last.length > 0 ? "Last trick" : ""),
        h("div", { class: "row plays" }, now ? laid(scene.plays, scene.winning, names, true) : laid(scene.last, scene.last_winner, names, false)));
      trick.classList.toggle("past", !now);
      prompt.textContent = view.over ? "" : yours ? scene.prompt.replace(/ The action is .*/, "") : view.actor >= 0 ? `It is the turn of ${names[view.actor]}.` : "";
      choices.replaceChildren(...(yours ? scene.choices : []).map(([action, name]) => h("button", {
        type: "button", class: scene.phase === "BID" ? "bid" : "", "data-key": `choice-${action}`,
        "aria-label": scene.phase === "BID" ? `bid ${name}` : name, onclick: () => api.act(action),
      }, name)));
      hand.replaceChildren(...scene.hand.map((each, slot) => card(each, slot, scene, yours && scene.choices.length === 0)));
      open.replaceChildren(...(scene.hands || []).map((cards, seat) => h("p", {}, h("b", {}, `${names[seat]}: `), cards.map((each) => each.name).join(", "))));
      if (inside && focus) {
        const next = root.querySelector(`[data-key="${CSS.escape(focus)}"]`) || root.querySelector(".choices button, .card.legal, .hand .card");
        if (next) next.focus({ preventScroll: true });
      }
    },
  };
}

export function tile(canvas, scene) {
  canvas.width = 240;
  canvas.height = 144;
  canvas.style.imageRendering = "auto"; // letters, not pixels
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#123528";
  pen.fillRect(0, 0, 240, 144);
  pen.fillStyle = "#fff";
  const seats = scene.seats.slice(0, 8), line = Math.min(22, 112 / seats.length);
  pen.font = `${Math.floor(0.8 * line)}px sans-serif`;
  seats.forEach(({ total, bid, won }, k) => {
    pen.fillText(`${total} points`, 10, 4 + line * (k + 0.8));
    pen.fillText(bid === null ? "has not bid" : `bid ${bid}, won ${won}`, 116, 4 + line * (k + 0.8));
  });
  if (scene.plays.length === 0) {
    pen.font = "16px sans-serif";
    pen.fillText(scene.title.join(", "), 10, 136);
  }
  const colors = ["#2a9d5c", "#a05bc8", "#d9a441", "#777"];
  scene.plays.forEach((each, k) => {
    pen.fillStyle = each.suit === undefined ? "#b33" : colors[each.suit];
    pen.fillRect(10 + 28 * k, 118, 16, 22);
  });
}
