"""The network: quantiles of the frames to the clear, from what is counted of a situation."""

from __future__ import annotations

from torch import Tensor, nn

from training.apps.drmario.evaluator.counts import NUMBERS

UNIT = 1000.0  # frames: what an output of 1 stands for


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
