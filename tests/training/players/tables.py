"""Games at a table, played to their end."""

import numpy as np

from training.evaluation.loop import MAX_DECISIONS, Loop


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
