"""The league of self-play: it takes, rates and saves snapshots of the learner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fastenv import BatchEngine
from fastenv.seats import EXTERNAL
from training.players.network import Sight, shown
from training.players.ratings import LEARNER, Ratings, RatingsFile
from training.run import envs
from training.run.config import RunConfig, SelfPlayConfig
from training.run.engine import Engine
from training.run.options import require
from training.selfplay.pool import Pool, PoolEngine, PoolPlayer, SnapshotNet


class Learner(Protocol):
    """The trained player: a network, or several that are one player."""

    def state_dict(self) -> dict[str, Any]:
        """Return its parameters, which a network of the pool can load."""


class League:
    """The learner, its snapshots and the engines in which they meet.

    Parameters
    ----------
    config : RunConfig
        Its section ``selfplay`` is set.
    folder : Path
        Of the run: ``pool/`` and ``ratings.sqlite`` are kept there.
    make_net : callable
        Returns a network like the learner's.
    sight : callable, optional
        Observations of such networks (:data:`training.players.network.Sight`); default those of the
        engines.

    Attributes
    ----------
    engines : list of PoolEngine
        What the learner is trained on, as :meth:`seat` has made them.
    """

    def __init__(
        self,
        config: RunConfig,
        folder: Path,
        make_net: Callable[[], SnapshotNet],
        sight: Sight = shown,
    ) -> None:
        assert config.selfplay is not None
        self.options: SelfPlayConfig = config.selfplay
        self.pool = Pool(folder / "pool", self.options.keep, make_net)
        self.ratings, self._file = Ratings(), RatingsFile(folder / "ratings.sqlite")
        self._sight = sight
        self.engines: list[PoolEngine] = []
        self._taken = self._due = 0  # snapshots, and how many were due when the last was taken
        self._before = (0, 0.0)  # games and score when the iteration began

    def seat(
        self, engine: BatchEngine, seed: int, *, rated: bool = True, spread: bool = False
    ) -> PoolEngine:
        """Make an engine with the snapshots in its other seats.

        Parameters
        ----------
        engine : BatchEngine
            Of games whose seats can be played from outside, not reset yet.
        seed : int
            Of the generators that draw opponents and their actions.
        rated : bool
            Its games count for the ratings.
        spread : bool
            The lanes of bots are spread over all lanes, which differ in something else too; else
            they are the first ones.
        """
        player = PoolPlayer(
            engine,
            self.pool,
            seed=seed,
            latest=self.options.latest,
            sight=self._sight,
        )
        on_matches = self._add_matches if rated else None
        seated = PoolEngine(
            engine, player, bots=self.options.bots, spread=spread, on_matches=on_matches
        )
        self.engines.append(seated)
        return seated

    def _add_matches(self, players: np.ndarray, totals: np.ndarray) -> None:
        for seats, points in zip(players.tolist(), totals.tolist(), strict=True):
            self.ratings.add(seats, points)

    def _count_results(self) -> tuple[int, float]:
        """Count games and score of the learner until now."""
        return sum(self.ratings.games.values()), sum(self.ratings.score.values())

    def begin_iteration(self, steps: int, net: Learner) -> None:
        """Take a snapshot of the learner if one is due.

        Parameters
        ----------
        steps : int
            Decisions until now.
        net : Learner

        Raises
        ------
        CheckpointError
            If the snapshot cannot be written.
        """
        self._before = self._count_results()
        if self.options.latest:
            self.pool.show_latest(net.state_dict())
        due = self.options.due(steps)
        if due <= self._due:
            return
        number, self._due = self._taken, due
        self.pool.add(number, steps, net.state_dict())
        self._taken += 1
        self.ratings.enter(number)
        self.pool.forget({n for e in self.engines for n in np.unique(e.others.snapshots).tolist()})
        for engine in self.engines:
            engine.begin()

    def end_iteration(self, steps: int) -> dict[str, float]:
        """Store the ratings; return the metrics, none before the first snapshot."""
        if not self._taken:
            return {}
        self._file.write(steps, self.ratings)
        metrics = {
            "pool_members": float(len(self.pool.active)),
            "pool_rating": self.ratings.rating[LEARNER],
        }
        games, score = (
            now - was for now, was in zip(self._count_results(), self._before, strict=True)
        )
        return metrics | ({"pool_win_rate": score / games} if games else {})

    # -- saving ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the state, beside the files of the pool, as JSON values."""
        return {
            "taken": self._taken,
            "due": self._due,
            "pool": self.pool.state_dict(),
            "ratings": self.ratings.state_dict(),
            "engines": [engine.state_dict() for engine in self.engines],
        }

    def load_state_dict(self, saved: Mapping[str, Any], steps: int) -> None:
        """Put back what :meth:`state_dict` returned after so many decisions.

        Raises
        ------
        CheckpointError
            If a snapshot is missing or damaged.
        """
        self.pool.load_state_dict(saved["pool"])
        self.ratings.load_state_dict(saved["ratings"])
        self._taken, self._due = int(saved["taken"]), int(saved["due"])
        # Older checkpoints have the one engine that there was then.
        states = saved["engines"] if "engines" in saved else [saved["engine"]]
        for engine, state in zip(self.engines, states, strict=True):
            engine.load_state_dict(state)
        self._file.drop_after(steps)


def check(config: RunConfig, engine: Engine) -> None:
    """Refuse self-play where the learner cannot sit in the other seats.

    Raises
    ------
    ConfigError
        For an environment, or rules, under which seats cannot be played from outside.
    """
    seats = getattr(engine, "seats", None)
    allowed = "one of several players with selfplay, in which one policy can play every seat"
    require(seats is not None, "env", config.env, allowed)
    assert seats is not None
    kinds = [options.get("kind", name) for name, options in config.trackers.items()]
    allowed = "without an archive with selfplay: nobody would sit in its rows"
    require("archive" not in kinds, "trackers", kinds, allowed)
    check_rules(config, seats.opponents)


def check_rules(config: RunConfig, opponents: str) -> None:
    """Refuse rules under which seats cannot be played from outside; ``opponents`` is the knob.

    Raises
    ------
    ConfigError
    """
    (trial,) = envs.make_trial_lane(config).engines  # the run itself begins with the bots
    trial.configure(opponents, EXTERNAL)
