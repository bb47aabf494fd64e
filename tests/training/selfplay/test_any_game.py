"""Self-play in games whose players are agents of a row, in turns and at the same time."""

import numpy as np
import pytest
import torch

import fastenv
from fastenv.one_seat import OUTSIDE
from fastenv.seats import EXTERNAL
from tests import nim
from tests.race import without_scalars
from tests.slow import every
from training.nets import actor_critic
from training.nets.actor_critic import ActorCritic
from training.nets.distribution import Sampler, masked_log_probs
from training.nets.layout import as_tensor, obs_layout
from training.ppo.options import NativeConfig, PPOConfig
from training.selfplay.pool import Pool, PoolEngine, PoolPlayer
from training.selfplay.seated import SeatedEngine

SECTIONS = PPOConfig(net_arch=(16,), activation="tanh"), NativeConfig()
GAMES = {
    "nim for two": lambda: nim.NimGame(),
    "nim for four": lambda: nim.NimGame(4),
    "race": lambda: without_scalars(goal=6),
    "match of placements": lambda: fastenv.make_game("DrMarioVersus-v0", level=0),
    "match of frames": lambda: fastenv.make_game("DrMarioVersusFrame-v0", level=0),
}
LANES = 5


def seated(game, num_envs=LANES, agent_seat="rotate"):
    return fastenv.BatchEngine(GAMES[game](), num_envs, opponent="random", agent_seat=agent_seat)


def pool_of(folder, game, monkeypatch):
    """Return three snapshots that differ in what they play."""
    monkeypatch.setattr(actor_critic, "POLICY_GAIN", 1.0)
    layout = obs_layout(seated(game, 1))
    found = Pool(folder, 3, lambda: ActorCritic(layout, *SECTIONS))
    for number in range(3):
        found.add(number, number, ActorCritic(layout, *SECTIONS, number + 1).state_dict())
    return found


def engine_of(pool, game, seed=5, on_matches=None, bots=0.0, num_envs=LANES):
    engine = seated(game, num_envs)
    player = PoolPlayer(engine, pool, seed=seed)
    return PoolEngine(engine, player, bots=bots, on_matches=on_matches)


class Twin:
    """Self-play lane by lane on engines that show all agents."""

    def __init__(self, pool, game, seed):
        self.pool, self.engines = (
            pool,
            [fastenv.BatchEngine(GAMES[game](), 1) for _ in range(LANES)],
        )
        self.count = self.engines[0].num_agents
        self.draws = np.random.default_rng(seed)
        self.sampler = Sampler(seed, torch.device("cpu"))
        self.players = np.zeros((LANES, self.count - 1), int)
        self.agent = np.arange(LANES) % self.count
        self.answers = [{} for _ in range(LANES)]

    def reset(self, seed):
        for lane, engine in enumerate(self.engines):
            engine.reset_many(seeds=seed + lane)
        self.draw([*range(LANES)])
        self.play_on()

    def draw(self, lanes):
        chances = self.pool.weights()
        shape = (len(lanes), self.count - 1)
        self.players[lanes] = self.draws.choice(self.pool.active, size=shape, p=chances)

    def asked(self, lane):
        """Return the seats that have not answered yet, the learner's first."""
        engine, first = self.engines[lane], self.agent[lane]
        if engine.ended[0]:
            return []
        order = [(first + k) % self.count for k in range(self.count)]
        needs = engine.needs_action()[0]
        return [seat for seat in order if needs[seat] and seat not in self.answers[lane]]

    def move(self, lane):
        """Move a lane as long as all have answered; return what the learner is paid."""
        paid = 0.0
        while not self.asked(lane) and not self.engines[lane].ended[0]:
            actions = [[self.answers[lane].get(seat, 0) for seat in range(self.count)]]
            self.engines[lane].step_many(np.array(actions), autoreset=False)
            self.answers[lane] = {}
            paid += self.engines[lane].reward[0, self.agent[lane]]
        return paid

    def play_on(self):
        """Let others answer until the learner is asked in every lane."""
        paid = np.zeros(LANES)
        while True:
            asked = {lane: self.asked(lane) for lane in range(LANES)}
            others = {k: s[0] for k, s in asked.items() if s and s[0] != self.agent[k]}
            if not others:
                return paid
            logits, masks = [], []
            for lane, seat in others.items():
                engine = self.engines[lane]
                player = self.players[lane, (seat - self.agent[lane]) % self.count - 1]
                with torch.inference_mode():
                    net = self.pool.members[player].net
                    logits.append(net.logits(as_tensor(engine.obs[:, seat])))
                masks.append(torch.from_numpy(engine.mask[:, seat] != 0))
            logits, legal = torch.cat(logits), torch.cat(masks)
            chosen = self.sampler(masked_log_probs(logits, legal), legal).tolist()
            for (lane, seat), action in zip(others.items(), chosen, strict=True):
                self.answers[lane][seat] = action
                paid[lane] += self.move(lane)

    def step(self, actions):
        paid = np.zeros(LANES)
        for lane, action in enumerate(actions):
            self.answers[lane][self.agent[lane]] = action
            paid[lane] += self.move(lane)
        paid += self.play_on()
        over = [lane for lane, engine in enumerate(self.engines) if engine.ended[0]]
        ended = np.zeros(LANES, np.uint8)
        for lane in over:
            ended[lane] = 1
            self.agent[lane] = (self.agent[lane] + 1) % self.count
            self.engines[lane].reset_many()
        if over:
            self.draw(over)
            self.play_on()
        return paid, ended

    def shown(self, name):
        engines = zip(self.engines, self.agent, strict=True)
        return b"".join(getattr(engine, name)[0, agent].tobytes() for engine, agent in engines)


