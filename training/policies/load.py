"""Load a trained agent from a folder."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from training.policies.policy import Policy, View
from training.run import checkpoint, trainers
from training.run.checkpoint import Checkpoint, CheckpointError
from training.run.envs import make_engine, with_defaults, without_guests
from training.run.folder import RunError, RunFolder
from training.run.values import require

ALLOWED = (
    "a run folder, a checkpoint in its checkpoints/, or a folder that training.export has written"
)


def load_policy(path: str | Path, *, member: int | None = None) -> Policy:
    """Load a trained agent.

    Parameters
    ----------
    path : str or Path
        A run folder or one that ``training.export`` has written, of which the newest whole
        checkpoint is taken; or ``checkpoints/NAME`` in one of them, ``best`` included.
    member : int, optional
        Network of an ensemble, from 1 on; default the first.

    Returns
    -------
    Policy

    Raises
    ------
    RunError
        If there is no such folder, or no trained agent in it.
    CheckpointError
        If the checkpoint is damaged or of another environment.
    ConfigError
        If there is no such member, or no such environment any more.
    """
    run, saved = find(Path(path))
    config = run.config
    members = len(config.ensemble.seeds)
    member = 1 if members and member is None else member
    allowed = f"from 1 to {members}" if members else "left out: this run has one network"
    require(member is None or member in range(1, members + 1), "member", member, allowed)
    logits, view = _player(run, saved, member)
    return Policy(config, saved.path, saved.steps, logits, view, member)


def find(path: Path) -> tuple[RunFolder, Checkpoint]:
    """Return the run that a path lies in and the checkpoint that it names.

    Raises
    ------
    RunError, CheckpointError
        See :func:`load_policy`.
    """
    inside = [path, *path.parents]
    root = (
        next((p for p in inside if (p / "config.json").is_file()), None) if path.is_dir() else None
    )
    below = () if root is None else path.relative_to(root).parts
    if root is None or below[:1] not in ((), ("checkpoints",)):
        raise RunError(f"path {str(path)!r}: must be {ALLOWED}.")
    run = RunFolder.open(root)
    identity = trainers.module_of(run.config.trainer).identity(run, engine_of(run))
    is_one = (path / "MANIFEST.json").is_file() or path.name.startswith("ckpt_")
    if is_one:
        return run, checkpoint.load(path, identity)
    folder = path if below else run.checkpoints
    saved = checkpoint.load_newest(folder, identity, warnings.warn)
    if saved is None:
        raise RunError(f"path {str(path)!r} has no checkpoint yet: must be {ALLOWED}.")
    return run, saved


def parameters_of(saved: Checkpoint, member: int | None) -> Any:
    """Return what the trainer of a checkpoint calls its policy, that of one member."""
    try:
        found = saved.model["policy"]
        return found if member is None else found[str(member)]
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{saved.path} holds no network to play with.") from error


def engine_of(run: RunFolder) -> Any:
    """Return an engine of one lane of what a run was trained on."""
    return make_engine(run.config.env, 1, run.config.env_options)


def _player(run: RunFolder, saved: Checkpoint, member: int | None) -> tuple[Any, View]:
    """Return the network of a checkpoint as a function, and what it sees."""
    config, engine = run.config, engine_of(run)
    trainer, parameters = trainers.module_of(config.trainer), parameters_of(saved, member)
    try:
        if hasattr(trainer, "load_whole_games"):
            return trainer.load_whole_games(config, engine, parameters)
        logits = trainer.load_logits(config, engine, parameters)
    except (KeyError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise CheckpointError(f"{saved.path} holds another network: {reason}") from error
    options = with_defaults(config.env, without_guests(config.env_options))
    spec = engine.spec
    view = View(config.env, options, spec.obs_dtype, spec.obs_shape, spec.num_actions)
    return logits, view
