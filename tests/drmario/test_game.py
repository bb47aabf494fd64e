"""The game as an engine sees it: options, knobs, opponents, rows that are refused."""

from zipfile import ZipFile

import numpy as np
import pytest

from fastenv.drmario import make_game
from fastenv.drmario import tables as t
from fastenv.engine import BatchEngine, rng_streams
from fastenv.errors import ConfigError, StateError
from tests.needs import FASTEST
from tests.tables import walk


def engine_of(n=2, seed=1, opponent=None, **options):
    engine = BatchEngine(make_game(**options), n, FASTEST, opponent=opponent)
    engine.reset_many(seeds=seed)
    return engine


@walk(
    ("options", "message"),
    [
        ({"level": 25}, "level=25 is not possible: level must be an integer from -15 to 24"),
        ({"level": -1, "agents": 2}, "level=-1 .* from 0 to 24"),
        ({"level": (1, 2)}, r"level=\(1, 2\)"),
        ({"speed": "fast"}, "speed='fast' .* 'low', 'medium', 'high'"),
        ({"game_seed": 1}, "game_seed=1 .* 0 and 1 give no level"),
        ({"game_seed": 65536}, "game_seed=65536"),
        ({"obs": "pixels"}, "obs='pixels' is not possible: obs must be one of 'bitplane_bottle'"),
        ({"mode": "replay", "agents": 2}, "mode='replay' .* placements of two players"),
        ({"stack": 4}, "stack=4 .* placements"),
        ({"placement": False, "mode": "replay"}, "mode='replay' .* frames"),
        ({"intro_frames": 0}, "intro_frames=0 .* from 1 to 255"),
        ({"max_wait_frames": 0}, "max_wait_frames=0"),
        ({"topout_penalty": "much"}, "topout_penalty='much' .* a finite number"),
        ({"garbage_coef": 1e308}, r"garbage_coef=1e\+308 .* from -1000000 to 1000000"),
        ({"topout_penalty": -1_000_001}, "topout_penalty=-1000001 .* from -1000000 to 1000000"),
        ({"action_penalty_scale": 10**400}, "action_penalty_scale=1000.* to 1000000"),
        ({"pill_place_growth": float("nan")}, "pill_place_growth=nan .* a finite number"),
        ({"pill_place_base": np.float32("-inf")}, "pill_place_base=.*inf.* a finite number"),
        ({"viruses": 3}, "'viruses' is not an option of Dr. Mario; options: level, speed, "),
        ({"demo": "nowhere.npz", "placement": False}, "demo: nowhere.npz cannot be read"),
        ({"demo": 1, "placement": False}, "demo: 1 is no path of a file"),
    ],
)
def test_options_that_are_not_there_are_refused_by_name(options, message):
    with pytest.raises(ConfigError, match=message):
        make_game(**options)


@walk("value", [4.0, 2, True, np.True_, np.array([1, 4]), np.array(4), "4", None, [1]], ids=repr)
def test_a_stack_that_is_no_number_of_frames_is_refused(value):
    with pytest.raises(ConfigError) as caught:
        make_game(placement=False, stack=value)
    assert str(caught.value) == f"stack={value!r} is not possible: stack must be 1 or 4."
    make_game(placement=False, stack=np.int64(4))


def test_defaults_of_any_type_are_those_of_the_other_kind():
    make_game(stack=np.int64(1))
    make_game(placement=False, extended_inputs=np.False_, max_wait_frames=np.int32(t.MAX_WAIT))


@pytest.mark.parametrize("value", [10**6, -1e6, np.float32(1e6), np.int16(-3)], ids=repr)
def test_coefficients_of_any_type_become_doubles(value):
    config = make_game(topout_penalty=value).config
    assert type(config.rewards["topout_penalty"]) is float
    assert config.rules_record()["topout_penalty"] == [config.rewards["topout_penalty"]] == [value]


