"""Hooks and writes of RAM maps: what they count and set, and that nobody else can tell."""

import json
import re

import numpy as np
import pytest

from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from fastenv.gameboy import make_game
from fastenv.gameboy.ram_fields import read_field
from fastenv.gameboy.ram_hooks import OPERANDS, TRAP, bytes_of, set_traps
from fastenv.gameboy.ram_program import load_program
from fastenv.gameboy.tables import ROM_BANK
from tests.gameboy.lanes import BACKENDS
from tests.gameboy.test_lanes import all_agree
from tests.gameboy.test_waiting_loops import LOOPS
from tests.needs import FASTEST, needs_core
from tests.slow import every
from tests.tables import walk
from tools.gameboy.machines import build
from tools.gameboy.random_maps import PROGRAM, write_rom

ONE = {"frames_per_step": 1, "release_after_frames": 1, "stack_k": 1}
FIELDS = {
    "a": {"address": "$C0F0", "type": "u1"},
    "t": {"address": "$C0F1", "type": "u1", "count": 3},
    "money": {"address": "$C0F4", "type": ">d3"},
    "code": {"address": "$0153", "type": "u1"},
    "sprite": {"address": "$FE00", "type": "u1"},
    "low": {"address": "$C0F8", "type": "u1", "mask": 15},
}
BOTH = ("reference", "fast") if "fast" in BACKENDS else ("reference",)


def game_of(folder, rom=None, options=ONE, **parts):
    path = folder / "map.json"
    path.write_text(json.dumps({"fields": FIELDS, **parts}), encoding="utf-8")
    return make_game(rom=rom or write_rom(folder), ram_map=path, **options)


def rom_of(folder, program, **options):
    path = folder / "program.gb"
    path.write_bytes(build(program, **options).rom)
    return path


def engines_of(game, n=1, backends=BOTH):
    engines = [BatchEngine(game, n, name) for name in backends]
    for engine in engines:
        engine.reset_many(seeds=0)
    return engines


def step_all(engines, steps, **options):
    for _ in range(steps):
        for engine in engines:
            engine.step_many(np.zeros(engine.num_envs, int), **options)
        all_agree(engines)


# -- what is counted -------------------------------------------------------------------------------


def test_instructions_and_bytes_are_counted(tmp_path, backends):
    """The program goes round once in two frames; its inner loop counts from 3."""
    hooks = {
        "round": {"at": "00:0153"}, "call": {"at": "00:0180"}, "inner": {"at": "00:0183"},
        "jump": {"at": "00:0184"}, "never": {"at": "00:0002"},
        "once": {"at": "00:0153", "do": "latch"},
        "high": {"written": "$FF90"}, "display": {"written": "$FF40"},
        "stack": {"written": "$FFFD"},
        "hidden": {"at": "00:0187", "info": False},
    }  # fmt: skip
    game = game_of(tmp_path, hooks=hooks, rewards={"new": "delta(call)", "all": "inner + hidden"})
    engines = engines_of(game, 2, backends)
    step_all(engines, 24)
    info = {name: int(engines[0].info[name][1]) for name in hooks if name != "hidden"}
    assert info["round"] in (11, 12, 13)
    assert abs(info["call"] - info["round"]) <= 1
    assert info["inner"] == info["jump"] == 3 * info["call"]
    assert info["never"] == 0
    assert info["once"] == 1
    assert info["display"] == 24
    assert info["high"] == info["call"]
    assert info["stack"] == info["call"]
    assert "hidden" not in engines[0].info
    assert engines[0].info["round"].dtype == np.uint32
    assert engines[0].terms["reward_all"][1] == info["inner"] + info["call"]
    for engine in engines:
        engine.reset_many()
    all_agree(engines)
    assert not engines[0].info["round"].any()
    assert not engines[0].info["once"].any()


@walk("loop", every(9, LOOPS))
def test_every_instruction_of_a_loop_that_waits_is_counted(loop, tmp_path):
    """Iterations of such loops are left out of the core, unless one of them is counted.

    The last hook is right behind the loop.
    """
    program = LOOPS[loop] + b"\x21\x00\xc0\x34" + b"\xc3\x50\x01"
    rom = rom_of(tmp_path, program)
    for at in range(len(LOOPS[loop]) + 1):
        hooks = {"h": {"at": f"00:{0x150 + at:04X}"}}
        step_all(engines_of(game_of(tmp_path, rom, hooks=hooks)), 2)


