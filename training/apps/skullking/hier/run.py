"""Train with the hierarchical trainer (:mod:`training.apps.skullking.hier.trainer`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from fastenv import BatchEngine
from training.apps.skullking.hier import options
from training.apps.skullking.hier.options import HierRun
from training.apps.skullking.hier.trainer import HierTrainer
from training.apps.skullking.hindsight.decode import decoding
from training.apps.skullking.pair import Pair
from training.apps.skullking.players import tier_of
from training.apps.skullking.rules import rules_of
from training.apps.skullking.whole_games import manager_observer
from training.callbacks import certificates
from training.callbacks.gate import Certificate, Gate, policy_hash
from training.callbacks.run_callbacks import run_training
from training.nets.actor_critic import ActorCritic, Logits, RecurrentLogits, make_logits
from training.players.network import Network
from training.ppo import run as native
from training.run import checkpoint, envs, sizes
from training.run.backend import ChosenBackend
from training.run.checkpoint import Checkpoint
from training.run.engine import Engine
from training.run.envs import Lanes, make_engine
from training.run.finite import check_parameters
from training.run.folder import RunFolder
from training.run.loop import Loop
from training.run.options import require
from training.run.session import Outcome, Snapshot
from training.selfplay import league

GATE_LANES = 256


def make_lanes(config: HierRun) -> Lanes:
    """Return a lane to check a run with: what it trains on are lanes of other options."""
    return envs.make_trial_lane(config)


def train(run: RunFolder, lanes: Lanes, resume: bool = False) -> Outcome:
    """Train a run; see :func:`training.run.session.run_training`."""
    return run_training(run, resume, lambda: HierLearner(run), identity)


class HierLearner:
    """:class:`HierTrainer` as a run needs it; see :class:`training.run.session.Learner`.

    The decisions of the run are those of both policies.

    Parameters
    ----------
    run : RunFolder
        Its config, and where certificates and the pool of self-play are kept.
    """

    def __init__(self, run: RunFolder) -> None:
        config: HierRun = run.config
        self._config, self._certificates = config, run.certificates
        self._loop: Loop | None = None
        self.trainer = HierTrainer(config, self._step, run.path)
        gate = options.gate_config(config.hier.gate)
        self._gate = None if gate is None else Gate(gate)

    def _step(
        self, engine: Engine, actions: np.ndarray | None, obs: np.ndarray, mask: np.ndarray
    ) -> None:
        if self._loop is not None:
            self._loop.step(engine, actions, obs, mask)

    @property
    def engines(self) -> Sequence[Engine]:
        """The Worker's engine, then the Manager's environment."""
        return [self.trainer.engines[name] for name in options.POLICIES]

    @property
    def backend(self) -> ChosenBackend:
        """What the engines run on, and how it was chosen."""
        return self.trainer.backend

    @property
    def device(self) -> str:
        """Where the networks are."""
        return str(self.trainer.trainers["worker"].device)

    @property
    def precision(self) -> str:
        """Of the Worker's layers; ``auto`` until it has chosen."""
        return self.trainer.trainers["worker"].chosen_precision

    @property
    def updates(self) -> int:
        """Optimizer steps of both until now."""
        return sum(trainer.updates for trainer in self.trainer.trainers.values())

    def sizes(self) -> str:
        """Return one line on what the options of the Worker amount to."""
        engine = self.engines[0]
        run = options.policy_run(self._config, "worker")
        return f"Worker: {run.sizes(engine.obs[0].nbytes, engine.num_actions)}"

    def facts(self) -> dict[str, Any]:
        """Return what the summary says of the Worker's network and rollout."""
        return sizes.facts(options.policy_run(self._config, "worker"), self.device)

    def learn(self, loop: Loop) -> None:
        """Train to the end, or until the loop says to stop."""
        self._loop, trainer = loop, self.trainer
        while loop.steps < self._config.total_steps:
            if not loop.begin_iteration(partial(self._admit_worker, loop)):
                return
            found, details = trainer.iterate()
            loop.end_iteration(found["train"], found["phases"], **details)
        loop.finish()

    # -- the gate --------------------------------------------------------------------------------

    def _admit_worker(self, loop: Loop) -> None:
        """Where a stage of the Manager begins, let the Worker play its cards if it may."""
        trainer, gate = self.trainer, self._gate
        begins = trainer.next_policy == "manager" and trainer.policy != "manager"
        if trainer.worker_plays or not begins:
            return
        if gate is not None:
            left = gate.config.tests - gate.tests
            if not left or not gate.due(trainer.trainers["worker"].iteration):
                return
            certificate = self._test(gate)
            certificates.write_certificate(certificate, self._certificates, loop.log, loop.steps)
            if not certificate.passed:
                if left == 1:
                    loop.log.warn(
                        f"the Worker has passed none of its {gate.tests} tests: rule_hard plays "
                        "the Manager's cards to the end"
                    )
                return
        trainer.worker_plays = True
        loop.log.event("worker_plays", step=loop.steps)

    def _test(self, gate: Gate) -> Certificate:
        worker = self.trainer.trainers["worker"]
        stage = {"round_weights": "uniform", "allowed_phases": (), "goal_mode": "estimate"}
        played = {**self._config.env_options, **stage}
        engine = make_engine(self._config.env, GATE_LANES, played)
        return gate.certify(
            worker.iteration,
            engine,
            partial(Network, make_logits(worker.net)),
            lambda observer: observer["ended_won"] == observer["ended_bid"],
            stage="worker",
            fingerprint=lambda: policy_hash(worker.net.state_dict()),
            settings=played,
        )

    # -- saving ----------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return everything that decides how the run goes on.

        Raises
        ------
        TrainingError
            If a parameter is not finite: a checkpoint of it would be of no use.
        """
        for trainer in self.trainer.trainers.values():
            check_parameters(trainer.net)
        state = self.trainer.state_dict()
        gate = None if self._gate is None else self._gate.state_dict()
        parts = state["model"]
        nets = {name: parts[name].pop("policy") for name in options.POLICIES}
        return Snapshot(
            model={"policy": nets, **parts},
            trainer={
                "counters": state["counters"],
                "gate": gate,
                "selfplay": state["selfplay"],
            },
            states=state["rows"],
            arrays=state["arrays"],
        )

    def policy(self) -> dict[str, Any]:
        """Return a copy of the parameters of both, in host memory."""
        nets = {name: trainer.net for name, trainer in self.trainer.trainers.items()}
        return {name: checkpoint.copy_to_host(net.state_dict()) for name, net in nets.items()}

    def reset_lanes(self) -> None:
        """Begin a new episode in every lane of both, at a boundary."""
        for trainer in self.trainer.trainers.values():
            trainer.reset_lanes()

    def restore(self, saved: Checkpoint) -> None:
        """Put a snapshot back."""
        parts, nets = dict(saved.model), saved.model["policy"]
        for name in options.POLICIES:
            parts[name] = {**parts[name], "policy": nets[name]}
        self.trainer.load_state_dict(
            {
                "model": parts,
                "counters": saved.trainer["counters"],
                "selfplay": saved.trainer.get("selfplay"),  # checkpoints are older
                "rows": saved.rows,
                "arrays": saved.arrays,
            }
        )
        gate = saved.trainer["gate"]
        if self._gate is not None and gate is not None:
            self._gate.load_state_dict(gate)

    def close(self) -> None:
        """Do nothing: there is no thread to end."""


def check(config: HierRun, engine: Engine) -> None:
    """Refuse what cannot be trained here.

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
    """Return what a checkpoint must share with this run."""
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
    return Pair(config, make_logits(net), cards, decoded)


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
