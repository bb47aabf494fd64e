"""What is known of a decision: the thought of a search, probabilities, and the expected value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from training.players import reasons
from training.players.person import Person
from training.players.player import Explains, Player, Thought, Weighs
from training.players.value import LaneValue


@dataclass
class Decision:
    """A decision in one lane.

    Parameters
    ----------
    lane : int
    action : int or None
        That is taken, or advised to a person; None where nobody has decided.
    thought : Thought or None
        Of a player that searches.
    probabilities : ndarray of float64, shape (A,), or None
        Of a player that knows them.
    value : float or None
        That its network expects.
    """

    lane: int = 0
    action: int | None = None
    thought: Thought | None = None
    probabilities: np.ndarray | None = None
    value: float | None = None

    def explain(self, name_of: Callable[[int], str]) -> str:
        """Explain it in a sentence or two, with the names of actions; empty where none is known."""
        if self.thought is not None:
            return reasons.explain(self.thought, name_of)
        if self.probabilities is None or self.action is None:
            return ""
        return reasons.explain_probabilities(self.probabilities, self.action, name_of)


def find_thinking(player: Player) -> Player | None:
    """Return who thinks about a player's decisions: itself, or the adviser of a person, if any."""
    return player.adviser if isinstance(player, Person) else player


def let_explain(players: Iterable[Player], on: bool = True) -> None:
    """Let players, and advisers of persons, keep their thoughts if they have any, or stop that."""
    for player in map(find_thinking, players):
        if isinstance(player, Explains):
            player.explains = on


def get_thought(player: Player | None, lane: int = 0) -> Thought | None:
    """Return the thought of a player's last decision in a lane; None without one."""
    return player.thought(lane) if isinstance(player, Explains) else None


def weigh(
    player: Player | None, engine: Any, lane: int = 0, value: LaneValue | None = None
) -> Decision:
    """Note what a player knows of a decision, with the value of its network, before it acts.

    Once it has acted it may remember that.
    """
    decision, lanes = Decision(lane), np.array([lane])
    if isinstance(player, Weighs):
        engine.refresh()
        decision.probabilities = player.probabilities(engine, lanes)[0]
    if value is not None:
        decision.value = float(value(engine, lanes)[0])
    return decision
