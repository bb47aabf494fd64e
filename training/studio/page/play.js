// A game that is played or watched: its scene, actions, keys, and what can be done with a moment.

import { h, replace } from "./dom.js";
import { ansi } from "./ansi.js";
import { fileLink, stats } from "./socket.js";
import { Timeline } from "./timeline.js";
import { Thought } from "./thought.js";
import { Tiles } from "./tiles.js";
import { rulesButton } from "./rules.js";
import { seatName } from "./table.js";

const KEYS = {
  ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right",
  Enter: "enter", " ": "enter", Backspace: "backspace", ".": ".",
};
const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16, 60, 0];
const speedName = (speed) => (speed ? `${speed} decision${speed === 1 ? "" : "s"} a second` : "as fast as it goes");

export class Play {
  constructor(root, send, say, showTab) {
    Object.assign(this, { root, send, say, showTab, info: null, module: null, drawer: null, last: null, link: "", game: null });
    this.serial = 0;
    this.speed = 4;
    this.watching = false; // whether the game that begins runs at once
    this.heard = [];
    this.build();
    addEventListener("keydown", (event) => this.key(event, true));
    addEventListener("keyup", (event) => this.key(event, false));
    addEventListener("blur", () => this.release());
    this.down = new Set();
  }

  build() {
    const part = (id, label, tag = "div") => h(tag, { id, "aria-label": label });
    this.head = h("div", { id: "head" });
    this.stage = part("stage", "The game");
    this.pad = h("div", { id: "pad", role: "group", "aria-label": "Buttons" });
    this.actions = h("div", { id: "actions", role: "group", "aria-label": "Actions" });
    this.log = h("div", { id: "log", role: "log", "aria-label": "What happened", tabindex: "0" });
    this.bar = h("div", { id: "bar" });
    const time = h("div", { id: "timeline" });
    const panel = h("aside", { id: "thought", "aria-label": "Thought" });
    this.timeline = new Timeline(time, this.send);
    this.thought = new Thought(panel, this.send, this);
    this.result = h("p", { id: "result", role: "status" });
    this.marked = h("p", { id: "marked" });
    this.root.append(h("p", { id: "nothing", class: "dim" }, "Choose a game on the first page."),
      h("div", { id: "board", hidden: true }, this.head,
        h("div", { id: "field" }, h("div", { id: "left" }, this.marked, this.stage, this.pad, this.result, this.actions),
          h("div", { id: "tools" }, this.bar, time), h("div", { id: "side" }, this.log, panel))));
  }

  async table(message) {
    this.root.querySelector("#nothing").hidden = true;
    this.root.querySelector("#board").hidden = false;
    this.info = message;
    this.drawer = null;
    this.last = null;
    this.heard = [];
    this.running = false;
    replace(this.log);
    replace(this.actions);
    this.result.textContent = "";
    this.showTab("play");
    this.root.classList.toggle("tiles", message.lanes > 1);
    this.thought.begin(message);
    this.heading();
    this.buttons();
    this.controls();
    const waiting = message;
    this.module = message.page ? await import(message.page) : null;
    if (this.info !== waiting) return;
    this.stage.replaceChildren();
    this.stage.className = "";
    const api = {
      act: (action) => this.act(action), key: (key) => this.tap(key), keyDown: (key, down) => this.sendKey(key, down), ansi, h,
    };
    if (message.lanes > 1) this.drawer = new Tiles(this.stage, this.module, (lane) => this.send({ kind: "pick", lane }));
    else if (this.module) this.drawer = this.module.create(this.stage, api, message);
    if (this.last) this.view(...this.last);
    this.say("");
    if (this.watching) this.run(true);
    this.watching = false;
  }

  heading() {
    const { title, env, names, persons, keys, seed, rules } = this.info;
    const [first, ...others] = persons.length === 1 ? [names[persons[0]], ...names.filter((_, seat) => seat !== persons[0])] : names;
    const against = others.length > 1 ? `${others.slice(0, -1).join(", ")} and ${others[others.length - 1]}` : others[0];
    replace(this.head, h("h2", {}, title, h("small", {}, env)), rules && rulesButton(env),
      h("p", { class: "dim" }, others.length > 0 ? `${first} against ${against}` : `${first} ${first === "You" ? "play" : "plays"}`,
        seed !== null && ` · seed ${seed}`),
      persons.length > 0 && keys && h("details", {}, h("summary", {}, "Keys"), h("pre", {}, keys.replace(/ *q: leave/, ""))));
  }

