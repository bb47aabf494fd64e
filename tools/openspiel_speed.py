"""Time a search of OpenSpiel and our rollouts: ``python -m tools.openspiel_speed --python P``.

P is the Python of an environment of its own with ``open_spiel==2.0.2``, which is no part of the
project: there IS-MCTS plays Hearts with random rollouts, all in C++. Ours are rollouts of a round
of ten of Skull King by ``heuristic``. The games differ, and theirs grows a tree while ours are bare
rollouts without drawing worlds: the two say what order of speed people are used to, and compare no
search with a search. Writes ``benchmarks/openspiel-hearts.json``.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import time
from pathlib import Path
from typing import Any

RECORD = Path("benchmarks/openspiel-hearts.json")
SIMULATIONS = 20_000
PLAYS = 52  # cards of a deal of Hearts: a simulation plays fewer
REPEATS = 5


def hearts() -> list[float]:
    """Return simulations a CPU second of IS-MCTS, each from a deal's first free decision."""
    import pyspiel  # type: ignore[import-not-found]

    rng, speeds = random.Random(0), []
    for repeat in range(REPEATS):
        state = pyspiel.load_game("hearts(pass_cards=false)").new_initial_state()
        while state.is_chance_node() or len(state.legal_actions()) < 2:
            state.apply_action(rng.choice(state.legal_actions()))
        kind = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
        evaluator = pyspiel.RandomRolloutEvaluator(1, repeat)
        bot = pyspiel.ISMCTSBot(repeat, evaluator, 5.0, SIMULATIONS, -1, kind, False, False)
        begun = time.process_time()
        bot.step(state)
        speeds.append(SIMULATIONS / (time.process_time() - begun))
    return speeds


def skull_king() -> list[float]:
    """Return plays a CPU second of our rollouts."""
    from benchmarks import search

    rows = search.rows(REPEATS, 1.0)
    speeds: list[float] = next(r for r in rows if r["name"] == "rollouts")["steps_per_cpu_s_all"]
    return speeds


def main() -> None:
    """Measure both and write the record; with ``--hearts`` print one of them."""
    parse = argparse.ArgumentParser(description=__doc__)
    part = parse.add_mutually_exclusive_group(required=True)
    part.add_argument("--python", help="Python of an environment with open_spiel==2.0.2")
    part.add_argument("--hearts", action="store_true", help="print that part alone")
    parse.add_argument("--out", type=Path, default=RECORD, help="record to write")
    args = parse.parse_args()
    if args.hearts:
        print(json.dumps(hearts()))
        return
    from training.run import files, machine

    command = [args.python, __file__, "--hearts"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = {
        **machine.taken_on(),
        "load": machine.load(),
        "simulations_per_cpu_s": json.loads(done.stdout),
        "plays_of_a_simulation_at_most": PLAYS,
        "plays_per_cpu_s": skull_king(),
    }
    files.write_json(args.out, found)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
