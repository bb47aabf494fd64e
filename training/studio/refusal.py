"""What the studio does not do, said in one sentence."""

from __future__ import annotations

from fastenv.errors import FastEnvError


class Refusal(FastEnvError, ValueError):
    """Something was asked for that is not possible; the message is shown to who asked."""
