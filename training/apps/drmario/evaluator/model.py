"""An evaluator: its network, what it was trained for, and the file that holds both.

It predicts quantiles of the frames to the clear of a bottle. A risk measure makes one number of
them: mean, quantile or CVaR. Each is a weighted sum of the quantiles in rising order. Frames are a
cost: a CVaR is the mean of the largest share (docs/howto/drmario_lookahead.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from fastenv.drmario.tables import LAST_VIRUS_LEVEL, SPEEDS
from fastenv.errors import ConfigError
from training.apps.drmario.evaluator.features import NUMBERS, count_features, situations
from training.run.options import Options, Plain, Text, Whole, require
from training.run.weights import NetworkFile, NetworkOptions

FORMAT = "fastenv-drmario-evaluator"
FILE = NetworkFile(FORMAT, "evaluator", "evaluator", "python -m training evaluator")
POTENTIAL = "evaluator:"  # what the potential of an evaluator's file is called, before its path
UNIT = 1000.0  # frames: what an output of 1 stands for
MEASURE = re.compile(r"mean|(quantile|cvar)(0?\.\d{1,6})")


def weigh(measure: str, count: int) -> np.ndarray:
    """Return the weights that make a risk measure of quantiles in rising order, of sum 1.

    Between two quantiles a line is drawn, and behind the outermost ones nothing changes.

    Parameters
    ----------
    measure : str
        ``mean``, or ``quantile`` or ``cvar`` with a share of outcomes, such as ``cvar0.25``: those
        at most as large as the quantile, or the largest ones.
    count : int
        Of quantiles.

    Returns
    -------
    ndarray of float32, shape (count,)

    Raises
    ------
    ConfigError
        If there is no such measure.
    """
    match = MEASURE.fullmatch(measure)
    kind, share = ("mean", 0.5) if match is None or not match[1] else (match[1], float(match[2]))
    allowed = "mean, or quantile or cvar with a share above 0 and below 1, such as cvar0.25"
    require(match is not None and share > 0, "risk", measure, allowed)
    weights = np.zeros(count)
    if kind == "mean":
        weights[:] = 1.0 / count
    elif kind == "cvar":
        worst = share * count  # of the outcomes, each quantile stands for one
        weights[:] = np.clip(worst - np.arange(count)[::-1], 0.0, 1.0) / worst
    else:
        at = min(max(share * count - 0.5, 0.0), count - 1.0)
        below = int(at)
        weights[below] = 1.0 - (at - below)
        if below + 1 < count:
            weights[below + 1] = at - below
    return weights.astype(np.float32)


class EvaluatorNet(nn.Module):
    """Two hidden layers, and a line from the numbers straight to the quantiles.

    Parameters
    ----------
    quantiles : int
        Outputs: quantiles at the fractions ``(i + 0.5) / quantiles``.
    hidden : int
        Units of a hidden layer.
    """

    def __init__(self, quantiles: int, hidden: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Linear(len(NUMBERS), hidden), nn.ReLU()),
            *(nn.Linear(hidden, hidden), nn.ReLU()),
        )
        self.out = nn.Linear(hidden, quantiles)
        self.straight = nn.Linear(len(NUMBERS), 1, bias=False)

    def forward(self, numbers: Tensor) -> Tensor:
        """Return the quantiles in units, in no order, shape (n, quantiles).

        Parameters
        ----------
        numbers : Tensor of float32, shape (n, numbers)
        """
        quantiles: Tensor = self.out(self.layers(numbers)) + self.straight(numbers)
        return quantiles


class Shape(Options):
    """What an evaluator is trained for, and how large it is.

    Parameters
    ----------
    levels : tuple of int
        The lowest and the highest level it was trained on.
    speeds : tuple of str
    t_max : int
        Frames that a lost game counts, and above which no difference is made.
    quantiles : int
    hidden : int
    """

    levels: tuple[Whole, ...] = (0, 10)
    speeds: tuple[Text, ...] = ("medium",)
    t_max: Whole = Field(default=24_000, ge=1, le=10**6)
    quantiles: Whole = Field(default=51, ge=1, le=1001)
    hidden: Whole = Field(default=96, ge=1, le=4096)

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse impossible values."""
        lowest, highest = 0, LAST_VIRUS_LEVEL
        pair = len(self.levels) == 2 and lowest <= self.levels[0] <= self.levels[1] <= highest
        allowed = f"the lowest and the highest level, from {lowest} to {highest}"
        require(pair, "levels", self.levels, allowed)
        possible = bool(self.speeds) and all(speed in SPEEDS for speed in self.speeds)
        require(possible, "speeds", self.speeds, f"some of {', '.join(SPEEDS)}")
        return self


class Head(Shape, NetworkOptions):
    """The head of an evaluator's file: its games, its network and its training.

    Parameters
    ----------
    observation : str
        What it sees.
    about : mapping
        How it was trained.
    """

    observation: Literal["bottle_pill_gravity"] = "bottle_pill_gravity"
    about: Plain = Field(default_factory=dict)

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

    def costs(self, seen: np.ndarray, measure: str = "mean") -> np.ndarray:
        """Return a measure of the frames to the clear, float32 (n,); see :func:`weigh`."""
        # numpy has warned of an invalid value here although all numbers are finite.
        with np.errstate(invalid="ignore"):
            costs: np.ndarray = self.quantiles(seen) @ weigh(measure, self.head.quantiles)
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


# -- potential shaping -----------------------------------------------------------------------------


def find_potential(name: str) -> Callable[[np.ndarray], np.ndarray] | None:
    """Load the potential that is called ``evaluator:FILE``: ``-E[T]`` of rows at decisions.

    Parameters
    ----------
    name : str

    Returns
    -------
    callable or None
        None for another name. Raises ConfigError for games that it was not trained for.

    Raises
    ------
    ConfigError
        If there is no such evaluator.
    """
    if not name.startswith(POTENTIAL):
        return None
    evaluator = load(Path(name.removeprefix(POTENTIAL)))

    def phi(rows: np.ndarray) -> np.ndarray:
        players = rows["players"][:, 0]
        evaluator.check(players["level"], players["speed_setting"])
        return -evaluator.costs(situations(rows))

    return phi
