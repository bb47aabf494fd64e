"""RAM maps with fields, rewards and ends: files, expressions, and four backends."""

import json
import operator
import re
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fastenv
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from fastenv.gameboy import make_game
from fastenv.gameboy.expressions import (
    COUNT,
    LARGEST,
    MAX_STEPS,
    SUM,
    Load,
    evaluate,
    parse,
    wrap,
)
from fastenv.gameboy.position import compared_line, line_and_mode
from fastenv.gameboy.ram_fields import CARTRIDGE, largest_mask, read_field, read_type
from fastenv.gameboy.ram_map import load_ram_map
from fastenv.gameboy.ram_program import MAPS, load_program
from fastenv.gameboy.ram_search import decode
from fastenv.gameboy.state import Form, Op, machine_of
from fastenv.gameboy.tables import (
    DRAW_END,
    IO,
    LINE,
    LINES,
    M_CYCLE,
    NEXT_LY,
    SCAN_END,
    VISIBLE,
)
from tests.gameboy.lanes import BACKENDS, SHORT
from tests.gameboy.test_lanes import all_agree
from tests.needs import FASTEST, needs_core
from tests.slow import late
from tests.tables import walk
from tools.gameboy.machines import build

MBC5 = "fastenv/gameboy/roms/micro/mbc5.gb"
ONE = {"frames_per_step": 1, "release_after_frames": 1, "stack_k": 1}
COUNTS = {"lives": 0, "score": 0, "flags": 10, "party": 6}
WHERE = "rewards.x"


# -- expressions: a tree, its text, and what it comes to -------------------------------------------
# The value of a tree is found here without the parser and its steps: from the rules of the page.

FIELDS = [("lives", 0), ("score", 0), ("flags", 3), ("flags", 9), ("party", 5)]
TABLES = [("flags", SUM), ("flags", COUNT), ("party", SUM), ("party", COUNT)]
numbers = st.one_of(
    st.integers(0, 300), st.sampled_from([LARGEST, LARGEST - 1, 2**32, 2**62]),
    st.integers(0, LARGEST),
)  # fmt: skip


@contextmanager
def suppress_long():
    """Let expressions pass that are longer than allowed; trees grow as they like."""
    try:
        yield
    except ConfigError as error:
        if not re.search("take several expressions|1 to 1000 characters", str(error)):
            raise


def truth(value):
    return int(bool(value))


def divided(a, b):
    return a // b if b else 0


def rest(a, b):
    return a - b * (a // b) if b else 0


TWO = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": divided, "%": rest,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "and": lambda a, b: truth(a) & truth(b),
    "or": lambda a, b: truth(a) | truth(b),
}  # fmt: skip


def leaves():
    number = numbers.map(lambda n: (str(n), lambda now, before: n))
    element = st.sampled_from(FIELDS).map(
        lambda f: (
            f[0] if COUNTS[f[0]] == 0 else f"{f[0]}[{f[1]}]",
            lambda now, before: now[Load(*f)],
        )
    )
    table = st.sampled_from(TABLES).map(
        lambda f: (
            f"{'sum' if f[1] == SUM else 'count'}({f[0]})",
            lambda now, before: now[Load(*f)],
        )
    )
    return st.one_of(number, element, table)


def grow(inner):
    def two(parts):
        sign, (left, a), (right, b) = parts
        return (
            f"({left}) {sign} ({right})",
            lambda now, before: wrap(int(TWO[sign](a(now, before), b(now, before)))),
        )

    def one(parts):
        sign, (text, a) = parts
        made = {
            "-": lambda x: -x, "not ": lambda x: truth(x == 0), "abs": abs,
        }[sign]  # fmt: skip
        return f"{sign}({text})", lambda now, before: wrap(made(a(now, before)))

    def fold(parts):
        name, found = parts
        chosen = min if name == "min" else max
        return (
            f"{name}({', '.join(text for text, _ in found)})",
            lambda now, before: chosen(each(now, before) for _, each in found),
        )

    return st.one_of(
        st.tuples(st.sampled_from(sorted(TWO)), inner, inner).map(two),
        st.tuples(st.sampled_from(["-", "not ", "abs"]), inner).map(one),
        st.tuples(st.sampled_from(["min", "max"]), st.lists(inner, min_size=2, max_size=4)).map(
            fold
        ),
    )


def changed(tree):
    """Return delta and previous of a tree, and the tree itself."""
    text, value = tree
    return st.sampled_from(
        [
            tree,
            (f"previous({text})", lambda now, before: value(before, now)),
            (
                f"delta({text})",
                lambda now, before: wrap(value(now, before) - value(before, now)),
            ),
        ]
    )


plain = st.recursive(leaves(), grow, max_leaves=8)
trees = st.recursive(plain.flatmap(changed), grow, max_leaves=4)
memory = st.fixed_dictionaries(
    {Load(name, k): st.integers(-(2**63), LARGEST) for name, k in [*FIELDS, *TABLES]}
)


@settings(deadline=None)
@given(tree=trees, now=memory, before=memory)
def test_expressions_come_to_what_their_trees_do(tree, now, before):
    text, value = tree
    assume(len(text) <= 1000)
    with suppress_long():
        assert evaluate(parse(text, WHERE, COUNTS), now, before) == value(now, before)


