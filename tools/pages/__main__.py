"""Report what is wrong with pages, records and layout: ``python -m tools.pages``.

``make lint`` calls it. A fault is a line with the file and what is wrong there; the exit status is
then 1.
"""

from __future__ import annotations

import sys

from tools.pages import citations, commands, figures, layout, links, paths, prose, untested

CHECKS = (
    prose.check,
    commands.check,
    commands.check_records,
    paths.check,
    links.check,
    citations.check,
    untested.check,
    layout.check,
    figures.check,
)


def main() -> int:
    """Print all faults; return the exit status."""
    faults = [fault for check in CHECKS for fault in check()]
    print("\n".join([*faults, f"pages, records and layout: {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
