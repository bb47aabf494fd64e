"""Evaluate a run honestly: ``python -m training.evaluate RUN``, or ``--bots`` without one.

Skull King: whole games on duplicate deals against sets of bots, in official points, and, for agents
that play to a goal, the comparison with rule bots at the same goals and deals. Prospector: the same
episodes for the agent, the reference lines and all bots. Nothing here draws from a training
generator, and no evaluation seed is a training seed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import fastenv
from fastenv import BatchEngine
from fastenv.errors import ConfigError, FastEnvError
from fastenv.registry import short_id
from fastenv.skullking.tables import Phase
from training import checkpoint, files, late_actions, machine, replay, trainers
from training.config import RunConfig
from training.envs import make_engine
from training.evaluation import abilities, episodes, goals, matches, prospector, tables
from training.evaluation.bootstrap import Interval
from training.evaluation.config import EvaluationConfig
from training.evaluation.episodes import Episodes
from training.evaluation.policies import (
    Bot,
    Net,
    NetInGame,
    Policy,
    episode_begins,
    round_begins,
)
from training.hier.pair import HALVES, Pair
from training.runs import RunError, RunFolder
from training.seeds import GOAL_SEEDS, MATCH_SEEDS
from training.values import require

AGENT = "trained"
HELD_BACK = "trained, held back"  # under the mask schedule it was trained with
MATCH_BASELINES = ("random", "rule_hard", "heuristic", *HALVES)
GOAL_BASELINES = ("random", "rule_hard", "heuristic")
GOAL_TIERS = ("worker", "ability")
_GOALS = {
    "uniform": "0 to N equally likely, so that many are out of reach",
    "estimate": "what the hand promises, one less or one more",
}
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
        State of the window aggregator (:mod:`training.windows`); empty without windows.
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
    tier = getattr(engine.game.config, "tier", None)
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


def write_replays(
    run: RunFolder,
    trained: Trained,
    played: Episodes,
    count: int,
    env_options: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Record the episodes with the highest returns and enter them into the run's index.

    Returns
    -------
    list of dict
        Their entries, worst first, so that the last one is the best.
    """
    assert played.actions is not None
    ranked = np.argsort(played.columns["return_total"], kind="stable")[-count:]
    entries = []
    for episode in ranked.tolist():
        seed = int(played.columns["seed"][episode])
        window = int(trained.windows.get("window_id", 0))
        found = replay.record(run.config.env, env_options, seed, played.actions[episode])
        entries.append(
            replay.add_to_index(
                run.path,
                replay.save(found, run.replays, window),
                found,
                run_id=run.name,
                window_id=window,
                checkpoint_path=str(trained.path.relative_to(run.path)),
                trainer_backend=run.config.trainer,
                checkpoint_env_steps_total=ticks_of(trained),
                checkpoint_steps=trained.steps,
            )
        )
    return entries


def ticks_of(trained: Trained) -> int | None:
    """Return the ticks a checkpoint was trained for; None if the run did not count them."""
    windows = trained.windows
    return windows["before"][0] + windows["counts"][0] if windows else None


