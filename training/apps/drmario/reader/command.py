"""Read frames of Dr. Mario: ``python -m training reader train --out FILE``."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from training.evaluation.intervals import Interval
from training.run import files, machine
from training.run.command_line import described, exit_status, new_parser
from training.run.options import require

if TYPE_CHECKING:
    from rich.console import Console

    from training.apps.drmario.reader.network import Reader

ABOUT = """\
Train and test a network that reads bottle, falling pill and preview from camera frames of
Dr. Mario. "evaluate" measures its accuracy on frames outside the training set. "play" lets a bot or
a trained agent play from the frames that it reads and, for comparison, from the true states.
"""
AGENT = Path("pretrained/drmario")


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
    two.add_argument("--who", default=str(AGENT), help=about)
    about = "level; default: that of the agent's training, or 5"
    two.add_argument("--level", type=int, help=about)
    two.add_argument("--episodes", type=int, default=100, help="episodes; default 100")
    about = "maximum decisions of an episode; default 1,000"
    two.add_argument("--max-steps", type=int, default=1000, help=about)
    for each in (one, two):
        each.add_argument("file", type=Path, help="reader network, as written by train")
        each.add_argument("--seed", type=int, default=0, help="seed of the games; default 0")
        each.add_argument("--record", type=Path, metavar="FILE", help="JSON record to write")
    for part in ("train", "evaluate"):
        about = "trained agent whose games are read too"
        parts.choices[part].add_argument("--agent", type=Path, metavar="RUN", help=about)
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    return exit_status(lambda: _run(args))


def _run(args: argparse.Namespace) -> None:
    """Train a reader, or measure one and write what was found."""
    from rich.console import Console

    require(args.seed >= 0, "--seed", args.seed, "at least 0")
    console = Console(highlight=False)
    if args.part == "train":
        _train(args, console)
        return
    from training.apps.drmario.reader import camera, network

    reader, trained = network.load_reader(args.file)
    if args.record is not None:
        files.prepare("--record", args.record)
    results = {"evaluate": _evaluate, "play": _play}[args.part](args, console, reader)
    if args.record is not None:
        cameras = asdict(camera.Ranges())
        head = {**machine.taken_on(), "trained": json.loads(trained), "cameras": cameras}
        files.write_json(args.record, {**head, **results})


def _train(args: argparse.Namespace, console: Console) -> None:
    """Train a network, and write it."""
    from training.apps.drmario.reader import network, train

    files.prepare("--out", args.out)
    head, begin = machine.taken_on(), time.process_time()
    reader = train.train(args.frames, args.seed, _find_agent(args), console.print)
    plan = {"frames": args.frames, **train.OPTIONS, "seed": args.seed}
    trained = {**plan, **head, "cpu_s": round(time.process_time() - begin, 1)}
    network.save_reader(reader, args.out, json.dumps(trained))
    console.print(f"{args.out}: {args.out.stat().st_size / 1e6:.2f} MB")


def _find_agent(args: argparse.Namespace) -> Path | None:
    """Return the agent whose games are read: the one asked for, or the repository's."""
    agent: Path | None = args.agent
    return AGENT if agent is None and AGENT.is_dir() else agent


def _evaluate(args: argparse.Namespace, console: Console, reader: Reader) -> dict[str, Any]:
    """Measure a network on frames that no training has seen."""
    from training.apps.drmario.reader import measure
    from training.evaluation.tables import format_interval, make_table

    shares = measure.measure(reader, args.frames, args.seed, _find_agent(args))
    shown = make_table(str(args.file), None, ["read"], ["right %", "of"])
    for name, part in shares.items():
        right = format_interval(Interval.from_list(part["share"]), 3, 100)
        shown.add_row(name, right, f"{part['of']:,}")
    console.print(shown)
    return {"seed": args.seed, "read": shares}


def _play(args: argparse.Namespace, console: Console, reader: Reader) -> dict[str, Any]:
    """Let a player play through a network, and the same on rows."""
    from training.apps.drmario.reader import measure
    from training.evaluation.tables import format_interval, make_table

    names = ("episodes", "max_steps", "level", "seed")
    results = measure.compare(args.who, reader, **{name: getattr(args, name) for name in names})
    figures = ["cleared %", "viruses left", "refused"]
    shown = make_table(args.who, None, ["sees"], figures)
    for name, part in results["players"].items():
        cleared = format_interval(Interval.from_list(part["clear"]), 1, 100)
        shown.add_row(name, cleared, f"{part['viruses'][0]:.2f}", f"{part['refused']:.3%}")
    console.print(shown)
    console.print("pixels less rows: {:+.1%} [{:+.1%}, {:+.1%}]".format(*results["difference"]))
    return {"who": args.who, "seed": args.seed, **results}
