"""Points of the learning curve: whole games of the pair during the training (stage E)."""

from __future__ import annotations

from training.evaluation import matches
from training.hier.pair import Pair

# The same deals for every point; no other evaluation, no gate and no training has their seeds.
CURVE_SEEDS = (3 << 40) + (1 << 39)
MEASURES = {"points": "points", "margin": "margin", "win_rate": "win rate", "bid_hit": "bids made"}
RESAMPLES = 500


def play(pair: Pair, opponents: tuple[str, ...], games: int) -> dict[str, list[float | None]]:
    """Play the pair against opponent sets, on duplicate deals and in every seat.

    Parameters
    ----------
    pair : Pair
    opponents : tuple of str
    games : int
        Against each set, rounded up to whole deals.

    Returns
    -------
    dict
        Measure and opponent set to value, low and high of its 95 % interval over deals.
    """
    players = pair.config.env_options.get("num_players", 4)
    deals = -(-games // players)
    results = {}
    for kind in opponents:
        engine = matches.match_engine(deals, kind, players)
        policy = pair.policy(engine.num_envs, 0)
        found = matches.play(engine, policy, CURVE_SEEDS, players)
        intervals = matches.intervals(found, RESAMPLES, 0)
        for name, shown in MEASURES.items():
            results[f"{shown}, {players - 1} x {kind}"] = intervals[name].to_list()
    return results
