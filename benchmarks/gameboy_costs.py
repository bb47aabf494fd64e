"""What hooks, fields of an observation and a live map cost, each in turns with the same without.

The program is Parcel, a small role-playing game of ours. Pairs take turns piece by piece, so that
what slows one slows the other: what is asked is a few per cent.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.learners import Timed
from fastenv.gameboy.common import read_rom
from training.bench.env_modes import EnvPlan, prepare
from training.bench.targets import Row
from training.bench.timing import interleaved, keep_row, rows
from training.callbacks.start import make_live_map
from training.run import machine
from training.run.callback import EngineStep, Log
from training.run.config import RunConfig
from training.run.config_files import load_file, merge
from training.run.engine import Engine

ENV, ROM = "GameBoyPixels-v0", "parcel"
LANES, MAPPED = 64, 256
STAGGER = 8  # steps in which each lane is reset once
# Labels of routines that run again and again: in each frame, in each step of the hero, and seldom.
HOOKED = ("loop", "draw_hero", "look", "begin_step", "walk_on", "cell_at", "talk", "enter")
SHOWN = 32  # fields
HOOKS, FIELDS, LIVE_MAP = "hooks", "fields in the observation", "live map"
WITH, WITHOUT = "with", "without"


def all_rows(repeats: int, seconds: float) -> list[Row]:
    """Measure the pairs.

    Parameters
    ----------
    repeats : int
    seconds : float
        Timed work of a repeat.
    """
    measured = [*hook_rows(repeats, seconds), *field_rows(repeats, seconds)]
    return [*measured, *live_map_rows(repeats, seconds)]


def hook_rows(repeats: int, seconds: float, lanes: int = LANES) -> list[Row]:
    """Measure steps with eight hooks, and with none, of the same RAM map."""
    from tools.sm83 import assemble

    labels = assemble(_source()).symbols
    hooks = {name: {"at": f"00:{labels[name]:04X}"} for name in HOOKED}
    maps = {WITH: {"extends": ROM, "hooks": hooks}, WITHOUT: {"extends": ROM}}
    return list(_pair(HOOKS, maps, {}, repeats, seconds, lanes))


def field_rows(repeats: int, seconds: float, lanes: int = LANES) -> list[Row]:
    """Measure steps that show 32 bytes of the memory beside the frames, and the frames alone."""
    names = [f"shown{k}" for k in range(SHOWN)]
    fields = {
        name: {"address": f"${0xD163 + k:04X}", "type": "u1", "info": False}
        for k, name in enumerate(names)
    }
    maps = {key: {"extends": ROM, "fields": fields} for key in (WITH, WITHOUT)}
    shown = {WITH: {"observe": ["pixels", *names]}, WITHOUT: {}}
    return list(_pair(FIELDS, maps, shown, repeats, seconds, lanes))


def _pair(
    what: str,
    maps: Mapping[str, Any],
    options: Mapping[str, Mapping[str, Any]],
    repeats: int,
    seconds: float,
    lanes: int,
) -> Iterator[Row]:
    """Yield the rows of steps with two RAM maps and options."""
    with tempfile.TemporaryDirectory() as folder:
        works = {}
        for name, value in maps.items():
            path = Path(folder) / f"{name}.json"
            path.write_text(json.dumps(value), encoding="utf-8")
            own = {"rom": ROM, "ram_map": str(path), "stack_k": 1, **options.get(name, {})}
            batches = max(1, 512 // lanes)
            plan = EnvPlan(
                ENV, own, num_envs=lanes, stagger=STAGGER, workload="uniform", batches=batches
            )
            play = prepare(plan)
            works[name] = play.for_row(what, **_describe(what))
        yield from rows(works, repeats, seconds, turn=_nothing)


def _nothing() -> None:
    """Do nothing between turns."""


def _describe(what: str) -> Row:
    rom = read_rom(ROM).sha256
    return {"what": what, "tier": ROM, "rom": ROM, "rom_sha256": rom, "options": {"rom": ROM}}


def live_map_rows(
    repeats: int, seconds: float, lanes: int = MAPPED, changes: Mapping[str, Any] | None = None
) -> list[Row]:
    """Measure a training that writes a live map, and the same without.

    The map's row has ``share_map``, its part of the CPU time of the iterations: it is exact to a
    thousandth, where two speeds are not.

    Parameters
    ----------
    repeats : int
    seconds : float
    lanes : int
    changes : mapping, optional
        Of the options of ``training/configs/pokemon_red_parcel.yaml``.
    """
    config = _make_config(lanes, changes or {})
    plain = config.replace(live_map=None)
    with tempfile.TemporaryDirectory() as folder:
        mapped = Mapped(config, Path(folder))
        learners: dict[str, Timed] = {WITH: mapped, WITHOUT: Timed(plain)}
        works = {name: each.work() for name, each in learners.items()}
        samples = interleaved(works, repeats, seconds, turn=_nothing)
        mapped.close()
    share = {"share_map": mapped.share_map()}
    about = {**_describe(LIVE_MAP), "lanes": lanes}
    made = [
        each.row(samples[name]) | {"name": name, **about} | (share if name == WITH else {})
        for name, each in learners.items()
    ]
    for row in made:
        row["ran"] |= {"beside": LIVE_MAP}
        keep_row(row)
    return made


class Mapped(Timed):
    """A trainer whose steps a live map follows, as in a run.

    Parameters
    ----------
    config : RunConfig
        With a live map.
    folder : Path
        Where the map is written.
    """

    def __init__(self, config: RunConfig, folder: Path) -> None:
        super().__init__(config)
        self._map_s, self._all_s = 0.0, 0.0
        self._progress: Any = SimpleNamespace(now=0, log=Log())
        self._map = make_live_map(config, self.trainer.engines, folder)
        self._map.start(self._progress)
        self.trainer.on_step = self._follow

    def _follow(
        self, engine: Engine, actions: np.ndarray | None, obs: Any, mask: np.ndarray
    ) -> None:
        begun = time.process_time()
        if actions is not None:
            self._progress.now += engine.num_envs
        self._map.step(self._progress, EngineStep(engine, actions, obs, mask))
        self._map_s += time.process_time() - begun

    def iterate(self) -> None:
        """Take one iteration, rollout and update, and note its time."""
        begun = time.process_time()
        super().iterate()
        if len(self.phases) > 1:
            self._all_s += time.process_time() - begun
        else:
            self._map_s = 0.0  # as in all figures, the first iteration does not count

    def share_map(self) -> float:
        """Return the live map's share of the CPU time of all iterations but the first."""
        return self._map_s / self._all_s if self._all_s else 0.0

    def close(self) -> None:
        """Write what is left of the map."""
        self._map.close()


def _make_config(lanes: int, changes: Mapping[str, Any]) -> RunConfig:
    """Make the config of the parcel quest in Parcel, with a live map and no other callback."""
    file = load_file(machine.ROOT / "training" / "configs" / "pokemon_red_parcel.yaml")
    rom = {"rom": ROM, "ram_map": ROM, "states": "power_up"}
    ppo = {"n_steps": 16, "precision": "fp32"}  # named: `auto` may choose differently in a pair
    more = {"num_envs": lanes, "env_options": rom, "ppo": ppo}
    options = merge(merge(file, {**more, "live_map": {}}), dict(changes))
    return RunConfig.from_mapping({**options, "trackers": {}})


def _source() -> Path:
    return Path(str(resources.files("fastenv.gameboy") / "roms" / f"{ROM}.asm"))
