"""Judge bottles of Dr. Mario: ``python -m training.evaluator train --out FILE``."""

from __future__ import annotations

import sys

from training.run import games


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    return games.command("evaluator")(argv)


if __name__ == "__main__":
    sys.exit(main())
