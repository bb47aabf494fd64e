"""Whole iterations of trainers, timed in turns in one process, and the rows of trainers."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch

from training.bench import ran
from training.bench.targets import Row
from training.bench.timing import Sample, Work, interleaved, summary
from training.bench.trainer_modes import ADAPTERS
from training.run import registry
from training.run.config import RunConfig
from training.run.engine import Engine

METHOD = (
    "whole iterations behind the first, in turns; no log, no checkpoint; one process, in which "
    "freed memory is kept for all of them"
)


class Timed:
    """A trainer whose iterations are timed.

    Parameters
    ----------
    config : RunConfig

    Attributes
    ----------
    trainer : Trainer
    phases : list of dict
        Seconds of each phase, an entry for each iteration.
    """

    def __init__(self, config: RunConfig) -> None:
        self._threads = config.torch_threads or 1
        torch.set_num_threads(self._threads)  # also decides the pieces of a minibatch
        self.config = config
        self.trainer: Any = registry.load_trainer(config.trainer).make_trainer(config)
        self.phases: list[dict[str, float]] = []

    @property
    def engine(self) -> Engine:
        """The engine that the trainer steps."""
        engine: Engine = self.trainer.engines[0]
        return engine

    def iterate(self) -> None:
        """Take one iteration, rollout and update."""
        self.phases.append(self.trainer.iterate()["phases"])

    def work(self) -> Work:
        """Make the work of an iteration."""
        prepare = partial(torch.set_num_threads, self._threads)
        return Work(self.iterate, self.config.rollout, prepare, threads=self._threads)

    def share(self) -> Row:
        """Return the environment's share of the wall time of all iterations but the first."""
        every = [each["env"] / sum(each.values()) for each in self.phases[1:]]
        return {"share_env": statistics.median(every), "share_env_all": every}

    def ran(self) -> ran.Ran:
        """Describe the run of the trainer."""
        return ran.describe_run(
            self.config, self.engine, "iterations", self.trainer.chosen_precision
        )

    def row(self, samples: Sequence[Sample], mode: str = "train") -> Row:
        """Make the trainer's row; see :func:`trainer_row`."""
        timed = self.engine, self.trainer.chosen_precision, samples, mode
        return trainer_row(self.config, *timed)


def in_turns(
    learners: Mapping[str, Timed], repeats: int, seconds: float
) -> dict[str, list[Sample]]:
    """Time whole iterations of learners in turns, each with threads of its own number.

    Parameters
    ----------
    learners : mapping of str to Timed
    repeats : int
    seconds : float
        Of a repeat, at least.
    """
    works = {name: each.work() for name, each in learners.items()}
    samples = interleaved(works, repeats, seconds)
    torch.set_num_threads(1)
    return samples


def trainer_row(
    config: Any,
    engine: Engine,
    precision: str,
    samples: Sequence[Sample],
    mode: str = "train",
    **more: Any,
) -> Row:
    """Return the row of a trainer that was timed.

    Parameters
    ----------
    config : RunConfig
        What it trained.
    engine : Engine
        That it stepped.
    precision : str
        As it was chosen.
    samples : sequence of Sample
    mode : str
        What was timed of it.
    **more
        What else ran; see :func:`training.bench.ran.describe_run`.
    """
    threads, trainer = config.torch_threads or 1, config.trainer
    precision_asked = config.precision
    how = {
        "trainer": trainer,
        "adapter": ADAPTERS.get(trainer, "engine"),
        "precision_asked": precision_asked,
    }
    return {
        "kind": "trainer",
        "ran": ran.describe_run(config, engine, mode, precision, **(how | more)),
        **ran.run_fields(config),
        "mode": mode,
        "backend": engine.backend,
        "torch_threads": threads,
        "activation": config.ppo.activation,
        "trunk": ran.trunk_of(config),
        "precision_asked": precision_asked,
        "precision": precision,
        "method": METHOD,
        **summary(samples, threads),
    }


def with_ppo(config: Any, **changes: Any) -> Any:
    """Return a run with other options of the section ``ppo``."""
    return config.replace(ppo=config.ppo.replace(**changes))


def with_stock(config: Any, **changes: Any) -> Any:
    """Return the same run with stock SB3, which has no section ``native`` and computes in fp32."""
    values = with_ppo(config, precision=None).to_dict()
    del values["native"]
    return RunConfig.from_mapping({**values, "trainer": "sb3"}).replace(**changes)