@walk(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7), ("10 - 2 - 3", 5), ("100 // 7 // 2", 7), ("-7 // 2", -4), ("-7 % 3", 2),
        ("7 % -3", -2), ("5 // 0", 0), ("5 % 0", 0), ("not 0 and 1", 1), ("not (0 and 1)", 1),
        ("1 or 0 and 0", 1), ("-1 < 0", 1), ("(2 == 2) == 0", 0),
        ("$ff + 0X10", 271), ("min(3, 1, 2)", 1), ("max(3, 1, 2)", 3), ("abs(-5)", 5),
        (f"{LARGEST} + 1", -(2**63)), (f"-{LARGEST} - 2", LARGEST), (f"{LARGEST} * 2", -2),
        (f"-(-{LARGEST} - 1)", -(2**63)), (f"abs(-{LARGEST} - 1)", -(2**63)),
        (f"(-{LARGEST} - 1) // -1", -(2**63)), (f"(-{LARGEST} - 1) % -1", 0), ("not 5", 0),
        ("3 and 4", 1), ("0 or 7", 1), ("- - 3", 3), ("not not 3", 1), ("2*-3", -6),
        ("lives-1", 4), ("previous(lives) - 1", 6), ("delta(lives)", -2), ("flags[3]", 5),
        ("delta(lives * 2 + 1)", -4), ("sum(flags)", 5), ("delta(sum(flags) > 5)", -1),
    ],
)  # fmt: skip
def test_rules_of_the_page(text, value):
    steps = parse(text, WHERE, COUNTS)
    loads = {step.load for step in steps if step.load is not None}
    assert evaluate(steps, dict.fromkeys(loads, 5), dict.fromkeys(loads, 7)) == value


WRONG = [
    ("", "1 to 1000 characters"), ("x" * 1001, "1 to 1000 characters"), (5, "an expression"),
    ("lives +", "column 8 .* not the end"), ("foo", "column 1 .* 'foo' is no field"),
    ("1 + bar", "column 5 .* there are lives, score, flags, party"),
    ("flags", "column 1 .* 10 elements"), ("lives[0]", "column 6 .* no elements"),
    ("flags[10]", "column 7 .* 0 to 9"), ("flags[lives]", "column 7 .* 0 to 9"),
    ("flags[$1]", "column 7"), ("sum(lives)", "column 5 .* there are flags, party"),
    ("1 < 2 < 3", "column 7 .* join them by and"), ("1/2", "column 2 .* // divides"),
    ("1.5", "column 1"), ("lives.score", "column 6"), ("lives = 1", "column 7 .* '='"),
    (str(2**63), "numbers go up to 9223372036854775807"), ("1e5", "column 1"),
    ("delta(previous(lives))", "column 7 .* within delta or previous"),
    ("previous(1 + delta(lives))", "column 14"), ("min(1)", "column 5 .* or two numbers or more"),
    ("abs(1, 2)", "one number"), ("delta(1, 2)", r"column 8 .* '\)' must stand"),
    ("(1", "column 3"), ("1)", "column 2 .* does not belong"), ("()", "column 2"),
    ("(" * 40 + "1" + ")" * 40, "column 33 .* more than 32 levels"),
    ("not " * 40 + "1", "more than 32 levels"), ("-" * 40 + "1", "more than 32 levels"),
    ("+".join("1" * 300), f"more than {MAX_STEPS} steps"), ("lives lives", "column 7"),
    ("and", "column 1"), ("not", "not the end"), ("min 3", r"column 5 .* '\('"), ("é", "column 1"),
    ("__import__('os')", "column 1 .* '__import__' is no field"), ("lives;1", "column 6"),
    ("lives and or 1", "column 11"), ("\0", "column 1"), ("1 if 2 else 3", "column 3"),
]  # fmt: skip


@walk(("text", "says"), WRONG, ids=lambda x: str(x)[:20])
def test_wrong_expressions_are_refused_with_their_column(text, says):
    with pytest.raises(ConfigError, match=says) as error:
        parse(text, WHERE, COUNTS)
    assert str(error.value).count("\n") == 0


@settings(deadline=None)
@given(text=st.text(st.sampled_from("lives score flags[]()+-*/%<>=!and or not min,0123$ x."),
                    max_size=40))  # fmt: skip
def test_any_text_is_parsed_or_refused(text):
    try:
        steps = parse(text, WHERE, COUNTS)
    except ConfigError:
        return
    loads = {step.load: 3 for step in steps if step.load is not None}
    assert -(2**63) <= evaluate(steps, loads, loads) <= LARGEST
    assert all(isinstance(step.op, Op) for step in steps)


# -- fields ----------------------------------------------------------------------------------------


def field(**entry):
    return read_field("x", {"address": "$C000", **entry}, "fields.x")


