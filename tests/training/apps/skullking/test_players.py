"""Networks of smaller tiers in whole games: whose decisions are theirs, and what they remember."""

import numpy as np
import pytest

from fastenv.skullking.tables import Phase
from training.apps.skullking import matches
from training.apps.skullking.whole_games import in_whole_games
from training.nets.actor_critic import RecurrentLogits
from training.players.player import begin_all, every_lane

MANAGER, WORKER = "SkullKingManager-v0", "SkullKingWorker-v0"


class Counting(RecurrentLogits):
    """Likes all actions alike and remembers how many decisions it has taken."""

    state_size = 1

    def __init__(self):
        self.counts = []

    def __call__(self, obs, *, state):
        self.counts.append(state[:, 0].tolist())
        return np.zeros((len(obs), 11), np.float32), state + 1


@pytest.mark.parametrize(
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
    network, engine = Counting(), matches.match("rule_hard", 2, 0).make_engine()
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
