"""Players that remember or draw: each lane as if it were alone, and nothing of the game before."""

import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fastenv.engine import rng_streams
from fastenv.skullking.tables import Phase
from tests.needs import needs_core
from tests.slow import diagonal, together
from tests.tables import walk
from tests.training.played import play_episodes
from training.evaluation.loop import Loop
from training.games.skullking import TABLE
from training.nets import actor_critic
from training.nets.actor_critic import ActorCritic, RecurrentLogits
from training.nets.layers import orthogonal
from training.nets.layout import obs_layout
from training.nets.recurrent import CELLS
from training.players.bots import Bot, RandomLegal
from training.players.draws import LaneDraws, gumbel, mix, uniform
from training.players.network import Network, seen_by
from training.players.parts import Part, Parts, learnt_part
from training.players.player import begin_all, every_lane
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


def act_alone(net, obs, mask, state):
    """Decide for one lane by the network itself."""
    with torch.no_grad():
        logits, _, state = net.step(torch.from_numpy(obs), state=state)
    return np.where(mask != 0, logits.numpy(), -np.inf).argmax(1).astype(np.int32), state


# -- memory ----------------------------------------------------------------------------------------


@walk(("env", "kind"), diagonal(["SkullKingFlat-v0", "SkullKingWorker-v0"], tuple(CELLS)))
def test_lanes_play_as_if_each_were_alone(env, kind):
    net = network(env, kind)
    many = make_engine(env, LANES, {"opponents": "heuristic"})
    player = Network(RecurrentLogits(net), many)
    steps = list(Loop(many, [player], 70 + np.arange(LANES)))
    for lane in range(LANES):
        alone = make_engine(env, 1, {"opponents": "heuristic"})
        alone.reset_many(seeds=70 + lane)
        state = net.initial_state(1)
        played = [step.actions[lane] for step in steps if lane in step.lanes]
        for t, wanted in enumerate(played):
            action, state = act_alone(net, alone.obs, alone.mask, state)
            assert action[0] == wanted, (lane, t)
            alone.step_many(action, autoreset=False)
        assert alone.ended[0]


class Kept(Network):
    """Never forgets."""

    def begin(self, engine, lanes, seeds=None):
        pass


class Forgetful(Network):
    """Forgets before every decision."""

    def act(self, engine, lanes):
        self.begin(engine, lanes)
        return super().act(engine, lanes)


def test_memory_decides_and_is_gone_when_the_next_episode_begins():
    """The same rounds twice in the same lanes are played alike; a memory kept would show."""
    env = "SkullKingWorker-v0"
    net = network(env)
    engine = make_engine(env, 200, {"round_weights": "uniform"})
    played = {}
    for kind in (Network, Kept, Forgetful):
        player = kind(RecurrentLogits(net), engine)
        played[kind] = [
            [step.actions for step in Loop(engine, [player], 9 + np.arange(200))] for _ in range(2)
        ]
    first, second = played[Network]
    np.testing.assert_array_equal(first, second)
    first, second = played[Kept]
    assert (first[0] != second[0]).any()
    remembering, forgetful = played[Network][0], played[Forgetful][0]
    np.testing.assert_array_equal(remembering[0], forgetful[0])
    assert any((a != b).any() for a, b in zip(remembering, forgetful, strict=False))


