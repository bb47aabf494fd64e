"""Certification that the success rate of a frozen policy is above a target, with a known error.

A sequential test (:mod:`training.callbacks.sequential`) looks after every episode. Episodes are
counted in the order of their index, never in the order in which they finish: short episodes finish
first, and are not like the others.

Every test of a run, whether of the next stage or of the same stage once more, is given less of the
error than the one before, so that all of them together keep to ``alpha``: trying until it works
does not work.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

import fastenv
from fastenv import BatchEngine
from fastenv.errors import ConfigError
from training.callbacks.sequential import EProcess, Sprt, Verdict, confidence_sequence, level
from training.callbacks.trackers.base import Source, StepReader, read
from training.evaluation.loop import Loop
from training.players.player import MakePlayer
from training.run import files
from training.run.callback import Log
from training.run.options import Number, Options, Whole, hash_json, option, require
from training.run.seeds import GATE_SEEDS

MAX_EPISODES = 1 << 20  # seeds of a test; there are as many tests


# -- configuration ---------------------------------------------------------------------------------


class GateConfig(Options):
    """Options of a gate: its target, and the errors and lengths of its tests.

    Raises
    ------
    ConfigError
        A value out of range, or tests that could hardly pass: the last one needs ``n_max`` to be
        twice the fewest episodes that can pass and twice the mean number that Wald's test needs
        at ``p1``.
    """

    SECTION: ClassVar[str] = "gate."

    target: Number = option(
        ...,
        "success rate p0 that must be exceeded",
        "above 0 and below 1: no number of episodes shows that nothing ever fails",
        gt=0,
        lt=1,
    )
    method: Literal["sprt", "eprocess"] = option("sprt", "kind of the test")
    margin: Number | None = option(
        None,
        "p1 - p0: the rate p1 should pass quickly; null for half of what is left",
        gt=0,
        lt=1,
    )
    alpha: Number = option(
        0.05,
        "probability that a policy at or below the target passes, over all tests of a run, at most "
        "(with ``sprt`` to Wald's approximation)",
        gt=0,
        lt=0.5,
    )
    beta: Number = option(
        0.05, "probability that a policy at p1 fails (``sprt``), for each test", gt=0, lt=0.5
    )
    n_max: Whole = option(
        2000,
        "episodes of a test at most; a test that is still undecided then does not pass",
        f"from 1 to {MAX_EPISODES:,}",
        ge=1,
        le=MAX_EPISODES,
    )
    tests: Whole = option(
        1,
        "tests that the run plans for, stages and retries together",
        f"from 1 to {MAX_EPISODES:,}",
        ge=1,
        le=MAX_EPISODES,
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Check that the tests can pass."""
        left, section = 1.0 - self.target, self.SECTION
        possible = self.margin is None or self.margin < left
        require(possible, f"{section}margin", self.margin, f"above 0 and below {left:.6g}")
        needed = self.needed(self.tests)
        if self.n_max < needed:
            raise ConfigError(
                f"{section}n_max={self.n_max}: test {self.tests} of the run needs {needed} to have "
                "a fair chance to pass; raise n_max or margin, lower target, or plan fewer tests."
            )
        return self

    @property
    def p1(self) -> float:
        """Return the rate that should pass quickly."""
        left = 1.0 - self.target
        return self.target + (left / 2 if self.margin is None else self.margin)

    def test(self, number: int) -> Sprt | EProcess:
        """Return the test ``number`` (1, 2, ...) of a run."""
        alpha = level(self.alpha, number)
        if self.method == "sprt":
            return Sprt(self.target, self.p1, alpha, self.beta)
        return EProcess(self.target, alpha)

    def needed(self, number: int) -> int:
        """Return the smallest sensible ``n_max`` of test ``number``."""
        wald = Sprt(self.target, self.p1, level(self.alpha, number), self.beta).expected()
        return math.ceil(2 * max(self.test(number).fewest(), wald))


