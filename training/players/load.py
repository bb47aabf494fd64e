"""Load a trained agent from a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastenv import Game
from training.players.policy import EnvSpec, Policy
from training.players.trained import load
from training.run import games
from training.run.envs import with_seating
from training.run.folder import WEIGHTS, RunError, RunFolder
from training.run.seating import has_agents, without_agents

ALLOWED = (
    "a run folder, a checkpoint in its checkpoints/, or a folder that python -m training export "
    "has written"
)


def load_policy(path: str | Path, *, member: int | None = None) -> Policy:
    """Load a trained agent.

    Parameters
    ----------
    path : str or Path
        A run folder or one that ``training export`` has written, of which the newest whole
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

    Examples
    --------
    >>> import training
    >>> policy = training.load_policy("pretrained/skullking")
    >>> env = policy.make()
    >>> obs, info = env.reset(seed=0)
    >>> action, state = policy.act(obs, info["action_mask"])
    >>> bool(info["action_mask"][action])
    True
    """
    run, name = find(Path(path))
    trained = load(run, name, member)
    config = trained.config
    if trained.pair is not None:
        logits, env_spec = trained.pair.whole_games()
    else:
        engine = trained.engine()
        spec, options = engine.spec, scripted_opponents(config.env, config.env_options, engine.game)
        shown = (spec.obs_dtype, spec.obs_shape, spec.num_actions)
        logits = trained.logits
        env_spec = EnvSpec(config.env, with_seating(config.env, options), *shown)
    return Policy(config, trained.path, trained.steps, logits, env_spec, trained.member)


def scripted_opponents(env: str, options: Mapping[str, Any], game: Game) -> dict[str, Any]:
    """Replace trained agents in options by scripted opponents.

    They are those that the game has by default, or else the first of its bots.

    Parameters
    ----------
    env : str
    options : mapping
        Of the environment.
    game : Game
        The environment's.
    """
    kept = without_agents(options)
    if not has_agents(options) or game.spec.num_agents == 1 or game.spec.opponent is not None:
        return kept
    bots = (*games.get_game(env).bots, *game.bot_names)
    return {**kept, "opponent": bots[0]} if bots else kept


def find(path: Path) -> tuple[RunFolder, str | None]:
    """Find the run of a path, and the name of the checkpoint if the path is one.

    Raises
    ------
    RunError
        If :func:`load_policy` takes no such path.
    """
    path = path.parent if path.name == WEIGHTS else path
    inside = [path, *path.parents]
    root = next((folder for folder in inside if (folder / "config.json").is_file()), None)
    below = () if root is None else path.relative_to(root).parts
    if root is None or not path.is_dir() or below[:1] not in ((), ("checkpoints",)):
        raise RunError(f"path {str(path)!r}: must be {ALLOWED}.")
    return RunFolder.open(root), "/".join(below[1:]) or None
