"""A table: an engine, the player of each seat, and what all may hear of the game."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from training.players.person import Person
from training.players.player import Player, every_lane
from training.run.game_view import GameView, find_view
from training.run.seating import name_all_seats

Decisions = tuple[tuple[int, int], ...]  # seat and action of each that leads to the next row


@dataclass
class GameTable:
    """A game that is played, in one lane or several.

    Parameters
    ----------
    env : str
        Id of the environment, without the namespace.
    options : mapping
        Of the environment, as it is shown.
    engine : BatchEngine
    players : list of Player
        By seat.
    names : list of str
        Theirs, that people read.
    asked : list of str
        Words by which they can be loaded again; empty where nobody will.
    """

    env: str
    options: Mapping[str, Any]
    engine: Any
    players: list[Player]
    names: list[str]
    asked: list[str] = field(default_factory=list)

    @cached_property
    def view(self) -> GameView:
        """The view of the game."""
        return find_view(self.env)

    @property
    def meets(self) -> bool:
        """Whether several players meet."""
        return len(self.players) > 1

    @property
    def persons(self) -> list[int]:
        """Seats of persons."""
        return [seat for seat, player in enumerate(self.players) if isinstance(player, Person)]

    # -- seats -----------------------------------------------------------------------------------

    def actors(self) -> np.ndarray:
        """Return the seat whose decision is due in each lane, int (n,)."""
        lanes = self.engine.num_envs
        seats: np.ndarray = self.engine.get_actors() if self.meets else np.zeros(lanes, np.int32)
        return seats

    def find_looking_seat(self, actor: int) -> int:
        """Return the seat whose view is shown: who decides, or a person who plays against him."""
        persons = self.persons
        return actor if not persons or actor in persons else persons[0]

    def draw(self, row: np.void, mode: str) -> Any:
        """Draw a row as a person who meets others sees it, or all of it where nobody does."""
        game = self.engine.game
        if self.meets and self.persons:
            return game.render_seat(row, self.persons[0], mode)
        return game.render(row, mode)

    def render(self, row: np.void, seat: int) -> str:
        """Draw a row as the player of a seat sees it, as text with colours."""
        return self.view.render_state(self.engine, row, self.names, seat)

    # -- players ---------------------------------------------------------------------------------

    def begin(self, lanes: np.ndarray | None = None, seeds: Sequence[int] | None = None) -> None:
        """Let players forget, where games begin or are gone back to; default in all lanes.

        With ``seeds``, one a seat, they draw from these on: in lane ``i`` from ``i`` more.
        """
        lanes = every_lane(self.engine) if lanes is None else lanes
        for seat, player in enumerate(self.players):
            player.begin(self.engine, lanes, None if seeds is None else seeds[seat] + lanes)

    def go(self, rows: np.ndarray, *, trusted: bool = True) -> None:
        """Go to rows in all lanes; players forget what was.

        Rows that are not ``trusted`` to be this engine's own are checked.
        """
        self.engine.set_states(rows, trusted=trusted)
        self.begin()

    # -- what all may hear -----------------------------------------------------------------------

    def is_pending(self, before: Any, after: Any) -> bool:
        """Tell by rows whether nothing has come of a decision yet: others decide with it."""
        return self.meets and after.tobytes() == before.tobytes()

    def describe_decisions(
        self, before: np.void, decisions: Iterable[tuple[int, int]], after: np.void
    ) -> list[str]:
        """Describe in lines what all saw of decisions that together led to the next row."""
        lines: list[str] = []
        for seat, action in decisions:
            names = name_all_seats(self.engine.game, before, self.names, seat)
            own = names.index(self.names[seat])
            args = self.engine, before, action, after, names
            lines += self.view.describe_decision(*args, seat=own)
        return lines

    def reward(self, before: np.void, decisions: Decisions, after: np.void) -> float:
        """Compute what decisions have brought: to a person who plays, or to who decided last."""
        if not self.meets:
            return float(self.engine.reward[0])
        seat = self.persons[0] if self.persons else decisions[-1][0]
        rows = np.array([before, after], before.dtype)
        were, are = self.engine.game.outcomes(rows)[:, seat]
        return float(are - were)

    def rank(self, row: np.void) -> list[tuple[str, float]]:
        """List who has how many points in a row, the best first."""
        points = self.engine.game.outcomes(np.array([row], row.dtype))[0].tolist()
        ranked = sorted(zip(points, self.names, strict=True), reverse=True)
        return [(name, total) for total, name in ranked]

    def describe_result(self, row: np.void, total: float) -> str:
        """Describe the result of a game that is over in a sentence; who plays alone has a total."""
        if not self.meets:
            return f"The game is over: return {total:.6g}."
        return f"The game is over: {', '.join(f'{name} {x:.6g}' for name, x in self.rank(row))}."

    def name_legal(self, mask: np.ndarray, row: np.void, most: int | None = None) -> dict[int, str]:
        """Return the legal actions of a row and their names; of several agents the first one's."""
        legal = np.flatnonzero(mask.reshape(-1, mask.shape[-1])[0])[:most].tolist()
        return {action: self.engine.game.action_name(action, row) for action in legal}


def collect_lines(told: Iterable[Sequence[str]], most: int) -> list[str]:
    """Return the last lines of what was told at moments, given the newest moment first."""
    lines: list[str] = []
    for each in told:
        lines[:0] = each
        if len(lines) >= most:
            break
    return lines[-most:]


def number_names(names: Sequence[str]) -> list[str]:
    """Add numbers to names that occur more than once."""
    return [
        name if names.count(name) == 1 else f"{name} #{names[:k].count(name) + 1}"
        for k, name in enumerate(names)
    ]
