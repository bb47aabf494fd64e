"""How far decisions in the last tricks of Skull King are from the best answer.

``python -m tools.last_tricks``: positions of tables of the committed agent with two or three tricks
to come and a choice; who decides there, against ``heuristic`` in the other seats, beside the best
action by nested worlds (training/apps/skullking/last_tricks.py). Writes
``benchmarks/skullking-last-tricks.json``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.skullking.tables import Phase
from training.apps.skullking.last_tricks import action_values, regret
from training.evaluation.intervals import Resamples
from training.evaluation.loop import Loop
from training.players.names import load_who, make_player
from training.players.player import begin_all, every_lane
from training.players.table import Table
from training.run import files, machine

RECORD = Path("benchmarks/skullking-last-tricks.json")
AGENT = "pretrained/skullking-ppo"  # whose games the positions are from
AGENTS = (AGENT, "pretrained/skullking")
SEARCHES = [f"search:{agent},worlds={worlds}" for agent in AGENTS for worlds in (32, 256)]
WHO = ("heuristic", "rule_hard", *AGENTS, *SEARCHES)
TABLE = Table("SkullKingFlat-v0", {"deals": "duplicate", "invalid_action": "raise"})
WORLDS = (128, 32)  # of the first decision and of later ones
SEED = 60_000


def positions(count: int, tricks: int) -> np.ndarray:
    """Return rows of games of the agent with so many tricks to come and a choice, (count,)."""
    engine = TABLE.make(count)
    player, games = make_player(load_who(AGENT), engine), every_lane(engine)
    met: list[np.ndarray] = []
    rng = np.random.default_rng(tricks)
    for _ in Loop(engine, [player], SEED + games, draws=[games]):
        lanes = np.flatnonzero(~engine.ended)
        rows = engine.get_states(lanes)  # games begin with bids
        here = (rows["phase"] == Phase.PLAY) & (rows["cards"] - rows["tricks"] == tricks)
        here &= (engine.mask[lanes] != 0).sum(1) > 1
        met.append(rows[here])
    every = np.concatenate(met)
    return every[rng.permutation(len(every))[:count]]


def decide(who: str, engine: BatchEngine, rows: np.ndarray) -> np.ndarray:
    """Return what a player does in rows, int32 (n,)."""
    engine.set_states(rows)
    player = make_player(load_who(who), engine)
    begin_all(player, engine, 1)
    return player.act(engine, every_lane(engine))


def judge(rows: np.ndarray, tricks: int) -> list[dict[str, Any]]:
    """Return a row of the record for each player."""
    engine = TABLE.make(len(rows))
    seeds = np.arange(len(rows)).astype(np.uint64)
    first, second = (
        action_values(engine, rows, seeds + np.uint64(k * 10**9), WORLDS) for k in (1, 2)
    )
    ones = np.ones((len(rows), 1))
    made = []
    for who in WHO:
        actions = decide(who, engine, rows)
        behind = regret(first, second, actions)
        same = float((actions == np.nanargmax(first, axis=1)).mean())
        made.append(
            {
                "who": who,
                "tricks": tricks,
                "positions": len(rows),
                "same": same,
                "regret": Resamples(behind[:, None], ones, 2000, 0).intervals()[0].to_list(),
            }
        )
        print(made[-1], flush=True)
    return made


def main() -> None:
    """Write the record."""
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument(
        "--positions", type=int, default=400, help="positions per number of tricks; default 400"
    )
    parse.add_argument("--out", type=Path, default=RECORD, help="record to write")
    args = parse.parse_args()
    made = [row for tricks in (2, 3) for row in judge(positions(args.positions, tricks), tricks)]
    about = {"worlds": WORLDS, "first_seed": SEED, "others": "heuristic", **machine.taken_on()}
    files.write_json(args.out, {**about, "rows": made})


if __name__ == "__main__":
    main()
