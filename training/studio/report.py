"""Runs as one file: the page of the studio, with what it shows in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import jinja2

from training.run import machine
from training.studio import messages
from training.studio.runs import CurveReader


def page(paths: Mapping[str, Path], folder: Path) -> str:
    """Return the page.

    Parameters
    ----------
    paths : mapping of str to Path
        Folders of runs by name.
    folder : Path
        Of the files of the page.
    """
    found = CurveReader(paths).read() or {}
    # A text between the tags of a script ends where it names one.
    data = json.dumps(json.loads(messages.dump(found))).replace("<", "\\u003c")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("report.html.jinja").render(
        title="Runs: " + ", ".join(paths),
        written=machine.now(),
        style=(folder / "style.css").read_text(encoding="utf-8"),
        script=(folder / "curves.js").read_text(encoding="utf-8"),
        data=data,
    )
