"""Let whoever plays Dr. Mario by placements see frames of a camera, and nothing else of the board.

What was read is written into a game of its own, whose observation the player is shown, planned
and encoded as any other. Told, not read, is what whoever plays knows: level and speed, which are
chosen before the game, and how many frames and pills have passed, which can be counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from fastenv import BatchEngine
from fastenv.drmario import tables as t
from fastenv.drmario.tables import Tile
from training.apps.drmario.reader import camera, cell_classes
from training.apps.drmario.reader.cell_classes import BOARD, CLASSES
from training.apps.drmario.reader.network import Reader
from training.evaluation.episodes import Player
from training.evaluation.policies import Policy
from training.run.envs import make_engine
from training.run.options import require

ENV = "DrMarioPlacement-v0"
BATCH = 32
GONE = (Tile.CLEARING, Tile.EMPTIED)  # none is left where a decision is due
SPAWN = [t.COLUMNS + column for column in t.SPAWN_CELLS]  # cells where pills appear


class CameraPlayer:
    """A player who sees what a camera shows; every episode is filmed by another one.

    Parameters
    ----------
    policy : Policy
        Plays in engines of ``DrMarioPlacement-v0``.
    reader : Reader
    options : mapping
        Of the environment that the policy has learnt in.
    lanes : int
    seed : int
        Of the cameras.
    ranges : Ranges, optional
        Of the cameras.

    Attributes
    ----------
    engine : BatchEngine
        What the player is shown.
    """

    def __init__(
        self,
        policy: Policy,
        reader: Reader,
        options: Any,
        lanes: int,
        seed: int,
        ranges: camera.Ranges | None = None,
    ) -> None:
        self._policy, self._reader = policy, reader
        self._rng = np.random.default_rng(seed)
        self._cameras = camera.draw(lanes, self._rng, ranges)
        self.engine = make_engine(ENV, lanes, options)
        self._begun: Any = None

    def act(self, engine: BatchEngine) -> np.ndarray:
        """See :class:`training.evaluation.policies.Policy`.

        Raises
        ------
        ConfigError
            For another environment than ``DrMarioPlacement-v0``, or levels where matches count.
        """
        require(engine.game.env_id == ENV, "env", engine.game.env_id, f"{ENV} through a camera")
        rows = engine.get_states()
        if self._begun is None:
            self._begin(rows)
        running = np.flatnonzero(rows["done"] == 0)
        states = self._state(CLASSES[self._read(rows, running)], rows[running], running)
        self.engine.set_states(states, running)
        return self._policy.act(self.engine)

    def _read(self, rows: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """Return the classes of the cells of games in some lanes, as their cameras show them."""
        found = np.zeros((len(lanes), cell_classes.CELLS), np.uint8)
        for k in range(0, len(lanes), BATCH):
            part = lanes[k : k + BATCH]
            cameras = self._cameras[torch.from_numpy(part)]
            frames = camera.shoot(cell_classes.draw_pictures(rows[part])[0], cameras, self._rng)
            found[k : k + BATCH] = self._reader.read_classes(frames)
        return found

    def _begin(self, rows: Any) -> None:
        """Take the beginning of such games: level and speed decide all of it but the board."""
        players = rows["players"][:, 0]
        allowed = f"from {t.FEWEST_VIRUSES_LEVEL} on: where matches count, they are not read"
        lowest = int(players["level"].min())
        require(lowest >= t.FEWEST_VIRUSES_LEVEL, "level", lowest, allowed)
        for lane, player in enumerate(players):
            self.engine.configure("level", int(player["level"]), [lane])
            self.engine.configure("speed", t.SPEEDS[player["speed_setting"]], [lane])
        self.engine.reset_many(seeds=0)
        self._begun = self.engine.get_states()

    def _state(self, tiles: np.ndarray, rows: Any, lanes: np.ndarray) -> np.ndarray:
        """Return rows of what was read, shape (k,).

        Parameters
        ----------
        tiles : ndarray of uint8, shape (k, 138)
        rows : ndarray, shape (k,)
            Of the games, for what is given.
        lanes : ndarray of int, shape (k,)
        """
        found = self._begun[lanes]
        given, of = rows["players"][:, 0], found["players"][:, 0]
        # given: the clock and the number of pills
        elapsed, pills = rows["ep_frames"], given["locks"]
        found["frame"] += elapsed.astype(np.uint32)
        found["ep_frames"], found["ep_length"] = elapsed, rows["ep_length"]
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
        found["players"][:, 0] = of
        return found


def through_pixels(
    player: Player, reader: Reader, options: Any, ranges: camera.Ranges | None = None
) -> Player:
    """Return a player who sees frames instead of rows; see :class:`CameraPlayer`."""

    def seated(seed: int, lanes: int) -> CameraPlayer:
        return CameraPlayer(player(seed, lanes), reader, options, lanes, seed, ranges)

    return seated
