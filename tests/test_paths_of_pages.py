"""Trees and paths that pages and docstrings show are those of the repository."""

import ast
import fnmatch
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOP = ("benchmarks", "docs", "fastenv", "notebooks", "pretrained", "tests", "tools", "training")
SKIPPED = {"__pycache__", ".ipynb_checkpoints"}
FILES = {
    path.relative_to(ROOT).as_posix()
    for top in (*TOP, ".ci")
    for folder, inside, names in os.walk(ROOT / top)
    for path in (Path(folder) / name for name in names)
    if not (SKIPPED & set(path.parts)) and path.suffix not in (".so", ".c", ".pyd")
} | {path.name for path in ROOT.iterdir() if path.is_file()}
FOLDERS = {parent.as_posix() for name in FILES for parent in Path(name).parents}
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("pretrained/*/README.md")]
MODULES = [ROOT / name for name in sorted(FILES) if name.endswith(".py")]
HEADS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

SOURCE = r"[\w.*-]+\.(?:py|pyx|pxd|pyi|h|yaml|md|ipynb|asm)"
PATH = re.compile(rf"(?:(?:{'|'.join(TOP)})/[\w.*/-]*|(?:[\w.*-]+/)*{SOURCE})")
SHOWN = re.compile(rf"`(?:{PATH.pattern})`")
# Files of the two games that the pages about new games write, and what tests write.
MADE_UP = re.compile(r"(fastenv|tests)/(pig|liars_dice)/.*")
ENVIRONMENT = re.compile(r"fastenv/\w+-v\d+")


def paths_of(text: str) -> Iterator[str]:
    """Yield what stands in backticks outside of blocks and has the form of a path of ours."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for shown in re.findall(r"`{1,2}([^`\s]+)`{1,2}", text):
        if PATH.fullmatch(shown) and not MADE_UP.match(shown) and not ENVIRONMENT.match(shown):
            yield shown.rstrip("/")


def is_there(shown: str) -> bool:
    """Tell whether a path exists: from the root if it begins there, else from any folder."""
    everything = FILES | FOLDERS
    if "*" in shown:
        return bool(fnmatch.filter(everything, shown) or fnmatch.filter(everything, f"*/{shown}"))
    rooted = shown.split("/")[0] in TOP
    return shown in everything or (
        not rooted and any(path.endswith(f"/{shown}") for path in everything)
    )


def docstrings(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    if not SHOWN.search(text):
        return  # most files: to parse them takes long
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, HEADS):
            yield ast.get_docstring(node) or ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_paths_of_a_page_exist(page: Path) -> None:
    shown = list(paths_of(page.read_text(encoding="utf-8")))
    assert [path for path in shown if not is_there(path)] == []


def test_paths_of_docstrings_exist() -> None:
    shown = [
        (path, each) for path in MODULES for text in docstrings(path) for each in paths_of(text)
    ]
    assert len(shown) > 50
    missing = [(str(path), each) for path, each in shown if not is_there(each)]
    assert missing == []


@pytest.mark.parametrize(
    "shown", ["training/run/options/hindsight.py", "docs/examples/none.py", "no_such.py"]
)
def test_a_path_that_is_none_would_be_found(shown: str) -> None:
    assert list(paths_of(f"see `{shown}`")) == [shown]
    assert not is_there(shown)


# -- the tree of docs/explanation/design.md --------------------------------------------------------


def tree_of(text: str) -> list[str]:
    """Return the entries of a tree, as paths; names of a line end at two spaces or more."""
    found: list[str] = []
    above: list[list[str]] = []
    for line in text.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        if line.startswith(" " * 8) or not line.strip():
            continue  # goes on with the line above
        names = re.split(r"\s{2,}", line.strip())[0].rstrip(":").split(", ")
        above = [*above[:depth], [name.rstrip("/") for name in names]]
        parents = [""]
        for level in above[:-1]:
            parents = [f"{parent}{name}/" for parent in parents for name in level]
        found += [f"{parent}{name}" for parent in parents for name in above[-1]]
    return found


DESIGN = (ROOT / "docs" / "explanation" / "design.md").read_text(encoding="utf-8")
TREE = tree_of(DESIGN.split("\n## Repository layout\n")[1].split("```")[1])


def test_the_tree_names_what_there_is_and_each_once() -> None:
    assert sorted(TREE) == sorted(set(TREE))
    assert [path for path in TREE if path not in FILES and path not in FOLDERS] == []


def test_the_tree_leaves_nothing_out() -> None:
    """Every folder of the root, every file and folder of fastenv/, every folder of training/."""
    wanted = {path for path in FOLDERS if "/" not in path and path != "."}
    wanted |= {path for path in FILES | FOLDERS if re.fullmatch(r"fastenv/[^/]+", path)}
    wanted |= {path for path in FOLDERS if re.fullmatch(r"training/[^/]+", path)}
    assert wanted - set(TREE) == set()


def test_a_tree_is_read_as_it_looks() -> None:
    lines = ("a/      what", "  b.py, c.py    words, and more", "  d/, e/   two:", "    f.py")
    text = "\n".join((*lines, "          more of it"))
    names = ["a", "a/b.py", "a/c.py", "a/d", "a/e", "a/d/f.py", "a/e/f.py"]
    assert tree_of(text) == names