# -- certificates ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Certificate:
    """The record of a test: its settings, counts and verdict; plain values throughout.

    Parameters
    ----------
    stage : str
    number : int
        Of the test in its run, from 1.
    verdict : "pass", "fail" or "undecided"
        Only ``pass`` certifies; ``undecided`` means that ``n_max`` was reached.
    target, p1, alpha, beta : float
        ``alpha`` is that of this test.
    method : str
    successes, failures : int
    given_up : int
        Failures that were stopped at ``max_steps`` decisions.
    statistic : float
        Log likelihood ratio or log E.
    low, high : float or None
        Bounds of the statistic.
    interval : tuple of float
        Confidence sequence of level ``1 - alpha``.
    n_max : int
    first_seed, last_seed : int
        Of the episodes that were counted, in this order.
    policy, config : str
        Hashes.
    engine : dict
        Version, backend and number of lanes.
    """

    stage: str
    number: int
    verdict: Verdict
    target: float
    p1: float
    alpha: float
    beta: float
    method: str
    successes: int
    failures: int
    given_up: int
    statistic: float
    low: float | None
    high: float
    interval: tuple[float, float]
    n_max: int
    first_seed: int
    last_seed: int
    policy: str
    config: str
    engine: dict[str, Any]

    @property
    def passed(self) -> bool:
        """Return whether the policy may go on to the next stage."""
        return self.verdict == "pass"

    def to_json(self) -> str:
        """Return the certificate as JSON."""
        return json.dumps(asdict(self), indent=2, allow_nan=False) + "\n"


def write_certificate(certificate: Certificate, folder: Path, log: Log, steps: int) -> None:
    """Write ``gate_<number>.json`` and log the result of the test.

    Parameters
    ----------
    certificate : Certificate
    folder : Path
        Made if need be.
    log : Log
    steps : int
        Decisions until now.
    """
    folder.mkdir(exist_ok=True)
    path = folder / f"gate_{certificate.number:04d}.json"
    files.write_text(path, certificate.to_json())
    log.event(
        "gate",
        step=steps,
        stage=certificate.stage,
        number=certificate.number,
        verdict=certificate.verdict,
        successes=certificate.successes,
        failures=certificate.failures,
        interval=list(certificate.interval),
        certificate=path.name,
    )
    log.say(
        f"gate of stage {certificate.stage}, test {certificate.number}: {certificate.verdict} "
        f"with {certificate.successes} of {certificate.successes + certificate.failures}"
    )


def config_hash(config: GateConfig, settings: Mapping[str, Any] | None = None) -> str:
    """Hash the canonical JSON of a gate and of the settings of its stage."""
    return hash_json({"gate": config.to_dict(), "settings": dict(settings or {})})


# -- running ---------------------------------------------------------------------------------------


def yield_results(
    engine: BatchEngine,
    make: MakePlayer,
    success: Source,
    seeds: np.ndarray,
    max_steps: int | None = None,
) -> Iterator[tuple[bool, bool]]:
    """Play episodes on all lanes; yield the outcome of each, in their order.

    A lane that is done does not wait for the others (``wait`` of
    :class:`training.evaluation.loop.Loop`).

    Parameters
    ----------
    engine : BatchEngine
        Only these episodes play on it.
    make : callable
        Makes the player.
    success : str or callable
        Info column or function of a :class:`~training.callbacks.trackers.base.StepReader`, read
        where an episode has ended; nonzero is a success.
    seeds : ndarray of int64, shape (episodes,)
    max_steps : int, optional
        An episode that is not over after so many decisions is given up, and has failed.

    Yields
    ------
    bool, bool
        Whether the episode succeeded, and whether it was given up.
    """
    limit = sys.maxsize if max_steps is None else max_steps
    outcomes: dict[int, tuple[bool, bool]] = {}
    following = 0
    for step in Loop(engine, [make(engine)], seeds, limit=limit, wait=False):
        if step.finished.size:
            won = np.asarray(read(success, StepReader(engine))) != 0
            for lane in step.over.tolist():
                outcomes[int(step.episode[lane])] = bool(won[lane]), False
            for lane in step.given_up.tolist():
                outcomes[int(step.episode[lane])] = False, True
        while following in outcomes:
            yield outcomes.pop(following)
            following += 1


