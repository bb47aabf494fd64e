"""Who decides what in whole games of the pair and of its halves."""

import numpy as np
import pytest

from fastenv.skullking.tables import Phase
from training.apps.skullking import matches
from training.apps.skullking.pair import BIDS, CARDS, Pair
from training.evaluation.policies import Bot, best_legal
from training.run.envs import make_engine

SEED = 23


@pytest.fixture(params=[None, "memory"])
def pair(request, hier_config):
    rng = np.random.default_rng(SEED)
    config = hier_config(env_options={"obs_ext": request.param})
    worker = make_engine(config.env, 1, config.env_options)
    bids, cards = (rng.normal(size=(n, 11)).astype(np.float32) for n in (171, *worker.obs_shape))
    return Pair(config, lambda obs: obs @ bids, lambda obs: obs @ cards)


def test_manager_bids_and_worker_plays(pair):
    engine = matches.match_engine(4, "rule_medium")
    observers = {
        Phase.BID: (make_engine("SkullKingManager-v0", 1), pair.bids),
        Phase.PLAY: (make_engine(pair.config.env, 1, pair.config.env_options), pair.cards),
    }
    n, bids = engine.num_envs, 0
    engine.reset_many(seeds=SEED)
    whole, halves = pair.policy(n, 0), pair.halves(n, "heuristic", 0)
    rule = Bot("rule_hard", n, 0)
    while not engine.ended.any():
        rows, mask = engine.get_states(), engine.mask.copy()
        phase = engine.info["decision_phase"].copy()
        ours = np.zeros(n, np.int32)
        for kind, (observer, logits) in observers.items():
            lanes = np.flatnonzero(phase == kind)
            if lanes.size:
                seen = observer.encode_obs_many(rows[lanes])
                ours[lanes] = best_legal(logits(seen), mask[lanes])
        bidding = phase == Phase.BID
        bids += bidding.sum()
        found = whole.act(engine)
        np.testing.assert_array_equal(found, ours)
        card = halves[BIDS].act(engine)[~bidding]
        np.testing.assert_array_equal(card, rule.act(engine)[~bidding])
        np.testing.assert_array_equal(halves[BIDS].act(engine)[bidding], ours[bidding])
        np.testing.assert_array_equal(halves[CARDS].act(engine)[~bidding], ours[~bidding])
        engine.step_many(found, autoreset=False)
    assert bids == 10 * n
