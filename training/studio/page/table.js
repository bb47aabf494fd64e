// The table: which game, its options, and who sits where.

import { h, replace } from "./dom.js";

const FIRST = "SkullKingFlat-v0";
const words = (env) => env.replace(/-v\d+$/, "").replace(/([a-z])([A-Z])/g, "$1 $2");

export class TableForm {
  constructor(root, send, say) {
    Object.assign(this, { root, send, say, envs: [], about: null, options: {}, players: [], lanes: 1, search: "" });
  }

  hello(message) {
    this.envs = message.envs;
    this.choose(this.envs.includes(FIRST) ? FIRST : this.envs[0]);
  }

  choose(env) {
    this.env = env;
    this.about = null;
    this.draw();
    this.send({ kind: "describe", env });
  }

  game(about) {
    if (about.env !== this.env) return;
    this.about = about;
    this.options = {};
    this.lanes = 1;
    const other = about.agents[0] || about.bots[about.bots.length - 1] || "person";
    this.players = Array.from({ length: about.seats }, (_, seat) => (seat === 0 ? "person" : other));
    this.draw();
  }

  // Seats follow the number of players where that is an option.
  seats() {
    const given = Number(this.options.num_players);
    return this.about.players_option && given >= 2 && given <= 8 ? given : this.about.seats;
  }

  begin(players, lanes = 1) {
    const seed = this.seed === undefined || this.seed === "" ? null : Number(this.seed);
    this.wait(true);
    this.say("One moment …");
    this.send({ kind: "begin", env: this.env, options: this.options, players, seed, lanes });
  }

  // Until a game has begun or was refused, no other one can be asked for.
  wait(on) {
    this.waits = on;
    for (const button of this.root.querySelectorAll("#begin, #tiles")) button.disabled = on;
  }

  draw() {
    const games = h("div", { class: "games", role: "radiogroup", "aria-label": "Game" }, this.envs.map((env) =>
      h("button", {
        type: "button", role: "radio", "aria-checked": String(env === this.env), "data-key": `game-${env}`,
        onclick: () => this.choose(env),
      }, h("b", {}, words(env)), h("small", {}, env))));
    replace(this.root, h("h2", {}, "Choose a game"), games, this.about ? this.details() : h("p", { class: "dim" }, "…"));
  }

  details() {
    const about = this.about;
    const count = this.seats();
    while (this.players.length < count) this.players.push(this.players[this.players.length - 1]);
    this.players.length = count;
    const seats = this.players.map((player, seat) => this.seat(player, seat));
    const everyone = [...about.agents, ...about.bots];
    return [
      h("p", { class: "goal" }, about.goal),
      h("div", { class: "columns" },
        h("div", {},
          h("h3", {}, count > 1 ? "Who sits where" : "Who plays"),
          h("div", { class: "seats" }, seats),
          h("div", { class: "row" },
            h("label", {}, "Seed ", h("input", {
              type: "number", min: 0, inputmode: "numeric", placeholder: "random", value: this.seed ?? "",
              "data-key": "seed", oninput: (event) => { this.seed = event.target.value; },
            })),
            h("button", { type: "button", class: "primary", id: "begin", "data-key": "begin", disabled: this.waits, onclick: () => this.begin(this.players) },
              this.players.includes("person") ? "Play" : "Watch")),
          everyone.length > 0 && h("div", { class: "row" },
            h("label", {}, "Many at once ", h("input", {
              type: "number", min: 2, max: 256, value: this.many ?? 100, "data-key": "many",
              oninput: (event) => { this.many = Number(event.target.value); },
            })),
            h("button", { type: "button", id: "tiles", "data-key": "tiles", disabled: this.waits, onclick: () => this.watch(everyone) }, "Watch as tiles"))),
        h("div", {}, h("h3", {}, "Options"), this.form())),
    ];
  }

  watch(everyone) {
    const players = this.players.map((player) => (player === "person" ? everyone[0] : player));
    this.begin(players, Math.max(2, this.many ?? 100));
  }

  seat(player, seat) {
    const about = this.about;
    const searching = player.startsWith("search:");
    const base = searching ? player.slice(7).split(",")[0] : player;
    const group = (label, names) => names.length > 0 && h("optgroup", { label }, names.map((name) =>
      h("option", { value: name, selected: name === base }, name)));
    const select = h("select", {
      "aria-label": `Player of seat ${seat}`, "data-key": `seat-${seat}`,
      onchange: (event) => this.sit(seat, event.target.value, searching),
    }, h("option", { value: "person", selected: base === "person" }, "a person"),
    group("Agents", about.agents), group("Bots", about.bots));
    const search = h("label", { class: "check" }, h("input", {
      type: "checkbox", checked: searching, disabled: base === "person", "data-key": `search-${seat}`,
      onchange: (event) => this.sit(seat, base, event.target.checked),
    }), "searches");
    const options = searching && h("input", {
      type: "text", value: player.slice(7).split(",").slice(1).join(","), size: 18, "data-key": `how-${seat}`,
      "aria-label": `How seat ${seat} searches`, title: about.search.map((o) => `${o.name}: ${o.help}`).join("\n"),
      onchange: (event) => { this.players[seat] = `search:${base},${event.target.value}`.replace(/,$/, ""); },
    });
    return h("div", { class: "seat" }, h("span", { class: "dim" }, `seat ${seat}`), select, search, options);
  }

  sit(seat, name, searches) {
    this.players[seat] = searches && name !== "person" ? `search:${name},worlds=16` : name;
    this.draw();
  }

  form() {
    return h("div", { class: "options" }, this.about.options.map((option) => {
      const id = `option-${option.name}`;
      const usual = option.name in this.about.defaults ? this.about.defaults[option.name] : option.default;
      const given = option.name in this.options ? this.options[option.name] : usual;
      const take = (text) => this.take(option, text, usual);
      const shown = given === null || given === undefined ? "" : String(given);
      const field = option.choices.length > 0
        ? h("select", { id, "data-key": id, onchange: (event) => take(event.target.value) },
          option.choices.map((value) => h("option", { value: JSON.stringify(value), selected: value === given }, value === null ? "none" : String(value))))
        : h("input", { id, "data-key": id, type: "text", value: shown, placeholder: "default", onchange: (event) => take(event.target.value) });
      return h("div", { class: "option" }, h("label", { for: id }, option.name), field,
        option.help && h("details", {}, h("summary", { "aria-label": `What ${option.name} is` }, "?"), h("p", {}, option.help)));
    }));
  }

  take(option, text, usual) {
    let value = text;
    try {
      value = text === "" ? usual : JSON.parse(text);
    } catch { /* a word */ }
    if (text === "" || value === usual) delete this.options[option.name];
    else this.options[option.name] = value;
    if (option.name === "num_players") this.draw();
  }
}
