"""Risk measures that judge a placement: mean, quantile or CVaR of the frames to the clear.

All of them are weighted sums of the quantiles in rising order, so that a measure is its weights.
Frames are a cost: a CVaR is the mean of the largest share (docs/howto/drmario_lookahead.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from training.run.options import require

ALLOWED = "mean, or quantile or cvar with a share above 0 and below 1, such as cvar0.25"


@dataclass(frozen=True)
class Measure:
    """A measure of a distribution.

    Parameters
    ----------
    kind : {"mean", "quantile", "cvar"}
    share : float
        Of outcomes: those at most as large as the quantile, or the largest ones.
    """

    kind: str = "mean"
    share: float = 0.5

    def __post_init__(self) -> None:
        """Refuse what is no measure."""
        require(self.kind in ("mean", "quantile", "cvar"), "risk", self.kind, ALLOWED)
        require(0 < self.share < 1, "risk", f"{self.kind}{self.share:g}", ALLOWED)

    @classmethod
    def parse(cls, text: str) -> Measure:
        """Return the measure of a text such as ``mean``, ``quantile0.75`` or ``cvar0.25``.

        Raises
        ------
        ConfigError
            If it is none.
        """
        if text == "mean":
            return cls()
        match = re.fullmatch(r"(quantile|cvar)(0?\.\d{1,6})", text)
        require(match is not None, "risk", text, ALLOWED)
        assert match is not None
        return cls(match[1], float(match[2]))

    def __str__(self) -> str:
        """Return the text that :meth:`parse` takes."""
        return self.kind if self.kind == "mean" else f"{self.kind}{self.share:g}"

    def weights(self, count: int) -> np.ndarray:
        """Return the weights of ``count`` quantiles in rising order, float32, of sum 1.

        Between two quantiles a line is drawn, and behind the outermost ones nothing changes.
        """
        weights = np.zeros(count)
        if self.kind == "mean":
            weights[:] = 1.0 / count
        elif self.kind == "cvar":
            worst = self.share * count  # of the outcomes, each quantile stands for one
            weights[:] = np.clip(worst - np.arange(count)[::-1], 0.0, 1.0) / worst
        else:
            at = min(max(self.share * count - 0.5, 0.0), count - 1.0)
            below = int(at)
            weights[below] = 1.0 - (at - below)
            if below + 1 < count:
                weights[below + 1] = at - below
        return weights.astype(np.float32)
