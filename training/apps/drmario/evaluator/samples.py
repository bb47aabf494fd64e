"""Samples for an evaluator: bottles of played games, and the frames that each still took.

A game may begin with decisions by chance, so that bottles are seen that its player would avoid;
what is kept of it begins behind the last of them, from where on the player plays alone. A game
whose end is not waited for is *censored*: its bottles took at least so long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fastenv.drmario.generator import orbit_state
from fastenv.drmario.tables import ORBIT, Reason
from training.apps.drmario.best_times import Game
from training.apps.drmario.compare import play_games
from training.apps.drmario.evaluator.features import SITUATION, situations
from training.evaluation.loop import ask
from training.evaluation.results import Results
from training.players.bots import RandomLegal
from training.players.names import make_player
from training.players.player import Player

if TYPE_CHECKING:
    from training.players.names import AnyPlayer

ENDLESS = 10**9  # frames: a game is given up by its decisions alone
UNTIL = 60  # decisions that chance may take part in, at the beginning of a game
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


def draw_games(
    count: int, levels: Sequence[int], speeds: Sequence[str], seed: int, *, odd: bool = False
) -> list[Game]:
    """Draw games: of levels between the lowest and the highest, as many at each speed.

    Their seeds are drawn from the generator's cycle (docs/drmario.md, 2), each once as long as
    there are any left. What is trained on has even ones, so that everything with odd ones is new
    to it.
    """
    rng = np.random.default_rng(seed)
    states = map(orbit_state, range(1, ORBIT + 1))
    every = np.array([256 * high + low for high, low in states])
    fit = every[every % 2 == odd]
    rounds = [rng.permutation(fit) for _ in range(-(-count // len(fit)))]
    seeds = np.concatenate(rounds)[:count].tolist()
    lowest, highest = levels
    drawn = rng.integers(lowest, highest + 1, count).tolist()
    return [(level, speeds[k % len(speeds)], seeds[k]) for k, level in enumerate(drawn)]


def play(
    who: AnyPlayer, games: Sequence[Game], *, most: int, explore: float = 0.0, seed: int = 0
) -> np.ndarray:
    """Let a player play, and return the samples of its games, records of :data:`SAMPLE`.

    Parameters
    ----------
    who : str or callable
    games : sequence of (int, str, int)
    most : int
        Decisions after which a game is given up.
    explore : float
        Share of the games that chance may begin, until a drawn decision of the first
        :data:`UNTIL`; each game draws how many of those are taken by chance.
    seed : int
        Of all that is drawn.
    """
    explorer = _Explorer(who, explore, seed)
    return explorer.samples(
        play_games(explorer.seat, games, seed=seed, t_max=ENDLESS, max_steps=most)
    )


class _Explorer:
    """A player that lets chance take decisions first, and keeps what it has seen.

    All lanes begin together. See :class:`training.players.player.Player`.
    """

    def __init__(self, who: AnyPlayer, explore: float, seed: int) -> None:
        self._who, self._explore, self._seed = who, explore, seed
        self._rng = np.random.default_rng([seed, 1])
        self._players: list[Player] = []
        # Of each step the games, what was seen of them, the frames before, and whose it was.
        self._steps: list[tuple[np.ndarray, ...]] = []

    def seat(self, engine: Any) -> Self:
        """Make the players for an engine, by ``OWN`` and ``LUCK``."""
        self._players = [make_player(self._who, engine), RandomLegal(engine)]
        return self

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Draw how the games that begin are explored."""
        assert seeds is not None
        rng, n = self._rng, engine.num_envs
        explored = rng.random(n) < self._explore
        self._until = np.where(explored, rng.integers(1, UNTIL + 1, n), 0)
        self._rate = rng.random(n)
        self._taken, self._game = 0, np.zeros(n, np.int64)
        self._game[lanes] = seeds - self._seed
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
