// What is thought of a moment, and what there is to see: an aside beside the game.

import { h, s, replace, number } from "./dom.js";
import { visitMaps } from "./tiles.js";

const FEW = 64; // numbers of a field that are written out
const ADVICE = "worlds=32,decisions=all"; // as of who advises by default

export class Thought {
  constructor(root, send, play) {
    Object.assign(this, { root, send, play, on: true, who: "", chosen: false, opened: false, body: h("div"), unfolded: new Set(["advice", "played"]) });
  }

  begin(table) {
    this.hidden = table.hidden;
    this.root.hidden = table.lanes > 1;
    this.draw(table);
    if (this.on && !this.root.hidden) this.choose();
  }

  draw(table) {
    const about = this.play.game && this.play.game.env === table.env ? this.play.game : { agents: [], bots: [] };
    const names = [...about.agents, ...[...about.agents, ...about.bots].map((name) => `search:${name},${ADVICE}`)];
    if (table.adviser && !names.includes(table.adviser)) names.unshift(table.adviser);
    if (!this.chosen || !["", ...names].includes(this.who)) Object.assign(this, { who: table.adviser || "", chosen: false });
    const choose = () => this.choose();
    this.toggle = h("input", { type: "checkbox", id: "think", checked: this.on, onchange: (event) => { this.on = event.target.checked; choose(); } });
    const select = h("select", { id: "thinker", "aria-label": "Whose thoughts", onchange: (event) => { Object.assign(this, { who: event.target.value, chosen: true }); choose(); } },
      h("option", { value: "" }, "those who play"), names.map((name) => h("option", { value: name, selected: name === this.who }, name)));
    const open = this.hidden && h("label", { class: "check" }, h("input", {
      type: "checkbox", id: "opened", checked: this.opened, onchange: (event) => { this.opened = event.target.checked; choose(); },
    }), "show what is hidden");
    replace(this.root, h("div", { class: "row" }, h("h3", {}, h("label", { class: "check" }, this.toggle, "Show thoughts of"))),
      h("div", { class: "row" }, select, open), this.body);
    this.body.replaceChildren();
  }

  choose() {
    this.send({ kind: "think", on: this.on, who: this.on && this.who ? this.who : null, opened: this.opened });
    if (!this.on) this.body.replaceChildren();
  }

  show(message) {
    if (!this.on) return;
    const part = (key, title, content) => content && h("details", {
      open: this.unfolded.has(key), ontoggle: (event) => this.unfolded[event.target.open ? "add" : "delete"](key),
    }, h("summary", { "data-key": `thought-${key}` }, title), content);
    const drawer = this.play.module && this.play.module.insight;
    replace(this.body,
      message.note && h("p", { class: "dim" }, message.note),
      part("advice", message.who ? `${message.who.replaceAll(",", ", ")} thinks` : "", message.advice && advice(message.advice)),
      part("played", message.played ? `${message.played.seat} thought` : "", message.played && played(message.played)),
      part("insight", "The game's own", drawer && drawer(message.insight, h, s)),
      part("visits", "Visits", message.visits.length > 0 && h("div", { class: "visits" }, visitMaps(message.visits))),
      part("terms", "Reward of the last decision", pairs(message.terms.filter(([, value]) => value !== 0))),
      part("info", "Info", pairs(message.info)),
      part("mask", `Mask: ${message.mask.length} of ${message.actions} actions`, message.mask.length > 0 && h("p", { class: "numbers" }, message.mask.join(" "))),
      part("obs", "Observation", message.observation.length > 0 && observation(message.observation)));
  }
}

function bar(share, error = 0) {
  const at = (x) => Math.max(0, Math.min(100, 100 * x));
  return s("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "bar", "aria-hidden": "true" },
    s("rect", { x: 0, y: 1, height: 8, width: at(share) }),
    error > 0 && s("line", { x1: at(share - error), x2: at(share + error), y1: 5, y2: 5 }));
}

function advice(found) {
  const parts = [h("p", {}, "plays ", h("b", {}, found.action[1]), found.value !== null && `, expects ${number(found.value)}`),
    found.reason && h("p", { class: "reason" }, found.reason), found.note && h("p", { class: "dim" }, found.note)];
  if (found.searched) parts.push(searched(found));
  if (found.probabilities) {
    parts.push(h("table", { class: "thoughts" }, h("caption", {}, "probabilities"), h("tbody", {}, found.probabilities.slice(0, 16).map(([, name, chance]) =>
      h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, bar(chance)), h("td", { class: "number" }, `${(100 * chance).toFixed(1)} %`))))));
  }
  return h("div", {}, parts);
}

function played(found) {
  return h("div", {}, h("p", { class: "reason" }, found.reason), found.searched && searched(found));
}

function searched(found) {
  const rows = found.searched.filter((row) => row.mean !== null);
  const low = Math.min(...rows.map((row) => row.mean - (row.error || 0)));
  const high = Math.max(...rows.map((row) => row.mean + (row.error || 0)));
  const wide = high - low || 1;
  return h("table", { class: "thoughts" },
    h("caption", {}, `searched for ${number(found.milliseconds)} ms`),
    h("thead", {}, h("tr", {}, ["action", "", "mean", "±", "worlds", "policy"].map((name) => h("th", { scope: "col" }, name || h("span", { class: "unseen" }, "mean as a bar"))))),
    h("tbody", {}, found.searched.slice(0, 16).map((row) => h("tr", { class: row.action === found.chosen ? "chosen" : null },
      h("th", { scope: "row" }, row.action === found.chosen ? "▶ " : "", row.name),
      h("td", {}, row.mean !== null && bar(0.08 + (0.9 * (row.mean - low)) / wide, (0.9 * (row.error || 0)) / wide)),
      h("td", { class: "number" }, number(row.mean)), h("td", { class: "number" }, number(row.error)),
      h("td", { class: "number" }, row.worlds), h("td", { class: "number" }, row.wanted === null ? "–" : `${(100 * row.wanted).toFixed(0)} %`)))));
}

function pairs(columns) {
  if (columns.length === 0) return null;
  return h("dl", {}, columns.map(([name, value]) => [h("dt", {}, name), h("dd", {}, Array.isArray(value) ? value.join(" ") : number(value, 5))]));
}

function observation(fields) {
  return h("table", { class: "observation" },
    h("thead", {}, h("tr", {}, ["offset", "name", "values"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, fields.map((field) => h("tr", {}, h("td", { class: "number" }, field.offset),
      h("th", { scope: "row", title: field.meaning }, field.name), h("td", {}, values(field))))));
}

function values(field) {
  if (field.summary) return `${field.shape.join(" × ")}: ${field.summary.join(", ")} (least, mean, most)`;
  const text = field.values.slice(0, FEW).join(" ");
  const more = field.values.length > FEW ? ` … ${field.values.length} numbers` : "";
  return h("span", { class: "numbers", title: field.meaning }, text + more);
}
