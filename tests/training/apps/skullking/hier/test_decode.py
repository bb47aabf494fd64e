"""Bids from a distribution over tricks, against a loop over the rules' own scores."""

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from fastenv.skullking.rules import score_round
from fastenv.skullking.tables import Scoring
from training.apps.skullking.hindsight.auxiliary import tricks_log_probs
from training.apps.skullking.hindsight.decode import decoding, expected_points
from training.nets.actor_critic import ActorCritic
from training.nets.layout import obs_layout
from training.ppo.options import NativeConfig, PPOConfig
from training.run.envs import make_engine


def some(rng, k):
    cards = rng.integers(1, 11, k)
    weights = rng.random((k, 11, 11)) * (np.arange(11) <= cards[:, None, None])
    with np.errstate(divide="ignore"):
        return np.log(weights / weights.sum(-1, keepdims=True)), cards


@pytest.mark.parametrize("scoring", ["skull_king", "rascal"])
def test_the_best_bid_is_that_of_a_loop(scoring):
    log_probs, cards = some(np.random.default_rng(5), 300)
    points = expected_points(log_probs, cards, scoring)
    bids = points.argmax(-1)
    kind = Scoring[scoring.upper()]
    for i, n in enumerate(cards):
        worth = [
            sum(
                np.exp(log_probs[i, bid, won]) * score_round(bid, won, n, scoring=kind).points
                for won in range(n + 1)
            )
            for bid in range(n + 1)
        ]
        np.testing.assert_allclose(points[i, : n + 1], worth, rtol=1e-12, atol=1e-12)
        assert (points[i, n + 1 :] == -np.inf).all()
        assert bids[i] == np.argmax(worth)


def test_what_is_certain_is_bid():
    with np.errstate(divide="ignore"):
        log_probs = np.log(np.eye(11)[[[3] * 11, [0] * 11]])
    assert expected_points(log_probs, np.array([5, 8])).argmax(-1).tolist() == [3, 0]


def test_of_equal_bids_the_lowest_is_taken():
    log_probs = np.full((1, 11, 11), -np.inf)
    log_probs[0, :, 0] = 0.0  # never a trick: in Rascal scoring 0 is alone, 1 is half
    assert expected_points(log_probs, np.array([4]), "rascal").argmax(-1).tolist() == [0]
    log_probs[0, :, 0], log_probs[0, :, 1] = np.log(0.5), np.log(0.5)
    assert expected_points(log_probs, np.array([4]), "rascal")[0, :2].tolist() == [30.0, 30.0]
    assert expected_points(log_probs, np.array([4]), "rascal").argmax(-1).tolist() == [0]


def test_another_scoring_is_refused():
    with pytest.raises(ConfigError, match="scoring='rascal_cannon' is not possible"):
        expected_points(np.zeros((1, 11, 11)), np.array([4]), "rascal_cannon")


def test_a_network_bids_by_its_head():
    engine = make_engine("SkullKingManager-v0", 200)
    engine.reset_many(seeds=9)
    ppo, native = PPOConfig(net_arch=(8,), activation="tanh"), NativeConfig(hindsight="tricks")
    net = ActorCritic(obs_layout(engine), ppo, native, seed=1)
    with torch.no_grad():
        net.aux_head.weight.mul_(100.0)
        cards = torch.from_numpy(engine.info["cards"].astype(np.int64))
        log_probs = tricks_log_probs(net, torch.from_numpy(engine.obs), cards).numpy()
    bids = decoding(net)(engine.obs).argmax(1)
    assert (bids == expected_points(log_probs, cards.numpy()).argmax(-1)).all()
    assert len(set(bids.tolist())) > 3
    assert engine.mask[np.arange(200), bids].all()
