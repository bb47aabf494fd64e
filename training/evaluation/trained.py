"""A checkpoint that plays, as ``training.evaluate`` asks: whole games, rounds, or episodes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fastenv import BatchEngine
from fastenv.skullking.tables import Phase
from training.evaluation import episodes
from training.evaluation.episodes import Episodes
from training.evaluation.policies import Bot, Net, NetInGame, Policy, episode_begins, round_begins
from training.games.prospector import episodes as prospector
from training.games.skullking import abilities, goals, matches
from training.games.skullking.pair import HALVES, Pair
from training.run import checkpoint, late_actions, trainers
from training.run.config import RunConfig
from training.run.envs import make_engine
from training.run.folder import RunError, RunFolder
from training.run.options.evaluation import EvaluationConfig
from training.run.seeds import GOAL_SEEDS, MATCH_SEEDS
from training.run.values import require

AGENT = "trained"
HELD_BACK = "trained, held back"  # under the mask schedule it was trained with
MATCH_BASELINES = ("random", "rule_hard", "heuristic", *HALVES)
GOAL_BASELINES = ("random", "rule_hard", "heuristic")
GOAL_TIERS = ("worker", "ability")
ROUNDS = 20_000  # of the comparison at equal goals, unless the config says otherwise


@dataclass(frozen=True)
class Trained:
    """A checkpoint ready to play.

    Parameters
    ----------
    config : RunConfig
    path : Path
        The checkpoint.
    steps : int
    tier : str or None
        What it was trained on in Skull King: flat, manager, worker or ability; None elsewhere.
    logits : Logits or RecurrentLogits
        Its network; one with a state plays with a ``Memory``.
    windows : dict
        State of the window aggregator (:mod:`training.callbacks.windows`); empty without windows.
    pair : Pair, optional
        Manager and Worker of a hierarchical run, whose ``logits`` are the Worker's.
    member : int or None
        Which network of an ensemble it is, from 1 on.
    """

    config: RunConfig
    path: Path
    steps: int
    tier: str | None
    logits: Any
    windows: dict[str, Any]
    pair: Pair | None = None
    member: int | None = None

    def view(self) -> BatchEngine:
        """Return a small engine of the environment it was trained on, to encode with."""
        return make_engine(self.config.env, 1, self.config.env_options)

    def goal_policy(self) -> Policy:
        """Return the player of its own environment."""
        return Net(self.logits)

    def players(self) -> dict[str, episodes.Player]:
        """Return who plays episodes: the agent, twice if its training still holds actions back.

        The second time they are held back here too, which is what it has learnt to play.
        """
        found: dict[str, episodes.Player] = {AGENT: lambda seed, lanes: Net(self.logits)}
        rules, steps = self.config.mask_schedule, self.steps
        if any(rule.ticks_at(steps) for rule in rules):
            legal = partial(late_actions.masks, rules=rules, steps=steps)
            found[HELD_BACK] = lambda seed, lanes: Net(self.logits, legal)
        return found

    def match_policy(self, num_envs: int, bids: str, seed: int) -> Policy:
        """Return the player of whole games: bids by rule for a Worker, cards for a Manager."""
        if self.pair is not None:
            return self.pair.policy(num_envs, seed)
        if self.tier == "flat":
            return Net(self.logits)
        if self.tier == "manager":
            # An episode of the Manager is one bid, or the ten of a game.
            game = self.config.env_options.get("mode") == "game"
            begins = episode_begins if game else round_begins
            bot = Bot("rule_hard", num_envs, seed)
            return NetInGame(self.logits, self.view(), {Phase.BID}, bot, begins)
        return NetInGame(
            self.logits, self.view(), {Phase.PLAY, Phase.TIGRESS}, Bot(bids, num_envs, seed)
        )


def load(run: RunFolder, name: str | None = None, member: int | None = None) -> Trained:
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
    members = len(config.ensemble.seeds)
    if members and member is None:
        member = 1
    allowed = f"from 1 to {members}" if members else "left out: this run has one network"
    require(member in range(1, members + 1) or member is None, "--member", member, allowed)
    trainer = trainers.module_of(config.trainer)
    engine = make_engine(config.env, 1, config.env_options)
    identity = trainer.identity(run, engine)
    if name is None:
        saved = checkpoint.load_newest(run.checkpoints, identity, _warn)
    else:
        folder = run.checkpoints / name
        path = checkpoint.newest(folder) if name == checkpoint.BEST else folder
        saved = checkpoint.load(path, identity) if path is not None and path.is_dir() else None
    if saved is None:
        raise RunError(f"{run.path} has no checkpoint {'yet' if name is None else repr(name)}.")
    windows = saved.trainer.get("windows") or {}
    try:
        parameters = saved.model["policy"]
        return ready(config, saved.path, saved.steps, parameters, windows, member)
    except (KeyError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise checkpoint.CheckpointError(f"{saved.path} holds another network: {reason}") from error


def ready(
    config: RunConfig,
    path: Path,
    steps: int,
    parameters: Mapping[str, Any],
    windows: dict[str, Any] | None = None,
    member: int | None = None,
) -> Trained:
    """Return a trained agent; ``parameters`` are what its trainer calls its policy.

    Raises
    ------
    KeyError, RuntimeError
        They are those of another network.
    """
    trainer = trainers.module_of(config.trainer)
    engine = make_engine(config.env, 1, config.env_options)
    own = parameters if member is None else parameters[str(member)]
    logits = trainer.load_logits(config, engine, own)
    pair = None
    if config.trainer == "hier":
        pair = trainer.load_pair(config, logits, own)
    tier = getattr(getattr(engine.game, "config", None), "tier", None)
    return Trained(config, path, steps, tier, logits, windows or {}, pair, member)


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)


def match_engine(config: RunConfig, opponents: str, games: int) -> BatchEngine:
    """Return an engine for so many games of a run's agent, at least, in every seat equally."""
    players = config.env_options.get("num_players", 4)
    extended = config.env_options.get("obs_ext")
    shared = {"obs_ext": extended} if extended else {}
    return matches.match_engine(-(-games // players), opponents, players, shared)


def play_matches(
    trained: Trained,
    options: EvaluationConfig,
    baselines: Sequence[str] = MATCH_BASELINES,
) -> dict[str, dict[str, Any]]:
    """Play the agent and the baselines against every opponent set.

    Parameters
    ----------
    trained : Trained
    options : EvaluationConfig
    baselines : sequence of str
        Bots, and names of :meth:`Pair.halves`; who is not in the run's pair is left out.

    Returns
    -------
    dict
        Opponent set to policy to measure to :class:`Interval`.
    """
    players = trained.config.env_options.get("num_players", 4)
    results: dict[str, dict[str, Any]] = {}
    for opponents in options.opponents:
        engine = match_engine(trained.config, opponents, options.games)
        n = engine.num_envs
        bots = [name for name in baselines if name not in HALVES]
        seats: dict[str, Policy] = {k: Bot(k, n, options.seed) for k in bots}
        if trained.pair is not None and len(bots) < len(baselines):
            halves = trained.pair.halves(n, options.bids, options.seed)
            seats |= {name: player for name, player in halves.items() if name in baselines}
        seats[AGENT] = trained.match_policy(n, options.bids, options.seed)
        results[opponents] = {
            name: matches.intervals(
                matches.play(engine, policy, MATCH_SEEDS + options.seed, players),
                options.bootstrap,
                options.seed,
            )
            for name, policy in seats.items()
        }
    return results


def compare_goals(
    trained: Trained, options: EvaluationConfig
) -> tuple[goals.Comparison, dict[str, abilities.Account]]:
    """Let the agent and the baselines play the same rounds to the same goals.

    Returns
    -------
    Comparison
    dict
        Policy to what its pirates came to; empty but for the Ability tier.
    """
    fixed = {"round_weights": "uniform", "allowed_phases": (), "goal_mode": options.goals}
    rounds = ROUNDS if options.episodes is None else options.episodes
    engine = make_engine(trained.config.env, rounds, {**trained.config.env_options, **fixed})
    seats: dict[str, Policy] = {k: Bot(k, rounds, options.seed) for k in GOAL_BASELINES}
    seats[AGENT] = trained.goal_policy()
    accounts = {k: abilities.Account(rounds) for k in seats if trained.tier == "ability"}
    first = GOAL_SEEDS + options.seed
    found = goals.compare(engine, seats, first, options.bootstrap, watches=accounts)
    return found, accounts


def episode_protocol(
    options: EvaluationConfig, time_max: float | None = None
) -> prospector.Protocol:
    """Return the episodes of Prospector that an evaluation plays."""
    count = prospector.EPISODES if options.episodes is None else options.episodes
    return prospector.Protocol(count, options.seed, options.max_steps, time_max, options.bootstrap)


def compare_episodes(
    trained: Trained, protocol: prospector.Protocol
) -> tuple[BatchEngine, dict[str, Episodes]]:
    """Let the agent, the reference lines and all bots of Prospector play the same episodes."""
    engine = protocol.engine(trained.config.env, trained.config.env_options)
    players = {**trained.players(), **prospector.scripted()}
    return engine, prospector.play(engine, players, protocol, keep_actions=(AGENT,))


def own_episodes(trained: Trained, options: EvaluationConfig) -> Episodes:
    """Let the agent play alone in the environment it was trained on, to choose replays from."""
    count = max(100, options.replays)
    engine = make_engine(trained.config.env, count, trained.config.env_options)
    first = MATCH_SEEDS + options.seed
    player = trained.players()[AGENT]
    return episodes.play(engine, player, count, first, options.max_steps, keep_actions=True)
