"""Calibrated floors: a share of what the committed records say, in steps per CPU second.

A floor holds on the machine its record was taken on; elsewhere it is a hint, and says so. It is not
the target: that is an aspiration in steps per second of wall time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastenv
from training.bench.play import short_id
from training.run import machine

SHARE = 0.7
RECORDS = machine.ROOT / "benchmarks"
_ENV_FIELDS = ("backend", "num_envs", "num_threads", "workload", "single", "info_columns")
_TRAINER_FIELDS = (
    *("trainer", "backend", "precision", "num_envs", "num_threads", "torch_threads"),
    *("rollout_steps", "minibatch", "epochs", "net_arch"),
)
# What rows from before these were written were measured with. Who trained is not among them: a row
# that does not say it is no floor.
_UNSAID = {"workload": "masked_uniform", "info_columns": None}


@dataclass(frozen=True)
class Floor:
    """What a figure must reach.

    Parameters
    ----------
    steps_per_cpu_s : float
    recorded : float
        What it is a share of.
    source : str
        File and commit of the record.
    same_machine : bool
        The record was taken on a processor of this model.
    """

    steps_per_cpu_s: float
    recorded: float
    source: str
    same_machine: bool

    def check(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Return whether an entry of ``modes`` reaches it."""
        measured = entry["stats"]["steps_per_cpu_s"]["median"]
        return {
            "mode": entry["mode"],
            "floor_steps_per_cpu_s": self.steps_per_cpu_s,
            "measured": measured,
            "source": self.source,
            "same_machine": self.same_machine,
            "pass": measured >= self.steps_per_cpu_s,
        }


def find(entry: dict[str, Any], folder: Path = RECORDS) -> Floor | None:
    """Return the floor of an entry of ``modes``, from the newest record of the same thing.

    None if there is no such record.
    """
    found: tuple[str, Floor] | None = None
    wanted = _key(entry["mode"], {**entry, "backend": entry["backend_selected"]})
    here = machine.host()["cpu_model"]
    for path in sorted(folder.glob("*.jsonl")):
        head, *rows = (json.loads(text) for text in path.read_text("utf-8").splitlines())
        for row in rows:
            if row.get("steps_per_cpu_s") is None or _row_key(row) != wanted:
                continue
            recorded = row["steps_per_cpu_s"]
            source = f"{path.name}, commit {head['git_rev']}"
            same = head["host"]["cpu_model"] == here
            if found is None or head["created"] >= found[0]:
                found = head["created"], Floor(SHARE * recorded, recorded, source, same)
    return None if found is None else found[1]


def _row_key(row: dict[str, Any]) -> tuple[Any, ...] | None:
    """Return the key of a row of a record, None if it is of another kind."""
    if row.get("env") is None:  # what runs without the engine, such as a ROM on its own
        return None
    if row["kind"] == "env":
        return _key("env_only", {"single": row["what"] == "gymnasium step", **row})
    whole = row["kind"] == "trainer" and row.get("mode", "train") == "train"
    if whole and set(_TRAINER_FIELDS) <= {*_UNSAID, *row}:
        return _key("trainer", row)
    return None


def _key(mode: str, values: dict[str, Any]) -> tuple[Any, ...]:
    names = _ENV_FIELDS if mode == "env_only" else _TRAINER_FIELDS
    every = {**_UNSAID, **values}
    options = _unusual(every["env"], every.get("options") or {})
    named = tuple(json.dumps(every[name]) for name in names)
    return (mode, short_id(every["env"]), json.dumps(options, sort_keys=True), *named)


def _unusual(env: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that differ from the game's defaults."""
    game: Any = fastenv.make_game(env)
    usual = game.config
    return {k: v for k, v in options.items() if getattr(usual, k, None) != v}
