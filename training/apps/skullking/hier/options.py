"""Options of the hierarchical trainer: the section ``hier``, and those of each of its policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, Self

from pydantic import field_validator

from fastenv.errors import ConfigError
from training.callbacks.gate import MAX_EPISODES, GateConfig
from training.ppo.options import ONE_NETWORK, ActorCriticRun, NativeConfig, NativeRun, PPOConfig
from training.run.config import Only
from training.run.options import (
    Number,
    Options,
    Plain,
    Whole,
    option,
    require,
    unknown_option,
)
from training.run.removed import drop_from_section
from training.run.seating import has_agents
from training.run.seeds import stream_seed
from training.run.sizes import RolloutSizes

POLICIES = ("worker", "manager")
# What the two policies have instead of the defaults of ``ppo``: a rollout is used often, so an
# update ends early when the policy has moved far enough.
POLICY_DEFAULTS: dict[str, dict[str, Any]] = {
    "worker": {"n_epochs": 12, "ent_coef": 0.01, "target_kl": 0.02},
    "manager": {"n_epochs": 25, "ent_coef": 0.02, "target_kl": 0.02},
}
_SIZES = {"n_steps": "steps", "batch_size": "batch", "num_envs": "lanes"}


class WorkerGate(GateConfig):
    """Options of the gate that the Worker must pass to play the Manager's cards.

    It plays rounds, uniformly drawn, to goals near what the hand promises: whether it reaches more
    of them than the target is tested. Until it has passed, ``rule_hard`` plays the cards.
    """

    SECTION: ClassVar[str] = "hier.gate."

    n_max: Whole = option(
        20_000,
        "episodes of a test at most; a test that is still undecided then does not pass",
        f"from 1 to {MAX_EPISODES:,}",
        ge=1,
        le=MAX_EPISODES,
    )
    tests: Whole = option(
        10,
        "after so many failures ``rule_hard`` plays to the end",
        f"from 1 to {MAX_EPISODES:,}",
        ge=1,
        le=MAX_EPISODES,
    )
    every: Whole = option(10, "iterations of the Worker between two tests at least", ge=1)


class HierConfig(Options):
    """How Manager and Worker are trained; the env of the run is the Worker's."""

    SECTION: ClassVar[str] = "hier."

    warm_start: Whole = option(
        1_000_000, "decisions of the Worker before the Manager's first", ge=0
    )
    ratio: Number = option(5.0, "decisions of the Worker for each of the Manager after that", gt=0)
    worker: Plain = option(
        dict,
        "options of ``ppo`` and ``native`` that the policy has otherwise; unless given, "
        "``n_epochs`` 12, ``ent_coef`` 0.01, ``target_kl`` 0.02",
    )
    manager: Plain = option(
        dict,
        "likewise, and ``num_envs``; unless given, ``n_epochs`` 25, ``ent_coef`` 0.02, "
        "``target_kl`` 0.02",
    )
    mode: Literal["round", "game"] = option(
        "round",
        "an episode of the Manager is one bid, or the ten bids of a game, with history and scores",
    )
    reward: Literal["shaped", "points"] = option(
        "shaped", "of the Manager: shaped, or official points / 10"
    )
    gate: WorkerGate | None = option(
        None,
        "what the Worker must have shown before it plays the Manager's cards; null, or one without "
        "a target, asks for nothing",
    )

    @field_validator("gate", mode="before")
    @classmethod
    def _read_no_gate(cls, gate: Any) -> Any:
        """Read a gate without a target, as runs without a gate have stored it."""
        without = isinstance(gate, Mapping) and gate.get("target") is None
        return None if without else gate

    def choose_policy(self, worker: int, manager: int) -> str:
        """Choose who learns next: who is behind, after the Worker's warm start.

        Stages follow from it: a rollout of the Manager, then as many of the Worker as keep the
        ratio.

        Parameters
        ----------
        worker, manager : int
            Decisions of each so far.
        """
        return "worker" if worker <= self.warm_start + self.ratio * manager else "manager"


