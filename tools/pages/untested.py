"""As long as no record of ``make gpu-check`` is committed, what mentions CUDA says "untested"."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from tools.pages.files import PAGES
from training.run.machine import ROOT

MODULES = [path for name in ("fastenv", "training") for path in sorted((ROOT / name).rglob("*.py"))]
OF_DEVICES = ("README.md", "CHANGELOG.md", "RUNS.md", "docs/")
HEADS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def is_record(path: Path) -> bool:
    """Tell whether a file is a record of a check of a device that passed, of a clean commit."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return (
        isinstance(found, dict)
        and found.get("kind") == "gpu check"
        and found.get("tests_passed") is True
        and found.get("dirty") is False
    )


CHECKED = any(is_record(path) for path in (ROOT / "benchmarks").glob("*.json"))


def sections(text: str) -> Iterator[str]:
    """Yield the parts of a page, each from one heading to the next."""
    yield from re.split(r"^(?=#+ )", text, flags=re.MULTILINE)


def strings(path: Path) -> Iterator[str]:
    """Yield docstrings that name CUDA, and messages that do so other than to say there is none."""
    text = path.read_text(encoding="utf-8")
    if "cuda" not in text.lower():
        return  # most files: to parse them takes long
    tree = ast.parse(text)
    docstrings = {
        id(node.body[0]): node for node in ast.walk(tree) if isinstance(node, HEADS) and node.body
    }
    inside: set[int] = set()
    for node in ast.walk(tree):
        if id(node) in docstrings and isinstance(node, ast.Expr):
            found = ast.get_docstring(docstrings[id(node)])
            inside.add(id(node.value))
            if found and re.search(r"\bcuda\b", found, re.IGNORECASE):
                yield found
        elif isinstance(node, ast.JoinedStr):
            parts = [part.value for part in node.values if isinstance(part, ast.Constant)]
            inside.update(id(part) for part in node.values)
            yield from message("...".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from message("" if id(node) in inside else node.value)


def message(text: str) -> Iterator[str]:
    """Yield a text if it names a CUDA device as something there is or may be."""
    if re.search(r"(?<!no )(?<!finds \.\.\. )\bCUDA\b|\bcpu or cuda\b", text) and " " in text:
        yield text


def check() -> Iterator[str]:
    """Yield sections, docstrings and messages that name a device and say more than was checked."""
    said = "must not say" if CHECKED else "must say"
    for name, text in PAGES.items():
        if not name.startswith(OF_DEVICES):
            continue
        for part in sections(text):
            if re.search(r"\bCUDA\b|\bGPUs?\b", part) and ("untested" in part) == CHECKED:
                yield f"{name}: {part.splitlines()[0]}: {said} that it is untested"
    for path in MODULES:
        for text in strings(path):
            if ("untested" in text) == CHECKED:
                yield f"{path.relative_to(ROOT)}: {said} that it is untested: {text}"
