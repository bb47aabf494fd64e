"""Rules of the search of a game; the defaults are those of a game that has none of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from training.players.policy import Policy

# Values of rollouts, higher is better, float64 (m,): of outcomes (m, P), of the rows with which
# they ended (m,), and of the seats that judge (m,).
Outcome = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
# Of rollouts that ended in rows (m,): which are not over, bool (m,); what a value network sees of
# these, float32 (k, inputs); and the seats of its outputs, int (k, P).
View = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
# Tells in which rows (k,) a decision is searched, bool (k,).
Searched = Callable[[np.ndarray], np.ndarray]


def points(outcomes: np.ndarray, rows: np.ndarray, seats: np.ndarray) -> np.ndarray:
    """Return the points of the seat itself."""
    own: np.ndarray = outcomes[np.arange(len(outcomes)), seats]
    return own


def margin(outcomes: np.ndarray, rows: np.ndarray, seats: np.ndarray) -> np.ndarray:
    """Return the lead of the seat over the mean of the others."""
    own, others = points(outcomes, rows, seats), outcomes.shape[1] - 1
    if not others:
        return own
    ahead: np.ndarray = own - (outcomes.sum(1) - own) / others
    return ahead


@dataclass(frozen=True)
class SearchRules:
    """How positions of a game are searched.

    Parameters
    ----------
    actor : str
        Field of the row with the seat whose decision is due, where it shows one at a time; empty
        in games for one, and in those whose rows have an entry an agent.
    rollouts : str
        Bot that plays all seats in rollouts; empty for the last of the game's bots.
    horizon : str or None
        Stop condition at which rollouts end; None for the end of the episode.
    ends : tuple of str
        Stop conditions that end the episode: others cannot end rollouts in which a network plays.
    limit : int or None
        Decisions after which they end.
    outcome : str
        What is judged, a name in ``outcomes``.
    outcomes : mapping of str to callable
    units : mapping of str to str
        Of outcomes, in words.
    made : mapping of str to callable
        Further outcomes, which depend on the rules of a game: each is made of the game.
    decisions : str
        Which decisions are searched, a name in ``searched`` or ``all``.
    searched : mapping of str to callable
    options : mapping
        Other defaults of :class:`training.search.options.SearchOptions`.
    network : callable or None
        Returns the defaults of options with which a given network searches in whole games, where
        they differ from those above. They count where nothing is said of rollouts.
    beliefs : callable or None
        Returns what weighs worlds, given the name of a belief, the policy, an engine, and what
        learns who the others are, if that is asked for; see
        :class:`training.search.searcher.Belief`. None where all worlds are equally likely.
    opponents : callable or None
        Returns what learns who the others are, given the policy or None and an engine; see
        :class:`training.search.blueprints.Model`. None where nobody can tell.
    view : callable or None
        Returns what a value network sees of rollouts of a game, which is given; see :data:`View`.
    """

    actor: str = ""
    rollouts: str = ""
    horizon: str | None = None
    ends: tuple[str, ...] = ()
    limit: int | None = None
    outcome: str = "margin"
    outcomes: Mapping[str, Outcome] = field(
        default_factory=lambda: {"points": points, "margin": margin}
    )
    units: Mapping[str, str] = field(
        default_factory=lambda: {"points": "points", "margin": "points ahead of the others"}
    )
    made: Mapping[str, Callable[[Any], Outcome]] = field(default_factory=dict)
    decisions: str = "all"
    searched: Mapping[str, Searched] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    network: Callable[[Policy], Mapping[str, Any]] | None = None
    beliefs: Callable[..., Any] | None = None
    opponents: Callable[..., Any] | None = None
    view: Callable[[Any], View] | None = None

    def find_outcome(self, name: str, game: Any) -> Outcome | None:
        """Find an outcome of a game by its name, or None."""
        if name in self.made:
            return self.made[name](game)
        return self.outcomes.get(name)
