"""Players that remember: each lane as if it were alone, and nothing from the episode before."""

import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fastenv.skullking.tables import Phase
from tests.slow import diagonal, together
from training.apps.skullking import goals, matches
from training.apps.skullking.players import NetInGame, round_begins
from training.evaluation import episodes
from training.evaluation.policies import (
    Bot,
    Net,
    best_legal,
    episode_begins,
    first_episodes,
)
from training.nets import actor_critic
from training.nets.actor_critic import ActorCritic, RecurrentLogits
from training.nets.initial import orthogonal
from training.nets.layout import obs_layout
from training.nets.recurrent import CELLS
from training.ppo.options import NativeConfig, PPOConfig
from training.run.envs import make_engine

LANES = 6


def network(env, kind="gru", seed=0, **options):
    """A network that decides by what it remembers: large gains, so that ties do not matter."""
    ppo = PPOConfig(net_arch=(32,), activation="tanh")
    native = NativeConfig(recurrent=kind, recurrent_size=16)
    layout = obs_layout(make_engine(env, 1, options))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(actor_critic, "POLICY_GAIN", 5.0)
        patch.setattr(actor_critic, "orthogonal", partial(orthogonal, gain=3.0))
        return ActorCritic(layout, ppo, native, seed)


class Recorder:
    """Notes what a policy does."""

    def __init__(self, policy):
        self.policy, self.taken = policy, []

    def act(self, engine):
        self.taken.append(self.policy.act(engine).copy())
        return self.taken[-1]


def act_alone(net, obs, mask, state):
    """Decide for one lane by the network itself."""
    with torch.no_grad():
        logits, _, state = net.step(torch.from_numpy(obs), state=state)
    return best_legal(logits.numpy(), mask), state


@pytest.mark.parametrize(
    ("env", "kind"), diagonal(["SkullKingFlat-v0", "SkullKingWorker-v0"], tuple(CELLS))
)
def test_lanes_play_as_if_each_were_alone(env, kind):
    net = network(env, kind)
    many = make_engine(env, LANES, {"opponents": "heuristic"})
    many.reset_many(seeds=70)
    policy = Recorder(Net(RecurrentLogits(net)))
    lengths = np.zeros(LANES, int)
    for running, _ in first_episodes(many, policy):
        lengths += running
    together = np.stack(policy.taken)
    for lane in range(LANES):
        alone = make_engine(env, 1, {"opponents": "heuristic"})
        alone.reset_many(seeds=70 + lane)
        state = net.initial_state(1)
        for t in range(lengths[lane]):
            action, state = act_alone(net, alone.obs, alone.mask, state)
            assert action[0] == together[t, lane], (lane, t)
            alone.step_many(action, autoreset=False)
        assert alone.ended[0]


def test_memory_decides_and_is_gone_when_the_next_episode_begins():
    """The same rounds twice in the same lanes are played alike; a memory kept would show."""
    env = "SkullKingWorker-v0"
    net = network(env)
    engine = make_engine(env, 200, {"round_weights": "uniform"})
    remembering, kept, forgetful = (Recorder(Net(RecurrentLogits(net))) for _ in range(3))
    kept.policy._memory._begins = lambda engine: np.zeros(engine.num_envs, bool)
    forgetful.policy._memory._begins = lambda engine: np.ones(engine.num_envs, bool)
    played = {}
    for name, policy in {"as it is": remembering, "kept": kept, "forgetful": forgetful}.items():
        first, second = (goals.play(engine, policy, seed=9) for _ in range(2))
        np.testing.assert_array_equal(first[0], second[0])
        half = len(policy.taken) // 2
        played[name] = np.stack(policy.taken[:half]), np.stack(policy.taken[half:])
    # Lanes that are done early begin episodes whose cards go on from there: only the first counts.
    assert (played["as it is"][0][0] == played["as it is"][1][0]).all()
    assert (played["kept"][0][0] != played["kept"][1][0]).any()
    steps = min(len(played["as it is"][0]), len(played["forgetful"][0]))
    assert (played["as it is"][0][:steps] != played["forgetful"][0][:steps]).any()


