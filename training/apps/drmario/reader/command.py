"""Read frames of Dr. Mario: ``python -m training reader train --out FILE``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fastenv.errors import FastEnvError
from training.run.command_line import described, new_parser

ABOUT = """\
Train and test a network that reads bottle, falling pill and preview from camera frames of
Dr. Mario. "evaluate" measures its accuracy on frames outside the training set. "play" lets a bot or
a trained agent play from the frames that it reads and, for comparison, from the true states.
"""


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = new_parser("reader", ABOUT, "train --out reader.safetensors", "PART [options]")
    parts = parse.add_subparsers(dest="part", required=True, metavar="PART")
    file = "reader.safetensors"

    about = "Train a reader network."
    add = described("reader train", about, f"--out {file}", "--out FILE [options]")
    one = parts.add_parser("train", help=about, **add)
    about = "network to write, safetensors"
    one.add_argument("--out", type=Path, required=True, metavar="FILE", help=about)
    one.add_argument("--frames", type=int, default=14_000, help="training frames; default 14,000")
    one.add_argument("--seed", type=int, default=0, help="training seed; default 0")

    about = "Measure the accuracy of a reader on frames outside its training set."
    add = described("reader evaluate", about, file, "FILE [options]")
    one = parts.add_parser("evaluate", help=about, **add)
    one.add_argument("--frames", type=int, default=1000, help="frames to read; default 1,000")

    about = "Play from frames, and from states for comparison."
    add = described("reader play", about, f"{file} --who greedy", "FILE [options]")
    two = parts.add_parser("play", help=about, **add)
    about = "bot or run folder that plays; default %(default)s"
    two.add_argument("--who", default="pretrained/drmario", help=about)
    about = "level; default: that of the agent's training, or 5"
    two.add_argument("--level", type=int, help=about)
    two.add_argument("--episodes", type=int, default=100, help="episodes; default 100")
    about = "maximum decisions of an episode; default 1,000"
    two.add_argument("--max-steps", type=int, default=1000, help=about)
    for each in (one, two):
        each.add_argument("file", type=Path, help="reader network, as written by train")
        each.add_argument("--seed", type=int, default=0, help="seed of the games; default 0")
        each.add_argument("--record", type=Path, metavar="FILE", help="JSON record to write")
    for each in parts.choices.values():
        about = "trained agent whose games are read too"
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
