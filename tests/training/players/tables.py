"""Games at a table, played to their end."""

import numpy as np

from training.evaluation.contest import make_standings, rank
from training.evaluation.loop import MAX_DECISIONS, Loop
from training.evaluation.results import MEETING, Results


class FirstLegal:
    """Plays the first legal action, whoever it is; keeps the lanes in which it was asked."""

    def __init__(self):
        self.asked = []

    def begin(self, engine, lanes, seeds=None):
        pass

    def act(self, engine, lanes):
        self.asked.append(lanes)
        return first_legal(engine)[lanes]


def first_legal(engine):
    """Return the first legal action of each lane."""
    return engine.mask.argmax(1).astype(np.int32)


def play_table(engine, players, seating, seeds, limit=MAX_DECISIONS, first=0):
    """Let players meet, player ``k`` with seed ``first + k`` + lane; return what seats reached."""
    draws = [first + k + np.arange(len(seeds)) for k in range(len(players))]
    for _ in Loop(engine, players, seeds, seating=seating, draws=draws, limit=limit):
        pass
    return engine.get_outcomes()


def results_of(names, points):
    """Return the results of members of a group, by their points (deals, games, members)."""
    deals, games, members = points.shape
    best = points == points.max(2, keepdims=True)
    wins = best / best.sum(2, keepdims=True)
    columns = {
        "player": np.tile(names, deals * games),
        "member": np.tile(np.arange(members), deals * games),
        "seed": np.repeat(np.arange(deals), games * members),
        "points": points.ravel(),
        "win": wins.ravel(),
        "draw": (wins.ravel() > 0) & (wins.ravel() < 1),
    }
    return Results(columns, {name: MEETING[name] for name in ("points", "win", "draw")})


def rank_by_points(names, *points, groups=None, judged_by="win", resamples=20):
    """Rank players who came to these points in each group, (deals, games, members)."""
    groups = [range(len(names))] if groups is None else groups
    met = {
        tuple(who): results_of([names[k] for k in who], each)
        for who, each in zip(groups, points, strict=True)
    }
    return rank(make_standings(names, met, resamples=resamples), judged_by)
