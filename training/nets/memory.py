"""Settings of memory: the C library keeps what was freed; arrays in large pages."""

from __future__ import annotations

import ctypes
import mmap
import sys

import torch

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # names of <malloc.h>
_LIMIT = 1 << 30
_PAGE = 2 << 20


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
