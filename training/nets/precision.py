"""Precision of matrix products: float32, bfloat16 or float16, or whichever is faster here.

Parameters, optimizer state, advantages, log-probabilities and losses stay float32 in every case.
Rollout and update use the same precision, so that the ratio is 1 at the first minibatch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from fastenv.errors import ConfigError
from training.run.options import require
from training.run.torch_setup import be_deterministic

LOW = {"bf16": torch.bfloat16, "fp16": torch.float16}
KNOWN = ("fp32", *LOW)


def choose_device(name: str) -> torch.device:
    """Return the device of a name; ``auto`` takes CUDA (untested) if there is one, else the CPU.

    Raises
    ------
    ConfigError
        If it is not there.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(name, True):
        raise ConfigError(f"device={name!r}: this machine has none; choose device=cpu.")
    return torch.device(name)


def cpu_has_bf16() -> bool:
    """Tell whether the processor multiplies bfloat16 itself; otherwise it is emulated, slowly."""
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def cuda_has_bf16() -> bool:
    """Tell whether the CUDA device multiplies bfloat16 itself.

    Torch counts older ones in unless told otherwise: they emulate it, where float16 is fast.
    This is untested.
    """
    return torch.cuda.is_bf16_supported(including_emulation=False)


def check(name: str, device: torch.device, option: str = "ppo.precision") -> None:
    """Refuse a precision, by the name of its option, that there is not or that the device lacks.

    Raises
    ------
    ConfigError
        Says what to choose instead.
    """
    require(name in KNOWN, option, name, f"one of {', '.join(KNOWN)}")  # in a checkpoint, too
    kind, reason = device.type, ""
    if name == "fp16" and kind != "cuda":
        other = "bf16 or fp32" if kind == "cpu" else "fp32"
        reason = f"float16 needs a CUDA device (untested), here it is {kind}; choose {other}."
    elif name == "bf16" and kind == "mps":
        reason = "bfloat16 is not used on mps; choose fp32."
    elif name == "bf16" and kind == "cuda" and not cuda_has_bf16():
        reason = "this CUDA device (untested) has no bfloat16; choose fp16 or fp32."
    if reason:
        raise ConfigError(f"{option}={name!r} is not possible: {reason}")


TURNS = 3  # of each precision
TURN_S = 0.2


def choose(name: str, device: torch.device, seconds: Callable[[str], float]) -> str:
    """Choose the precision to use.

    Parameters
    ----------
    name : {"auto", "fp32", "bf16", "fp16"}
    device : torch.device
    seconds : callable
        Measures a real minibatch in a precision by :func:`cpu_seconds`; asked only where the answer
        is open.

    Raises
    ------
    ConfigError
        If the device lacks what was asked for by name.
    """
    if name != "auto":
        check(name, device)
        return name
    if device.type == "cuda":
        return "bf16" if cuda_has_bf16() else "fp16"
    if device.type == "cpu" and cpu_has_bf16():
        # In turns: what else a machine does for a moment should not decide for a whole run.
        low, full = zip(*[(seconds("bf16"), seconds("fp32")) for _ in range(TURNS)], strict=True)
        return "bf16" if min(low) < min(full) else "fp32"
    return "fp32"


def cpu_seconds(work: Callable[[], None]) -> float:
    """Measure the CPU time of a call, the mean over ``TURN_S`` seconds of them.

    Of the process, all threads: while others have the processor, wall time goes on.
    """
    calls, spent, begin = 0, 0.0, time.process_time()
    while calls == 0 or spent < TURN_S:
        work()
        calls, spent = calls + 1, time.process_time() - begin
    return spent / calls


class Precision:
    """Autocast and loss scaling of one precision.

    Parameters
    ----------
    name : {"fp32", "bf16", "fp16"}
    device : torch.device

    Attributes
    ----------
    skipped : int
        Optimizer steps that the scaler left out because a gradient had overflowed.
    """

    def __init__(self, name: str, device: torch.device) -> None:
        check(name, device)
        self.name, self._device = name, device
        self._scaler = torch.amp.GradScaler("cuda") if name == "fp16" else None
        self.skipped = 0

    def autocast(self) -> AbstractContextManager[Any]:
        """Return the context for forward passes; it keeps the cast weights until it ends."""
        if self.name == "fp32":
            return nullcontext()
        return torch.autocast(self._device.type, LOW[self.name])

    def scale(self, x: Tensor) -> Tensor:
        """Scale a loss, or the gradient to start from, for the backward pass."""
        return x if self._scaler is None else self._scaler.scale(x)

    def unscale(self, optimizer: torch.optim.Optimizer) -> None:
        """Undo the scale of the gradients; before they are clipped."""
        if self._scaler is not None:
            self._scaler.unscale_(optimizer)

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """Let the optimizer step, unless a gradient overflowed."""
        if self._scaler is None:
            optimizer.step()
            return
        self._scaler.step(optimizer)
        self._scaler.update()

    def count_skipped(self, updates: int, optimizer: torch.optim.Optimizer) -> None:
        """Count the optimizer steps left out of all ``updates`` so far; once an iteration."""
        if self._scaler is not None:
            states = iter(optimizer.state.values())
            taken = int(next(states, {"step": torch.tensor(0)})["step"])
            self.skipped = updates - taken

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the scaler; empty without one."""
        return {} if self._scaler is None else self._scaler.state_dict()

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        if self._scaler is not None and saved:
            self._scaler.load_state_dict(saved)


def configure_torch(device: torch.device, deterministic: bool) -> None:
    """Set the switches of torch that belong to the process, not to a tensor.

    Parameters
    ----------
    device : torch.device
    deterministic : bool
        See :func:`training.run.torch_setup.be_deterministic`.
    """
    be_deterministic(deterministic)
    if device.type == "cuda":
        torch.set_float32_matmul_precision("highest" if deterministic else "high")