def evaluate(
    run: RunFolder,
    options: EvaluationConfig,
    console: Console,
    *,
    name: str | None = None,
    member: int | None = None,
    only: str | None = None,
    time_max: float | None = None,
) -> dict[str, Any]:
    """Evaluate a checkpoint, print the tables and write ``evaluation.json`` into the run folder.

    Parameters
    ----------
    run : RunFolder
    options : EvaluationConfig
    console : rich.console.Console
    name : str, optional
        Checkpoint; default the newest.
    member : int, optional
        Network of an ensemble, from 1 on; default the first.
    only : {None, "matches", "goals"}
        Play only this part (Skull King).
    time_max : float, optional
        Length of the episodes, if not that of the training (Prospector).

    Returns
    -------
    dict
        What was written.
    """
    import torch

    torch.set_num_threads(1)
    trained = load(run, name, member)
    if trained.member is not None:
        seeds = run.config.ensemble.seeds
        console.print(f"member {trained.member} of {len(seeds)}, seed {seeds[trained.member - 1]}")
    record: dict[str, Any] = {
        "run": run.name,
        "member": trained.member,
        "env": run.config.env,
        "checkpoint": trained.path.name,
        "steps": trained.steps,
        "config_sha256": run.config.sha256(),
        "created": machine.now(),
        "seed": options.seed,
        "policy": "highest legal logit",
        "intervals": f"95 %, percentile bootstrap, {options.bootstrap} resamples",
        **machine.revision(),
        "versions": machine.versions(),
    }
    begin = time.perf_counter()
    played, env_options = None, run.config.env_options
    if trained.tier is None:
        protocol = episode_protocol(options, time_max)
        engine, everybody = compare_episodes(trained, protocol)
        record["episodes"] = _report_episodes(console, engine, everybody, protocol, run.name)
        rows = [row for name, found in everybody.items() for row in found.rows(name)]
        lines = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
        files.write_text(run.path / "episodes.jsonl", lines)
        played = everybody[AGENT]
        env_options = {**env_options, "time_max": engine.game.config.time_max}
    if trained.tier is not None and only != "goals":
        found = play_matches(trained, options)
        _print_matches(console, run.name, trained, options, found)
        record["matches"] = _match_record(trained, options, found)
    if trained.tier in GOAL_TIERS and only != "matches":
        comparison, accounts = compare_goals(trained, options)
        _print_goals(console, options, comparison)
        record["goals"] = _goal_record(trained, options, comparison)
        if accounts:
            record["abilities"] = _report_abilities(console, options, accounts)
    if options.replays:
        played = own_episodes(trained, options) if played is None else played
        record["replays"] = write_replays(run, trained, played, options.replays, env_options)
        best = record["replays"][-1]
        console.print(f"best episode: {run.path / best['replay_path']}, {best['return_total']:.2f}")
    record["wall_s"] = round(time.perf_counter() - begin, 1)
    files.write_json(run.path / "evaluation.json", record)
    console.print(
        f"evaluated in {record['wall_s']} s, written to {run.path / 'evaluation.json'}",
    )
    return record


# -- printing and recording ------------------------------------------------------------------------


def _who_plays(trained: Trained, bids: str) -> str:
    if trained.pair is not None:
        return "bids by the Manager, cards by the Worker"
    if trained.tier == "flat":
        return "bids and cards by the network"
    if trained.tier == "manager":
        return "bids by the network, cards by rule_hard"
    return f"bids by {bids}, cards by the network"


