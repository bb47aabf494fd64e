"""The Numba kernels write the bits that the plain Python encoding computes."""

import ctypes

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from fastenv.drmario import encoding, kernels, layout, make_game, position, rewards
from fastenv.drmario import tables as t
from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.placement import new_game
from fastenv.drmario.planning import costs_of
from fastenv.drmario.reference import DrMario
from fastenv.drmario.state import COEFFICIENTS, SHARED_DTYPE, derived_dtype, state_dtype
from fastenv.engine import BatchEngine
from fastenv.memory import aligned
from fastenv.paths import callable_at
from tests.rowcalls import unwritten
from tests.slow import diagonal
from tests.tables import walk

pytestmark = pytest.mark.parity

TILES = [*range(0x40, 0x90, 0x10), t.Tile.CLEARING, t.Tile.VIRUS, t.Tile.EMPTIED]
WEIGHTS = {
    name: value
    for name, value in zip(COEFFICIENTS, np.linspace(-1.7, 2.3, len(COEFFICIENTS)), strict=True)
}


def scatter(game, rng):
    """Put anything that a row can hold into a game's players and head."""
    for player in game.players:
        density = rng.random()
        player.board = [
            int(rng.choice(TILES)) | int(rng.integers(3)) if rng.random() < density else t.EMPTY
            for _ in range(t.CELLS)
        ]
        player.next_action = int(rng.choice([0, 1, 2, 3, 5, 6]))
        player.placed_step = int(rng.integers(9))
        player.rot, player.preview_rot = int(rng.integers(4)), int(rng.integers(4))
        player.row, player.col = int(rng.integers(16)), int(rng.integers(8 - (player.rot + 1) % 2))
        for name in ("color_first", "color_second", "preview_first", "preview_second"):
            setattr(player, name, int(rng.integers(3)))
        player.speed_counter = int(rng.integers(70))
        player.level = int(rng.integers(-15 if len(game.players) == 1 else 0, 25))
        player.initial_viruses = int(rng.integers(85))
        player.virus_bcd = t.to_bcd(int(rng.integers(player.initial_viruses + 1)))
        player.speed_setting = int(rng.integers(3))
        player.matches, player.locks = int(rng.integers(14)), int(rng.integers(200))
        player.ev_locks = int(rng.integers(2))
        player.ev_lock_row, player.ev_lock_col, player.ev_lock_rot = 3, 4, int(rng.integers(4))
        player.ev_tiles_virus, player.ev_tiles_nonvirus = rng.integers(0, 9, 2).tolist()
        player.ev_adjacency = rng.integers(0, 3, 3).tolist()
        player.ev_virus_adjacency = rng.integers(0, 3, 3).tolist()
        player.ev_matches, player.score = int(rng.integers(4)), int(rng.integers(10_000))
        player.ev_height, player.buttons_pressed = int(rng.integers(41)), int(rng.integers(256))
        player.ev_garbage_sent, player.attack_size = rng.integers(0, 5, 2).tolist()
        player.ev_volleys, player.ev_volley_size = rng.integers(0, 5, 2).tolist()
        player.ev_volley_colors = rng.integers(0, 3, 4).tolist()
        player.stage_clear, player.level_fail = rng.integers(0, 2, 2).tolist()
        player.ev_invalid, player.ev_cost = int(rng.integers(2)), int(rng.integers(500))
        player.measure()
    game.done = int(rng.integers(3))
    game.reason = int(rng.choice([t.Reason.CLEAR, t.Reason.TOPOUT])) if game.done == 1 else 0
    game.ep_frames, game.frame = int(rng.integers(100_000)), int(rng.integers(2**32))
    game.task_max_frames = int(rng.integers(1, 9000)) if rng.random() < 0.5 else 0
    game.task_max_spawns = int(rng.integers(1, 99)) if rng.random() < 0.5 else 0
    game.tau = int(rng.integers(400)) if len(game.players) == 1 else rng.integers(0, 9, 2).tolist()


