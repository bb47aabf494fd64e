"""Who decides what in whole games of the pair and of its halves."""

import numpy as np
import pytest

from fastenv.skullking.tables import Phase
from training.apps.skullking import matches
from training.apps.skullking.whole_games import BIDS, CARDS, Pair
from training.players.bots import Bot
from training.players.player import begin_all, every_lane
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
    engine = matches.match("rule_medium", 4, 0).make_engine()
    observers = {
        Phase.BID: (make_engine("SkullKingManager-v0", 1), pair.bids),
        Phase.PLAY: (make_engine(pair.config.env, 1, pair.config.env_options), pair.cards),
    }
    n, bids, lanes = engine.num_envs, 0, every_lane(engine)
    engine.reset_many(seeds=SEED)
    whole, rule = pair.player(pair.bids)(engine), Bot("rule_hard", engine)
    halves = {name: make(engine) for name, make in pair.halves("heuristic").items()}
    for player in (whole, rule, *halves.values()):
        begin_all(player, engine, 0)
    while not engine.ended.any():
        rows, mask = engine.get_states(), engine.mask.copy()
        phase = engine.info["decision_phase"].copy()
        ours = np.zeros(n, np.int32)
        for kind, (observer, logits) in observers.items():
            own = np.flatnonzero(phase == kind)
            if own.size:
                seen = observer.encode_obs_many(rows[own])
                ours[own] = np.where(mask[own] != 0, logits(seen), -np.inf).argmax(1)
        bidding = phase == Phase.BID
        bids += bidding.sum()
        np.testing.assert_array_equal(whole.act(engine, lanes), ours)
        by_bids, by_cards = (halves[name].act(engine, lanes) for name in (BIDS, CARDS))
        np.testing.assert_array_equal(by_bids[~bidding], rule.act(engine, lanes)[~bidding])
        np.testing.assert_array_equal(by_bids[bidding], ours[bidding])
        np.testing.assert_array_equal(by_cards[~bidding], ours[~bidding])
        engine.step_many(ours, autoreset=False)
    assert bids == 10 * n
