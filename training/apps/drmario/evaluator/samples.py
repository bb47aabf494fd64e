"""Samples for an evaluator: bottles of played games, and the frames that each still took.

A game may begin with decisions by chance, so that bottles are seen that its player would avoid;
what is kept of it begins behind the last of them, from where on the player plays alone. A game
whose end is not waited for is *censored*: its bottles took at least so long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from pydantic import Field

from fastenv.drmario.generator import orbit_state
from fastenv.drmario.tables import ORBIT, Reason
from training.apps.drmario.best_times import set_game
from training.apps.drmario.evaluator.features import SITUATION, situations
from training.evaluation.evaluation import Evaluation
from training.evaluation.evaluation import play as play_episodes
from training.evaluation.loop import ask
from training.evaluation.results import Results
from training.players.bots import RandomLegal
from training.players.player import MakePlayer, Player
from training.run.options import Number, Options, Text, Truth, Whole

ENV = "DrMarioPlacement-v0"
BARE: Mapping[str, Any] = {"obs": "none", "extras": ()}
CLEARED, LOST, CENSORED = range(3)
OWN, LUCK = range(2)  # whose a decision is: the player's or chance's
# A decision of a game; samples are those of games, game after game.
SAMPLE = np.dtype(
    [
        ("seen", SITUATION),
        ("frames", "i4"),  # to the end of the game, or to its last decision where it is censored
        ("outcome", "u1"),  # CLEARED, LOST or CENSORED, of the game
        ("left", "i4"),  # decisions of the game behind it that are among the samples
    ]
)


class Games(Options):
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
        Share of the games that chance may begin, until a drawn decision of the first ``until``.
    until : int
    by_chance : float
        Largest share of those decisions that are taken by chance; each game draws its own.
    most : int
        Decisions after which a game is given up.
    lanes : int
        Games that are played at once.
    """

    count: Whole = Field(ge=1, le=10**7)
    levels: tuple[Whole, ...] = (0, 10)
    speeds: tuple[Text, ...] = ("medium",)
    odd: Truth = False
    seed: Whole = 0
    explore: Number = Field(default=0.5, ge=0, le=1)
    until: Whole = Field(default=60, ge=1, le=10**7)
    by_chance: Number = Field(default=0.15, ge=0, le=1)
    most: Whole = Field(default=400, ge=1, le=10**7)
    lanes: Whole = Field(default=256, ge=1, le=10**7)


def cap_frames(samples: np.ndarray, t_max: int) -> np.ndarray:
    """Return the frames to the clear, float32; a lost game counts ``t_max``, and none more."""
    frames = np.minimum(samples["frames"], t_max).astype(np.float32)
    capped: np.ndarray = np.where(samples["outcome"] == LOST, np.float32(t_max), frames)
    return capped


def summarise(samples: np.ndarray) -> str:
    """Describe the number of decisions and the outcomes of the games in a line."""
    ends = samples["outcome"][samples["left"] == 0]
    cleared, lost, censored = (int((ends == k).sum()) for k in range(3))
    return (
        f"{len(samples):,} decisions of {len(ends):,} games, {cleared:,} cleared, {lost:,} lost, "
        f"{censored:,} given up; {samples['frames'].mean():,.0f} frames to the end"
    )


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


def play_games(
    make: MakePlayer,
    games: Games,
    options: Mapping[str, Any] = BARE,
    rng: np.random.Generator | None = None,
) -> Results:
    """Let a player play games; return a row for each.

    Parameters
    ----------
    make : callable
        Makes the player.
    games : Games
        Of which nothing is explored here.
    options : mapping
        Of the environment, for a player who needs an observation.
    rng : Generator, optional
        Draws seeds and levels; default one of the seed of the games.
    """
    rng = np.random.default_rng(games.seed) if rng is None else rng
    seeds = game_seeds(games.count, rng, odd=games.odd)

    def prepare(engine: Any, lanes: np.ndarray, numbers: np.ndarray) -> None:
        levels = rng.integers(games.levels[0], games.levels[1] + 1, len(lanes))
        for lane, number, level in zip(lanes.tolist(), numbers, levels, strict=True):
            speed = games.speeds[lane % len(games.speeds)]
            set_game(engine, lane, int(level), speed, int(seeds[number]))

    every = Evaluation(
        *("games", ENV, options),
        seeds=range(games.seed, games.seed + games.count),
        lanes=games.lanes,
        max_steps=games.most,
    )
    return play_episodes(every.by({"player": make}), prepare=prepare)


