"""Pictures need Pillow, which is not installed with the package: the error that says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs_pillow(pictures: str) -> Iterator[None]:
    """Raise an error that names the package to install if an import in the block fails.

    Parameters
    ----------
    pictures : str
        What the pictures show, for the message.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"Pictures of {pictures} need Pillow: pip install 'fastenv-rl[notebooks]', or use "
            "render_mode='ansi'."
        ) from error
