"""How torch computes: precision of matrix products, compiled functions, switches of the process.

Products are in float32, bfloat16 or float16, or in whichever is faster here.
Parameters, optimizer state, advantages, log-probabilities and losses stay float32 in every case.
Rollout and update use the same precision, so that the ratio is 1 at the first minibatch.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from fastenv.errors import ConfigError
from training.run.config import RunConfig
from training.run.options import require

LOW = {"bf16": torch.bfloat16, "fp16": torch.float16}
KNOWN = ("fp32", *LOW)
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # names of <malloc.h>
_LIMIT = 1 << 30
_PAGE = 2 << 20


def choose_device(name: str) -> torch.device:
    """Return the device of a name; ``auto`` takes CUDA (untested) if there is one, else the CPU.

    Raises
    ------
    ConfigError
        If it is not there.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
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
        reason = f"float16 needs a CUDA device (untested), here it is {kind}; choose bf16 or fp32."
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
    if cpu_has_bf16():
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
    autocast : context manager
        For forward passes, one after the other; it keeps the cast weights until it ends.
    scaler : GradScaler
        Scales losses, or gradients to start from, and lets the optimizer step; of float16 alone it
        is enabled.
    skipped : int
        Optimizer steps that the scaler left out because a gradient had overflowed.
    """

    def __init__(self, name: str, device: torch.device) -> None:
        check(name, device)
        self.name = name
        self.autocast: AbstractContextManager[Any] = nullcontext()
        if name != "fp32":
            self.autocast = torch.autocast(device.type, LOW[name])
        self.scaler = torch.amp.GradScaler("cuda", enabled=name == "fp16")
        self.skipped = 0

    def count_skipped(self, updates: int, optimizer: torch.optim.Optimizer) -> None:
        """Count the optimizer steps left out of all ``updates`` so far; once an iteration."""
        if self.name == "fp16":
            states = iter(optimizer.state.values())
            taken = int(next(states, {"step": torch.tensor(0)})["step"])
            self.skipped = updates - taken


def be_deterministic(deterministic: bool) -> None:
    """Allow only algorithms that give the same bits every time, on a device too, or all again."""
    if deterministic:
        # Without it every matrix product on CUDA is refused.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        # It would fill every new tensor to show reads of what was never written: we have none.
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
        torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(deterministic)


def set_up_torch(config: RunConfig) -> None:
    """Set the threads and the algorithms of torch for a run."""
    torch.set_num_threads(config.network_threads)
    be_deterministic(config.deterministic)


def prepare_device(config: RunConfig) -> torch.device:
    """Choose the device of a network, and set the switches of torch that belong to the process.

    Raises
    ------
    ConfigError
        If it is not there.
    """
    device = choose_device(config.device)
    be_deterministic(config.deterministic)
    if device.type == "cuda":
        torch.set_float32_matmul_precision("highest" if config.deterministic else "high")
    else:
        keep_freed_memory()
    return device


def keep_freed_memory() -> bool:
    """Make glibc serve large tensors from memory it has; return whether that was possible.

    A forward and backward pass asks for a dozen tensors of a megabyte or more and frees them again.
    By default each comes fresh from the system, which clears it page by page: an eighth of an
    update on the CPU. The setting holds for the process, and lasts; its price is that the process
    does not shrink after its largest minibatch.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, _LIMIT)) and bool(mallopt(_M_TRIM_THRESHOLD, _LIMIT))


def zeros_in_large_pages(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Return zeros in host memory, in pages of 2 MB where the system offers them on request.

    Rows at random of a large store otherwise miss the cache of addresses at each of them: a tenth
    of the time of a sample.
    """
    tensor = torch.empty(shape, dtype=dtype)
    advise = getattr(mmap, "MADV_HUGEPAGE", None)  # there is none but on Linux
    first = -(-tensor.data_ptr() // _PAGE) * _PAGE
    count = (tensor.data_ptr() + tensor.nbytes - first) // _PAGE * _PAGE
    if advise is not None and count > 0:
        # Before anything is written; where it is refused, pages stay small.
        ctypes.CDLL(None).madvise(ctypes.c_void_p(first), ctypes.c_size_t(count), advise)
    return tensor.zero_()


# -- torch.compile ---------------------------------------------------------------------------------


class Compiled:
    """A function that is compiled at its first call.

    Parameters
    ----------
    function : callable
        Called with tensors of the same shapes every time.
    mode : {"default", "reduce-overhead"}
        ``reduce-overhead`` captures CUDA graphs (untested): the next call overwrites outputs.
    """

    def __init__(self, function: Callable[..., Any], mode: str) -> None:
        self._function = function
        self._compiled: Callable[..., Any] | None = torch.compile(
            function, mode=mode, dynamic=False
        )
        self._graphs = mode == "reduce-overhead"
        self._proven = False

    @property
    def is_compiled(self) -> bool:
        """Whether compilation has not failed."""
        return self._compiled is not None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled function, or the plain one once compilation has failed."""
        if self._compiled is not None:
            if self._graphs:
                torch.compiler.cudagraph_mark_step_begin()
            try:
                return self._compiled(*args, **kwargs)
            except Exception as error:  # of any kind: it comes from a compiler and its tools
                self._give_up(error)
        return self._function(*args, **kwargs)

    def backward(self, loss: Tensor, again: Callable[[], Tensor]) -> None:
        """Run the backward pass of a loss of this function; its first run compiles it.

        Parameters
        ----------
        loss : Tensor
        again : callable
            Computes the loss again if the compiler failed before any gradient was added.
        """
        try:
            loss.backward()
        except Exception as error:
            if self._proven or self._compiled is None:
                raise
            self._give_up(error)
            again().backward()
        self._proven = True

    def _give_up(self, error: Exception) -> None:
        self._compiled = None
        reason = " ".join(str(error).split())[:200]
        warnings.warn(
            f"torch.compile failed ({type(error).__name__}: {reason}); going on without",
            RuntimeWarning,
            stacklevel=3,
        )
