"""Two Game Boys on a cable as an environment of two agents (docs/gameboy.md, 22.1)."""

import json

import numpy as np
import pytest

import fastenv
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, StateError
from fastenv.gameboy.cartridge import load_cartridge
from fastenv.gameboy.linked import make_game
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.reference import Link
from fastenv.gameboy.savestate import save_state
from fastenv.gameboy.shipped import shipped
from tests.gameboy.test_lanes import compare
from tests.needs import FASTEST, needs_core
from tests.tables import walk

FRAME = {"frames_per_step": 1, "release_after_frames": 1}
UP, DOWN = 4, 5  # actions


def rom(name):
    return str(shipped("roms", f"{name}.gb"))


def engine_of(n=1, backend=FASTEST, threads=1, **options):
    engine = BatchEngine(make_game(**options), n, backend, num_threads=threads)
    engine.reset_many(seeds=0)
    return engine


def play(engine, steps, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        engine.step_many(rng.integers(0, engine.num_actions, (engine.num_envs, 2)))
        yield engine


def column(engine, name):
    return engine.info[name].tolist()


# -- programs --------------------------------------------------------------------------------------


def report(machine):
    """Return result, checks, role and falls of the checking program."""
    return bytes(machine.bus.wram[:4])


@needs_core
def test_the_checking_program_passes_at_both_ends():
    engine = engine_of(roms=rom("cable"), frames_per_step=150, release_after_frames=150)
    engine.step_many(np.zeros((1, 2), np.int32))
    lanes = [engine.game.common.lanes(engine.get_states(), side) for side in (0, 1)]
    seen = {bytes(lane["wram"][0, :4]) for lane in lanes}
    assert seen == {b"\x01\x22\x02\x00", b"\x01\x23\x01\x10"}
    texts = [lane["vram"][0, 0x1800 + 10 * 32 + 2 :][:2].tobytes() for lane in lanes]
    assert texts == [b"OK", b"OK"]


@pytest.mark.slow
def test_the_checking_program_passes_in_the_reference():
    game = make_game(roms=rom("cable"))
    env = game.create()
    env.reset(0, 0, game._starts)
    link = Link(tuple(side.machine for side in env.sides))
    for _ in range(150):
        link.run_frame(draw=False)
    assert {report(machine) for machine in link.machines} == {
        b"\x01\x22\x02\x00",
        b"\x01\x23\x01\x10",
    }


@needs_core
def test_a_duel_is_played_to_its_end():
    engine = engine_of(2, max_steps=None)
    paid, ends = np.zeros((2, 2)), 0
    for _ in play(engine, 900):
        paid += engine.reward
        for lane in np.flatnonzero(engine.terminated):
            ends += 1
            mine, theirs = (
                engine.final_info[name][lane].astype(int) for name in ("mine", "theirs")
            )
            assert mine.max() == 5
            assert mine.tolist() == theirs[::-1].tolist()
            assert paid[lane].tolist() == (mine - theirs).tolist()
            paid[lane] = 0
        if ends > 3:
            break
    assert ends > 3


@needs_core
def test_each_agent_moves_its_own_bat():
    engine = engine_of(max_steps=None)
    for _ in range(20):
        engine.step_many(np.zeros((1, 2), np.int32))
    assert engine.info["role"].tolist() == [[1, 2]]
    bats = []
    for _ in range(12):
        engine.step_many(np.array([[UP, DOWN]], np.int32))
        lanes = [engine.game.common.lanes(engine.get_states(), side) for side in (0, 1)]
        bats.append([lane["wram"][0, 0x106:0x108].tolist() for lane in lanes])
    assert bats[-1] == [[24, 112], [24, 112]], "the same on both consoles"


# -- backends, rows and copies ---------------------------------------------------------------------


@pytest.mark.parity
@pytest.mark.parametrize(
    ("seeds", "steps"), [(range(1), 3), pytest.param(range(1, 4), 10, marks=pytest.mark.slow)]
)
def test_backends_give_the_same_bits(seeds, steps):
    compare("GameBoyLink-v0", seeds, steps)


@needs_core
def test_seeds_and_streams():
    engine = engine_of(2)
    rows = engine.get_states()
    assert rows["rng"][0].tolist() != rows["rng"][1].tolist()
    assert (rows["bot_rng"].any(axis=1)).all()
    engine.reset_many(seeds=0)
    assert engine.get_states().tobytes() == rows.tobytes()


# -- two programs, states and maps -----------------------------------------------------------------


@needs_core
def test_two_roms_and_a_map_with_tables(tmp_path):
    data = {"fields": {"word": {"address": "$C100", "type": "<u2"},
                       "some": {"address": "$C200", "type": "u1", "count": 3}},
            "rewards": {"word": {"value": "delta(word)", "weight": 0.5}},
            "ends": {"truncated": "word == 258"}}  # fmt: skip
    path = tmp_path / "map.json"
    path.write_text(json.dumps(data))
    options = {"roms": ("duel", "lantern_walk"), "ram_map": str(path), **FRAME}
    fast, slow = engine_of(1, **options), engine_of(1, "reference", **options)
    assert fast.info["some"].shape == (1, 2, 3)
    for _ in zip(play(fast, 3), play(slow, 3), strict=True):
        assert fast.get_states().tobytes() == slow.get_states().tobytes()
        for name in fast.info:
            np.testing.assert_array_equal(fast.info[name], slow.info[name])


@needs_core
def test_states_of_both_sides(tmp_path):
    from fastenv.gameboy.console import Console

    cartridge = load_cartridge(rom("duel"))
    console = Console(cartridge, power_up_row(cartridge))
    console.run_frames(30)
    path = tmp_path / "duel.state"
    save_state(path, console.row, cartridge)
    engine = engine_of(states=(str(path), "power_up"))
    lanes = [engine.game.common.lanes(engine.get_states(), side)[0] for side in (0, 1)]
    assert [int(lane["cyc"]) for lane in lanes] == [0, 0]
    assert lanes[0]["instr"] == console.row["instr"][0] > lanes[1]["instr"]
    for _ in play(engine, 40):
        pass
    assert sorted(engine.info["role"][0].tolist()) == [1, 2]


# -- views -----------------------------------------------------------------------------------------


@needs_core
def test_gymnasium_shows_one_side_beside_a_bot():
    env = fastenv.make("GameBoyLink-v0", opponent="random", agent_seat=1)
    obs, _ = env.reset(seed=3)
    assert obs.shape == (4, 72, 80)
    rewards = [env.step(DOWN)[1] for _ in range(120)]
    assert set(rewards) <= {-1.0, 0.0, 1.0}
    assert any(rewards)
    assert sorted(env.step(DOWN)[4]["role"].tolist()) == [1, 2]


@needs_core
def test_pictures():
    engine = engine_of()
    for _ in play(engine, 30):
        pass
    row, game = engine.get_states()[0], engine.game
    both = game.render(row, "rgb_array")
    assert both.shape == (144, 328, 3)
    for seat, part in enumerate((both[:, :160], both[:, 168:])):
        np.testing.assert_array_equal(game.render_seat(row, seat, "rgb_array"), part)
    lines = game.render(row, "ansi").splitlines()
    assert lines[0] == "step 30"
    assert len(lines) == 1 + 18


# -- refusals --------------------------------------------------------------------------------------


@walk(
    ("options", "message"),
    [
        ({"roms": ("duel",)}, "roms=.* is not possible: roms must be one for both sides, or two."),
        ({"roms": 3}, "rom=3 is not possible: rom must be the path of a file"),
        ({"actions": "multi_binary"}, "actions must be a list of chords with two agents"),
        ({"sticky": 0.5}, "two Game Boys has no option 'sticky'|sticky"),
        ({"frames_per_step": 0}, "frames_per_step must be an integer from 1"),
        ({"frame_skip": 2, "frames_per_step": 2}, "frames_per_step must be left out: frame_skip"),
        ({"start_state": 1}, "start_state=1 is not possible: it must be from 0 to 0"),
        ({"ram_map": "nothing.json"}, "ram_map: .*nothing.json"),
        ({"preset": "large"}, "preset must be one of 'scale'"),
    ],
)
def test_options_are_refused_by_name(options, message):
    with pytest.raises(ConfigError, match=message):
        make_game(**options)


@needs_core
@walk(
    ("change", "message"),
    [
        (lambda row: row["needs_action"].fill(0), "needs_action is not possible: must be 1"),
        (lambda row: row["rng"].fill(0), "rng is all zeros"),
        (lambda row: row["first"][0].__setitem__(slice(0, 8), 255), "first: .*cyc is not possible"),
        (lambda row: row["second"][0].__setitem__(slice(0, 3), [16, 39, 1]),
         "cyc is not possible: both sides must be in the same frame"),
        (lambda row: row["unused_link"].fill(1), "unused_link is not possible: must be 0"),
        (lambda row: row["ep_return"].fill(np.nan), "ep_return is not possible: must be finite"),
    ],
)  # fmt: skip
def test_rows_are_refused_by_field(change, message):
    engine = engine_of()
    rows = engine.get_states()
    change(rows)
    with pytest.raises(StateError, match=message):
        engine.set_states(rows)
