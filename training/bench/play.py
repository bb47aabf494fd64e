"""Random legal play, recorded once and replayed: actions are made outside of the timed region.

The engine is deterministic, so the recorded actions are legal again whenever the same state rows
are loaded. What is timed is ``step_many`` alone, exactly as a trainer calls it: checks, opponents,
rules, rewards, automatic resets, observations, masks and info columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

import fastenv
from training.bench.timing import Work
from training.envs import make_engine

METHOD = (
    "random legal actions recorded beforehand and replayed from the same state rows; timed: "
    "step_many with checks, opponents, autoreset, observation, mask, reward, info"
)


class Playback:
    """A recorded stretch of random legal play.

    Parameters
    ----------
    env : str
    num_envs : int
    steps : int
        Batch steps of the recording.
    options : mapping, optional
        Options of the environment.
    backend : str
    num_threads : int
    stagger : int
        Batch steps played before, in which each lane is reset once, at a time of its own: otherwise
        all lanes would be in the same round at the same time.
    seed : int
    """

    def __init__(
        self,
        env: str,
        num_envs: int,
        steps: int,
        options: Mapping[str, Any] | None = None,
        *,
        backend: str = "fast",
        num_threads: int = 1,
        stagger: int = 65,
        seed: int = 0,
    ) -> None:
        # the environment's default, as somebody who plays it meets it; trainers ask for "raise"
        options = {"invalid_action": "penalty", **(options or {})}
        self.engine = engine = make_engine(
            env, num_envs, options, backend=backend, num_threads=num_threads
        )
        rng = np.random.default_rng(seed)
        lanes = np.arange(num_envs)
        engine.reset_many(seeds=seed)
        for t in range(stagger):
            engine.step_many(fastenv.sample_legal(engine.mask, rng))
            engine.reset_many(lanes % stagger == t)
        self._start = engine.get_states()
        self._actions = []
        for _ in range(steps):
            self._actions.append(fastenv.sample_legal(engine.mask, rng))
            engine.step_many(self._actions[-1])

    def work(self) -> Work:
        """Return the replay as something to time."""
        engine, actions = self.engine, self._actions

        def run() -> None:
            for batch in actions:
                engine.step_many(batch)

        steps = engine.num_envs * len(actions)
        return Work(run, steps, lambda: engine.set_states(self._start))


def single_env_work(env: str, backend: str, steps: int, seed: int = 0) -> Work:
    """Return random legal play of one environment of ``gymnasium.make``, recorded beforehand.

    Gymnasium's passive checker is off: it belongs to development.
    """
    single = gymnasium.make(
        f"fastenv/{env}", disable_env_checker=True, backend=backend, invalid_action="raise"
    )
    rng = np.random.default_rng(seed)
    single.reset(seed=seed)
    script: list[int | None] = []  # None: reset
    for _ in range(steps):
        action = int(rng.choice(np.flatnonzero(single.get_wrapper_attr("action_masks")())))
        _, _, terminated, truncated, _ = single.step(action)
        script.append(action)
        if terminated or truncated:
            single.reset()
            script.append(None)

    def run() -> None:
        for action in script:
            if action is None:
                single.reset()
            else:
                single.step(action)

    return Work(run, steps, lambda: single.reset(seed=seed))
