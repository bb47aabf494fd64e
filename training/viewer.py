"""Watch games in the terminal while they are played: ``python -m training.viewer --bot NAME``."""

from __future__ import annotations

import sys

from training.apps.drmario.viewer import command


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    return command.main(argv)


if __name__ == "__main__":
    sys.exit(main())
