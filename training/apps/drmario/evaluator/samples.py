"""Samples for an evaluator: bottles of played games, and the frames that each still took.

A game may begin with decisions of somebody else, or by chance, so that bottles are seen that its
player would avoid; what is kept of it begins behind the last of them, from where on the player
plays alone. A game whose end is not waited for is *censored*: its bottles took at least so long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.drmario.generator import orbit_state
from fastenv.drmario.tables import ORBIT, Reason
from training.apps.drmario.evaluator.situations import situations
from training.evaluation.loop import ask
from training.players.bots import RandomLegal
from training.players.player import MakePlayer, Player, begin_all
from training.run.envs import make_engine
from training.run.options import require

ENV = "DrMarioPlacement-v0"
BARE: Mapping[str, Any] = {"obs": "none", "extras": ()}
CLEARED, LOST, CENSORED = range(3)
OWN, LUCK, BEGINNER = range(3)  # whose a decision is: the player's, chance's or the beginner's


@dataclass(frozen=True)
class Games:
    """Which games are played, and how.

    Parameters
    ----------
    count : int
    levels : tuple of (int, int)
        The lowest and the highest; each game draws one.
    speeds : tuple of str
        As many games at each.
    odd : bool
        Seeds of the games are odd numbers instead of even ones. What is trained on has even ones,
        so that everything with odd ones is new to it.
    seed : int
        Of all that is drawn.
    explore : float
        Share of the games that somebody else begins, until a drawn decision of the first ``until``.
    until : int
    by_chance : float
        Largest share of those decisions that are taken by chance; each game draws its own.
    most : int
        Decisions after which a game is given up.
    lanes : int
        Games that are played at once.
    """

    count: int
    levels: tuple[int, ...] = (0, 10)
    speeds: tuple[str, ...] = ("medium",)
    odd: bool = False
    seed: int = 0
    explore: float = 0.5
    until: int = 60
    by_chance: float = 0.15
    most: int = 400
    lanes: int = 256

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        for name in ("count", "until", "most", "lanes"):
            value = getattr(self, name)
            require(1 <= value <= 10**7, name, value, "from 1 to 10,000,000")
        for name in ("explore", "by_chance"):
            value = getattr(self, name)
            require(0 <= value <= 1, name, value, "from 0 to 1")


@dataclass(frozen=True)
class Samples:
    """Decisions of games, game after game; all arrays have shape (n,).

    Parameters
    ----------
    seen : ndarray of SITUATION
    frames : ndarray of int32
        To the end of the game, or to its last decision where it is censored.
    outcome : ndarray of uint8
        CLEARED, LOST or CENSORED, of the game.
    left : ndarray of int32
        Decisions of the game behind it that are among the samples.
    level : ndarray of uint8
    """

    seen: np.ndarray
    frames: np.ndarray
    outcome: np.ndarray
    left: np.ndarray
    level: np.ndarray

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.seen)

    def capped(self, t_max: int) -> np.ndarray:
        """Return the frames to the clear, float32; a lost game counts ``t_max``, and none more."""
        frames = np.minimum(self.frames, t_max).astype(np.float32)
        capped: np.ndarray = np.where(self.outcome == LOST, np.float32(t_max), frames)
        return capped

    def summary(self) -> str:
        """Describe the number of decisions and the outcomes of the games in a line."""
        last = self.left == 0
        cleared, lost, censored = (int((self.outcome[last] == k).sum()) for k in range(3))
        return (
            f"{len(self):,} decisions of {last.sum():,} games, {cleared:,} cleared, {lost:,} lost, "
            f"{censored:,} given up; {self.frames.mean():,.0f} frames to the end"
        )

    @classmethod
    def joined(cls, parts: Sequence[Samples]) -> Samples:
        """Return several as one."""
        names = ("seen", "frames", "outcome", "left", "level")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def game_seeds(count: int, rng: np.random.Generator, *, odd: bool) -> np.ndarray:
    """Return seeds of games that are odd numbers, or even ones, shape (count,).

    They are drawn from the generator's cycle (docs/drmario.md, 2), each once as long as there are
    any left.
    """
    states = map(orbit_state, range(1, ORBIT + 1))
    every = np.array([256 * high + low for high, low in states])
    fit = every[every % 2 == odd]
    rounds = [rng.permutation(fit) for _ in range(-(-count // len(fit)))]
    seeds: np.ndarray = np.concatenate(rounds)[:count]
    return seeds


def play(
    make: MakePlayer,
    games: Games,
    begins: MakePlayer | None = None,
    options: Mapping[str, Any] = BARE,
) -> Samples:
    """Let a player play, and return the samples of its games.

    Parameters
    ----------
    make : callable
        Makes the player.
    games : Games
    begins : callable, optional
        Makes who begins the games that are explored; default the player itself.
    options : mapping
        Of the environment, for a player who needs an observation.
    """
    rng = np.random.default_rng(games.seed)
    seeds = game_seeds(games.count, rng, odd=games.odd)
    engine = make_engine(ENV, min(games.lanes, games.count), options)
    players: list[Player] = [make(engine), RandomLegal(engine)]
    if begins is not None:
        players.append(begins(engine))
    parts = []
    for start in range(0, games.count, engine.num_envs):
        block = seeds[start : start + engine.num_envs]
        parts.append(_play_block(engine, players, games, block, games.seed + start, rng))
    return Samples.joined(parts)


def _play_block(
    engine: BatchEngine,
    players: Sequence[Player],
    games: Games,
    seeds: np.ndarray,
    first: int,
    rng: np.random.Generator,
) -> Samples:
    """Play a game in each of the first lanes, side by side.

    Parameters
    ----------
    engine : BatchEngine
    players : sequence of Player
        By ``OWN``, ``LUCK`` and, if somebody else begins, ``BEGINNER``.
    games : Games
    seeds : ndarray of int, shape (n,)
        Of the games.
    first : int
        Seed of what the players draw in lane 0; the next lane has one more.
    rng : Generator
    """
    n, lanes = len(seeds), engine.num_envs
    levels = rng.integers(games.levels[0], games.levels[1] + 1, n)
    for lane in range(n):
        engine.configure("level", int(levels[lane]), [lane])
        engine.configure("speed", games.speeds[lane % len(games.speeds)], [lane])
        engine.configure("game_seed", int(seeds[lane]), [lane])
    engine.reset_many(seeds=games.seed)
    explored = rng.random(lanes) < games.explore
    until = np.where(explored, rng.integers(1, games.until + 1, lanes), 0)
    rate = rng.random(lanes) * games.by_chance
    drawn = {OWN: first, LUCK: int(rng.integers(2**32)), BEGINNER: first}
    for place, player in enumerate(players):
        begin_all(player, engine, drawn[place])
    running, elapsed = np.arange(lanes) < n, np.zeros(lanes, np.int32)
    begin = np.zeros(lanes, np.int32)  # decision from which on the player plays alone
    seen, at, alive = [], [], []
    for step in range(games.most):
        seen.append(situations(engine.get_states()))
        at.append(elapsed.copy())
        alive.append(running.copy())
        early = running & (step < until)
        by_chance = early & (rng.random(lanes) < rate)
        begun = early & (len(players) > BEGINNER)
        places = np.select([by_chance, begun], [LUCK, BEGINNER], OWN)
        begin[places != OWN] = step + 1
        due = np.flatnonzero(running)
        actions = ask(engine, players, due, places[due])
        engine.step_many(actions, select=running, autoreset=False)
        elapsed += np.where(running, engine.tau, 0).astype(np.int32)
        running &= ~engine.ended
        if not running.any():
            break
    reason = engine.get_states()["reason"]
    outcome = np.select(
        [reason == Reason.CLEAR, reason == Reason.TOPOUT], [CLEARED, LOST], CENSORED
    )
    table, clock, playing = (np.stack(part, 1)[:n] for part in (seen, at, alive))
    return _collect_samples(table, clock, playing, elapsed[:n], begin[:n], outcome[:n], levels)


def _collect_samples(
    seen: np.ndarray,  # (n, steps)
    at: np.ndarray,  # (n, steps), frames from the beginning
    alive: np.ndarray,  # (n, steps)
    total: np.ndarray,  # (n,), frames
    begin: np.ndarray,  # (n,)
    outcome: np.ndarray,  # (n,)
    levels: np.ndarray,  # (n,)
) -> Samples:
    """Return the decisions of games that count, game after game."""
    steps = np.arange(alive.shape[1])
    game, step = np.nonzero(alive & (steps >= begin[:, None]))
    last = alive.sum(1) - 1
    frames = total[:, None] - at
    return Samples(
        seen[game, step],
        frames[game, step].astype(np.int32),
        outcome[game].astype(np.uint8),
        (last[game] - step).astype(np.int32),
        levels[game].astype(np.uint8),
    )
