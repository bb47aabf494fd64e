// Runs: a list, and those that are chosen side by side, on the page and as one file.

import { h, replace, number } from "./dom.js";
import { fileLink } from "./socket.js";
import { Report } from "./report.js";

export class Runs {
  constructor(root, send) {
    Object.assign(this, { root, send, chosen: new Set(), report: null });
    this.table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "All runs" });
    this.bar = h("div", { class: "row" });
    this.charts = h("div");
    this.root.append(h("h2", {}, "Runs"), h("p", { class: "dim" }, "Trainings of yours and agents that come with fastenv. Choose some to see them side by side."), this.table, this.bar, this.charts);
  }

  open() {
    this.send({ kind: "runs" });
  }

  list(message) {
    const head = ["", "run", "begun", "environment", "trainer", "how well it plays", "status", "decisions"];
    const cell = (name, value, number = false) => h("td", { class: number ? "number" : null, "data-head": name }, value);
    replace(this.table, message.runs.length === 0 ? h("p", {}, "There are no runs yet.") : h("table", {},
      h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col", class: name === "decisions" ? "number" : null }, name || h("span", { class: "unseen" }, "shown"))))),
      h("tbody", {}, message.runs.map((run) => h("tr", {},
        h("td", { class: "pick" }, h("input", {
          type: "checkbox", id: `run-${run.name}`, checked: this.chosen.has(run.name), "aria-label": `Show ${run.name}`, "data-key": `run-${run.name}`,
          onchange: (event) => this.choose(run.name, event.target.checked),
        })),
        h("th", { scope: "row" }, h("label", { for: `run-${run.name}` }, run.name)),
        h("td", { class: "date", "data-head": "begun" }, run.created ? run.created.slice(0, 10) : "–"), cell("environment", run.env), cell("trainer", run.trainer),
        cell("how well it plays", run.result || "–"), cell("status", run.status || "–"),
        cell("decisions", run.steps === null ? number(run.total_steps) : `${number(run.steps)} of ${number(run.total_steps)}`, true))))));
  }

  choose(name, on) {
    this.chosen[on ? "add" : "delete"](name);
    this.send({ kind: "curves", names: [...this.chosen] });
    if (this.chosen.size === 0) {
      this.report = null;
      this.charts.replaceChildren();
      this.bar.replaceChildren();
    }
  }

  maps(message) {
    if (this.chosen.size === 0) return;
    if (this.report === null) this.report = new Report(this.charts);
    this.report.showMaps(Object.fromEntries(Object.entries(message.maps).filter(([name]) => this.chosen.has(name))));
  }

  curves(message) {
    if (this.chosen.size === 0) return;
    if (this.report === null) this.report = new Report(this.charts);
    this.report.show(message);
    replace(this.bar, fileLink({ id: "report", class: "button", href: `/report?runs=${encodeURIComponent([...this.chosen].join(","))}` }, "Save as one file"));
  }
}
