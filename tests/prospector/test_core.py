"""The compiled core against reference and golden traces: every field of a row, bit for bit."""

import numpy as np
import pytest

from fastenv.prospector import encoding, layout
from fastenv.prospector import tables as t
from fastenv.prospector.position import pack, unpack
from fastenv.prospector.reference import Prospector
from fastenv.prospector.state import RULES_DTYPE, STATE_DTYPE
from tests.prospector import golden
from tests.prospector.drivers import replay

core = pytest.importorskip("fastenv.prospector._core")

OUT_OF_RANGE = (-1, t.NUM_ACTIONS, -(2**31), 2**31 - 1)


def copied(rows):
    """Copy byte by byte: NumPy does not copy the padding between fields."""
    return rows.view(np.uint8).copy().view(STATE_DTYPE)


class Batch:
    """Rows and a core over them."""

    def __init__(self, n=1, time_max=t.TIME_MAX, num_threads=1, rows=None):
        self.rows = np.zeros(n, STATE_DTYPE) if rows is None else copied(rows)
        n = len(self.rows)
        self.rules = np.zeros(1, RULES_DTYPE)
        self.rules["time_max"] = time_max
        self.all = np.ones(n, np.uint8)
        self.core = core.BatchCore(
            self.rows.view(np.uint8).reshape(n, -1),
            np.zeros((n, 1), np.uint8),
            self.rules.view(np.uint8),
            t.TABLES.view(np.uint8),
            num_threads,
        )

    def reset(self, seeds=None):
        seeds = None if seeds is None else np.array([s % 2**64 for s in seeds], np.uint64)
        self.core.reset(self.all, seeds)

    def step(self, actions):
        actions = np.broadcast_to(np.asarray(actions, np.int32), len(self.rows))
        self.core.step(np.ascontiguousarray(actions), self.all)

    def complete(self):
        """Return the rows with all asteroids; the batch stays lazy."""
        copy = Batch(rows=self.rows)
        copy.core.materialise(copy.all)
        return copy.rows


def packed(game):
    row = np.zeros(1, STATE_DTYPE)
    pack(game, row[0])
    return row[0]


def assert_same_row(got, wanted, where):
    if got.tobytes() == wanted.tobytes():
        return
    for name in STATE_DTYPE.names:
        if got[name].tobytes() != wanted[name].tobytes():
            raise AssertionError(f"{where}: {name} is {got[name]}, not {wanted[name]}")


class CoreDriver:
    """The core alone; observation, mask, reward and info come from the reference's encoding."""

    def __init__(self, time_max):
        self.batch, self.time_max = Batch(1, time_max), time_max
        self.obs, self.mask = np.empty(260, np.float32), np.empty(69, np.uint8)
        self.reward = 0.0

    def _look(self):
        self.game = unpack(self.batch.complete()[0], self.time_max)
        self.terminated, self.truncated = self.game.done == 1, self.game.done == 2
        encoding.encode_obs(self.game, self.obs)
        encoding.action_mask(self.game, self.mask)

    def reset(self, seed):
        self.batch.reset(None if seed is None else [seed])
        self._look()

    def step(self, action):
        self.batch.step(action)
        self._look()
        self.reward, _ = encoding.apply_reward(self.game)

    def info(self):
        out = np.empty(len(layout.INFO_COLUMNS))
        encoding.info(self.game, out)
        return dict(zip(layout.INFO_COLUMNS, out.tolist(), strict=True))

    def row(self):
        return self.batch.complete()[0]

    def load(self, row):
        self.batch.rows[0] = row
        self._look()


@pytest.mark.parametrize("path", golden.TRACES, ids=lambda path: path.stem)
def test_core_replays_a_golden_trace(path):
    trace = golden.Trace(path)
    replay(CoreDriver(float(trace["time_max"])), trace)


@pytest.mark.parity
def test_worlds_are_those_of_the_reference():
    seeds = [*range(40), 2**63 + 12345, 2**64 - 1, -1]
    batch = Batch(len(seeds))
    batch.reset(seeds)
    for seed, row in zip(seeds, batch.complete(), strict=True):
        assert_same_row(row, packed(Prospector(seed=seed)), f"seed {seed}")


def likely_action(rng, game):
    """Return an action of a policy that gets around: now and then impossible or out of range."""
    kind = rng.random()
    if kind < 0.02:
        return int(rng.choice(OUT_OF_RANGE))
    if kind < 0.25:
        return int(rng.integers(0, t.MAX_NEIGHBORS))
    if kind < 0.45:
        return t.Action.SELECT + int(rng.integers(0, 8))
    if kind < 0.65:
        return t.Action.MINE_CONSERVATIVE + int(rng.integers(0, 3))
    return int(rng.integers(0, t.Action.CASH_OUT + (kind > 0.98)))


@pytest.mark.parity
@pytest.mark.parametrize("seed", range(12))
def test_episodes_are_those_of_the_reference(seed):
    rng = np.random.default_rng(seed)
    game, batch = Prospector(2000.0, seed), Batch(1, 2000.0)
    batch.reset([seed])
    for step in range(150):
        action = likely_action(rng, game)
        if game.done:
            game.reset()
            batch.reset()
        else:
            game.step(action)
            batch.step(action)
        assert_same_row(batch.complete()[0], packed(game), f"step {step} action {action}")


