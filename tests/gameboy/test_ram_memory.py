"""What RAM maps remember: running numbers, sets and visits, against a dict and in four backends."""

import json
import re

import numpy as np
import pytest

from docs.generate import with_tables
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, StateError
from fastenv.gameboy import make_game
from fastenv.gameboy.expressions import FUNCTIONS, Scope, evaluate, grammar, parse
from fastenv.gameboy.ram_memory import KeySet, Table
from fastenv.gameboy.ram_program import load_program
from fastenv.gameboy.symbols import Symbols, read_symbols
from tests.gameboy.lanes import BACKENDS, FIRST
from tests.needs import FASTEST
from tests.tables import walk
from tools.gameboy.random_maps import play, random_game, write_rom

ONE = {"frames_per_step": 1, "release_after_frames": 1, "stack_k": 1}
FIELDS = {
    "map": {"address": "$C000", "type": "u1"},
    "x": {"address": "$C001", "type": "u1"},
    "level": {"address": "$C002", "type": "i1", "count": 3},
    "hp": {"address": "$C005", "type": "u1", "count": 3},
    "flags": {"address": "$C008", "type": "bit", "count": 40, "bit": 3},
}


def write_map(folder, **parts):
    path = folder / "map.json"
    path.write_text(json.dumps({"fields": FIELDS, **parts}), encoding="utf-8")
    return path


def game_of(folder, **parts):
    return make_game(rom=write_rom(folder), ram_map=write_map(folder, **parts), **ONE)


def poke(engine, *numbers):
    """Set the first bytes of memory that the program does not write in the next step."""
    rows = engine.get_states()
    rows["wram"][:, : len(numbers)] = numbers
    rows["halted"], rows["high"][:, 0xFF] = 1, 0
    engine.set_states(rows)


# -- what an episode comes to, told apart from the program -----------------------------------------


def test_an_episode_is_remembered_as_the_page_says(tmp_path):
    """Memory is set by hand before each step of a processor that waits for ever."""
    parts = {
        "sets": {
            "cells": {"key": ["map", "x"], "capacity": 3},
            "where": {"key": ["map"], "capacity": 9, "when": "x > 0"},
        },
        "numbers": {"best": "max_so_far(sum(level))", "twice": "visits(cells) * 2"},
        "rewards": {
            "new": "first_time(map, x)", "often": "visits(cells)", "keys": "size(cells)",
            "rooms": "first_time(where)", "up": "delta(best)", "was": "previous(twice)",
            "total": "sum_so_far(delta(x))",
        },
    }  # fmt: skip
    engine = BatchEngine(game_of(tmp_path, **parts), 1, FASTEST)
    engine.reset_many(seeds=0)
    engine._warned_of.clear()  # that the set is full
    visited, places, best, total, lost, before = {(0, 0): 1}, set(), 0, 0, 0, 2
    x_before = 0
    walk_of = [(0, 1), (0, 0), (5, 1), (0, 1), (7, 7), (7, 7), (5, 1), (0, 0), (9, 0)]
    for step, (room, x) in enumerate(walk_of):
        levels = [step, 3 - step, step % 3]
        rows = engine.get_states()
        rows["wram"][0, 0] = room
        rows["wram"][0, 2:5] = np.array(levels, np.int8).view(np.uint8)
        # x changes within the step: a program of one instruction writes it
        rows["wram"][0, 0x100:0x104] = [0xEA, 0x01, 0xC0, 0x76]  # ld ($C001),a; halt
        rows["pc"], rows["a"], rows["halted"] = 0xC100, x, 0
        rows["ime"], rows["high"][:, 0xFF], rows["stopped"] = 0, 0, 0
        engine.set_states(rows)
        engine.step_many([0], autoreset=False)
        key = (room, x)
        if key in visited or len(visited) < 3:
            visited[key] = visited.get(key, 0) + 1
        else:
            lost += 1
        fresh = x > 0 and room not in places
        places |= {room} if x > 0 else set()
        up = max(0, sum(levels) - best)
        best, total = max(best, sum(levels)), total + x - x_before
        paid = {name[7:]: float(engine.terms[name][0]) for name in engine.term_columns}
        assert paid == {
            "new": visited.get(key, 0) == 1, "often": visited.get(key, 0), "keys": len(visited),
            "rooms": fresh, "up": up, "was": before, "total": total,
        }, step  # fmt: skip
        assert engine.info["best"][0] == best
        assert engine.info["twice"][0] == 2 * visited.get(key, 0)
        assert engine.info["lost_keys"][0] == lost
        before, x_before = 2 * visited.get(key, 0), x
    assert lost >= 2
    engine.reset_many()
    assert engine.info["best"][0] == engine.info["lost_keys"][0] == 0
    assert engine.info["twice"][0] == 2


