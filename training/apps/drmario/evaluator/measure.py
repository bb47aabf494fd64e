"""How good an evaluator is: the calibration of its quantiles, and how those play who use it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from training.apps.drmario import costs
from training.apps.drmario.evaluator.lookahead import is_lookahead
from training.apps.drmario.evaluator.model import Evaluator, Measure
from training.apps.drmario.evaluator.samples import (
    BARE,
    CENSORED,
    ENV,
    Games,
    cap_frames,
    play_games,
)
from training.apps.drmario.players import find_player
from training.evaluation.intervals import Resamples
from training.evaluation.loop import Loop
from training.players.player import MakePlayer
from training.run.envs import make_engine
from training.run.options import require

DECILES = tuple(k / 10 for k in range(1, 10))
TAIL = 0.25  # of the outcomes, the largest
LOST = 36_000  # frames that a game without a clear counts in the tail, as over the registry
BATCH, SECONDS = 64, 3.0  # lanes and CPU seconds of a measurement of speed
MOST = 2000  # decisions after which a game counts as not cleared
MEASURES: dict[str, Callable[[np.ndarray], Any]] = {
    "mean": np.mean,
    "tail": lambda outcomes: costs.cvar(outcomes, TAIL),
}


def calibration(evaluator: Evaluator, samples: np.ndarray) -> dict[str, Any]:
    """Compare predictions of an evaluator with the outcomes.

    Parameters
    ----------
    evaluator : Evaluator
    samples : ndarray of SAMPLE
        Of games that it was not trained on; those that were given up are left out.

    Returns
    -------
    dict
        JSON values: ``deciles``, ``shares`` of the outcomes at or below each, their 95 %
        ``intervals`` by a bootstrap over games (decisions of a game are not independent), the
        ``worst`` distance of a share from its decile, the numbers of ``decisions`` and ``games``,
        the means of the frames to the clear and of what was said, and the share of the variance
        that these means explain.

    Raises
    ------
    ConfigError
        If no game came to an end.
    """
    ended = samples["outcome"] != CENSORED
    require(bool(ended.any()), "games", 0, "at least one that comes to an end")
    outcomes = cap_frames(samples, evaluator.head.t_max)[ended]
    quantiles = evaluator.quantiles(samples["seen"][ended])
    weights = [Measure("quantile", decile).weights(quantiles.shape[1]) for decile in DECILES]
    below = outcomes[:, None] <= quantiles @ np.stack(weights, 1)
    means, shares = quantiles.mean(1), below.mean(0)
    game = np.concatenate([[0], np.cumsum(samples["left"][ended] == 0)[:-1]])
    sums = np.stack([np.bincount(game, b) for b in below.T.astype(float)], 1)
    sizes = np.tile(np.bincount(game)[:, None], len(DECILES))
    intervals = Resamples(sums, sizes, resamples=200, seed=0).intervals()
    left = np.square(outcomes - means).mean() / max(float(outcomes.var()), 1e-9)
    return {
        "deciles": list(DECILES),
        "shares": shares.tolist(),
        "intervals": [[each.low, each.high] for each in intervals],
        "worst": float(np.abs(shares - DECILES).max()),
        "decisions": len(outcomes),
        "games": len(sums),
        "frames_mean": float(outcomes.mean()),
        "said_mean": float(means.mean()),
        "explained": float(1.0 - left),
    }


def compare(
    who: Sequence[str], runs: Path, levels: Sequence[int], speed: str, count: int, seed: int
) -> dict[str, Any]:
    """Compare players on the same games, which no evaluator was trained on.

    Parameters
    ----------
    who : sequence of str
        See :func:`training.apps.drmario.players.find_player`.
    runs : Path
        Folder of all runs.
    levels : sequence of int
    speed : str
    count : int
        Games of a level.
    seed : int

    Returns
    -------
    dict
        By level and name the share of clears, the frames to them, the CVaR, and the differences
        from the first; of look-aheads also the decisions of a CPU second at the highest level.
    """
    players = {name: find_player(name, runs) for name in who}
    records: dict[str, Any] = {}
    for level in levels:
        games = Games(
            count=count,
            levels=(level, level),
            speeds=(speed,),
            odd=True,
            seed=seed,
            explore=0.0,
            most=MOST,
        )
        played = {
            name: play_games(make, games, BARE if options is None else options)
            for name, (make, options) in players.items()
        }
        played = {
            name: replace(each, about={**each.about, **costs.columns(LOST)})
            for name, each in played.items()
        }
        records[str(level)] = {
            name: _make_record(count, figures)
            for name, figures in costs.compare(played, MEASURES, game="seed", resamples=2000)
        }
    looking = filter(is_lookahead, who)
    speeds = {name: decisions_a_second(players[name][0], max(levels), BATCH) for name in looking}
    about = {"speed": speed, "games": count, "seed": seed, "lost_counts": LOST, "batch": BATCH}
    return {**about, "levels": records, "decisions_per_cpu_s": speeds}


def _make_record(count: int, figures: dict[str, Any]) -> dict[str, Any]:
    """Make the record of a player at a level."""
    del figures["mean"]  # but for its difference
    tail = {f"cvar_{TAIL:g}": figures.pop("tail")}
    less = {"less_first": figures.pop("less_first")} if "less_first" in figures else {}
    return {"games": count, **figures, **tail, **less}


def decisions_a_second(make: MakePlayer, level: int, batch: int) -> float:
    """Measure the decisions of a player in a CPU second, the engine's steps included."""
    engine = make_engine(ENV, batch, {**BARE, "level": level})
    begin, count = 0.0, 0
    for number, step in enumerate(Loop(engine, [make(engine)], np.arange(10**6), wait=False)):
        if number == 2:  # what is compiled or loaded first is left out
            begin, count = time.process_time(), 0
        count += len(step.lanes)
        if number > 2 and time.process_time() - begin > SECONDS:
            break
    return count / (time.process_time() - begin)
