"""No game is played twice by uses of which one chooses what the other measures."""

import numpy as np
import pytest

from fastenv.skullking.reference import MASK64
from training.callbacks.gate import MAX_EPISODES
from training.run.config import RunConfig
from training.run.envs import make_engine
from training.run.seeds import (
    BLOCK,
    CURVE_SEEDS,
    GATE_SEEDS,
    MATCH_SEEDS,
    TRAINING_BIT,
    training_seed,
)

LAST = BLOCK - 1  # of evaluation.seed
MANY = 1 << 32  # lanes of an engine, at the most
DECKS = [0, *((r + 1) << 40 for r in range(10))]  # Skull King 8.4


def test_decks_of_replayed_deals_are_where_they_are_kept_apart():
    rounds = {}
    for shift in (0, 1):  # a game whose decks begin where those of another go on
        engine = make_engine("SkullKingFlat-v0", 1, {"deals": "duplicate"})
        engine.reset_many(seeds=[5 + (shift << 40)])
        rounds[shift] = []
        for _ in range(2):
            row = engine.get_states()
            rounds[shift].append(row["hand"][0, 0, 0])  # the deck's first card
            while engine.info["round"][0] == row["round_idx"][0] + 1:
                engine.step_many(engine.mask.argmax(1).astype(np.int32))
    assert rounds[0][1] == rounds[1][0]


@pytest.mark.parametrize(
    ("first", "following"),
    [(MATCH_SEEDS, CURVE_SEEDS), (CURVE_SEEDS, GATE_SEEDS), (GATE_SEEDS, TRAINING_BIT)],
)
def test_games_of_a_block_and_their_decks_end_before_the_next(first, following):
    most = MAX_EPISODES**2 if first == GATE_SEEDS else LAST + MANY
    assert first + most + max(DECKS) < following


def test_training_seeds_lie_behind_and_do_not_come_round():
    for seed in range(100):
        first = training_seed(seed)
        assert TRAINING_BIT <= first <= first + MANY + max(DECKS) <= MASK64


def test_evaluation_seeds_stay_in_their_block():
    assert RunConfig.from_mapping({"evaluation": {"seed": LAST}}).evaluation.seed == LAST