def strange_row(rng, seed):
    """Return a state somewhere in an episode, with values that are rare in play."""
    game = Prospector(5000.0, seed)
    for _ in range(int(rng.integers(0, 30))):
        before = packed(game)
        game.step(likely_action(rng, game))
        if game.done:
            game = unpack(before, 5000.0)
    row = packed(game)
    here = row["current_node"]
    if here and rng.random() < 0.8:
        row["selected"] = rng.integers(0, row["asteroid_count"][here])
    changes = {
        "fuel": rng.uniform(0, 30),
        "hull": rng.uniform(0, 3),
        "heat": rng.choice([rng.uniform(60, 100), 100.0]),
        "tool": rng.uniform(0, 100),
        "alert": rng.uniform(0, 100),
        "credits": rng.uniform(0, 1000),
        "cargo": rng.choice([0, 5, 33, 34], 6) * rng.choice([1, 0.7]),
        "recent_sales": rng.uniform(0, 100, 6),
        "station_inventory": rng.choice([0.0, 1e-3, 700.0], 6),
        "repair_kits": rng.integers(0, 13),
        "stabilizers": rng.choice([0, 12]),
        "decoys": rng.choice([0, 11, 12]),
        "escape_ticks": rng.integers(0, 5),
        "stabilize_ticks": rng.integers(0, 7, 16),
        "time_remaining": rng.uniform(1, 9),
        "ticks_elapsed": rng.integers(0, 5000),
    }
    for name, value in changes.items():
        if rng.random() < 0.3:
            row[name] = value
    if rng.random() < 0.3:
        row["depletion"][here, : row["asteroid_count"][here]] = rng.choice([0.0, 0.999, 1.0])
    return row


@pytest.mark.parity
@pytest.mark.parametrize("seed", range(10))
def test_every_action_from_strange_rows_is_that_of_the_reference(seed):
    rng = np.random.default_rng(seed)
    row = strange_row(rng, seed)
    actions = [*range(t.NUM_ACTIONS), *OUT_OF_RANGE]
    batch = Batch(time_max=5000.0, rows=np.repeat(row, len(actions)))
    legal = [
        batch.core.first_illegal(np.full(len(actions), a, np.int32), batch.all) for a in actions
    ]
    batch.step(actions)
    for i, action in enumerate(actions):
        game = unpack(row, 5000.0)
        game.step(action)
        assert_same_row(batch.rows[i], packed(game), f"action {action}")
        assert (legal[i] == -1) == (not game.ev_invalid), action


@pytest.mark.parity
def test_laziness_cannot_be_noticed():
    n = 64
    lazy, eager = Batch(n), Batch(n)
    rng = np.random.default_rng(5)
    for batch in (lazy, eager):
        batch.reset(range(n))
    eager.core.materialise(eager.all)
    assert (lazy.rows["pending"] != 0).all()
    assert not eager.rows["pending"].any()
    for _ in range(40):
        actions = rng.integers(0, 12, n)
        lazy.step(actions)
        eager.step(actions)
        assert lazy.complete().tobytes() == eager.rows.tobytes()
    assert (lazy.rows["pending"] != 0).any()
    # what an episode leaves behind does not show in the next one
    for batch in (lazy, eager):
        batch.rows["done"] = 1
        batch.reset()
    assert lazy.complete().tobytes() == eager.complete().tobytes()


def test_rows_that_are_not_selected_or_have_ended_stay_as_they_are():
    batch = Batch(3)
    batch.reset(range(3))
    batch.step([t.Action.CASH_OUT, 6, 6])
    before = copied(batch.rows)
    select = np.array([1, 0, 1], np.uint8)
    batch.core.step(np.full(3, 7, np.int32), select)
    assert batch.rows[:2].tobytes() == before[:2].tobytes()
    assert batch.rows[2]["ev_action"] == 7
    batch.core.reset(np.array([0, 1, 0], np.uint8), None)
    assert batch.rows[0].tobytes() == before[0].tobytes()
    assert batch.rows[1]["ev_action"] == -1


def test_first_illegal_names_the_first_selected_lane():
    batch = Batch(3)
    batch.reset(range(3))
    actions = np.array([6, 67, 67], np.int32)
    assert batch.core.first_illegal(actions, batch.all) == 1
    assert batch.core.first_illegal(actions, np.array([1, 0, 1], np.uint8)) == 2
    assert batch.core.first_illegal(actions, np.array([1, 0, 0], np.uint8)) == -1


def test_sizes_are_checked():
    batch = Batch(3)
    two, three = np.ones(2, np.uint8), np.zeros(3, np.int32)
    for call in (
        lambda: batch.core.step(three, two),
        lambda: batch.core.step(three[:2], batch.all),
        lambda: batch.core.reset(two, None),
        lambda: batch.core.reset(batch.all, np.zeros(2, np.uint64)),
        lambda: batch.core.materialise(two),
        lambda: batch.core.first_illegal(three, two),
    ):
        with pytest.raises(ValueError, match="rows"):
            call()
