"""Stacks of frames that are put together when they are drawn are those an engine would show."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from tests.bits import equal
from tests.slow import every
from tests.tables import walk
from tests.training.dqn.test_trainer import make
from tests.training.ppo.engines import ToyEngine
from training.dqn.run import load_nets
from training.nets.actor_critic import RecurrentLogits

RECORD = np.dtype([("speed", "f4", (2,)), ("pixels", "u1", (1, 4, 6)), ("clock", "f4")], align=True)
K = 3


class Film(ToyEngine):
    """Frames that count; shows the last of them, or a stack of ``K`` as an engine keeps it."""

    obs_shape, obs_dtype = (1, 4, 6), np.dtype(np.uint8)
    spec = SimpleNamespace(has_tau=False, obs_bounds=(0, 255))
    stacks = False

    def __init__(self, num_envs):
        if self.stacks:
            self.obs_shape = (K, 4, 6)
        self.frames = np.zeros((num_envs, K, 4, 6), np.uint8)
        super().__init__(num_envs)

    def picture(self, rows):
        lane = np.arange(self.num_envs)[rows]
        seen = (self.state[rows, 3] >> np.uint64(33)) % np.uint64(251)
        return ((seen + lane.astype("u8"))[:, None] + np.arange(24, dtype="u8")).reshape(-1, 4, 6)

    def begin(self, rows):
        super().begin(rows)
        self.draw(2, rows)
        self.frames[rows] = self.picture(rows)[:, None]

    def move(self, actions):
        how = self.draw(12)
        self.frames[:, :-1] = self.frames[:, 1:].copy()
        self.frames[:, -1] = self.picture(slice(None))
        self.terminated[:], self.truncated[:] = how == 0, how == 1
        self.reward[:] = actions

    def write(self, out):
        out[:] = self.frames if self.stacks else self.frames[:, -1:]


class Whole(Film):
    """The same with stacks of its own."""

    stacks = True


class Record(Film):
    """A film whose frames are part of a record."""

    obs_shape, obs_dtype = (), RECORD
    spec = SimpleNamespace(has_tau=False, obs_bounds={"pixels": (0, 255)})

    def write(self, out):
        out["pixels"] = self.frames[:, -1:]
        out["speed"], out["clock"] = self.time[:, None] * [1, 2], self.time


OPTIONS = {"capacity": 64, "learning_starts": 16, "batch_size": 12, "iteration_steps": 9}
CELL = {"recurrent": "gru", "recurrent_size": 8, "seq_len": 4, "burn_in": 1}


@walk("more", every(3, [{}, {"prioritized": True}, CELL, {**CELL, "prioritized": True}]))
def test_training_on_stacks_is_the_same_whoever_puts_them_together(more):
    """Over episodes of both ends and a ring that wraps around; before it does, bit for bit."""
    runs = []
    for engine, stack_k in ((Film(2), K), (Whole(2), 1)):
        trainer = make(engine, stack_k=stack_k, **{**OPTIONS, "n_step": 2, **more})
        for _ in range(3):
            trainer.iterate()
        runs.append((trainer.net.state_dict(), trainer.replay.action, trainer.replay.reward))
        assert trainer.updates > 5
    assert equal(*runs)


@walk("prioritized", [False, True])
def test_stacks_of_a_ring_that_has_wrapped_around_are_whole(prioritized):
    ours = make(Film(2), stack_k=K, prioritized=prioritized, **OPTIONS)
    theirs = make(Whole(2), **{**OPTIONS, "capacity": 4096})
    for trainer in (ours, theirs):
        trainer.dqn = type(trainer.dqn)(**{**vars(trainer.dqn), "epsilon_end": 1.0})
        trainer.learn = lambda sums: None
        for _ in range(12):
            trainer.iterate()
    written = 12 * 9
    for _ in range(5):
        batch = ours.replay.sample(60)
        rows = batch.index // 2
        age = (ours.replay.head - rows) % ours.replay.rows
        where = (written - age) * 2 + batch.index % 2
        expected = theirs.replay._gather(where, theirs.replay._windows(where), 0.0)
        for name in ("obs", "next_obs", "action", "reward", "discount"):
            assert torch.equal(getattr(batch, name), getattr(expected, name)), name


def test_each_of_several_engines_sees_the_frames_of_its_own_lanes():
    parts = [[kind(1), kind(2)] for kind in (Film, Whole)]
    options = {**OPTIONS, "learning_starts": 40}
    ours, whole = (make(e, stack_k=k, **options) for e, k in zip(parts, (K, 1), strict=True))
    for trainer in (ours, whole):
        trainer.iterate()
    assert equal(ours.replay.action, whole.replay.action)
    for mine, theirs in zip(ours._lanes, whole._lanes, strict=True):
        assert torch.equal(mine.seen.reshape(theirs.seen.shape), theirs.seen)


def test_frames_of_a_record_are_stacked_and_the_rest_is_the_newest():
    trainer = make(Record(2), stack_k=K, **OPTIONS)
    trainer.iterate()
    batch = trainer.replay.sample(20)
    fields = trainer.net.encoder.split(batch.obs)
    assert fields["pixels"].shape == (20, K, 4, 6)
    rows, lanes = batch.index // 2, batch.index % 2
    newest = trainer.replay.obs[rows, lanes].numpy().view(RECORD)[:, 0]
    np.testing.assert_array_equal(fields["pixels"][:, -1:], newest["pixels"])
    for name in ("speed", "clock"):
        np.testing.assert_array_equal(fields[name].reshape(newest[name].shape), newest[name])
    assert not torch.equal(fields["pixels"][:, 0], fields["pixels"][:, -1])


@walk("more", [{}, CELL])
def test_agent_that_is_loaded_keeps_the_frames_before(more):
    ours, whole = Film(5), Whole(5)
    trainer = make(Film(2), stack_k=K, **{**OPTIONS, **more})
    net = trainer.net
    nets = load_nets(trainer.config, ours, net.state_dict())
    player = RecurrentLogits(nets["policy"][0])
    state = np.zeros((5, player.state_size), np.float32)
    own = torch.zeros(5, net.state_size)
    for engine in (ours, whole):
        engine.reset_many(seeds=3)
    for _ in range(30):
        found, state = player(ours.obs, state=state)
        with torch.no_grad():
            seen = torch.from_numpy(whole.obs)
            expected, _, own = net.step(seen, state=own)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
        for engine in (ours, whole):
            engine.step_many(np.zeros(5, np.int64))
        ended = (ours.terminated | ours.truncated) > 0
        state[ended], own[torch.from_numpy(ended)] = 0, 0


def test_observation_without_a_single_image_is_refused():
    class Flat(Film):
        obs_shape = (24,)

        def write(self, out):
            out[:] = self.frames[:, -1].reshape(-1, 24)

    with pytest.raises(ConfigError, match=r"dqn\.stack_k=3 is not possible: .* no single image"):
        make(Flat(2), stack_k=3, **OPTIONS)
