"""Make a small folder of a trained agent, to give away: ``python -m training.export RUN FOLDER``.

It is a run folder with one checkpoint that holds what decides the play alone: ``training.evaluate``
and ``training.load_policy`` play it, and nothing can be trained on from it. With ``--onnx`` the
folder holds the networks as ONNX files instead, for programs without torch.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fastenv.errors import FastEnvError
from training.evaluation.trained import load
from training.run import checkpoint, files, trainers
from training.run.folder import RunError, RunFolder
from training.run.values import require

# Parts of a native network that do not decide what is played.
_VALUE = ("value_tower.", "value_head.")


def export(run: RunFolder, folder: Path, name: str | None = None) -> Path:
    """Write the network of a run's checkpoint as a run folder of its own.

    Parameters
    ----------
    run : RunFolder
    folder : Path
        Must not be there yet.
    name : str, optional
        Checkpoint; default the newest.

    Returns
    -------
    Path
        The checkpoint that was written.

    Raises
    ------
    RunError, CheckpointError
        If ``folder`` is there already, or the run has no such whole checkpoint.
    """
    if folder.exists():
        raise RunError(f"{folder} is there already: name a new folder.")
    trained = load(run, name)
    saved = checkpoint.load(trained.path, {})
    unfinished = folder.with_name(f".tmp-{os.getpid()}-{folder.name}")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    shutil.copyfile(run.path / "config.json", unfinished / "config.json")
    written = checkpoint.save(
        unfinished / "checkpoints",
        saved.steps,
        identity=trainers.module_of(run.config.trainer).identity(run, trained.view()),
        model={"policy": _player(saved.model["policy"])},
        trainer={"exported_from": run.name},
        states=np.zeros((0, saved.rows.shape[1]), np.uint8),
        arrays={},
        keep=1,
    )
    os.rename(unfinished, folder)
    files.sync_folder(folder.parent)
    return folder / "checkpoints" / written.name


def _player(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters, of one network or of several by name, without those of the values."""
    return {
        name: _player(value) if isinstance(value, Mapping) else value
        for name, value in parameters.items()
        if not name.startswith(_VALUE)
    }


def _write_onnx(run: RunFolder, args: argparse.Namespace) -> int:
    from training.policies.onnx_export import export_onnx

    path = run.path if args.checkpoint is None else run.checkpoints / args.checkpoint
    folder = args.folder or Path(f"{run.name}-onnx")
    for file in export_onnx(path, folder, member=args.member):
        print(f"{file}: {file.stat().st_size / 1e6:.2f} MB")
    return 0


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = argparse.ArgumentParser(prog="python -m training.export", description=__doc__)
    parse.add_argument("run", help="a run folder, or the name of one under runs/")
    where = "where to write; must not be there yet; with --onnx default NAME-onnx"
    parse.add_argument("folder", nargs="?", type=Path, help=where)
    parse.add_argument("--onnx", action="store_true", help="write ONNX files")
    parse.add_argument("--checkpoint", help="name of a checkpoint; default the newest")
    parse.add_argument("--member", type=int, help="with --onnx: network of an ensemble, from 1")
    parse.add_argument("--runs", default="runs", help="folder of all runs")
    args = parse.parse_args(argv)
    try:
        run = RunFolder.find(args.run, Path(args.runs))
        if args.onnx:
            return _write_onnx(run, args)
        require(args.folder is not None, "FOLDER", None, "given, unless with --onnx")
        require(args.member is None, "--member", args.member, "left out without --onnx")
        written = export(run, args.folder, args.checkpoint)
    except (FastEnvError, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    size = sum(file.stat().st_size for file in args.folder.rglob("*") if file.is_file())
    print(f"{written}: {size / 1e6:.2f} MB; python -m training.evaluate {args.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