@pytest.mark.parametrize(
    ("env", "options"),
    [
        ("SkullKingWorker-v0", {}),
        ("SkullKingManager-v0", {}),
        ("SkullKingManager-v0", {"mode": "game"}),
    ],
)
@pytest.mark.slow
def test_memory_of_a_smaller_tier_in_whole_games(env, options):
    """Against a twin that decides lane by lane and forgets when the game's row says so."""
    part = TABLE.parts[env]
    net, view = network(env, **options), make_engine(env, 1, options)
    rules = {"opponents": "rule_hard", "deals": "duplicate", "agent_seat": "rotate"}
    engine = make_engine("SkullKingFlat-v0", 8, rules)
    sight = seen_by(env, options)
    learnt = learnt_part(Network(RecurrentLogits(net), engine, sight), part, options)
    player = Parts(part.column, [learnt], Bot("heuristic", engine))
    engine.reset_many(seeds=np.repeat([5, 6], 4))
    begin_all(player, engine, 0)
    states = [net.initial_state(1) for _ in range(8)]
    decided = 0
    while not engine.ended.any():
        actions = player.act(engine, every_lane(engine))
        phase, rows = engine.info["decision_phase"], engine.get_states()
        for lane in range(8):
            if rows["ep_length"][lane] == 0 or (not options and phase[lane] == Phase.BID):
                states[lane] = net.initial_state(1)
            if phase[lane] in part.values:
                obs = view.encode_obs_many(rows[lane : lane + 1])
                mask = engine.mask[lane : lane + 1]
                action, states[lane] = act_alone(net, obs, mask, states[lane])
                assert action[0] == actions[lane]
                decided += 1
        engine.step_many(actions, autoreset=False)
    assert decided == 8 * (10 if part.values == (Phase.BID,) else 55)


def test_episodes_in_blocks_begin_without_memory():
    """Five episodes on two lanes: three blocks, the same as each episode on a lane of its own."""
    env, options = "Prospector-v0", {"time_max": 300}
    net = network(env, "lstm", **options)
    make = partial(Network, RecurrentLogits(net))
    two, one = (make_engine(env, n, options) for n in (2, 1))
    blocks = play_episodes(two, make, 5, 40, 60, keep_actions=True)
    for k in range(5):
        alone = play_episodes(one, make, 1, 40 + k, 60, keep_actions=True)
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
        4,
    ),
)
def test_recurrent_runs_are_evaluated(train, tmp_path, env, part):
    flags = ["--set", "native.recurrent=lstm", "--set", "native.recurrent_size=8"]
    if env.startswith("Prospector"):
        flags += ["--set", "env_options.time_max=200", "--set", "evaluation.episodes=4"]
    flags += ["--env", env, "--total-steps", "128"]
    assert train(tmp_path, "run", *flags, evaluation=True) == 0
    assert part in json.loads((tmp_path / "run/evaluation.json").read_text())


# -- draws -----------------------------------------------------------------------------------------


def test_what_a_lane_draws_is_a_matter_of_its_seed_and_the_number_of_its_draw():
    together, alone = LaneDraws(4), LaneDraws(1)
    together.begin(np.arange(4), np.array([7, 8, 9, 7]))
    alone.begin(np.array([0]), np.array([9]))
    first = together.next(np.arange(4))
    together.next(np.array([0, 1]))  # others who draw in between
    second = together.next(np.array([2, 3]))
    drawn = [alone.next(np.array([0]))[0] for _ in range(2)]
    assert [first[2], second[0]] == drawn
    assert first[0] == first[3]  # equal seeds
    assert second[1] != first[3]
    assert len({*first.tolist(), *second.tolist()}) == 5


def test_no_seeds_go_on_and_the_same_ones_begin_again():
    draws, lanes = LaneDraws(3), np.array([0, 2])
    draws.begin(lanes, np.array([5, 6]))
    first = draws.next(lanes)
    draws.begin(lanes, None)
    assert (draws.next(lanes) != first).all()
    draws.begin(np.array([2]), np.array([6]))
    again = draws.next(lanes)
    assert again[1] == first[1]
    assert again[0] != first[0]


def test_seeds_of_different_purposes_and_numbers_do_not_meet():
    seeds = np.repeat(np.arange(20, dtype=np.uint64), 50)
    number = np.tile(np.arange(50), 20)
    found = np.concatenate([mix(seeds, number, purpose) for purpose in range(8)])
    assert len(np.unique(found)) == 8000
    drawn = uniform(found)
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert abs(drawn.mean() - 0.5) < 4 * 12**-0.5 / 8000**0.5


def test_the_noise_has_gumbels_mean_and_spread():
    noise = gumbel(np.arange(4000, dtype=np.uint64), 3)
    assert noise.shape == (4000, 3)
    spread = np.pi / 6**0.5
    assert abs(noise.mean() - np.euler_gamma) < 4 * spread / 12_000**0.5
    assert abs(noise.std() - spread) < 0.05
    assert abs(np.corrcoef(noise.T) - np.eye(3)).max() < 4 / 4000**0.5