def test_a_full_set_is_told_of_once(tmp_path):
    parts = {"sets": {"rooms": {"key": ["map"], "capacity": 1}}}
    engine = BatchEngine(game_of(tmp_path, **parts), 2, FASTEST)
    engine.reset_many(seeds=0)
    rows = engine.get_states()
    rows["wram"][:, 0] = 200
    engine.set_states(rows)
    says = r"sets\.rooms \(1 keys\) of the RAM map is full"
    with pytest.warns(RuntimeWarning, match=says) as told:
        engine.step_many([0, 0])
    for _ in range(2):  # a warning here is an error
        engine.step_many([0, 0])
    assert len(told) == 1
    assert engine.info["lost_keys"].min() >= 1


def test_a_set_that_is_full_in_the_last_step_is_told_of(tmp_path):
    """Its episode is over by then, and the next one has lost nothing."""
    parts = {"sets": {"rooms": {"key": ["map"], "capacity": 1}}, "ends": {"truncated": "1"}}
    engine = BatchEngine(game_of(tmp_path, **parts), 2, FASTEST)
    engine.reset_many(seeds=0)
    poke(engine, 200)
    with pytest.warns(RuntimeWarning, match="a set of the RAM map is full"):
        engine.step_many([0, 0])
    assert not engine.info["lost_keys"].any()
    assert (engine.final_info["lost_keys"] == 1).all()


@pytest.mark.parametrize("capacity", [1, 7, 100])
def test_a_table_is_a_dict_that_may_be_full(capacity):
    rng = np.random.default_rng(capacity)
    table, model, lost = Table(KeySet("x", (), capacity)), {}, 0
    for number in rng.integers(0, 2 * capacity, 2_000).tolist():
        key = number * 0x123456789ABC % 2**64
        if key in model or len(model) < capacity:
            model[key] = model.get(key, 0) + 1
        else:
            lost += 1
        assert table.visit(key) == model.get(key, 0)
    assert (table.size, table.lost) == (len(model), lost)
    assert {k: n for k, n in zip(table.keys, table.counts, strict=True) if n} == model
    full = table.keys[np.argmax(np.array(table.counts) > 0)]
    table.counts = [min(n, 1) * 65_535 for n in table.counts]
    assert table.visit(full) == 65_535


def test_keys_have_as_many_bits_as_there_are():
    numbers = [-1, 2**40 + 5, 77]
    for count, width in ((1, 64), (2, 32), (3, 21)):
        packed = KeySet("x", (), 1).packed(numbers[:count])
        assert packed == sum(n % 2**width << k * width for k, n in enumerate(numbers[:count]))


@pytest.mark.filterwarnings("ignore:ram_map")
def test_random_maps_are_alike_in_all_backends(tmp_path):
    game, path = random_game(tmp_path, write_rom(tmp_path), 3)
    play(game, 3, 24, 3, FIRST)
    assert path.is_file()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:ram_map")
@pytest.mark.parametrize("seed", range(100, 106))
def test_many_random_maps_are_alike_in_all_backends(tmp_path, seed):
    game, _ = random_game(tmp_path, write_rom(tmp_path), seed)
    play(game, seed, 120, 6, BACKENDS)


