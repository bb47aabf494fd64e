"""Give a trained agent away as a small folder: ``python -m training export RUN FOLDER``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fastenv.errors import FastEnvError
from training.run.command_line import new_parser
from training.run.folder import RunFolder
from training.run.options import require

ABOUT = """\
Give a trained agent away as a small folder. It is a run folder with one checkpoint that holds what
decides the play alone: "evaluate" and training.load_policy play it, and nothing can be trained on
from it. With --onnx the folder holds the networks as ONNX files instead, for programs without
torch.
"""


def _write_onnx(run: RunFolder, args: argparse.Namespace) -> int:
    from training.policies.onnx_export import export_onnx

    folder = args.folder or Path(f"{run.name}-onnx")
    for file in export_onnx(run, folder, args.checkpoint, args.member):
        print(f"{file}: {file.stat().st_size / 1e6:.2f} MB")
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = new_parser("export", ABOUT, "first agents/first --half", "RUN FOLDER [options]")
    parse.add_argument("run", help="a run folder, or the name of one under runs/")
    where = "where to write; must not be there yet; with --onnx default NAME-onnx"
    parse.add_argument("folder", nargs="?", type=Path, help=where)
    parse.add_argument("--onnx", action="store_true", help="write ONNX files")
    parse.add_argument("--half", action="store_true", help="float16, half as large")
    parse.add_argument("--checkpoint", help="name of a checkpoint; default the newest")
    parse.add_argument("--member", type=int, help="with --onnx: network of an ensemble, from 1")
    parse.add_argument("--runs", default="runs", help="folder of all runs")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        run = RunFolder.find(args.run, Path(args.runs))
        if args.onnx:
            require(not args.half, "--half", args.half, "left out with --onnx")
            return _write_onnx(run, args)
        require(args.folder is not None, "FOLDER", None, "given, unless with --onnx")
        require(args.member is None, "--member", args.member, "left out without --onnx")
        from training.policies.export import export

        written = export(run, args.folder, args.checkpoint, half=args.half)
    except (FastEnvError, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    size = sum(file.stat().st_size for file in args.folder.rglob("*") if file.is_file())
    print(f"{written}: {size / 1e6:.2f} MB; python -m training evaluate {args.folder}")
    return 0