@walk(
    ("entry", "content", "value"),
    [
        ({"type": "u1"}, "fe", 254), ({"type": "i1"}, "fe", -2), ({"type": "<u2"}, "0102", 0x201),
        ({"type": ">u2"}, "0102", 0x102), ({"type": ">i2"}, "fffe", -2),
        ({"type": "<i3"}, "feffff", -2), ({"type": "<d2"}, "3412", 1234),
        ({"type": "d1"}, "1f", 15), ({"type": "d1"}, "ff", 55), ({"type": "<d2"}, "cba9", 921),
        ({"type": ">d3"}, "123456", 123456), ({"type": ">n4"}, "0102f304", 1234),
        ({"type": "|n1"}, "37", 7), ({"type": ">n2"}, "ba5f", 5), ({"type": "n1"}, "ba", 0),
        ({"type": "bit", "bit": 3}, "08", 1),
        ({"type": ">u8"}, "ff" * 8, -1), ({"type": "<u2", "mask": "$0FF0"}, "bcda", 0xAB0),
        ({"type": "i1", "mask": 15}, "fe", 14),
    ],
)  # fmt: skip
def test_numbers_of_all_types(entry, content, value):
    found, bytes_ = field(**entry), bytes.fromhex(content)
    assert found.number(lambda place: bytes_[place - 0xC000]) == value
    low, high = np.iinfo(found.dtype).min, np.iinfo(found.dtype).max
    assert low <= value <= high


BAD_FIELDS = [
    ({"type": "u2"}, "type='u2' must be 'bit', or u, i, d or n"), ({"type": "u9"}, "type='u9'"),
    ({"type": "<f4"}, "type='<f4'"), ({"type": 3}, "type=3"), ({}, "with address and type"),
    ({"type": "u1", "address": "$E000"}, r"address='\$E000' must be an address of ROM"),
    ({"type": "u1", "address": 65536}, "address=65536"), ({"type": "u1", "address": "C0"}, "'C0'"),
    ({"type": "u1", "address": "$FEA0"}, "address="), ({"type": "u1", "address": None}, "None"),
    ({"type": "u1", "address": -1}, "address=-1 must be"),
    ({"type": "<u2", "address": "$9FFF"}, "ends 1 byte behind the memory"),
    ({"type": "u1", "address": "$FE90", "count": 17}, "ends 1 byte behind the memory"),
    ({"type": "u1", "address": "$4000", "bank": 512}, "bank=512 must be an integer from 0 to 511"),
    ({"type": "u1", "address": "$3FFF", "bank": 0}, "only .A000 to .BFFF and .4000 to .7FFF have"),
    ({"type": "<u2", "address": "$DFFF"}, "ends 1 byte behind the memory"),
    ({"type": "u1", "count": 9, "address": "$FFFC"}, "ends 5 bytes behind"),
    ({"type": "u1", "bank": 1}, "only .A000 to .BFFF and .4000 to .7FFF have banks"),
    ({"type": "u1", "address": "$A000", "bank": 16}, "bank=16 must be an integer from 0 to 15"),
    ({"type": "u1", "bit": 3}, "only bits have one"), ({"type": "bit", "mask": 3}, "only numbers"),
    ({"type": "u1", "stride": 3}, "only fields with a cou"), ({"type": "bit", "bit": 8}, "bit=8"),
    ({"type": "u1", "count": 0}, "count=0"), ({"type": "u1", "count": True}, "count=True"),
    ({"type": "u1", "count": 70_000}, "count=70000"), ({"type": "u1", "mask": "$xy"}, "mask="),
    ({"type": "u1", "mask": 0}, r"mask=0 must be an integer from 1 to 255\."),
    ({"type": "u1", "mask": "$1FF"}, r"mask='\$1FF' must be an integer from 1 to 255\."),
    ({"type": "i1", "mask": 256}, r"from 1 to 255\."),
    ({"type": "<n2", "mask": 65536}, r"from 1 to 65535\."),
    ({"type": "d1", "mask": 256}, r"from 1 to 255\."),
    ({"type": ">u8", "mask": -1}, rf"from 1 to {2**63 - 1}\."),
    ({"type": "u1", "range": [3, 3]}, r"range=\[3, 3\] must be two integers below 2\*\*53"),
    ({"type": "u1", "range": [0, True]}, "range="), ({"type": "u1", "range": None}, "range=None"),
    ({"type": "u1", "range": [0, 2**53]}, "range="), ({"type": "u1", "label": 5}, "label=5 must"),
    ({"type": "u1", "label": "x" * 201}, "text of at most 200 characters"),
    ({"type": "u1", "size": 3}, "'size' is not known"), ({"type": "u1", "info": 1}, "info=1"),
]  # fmt: skip


@walk(("entry", "says"), BAD_FIELDS, ids=lambda x: str(x)[:30])
def test_wrong_fields_are_refused_by_name(entry, says):
    with pytest.raises(ConfigError, match=says):
        read_field("x", {"address": "$C000", **entry} if entry else entry, "fields.x")


# -- files -----------------------------------------------------------------------------------------

GOOD = {"fields": {"lives": {"address": "$C000", "type": "u1"}}}


def write_map(folder, value):
    path = folder / "map.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