def test_impossible_sets_are_refused(tmp_path):
    game = game_of(tmp_path, sets={"cells": {"key": ["map"], "capacity": 3}})
    engine = BatchEngine(game, 2, FASTEST)
    engine.reset_many(seeds=0)
    for change, says in ((4, "at most 3 keys"), (0, "as many keys as it says")):
        rows = engine.get_states()
        rows["memory"][1, 8] = change  # behind the cell of its visits
        with pytest.raises(StateError, match=f"lane 1: memory .*sets.cells must have {says}"):
            engine.set_states(rows)


# -- expressions over tables -----------------------------------------------------------------------

COUNTS = {"a": 0, "t": 4, "u": 4, "w": 2}
MEMORY = {"a": [3], "t": [5, -2, 0, 3], "u": [1, 2, 3, 4], "w": [7, 8]}


def value_of(text):
    """Return what an expression over MEMORY comes to, by the elements of its loads."""

    class Reads:
        def __init__(self, k=0):
            self.k = k

        def __getitem__(self, load):
            numbers = MEMORY[load.field]
            if load.element == -5:
                return numbers[self.k]
            if load.element >= 0:
                return numbers[load.element]
            found = [
                evaluate(load.each, Reads(k)) if load.each else n for k, n in enumerate(numbers)
            ]
            way = {-1: sum, -2: lambda x: sum(n != 0 for n in x), -3: min, -4: max}
            return way[load.element](found)

    return evaluate(parse(text, "x", COUNTS), Reads())


@walk(
    ("text", "value"),
    [
        ("max(t)", 5),
        ("min(t)", -2),
        ("count(t)", 3),
        ("count(t > 0)", 2),
        ("sum(t * u)", 13),
        ("count(t == 0 and u > a - 1)", 1),
        ("max(abs(t) - u)", 4),
        ("min(max(t, u))", 2),
        ("sum(t[1] + u)", 2),
        ("max(t) + max(w)", 13),
        ("max(t[0], a)", 5),
        ("max(sum(t), 7)", 7),
        ("sum(a * t) // count(t)", 6),
        ("not count(t > 9)", 1),
    ],
)
def test_elements_of_tables(text, value):
    assert value_of(text) == value


@walk(
    ("text", "says"),
    [
        ("sum(t + w)", "column 9 .* w has 2 elements and t 4"),
        ("sum(a)", "column 5 .* t, u, w"),
        ("max(max(t))", "two numbers or more within max"),
        ("sum(sum(t))", "sum does not stand within"),
        ("sum(delta(t))", "delta does not stand within sum"),
        ("sum(max_so_far(a) + t)", "max_so_far does not stand within sum"),
        ("count(t > n)", "n does not stand within count"),
        ("t + 1", "t has 4 elements"),
        ("max(t, 1)", "t has 4 elements: name one"),
        ("sum()", "must stand here, not"),
        ("visits(a, 1)", "visits takes a set or the key of one: there are s"),
        ("visits()", "must stand here"),
        ("size(s, a)", "'s' is no field"),
        ("random(6)", "random stands in writes alone"),
        ("delta(d)", "d has delta or previous"),
        ("max_so_far(1, 2)", r"'\)' must stand here"),
        ("sum_so_far", "is no field"),
    ],
)
def test_wrong_memory_is_refused_with_its_column(text, says):
    scope = Scope(
        {"s": (parse("a", "", COUNTS),)},
        {"n": parse("a", "", COUNTS), "d": parse("delta(a)", "", COUNTS)},
    )
    with pytest.raises(ConfigError, match=says) as error:
        parse(text, "rewards.x", COUNTS, scope)
    assert re.match(r"rewards\.x: column \d+ of '", str(error.value))


def test_names_of_functions_may_be_names_of_fields():
    steps = parse("size + visits(s)", "x", {"size": 0}, Scope({"s": ()}))
    assert [step.load.field for step in steps if hasattr(step.load, "field")] == ["size"]


# -- files -----------------------------------------------------------------------------------------

