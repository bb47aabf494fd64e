// The table: which game, its options, and who sits where.

import { h, replace } from "./dom.js";
import { rulesButton } from "./rules.js";

const FIRST = "SkullKingFlat-v0";

// What a seat is called before anybody sits down at the table.
export function seatName(players, seat) {
  const persons = players.filter((player) => player === "person").length;
  if (players[seat] === "person" && persons === 1) return "You";
  if (players.length === 1) return "Player";
  const others = persons === 1 ? players.slice(0, seat).filter((player) => player !== "person").length : seat;
  const word = persons === 1 ? "Opponent" : "Player";
  return persons === 1 && players.length === 2 ? word : `${word} ${others + 1}`;
}

export class TableForm {
  constructor(root, send, say, watches) {
    Object.assign(this, { root, send, say, watches, games: [], about: null, options: {}, players: [], lanes: 1, search: "", unfolded: false });
  }

  hello(message) {
    this.games = message.games;
    this.choose(message.envs.includes(FIRST) ? FIRST : message.envs[0]);
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
    this.watches(!players.includes("person"));
    this.send({ kind: "begin", env: this.env, options: this.options, players, seed, lanes });
  }

  // Until a game has begun or was refused, no other one can be asked for.
  wait(on) {
    this.waits = on;
    for (const button of this.root.querySelectorAll("#begin, #tiles")) button.disabled = on;
  }

  draw() {
    const family = this.games.find((game) => game.envs.some(({ env }) => env === this.env));
    const families = h("div", { class: "families", role: "radiogroup", "aria-label": "Game" }, this.games.map((game) =>
      h("button", {
        type: "button", role: "radio", "aria-checked": String(game === family), "data-key": `family-${game.envs[0].env}`,
        onclick: () => game !== family && this.choose(game.envs[0].env),
      }, game.picture && h("img", { src: `/game/${game.envs[0].env}/picture`, alt: "", loading: "lazy", width: 150, height: 100 }),
      h("span", {}, h("b", {}, game.title), h("span", { class: "about" }, game.about)))));
    const envs = h("div", { class: "games", role: "radiogroup", "aria-label": `Kind of ${family.title}` }, family.envs.map(({ env, title, about }) =>
      h("button", {
        type: "button", role: "radio", "aria-checked": String(env === this.env), "data-key": `game-${env}`,
        onclick: () => this.choose(env),
      }, h("b", {}, title), about && h("span", { class: "about" }, about), h("small", {}, env))));
    replace(this.root, h("h2", {}, "Choose a game"), families, envs, this.about ? this.details() : h("p", { class: "dim" }, "…"));
  }

  details() {
    const about = this.about;
    const count = this.seats();
    while (this.players.length < count) this.players.push(this.players[this.players.length - 1]);
    this.players.length = count;
    const seats = this.players.map((player, seat) => this.seat(player, seat));
    const everyone = [...about.agents, ...about.bots];
    const played = this.players.includes("person");
    return [
      h("p", { class: "goal" }, about.goal, " ", about.rules && rulesButton(about.env)),
      h("h3", {}, count > 1 ? "Who plays against whom" : "Who plays"),
      h("div", { class: "seats" }, seats),
      h("div", { class: "row" },
        h("button", { type: "button", class: "primary", id: "begin", "data-key": "begin", disabled: this.waits, onclick: () => this.begin(this.players) },
          played ? "Play" : "Watch"),
        h("label", { title: "The same seed begins the same game" }, "Seed ", h("input", {
          type: "number", min: 0, inputmode: "numeric", placeholder: "random", value: this.seed ?? "",
          "data-key": "seed", oninput: (event) => { this.seed = event.target.value; },
        }))),
      everyone.length > 0 && h("div", { class: "row" },
        h("button", { type: "button", id: "tiles", "data-key": "tiles", disabled: this.waits, onclick: () => this.watch(everyone) }, "Watch many"),
        h("label", {}, "Games at once ", h("input", {
          type: "number", min: 2, max: 256, value: this.many ?? 100, "data-key": "many",
          oninput: (event) => { this.many = Number(event.target.value); },
        }))),
      this.form(),
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
    const called = seatName(this.players, seat);
    const select = h("select", {
      "aria-label": called, "data-key": `seat-${seat}`,
      onchange: (event) => this.sit(seat, event.target.value, searching),
    }, h("option", { value: "person", selected: base === "person" }, "a person"),
    group("Trained agents", about.agents), group("Scripted bots", about.bots));
    const search = base !== "person" && h("label", { class: "check", title: "Tries each move in many possible worlds before it decides: stronger, and slower" }, h("input", {
      type: "checkbox", checked: searching, "data-key": `search-${seat}`,
      onchange: (event) => this.sit(seat, base, event.target.checked),
    }), "thinks ahead");
    const options = searching && h("input", {
      type: "text", value: player.slice(7).split(",").slice(1).join(","), size: 18, "data-key": `how-${seat}`,
      "aria-label": `How ${called} thinks ahead`, title: about.search.map((o) => `${o.name}: ${o.help}`).join("\n"),
      onchange: (event) => { this.players[seat] = `search:${base},${event.target.value}`.replace(/,$/, ""); },
    });
    return h("div", { class: "seat" }, h("span", { class: "who" }, called), select, search, options);
  }

  sit(seat, name, searches) {
    this.players[seat] = searches && name !== "person" ? `search:${name},worlds=16` : name;
    this.draw();
  }

  form() {
    const changed = Object.keys(this.options).length;
    const said = changed > 0 ? `${changed} of ${this.about.options.length} changed` : `${this.about.options.length}, all as usual`;
    return h("details", { class: "all-options", open: this.unfolded, ontoggle: (event) => { this.unfolded = event.target.open; } },
      h("summary", { "data-key": "options" }, "Options ", h("span", { class: "dim", id: "changed" }, said)),
      h("div", { class: "options" }, this.about.options.map((option) => this.option(option))));
  }

  option(option) {
    const id = `option-${option.name}`;
    const usual = option.name in this.about.defaults ? this.about.defaults[option.name] : option.default;
    const given = option.name in this.options ? this.options[option.name] : usual;
    const take = (text) => this.take(option, text, usual);
    const shown = given === null || given === undefined ? "" : String(given);
    const field = option.choices.length > 0
      ? h("select", { id, "data-key": id, onchange: (event) => take(event.target.value) },
        option.choices.map((value) => h("option", { value: JSON.stringify(value), selected: value === given }, value === null ? "none" : String(value))))
      : h("input", { id, "data-key": id, type: "text", value: shown, placeholder: "as usual", onchange: (event) => take(event.target.value) });
    return h("div", { class: "option" }, h("label", { for: id }, option.title, h("code", {}, option.name)), field, option.help && h("p", {}, option.help));
  }

  take(option, text, usual) {
    let value = text;
    try {
      value = text === "" ? usual : JSON.parse(text);
    } catch { /* a word */ }
    if (text === "" || value === usual) delete this.options[option.name];
    else this.options[option.name] = value;
    this.draw();
  }
}