def test_no_instruction_reads_a_trap_as_its_operand():
    rng = np.random.default_rng(3)
    rom = rng.integers(0, 256, 2 * ROM_BANK, np.uint8)
    rom[0x100:0x200] = 0xCD  # each byte may be an instruction, and an operand of two others
    places = [0x1F0, 0x150, 0, ROM_BANK, *rng.choice(2 * ROM_BANK, 60, replace=False).tolist()]
    made = set_traps(rom.tobytes(), places)
    assert all(made[place] == TRAP for place in places)
    assert 64 < sum(one != other for one, other in zip(made, rom.tolist(), strict=True)) < 500
    for at, opcode in enumerate(rom.tolist()):
        if made[at] == opcode:
            end = min(at + 1 + OPERANDS.get(opcode, 0), (at // ROM_BANK + 1) * ROM_BANK)
            assert made[at:end] == rom[at:end].tobytes(), hex(at)
        else:
            assert made[at] == TRAP


def test_hooks_are_found_wherever_they_are_in_the_table(tmp_path, backends):
    """Places with the same low byte, and several hooks at one place: the table has one of them."""
    program = b"\x00\x3c\xc3\x51\x02"  # nop; inc a; jp $0251
    rom = rom_of(tmp_path, program, patches=[(0x251, b"\x04\x00\xc3\x50\x01")])  # inc b; nop; jp
    places = ("0150", "0151", "0251", "0252", "0151", "0253", "0254")
    hooks = {f"h{k}": {"at": f"00:{place}"} for k, place in enumerate(places)}
    engines = engines_of(game_of(tmp_path, rom, hooks=hooks), backends=backends)
    step_all(engines, 2)
    counted = [int(engines[0].info[f"h{k}"][0]) for k in range(len(places))]
    assert min(counted[:6]) > 1000
    assert max(counted[:6]) - min(counted[:6]) <= 1
    assert counted[6] == 0  # an operand


@needs_core
def test_hooks_change_nothing_else(tmp_path):
    """Lantern Walk with hooks at many of its bytes, and without: the same machines."""
    rom = {"rom": "lantern_walk", "options": {"states": "lantern_walk", "frames_per_step": 5,
           "release_after_frames": 3, "stack_k": 1, "start_state": None}}  # fmt: skip
    rng = np.random.default_rng(0)
    at = rng.choice(np.arange(0x150, 0x1500), 54, replace=False)
    hooks = {f"h{k}": {"at": f"00:{place:04X}"} for k, place in enumerate(at)}
    written = ("$C000", "$C101", "$DFFD", "$DFF0", "$FF80", "$FE00", "$9800", "$FF42", "$8000")
    hooks |= {f"w{k}": {"written": address} for k, address in enumerate(written)}
    plain, hooked = (
        BatchEngine(game_of(tmp_path, hooks=some, **rom), 16, FASTEST) for some in ({}, hooks)
    )
    for engine in (plain, hooked):
        engine.reset_many(seeds=1)
    for _ in range(60):
        actions = rng.integers(0, 8, 16)
        for engine in (plain, hooked):
            engine.step_many(actions)
        one, other = plain.get_states(), hooked.get_states()
        for name in one.dtype.names:
            assert (one[name] == other[name]).all(), name
        assert (plain.obs == hooked.obs).all()
    counted = [int(hooked.info[name].sum()) for name in hooks]
    assert sum(n > 0 for n in counted) > 10


@pytest.mark.parametrize(("do", "flag"), [("terminate", "terminated"), ("truncate", "truncated")])
def test_a_hook_ends_an_episode(do, flag, tmp_path):
    game = game_of(
        tmp_path, hooks={"end": {"at": "00:0187", "do": do}}, ends={"terminated": "a == 77"}
    )
    engines = engines_of(game)
    ended = []
    for _ in range(4):
        step_all(engines, 1)
        ended.append(int(getattr(engines[0], flag)[0]))
    assert sum(ended) >= 1
    assert ended[0] == 0


def test_banks_are_told_apart(tmp_path):
    """The same address in two banks: ld a,3; ld ($2000),a; call $4000; the other one; again."""
    program = bytes.fromhex("3E03EA0020CD0040 3E02EA0020CD0040CD0040 18EB")
    patches = [(bank * 0x4000, b"\xc9") for bank in range(1, 8)]
    rom = rom_of(tmp_path, program, kind=0x19, banks=8, patches=patches)
    hooks = {f"bank{k}": {"at": f"{k:02X}:4000"} for k in (1, 2, 3)}
    engines = engines_of(game_of(tmp_path, rom, hooks=hooks))
    step_all(engines, 2)
    two, three = (int(engines[0].info[f"bank{k}"][0]) for k in (2, 3))
    assert engines[0].info["bank1"][0] == 0
    assert three > 100
    assert abs(two - 2 * three) <= 2


def test_an_opcode_that_does_not_exist_may_be_hooked(tmp_path):
    """It locks the processor, as without; one that is not hooked does too."""
    for place, count in ((0x151, 1), (0x150, 1), (0x152, 0)):
        rom = rom_of(tmp_path, b"\x00\xd3\x00")
        engines = engines_of(game_of(tmp_path, rom, hooks={"h": {"at": f"00:{place:04X}"}}))
        step_all(engines, 1, autoreset=False)
        assert engines[0].info["h"][0] == count
        assert engines[0].info["cpu_locked"][0]


# -- what is set -----------------------------------------------------------------------------------

WRITES = {
    "rich": {"set": "money", "to": 999999, "on": "reset"},
    "each": {"set": "t", "to": "a + 1", "on": "step", "when": "a < 5"},
    "luck": {"set": "t[1]", "to": "random(256)", "on": "reset"},
    "grows": {"set": "a", "to": "a + 1", "on": "call"},
}
HOOKS = {"call": {"at": "00:0180"}}


def test_writes_are_off_unless_asked_for(tmp_path):
    game = game_of(tmp_path, hooks=HOOKS, writes=WRITES)
    engine = BatchEngine(game, 1, FASTEST)
    engine.reset_many(seeds=0)
    assert engine.info["money"][0] == 0
    assert "writes" not in engine.info
    assert game.config.writes == ()


def test_fields_are_set_when_they_should_be(tmp_path, backends):
    options = ONE | {"writes": "all", "sticky": 0.3}
    rewards = {"a": "delta(a)", "money": "delta(money)", "t": "delta(t[0])"}
    game = game_of(tmp_path, options=options, hooks=HOOKS, writes=WRITES, rewards=rewards)
    engines = engines_of(game, 3, backends)
    one = engines[0]
    assert (one.info["money"] == 999999).all()
    assert one.info["writes"].tolist() == [2, 2, 2]
    drawn = one.info["t"][:, 1].tolist()
    assert len({*drawn}) > 1
    calls = []
    for _ in range(10):
        before = one.info["a"].copy()
        step_all(engines, 1)
        # A step sets t first, and is not paid for it; the program's call then counts.
        assert (one.terms["reward_t"] == 0).all()
        assert (one.terms["reward_money"] == 0).all()
        assert (one.info["a"] - before == one.terms["reward_a"]).all()
        assert (one.info["t"][:, 0] == np.minimum(before, 4) + 1).all()
        calls.append(one.info["a"].copy())
    assert calls[-1].tolist() == one.info["call"].tolist()
    assert calls[-1].min() >= 4
    for engine in engines:
        engine.reset_many()
    all_agree(engines)
    assert one.info["t"][:, 1].tolist() != drawn


@walk(
    ("kind", "number", "before", "after"),
    [
        ({"type": "u1"}, 300, "07", "2c"), ({"type": "<u2"}, 0x1234, "0000", "3412"),
        ({"type": ">u2"}, -2, "0000", "fffe"), ({"type": "i1"}, -3, "00", "fd"),
        ({"type": ">d3"}, 1234567, "ffffff", "234567"), ({"type": "<d2"}, 42, "9999", "4200"),
        ({"type": "d1"}, -1, "00", "99"), ({"type": ">n3"}, 98765, "f0f1f2", "f7f6f5"),
        ({"type": "bit", "bit": 3}, 7, "00", "08"), ({"type": "bit", "bit": 3}, 0, "ff", "f7"),
        ({"type": ">u8"}, -1, "00" * 8, "ff" * 8),
    ],
)  # fmt: skip
def test_numbers_become_bytes(kind, number, before, after):
    field = read_field("x", {"address": "$C000", **kind}, "x")
    assert bytes_of(field, 0, number, bytes.fromhex(before)) == (0xC000, bytes.fromhex(after))


def test_what_is_written_is_what_is_read(tmp_path, backends):
    """All types by the core as by the plain functions, from random bytes."""
    types = [f"{order}{form}{size}" for form in "uidn" for size in (1, 2, 3, 8) for order in "<>"]
    fields = {f"f{k}": {"address": 0xC200 + 9 * k, "type": of} for k, of in enumerate(types)}
    fields["bits"] = {"address": "$C400", "type": "bit", "bit": 2, "count": 30, "stride": 3}
    fields["n"] = {"address": "$C500", "type": "<i8"}
    writes = {f"w{k}": {"set": f"f{k}", "to": "n", "on": "step"} for k in range(len(types))}
    writes |= {"b": {"set": "bits", "to": "n % 2", "on": "step"}}
    game = game_of(tmp_path, options=ONE | {"writes": "all"}, fields=fields, writes=writes)
    engines = engines_of(game, 4, backends)
    rows, rng = engines[0].get_states(), np.random.default_rng(2)
    rows["wram"] = rng.integers(0, 256, rows["wram"].shape)
    rows["wram"][:, 0x500:0x508] = np.array([[5], [-1], [10**15], [-(2**63)]], "<i8").view(np.uint8)
    for engine in engines:
        engine.set_states(rows)
    step_all(engines, 1, autoreset=False)
    for k, of in enumerate(types):
        if of[1] in "dn":
            base = (100 if of[1] == "d" else 10) ** int(of[2])
            numbers = [5 % base, -1 % base, 10**15 % base, -(2**63) % base]
            assert engines[0].info[f"f{k}"].tolist() == numbers, of


def test_an_mbc2_keeps_half_of_what_is_written(tmp_path):
    rom = rom_of(tmp_path, PROGRAM, kind=0x06, banks=4)
    fields = {"saved": {"address": "$A000", "type": "<u2", "count": 3}}
    writes = {"w": {"set": "saved", "to": 0xABCD, "on": "step"},
              "h": {"set": "saved[2]", "to": "call + $F0F0", "on": "call"}}  # fmt: skip
    game = game_of(
        tmp_path, rom, ONE | {"writes": "all"}, fields=fields, hooks=HOOKS, writes=writes
    )
    engines = engines_of(game)
    step_all(engines, 4)
    assert engines[0].info["saved"][0, :2].tolist() == [0x0B0D, 0x0B0D]
    for engine in engines:
        engine.set_states(engine.get_states())


def test_registers_that_stand_still_are_read_at_hooks(tmp_path):
    """What a program alone changes is the same within a frame in all backends."""
    writes = {"w": {"set": "a", "to": "page[64] + page[66] + page[144] + three[0]", "on": "h"}}
    engines = engines_of(
        game_of(tmp_path, None, ONE | {"writes": "all"}, **AT_A_HOOK, writes=writes)
    )
    step_all(engines, 4)
    assert engines[0].info["writes"][0] == 2


@pytest.mark.parametrize("part", ["fields", "constants"])
def test_what_counts_writes_has_its_name_alone(part, tmp_path):
    """Also where the other thing of that name is no column."""
    parts = {"fields": FIELDS, "writes": {"w": SET}}
    hidden = {"fields": {"address": "$C0F8", "type": "u1", "info": False}, "constants": 3}
    parts[part] = {**parts.get(part, {}), "writes": hidden[part]}
    game_of(tmp_path, **parts)
    with pytest.raises(ConfigError, match="writes is the column that counts writes"):
        game_of(tmp_path, options=ONE | {"writes": "all"}, **parts)


# -- files -----------------------------------------------------------------------------------------

HOOK = {"at": "00:0153"}
SET = {"set": "a", "to": 1, "on": "step"}
AT_A_HOOK = {
    "hooks": {"h": HOOK},
    "fields": FIELDS | {
        "page": {"address": "$FF00", "type": "u1", "count": 256},
        "three": {"address": "$FF43", "type": "u1", "count": 3},
    },
}  # fmt: skip
BAD = [
    ({"hooks": []}, "hooks must be an object of at most 64"),
    ({"hooks": {"h": {}}}, r"hooks\.h=\{\} must be an object with at or written"),
    ({"hooks": {"h": {**HOOK, "written": "a"}}}, r"hooks\.h=.* with at or written"),
    ({"hooks": {"h": {**HOOK, "when": 1}}}, r"hooks\.h: 'when' is not known"),
    ({"hooks": {"a": HOOK}}, r"hooks\.a: it is a field: choose another name"),
    ({"hooks": {"tau": HOOK}}, r"hooks\.tau: it is a name of the views"),
    ({"hooks": {"h": {**HOOK, "do": "stop"}}}, r"hooks\.h\.do='stop' must be one of count, latch"),
    ({"hooks": {"h": {**HOOK, "info": 1}}}, r"hooks\.h\.info=1"),
    ({"hooks": {"h": {"at": "0150"}}}, r"hooks\.h\.at='0150' must be an instruction of the ROM"),
    ({"hooks": {"h": {"at": "00:C000"}}}, r"hooks\.h\.at='00:C000' must be an instruct"),
    ({"hooks": {"h": {"at": "03:0150"}}}, r"hooks\.h\.at='03:0150'"),
    ({"hooks": {"h": {"at": "Main"}}}, r"hooks\.h\.at='Main' must be .* or a label"),
    ({"hooks": {"h": {"at": "04:4000"}}}, r"hooks\.h\.at='04:4000' .* ROM has 4 banks, 00 to 03"),
    ({"hooks": {"h": {"at": 5}}}, r"hooks\.h\.at=5"),
    ({"hooks": {"h": {"written": "$2000"}}}, r"hooks\.h\.written='\$2000' .* address of ROM"),
    ({"hooks": {"h": {"written": "code"}}}, r"hooks\.h\.written='code' .* not in RAM"),
    ({"hooks": {"h": {"written": "wLabel"}}}, r"hooks\.h\.written='wLabel' .* or a label"),
    ({"writes": []}, "writes must be an object of at most 64"),
    ({"writes": {"w": {"set": "a"}}}, r"writes\.w=.* with set, to and on"),
    ({"writes": {"w": {**SET, "at": 1}}}, r"writes\.w: 'at' is not known"),
    ({"writes": {"w": {**SET, "set": "b"}}}, r"writes\.w\.set='b' must be a field"),
    ({"writes": {"w": {**SET, "set": "t[3]"}}}, r"writes\.w\.set='t\[3\]' .* t\[0\] to t\[2\]"),
    ({"writes": {"all": SET}}, r"writes\.all: the option writes means each of them by it"),
    ({"writes": {"w": {**SET, "set": "a[0]"}}}, r"writes\.w\.set='a\[0\]' .* 'a', a single num"),
    ({"writes": {"w": {**SET, "set": "code"}}}, r"writes\.w\.set='code' .* in ROM, which"),
    ({"writes": {"w": {**SET, "set": "sprite"}}}, r"writes\.w\.set='sprite' .* WRAM, in HRAM"),
    ({"writes": {"w": {**SET, "set": "low"}}}, r"writes\.w\.set='low' .* a mask is not set"),
    ({"writes": {"w": {**SET, "on": "never"}}}, r"writes\.w\.on='never' must be one of reset"),
    ({"writes": {"w": {**SET, "to": "delta(a)"}}}, r"writes\.w\.to: column 1 .* within a step"),
    ({"writes": {"w": {**SET, "to": "random(0)"}}}, r"writes\.w\.to: column 8 .* from 1 to 21474"),
    ({"writes": {"w": {**SET, "to": 1.5}}}, r"writes\.w\.to=1\.5"),
    ({"writes": {"w": {**SET, "when": "b"}}}, r"writes\.w\.when: column 1 .* 'b' is no field"),
    ({"hooks": {"step": HOOK}, "writes": {"w": SET}}, r"hooks\.step: writes know 'step' as a time"),
    ({**AT_A_HOOK, "writes": {"w": {**SET, "on": "h", "to": "page[4]"}}},
     r"writes\.w\.to is not possible: page is a register that changes by itself"),
    ({**AT_A_HOOK, "writes": {"w": {**SET, "on": "h", "when": "sum(t * three) > 5"}}},
     r"writes\.w\.when is not possible: three is a register that changes by itself"),
]  # fmt: skip


@walk(("parts", "says"), BAD, ids=lambda x: str(x)[:40])
def test_bad_hooks_and_writes_are_refused_by_name(parts, says, tmp_path):
    with pytest.raises(ConfigError, match=says) as error:
        game_of(tmp_path, **parts)
    assert "\n" not in str(error.value)


@walk(
    ("writes", "says"),
    [
        (("ritch",), "writes='ritch' is not possible: .* has the writes rich, .* you mean 'rich'"),
        ("rich", "writes='rich' is not possible: writes must be a list"), ((1,), "list of names"),
    ],
)  # fmt: skip
def test_wrong_choices_of_writes_are_refused(writes, says, tmp_path):
    with pytest.raises(ConfigError, match=says):
        game_of(tmp_path, options=ONE | {"writes": writes}, hooks=HOOKS, writes=WRITES)


def test_writes_need_a_map():
    with pytest.raises(ConfigError, match="left out without a ram_map"):
        make_game(writes=("x",))


def test_hooks_take_labels(tmp_path):
    (tmp_path / "game.sym").write_text("00:0180 Subroutine\n00:c005 wHere\n02:4321 Far.loop\n")
    parts = {"symbols": "game.sym", "hooks": {
        "sub": {"at": "Subroutine+3"}, "far": {"at": "Far.loop"}, "here": {"written": "wHere"},
        "a_written": {"written": "a"},
    }}  # fmt: skip
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"fields": FIELDS, **parts}))
    found = {hook.name: (hook.place, hook.address) for hook in load_program(path, "pixels").hooks}
    assert found == {
        "sub": (0x183, -1), "far": (0x8321, -1), "here": (-1, 0xC005), "a_written": (-1, 0xC0F0),
    }  # fmt: skip
    parts["hooks"] = {"h": {"at": "Subrutine"}}
    path.write_text(json.dumps({"fields": FIELDS, **parts}))
    with pytest.raises(ConfigError, match=r"hooks\.h\.at='Subrutine' .* you mean 'Subroutine'"):
        load_program(path, "pixels")


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(k, marks=pytest.mark.slow) for k in range(2, 50))]
)
def test_damaged_maps_are_read_or_refused_in_a_sentence(seed, tmp_path):
    """Each is two hundred maps: values are exchanged, taken away, or replaced by others."""
    whole = {
        "fields": FIELDS, "hooks": {"h": HOOK, "w": {"written": "a", "do": "latch"}},
        "constants": {"k": {"count": 3, "each": 1, "at": {"1": 5}}, "j": [1, 2]},
        "sets": {"s": {"key": ["a", "t[1]"], "capacity": 7, "when": "a > 1"}},
        "numbers": {"n": "max_so_far(sum(t * k))", "m": {"value": "visits(s)", "info": False}},
        "rewards": {"r": {"value": "delta(n) + first_time(a, t[1])", "weight": 0.5}},
        "ends": {"terminated": "size(s) > 5"},
        "writes": {"w": {"set": "t", "to": "random(6)", "on": "h", "when": "a"}},
    }  # fmt: skip
    rng = np.random.default_rng(seed)
    odd = [
        None,
        True,
        -1,
        0,
        2**70,
        1.5,
        "",
        "a",
        "(",
        "random(3)",
        "$C000",
        [],
        {},
        [[]],
        "x" * 2000,
    ]
    path = tmp_path / "map.json"
    for _ in range(200):
        value = json.loads(json.dumps(whole))
        for _ in range(rng.integers(1, 4)):
            damage(value, rng, odd)
        path.write_text(json.dumps(value))
        try:
            load_program(path, "pixels")
        except ConfigError as error:
            message = str(error)
        else:
            continue
        assert "\n" not in message
        assert re.search(
            r"fields|hooks|constants|sets|numbers|rewards|ends|writes|is not known", message
        )


def damage(value, rng, odd):
    """Change one part of a JSON value, some levels down."""
    while True:
        keys = [*value] if isinstance(value, dict) else [*range(len(value))]
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        if isinstance(value[key], (dict, list)) and rng.random() < 0.85:
            value = value[key]
            continue
        way = rng.integers(3)
        if way == 0:
            value[key] = odd[rng.integers(len(odd))]
        elif way == 1 and isinstance(value, dict):
            value[str(odd[rng.integers(len(odd))])] = value.pop(key)
        else:
            del value[key]
        return
