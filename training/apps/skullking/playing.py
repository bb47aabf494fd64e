"""What an evaluation plays: whole games on duplicate deals, and rounds at the same goals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from fastenv import BatchEngine
from training.apps.skullking import abilities, goals, matches
from training.apps.skullking.pair import HALVES
from training.apps.skullking.players import match_player, tier_of
from training.apps.skullking.rules import SETS
from training.evaluation.bootstrap import Interval
from training.players.bots import Bot
from training.players.network import Network
from training.players.player import MakePlayer
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
        Opponent set to player to measure to :class:`Interval`.
    """
    players, seed = players_of(trained.config), options.seed
    makers: dict[str, MakePlayer] = {k: partial(Bot, k) for k in baselines if k not in HALVES}
    if trained.pair is not None:
        halves = trained.pair.halves(options.bids)
        makers |= {name: make for name, make in halves.items() if name in baselines}
    makers[AGENT] = match_player(trained, options.bids)
    if trained.draws:
        makers[DRAWN] = match_player(trained, options.bids, sample=True)
    if trained.search is not None:
        makers[WITHOUT] = match_player(replace(trained, search=None), options.bids)
    results: dict[str, dict[str, dict[str, Interval]]] = {}
    for opponents in SETS if options.opponents is None else options.opponents:
        engine = match_engine(trained.config, opponents, options.games)
        results[opponents] = {
            name: matches.intervals(
                matches.play(engine, make, MATCH_SEEDS + seed, players, seed),
                options.bootstrap,
                seed,
            )
            for name, make in makers.items()
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
        Player to what its pirates came to; empty but for the Ability tier.
    """
    fixed = {"round_weights": "uniform", "allowed_phases": (), "goal_mode": options.goals}
    rounds = ROUNDS if options.episodes is None else options.episodes
    env = trained.config.env
    engine = make_engine(env, rounds, {**trained.config.env_options, **fixed})
    seed, network = options.seed, partial(Network, trained.logits)
    makers: dict[str, MakePlayer] = {k: partial(Bot, k) for k in GOAL_BASELINES}
    makers[AGENT] = network
    if trained.draws:
        makers[DRAWN] = partial(network, sample=True)
    accounts = {k: abilities.Account(rounds) for k in makers if tier_of(env) == "ability"}
    first = GOAL_SEEDS + seed
    comparison = goals.compare(
        engine, makers, first, options.bootstrap, watches=accounts, draws=seed
    )
    return comparison, accounts
