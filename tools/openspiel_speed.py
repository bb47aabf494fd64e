"""Time searches of OpenSpiel beside ours: ``python -m tools.openspiel_speed``.

Needs ``pip install open_spiel==2.0.2`` in an environment of its own (it is no part of the tests):
that is where the row of IS-MCTS in Hearts comes from, with random rollouts in C++. Ours is a
rollout of Skull King by ``heuristic``. The games differ, so this says what order of speed people
are used to, not who plays better. Prints one JSON object a line.
"""

from __future__ import annotations

import json
import random
import sys
import time

SIMULATIONS = 20_000
PLAYS = 52  # cards of a deal of Hearts
REPEATS = 3


def hearts() -> dict[str, object]:
    """Return simulations and plays a CPU second of IS-MCTS from the first free decision."""
    import pyspiel  # type: ignore[import-not-found]

    rng, speeds = random.Random(0), []
    for repeat in range(REPEATS):
        state = pyspiel.load_game("hearts(pass_cards=false)").new_initial_state()
        while state.is_chance_node() or len(state.legal_actions()) < 2:
            state.apply_action(rng.choice(state.legal_actions()))
        kind = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
        evaluator = pyspiel.RandomRolloutEvaluator(1, repeat)
        args = (evaluator, 5.0, SIMULATIONS, -1, kind, False, False)
        bot = pyspiel.ISMCTSBot(repeat, *args)
        begun = time.process_time()
        bot.step(state)
        speeds.append(SIMULATIONS / (time.process_time() - begun))
    speeds.sort()
    middle = speeds[len(speeds) // 2]
    return {
        "what": "OpenSpiel IS-MCTS, Hearts, random rollouts in C++",
        "simulations_per_cpu_s": middle,
        "plays_per_cpu_s_at_most": middle * PLAYS,
        "all": speeds,
    }


def skull_king() -> dict[str, object]:
    """Return rollouts and plays a CPU second of round 10 by four ``heuristic``."""
    from training.bench.suites import search

    found = search.rows(REPEATS, 2.0)
    row = next(row for row in found if row["name"] == "rollouts")
    return {
        "what": "fastenv, Skull King, round of ten, rollouts by heuristic",
        "plays_per_cpu_s": row["steps_per_cpu_s"],
        "all": row["steps_per_cpu_s_all"],
    }


def main() -> int:
    """Print the rows that can be taken here."""
    taken = 0
    for row in (hearts, skull_king):
        try:
            print(json.dumps(row()), flush=True)
            taken += 1
        except ImportError as error:
            print(f"left out: {error}", file=sys.stderr)
    return 0 if taken else 1


if __name__ == "__main__":
    sys.exit(main())
