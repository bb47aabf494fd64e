"""Runs as one file: the page of the studio, with what it shows in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path

from training.run import machine
from training.studio import messages
from training.studio.runs import CurveReader

SHELL = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title><style>{style}</style></head>
<body><main><h1>{title}</h1><p class="dim">{written}</p><section id="runs"></section></main>
<script type="application/json" id="data">{data}</script>
<script type="module">{script}
const data = JSON.parse(document.getElementById("data").textContent);
showCurves(document.getElementById("runs"), data);
</script></body></html>
"""


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
    return SHELL.format(
        title=escape("Runs: " + ", ".join(paths)),
        written=escape(machine.now()),
        style=(folder / "style.css").read_text(encoding="utf-8"),
        script=(folder / "curves.js").read_text(encoding="utf-8"),
        data=data,
    )
