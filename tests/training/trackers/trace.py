"""An engine that makes up what happens: random columns, rewards and ends, rows of eight bytes."""

from types import SimpleNamespace

import numpy as np

SIZES = (1, 7, 64)
COLUMNS = ("room", "x", "flags", "value")


def make(kind, engine, **options):
    """Make a tracker with options of its kind."""
    return kind(engine, kind.OPTIONS(**options))


class Trace:
    """As much of a batch engine as trackers use. With automatic reset, like the real one."""

    def __init__(self, n, seed=0, ends=0.15):
        self.num_envs, self._ends = n, ends
        self._rng = np.random.default_rng(seed)
        self.spec = SimpleNamespace(state_dtype=np.dtype([("id", "u8")]))
        self.info = {name: np.zeros(n, np.int64) for name in COLUMNS}
        self.final_info = {name: np.zeros(n, np.int64) for name in COLUMNS}
        self.obs, self.final_obs = np.zeros((n, 2), np.float32), np.zeros((n, 2), np.float32)
        self.mask = np.ones((n, 2), np.uint8)
        self.reward, self.tau = np.zeros(n, np.float32), np.ones(n, np.int32)
        self.terminated, self.truncated = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
        self.ep_return, self.ep_length = np.zeros(n), np.zeros(n, np.int32)
        self.rows = np.zeros(n, np.uint64)
        self.step()
        self.terminated[:] = self.truncated[:] = 0

    def step(self):
        n, rng = self.num_envs, self._rng
        for info in (self.info, self.final_info):
            info["room"][:] = rng.integers(-1, 4, n)
            info["x"][:] = rng.integers(0, 5, n)
            info["flags"][:] = rng.integers(0, 16, n)
            info["value"][:] = rng.integers(-4, 5, n)
        for obs in (self.obs, self.final_obs):
            obs[:] = rng.integers(0, 9, (n, 2))
        self.reward[:] = rng.normal(size=n)
        ended = rng.random(n) < self._ends
        cut = rng.random(n) < 0.5
        self.terminated[:], self.truncated[:] = ended & cut, ended & ~cut
        self.ep_return[:], self.ep_length[:] = rng.normal(size=n), rng.integers(1, 99, n)
        self.rows[:] = rng.integers(0, 1 << 60, n)
        return np.flatnonzero(ended)

    def refresh(self):
        pass

    def get_state(self, idx):
        return self.rows[idx].view(np.uint8).reshape(-1, 8)

    def set_state(self, idx, blobs):
        self.rows[idx] = np.ascontiguousarray(blobs).view(np.uint64).ravel()
        for column in (self.reward, self.terminated, self.truncated):
            column[idx] = 0

    def last(self, lane):
        """What a loop over environments would see: a dict of the state the step has led to."""
        ended = self.terminated[lane] or self.truncated[lane]
        info = self.final_info if ended else self.info
        return {name: int(column[lane]) for name, column in info.items()}

    def first(self, lane):
        return {name: int(column[lane]) for name, column in self.info.items()}


def run(engine, tracker, steps, after=None):
    """Let a tracker follow an engine from a reset on; yields the lanes that ended in each step."""
    tracker.reset(np.arange(engine.num_envs))
    for _ in range(steps):
        done = engine.step()
        tracker.observe(engine, np.zeros(engine.num_envs, np.int64))
        yield done
        if done.size:
            tracker.reset(done)