def random_game(config, rng):
    """Return a game in a state that need not be one of play."""
    game = DrMario(config)
    game.reset(config.knobs_record()[0], seed=int(rng.integers(2**32)))
    for _ in range(config.stack if config.stack > 1 else 1):
        scatter(game, rng)
        for player, stack in zip(game.players, game.stack, strict=bool(game.stack)):
            stack[:] = [*stack[1:], encoding.view_of(player)]
    scatter(game, rng)
    return game


def random_costs(config, rng):
    """Return for each player 512 costs, few or many of them feasible, or None."""
    if not config.placement:
        return [None] * config.agents
    costs = rng.integers(1, 300, (config.agents, t.NUM_PLACEMENTS))
    costs[rng.random(costs.shape) < rng.random()] = t.INFEASIBLE
    return [None if rng.random() < 0.2 else each.tolist() for each in costs]


class Buffers:
    """Buffers of one row, and the compiled functions over them."""

    def __init__(self, config):
        self.config, agents = config, config.agents
        functions = kernels.functions(agents)
        self.observe = callable_at(functions.observe, None, 5)
        self.reward = callable_at(functions.reward, ctypes.c_int, 5)
        self.info = callable_at(functions.info, None, 4)
        self.row = aligned(1, state_dtype(agents, config.stack))
        self.derived = aligned(1, derived_dtype(agents))
        self.shared = aligned(1, SHARED_DTYPE)
        self.shared["rules"] = config.rules_record()
        self.obs = unwritten(agents, config.obs_record())
        self.mask = unwritten((agents, config.num_actions), np.uint8)
        self.paid = unwritten(agents, np.float32)
        self.terms = unwritten((agents, len(layout.REWARD_TERMS)), np.float64)
        self.columns = unwritten(1, layout.info_dtype(agents))

    def fill(self, game, costs):
        """Let the kernels write about a game."""
        self.row[:] = np.frombuffer(position.pack(game), self.row.dtype)
        self.derived[:] = np.zeros((), self.derived.dtype)
        for record, each in zip(self.derived["players"][0], costs, strict=True):
            record["known"], record["costs"] = each is not None, 7 if each is None else each
        at = self.derived.ctypes.data if self.config.placement else None
        row = (self.row.ctypes.data, at, self.shared.ctypes.data)
        self.observe(*row, self.obs.ctypes.data, self.mask.ctypes.data)
        assert self.reward(*row, self.paid.ctypes.data, self.terms.ctypes.data)
        self.info(*row, self.columns.ctypes.data)


def assert_same(config, game, costs, shown=None):
    """Compare what kernels write about a game and plain Python about ``shown``, by default it."""
    shown = game if shown is None else shown
    compiled = Buffers(config)
    compiled.fill(game, costs)
    record = config.obs_record()
    obs = unwritten(config.agents, record)
    plain = obs["planes"] if record.names == ("planes",) else obs
    encoding.encode_obs(shown, costs, plain)
    for name in record.names:
        kind = f"u{record[name].base.itemsize}"
        got, expected = compiled.obs[name], obs[name]
        np.testing.assert_array_equal(got.view(kind), expected.view(kind), err_msg=name)
    mask = np.zeros_like(compiled.mask)
    encoding.action_mask(shown, costs, mask)
    np.testing.assert_array_equal(compiled.mask, mask)
    paid, terms = rewards.reward(shown)
    np.testing.assert_array_equal(compiled.terms, np.array(terms))
    np.testing.assert_array_equal(compiled.paid, np.array(paid, np.float32))
    columns = encoding.info(shown, costs)
    for name, value in zip(layout.info_dtype(config.agents).names, columns, strict=True):
        np.testing.assert_array_equal(compiled.columns[name][0], value, err_msg=name)


@st.composite
def configs(draw):
    """Draw a configuration with everything that changes what is written."""
    agents, placement = draw(st.sampled_from([1, 2])), draw(st.booleans())
    names = [n for n in layout.OBSERVATIONS if placement or "mask" not in n]
    extras = [n for n in layout.EXTRAS if placement or n not in layout.PLACEMENT_EXTRAS]
    chosen = draw(st.sets(st.sampled_from(extras)))
    if "aux_vs" in chosen:
        chosen.discard("aux")
    return DrMarioConfig(
        agents=agents,
        placement=placement,
        stack=1 if placement else draw(st.sampled_from([1, t.STACK])),
        obs=draw(st.sampled_from(names)),
        obs_dtype=draw(st.sampled_from(layout.OBS_DTYPES)),
        extras=tuple(chosen),
        candidates=draw(st.sampled_from([1, 5, 128, 512])),
        rewards=WEIGHTS,
    )


