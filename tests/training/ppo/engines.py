"""Small batch engines with known answers; their whole state is one array, so they can be saved."""

from types import SimpleNamespace

import numpy as np


class ToyEngine:
    """What a batch engine has to be for a trainer; a subclass says how lanes begin and move.

    A lane is a row of ``state``: time in the episode, two numbers of the game, a generator.
    """

    num_actions = 2
    obs_shape = (2,)
    obs_dtype = np.dtype(np.float32)
    spec, game = SimpleNamespace(has_tau=False), SimpleNamespace(env_id=None, resumable=True)

    def __init__(self, num_envs):
        n = self.num_envs = num_envs
        self.state = np.zeros((n, 4), np.uint64)
        self.obs = np.zeros((n, *self.obs_shape), self.obs_dtype)
        self.mask = np.ones((n, self.num_actions), np.uint8)
        self.final_obs = self.obs.copy()
        self.reward = np.zeros(n, np.float32)
        self.terminated, self.truncated = np.zeros((2, n), np.uint8)
        self.tau = np.ones(n, np.int32)
        self.ep_return = np.zeros(n)
        self.ep_length, self.ep_frames = np.zeros((2, n), np.int32)
        self.sums = np.zeros(n)
        self.info, self.final_info = {}, {}

    @property
    def time(self):
        return self.state[:, 0]

    def draw(self, limit, rows=slice(None)):
        """A number below ``limit`` for each lane."""
        self.state[rows, 3] = self.state[rows, 3] * np.uint64(6364136223846793005) + np.uint64(1)
        return (self.state[rows, 3] >> np.uint64(33)) % np.uint64(limit)

    def reset_many(self, mask=None, seeds=None, obs_out=None, mask_out=None):
        first = np.asarray(0 if seeds is None else seeds, np.uint64)
        self.state[:, 3] = first if first.ndim else first + np.arange(len(self.state), dtype="u8")
        self.begin(np.arange(self.num_envs))
        self.write(self.obs if obs_out is None else obs_out)
        self.legal(self.mask if mask_out is None else mask_out)

    def step_many(self, actions, obs_out=None, mask_out=None):
        self.state[:, 0] += np.uint64(1)
        self.move(np.asarray(actions))
        self.sums += self.reward
        ended = np.flatnonzero(self.terminated | self.truncated)
        if ended.size:
            self.write(self.final_obs)
            self.ep_return[ended], self.ep_length[ended] = self.sums[ended], self.time[ended]
            self.ep_frames[ended] = self.time[ended]
            self.sums[ended] = 0
            self.begin(ended)
        self.write(self.obs if obs_out is None else obs_out)
        self.legal(self.mask if mask_out is None else mask_out)

    def begin(self, rows):
        self.state[rows, 0] = 0

    def legal(self, out):
        out[:] = 1

    def get_state(self, idx=None):
        return self.state.view(np.uint8).reshape(self.num_envs, -1).copy()

    def set_state(self, idx, blob):
        self.state[:] = np.ascontiguousarray(blob).view(np.uint64)


class Counting(ToyEngine):
    """Shows lane and time; ends after 5 decisions in turn by itself and cut off. Reward: time."""

    period = 5

    def move(self, actions):
        self.reward[:] = self.time
        ended = self.time == self.period
        odd = np.arange(self.num_envs) % 2 == 1
        self.terminated[:], self.truncated[:] = ended & ~odd, ended & odd

    def write(self, out):
        out[:, 0], out[:, 1] = np.arange(self.num_envs), self.time


class Steady(ToyEngine):
    """Reward 1 for ever, in episodes of 8 decisions that only a clock ends."""

    limit, ended_by_rules = 8, False

    def move(self, actions):
        self.reward[:] = 1
        over = self.time >= self.limit
        self.terminated[:], self.truncated[:] = over & self.ended_by_rules, over
        self.truncated &= 1 - self.terminated

    def write(self, out):
        out[:] = 1