def _print_matches(
    console: Console,
    name: str,
    trained: Trained,
    options: EvaluationConfig,
    found: dict[str, Any],
) -> None:
    games = -(-options.games // 4) * 4
    caption = (
        f"{AGENT}: {_who_plays(trained, options.bids)}. Official points of a whole game; 95 % "
        "intervals over deals; shared wins count 1/k; rule_pi is the published bot that gives up "
        "one trick early, all other rule bots are rule_based."
    )
    title = f"{name}: {games:,} games a row on the same deals, every seat in turn"
    console.print(tables.match_table(found, title, caption))
    last = list(found)[-1]
    by_round = f"{AGENT} against {tables.table_of(last)}, round by round"
    console.print(tables.round_table(found[last][AGENT], by_round))
    shaped = found[last][AGENT]["shaped_return"]
    console.print(
        f"shaped return of whole games ({_reward_table()}): {tables.shown(shaped, 1)}; "
        "it does not order agents by strength",
    )


def _print_goals(console: Console, options: EvaluationConfig, comparison: goals.Comparison) -> None:
    caption = (
        f"{comparison.episodes:,} rounds, each played by everybody with the same cards, goal and "
        f"opponents' bids; rounds 1 to 10 equally likely, goals {_GOALS[options.goals]}; "
        "intervals of 95 %, differences paired."
    )
    console.print(tables.goal_table(comparison, "The same goals and deals", caption))
    verdict = "lies" if comparison.outside(AGENT) else "does not lie"
    console.print(
        f"the 95 % interval of {AGENT}, overall, {verdict} above that of {comparison.baseline}"
    )


def _report_abilities(
    console: Console, options: EvaluationConfig, accounts: Mapping[str, abilities.Account]
) -> dict[str, Any]:
    """Print what pirates came to and return its record."""
    found = abilities.intervals(accounts, options.bootstrap, options.seed)
    caption = (
        "Decisions about pirates in the same rounds, with 95 % intervals over deals; - where there "
        "was none. Hand strength: mean change of the sum of the strengths of its cards, which "
        "rule bots raise while tricks are needed and lower when none is."
    )
    console.print(tables.ability_table(found, "Pirate abilities", caption))
    return abilities.record(found, accounts)


def _report_episodes(
    console: Console,
    engine: BatchEngine,
    played: dict[str, Episodes],
    protocol: prospector.Protocol,
    title: str,
) -> dict[str, Any]:
    """Print the comparison and return its record."""
    compared = prospector.compare(played, protocol)
    caption = (
        "Everybody plays the same episodes; means with 95 % intervals over episodes. cash_out ends "
        "an episode with its first action: what returns less would better not have played."
    )
    first, last = protocol.base_seed, protocol.base_seed + protocol.count - 1
    heading = (
        f"{title}: {protocol.count:,} episodes, seeds {first} to {last}, "
        f"time_max {engine.game.config.time_max:g}"
    )
    console.print(tables.episode_table(compared, heading, caption))
    return prospector.record(engine, played, compared, protocol)


def play_bots(args: argparse.Namespace, console: Console) -> int:
    """Let scripted players alone play Prospector; print and, if asked to, write what came out."""
    env = short_id(args.env)
    if not env.startswith("Prospector"):
        raise ConfigError(f"--bots: {args.env} has no episodes for bots alone; Prospector has.")
    given = {"count": args.episodes, "base_seed": args.seed, "max_steps": args.max_steps}
    given = {name: value for name, value in given.items() if value is not None}
    protocol = prospector.Protocol(**{"count": 100, **given}, time_max=args.time_max)
    engine = protocol.engine(env, {})
    played = prospector.play(engine, prospector.scripted(args.bot), protocol)
    found = _report_episodes(console, engine, played, protocol, "bots")
    if args.output_path is not None:
        report = {
            "run_id": args.run_id or f"bots-{machine.now()}",
            "generated_at": machine.now(),
            **found,
            "episodes": [row for name, each in played.items() for row in each.rows(name)],
            **machine.revision(),
            "versions": machine.versions(),
        }
        files.write_json(args.output_path, report)
    return 0


def _reward_table() -> str:
    return f"reward table of {matches.ENV}, fastenv {fastenv.__version__}"


def _match_record(
    trained: Trained, options: EvaluationConfig, found: dict[str, Any]
) -> dict[str, Any]:
    players = trained.config.env_options.get("num_players", 4)
    deals = -(-options.games // players)
    return {
        "protocol": "duplicate deals, agent in every seat",
        "env": matches.ENV,
        "players": players,
        "deals": deals,
        "games": deals * players,
        "first_seed": MATCH_SEEDS + options.seed,
        "trained_plays": _who_plays(trained, options.bids),
        "shaped_return_is": _reward_table() + "; not a measure of strength",
        "results": {
            opponents: {name: _lists(values) for name, values in policies.items()}
            for opponents, policies in found.items()
        },
    }


def _goal_record(
    trained: Trained, options: EvaluationConfig, comparison: goals.Comparison
) -> dict[str, Any]:
    return {
        "protocol": "the same rounds, goals and deals for every policy; rounds uniform",
        "goals": _GOALS[options.goals],
        "first_seed": GOAL_SEEDS + options.seed,
        "episodes": comparison.episodes,
        "opponents": trained.config.env_options.get("opponents", "rule_medium"),
        "baseline": comparison.baseline,
        "rates": {name: _lists(values) for name, values in comparison.rates.items()},
        "minus_baseline": _lists(comparison.differences),
        "above_baseline_outside_intervals": comparison.outside(AGENT),
    }


def _lists(values: dict[str, Interval]) -> dict[str, list[float | None]]:
    return {name: interval.to_list() for name, interval in values.items()}


# -- command line ----------------------------------------------------------------------------------


# Options that only some of what can be evaluated has a use for.
_OF_CARDS = ("games", "opponents", "bids", "goals", "only")
_OF_BELT = ("time_max", "max_steps")
_OF_BOTS = ("bot", "run_id", "output_path")
_OF_RUNS = ("checkpoint", "member", "replays")


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(prog="python -m training.evaluate", description=__doc__)
    parse.add_argument("run", nargs="?", help="a run folder, or the name of one under runs/")
    parse.add_argument("--episodes", type=int, help="rounds at equal goals; Prospector: episodes")
    parse.add_argument(
        "--seed", "--base-seed", type=int, help="evaluation seed; Prospector: of the first episode"
    )
    parse.add_argument("--checkpoint", help="name of a checkpoint, or best; default the newest")
    parse.add_argument("--member", type=int, help="network of an ensemble, from 1; default 1")
    parse.add_argument("--replays", type=int, help="best episodes to record")
    parse.add_argument("--runs", default="runs", help="folder of all runs")
    cards = parse.add_argument_group("Skull King")
    cards.add_argument("--games", type=int, help="whole games for each opponent set")
    cards.add_argument("--opponents", help="opponent sets, separated by commas")
    cards.add_argument("--bids", help="who bids for a Worker: rule_hard or heuristic")
    cards.add_argument("--goals", help="goals of the comparison: uniform or estimate")
    cards.add_argument("--only", choices=("matches", "goals"), help="play only this part")
    belt = parse.add_argument_group("Prospector")
    belt.add_argument("--time-max", type=float, help="ticks of an episode")
    belt.add_argument("--max-steps", type=int, help="decisions after which an episode is given up")
    belt.add_argument("--bots", action="store_true", help="scripted players alone, without a run")
    belt.add_argument("--env", default="Prospector-v0", help="with --bots")
    belt.add_argument("--bot", action="append", help="with --bots: only these; repeatable")
    belt.add_argument("--run-id", help="with --bots: name in the report")
    belt.add_argument("--output-path", type=Path, help="with --bots: JSON report to write")
    return parse


def refuse_unused(args: argparse.Namespace, what: str, names: Iterable[str]) -> None:
    """Refuse options that would change nothing of what is asked for.

    Raises
    ------
    ConfigError
        Names the first of them.
    """
    for name in names:
        value = getattr(args, name)
        if value is not None:
            flag = "--" + name.replace("_", "-")
            raise ConfigError(
                f"{flag} {value}: must be left out with {what}: it is not used there."
            )


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        if args.bots != (args.run is None):
            raise ConfigError("evaluate either a RUN or --bots.")
        if args.bots:
            refuse_unused(args, "--bots", (*_OF_CARDS, *_OF_RUNS))
            if args.output_path is not None:
                files.prepare("--output-path", args.output_path)
            return play_bots(args, tables.console())
        run = RunFolder.find(args.run, Path(args.runs))
        cards = run.config.env.rpartition("/")[2].startswith("SkullKing")
        of_others = _OF_BELT if cards else _OF_CARDS
        refuse_unused(args, f"a run of {run.config.env}", (*of_others, *_OF_BOTS))
        names = ("games", "episodes", "bids", "goals", "seed", "max_steps", "replays")
        given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
        if args.opponents is not None:
            given["opponents"] = tuple(args.opponents.split(","))
        options = replace(run.config.evaluation, **given)
        shown = tables.console()
        given = {name: getattr(args, name) for name in ("member", "only", "time_max")}
        evaluate(run, options, shown, name=args.checkpoint, **given)
    except (ConfigError, FastEnvError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
