"""Export a trained agent as a small folder: ``python -m training export RUN FOLDER``.

``--hub FOLDER`` writes the form that hubs of models take.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from training.run.command_line import add_runs, exit_status, new_parser
from training.run.folder import RunFolder
from training.run.options import require

ABOUT = """\
Export a trained agent as a small folder. It is a run folder with one checkpoint that holds only the
policy: "evaluate" and training.load_policy play it, but a training cannot be resumed from it. With
--onnx the folder holds the networks as ONNX files instead, for programs without torch. With --hub
it is ready to be uploaded to a model hub: weights as safetensors, config and model card.
"""


def _write_onnx(run: RunFolder, args: argparse.Namespace) -> None:
    from training.players.onnx_export import export_onnx

    folder = args.folder or Path(f"{run.name}-onnx")
    for file in export_onnx(run, folder, args.checkpoint, args.member):
        print(f"{file}: {file.stat().st_size / 1e6:.2f} MB")


def _write_hub(args: argparse.Namespace) -> None:
    from training.players import card
    from training.players.export import copy_network, export, network_in

    require(not args.onnx, "--onnx", args.onnx, "left out with --hub")
    require(args.folder is None, "FOLDER", str(args.folder), "given once, behind --hub")
    require(args.member is None, "--member", args.member, "left out without --onnx")
    allowed = "left out with --hub: export it to a folder first, and that one for the hub"
    require(not args.average, "--average", args.average, allowed)
    network = network_in(Path(args.run))
    if network is not None:
        require(not args.half, "--half", args.half, "left out: the file is copied as it is")
        require(not args.values, "--values", args.values, "left out: the file is copied as it is")
        require(args.checkpoint is None, "--checkpoint", args.checkpoint, "left out: there is none")
        copy_network(network, args.hub)
    else:
        run = RunFolder.find(args.run, args.runs)
        from training.evaluation import run_card

        which = {"half": args.half, "values": args.values, "make_card": run_card.make}
        export(run, args.hub, args.checkpoint, **which)
    for file in sorted(args.hub.iterdir()):
        print(f"{file}: {file.stat().st_size / 1e6:.2f} MB")
    if "license" not in card.check(card.read(args.hub) or "", str(args.hub / card.FILE)):
        print(f"{args.hub / card.FILE} names no license: choose one before you upload.")


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parse = new_parser("export", ABOUT, "first agents/first --half", "RUN FOLDER [options]")
    parse.add_argument("run", help="run folder, or name of a run under --runs")
    where = "folder to write; must not exist yet; with --onnx, default NAME-onnx"
    hub = "write weights, config and model card for a model hub into FOLDER"
    parse.add_argument("folder", nargs="?", type=Path, help=where)
    parse.add_argument("--hub", type=Path, metavar="FOLDER", help=hub)
    parse.add_argument(
        "--onnx", action="store_true", help="write ONNX files instead of a checkpoint"
    )
    parse.add_argument(
        "--half", action="store_true", help="store weights as float16, half the size"
    )
    values = "keep the value network, which the studio shows and no policy needs"
    parse.add_argument("--values", action="store_true", help=values)
    about = "give away the averaged policy of self-play (selfplay.average), not the last one"
    parse.add_argument("--average", action="store_true", help=about)
    parse.add_argument("--checkpoint", help="name of the checkpoint; default: the newest")
    parse.add_argument("--member", type=int, help="with --onnx: member of an ensemble, from 1")
    add_runs(parse)
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    return exit_status(lambda: _export(args))


def _export(args: argparse.Namespace) -> None:
    if args.hub is not None:
        _write_hub(args)
        return
    run = RunFolder.find(args.run, args.runs)
    if args.onnx:
        for name in ("half", "values", "average"):
            value = getattr(args, name)
            require(not value, f"--{name}", value, "left out with --onnx")
        _write_onnx(run, args)
        return
    require(args.folder is not None, "FOLDER", None, "given, unless with --onnx or --hub")
    require(args.member is None, "--member", args.member, "left out without --onnx")
    from training.players.export import export

    which = {"half": args.half, "values": args.values, "average": args.average}
    written = export(run, args.folder, args.checkpoint, **which)
    size = sum(file.stat().st_size for file in args.folder.rglob("*") if file.is_file())
    print(f"{written}: {size / 1e6:.2f} MB; python -m training evaluate {args.folder}")


if __name__ == "__main__":
    sys.exit(main())
