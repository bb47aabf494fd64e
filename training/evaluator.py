"""Judge bottles of Dr. Mario: ``python -m training.evaluator train --out FILE``."""

from __future__ import annotations

import sys

from training.apps.drmario.evaluator import command


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    return command.main(argv)


if __name__ == "__main__":
    sys.exit(main())
