"""Measures of pirate abilities, in the rounds of the Ability tier.

Only decisions that the player took itself count, not those that a rule takes in its seat
(``abilities="auto"``, or a pirate that is not among ``pirates``). The measures of ``MEASURES``:

``rosie_kept``
    Share of Rosie decisions in which the player chose itself: who has won a trick would lead the
    next one anyway, so it kept the lead.
``rosie_kept_won``
    Of those, the share in which it won the trick that it then led. A destroyed trick is not won.
``bendt``
    Mean change of the hand's strength from before the two cards were drawn to after the discards:
    the sum of the strengths ``s`` (docs/skullking.md, 10.2), from which the estimate of a hand
    starts. Both hands have as many cards.
``bendt_needed``, ``bendt_not_needed``
    The same where tricks were still needed (``bid - won > 0``) and where none was. The rule bots
    exchange for strength in one case and against it in the other (docs/skullking.md, 9.2), so the
    mean of both says little alone.
``rascal_won``
    Share of the bets of 10 or 20 that paid: the bid, after Harry, was exact.
``rascal_points``
    Mean points that a Rascal decision brought: the bet or its loss, 0 for no bet.
``harry_saves``
    Share of Harry decisions that made a bid exact that was not. Only a bid that is off by one can
    be saved.
``harry_wins``
    Share of Harry decisions, also those for no change, after which the bid was exact: the saved
    ones, and those that were exact and left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fastenv import BatchEngine
from fastenv.skullking.tables import STRENGTH, Phase
from training.evaluation.evaluation import Evaluation, play
from training.evaluation.results import Results
from training.run.games import Column

# In the order of tables, where what depends on another decision is indented.
MEASURES: Mapping[str, Column] = {
    name: Column(kind, "decisions", heading, decimals, per=f"{name}_count")
    for name, kind, heading, decimals in (
        ("rosie_kept", "share", "Rosie: kept the lead", 1),
        ("rosie_kept_won", "share", "  of these, next trick won", 1),
        ("bendt", "mean", "Bendt: hand strength", 2),
        ("bendt_needed", "mean", "  tricks needed", 2),
        ("bendt_not_needed", "mean", "  none needed", 2),
        ("rascal_won", "share", "Rascal: bets won", 1),
        ("rascal_points", "mean", "  points a decision", 1),
        ("harry_saves", "share", "Harry: bids saved", 1),
        ("harry_wins", "share", "  bids made", 1),
    )
}
_STRENGTH = np.array([*STRENGTH, 0.0])  # the last one is that of -1, which is no card


def play_abilities(evaluation: Evaluation) -> Results:
    """Play rounds of the Ability tier; return results with the measures.

    Parameters
    ----------
    evaluation : Evaluation
        With as many lanes as episodes.

    Returns
    -------
    Results
        With the columns ``MEASURES``, sums over what was counted in a round, and with ``_count``
        behind their names how often that was.
    """
    accounts = {name: Account(evaluation.episodes) for name in evaluation.players}
    played = play(evaluation, watch=accounts)
    columns = dict(played.columns)
    for name in MEASURES:
        columns[name] = np.concatenate([each.sums[name] for each in accounts.values()])
        counts = [each.counts[name] for each in accounts.values()]
        columns[f"{name}_count"] = np.concatenate(counts)
    return replace(played, columns=columns, about={**played.about, **MEASURES})


class Account:
    """Counts of the pirates' effects for one player, lane by lane.

    Called after every step, as a :data:`training.evaluation.evaluation.Watch`, it reads from the
    rows what was decided in that step and what followed.

    Parameters
    ----------
    num_envs : int
        Lanes.

    Attributes
    ----------
    sums : dict of str to ndarray of float64, shape (num_envs,)
        For each of ``MEASURES`` the sum over what was counted.
    counts : dict of str to ndarray of int64, shape (num_envs,)
        How often it was counted.
    """

    def __init__(self, num_envs: int) -> None:
        self.sums = {name: np.zeros(num_envs) for name in MEASURES}
        self.counts = {name: np.zeros(num_envs, np.int64) for name in MEASURES}
        self._keeps = np.zeros(num_envs, np.bool_)  # the trick led by Rosie's choice is not over
        self._own_bet = np.zeros(num_envs, np.bool_)  # Rascal's bet is the player's own

    def __call__(self, engine: BatchEngine, lanes: np.ndarray) -> None:
        """Note what has happened in the lanes (k,) that have taken the last step."""
        rows = engine.get_states(lanes)
        valid = rows["ev_invalid"] == 0  # an illegal action decides nothing
        lanes, rows = lanes[valid], rows[valid]
        self._count_rosie(lanes, rows)
        self._count_bendt(lanes, rows)
        self._count_rascal(lanes, rows)
        self._count_harry(lanes, rows)

    def _count(self, name: str, lanes: np.ndarray, values: np.ndarray, where: np.ndarray) -> None:
        self.sums[name][lanes[where]] += values[where]
        self.counts[name][lanes[where]] += 1

    def _count_rosie(self, lanes: np.ndarray, rows: np.ndarray) -> None:
        # The step after is not always the trick's end: the Tigress may ask for her mode first.
        over = self._keeps[lanes] & (rows["ev_trick"] > 0)
        self._count("rosie_kept_won", lanes, rows["ev_trick"] == 1, over)
        self._keeps[lanes[over]] = False
        due = rows["ev_phase"] == Phase.ROSIE
        kept = rows["ev_action"] == 0  # seats are counted from the agent's
        self._count("rosie_kept", lanes, kept, due)
        self._keeps[lanes[due & kept]] = True

    def _count_bendt(self, lanes: np.ndarray, rows: np.ndarray) -> None:
        # With one card left in the stock there is one discard only.
        discards = np.isin(rows["ev_phase"], (Phase.BENDT_1, Phase.BENDT_2))
        done = discards & (rows["phase"] != Phase.BENDT_2)
        drawn = np.where(np.arange(2) < rows["stock_pos"][:, None], rows["stock"][:, :2], -1)
        change = _STRENGTH[drawn].sum(1) - _STRENGTH[rows["discard"]].sum(1)
        needed = rows["ev_needed"] > 0
        self._count("bendt", lanes, change, done)
        self._count("bendt_needed", lanes, change, done & needed)
        self._count("bendt_not_needed", lanes, change, done & ~needed)

    def _count_rascal(self, lanes: np.ndarray, rows: np.ndarray) -> None:
        self._own_bet[lanes[rows["ev_phase"] == Phase.RASCAL]] = True
        settled = self._own_bet[lanes] & (rows["ev_round"] > 0)
        exact, bet = rows["ev_bid"] == rows["ev_won"], rows["ev_bet"]
        self._count("rascal_won", lanes, exact, settled & (bet > 0))
        self._count("rascal_points", lanes, np.where(exact, bet, -bet), settled)
        self._own_bet[lanes[settled]] = False

    def _count_harry(self, lanes: np.ndarray, rows: np.ndarray) -> None:
        due = rows["ev_phase"] == Phase.HARRY
        exact = rows["ev_bid"] == rows["ev_won"]  # the step that changes the bid ends the round
        self._count("harry_saves", lanes, exact & (rows["ev_needed"] != 0), due)
        self._count("harry_wins", lanes, exact, due)