SET = {"key": ["map"], "capacity": 3}
BAD = [
    ({"sets": []}, r"sets=\[\] must be an object"),
    ({"sets": {"map": SET}}, "sets.map: it is a field"),
    ({"sets": {"s": {"key": ["map"]}}}, r"sets\.s=.* with key and capacity"),
    (
        {"sets": {"s": {**SET, "capacity": 0}}},
        r"sets\.s\.capacity=0 must be an integer from 1 to 65536",
    ),
    ({"sets": {"s": {**SET, "capacity": "many"}}}, r"sets\.s\.capacity='many'"),
    ({"sets": {"s": {**SET, "size": 1}}}, r"sets\.s: 'size' is not known"),
    ({"sets": {"s": {**SET, "key": []}}}, r"sets\.s\.key=\[\] must be a list of 1 to 8"),
    ({"sets": {"s": {**SET, "key": "map"}}}, r"sets\.s\.key='map'"),
    ({"sets": {"s": {**SET, "key": ["mop"]}}}, r"sets\.s\.key\[0\]: column 1"),
    ({"sets": {"s": {**SET, "when": "map >"}}}, r"sets\.s\.when: column 6"),
    ({"sets": {"s": {**SET, "key": ["size(s)"]}}}, r"sets\.s\.key\[0\]: .* 's' is no field"),
    (
        {"sets": {f"s{k}": {**SET, "capacity": 65_536} for k in range(9)}},
        r"sets\.s5\.capacity=65536 .* 4 are",
    ),
    ({"numbers": {"s": "map", "x": "1"}}, r"numbers\.x: it is a field: choose another name"),
    ({"numbers": {"n": {"info": True}}}, r"numbers\.n=.* with value, info and range"),
    ({"numbers": {"n": {"value": "1", "info": 3}}}, r"numbers\.n\.info=3"),
    ({"numbers": {"n": "m", "m": "1"}}, r"numbers\.n: column 1 .* 'm' is no field"),
    ({"numbers": {"reward_a": "1", "and": "1"}}, r"numbers: 'and' is no name"),
    ({"numbers": {"start_state": "1"}}, r"numbers\.start_state: it is a column"),
    ({"numbers": {"lost_keys": "1"}, "sets": {"s": SET}}, "a column of sets"),
    ({"constants": {"k": 2.5}}, r"constants\.k=2\.5 must be an integer, a list"),
    ({"constants": {"k": []}}, r"constants\.k=\[\]"),
    ({"constants": {"k": [True]}}, r"constants\.k="),
    ({"constants": {"k": 2**63}}, r"constants\.k="),
    ({"constants": {"map": 1}}, "it is a field"),
    (
        {"constants": {"k": {"count": 3, "at": {"3": 1}}}},
        r"constants\.k\.at: elements are 0 to 2, not '3'",
    ),
    ({"constants": {"k": {"count": 3, "at": {"0": "x"}}}}, r"constants\.k\.at\.0='x'"),
    ({"constants": {"k": {"count": 0}}}, r"constants\.k\.count=0"),
    ({"symbols": 3}, "symbols=3 must be the path"),
    ({"symbols": "none.sym"}, "symbols: .*none.sym cannot be read"),
]


@walk(("parts", "says"), BAD, ids=lambda x: str(x)[:40])
def test_bad_parts_are_refused_by_name(parts, says, tmp_path):
    with pytest.raises(ConfigError, match=says) as error:
        game_of(tmp_path, **parts)
    assert "\n" not in str(error.value)


def test_the_largest_files_are_read_or_refused(tmp_path):
    """Of a megabyte of names; the time of each is what a name takes, and not its square."""
    path, names = tmp_path / "map.json", [f"n{k:x}" for k in range(70_000)]
    table = {"address": "$C000", "type": "u1", "count": 9, "names": dict.fromkeys(names, 1)}
    path.write_text(json.dumps({"fields": {"t": table}}), encoding="utf-8")
    program = load_program(path, "pixels")
    assert program is not None
    assert len(program.fields) == 70_001
    sets = {name: {"key": ["1"], "capacity": 1} for name in names[:28_000]}
    path.write_text(json.dumps({"sets": sets}, separators=(",", ":")), encoding="utf-8")
    with pytest.raises(ConfigError, match="read 28,000 numbers, at most 1,024"):
        load_program(path, "pixels")
    twice = ",".join(f'"{name}":1' for name in [*names, names[-1]])
    path.write_text(f'{{"constants": {{{twice}}}}}', encoding="utf-8")
    with pytest.raises(ConfigError, match="'n1116f' is twice in an object"):
        load_program(path, "pixels")