BAD_MAPS = [
    ([], "must be an object with fields, constants"),
    ({"about": ""}, "neither fields, rewards nor ends"), ({"fields": []}, "fields=.* must be"),
    (GOOD | {"reward": {"a": "lives"}}, "'reward' is not known: there are about, rom_sha256"),
    (GOOD | {"memory": {"item": "$C000"}}, "memory: 'item' is not known: there are map, x, y, fac"),
    (GOOD | {"events": {"reward": [0]}}, "events: 'reward' is not known: there are address, bits"),
    ({"fields": {"1up": GOOD["fields"]["lives"]}}, "'1up' is no name"),
    ({"fields": {"sum": GOOD["fields"]["lives"]}}, "'sum' is no name"),
    ({"fields": {"start_state": GOOD["fields"]["lives"]}}, "a column of the environment"),
    ({"fields": {"tau": GOOD["fields"]["lives"]}}, "a name of the views"),
    ({"fields": {"x": 3}}, r"fields\.x=3 must be an object"),
    (GOOD | {"rewards": []}, "rewards must be an object"),
    (GOOD | {"rewards": {"a b": "1"}}, "'a b' is no name"),
    (GOOD | {"rewards": {"a": {"weight": 1}}}, r"rewards\.a=.* value and weight"),
    (GOOD | {"rewards": {"a": {"value": "1", "weight": 1e9}}}, r"rewards\.a\.weight=1000000000"),
    (GOOD | {"rewards": {"a": {"value": "1", "weight": True}}}, r"weight=True"),
    (GOOD | {"rewards": {"a": "livs"}}, r"rewards\.a: .*livs. is no field: .*mean .lives."),
    (GOOD | {"rewards": {f"r{k}": "1" for k in range(65)}}, "at most 64 terms"),
    (GOOD | {"ends": {"won": "1"}}, "terminated, truncated or both"),
    (GOOD | {"ends": {"terminated": "lives <"}}, r"ends\.terminated: column 8"),
    (GOOD | {"rom_sha256": "12"}, "64 hexadecimal digits"),
    (GOOD | {"roms": {"mine": "0" * 39}}, r"roms\.mine='0000.* 40 or 64 hexadecimal digits"),
    (GOOD | {"roms": {}}, "roms={} must be an object of names"),
    (GOOD | {"roms": ["0" * 40]}, "roms=.* must be an object of names"),
    (GOOD | {"roms": {"mine": "0" * 40, "other": "1" * 64}}, r"it is for mine \(000.* and other"),
    (GOOD | {"extends": "nowhere.json"}, r"extends: .*nowhere\.json cannot be read: No such"),
    (GOOD | {"extends": "pokemon"}, "extends: .*pokemon cannot be read.*, and ours are lan"),
    (GOOD | {"extends": "pokemon_rad"}, r"and ours are lantern_.*\. Did you mean 'pokemon_red'"),
    ({"extends": "duel", "rewards": {"point": None}},
     r"rewards\.point=null leaves nothing out: extends has no such entry: points.*Did you mean"),
    (GOOD | {"extends": 5}, "extends=5 must be a map of ours or a file"),
    (GOOD | {"extends": "map.json"}, r"map\.json': extends: extends=.* at most 8 of which extend"),
    ({"extends": "duel", "fields": {"mine": None}}, r"rewards\.points: column 7 .*'mine' is no fi"),
    ({"fields": {"t": {"address": "$C000", "type": "u1", "names": {"a": 0}}}}, "of a field with a"),
    ({"fields": {"t": {"address": "$C000", "type": "u1", "count": 3, "names": {"a": 3}}}},
     r"names\.a=3 must be an integer from 0 to 2"),
    ({"fields": {"t": {"address": "$C000", "type": "u1", "count": 3, "names": {"1a": 1}}}},
     "'1a' is no name"),
    ({"fields": {"t": {"address": "$C000", "type": "u1", "count": 3, "names": {"t": 1}}}},
     "fields.t: it is a field: choose another name"),
    ({"fields": {"t": {"address": "$C000", "type": "u1", "count": 3, "names": {"tau": 1}}}},
     "a name of the views"),
    (GOOD | {"rom_sha256": "0" * 64}, "of another ROM than this one"),
    ({"fields": {"save": {"address": "$A000", "type": "u1"}}}, "the cartridge's RAM, which has 0"),
    ({"fields": {"far": {"address": "$4000", "bank": 2, "type": "u1"}}},
     "byte 32,769 of the ROM, which has 32,768"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "says"), BAD_MAPS, ids=lambda x: str(x)[:40])
def test_bad_maps_are_refused_by_name(value, says, tmp_path):
    with pytest.raises(ConfigError, match=says):
        make_game(ram_map=write_map(tmp_path, value))


@pytest.mark.parametrize("name", MAPS)
def test_our_maps_are_read_and_know_their_rom(name):
    program = load_program(name, "pixels")
    assert (program is None) == (name in ("lantern_walk", "lantern_walk_flags"))
    if name == "libbet":
        with pytest.raises(ConfigError, match="rom_sha256 is 079d161b"):
            make_game(ram_map=name)