@pytest.mark.parametrize("game", every(2, GAMES))
@pytest.mark.slow
def test_lanes_together_play_what_a_twin_plays_lane_by_lane(tmp_path, monkeypatch, game):
    pool = pool_of(tmp_path, game, monkeypatch)
    engine, twin = engine_of(pool, game), Twin(pool, game, 5)
    print("seed", seed := np.random.SeedSequence().generate_state(1).tolist()[0])
    rng, ends = np.random.default_rng(seed), 0
    engine.begin()
    engine.reset_many(seeds=3)
    twin.reset(3)
    for _ in range(150):
        assert engine.obs.tobytes() == twin.shown("obs")
        assert engine.mask.tobytes() == twin.shown("mask")
        assert not engine.get_places().any()  # the learner's turn
        actions = fastenv.sample_legal(engine.mask, rng)
        engine.step_many(actions)
        paid, ended = twin.step(actions.tolist())
        assert (engine.terminated | engine.truncated).tolist() == ended.tolist()
        np.testing.assert_allclose(engine.reward, paid, atol=1e-6)
        ends += ended.sum()
    assert ends or "frames" in game


class FirstLegal:
    """Plays the first legal action; notes where games have begun."""

    def __init__(self):
        self.begun, self.decisions = [], 0

    def begin(self, engine, lanes, seeds=None):
        assert seeds is None or len(seeds) == len(lanes)
        self.begun.append(lanes.tolist())

    def act(self, engine, lanes):
        assert (engine.get_places(lanes) > 0).all()
        due = engine.get_states(lanes)["needs_action"].argmax(1)
        assert due.tolist() == engine.get_actors(lanes).tolist()
        self.decisions += len(lanes)
        return engine.mask[lanes].argmax(1).astype(np.int32)


def test_one_player_takes_all_seats_but_the_learners():
    inner = fastenv.BatchEngine(nim.NimGame(3, 9), 4, opponent=EXTERNAL, agent_seat="rotate")
    player = FirstLegal()
    engine = SeatedEngine(inner, player)
    obs, mask = np.zeros_like(engine.obs), np.zeros_like(engine.mask)
    engine.reset_many(seeds=0, obs_out=obs, mask_out=mask)
    assert player.begun == [[0, 1, 2, 3]]
    ends = 0
    for _ in range(12):
        assert not engine.get_places().any()
        engine.step_many(mask.argmax(1).astype(np.int32), obs_out=obs, mask_out=mask)
        over = np.flatnonzero(engine.terminated).tolist()
        ends += len(over)
        assert player.begun[-1] == over or not over
    # Nine sticks, one each time: the learner takes three, the others six. Twelve are four games;
    # in a fifth others may have decided already.
    assert ends == sum(map(len, player.begun[1:])) == 16
    assert 16 * 6 <= player.decisions <= 16 * 6 + 4 * 2


def test_those_who_play_are_told_with_what_they_have_reached(tmp_path, monkeypatch):
    told = []
    pool = pool_of(tmp_path, "nim for four", monkeypatch)
    engine = engine_of(pool, "nim for four", on_matches=lambda who, what: told.append((who, what)))
    engine.begin()
    engine.reset_many(seeds=1)
    rng = np.random.default_rng(0)
    while sum(len(who) for who, _ in told) < 40:
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
    players, totals = (np.concatenate(part) for part in zip(*told, strict=True))
    assert ((players == -1).sum(1) == 1).all()
    assert set(np.flatnonzero((players == -1).any(0))) == {0, 1, 2, 3}  # the learner's seats
    assert (totals.sum(1) == 1).all()


def test_lanes_of_bots_keep_theirs(tmp_path, monkeypatch):
    pool = pool_of(tmp_path, "nim for two", monkeypatch)
    engine = engine_of(pool, "nim for two", bots=0.4)
    engine.reset_many(seeds=0)
    assert not engine.has_outside().any()
    engine.begin()
    engine.configure("opponent", "perfect")
    engine.reset_many(seeds=1)
    assert engine.has_outside().tolist() == [False, False, True, True, True]
    assert engine.get_knob("opponent") == ["perfect"] * 2 + ["external"] * 3
    assert (engine.others.snapshots[:2] == OUTSIDE).all()


def test_an_episode_that_ends_before_the_learner_is_asked_is_not_its_own(tmp_path, monkeypatch):
    """With one stick whoever begins wins at once."""
    pool = pool_of(tmp_path, "nim for two", monkeypatch)
    inner = fastenv.BatchEngine(nim.NimGame(2, 1), 8, opponent="random")
    engine = PoolEngine(inner, PoolPlayer(inner, pool, seed=1), bots=0.0)
    engine.begin()
    engine.reset_many(seeds=0)
    for _ in range(5):
        assert not engine.get_places().any()
        engine.step_many(np.zeros(8, np.int32))
        assert engine.terminated.all()
        assert engine.reward.tolist() == [1.0] * 8
        assert engine.ep_return.tolist() == [1.0] * 8
        assert engine.ep_length.tolist() == [1] * 8
