"""The parts of ``python -m training reader``: train, evaluate, play; each prints."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from training.apps.drmario.reader import camera, fitting, measure
from training.apps.drmario.reader import play as playing
from training.apps.drmario.reader.network import load_reader, save_reader
from training.run import files, machine
from training.run.options import require

AGENT = Path("pretrained/drmario")


def _find_agent(args: argparse.Namespace) -> Path | None:
    require(args.seed >= 0, "--seed", args.seed, "at least 0")
    if args.agent is None:
        return AGENT if AGENT.is_dir() else None
    return Path(args.agent)


def train(args: argparse.Namespace, console: Console) -> None:
    """Train a network, and write it."""
    agent = _find_agent(args)
    files.prepare("--out", args.out)
    plan = fitting.Plan(frames=args.frames, seed=args.seed)

    def tell(now: dict[str, float]) -> None:
        console.print(
            f"{now['frames']:>7,} frames {now['cpu_s']:>5.0f} s  "
            f"location {now['location']:.4f}  cells {now['cells']:.5f}  wrong {now['wrong']:.3%}"
        )

    head, begin = machine.taken_on(), time.process_time()
    reader = fitting.train(plan, agent, tell)
    trained = {**asdict(plan), **head, "cpu_s": round(time.process_time() - begin, 1)}
    save_reader(reader, args.out, json.dumps(trained))
    console.print(f"{args.out}: {args.out.stat().st_size / 1e6:.2f} MB")


def evaluate(args: argparse.Namespace, console: Console) -> None:
    """Measure a network on frames that no training has seen."""
    agent = _find_agent(args)
    reader, trained = load_reader(args.file)
    if args.record is not None:
        files.prepare("--record", args.record)
    shares = measure.measure(reader, args.frames, args.seed, agent)
    shown = Table("read", "right", "of", title=str(args.file), title_justify="left")
    for name, part in shares.items():
        value, low, high = part["share"]
        shown.add_row(name, f"{value:.3%} [{low:.3%}, {high:.3%}]", f"{part['of']:,}")
    console.print(shown)
    _write(args, trained, {"seed": args.seed, "read": shares})


def play(args: argparse.Namespace, console: Console) -> None:
    """Let a player play through a network, and the same on rows."""
    _find_agent(args)
    reader, trained = load_reader(args.file)
    if args.record is not None:
        files.prepare("--record", args.record)
    plan = playing.Plan(args.episodes, args.max_steps, args.level, args.seed)
    results = playing.compare(args.who, reader, plan)
    shown = Table("sees", "cleared", "viruses left", "refused", title=args.who)
    for name, part in results["players"].items():
        value, low, high = part["clear"]
        cells = f"{value:.1%} [{low:.1%}, {high:.1%}]", f"{part['viruses'][0]:.2f}"
        shown.add_row(name, *cells, f"{part['refused']:.3%}")
    console.print(shown)
    console.print("pixels less rows: {:+.1%} [{:+.1%}, {:+.1%}]".format(*results["difference"]))
    _write(args, trained, {"who": args.who, "seed": args.seed, **results})


def _write(args: argparse.Namespace, trained: str, results: dict[str, Any]) -> None:
    if args.record is not None:
        cameras = asdict(camera.Ranges())
        head = {**machine.taken_on(), "trained": json.loads(trained), "cameras": cameras}
        files.write_json(args.record, {**head, **results})
