"""Links of pages lead to files and headings that there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from tools.site.pages import CODE, FRONT_MATTER, HEADING, ROOT, Site, anchor_of

LINK = re.compile(r"\]\(([^()\s]+)(?: \"[^\"]*\")?\)|(?:src|href)=\"([^\"]+)\"")


def check() -> Iterator[str]:
    """Yield links that lead nowhere, by page."""
    pages = sorted(path for path in Site().pages if path.suffix in (".md", ".ipynb"))
    for page in pages:
        for pair in LINK.findall(CODE.sub("", text_of(page))):
            link = "".join(pair)
            if re.match(r"https?:|mailto:", link):
                continue
            path, _, anchor = link.partition("#")
            file = (ROOT / page).parent / path if path else ROOT / page
            if not file.exists():
                yield f"{page}: {link} leads nowhere"
            elif anchor and file.suffix == ".md":
                there = PurePosixPath(file.resolve().relative_to(ROOT).as_posix())
                if anchor not in anchors(text_of(there)):
                    yield f"{page}: {link}: there is no such heading"


def text_of(path: PurePosixPath) -> str:
    """Return the Markdown of a page, without code."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return FRONT_MATTER.sub("", text)


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and MyST make them."""
    found: set[str] = set()
    blocks = re.sub(r"^ *(```+|~~~+).*?^ *\1 *$", "", text, flags=re.DOTALL | re.MULTILINE)
    for heading in HEADING.findall(blocks):
        name, number = anchor_of(heading), 0
        while (unique := f"{name}-{number}" if number else name) in found:
            number += 1
        found.add(unique)
    return found
