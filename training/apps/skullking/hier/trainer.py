"""Manager and Worker learn in turns, the other frozen (docs/howto/manager_worker.md)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from fastenv import BatchEngine
from fastenv.skullking.config import PHASE_ROUNDS
from training.apps.skullking.hier import options
from training.apps.skullking.hier.manager_env import GoalLanes, ManagerEnv, Partner, Rounds
from training.apps.skullking.hier.options import HierRun
from training.apps.skullking.rules import rules_of
from training.apps.skullking.whole_games import ENV, Pair, PairNet, manager_observer
from training.callbacks.gate import Certificate, Gate, write_certificate
from training.nets.actor_critic import ActorCritic, make_logits
from training.nets.layout import obs_layout
from training.players.bots import Bot
from training.players.network import Network, seen_by, shown
from training.ppo import run as native
from training.ppo.options import NativeRun
from training.ppo.trainer import PPOTrainer
from training.run import envs
from training.run.checkpoint import State
from training.run.engine import Engine, OnStep, step_columns
from training.run.envs import make_engine
from training.run.folder import CERTIFICATES
from training.run.seeds import stream_seed
from training.run.trainer import Metrics, Trainer
from training.run.weights import digest
from training.selfplay.league import League
from training.selfplay.seated import SeatedEngine

GATE_LANES = 256
_ENDED = ("ended_round", "ended_bid", "ended_won")


class HierTrainer(Trainer):
    """Two trainers that take turns, each in the environment that the other is part of.

    The decisions of the run are those of both policies.

    Parameters
    ----------
    config : HierRun
    on_step : callable, optional
        Called after each step of an engine (of the Worker, or the :class:`ManagerEnv`); see
        :data:`training.run.engine.OnStep`.
    folder : Path, optional
        Of the run: certificates and the pool of self-play are kept there; without it there are
        none.

    Attributes
    ----------
    trainers : dict of str to PPOTrainer
        ``"worker"`` and ``"manager"``.
    manager_env : ManagerEnv
    goals : GoalLanes
        Of the Worker's lanes.
    stage : int
        Of the iteration that was last, from 1; it changes with the policy that learns.
    learning : str or None
        The policy that learnt in the last iteration.
    worker_plays : bool
        The Worker plays the Manager's cards; until then ``rule_hard`` does. To be set between two
        iterations.
    league : League or None
        Of self-play: both engines are seats of one pool, whose snapshots are pairs. Ratings come
        from the Manager's whole games.

    Raises
    ------
    ConfigError
        Options that it cannot follow; see :func:`training.apps.skullking.hier.options.check`.
    """

    def __init__(
        self, config: HierRun, on_step: OnStep | None = None, folder: Path | None = None
    ) -> None:
        options.check(config)
        self.config, self._hier = config, config.hier
        self.on_step = on_step
        self.runs = {name: options.policy_run(config, name) for name in options.POLICIES}
        self.observer = manager_observer(config.env_options)
        self.league: League | None = None
        worker_engine, rounds = self._make_engines(folder)
        self.manager_env = ManagerEnv(rounds, self.observer, reward=self._hier.reward)
        seen: dict[str, Engine] = {"worker": worker_engine, "manager": self.manager_env}
        self.engines = [seen[name] for name in options.POLICIES]
        self.trainers: dict[str, PPOTrainer] = {
            name: native.build(self.runs[name], seen[name]) for name in options.POLICIES
        }
        for name, trainer in self.trainers.items():
            trainer.on_step = partial(self._follow, name)
        seeds = {name: stream_seed(run.seed, "explore") for name, run in self.runs.items()}
        # In whole games it sees what it has seen in its own training.
        own = config.env, config.env_options
        sight = seen_by(*own) if self._hier.mode == "game" else shown
        self.partners = {
            "worker": Partner(self.trainers["worker"], seeds["manager"], sight),
            "manager": Partner(self.trainers["manager"], seeds["worker"]),
        }
        self.goals = GoalLanes(worker_engine, self.observer, self.partners["manager"])
        self._stats = RoundStats(len(rules_of(worker_engine.game).hand_sizes()))
        self.stage = 0
        self.learning: str | None = None
        self.worker_plays = False
        gate = self._hier.gate
        self._gate = None if gate is None else Gate(gate, gate.every)
        self._certificates = None if folder is None else folder / CERTIFICATES

    @property
    def device(self) -> Any:
        """Where the networks are."""
        return self.trainers["worker"].device

    @property
    def chosen_precision(self) -> str:
        """Precision of the Worker's layers; ``auto`` until it has chosen."""
        return self.trainers["worker"].chosen_precision

    def _make_engines(self, folder: Path | None) -> tuple[SeatedEngine, Rounds]:
        """Make the engines of the Worker's training and of the Manager's rounds."""
        worker, manager = _make_rounds(self.runs["worker"]), self._make_manager_engine()
        if self.config.selfplay is not None and folder is not None:
            assert isinstance(worker, BatchEngine)  # with self-play the others are bots
            assert isinstance(manager, BatchEngine)
            league = self.league = self._make_league(folder, worker)
            # "explore" is the stream of the partners
            seeds = {name: stream_seed(run.seed, "pool") for name, run in self.runs.items()}
            # bots are met in lanes of every source of goals, which are blocks
            how = {"rated": False, "spread": True}
            rounds = league.seat(worker, seeds["worker"], **how)
            return rounds, league.seat(manager, seeds["manager"])
        if isinstance(worker, BatchEngine):  # against bots, which it plays itself
            worker = SeatedEngine(worker, Bot("rule_hard", worker))
        return worker, manager

    def _make_league(self, folder: Path, worker: BatchEngine) -> League:
        """Make the league of a run, whose snapshots are pairs, without engines yet."""
        options = self.config.env_options
        layouts = {"worker": obs_layout(worker), "manager": obs_layout(self.observer)}

        def make_pair() -> PairNet:
            nets = {
                name: ActorCritic(layouts[name], run.ppo, run.native)
                for name, run in self.runs.items()
            }
            return PairNet(options, nets)

        return League(self.config, folder, make_pair, Pair(options).see)

    def _make_manager_engine(self) -> Rounds:
        """Make the engine of the Manager's rounds."""
        run, whole = self.runs["manager"], self._hier.mode == "game"
        values = dict(run.env_options) | ({} if whole else {"goal_mode": "manager"})
        env = ENV if whole else run.env
        return _make_rounds(run.replace(env=env, env_options=values))

    # -- an iteration ----------------------------------------------------------------------------

    @property
    def decisions(self) -> dict[str, int]:
        """Decisions of each policy until now."""
        return {name: trainer.steps for name, trainer in self.trainers.items()}

    @property
    def next_policy(self) -> str:
        """The policy that learns in the next iteration."""
        return self._hier.choose_policy(**self.decisions)

    def iterate(self) -> Metrics:
        """Let the policy whose turn it is learn from one rollout.

        Returns
        -------
        dict
            What :meth:`PPOTrainer.iterate` has to say, the league in ``train``; who learnt, with
            whom, and what became of the rounds.

        Raises
        ------
        CheckpointError
            If a snapshot cannot be written.
        """
        name = self.next_policy
        # Both at once: a checkpoint starts both, and when one is taken must not decide with which
        # knobs the lanes of the policy that learns later begin.
        for each in self.trainers.values():
            each.start()
        if self.league is not None:  # behind the start, for the same reason
            nets = {each: self.trainers[each].net for each in ("manager", "worker")}
            self.league.begin_iteration(self.steps, nn.ModuleDict(nets))
        if name != self.learning:
            self._begin_stage(name)
        self._stats.clear()
        trainer = self.trainers[name]
        metrics = trainer.iterate()
        self._count()
        if self.league is not None:
            metrics["train"] |= self.league.end_iteration(self.steps)
        return {
            **metrics,
            "policy": name,
            "stage": self.stage,
            "partner": self._describe_partner(name),
            "decisions": self.decisions,
            "epochs": trainer.ppo.n_epochs,
            "by_epoch": trainer.by_epoch,
            **self._stats.record(),
        }

    def _count(self) -> None:
        self.steps = sum(self.decisions.values())
        self.updates = sum(trainer.updates for trainer in self.trainers.values())

    def _begin_stage(self, name: str) -> None:
        """Put the other policy, as it is now, into the environment of the one that learns."""
        self.stage, self.learning = self.stage + 1, name
        if name == "manager":
            self._deal_cards()  # its lanes wait for a bid: nothing in them is of an older Worker
            return
        manager_bids = self.trainers["manager"].iteration > 0
        self.goals.divide(manager_bids)
        if manager_bids:
            self.trainers["worker"].reset_lanes()  # away with rounds that an older Manager has bid

    def _deal_cards(self) -> None:
        if self.worker_plays:
            self.manager_env.cards = self.partners["worker"]

    def _describe_partner(self, name: str) -> dict[str, Any]:
        """Describe the other policy in the data of this iteration: its name and version."""
        if name == "manager" and not self.worker_plays:
            return {"name": "rule_hard", "version": 0}
        partner = "worker" if name == "manager" else "manager"
        version = self.trainers[partner].iteration
        return {"name": partner if version else "none", "version": version}

    # -- every step ------------------------------------------------------------------------------

    def _follow(
        self,
        policy: str,
        engine: Engine,
        actions: np.ndarray | None,
        obs: np.ndarray,
        mask: np.ndarray,
    ) -> None:
        """Follow a step or a reset of the engine of a policy."""
        if actions is not None:
            self._stats.add(engine, self.goals.lanes if policy == "worker" else None)
            if self.on_step is not None:
                self.on_step(engine, actions, obs, mask)

    # -- the gate --------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Where a stage of the Manager begins, let the Worker play its cards if it may."""
        gate, begins = self._gate, self.next_policy == "manager" and self.learning != "manager"
        if self.worker_plays or not begins:
            return
        if gate is not None:
            left = gate.config.tests - gate.tests
            if not left or not gate.due(self.trainers["worker"].iteration):
                return
            certificate = self._test(gate)
            if self._certificates is not None:
                write_certificate(certificate, self._certificates, self.log, self.steps)
            if not certificate.passed:
                if left == 1:
                    self.log.warn(
                        f"the Worker has passed none of its {gate.tests} tests: rule_hard plays "
                        "the Manager's cards to the end"
                    )
                return
        self.worker_plays = True
        self.log.event("worker_plays", step=self.steps)

    def _test(self, gate: Gate) -> Certificate:
        worker = self.trainers["worker"]
        stage = {"round_weights": "uniform", "allowed_phases": (), "goal_mode": "estimate"}
        played = {**self.config.env_options, **stage}
        engine = make_engine(self.config.env, GATE_LANES, played)
        return gate.certify(
            worker.iteration,
            engine,
            partial(Network, make_logits(worker.net)),
            lambda observer: observer["ended_won"] == observer["ended_bid"],
            stage="worker",
            fingerprint=lambda: digest(worker.net.state_dict()),
            settings=played,
        )

    # -- saving ----------------------------------------------------------------------------------

    def state(self) -> State:
        """See :meth:`Trainer.state`; rows are those of the Worker's lanes, then the Manager's."""
        states = {name: trainer.state() for name, trainer in self.trainers.items()}
        parts = {name: dict(state.model) for name, state in states.items()}
        partners = {name: partner.state_dict() for name, partner in self.partners.items()}
        counters = {
            **{name: state.values["counters"] for name, state in states.items()},
            "stage": self.stage,
            "policy": self.learning,
            "worker_plays": self.worker_plays,
        }
        return State(
            steps=self.steps,
            model={
                "policy": {name: parts[name].pop("policy") for name in options.POLICIES},
                **parts,
                "partners": partners,
            },
            values={
                "counters": counters,
                "gate": None if self._gate is None else self._gate.state_dict(),
                "selfplay": None if self.league is None else self.league.state_dict(),
            },
            rows=np.concatenate([states[name].rows for name in options.POLICIES]),
            arrays={
                f"{name}_{key}": array
                for name, state in states.items()
                for key, array in state.arrays.items()
            },
        )

    def load_state(self, state: State) -> None:
        """Put back what :meth:`state` returned.

        Raises
        ------
        KeyError, RuntimeError, ValueError, StateError
            Something is missing or of another shape.
        CheckpointError
            A snapshot of the pool is missing or damaged.
        """
        model, counters, arrays = state.model, state.values["counters"], state.arrays
        if self.league is not None:
            self.league.load_state_dict(state.values["selfplay"], state.steps)
        lanes = np.cumsum([self.trainers[name].num_envs for name in options.POLICIES])
        rows = dict(zip(options.POLICIES, np.split(state.rows, lanes[:-1]), strict=True))
        for name, trainer in self.trainers.items():
            own = State(
                steps=int(counters[name]["steps"]),
                model={**model[name], "policy": model["policy"][name]},
                values={"counters": counters[name]},
                rows=rows[name],
                arrays={key: arrays[f"{name}_{key}"] for key in ("obs", "mask")},
            )
            trainer.load_state(own)
            self.partners[name].load_state_dict(model["partners"][name])
        self._count()
        self.stage, self.learning = int(counters["stage"]), counters["policy"]
        self.worker_plays = bool(counters["worker_plays"])
        self.goals.divide(self.trainers["manager"].iteration > 0)
        self._deal_cards()
        gate = state.values["gate"]
        if self._gate is not None and gate is not None:
            self._gate.load_state_dict(gate)

    def policy(self) -> dict[str, Any]:
        """Return a copy of the parameters of both networks, in host memory."""
        return {name: trainer.policy() for name, trainer in self.trainers.items()}

    def reset_lanes(self, shift: int | None = None) -> None:
        """Begin a new episode in every lane of both, at a boundary."""
        for trainer in self.trainers.values():
            trainer.reset_lanes(shift)