  buttons() {
    const touched = this.info.persons.length > 0 ? this.info.pad : [];
    replace(this.pad, touched.map(({ key, label }) => h("button", {
      type: "button", class: `key key-${key}`, "data-key": `pad-${key}`, "aria-label": key,
      onpointerdown: (event) => { event.preventDefault(); this.sendKey(key, true); },
      onpointerup: () => this.sendKey(key, false),
      onpointerleave: () => this.down.has(key) && this.sendKey(key, false),
      onclick: (event) => event.detail === 0 && this.tap(key),
    }, label)));
  }

  controls() {
    const many = this.info.lanes > 1;
    const button = (key, text, act, title) => h("button", { type: "button", id: key, "data-key": key, title: title || text, onclick: act }, text);
    const at = SPEEDS.indexOf(this.speed);
    this.speedLabel = h("output", {}, speedName(this.speed));
    this.more = h("div", { class: "row more" });
    replace(this.bar, h("div", { class: "row" },
      button("run", "▶ Run", () => this.run(!this.running), "Let the others play on, or stop them"),
      h("label", { class: "speed" }, "Speed ", h("input", {
        type: "range", min: 0, max: SPEEDS.length - 1, value: at, "data-key": "speed", "aria-label": "Speed",
        oninput: (event) => this.pace(SPEEDS[Number(event.target.value)]),
      }), this.speedLabel)),
    !many && h("details", { class: "further" }, h("summary", { "data-key": "further" }, "Share, film, take over, check"), h("div", { class: "row" },
      button("keep", "Link", () => this.send({ kind: "keep" }), "Keep this moment and copy a link that opens it"),
      button("take-over", "Take over", () => this.hands(), "Let others play on from here"),
      button("film-gif", "GIF", () => this.makeFilm("gif"), "Make a film of this game"),
      button("film-mp4", "MP4", () => this.makeFilm("mp4"), "Make a film of this game"),
      button("prove", "Prove", () => { this.say("Stepping all backends …"); this.send({ kind: "prove", steps: 100 }); },
        "Step the four backends side by side from this moment and compare bits"),
      h("label", { class: "file", title: "Open a moment from a file" }, "Load", h("input", { type: "file", accept: ".json,application/json", "data-key": "load", onchange: (event) => this.load(event.target) })),
      this.more)));
  }

  run(on) {
    this.running = on;
    this.send({ kind: "run", on, speed: this.speed });
  }

  pace(speed) {
    this.speed = speed;
    this.speedLabel.textContent = speedName(speed);
    if (this.running) this.run(true);
  }

  act(action) {
    this.send({ kind: "act", action });
  }

  // -- keys ---------------------------------------------------------------------------------------

  key(event, down) {
    if (document.body.dataset.tab !== "play" || !this.info || event.ctrlKey || event.metaKey || event.altKey) return;
    const inField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    const onButton = /^(BUTTON|SUMMARY|A)$/.test(event.target.tagName);
    if (inField || (down && event.repeat && this.info.frame_time !== null)) return;
    if (down && !this.steers()) return this.shortcut(event, onButton);
    const name = KEYS[event.key] || (/^[a-z]$/i.test(event.key) ? event.key.toLowerCase() : null);
    if (!name || !this.info.keys || (onButton && (event.key === "Enter" || event.key === " "))) return undefined;
    if (!this.steers() && !this.down.has(name)) return undefined;
    event.preventDefault();
    this.sendKey(name, down);
    return undefined;
  }

  steers() {
    return Boolean(this.info && this.info.keys && this.info.persons.length > 0 && this.last && this.last[0].yours);
  }

  shortcut(event, onButton) {
    if (onButton || !this.timeline.state) return;
    if (event.key === "ArrowLeft") this.timeline.step(-1);
    else if (event.key === "ArrowRight") this.timeline.step(1);
    else if (event.key === " ") this.run(!this.running);
    else return;
    event.preventDefault();
  }

  sendKey(key, down) {
    if (down) this.down.add(key);
    else this.down.delete(key);
    this.serial += 1;
    stats.pressed.set(this.serial, performance.now());
    this.send({ kind: "key", key, down, serial: this.serial });
  }

  tap(key) {
    this.sendKey(key, true);
    setTimeout(() => this.sendKey(key, false), 60);
  }

  release() {
    for (const key of [...this.down]) this.sendKey(key, false);
  }

