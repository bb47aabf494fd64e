"""Dr. Mario: what networks may know of a board, and how it is evaluated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fastenv.drmario.layout import PLANES, STABLE
from fastenv.drmario.tables import Reason, from_bcd
from training.apps.drmario import splits
from training.apps.drmario.placements import cells_of_placements
from training.run.engine import Engine
from training.run.game_view import GameView
from training.run.games import (
    Budget,
    Colours,
    Column,
    GameTraining,
    ObservationParts,
    Placements,
    Records,
    TableRules,
)
from training.search.rules import SearchRules

COST_UNIT = 64.0  # frames: about what a pill falls from top to bottom

# Scripted players that choose placements, the first above all; `rollouts` takes milliseconds.
PLACING = ("lookahead2", "greedy", "first", "random")
STEERING = PLACING[1:]  # which are asked in every frame
SEARCH = SearchRules(rollouts="greedy")

OPTIONS = {
    "speed": "medium",
    "obs": "bitplane_bottle_conn_mask",
    "obs_dtype": "uint8",
    "extras": ["pill", "aux", "costs"],
}


def fewer_viruses(rows: np.ndarray) -> np.ndarray:
    """Return minus the viruses that each player of a row has left, shape (k, players)."""
    packed: Any = rows["players"]["virus_bcd"].astype(np.int64)
    found: np.ndarray = np.negative(from_bcd(packed))
    return found


def parts_of(engine: Engine) -> ObservationParts:
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


class DrMario(GameTraining):
    """What training must know of Dr. Mario; see :class:`training.run.games.GameTraining`."""

    title = "Dr. Mario"
    env_options = OPTIONS
    table: ClassVar = TableRules(one_record=False)  # which holds what is shown and paid
    columns: ClassVar = {
        "reason": Column("kept"),
        "level": Column("kept"),
        "game_seed": Column("kept"),
        "success": Column("share"),
        "spawns": Column("measure", "pills"),
        "viruses": Column("measure", "viruses"),
        # Of one that was given up nobody knows how it would have ended.
        "clear": Column("flag", of=lambda x: (x["reason"] == Reason.CLEAR) & ~x["given_up"]),
        "timeout": Column("flag", of=lambda x: (x["reason"] == Reason.TIMEOUT) | x["given_up"]),
        # Over cleared episodes alone: it says nothing without their share beside it.
        "frames_to_clear": Column(
            "measure", "frames", of=lambda x: x["clear"] * x["ticks"], per="clear"
        ),
    }
    goal_met: ClassVar = {"info": "reason", "equals": int(Reason.CLEAR)}
    budgets: ClassVar = {
        "frames": Budget("task_max_frames"),
        "spawns": Budget("task_max_spawns", "spawns", step=1),
    }
    potentials: ClassVar = {"viruses": fewer_viruses}
    bots: tuple[str, ...] = PLACING
    search: ClassVar[Any] = SEARCH

    def config(self, env: str, trainer: str) -> str | None:
        """Return the file with the options that learn."""
        return dict.fromkeys(("native", "expert"), "drmario.yaml").get(trainer)

    def view(self) -> GameView:
        """Return how it is shown as data."""
        from training.apps.drmario.scene import DrMarioView

        return DrMarioView()

    def judging(self) -> Any:
        """Return episodes judged by clears; a return mixes how often and how fast."""
        from training.apps.drmario import evaluation
        from training.evaluation.judging import Judging

        return Judging(
            shown=("clear", "frames_to_clear", "timeout"),
            caption="Frames to clear are those of cleared episodes.",
            options=("best_times",),
            refuse=evaluation.refuse,
            taken=evaluation.keep_clears,
        )

    def records(self, path: Path, config: Any, run: str = "") -> Records:
        """Return the store of best times."""
        from training.apps.drmario.records import StoreOfRun

        return StoreOfRun(path, config, run)

    def potential(self, name: str) -> Callable[[np.ndarray], np.ndarray]:
        """Return a potential by name; ``evaluator:FILE`` is minus the frames it expects."""
        if not name.startswith("evaluator:"):
            return super().potential(name)
        from training.apps.drmario.evaluator.potential import frames_left

        return frames_left(Path(name.removeprefix("evaluator:")))

    def player(self, name: str) -> Any:
        """Return what makes the look-ahead by an evaluator, ``lookahead:FILE``."""
        from training.apps.drmario.evaluator import players

        return players.lookahead(name) if players.is_lookahead(name) else None

    def seeds_for(self, part: str) -> tuple[str, np.ndarray]:
        """Return those to tune and train on, or those of reports."""
        return "game_seed", splits.seeds_for(part)

    def observation_parts(self, engine: Engine) -> ObservationParts:
        """See :func:`parts_of`."""
        return parts_of(engine)


class DrMarioFrames(DrMario):
    """The game where every frame is a decision, with an observation of its own."""

    env_options: ClassVar[dict[str, Any]] = {}
    bots = STEERING
    search = None

    budgets: ClassVar = {}
    records = GameTraining.records
    potential, player = GameTraining.potential, GameTraining.player

    def config(self, env: str, trainer: str) -> str | None:
        """Return nothing: what learns where a decision is a frame was not looked for."""
        return None


class DrMarioFrameMatches(GameTraining):
    """Matches of two players where every frame is a decision."""

    title = DrMario.title
    bots: tuple[str, ...] = STEERING
    columns: ClassVar = {"reason": Column("kept")}
    potentials = DrMario.potentials
    view = DrMario.view

    def observation_parts(self, engine: Engine) -> ObservationParts:
        """See :class:`DrMario`."""
        return parts_of(engine)


class DrMarioMatches(DrMarioFrameMatches):
    """Matches of two players who choose placements."""

    bots = PLACING
    search: ClassVar[Any] = SEARCH


GAMES = {
    "DrMarioPlacement-v0": DrMario(),
    "DrMarioFrame-v0": DrMarioFrames(),
    "DrMarioVersus-v0": DrMarioMatches(),
    "DrMarioVersusFrame-v0": DrMarioFrameMatches(),
}
