"""Evaluate over the seed registry: ``python -m training.evaluate_seeds greedy --out DIR``."""

from __future__ import annotations

import sys

from training.apps.drmario import evaluate_seeds


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    return evaluate_seeds.main(argv)


if __name__ == "__main__":
    sys.exit(main())