def play(make: MakePlayer, games: Games) -> np.ndarray:
    """Let a player play, and return the samples of its games, records of :data:`SAMPLE`.

    Parameters
    ----------
    make : callable
        Makes the player.
    games : Games
    """
    rng = np.random.default_rng(games.seed)
    explorer = _Explorer(games, rng, [make, RandomLegal])
    return explorer.samples(play_games(explorer.seat, games, rng=rng))


class _Explorer:
    """A player that lets chance take decisions first, and keeps what it has seen.

    All lanes begin together. See :class:`training.players.player.Player`.

    Parameters
    ----------
    games : Games
    rng : Generator
        Draws which games are explored, how long and how.
    makes : sequence of callable
        Of the players by ``OWN`` and ``LUCK``.
    """

    def __init__(self, games: Games, rng: np.random.Generator, makes: Sequence[MakePlayer]) -> None:
        self._games, self._rng, self._makes = games, rng, makes
        self._players: list[Player] = []
        # Of each step the games, what was seen of them, the frames before, and whose it was.
        self._steps: list[tuple[np.ndarray, ...]] = []

    def seat(self, engine: Any) -> Self:
        """Make the players for an engine."""
        self._players = [make(engine) for make in self._makes]
        return self

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Draw how the games that begin are explored."""
        assert seeds is not None
        games, rng, n = self._games, self._rng, engine.num_envs
        explored = rng.random(n) < games.explore
        self._until = np.where(explored, rng.integers(1, games.until + 1, n), 0)
        self._rate = rng.random(n) * games.by_chance
        self._taken, self._game = 0, np.zeros(n, np.int64)
        self._game[lanes] = seeds - games.seed
        draws = {OWN: seeds, LUCK: int(rng.integers(2**32)) + lanes}
        for place, player in enumerate(self._players):
            player.begin(engine, lanes, draws[place])

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return the actions of those whose decisions they are."""
        early = self._taken < self._until
        by_chance = early & (self._rng.random(engine.num_envs) < self._rate)
        places = np.where(by_chance, LUCK, OWN)[lanes]
        self._taken += 1
        rows = engine.get_states(lanes)
        self._steps.append((self._game[lanes], situations(rows), rows["ep_frames"], places))
        actions: np.ndarray = ask(engine, self._players, lanes, places)[lanes]
        return actions

    def samples(self, played: Results) -> np.ndarray:
        """Return the decisions behind the last one by chance, game after game."""
        game, seen, before, places = map(np.concatenate, zip(*self._steps, strict=True))
        order = np.argsort(game, kind="stable")
        game, number = game[order], np.arange(len(order))
        foreign = np.full(len(played), -1)
        np.maximum.at(foreign, game, np.where(places[order] == OWN, -1, number))
        left = np.cumsum(np.bincount(game))[game] - 1 - number
        kept = number > foreign[game]
        game, order = game[kept], order[kept]
        outcome = np.select(
            [played["reason"] == Reason.CLEAR, played["reason"] == Reason.TOPOUT],
            [CLEARED, LOST],
            CENSORED,
        )
        samples = np.empty(len(order), SAMPLE)
        samples["seen"], samples["frames"] = seen[order], played["ticks"][game] - before[order]
        samples["outcome"], samples["left"] = outcome[game], left[kept]
        return samples
