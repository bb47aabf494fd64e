"""Write the observation tables of the games' pages from their ``layout.py``, and the studio's.

Run ``python docs/generate.py`` after a change of a layout. A test compares.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))  # of `python docs/generate.py` the first is docs/

from fastenv.drmario.layout import AUX, AUX_VERSUS, PLANES  # noqa: E402
from fastenv.prospector.layout import OBS_LAYOUT  # noqa: E402
from fastenv.skullking.layout import layout_table  # noqa: E402
from fastenv.skullking.tables import Tier  # noqa: E402
from training.studio.messages import message_rows  # noqa: E402


def prospector_table() -> str:
    """Return the observation of Prospector as a Markdown table."""
    lines = ["| index | block | content |", "|---|---|---|"]
    for name, offset, length, text in OBS_LAYOUT:
        index = str(offset) if length == 1 else f"{offset}..{offset + length - 1}"
        lines.append(f"| {index} | `{name}` | {text} |")
    return "\n".join(lines)


def drmario_planes() -> str:
    """Return the planes of Dr. Mario's observations as a Markdown table."""
    lines = ["| `obs` | C | planes |", "|---|---|---|"]
    for name, planes in PLANES.items():
        lines.append(f"| `{name}` | {len(planes)} | {', '.join(planes) or 'nothing'} |")
    return "\n".join(lines)


def drmario_aux() -> str:
    """Return Dr. Mario's auxiliary vector as a Markdown table."""
    lines, offset = ["| index | block | content |", "|---|---|---|"], 0
    for name, length, text in AUX + AUX_VERSUS:
        index = str(offset) if length == 1 else f"{offset}..{offset + length - 1}"
        lines.append(f"| {index} | {name} | {text} |")
        offset += length
    return "\n".join(lines)


def studio_messages() -> str:
    """Return what a client may send to the studio as a Markdown table."""
    lines = ["| kind | fields | |", "|---|---|---|"]
    for kind, fields, about in message_rows():
        said = "<br>".join(f"`{name}`: {text}" if text else f"`{name}`" for name, text in fields)
        lines.append(f"| `{kind}` | {said} | {about} |")
    return "\n".join(lines)


def studio_bars() -> str:
    """Return what the studio was measured at as a Markdown table."""
    record = json.loads((FOLDER.parent / "benchmarks" / "studio.json").read_text(encoding="utf-8"))
    start, many = record["start"], record["sessions"]
    lines = ["| what | measured | asked |", "|---|---|---|"]
    for name, found in record["frames"].items():
        lines += [
            f"| {name}: frames a second at the page | {found['frames_a_second']:.1f} | 60 |",
            f"| {name}: cores of the server | {found['cores']:.2f} | at most 1 |",
            f"| {name}: from key to frame, median | {found['latency_ms']:.0f} ms | at most 50 ms |",
        ]
    early, late = many["memory_early_mb"], many["memory_late_mb"]
    lines += [
        f"| first page | {start['page_bytes'] / 1000:.0f} KB | at most 200 KB |",
        f"| from start to page | {start['page_s']:.2f} s, {start['page_cpu_s']:.2f} s of a core "
        "| at most 1 s |",
        f"| to the first move of an agent | {record['first_move_s']:.2f} s | at most 3 s |",
        f"| {many['sessions']:.0f} sessions for {many['seconds']:.0f} s, one killed | "
        f"{many['went_on']:.0f} others go on | {many['sessions'] - 1:.0f} |",
        f"| their memory after a quarter, and at the end | {early:.0f} MB, {late:.0f} MB | flat |",
    ]
    return "\n".join(lines)


def tables() -> dict[str, dict[str, str]]:
    """Return page -> mark -> table."""
    skullking = {f"layout_table({tier.name})": layout_table(tier) for tier in Tier}
    drmario = {"drmario_planes": drmario_planes(), "drmario_aux": drmario_aux()}
    return {
        "skullking.md": skullking,
        "prospector.md": {"layout_table": prospector_table()},
        "drmario.md": drmario,
        "reference/studio.md": {"messages": studio_messages(), "bars": studio_bars()},
    }


def with_tables(name: str) -> str:
    """Return a page with its tables between their marks."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    for mark, table in tables()[name].items():
        begin, end = f"<!-- {mark} begin -->", f"<!-- {mark} end -->"
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        block = f"{begin}\n{table}\n{end}"
        text, count = re.subn(pattern, lambda _, block=block: block, text, flags=re.DOTALL)
        if count != 1:
            raise SystemExit(f"{name} must have one pair of marks {begin} and {end}")
    return text


if __name__ == "__main__":
    for page in tables():
        (FOLDER / page).write_text(with_tables(page), encoding="utf-8")
