"""Trained agents loaded from folders: of runs, of exported agents, and their checkpoints."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fastenv import BatchEngine
from fastenv.errors import show_reason
from training.nets.actor_critic import make_player
from training.players.network import Network
from training.players.player import MakePlayer
from training.players.policy import EnvSpec, Policy
from training.run import checkpoint, files, games, registry, schedules, weights
from training.run.config import RunConfig
from training.run.envs import make_engine, with_seating
from training.run.folder import WEIGHTS, RunError, RunFolder
from training.run.options import require
from training.run.seating import AGENT, needs_mixing, scripted_opponents

DRAWN = "trained, drawn"  # its actions are drawn as in its training
BEST, DRAWS = "highest legal logit", "a legal action, drawn from the policy"
WITHOUT = "without search"
ALLOWED = (
    "a run folder, a checkpoint in its checkpoints/, or a folder that python -m training export "
    "has written"
)
HELD_BACK = "trained, held back"  # under the mask schedule it was trained with


@dataclass(frozen=True)
class TrainedAgent:
    """A checkpoint ready to play.

    Parameters
    ----------
    config : RunConfig
    path : Path
        The checkpoint, or the file of weights in its place.
    steps : int
    logits : Logits or RecurrentLogits
        Its network; one with a state remembers a game in every lane.
    windows : dict
        State of the window aggregator (:mod:`training.callbacks.windows`); empty without windows.
    pair : Any
        Both networks of a hierarchical run, as its trainer returns them; None elsewhere.
    member : int or None
        Which network of an ensemble it is, from 1 on.
    search : callable or None
        Makes the agent a player that searches; None where it does not.
    sample : bool
        It plays again with drawn actions, in any game.
    """

    config: RunConfig
    path: Path
    steps: int
    logits: Any
    windows: dict[str, Any]
    pair: Any = None
    member: int | None = None
    search: MakePlayer | None = None
    sample: bool = False

    @property
    def mixes(self) -> bool:
        """Whether it always draws its actions, since its game needs mixed strategies."""
        return needs_mixing(self.config.env, self.config.env_options)

    @property
    def draws(self) -> bool:
        """Whether evaluations have it play with drawn actions too: it is asked to, or its game."""
        return self.sample or games.get_game(self.config.env).draws

    def describe_actions(self) -> str:
        """Describe the choice of its actions, for a record."""
        if self.mixes:
            return DRAWS
        return f"{BEST}; {DRAWN}: {DRAWS}" if self.draws else BEST

    def engine(self) -> BatchEngine:
        """Make a small engine of the environment of its training, to encode with."""
        return make_engine(self.config.env, 1, self.config.env_options)

    def players(self) -> dict[str, MakePlayer]:
        """Make the players of the agent by name; the first takes its best actions.

        In a game that needs mixed strategies they draw their actions. Where it ``draws`` it plays
        again with drawn actions, and where its training still holds actions back with these
        held back here too: so it has learnt to play. One that searches plays again without.
        """
        make = partial(Network, self.logits, sample=self.mixes)
        players: dict[str, MakePlayer] = {AGENT: make}
        if self.draws:
            players[DRAWN] = partial(make, sample=True)
        rules, steps = self.config.mask_schedule, self.steps
        if any(rule.ticks_at(steps) for rule in rules):
            legal = partial(schedules.mask_delayed, rules=rules, steps=steps)
            players[HELD_BACK] = partial(make, legal=legal)
        if self.search is not None:
            players = {AGENT: self.search, WITHOUT: players.pop(AGENT), **players}
        return players


def load(run: RunFolder, name: str | None = None, member: int | None = None) -> TrainedAgent:
    """Read a run's newest whole checkpoint, or the one of that name.

    Parameters
    ----------
    run : RunFolder
    name : str, optional
        A folder in ``checkpoints/``, or ``best``: the one that was evaluated best during the
        training. One that is named is never replaced by another.
    member : int, optional
        Network of an ensemble, from 1 on; default the first.

    Raises
    ------
    ConfigError
        If there is no such member.
    CheckpointError
        If it is foreign, or damaged and there is no other.
    RunError
        If there is none.
    """
    config = run.config
    members = len(config.members)
    if members and member is None:
        member = 1
    allowed = f"from 1 to {members}" if members else "left out: this run has one network"
    require(member in range(1, members + 1) or member is None, "--member", member, allowed)
    engine = make_engine(config.env, 1, config.env_options)
    identity = checkpoint.identity_of_agent(config, engine)
    saved: checkpoint.State | None
    if name is None and not run.checkpoints.is_dir():
        saved = weights.load(run.weights, identity)
    elif name is None:
        saved = checkpoint.load_newest(run.checkpoints, identity, _warn)
    else:
        folder = run.checkpoints / name
        path = checkpoint.newest(folder) if name == checkpoint.BEST else folder
        saved = checkpoint.load(path, identity) if path is not None and path.is_dir() else None
    if saved is None:
        raise RunError(f"{run.path} has no checkpoint {'yet' if name is None else repr(name)}.")
    windows = saved.values.get("windows") or {}
    try:
        parameters = saved.model["policy"]
        return make_trained(config, saved.path, saved.steps, parameters, windows, member)
    except (LookupError, RuntimeError, TypeError, ValueError, AttributeError) as error:
        raise checkpoint.CheckpointError(
            f"{saved.path} holds another network: {show_reason(error)}."
        ) from error


def read_again(path: Path) -> checkpoint.State:
    """Read the checkpoint of an agent again, from its folder or file of weights."""
    return weights.load(path, {}) if path.is_file() else checkpoint.load(path, {})


def read_parameters(path: Path, member: int | None) -> Mapping[str, Any]:
    """Read the parameters of an agent again; of an ensemble those of one network."""
    parameters = read_again(path).model["policy"]
    return parameters if member is None else parameters[str(member)]


def make_trained(
    config: RunConfig,
    path: Path,
    steps: int,
    parameters: Mapping[str, Any],
    windows: dict[str, Any] | None = None,
    member: int | None = None,
) -> TrainedAgent:
    """Make a trained agent; ``parameters`` are the policy of its trainer.

    Raises
    ------
    KeyError, RuntimeError
        They are those of another network.
    """
    trainer = registry.load_trainer(config.trainer)
    engine = make_engine(config.env, 1, config.env_options)
    own = parameters if member is None else parameters[str(member)]
    nets = trainer.load_nets(config, engine, own)
    logits = make_player(next(iter(nets.values()))[0])
    load_pair = getattr(trainer, "load_pair", None)  # of a trainer with two policies
    pair = None if load_pair is None else load_pair(config, logits, nets)
    return TrainedAgent(config, path, steps, logits, windows or {}, pair, member)


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)


def provenance(run: RunFolder) -> dict[str, Any]:
    """Read seed, revision, precision and machine of a training, as far as its folder has them."""
    summary = files.read_object(run.path / "summary.json")
    names = ("git_rev", "dirty", "precision", "host")
    return {"seed": run.config.seed, **{name: summary.get(name) for name in names}}


# -- as functions of observations ------------------------------------------------------------------


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
    run, name = find_run(Path(path))
    trained = load(run, name, member)
    config = trained.config
    if trained.pair is not None:
        logits, env_spec = trained.pair.logits, trained.pair.env_spec
    else:
        engine = trained.engine()
        spec, options = engine.spec, scripted_opponents(config.env, config.env_options, engine.game)
        shown = (spec.obs_dtype, spec.obs_shape, spec.num_actions)
        logits = trained.logits
        env_spec = EnvSpec(config.env, with_seating(config.env, options), *shown)
    return Policy(config, trained.path, trained.steps, logits, env_spec, trained.member)


def find_run(path: Path) -> tuple[RunFolder, str | None]:
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
