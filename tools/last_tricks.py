"""How far decisions in the last tricks of Skull King are from the best answer.

``python -m tools.last_tricks``: positions of tables of the committed agent with two or three tricks
to come and a choice; who decides there, against ``heuristic`` in the other seats, beside the best
action by nested worlds. Writes ``benchmarks/skullking-last-tricks.json``.

With few cards left, a player's best answer to a scripted blueprint in all other seats can be
computed but for the drawing of worlds: every action is followed by every later action of the same
player, each judged over worlds that the player cannot tell apart at that later moment. So a later
decision never knows more than a player would, unlike one inside a single world.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.skullking.tables import Phase
from tools.bids import TABLE, decide
from tools.command import new_parser
from training.evaluation.intervals import Resamples
from training.evaluation.loop import Loop
from training.players.draws import mix
from training.players.names import load_who, make_player
from training.players.player import every_lane
from training.run import files, machine
from training.search.rules import margin

RECORD = Path("benchmarks/skullking-last-tricks.json")
AGENT = "pretrained/skullking-ppo"  # whose games the positions are from
AGENTS = (AGENT, "pretrained/skullking", "pretrained/skullking-2")
SEARCHES = [
    f"search:{agent},worlds={worlds},rollouts=heuristic" for agent in AGENTS for worlds in (32, 256)
]
WHO = ("heuristic", "rule_hard", *AGENTS, *SEARCHES)
WORLDS = (128, 32)  # of the first decision and of later ones
SEED = 60_000
PARTS = 1 << 16  # rows that are looked at together
FIRST, LATER = 1, 2  # what a seed is for


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


def action_values(
    engine: BatchEngine,
    rows: np.ndarray,
    seeds: np.ndarray,
    worlds: tuple[int, ...],
    blueprint: str = "heuristic",
) -> np.ndarray:
    """Estimate the value of each action of the actor in this round, if it goes on in the best way.

    Parameters
    ----------
    engine : BatchEngine
        Of the game; its lanes are not touched.
    rows : ndarray, shape (n,)
        In phase PLAY, with at most ``len(worlds)`` tricks to come.
    seeds : ndarray of uint64, shape (n,)
    worlds : tuple of int
        Drawn for the first decision, the second, ...; the last is used for all behind it.
    blueprint : str
        Bot in all other seats.

    Returns
    -------
    ndarray of float64, shape (n, A)
        Margin over the mean of the others, in points; NaN for illegal actions. Its best entry is
        a little too high, by the luck of a maximum: compare on values of other seeds.
    """
    each = engine.num_actions * worlds[0]
    parts = [
        _compute_values(engine, rows[i:j], seeds[i:j], worlds, blueprint)
        for i, j in _divide(len(rows), max(1, PARTS // each))
    ]
    return np.concatenate(parts) if parts else np.zeros((0, engine.num_actions))


def _divide(count: int, size: int) -> list[tuple[int, int]]:
    return [(first, min(count, first + size)) for first in range(0, count, size)]


def _compute_values(
    engine: BatchEngine,
    rows: np.ndarray,
    seeds: np.ndarray,
    worlds: tuple[int, ...],
    blueprint: str,
) -> np.ndarray:
    legal = engine.action_masks_many(rows, trusted=True) != 0
    width, seats = worlds[0], rows["actor"].astype(np.int64)
    number = np.tile(np.arange(width), len(rows))
    drawn = engine.resample(
        rows, seats, mix(seeds.repeat(width), number, FIRST), worlds=width, trusted=True
    )
    places, actions = np.nonzero(legal)
    of = (places[:, None] * width + np.arange(width)).ravel()
    what, who = actions.repeat(width).astype(np.int32), seats[places].repeat(width)
    luck = mix(seeds[places].repeat(width), np.tile(np.arange(width), len(places)), LATER)
    then = _play_to_next_decision(engine, drawn[of], what, who, luck, blueprint)
    value = margin(engine.game.outcomes(then), then, who)
    running = np.flatnonzero(then["done"] == 0)
    if running.size:
        then_on = mix(luck[running], np.zeros(len(running)), FIRST)
        after = worlds[1:] or worlds
        later = action_values(engine, then[running], then_on, after, blueprint)
        value[running] = np.nanmax(later, axis=1)
    values = np.full(legal.shape, np.nan)
    values[places, actions] = value.reshape(len(places), width).mean(1)
    return values


def _play_to_next_decision(
    engine: BatchEngine,
    rows: np.ndarray,
    actions: np.ndarray,
    seats: np.ndarray,
    seeds: np.ndarray,
    blueprint: str,
) -> np.ndarray:
    """Return rows at the next decision of a seat with a choice, or at the end of the round."""
    rows, running = rows.copy(), np.arange(len(rows))
    while running.size:
        then = engine.rollout(
            rows[running], actions, blueprint, "round", 1, seeds[running], trusted=True
        ).rows
        rows[running] = then
        own = (then["actor"] == seats[running]) & (then["done"] == 0)
        own[own] = engine.action_masks_many(then[own], trusted=True).sum(1) > 1
        running = running[(then["done"] == 0) & ~own]
        actions = np.full(len(running), -1, np.int32)
    return rows


def regret(first: np.ndarray, second: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Compute the regret of actions against the best ones, in points, shape (n,).

    The best action is chosen by values of other worlds than it is judged by, so that luck does not
    count as skill; the mean is a little below the true one.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n, A)
        Values by different seeds.
    actions : ndarray of int, shape (n,)
    """
    every = np.arange(len(actions))
    best = np.nanargmax(first, axis=1)
    behind: np.ndarray = second[every, best] - second[every, actions]
    return behind


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
        actions = decide(load_who(who), engine, rows)
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
    parse = new_parser("last_tricks", __doc__)
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
