"""Dr. Mario: what networks may know of a board, and how it is evaluated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fastenv.drmario.layout import PLANES, STABLE
from fastenv.drmario.tables import CELLS, COLUMNS, NUM_PLACEMENTS, ROWS, Reason, from_bcd
from training.run.engine import Engine
from training.run.games import (
    Budget,
    Colours,
    GameTraining,
    ObservationParts,
    Placements,
    Records,
)

# Where the second half is, in rows down and columns right, by orientation (docs/drmario.md, 11.3).
SECOND_HALF = ((0, 1), (1, 0), (0, -1), (-1, 0))
COST_UNIT = 64.0  # frames: about what a pill falls from top to bottom

OPTIONS = {
    "speed": "medium",
    "obs": "bitplane_bottle_conn_mask",
    "obs_dtype": "uint8",
    "extras": ["pill", "aux", "costs"],
}


def fewer_viruses(rows: np.ndarray) -> np.ndarray:
    """Return minus the viruses that the first player of each row has left."""
    packed: Any = rows["players"]["virus_bcd"][:, 0].astype(np.int64)
    found: np.ndarray = np.negative(from_bcd(packed))
    return found


class DrMario(GameTraining):
    """What training must know of Dr. Mario; see :class:`training.run.games.GameTraining`."""

    title = "Dr. Mario"
    env_options = OPTIONS
    episode_columns: ClassVar = {
        "reason": "kept",
        "level": "kept",
        "game_seed": "kept",
        "success": "share",
        "spawns": "measure",
        "viruses": "measure",
    }
    goal_met: ClassVar = {"info": "reason", "equals": int(Reason.CLEAR)}
    budgets: ClassVar = {
        "frames": Budget("task_max_frames"),
        "spawns": Budget("task_max_spawns", "spawns", step=1),
    }
    potentials: ClassVar = {"viruses": fewer_viruses}
    bots: tuple[str, ...] = ("greedy", "first", "random")
    protocol = "training.games.drmario.evaluation"
    commands: ClassVar = {
        "evaluate_seeds": "training.games.drmario.evaluate_seeds",
        "evaluator": "training.games.drmario.evaluator.command",
        "viewer": "training.games.drmario.viewer.command",
        "reader": "training.games.drmario.reader.command",
    }

    def config(self, env: str, trainer: str) -> str | None:
        """Return the file with the options that learn."""
        return "drmario.yaml" if trainer == "native" else None

    def records(self, path: Path, config: Any, run: str = "") -> Records:
        """Return the store of best times."""
        from training.games.drmario.records import StoreOfRun

        return StoreOfRun(path, config, run)

    def potential(self, name: str) -> Callable[[np.ndarray], np.ndarray]:
        """Return a potential by name; ``evaluator:FILE`` is minus the frames it expects."""
        if not name.startswith("evaluator:"):
            return super().potential(name)
        from training.games.drmario.evaluator.potential import frames_left

        return frames_left(Path(name.removeprefix("evaluator:")))

    def player(self, name: str) -> Any:
        """Return the look-ahead by an evaluator, ``lookahead:FILE``."""
        from training.games.drmario.evaluator import players

        return players.lookahead(name) if players.is_lookahead(name) else None

    def observation_parts(self, engine: Engine) -> ObservationParts:
        """Return what fields of planes and costs are, and where placements lie."""
        game: Any = engine.game
        config, dtype = game.config, engine.obs_dtype
        names = dtype.names or ("",)
        planes = names[0]
        fields: dict[str, dict[str, Any]] = {} if config.stack > 1 else {planes: {"kind": "planes"}}
        if "costs" in names:
            fields["costs"] = {"kind": "numbers", "unit": COST_UNIT}
        for name in ("candidates", "candidate_costs"):
            if name in names:
                fields[name] = {"kind": "numbers"}
        colours = None
        if planes in fields and "pill" in names and PLANES[config.obs][:3] == STABLE:
            colours = Colours(planes, (0, 1, 2), "pill")
        placements = None
        if config.placement:
            costs = "costs" if "costs" in names else None
            placements = Placements(planes, cells_of_placements(), costs)
        return ObservationParts(fields=fields, placements=placements, colours=colours)


def cells_of_placements() -> tuple[tuple[int, int], ...]:
    """Return the cells of both halves of each placement; -1 for one outside the bottle."""
    found = []
    for action in range(NUM_PLACEMENTS):
        orientation, cell = divmod(action, CELLS)
        down, right = SECOND_HALF[orientation]
        row, column = cell // COLUMNS + down, cell % COLUMNS + right
        inside = 0 <= row < ROWS and 0 <= column < COLUMNS
        found.append((cell, row * COLUMNS + column if inside else -1))
    return tuple(found)


GAME = DrMario()