class HierRun(ActorCriticRun):
    """A run of a Manager and a Worker (:mod:`training.apps.skullking.hier`)."""

    CHOOSES_PRECISION: ClassVar[bool] = True
    MEETS_AGENTS: ClassVar[bool] = True
    PLAYS_WHOLE_GAMES: ClassVar[bool] = True
    OWN_LANES: ClassVar[bool] = True
    ONLY: ClassVar[tuple[Only, ...]] = (
        *(only for only in ONE_NETWORK if only.option != "selfplay"),
        Only("window_ticks", (0,)),
        Only("mask_schedule", ((),)),
        Only("trackers", ({},)),
        Only("native.warm_start", (None,)),
        Only("native.normalize_observations", (False,)),
        Only("native.normalize_rewards", (False,)),
        Only("gate", ({},), ": the Worker has a gate of its own, hier.gate"),
    )

    trainer: Literal["hier"] = option("hier", "a Manager and a Worker")
    hier: HierConfig = option(HierConfig, "how they are trained")

    @property
    def identity(self) -> dict[str, Any]:
        """What a checkpoint must share with these options to be played."""
        runs = {name: policy_run(self, name) for name in POLICIES}
        return {
            "networks": {name: run.network for name, run in runs.items()},
            "lanes of the Manager": runs["manager"].num_envs,
            "trainer": self.trainer,
        }

    @property
    def planned_steps(self) -> int:
        """Decisions of a run: both take rollouts of their own in turn, to the last."""
        return self.total_steps

    def sizes(self, obs_bytes: int, num_actions: int) -> str:
        """Return one line on what the options of the Worker amount to."""
        return f"Worker: {policy_run(self, 'worker').sizes(obs_bytes, num_actions)}"

    def facts(self, device: str) -> dict[str, Any]:
        """Describe the Worker's network and rollout for the summary."""
        return policy_run(self, "worker").facts(device)

    def shorten_rollout(self, ranks: int = 1) -> Self:
        """Return options whose rollouts, the Worker's first, are no longer than the run."""
        ppo, hier = self.ppo, self.hier
        own = hier.worker
        sizes = own.get("n_steps", ppo.n_steps), own.get("batch_size", ppo.batch_size)
        if not all(type(size) is int and size >= 1 for size in sizes):
            return self  # refused by name elsewhere
        chosen = RolloutSizes(self.num_envs, *sizes)
        fitted = chosen.fitted(self.total_steps)
        if fitted == chosen:
            return self

        def fit(options: dict[str, Any]) -> dict[str, Any]:
            fewer = {n: getattr(fitted, size) for n, size in _SIZES.items() if n in options}
            return {**options, **fewer}

        return self.replace(
            num_envs=fitted.lanes,
            ppo=ppo.replace(n_steps=fitted.steps, batch_size=fitted.batch),
            hier=hier.replace(worker=fit(hier.worker), manager=fit(hier.manager)),
        )


def policy_run(run: HierRun, policy: str) -> NativeRun:
    """Return the options of one policy as those of a run of its own with the native trainer.

    Parameters
    ----------
    run : HierRun
    policy : {"worker", "manager"}

    Raises
    ------
    ConfigError
        For an unknown option or an impossible value; names policy and option.
    """
    hier = run.hier
    values = {name: value for name, value in run.to_dict().items() if name != "hier"}
    values |= {"trainer": "native", "selfplay": None}  # both meet the pool, neither has one
    sections = {"ppo": PPOConfig.names(), "native": NativeConfig.names()}
    with names_of(policy):
        own = drop_from_section("native", getattr(hier, policy))
    for name, value in {**POLICY_DEFAULTS[policy], **own}.items():
        section = next((s for s, names in sections.items() if name in names), None)
        if section is not None:
            values[section][name] = value
        elif name == "num_envs" and policy == "manager":
            values[name] = value
        else:
            allowed = [*sections["ppo"], *sections["native"]]
            allowed += ["num_envs"] if policy == "manager" else []
            raise unknown_option(f"hier.{policy}.{name}", allowed)
    after = max(run.total_steps - hier.warm_start, 1)
    managers = max(round(after / (1 + hier.ratio)), 1)
    workers = max(run.total_steps - managers, 1)
    values["total_steps"] = managers if policy == "manager" else workers
    if policy == "manager":
        values["seed"] = stream_seed(run.seed, "manager")
    with names_of(policy):
        return NativeRun.from_mapping(values)


def check(run: HierRun) -> None:
    """Refuse options that the hierarchical trainer cannot follow.

    Raises
    ------
    ConfigError
        Names option, value and what is allowed.
    """
    for policy in POLICIES:
        one = policy_run(run, policy)
        with names_of(policy):
            cell = one.native.recurrent
            allowed = "'none' with trainer='hier': a partner is a function of what it sees"
            require(cell == "none", "native.recurrent", cell, allowed)
    _check_others(run)
    for section in ("env_options", "schedules"):
        for name in ("goal_mode", "mode"):
            value = getattr(run, section).get(name)
            allowed = "left out with trainer='hier', which decides it"
            require(value is None, f"{section}.{name}", value, allowed)


def _check_others(run: HierRun) -> None:
    """Refuse options that do not work against others than bots, who see the bids."""
    if run.selfplay is None and not has_agents(run.env_options):
        return
    allowed = (
        "'game' with selfplay or trained opponents: in rounds alone they would play cards before "
        "the Manager has bid"
    )
    require(run.hier.mode == "game", "hier.mode", run.hier.mode, allowed)
    hindsight = policy_run(run, "worker").native.hindsight
    allowed = (
        "'off' with selfplay or trained opponents, who might have played otherwise to another goal"
    )
    require(hindsight == "off", "hier.worker.hindsight", hindsight, allowed)


@contextmanager
def names_of(policy: str) -> Iterator[None]:
    """Name in errors the policy whose options they are about."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"hier.{policy}: {error}") from error
