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
from training.nets.actor_critic import ActorCritic, Logits, RecurrentLogits, make_logits
from training.ppo import run as native
from training.run import checkpoint, envs
from training.run.engine import Engine
from training.run.envs import Lanes
from training.run.folder import RunFolder
from training.run.options import require
from training.selfplay import league


def make_lanes(config: HierRun) -> Lanes:
    """Return a lane to check a run with: what it trains on are lanes of other options."""
    return envs.make_trial_lane(config)


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


def identity(run: RunFolder, engine: Engine) -> dict[str, Any]:
    """Return the values that a checkpoint must share with this run."""
    config = run.config
    runs = {name: options.policy_run(config, name) for name in options.POLICIES}
    return {
        **checkpoint.identity_of(config.env, engine),
        "networks": {name: native.network_of(one) for name, one in runs.items()},
        "lanes of the Manager": runs["manager"].num_envs,
        "trainer": config.trainer,
    }


def load_logits(
    config: HierRun, engine: BatchEngine, parameters: Mapping[str, Any]
) -> Logits | RecurrentLogits:
    """Return the trained Worker as a function from observations to logits."""
    run = options.policy_run(config, "worker")
    return native.load_logits(run, engine, parameters["worker"])


def load_pair(config: HierRun, cards: Logits, parameters: Mapping[str, Any]) -> Pair:
    """Return the trained pair; ``cards`` is what :func:`load_logits` has returned."""
    run, observer = options.policy_run(config, "manager"), manager_observer(config.env_options)
    net = native.load_net(run, observer, parameters["manager"])
    decoded = None
    if run.native.hindsight == "tricks":
        decoded = decoding(net, rules_of(observer.game).scoring)
    return Pair(config.env_options, {"manager": make_logits(net), "worker": cards}, decoded)


def load_nets(
    config: HierRun, engine: BatchEngine, parameters: Mapping[str, Any]
) -> dict[str, tuple[ActorCritic, BatchEngine]]:
    """Return both networks, and an engine that shows what each sees."""
    observers = {"worker": engine, "manager": manager_observer(config.env_options)}
    return {
        name: (
            native.load_net(options.policy_run(config, name), observer, parameters[name]),
            observer,
        )
        for name, observer in observers.items()
    }