def table(lanes=4000):
    """An engine that shows nothing, with a mask."""
    mask = np.tile([1, 0, 1, 1], (lanes, 1))
    obs = np.zeros((lanes, 1), np.float32)
    return SimpleNamespace(num_envs=lanes, num_actions=4, obs=obs, mask=mask, refresh=lambda: None)


def logits(obs):
    return np.tile(np.log([0.2, 9.0, 0.5, 0.3]), (len(obs), 1))


def test_actions_are_drawn_as_the_network_says_and_are_legal():
    engine, probabilities = table(), np.array([0.2, 0.0, 0.5, 0.3])
    lanes = every_lane(engine)
    player = Network(logits, engine, sample=True)
    begin_all(player, engine, 3)
    drawn = player.act(engine, lanes)
    assert drawn.dtype == np.int32
    shares = np.bincount(drawn, minlength=4) / len(drawn)
    np.testing.assert_allclose(shares, probabilities, atol=4 * 0.5 / 4000**0.5)
    assert (player.act(engine, lanes) != drawn).any()
    begin_all(player, engine, 3)
    np.testing.assert_array_equal(player.act(engine, lanes), drawn)
    assert (Network(logits, engine).act(engine, lanes) == 2).all()
    found = player.probabilities(engine, lanes[:5])
    np.testing.assert_allclose(found, np.tile(probabilities, (5, 1)))


def test_another_mask_is_obeyed():
    engine = table(3)
    legal = np.tile([1, 0, 0, 1], (3, 1))
    player = Network(logits, engine, legal=lambda engine: legal)
    assert player.act(engine, np.array([0, 2])).tolist() == [3, 3]


def random_legal(engine):
    return RandomLegal(engine)


def sampling(engine):
    return Network(logits, engine, sample=True)


@pytest.mark.parametrize("make", [random_legal, sampling])
def test_a_lane_draws_the_same_whatever_else_is_asked(make):
    engine = table(40)
    lanes, some = every_lane(engine), np.array([31, 3, 17])
    together, alone = make(engine), make(engine)
    begin_all(together, engine, 11)
    alone.begin(engine, some, 11 + some)
    for _ in range(6):
        together_drawn = together.act(engine, lanes)
        np.testing.assert_array_equal(alone.act(engine, some), together_drawn[some])
        assert len(set(together_drawn.tolist())) == 3


def test_chance_takes_every_legal_action_equally_often():
    engine = table(3000)
    player = RandomLegal(engine)
    begin_all(player, engine, 0)
    counts = np.bincount(player.act(engine, every_lane(engine)), minlength=4)
    assert counts[1] == 0
    assert (abs(counts[[0, 2, 3]] - 1000) < 4 * (3000 * 2 / 9) ** 0.5).all()


def test_of_a_bot_only_the_lanes_that_are_asked_draw():
    engine = make_engine("Prospector-v0", LANES, {"time_max": 50})
    engine.reset_many(seeds=0)
    lanes, some, others = np.arange(LANES), np.array([1, 4]), np.array([0, 2, 3, 5])
    together, apart = Bot("masked_random", engine), Bot("masked_random", engine)
    streams = rng_streams(3, LANES)
    for player in (together, apart):
        begin_all(player, engine, 3)
    first, second = (together.act(engine, lanes) for _ in range(2))
    np.testing.assert_array_equal(first, engine.bot_actions("masked_random", streams))
    np.testing.assert_array_equal(apart.act(engine, some), first[some])
    np.testing.assert_array_equal(apart.act(engine, some), second[some])
    np.testing.assert_array_equal(apart.act(engine, others), first[others])
    apart.begin(engine, others[:1], np.array([3]))
    np.testing.assert_array_equal(apart.act(engine, others[:1]), first[:1])
    apart.begin(engine, others)  # goes on
    np.testing.assert_array_equal(apart.act(engine, others), second[others])


