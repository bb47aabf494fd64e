"""The RAM maps of Pokemon, with a game of ours that keeps things in the same places."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import fastenv
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from fastenv.gameboy import make_game
from fastenv.gameboy.config import GameBoyConfig
from fastenv.gameboy.observed import read_observed
from fastenv.gameboy.ram_program import load_program, read_map
from fastenv.gameboy.state import Form
from tests.gameboy.lanes import BACKENDS
from tests.gameboy.test_lanes import all_agree
from tests.needs import FASTEST, needs_core
from tools.gameboy import machines

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "howto" / "train_pokemon.md").read_text("utf-8")
NAMES = {"u": "up", "d": "down", "l": "left", "r": "right", "a": "a", "b": "b", ".": "noop"}
TO_THE_SHOP = "uuuuuu uu rrr uu llll b l uuu rr u u u rrr uuu u"
TO_THE_CLERK = "uuuu ll uu rr a"
READ_ON = ".... a"
BACK = "l dd rr dddd d ddd lll dd"
HOME = "ll ddd rrrrr d b d lll ddd"
TO_THE_LAB = "ddd ll u uuuuu l u a"


def walk_there(env, path):
    """Take the steps of a path; yield what each gives."""
    actions = {name: k for k, name in enumerate(env.game.config.action_names)}
    for letter in path.replace(" ", ""):
        yield env.step(actions[NAMES[letter]])


def parcel(**options):
    return fastenv.make(
        "GameBoyPixels-v0",
        **{"rom": "parcel", "ram_map": "parcel", "backend": FASTEST, "max_steps": None, **options},
    )


@needs_core
def test_the_parcel_is_fetched_and_every_field_follows():
    env = parcel()
    env.reset(seed=0)
    *_, info = env.step(0)
    assert (info["map_id"], info["map_x"], info["map_y"]) == (0, 4, 5)
    assert (info["party_count"], info["party_level"][0], info["party_hp"][0]) == (1, 5, 20)
    assert (info["money"], info["text_delay"]) == (3000, 1)
    seen, fought = [], False
    for *_, info in walk_there(env, TO_THE_SHOP):
        seen.append(int(info["map_id"]))
        fought |= info["battle"] == 1 and info["enemy_hp"] == 9 and info["enemy_level"] == 3
    assert fought
    assert list(dict.fromkeys(seen)) == [0, 12, 1, 42]
    assert info["pokedex_seen"].tolist() == [1, *[0] * 150]
    *_, (_, paid, _, _, info) = walk_there(env, TO_THE_CLERK)
    assert (info["got_parcel"], info["delivered_parcel"], info["got_pokedex"]) == (1, 0, 0)
    assert (info["bag_count"], info["bag_items"][0], info["bag_quantities"][0]) == (1, 0x46, 1)
    assert info["joy_ignore"] == 255
    assert paid == info["reward_story"] == 1
    assert "events" not in info


@needs_core
def test_the_quest_is_finished_as_its_config_says():
    """Every stage of training/configs/pokemon_red_parcel.yaml is met once, in its order."""
    pytest.importorskip("torch")
    import yaml

    from training.callbacks.trackers.options import build

    config = yaml.safe_load((ROOT / "training/configs/pokemon_red_parcel.yaml").read_text("utf-8"))
    options = {**config["env_options"], "rom": "parcel", "ram_map": "parcel", "states": "power_up"}
    options |= {"sticky": 0.0, "max_steps": None, "allowed_buttons": None}
    engine = fastenv.make_engine("GameBoyPixels-v0", 1, backend=FASTEST, **options)
    quests = build(engine, {"quests": config["trackers"]["quests"]}, 0)._named["quests"]
    engine.reset_many(seeds=0)
    actions = {name: k for k, name in enumerate(engine.game.config.action_names)}
    path = TO_THE_SHOP + TO_THE_CLERK + READ_ON + BACK + HOME + TO_THE_LAB
    paid = []
    for letter in path.replace(" ", ""):
        engine.step_many([actions[NAMES[letter]]])
        quests.observe(engine, [0])
        paid += [float(quests.bonus[0])] if quests.bonus[0] else []
    wanted = [stage["reward"] for stage in config["trackers"]["quests"]["stages"]]
    # In Parcel the last two come in the same step.
    assert paid == [*wanted[:-2], sum(wanted[-2:])]


@needs_core
def test_an_evaluation_counts_a_finished_quest_as_reached():
    pytest.importorskip("torch")
    import yaml

    from training.evaluation.results import columns_of

    config = yaml.safe_load((ROOT / "training/configs/pokemon_red_parcel.yaml").read_text("utf-8"))
    last = config["trackers"]["quests"]["stages"][-1]["when"]
    for name in ("parcel", config["env_options"]["ram_map"]):
        assert read_map(name)[0]["ends"] == {"terminated": "got_pokedex"}
    assert last == {"got_pokedex": 1}
    engine = fastenv.make_engine(
        "GameBoyPixels-v0", 2, backend=FASTEST, rom="parcel", ram_map="parcel", states="power_up"
    )
    engine.reset_many(seeds=0)
    actions = {name: k for k, name in enumerate(engine.game.config.action_names)}
    reached = columns_of(engine)["reached"]
    path = (TO_THE_SHOP + TO_THE_CLERK + READ_ON + BACK + HOME + TO_THE_LAB).replace(" ", "")
    for letter in path:  # the other lane stands still
        before = reached.of({"terminated": engine.terminated})
        assert before.tolist() == [0, 0]
        engine.step_many([actions[NAMES[letter]], actions["noop"]], autoreset=False)
    assert engine.info["got_pokedex"].tolist() == [1, 0]
    assert reached.of({"terminated": engine.terminated}).tolist() == [1, 0]


@needs_core
def test_an_overworld_takes_the_map():
    options = {"rom": "parcel", "ram_map": "parcel", "event_bonus": 0, "cell_bonus": 0}
    env = fastenv.make("GameBoyOverworld-v0", **options, backend=FASTEST)
    env.reset(seed=0)
    *_, (_, reward, *_, info) = walk_there(env, TO_THE_SHOP + TO_THE_CLERK)
    assert (info["map"], info["items"], info["events"], info["got_parcel"]) == (42, 1, 1, 1)
    assert info["cells"] > 30
    assert np.float32(info["reward_story"] + info["reward_items"]) == np.float32(reward)


# -- the files -------------------------------------------------------------------------------------


def fields_of(name):
    return read_map(name)[0]["fields"]


@pytest.mark.parametrize("name", ["pokemon_red", "pokemon_yellow"])
def test_fields_name_their_labels_and_milestones_are_flags(name):
    value, _ = read_map(name)
    places = {}
    for field, entry in value["fields"].items():
        assert re.fullmatch(r"[wh][A-Z]\w*(\+\d)?", entry["label"]), field
        places.setdefault(entry["address"], set()).add(entry["label"])
    assert all(len(labels) == 1 for labels in places.values())  # an address has one label
    program = load_program(name, "pixels")
    assert program.by_name["events"].count == 2560
    assert len(value["fields"]["events"]["names"]) == 40
    for milestone in value["fields"]["events"]["names"]:
        flag = program.by_name[milestone]
        assert (flag.form, flag.info, flag.count) == (Form.BIT, True, 0)
    # Numbers of events that other projects name too.
    numbers = value["fields"]["events"]["names"]
    wanted = {"got_pokedex": 37, "delivered_parcel": 56, "got_parcel": 57, "beat_brock": 119}
    assert {name: numbers[name] for name in wanted} == wanted


def test_yellow_keeps_the_same_things_a_byte_earlier_or_at_the_same_place():
    red, yellow = fields_of("pokemon_red"), fields_of("pokemon_yellow")
    for name, entry in red.items():
        between = int(entry["address"][1:], 16) - int(yellow[name]["address"][1:], 16)
        assert between == (entry["address"] >= "$CF00" and entry["address"] < "$FF00"), name
        same = {key: value for key, value in entry.items() if key != "address"}
        assert {**yellow[name], **same} == yellow[name]
    assert {*yellow} - {*red} == {"pikachu_happiness", "pikachu_mood"}


@needs_core
def test_hooks_are_for_the_whole_cartridge_and_writes_are_off(tmp_path):
    """Parcel has two banks, so hooks beyond them are refused; writes do what they are called."""
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"extends": "pokemon_red_hooks", "roms": None}))
    with pytest.raises(ConfigError, match=r"hooks\..* the ROM has 2 banks"):
        make_game(rom="parcel", ram_map=path)
    program = load_program("pokemon_red_hooks", "pixels")
    assert [hook.name for hook in program.hooks] == [*read_map("pokemon_red_hooks")[0]["hooks"]]
    *_, plain = parcel().reset(seed=0)
    env = parcel(writes=["money", "no_encounters", "hp", "max_hp"])
    env.reset(seed=0)
    env.step(0)  # in which the program clears its memory
    *_, info = env.step(0)
    assert (info["money"], info["repel_steps"], info["health"]) == (10_000, 255, 1000)
    assert info["party_hp"].tolist() == [128] * 6
    assert plain["repel_steps"] == 0


def test_other_roms_are_refused_by_both_sums(tmp_path):
    rom = tmp_path / "other.gb"
    rom.write_bytes(machines.build(b"\x18\xfe", kind=0x13, ram=3).rom)
    for name, says in (("pokemon_red", "for Red .ea9b.* and Blue"), ("pokemon_yellow", "Yellow")):
        with pytest.raises(ConfigError, match=says) as error:
            make_game(rom=rom, ram_map=name)
        assert "take a copy of the file without roms" in str(error.value)


def test_the_page_says_which_roms():
    for name in ("pokemon_red", "pokemon_yellow"):
        for game, digest in read_map(name)[0]["roms"].items():
            assert f"| {game} | `{digest}` |" in PAGE


def test_the_page_says_what_is_paid():
    table = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| ([\d.]+) \|", PAGE, re.MULTILINE)
    said = {name: float(weight) for names, weight in table for name in re.findall(r"\w+", names)}
    rewards = read_map("pokemon_red")[0]["rewards"]
    assert said == {name: entry["weight"] for name, entry in rewards.items()}


def rows_of(mark):
    """Return the cells of a table of the page, without its head."""
    part = PAGE.split(f"<!-- {mark}:begin -->")[1].split(f"<!-- {mark}:end -->")[0]
    lines = [line.strip("| ") for line in part.splitlines() if line.startswith("|")][2:]
    return [line.split(" | ") for line in lines]


def test_what_the_page_says_of_other_observations_can_be_observed():
    cannot = 0
    for field, shown in rows_of("observations"):
        cannot += shown.startswith("cannot: ")
        if not shown.startswith("cannot: "):
            names = re.findall(r"`([^`]+)`", shown)
            assert names, field
            config = GameBoyConfig(kind="overworld", rom="parcel", ram_map="parcel", observe=names)
            observed = read_observed(config, load_program("parcel", "overworld"))
            assert observed is not None
    # At most three fields of observations and rewards together.
    assert cannot + sum("cannot: " in how for _, how in rows_of("terms")) == 3


def test_what_the_page_says_of_other_rewards_is_an_expression(tmp_path):
    value: dict = {"extends": "pokemon_red_hooks", "rewards": {}}
    for number, (term, how) in enumerate(rows_of("terms")):
        texts = re.findall(r"`([^`]+)`", how)
        assert texts or how.startswith("cannot: "), term
        if not how.startswith("cannot: "):
            value["rewards"] |= {f"r{number}_{k}": text for k, text in enumerate(texts)}
    rewards = [*value["rewards"].items()]
    assert len(rewards) > 50
    for begin in range(0, len(rewards), 50):
        names = dict.fromkeys(read_map("pokemon_red_hooks")[0]["rewards"])
        path = tmp_path / "map.json"
        path.write_text(json.dumps(value | {"rewards": names | dict(rewards[begin : begin + 50])}))
        program = load_program(path, "pixels")
        assert len(program.rewards) == len(rewards[begin : begin + 50])


def test_the_page_says_how_many_published_states_are_read():
    record = json.loads((ROOT / "benchmarks/gameboy-published-states.json").read_text("utf-8"))
    projects = {}
    for name, state in record["states"].items():
        assert state["refused"] is None
        projects.setdefault(name.split("-")[0], []).append(state["version"])
    few, many = len(projects["PokemonRedExperiments"]), len(projects["pokemonred_puffer"])
    assert f"The {few} of PokemonRedExperiments and the {many} of pokemonred_puffer" in PAGE
    versions = sorted({version for found in projects.values() for version in found})
    assert versions == [7, 9, 10, 11, 12]
    assert f"layouts 7, 9, 10, 11 and 12: all {few + many} are read" in PAGE


class Memory:
    """The reference with the map, whose memory is written by hand."""

    def __init__(self, ram_map="parcel", **options):
        game = make_game(rom="parcel", ram_map=ram_map, **options)
        self.env = game.create()
        self.env.reset(0, 0, game.shared["starts"][0])
        self.program = game.common.program
        self.fields = self.program.by_name

    def step(self, **written):
        """Write fields, as a step of the program would; return the terms that are not 0."""
        before = self.env.memory()
        for name, value in written.items():
            name, _, element = name.partition("__")
            self.write(self.fields[name], int(element or 0), value)
        self.ended = self.env.look_at_memory(before)
        terms = zip(self.program.rewards, self.env.values, strict=False)
        return {name: weight * value for (name, weight, _), value in terms if value}

    def write(self, field, element, value):
        wram, at = self.env.machine.bus.wram, field.place - 0xC000
        if field.form == Form.BIT:
            byte, bit = divmod(field.bit + element * field.stride, 8)
            wram[at + byte] = wram[at + byte] & ~(1 << bit) | value << bit
            return
        at += element * field.stride
        if field.form == Form.BCD:
            value = int(str(value), 16)
        wram[at : at + field.size] = value.to_bytes(field.size, "big", signed=value < 0)


def test_rewards_pay_for_what_they_say(tmp_path):
    path = tmp_path / "any_rom.json"
    path.write_text(json.dumps({"extends": "pokemon_red", "roms": None}), encoding="utf-8")
    memory = Memory(ram_map=path)
    start = {"party_count": 1, "party_level__0": 5, "party_max_hp__0": 20, "party_hp__0": 20}
    assert memory.step(**start) == {"levels": 2.5}
    assert memory.step(party_level__3=50) == {}  # of no member of the party
    assert memory.step(events__700=1, got_pokedex=1) == {"story": 2}
    assert memory.step(museum_ticket=1) == {}
    assert memory.step(events__700=0) == memory.step(events__700=1) == {}  # paid already
    assert memory.step(badges__0=1, badges__7=1) == {"badges": 10}
    assert memory.step(pokedex_seen__3=1, pokedex_owned__150=1) == {"seen": 0.5, "owned": 0.5}
    assert memory.step(party_level__0=22) == {"levels": 8.5}
    assert memory.step(party_level__0=30) == {"levels": 1}  # (30 - 22) / 4 points
    assert memory.step(party_level__0=9) == memory.step(party_level__0=30) == {}
    assert memory.step(party_hp__0=5) == {}
    assert memory.step(party_hp__0=15) == {"healing": 0.5}
    more = {"party_count": 2, "party_level__1": 0, "party_hp__1": 9, "party_max_hp__1": 9}
    assert memory.step(**more) == {}  # a new member
    assert memory.step(party_hp__0=0, party_hp__1=0) == {}
    assert memory.step(party_hp__0=20, party_hp__1=9) == {}  # after a faint
    assert memory.step(map_x=3) == {"explore": 0.02}
    assert memory.step(map_x=0) == {}
    assert memory.step(map_y=4, battle=1) == memory.step(map_y=0) == {}  # nobody walks in a battle
    assert memory.step(map_y=4, battle=0) == {"explore": 0.02}
    assert memory.step(party_move3__1=15, party_move1__0=57) == {"hms": 4}
    assert memory.step(party_move3__1=0, party_move2__0=15) == {}
    assert memory.step(enemy_party_level__5=12, enemy_party_level__0=7) == {
        "opponents": pytest.approx(2.4)
    }
    assert memory.step(enemy_party_level__5=0) == {}
    assert memory.ended == 0
    memory.step(beat_champion=1)
    assert memory.ended == 1
    memory = Memory()  # Parcel ends with its quest
    memory.step(got_pokedex=0)
    assert memory.ended == 0
    memory.step(got_pokedex=1)
    assert memory.ended == 1


@needs_core
def test_numbers_of_the_map_can_be_observed():
    env = parcel(observe=["health", "levels", "explored", "got_parcel", "story", "party_level[0]"])
    obs, _ = env.reset(seed=0)
    *_, (obs, *_, info) = walk_there(env, TO_THE_SHOP + TO_THE_CLERK)
    assert info["explored"] > 30
    wanted = [1.0, 5 / 600, info["explored"] / 8192, 1 / 500, 5 / 100]
    assert obs["numbers"].tolist() == np.array(wanted, np.float32).tolist()
    assert obs["flags"].tolist() == [1]
    with pytest.raises(ConfigError, match=r"observe: 'health.0.' .* 'health', a single"):
        parcel(observe=["health[0]"])


@pytest.mark.slow
def test_backends_agree_on_the_map():
    """With what it remembers, on memory that changes at random."""
    one = {"frames_per_step": 1, "release_after_frames": 1, "stack_k": 1, "max_steps": 4}
    observe = ["events", "levels", "health", "explored", "visited", "actions[2]"]
    one |= {"kind": "overworld", "rom": "parcel", "ram_map": "parcel", "visits": 64}
    wait = {"wait_until": "joy_ignore % 2 == 0", "wait_steps": 1}
    game = make_game(observe=observe, play_on=True, **wait, **one)
    engines = [BatchEngine(game, 3, backend) for backend in BACKENDS]
    rng = np.random.default_rng(6)
    for engine in engines:
        engine.reset_many(seeds=6)
    for _ in range(10):
        rows = engines[0].get_states()
        rows["wram"][:, 0x1000:0x1A00] = rng.integers(0, 256, (3, 0xA00))
        rows["wram"][:, 0xD6B] = rng.integers(0, 2, 3)
        actions = rng.integers(0, 8, 3)
        for engine in engines:
            engine.set_states(rows)
            engine.step_many(actions)
        all_agree(engines)
