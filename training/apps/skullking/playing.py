"""What an evaluation plays: whole games on duplicate deals, and rounds at the same goals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fastenv import BatchEngine
from training.apps.skullking import abilities, goals, matches
from training.apps.skullking.pair import HALVES
from training.apps.skullking.players import match_policy, tier_of
from training.apps.skullking.rules import SETS
from training.evaluation.bootstrap import Interval
from training.evaluation.policies import Bot, Net, Policy
from training.players.trained import AGENT, DRAWN, WITHOUT, Trained
from training.run.config import RunConfig
from training.run.envs import make_engine
from training.run.sections import EvaluationConfig
from training.run.seeds import GOAL_SEEDS, MATCH_SEEDS

MATCH_BASELINES = ("random", "rule_hard", "heuristic", *HALVES)
GOAL_BASELINES = ("random", "rule_hard", "heuristic")
ROUNDS = 20_000  # of the comparison at equal goals, unless the config says otherwise


def players_of(config: RunConfig) -> int:
    """Return the players at a table of a run."""
    return int(config.env_options.get("num_players", 4))


def games_of(config: RunConfig, at_least: int) -> int:
    """Return how many games a run's agent plays if it is to play so many: in every seat equally."""
    players = players_of(config)
    return -(-at_least // players) * players


def match_engine(config: RunConfig, opponents: str, games: int) -> BatchEngine:
    """Return an engine for so many games of a run's agent, at least; see :func:`games_of`."""
    players = players_of(config)
    extended = config.env_options.get("obs_ext")
    shared = {"obs_ext": extended} if extended else {}
    return matches.match_engine(games_of(config, games) // players, opponents, players, shared)


def play_matches(
    trained: Trained,
    options: EvaluationConfig,
    baselines: Sequence[str] = MATCH_BASELINES,
) -> dict[str, dict[str, dict[str, Interval]]]:
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
    players = players_of(trained.config)
    results: dict[str, dict[str, dict[str, Interval]]] = {}
    for opponents in SETS if options.opponents is None else options.opponents:
        engine = match_engine(trained.config, opponents, options.games)
        n = engine.num_envs
        bots = [name for name in baselines if name not in HALVES]
        seats: dict[str, Policy] = {k: Bot(k, n, options.seed) for k in bots}
        if trained.pair is not None and len(bots) < len(baselines):
            halves = trained.pair.halves(n, options.bids, options.seed)
            seats |= {name: player for name, player in halves.items() if name in baselines}
        seats[AGENT] = match_policy(trained, n, options.bids, options.seed)
        if trained.draws:
            seats[DRAWN] = match_policy(trained, n, options.bids, options.seed, draws=True)
        if trained.search is not None:
            alone = replace(trained, search=None)
            seats[WITHOUT] = match_policy(alone, n, options.bids, options.seed)
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
    env = trained.config.env
    engine = make_engine(env, rounds, {**trained.config.env_options, **fixed})
    seats: dict[str, Policy] = {k: Bot(k, rounds, options.seed) for k in GOAL_BASELINES}
    seats[AGENT] = Net(trained.logits)
    if trained.draws:
        seats[DRAWN] = Net(trained.logits, seed=options.seed)
    accounts = {k: abilities.Account(rounds) for k in seats if tier_of(env) == "ability"}
    first = GOAL_SEEDS + options.seed
    found = goals.compare(engine, seats, first, options.bootstrap, watches=accounts)
    return found, accounts
