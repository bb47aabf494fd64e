"""Train with the hierarchical trainer (:mod:`training.apps.skullking.hier.trainer`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastenv import BatchEngine
from training.apps.skullking.hier import options
from training.apps.skullking.hier.options import HierRun
from training.apps.skullking.hier.trainer import HierTrainer
from training.apps.skullking.hindsight.decode import decoding
from training.apps.skullking.rules import rules_of
from training.apps.skullking.whole_games import Pair, manager_observer, tier_of
from training.nets.actor_critic import ActorCritic, Logits, make_logits
from training.ppo import run as native
from training.run.engine import Engine
from training.run.envs import Lanes
from training.run.options import require
from training.selfplay import league


def make_trainer(config: HierRun, lanes: Lanes, folder: Path | None = None) -> HierTrainer:
    """Return the trainer of a pair, with all generators seeded; its lanes are its own."""
    return HierTrainer(config, folder=folder)


def check(config: HierRun, engine: Engine) -> None:
    """Refuse an environment or options that this trainer cannot train.

    Raises
    ------
    ConfigError
        A game without bids and cards, rules under which a Worker does not decide all cards, or
        what a policy's trainer refuses.
    """
    worker = tier_of(config.env) == "worker"
    require(worker, "env", config.env, "'SkullKingWorker-v0' with trainer='hier'")
    options.check(config)
    if config.selfplay is not None:
        league.check_rules(config, "opponents")
    scoring, allowed = rules_of(engine.game).scoring, "without cannonballs with trainer='hier'"
    require(scoring != "rascal_cannon", "env_options.scoring", scoring, allowed)
    seen: dict[str, Engine] = {"worker": engine, "manager": manager_observer(config.env_options)}
    for policy in options.POLICIES:
        with options.names_of(policy):
            native.check(options.policy_run(config, policy), seen[policy])
    if config.hier.mode == "game":
        rounds = len(rules_of(engine.game).hand_sizes())
        steps = options.policy_run(config, "manager").ppo.n_steps
        allowed = f"a multiple of the {rounds} rounds of a game, so that rollouts end with games"
        require(steps % rounds == 0, "hier.manager.n_steps", steps, allowed)


def load_nets(
    config: HierRun, engine: BatchEngine, parameters: Mapping[str, Any]
) -> dict[str, tuple[ActorCritic, BatchEngine]]:
    """Load both networks, the Worker's first, and an engine that shows what each sees."""
    observers = {"worker": engine, "manager": manager_observer(config.env_options)}
    return {
        name: (
            native.load_net(options.policy_run(config, name), observer, parameters[name]),
            observer,
        )
        for name, observer in observers.items()
    }


def load_pair(config: HierRun, cards: Logits, nets: Mapping[str, Any]) -> Pair:
    """Make the trained pair of what :func:`load_nets` has returned; ``cards`` is the Worker."""
    net, observer = nets["manager"]
    decoded = None
    if options.policy_run(config, "manager").native.hindsight == "tricks":
        decoded = decoding(net, rules_of(observer.game).scoring)
    return Pair(config.env_options, {"manager": make_logits(net), "worker": cards}, decoded)