class Gate:
    """The tests of one run: when the next one is due, and its number.

    Parameters
    ----------
    config : GateConfig
    every : int
        Updates between two tests at least.
    """

    def __init__(self, config: GateConfig, every: int = 1) -> None:
        self.config, self._every = config, every
        self.tests = 0
        self._last_update: int | None = None

    def due(self, update: int) -> bool:
        """Return whether enough updates have passed since the last test."""
        last = self._last_update
        return last is None or update - last >= self._every

    def certify(
        self,
        update: int,
        engine: BatchEngine,
        make: MakePlayer,
        success: Source,
        *,
        stage: str,
        fingerprint: Callable[[], str],
        target: float | None = None,
        settings: Mapping[str, Any] | None = None,
        max_steps: int | None = None,
    ) -> Certificate:
        """Test whether a frozen policy exceeds the target; see :class:`GateConfig`.

        The number of the test in its run, retries included, decides what error is left and which
        seeds are played, so that no test sees the episodes of another.

        Parameters
        ----------
        update : int
            Number of the update behind which it takes place.
        engine : BatchEngine
            Configured for the stage, and not the engine that trains: its lanes are reset and
            seeded.
        make : callable
            Makes the player: of a copy that nobody trains meanwhile.
        success : str or callable
            See :func:`yield_results`.
        stage : str
            Name of the stage.
        fingerprint : callable
            Returns the hash of the policy's parameters, before and after the test.
        target : float, optional
            Success rate that must be exceeded; default that of the configuration.
        settings : mapping, optional
            Plain values that describe the stage, for the hash.
        max_steps : int, optional
            See :func:`yield_results`.

        Raises
        ------
        ConfigError
            ``n_max`` does not suffice for this test.
        RuntimeError
            The policy changed while it was tested.
        """
        config = self.config if target is None else self.config.replace(target=target)
        self.tests += 1  # spent, whatever happens now
        self._last_update, number = update, self.tests
        if number > config.tests:
            config.replace(tests=number)  # more tests than planned: enough episodes for this one?
        before, test = fingerprint(), config.test(number)
        first = GATE_SEEDS + (number - 1) * MAX_EPISODES
        seeds = first + np.arange(config.n_max, dtype=np.int64)
        successes = failures = given_up = 0
        verdict: Verdict = "undecided"
        for won, late in yield_results(engine, make, success, seeds, max_steps):
            successes += won
            failures += not won
            given_up += late
            verdict = test.verdict(successes, failures)
            if verdict != "undecided":
                break
        if fingerprint() != before:
            raise RuntimeError(f"stage {stage}: the policy changed in its test; test a copy of it")
        low, high = test.bounds()
        return Certificate(
            stage=stage,
            number=number,
            verdict=verdict,
            target=config.target,
            p1=config.p1,
            alpha=test.alpha,
            beta=config.beta,
            method=config.method,
            successes=successes,
            failures=failures,
            given_up=given_up,
            statistic=test.statistic(successes, failures),
            low=low if math.isfinite(low) else None,
            high=high,
            interval=confidence_sequence(successes, failures, test.alpha),
            n_max=config.n_max,
            first_seed=first,
            last_seed=first + successes + failures - 1,
            policy=before,
            config=config_hash(config, settings),
            engine={
                "fastenv": fastenv.__version__,
                "backend": engine.backend,
                "num_envs": engine.num_envs,
            },
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the number of tests, and the update of the last one."""
        return {"tests": self.tests, "last_update": self._last_update}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` returned."""
        self.tests, self._last_update = state["tests"], state["last_update"]
