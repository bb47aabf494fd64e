"""Compare all backends on random RAM maps: memory, sets, visits, hooks and writes.

``python -m tools.gameboy.random_maps`` draws maps and lets lanes play a program whose frames last
some forty instructions: it turns the display off and on, and writes small numbers meanwhile. After
every step rows, rewards, flags and infos of all backends are held against each other. Now and then
lanes are copied into each other, memory is changed from outside, lanes are reset, and all goes on
in new engines. The last line counts the steps; the exit status is 1 where something differs, with
the map and the seed that show it.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from fastenv.gameboy import GameBoyGame, make_game
from fastenv.gameboy.frames import FrameFormat
from tools.command import new_parser, refusing
from tools.gameboy.machines import build
from training.run import files, machine

COMMAND = "python -m tools.gameboy.random_maps"
BACKENDS = ("reference", "numba", "cython", "fast")
LANES, STEPS_OF_A_MAP = 16, 200
# hl = $C000; again and again: display off; b = 5 b + 1; l = b & 15; (hl) = a number below 8, of b
# and DIV, and so is ($FF90); a call that counts c down from 3; display on.
PROGRAM = bytes.fromhex(
    "2100C0 AFE040 788787803C47 E60F6F F004A8E607 77 E090 CD8001 3E80E040 18E3"
).ljust(0x30, b"\0") + bytes.fromhex("C50E030D20FDC1C9")

Json = dict[str, Any]


def write_rom(folder: Path) -> Path:
    """Write the ROM of the program; return its path."""
    path = folder / "short_frames.gb"
    path.write_bytes(build(PROGRAM, kind=0x1B, ram=3, banks=4).rom)
    return path


# -- maps ------------------------------------------------------------------------------------------

FIELDS: Json = {
    "a": {"address": "$C000", "type": "u1"},
    "b": {"address": "$C001", "type": "i1"},
    "c": {"address": "$C002", "type": ">u2"},
    "d": {"address": "$FF90", "type": "u1"},
    "t": {"address": "$C003", "type": "u1", "count": 6},
    "u": {"address": "$C004", "type": "i1", "count": 6, "stride": 2},
    "v": {"address": "$A000", "type": "<u2", "count": 4},
    "flags": {"address": "$C005", "type": "bit", "bit": 3, "count": 14},
    "bcd": {"address": "$C00C", "type": ">d2"},
    "digits": {"address": "$C00E", "type": "<n2"},
    "bits": {"address": "$C000", "type": "bit", "count": 14, "stride": 3, "info": False},
}
CONSTANTS: Json = {
    "k": 3,
    "worth": {"count": 14, "each": 1, "at": {"3": 50, "7": -4, "13": 2**40}},
    "prices": [2, -1, 4, 0, 9, 7],
}
# Instructions of the program and bytes that it writes, or does not.
PLACES = (
    0x153,
    0x154,
    0x15B,
    0x15F,
    0x164,
    0x167,
    0x16A,
    0x16E,
    0x180,
    0x183,
    0x184,
    0x187,
    0x3FFF,
)
WRITTEN = ("$C000", "$C003", "a", "t", "v", "$FF90", "$FF40", "$FFFD", "$FFFC", "$9800", "$C0FF")
SET = (
    "a",
    "b",
    "c",
    "d",
    "t",
    "u[3]",
    "v",
    "v[1]",
    "flags",
    "flags[5]",
    "bits[2]",
    "bcd",
    "digits",
)
COUNTS = {name: each.get("count", 0) for name, each in FIELDS.items()}
COUNTS |= {"k": 0, "worth": 14, "prices": 6}
_TWO = ("+", "-", "*", "//", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or")


class Writer:
    """Random expressions, by what may stand in them.

    Parameters
    ----------
    rng : Random
    sets, numbers, hooks : sequence of str
        Names that may be used.
    at_once : bool
        Whether expressions are taken within a step.
    """

    def __init__(
        self,
        rng: Random,
        sets: Sequence[str] = (),
        numbers: Sequence[str] = (),
        hooks: Sequence[str] = (),
        at_once: bool = False,
    ) -> None:
        self.rng, self.sets, self.numbers, self.at_once = rng, [*sets], [*numbers], at_once
        self.scalars = [*(name for name, count in COUNTS.items() if not count), *hooks]
        self.tables = [name for name, count in COUNTS.items() if count]

    def text(self, depth: int, changing: bool = False, table: int = 0) -> str:
        """Return an expression; ``table``: of each element of tables that have so many."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            return self.leaf(changing, table)
        way = rng.random()
        if way < 0.45:
            sides = self.text(depth - 1, changing, table), self.text(depth - 1, changing, table)
            return f"({sides[0]}) {rng.choice(_TWO)} ({sides[1]})"
        if way < 0.6:
            inner = self.text(depth - 1, changing, table)
            return rng.choice([f"-({inner})", f"not ({inner})", f"abs({inner})"])
        if way < 0.7 or table:
            parts = [self.text(depth - 1, changing, table) for _ in range(rng.randint(2, 3))]
            return f"{rng.choice(['min', 'max'])}({', '.join(parts)})"
        return self.of_all(depth) if way < 0.85 else self.remembered(depth, changing)

    def leaf(self, changing: bool, table: int) -> str:
        """Return a random operand: a number, a name or an element of a table."""
        rng = self.rng
        if table and rng.random() < 0.6:
            return rng.choice([name for name, count in COUNTS.items() if count == table])
        way = rng.random()
        if way < 0.2:
            return str(rng.choice([0, 1, 2, 3, 7, 255, 2**40]))
        if way < 0.3 and self.numbers and not changing and not table:
            return rng.choice(self.numbers)
        if way < 0.7:
            return rng.choice(self.scalars)
        name = rng.choice(self.tables)
        return f"{name}[{rng.randrange(COUNTS[name])}]"

    def of_all(self, depth: int) -> str:
        """Return a random expression over all elements of a table."""
        rng = self.rng
        name = rng.choice(self.tables)
        way = rng.choice(["sum", "count", "min", "max"])
        if rng.random() < 0.3:
            return f"{way}({name})"
        if rng.random() < 0.2:
            return f"sum({rng.choice(['flags', 'bits'])} * worth)"
        return f"{way}({name} - ({self.text(depth - 1, False, COUNTS[name])}))"

    def remembered(self, depth: int, changing: bool) -> str:
        """Return a random expression over earlier steps; within a step, a random number instead."""
        rng = self.rng
        if self.at_once:
            return f"random({rng.choice([1, 2, 6, 256, 2**31 - 1])})"
        if not changing and rng.random() < 0.4:
            inner = self.text(depth - 1, True)
            return f"{rng.choice(['delta', 'previous'])}({inner})"
        if self.sets and rng.random() < 0.6:
            return f"{rng.choice(['first_time', 'visits', 'size'])}({rng.choice(self.sets)})"
        inner = self.text(depth - 1)
        return f"{rng.choice(['max_so_far', 'sum_so_far'])}({inner})"


