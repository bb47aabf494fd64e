"""``torch.compile`` with a fallback: a function that cannot be compiled runs eagerly."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


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
