// The page: tabs, messages, and who gets them.

import { connect, isRenewed, stats, takeToken } from "./socket.js";
import { Play } from "./play.js";
import { TableForm } from "./table.js";
import { Runs } from "./runs.js";

const TABS = ["table", "play", "runs"];
const at = (id) => document.getElementById(id);

function say(text, wrong = false) {
  at("status").textContent = text;
  at("status").className = wrong ? "wrong" : "";
}

// What takes the server longer than a second, told once a second until it is done.
function busy(message) {
  if (message.seconds > 0) say(`${message.text} … ${message.seconds} s`);
  else if (at("status").dataset.busy) say("");
  at("status").dataset.busy = message.seconds > 0 ? "yes" : "";
}

export function showTab(name) {
  for (const tab of TABS) {
    at(tab).hidden = tab !== name;
    at(`tab-${tab}`).setAttribute("aria-pressed", String(tab === name));
  }
  document.body.dataset.tab = name;
  if (name === "runs") runs.open();
}

function theme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("theme", document.documentElement.dataset.theme);
  } catch { /* a browser may keep nothing */ }
}

let send = () => {};
const say_and = (message) => {
  say("");
  send(message);
};
const play = new Play(at("play"), say_and, say, showTab);
const form = new TableForm(at("table"), say_and, say, (on) => { play.watching = on; });
const runs = new Runs(at("runs"), say_and);

const handlers = {
  hello(message) {
    play.link = message.link;
    const kept = /moment=([0-9a-f]{64})/.exec(location.hash);
    form.hello(message);
    if (kept) send({ kind: "open", hash: kept[1] });
    stats.began = performance.now();
  },
  game: (message) => {
    form.game(message);
    play.game = message;
  },
  table(message) {
    form.wait(false);
    play.table(message);
  },
  view: (message, pixels) => play.view(message, pixels),
  timeline: (message) => play.timeline.show(message),
  log: (message) => play.retell(message),
  thought: (message) => play.thought.show(message),
  proof: (message) => play.proof(message),
  kept: (message) => play.kept(message),
  film: (message) => play.film(message),
  runs: (message) => runs.list(message),
  curves: (message) => runs.curves(message),
  maps: (message) => runs.maps(message),
  refused(message) {
    form.wait(false);
    play.watching = false;
    say(message.text, true);
  },
  busy: (message) => busy(message),
  closed: () => form.wait(false),
};

send = connect(handlers, say);

for (const tab of TABS) at(`tab-${tab}`).addEventListener("click", () => showTab(tab));
at("theme").addEventListener("click", theme);
try {
  const kept = localStorage.getItem("theme");
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
} catch { /* a browser may keep nothing */ }
addEventListener("hashchange", () => {
  if (isRenewed()) {  // a browser loads nothing where the part behind the # alone is new
    location.reload();
    return;
  }
  takeToken();
  const kept = /moment=([0-9a-f]{64})/.exec(location.hash);
  if (kept) send({ kind: "open", hash: kept[1] });
});
document.body.dataset.tab = "table";
window.studio = { stats, send: (message) => send(message), play, form };
