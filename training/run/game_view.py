"""How a game is shown: rows as text, as data to draw, and decisions in words.

Whoever shows games knows none of them. The defaults here suit any game: its own text, and the names
of its actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from training.run import games

YOU = "You"  # the name of a person who plays


def find_view(env: str) -> GameView:
    """Find the view of the game of an environment.

    The capability ``view`` is a class derived from :class:`GameView`.
    """
    view: GameView = (games.find(env, "view") or GameView)()
    return view


class ObservationBlock(NamedTuple):
    """Numbers of a plain observation that belong together.

    Parameters
    ----------
    name : str
    offset, length : int
        Among its numbers.
    meaning : str
    """

    name: str
    offset: int
    length: int
    meaning: str = ""


class PadKey(NamedTuple):
    """A button on a touch screen.

    Parameters
    ----------
    key : str
        As :mod:`fastenv.keys` names it.
    label : str
    """

    key: str
    label: str


class GameView:
    """The view of a game; the defaults are those of a game without one of its own.

    Attributes
    ----------
    page : Path or None
        A module of JavaScript that draws scenes; ``docs/reference/studio.md`` says what it exports.
    rules : Path or None
        The rules for who plays for the first time: paragraphs, lists and tables of HTML.
    frame_rate : float
        Frames a second of real time, where ``tau`` counts them; 0 elsewhere.
    """

    page: ClassVar[Path | None] = None
    rules: ClassVar[Path | None] = None
    frame_rate: ClassVar[float] = 0.0

    def person_options(self, env: str) -> Mapping[str, Any]:
        """Return options of an environment that suit a person who plays it alone."""
        return {}

    def other_env(self, env: str) -> str | None:
        """Return another environment of the game, whose players :meth:`player` brings here."""
        return None

    def player(self, engine: Any, who: Any) -> Any:
        """Make a player of :meth:`other_env` play this engine of one lane.

        Parameters
        ----------
        engine : BatchEngine
        who : Policy, SearchingAgent or str

        Returns
        -------
        training.players.player.Player
        """
        raise NotImplementedError

    def pad(self, engine: Any) -> Sequence[PadKey]:
        """Return the buttons for a person without a keyboard."""
        return ()

    def render_state(self, engine: Any, row: np.void, names: Sequence[str], seat: int = 0) -> str:
        """Draw a state as a player sees it, as text with colours.

        Parameters
        ----------
        engine : BatchEngine
        row : record
        names : sequence of str
            Of the players in seat order.
        seat : int
            The player's, whose decision is due unless the game is over.
        """
        text: str = engine.game.render_seat(row, seat, "ansi")
        return text

    def describe_decision(
        self,
        engine: Any,
        before: np.void,
        action: int,
        after: np.void,
        names: Sequence[str],
        seat: int = 0,
    ) -> list[str]:
        """Describe what all players saw of a decision, in lines of text.

        Parameters
        ----------
        engine : BatchEngine
        before, after : record
            States. What is decided together leads from one to the next.
        action : int
        names : sequence of str
            Of the players in seat order; the person's is :data:`YOU`.
        seat : int
            Who decided.
        """
        return [f"{names[seat]}: {engine.game.action_name(action, before)}"]

    def scene(
        self,
        engine: Any,
        row: np.void,
        seat: int,
        names: Sequence[str],
        *,
        opened: bool = False,
        choice: int | None = None,
    ) -> dict[str, Any] | None:
        """Describe the objects of a state, as small JSON values; None if a game has only its text.

        Parameters
        ----------
        engine : BatchEngine
        row : record
        seat : int
            Who looks: nothing is in it that this seat may not see.
        names : sequence of str
            Of the players in seat order.
        opened : bool
            Show what is hidden from the seat too.
        choice : int, optional
            An action that is about to be taken.
        """
        return None

    def picture(self, engine: Any, row: np.void) -> tuple[int, int, bytes] | None:
        """Return width, height and pixels, four a byte and the first in the low bits; or None.

        Shades go from 0 (white) to 3.
        """
        return None

    def held_action(self, engine: Any, keys: Sequence[str]) -> int | None:
        """Return the action of a frame in which keys are held, the newest last.

        None leaves it to the game's steering, which takes one key.
        """
        return None

    def mark(self, engine: Any, before: np.void, after: np.void) -> str:
        """Name in a word the event of a decision that is worth returning to; empty without one."""
        return ""

    def blocks(self, engine: Any) -> Sequence[ObservationBlock]:
        """Describe the blocks of a plain observation, as the game's layout declares them."""
        return ()

    def insight(self, engine: Any, row: np.void, seat: int) -> dict[str, Any]:
        """Describe a row beyond observation and mask, as small JSON values."""
        return {}

    def place(self, engine: Any, lane: int) -> tuple[int, int, int] | None:
        """Return map, column and row of the player of a lane; None without a map."""
        return None