def random_map(seed: int) -> Json:
    """Return the value of a RAM map's file."""
    rng = Random(seed)
    hooks: Json = {}
    for name in ("h0", "h1", "h2", "h3")[: rng.randint(0, 4)]:
        hooks[name] = {"do": rng.choice(["count", "count", "latch"])}
        if rng.random() < 0.6:
            hooks[name]["at"] = f"00:{rng.choice(PLACES):04X}"
        else:
            hooks[name]["written"] = rng.choice(WRITTEN)
    sets: Json = {}
    for name in ("cells", "few")[: rng.randint(0, 2)]:
        writer = Writer(rng, [*sets], hooks=[*hooks])
        key = [writer.text(rng.randint(0, 1)) for _ in range(rng.randint(1, 4))]
        sets[name] = {"key": key, "capacity": rng.choice([1, 2, 5, 40, 300])}
        if rng.random() < 0.3:
            sets[name]["when"] = writer.text(2)
    numbers: Json = {}
    for name in ("n0", "n1", "n2")[: rng.randint(0, 3)]:
        text = Writer(rng, [*sets], [*numbers], [*hooks]).text(3)
        numbers[name] = text if rng.random() < 0.7 else {"value": text, "info": False}
    writer = Writer(rng, [*sets], [*numbers], [*hooks])
    rewards = {
        f"r{k}": {"value": writer.text(rng.randint(1, 4)), "weight": rng.choice([1, -0.5, 1e-3])}
        for k in range(rng.randint(1, 6))
    }
    ends = {}
    if rng.random() < 0.7:
        ends["terminated"] = f"({writer.text(3)}) % 23 == 5"
    if rng.random() < 0.7:
        ends["truncated"] = f"({writer.text(3)}) % 29 == 7"
    writer, writes = Writer(rng, hooks=[*hooks], at_once=True), {}
    for name in ("w0", "w1", "w2")[: rng.randint(0, 3)]:
        on = rng.choice(["reset", "step", *hooks, *hooks])
        writes[name] = {"set": rng.choice(SET), "to": writer.text(2), "on": on}
        if rng.random() < 0.3:
            writes[name]["when"] = writer.text(2)
    return {
        "hooks": hooks,
        "writes": writes,
        "fields": FIELDS,
        "constants": CONSTANTS,
        "sets": sets,
        "numbers": numbers,
        "rewards": rewards,
        "ends": ends,
    }


def remember_pictures() -> None:
    """Pack no picture twice: nearly all are blank, and packing one takes as long as ten steps."""
    pack = lru_cache(maxsize=64)(FrameFormat.pack)
    vars_of: Any = FrameFormat
    vars_of.pack = lambda form, picture: pack(form, bytes(picture))


