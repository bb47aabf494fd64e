"""Read frames of Dr. Mario: ``python -m training reader train --out FILE``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fastenv.errors import FastEnvError
from training.run.command_line import described, new_parser

ABOUT = """\
Read frames of Dr. Mario. "train" makes a network that reads bottle, falling pill and preview from a
camera's frames; "evaluate" measures it on frames that no training has seen; "play" lets a bot or a
trained agent play through it, and the same on rows beside it.
"""


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = new_parser("reader", ABOUT, "train --out reader.safetensors", "PART [options]")
    parts = parse.add_subparsers(dest="part", required=True, metavar="PART")
    file = "reader.safetensors"

    add = described("reader train", "Make a network.", f"--out {file}", "--out FILE [options]")
    one = parts.add_parser("train", help="Make a network.", **add)
    one.add_argument("--out", type=Path, required=True, metavar="FILE", help="safetensors")
    one.add_argument("--frames", type=int, default=14_000, help="to learn from; default 14,000")
    one.add_argument("--seed", type=int, default=0)

    about = "Read frames that no training has seen."
    add = described("reader evaluate", about, file, "FILE [options]")
    one = parts.add_parser("evaluate", help=about, **add)
    one.add_argument("--frames", type=int, default=1000, help="default 1,000")

    about = "Play from frames, and on rows."
    add = described("reader play", about, f"{file} --who greedy", "FILE [options]")
    two = parts.add_parser("play", help=about, **add)
    about = "a bot or a run folder; default %(default)s"
    two.add_argument("--who", default="pretrained/drmario", help=about)
    about = "default that of the agent's training, or 5"
    two.add_argument("--level", type=int, help=about)
    two.add_argument("--episodes", type=int, default=100, help="default 100")
    about = "decisions of an episode at most; default 1,000"
    two.add_argument("--max-steps", type=int, default=1000, help=about)
    for each in (one, two):
        each.add_argument("file", type=Path, help="a network, as train writes it")
        each.add_argument("--seed", type=int, default=0)
        each.add_argument("--record", type=Path, metavar="FILE", help="JSON to write it to as well")
    for each in parts.choices.values():
        about = "a trained agent among those whose games are read"
        each.add_argument("--agent", type=Path, metavar="RUN", help=about)
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        from rich.console import Console

        from training.apps.drmario.reader import actions

        act = {"train": actions.train, "evaluate": actions.evaluate, "play": actions.play}
        act[args.part](args, Console(highlight=False))
    except (FastEnvError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
