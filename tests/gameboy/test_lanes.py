"""All backends of the Game Boy's environments give the same bits, and rows say it all."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastenv
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, StateError
from fastenv.gameboy import environment, kernels, make_game, state, tables
from fastenv.gameboy.common import load_common
from fastenv.gameboy.config import GameBoyConfig
from fastenv.gameboy.environment import Environment
from fastenv.gameboy.frames import difference
from fastenv.gameboy.goal_template import load_goal, save_goal
from fastenv.gameboy.lane_position import pack, unpack
from fastenv.verify import Case, draw_options, first_difference
from tests.gameboy.lanes import ENGINES, SHORT, WORLD, engine_of
from tests.needs import needs_core
from tests.slow import every, late, together
from tests.tables import walk

IDS = ("GameBoyGoal-v0", "GameBoyPixels-v0", "GameBoyOverworld-v0", "LanternWalk-v0")


def compare(env_id, seeds, steps):
    for seed in seeds:
        options = draw_options(env_id, seed)
        case = Case(fastenv.make_game(env_id, **options), seed, 2, ENGINES, options)
        assert case.check() is None
        for _ in range(steps):
            difference = case.advance()
            assert difference is None, str(difference)


@pytest.mark.parametrize("env_id", [IDS[1], *late(*IDS[2:])])
@pytest.mark.parametrize(
    ("seeds", "steps"), [(range(1), 3), pytest.param(range(1, 9), 4, marks=pytest.mark.slow)]
)
def test_backends_give_the_same_bits(env_id, seeds, steps):
    compare(env_id, seeds, steps)


@pytest.mark.slow
def test_backends_give_the_same_bits_with_goals():
    compare(IDS[0], range(3), 3)


def all_agree(engines):
    for engine in engines[1:]:
        found = first_difference(engines[0], engine)
        assert found is None, found


def play_on(engines, rows, steps, rng):
    """Load rows, reset one of three lanes, and play."""
    for engine in engines:
        engine.set_states(rows)
    all_agree(engines)
    for engine in engines:
        engine.reset_many(mask=np.array([True, False, False]))
    all_agree(engines)
    for _ in range(steps):
        actions = rng.integers(0, 8, 3)
        for engine in engines:
            engine.step_many(actions)
        all_agree(engines)


@pytest.mark.parametrize("visits", every(2, ["cells", 7]))
def test_hand_made_worlds_go_on_alike(visits, backends):
    """Items and texts that come, visits full of numbers, counters about to run over."""
    game = make_game(**WORLD | {"visits": visits}, **SHORT, stack_k=1, max_steps=9)
    engines = [BatchEngine(game, 3, backend) for backend in backends]
    for engine in engines:
        engine.reset_many(seeds=3)
    rows, rng = engines[0].get_states(), np.random.default_rng(5)
    rows["visits"] = rng.integers(0, 256, rows["visits"].shape)
    rows["visit_id"] = [0xFFFF, 1, 2] if visits == 7 else 0
    rows["ep_length"], rows["cells"] = [0, 7, 8], [0, 5, 2**20]
    rows["ev_items"], rows["ev_events"], rows["ev_cells"] = [1, 0, 255], [3, 0, 1], 1
    rows["ev_dialogue"] = [0, 1, 1]
    rows["wram"][:, 0x100:0x103] = [[2, 15, 15], [0, 16, 0], [200, 255, 99]]
    play_on(engines, rows, 2, rng)


def test_hand_made_goals_go_on_alike(tmp_path, backends):
    """Steps at the goal and away from it, one that reaches it, and one that is the last."""
    shades = np.random.default_rng(1).integers(0, 4, (2, 84, 84), np.uint8)
    template = replace(load_goal("lantern_walk"), shades=shades, stack_k=2, height=84, width=84,
                       frames_per_step=1, release_after_frames=1, tau=0.35)  # fmt: skip
    save_goal(tmp_path, template)
    options = SHORT | {"pixels": "84x84", "stack_k": 2, "max_steps": 9}
    game = make_game(kind="goal", goal=tmp_path, **options)
    engines = [BatchEngine(game, 3, backend) for backend in backends]
    for engine in engines:
        engine.reset_many(seeds=3)
    rows, planes = engines[0].get_states(), template.packed()
    rows["stack"][:2] = np.frombuffer(planes, np.uint8).reshape(2, -1)
    rows["stack"][1, 0, :700] = 0
    rows["distance"][:2] = [0, difference(rows["stack"][1].tobytes(), planes)]
    rows["ev_distance"], rows["near"], rows["ep_length"] = [0, 4000, 7], [0, 1, 5], [3, 0, 8]
    play_on(engines, rows, 2, np.random.default_rng(2))


@pytest.mark.parametrize(("rom", "size"), together([("mbc5", 0x8000), ("mbc2", 0x200)], 2))
def test_ram_of_the_cartridge_is_in_the_row(rom, size, backends):
    one = {"frames_per_step": 1, "release_after_frames": 1, "stack_k": 1}
    game = make_game(rom=f"fastenv/gameboy/roms/micro/{rom}.gb", **one)
    engines = [BatchEngine(game, 3, backend) for backend in backends]
    for engine in engines:
        engine.reset_many(seeds=3)
    rows, rng = engines[0].get_states(), np.random.default_rng(4)
    assert rows["cart"].shape[1] == game.common.cartridge.ram_size == size
    rows["cart"] = rng.integers(1, game.common.cartridge.ram_bits, rows["cart"].shape)
    play_on(engines, rows, 2, rng)
    assert (engines[-1].get_states()["cart"][1] != 0).mean() > 0.9
    for engine in engines:
        engine.reset_many()
        assert not engine.get_states()["cart"].any()
    all_agree(engines)


@pytest.mark.parametrize("kind", ["pixels", "goal", "overworld"])
def test_a_row_is_the_environment(kind):
    common = load_common(GameBoyConfig(kind=kind, states="lantern_walk", start_state=None))
    starts = common.shared()["starts"][0]
    env = Environment(common)
    env.reset(-1, 5, starts)
    row = pack(env)
    assert len(row) == common.dtype.itemsize
    assert pack(unpack(row, common)) == row
    env.reset(-1, None, starts)
    assert pack(env) != row
    env.reset(-1, 5, starts)
    assert pack(env) == row


@needs_core
def test_a_core_of_other_rules_is_refused(monkeypatch):
    from fastenv.gameboy import _core

    monkeypatch.setattr(_core, "SHARED_SIZE", 8)
    with pytest.raises(ConfigError, match="built for shared records of 8 bytes"):
        BatchEngine(make_game(), 1, "fast")


@pytest.mark.parametrize("kind", ["pixels", "goal", "overworld"])
def test_kernels_are_found_in_the_cache_by_another_process(kind):
    """The key of one that closes over a compiled function is another one in every process."""
    compiled = kernels._observe_cfunc(), kernels._reward_cfunc(), kernels._info_cfunc(kind)
    assert [each.__wrapped__.__closure__ for each in compiled] == [None] * 3


def test_kernels_repeat_constants_of_the_state():
    for each in (*state.Place, *state.Form):
        assert getattr(kernels, each.name) == each
    for each in state.Source:
        assert getattr(kernels, f"FROM_{each.name}") == each
    for name in ("M_CYCLE", "LINE", "LINES", "VISIBLE", "SCAN_END", "DRAW_END", "NEXT_LY"):
        assert getattr(kernels, name) == getattr(tables, name)
    for name in ("P1", "DIV", "LCDC", "STAT", "LY"):
        assert getattr(kernels, name) == tables.IO[name]
    assert (state.Kind.GOAL, state.Kind.OVERWORLD) == (kernels.GOAL, kernels.OVERWORLD)
    assert environment.TERMINATED == kernels.TERMINATED
    fields = state.lane_dtype(0, (1, 4), 0).fields
    assert fields["rng"][1] == kernels.STATE
    assert fields["cart"][1] == kernels.STRUCT
    assert list(state.EPISODE_DTYPE.names) == [*fields][-3 - len(state.EPISODE_DTYPE.names) : -3]


# -- rows from outside -----------------------------------------------------------------------------

WRONG = [
    ({}, "done", 3), ({}, "start", 64), ({}, "last_action", 8), ({}, "ep_length", -1),
    ({}, "visit_id", 1), ({}, "rng", 0), ({}, "ep_return", np.nan), ({}, "unused_episode", 1),
    ({}, "near", 1), ({}, "ev_items", 1), ({}, "cells", 1), ({}, "f", 1),
    (WORLD, "ev_cells", 2), (WORLD, "ev_events", 4), (WORLD, "ev_items", -1),
    (WORLD | {"visits": 9}, "visit_id", 0), ({"kind": "goal"}, "distance", 1),
    ({"kind": "goal"}, "ev_distance", 99_999), ({"kind": "goal"}, "near", -1),
]  # fmt: skip


@walk(("options", "field", "value"), WRONG, ids=lambda x: str(x)[:40])
def test_impossible_rows_are_refused_by_field(options, field, value):
    engine = engine_of(2, "numba", stack_k=1, states="lantern_walk", **options)
    rows, before = engine.get_states(), engine.get_state()
    rows[field][1] = value
    with pytest.raises(StateError, match=rf"lane 1: {field} "):
        engine.set_states(rows)
    assert np.array_equal(engine.get_state(), before)


@needs_core
@given(seed=st.integers(0, 2**32 - 1), changed=st.integers(0, 3))
def test_random_bytes_are_refused_or_played(seed, changed):
    """Memory, frames and visits may hold anything; of an episode some bytes are changed."""
    rng = np.random.default_rng(seed)
    engine = engine_of(3, **WORLD | {"visits": 100}, start_state=None)
    rows = engine.get_states()
    for name in ("oam", "vram", "wram", "stack", "visits"):
        rows[name] = rng.integers(0, 256, rows[name].shape)
    engine.set_states(rows)
    engine.step_many(rng.integers(0, 8, 3))
    blob, fields = engine.get_state(), engine.spec.state_dtype.fields
    episode = blob[:, fields["rng"][1] : fields["cart"][1]]
    episode[rng.integers(0, 3, changed), rng.integers(0, episode.shape[1], changed)] ^= 1
    with contextlib.suppress(StateError):
        engine.set_state(None, blob)
    for _ in range(2):
        engine.step_many(rng.integers(0, 8, 3), select=~engine.ended)
