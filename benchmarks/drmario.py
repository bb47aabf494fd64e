"""Benchmarks of Dr. Mario: CPU seconds of one core, with planner, observation, mask and resets.

Frames are played by ``step_into`` with random buttons, placements by recorded random ones. What is
compared is timed in turns. A target is named after what its row says ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

import fastenv
from fastenv.drmario import DrMarioGame
from fastenv.drmario import tables as t
from fastenv.drmario.successors import count_bottles
from fastenv.engine import rng_streams
from fastenv.vector import allocate
from training.bench import ran
from training.bench.env_modes import EnvPlan, Playback
from training.bench.stock import time_stock
from training.bench.targets import Row
from training.bench.timing import Work, rows
from training.bench.trainer_modes import trained_row

FRAMES, PLACEMENTS = "DrMarioFrame-v0", "DrMarioPlacement-v0"
LANES = 1024
SPREAD = 1024  # frames played before, in which each lane is reset once
OBSERVATIONS = ("none", "bitplane_bottle")  # of frames
LEVELS = (0, 10, 20)  # of placements
QUERIES, SUCCESSORS = (0, 10), (10, 20)  # levels
TRAINING: dict[str, Any] = {
    "level": 10,
    "obs": "bitplane_bottle_conn_mask",
    "obs_dtype": "uint8",
    "extras": [],
}
SIZES: dict[str, Any] = {"num_envs": 64, "n_steps": 32, "batch_size": 256, "n_epochs": 4}


def frame_work(obs: str, lanes: int) -> Work:
    """Prepare frames with random buttons through ``step_into``."""
    options: dict[str, Any] = {"level": 10, "obs": obs, "obs_dtype": "uint8", "stack": 1}
    vec = fastenv.make_vec(
        FRAMES, lanes, autoreset_mode="same_step", num_threads=1, info_columns=(), **options
    )
    out, rng = allocate(vec), np.random.default_rng(0)
    actions = rng.integers(0, t.NUM_BUTTONS, (64, lanes), np.int32)
    vec.reset(seed=0)
    for frame in range(SPREAD):
        vec.step_into(actions[frame % len(actions)], out)
        vec.engine.reset_many(np.arange(lanes) % SPREAD == frame)

    def run() -> None:
        for batch in actions:
            vec.step_into(batch, out)

    how: dict[str, Any] = {
        "adapter": "make_vec",
        "workload": "uniform",
        "batch_steps": len(actions),
    }
    about = {"name": f"frames {obs}", "what": "step_into, random buttons, no info"}
    row = _make_fields(vec.engine, options) | about
    row["ran"] = ran.describe_engine(vec.engine, "step_into", **how)
    return Work(run, actions.size, row=lambda: row)


def placement_works(name: str, level: int, backend: str, lanes: int, steps: int) -> dict[str, Work]:
    """Prepare random feasible placements and, on demand, the planner alone on their decisions.

    Parameters
    ----------
    name : str
        Of the row.
    level : int
    backend : str
    lanes, steps : int
    """
    options: dict[str, Any] = {"level": level, "speed": "high"}
    play = _make_play(options, lanes, steps, backend)
    assert play.engine.game.config.mode == "warp"  # type: ignore[attr-defined]
    row = _make_fields(play.engine, options) | {"name": name, "ran": play.ran()}
    row["what"] = "random feasible placements, warp"
    works = {name: replace(play.work, row=lambda: row)}
    if level in QUERIES and backend == "fast":  # the planner is compiled
        query = row | {"name": f"queries {level}", "ran": play.ran(timed="planner alone")}
        query["what"] = "planner alone, decisions of random feasible placements"
        works[query["name"]] = replace(query_work(play), row=lambda: query)
    return works


def _make_play(options: Row, lanes: int, steps: int, backend: str) -> Playback:
    sizes: dict[str, Any] = {"num_envs": lanes, "batches": steps, "stagger": 16}
    return Playback(EnvPlan(PLACEMENTS, options, backend=backend, **sizes))


def decisions_of(play: Playback) -> Iterator[Any]:
    """Yield the rows of each step of a play."""
    play.rewind()
    for actions in play.actions:
        yield play.engine.get_states()
        play.engine.step_many(actions)


def query_work(play: Playback) -> Work:
    """Prepare the compiled planner alone on all decisions of a play."""
    from fastenv.drmario import _reachability

    boards, parities, gravities = [], [], []
    for states in decisions_of(play):
        player = states["players"][:, 0]
        boards.append(player["board"])
        parities.append(states["frame"] & 1)
        pairs = zip(player["speed_setting"].tolist(), player["speed_ups"].tolist(), strict=True)
        gravities.append([t.gravity(*pair) for pair in pairs])
    board, parity = np.concatenate(boards), np.concatenate(parities)
    gravity = np.concatenate(gravities)
    return Work(lambda: _reachability.plan(board, parity, gravity), len(board))


def successors_work(level: int, lanes: int, steps: int) -> Work:
    """Prepare all placements of the decisions of a play: costs, settled bottles, leaf features."""
    options: dict[str, Any] = {"level": level, "speed": "high"}
    play = _make_play(options, lanes, steps, "fast")
    states, game = np.concatenate([*decisions_of(play)]), play.engine.game
    assert isinstance(game, DrMarioGame)

    def run() -> None:
        _, successors = game.successors(states, trusted=True)
        count_bottles(successors["board"])

    row = _make_fields(play.engine, options) | {
        "name": f"successors {level}",
        "what": "all placements of decisions: cost, settled bottle, leaf features",
        "ran": play.ran(timed="game.successors and count_bottles"),
    }
    placements = len(game.successors(states, trusted=True)[0])
    return Work(run, placements, row=lambda: row)


def greedy_work(lanes: int) -> Work:
    """Prepare games of ``greedy`` on level 10 from start to end."""
    options: dict[str, Any] = {"level": 10}
    engine = fastenv.make_engine(PLACEMENTS, lanes, num_threads=1, **options)
    words = rng_streams(0, lanes)

    def games() -> int:  # on the engine alone, as the row says
        engine.reset_many(seeds=0)
        running, decisions = np.ones(lanes, np.bool_), 0
        while running.any():
            decisions += int(running.sum())
            engine.step_many(engine.bot_actions("greedy", words), select=running, autoreset=False)
            running &= ~engine.ended
        return decisions

    row = _make_fields(engine, options) | {"name": "greedy", "what": "complete games of greedy"}
    row["ran"] = ran.describe_engine(engine, "complete games", workload="greedy")
    return Work(games, games(), row=lambda: row)


def _make_fields(engine: fastenv.BatchEngine, options: Mapping[str, Any]) -> Row:
    return {
        "kind": "play",
        "env": engine.game.env_id,
        "options": options,
        "backend": engine.backend,
        "num_envs": engine.num_envs,
        "num_threads": 1,
    }


def play_works(lanes: int = LANES) -> dict[str, Work]:
    """Prepare all works of play and of the planner."""
    works = {f"frames {obs}": frame_work(obs, lanes) for obs in OBSERVATIONS}
    for level in LEVELS:
        works |= placement_works(f"placements {level}", level, "fast", lanes, 16)
    for level in SUCCESSORS:
        works[f"successors {level}"] = successors_work(level, min(lanes, 256), 16)
    works |= placement_works("reference", 10, "reference", 4, 4)
    return works | {"greedy": greedy_work(min(lanes, 64))}


# -- the environment's share of a training ---------------------------------------------------------


class SmallCNN(BaseFeaturesExtractor):
    """A network for planes of a bottle: two convolutions and a layer of 128."""

    def __init__(self, space: Any) -> None:
        super().__init__(space, 128)
        self._layers = nn.Sequential(
            nn.Conv2d(space.shape[0], 32, 5, padding=2),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * t.CELLS, 128),
            nn.ReLU(),
        )

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """Return the features, shape (n, 128)."""
        features: torch.Tensor = self._layers(planes)
        return features


def stock_row(repeats: int, sizes: Mapping[str, Any] = SIZES) -> Row:
    """Measure stock MaskablePPO with a small CNN: as many timed iterations as ``repeats``."""
    engine = fastenv.make_engine(PLACEMENTS, sizes["num_envs"], num_threads=1, **TRAINING)
    learning = {name: value for name, value in sizes.items() if name != "num_envs"}
    policy = {"features_extractor_class": SmallCNN, "net_arch": []}
    learner = partial(MaskablePPO, "MlpPolicy", policy_kwargs=policy)
    named = f"MaskablePPO with {SmallCNN.__name__}"
    row = time_stock(learner, named, engine, learning, repeats)
    return row | {"what": f"stock MaskablePPO, {SmallCNN.__name__}"}


def native_row(repeats: int, seconds: float, sizes: Mapping[str, Any] = SIZES) -> Row:
    """Measure the native trainer, whose convolutions are those of its ``auto`` encoder."""
    learning = {name: value for name, value in sizes.items() if name != "num_envs"}
    options = {
        "env": PLACEMENTS,
        "trainer": "native",
        "num_envs": sizes["num_envs"],
        "torch_threads": 1,
        "env_options": TRAINING,
        "ppo": {**learning, "net_arch": [128]},
        "native": {"encoder": "conv"},
    }
    row = trained_row(options, repeats, seconds)
    return row | {"what": f"native PPO, encoder conv, {row['precision']}"}


def training_rows(repeats: int, seconds: float, sizes: Mapping[str, Any] = SIZES) -> list[Row]:
    """Measure a row for each trainer."""
    rows = {"sb3": stock_row(repeats, sizes), "native": native_row(repeats, seconds, sizes)}
    common = {"kind": "training", "env": PLACEMENTS, "options": TRAINING, **sizes}
    return [row | common | {"name": name} for name, row in rows.items()]


def title(row: Row) -> str:
    """Describe a measured row in words."""
    options = ", ".join(f"{name} {value}" for name, value in row["options"].items())
    return f"{row['env']}, {row['what']}, {options}, {row['backend']}, n={row['num_envs']}"


def all_rows(repeats: int, seconds: float, lanes: int | None = None) -> list[Row]:
    """Measure everything the targets need; the number of lanes is always the same."""
    measured = [*rows(play_works(), repeats, seconds), *training_rows(repeats, seconds)]
    return [row | {"title": title(row)} for row in measured]
