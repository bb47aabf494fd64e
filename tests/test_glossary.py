"""Words that docs/reference/glossary.md does not use are no names in fastenv/ and training/."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
TABLE = PAGE.split("\n## Words that are not used\n")[1]
NOT_USED = {
    word
    for line in TABLE.splitlines()
    if line.startswith("| `")
    for word in re.findall(r"`(\w+)`", line.split(" | ")[0])
}
ANY = re.compile("|".join(map(re.escape, sorted(NOT_USED))))
FILES = sorted(path for top in ("fastenv", "training") for path in (ROOT / top).rglob("*.py"))


def names_in(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield every name that code defines or uses, and its line."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Name):
            yield node.id, line
        elif isinstance(node, ast.Attribute):
            yield node.attr, line
        elif isinstance(node, ast.arg | ast.keyword):
            yield node.arg or "", line
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, line
        elif isinstance(node, ast.alias):
            for part in (*node.name.split("."), node.asname or ""):
                yield part, line
        elif isinstance(node, ast.ImportFrom):
            for part in (node.module or "").split("."):
                yield part, line


def found_in(text: str) -> list[tuple[str, int]]:
    """Return the words that are not used in a module's names, ignoring a leading underscore."""
    if not ANY.search(text):  # most modules: their trees need not be made
        return []
    return [each for each in names_in(ast.parse(text)) if each[0].lstrip("_") in NOT_USED]


def test_the_list_is_read_from_the_page() -> None:
    assert {"conduct", "boot", "env_impl"} <= NOT_USED
    assert not {"run_training", "bootstrap", "backend"} & NOT_USED


def test_words_that_are_not_used_are_no_names() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in FILES
        for name, line in found_in(path.read_text(encoding="utf-8"))
    }
    found |= {str(path.relative_to(ROOT)) for path in FILES if path.stem in NOT_USED}
    assert sorted(found) == []


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("def conduct(): ...", "conduct"),
        ("x = a.boot", "boot"),
        ("f(boot=1)", "boot"),
        ("def f(going): ...", "going"),
        ("from a.courses import b", "courses"),
        ("from a import of_run as b", "of_run"),
        ("_boot = 1", "_boot"),
    ],
)
def test_a_word_would_be_found(code: str, name: str) -> None:
    assert [word for word, _ in found_in(code)] == [name]