def random_game(folder: Path, rom: Path, seed: int) -> tuple[GameBoyGame, Path]:
    """Return a game with a random map, and the file of it."""
    path = folder / f"map_{seed}.json"
    tries = 0
    while True:
        value = random_map(seed * 1000 + tries)
        path.write_text(json.dumps(value), encoding="utf-8")
        try:
            game = make_game(
                rom=rom, ram_map=path, frames_per_step=1, release_after_frames=1, stack_k=1,
                pixels="packed72x20", max_steps=150, writes="all", sticky=0.1,
            )  # fmt: skip
        except ConfigError as error:
            if "take several expressions" not in str(error) and "1 to 1000" not in str(error):
                raise
            tries += 1
            continue
        return game, path


# -- what is held against each other ---------------------------------------------------------------


def seen(engine: BatchEngine) -> Iterator[tuple[str, Any]]:
    """Give what a backend shows after a step."""
    yield "row", engine.get_states().view(np.uint8)
    for name in ("reward", "terminated", "truncated"):
        yield name, getattr(engine, name)
    for name, column in engine.info.items():
        yield f"info {name}", column


def difference(engines: dict[str, BatchEngine]) -> str | None:
    """Return the first difference between backends, None if there is none."""
    (first, one), *others = engines.items()
    wanted = dict(seen(one))
    for name, engine in others:
        for part, found in seen(engine):
            if wanted[part].tobytes() != found.tobytes():
                return f"{part} of {first} and {name}"
    return None


def play(game: GameBoyGame, seed: int, steps: int, lanes: int, backends: Sequence[str]) -> None:
    """Let a game be played in several backends.

    Raises
    ------
    AssertionError
        Where they differ; says in which step.
    """
    rng = np.random.default_rng(seed)
    engines = {name: BatchEngine(game, lanes, name) for name in backends}
    for engine in engines.values():
        engine.reset_many(seeds=seed)
    for step in range(steps):
        if step % 23 == 11:
            change(engines, rng)
        if step % 97 == 50:  # all goes on in new engines
            rows = next(iter(engines.values())).get_states()
            engines = {name: BatchEngine(game, lanes, name) for name in backends}
            for engine in engines.values():
                engine.reset_many(seeds=seed)
                engine.set_states(rows)
        if step % 31 == 20:
            mask, again = rng.random(lanes) < 0.3, bool(rng.integers(2))
            for engine in engines.values():
                engine.reset_many(mask, seeds=int(step) if again else None)
        actions = rng.integers(0, game.spec.num_actions, lanes)
        for engine in engines.values():
            engine.step_many(actions)
        found = difference(engines)
        assert found is None, f"seed {seed}, step {step}: {found} differ"


def change(engines: dict[str, BatchEngine], rng: np.random.Generator) -> None:
    """Copy lanes into each other, and change their memory."""
    rows = next(iter(engines.values())).get_states()
    rows = rows[rng.integers(0, len(rows), len(rows))]
    for name, part in (("wram", slice(0, 24)), ("cart", slice(0, 8)), ("high", slice(0x90, 0x92))):
        if name in (rows.dtype.names or ()):
            before = rows[name][:, part]
            drawn = rng.integers(0, 256, before.shape, np.uint8)
            rows[name][:, part] = np.where(rng.random(before.shape) < 0.3, drawn, before)
    for engine in engines.values():
        engine.set_states(rows)


@refusing
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status is 1 where something differs."""
    argv = sys.argv[1:] if argv is None else [*argv]
    parser = new_parser("gameboy.random_maps", __doc__)
    parser.add_argument("--steps", type=int, default=100_000, help="of all lanes; default 100,000")
    parser.add_argument("--seed", type=int, default=0, help="of the first map; default 0")
    parser.add_argument("--backends", nargs="+", default=[*BACKENDS], choices=BACKENDS)
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write the record")
    args = parser.parse_args(argv)
    record: Json = machine.taken_on() | {"command": f"{COMMAND} {shlex.join(argv)}"}
    remember_pictures()
    warnings.simplefilter("ignore", RuntimeWarning)  # of sets that are full
    taken, maps, began = 0, 0, time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        rom = write_rom(Path(folder))
        while taken < args.steps:
            game, path = random_game(Path(folder), rom, args.seed + maps)
            try:
                play(game, args.seed + maps, STEPS_OF_A_MAP, LANES, args.backends)
            except AssertionError as error:
                print(path.read_text(encoding="utf-8"))
                print(f"differs: {error}")
                return 1
            taken, maps = taken + STEPS_OF_A_MAP * LANES, maps + 1
            if maps % 10 == 0:
                print(f"{taken:,} steps, {maps} maps", flush=True)
    seconds = time.process_time() - began
    print(f"no difference in {taken:,} steps of {', '.join(args.backends)} with {maps} maps")
    record |= {"steps": taken, "maps": maps, "backends": args.backends, "differences": 0}
    if args.out is not None:
        files.write_json(args.out, record | {"cpu_s": round(seconds, 1)})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
