"""Adam with clipped gradients: on a CPU one pass over the memory of a parameter, not five.

Torch clips all gradients first, each operation on all parameters, then its fused kernel takes the
step. For the networks of a replay that is a fifth of an update; the state is the same, and so are
the checkpoints.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd.graph import increment_version

from fastenv.numba_cache import cached_njit

Array = npt.NDArray[Any]
_SIDE_BY_SIDE = 128


class ClippedAdam(torch.optim.Adam):
    """Adam that clips the global norm of the gradients in the same pass.

    Parameters
    ----------
    parameters : iterable of Tensor
        On one device, as a single group.
    lr, eps : float
    max_norm : float
        Above it gradients are scaled down to it.
    """

    def __init__(self, parameters: Any, lr: float, eps: float, max_norm: float) -> None:
        every: list[Tensor] = list(parameters)
        kind = every[0].device.type
        super().__init__(every, lr=lr, eps=eps, fused=kind in ("cpu", "cuda"))
        self._every, self._max_norm, self._on_host = every, max_norm, kind == "cpu"
        self._stored: list[list[Array]] = []

    @property
    def in_one_pass(self) -> bool:
        """Whether :meth:`descend` can be used: on a CPU, once torch has made the state."""
        return self._on_host and len(self.state) == len(self._every)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Put back what ``state_dict`` returned."""
        super().load_state_dict(state_dict)
        self._stored = []

    def descend(self) -> Tensor:
        """Take a step and drop the gradients; return their norm before it was clipped."""
        (group,) = self.param_groups
        beta1, beta2 = group["betas"]
        states = [self.state[parameter] for parameter in self._every]
        if not self._stored:
            names = ("exp_avg", "exp_avg_sq")
            moments = ((state[name] for name in names) for state in states)
            both = zip(self._every, moments, strict=True)
            self._stored = [[_flatten(x) for x in (parameter, *more)] for parameter, more in both]
        grads = [_flatten(parameter.grad) for parameter in self._every]
        norm = math.sqrt(sum(_sum_of_squares(grad) for grad in grads))
        torch._foreach_add_([state["step"] for state in states], 1)
        taken = float(states[0]["step"])
        root = math.sqrt(1.0 - beta2**taken)
        rate = group["lr"] / (1.0 - beta1**taken) * root
        scale = min(1.0, self._max_norm / (norm + 1e-6))  # as torch has it
        numbers = (scale, rate, beta1, beta2, group["eps"] * root)
        for stored, grad in zip(self._stored, grads, strict=True):
            _step(*stored, grad, *map(np.float32, numbers))
        for parameter in self._every:
            parameter.grad = None
        increment_version(self._every)
        return torch.tensor(norm)


def _flatten(tensor: Tensor | None) -> Array:
    assert tensor is not None
    return tensor.detach().view(-1).numpy()


@cached_njit(nogil=True)
def _sum_of_squares(
    x,  # IN float32 (n,)
):
    # Sums side by side become vector code, without a change to the order of any of them.
    whole = len(x) // _SIDE_BY_SIDE * _SIDE_BY_SIDE
    sums, total = np.zeros(_SIDE_BY_SIDE, np.float32), np.float64(0.0)
    for first in range(0, whole, _SIDE_BY_SIDE):
        for j in range(_SIDE_BY_SIDE):
            sums[j] += x[first + j] * x[first + j]
    for part in sums:
        total += part
    for i in range(whole, len(x)):
        total += x[i] * x[i]
    return total


# Without a check of the divisor, and so in vector code.
@cached_njit(nogil=True, error_model="numpy")
def _step(
    x,  # IN/OUT float32 (n,): the parameter
    mean,  # IN/OUT float32 (n,): of the gradients
    square,  # IN/OUT float32 (n,): mean of their squares
    grad,  # IN float32 (n,)
    scale,  # IN float32: of the gradients
    rate,  # IN float32: learning rate and both corrections for what the means began with
    beta1,  # IN float32
    beta2,  # IN float32
    eps,  # IN float32, with the correction of the squares
):
    one = np.float32(1.0)
    for i in range(len(x)):
        g = grad[i] * scale
        mean[i] += (one - beta1) * (g - mean[i])
        square[i] = beta2 * square[i] + (one - beta2) * g * g
        x[i] -= rate * mean[i] / (np.sqrt(square[i]) + eps)
