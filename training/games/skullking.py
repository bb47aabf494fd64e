"""Skull King: presets, parts of observations, seats, and how it is evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from fastenv import BatchEngine
from fastenv.registry import short_id
from fastenv.skullking.tables import Phase
from training.apps.skullking.columns import COLUMNS, GOAL_COLUMNS
from training.apps.skullking.critic_view import make_critic_view
from training.apps.skullking.hindsight.modes import MODES
from training.apps.skullking.rules import SETS
from training.apps.skullking.search import SEARCH
from training.run.engine import Engine
from training.run.game_view import GameView
from training.run.games import GameTraining, ObservationParts, PartOfGame, TableRules

ON_POLICY = ("native", "expert", "sb3", "ensemble", "rllib")  # they learn by the same options
CONFIGS = {
    "SkullKingFlat-v0": "main.yaml",
    "SkullKingWorker-v0": "worker.yaml",
    "SkullKingAbility-v0": "worker.yaml",  # the same task, with more to decide
}

# A Worker's policy plays the cards of a game, a Manager's bids; rule_hard decides the rest.
_CARDS = PartOfGame(
    column="decision_phase",
    values=(Phase.PLAY, Phase.TIGRESS),
    bot="rule_hard",
    begins=(Phase.BID,),
)
_BIDS = replace(_CARDS, values=(Phase.BID,), whole={"mode": "game"})
TABLE = TableRules(
    env="SkullKingFlat-v0",
    options={"deals": "duplicate"},
    shared=("num_players",),
    one_record=False,
    parts={
        "SkullKingManager-v0": _BIDS,
        "SkullKingWorker-v0": _CARDS,
        "SkullKingAbility-v0": _CARDS,
    },
)

# Knobs that change during training, from the given step on (docs/skullking.md, 11.2, 11.3).
PHASE_CURRICULUM = [[0, ["late"]], [1_000_000, ["mid", "late"]], [2_000_000, []]]
OPPONENT_CURRICULUM = [
    [0, "random"],  # the published table has three phases of random bots, which know no difficulty
    [250_000, "rule_easy"],
    [400_000, "rule_medium"],
    [600_000, "rule_hard"],
    [850_000, "rule_medium"],
    [1_100_000, "rule_hard"],
]
ABILITY_CURRICULUM = {
    "enable_abilities": [[0, False], [500_000, True]],
    "pirates": [
        [0, []],
        [500_000, ["harry"]],
        [1_000_000, ["harry", "rascal"]],
        [2_000_000, ["rosie", "bendt", "rascal", "jade", "harry"]],
    ],
    "opponents": [[0, "rule_easy"], [3_000_000, "rule_medium"], [4_000_000, "rule_hard"]],
}

_LAYERED = {"n_steps": 1024, "batch_size": 16_384, "gamma": 0.99, "gae_lambda": 0.95}

# docs/skullking.md, 11, and docs/howto/train_skullking.md.
PRESETS: dict[str, dict[str, Any]] = {
    "flat": {
        "env": "SkullKingFlat-v0",
        "num_envs": 768,
        "total_steps": 10_000_000,
        "schedules": {"opponents": OPPONENT_CURRICULUM},
        "ppo": {
            "n_steps": 2048,
            "batch_size": 32_768,
            "n_epochs": 15,
            "gamma": 0.995,
            "gae_lambda": 0.98,
            "ent_coef": 0.01,
            "net_arch": [512, 512, 256],
        },
    },
    "flat_dqn": {
        "env": "SkullKingFlat-v0",
        "trainer": "dqn",
        "num_envs": 128,
        "total_steps": 3_000_000,
        "torch_threads": 1,
        "env_options": {
            "opponents": "rule_medium",
            "agent_seat": "rotate",
            "obs_ext": "memory",
            "reward": "points",  # what a game is about
        },
        "dqn": {
            "capacity": 400_000,
            "batch_size": 512,
            "learning_starts": 20_000,
            "replay_ratio": 4.0,
            "gamma": 0.97,  # a round is over after eleven decisions at most
            "learning_rate": 5e-4,
            "lr_schedule": "linear",
            "num_quantiles": 25,
            "target_sync": 500,
            "epsilon_end": 0.02,
        },
    },
    "manager": {
        "env": "SkullKingManager-v0",
        "num_envs": 256,
        "total_steps": 5_000_000,
        "env_options": {"opponents": "rule_medium"},
        "schedules": {"allowed_phases": PHASE_CURRICULUM},
        "ppo": {**_LAYERED, "n_epochs": 25, "ent_coef": 0.02, "net_arch": [2048, 2048, 1024]},
    },
    "worker": {
        "env": "SkullKingWorker-v0",
        "num_envs": 256,
        "total_steps": 5_000_000,
        "env_options": {"opponents": "rule_medium"},
        "schedules": {"allowed_phases": PHASE_CURRICULUM},
        "ppo": {**_LAYERED, "n_epochs": 12, "ent_coef": 0.01, "net_arch": [2048, 2048, 1024]},
    },
    "worker_dqn": {
        "env": "SkullKingWorker-v0",
        "trainer": "dqn",
        "num_envs": 256,
        "total_steps": 5_000_000,
        "env_options": {"opponents": "rule_medium"},
        "schedules": {"allowed_phases": PHASE_CURRICULUM},
        # Most of the reward comes with the last trick, up to ten decisions ahead.
        "dqn": {"n_step": 5, "replay_ratio": 4.0, "learning_rate": 3e-4},
    },
    "ability": {
        "env": "SkullKingAbility-v0",
        "num_envs": 256,
        "total_steps": 5_000_000,
        "schedules": ABILITY_CURRICULUM,
        "ppo": {**_LAYERED, "n_epochs": 15, "ent_coef": 0.015, "net_arch": [512, 512, 256]},
    },
    "benchmark": {
        "env": "SkullKingFlat-v0",
        "num_envs": 8,
        "total_steps": 3 * 8 * 256,
        "env_options": {"opponents": "rule_medium"},
        "ppo": {"n_steps": 256, "batch_size": 512, "n_epochs": 4, "net_arch": [256, 256]},
    },
}


class SkullKing(GameTraining):
    """What training must know of Skull King; see :class:`training.run.games.GameTraining`."""

    title = "Skull King"
    # Our trainers mask, so an illegal action is a fault that must not hide.
    env_options: ClassVar = {"invalid_action": "raise"}
    presets = PRESETS
    opponent_sets = SETS
    auxiliaries: ClassVar = {name: mode.outputs for name, mode in MODES.items()}
    table: ClassVar = TABLE
    search: ClassVar = SEARCH

    def config(self, env: str, trainer: str) -> str | None:
        """Return the file whose options were found best for a tier."""
        files = dict.fromkeys(ON_POLICY, CONFIGS.get(short_id(env)))
        return {**files, "hier": "hierarchical.yaml"}.get(trainer)

    def view(self) -> GameView:
        """Return how it is shown as data."""
        from training.apps.skullking.scene import SkullKingView

        return SkullKingView()

    def judging(self) -> Any:
        """Return whole games on duplicate deals, and rounds at equal goals."""
        from training.apps.skullking.evaluation import make_judging

        return make_judging()

    def observation_parts(self, engine: Engine) -> ObservationParts:
        """Return where phase and card slots are, in tiers that show them."""
        from fastenv.skullking.layout import HAND_SLOTS, layout
        from fastenv.skullking.tables import Abilities, Tier

        game: Any = engine.game
        rules = game.rules[0]
        decides = rules["abilities"] == Abilities.AGENT
        shape = int(rules["tier"]), int(rules["num_players"]), bool(rules["memory"])
        blocks = layout(*shape, bool(decides))
        named = {block.name: block for block in blocks}
        phase = named.get("phase") or named.get("decision")
        width = named["hand"].length // HAND_SLOTS
        rows = [named[name] for name in ("hand", "table", "bendt_cards") if name in named]
        slots = tuple((row.offset, row.length // width, width) for row in rows)
        return ObservationParts(
            phase=None if phase is None else (phase.offset, phase.length),
            slots=slots,
            hand=None if shape[0] == Tier.MANAGER else slots[0],
            critic_view=make_critic_view(int(rules["num_hands"])),
        )

    def render_state(
        self, engine: BatchEngine, row: np.void, names: Sequence[str], seat: int = 0
    ) -> str:
        """Return the table as the next player sees it, as text with colours."""
        from fastenv.skullking.render import render_ansi

        game: Any = engine.game
        at_table = names if len(names) == game.config.num_players else None
        return render_ansi(row, game.rules[0], names=at_table)

    def describe_decision(
        self,
        engine: BatchEngine,
        before: np.void,
        action: int,
        after: np.void,
        names: Sequence[str],
        seat: int = 0,
    ) -> list[str]:
        """Return what everybody has seen of a decision."""
        from training.apps.skullking.decision_text import describe_decision

        return describe_decision(engine, before, action, after, names)

    def auxiliary(self, config: Any, engine: Engine) -> Any:
        """Return the loss on rounds in hindsight (:mod:`training.apps.skullking.hindsight`)."""
        from training.apps.skullking.hindsight.auxiliary import make_run_auxiliary

        return make_run_auxiliary(config, engine)


class WholeGames(SkullKing):
    """Whole games, in which all tiers meet."""

    columns: ClassVar = COLUMNS


class Rounds(SkullKing):
    """Rounds that are played to a goal."""

    columns: ClassVar = GOAL_COLUMNS


GAMES = {
    "SkullKingFlat-v0": WholeGames(),
    "SkullKingManager-v0": SkullKing(),
    **dict.fromkeys(("SkullKingWorker-v0", "SkullKingAbility-v0"), Rounds()),
}
