"""Random feasible play by the reference engine, and what the planner costs in it.

``python -m tests.drmario.random_play`` prints CPU microseconds a query.
"""

import time

import numpy as np

from fastenv.drmario import tables as t
from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.reference import DrMario


def ask(game, player):
    """Return the planner's question at a decision: boards, parities and gravities of one row."""
    board = np.array([player.board], np.uint8)
    return board, np.array([game.frame % 2]), np.array([player.gravity()])


def random_play(level, speed, rng):
    """Yield game and player at every decision, one game after the other, for ever.

    Whoever asks has the pill lock before taking the next.
    """
    while True:
        game = DrMario(DrMarioConfig(placement=False, level=level, speed=speed))
        game.reset(game.config.knobs_record()[0], int(rng.integers(2**32)))
        player = game.players[0]
        while not (player.stage_clear or player.level_fail):
            if player.mode == t.Mode.PLAYING and player.next_action == t.Next.FALLING:
                yield game, player
            else:
                game.play([0])


def positions(level, speed, decisions, seed=0):
    """Return the questions of so many decisions of random feasible play."""
    from fastenv.drmario import _reachability as core

    rng, found = np.random.default_rng(seed), []
    for game, player in random_play(level, speed, rng):
        found.append(ask(game, player))
        feasible = np.flatnonzero(core.plan(*found[-1])[0] != 0xFFFF)
        if not len(feasible):
            while player.next_action == t.Next.FALLING:
                game.play([0])
        else:
            for byte in core.script(*found[-1], rng.choice(feasible))[0][0].tolist():
                game.play([byte])
        if len(found) == decisions:
            return [np.concatenate(column) for column in zip(*found, strict=True)]


def microseconds(questions, repeats=20):
    """Return the median CPU time of a query in microseconds, all questions asked in one call."""
    from fastenv.drmario import _reachability as core

    times = []
    for _ in range(repeats):
        start = time.process_time()
        core.plan(*questions)
        times.append((time.process_time() - start) / len(questions[0]) * 1e6)
    return float(np.median(times))


if __name__ == "__main__":
    from fastenv.drmario import _reachability

    for wanted_level in (0, 10, 20):
        asked = positions(wanted_level, "high", 2000)
        share = _reachability._proved(*asked).mean()
        print(f"level {wanted_level}: {microseconds(asked):.2f} us, descent {share:.2%}")
