"""Evaluation of Dr. Mario: how often a bottle is cleared, and how fast where it is.

A return mixes both, so tables show them apart. Frames to clear are a mean over cleared episodes
alone: they say nothing without the rate beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from rich.console import Console

from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.tables import Reason
from training.apps.drmario.best_times import BestTimes, Clear
from training.evaluation import tables
from training.evaluation.bootstrap import Interval, Resamples
from training.evaluation.episodes import Comparison, Episodes
from training.evaluation.protocol import EpisodeProtocol, EvaluationResult, Plan
from training.evaluation.shares import share
from training.evaluation.tables import Column
from training.players.trained import Trained
from training.run import files
from training.run.envs import with_defaults
from training.run.games import GameTraining
from training.run.options import require
from training.run.sections import EvaluationConfig

SHARES = ("clear", "timeout")
FRAMES = "frames_to_clear"


class DrMarioProtocol(EpisodeProtocol):
    """Episodes beside the bots, judged by clears."""

    options: ClassVar[tuple[str, ...]] = (*EpisodeProtocol.options, "best_times")
    caption = f"{EpisodeProtocol.caption} Frames to clear are those of cleared episodes."

    def __init__(self, game: GameTraining) -> None:
        super().__init__(game)
        self.shares = (*self.shares, *SHARES)

    def evaluate(
        self,
        console: Console,
        title: str,
        trained: Trained,
        options: EvaluationConfig,
        asked: Mapping[str, Any],
    ) -> EvaluationResult:
        """See :meth:`EpisodeProtocol.evaluate`; clears may go to a store of best times."""
        path = asked.get("best_times")
        if path is not None:
            config = DrMarioConfig.from_options(**trained.config.env_options)
            allowed = "left out where A and B may be pressed in one frame, and at levels -3 to -1"
            can = not config.extended_inputs and config.level not in (-3, -2, -1)
            require(can, "--best-times", str(path), allowed)
            files.prepare("--best-times", path)
            BestTimes(path).close()  # refuse another file before minutes of play
        found = super().evaluate(console, title, trained, options, asked)
        if path is not None and found.played is not None:
            played, env_options = found.played, {**trained.config.env_options, **found.env_options}
            with BestTimes(path) as store:
                clears = clears_of(played, with_defaults(trained.config.env, env_options))
                folders = trained.path.resolve().parents
                run = next(folder for folder in folders if (folder / "config.json").is_file())
                count = store.add(clears, run.name)
            console.print(f"{path}: {count} new of {len(clears)} clears")
        return found

    def compare(self, played: dict[str, Episodes], plan: Plan) -> Comparison:
        """See :meth:`EpisodeProtocol.compare`; with how the episodes ended."""
        compared = super().compare(played, plan)
        for name, found in played.items():
            compared.means[name].update(outcomes(found, plan.bootstrap))
        return compared

    def columns(self, what: str) -> Sequence[Column]:
        """See :meth:`Protocol.columns`."""
        clear, timeout = map(self._column, SHARES)
        return [
            clear,
            (FRAMES, "frames to clear", tables.format_interval_short),
            timeout,
            *super().columns(what),
        ]


def clears_of(found: Episodes, env_options: Mapping[str, Any]) -> list[Clear]:
    """Return the cleared episodes as records of the store of best times.

    Parameters
    ----------
    found : Episodes
        With actions, and the columns ``reason``, ``spawns``, ``level`` and ``game_seed``.
    env_options : mapping
        Of the environment in which they were played.
    """
    assert found.actions is not None
    speed = env_options.get("speed", DrMarioConfig.speed)
    cleared = np.flatnonzero(found.columns["reason"] == Reason.CLEAR)
    names = ("level", "game_seed", "dt_total", "spawns")
    return [
        Clear(level, speed, seed, frames, spawns, tuple(found.actions[k].tolist()))
        for k in cleared.tolist()
        for level, seed, frames, spawns in [(int(found.columns[name][k]) for name in names)]
    ]


def outcomes(found: Episodes, resamples: int) -> dict[str, Interval]:
    """Return the shares of cleared and of unfinished episodes, and the mean frames to clear.

    Parameters
    ----------
    found : Episodes
        With the column ``reason``; one that was given up counts as a timeout.
    resamples : int
        Of the bootstrap over episodes, from which the interval of the frames is.
    """
    given_up, reason = found.columns["guard_truncated"], found.columns["reason"]
    clear = (reason == Reason.CLEAR) & ~given_up
    timeout = (reason == Reason.TIMEOUT) | given_up
    frames = (clear * found.columns["dt_total"])[:, None]
    (mean,) = Resamples(frames, clear[:, None], resamples, seed=0).intervals()
    return {"clear": share(clear), "timeout": share(timeout), FRAMES: mean}
