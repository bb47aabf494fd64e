"""Trees and paths that pages and docstrings show are those of the repository."""

import ast
import fnmatch
import os
import re
from collections.abc import Iterator
from pathlib import Path

from tools.pages.files import PAGES
from training.run.machine import ROOT

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
    """Yield the docstrings of a module that shows paths."""
    text = path.read_text(encoding="utf-8")
    if not SHOWN.search(text):
        return  # most files: to parse them takes long
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, HEADS):
            yield ast.get_docstring(node) or ""


def check() -> Iterator[str]:
    """Yield paths that pages and docstrings show and that do not exist."""
    for name, text in PAGES.items():
        yield from (f"{name}: no {path}" for path in paths_of(text) if not is_there(path))
    for module in MODULES:
        name = module.relative_to(ROOT).as_posix()
        for text in docstrings(module):
            yield from (f"{name}: no {path}" for path in paths_of(text) if not is_there(path))