def test_a_map_extends_another(tmp_path):
    base = {
        "roms": {"another": "0" * 40},
        "fields": {"lives": {"address": "$C000", "type": "u1"},
                   "flags": {"address": "$C001", "type": "bit", "bit": 6, "count": 24, "stride": 3,
                             "names": {"won": 20, "first": 0}}},
        "rewards": {"flags": "delta(sum(flags))", "lives": "delta(lives)"},
        "ends": {"terminated": "won"},
    }  # fmt: skip
    (tmp_path / "base.json").write_text(json.dumps(base), encoding="utf-8")
    more = {
        "extends": "base.json",
        "roms": None,
        "fields": {"score": {"address": "$C010", "type": "<u2"}},
        "rewards": {"lives": None, "score": {"value": "delta(score)", "weight": 2}},
    }
    program = load_program(write_map(tmp_path, more), "pixels")
    assert [name for name, _, _ in program.rewards] == ["flags", "score"]
    assert [each.name for each in program.fields] == ["lives", "flags", "won", "first", "score"]
    assert program.roms == {}
    won, first = program.by_name["won"], program.by_name["first"]
    assert (won.place, won.bit, won.count, won.info) == (0xC001 + 66 // 8, 66 % 8, 0, True)
    assert (first.place, first.bit) == (0xC001, 6)
    memory = {0xC000 + k: (k * 37) % 256 for k in range(64)}
    table = program.by_name["flags"]
    assert won.number(memory.get) == table.number(memory.get, 20)
    assert first.number(memory.get) == table.number(memory.get, 0)


def test_a_map_is_for_several_roms(tmp_path):
    cartridge = make_game().common.cartridge
    for digest in (cartridge.sha1, cartridge.sha256):
        make_game(ram_map=write_map(tmp_path, GOOD | {"roms": {"a": "0" * 40, "b": digest}}))


def test_a_goal_has_no_map(tmp_path):
    with pytest.raises(ConfigError, match="a goal is a picture"):
        make_game(kind="goal", ram_map=write_map(tmp_path, GOOD))


# -- environments ----------------------------------------------------------------------------------


@needs_core
def test_the_quest_pays_and_ends():
    """The solver finishes the quest; what it is paid for is what the game counts."""
    from fastenv.gameboy.lantern_walk import Solver

    env = fastenv.make("GameBoyPixels-v0", states="lantern_walk", ram_map="lantern_walk_quest",
                       backend=FASTEST)  # fmt: skip
    env.reset(seed=0)
    names = {name: k for k, name in enumerate(env.game.config.action_names)}
    solver, sums, ended = Solver(), {}, False
    while not ended:
        wram = env.get_state()["wram"]
        button = solver.button(lambda address, wram=wram: int(wram[address & 0x1FFF]))
        _, reward, ended, cut, info = env.step(names[(button or "noop").lower()])
        assert not cut
        terms = {name: info[name] for name in info if name.startswith("reward_")}
        assert np.float32(sum(terms.values())) == np.float32(reward)
        sums = {name: sums.get(name, 0) + value for name, value in terms.items()}
    assert sums["reward_candles"] == 4
    assert sums["reward_quest"] == 15
    assert sums["reward_new_room"] > 0
    assert info["finished"] == 1
    assert info["quest"].tolist() == [1, 1, 1]
    assert "candle_flags" not in info


MAP = {
    "fields": {
        "lives": {"address": "$C100", "type": "u1"},
        "score": {"address": "$C101", "type": "<d3"},
        "flags": {"address": "$C104", "type": "bit", "bit": 3, "count": 40, "stride": 3},
        "party": {"address": "$A010", "bank": 1, "type": ">i2", "count": 6, "stride": 5},
        "high": {"address": "$FF90", "type": "<u4"},
        "hidden": {"address": "$C200", "type": "u1", "info": False},
    },
    "rewards": {
        "score": {"value": "delta(score)", "weight": 0.001},
        "party": {"value": "sum(party) * hidden - previous(count(flags))", "weight": -0.25},
    },
    "ends": {"terminated": "lives == 7", "truncated": "flags[39] and lives == 9"},
}


@pytest.mark.parametrize("kind", [*late("pixels"), "overworld"])
def test_hand_made_memory_goes_on_alike(kind, tmp_path, backends):
    world = {"memory": {"map": "$C300", "x": "$C301", "y": "$C302"}, "size": [2, 9, 9],
             "events": {"address": "$C400", "bits": 21}}  # fmt: skip
    path = write_map(tmp_path, MAP | (world if kind == "overworld" else {}))
    extra = {"visits": "cells"} if kind == "overworld" else {}
    game = make_game(kind=kind, rom=MBC5, ram_map=path, **ONE, **extra)
    engines = [BatchEngine(game, 6, backend) for backend in backends]
    for engine in engines:
        engine.reset_many(seeds=3)
    rows, rng = engines[0].get_states(), np.random.default_rng(4)
    for name in ("wram", "cart", "values"):
        rows[name] = rng.integers(0, 256, rows[name].shape)
    rows["wram"][:, 0x100] = [7, 9, 9, 0, 1, 2]
    rows["wram"][:3, 0x104 + 15] = [255, 255, 0]  # flags[39] is bit 3 + 39 * 3
    for engine in engines:
        engine.set_states(rows)
    all_agree(engines)
    for engine in engines:
        engine.step_many(np.zeros(6, int), autoreset=False)
    all_agree(engines)
    fast = engines[-1]
    after = fast.get_states()
    alive = after["wram"][:, 0x100]
    assert fast.terminated.tolist() == (alive == 7).tolist()
    assert fast.truncated.any() or not (alive == 9).any()


# A program that changes $C000 to $C3FF, $A000 to $A0FF and $FF80 to $FFBF about once a frame:
# enable RAM; for each region: ld hl,begin; ld bc,count; call fill; then from the first again.
# fill: ld a,(hl); add a,l; rrca; inc a; ld (hl+),a; dec bc; ld a,b; or c; jr nz,fill; ret
CHANGES_ALL = bytes.fromhex(
    "3E0AEA0000 2100C0010004CD7201 2100A0010001CD7201 2180FF014000CD7201 18E37E850F3C220B78B120F6C9"
)
NAMES = ("lives", "score", "flags", "party")
places = st.one_of(
    st.builds(lambda at: {"address": f"${at:04X}"}, st.integers(0xC000, 0xC3F8)),
    st.builds(lambda at: {"address": at}, st.integers(0xFF00, 0xFFB0)),
    st.builds(lambda at: {"address": at}, st.integers(0x8000, 0x9F00)),
    st.builds(lambda at: {"address": at}, st.integers(0xFE00, 0xFE40)),
    st.builds(lambda at: {"address": at}, st.integers(0x0000, 0x7F00)),
    st.builds(lambda at: {"address": f"${at:04X}"}, st.integers(0xA000, 0xA0F0)),
    st.builds(
        lambda at, bank: {"address": f"${at:04X}", "bank": bank},
        st.integers(0xA000, 0xBF00),
        st.integers(0, 3),
    ),
)
kinds = st.one_of(
    st.builds(
        lambda order, form, size: {"type": f"{order}{form}{size}"},
        st.sampled_from("<>"), st.sampled_from("uidn"), st.integers(1, 8),
    ),
    st.builds(lambda bit: {"type": "bit", "bit": bit}, st.integers(0, 7)),
)  # fmt: skip
masks = st.one_of(st.just({}), st.builds(lambda mask: {"mask": mask}, st.integers(1, LARGEST)))


@st.composite
def maps(draw):
    """Draw a RAM map whose fields have the names and counts of the expressions."""
    fields = {}
    for name in NAMES:
        entry = draw(places) | draw(kinds)
        if entry["type"] != "bit":
            entry |= draw(masks)
        if "mask" in entry:
            largest = largest_mask(*read_type(entry["type"], "type")[:2])
            entry["mask"] = entry["mask"] % largest + 1
        if COUNTS[name]:
            entry |= {"count": COUNTS[name], "stride": draw(st.integers(1, 7))}
        fields[name] = entry
    texts = draw(st.lists(trees.map(lambda tree: tree[0]), min_size=3, max_size=5))
    assume(all(len(text) <= 1000 for text in texts))
    weights = st.floats(-1e6, 1e6, allow_subnormal=False)
    rewards = {f"r{k}": {"value": text, "weight": draw(weights)} for k, text in
               enumerate(texts[2:])}  # fmt: skip
    ends = {"terminated": f"({texts[0]}) % 3 == 1", "truncated": f"({texts[1]}) % 3 == 2"}
    return {"fields": fields, "rewards": rewards, "ends": ends}


def test_every_type_is_read_alike(tmp_path, backends):
    """By the kernels for the info, by the core for the rewards, and as the page says."""
    types = [f"{order}{form}{size}" for form in "uidn" for size in range(1, 9) for order in "<>"]
    fields = {f"f{k}": {"address": 0xC000 + 11 * k, "type": of} for k, of in enumerate(types)}
    value = {"fields": fields, "rewards": {f"r{k}": f"f{k}" for k in range(len(types))}}
    game = make_game(rom=changing_rom(tmp_path), ram_map=write_map(tmp_path, value), **ONE)
    engines = [BatchEngine(game, 8, backend) for backend in backends]
    for engine in engines:
        engine.reset_many(seeds=0)
    rows, rng = engines[0].get_states(), np.random.default_rng(1)
    rows["wram"] = rng.integers(0, 256, rows["wram"].shape)
    rows["wram"][:2, :0x400] |= 0x80
    for engine in engines:
        engine.set_states(rows)
    all_agree(engines)
    for engine in engines:
        engine.step_many(np.zeros(8, int), autoreset=False)
    all_agree(engines)
    after, fast = engines[-1].get_states(), engines[-1]
    for k, of in enumerate(types):
        for lane in range(8):
            part = after["wram"][lane, 11 * k : 11 * k + int(of[2])].tobytes()
            wanted = decoded(part if of[0] == ">" else part[::-1], of[1])
            assert fast.info[f"f{k}"][lane] == wanted, (of, part.hex())
            assert after["values"][lane].view("<i8")[k] == wanted


EDGES = (0, 1, -1, 2, -2, 7, -7, 10**9, LARGEST, -LARGEST, -LARGEST - 1, 2**62)
OPERATIONS = (
    *(f"a {sign} b" for sign in TWO), "-a", "not a", "abs(a)", "min(a, b)", "max(a, b)",
    "a - b * a + b", "(a and not b) or a < b", "max(a, b, 5) % 3 - min(b, -a)",
)  # fmt: skip


# A program that turns the display off and on, counts LYC on and plays the wave: loop: display off;
# dec b until 0; display on; LYC = b = DIV; STAT = $48; NR30, NR34 = $80; 1,024 times dec hl.
BUSY = bytes.fromhex(
    "3E11E040 0520FD 3E91E040 F004E045 47 3E48E041 3E80E01AE01E 210004 2B7CB520FB 18DC"
)


def test_every_memory_is_read_alike(tmp_path, backends):
    """And as the program would read it where nothing is closed to it; the wave shows its bytes."""
    rom = tmp_path / "busy.gb"
    rom.write_bytes(build(BUSY, kind=0x1B, ram=3, banks=8, fill=bytes(range(251))).rom)
    sizes = {0x0000: 512, 0x4000: 16, 0x8000: 512, 0xFE00: 160, 0xFF00: 256}
    fields = {f"at_{at:04X}": {"address": at, "type": "u1", "count": n} for at, n in sizes.items()}
    fields["banked"] = {"address": "$7FFE", "bank": 6, "type": ">u2", "count": 500}
    fields["bits"] = {"address": "$FF41", "type": "bit", "bit": 0, "count": 8}
    value = {"fields": fields, "rewards": {name: f"sum({name})" for name in fields}}
    options = ONE | {"frame_policy": "fixed"}
    game = make_game(rom=rom, ram_map=write_map(tmp_path, value), **options)
    engines = [BatchEngine(game, 1, backend) for backend in backends]
    for engine in engines:
        engine.reset_many(seeds=0)
    modes, lines = set(), set()
    for step in range(6):
        for engine in engines:
            engine.step_many([step], autoreset=False)
        all_agree(engines)
        info, rows = engines[-1].info, engines[-1].get_states()
        content = np.frombuffer(rom.read_bytes(), np.uint8)
        assert (info["at_0000"] == content[:512]).all()
        assert (info["at_4000"] == content[0x4000:0x4010]).all()
        begin = 6 * 0x4000 + 0x3FFE
        assert (info["banked"] == content[begin : begin + 1000].view(">u2")).all()
        assert (info["at_8000"] == rows["vram"][:, :512]).all()
        assert (info["at_FE00"] == rows["oam"]).all()
        page = info["at_FF00"][0]
        bus = game.common.machine(machine_of(rows[0], 0x8000)).bus
        read = [bus.read_between(low) for low in range(256)]
        assert page.tolist() == read
        seen = [low for low in range(256) if not IO.WAVE <= low < IO.LCDC]
        assert [read[low] for low in seen] == [bus._read_high(low) for low in seen]
        assert info["bits"][0].tolist() == [page[IO.STAT] >> k & 1 for k in range(8)]
        modes.add(int(page[IO.STAT]) & 7)
        lines.add(int(page[IO.LY]))
        paid = np.stack([info[name].sum(1, np.int64) for name in fields], axis=1)
        assert (rows["values"].view("<i8") == paid).all()
    assert len(modes) >= 2, modes
    assert len(lines) >= 4, lines


@pytest.mark.parametrize("match", [0, 1])
def test_the_video_registers_are_read_alike_at_every_part_of_a_frame(tmp_path, match):
    """Also before its first dot, where a machine stands that the boot program has left."""
    path = write_map(tmp_path, {"fields": {"page": {"address": "$FF40", "type": "u1", "count": 6}}})
    game = make_game(rom=changing_rom(tmp_path), ram_map=path, **ONE)
    parts = [0, M_CYCLE, 2 * M_CYCLE, 3 * M_CYCLE, SCAN_END, DRAW_END // M_CYCLE * M_CYCLE]
    parts += [DRAW_END // M_CYCLE * M_CYCLE + M_CYCLE, NEXT_LY - M_CYCLE, NEXT_LY]
    lines = [0, 1, VISIBLE - 1, VISIBLE, LINES - 2, LINES - 1]
    dots = np.array([-60, -56, -M_CYCLE, *(line * LINE + at for line in lines for at in parts)])
    engines = [BatchEngine(game, len(dots), backend) for backend in BACKENDS]
    for engine in engines:
        engine.reset_many(seeds=0)
    rows, compared = engines[0].get_states(), compared_line(dots)
    assert (rows["dot"] < 0).all()
    rows["dot"], rows["lyc_match"] = dots, match
    rows["high"][:, IO.LYC] = np.where(compared < 0, 200, compared if match else compared + 1)
    for engine in engines:
        engine.set_states(rows)
    all_agree(engines)
    shown = engines[-1].info["page"]
    ly, mode = line_and_mode(dots, 0, 0)
    assert (shown[:, IO.LY - IO.LCDC] == ly).all()
    stat = 0x80 | ((compared >= 0) & (match == 1)) << 2 | mode
    assert (shown[:, IO.STAT - IO.LCDC] == stat).all()


@needs_core
def test_every_operation_is_taken_alike(tmp_path):
    """At the edges of 64 bits, and by 0."""
    fields = {"a": {"address": "$D000", "type": "<i8"}, "b": {"address": "$D008", "type": "<i8"}}
    value = {"fields": fields, "rewards": {f"r{k}": op for k, op in enumerate(OPERATIONS)}}
    game = make_game(rom=changing_rom(tmp_path), ram_map=write_map(tmp_path, value), **ONE)
    pairs = [(a, b) for a in EDGES for b in EDGES]
    engines = [BatchEngine(game, len(pairs), backend) for backend in BACKENDS[-2:]]
    for engine in engines:
        engine.reset_many(seeds=0)
    rows = engines[0].get_states()
    rows["wram"][:, 0x1000:0x1010] = np.array(pairs, "<i8").view(np.uint8)
    steps = {op: parse(op, WHERE, {"a": 0, "b": 0}) for op in OPERATIONS}
    for engine in engines:
        engine.set_states(rows)
        engine.step_many(np.zeros(len(pairs), int), autoreset=False)
        found = engine.get_states()["values"].view("<i8")
        for (a, b), values in zip(pairs, found, strict=True):
            loads = {Load("a", 0): a, Load("b", 0): b}
            assert values.tolist() == [evaluate(steps[op], loads, loads) for op in OPERATIONS]


def decoded(part, form):
    """Return the number of bytes, the high one first."""
    if form in "ui":
        number = int.from_bytes(part, "big", signed=form == "i")
        return number - 2**64 if number >= 2**63 else number
    halves = [(byte >> 4) % 10 * (form == "d") * 10 + (byte & 15) % 10 for byte in part]
    return sum(digits * (10 if form == "n" else 100) ** k for k, digits in enumerate(halves[::-1]))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(value=maps(), seed=st.integers(0, 2**32 - 1))
def test_backends_agree_on_many_random_maps(tmp_path_factory, value, seed):
    path = write_map(tmp_path_factory.mktemp("maps"), value)
    with suppress_long():
        game = make_game(rom=changing_rom(path.parent), ram_map=path, **ONE)
        compare_on_random_memory(game, seed)


def changing_rom(folder):
    """Write the ROM of the program that changes memory, and return its path."""
    path = folder / "changes.gb"
    path.write_bytes(build(CHANGES_ALL, kind=0x1B, ram=3).rom)
    return path


def test_the_program_changes_all_memory_that_random_maps_look_at(tmp_path):
    game = make_game(rom=changing_rom(tmp_path), **ONE | {"frames_per_step": 2})
    engine = BatchEngine(game, 1, FASTEST)
    engine.reset_many(seeds=0)
    engine.step_many([0])
    before = engine.get_states()[0].copy()
    engine.step_many([0])
    after = engine.get_states()[0]
    for name, part in (("wram", slice(0x400)), ("cart", slice(0x100)), ("high", slice(0x80, 0xC0))):
        assert (before[name][part] != after[name][part]).mean() > 0.9


def compare_on_random_memory(game, seed):
    engines = [BatchEngine(game, 2, backend) for backend in BACKENDS]
    for engine in engines:
        engine.reset_many(seeds=seed % 1000)
    rows, rng = engines[0].get_states(), np.random.default_rng(seed)
    for name in ("wram", "cart", "values", "vram", "oam"):
        rows[name] = rng.integers(0, 256, rows[name].shape)
    rows["high"][:, 0x80:0xC0] = rng.integers(0, 256, (2, 64))
    for engine in engines:
        engine.set_states(rows)
    all_agree(engines)
    for _ in range(2):
        rows = engines[0].get_states()
        rows["wram"] ^= rng.integers(0, 2, rows["wram"].shape, np.uint8)
        rows["done"] = 0
        for engine in engines:
            engine.set_states(rows)
            engine.step_many([1, 2], autoreset=False)
        all_agree(engines)


@given(content=st.binary(min_size=8, max_size=40), kind=kinds)
def test_search_decodes_as_fields_do(content, kind):
    assume(kind["type"] != "bit")
    found = field(**kind)
    values = decode(np.frombuffer(content, np.uint8), found.form, found.size, found.big)
    for at in range(len(content) - found.size + 1):
        wanted = found.number(lambda place, at=at: content[place - 0xC000 + at])
        assert values[at] == wanted


# -- many events of an overworld -------------------------------------------------------------------


def test_events_go_up_to_65536(tmp_path, backends):
    value = {"memory": {"map": "$C100", "x": "$C101", "y": "$C102"}, "size": [3, 16, 16],
             "events": {"address": "$C000", "bits": 65_536, "rewarded": [5, 65_535]}}  # fmt: skip
    path = write_map(tmp_path, value)
    assert load_ram_map(path).num_events == 65_536
    game = make_game(kind="overworld", ram_map=path, visits="cells", renewing_events=(65_000,),
                     **SHORT, stack_k=1)  # fmt: skip
    engines = [BatchEngine(game, 2, backend) for backend in backends]
    for engine in engines:
        engine.reset_many(seeds=3)
        engine.step_many(np.array([4, 7]))
    all_agree(engines)
    assert engines[0].obs["events"].shape == (2, 65_536)
    value["events"]["bits"] = 65_537
    with pytest.raises(ConfigError, match="0 to 65536"):
        make_game(kind="overworld", ram_map=write_map(tmp_path, value))


def test_cartridge_places_are_behind_addresses():
    found = read_field("x", {"address": "$A001", "bank": 3, "type": "u1"}, "x")
    assert found.place == CARTRIDGE + 3 * 0x2000 + 1
    assert found.form == Form.UNSIGNED
