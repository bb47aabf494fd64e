"""All backends side by side from a moment, and the first bit in which they differ."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from fastenv import BatchEngine, sample_legal
from fastenv.verify import BACKENDS, available, first_difference

AT_ONCE_S = 0.05


class Prover:
    """Steps backends with the same actions and compares all they show.

    Parameters
    ----------
    engine : BatchEngine
        Of one lane, for its game and who sits where.
    row : record
        Where to begin.
    steps : int
        Decisions, drawn from the legal ones; an episode that ends begins anew.
    """

    def __init__(self, engine: BatchEngine, row: np.void, steps: int) -> None:
        self._steps, self._done, self._lack = steps, 0, {}
        self._rng = np.random.default_rng(steps)
        columns = (*engine.spec.info_columns, *engine.spec.term_columns)
        self._engines: dict[str, BatchEngine] = {}
        for name, why in available(engine.game).items():
            if why is not None:
                self._lack[name] = why
                continue
            opponent = engine.opponent
            copy = BatchEngine(engine.game, 1, BACKENDS[name], 1, columns, opponent)
            copy.reset_many(seeds=0)
            copy.set_states(np.array([row], engine.spec.state_dtype), [0])
            self._engines[name] = copy
        self._standard, *self._others = self._engines
        self._found = self._compare()

    def _compare(self) -> str | None:
        standard = self._engines[self._standard]
        for name in self._others:
            difference = first_difference(standard, self._engines[name])
            if difference is not None:
                field, _, values = difference
                ours, theirs = (str(value)[:80] for value in values)
                return f"{self._standard} and {name} differ in {field}: {ours}, {theirs}"
        return None

    def advance(self) -> dict[str, Any]:
        """Go on for a moment; return the message that says how far it is."""
        stop = time.monotonic() + AT_ONCE_S
        while self._done < self._steps and self._found is None:
            actions = sample_legal(self._engines[self._standard].mask, self._rng)
            for engine in self._engines.values():
                engine.step_many(actions)
            self._done += 1
            self._found = self._compare()
            if time.monotonic() > stop:
                break
        return {
            "kind": "proof",
            "backends": [*self._engines],
            "missing": self._lack,
            "steps": self._done,
            "of": self._steps,
            "difference": self._found,
            "done": self._done == self._steps or self._found is not None,
        }
