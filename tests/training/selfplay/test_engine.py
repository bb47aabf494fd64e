"""The pool plays inside the learner's step: against a twin that plays lane by lane."""

import json

import numpy as np
import pytest
import torch

import fastenv
from fastenv.skullking.tables import Bot
from training.nets import actor_critic
from training.nets.actor_critic import ActorCritic
from training.nets.distribution import Sampler, masked_log_probs
from training.nets.layout import obs_layout
from training.ppo.options import NativeConfig, PPOConfig
from training.run.envs import make_engine
from training.selfplay.pool import Pool, PoolEngine, PoolPlayer
from training.selfplay.seated import SeatedEngine

ENV = "SkullKingFlat-v0"
OPTIONS = {"schedule": [1, 2, 1], "opponents": "rule_easy", "reward": "points"}
NAMES = ("obs", "mask", "reward", "terminated", "truncated")
SECTIONS = PPOConfig(net_arch=(16,), activation="tanh"), NativeConfig()


@pytest.fixture
def pool(tmp_path, monkeypatch):
    """Three snapshots that differ in what they play."""
    monkeypatch.setattr(actor_critic, "POLICY_GAIN", 1.0)
    layout = obs_layout(make_engine(ENV, 1, OPTIONS))
    found = Pool(tmp_path, 3, lambda: ActorCritic(layout, *SECTIONS))
    for number in range(3):
        found.add(number, number, ActorCritic(layout, *SECTIONS, number + 1).state_dict())
    return found


def engine_of(pool, lanes, *, bots=0.0, seed=5, on_matches=None, **options):
    engine = make_engine(ENV, lanes, OPTIONS | options)
    player = PoolPlayer(engine, pool, seed=seed)
    return PoolEngine(engine, player, bots=bots, on_matches=on_matches)


def outputs(engine):
    columns = {name: column.copy() for name, column in engine.info.items()}
    return {name: getattr(engine, name).copy() for name in NAMES} | columns


class Twin:
    """Self-play lane by lane, with engines of one lane and one forward pass a decision."""

    def __init__(self, pool, lanes, seed):
        self.pool, self.seed = pool, seed
        self.engines = [make_engine(ENV, 1, OPTIONS | {"opponents": "external"}) for _ in lanes]
        self.draws = np.random.default_rng(seed)
        self.sampler = Sampler(seed, torch.device("cpu"))
        self.players = np.zeros((len(lanes), 3), int)

    def reset(self, seed):
        for lane, engine in enumerate(self.engines):
            engine.reset_many(seeds=seed + lane)
        self.draw(range(len(self.engines)))

    def draw(self, lanes):
        chances = self.pool.weights()
        if lanes:
            shape = (len(lanes), 3)
            self.players[list(lanes)] = self.draws.choice(self.pool.active, size=shape, p=chances)

    def waiting(self):
        found = {}
        for lane, engine in enumerate(self.engines):
            row = engine.get_states()[0]
            if row["done"] == 0 and row["actor"] != row["agent"]:
                found[lane] = self.players[lane, (row["actor"] - row["agent"]) % 4 - 1]
        return found

    def step(self, actions):
        reward = np.zeros(len(actions), np.float32)
        ended = np.zeros(len(actions), bool)

        def move(lane, action):
            self.engines[lane].step_many(np.array([action]), autoreset=False)
            reward[lane] += self.engines[lane].reward[0]
            ended[lane] |= self.engines[lane].terminated[0] == 1

        for lane, action in enumerate(actions):
            move(lane, action)
        while waiting := self.waiting():
            with torch.inference_mode():
                logits = torch.cat([
                    self.pool.members[player].net(torch.from_numpy(self.engines[lane].obs))[0]
                    for lane, player in waiting.items()
                ])  # fmt: skip
                legal = np.concatenate([self.engines[lane].mask for lane in waiting]) != 0
                mask = torch.from_numpy(legal)
                log_probs = masked_log_probs(logits, mask)
                chosen = self.sampler(log_probs, mask).tolist()
            for lane, action in zip(waiting, chosen, strict=True):
                move(lane, action)
        over = np.flatnonzero(ended).tolist()
        for lane in over:
            self.engines[lane].reset_many()
        self.draw(over)
        obs, mask = (np.concatenate([getattr(e, n) for e in self.engines]) for n in NAMES[:2])
        return {"obs": obs, "mask": mask, "reward": reward, "terminated": ended.astype(np.uint8)}


