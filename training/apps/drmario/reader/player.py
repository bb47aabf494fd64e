"""A player of Dr. Mario's placements that sees the board only in frames of a camera.

What was read is written into a game of its own, whose observation the player is shown, planned
and encoded as any other. Told, not read, is what whoever plays knows: level and speed, which are
chosen before the game, and how many frames and pills have passed, which can be counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fastenv.drmario import tables as t
from fastenv.drmario.tables import Tile
from training.apps.drmario.best_times import ENV
from training.apps.drmario.reader import camera, cell_classes
from training.apps.drmario.reader.cell_classes import BOARD, CLASSES
from training.apps.drmario.reader.network import Reader
from training.players.names import make_player
from training.run.envs import make_engine
from training.run.options import require

if TYPE_CHECKING:
    from training.players.names import AnyPlayer

BATCH = 32
GONE = (Tile.CLEARING, Tile.EMPTIED)  # none is left where a decision is due
SPAWN = [t.COLUMNS + column for column in t.SPAWN_CELLS]  # cells where pills appear


class CameraPlayer:
    """A player that sees frames of a camera; every episode is filmed by another one.

    See :class:`training.players.player.Player`.

    Parameters
    ----------
    who : Policy, SearchingAgent, str or callable
        Plays in ``DrMarioPlacement-v0``.
    reader : Reader
    options : mapping
        Of the environment that he has learnt in.
    engine : BatchEngine

    Attributes
    ----------
    engine : BatchEngine
        What the player is shown.

    Raises
    ------
    ConfigError
        For another environment than ``DrMarioPlacement-v0``.
    """

    def __init__(self, who: AnyPlayer, reader: Reader, options: Any, engine: Any) -> None:
        require(engine.game.env_id == ENV, "env", engine.game.env_id, f"{ENV} through a camera")
        self._reader = reader
        self.engine = make_engine(ENV, engine.num_envs, options)
        self._player = make_player(who, self.engine)
        self.engine.reset_many(seeds=0)
        self._begun: Any = self.engine.get_states()
        # Of each lane, so that what films one game is the same whoever plays beside it.
        self._rngs = [np.random.default_rng(lane) for lane in range(engine.num_envs)]
        self._cameras: dict[int, np.ndarray] = {}

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Set up other cameras, and take the beginning of such games.

        Level and speed decide all of it but the board.

        Raises
        ------
        ConfigError
            For levels where matches count.
        """
        players = engine.get_states(lanes)["players"][:, 0]
        allowed = f"from {t.FEWEST_VIRUSES_LEVEL} on: where matches count, they are not read"
        for k, (lane, player) in enumerate(zip(lanes.tolist(), players, strict=True)):
            level = int(player["level"])
            require(level >= t.FEWEST_VIRUSES_LEVEL, "level", level, allowed)
            self.engine.configure("level", level, [lane])
            self.engine.configure("speed", t.SPEEDS[player["speed_setting"]], [lane])
            if seeds is not None:
                self._rngs[lane] = np.random.default_rng(int(seeds[k]))
            self._cameras[lane] = camera.draw(1, self._rngs[lane])
        fresh = np.isin(np.arange(engine.num_envs), lanes)
        self.engine.reset_many(fresh, seeds=0)
        self._begun[lanes] = self.engine.get_states(lanes)
        self._player.begin(self.engine, lanes, seeds)

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return the player's actions in the games as they were read."""
        rows = engine.get_states(lanes)
        states = self._build_state(CLASSES[self._read(rows, lanes)], rows, lanes)
        self.engine.set_states(states, lanes)
        return self._player.act(self.engine, lanes)

    def _read(self, rows: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """Return the classes of the cells of games (k,) in lanes, as their cameras show them."""
        classes = np.zeros((len(lanes), cell_classes.CELLS), np.uint8)
        for k in range(0, len(lanes), BATCH):
            pictures = cell_classes.draw_pictures(rows[k : k + BATCH])[0]
            frames = [
                camera.shoot(picture[None], self._cameras[lane], self._rngs[lane])
                for picture, lane in zip(pictures, lanes[k : k + BATCH].tolist(), strict=True)
            ]
            classes[k : k + BATCH] = self._reader.read_classes(np.concatenate(frames))
        return classes

    def _build_state(self, tiles: np.ndarray, rows: Any, lanes: np.ndarray) -> np.ndarray:
        """Build rows from the tiles that were read, shape (k,).

        Parameters
        ----------
        tiles : ndarray of uint8, shape (k, 138)
        rows : ndarray, shape (k,)
            Of the games, for clock and number of pills.
        lanes : ndarray of int, shape (k,)
        """
        states = self._begun[lanes]
        players, of = rows["players"][:, 0], states["players"][:, 0]
        # of the games: the clock and the number of pills
        elapsed, pills = rows["ep_frames"], players["locks"]
        states["frame"] += elapsed.astype(np.uint32)
        states["ep_frames"], states["ep_length"] = elapsed, rows["ep_length"]
        of["locks"] = pills
        of["speed_ups"] = np.minimum(of["speed_ups"] + (1 + pills) // 10, t.MAX_SPEED_UPS)
        # read: the bottle and both pills
        grid = np.where(np.isin(tiles & 0xF0, GONE), t.EMPTY, tiles).astype(np.uint8)
        colours = np.where(tiles == t.EMPTY, 0, tiles & 0x0F)
        grid[:, SPAWN] = t.EMPTY
        of["board"] = grid[:, t.COLUMNS : BOARD]
        of["color_first"], of["color_second"] = colours[:, SPAWN].T
        of["preview_first"], of["preview_second"] = colours[:, BOARD:].T
        viruses = (of["board"] & 0xF0 == Tile.VIRUS).sum(1)
        of["virus_bcd"] = [t.to_bcd(min(int(count), 99)) for count in viruses]
        states["players"][:, 0] = of
        return states
