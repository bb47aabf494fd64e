"""Write the observation tables of ``docs/skullking.md`` from ``fastenv/skullking/layout.py``.

Run ``python docs/generate.py`` after a change of the layout. A test compares.
"""

from __future__ import annotations

import re
from pathlib import Path

from fastenv.skullking.layout import layout_table
from fastenv.skullking.tables import Tier

PAGE = Path(__file__).with_name("skullking.md")


def with_tables(text: str) -> str:
    """Return the page with the table of every tier between its two marks."""
    for tier in Tier:
        begin, end = (f"<!-- layout_table({tier.name}) {edge} -->" for edge in ("begin", "end"))
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        table = f"{begin}\n{layout_table(tier)}\n{end}"
        text, count = re.subn(pattern, lambda _, table=table: table, text, flags=re.DOTALL)
        if count != 1:
            raise SystemExit(f"{PAGE.name} must have one pair of marks {begin} and {end}")
    return text


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
