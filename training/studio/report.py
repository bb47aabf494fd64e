"""A report of runs as one file: the page of the studio with its data.

It needs no network, and nothing beside it on the disk.
"""

from __future__ import annotations

import html
import string
from collections.abc import Mapping, Sequence
from pathlib import Path

from training.evaluation.over_seeds import compare_groups
from training.logs.run_data import read_run
from training.logs.sections import make_sections
from training.logs.seeds_data import SeedsData
from training.run import machine
from training.studio import messages
from training.studio.runs import CurveReader, MapReader, with_card

PAGE = Path(__file__).parent / "page"


def page(paths: Mapping[str, Path], seeds: Sequence[SeedsData] = (), title: str = "") -> str:
    """Make the page.

    Parameters
    ----------
    paths : mapping of str to Path
        Folders of runs by name.
    seeds : sequence of SeedsData
        Evaluations over seeds, compared by level.
    title : str
        Default what is on it.

    Raises
    ------
    RunDataError
        A folder is not there, or holds nothing of a run.
    """
    # Whole, not thinned for drawing.
    runs = [with_card(read_run(path, name)) for name, path in paths.items()]
    curves = CurveReader(paths).read_all()
    curves["maps"] = (MapReader(paths).read() or {}).get("maps", {})
    curves["sections"] = make_sections(runs, seeds, compare_groups(runs))
    usual = "Runs: " if runs else "Players: "
    usual += ", ".join([*paths, *(each.name for each in seeds)])
    return string.Template((PAGE.parent / "report.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title or usual),
        written=machine.now(),
        style=(PAGE / "style.css").read_text(encoding="utf-8"),
        script=(PAGE / "report.js").read_text(encoding="utf-8"),
        # A text between the tags of a script ends where it names one.
        data=messages.dump(curves).replace("<", "\\u003c"),
    )