def test_groups_play_what_a_twin_plays_lane_by_lane(pool):
    lanes, seed = range(7), 5
    engine, twin = engine_of(pool, len(lanes)), Twin(pool, lanes, seed)
    engine.begin()
    engine.reset_many(seeds=90)
    twin.reset(90)
    rng, seen = np.random.default_rng(seed), set()
    for step in range(60):
        actions = fastenv.sample_legal(engine.mask, rng)
        engine.step_many(actions)
        expected = twin.step(actions)
        for name, array in expected.items():
            assert getattr(engine, name).tobytes() == array.tobytes(), f"{name}, step {step}"
        np.testing.assert_array_equal(engine.others.snapshots, twin.players)
        seen |= set(engine.others.snapshots.ravel().tolist())
    assert seen == {0, 1, 2}


def test_all_seats_of_a_snapshot_are_one_forward_pass(pool, monkeypatch):
    engine, asked, together = engine_of(pool, 40), [], []
    engine.begin()
    forward, act = ActorCritic.logits, PoolPlayer.act

    def counted(net, obs):
        asked.append(len(obs))
        return forward(net, obs)

    def watched(player, view, lanes):
        asked.clear()
        actions = act(player, view, lanes)
        places = view.get_places(lanes)
        deciding = player.snapshots[lanes, places - 1]
        assert sorted(asked) == sorted(np.unique(deciding, return_counts=True)[1].tolist())
        together.append(len(np.unique(places)) > 1)
        return actions

    monkeypatch.setattr(ActorCritic, "logits", counted)
    monkeypatch.setattr(PoolPlayer, "act", watched)
    engine.reset_many(seeds=6)
    rng = np.random.default_rng(6)
    for _ in range(5):
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
    assert any(together)


def test_the_learner_decides_in_every_lane_and_is_paid_its_official_points(pool):
    matches = []
    engine = engine_of(pool, 6, agent_seat="rotate", on_matches=lambda *m: matches.append(m))
    engine.begin()
    engine.reset_many(seeds=1)
    rng, paid = np.random.default_rng(1), np.zeros(6)
    for _ in range(80):
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
        rows = engine.get_states()
        assert (rows["actor"] == rows["agent"]).all()
        paid += engine.reward
        np.testing.assert_array_equal(engine.info["reward_points"], engine.reward)
        over = np.flatnonzero(engine.terminated)
        if over.size:
            players, totals = matches.pop()
            own = totals[players == -1]
            np.testing.assert_allclose(10 * paid[over], own, atol=1e-3)
            np.testing.assert_allclose(10 * engine.ep_return[over], own, atol=1e-3)
            np.testing.assert_array_equal(engine.final_info["total"][over], own)
            paid[over] = 0
    assert not matches


def test_nothing_changes_before_the_first_snapshot_and_in_lanes_of_bots(pool):
    plain = make_engine(ENV, 8, OPTIONS)
    before, half = engine_of(pool, 8), engine_of(pool, 8, bots=0.5)
    half.begin()
    for engine in (plain, before, half):
        engine.reset_many(seeds=3)
    rng = np.random.default_rng(3)
    for _ in range(40):
        actions = fastenv.sample_legal(half.mask, rng)
        actions[:4] = fastenv.sample_legal(plain.mask, rng)[:4]
        legal = fastenv.sample_legal(plain.mask, rng)
        legal[:4] = actions[:4]
        plain.step_many(legal)
        before.step_many(legal)
        half.step_many(actions)
        expected = outputs(plain)
        for name, array in outputs(before).items():
            np.testing.assert_array_equal(array, expected[name], err_msg=name)
        for name, array in outputs(half).items():
            np.testing.assert_array_equal(array[:4], expected[name][:4], err_msg=name)
    assert (half.others.snapshots[:4] == -1).all()
    assert (half.others.snapshots[4:] >= 0).all()


