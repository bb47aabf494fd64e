"""Rules are cited by page and section, as in "docs/skullking.md, 4.1", and both exist."""

import functools
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
FOLDERS = ("fastenv", "training", "tests", "tools", "docs", "notebooks")
KINDS = {".py", ".pyi", ".pyx", ".pxd", ".h", ".md", ".ipynb", ".yaml", ".json"}
FILES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.suffix in KINDS and "data" not in path.parts and path != Path(__file__)
)

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
    """Return what a text cites that does not exist, or in another form than that of the docs.

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


def test_citations_name_a_page_and_a_section_that_exist() -> None:
    found = {}
    for path in FILES:
        own = path.stem if path.parent == DOCS and path.suffix == ".md" else None
        if wrong := faults(prose(path), own):
            found[str(path.relative_to(ROOT))] = wrong
    assert found == {}, 'cite as "docs/skullking.md, 4.1"'


def test_files_of_every_kind_are_read() -> None:
    assert {path.suffix for path in FILES} >= {".py", ".pyx", ".pxd", ".h", ".md", ".ipynb"}
    assert sum(len(CITATION.findall(prose(path))) for path in FILES) > 100


@pytest.mark.parametrize(
    "text",
    [
        "Fly along an edge (docs/prospector.md, 9.1).",
        "See docs/skullking.md, 2, 9.2 and 10.1.",
        "The tiers (docs/skullking.md, 10.3 to 10.6)",
        "What docs/howto/training.md says of it.",
    ],
)
def test_what_exists_may_be_cited(text: str) -> None:
    assert faults(text) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("docs/chess.md, 1", ["docs/chess.md"]),
        ("docs/skullking.md, 4.7", ["docs/skullking.md, 4.7"]),
        ("docs/skullking.md, 4.1 and 99", ["docs/skullking.md, 99"]),
        ("the values of section 4", ["section 4"]),
        ("docs/skullking.md, section 4", ["section 4"]),
        ("the cap of spec 3.2", ["spec 3.2"]),
        ("Fly along an edge (9.1).", ["(9.1)"]),
        ("# -- 5 scoring ---", ["# -- 5"]),
        ("numbers of the game specification", ["game specification"]),
        ("see §7", ["§"]),
    ],
)
def test_anything_else_is_a_fault(text: str, wrong: list[str]) -> None:
    assert faults(text) == wrong


def test_a_page_may_name_its_own_sections_by_number() -> None:
    assert faults("the values of section 4", own="prospector") == []
    assert faults("the values of section 99", own="prospector") == ["section 99"]


def test_a_citation_may_stand_in_two_lines(tmp_path: Path) -> None:
    path = tmp_path / "rules.py"
    path.write_text("# The cap (docs/skullking.md,\n# 99) is applied.\n", encoding="utf-8")
    assert faults(prose(path)) == ["docs/skullking.md, 99"]
