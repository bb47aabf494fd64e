"""Let players play the same games of Dr. Mario, and compare the frames that they take to the clear.

The time T of an episode is the frames to the clear, and ``t_max`` where it was not cleared by then.
Games are what is drawn, so intervals are over games: the episodes of one game are drawn together.
Differences to the first player are paired by game.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fastenv.drmario.tables import Reason
from training.apps.drmario.best_times import ENV, Game, set_game
from training.evaluation.intervals import RESAMPLES
from training.evaluation.results import Results
from training.run.envs import with_defaults
from training.run.games import Column

if TYPE_CHECKING:  # they import torch, which a parser does not need
    from training.players.names import AnyPlayer

Key = TypeVar("Key")
BARE: Mapping[str, Any] = {"obs": "none", "extras": ()}  # for players who look at rows
T_MAX = 36_000  # frames
LANES = 256  # episodes that are played at once


# -- playing ---------------------------------------------------------------------------------------


def load_player(
    name: str, runs: Path = Path("runs"), *, flag: str = "who"
) -> tuple[AnyPlayer, dict[str, Any] | None]:
    """Load who plays placements, by name: :func:`training.players.names.load_for`.

    Returns
    -------
    who : Policy, SearchingAgent, str or callable
    options : dict or None
        Of the environment that an agent has learnt in; None for those who need none.
    """
    from training.players.names import load_for
    from training.players.policy import Policy

    who = load_for(ENV, name, runs, flag=flag)
    base = getattr(who, "base", who)
    return who, with_defaults(ENV, base.env_spec.options) if isinstance(base, Policy) else None


def play_games(
    player: AnyPlayer,
    games: Sequence[Game],
    options: Mapping[str, Any] | None = None,
    *,
    episodes: int = 1,
    seed: int = 0,
    t_max: int = T_MAX,
    max_steps: int | None = None,
    sample: bool | None = None,
) -> Results:
    """Let a player play games.

    Parameters
    ----------
    player : Policy, SearchingAgent, str or callable
    games : sequence of (int, str, int)
        Level, speed and the option ``game_seed`` of each.
    options : mapping, optional
        Of the environment; default :data:`BARE`.
    episodes : int
        Of each game.
    seed : int
        Of what the player draws.
    t_max : int
        Frames after which an episode is given up.
    max_steps : int, optional
        Decisions after which it is; default any number.
    sample : bool, optional
        Whether a trained agent draws its actions; default as is usual.

    Returns
    -------
    Results
        With actions, the columns of :func:`make_columns`, and those of the game: ``game``, its
        number, and ``speed``.
    """
    from training.evaluation.evaluation import Evaluation, play

    every = Evaluation(
        *("games", ENV, BARE if options is None else options),
        seeds=range(seed, seed + len(games) * episodes),
        lanes=LANES,
        max_steps=t_max if max_steps is None else max_steps,  # a decision takes a frame at least
    )

    def prepare(engine: Any, lanes: np.ndarray, numbers: np.ndarray) -> None:
        for lane, number in zip(lanes.tolist(), (numbers // episodes).tolist(), strict=True):
            set_game(engine, lane, *games[number])

    def is_late(engine: Any) -> np.ndarray:
        late: np.ndarray = engine.get_states()["ep_frames"] >= t_max
        return late

    how: dict[str, Any] = {"prepare": prepare, "give_up": is_late, "sample": sample}
    played = play(every.by({"player": player}), keep_actions=("player",), **how)
    played = replace(played, about={**played.about, **make_columns(t_max)})
    number = np.arange(len(played)) // episodes
    speeds = [games[k][1] for k in number.tolist()]
    return played.with_column("game", number).with_column("speed", speeds)


# -- costs -----------------------------------------------------------------------------------------


def make_columns(t_max: int) -> dict[str, Column]:
    """Return the columns of episodes that follow from those of Dr. Mario.

    Parameters
    ----------
    t_max : int
        Frames by which a bottle is to be cleared.
    """
    return {
        "cleared": Column(
            "flag", of=lambda x: (x["reason"] == Reason.CLEAR) & (x["ticks"] <= t_max)
        ),
        # Neither is so where the bottle got full.
        "timed_out": Column("flag", of=lambda x: ~x["cleared"] & (x["reason"] != Reason.TOPOUT)),
        "cost": Column(
            "measure", "frames", of=lambda x: np.where(x["cleared"], x["ticks"], float(t_max))
        ),
        "frames_to_clear": Column(
            "measure", "frames", of=lambda x: x["cleared"] * x["ticks"], per="cleared"
        ),
    }


def cvar(costs: np.ndarray, share: float) -> float:
    """Return the mean of the worst, that is largest, share of costs.

    Parameters
    ----------
    costs : ndarray, shape (n,)
    share : float
        Above 0 and at most 1; an episode that is only partly in the share counts so.
    """
    ranked, worst = np.sort(costs)[::-1], share * len(costs)
    whole = math.floor(worst)
    rest = worst - whole
    total = ranked[:whole].sum() + (rest * ranked[whole] if rest > 0 else 0.0)
    return float(total / worst)


MEASURES: dict[str, Callable[[np.ndarray], Any]] = {
    "cost": np.mean,
    "cvar_5": partial(cvar, share=0.05),
    "cvar_25": partial(cvar, share=0.25),
}


def compare(played: Mapping[Key, Results]) -> Iterator[tuple[Key, dict[str, Any]]]:
    """Yield the figures of each player as values with their 95 % intervals.

    Parameters
    ----------
    played : mapping
        Results of :func:`play_games`; the first is what others are compared with.

    Yields
    ------
    key
        Of ``played``.
    record : dict
        ``clear``, ``frames_to_clear`` and the :data:`MEASURES` of the costs as value, low and high;
        behind the first player ``less_first``, the differences of the measures to the first.
    """
    first: dict[str, np.ndarray] = {}
    for key, results in played.items():
        drawn = results.estimate(["cleared", "frames_to_clear"], cluster="game")
        (means,) = drawn.means.values()
        costs = results["cost"].reshape(len(np.unique(results["game"])), -1)
        rng, count = np.random.default_rng(0), len(costs)  # equal draws: differences are paired
        draws = [np.arange(count), *rng.integers(count, size=(RESAMPLES, count))]
        values = {
            name: np.array([measure(costs[draw].ravel()) for draw in draws])
            for name, measure in MEASURES.items()
        }
        figures: dict[str, Any] = {
            "clear": means["cleared"].to_list(),
            "frames_to_clear": means["frames_to_clear"].to_list(),
            **{name: _make_interval(each) for name, each in values.items()},
        }
        if first:
            less = {name: _make_interval(each - first[name]) for name, each in values.items()}
            figures["less_first"] = less
        first = first or values
        yield key, figures


def _make_interval(drawn: np.ndarray) -> list[float]:
    """Return value, low and high of a value and its resamples."""
    return [float(drawn[0]), *np.quantile(drawn[1:], (0.025, 0.975)).tolist()]
