"""Evaluate a run honestly: ``python -m training.evaluate RUN``.

Whole games on duplicate deals against sets of bots, in official points, and, for agents that play
to a goal, the comparison with rule bots at the same goals and deals. Nothing here draws from a
training generator, and no evaluation seed is a training seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

import fastenv
from fastenv import BatchEngine
from fastenv.errors import ConfigError, FastEnvError
from fastenv.skullking.tables import Phase
from training import checkpoint, files, machine
from training.config import EvaluationConfig, RunConfig
from training.envs import make_engine
from training.evaluation import goals, matches, tables
from training.evaluation.bootstrap import Interval
from training.evaluation.policies import Bot, Net, NetInGame, Policy
from training.runs import RunError, RunFolder

AGENT = "trained"
MATCH_BASELINES = ("random", "rule_hard", "heuristic")
GOAL_BASELINES = ("random", "rule_hard", "heuristic")
GOAL_TIERS = ("worker", "ability")
_GOALS = {
    "uniform": "0 to N equally likely, so that many are out of reach",
    "estimate": "what the hand promises, one less or one more",
}
# Evaluation seeds: blocks that cannot touch, below 2**42 and so below all training seeds.
MATCH_SEEDS = 1 << 40
GOAL_SEEDS = 1 << 41


@dataclass(frozen=True)
class Trained:
    """A checkpoint ready to play.

    Parameters
    ----------
    config : RunConfig
    path : Path
        The checkpoint.
    steps : int
    tier : str
        What it was trained on: flat, manager, worker or ability.
    logits : callable
    """

    config: RunConfig
    path: Path
    steps: int
    tier: str
    logits: Any

    def view(self) -> BatchEngine:
        """Return a small engine of the environment it was trained on, to encode with."""
        return make_engine(self.config.env, 1, self.config.env_options)

    def goal_policy(self) -> Policy:
        """Return the player of its own environment."""
        return Net(self.logits)

    def match_policy(self, num_envs: int, bids: str, seed: int) -> Policy:
        """Return the player of whole games: bids by rule for a Worker, cards for a Manager."""
        if self.tier == "flat":
            return Net(self.logits)
        if self.tier == "manager":
            return NetInGame(
                self.logits, self.view(), {Phase.BID}, Bot("rule_hard", num_envs, seed)
            )
        return NetInGame(
            self.logits, self.view(), {Phase.PLAY, Phase.TIGRESS}, Bot(bids, num_envs, seed)
        )


def load(run: RunFolder, name: str | None = None) -> Trained:
    """Read a run's newest checkpoint, or the one of that name.

    Raises
    ------
    CheckpointError
        If it is damaged or foreign.
    RunError
        If there is none.
    """
    from training.sb3.policy import load_logits
    from training.sb3.run import identity

    path = checkpoint.newest(run.checkpoints) if name is None else run.checkpoints / name
    if path is None or not path.is_dir():
        raise RunError(f"{run.path} has no checkpoint {'yet' if name is None else repr(name)}.")
    config = run.config
    engine = make_engine(config.env, 1, config.env_options)
    saved = checkpoint.load(path, identity(run, engine))
    try:
        logits = load_logits(config.ppo, engine, saved.model["policy"])
    except (KeyError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise checkpoint.CheckpointError(f"{path} holds another network: {reason}") from error
    return Trained(config, path, saved.steps, engine.game.config.tier, logits)


def play_matches(trained: Trained, options: EvaluationConfig) -> dict[str, dict[str, Any]]:
    """Play the agent and the baselines against every opponent set.

    Returns
    -------
    dict
        Opponent set to policy to measure to :class:`Interval`.
    """
    env_options = trained.config.env_options
    players = env_options.get("num_players", 4)
    shared = {"obs_ext": env_options["obs_ext"]} if env_options.get("obs_ext") else {}
    deals = -(-options.games // players)
    results: dict[str, dict[str, Any]] = {}
    for opponents in options.opponents:
        engine = matches.match_engine(deals, opponents, players, shared)
        n = engine.num_envs
        seats: dict[str, Policy] = {k: Bot(k, n, options.seed) for k in MATCH_BASELINES}
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


def compare_goals(trained: Trained, options: EvaluationConfig) -> goals.Comparison:
    """Let the agent and the baselines play the same rounds to the same goals."""
    fixed = {"round_weights": "uniform", "allowed_phases": (), "goal_mode": options.goals}
    engine = make_engine(
        trained.config.env, options.episodes, {**trained.config.env_options, **fixed}
    )
    seats: dict[str, Policy] = {k: Bot(k, options.episodes, options.seed) for k in GOAL_BASELINES}
    seats[AGENT] = trained.goal_policy()
    return goals.compare(engine, seats, GOAL_SEEDS + options.seed, options.bootstrap)


def evaluate(
    run: RunFolder,
    options: EvaluationConfig,
    console: Console,
    *,
    name: str | None = None,
    only: str | None = None,
) -> dict[str, Any]:
    """Evaluate a checkpoint, print the tables and write ``evaluation.json`` into the run folder.

    Parameters
    ----------
    run : RunFolder
    options : EvaluationConfig
    console : rich.console.Console
    name : str, optional
        Checkpoint; default the newest.
    only : {None, "matches", "goals"}
        Play only this part.

    Returns
    -------
    dict
        What was written.
    """
    import torch

    torch.set_num_threads(1)
    trained = load(run, name)
    record: dict[str, Any] = {
        "run": run.name,
        "env": run.config.env,
        "checkpoint": trained.path.name,
        "steps": trained.steps,
        "config_sha256": run.config.sha256(),
        "created": machine.now(),
        "seed": options.seed,
        "policy": "highest legal logit",
        "intervals": f"95 %, percentile bootstrap over deals, {options.bootstrap} resamples",
        **machine.revision(),
        "versions": machine.versions(),
    }
    begin = time.perf_counter()
    if only != "goals":
        found = play_matches(trained, options)
        _print_matches(console, trained, options, found)
        record["matches"] = _match_record(trained, options, found)
    if only != "matches" and trained.tier in GOAL_TIERS:
        comparison = compare_goals(trained, options)
        _print_goals(console, options, comparison)
        record["goals"] = _goal_record(trained, options, comparison)
    record["wall_s"] = round(time.perf_counter() - begin, 1)
    files.write_json(run.path / "evaluation.json", record)
    console.print(
        f"evaluated in {record['wall_s']} s, written to {run.path / 'evaluation.json'}",
    )
    return record


# -- printing and recording ------------------------------------------------------------------------


def _who_plays(trained: Trained, bids: str) -> str:
    if trained.tier == "flat":
        return "bids and cards by the network"
    if trained.tier == "manager":
        return "bids by the network, cards by rule_hard"
    return f"bids by {bids}, cards by the network"


def _print_matches(
    console: Console, trained: Trained, options: EvaluationConfig, found: dict[str, Any]
) -> None:
    games = -(-options.games // 4) * 4
    caption = (
        f"{AGENT}: {_who_plays(trained, options.bids)}. Official points of a whole game; 95 % "
        "intervals over deals; shared wins count 1/k; rule_pi is the published bot that gives up "
        "one trick early, all other rule bots are rule_based."
    )
    title = f"{trained.config.name}: {games:,} games a row on the same deals, every seat in turn"
    console.print(tables.match_table(found, title, caption))
    last = list(found)[-1]
    by_round = f"{AGENT} against 3 x {last}, round by round"
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
    better = comparison.outside(AGENT)
    verdict = "above" if better else "not above"
    console.print(f"{AGENT} is {verdict} {comparison.baseline} outside the 95 % intervals")


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


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(prog="python -m training.evaluate", description=__doc__)
    parse.add_argument("run", help="a run folder, or the name of one under runs/")
    parse.add_argument("--games", type=int, help="whole games for each opponent set")
    parse.add_argument("--episodes", type=int, help="rounds of the comparison at equal goals")
    parse.add_argument("--opponents", help="opponent sets, separated by commas")
    parse.add_argument("--bids", help="who bids for a Worker: rule_hard or heuristic")
    parse.add_argument("--goals", help="goals of the comparison: uniform or estimate")
    parse.add_argument("--seed", type=int, help="evaluation seed")
    parse.add_argument("--checkpoint", help="name of a checkpoint; default the newest")
    parse.add_argument("--only", choices=("matches", "goals"), help="play only this part")
    parse.add_argument("--runs", default="runs", help="folder of all runs")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        path = Path(args.run)
        run = RunFolder.open(path if path.is_dir() else Path(args.runs) / args.run)
        given = {
            name: getattr(args, name)
            for name in ("games", "episodes", "bids", "goals", "seed")
            if getattr(args, name) is not None
        }
        if args.opponents is not None:
            given["opponents"] = tuple(args.opponents.split(","))
        options = replace(run.config.evaluation, **given)
        evaluate(run, options, tables.console(), name=args.checkpoint, only=args.only)
    except (ConfigError, FastEnvError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
