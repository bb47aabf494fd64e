"""Refusals: the reason why something is not possible, in one sentence."""

from __future__ import annotations

import sys
import traceback

from fastenv.errors import FastEnvError


class Refusal(FastEnvError, ValueError):
    """Something was asked for that is not possible; the message is shown to who asked."""


def describe_fault(error: BaseException) -> str:
    """Describe an unforeseen fault for a client; the terminal has all of it."""
    traceback.print_exception(error, file=sys.stderr)
    return f"that went wrong ({type(error).__name__}): the terminal of the studio says more."
