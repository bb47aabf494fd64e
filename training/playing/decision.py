"""What is known of a decision: the thought of a search, probabilities, and the expected value.

In words it is the chosen action and the next best two, with their points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from training.players.person import Person
from training.players.player import Explains, Player, Thought, Weighs
from training.players.value import LaneValue
from training.run.seating import SEARCH, is_search

SHOWN = 3  # actions that a reason names
# Options of the search of who advises a person, unless others are named. It searches all decisions:
# what bids would bring is the reason that a person asks for.
ADVICE = "worlds=32,decisions=all"
LEAST = 0.005  # smaller probabilities are not worth a word


def name_adviser(name: str) -> str:
    """Return the name of an adviser: a search, with the usual options unless some are named.

    Parameters
    ----------
    name : str
        Of an agent or a bot, with options behind it or not, or of a search.
    """
    if is_search(name):
        return name
    return f"{SEARCH}{name}" if "," in name else f"{SEARCH}{name},{ADVICE}"


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
            return explain_thought(self.thought, name_of)
        if self.probabilities is None or self.action is None:
            return ""
        return explain_probabilities(self.probabilities, self.action, name_of)


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


# -- in words --------------------------------------------------------------------------------------


def explain_thought(thought: Thought, name_of: Callable[[int], str]) -> str:
    """Explain the decision of a search in one or two sentences.

    Parameters
    ----------
    thought : Thought
    name_of : callable
        Returns the name of an action.

    Returns
    -------
    str
        Empty where nothing was searched.
    """
    means = dict(zip(thought.actions.tolist(), thought.mean.tolist(), strict=True))
    chosen = means.get(thought.chosen, -math.inf)
    if not math.isfinite(chosen):
        return ""
    worlds = int(thought.worlds[thought.actions == thought.chosen][0])
    many = "1 world" if worlds == 1 else f"{worlds} worlds"
    unit = f" {thought.unit}" if thought.unit else ""
    said = f"{name_of(thought.chosen)}: {chosen:.3g}{unit}, the mean of {many}."
    order = np.argsort(-thought.mean, kind="stable")
    others = [k for k in order if thought.actions[k] != thought.chosen]
    named = [k for k in others if math.isfinite(thought.mean[k])][: SHOWN - 1]
    parts = [_compare(thought, int(k), chosen, name_of) for k in named]
    if parts:
        said += f" {_join(parts)}."
    if any(thought.mean[k] > chosen for k in named):
        said += " That is too close to change the own choice."
    return said


def explain_probabilities(
    probabilities: np.ndarray, chosen: int, name_of: Callable[[int], str]
) -> str:
    """Explain the decision of a network in a sentence.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (A,)
        NaN where they are not known.
    chosen : int
    name_of : callable

    Returns
    -------
    str
        Empty where nothing is known.
    """
    known = np.nan_to_num(probabilities)
    if not 0 <= chosen < len(known) or not known.any():
        return ""
    order = [int(k) for k in np.argsort(-known, kind="stable") if k != chosen]
    named = [chosen, *(k for k in order if known[k] >= LEAST)][:SHOWN]
    parts = [f"{name_of(k)} with {100 * known[k]:.0f} %" for k in named]
    return f"The network plays {_join(parts)}."


def _compare(thought: Thought, place: int, chosen: float, name_of: Callable[[int], str]) -> str:
    """Say how far the action in a place is from the chosen one."""
    apart, error = thought.mean[place] - chosen, thought.error[place]
    name = name_of(int(thought.actions[place]))
    if apart == 0:
        return f"{name} is equal"
    spread = f" ± {error:.2g}" if math.isfinite(error) else ""
    return f"{name} is {abs(apart):.2g}{spread} {'more' if apart > 0 else 'less'}"


def _join(parts: list[str]) -> str:
    """Join parts by commas, the last by "and"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
