"""Rules are cited by page and section, as in "docs/skullking.md, 4.1", and both exist."""

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path

from training.run.machine import ROOT

DOCS = ROOT / "docs"
FOLDERS = ("fastenv", "training", "tests", "tools", "docs", "notebooks")
KINDS = {".py", ".pyi", ".pyx", ".pxd", ".h", ".md", ".ipynb", ".yaml", ".json"}
FILES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.suffix in KINDS and "data" not in path.parts
)

EXAMPLES = {"tools/pages/citations.py", "tests/test_pages.py"}  # they show what is wrong
SECTION = r"[1-9]\d*(?:\.[1-9]\d*)*"
CITATION = re.compile(rf"\bdocs/([\w/]+)\.md(?:, ({SECTION}(?:(?:, | and | to ){SECTION})*))?")
OTHER_FORMS = re.compile(
    "|".join(
        (
            r"\b[Ss]ections? \(?\d[\d.]*",  # section 4
            r"\b[Ss]pec(?:ification)? \d[\d.]*",  # spec 10.2
            r"\b(?:[Gg]ame|[Tt]raining|Skull King|Prospector) spec\w*\b",  # of no page here
            r"§",
            r"(?<![\w\])])\([1-9]\d?\.[1-9]\d?(?:\.[1-9])?\)",  # (4.1)
            r"# -- \d[\d.]*",  # a headline of code with the number alone
        )
    )
)


def prose(path: Path) -> str:
    """Return the text of a file, with what a line break tore joined again."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return re.sub(r"[ \t]*\n[ \t]*(?:#:?|//|\*)?[ \t]*(?=[\w(])", " ", text)


@functools.cache
def sections(page: str) -> set[str]:
    """Return the numbers of the headings of a page in docs/."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return set(re.findall(rf"^#+ ({SECTION})\.? ", text, flags=re.MULTILINE))


def faults(text: str, own: str | None = None) -> list[str]:
    """List the citations of a text that do not exist, or have another form than in the docs.

    A page cites its own sections by number: ``own`` is its name.
    """
    found = []
    for page, numbers in CITATION.findall(text):
        if not (DOCS / f"{page}.md").exists():
            found.append(f"docs/{page}.md")
            continue
        known = sections(page)
        missing = set(re.findall(SECTION, numbers)) - known
        found += [f"docs/{page}.md, {number}" for number in sorted(missing)]
    for other in OTHER_FORMS.findall(CITATION.sub("", text)):
        number = re.fullmatch(rf"sections? ({SECTION})\.?", other)
        if own is None or number is None or number[1] not in sections(own):
            found.append(other)
    return found


def check() -> Iterator[str]:
    """Yield citations of what does not exist, and in other forms than "docs/skullking.md, 4.1"."""
    for path in FILES:
        name = path.relative_to(ROOT).as_posix()
        if name in EXAMPLES:
            continue
        own = path.stem if path.parent == DOCS and path.suffix == ".md" else None
        yield from (f"{name}: it cites {fault}" for fault in faults(prose(path), own))
