"""Evaluate over the seed registry: ``python -m training.evaluate_seeds greedy --out DIR``."""

from __future__ import annotations

import sys

from training.run import games


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    return games.command("evaluate_seeds")(argv)


if __name__ == "__main__":
    sys.exit(main())
