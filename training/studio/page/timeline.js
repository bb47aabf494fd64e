// The timeline: branches, marks, rewards, and going to any moment.

import { h, s, replace } from "./dom.js";

export class Timeline {
  constructor(root, send) {
    Object.assign(this, { root, send, state: null });
  }

  show(message) {
    this.state = message;
    this.draw();
  }

  moved(branch, index) {
    if (!this.state) return;
    Object.assign(this.state, { branch, index });
    const here = this.state.branches[branch];
    if (here && index > here.last) here.last = index;
    this.place();
  }

  go(branch, index) {
    const last = this.state.branches[branch].last;
    this.send({ kind: "go", branch, index: Math.max(0, Math.min(last, index)) });
  }

  step(by) {
    if (this.state) this.go(this.state.branch, this.state.index + by);
  }

  mark(way) {
    const { branch, branches, index } = this.state;
    const marks = branches[branch].marks.map(([at]) => at);
    const next = way > 0 ? marks.find((at) => at > index) : marks.filter((at) => at < index).pop();
    this.go(branch, next ?? (way > 0 ? branches[branch].last : 0));
  }

  draw() {
    const { branches, branch } = this.state;
    const length = Math.max(1, ...branches.map((each) => each.last));
    const button = (label, text, act) => h("button", { type: "button", "aria-label": label, title: label, "data-key": label, onclick: act }, text);
    this.slider = h("input", {
      type: "range", min: 0, max: branches[branch].last, "aria-label": "Moment", "data-key": "moment",
      oninput: (event) => this.go(this.state.branch, Number(event.target.value)),
    });
    this.label = h("output", { class: "where" });
    const row = (each) => this.branch(each, length);
    replace(this.root,
      h("div", { class: "row steps" },
        button("To the beginning", "|◀", () => this.go(branch, 0)),
        button("Mark before", "◂", () => this.mark(-1)),
        button("A decision back", "◀", () => this.step(-1)),
        button("A decision on", "▶", () => this.step(1)),
        button("Mark behind", "▸", () => this.mark(1)),
        button("To the newest", "▶|", () => this.go(branch, branches[branch].last)),
        this.label),
      this.slider,
      h("div", { class: "branches", role: "group", "aria-label": "Branches" }, branches.map(row)));
    this.place();
  }

  place() {
    const { branches, branch, index } = this.state;
    if (!this.slider || !branches[branch]) return; // a view of a new branch comes before its timeline
    this.slider.max = branches[branch].last;
    this.slider.value = index;
    const mark = branches[branch].marks.find(([at]) => at === index);
    this.label.textContent = `${index} of ${branches[branch].last}${branches.length > 1 ? `, branch ${branch + 1}` : ""}${mark ? `: ${mark[1]}` : ""}`;
    for (const line of this.root.querySelectorAll("[data-here]")) {
      line.setAttribute("x", (1000 * index) / Number(line.dataset.length));
      line.setAttribute("visibility", Number(line.dataset.here) === branch ? "visible" : "hidden");
    }
  }

  branch(each, length) {
    const x = (at) => (1000 * at) / length;
    const most = Math.max(1e-9, ...each.rewards.map(Math.abs));
    const wide = (x(each.last) - x(each.first)) / Math.max(1, each.rewards.length);
    const bars = each.rewards.map((reward, k) => reward && s("rect", {
      class: reward > 0 ? "gain" : "loss", x: x(each.first) + k * wide, width: Math.max(1, wide),
      y: reward > 0 ? 12 - (12 * reward) / most : 12, height: (12 * Math.abs(reward)) / most,
    }));
    const marks = each.marks.map(([at, text]) => s("path", { class: "mark", d: `M${x(at)} 0l5 -6h-10z` }, s("title", {}, `${at}: ${text}`)));
    const picture = s("svg", { viewBox: "0 -8 1000 34", preserveAspectRatio: "none", "aria-hidden": "true" },
      s("line", { class: "thread", x1: x(each.first), x2: x(each.last), y1: 12, y2: 12 }), bars, marks,
      s("rect", { class: "here", "data-here": each.number, "data-length": length, y: -4, width: 3, height: 28 }));
    const label = `Branch ${each.number + 1}, moments ${each.first} to ${each.last}, ${each.marks.length} marks`;
    return h("button", {
      type: "button", class: each.number === this.state.branch ? "branch current" : "branch", "aria-label": label, title: label,
      "data-key": `branch-${each.number}`,
      onclick: (event) => {
        const box = event.currentTarget.getBoundingClientRect();
        const share = event.detail ? (event.clientX - box.left) / box.width : 1;
        this.go(each.number, Math.round(Math.max(each.first, Math.min(each.last, share * length))));
      },
    }, picture);
  }
}