def demo_arrays():
    return {
        "initial_board": np.full(128, 0xFF, np.uint8),
        "pill_table": np.zeros(128, np.uint8),
        "input_table": np.zeros((256, 2), np.uint8),
    }


def test_a_recording_with_columns_beside_the_tables_of_the_demo_is_read(tmp_path):
    path = tmp_path / "demo.npz"
    np.savez(path, **demo_arrays(), pill_row=np.zeros(100_000, np.uint8))
    make_game(placement=False, demo=path)


@pytest.mark.parametrize("damage", ["truncated", "other schema"])
def test_a_demo_file_that_is_no_demo_is_refused_by_name(damage, tmp_path):
    path = tmp_path / "demo.npz"
    arrays = demo_arrays()
    if damage == "other schema":
        arrays["pill_table"] = np.full(128, 9, np.uint8)
    np.savez(path, **arrays)
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ConfigError, match=r"demo\.npz"):
        make_game(placement=False, demo=path)


def write_other(kind, path):
    if kind == "an array":
        np.save(path, demo_arrays()["initial_board"])
    elif kind == "an array missing":
        arrays = demo_arrays()
        del arrays["pill_table"]
        with open(path, "wb") as file:  # by its name alone it would end with .npz
            np.savez(file, **arrays)
    elif kind == "a broken array":
        with ZipFile(path, "w") as file:
            for name in demo_arrays():
                file.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00")
    else:
        path.write_bytes({"nothing": b"", "text": b"a demo\n", "a pickle": b"\x80\x04N."}[kind])


@pytest.mark.parametrize(
    "kind", ["an array", "an array missing", "a broken array", "nothing", "text", "a pickle"]
)
def test_a_file_of_another_kind_is_no_demo(kind, tmp_path):
    path = tmp_path / "d.npy"
    write_other(kind, path)
    with pytest.raises(ConfigError) as caught:
        make_game(placement=False, demo=path)
    why = "has no array 'pill_table'" if "missing" in kind else "is no .npz file, or damaged"
    assert str(caught.value).startswith(f"demo: {path} {why}")


@pytest.mark.parametrize("cell", [0x00, 0x33, 0x43, 0xB7, 0xD9, 0xF3, 0xFE])
def test_a_demo_with_cells_that_are_no_tiles_is_refused(cell, tmp_path):
    arrays = demo_arrays()
    arrays["initial_board"][[0, 1, 2, 3]] = 0x40, 0xB2, 0xD0, 0xFF
    np.savez(tmp_path / "demo.npz", **arrays)
    make_game(placement=False, demo=tmp_path / "demo.npz")
    arrays["initial_board"][17] = cell
    np.savez(tmp_path / "demo.npz", **arrays)
    with pytest.raises(ConfigError, match=r"demo\.npz: the cells of initial_board must be tiles"):
        make_game(placement=False, demo=tmp_path / "demo.npz")


def test_seed_zero_is_a_seed_like_any_other():
    row = engine_of(seed=0).get_states()[0]
    assert row["seed"].astype(int) @ [256, 1] >= t.FIRST_SEED


def test_knobs_take_effect_at_the_next_reset():
    engine = engine_of(level=3)
    engine.configure("level", 10, [1])
    engine.configure("game_seed", 0x1234, [1])
    assert engine.get_knob("level") == [3, 10]
    assert engine.get_knob("game_seed") == [None, 0x1234]
    assert engine.info["viruses"].tolist() == [16, 16]
    engine.reset_many()
    assert engine.info["viruses"].tolist() == [16, 44]
    assert engine.info["game_seed"][1] == 0x1234
    with pytest.raises(ConfigError, match="level=30"):
        engine.configure("level", 30)
    with pytest.raises(ConfigError, match="'gravity' is not a knob"):
        engine.configure("gravity", 1)


