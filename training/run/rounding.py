"""Rounding of numbers for text."""

from __future__ import annotations

_MORE = 6  # decimals beyond which a share that is nearly all, or nearly none, is called that


def rounded(x: float, decimals: int, factor: float = 1, form: str = "") -> str:
    """Format ``x * factor`` as text.

    A share in per cent is 100 only if it is all, and 0 only if it is none: in between it has as
    many more decimals as say so.

    Parameters
    ----------
    x : float
    decimals : int
    factor : float
        100 for shares in per cent.
    form : str
        Sign and separator, as in a format specification.
    """
    text = f"{x * factor:{form}.{decimals}f}"
    if factor != 100 or not 0 < abs(x) < 1:
        return text
    for more in range(_MORE + 1):
        if abs(round(x * 100, decimals + more)) not in (0, 100):
            return f"{x * 100:{form}.{decimals + more}f}"
    return text
