"""A curriculum of stages that a gate opens (section ``gate`` of a run's options).

Stages are knobs of the environment. Between two iterations the policy, its best legal action, is
tested (:mod:`training.callbacks.gate`) on the newest stage; once it passes, the next one follows.
Which stages are trained on says :mod:`training.callbacks.stage_schedules`.
Wherever the stage changes, all lanes begin anew with its knobs, so that no rollout has two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from training.callbacks.best_times import Records
from training.callbacks.gate import MAX_EPISODES, Gate, GateConfig, write_certificate
from training.callbacks.stage_schedules import MODES, StageSchedule
from training.callbacks.times import TimeGoals, list_targets
from training.callbacks.trackers.base import StepReader, ended_lanes, read
from training.callbacks.trackers.sources import source_of
from training.nets.actor_critic import make_player
from training.players.network import Network
from training.run import envs, games, registry, schedules
from training.run.callback import Callback, EngineStep, Progress
from training.run.checkpoint import State
from training.run.config import RunConfig
from training.run.engine import Engine
from training.run.options import Options, Plain, Text, Truth, Whole, option, require
from training.run.seeds import generators_kept, stream_seed
from training.run.weights import digest


class Stage(Options):
    """A stage of a curriculum.

    Parameters
    ----------
    name : str
    knobs : mapping
        Knobs of the environment and their values; what it does not name stays as it is.
    """

    SECTION: ClassVar[str] = "gate.stages."

    name: Text
    knobs: Plain


class CurriculumConfig(GateConfig):
    """Options of the section ``gate``: those of every gate, counted in iterations, and its own."""

    stages: tuple[Stage, ...] = option(
        ..., "two or more; there is a gate between each and the next"
    )
    success: Plain = option(..., "source of a tracker, nonzero where an episode has succeeded")
    tests: Whole = option(
        10,
        "tests that the run plans for, stages and retries together",
        f"from 1 to {MAX_EPISODES:,}",
        ge=1,
        le=MAX_EPISODES,
    )
    gate_every: Whole = option(10, "updates between two tests at least", ge=1)
    lanes: Whole = option(64, "lanes that the episodes of a test are played on", ge=1)
    max_steps: Whole | None = option(
        None,
        "decisions after which an episode is given up, and has failed",
        "at least 1, or null for no limit",
        ge=1,
    )
    mode: Literal["linear", "adaptive"] = option(
        "linear", "which stages are trained on; one is drawn every ``gate_every`` iterations"
    )
    watch: Truth = option(
        False,
        "test only where the success rate in training, by a lower bound, is above the target",
    )
    times: tuple[Text, ...] = option(
        (), "budgets of the game that a stage gets once it is mastered"
    )

    @model_validator(mode="after")
    def _check_stages(self) -> Self:
        """Refuse impossible values."""
        names = [stage.name for stage in self.stages]
        different = len(set(names)) == len(names) >= 2
        require(different, "gate.stages", names, "two or more, each with a name of its own")
        knobs = [set(stage.knobs) for stage in self.stages]
        same = self.mode == "linear" or all(each == knobs[0] for each in knobs)
        require(same, "gate.stages", names, "stages with the same knobs where training goes back")
        return self


def get_options(config: RunConfig) -> CurriculumConfig:
    """Return the section ``gate`` of a run that has one.

    Raises
    ------
    ConfigError
        Names what is wrong, or what a run with a gate cannot have.
    """
    options: CurriculumConfig = CurriculumConfig.from_mapping(config.gate)
    both = sorted(
        {knob for stage in options.stages for knob in stage.knobs} & set(config.schedules)
    )
    require(not both, "schedules", both, "without the knobs that the stages of the gate set")
    ticks = config.window_ticks
    require(not ticks, "window_ticks", ticks, "0 with a gate, which cuts episodes short")
    budgets = games.find(config.env, "budgets") or {}
    allowed = "empty: this game has no budgets" if not budgets else "of " + ", ".join(budgets)
    known = set(options.times) <= set(budgets) and len(set(options.times)) == len(options.times)
    require(known, "gate.times", list(options.times), allowed)
    taken = {budgets[name].knob for name in options.times} & {
        *config.schedules,
        *config.env_options,
        *(knob for stage in options.stages for knob in stage.knobs),
    }
    require(not taken, "gate.times", list(options.times), f"without {', '.join(taken)} elsewhere")
    for target in list_targets() if options.times else ():
        options.replace(target=target)  # refuses those that could hardly be passed
    return options


def check(config: RunConfig) -> None:
    """Refuse stages and a success that the environment does not know."""
    options = get_options(config)
    engine = envs.make_engine(config.env, 1, config.env_options)
    for stage in options.stages:
        configure([engine], stage)
    source_of(engine, options.success, "gate.success")


def configure(engines: Sequence[Engine], stage: Stage) -> None:
    """Set the knobs of a stage, for each lane from its next reset."""
    for engine in engines:
        for knob, value in stage.knobs.items():
            engine.configure(knob, value)


class Curriculum(Callback):
    """The curriculum of a run: its stage, its schedule and its tests.

    Parameters
    ----------
    config : RunConfig
    options : CurriculumConfig
    engines : sequence of Engine
        Those that are trained on.
    folder : Path
        For the certificates: ``gate_<number>.json``.
    policy : callable
        Returns a copy of the parameters in host memory.
    reset_lanes : callable
        Begins new episodes in all lanes of ``engines``.
    records : Records, optional
        Knows floors of budgets.

    Attributes
    ----------
    engine : BatchEngine
        What the policy is tested on.
    """

    def __init__(
        self,
        config: RunConfig,
        options: CurriculumConfig,
        engines: Sequence[Engine],
        folder: Path,
        policy: Callable[[], dict[str, Any]],
        reset_lanes: Callable[[], None],
        records: Records | None = None,
    ) -> None:
        self._config, self._options, self._engines = config, options, engines
        self._folder, self._policy, self._reset_lanes = folder, policy, reset_lanes
        self._gate, self._stage, self._announced = Gate(options, options.gate_every), 0, False
        seed = stream_seed(config.seed, "curriculum")
        self._schedule: StageSchedule = MODES[options.mode](len(options.stages), seed)
        self.engine = envs.make_engine(config.env, options.lanes, config.env_options)
        self._success = source_of(self.engine, options.success, "gate.success")
        self._seen = [source_of(e, options.success, "gate.success") for e in engines]
        offered = games.find(config.env, "budgets") or {}
        budgets = {name: offered[name] for name in options.times}
        self._times = TimeGoals(budgets, len(options.stages), records)
        self._met = self._seen
        if budgets:
            met = games.find(config.env, "goal_met")
            self._met = [source_of(e, met, "goal_met") for e in engines]
        self.apply(self._engines, 0)

    @property
    def stage(self) -> Stage:
        """The stage to train on."""
        return self._options.stages[self._stage]

    def apply(self, engines: Sequence[Engine], number: int) -> None:
        """Set the knobs of all stages up to one, in their order, and the budgets of that one."""
        for stage in self._options.stages[: number + 1]:
            configure(engines, stage)
        self._times.configure(engines, number)

    @property
    def engines(self) -> Sequence[Engine]:
        """The engine of the tests, on which the knobs of the training hold too."""
        return (self.engine,)

    def record(self) -> dict[str, Any]:
        """Return the stage and the number of tests until now, for the log."""
        times = self._times.record(self._stage)
        return {"gate": {"stage": self._stage, "tests": self._gate.tests, **times}}

    def step(self, loop: Progress, step: EngineStep) -> None:
        """Count the episodes that a step has ended."""
        engine = step.engine
        if step.actions is None:
            return
        ended = ended_lanes(engine)
        number = [each is engine for each in self._engines].index(True)
        met = won = np.zeros(0, np.bool_)
        seen = StepReader.after_step(engine, step.obs)
        if ended.size:
            won = met = np.asarray(read(self._seen[number], seen))[ended] != 0
            if self._met is not self._seen:
                met = np.asarray(read(self._met[number], seen))[ended] != 0
        self._schedule.rates.add(self._stage, met, engine.num_envs)
        self._times.add(self._stage, engine, seen, met, won)

    def begin_iteration(self, loop: Progress) -> None:
        """Test the policy if it is time to, and go on to another stage if that is decided."""
        iteration = loop.iteration
        newest, tested = self._schedule.next_test, False
        late = iteration >= self._options.gate_every and self._gate.due(iteration)
        left = self._gate.tests < self._options.tests
        if late and newest is not None and self._is_ready(newest):
            tested = left
            if tested:
                passed = self._test(loop, newest, self._options.target)
                self._schedule.record_verdict(passed)
            elif not self._announced:
                self._announced = True
                loop.log.warn(
                    f"the gate has made its gate.tests={self._options.tests} tests: no stage is "
                    f"opened behind {self._options.stages[newest].name}."
                )
        stage, changed = self._stage, self._times.settle(self._stage, self._engines[0])
        limit = None if tested else self._times.target(stage)
        if limit is not None and late and left:
            passed = self._test(loop, stage, limit, within=stage)
            changed |= self._times.record_verdict(stage, passed, self._engines[0])
        if changed:
            self._times.configure(self._engines, stage)
            values = self._times.values(stage)
            loop.log.event("budgets", step=loop.steps, stage=self.stage.name, **values)
        if tested or iteration % self._options.gate_every == 0:
            self._train_on(loop, self._schedule.choose_stage())

    def _train_on(self, loop: Progress, number: int) -> None:
        """Change to a stage, if it is another."""
        if number == self._stage:
            return
        self._stage = number
        self.apply(self._engines, number)
        self._reset_lanes()
        knobs = dict(self.stage.knobs)
        loop.log.event("stage", step=loop.steps, name=self.stage.name, knobs=knobs)

    def _is_ready(self, stage: int) -> bool:
        """Tell whether a policy is good enough in training to be tested on a stage."""
        seen = self._schedule.rates.lower(stage)
        return not self._options.watch or seen > self._options.target

    def _test(self, loop: Progress, stage: int, target: float, within: int | None = None) -> bool:
        """Test whether the policy exceeds a rate on a stage, within the budgets of ``within``."""
        self.apply([self.engine], stage)
        self._times.configure([self.engine], within)
        stages = self._options.stages[: stage + 1]
        parameters = self._policy()
        with generators_kept():
            module = registry.load_trainer(self._config.trainer)
            nets = module.load_nets(self._config, self.engine, parameters)
            logits = make_player(next(iter(nets.values()))[0])
        certificate = self._gate.certify(
            loop.iteration,
            self.engine,
            partial(Network, logits),
            self._success,
            stage=stages[-1].name,
            target=target,
            fingerprint=lambda: digest(parameters),
            settings={
                "env": self._config.env,
                "env_options": dict(self._config.env_options),
                "schedules": schedules.get_scheduled_values(self._config.schedules, loop.steps),
                "stages": [stage.to_dict() for stage in stages],
                "success": dict(self._options.success),
                **({} if within is None else {"budgets": self._times.values(within)}),
            },
            max_steps=self._options.max_steps,
        )
        write_certificate(certificate, self._folder, loop.log, loop.steps)
        return certificate.passed

    def state(self) -> dict[str, Any]:
        """Return stage, tests, schedule and time goals as JSON values."""
        schedule = self._schedule.state()
        gate, times = self._gate.state_dict(), self._times.state()
        return {"curriculum": {"stage": self._stage, "course": schedule, "times": times, **gate}}

    def restore(self, saved: State) -> None:
        """Restore from a checkpoint what :meth:`state` returned."""
        state = saved.values["curriculum"]
        self._stage = int(state["stage"])
        self._gate.load_state_dict(state)
        self._schedule.restore(state["course"])
        self._times.restore(state["times"])
        self.apply(self._engines, self._stage)
