"""Samples for a value network: rows within rounds, and the points that each seat still gained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.skullking.tables import Phase
from training.evaluation.loop import Loop
from training.players.player import MakePlayer, Player

STRANGE = 0.15  # share of early decisions that are any legal one
WITHIN = 0.1  # share of the rows with cards on the table that are kept


@dataclass(frozen=True)
class Samples:
    """Rows (n,), and the points of each seat from there to the end of the round, float32 (n, P)."""

    rows: np.ndarray
    gained: np.ndarray


class Strayer:
    """Plays as another player, but takes random legal cards for some early ones of rounds.

    Parameters
    ----------
    player : Player
    quiet : ndarray of int, shape (lanes, rounds)
        The trick of each round from which on it plays as the other.
    rng : Generator
        Of all lanes.

    Attributes
    ----------
    rows, lanes : list of ndarray
        Decisions about cards from there on, and where they were.
    """

    def __init__(self, player: Player, quiet: np.ndarray, rng: np.random.Generator) -> None:
        self._player, self._quiet, self._rng = player, quiet, rng
        self.rows: list[np.ndarray] = []
        self.lanes: list[np.ndarray] = []

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Let the other begin."""
        self._player.begin(engine, lanes, seeds)

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return the other's actions, and some of chance; keep rows."""
        engine.refresh()
        rng, rows, legal = self._rng, engine.get_states(lanes), engine.mask[lanes]
        about_cards = rows["phase"] == Phase.PLAY
        early = rows["tricks"] < self._quiet[lanes, rows["round_idx"]]
        wanted = about_cards & ~early
        wanted &= (rows["table_len"] == 0) | (rng.random(len(lanes)) < WITHIN)
        self.rows.append(rows[wanted])
        self.lanes.append(lanes[wanted])
        actions = self._player.act(engine, lanes)
        strange = early & about_cards & (rng.random(len(lanes)) < STRANGE)
        drawn = np.where(legal, rng.random(legal.shape), -1.0).argmax(1)
        return np.where(strange, drawn, actions).astype(np.int32)


def play(engine: BatchEngine, make: MakePlayer, seed: int) -> Samples:
    """Play whole games by one player in all seats, a game a lane, and keep rows within rounds.

    Search asks about positions into which nobody would have played. So each round has a trick,
    drawn anew, before which some decisions are any legal one; rows are kept from there on, since
    what is gained must be what the player makes of it.

    Parameters
    ----------
    engine : BatchEngine
        Of a table.
    make : callable
        Makes the player.
    seed : int
        Of the deals and of all that is drawn.
    """
    rng, n = np.random.default_rng(seed), engine.num_envs
    game: Any = engine.game
    sizes = game.config.hand_sizes()
    quiet = (rng.random((n, len(sizes))) * np.array(sizes)).astype(np.int64)
    strayer = Strayer(make(engine), quiet, rng)
    totals = np.zeros((n, len(sizes) + 1, game.num_seats))
    for step in Loop(engine, [strayer], seed + np.arange(n)):
        rows = engine.get_states(step.lanes)
        totals[step.lanes, rows["rounds_done"]] = game.outcomes(rows)
    kept, lane = np.concatenate(strayer.rows), np.concatenate(strayer.lanes)
    now = kept["round_idx"].astype(np.int64)
    gained = totals[lane, now + 1] - totals[lane, now]
    return Samples(kept, gained.astype(np.float32))
