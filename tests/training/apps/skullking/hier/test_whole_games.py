"""Networks in whole games: whose decisions are theirs, and what they remember."""

import numpy as np
import pytest

from fastenv.skullking.tables import Phase
from tests.tables import walk
from training.apps.skullking.evaluation import match
from training.apps.skullking.whole_games import BIDS, CARDS, Pair, in_whole_games
from training.nets.actor_critic import RecurrentLogits
from training.players.bots import Bot
from training.players.player import begin_all, every_lane
from training.run.envs import make_engine

SEED = 23


@pytest.mark.parametrize("ext", [None, "memory"])
def test_manager_bids_and_worker_plays(ext):
    engine, rng = match("rule_medium", 4, 0).make_engine(), np.random.default_rng(SEED)
    worker = make_engine("SkullKingWorker-v0", 1, {"obs_ext": ext})
    bids, cards = (rng.normal(size=(n, 11)).astype(np.float32) for n in (171, *worker.obs_shape))
    logits = {"manager": lambda obs: obs @ bids, "worker": lambda obs: obs @ cards}
    pair = Pair({"obs_ext": ext}, logits)
    observers = {
        Phase.BID: (make_engine("SkullKingManager-v0", 1), logits["manager"]),
        Phase.PLAY: (worker, logits["worker"]),
    }
    n, bid, lanes = engine.num_envs, 0, every_lane(engine)
    engine.reset_many(seeds=SEED)
    whole, rule = pair.player(engine), Bot("rule_hard", engine)
    halves = {name: make(engine) for name, make in pair.halves().items()}
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
        bid += bidding.sum()
        np.testing.assert_array_equal(whole.act(engine, lanes), ours)
        by_bids, by_cards = (halves[name].act(engine, lanes) for name in (BIDS, CARDS))
        np.testing.assert_array_equal(by_bids[~bidding], rule.act(engine, lanes)[~bidding])
        np.testing.assert_array_equal(by_bids[bidding], ours[bidding])
        np.testing.assert_array_equal(by_cards[~bidding], ours[~bidding])
        engine.step_many(ours, autoreset=False)
    assert bid == 10 * n


# -- networks of smaller tiers ---------------------------------------------------------------------


MANAGER, WORKER = "SkullKingManager-v0", "SkullKingWorker-v0"


class Counting(RecurrentLogits):
    """Likes all actions alike and remembers how many decisions it has taken."""

    state_size = 1

    def __init__(self):
        self.counts = []

    def __call__(self, obs, *, state):
        self.counts.append(state[:, 0].tolist())
        return np.zeros((len(obs), 11), np.float32), state + 1


@walk(
    ("env", "options", "own", "forgets"),
    [
        (WORKER, {}, Phase.PLAY, True),
        (WORKER, {"mode": "game"}, Phase.PLAY, True),  # its episodes are rounds all the same
        (MANAGER, {}, Phase.BID, True),
        (MANAGER, {"mode": "game"}, Phase.BID, False),
    ],
)
def test_memory_begins_where_an_episode_of_the_training_began(env, options, own, forgets):
    """Rounds begin with bids, which are the bot's where the network plays the cards."""
    network, engine = Counting(), match("rule_hard", 2, 0).make_engine()
    player, lanes = in_whole_games(network, env, options, engine), every_lane(engine)
    for seed in (5, 6):
        engine.reset_many(seeds=seed)
        begin_all(player, engine, seed)
        remembered, decided = np.zeros(len(lanes)), 0
        while not engine.ended.any():
            phase = engine.info["decision_phase"].copy()
            if forgets:
                remembered[phase == Phase.BID] = 0
            due = np.flatnonzero(phase == own)
            actions = player.act(engine, lanes)
            if due.size:
                assert network.counts.pop() == remembered[due].tolist()
            assert not network.counts  # nobody asks it for what is the bot's
            remembered[due] += 1
            decided += len(due)
            engine.step_many(actions, autoreset=False)
        assert decided == 8 * (10 if own == Phase.BID else 55)
