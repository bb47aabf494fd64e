"""The columns of results of Skull King: of whole games, and of rounds that are played to a goal.

They are of the player in the seat that the engine shows; docs/howto/train_skullking.md says what
they measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fastenv.skullking.config import PHASE_ROUNDS
from training.run.games import Column

ROUNDS = 10  # of a game by the official rules


def _read_points(engine: Any, lanes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of the agent (k, 1) and those of all seats (k, P), in whole numbers."""
    totals = np.asarray(engine.get_outcomes(lanes), np.float64)
    return totals[np.arange(len(lanes)), engine.get_agents(lanes)][:, None], totals


def _points(engine: Any, lanes: np.ndarray) -> np.ndarray:
    return _read_points(engine, lanes)[0][:, 0]


def _margin(engine: Any, lanes: np.ndarray) -> np.ndarray:
    """Return the points minus those of the mean opponent."""
    own, totals = _read_points(engine, lanes)
    margin: np.ndarray = own[:, 0] - (totals.sum(1) - own[:, 0]) / (totals.shape[1] - 1)
    return margin


def _win(engine: Any, lanes: np.ndarray) -> np.ndarray:
    """Return the part of the win: shared wins count 1/k."""
    own, totals = _read_points(engine, lanes)
    best = totals.max(1, keepdims=True)
    part: np.ndarray = (own == best)[:, 0] / (totals == best).sum(1)
    return part


def _rank(engine: Any, lanes: np.ndarray) -> np.ndarray:
    """Return the rank from 1 on; a tie shares the better one."""
    own, totals = _read_points(engine, lanes)
    rank: np.ndarray = 1 + (totals > own).sum(1)
    return rank


Value = Callable[[Mapping[str, np.ndarray]], np.ndarray | int]


def _sum_rounds(value: Value, first: int = 1, last: int = ROUNDS) -> dict[str, Any]:
    """Make the reader of a column that sums up rounds from ``first`` to ``last`` as they end."""

    def read(engine: Any, lanes: np.ndarray) -> np.ndarray:
        number = engine.info["ended_round"][lanes]
        counted: np.ndarray = (number >= first) & (number <= last)
        if not counted.any():  # as in most steps
            return counted
        values = np.broadcast_to(value(engine.info), engine.num_envs)[lanes]
        return np.where(counted, values, 0)

    return {"read": read, "when": "step"}


def _hit(info: Mapping[str, np.ndarray]) -> np.ndarray:
    hit: np.ndarray = info["ended_bid"] == info["ended_won"]
    return hit


def _zero(info: Mapping[str, np.ndarray]) -> np.ndarray:
    zero: np.ndarray = info["ended_bid"] == 0
    return zero


def _one(info: Mapping[str, np.ndarray]) -> int:
    return 1


def _error(info: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.asarray(info["ended_won"], np.int64) - info["ended_bid"]


COLUMNS: dict[str, Column] = {
    "rounds": Column("kept", "rounds", **_sum_rounds(_one)),
    "points": Column("measure", "points", decimals=0, read=_points),
    "margin": Column("measure", "points", decimals=0, read=_margin),
    "win_rate": Column("flag", heading="wins", decimals=1, read=_win, shared=True),
    "rank": Column("mean", decimals=2, read=_rank),
    "bonus": Column("mean", "points", **_sum_rounds(lambda info: info["ended_bonus"])),
    "alliances": Column("mean", "alliances", **_sum_rounds(lambda info: info["ended_alliances"])),
    "shaped_return": Column("mean", read=lambda engine, lanes: engine.ep_return[lanes]),
    "bid_hit": Column("share", "rounds", "bids made", 1, **_sum_rounds(_hit), per="rounds"),
    "won_minus_bid": Column("mean", "tricks", **_sum_rounds(_error), per="rounds"),
    "zero_bids": Column("mean", "rounds", **_sum_rounds(_zero), per="rounds"),
    "zero_bid_success": Column(
        "mean", "rounds", **_sum_rounds(lambda info: _zero(info) & _hit(info)), per="zero_bids"
    ),
}
for _phase, _part in PHASE_ROUNDS.items():
    COLUMNS[f"rounds_{_phase}"] = Column("kept", "rounds", **_sum_rounds(_one, *_part))
    COLUMNS[f"bid_hit_{_phase}"] = Column(
        "mean", "rounds", **_sum_rounds(_hit, *_part), per=f"rounds_{_phase}"
    )
for _r in range(1, ROUNDS + 1):
    COLUMNS[f"rounds_{_r}"] = Column("kept", "rounds", **_sum_rounds(_one, _r, _r))
    COLUMNS[f"bid_hit_round_{_r}"] = Column(
        "mean", "rounds", **_sum_rounds(_hit, _r, _r), per=f"rounds_{_r}"
    )
    COLUMNS[f"points_round_{_r}"] = Column(
        "mean", "points", **_sum_rounds(lambda info: info["points"], _r, _r), per=f"rounds_{_r}"
    )
SHOWN = ("points", "margin", "win_rate", "rank", "bid_hit")  # in tables, in this order


# -- rounds that are played to a goal --------------------------------------------------------------


def _bid(engine: Any, lanes: np.ndarray) -> np.ndarray:
    bid: np.ndarray = engine.info["bid"][lanes]
    return bid


def _in_round(number: int) -> Callable[[Mapping[str, np.ndarray]], np.ndarray]:
    return lambda columns: columns["round"] == number


def _reached_in(number: int) -> Callable[[Mapping[str, np.ndarray]], np.ndarray]:
    return lambda columns: columns["reached"] * (columns["round"] == number)


GOAL_COLUMNS = {
    "round": Column("kept", when="begin"),
    "cards": Column("kept", "cards", when="begin"),
    "goal": Column("kept", "tricks", read=_bid, when="begin"),
    "reached": Column(
        "share",
        heading="goals reached",
        read=lambda engine, lanes: _hit(engine.info)[lanes],
    ),
}
GOAL_COLUMNS["overall"] = Column("kept", of=lambda columns: columns["reached"])
for _r in range(1, ROUNDS + 1):
    GOAL_COLUMNS[f"in_round_{_r}"] = Column("kept", of=_in_round(_r))
    GOAL_COLUMNS[f"round_{_r}"] = Column("kept", of=_reached_in(_r), per=f"in_round_{_r}")
