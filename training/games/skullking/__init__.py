"""Skull King: presets, parts of observations, seats, evaluation, and its hierarchical trainer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from fastenv import BatchEngine
from fastenv.registry import short_id
from training.games.skullking.hindsight.modes import MODES
from training.games.skullking.presets import PRESETS
from training.run.engine import Engine
from training.run.envs import has_guests
from training.run.games import GameTraining, Guest, ObservationParts, Seats
from training.run.values import require

CONFIGS = {
    "SkullKingFlat-v0": "flat.yaml",
    "SkullKingWorker-v0": "main.yaml",
    "SkullKingAbility-v0": "main.yaml",  # the same task, with more to decide
}


class SkullKing(GameTraining):
    """What training must know of Skull King; see :class:`training.run.games.GameTraining`."""

    title = "Skull King"
    # Our trainers mask, so an illegal action is a fault that must not hide.
    env_options: ClassVar = {"invalid_action": "raise"}
    presets = PRESETS
    auxiliaries: ClassVar = {name: mode.outputs for name, mode in MODES.items()}
    protocol = "training.games.skullking.evaluation"

    def config(self, env: str, trainer: str) -> str | None:
        """Return the file whose options were found best for a tier."""
        return "hierarchical.yaml" if trainer == "hier" else CONFIGS.get(short_id(env))

    def observation_parts(self, engine: Engine) -> ObservationParts:
        """Return where phase and card slots are, in tiers that show them."""
        from fastenv.skullking.layout import HAND_SLOTS, layout
        from fastenv.skullking.tables import Abilities

        game: Any = engine.game
        rules = game.rules[0]
        decides = rules["abilities"] == Abilities.AGENT
        shape = int(rules["tier"]), int(rules["num_players"]), bool(rules["memory"])
        blocks = layout(*shape, bool(decides))
        named = {block.name: block for block in blocks}
        phase = named.get("phase") or named.get("decision")
        width = named["hand"].length // HAND_SLOTS
        rows = [named[name] for name in ("hand", "table", "bendt_cards") if name in named]
        return ObservationParts(
            phase=None if phase is None else (phase.offset, phase.length),
            slots=tuple((row.offset, row.length // width, width) for row in rows),
        )

    def check(self, config: Any) -> None:
        """Refuse seats that are played from outside: a trainer would take their turns for its own.

        Raises
        ------
        ConfigError
            If an option, a schedule or a stage of the gate names ``external`` opponents.
        """
        given = [config.env_options.get("opponents")]
        given += [value for _, value in config.schedules.get("opponents", ())]
        given += [stage["knobs"].get("opponents") for stage in config.gate.get("stages", ())]
        for value in given:
            names = [value] if isinstance(value, str) else value or ()
            allowed = "bots; seats are played from outside with the section selfplay alone"
            require("external" not in names, "opponents", value, allowed)
        if has_guests(config.env_options):
            from training.policies.opponents import check

            check(config)

    def seats(self, engine: Engine) -> Seats | None:
        """Return who sits where in whole games; None in tiers that play rounds."""
        from training.games.skullking.rules import rules_of
        from training.games.skullking.seats import TableSeats

        rules = rules_of(engine.game)
        return TableSeats(rules.num_players) if rules.tier == "flat" else None

    def table(self, num_envs: int, num_players: int) -> BatchEngine | None:
        """Return an engine of whole games whose seats are all played from outside."""
        from training.games.skullking import guests

        return guests.table(num_envs, num_players)

    def guest(self, who: Any, engine: BatchEngine, seed: int) -> Guest:
        """Return a player for the seats of :meth:`table`."""
        from training.games.skullking import guests

        if isinstance(who, str):
            return guests.BotGuest(who, engine, seed)
        return guests.PolicyGuest(who, engine, seed)

    def drawn(self, engine: BatchEngine, row: np.void, names: Sequence[str]) -> str:
        """Return the table as the next player sees it, as text with colours."""
        from fastenv.skullking.render import render_ansi

        game: Any = engine.game
        at_table = names if len(names) == game.config.num_players else None
        return render_ansi(row, game.rules[0], names=at_table)

    def told(
        self,
        engine: BatchEngine,
        before: np.void,
        action: int,
        after: np.void,
        names: Sequence[str],
    ) -> list[str]:
        """Return what everybody has seen of a decision."""
        from training.games.skullking.told import told

        return told(engine, before, action, after, names)

    def auxiliary(self, config: Any, engine: Engine) -> Any:
        """Return the loss on rounds in hindsight (:mod:`training.games.skullking.hindsight`)."""
        from training.games.skullking.hindsight.auxiliary import of_run

        return of_run(config, engine)


GAME = SkullKing()
