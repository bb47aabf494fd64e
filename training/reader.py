"""Read Dr. Mario from frames: ``python -m training.reader train --out FILE``."""

from __future__ import annotations

import sys

from training.apps.drmario.reader import command


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    return command.main(argv)


if __name__ == "__main__":
    sys.exit(main())
