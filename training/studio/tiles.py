"""Several games side by side, which no person plays: their views, and picking one."""

from __future__ import annotations

import time
from typing import Any

from training.playing.game_table import GameTable
from training.playing.session import GameSession
from training.studio.places import Places
from training.studio.seating import make_game_table
from training.studio.show import Visits


class Tiles:
    """The lanes of a session.

    Parameters
    ----------
    game : GameSession
        Which is endless from now on.
    """

    def __init__(self, game: GameSession) -> None:
        self._game, self._table, self._view = game, game.table, game.table.view
        self._decisions = self._episodes = 0
        self._visits = Visits(game)
        game.endless = True

    def advance(self, until: float | None) -> None:
        """Take a decision in every lane, or as many as there is time for.

        Parameters
        ----------
        until : float or None
            By ``time.monotonic``; None takes one.
        """
        while True:
            running = ~self._game.moment.ended
            self._game.step()
            self._decisions += int(running.sum())
            self._episodes += int(self._game.moment.ended.sum())
            self._visits.add()
            if until is None or time.monotonic() > until:
                return

    def pick(self, lane: int, places: Places) -> GameTable:
        """Return a table of one lane that stands where a lane does."""
        table = self._table
        lane = min(lane, table.engine.num_envs - 1)
        picked = make_game_table(table.env, table.options, table.asked, lane, places)
        picked.engine.reset_many(seeds=[lane])
        picked.go(self._game.rows[[lane]])
        return picked

    def view(self, running: bool) -> tuple[dict[str, Any], bytes]:
        """Return a view of all lanes, and their pictures one behind the other."""
        game, table, engine = self._game, self._table, self._table.engine
        rows = game.rows
        pictures = [self._view.picture(engine, row) for row in rows]
        message: dict[str, Any] = {
            "kind": "view",
            "running": running,
            "lanes": engine.num_envs,
            "decisions": self._decisions,
            "episodes": self._episodes,
            "visits": self._visits.to_list(),
        }
        shown = [picture for picture in pictures if picture is not None]
        if len(shown) == len(rows):
            message["picture"] = shown[0][:2]
            return message, b"".join(picture[2] for picture in shown)
        draw = self._view.scene
        scenes = [
            draw(engine, row, int(seat), table.names)
            for row, seat in zip(rows, game.seats, strict=True)
        ]
        message["scenes"] = scenes
        if scenes[0] is None:
            render = engine.game.render
            message["texts"] = [render(row, "ansi") for row in rows[:16]]
        return message, b""
