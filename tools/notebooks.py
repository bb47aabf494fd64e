"""Run the notebooks from top to bottom and write their outputs: ``python -m tools.notebooks``.

As a reader of a fresh clone would: no runs but those of the repository. Names such as ``02``
choose some.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from tools.command import new_parser

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "notebooks"


def execute(path: Path) -> Any:
    """Run a notebook in its folder.

    Parameters
    ----------
    path : Path

    Returns
    -------
    NotebookNode
        With its outputs, and nothing that says when or on what it ran.
    """
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    folders = f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "FASTENV_RUNS": "", "PYTHONPATH": folders}
    client = NotebookClient(
        notebook,
        timeout=1800,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(FOLDER)}},
    )
    client.execute(env=environment)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # the times of an earlier run
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("notebooks", __doc__)
    parse.add_argument("names", nargs="*", help="what file names begin with; default all")
    args = parse.parse_args(argv)
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not args.names or path.name.startswith(tuple(args.names)):
            nbformat.write(execute(path), path)  # type: ignore[no-untyped-call]
            print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
