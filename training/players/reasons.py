"""Reasons for a decision in words: the chosen action and the next best two, with their points."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from training.players.player import Thought

SHOWN = 3  # actions that a reason names
LEAST = 0.005  # smaller probabilities are not worth a word


def explain(thought: Thought, name_of: Callable[[int], str]) -> str:
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