def _make_rounds(run: NativeRun) -> Rounds:
    """Make the engine of the run of a policy."""
    (engine,) = envs.make_lanes(run).engines
    assert isinstance(engine, Rounds)
    return engine


# -- statistics ------------------------------------------------------------------------------------


class RoundStats:
    """Sums over the steps of one iteration, from the columns of the engine.

    Parameters
    ----------
    num_rounds : int
        Of a game.

    Attributes
    ----------
    decisions, ended, hits, error : ndarray of int64, shape (num_rounds,)
        Of each round: decisions taken in it, rounds that ended, of these with an exact bid, and
        their sum of won - bid.
    """

    def __init__(self, num_rounds: int) -> None:
        self._num_rounds = num_rounds
        self.clear()

    def clear(self) -> None:
        """Begin a new iteration."""
        self.decisions, self.ended, self.hits, self.error = np.zeros(
            (4, self._num_rounds), np.int64
        )
        self._sources: dict[str, np.ndarray] = {}

    def add(self, engine: Any, sources: Mapping[str, np.ndarray] | None = None) -> None:
        """Add the step that an engine has just made, with automatic reset.

        Parameters
        ----------
        engine : BatchEngine or ManagerEnv
        sources : mapping of str to ndarray of int, optional
            Lanes of each source of goals.
        """
        number, bid, won = step_columns(engine, _ENDED).values()
        over = number > 0
        where, missed = number[over] - 1, (won - bid)[over]
        if not over.all():
            here = engine.info["round"]  # a round that goes on
            self.decisions += self._count(here[~over] - 1)
        self.decisions += self._count(where)
        self.ended += self._count(where)
        self.hits += self._count(where[missed == 0])
        np.add.at(self.error, where, missed)
        for source, lanes in (sources or {}).items():
            exact = (won == bid)[lanes][over[lanes]]
            sums = self._sources.setdefault(source, np.zeros(2, np.int64))
            sums += len(exact), int(exact.sum())

    def record(self) -> dict[str, Any]:
        """Return counts, rates and shares as JSON values; None where there was nothing.

        Returns
        -------
        dict
            ``by_round``: lists, one entry a round. ``by_phase``: phase to the same figures.
            ``by_goal``: source to count and hit rate, if there are sources.
        """
        number = np.arange(self._num_rounds) + 1
        rounds = [self._compute_figures(number == r) for r in number]
        record: dict[str, Any] = {
            "by_round": {name: [figures[name] for figures in rounds] for name in rounds[0]},
            "by_phase": {
                phase: self._compute_figures((number >= low) & (number <= high))
                for phase, (low, high) in PHASE_ROUNDS.items()
            },
        }
        if self._sources:
            record["by_goal"] = {
                source: {"n": int(n), "hit_rate": _divide(hits, n)}
                for source, (n, hits) in self._sources.items()
            }
        return record

    def _count(self, rounds: np.ndarray) -> np.ndarray:
        return np.bincount(rounds, minlength=self._num_rounds)

    def _compute_figures(self, part: np.ndarray) -> dict[str, Any]:
        """Return count, hit rate, mean error, share of decisions and of episodes of some rounds."""
        n = int(self.ended[part].sum())
        return {
            "n": n,
            "hit_rate": _divide(self.hits[part].sum(), n),
            "won_minus_bid": _divide(self.error[part].sum(), n),
            "decisions": _divide(self.decisions[part].sum(), self.decisions.sum()),
            "episodes": _divide(n, self.ended.sum()),
        }


def _divide(part: Any, whole: Any) -> float | None:
    return float(part) / float(whole) if whole else None
