"""The view of a game: scene or text, legal actions by name, and the decisions of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from training.playing.game_table import GameTable
from training.playing.session import GameSession
from training.run.registry import DEFAULT_ENVS
from training.studio import catalog

MAX_LEGAL = 600  # actions that are named
MAX_NEWS = 60  # lines that wait to be read
MAX_VISITS = 20_000  # places that are counted


def is_secret(table: GameTable) -> bool:
    """Tell whether a person plays from whom other seats hide something."""
    return bool(table.persons) and table.meets and bool(table.engine.spec.hidden)


class Visits:
    """Counts how often the players of a session were at the places of a map, if there is one.

    Parameters
    ----------
    game : GameSession
    """

    def __init__(self, game: GameSession) -> None:
        self._game, self._counts = game, dict[tuple[int, int, int], int]()

    def add(self) -> None:
        """Count where the players of all lanes are."""
        view, engine, counts = self._game.table.view, self._game.engine, self._counts
        for lane in range(engine.num_envs):
            place = view.place(engine, lane)
            if place is None:
                break
            if place in counts or len(counts) < MAX_VISITS:
                counts[place] = counts.get(place, 0) + 1

    def to_list(self) -> list[list[int]]:
        """Return map, column, row and count of each place."""
        return [[*place, count] for place, count in self._counts.items()]


class Shown:
    """The view of a session of one lane.

    Parameters
    ----------
    game : GameSession

    Attributes
    ----------
    serial : int
        The client's number of the last key that was heard of.
    visits : Visits
    """

    def __init__(self, game: GameSession) -> None:
        self._game, self._table, self._view = game, game.table, game.table.view
        self.serial = 0
        self._news: list[str] = []
        self._steering: Any = None
        self._steers = False
        self.visits = Visits(game)

    # -- where it stands -------------------------------------------------------------------------

    @property
    def row(self) -> np.void:
        """The row where it stands."""
        row: np.void = self._game.rows[0]
        return row

    def go(self) -> None:
        """Forget what was said: the session stands somewhere else."""
        self._news.clear()
        self._steering, self._steers = None, False

    def hear(self) -> None:
        """Take in what has come of decisions."""
        self._news += self._game.moment.lines
        del self._news[:-MAX_NEWS]
        self.visits.add()
        self.forget_steering()

    def forget_steering(self) -> None:
        """Forget a steering that waits: it belongs to one row; one of frames to all."""
        if self._steering is None or self._steering.idle is None:
            self._steering, self._steers = None, False

    # -- a person --------------------------------------------------------------------------------

    @property
    def steering(self) -> Any:
        """The steering by which a person chooses an action with keys; None without one."""
        if not self._steers and self._game.waits:
            steering = self._table.engine.game.steering(self.row)
            # One that waits shows what the first player may choose.
            own = not self._table.meets or int(self._game.seats[0]) == 0
            waits = steering is not None and steering.idle is None
            self._steering = steering if own or not waits else None
            self._steers = True
        return self._steering

    @property
    def frame_time(self) -> float | None:
        """Seconds of a frame, where the game does not wait for a person; None where it does."""
        steering = self.steering if self._table.persons else None
        return None if steering is None or steering.idle is None else steering.frame_time

    def press(self, key: str) -> int | None:
        """Take a key where the game waits; return the action once it is chosen."""
        return None if self.steering is None else self.steering.press(key)

    def held_action(self, held: Sequence[str], tapped: Sequence[str]) -> int | None:
        """Return the action of a frame in which keys are held or were pressed."""
        steering = self.steering
        if steering is None or steering.idle is None:
            return None
        keys = [*(key for key in tapped if key not in held), *held]
        action = self._view.held_action(self._table.engine, keys)
        for key in reversed(keys):
            action = steering.press(key) if action is None else action
        idle: int = steering.idle
        return idle if action is None else action

    def is_legal(self, action: int) -> bool:
        """Tell whether an action may be taken now."""
        mask = self._table.engine.mask[0]
        return 0 <= action < len(mask) and bool(mask[action])

    def why_illegal(self, action: int) -> str:
        """Give in a sentence the reason why an action cannot be taken."""
        engine = self._table.engine
        if not 0 <= action < engine.num_actions:
            return f"action {action}: there are 0 to {engine.num_actions - 1}."
        named = [f"{a} ({name})" for a, name in self.legal()[:12]]
        more = "" if int(engine.mask[0].sum()) <= 12 else ", ..."
        called = engine.game.action_name(action, self.row)
        due = engine.game.describe(self.row)
        return f"{called} is not possible in {due}: possible are {', '.join(named)}{more}."

    def legal(self) -> list[tuple[int, str]]:
        """Return the legal actions and their names."""
        table = self._table
        return [*table.name_legal(table.engine.mask[0], self.row, MAX_LEGAL).items()]

    # -- messages --------------------------------------------------------------------------------

    def table_message(self, seed: int | None, adviser: str | None = None) -> dict[str, Any]:
        """Make the message ``table``: what a page must know of the game before it draws it.

        Parameters
        ----------
        seed : int or None
            Of the game, where it was begun with one.
        adviser : str or None
            Who advises by default.
        """
        table, engine = self._table, self._table.engine
        page = self._view.page
        steering = self.steering
        return {
            "kind": "table",
            "env": table.env,
            "title": catalog.find_family(table.env).title,
            "goal": engine.game.goal,
            "options": table.options,
            "players": table.asked,
            "names": table.names,
            "persons": table.persons,
            "seed": seed,
            "lanes": engine.num_envs,
            "hidden": bool(engine.spec.hidden),
            "adviser": adviser,
            "page": f"/game/{table.env}/page.js" if page is not None else None,
            "rules": f"/game/{table.env}/rules" if self._view.rules is not None else None,
            "keys": "" if steering is None else steering.keys,
            "frame_time": self.frame_time,
            "pad": [key._asdict() for key in self._view.pad(engine)],
            "default": table.env == DEFAULT_ENVS["play"],
        }

    @property
    def seat(self) -> int:
        """The seat from which it is shown."""
        return self._table.find_looking_seat(int(self._game.seats[0]))

    def view(self, where: dict[str, Any], *, opened: bool) -> tuple[dict[str, Any], bytes]:
        """Make the view of the game as it stands, and its picture.

        Parameters
        ----------
        where : dict
            Of the timeline.
        opened : bool
            Whether hidden things are shown too.
        """
        table, engine, row = self._table, self._table.engine, self.row
        yours, over = self._game.waits, bool(engine.ended[0])
        message: dict[str, Any] = {
            **where,
            "actor": int(self._game.seats[0]) if not over else -1,
            "yours": yours,
            "over": over,
            "reward": round(self._game.moment.reward, 6),
            "key": self.serial,
        }
        choice = None
        waits = self.frame_time is None
        if waits:
            choice = getattr(self.steering, "action", None) if yours else None
            message["legal"] = self.legal() if yours else []
            message["news"] = self._news[:]
        if yours and waits and not where["running"]:
            self._news.clear()
        if over:
            message["result"] = table.describe_result(row, float(row["ep_return"].sum()))
        how: dict[str, Any] = {"opened": opened, "choice": choice}
        message["scene"] = self._view.scene(engine, row, self.seat, table.names, **how)
        if message["scene"] is None:
            message["text"] = table.render(row, self.seat)
        picture = self._view.picture(engine, row)
        if picture is None:
            return message, b""
        message["picture"] = picture[:2]
        return message, picture[2]
