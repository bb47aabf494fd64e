"""Let the C library keep the memory it was given back, instead of asking for it anew."""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # names of <malloc.h>
_LIMIT = 1 << 30


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
