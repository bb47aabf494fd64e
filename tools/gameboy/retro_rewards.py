"""Compare imported maps of stable-retro with an evaluation of its files that is written apart.

``python -m tools.gameboy.retro_rewards FOLDER`` takes your copy of stable-retro, or of a folder of
its integrations. Each ``*-GameBoy`` with data and scenario is imported; an environment with its map
runs a program that changes all of VRAM, WRAM and HRAM, from random memory. After each step fields,
reward and end of the compiled core, and those of the plain functions, are held against what this
file computes from the bytes before and after: whole numbers as ``src/memory.cpp`` decodes them, and
operations, rewards and ends as ``src/data.cpp`` takes them. One more map has all types. A scenario
with a script is counted apart. It prints a line for each integration.

stable-retro adds in floats of 32 bits where fastenv has doubles and rounds once: rewards that this
makes unequal are counted (``rounded``) with the largest relative difference; everything else must
be equal.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from fastenv.files import read_json, show_path
from fastenv.gameboy import make_game
from fastenv.gameboy.ram_program import Program
from fastenv.gameboy.retro_import import import_retro
from tools.command import new_parser, refusing
from tools.gameboy.machines import build
from training.run import files, machine

COMMAND = "python -m tools.gameboy.retro_rewards"
LANES, STEPS, FRAMES = 64, 4, 14
TYPES = [f"{order}{form}{size}" for form in "uidn" for size in range(1, 9) for order in "|<>="]
_LARGEST = 1 << 20
# Display off; then, again and again, for $8000 to $9FFF, $C000 to $DFFF and $FF80 to $FFFE:
# (hl) = rlc((hl) + c), and c is counted on from DIV. There is no stack: it would lie in HRAM.
_PROGRAM = bytes.fromhex(
    "F3AFE040 F0044F 210080 7E8107220C7CFEA020F6 26C0 7E8107220C7CFEE020F6 2180FF "
    "7E8107220C7DFEFF20F6 18D5"
)

Json = dict[str, Any]


# -- what stable-retro makes of its files ----------------------------------------------------------


def decode(part: Sequence[int], kind: str) -> int:
    """Return the number of some bytes, as ``DataType::decode`` does."""
    order, form, width = kind[0], kind[-2], int(kind[-1])
    digits = {"d": 100, "n": 10}.get(form, 256)
    places = range(width - 1, -1, -1) if order == ">" else range(width)
    number, shift = 0, 1
    for place in places:
        byte = part[place]
        if form == "n":
            byte = (byte & 0xF) % 10
        elif form == "d":
            byte = (byte & 0xF) % 10 + ((byte & 0xF0) >> 4) % 10 * 10
        number += byte * shift
        shift *= digits
    if form == "i" and number >= 1 << (8 * width - 1):
        number -= 1 << 8 * width
    return number - (1 << 64) if number >= 1 << 63 else number


def operated(op: str | None, reference: int, value: int) -> int:
    """Apply an operation to a value."""
    operations: dict[str | None, Callable[[], int]] = {
        None: lambda: value,
        "nonzero": lambda: value != 0,
        "zero": lambda: value == 0,
        "positive": lambda: value > 0,
        "negative": lambda: value < 0,
        "sign": lambda: (value > 0) - (value < 0),
        "equal": lambda: value == reference,
        "negative-equal": lambda: value == -reference,
        "not-equal": lambda: value != reference,
        "less-than": lambda: value < reference,
        "greater-than": lambda: value > reference,
        "less-or-equal": lambda: value <= reference,
        "greater-or-equal": lambda: value >= reference,
    }
    return int(operations[op]())


class Integration:
    """Files of an integration, and what they say of memory before and after a step."""

    def __init__(self, data: Json, scenario: Json) -> None:
        self.info, self.scenario = data["info"], scenario

    def value(self, name: str, memory: Any) -> int:
        """Return a variable; memory gives the byte at an address."""
        entry = self.info[name]
        begin, width = entry["address"], int(entry["type"][-1])
        number = decode([memory(begin + k) for k in range(width)], entry["type"])
        return number & int(entry.get("mask", -1))

    def measured(self, name: str, spec: Json, default: str, before: Any, now: Any) -> int:
        """Return a variable as a scenario measures it."""
        value = self.value(name, now)
        if spec.get("measurement", default) == "delta":
            value -= self.value(name, before)
            value = (value + (1 << 63)) % (1 << 64) - (1 << 63)
        return operated(spec.get("op"), spec.get("reference", 0), value)

    def rewards(self, before: Any, now: Any) -> tuple[float, np.float32]:
        """Return the reward of a step in doubles, and in the floats of stable-retro."""
        reward = self.scenario.get("reward", {})
        exact, rounded = 0.0, np.float32(0)
        for name, spec in reward.get("variables", {}).items():
            value = self.measured(name, spec, "delta", before, now)
            weight = spec.get("reward" if value > 0 else "penalty", 0)
            exact += weight * float(value)
            rounded += np.float32(value) * np.float32(weight)
        if weight := reward.get("time", {}).get("reward", 0):
            exact += weight
            rounded += np.float32(weight)
        return exact, rounded

    def done(self, before: Any, now: Any, node: Json | None = None) -> bool:
        """Return whether an episode ends."""
        node = self.scenario.get("done", {}) if node is None else node
        found = [
            self.measured(name, spec, "absolute", before, now) > 0
            for name, spec in node.get("variables", {}).items()
        ]
        found += [self.done(before, now, each) for each in node.get("nodes", {}).values()]
        return all(found) if node.get("condition") == "all" else any(found)


# -- environments ----------------------------------------------------------------------------------


def reader(row: Any) -> Any:
    """Build the function that reads the byte of a row at an address, as an emulator maps it."""
    parts = {0x8000: row["vram"], 0xC000: row["wram"], 0xFE00: row["oam"], 0xFF00: row["high"]}
    memory = np.zeros(1 << 16, np.uint8)
    for begin, part in parts.items():
        memory[begin : begin + len(part)] = part
    content = memory.tolist()
    return content.__getitem__


def compare(data: Json, scenario: Json, folder: Path, seed: int) -> Json:
    """Return the counts of one integration.

    Raises
    ------
    ConfigError
        If a map cannot say what the files do.
    """
    made, _ = import_retro(data, scenario)
    path, rom_path = folder / "map.json", folder / "changes.gb"
    path.write_text(json.dumps(made), encoding="utf-8")
    rom_path.write_bytes(build(_PROGRAM, kind=0x1B, ram=3).rom)
    game = make_game(rom=rom_path, ram_map=path, frames_per_step=FRAMES, stack_k=1)
    program, engine = game.common.program, BatchEngine(game, LANES, "fast")
    assert program is not None
    engine.reset_many(seeds=seed)
    engine.step_many(np.zeros(LANES, int), autoreset=False)  # the display is off behind it
    rows, rng = engine.get_states(), np.random.default_rng(seed)
    whole = Integration(data, scenario)
    names = dict(zip(data["info"], made["fields"], strict=True))
    found = {"steps": 0, "unequal": 0, "rounded": 0, "relative": 0.0, "ends": 0, "rewarded": 0}
    for _ in range(STEPS):
        for name in ("vram", "wram"):
            rows[name] = rng.integers(0, 256, rows[name].shape)
        rows["high"][:, 0x80:0xFF] = rng.integers(0, 256, (LANES, 127))
        some = rng.random((LANES, 1)) < 0.3  # small numbers: lives of 0 and 1, equal references
        rows["wram"][some[:, 0]] &= 3
        rows["done"] = 0
        engine.set_states(rows)
        engine.step_many(np.zeros(LANES, int), autoreset=False)
        after = engine.get_states()
        for lane in range(LANES):
            before, now = reader(rows[lane]), reader(after[lane])
            _count(found, engine, program, lane, whole, names, before, now)
        rows = after
    return found


def _count(
    found: Json,
    engine: BatchEngine,
    program: Program,
    lane: int,
    whole: Integration,
    names: Mapping[str, str],
    before: Any,
    now: Any,
) -> None:
    """Compare a step of a lane."""
    exact, rounded = whole.rewards(before, now)
    done = whole.done(before, now)
    values = program.values(program.read(before), program.read(now))
    plain = sum(w * x for w, x in zip(program.weights, values, strict=False))
    ends = program.end("terminated")
    same = [
        np.float32(exact) == engine.reward[lane] == np.float32(plain),
        done == bool(engine.terminated[lane]) == bool(ends >= 0 and values[ends]),
        *(
            whole.value(name, now) == int(engine.info[field][lane])
            == program.by_name[field].number(now)
            for name, field in names.items()
        ),
    ]  # fmt: skip
    found["steps"] += 1
    found["unequal"] += not all(same)
    found["ends"] += done
    found["rewarded"] += exact != 0
    if np.float32(exact) != rounded:
        found["rounded"] += 1
        gap = abs(float(rounded) - exact) / max(1.0, abs(exact))
        found["relative"] = max(found["relative"], float(f"{gap:.3g}"))


def all_types() -> tuple[Json, Json]:
    """Return files with a variable of each type that a map can say."""
    info = {f"v{k}": {"address": 0xC000 + 37 * k, "type": of} for k, of in enumerate(TYPES)}
    info["vram"] = {"address": 0x99CE, "type": "|u1"}
    chosen = [name for k, name in enumerate(info) if k % 2 == 0][:32]
    variables = {name: {"reward": 1.0, "penalty": 0.5} for name in chosen}
    return {"info": info}, {"reward": {"variables": variables}}


def integrations(folder: Path) -> Iterator[tuple[str, Json, Json]]:
    """Give name, data and scenario of each integration of a Game Boy in a folder."""
    for path in sorted(folder.rglob("*-GameBoy")):
        if (path / "data.json").is_file() and (path / "scenario.json").is_file():
            data = read_json(path / "data.json", _LARGEST)
            yield path.name, data, read_json(path / "scenario.json", _LARGEST)


def has_script(scenario: Json) -> bool:
    """Tell whether a scenario is written in Lua."""
    parts = [scenario.get("reward", {}), scenario.get("done", {}), *scenario.get("rewards", [])]
    return bool(scenario.get("scripts")) or any("script" in part for part in parts)


@refusing
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status is 1 where something is unequal."""
    argv = sys.argv[1:] if argv is None else [*argv]
    parser = new_parser("gameboy.retro_rewards", __doc__)
    parser.add_argument("folder", type=Path, help="of stable-retro, or of some integrations")
    parser.add_argument("--seed", type=int, default=0, help="of the random bytes; default 0")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write the record")
    args = parser.parse_args(argv)
    shown = shlex.join(["FOLDER" if each == str(args.folder) else each for each in argv])
    record: Json = machine.taken_on() | {"command": f"{COMMAND} {shown}"}
    record |= {"lanes": LANES, "steps": STEPS, "frames_per_step": FRAMES}
    rows, refused = [], []
    cases = [("all types", *all_types()), *integrations(args.folder)]
    if len(cases) == 1:
        raise ConfigError(f"{show_path(args.folder)}: no folder *-GameBoy with data is there.")
    for name, data, scenario in cases:
        with tempfile.TemporaryDirectory() as folder:
            try:
                counts = compare(data, scenario, Path(folder), args.seed)
            except ConfigError as error:
                refused.append({"name": name, "script": has_script(scenario)})
                print(f"{name}: refused: {error}")
                continue
        types = sorted({each["type"] for each in data["info"].values()})
        rows.append({"name": name, "types": types, **counts})
        print(f"{name}: {counts}", flush=True)
    unequal = sum(row["unequal"] for row in rows)
    record |= {"imported": len(rows) - 1, "refused": refused, "unequal": unequal, "rows": rows}
    if args.out is not None:
        files.write_json(args.out, record)
    return 1 if unequal else 0


if __name__ == "__main__":
    raise SystemExit(main())
