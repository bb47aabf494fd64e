"""A player of placements as a player of frames: it presses buttons that bring the pill there."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.drmario import reachability
from fastenv.drmario import tables as t
from fastenv.errors import InvalidActionError, StateError
from training.players.names import AnyPlayer, make_player
from training.players.policy import Policy
from training.run.envs import make_engine

ENV = "DrMarioPlacement-v0"
LANE = np.arange(1)
SHOWN = (
    *("board", "color_first", "color_second", "preview_first", "preview_second"),
    *("virus_bcd", "speed_ups", "locks"),
)


class FramePlayer:
    """Plays a seat of an engine of one lane; see :class:`training.players.player.Player`.

    Its own bottle is written into a game of placements for one, and there it is asked; garbage and
    the other bottle it does not see.

    Parameters
    ----------
    who : Policy, SearchingAgent, str or callable
        Plays in ``DrMarioPlacement-v0``.
    engine : BatchEngine
        Of ``DrMarioFrame-v0`` or ``DrMarioVersusFrame-v0``, whose actions are buttons.
    """

    def __init__(self, who: AnyPlayer, engine: Any) -> None:
        base = getattr(who, "base", who)
        options = base.env_spec.options if isinstance(base, Policy) else {}
        self._inner = make_engine(ENV, 1, options)
        self._player = make_player(who, self._inner)
        self._pill, self._script = -1, b""

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Forget the plan of the current pill."""
        self._pill, self._script = -1, b""
        self._player.begin(self._inner, lanes, seeds)

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return the buttons of the frame."""
        row = engine.get_states(lanes)[0]
        seat = int(engine.get_actors(lanes)[0]) if len(row["players"]) > 1 else 0
        player = row["players"][seat]
        falls = player["mode"] == t.Mode.PLAYING and player["next_action"] == t.Next.FALLING
        if falls and self._pill != player["reserve_index"]:
            self._pill, self._script = int(player["reserve_index"]), self._plan(row, player)
        pressed, self._script = self._script[:1] or b"\0", self._script[1:]
        return np.array([pressed[0]], np.int32)

    def _plan(self, row: Any, player: Any) -> bytes:
        """Return the buttons, one a frame, that bring a new pill to where it is to lie."""
        inner = self._inner
        inner.configure("level", int(player["level"]))
        inner.configure("speed", t.SPEEDS[player["speed_setting"]])
        inner.reset_many(seeds=[1])
        state = inner.get_states([0])
        for name in SHOWN:
            state["players"][name][0, 0] = player[name]
        state["frame"] += np.uint32(row["frame"] + state["frame"][0] & 1)  # of the same parity
        falls = t.gravity(int(player["speed_setting"]), int(player["speed_ups"]))
        try:
            inner.set_states(state, [0])
            placement = int(self._player.act(inner, LANE)[0])
            return reachability.script(player["board"], int(row["frame"]) & 1, falls, placement)
        except (StateError, InvalidActionError):  # it falls as it is
            return b""