@needs_core
def test_a_bot_that_looks_ahead_tells_what_it_considered():
    engine = make_engine("DrMarioPlacement-v0", 3, {"level": 0})
    engine.reset_many(seeds=0)
    player = Bot("lookahead2", engine)
    player.act(engine, np.array([0, 2]))
    assert player.thought(0) is None  # nobody wants to know
    player.explains = True
    actions = player.act(engine, np.array([0, 2]))
    assert [player.thought(lane).chosen for lane in (0, 2)] == actions.tolist()
    assert player.thought(1) is None


# -- parts -----------------------------------------------------------------------------------------


class Noted:
    """Takes one action, and notes what it is told."""

    def __init__(self, action):
        self.action, self.begun, self.asked = action, [], []

    def begin(self, engine, lanes, seeds=None):
        self.begun.append((lanes.tolist(), None if seeds is None else seeds.tolist()))

    def act(self, engine, lanes):
        self.asked.append(lanes.tolist())
        return np.full(len(lanes), self.action, np.int32)


class Sure(Noted):
    """Knows how probable its action is."""

    def probabilities(self, engine, lanes):
        return np.tile(np.eye(4)[self.action], (len(lanes), 1))


def test_each_takes_its_own_decisions_and_one_the_rest():
    engine = table(6)
    engine.info = {"due": np.array([0, 1, 2, 3, 1, 0])}
    bids, cards, rest = Sure(1), Noted(2), Noted(3)
    player = Parts("due", [Part(bids, (0,)), Part(cards, (1, 2), begins=(0, 2))], rest)
    player.begin(engine, np.array([0, 5]), np.array([8, 9]))
    for each in (bids, cards, rest):
        assert each.begun == [([0, 5], [8, 9])]
    assert player.act(engine, np.array([0, 1, 2, 3, 5])).tolist() == [1, 2, 2, 3, 1]
    assert (bids.asked, cards.asked, rest.asked) == ([[0, 5]], [[1, 2]], [[3]])
    # Where its episode begins within a game a player forgets, and draws on.
    assert cards.begun[1:] == [([0, 2, 5], None)]
    assert len(bids.begun) == len(rest.begun) == 1
    found = player.probabilities(engine, np.array([0, 1, 3]))
    assert found[0].tolist() == [0, 1, 0, 0]
    assert np.isnan(found[1:]).all()


def test_who_has_nothing_to_decide_is_not_asked():
    engine = table(2)
    engine.info = {"due": np.array([0, 0])}
    bids, rest = Noted(1), Noted(3)
    player = Parts("due", [Part(bids, (0,))], rest)
    assert player.act(engine, np.array([1])).tolist() == [1]
    assert (bids.asked, rest.asked, rest.begun) == ([[1]], [], [])


@pytest.mark.parametrize("mode", ["round", "game"])
def test_a_part_forgets_where_its_training_did(mode):
    options, own = {"mode": mode}, Noted(0)
    part = learnt_part(own, TABLE.parts["SkullKingManager-v0"], options)
    assert part.player is own
    assert part.values == (Phase.BID,)
    assert part.begins == (() if mode == "game" else (Phase.BID,))


class Begun:
    """A player that notes in which lanes its episodes begin."""

    def __init__(self):
        self.lanes = []

    def begin(self, engine, lanes, seeds=None):
        self.lanes.append(lanes.tolist())

    def act(self, engine, lanes):
        return np.ones(len(lanes), np.int32)


def test_a_part_of_a_game_begins_anew_at_its_first_decision():
    due = np.array([0, 1, 2, 0, 0])
    engine = SimpleNamespace(refresh=lambda: None, info={"due": due})
    learnt, rest = Begun(), Begun()
    parts = Parts("due", [Part(learnt, (0, 1), begins=(0,))], rest)
    lanes = np.arange(5)
    parts.begin(engine, lanes)
    assert parts.act(engine, lanes[:4]).tolist() == [1, 1, 1, 1]
    assert learnt.lanes == [[0, 1, 2, 3, 4], [0, 3]]
    assert rest.lanes == [[0, 1, 2, 3, 4]]
