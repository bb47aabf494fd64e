"""Options of potential shaping: the section ``shaping`` of a run."""

from __future__ import annotations

from dataclasses import dataclass

from training.run.values import require


@dataclass(frozen=True)
class ShapingConfig:
    """What is added to rewards; see :mod:`training.callbacks.shaping`.

    Parameters
    ----------
    phi : str
        A potential that the game offers.
    kappa : float
        What it is divided by. The default suits potentials that count frames.
    gamma : float or None
        Discount of a primitive step: that of the learner, which None stands for.
    """

    phi: str
    kappa: float = 250.0
    gamma: float | None = None

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        require(self.kappa > 0, "shaping.kappa", self.kappa, "above 0")
