"""Find what pages would load from another site: they must work without a network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ADDRESS = r"((?:https?:)?//[^\"' >)]+)"
# What a browser loads by itself, other than by a click.
PATTERNS = {
    ".html": re.compile(
        rf"<(?:script|img|iframe|source|video)\b[^>]*\ssrc=[\"']?{ADDRESS}"
        rf"|<link\b(?![^>]*rel=[\"']?canonical)[^>]*\shref=[\"']?{ADDRESS}"
    ),
    ".css": re.compile(rf"(?:url\([\"']?|@import [\"']){ADDRESS}"),
}


def loaded_from_elsewhere(folder: Path) -> Iterator[str]:
    """Yield what the pages and styles of a folder would load from another site."""
    for path in sorted(folder.rglob("*")):
        pattern = PATTERNS.get(path.suffix)
        if pattern is not None:
            for found in pattern.finditer(path.read_text(encoding="utf-8")):
                yield f"{path.relative_to(folder)}: loads {next(filter(None, found.groups()))}"
