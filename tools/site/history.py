"""Draw the history of speeds: a page with a picture for each environment.

``benchmarks/history.jsonl`` keeps every row that was ever recorded. Figures are of the same thing
where ``ran`` is equal, and only then are they joined by a line.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from training.bench.records import HISTORY, history
from training.run import machine

TIMED = ("step_many", "env")  # the engine alone, by its newer and its older name
MARKS = "osD^v"  # by processor
WIDTH, HEIGHT = 7.5, 3.2  # inches
PAGE = """# History of speeds

Every recorded speed of the engine alone, in decisions a CPU second, from
`benchmarks/history.jsonl`. Each line is one workload: the same options, lanes and actions. Its
marks are records, and the shape of a mark is the processor. A hollow mark was taken on a busy
machine.

[How figures are taken](benchmarks.md) explains records. Compare only marks of one shape.
"""

Row = dict[str, Any]
Series = dict[str, list[Row]]  # by what ran


def write(folder: Path) -> None:
    """Write the page and its pictures into a folder of the site's source."""
    folder.mkdir(parents=True, exist_ok=True)
    text = [PAGE]
    for env, series in sorted(by_environment(HISTORY).items()):
        name = f"history-{env}.svg"
        draw(series, folder / name)
        text.append(f"\n## {env}\n\n![Decisions a CPU second of {env} over time]({name})\n")
    (folder / "history.md").write_text("".join(text), encoding="utf-8")


def by_environment(path: Path) -> dict[str, Series]:
    """Return the series of the fast engine with two rows or more, by environment."""
    found: dict[str, Series] = defaultdict(lambda: defaultdict(list))
    for row in history(path):
        ran = row["ran"]
        if ran.get("timed") in TIMED and ran.get("backend") == "fast" and "env" in ran:
            found[ran["env"]][json.dumps(ran, sort_keys=True)].append(row)
    often = {
        env: {ran: rows for ran, rows in series.items() if len(rows) > 1}
        for env, series in found.items()
    }
    return {env: series for env, series in often.items() if series}


def draw(series: Series, path: Path) -> None:
    """Draw the series of an environment into a file."""
    processors = sorted({machine.describe(row) for rows in series.values() for row in rows})
    with plt.rc_context({"svg.hashsalt": path.name, "font.size": 9}):
        figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
        for number, rows in enumerate(series.values()):
            colour = f"C{number % 10}"
            days = np.array([row["created"].rstrip("Z") for row in rows], "datetime64[s]")
            speeds = np.array([row["steps_per_cpu_s"] for row in rows])
            axes.plot(days, speeds, color=colour, linewidth=1)
            for i, row in enumerate(rows):
                mark = MARKS[processors.index(machine.describe(row)) % len(MARKS)]
                fill = "none" if row["noisy"] else colour
                (drawn,) = axes.plot(days[i : i + 1], speeds[i : i + 1], mark, color=colour)
                drawn.set(markerfacecolor=fill, markersize=5)
        for mark, processor in zip(MARKS, processors, strict=False):
            axes.plot([], [], mark, color="grey", label=processor)
        axes.set_yscale("log")
        axes.set_ylabel("decisions a CPU second")
        figure.autofmt_xdate()
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