@pytest.mark.parametrize("placement", [False, True])
def test_a_match_is_shown_as_one_agent_with_a_bot(placement):
    opponent = "first" if placement else "random"
    engine = engine_of(opponent=opponent, agents=2, placement=placement, level=(4, 10))
    for _ in range(30):
        engine.step_many(engine.mask.argmax(axis=1))
        assert engine.mask.any(axis=1).all()
        assert (engine.tau > 0).all()


@pytest.mark.parametrize("actions", ["latched", "unlatched"])
def test_bots_that_choose_placements_have_no_buttons_where_directions_latch(actions):
    allowed = f"must be one of random with actions='{actions}'"
    assert make_game(placement=False, actions=actions).bot_names == ("random",)
    with pytest.raises(ConfigError, match=f"bot 'greedy': {allowed}"):
        engine_of(placement=False, actions=actions).bot_actions("greedy", rng_streams(0, 4))
    with pytest.raises(ConfigError, match=f"bot 'first': {allowed}"):
        engine_of(opponent="first", agents=2, placement=False, actions=actions)


REFUSED = {
    "board": ("board", 0x9F, "cells must be tiles"),
    "row": ("row", 3, "it must be 15 of a new pill"),
    "speed": ("speed_setting", 3, "from 0 to 2"),
    "colour": ("color_first", 3, "from 0 to 2"),
    "mode": ("mode", 0, "0 is that of a demo"),
    "buttons": ("buttons_held", 1, "must be buttons_held"),
    "count": ("virus_bcd", 0x1A, "two decimal digits"),
    "plan": ("plan_left", 5, "0 unless a pill"),
    "clearing": ("clearing", 1, "cells are being cleared"),
    "cleared": ("stage_clear", 1, "virus_bcd 0"),
}


@walk("name", REFUSED)
def test_rows_that_no_game_can_be_in_are_refused(name):
    field, value, message = REFUSED[name]
    engine = engine_of(level=2)
    rows, before = engine.get_states(), engine.get_state().tobytes()
    rows["players"][field][1] = value
    with pytest.raises(StateError, match=f"lane 1, player 0: .*{message}"):
        engine.set_states(rows)
    assert engine.get_state().tobytes() == before


@pytest.mark.parametrize(("agents", "placement"), [(1, False), (1, True), (2, False), (2, True)])
def test_no_rows_are_loaded_into_no_lanes(agents, placement):
    game = make_game(agents=agents, placement=placement)
    game.validate(np.zeros(0, game.spec.state_dtype))


def test_a_generator_of_zeros_is_refused():
    engine = engine_of()
    rows = engine.get_states()
    rows["rng"][1] = 0
    with pytest.raises(StateError, match="lane 1: rng"):
        engine.set_states(rows)


@pytest.mark.parametrize("agents", [1, 2])
def test_rows_keep_to_their_size(agents):
    for placement in (False, True):
        spec = make_game(agents=agents, placement=placement, stack=1).spec
        assert spec.state_dtype.itemsize <= 512 * agents
    shown = make_game(agents=agents, placement=False, stack=4).spec.state_dtype
    plain = make_game(agents=agents, placement=False, stack=1).spec.state_dtype
    assert shown.itemsize - plain.itemsize <= 4 * 144 * agents


@pytest.mark.parametrize("agents", [1, 2])
def test_a_game_can_be_drawn(agents):
    engine = engine_of(agents=agents)
    row = engine.get_states()[0]
    assert "viruses" in engine.game.render(row, "ansi")


@pytest.mark.parametrize("options", [{}, {"agents": 2, "placement": True}])
def test_rows_of_before_decisions_were_counted_are_loaded(options):
    """They have the same bytes, four of which had another name."""
    engine, other = (engine_of(seed=seed, **options) for seed in (1, 2))
    former = engine.spec.former_dtype
    assert former != engine.spec.state_dtype
    assert "unused_end" in former["players"].base.names
    other.set_states(engine.get_states().view(former))
    assert other.get_states().tobytes() == engine.get_states().tobytes()
    with pytest.raises(StateError, match="rows"):
        other.set_states(np.zeros(2, [("players", former["players"])]))
