"""Compare players on the same fresh games: share of clears, their frames, and worst outcomes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastenv.drmario import make_game
from training.apps.drmario.evaluator import samples
from training.apps.drmario.evaluator.players import is_lookahead, is_scripted, player_of
from training.apps.drmario.evaluator.samples import BARE, CLEARED, ENV, Games
from training.apps.drmario.seed_evaluation import cvar
from training.evaluation.intervals import Resamples, share
from training.players.load import find
from training.players.player import MakePlayer, begin_all, every_lane
from training.players.trained import AGENT, load
from training.run.envs import make_engine, with_defaults
from training.run.options import require

TAIL = 0.25  # of the outcomes, the largest
LOST = 36_000  # frames that a game without a clear counts in the tail, as over the registry
RESAMPLES = 2000
BATCH, SECONDS = 64, 3.0  # lanes and CPU seconds of a measurement of speed
MOST = 2000  # decisions after which a game counts as not cleared


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of a player's games, shape (games,) each.

    Parameters
    ----------
    cleared : ndarray of bool
    frames : ndarray of int
    """

    cleared: np.ndarray
    frames: np.ndarray

    @property
    def costs(self) -> np.ndarray:
        """Frames; those of a game without a clear count ``LOST``."""
        costs: np.ndarray = np.where(self.cleared, np.minimum(self.frames, LOST), LOST)
        return costs

    def record(self) -> dict[str, Any]:
        """Return shares and means with 95 % intervals over games, as JSON values."""
        frames = np.where(self.cleared, self.frames, 0).astype(float)[:, None]
        drawn = Resamples(frames, self.cleared[:, None].astype(float), RESAMPLES, seed=0)
        (mean,) = drawn.intervals()
        return {
            "games": len(self.cleared),
            "clear": share(self.cleared).to_list(),
            "frames_to_clear": mean.to_list(),
            f"cvar_{TAIL:g}": tail(self.costs),
        }


def tail(costs: np.ndarray) -> list[float]:
    """Return the CVaR of costs with its interval by bootstrap: value, low, high."""
    rng, worst = np.random.default_rng(0), float(cvar(costs, TAIL))
    again = [cvar(rng.choice(costs, len(costs)), TAIL) for _ in range(RESAMPLES)]
    low, high = np.quantile(again, (0.025, 0.975)).tolist()
    return [worst, low, high]


def difference(ours: Outcomes, theirs: Outcomes) -> dict[str, list[float]]:
    """Estimate how much less ours cost, games paired: means and tails with their intervals."""
    rng, count = np.random.default_rng(0), len(ours.costs)
    drawn = rng.integers(count, size=(RESAMPLES, count))
    intervals = {}
    for name, of in (("mean", np.mean), ("tail", lambda x: cvar(x, TAIL))):
        gap = of(ours.costs) - of(theirs.costs)
        again = [of(ours.costs[k]) - of(theirs.costs[k]) for k in drawn]
        intervals[name] = [float(gap), *np.quantile(again, (0.025, 0.975)).tolist()]
    return intervals


def find_player(name: str, runs: Path) -> tuple[MakePlayer, Mapping[str, Any]]:
    """Find the factory of a player, and the options of the environment it needs.

    Parameters
    ----------
    name : str
        A bot, a look-ahead, or a trained agent: its run folder or name.
    runs : Path
        Folder of all runs.

    Raises
    ------
    ConfigError, RunError
        If there is none.
    """
    bots = make_game(**BARE).bot_names
    if is_scripted(name, bots, runs):
        return player_of(name), BARE
    path = Path(name) if Path(name).exists() else runs / name
    allowed = f"a bot ({', '.join(bots)}), lookahead:FILE, a run folder, or the name of one"
    require(path.exists(), "who", name, allowed)
    agent = load(*find(path))
    require(agent.config.env == ENV, "who", name, f"an agent of {ENV}")
    return agent.players()[AGENT], with_defaults(ENV, agent.config.env_options)


def play(
    who: tuple[MakePlayer, Mapping[str, Any]], level: int, speed: str, count: int, seed: int
) -> Outcomes:
    """Let a player play games that no evaluator was trained on, the same for all players."""
    games = Games(
        count, (level, level), (speed,), odd=True, seed=seed, explore=0.0, most=MOST, lanes=256
    )
    decisions = samples.play(who[0], games, options=who[1])
    first = np.concatenate([[True], decisions.left[:-1] == 0])
    return Outcomes(decisions.outcome[first] == CLEARED, decisions.frames[first])


def decisions_a_second(make: MakePlayer, level: int, batch: int) -> float:
    """Measure the decisions of a player in a CPU second, the engine's steps included."""
    engine = make_engine(ENV, batch, {**BARE, "level": level})
    engine.reset_many(seeds=0)
    player, lanes, count = make(engine), every_lane(engine), 0
    begin_all(player, engine, 0)
    for step in range(1_000_000):
        if step == 2:
            begin, count = time.process_time(), 0
        engine.step_many(player.act(engine, lanes))
        count += batch
        if step > 2 and time.process_time() - begin > SECONDS:
            break
    return count / (time.process_time() - begin)


def compare(
    who: Sequence[str], runs: Path, levels: Sequence[int], speed: str, count: int, seed: int
) -> dict[str, Any]:
    """Compare players on the same games; return their outcomes, and differences from the first.

    Of look-aheads also the decisions of a CPU second at the highest level.
    """
    players = {name: find_player(name, runs) for name in who}
    records: dict[str, Any] = {}
    for level in levels:
        played = {name: play(player, level, speed, count, seed) for name, player in players.items()}
        base = played[who[0]]
        records[str(level)] = {
            name: each.record() | ({} if each is base else {"less_first": difference(each, base)})
            for name, each in played.items()
        }
    looking = filter(is_lookahead, who)
    speeds = {name: decisions_a_second(players[name][0], max(levels), BATCH) for name in looking}
    about = {"speed": speed, "games": count, "seed": seed, "lost_counts": LOST, "batch": BATCH}
    return {**about, "levels": records, "decisions_per_cpu_s": speeds}
