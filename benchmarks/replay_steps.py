"""Benchmark of each step from one environment and lists to all lanes and tensors.

A step has everything that the ones before it have, and one thing more; all of them train in turns,
on as many lanes, with the same network, batches and updates a decision, and as many decisions
stored. A row says what ran as it is found in the trainer, not as it was asked for.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import torch
from rich.table import Table
from torch import Tensor

from training.bench import ran
from training.bench.runner import Suite
from training.bench.tables import Column, noted, rows_table
from training.bench.targets import Row
from training.bench.timing import Work, interleaved, summary
from training.dqn.replay import (
    RUNNING,
    TERMINATED,
    TRUNCATED,
    Batch,
    ReplayLanes,
    TensorReplay,
)
from training.dqn.trainer import DQNTrainer
from training.nets.precision import Compiled
from training.run.config import RunConfig
from training.run.config_files import merge
from training.run.engine import Engine
from training.run.envs import make_lanes
from training.run.seeds import stream_seed

STORED = 16_384  # decisions
# What is trained, by the name of the game.
SETTINGS: dict[str, dict[str, Any]] = {
    "Skull King": {
        "env": "SkullKingFlat-v0",
        "num_envs": 128,
        "env_options": {"opponents": "rule_medium", "obs_ext": "memory", "reward": "points"},
        "dqn": {
            **{"net_arch": [256, 256], "num_quantiles": 25, "n_step": 3, "gamma": 0.97},
            **{"batch_size": 512, "replay_ratio": 4.0, "iteration_steps": 32},
        },
    },
    "Lantern Walk": {
        "env": "LanternWalk-v0",
        "num_envs": 64,
        "env_options": {
            **{"states": "lantern_walk", "start_state": None, "sticky": 0.25, "max_steps": 512},
            **{"pixels": "packed72x20", "stack_k": 2},
            "allowed_buttons": ["a", "up", "down", "left", "right"],
        },
        "dqn": {
            **{"encoder": "conv", "net_arch": [256], "num_quantiles": 25, "n_step": 5},
            **{"batch_size": 256, "replay_ratio": 2.0, "iteration_steps": 32},
        },
    },
}
COMMON: dict[str, Any] = {"trainer": "dqn", "torch_threads": 1, "device": "cpu"}
METHOD = "whole iterations behind the first, in turns; one process; nothing is logged or saved"


class ListReplay(TensorReplay):
    """A queue of decisions for each lane, and finished windows that are copied one by one.

    Steps are taken in a :class:`training.dqn.replay.TensorReplay` of a few rows.

    Parameters
    ----------
    engine : Engine
    lanes, capacity, n_step : int
    gamma : float
    seed : int
    """

    def __init__(
        self, engine: Engine, lanes: int, capacity: int, n_step: int, gamma: float, seed: int
    ) -> None:
        super().__init__(engine, lanes, (n_step + 1) * lanes, n_step, gamma)
        self._queues: list[deque[dict[str, Any]]] = [deque() for _ in range(lanes)]
        self._stored: deque[dict[str, Any]] = deque(maxlen=capacity)
        self._random = random.Random(seed)

    @property
    def available(self) -> int:
        """Windows that are stored."""
        return len(self._stored)

    def advance(self) -> None:
        """Go on to the next row, and store the windows that it completes."""
        row = self.head
        super().advance()
        for lane, queue in enumerate(self._queues):
            end = int(self.end[row, lane])
            queue.append(self._make_decision(row, lane))
            behind = self._look_behind(row, lane, cut=end == TRUNCATED)
            while queue and (end != RUNNING or len(queue) == self.n_step):
                self._stored.append(self._make_window(queue) | behind)
                queue.popleft()

    def _make_decision(self, row: int, lane: int) -> dict[str, Any]:
        return {
            "obs": self.obs[row, lane].numpy().copy(),
            "action": int(self.action[row, lane]),
            "reward": float(self.reward[row, lane]),
            "discount": float(self.discount[row, lane]),
            "end": int(self.end[row, lane]),
        }

    def _look_behind(self, row: int, lane: int, *, cut: bool) -> dict[str, Any]:
        """Return observation and mask behind a decision; one that was cut keeps its own mask."""
        obs, mask = self.obs[self.head, lane], self.mask[row if cut else self.head, lane]
        if cut:
            obs = self.final_obs[int(self.final_at[row, lane]) % self.finals]
        legal = np.unpackbits(mask.numpy(), count=self.num_actions, bitorder="little")
        return {"next_obs": obs.numpy().copy(), "next_mask": legal.view(np.bool_)}

    def _make_window(self, queue: deque[dict[str, Any]]) -> dict[str, Any]:
        total, reach = 0.0, 1.0
        for decision in queue:
            total += reach * decision["reward"]
            reach *= decision["discount"]
        if queue[-1]["end"] == TERMINATED:
            reach = 0.0
        first = queue[0]
        kept = {"obs": first["obs"], "action": first["action"]}
        return {**kept, "reward": total, "discount": reach}

    def sample(self, count: int, beta: float = 0.0) -> Batch:
        """Return windows that are drawn one by one and stacked."""
        index = [self._random.randrange(len(self._stored)) for _ in range(count)]
        drawn = [self._stored[k] for k in index]

        def stacked(name: str) -> Tensor:
            return torch.from_numpy(np.stack([window[name] for window in drawn]))

        return Batch(
            index=torch.tensor(index),
            obs=stacked("obs"),
            action=stacked("action"),
            reward=stacked("reward").float(),
            discount=stacked("discount").float(),
            next_obs=stacked("next_obs"),
            next_mask=stacked("next_mask"),
            weight=torch.ones(count),
        )


STORES: dict[type[TensorReplay], str] = {ListReplay: "lists", TensorReplay: "tensors"}


@dataclass(frozen=True)
class Step:
    """The parts of a step.

    Parameters
    ----------
    runner, compile : str
        Options of the section ``dqn``.
    store : type or None
        Replay in the place of the trainer's own.
    """

    runner: str = "vector"
    compile: str = "off"
    store: type[ListReplay] | None = None


STEPS = {
    "legacy runner": Step("legacy", "off", ListReplay),
    "vector runner": Step("vector", "off", ListReplay),
    "compiled network": Step("vector", "default", ListReplay),
    "tensor replay": Step("vector", "default", None),
}


def setting(game: str, step: Step, changes: Mapping[str, Any] | None = None) -> Any:
    """Make the run of a game by the options of a step, with ``changes`` over those here."""
    values = merge({**COMMON, "total_steps": 10**9}, merge(SETTINGS[game], changes or {}))
    stored = values["dqn"].get("capacity", STORED)
    # Learning begins with as much as a full ring has ready; behind that come the unfinished rows.
    ready = stored - values["num_envs"] * values["dqn"]["n_step"]
    own = {"capacity": stored, "learning_starts": ready, "runner": step.runner}
    return RunConfig.from_mapping(merge(values, {"dqn": {**own, "compile": step.compile}}))


class Trainer(DQNTrainer):
    """The trainer with the replay of a step.

    Parameters
    ----------
    config : RunConfig
    store : type or None
        See :class:`Step`.
    """

    def __init__(self, config: Any, store: type[ListReplay] | None) -> None:
        self._store = store
        super().__init__(config, make_lanes(config).engines)

    def _make_replay(self) -> None:
        super()._make_replay()
        if self._store is not None:
            dqn, seed = self.dqn, stream_seed(self.config.seed, "minibatch")
            sizes = self.num_envs, dqn.capacity, dqn.n_step, dqn.gamma, seed
            self.replay = self._store(self.engines[0], *sizes)
            parts = self._lanes
            self._lanes = [ReplayLanes(self.replay, p.slice.start, p.engine) for p in parts]

    def fill(self) -> None:
        """Take decisions until the replay has as many windows as it can hold."""
        while self.replay.available < self.dqn.learning_starts:
            self.iterate()

    def names(self) -> dict[str, str]:
        """Describe how the trainer steps, computes and stores, by its objects."""
        single = len(self.engines) > 1
        parts = (self.net._features, self.net.head.forward)
        built = all(isinstance(part, Compiled) and part.is_compiled for part in parts)
        return {
            "runner": f"{self.num_envs} lanes {'one at a time' if single else 'at once'}",
            "network": "compiled" if built else "plain",
            "store": STORES[type(self.replay)],
        }


def rows(
    repeats: int,
    seconds: float,
    games: Sequence[str] = tuple(SETTINGS),
    changes: Mapping[str, Any] | None = None,
) -> list[Row]:
    """Time whole iterations of all steps of each game.

    Parameters
    ----------
    repeats : int
    seconds : float
        Of a repeat, at least.
    games : sequence of str
    changes : mapping, optional
        Options over those of :data:`SETTINGS`.
    """
    torch.set_num_threads(1)
    return [row for game in games for row in _game_rows(game, repeats, seconds, changes)]


def _game_rows(
    game: str, repeats: int, seconds: float, changes: Mapping[str, Any] | None
) -> list[Row]:
    configs = {name: setting(game, step, changes) for name, step in STEPS.items()}
    trainers = {name: Trainer(config, STEPS[name].store) for name, config in configs.items()}
    phases: dict[str, list[dict[str, float]]] = {name: [] for name in STEPS}

    def iterate(name: str) -> None:
        phases[name].append(trainers[name].iterate()["phases"])

    works = {}
    for name, trainer in trainers.items():
        trainer.fill()
        decisions = trainer.dqn.iteration_steps * trainer.num_envs
        works[name] = Work(partial(iterate, name), decisions)
    samples = interleaved(works, repeats, seconds)
    rows: list[Row] = []
    for name, trainer in trainers.items():
        row = _make_row(game, name, configs[name], trainer) | summary(samples[name])
        row["us_per_step"] = _split_time(phases[name][1:], row["steps_per_cpu_s"])
        if rows:
            speeds = row["steps_per_cpu_s_all"], rows[-1]["steps_per_cpu_s_all"]
            row["over_step_before_all"] = [a / b for a, b in zip(*speeds, strict=True)]
        rows.append(row)
    return rows


def _make_row(game: str, name: str, config: Any, trainer: Trainer) -> Row:
    names = trainer.names()
    return {
        "kind": "trainer",
        "ran": ran.describe_run(
            config, trainer.engines[0], f"replay step {name}", trainer.chosen_precision, **names
        ),
        "trainer": "dqn",
        "mode": f"replay step {name}",
        "step": name,
        "game": game,
        "name": ", ".join(names.values()),
        **names,
        "env": config.env,
        "options": dict(config.env_options),
        "dqn": config.dqn.to_dict(),
        "backend": trainer.engines[0].backend,
        "num_envs": trainer.num_envs,
        "num_threads": config.engine_threads,
        "torch_threads": 1,
        "minibatch": config.dqn.batch_size,
        "precision": trainer.chosen_precision,
        "stored": trainer.replay.available,
        "method": METHOD,
    }


def _split_time(phases: Sequence[Mapping[str, float]], per_cpu_s: float) -> dict[str, float]:
    """Return the microseconds of a decision by phase: shares of wall time of those of the CPU."""
    sums = {name: sum(each[name] for each in phases) for name in phases[0]}
    whole = sum(sums.values())
    return {name: 1e6 / per_cpu_s * value / whole for name, value in sums.items()}


def _format_over(row: Row) -> str:
    over = row.get("over_step_before_all")
    return f"{median(over):.2f} ({min(over):.2f}..{max(over):.2f})" if over else ""


COLUMNS: dict[str, Column] = {
    "game": "{game}",
    "step": noted("step"),
    "what ran": "{name}",
    "precision": "{precision}",
    "per CPU-s": "{steps_per_cpu_s:,.0f}",
    "times the step before": _format_over,
    "env us": "{us_per_step[env]:,.1f}",
    "act": "{us_per_step[collect]:,.1f}",
    "learn": "{us_per_step[update]:,.1f}",
}


def step_table(rows: list[Row]) -> Table:
    """Make the table of the steps from lists to tensors, each beside the one before it."""
    title = f"Steps of the replay, in turns; medians of {rows[0]['repeats']}"
    return rows_table(title, COLUMNS, rows, left=4)


SUITE = Suite(
    lambda options: rows(options.repeats, options.seconds),
    tables=(step_table,),
    short_seconds=0.5,
)