class Bandit(ToyEngine):
    """One decision: of 6 arms, arm k pays k, but only those the mask shows can be pulled."""

    num_actions = 6
    obs_shape = (6,)

    def begin(self, rows):
        super().begin(rows)
        self.state[rows, 1] = 1 + self.draw(63, rows)  # which arms are legal, as bits

    def arms(self):
        return (self.state[:, 1:2] >> np.arange(6, dtype=np.uint64)) & np.uint64(1)

    def move(self, actions):
        assert self.arms()[np.arange(self.num_envs), actions].all(), "an illegal arm was pulled"
        self.reward[:] = actions / 5
        self.terminated[:] = 1

    def write(self, out):
        out[:] = self.arms()

    def legal(self, out):
        out[:] = self.arms()

    def best(self):
        return 5 - np.argmax(self.arms()[:, ::-1], 1)


class Corridor(ToyEngine):
    """Walk eight fields to the right for a reward of 1; every decision costs 0.02, 40 end it."""

    obs_shape = (9,)
    goal = 8

    def begin(self, rows):
        super().begin(rows)
        self.state[rows, 1] = 0

    def move(self, actions):
        here = self.state[:, 1].astype(np.int64) + np.where(actions == 1, 1, -1)
        self.state[:, 1] = np.clip(here, 0, self.goal).astype(np.uint64)
        self.terminated[:] = self.state[:, 1] == self.goal
        self.truncated[:] = (self.time >= 40) & (self.terminated == 0)
        self.reward[:] = self.terminated - 0.02

    def write(self, out):
        out[:] = self.state[:, 1:2] == np.arange(self.goal + 1, dtype=np.uint64)


class Recall(ToyEngine):
    """A cue is shown once; three decisions later the answer that repeats it pays 1."""

    obs_shape = (3,)

    def begin(self, rows):
        super().begin(rows)
        self.state[rows, 1] = self.draw(2, rows)

    def move(self, actions):
        over = self.time == 4
        self.terminated[:] = over
        self.reward[:] = over & (actions == self.state[:, 1])

    def write(self, out):
        first = self.time == 0
        out[:, 0], out[:, 1] = first & (self.state[:, 1] == 0), first & (self.state[:, 1] == 1)
        out[:, 2] = self.time / 4


class Macro(Steady):
    """Decisions of 1 to 4 primitive steps; ended by its rules after 8 of them."""

    spec, ended_by_rules = SimpleNamespace(has_tau=True), True

    def move(self, actions):
        super().move(actions)
        self.tau[:] = 1 + self.draw(4)


class Seek(ToyEngine):
    """A board of cells: 1 is here, 2 the goal. Four ways to go; the goal pays 1, a step costs."""

    num_actions = 4
    side = 6
    obs_shape = (side, side)
    obs_dtype = np.dtype(np.uint8)
    spec = SimpleNamespace(has_tau=False, obs_bounds=(0, 2))

    def begin(self, rows):
        super().begin(rows)
        cells = self.side**2
        self.state[rows, 1] = self.draw(cells, rows)
        apart = np.uint64(1) + self.draw(cells - 1, rows)
        self.state[rows, 2] = (self.state[rows, 1] + apart) % np.uint64(cells)

    def move(self, actions):
        y, x = np.divmod(self.state[:, 1].astype(np.int64), self.side)
        ways = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])[actions]
        y = np.clip(y + ways[:, 0], 0, self.side - 1)
        x = np.clip(x + ways[:, 1], 0, self.side - 1)
        self.state[:, 1] = y * self.side + x
        self.terminated[:] = self.state[:, 1] == self.state[:, 2]
        self.truncated[:] = (self.time >= 20) & (self.terminated == 0)
        self.reward[:] = self.terminated - 0.02

    def write(self, out):
        cells = np.arange(self.side**2, dtype=np.uint64)
        here, goal = (self.state[:, k, None] == cells for k in (1, 2))
        out[:] = (here + 2 * goal).reshape(out.shape)


class Bytes(Counting):
    """Counting in uint8 frames of 2 x 2."""

    obs_shape = (2, 2)
    obs_dtype = np.dtype(np.uint8)

    def write(self, out):
        out[:] = self.time[:, None, None]
