"""An evaluator: its network, what it was trained for, and the file that holds both."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
import torch
from pydantic import Field, model_validator

from fastenv.drmario.tables import LAST_VIRUS_LEVEL, SPEEDS
from fastenv.errors import ConfigError
from training.apps.drmario.evaluator.counts import count_features
from training.apps.drmario.evaluator.net import UNIT, EvaluatorNet
from training.apps.drmario.evaluator.risk import Measure
from training.apps.drmario.evaluator.situations import OBSERVATION
from training.run import network_file
from training.run.network_file import NetworkFile
from training.run.options import Plain, Text, Whole, require

FORMAT = "fastenv-drmario-evaluator"
FILE = NetworkFile(FORMAT, "evaluator", "evaluator", "python -m training evaluator")


class Head(network_file.Head):
    """The head of an evaluator's file: its games, its network and its training.

    Parameters
    ----------
    levels : tuple of int
        The lowest and the highest level it was trained on.
    speeds : tuple of str
    t_max : int
        Frames that a lost game counts, and above which no difference is made.
    quantiles : int
    hidden : int
    observation : str
        What it sees; :data:`training.apps.drmario.evaluator.situations.OBSERVATION`.
    about : mapping
        How it was trained.
    """

    levels: tuple[Whole, ...] = (0, 10)
    speeds: tuple[Text, ...] = ("medium",)
    t_max: Whole = 24_000
    quantiles: Whole = 51
    hidden: Whole = 96
    observation: Text = OBSERVATION
    about: Plain = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse impossible values."""
        lowest, highest = 0, LAST_VIRUS_LEVEL
        pair = len(self.levels) == 2 and lowest <= self.levels[0] <= self.levels[1] <= highest
        allowed = f"the lowest and the highest level, from {lowest} to {highest}"
        require(pair, "levels", self.levels, allowed)
        possible = bool(self.speeds) and all(speed in SPEEDS for speed in self.speeds)
        require(possible, "speeds", self.speeds, f"some of {', '.join(SPEEDS)}")
        require(1 <= self.t_max <= 10**6, "t_max", self.t_max, "from 1 to 1,000,000")
        require(1 <= self.quantiles <= 1001, "quantiles", self.quantiles, "from 1 to 1001")
        require(1 <= self.hidden <= 4096, "hidden", self.hidden, "from 1 to 4096")
        allowed = f"{OBSERVATION!r}: this version sees nothing else"
        require(self.observation == OBSERVATION, "observation", self.observation, allowed)
        return self

    def net(self) -> EvaluatorNet:
        """Return a new network."""
        return EvaluatorNet(self.quantiles, self.hidden)


class Evaluator:
    """A network that estimates the frames to the clear of a bottle.

    Parameters
    ----------
    head : Head
    net : EvaluatorNet
    name : str
        What errors call it.
    """

    def __init__(self, head: Head, net: EvaluatorNet, name: str = "evaluator") -> None:
        self.head, self.net, self.name = head, net, name
        net.eval().requires_grad_(False)

    def quantiles(self, seen: np.ndarray) -> np.ndarray:
        """Return the quantiles of the frames to the clear, rising, float32 (n, quantiles).

        Parameters
        ----------
        seen : ndarray of SITUATION, shape (n,)
        """
        with torch.inference_mode():
            outputs = self.net(torch.from_numpy(count_features(seen))).sort(1).values
        frames: np.ndarray = outputs.mul(UNIT).clamp(0.0, self.head.t_max).numpy()
        return frames

    def costs(self, seen: np.ndarray, measure: Measure) -> np.ndarray:
        """Return a measure of the frames to the clear, float32 (n,)."""
        # numpy has warned of an invalid value here although all numbers are finite.
        with np.errstate(invalid="ignore"):
            costs: np.ndarray = self.quantiles(seen) @ measure.weights(self.head.quantiles)
        return costs

    def check(self, levels: np.ndarray, speeds: np.ndarray) -> None:
        """Refuse games that it was not trained for.

        Parameters
        ----------
        levels, speeds : ndarray of int
            Of games; speeds by number.

        Raises
        ------
        ConfigError
        """
        low, high = self.head.levels
        outside = levels[(levels < low) | (levels > high)]
        if outside.size:
            raise ConfigError(
                f"level={outside[0]} is not possible with {self.name}: it was trained for levels "
                f"{low} to {high}."
            )
        trained = [SPEEDS.index(speed) for speed in self.head.speeds]
        strange = speeds[~np.isin(speeds, trained)]
        if strange.size:
            raise ConfigError(
                f"speed={SPEEDS[strange[0]]!r} is not possible with {self.name}: it was trained "
                f"for speed {', '.join(self.head.speeds)}."
            )

    def save(self, path: Path) -> None:
        """Write the evaluator to a file."""
        FILE.save(path, self.head, self.net)


def load(path: Path) -> Evaluator:
    """Read an evaluator from a file.

    Raises
    ------
    ConfigError
        If it is none, or one for another observation.
    ImportError
        Without safetensors.
    """
    head, net = FILE.load(path, Head)
    return Evaluator(head, net, str(path))


def new_evaluator(head: Head, seed: int) -> Evaluator:
    """Make an untrained evaluator."""
    torch.manual_seed(seed)
    return Evaluator(head, head.net())
