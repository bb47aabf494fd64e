"""Read frames of Dr. Mario: ``python -m training.reader train --out FILE``.

``train`` makes a network that reads bottle, falling pill and preview from a camera's frames;
``evaluate`` measures it on frames that no training has seen; ``play`` lets a bot or a trained agent
play through it, and the same on rows beside it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fastenv.errors import FastEnvError
from training.apps.drmario.reader import camera, fitting, measure, play
from training.apps.drmario.reader.network import load_reader, save_reader
from training.run import files, machine
from training.run.options import require

AGENT = Path("pretrained/drmario")


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(prog="python -m training.reader", description=__doc__)
    parts = parse.add_subparsers(required=True)
    plan, games = fitting.Plan(), play.Plan()

    one = parts.add_parser("train", help="make a network")
    one.set_defaults(run=_train)
    one.add_argument("--out", type=Path, required=True, metavar="FILE", help="safetensors")
    about = f"to learn from; default {plan.frames:,}"
    one.add_argument("--frames", type=int, default=plan.frames, help=about)
    one.add_argument("--seed", type=int, default=plan.seed)

    one = parts.add_parser("evaluate", help="read frames that no training has seen")
    one.set_defaults(run=_evaluate)
    one.add_argument("--frames", type=int, default=1000, help="default 1,000")

    two = parts.add_parser("play", help="play from frames, and on rows")
    two.set_defaults(run=_play)
    two.add_argument("--who", default=str(AGENT), help=f"a bot or a run folder; default {AGENT}")
    about = "default that of the agent's training, or 5"
    two.add_argument("--level", type=int, help=about)
    about = f"default {games.episodes}"
    two.add_argument("--episodes", type=int, default=games.episodes, help=about)
    about = f"decisions of an episode at most; default {games.max_steps:,}"
    two.add_argument("--max-steps", type=int, default=games.max_steps, help=about)
    for each in (one, two):
        each.add_argument("file", type=Path, help="a network, as train writes it")
        each.add_argument("--seed", type=int, default=0)
        each.add_argument("--record", type=Path, metavar="FILE", help="JSON to write it to as well")
    for each in parts.choices.values():
        about = f"a trained agent among those whose games are read; default {AGENT}, if it is there"
        each.add_argument("--agent", type=Path, metavar="RUN", help=about)
    return parse


def _agent(args: argparse.Namespace) -> Path | None:
    require(args.seed >= 0, "--seed", args.seed, "at least 0")
    if args.agent is None:
        return AGENT if AGENT.is_dir() else None
    return Path(args.agent)


def _train(args: argparse.Namespace, console: Console) -> None:
    agent = _agent(args)
    files.prepare("--out", args.out)
    plan = fitting.Plan(frames=args.frames, seed=args.seed)

    def tell(now: dict[str, float]) -> None:
        console.print(
            f"{now['frames']:>7,} frames {now['cpu_s']:>5.0f} s  "
            f"location {now['location']:.4f}  cells {now['cells']:.5f}  wrong {now['wrong']:.3%}"
        )

    head, begin = _head(), time.process_time()
    reader = fitting.train(plan, agent, tell)
    trained = {**asdict(plan), **head, "cpu_s": round(time.process_time() - begin, 1)}
    save_reader(reader, args.out, json.dumps(trained))
    console.print(f"{args.out}: {args.out.stat().st_size / 1e6:.2f} MB")


def _evaluate(args: argparse.Namespace, console: Console) -> None:
    agent = _agent(args)
    reader, trained = load_reader(args.file)
    if args.record is not None:
        files.prepare("--record", args.record)
    found = measure.measure(reader, args.frames, args.seed, agent)
    shown = Table("read", "right", "of", title=str(args.file), title_justify="left")
    for name, part in found.items():
        value, low, high = part["share"]
        shown.add_row(name, f"{value:.3%} [{low:.3%}, {high:.3%}]", f"{part['of']:,}")
    console.print(shown)
    _write(args, trained, {"seed": args.seed, "read": found})


def _play(args: argparse.Namespace, console: Console) -> None:
    _agent(args)
    reader, trained = load_reader(args.file)
    if args.record is not None:
        files.prepare("--record", args.record)
    plan = play.Plan(args.episodes, args.max_steps, args.level, args.seed)
    found = play.compare(args.who, reader, plan)
    shown = Table("sees", "cleared", "viruses left", "refused", title=args.who)
    for name, part in found["players"].items():
        value, low, high = part["clear"]
        cells = f"{value:.1%} [{low:.1%}, {high:.1%}]", f"{part['viruses'][0]:.2f}"
        shown.add_row(name, *cells, f"{part['refused']:.3%}")
    console.print(shown)
    console.print("pixels less rows: {:+.1%} [{:+.1%}, {:+.1%}]".format(*found["difference"]))
    _write(args, trained, {"who": args.who, "seed": args.seed, **found})


def _head() -> dict[str, Any]:
    return {
        "command": machine.command(),
        "created": machine.now(),
        **machine.revision(),
        "host": machine.host(),
        "versions": machine.versions(),
    }


def _write(args: argparse.Namespace, trained: str, found: dict[str, Any]) -> None:
    if args.record is not None:
        cameras = asdict(camera.Ranges())
        head = {**_head(), "trained": json.loads(trained), "cameras": cameras}
        files.write_json(args.record, {**head, **found})


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        args.run(args, Console(highlight=False))
    except (FastEnvError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