  // -- what comes ---------------------------------------------------------------------------------

  view(view, pixels) {
    this.last = [view, pixels];
    this.running = view.running;
    const run = this.root.querySelector("#run");
    if (run) run.textContent = view.running ? "■ Stop" : "▶ Run";
    if (this.drawer) this.drawer.draw(view, pixels);
    else if (view.text !== undefined && !this.info.page) this.text(view);
    this.marked.textContent = view.marked || "";
    if (view.lanes) return;
    this.timeline.moved(view.branch, view.index);
    if (this.result.textContent !== (view.result || "")) this.result.textContent = view.result || "";
    if (view.news) this.tell(view);
    if (view.legal) this.choices(view);
  }

  text(view) {
    replace(this.stage, ansi(view.text));
  }

  // What was said on the way to a moment that was gone to.
  retell(message) {
    this.heard = [];
    replace(this.log, message.lines.map((line) => h("p", {}, line)));
    this.log.scrollTop = this.log.scrollHeight;
  }

  tell(view) {
    const shown = view.news;
    if (shown.length === 0) return;
    const known = shown.length >= this.heard.length && this.heard.every((line, k) => line === shown[k]);
    const fresh = known ? shown.slice(this.heard.length) : shown;
    this.heard = view.yours && !view.running ? [] : shown;
    for (const line of fresh) this.log.append(h("p", {}, line));
    while (this.log.childElementCount > 300) this.log.firstElementChild.remove();
    this.log.scrollTop = this.log.scrollHeight;
  }

  // Actions by name, where the scene offers no other way to all of them.
  choices(view) {
    const own = this.module && this.module.offersAll;
    const legal = own ? [] : view.legal;
    const fold = legal.length > 24;
    const buttons = legal.map(([action, name]) => h("button", {
      type: "button", "data-key": `action-${action}`, onclick: () => this.act(action),
    }, name === String(action) ? `action ${action}` : name));
    if (fold) {
      const open = this.actions.querySelector("details");
      replace(this.actions, h("details", { open: open ? open.open : !this.module }, h("summary", {}, `${legal.length} actions`), h("div", { class: "row" }, buttons)));
    } else replace(this.actions, buttons);
  }

  kept(message) {
    const url = message.link;
    if (navigator.clipboard) navigator.clipboard.writeText(url).catch(() => {});
    replace(this.more, h("a", { href: url, target: "_blank", rel: "noopener", id: "moment-link" }, "this moment"),
      fileLink({ href: `/moment/${message.hash}`, id: "moment-file" }, "its row as a file"));
    this.say("Kept: the link is copied, and opens exactly this moment.");
  }

  async load(input) {
    const file = input.files[0];
    input.value = "";
    if (!file) return;
    try {
      this.send({ kind: "load", moment: JSON.parse(await file.text()) });
    } catch {
      this.say(`${file.name} is no moment: it holds no JSON.`, true);
    }
  }

  makeFilm(format) {
    this.say("Making a film …");
    this.send({ kind: "film", format, fps: format === "gif" ? 4 : 8 });
  }

  film(message) {
    replace(this.more, fileLink({ href: message.url, id: "film-link" }, `the film, ${(message.bytes / 1e6).toFixed(1)} MB`));
    this.say("The film is made.");
  }

  proof(message) {
    const names = message.backends.join(", ");
    if (message.difference) this.say(message.difference, true);
    else this.say(`${names}: ${message.steps} of ${message.of} decisions, all bits are equal${message.done ? "." : " …"}`);
  }

  hands() {
    const about = this.game && this.game.env === this.info.env ? this.game : { agents: [], bots: [] };
    const everyone = ["person", ...about.agents, ...about.bots, ...this.info.players.filter((name) => name.startsWith("search:"))];
    const names = [...new Set([...everyone, ...this.info.players])];
    const selects = this.info.players.map((player, seat) => h("select", { "data-key": `hand-${seat}` },
      names.map((name) => h("option", { value: name, selected: name === player }, name === "person" ? "a person" : name))));
    const labels = selects.map((select, seat) => h("label", {}, seatName(this.info.players, seat), " ", select));
    replace(this.more, labels, h("button", {
      type: "button", id: "take", "data-key": "take", onclick: () => this.send({ kind: "take", players: selects.map((select) => select.value) }),
    }, "Play on"));
    if (selects[0]) selects[0].focus();
    if (about.bots.length === 0) this.send({ kind: "describe", env: this.info.env });
  }
}