@pytest.mark.parametrize(
    ("env", "phases", "options", "begins"),
    [
        ("SkullKingWorker-v0", {Phase.PLAY}, {}, round_begins),
        ("SkullKingManager-v0", {Phase.BID}, {}, round_begins),
        ("SkullKingManager-v0", {Phase.BID}, {"mode": "game"}, episode_begins),
    ],
)
@pytest.mark.slow
def test_memory_of_a_smaller_tier_in_whole_games(env, phases, options, begins):
    """Against a twin that decides lane by lane and forgets when the game's row says so."""
    net, view = network(env, **options), make_engine(env, 1, options)
    bot = Bot("heuristic", 8, 0)
    policy = NetInGame(RecurrentLogits(net), view, phases, bot, begins)
    engine = matches.match_engine(2, "rule_hard")
    engine.reset_many(seeds=np.repeat([5, 6], 4))
    states = [net.initial_state(1) for _ in range(8)]
    decided = 0
    while not engine.ended.any():
        actions = policy.act(engine)
        phase, rows = engine.info["decision_phase"], engine.get_states()
        for lane in range(8):
            fresh = rows["ep_length"][lane] == 0
            if fresh or (begins is round_begins and phase[lane] == Phase.BID):
                states[lane] = net.initial_state(1)
            if phase[lane] in phases:
                obs = view.encode_obs_many(rows[lane : lane + 1])
                mask = engine.mask[lane : lane + 1]
                action, states[lane] = act_alone(net, obs, mask, states[lane])
                assert action[0] == actions[lane]
                decided += 1
        engine.step_many(actions, autoreset=False)
    assert decided == 8 * (10 if phases == {Phase.BID} else 55)


def test_episodes_in_blocks_begin_without_memory():
    """Five episodes on two lanes: three blocks, the same as each episode on a lane of its own."""
    env, options = "Prospector-v0", {"time_max": 300}
    net = network(env, "lstm", **options)

    def player(seed, lanes):
        return Net(RecurrentLogits(net))

    two, one = (make_engine(env, n, options) for n in (2, 1))
    blocks = episodes.play(two, player, 5, 40, 60, keep_actions=True)
    for k in range(5):
        alone = episodes.play(one, player, 1, 40 + k, 60, keep_actions=True)
        np.testing.assert_array_equal(alone.actions[0], blocks.actions[k])


@pytest.mark.parametrize(
    ("env", "part"),
    together(
        [
            ("SkullKingWorker-v0", "goals"),
            ("SkullKingFlat-v0", "matches"),
            ("SkullKingManager-v0", "matches"),
            ("Prospector-v0", "episodes"),
        ],
        3,
    ),
)
def test_recurrent_runs_are_evaluated(train, tmp_path, env, part):
    flags = ["--set", "native.recurrent=lstm", "--set", "native.recurrent_size=8"]
    if env.startswith("Prospector"):
        flags += ["--set", "env_options.time_max=200", "--set", "evaluation.episodes=4"]
    flags += ["--env", env, "--total-steps", "128"]
    assert train(tmp_path, "run", *flags, evaluation=True) == 0
    assert part in json.loads((tmp_path / "run/evaluation.json").read_text())


def test_actions_are_drawn_as_the_network_says_and_are_legal():
    mask = np.tile([1, 0, 1, 1], (4000, 1))
    probabilities = np.array([0.2, 0.0, 0.5, 0.3])
    engine = SimpleNamespace(obs=np.zeros((4000, 1), np.float32), mask=mask)

    def logits(obs):
        return np.tile(np.log([0.2, 9.0, 0.5, 0.3]), (len(obs), 1))

    drawn = Net(logits, seed=3).act(engine)
    shares = np.bincount(drawn, minlength=4) / len(drawn)
    np.testing.assert_allclose(shares, probabilities, atol=4 * 0.5 / 4000**0.5)
    assert np.array_equal(drawn, Net(logits, seed=3).act(engine))
    assert (Net(logits).act(engine) == 2).all()
