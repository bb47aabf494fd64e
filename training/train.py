"""Train an agent: ``python -m training train --config training/configs/skullking.yaml``.

Options come in layers, each over the one before: defaults, ``--preset``, ``--config``, flags.
:func:`training.callbacks.start.train` starts the run, and :func:`training.run.loop.run_training`
drives its trainer.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Union

import yaml

from fastenv.errors import ConfigError, FastEnvError
from fastenv.ticker import print_dots
from training.run import registry
from training.run.config import RunConfig
from training.run.config_files import load_file
from training.run.folder import BusyError, RunError, RunFolder
from training.run.option_layers import merge_layers, parser

if TYPE_CHECKING:
    from training.run.envs import Lanes

# Further keys of a file, beside the options of a run (training.run.option_layers, name_backend).
BESIDE: dict[str, dict[str, Any]] = {
    "without_core": {
        "type": "object",
        "description": "options in the place of its own where there is no compiled core",
    },
    "use_numba": {"type": "boolean", "description": "a part of ``backend``"},
    "use_cython": {"type": "boolean", "description": "a part of ``backend``"},
}
DEFAULT = "native"  # the trainer of a file that names none
FILMED, FILM_FPS = 300, 2.0  # decisions of a film at most, and those a second


def print_config(args: argparse.Namespace) -> int:
    """Print the options of the run as a file that ``--config`` takes; nothing is written."""
    _, config = options(args)
    print(yaml.safe_dump(config.to_dict(), sort_keys=False, allow_unicode=True), end="")
    return 0


def print_schema() -> int:
    """Print the JSON schema of the options of all trainers."""
    print(json.dumps(make_schema(), indent=2))
    return 0


def make_schema() -> dict[str, Any]:
    """Make the schema of the options of all trainers, told apart by ``trainer``."""
    from pydantic import Field, TypeAdapter

    models = {name: registry.OPTIONS.load(name) for name in registry.TRAINERS}
    union: Any = Union[tuple(models.values())]  # noqa: UP007
    kind: Any = Annotated[union, Field(discriminator="trainer")]
    whole = TypeAdapter(kind).json_schema()
    for trainer, model in models.items():
        one = whole["$defs"][model.__name__]
        one["properties"] |= BESIDE
        if trainer != DEFAULT:  # or a file without would be of every trainer
            one["required"] = ["trainer", *one.get("required", ())]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole}


def options(
    args: argparse.Namespace, say: Callable[[str], None] | None = None
) -> tuple[RunFolder | None, RunConfig]:
    """Return the folder of the run to resume, if there is one, and the options of the run."""
    run = None
    if args.resume:
        name = args.name or (load_file(args.config).get("name") if args.config else None)
        if not isinstance(name, str):
            raise RunError("--resume needs the --name of the run to resume.")
        run = RunFolder.open(args.runs / name)
        run.continue_with(merge_layers(args, run.config.to_dict(), say))
    return run, merge_layers(args, {}, say) if run is None else run.config


def prepare(args: argparse.Namespace, adjusted: list[str] | None = None) -> tuple[RunFolder, Lanes]:
    """Return the folder of a new run, or of the one to resume, and the lanes it trains on.

    Parameters
    ----------
    args : argparse.Namespace
    adjusted : list of str, optional
        Gets a line for each change of the options; each is printed too.

    Raises
    ------
    ConfigError, RunError
        With nothing written.
    """

    def say(line: str) -> None:
        print(line, file=sys.stderr)
        if adjusted is not None:
            adjusted.append(line)

    run, config = options(args, say)
    from training.callbacks.start import check_run
    from training.run.envs import make_lanes

    lanes = make_lanes(config)
    if run is None:
        check_run(config, lanes.engines[0])
        run = RunFolder.create(args.runs, config)
    return run, lanes


def resume_flags(run: RunFolder) -> str:
    """Return the flags that resume a run."""
    root = str(run.path.parent)
    runs = "" if root == "runs" else f" --runs {shlex.quote(root)}"
    return f"--name {run.name} --resume{runs}"


def going_on(run: RunFolder) -> str:
    """Describe the flags that resume a run."""
    return f"resume with {resume_flags(run)}"


def what_is_left(run: RunFolder | None) -> str:
    """Describe the checkpoints that an interrupted training leaves, as the end of a message."""
    if run is None or not run.path.is_dir():
        return " before the training began: nothing was written"
    if not any(run.checkpoints.glob("ckpt_*")):
        return f" before the first checkpoint: {run.path} holds no agent yet; {going_on(run)}"
    return f": the checkpoints in {run.path} are complete; {going_on(run)}"


def film(run: RunFolder) -> str:
    """Write a film of an episode of the trained agent; say where, or why there is none."""
    from dataclasses import replace

    from training.terminal import sources, text
    from training.terminal.session import TerminalSession

    path = run.path / "film.gif"
    try:
        source = sources.make_trained(str(run.path), run.path.parent, {})
        source = replace(source, limit=FILMED)
        with print_dots("filming"):
            text.film(TerminalSession(source), path, FILM_FPS)
    except (FastEnvError, ImportError) as error:
        return f"no film: {error}"
    return f"a game of it: {path}"


def what_is_next(run: RunFolder) -> str:
    """Name in one line commands for a run that is trained: meet it, look at it, train on."""
    from training.run.games import get_game

    where, config = shlex.quote(str(run.path)), run.config
    meets = bool(get_game(config.env).opponent_sets)
    see = f"play --against {where}" if meets else f"watch {where}"
    on = f"train {resume_flags(run)} --total-steps {2 * config.total_steps}"
    every = "; ".join(f"python -m training {each}" for each in (see, "studio", on))
    return f"next: {every}"


def follow_first_rank(args: argparse.Namespace) -> int:
    """Train as one of torchrun's other ranks; the first rank prints everything."""
    try:
        from training.nets.precision import set_up_torch
        from training.run.envs import make_lanes

        _, config = options(args, say=lambda text: None)
        lanes = make_lanes(config)  # refused where a trainer has no ranks; the first one reports it
        set_up_torch(config)
        registry.load_trainer(config.trainer).make_trainer(config, lanes).follow_first_rank()
    except (FastEnvError, ImportError, OSError):
        return 2
    return 0


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    prints = args.print_schema or args.print_config
    if int(os.environ.get("RANK", 0)) > 0:
        return 0 if prints else follow_first_rank(args)
    run: RunFolder | None = None
    adjusted: list[str] = []
    try:
        if prints:
            return print_schema() if args.print_schema else print_config(args)
        with print_dots("loading"):
            run, lanes = prepare(args, adjusted)
            from training.callbacks.start import train

        try:
            outcome = train(run, lanes, args.resume, adjusted)
        except BusyError:  # its folder may look as if nobody had begun yet
            raise
        except BaseException:
            run.discard_unless_begun()
            raise
        if not outcome.finished:
            print(f"stopped at {outcome.steps:,} decisions; {going_on(run)}")
            return 0
        evaluation = run.config.evaluation
        judges = evaluation.after_training and not args.no_evaluation
        if judges:
            from training.evaluation.conclusion import conclude

            conclude(run, outcome)
        else:
            print(
                f"{run.name}: {outcome.steps:,} decisions in {outcome.wall_s:.0f} s of training, "
                f"in {run.path}"
            )
        if evaluation.film and not args.no_evaluation:
            print(film(run))
        if judges:
            print(what_is_next(run))
    except (ConfigError, FastEnvError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"interrupted{what_is_left(run)}", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    ended = main()
    gc.freeze()  # or Python looks through all of torch before it ends, seconds without a word
    sys.exit(ended)
