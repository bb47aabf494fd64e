"""The bars of Dr. Mario: one core, CPU seconds; planner, observation, mask and resets are in it.

Frames are played by ``step_into`` with random buttons, placements by recorded random ones. What is
compared is timed in turns. A bar is named after what its row says ran.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

import fastenv
from fastenv.drmario import _reachability
from fastenv.drmario import tables as t
from fastenv.engine import rng_streams
from fastenv.vector import allocate
from training.bench import ran
from training.bench.play import Playback
from training.bench.stopwatch import stock_ran, time_stock
from training.bench.timing import Work, interleaved, summary
from training.bench.trainer_modes import trainer
from training.bench.verdicts import bar, ratio_bar, speed_bar
from training.run.config import RunConfig
from training.sb3.vec import TimedVecEnv

FRAMES, PLACEMENTS = "DrMarioFrame-v0", "DrMarioPlacement-v0"
LANES = 1024
SPREAD = 1024  # frames played before, in which each lane is reset once
FRAMES_ASKED = {"none": 15e6, "bitplane_bottle": 5e6}  # frames a second, by observation
PLACEMENTS_ASKED = {0: 2_500, 10: 8_000, 20: 20_000}  # decisions a second, by level
QUERY_MS = {0: 0.25, 10: 0.08}  # by level
OVER_REFERENCE, GREEDY_ASKED = 100, 1_500
SHARES = {"sb3": 0.25, "native": 0.20}
TRAINING: dict[str, Any] = {
    "level": 10,
    "obs": "bitplane_bottle_conn_mask",
    "obs_dtype": "uint8",
    "extras": [],
}
SIZES: dict[str, Any] = {"num_envs": 64, "n_steps": 32, "batch_size": 256, "n_epochs": 4}


def frame_work(obs: str, lanes: int) -> tuple[Work, dict[str, Any]]:
    """Return frames with random buttons through ``step_into``, and the fields of their row."""
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

    about = {"what": "step_into, random buttons, no info", "env": FRAMES, "options": options}
    how: dict[str, Any] = {
        "adapter": "make_vec",
        "workload": "uniform",
        "batch_steps": len(actions),
    }
    about["ran"] = ran.of_engine(vec.engine, "step_into", **how)
    return Work(run, actions.size), about | {"backend": vec.engine.backend, "num_envs": lanes}


def placement_work(
    level: int, backend: str, lanes: int, steps: int
) -> tuple[Work, dict[str, Any], Playback]:
    """Return random feasible placements, the fields of their row, and the play."""
    options: dict[str, Any] = {"level": level, "speed": "high"}
    play = Playback(PLACEMENTS, lanes, steps, options, backend=backend, stagger=16)
    assert play.engine.game.config.mode == "warp"  # type: ignore[attr-defined]
    about = {"what": "random feasible placements, warp", "env": PLACEMENTS, "options": options}
    about["ran"] = play.ran()
    return play.work(), about | {"backend": play.engine.backend, "num_envs": lanes}, play


def query_work(play: Playback) -> Work:
    """Return the planner alone on all decisions of a play."""
    play.rewind()
    boards, parities, gravities = [], [], []
    for actions in play.actions:
        rows = play.engine.get_states()
        player = rows["players"][:, 0]
        boards.append(player["board"])
        parities.append(rows["frame"] & 1)
        pairs = zip(player["speed_setting"].tolist(), player["speed_ups"].tolist(), strict=True)
        gravities.append([t.gravity(*pair) for pair in pairs])
        play.engine.step_many(actions)
    board, parity = np.concatenate(boards), np.concatenate(parities)
    gravity = np.concatenate(gravities)
    return Work(lambda: _reachability.plan(board, parity, gravity), len(board))


def greedy_work(lanes: int) -> tuple[Work, dict[str, Any]]:
    """Return games of ``greedy`` on level 10 from start to end, and the fields of their row."""
    options: dict[str, Any] = {"level": 10}
    engine = fastenv.make_engine(PLACEMENTS, lanes, num_threads=1, **options)
    words = rng_streams(0, lanes)

    def games() -> int:
        engine.reset_many(seeds=0)
        running, decisions = np.ones(lanes, np.bool_), 0
        while running.any():
            decisions += int(running.sum())
            engine.step_many(engine.bot_actions("greedy", words), select=running, autoreset=False)
            running &= ~engine.ended
        return decisions

    about = {"what": "complete games of greedy", "env": PLACEMENTS, "options": options}
    about["ran"] = ran.of_engine(engine, "complete games", workload="greedy")
    return Work(games, games()), about | {"backend": engine.backend, "num_envs": lanes}


def play_rows(repeats: int, seconds: float, lanes: int = LANES) -> list[dict[str, Any]]:
    """Return a row for each thing that is played or planned, all in turns.

    Parameters
    ----------
    repeats : int
    seconds : float
        Timed work of a repeat.
    lanes : int
    """
    works, fields = dict[str, Work](), dict[str, dict[str, Any]]()
    for obs in FRAMES_ASKED:
        works[f"frames {obs}"], fields[f"frames {obs}"] = frame_work(obs, lanes)
    for level in PLACEMENTS_ASKED:
        name = f"placements {level}"
        works[name], fields[name], play = placement_work(level, "fast", lanes, 16)
        if level in QUERY_MS:
            about = {"what": "planner alone, decisions of random feasible placements"}
            works[f"queries {level}"], fields[f"queries {level}"] = (
                query_work(play),
                {**fields[name], **about, "ran": play.ran(timed="planner alone")},
            )
    works["reference"], fields["reference"], _ = placement_work(10, "reference", 4, 4)
    works["greedy"], fields["greedy"] = greedy_work(min(lanes, 64))
    found = interleaved(works, repeats, seconds)
    return [
        {"kind": "play", "name": name, **fields[name], "num_threads": 1, **summary(samples)}
        for name, samples in found.items()
    ]


# -- the environment's share of a training ---------------------------------------------------------


class SmallCNN(BaseFeaturesExtractor):
    """Two convolutions over the planes of a bottle, and a layer of 128.

    Parameters
    ----------
    space : gymnasium.spaces.Box
        Planes of shape (C, 16, 8).
    """

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
        """Return the features of planes."""
        features: torch.Tensor = self._layers(planes)
        return features


def stock_row(repeats: int, sizes: Mapping[str, Any] = SIZES) -> dict[str, Any]:
    """Return stock MaskablePPO with a small CNN: as many timed iterations as ``repeats``."""
    learning = {name: value for name, value in sizes.items() if name != "num_envs"}
    engine = fastenv.make_engine(PLACEMENTS, sizes["num_envs"], num_threads=1, **TRAINING)
    policy = {"features_extractor_class": SmallCNN, "net_arch": []}

    def learner(vec: TimedVecEnv) -> MaskablePPO:
        options = {"policy_kwargs": policy, "device": "cpu", "seed": 0, **learning}
        return MaskablePPO("MlpPolicy", vec, **options)

    found = time_stock(learner, engine, repeats)
    described = stock_ran(engine, learning, f"MaskablePPO with {SmallCNN.__name__}")
    return {"what": f"stock MaskablePPO, {SmallCNN.__name__}", "ran": described, **found}


def native_row(repeats: int, seconds: float, sizes: Mapping[str, Any] = SIZES) -> dict[str, Any]:
    """Return the native trainer, whose convolutions are those of its ``auto`` encoder."""
    learning = {name: value for name, value in sizes.items() if name != "num_envs"}
    config = RunConfig.from_mapping(
        {
            "env": PLACEMENTS,
            "trainer": "native",
            "num_envs": sizes["num_envs"],
            "torch_threads": 1,
            "env_options": TRAINING,
            "ppo": {**learning, "net_arch": [128]},
            "native": {"encoder": "conv"},
        }
    )
    entry = trainer(config, repeats, seconds, evaluation=False)
    return {
        "what": f"native PPO, encoder {config.native.encoder}, {entry['precision']}",
        "ran": entry["ran"],
        "backend": entry["backend_selected"],
        "steps_per_s": entry["stats"]["steps_per_s"]["median"],
        "steps_per_cpu_s": entry["stats"]["steps_per_cpu_s"]["median"],
        "share_env_all": entry["share_env_all"],
        "load": [entry["repeats"][0]["load_before"], entry["repeats"][-1]["load_after"]],
        "noisy": entry["noisy"],
    }


def training_rows(
    repeats: int, seconds: float, sizes: Mapping[str, Any] = SIZES
) -> list[dict[str, Any]]:
    """Return a row for each trainer."""
    rows = {"sb3": stock_row(repeats, sizes), "native": native_row(repeats, seconds, sizes)}
    common = {"kind": "training", "env": PLACEMENTS, "options": TRAINING, **sizes}
    return [
        {**common, "name": name, **row, "share_env": statistics.median(row["share_env_all"])}
        for name, row in rows.items()
    ]


# -- bars ------------------------------------------------------------------------------------------


def all_rows(repeats: int, seconds: float, lanes: int = LANES) -> list[dict[str, Any]]:
    """Measure everything the bars need."""
    return [*play_rows(repeats, seconds, lanes), *training_rows(repeats, seconds)]


def title(row: dict[str, Any]) -> str:
    """Return what ran, in words."""
    options = ", ".join(f"{name} {value}" for name, value in row["options"].items())
    return f"{row['env']}, {row['what']}, {options}, {row['backend']}, n={row['num_envs']}"


def bars(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each bar, from the rows of :func:`all_rows`."""
    named = {row["name"]: row for row in rows}
    asked = {f"frames {obs}": least for obs, least in FRAMES_ASKED.items()}
    asked |= {f"placements {level}": least for level, least in PLACEMENTS_ASKED.items()}
    asked["greedy"] = GREEDY_ASKED
    found = [
        speed_bar(f"{title(named[name])}: steps a CPU second", least, named[name])
        for name, least in asked.items()
    ]
    for level, most in QUERY_MS.items():
        row = named[f"queries {level}"]
        every = [1e3 / speed for speed in row["steps_per_cpu_s_all"]]
        what = f"{title(row)}: CPU milliseconds a query"
        median = statistics.median(every)
        found.append(bar(what, most, median, most=True, every=every, noisy=row["noisy"]))
    over, under = named["placements 10"], named["reference"]
    what = f"{title(over)}: over {under['backend']}, n={under['num_envs']}"
    found.append(ratio_bar(what, OVER_REFERENCE, over, under, "steps_per_cpu_s"))
    for name, most in SHARES.items():
        row = named[name]
        every, what = row["share_env_all"], f"{title(row)}: env share of wall time"
        found.append(bar(what, most, row["share_env"], most=True, every=every, noisy=row["noisy"]))
    return found
