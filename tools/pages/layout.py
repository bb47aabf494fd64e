"""What the root holds, and that the tree of the design is the one that there is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.pages.files import PAGES
from tools.pages.paths import FILES, FOLDERS
from training.run import machine

DESIGN = "docs/explanation/design.md"
# What stands in the root besides folders: pages, and what tools look for there.
IN_ROOT = {
    *("README.md", "RUNS.md", "CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md"),
    *("SECURITY.md", "LICENSE", "CITATION.cff", "MANIFEST.in", "Makefile", "pyproject.toml"),
    *("setup.py", "requirements-dev.txt", "requirements-lint.txt", "requirements-rllib.txt"),
    *(".gitignore", ".pre-commit-config.yaml"),
}


def check() -> Iterator[str]:
    """Yield files that nobody wants in the root, and entries that the tree of the design lacks."""
    committed = (machine.git("ls-files") or "").splitlines()  # none where there is no checkout
    for name in committed:
        if "/" not in name and name not in IN_ROOT:
            yield f"{name}: it stands in the root"
    ignored = machine.git("ls-files", "--cached", "--ignored", "--exclude-standard") or ""
    yield from (f"{name}: it is committed and ignored" for name in ignored.splitlines())
    tree = tree_of(PAGES[DESIGN].split("\n## Repository layout\n")[1].split("```")[1])
    # Every folder of the root, every file and folder of fastenv/, every folder of training/.
    wanted = {path for path in FOLDERS if "/" not in path and path != "."}
    wanted |= {path for path in FILES | FOLDERS if re.fullmatch(r"fastenv/[^/]+", path)}
    wanted |= {path for path in FOLDERS if re.fullmatch(r"training/[^/]+", path)}
    yield from (f"{DESIGN}: the tree leaves out {path}" for path in sorted(wanted - set(tree)))
    for path in sorted(set(tree)):
        if path not in FILES | FOLDERS or tree.count(path) > 1:
            yield f"{DESIGN}: the tree has {path}, which is not there, or twice"


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
