"""Rounds for a value network: rows of games on the way, and what each seat gained to their ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.skullking.tables import Phase
from training.players.guests import Guest

STRANGE = 0.15  # share of early decisions that are any legal one
WITHIN = 0.1  # share of the rows with cards on the table that are kept


@dataclass(frozen=True)
class Samples:
    """Rows (n,), and what each seat gained from there to the end of the round, float32 (n, P)."""

    rows: np.ndarray
    gained: np.ndarray


def play(engine: BatchEngine, guest: Guest, seed: int) -> Samples:
    """Play whole games by one player in all seats, a game a lane, and keep what is on the way.

    Search asks about positions into which nobody would have played. So each round has a trick,
    drawn anew, before which some decisions are any legal one; rows are kept from there on, since
    what is gained must be what the player makes of it.

    Parameters
    ----------
    engine : BatchEngine
        Of a table.
    guest : Guest
    seed : int
        Of the deals and of all that is drawn.
    """
    rng, n = np.random.default_rng(seed), engine.num_envs
    engine.reset_many(seeds=np.arange(n) + seed)
    guest.begin(np.arange(n))
    game: Any = engine.game
    rounds = len(game.config.hand_sizes())
    quiet = (rng.random((n, rounds)) * np.array(game.config.hand_sizes())).astype(np.int64)
    totals = np.zeros((n, rounds + 1, game.num_seats))
    kept, lane_of = [], []
    while not engine.ended.all():
        engine.refresh()
        lanes = np.flatnonzero(~engine.ended)
        rows, masks = engine.get_states(lanes), engine.mask[lanes]
        totals[lanes, rows["rounds_done"]] = game.outcomes(rows)
        early = rows["tricks"] < quiet[lanes, rows["round_idx"]]
        wanted = (rows["phase"] == Phase.PLAY) & ~early
        wanted &= (rows["table_len"] == 0) | (rng.random(len(lanes)) < WITHIN)
        kept.append(rows[wanted])
        lane_of.append(lanes[wanted])
        actions = np.zeros(n, np.int32)
        actions[lanes] = guest.act(engine, lanes)
        strange = early & (rows["phase"] == Phase.PLAY) & (rng.random(len(lanes)) < STRANGE)
        drawn = np.where(masks, rng.random(masks.shape), -1.0).argmax(1)
        actions[lanes] = np.where(strange, drawn, actions[lanes])
        engine.step_many(actions, select=~engine.ended, autoreset=False)
    totals[:, rounds] = engine.get_outcomes()
    found, lane = np.concatenate(kept), np.concatenate(lane_of)
    now = found["round_idx"].astype(np.int64)
    gained = totals[lane, now + 1] - totals[lane, now]
    return Samples(found, gained.astype(np.float32))
