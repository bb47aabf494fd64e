"""Benchmarks of search and of a trained agent on one core: rows and targets.

Four play, deals of the table's own seeds. Rollouts begin at the
first card of round 10 and end with the round. The searcher's decisions are those of whole games:
256 tables play side by side, all seats search, and a decision costs what the whole of playing does.
The agent alone decides there too: its observation, the network and the best action are timed.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from fastenv import BatchEngine
from fastenv.skullking.tables import Phase
from training.bench import timing
from training.bench.ran import engine_row
from training.bench.runner import Suite
from training.bench.targets import Row
from training.bench.timing import Work
from training.evaluation.loop import Loop
from training.players.bots import Bot
from training.players.contest_table import ContestTable
from training.players.network import seat_policy
from training.players.player import begin_all, every_lane
from training.players.trained import load_policy
from training.search.agent import SearchAgent
from training.search.options import SearchOptions

ROWS, WORLDS = 4096, 32
TABLES = 256  # that play side by side
BOT = "heuristic"
TABLE = ContestTable("SkullKingFlat-v0", {"deals": "duplicate", "invalid_action": "raise"})
ROUND = 9  # index of the round of ten cards
AGENT = "pretrained/skullking"


def rows(repeats: int, seconds: float) -> list[Row]:
    """Measure a row for worlds, rollouts, a searcher's decisions and those of an agent alone."""
    return timing.rows(_prepare_works(), repeats, seconds)


def _prepare_works() -> dict[str, Work]:
    engine = TABLE.make(ROWS)
    starts = first_cards(engine)
    played = {"players": BOT, "round": ROUND + 1, "batch": ROWS}

    def draw() -> None:
        few = starts[: ROWS // WORLDS]
        engine.resample(few, few["actor"], 1, worlds=WORLDS, trusted=True)

    plays = int(engine.rollout(starts, None, BOT, "round", seeds=1, trusted=True).decisions.sum())

    def roll() -> None:
        engine.rollout(starts, None, BOT, "round", seeds=1, trusted=True)

    agent, every = seat_policy(load_policy(AGENT), engine), every_lane(engine)
    begin_all(agent, engine, 0)

    def decide() -> None:
        agent.act(engine, every)

    game, about = _Games(), partial(engine_row, "search")
    return {
        "worlds": Work(draw, ROWS, row=partial(about, engine, "resample", worlds=WORLDS)),
        "rollouts": Work(roll, plays, row=partial(about, engine, "rollout", **played)),
        "searcher": Work(
            game.play,
            game.decisions,
            row=partial(about, game.engine, "decisions", worlds=WORLDS, rollouts=BOT),
        ),
        "alone": Work(decide, ROWS, row=partial(about, engine, "act", agent=AGENT)),
    }


def first_cards(engine: BatchEngine) -> np.ndarray:
    """Return rows of an engine's tables at the first card of the round of ten."""
    for _ in Loop(engine, [Bot(BOT, engine)], every_lane(engine), give_up=_is_there):
        pass
    return engine.get_states()


def _is_there(engine: BatchEngine) -> np.ndarray:
    rows = engine.get_states()
    there: np.ndarray = (rows["round_idx"] == ROUND) & (rows["phase"] == Phase.PLAY)
    return there


class _Games:
    """Whole games in which every seat searches; its decisions are those that were searched."""

    def __init__(self) -> None:
        self.engine = TABLE.make(TABLES)
        who = SearchAgent(BOT, SearchOptions(worlds=WORLDS), f"search:{BOT}")
        self._player = who.player(self.engine)
        self.decisions = self.play()

    def play(self) -> int:
        """Play a game at every table; return the number of decisions about cards."""
        engine, taken = self.engine, 0
        for _ in Loop(engine, [self._player], every_lane(engine)):
            due = engine.get_states(~engine.ended)["phase"]  # games begin with bids
            taken += int((due == Phase.PLAY).sum())
        return taken


SUITE = Suite(
    lambda options: [
        row | {"game": "Skull King"} for row in rows(options.repeats, options.seconds)
    ],
    title="Bars of search; CPU time of one core, medians",
    targets=("search",),
    seconds=4.0,
    short_seconds=1.0,
)
