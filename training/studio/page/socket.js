// The websocket: JSON both ways; a view may have pixels behind its JSON. Files, and the token for both.

import { h } from "./dom.js";

export const stats = { latencies: [], frames: 0, began: 0, pressed: new Map() };

const NO_TOKEN = "The studio wants its token: open the link that it has printed.";
let say = () => {};
let token = "";

// Take the token out of the address, so that nobody reads it over. It is kept for this tab: a cookie would be sent
// to the other servers of this machine. What else the address says, such as a moment, stays there.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1));
  const found = given.get("token");
  if (found) {
    token = found;
    given.delete("token");
    history.replaceState(null, "", `${location.pathname}${String(given) && `#${given}`}`);
  }
  try {
    if (found) sessionStorage.setItem("token", found);
    token = token || sessionStorage.getItem("token") || "";
  } catch { /* a browser may keep nothing */ }
}

// Whether the address names another token: that of a studio that was started again.
export function isRenewed() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  return Boolean(given) && given !== token;
}

// A link that saves a file of the studio: the request names the token, which no link can.
export function fileLink(attributes, ...children) {
  return h("a", { ...attributes, download: "", onclick: save }, ...children);
}

async function save(event) {
  event.preventDefault();
  say("One moment …");
  const answer = await fetch(event.currentTarget.href, { headers: { Authorization: `Bearer ${token}` } });
  if (!answer.ok) {
    say(await answer.text(), true);
    return;
  }
  const name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") || "");
  const url = URL.createObjectURL(await answer.blob());
  h("a", { href: url, download: name ? name[1] : "" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  say("");
}

export function connect(handlers, tell) {
  say = tell;
  takeToken();
  if (!token) {
    say(NO_TOKEN, true);
    return () => {};
  }
  const socket = new WebSocket(`ws://${location.host}/session?token=${encodeURIComponent(token)}`);
  socket.binaryType = "arraybuffer";
  const send = (message) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
  socket.onmessage = (event) => {
    let message, pixels = null;
    if (typeof event.data === "string") {
      message = JSON.parse(event.data);
    } else {
      const length = new DataView(event.data).getUint32(0, true);
      message = JSON.parse(new TextDecoder().decode(new Uint8Array(event.data, 4, length)));
      pixels = new Uint8Array(event.data, 4 + length);
    }
    try {
      const handle = handlers[message.kind];
      if (handle) handle(message, pixels);
    } finally {
      if (message.kind === "view") {
        send({ kind: "ack", number: message.number });
        count(message);
      }
    }
  };
  socket.onclose = (event) => {
    say(event.reason || "The studio is closed, or was started again: open the link that it prints.", true);
    handlers.closed();
  };
  return send;
}

function count(view) {
  stats.frames += 1;
  for (const [serial, when] of stats.pressed) {
    if (serial <= view.key) {
      stats.latencies.push(performance.now() - when);
      stats.pressed.delete(serial);
    }
  }
  if (stats.latencies.length > 1000) stats.latencies.splice(0, 500);
}
