"""Environments that crash, hang or break a rule, and copies of the small games with a fault."""

from __future__ import annotations

import os
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tests.testing.games.ferry import Ferry

HERE = Path(__file__).parent
CLASSES = {"ferry": "Ferry", "piles": "Piles", "drop": "DropVector", "bluff": "Bluff"}


class Crashing(Ferry):
    """Ends the process in the third step of an episode."""

    def step(self, action: int) -> Any:
        if self.steps == 2:
            os._exit(3)
        return super().step(action)


class Hanging(Ferry):
    """Never answers the third step of an episode."""

    def step(self, action: int) -> Any:
        if self.steps == 2:
            time.sleep(600)
        return super().step(action)


class Kept(Ferry):
    """Pays more from the 60th step in the process on."""

    steps_in_all: ClassVar[list[int]] = []

    def step(self, action: int) -> Any:
        self.steps_in_all.append(action)
        observation, reward, *rest = super().step(action)
        return observation, reward + (len(self.steps_in_all) >= 60), *rest


class Raising(Ferry):
    """Does not accept a legal action in the third step."""

    def step(self, action: int) -> Any:
        if self.steps == 2:
            raise RuntimeError("the engine is gone")
        return super().step(action)


class NotFinite(Ferry):
    """Pays a reward that is no number."""

    def step(self, action: int) -> Any:
        observation, _, *rest = super().step(action)
        return observation, float("nan"), *rest


class Four(Ferry):
    """Returns four values, as before Gymnasium 0.26."""

    def step(self, action: int) -> Any:
        observation, reward, terminated, _, info = super().step(action)
        return observation, reward, terminated, info


def not_made() -> Any:
    """Raise before there is an environment."""
    raise OSError("no such level")


def not_an_environment() -> Any:
    """Return something else."""
    return np.zeros(3)


def read_faults() -> list[dict[str, Any]]:
    """Return the list of faults."""
    faults: list[dict[str, Any]] = tomllib.loads((HERE / "mutants.toml").read_text())["mutant"]
    return faults


def faulty_text(fault: Mapping[str, Any]) -> str:
    """Return the text of a game that has a fault."""
    text = (HERE / "games" / fault["file"]).read_text()
    assert text.count(fault["old"]) == 1, fault["what"]
    return str(text.replace(fault["old"], fault["new"]) + fault.get("more", ""))


def make_faulty(fault: Mapping[str, Any]) -> type:
    """Return the class of a game that has a fault."""
    names: dict[str, Any] = {"__name__": "faulty"}
    exec(compile(faulty_text(fault), fault["file"], "exec"), names)
    made: type = names[CLASSES[Path(fault["file"]).stem]]
    return made