def test_a_lane_meets_the_pool_from_its_next_episode_on(pool):
    engine = engine_of(pool, 4)
    engine.reset_many(seeds=2)
    engine.begin()
    rng = np.random.default_rng(2)
    ended = np.zeros(4, bool)
    for _ in range(30):
        before = engine.others.snapshots.copy()
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
        ended |= engine.terminated == 1
        running = engine.terminated == 0
        snapshots = engine.others.snapshots
        np.testing.assert_array_equal(snapshots[running], before[running])
        np.testing.assert_array_equal((snapshots >= 0).all(axis=1), ended)
        external = (engine.get_states()["bots"] == Bot.EXTERNAL).sum(axis=1)
        np.testing.assert_array_equal(external, 3 * ended)
    assert ended.all()


def test_opponents_of_a_curriculum_reach_the_lanes_of_bots_alone(pool):
    engine = engine_of(pool, 4, bots=0.5)
    engine.configure("opponents", "random")
    engine.begin()
    engine.configure("opponents", "rule_hard")
    engine.configure("opponents", "heuristic", [1, 2])
    found = [names[0] for names in engine.get_knob("opponents")]
    assert found == ["rule_hard", "heuristic", "external", "external"]


def test_a_saved_engine_goes_on_bit_for_bit(pool):
    engine, other = engine_of(pool, 5, bots=0.2), engine_of(pool, 5, bots=0.2, seed=99)
    engine.begin()
    engine.reset_many(seeds=4)
    rng = np.random.default_rng(4)
    for _ in range(17):
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
    saved = json.loads(json.dumps(engine.state_dict()))
    assert list(saved) == ["begun", "players", "draws", "sampler"]  # as in earlier checkpoints
    other.load_state_dict(saved)
    other.set_state(None, engine.get_state())
    for _ in range(40):
        actions = fastenv.sample_legal(engine.mask, rng)
        for each in (engine, other):
            each.step_many(actions)
        expected = outputs(engine)
        for name, array in outputs(other).items():
            np.testing.assert_array_equal(array, expected[name], err_msg=name)
        np.testing.assert_array_equal(other.others.snapshots, engine.others.snapshots)


def test_destinations_get_the_learners_view(pool):
    engine, other = engine_of(pool, 5), engine_of(pool, 5)
    obs, mask = np.zeros_like(engine.obs), np.zeros_like(engine.mask)
    for each in (engine, other):
        each.begin()
    engine.reset_many(seeds=8, obs_out=obs, mask_out=mask)
    other.reset_many(seeds=8)
    rng = np.random.default_rng(8)
    for _ in range(30):
        actions = fastenv.sample_legal(mask, rng)
        engine.step_many(actions, obs_out=obs, mask_out=mask)
        other.step_many(actions)
        assert obs.tobytes() == other.obs.tobytes()
        assert mask.tobytes() == other.mask.tobytes()


class FirstLegal:
    """Plays the other seats, and notes the lanes whose games begin."""

    def __init__(self):
        self.begun = []

    def begin(self, engine, lanes, seeds=None):
        self.begun.append(lanes.tolist())

    def act(self, engine, lanes):
        return engine.mask[lanes].argmax(1).astype(np.int32)


def test_a_reset_of_some_lanes_leaves_the_players_of_the_others_alone():
    others, seen = FirstLegal(), []
    engine = SeatedEngine(make_engine(ENV, 4, OPTIONS | {"opponents": "external"}), others)
    engine.on_begin = lambda fresh, obs, mask: seen.append(np.flatnonzero(fresh).tolist())
    engine.reset_many(seeds=3)
    engine.reset_many(mask=np.array([0, 1, 0, 1], bool), seeds=9)
    assert others.begun == seen == [[0, 1, 2, 3], [1, 3]]


def test_the_last_info_of_an_episode_has_the_terms_of_the_whole_decision():
    inner, totals = make_engine(ENV, 3, OPTIONS | {"opponents": "external"}), {}
    engine, step = SeatedEngine(inner, FirstLegal()), inner.step_many
    names = tuple(inner.term_columns)
    assert names

    def counting(*args, **kwargs):
        step(*args, **kwargs)
        for name in names:  # as if every step of the game paid for each of them
            inner.info[name] += 1
            totals[name] += inner.info[name]

    inner.step_many = counting
    engine.reset_many(seeds=4)
    ends = 0
    while ends < 5:
        totals |= {name: np.zeros(3) for name in names}
        engine.step_many(engine.mask.argmax(1).astype(np.int32))
        over = engine.terminated != 0
        ends += over.sum()
        for name in names:
            np.testing.assert_allclose(engine.final_info[name][over], totals[name][over])