SYM = """; made by an assembler
[labels]
00:0150 Start
0F:5A01 EndOfBattle ; of any
00:c0a0 wLives
01:d163 wParty
01:a010 sSaved
00:ff90 hCount
00:0200 .local
[definitions]
0001 SOME_CONSTANT
"""


def test_labels_stand_for_addresses(tmp_path):
    (tmp_path / "game.sym").write_text(SYM, encoding="utf-8")
    fields = {
        "lives": {"address": "wLives", "type": "u1"},
        "third": {"address": "wParty+2", "type": "u1"},
        "saved": {"address": "sSaved + $10", "type": "u1"},
        "code": {"address": "EndOfBattle", "type": "u1"},
    }
    path = write_map(tmp_path, fields=fields, symbols="game.sym")
    found = {each.name: each.place for each in load_program(path, "pixels").fields}
    plain = {
        "lives": {"address": "$C0A0", "type": "u1"},
        "third": {"address": "$D165", "type": "u1"},
        "saved": {"address": "$A020", "bank": 1, "type": "u1"},
        "code": {"address": "$5A01", "bank": 15, "type": "u1"},
    }
    path = write_map(tmp_path, fields=plain)
    assert found == {each.name: each.place for each in load_program(path, "pixels").fields}


@walk(
    ("entry", "says"),
    [
        (
            {"address": "wLifes"},
            r"fields\.x\.address='wLifes' .* is not in .*game\.sym\. Did you mean 'wLives'",
        ),
        ({"address": "Nothing"}, r"'Nothing' is not in .*game\.sym\.$"),
        ({"address": "hCount+99999"}, "addresses end at"),
        ({"address": "sSaved", "bank": 1}, "leave it out"),
    ],
)
def test_wrong_labels_are_refused_by_field(entry, says, tmp_path):
    (tmp_path / "game.sym").write_text(SYM, encoding="utf-8")
    path = write_map(tmp_path, fields={"x": {"type": "u1", **entry}}, symbols="game.sym")
    with pytest.raises(ConfigError, match=says):
        load_program(path, "pixels")


def test_a_label_without_symbols_is_no_address(tmp_path):
    path = write_map(tmp_path, fields={"x": {"type": "u1", "address": "wLives"}})
    with pytest.raises(
        ConfigError, match=r"fields\.x\.address='wLives' .* or a label of the map's symbols"
    ):
        load_program(path, "pixels")


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 60))]
)
def test_damaged_symbols_are_read_or_refused_by_line(seed, tmp_path):
    """Each is some hundred files."""
    rng = np.random.default_rng(seed)
    path = tmp_path / "game.sym"
    for _ in range(170):
        content = bytearray(SYM.encode())
        for _ in range(rng.integers(1, 6)):
            at = int(rng.integers(0, len(content)))
            content[at : at + int(rng.integers(0, 3))] = rng.bytes(int(rng.integers(0, 3)))
        path.write_bytes(content)
        try:
            found = read_symbols(path, "symbols")
        except ConfigError as error:
            message = str(error)
        else:
            assert isinstance(found, Symbols)
            assert all(0 <= address <= 0xFFFF for _, address in found.places.values())
            continue
        assert re.match(r"symbols: line \d+ of .*: .* is no bank, address and label", message)
        assert "\n" not in message


def test_the_grammar_on_the_page_is_that_of_the_parser():
    assert grammar() in with_tables("gameboy.md")
    names = {name for name in FUNCTIONS if f"`{name}(" in grammar()}
    assert names == {*FUNCTIONS}