@given(config=configs(), seed=st.integers(0, 2**32 - 1))
def test_kernels_write_what_plain_python_computes(config, seed):
    rng = np.random.default_rng(seed)
    game, costs = random_game(config, rng), random_costs(config, rng)
    note(f"seed {seed}")
    assert_same(config, game, costs)


@given(config=configs(), seed=st.integers(0, 2**32 - 1))
def test_what_is_left_out_of_a_game_to_be_shown_is_read_by_nothing(config, seed):
    rng = np.random.default_rng(seed)
    game, costs = random_game(config, rng), random_costs(config, rng)
    shown = new_game(config, None)
    shown.reset(config.knobs_record()[0], seed=int(rng.integers(2**32)))
    for player in shown.players:
        for name in position.UNSEEN_OF_PLAYER:
            setattr(player, name, None)
    note(f"seed {seed}")
    position.fill(shown, position.pack(game))
    for mine, theirs in zip(shown.players, game.players, strict=True):
        assert (mine.needs_decision(), mine.gravity()) == (
            theirs.needs_decision(),
            theirs.gravity(),
        )
    assert_same(config, game, costs, shown)


@walk(("agents", "name", "dtype"), diagonal([1, 2], layout.OBSERVATIONS, layout.OBS_DTYPES))
def test_every_observation(name, dtype, agents):
    config = DrMarioConfig(agents=agents, obs=name, obs_dtype=dtype, rewards=WEIGHTS)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        assert_same(config, random_game(config, rng), random_costs(config, rng))


def test_constants_are_those_of_the_tables():
    for name in (
        "ROWS", "COLUMNS", "CELLS", "NUM_COLORS", "INFEASIBLE", "SPAWN_ROW",
        "SPAWN_COLUMN", "MAX_VIRUSES", "MAX_ATTACK", "LAST_VIRUS_LEVEL", "LOWEST_LEVEL",
        "FEWEST_VIRUSES_LEVEL",
    ):  # fmt: skip
        assert getattr(kernels, name) == getattr(t, name), name
    assert kernels.PLACEMENTS == t.NUM_PLACEMENTS
    assert (kernels.FALLING, kernels.SENT) == (t.Next.FALLING, t.Next.SENT)
    assert t.Reason.CLEAR == kernels.CLEAR
    assert kernels.COUNTED_BUTTONS == rewards.COUNTED_BUTTONS
    assert layout.TIME_SCALE == kernels.TIME_SCALE
    assert kernels.CANONICAL.tolist() == list(t.CANONICAL)
    halves = [[half[:2] for half in halves] for halves in t.HALVES]
    assert kernels.HALVES.tolist() == [[list(half) for half in pair] for pair in halves]
    assert kernels.NUM_PLANES.tolist() == [len(names) for names in layout.PLANES.values()]
    for k, name in enumerate(layout.OBSERVATIONS):
        assert kernels.REDUCED[k] == ("reduced" in name)
        assert kernels.LINKED[k] == ("conn" in name)
        assert kernels.VERSUS[k] == name.endswith("_vs")
        assert kernels.FEASIBLE[k] == ("mask" in name)
    assert layout.OBSERVATIONS[kernels.BITPLANE] == "bitplane"
    assert layout.OBSERVATIONS[kernels.EXTENDED] == "extended"
    assert layout.OBSERVATIONS[kernels.NONE] == "none"


def test_a_decision_is_planned_once_for_rules_and_kernels():
    engine = BatchEngine(make_game(level=3), 1, "numba")
    costs_of.cache_clear()
    engine.reset_many(seeds=0)
    for _ in range(5):
        engine.step_many(engine.mask.argmax(-1).astype(np.int32))
    assert costs_of.cache_info().misses == 6  # that of the reset too
