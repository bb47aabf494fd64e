"""What holds for environments of the Game Boy: stacks, resets, actions, visits, goals, ends."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastenv.__main__ import main
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, StateError
from fastenv.gameboy import make_game
from fastenv.gameboy.bank import make_bank
from fastenv.gameboy.common import load_common, read_rom
from fastenv.gameboy.config import GameBoyConfig
from fastenv.gameboy.environment import HASH_FACTORS, Environment
from fastenv.gameboy.frames import FORMATS, difference, unpack
from fastenv.gameboy.goal_template import load_goal
from fastenv.gameboy.lane_position import pack
from fastenv.gameboy.lantern_walk import Solver, load_world
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.savestate import save_state
from fastenv.gameboy.starts import BANKS, load_starts, picture_of, save_bank
from fastenv.gameboy.state import state_dtype
from fastenv.gameboy.tables import WRAM, Key
from tests.gameboy.lanes import SHORT, WORLD, engine_of
from tests.needs import needs_core
from tests.tables import walk
from tools.gameboy.machines import build

ROM = read_rom("lantern_walk")
WALK = {"states": "lantern_walk", "start_state": None}
NOOP, A, B, START, UP, DOWN, LEFT, RIGHT = range(8)


def play(engine, steps, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        engine.step_many(rng.integers(0, engine.num_actions, engine.num_envs))
        yield engine


# -- frames (docs/gameboy.md, 17) ------------------------------------------------------------------


@needs_core
@walk("stack_k", [1, 2, 4])
@walk("pixels", FORMATS)
def test_a_step_moves_the_stack_and_adds_the_frame(pixels, stack_k):
    engine = engine_of(2, pixels=pixels, stack_k=stack_k, **WALK)
    before = engine.obs.copy()
    assert (before == before[:, :1]).all()
    for _ in play(engine, 5):
        assert np.array_equal(engine.obs[:, :-1], before[:, 1:])
        before = engine.obs.copy()


@needs_core
def test_formats_are_parts_of_one_picture():
    shown = {name: engine_of(4, pixels=name, stack_k=1, **WALK) for name in FORMATS}
    for engine in shown.values():
        for _ in play(engine, 6):
            pass
    found = {name: engine.obs[:, 0] for name, engine in shown.items()}
    whole = found["160x144"]
    assert whole.max() == 3
    assert np.array_equal(found["72x80"], whole[:, ::2, ::2])
    ys, xs = ((2 * np.arange(84) + 1) * size // 168 for size in (144, 160))
    assert np.array_equal(found["84x84"], whole[:, ys][:, :, xs])
    packed = np.stack([found["packed72x20"] >> k & 3 for k in (0, 2, 4, 6)], axis=-1)
    assert np.array_equal(packed.reshape(4, 72, 80), found["72x80"])
    gray = engine_of(4, pixels="72x80", stack_k=1, pixel_mode="gray", **WALK)
    for _ in play(gray, 6):
        pass
    assert np.array_equal(gray.obs[:, 0], 255 - 85 * found["72x80"])


def test_a_format_packs_and_unpacks():
    picture = np.random.default_rng(0).integers(0, 4, (144, 160))
    for form in FORMATS.values():
        shades = np.array(unpack(form.pack(picture.reshape(-1).tolist())))
        expected = picture[list(form.ys)][:, list(form.xs)]
        assert np.array_equal(shades.reshape(expected.shape), expected)


# -- actions (docs/gameboy.md, 16) -----------------------------------------------------------------


@needs_core
@pytest.mark.parametrize("release", [1, 3])
def test_a_button_is_held_until_it_is_released(release):
    engine = engine_of(frames_per_step=3, release_after_frames=release, states="lantern_walk")
    held = load_world().memory["held"] - WRAM
    engine.step_many(np.array([LEFT]))
    row = engine.get_states()[0]
    assert row["keys"] == (1 << Key.LEFT if release == 3 else 0)
    assert bool(row["wram"][held]) == (release == 3)


@needs_core
def test_all9_adds_select_and_other_buttons_are_the_same():
    names = make_game(action_codec="all9").config.action_names
    keys = make_game(action_codec="all9").config.keys
    assert names[:8] == make_game().config.action_names
    assert [Key(key.bit_length() - 1).name.lower() for key in keys[1:]] == [*names[1:]]


@needs_core
def test_what_is_not_allowed_is_masked_and_presses_nothing():
    engine = engine_of(8, allowed_buttons=("left", "a"), states="lantern_walk")
    assert engine.mask.tolist() == [[1, 1, 0, 0, 0, 0, 1, 0]] * 8
    for _ in range(3):
        engine.step_many(np.arange(8))
    rows = engine.get_states()
    noop, down, left = (rows["wram"][k].tobytes() for k in (NOOP, DOWN, LEFT))
    assert noop == down != left


@needs_core
def test_sticky_actions_repeat_at_their_rate():
    n, engine = 512, engine_of(512, sticky=0.25, frames_per_step=1, release_after_frames=1)
    engine.step_many(np.full(n, A))
    assert 0.15 < np.mean(engine.get_states()["last_action"] == NOOP) < 0.35
    always = engine_of(1, sticky=1.0, frames_per_step=1, release_after_frames=1)
    always.step_many(np.array([A]))
    assert always.get_states()["last_action"][0] == NOOP


# -- start states and resets (docs/gameboy.md, 18) -------------------------------------------------


@needs_core
def test_start_states_are_drawn_from_the_stream_and_chosen_by_the_knob():
    engine = engine_of(300, stack_k=1, **WALK)
    starts = engine.info["start_state"].copy()
    assert set(starts.tolist()) <= {*range(64)}
    assert len(set(starts.tolist())) > 50
    again = engine_of(300, stack_k=1, **WALK)
    assert np.array_equal(again.info["start_state"], starts)
    engine.configure("start_state", 7, [0, 2])
    engine.reset_many()
    assert engine.info["start_state"][[0, 2]].tolist() == [7, 7]
    assert len(set(engine.info["start_state"].tolist())) > 30
    assert engine.get_knob("start_state", [0, 1]) == [7, None]
    with pytest.raises(ConfigError, match="start_state=64"):
        engine.configure("start_state", 64)


def test_banks_of_ours_differ_and_reach_all_maps():
    memory, seen = load_world().memory, set()
    for name in BANKS:
        bank = load_starts(name, ROM)
        assert len(bank.rows) == 64
        rows = {row.tobytes() for row in bank.rows}
        assert len(rows) == 64
        assert not rows & seen
        seen |= rows
        assert set(bank.rows["wram"][:, memory["map"] - WRAM].tolist()) == {0, 1, 2}
        assert (bank.rows["wram"][:, memory["done"] - WRAM] == 0).all()
        assert not (bank.rows["wram"][:, memory["quest"] - WRAM].any() and "dark" in name)
    first = load_starts(BANKS[0], ROM).rows["wram"][0]
    assert [first[memory[name] - WRAM] for name in ("map", "x", "y", "items")] == [0, 2, 4, 0]


@needs_core
def test_a_save_state_is_a_start_state_and_shows_its_picture(tmp_path):
    bank = load_starts("lantern_walk", ROM)
    save_state(tmp_path / "one.state", bank.rows[3:4], ROM)
    engine = engine_of(states=tmp_path / "one.state", stack_k=1, pixels="160x144")
    machine = np.zeros(1, state_dtype(0))
    for name in machine.dtype.names:
        machine[name] = engine.get_states()[name]
    assert machine.tobytes() == bank.rows[3:4].tobytes()
    shown = np.array(unpack(bank.frames[3].tobytes()))
    assert np.mean(engine.obs.reshape(-1) == shown) > 0.95  # but for what has moved meanwhile


def test_the_picture_at_power_up_is_what_the_boot_program_has_shown():
    shown = np.frombuffer(picture_of(power_up_row(ROM), ROM), np.uint8).reshape(144, 160)
    sign = shown[64:72, 128:136]  # of a cartridge without a logo it is alone
    assert ["".join(".#"[int(shade > 0)] for shade in line) for line in sign] == [
        "..####..",
        ".#....#.",
        "#.###..#",
        "#.#..#.#",
        "#.###..#",
        "#.#..#.#",
        ".#....#.",
        "..####..",
    ]
    assert (shown > 0).sum() == (sign > 0).sum()


@needs_core
def test_who_wanders_comes_to_all_maps_and_leaves_the_quest_alone():
    memory = load_world().memory
    bank = make_bank(ROM, 12, 1, 120, wander=True).rows["wram"]
    assert set(bank[:, memory["map"] - WRAM].tolist()) == {0, 1, 2}
    assert not bank[:, memory["quest"] - WRAM].any()


@needs_core
def test_a_bank_is_written_and_read(tmp_path):
    bank = make_bank(ROM, 3, 5, 20, [load_starts("lantern_walk", ROM)])
    save_bank(tmp_path / "bank.npz", bank, ROM)
    found = load_starts(tmp_path / "bank.npz", ROM)
    assert found.rows.tobytes() == bank.rows.tobytes()
    assert np.array_equal(found.frames, bank.frames)
    other = replace(ROM, sha256="0" * 64)
    with pytest.raises(StateError, match=r"bank\.npz: rom_sha256 is"):
        load_starts(tmp_path / "bank.npz", other)
    content = (tmp_path / "bank.npz").read_bytes()
    (tmp_path / "bank.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(ConfigError, match=r"states: .*bank\.npz is no \.npz file, or damaged"):
        load_starts(tmp_path / "bank.npz", ROM)


# -- worlds (docs/gameboy.md, 20) ------------------------------------------------------------------


class Visits:
    """The memory of visits as sets, for environments whose hero is put somewhere."""

    def __init__(self, visits, renewing):
        options = WORLD | SHORT | {"visits": visits, "renewing_events": renewing}
        self.env = Environment(load_common(GameBoyConfig(**options)))
        self.env.reset(0, 0, self.env.common.shared()["starts"][0])
        self.places = self.env.common.ram_map.places
        self.known = {self.slot(self.cell())}

    def cell(self):
        return tuple(self.env.place(name) for name in ("map", "x", "y"))

    def slot(self, cell):
        slots = self.env.common.slots
        if slots == 0:
            return cell
        mixed = 0
        for number, factor in zip(cell, HASH_FACTORS, strict=False):
            mixed ^= number * factor
        return mixed % slots

    def go(self, cell):
        for name, number in zip(("map", "x", "y"), cell, strict=True):
            self.env.machine.bus.wram[self.places[name] & 0x1FFF] = number


@given(
    visits=st.sampled_from(["cells", 5, 65_536]),
    cells=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 17), st.integers(0, 17))),
)
def test_visits_are_remembered_as_sets_would(visits, cells):
    model = Visits(visits, ())
    for cell in cells:
        inside = visits != "cells" or (cell[0] < 3 and cell[1] < 16 and cell[2] < 16)
        model.go(cell)
        expected = inside and model.slot(cell) not in model.known
        assert model.env.visit() == expected
        model.known.add(model.slot(cell))


@pytest.mark.parametrize("visits", ["cells", 64])
def test_chosen_events_make_all_cells_new_again(visits):
    env = Visits(visits, (1,)).env
    no_events = env.seen()
    assert not env.look_around(*no_events)
    assert env.ev_cells == 0
    env.machine.bus.wram[env.common.ram_map.events & 0x1FFF] = 0b01
    assert not env.look_around(*no_events)
    assert (env.ev_events, env.ev_cells) == (1, 0)
    env.machine.bus.wram[env.common.ram_map.events & 0x1FFF] = 0b11
    env.look_around(*no_events)
    assert (env.ev_events, env.ev_cells) == (2, 1)


@needs_core
def test_solver_finishes_lantern_walk_and_is_paid():
    engine, solver = engine_of(kind="overworld", visits="cells", stack_k=1), Solver()
    names, total = engine.game.config.action_names, 0.0
    terms = dict.fromkeys(engine.term_columns, 0.0)
    for _ in range(300):
        wram = engine.get_states()["wram"][0]
        button = solver.button(lambda address, wram=wram: int(wram[address - WRAM]))
        action = 0 if button is None else names.index(button.lower())
        engine.step_many(np.array([action]), autoreset=False)
        total += float(engine.reward[0])
        for name in terms:
            terms[name] += float(engine.info[name][0])
        if engine.ended[0]:
            break
    assert (engine.terminated[0], engine.truncated[0]) == (1, 0)
    assert terms["reward_finish"] == 10
    assert terms["reward_events"] == 3
    assert terms["reward_items"] == pytest.approx(0.05 * 4)
    assert terms["reward_cells"] == pytest.approx(0.01 * engine.final_info["cells"][0])
    assert engine.info["cells"][0] > 80
    assert total == pytest.approx(sum(terms.values()), abs=1e-4)
    assert engine.obs["events"][0].tolist() == [1, 1, 1]
    assert engine.obs["senses"][0, 3] == 1


# -- goals (docs/gameboy.md, 19) -------------------------------------------------------------------


@needs_core
def test_the_actions_of_our_goal_reach_it(capsys):
    folder = "fastenv/gameboy/data/lantern_walk_goal"
    actions = ["--actions", f"{folder}/actions.jsonl"]
    assert main(["goal", "replay", "lantern_walk", *actions, "--calibrate"]) == 0
    tau = float(capsys.readouterr().out.split()[0])
    assert load_goal("lantern_walk").tau < tau


@needs_core
def test_a_goal_is_captured_and_replayed(tmp_path, capsys):
    trace, folder = tmp_path / "trace", str(tmp_path / "goal")
    trace.write_text("[6]\n[6]\n[5]\n[0]\n", encoding="utf-8")
    assert main(["goal", "capture", folder, "--actions", str(trace), "--k-consecutive", "1"]) == 0
    assert main(["goal", "replay", folder, "--actions", str(trace)]) == 0
    trace.write_text("[3]\n", encoding="utf-8")
    status = main(["goal", "replay", folder, "--actions", str(trace)])
    assert "not reached" in capsys.readouterr().out
    assert status == 1
    trace.write_text("[3]\n[8]\n", encoding="utf-8")
    assert main(["goal", "replay", folder, "--actions", str(trace)]) == 2
    assert "line 2 must be a list of one action, 0 to 7" in capsys.readouterr().err


@needs_core
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--tau", "nan"], "tau=nan is not possible: tau must be a finite number from 0.0 to 1.0."),
        (["--tau", "inf"], "tau=inf"),
        (["--tau", "-1"], "tau=-1.0"),
        (["--k-consecutive", "0"], "k_consecutive must be an integer from 1 to "),
        (["--k-consecutive", "-9999"], "k_consecutive=-9999"),
    ],
)
def test_a_goal_that_nothing_could_load_is_not_written(tmp_path, capsys, options, says):
    trace, folder = tmp_path / "trace", tmp_path / "goal"
    trace.write_text("[6]\n", encoding="utf-8")
    assert main(["goal", "capture", str(folder), "--actions", str(trace), *options]) == 2
    assert says in capsys.readouterr().err
    assert not folder.exists() or not [*folder.iterdir()]
    assert main(["goal", "capture", str(trace), "--actions", str(trace)]) == 2
    assert "folder " in (said := capsys.readouterr().err)
    assert "cannot be written" in said
    # `goal replay` would take that name for the goal of ours.
    assert main(["goal", "capture", "lantern_walk", "--actions", str(trace)]) == 2
    assert "folder 'lantern_walk': must be another, such as ./lantern_walk" in (
        capsys.readouterr().err
    )


@needs_core
def test_reward_of_a_goal_is_what_the_page_says():
    engine = engine_of(4, kind="goal", stack_k=2, max_steps=3, start_state=None)
    goal = engine.game.common.goal_planes
    before = engine.info["dist"].copy()
    for step in range(1, 4):
        engine.step_many(np.array([NOOP, UP, LEFT, DOWN]), autoreset=False)
        rows = engine.get_states()
        sums = np.array([difference(row["stack"][-1].tobytes(), goal) for row in rows])
        dist = sums / (3.0 * 72 * 80)
        assert np.array_equal(engine.info["dist"], dist.astype(np.float32))
        expected = -0.01 + (before - dist)
        assert np.allclose(engine.reward, expected, atol=1e-6)
        assert engine.truncated.tolist() == [int(step == 3)] * 4
        before = dist


MISMATCHES = [
    ("frames_per_step", {"frames_per_step": 12}), ("release_after_frames", {
        "release_after_frames": 9}),
    ("height", {"pixels": "84x84"}), ("action_codec", {"action_codec": "all9"}),
]  # fmt: skip


@pytest.mark.parametrize(("field", "options"), MISMATCHES, ids=lambda x: str(x))
def test_a_goal_that_does_not_match_names_the_field(field, options):
    with pytest.raises(ConfigError, match=f"goal='lantern_walk': {field} is"):
        make_game(kind="goal", **options)


def test_a_goal_of_another_rom_is_refused():
    with pytest.raises(ConfigError, match="goal='lantern_walk': rom_sha256 is"):
        make_game(kind="goal", rom="fastenv/gameboy/roms/heavy.gb")


# -- ends ------------------------------------------------------------------------------------------


@needs_core
def test_an_illegal_opcode_truncates_the_episode(tmp_path):
    (tmp_path / "lock.gb").write_bytes(build(b"\xd3").rom)
    engine = engine_of(rom=tmp_path / "lock.gb", stack_k=1)
    engine.step_many(np.array([0]), autoreset=False)
    assert (engine.terminated[0], engine.truncated[0]) == (0, 1)
    assert bool(engine.info["cpu_locked"][0])


@needs_core
def test_python_s_memory_does_not_grow():
    engine = engine_of(8, stack_k=1, max_steps=20, frames_per_step=1, release_after_frames=1)
    actions = np.zeros(8, np.int32)
    for _ in range(50):
        engine.step_many(actions)
    tracemalloc.start()
    try:
        for _ in range(10):
            engine.step_many(actions)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(2000):
            engine.step_many(actions)
        assert tracemalloc.get_traced_memory()[0] - before < 1024
    finally:
        tracemalloc.stop()


# -- options ---------------------------------------------------------------------------------------

REFUSED = [
    ({"rom": ""}, "rom"), ({"rom": "no/where.gb"}, "rom: no/where.gb cannot be read"),
    ({"states": "pwr_up"}, "and ours are power_up, .* Did you mean 'power_up'"),
    ({"rom": "parcle"}, "and ours are lantern_walk, duel, parcel. Did you mean 'parcel'"),
    ({"states": "no/where"}, "states: no/where cannot be read"),
    ({"start_state": 1}, "start_state=1"), ({"start_state": True}, "start_state"),
    ({"frames_per_step": 0}, "frames_per_step=0"), ({"release_after_frames": 25}, "release_after"),
    ({"release_after_frames": 0}, "must be an integer from 1 to 24: a button released before"),
    ({"stack_k": 0}, "stack_k=0"), ({"pixels": "64x64"}, "'72x80', '84x84'"),
    ({"pixel_mode": "rgb"}, "pixel_mode"), ({"sticky": 1.5}, "sticky=1.5"),
    ({"pixels": "packed72x20", "pixel_mode": "gray"}, "pixel_mode='gray'"),
    ({"action_codec": 8}, "action_codec"), ({"allowed_buttons": ("select",)}, "allowed_buttons"),
    ({"max_steps": 0}, "max_steps=0"), ({"alpha": 2.0}, "belongs to kind 'goal'"),
    ({"visits": 9}, "belongs to kind 'overworld'"), ({"colour": 1}, "'colour' is not an option"),
    ({"kind": "goal", "tau": 2}, "tau=2"), ({"kind": "goal", "goal": "no/where"}, "cannot be read"),
    ({"kind": "goal", "k_consecutive": 0}, "k_consecutive=0"),
    ({"rom": "a\0b"}, "rom='a"), ({"states": "\0"}, "states="),
    (WORLD | {"visits": np.zeros(2)}, "visits=array"),
    (WORLD | {"visits": 0}, "visits=0"), (WORLD | {"ram_map": "no/where"}, "cannot be read"),
    (WORLD | {"renewing_events": (3,)}, "renewing_events"),
    (WORLD | {"cell_bonus": np.inf}, "cell_bonus"),
    (WORLD | {"cell_bonus": 1e300}, "cell_bonus=1e.300 .* from -1000000 to 1000000"),
    ({"kind": "goal", "goal_bonus": -1_000_001}, "goal_bonus=-1000001 .* from -1000000 to 1000000"),
    (WORLD | {"rom": "fastenv/gameboy/roms/heavy.gb"}, "ram_map=None"),
]  # fmt: skip


@walk(("options", "says"), REFUSED, ids=lambda x: str(x)[:40])
def test_bad_options_are_refused_by_name(options, says):
    with pytest.raises(ConfigError, match=says):
        make_game(**options)


BAD_MAPS = [
    ("[]", "memory must be"), ('{"memory": {"map": 1}}', "must have map, x, y"),
    ('{"memory": {"map": "$C100", "x": "$C101", "y": "$E000"}}', r"memory\.y='\$E000'"),
    ('{"memory": {"map": 49408, "x": 49409, "y": 49410}}', "size=None"),
    ('{"memory": {"map": 49408, "x": 49409, "y": 49410}, "size": [1, 2]}', "three numbers"),
    ('{"memory": {"map": 49408, "x": 49409, "y": 49410}, "size": [1, 2, 3], "events": '
     '{"address": "$C000", "bits": 3, "rewarded": [3]}}', "numbers below 3"),
    ("{", "is no JSON"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "says"), BAD_MAPS, ids=lambda x: str(x)[:30])
def test_bad_ram_maps_are_refused_by_name(text, says, tmp_path):
    (tmp_path / "map.json").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=says):
        make_game(**WORLD | {"ram_map": tmp_path / "map.json"})


def test_a_ram_map_may_have_other_places_and_fewer(tmp_path):
    (tmp_path / "map.json").write_text(
        '{"memory": {"map": "$FF80", "x": "$C101", "y": "$DFFF"}, "size": [2, 4, 300]}',
        encoding="utf-8",
    )
    with pytest.raises(ConfigError, match="size"):
        make_game(**WORLD | {"ram_map": tmp_path / "map.json"})
    (tmp_path / "map.json").write_text(
        '{"memory": {"map": "$FF80", "x": "$C101", "y": "$DFFF"}, "size": [2, 4, 30]}',
        encoding="utf-8",
    )
    engine = engine_of(backend="numba", **WORLD | SHORT | {"ram_map": tmp_path / "map.json"})
    rows = engine.get_states()
    rows["high"][0, 0x80], rows["wram"][0, 0x101], rows["wram"][0, -1] = 1, 29, 1
    engine.set_states(rows)
    assert np.allclose(engine.obs["senses"][0], [1, 1, 1 / 3, 0])
    assert engine.obs["events"].shape == (1, 0)


@pytest.mark.parametrize("backend", ["reference", "numba"])
def test_events_that_are_shown_and_not_rewarded_do_not_count(backend, tmp_path):
    text = (
        '{"memory": {"map": "$C100", "x": "$C101", "y": "$C102"}, "size": [3, 16, 16],'
        '"events": {"address": "$C110", "bits": 12, "rewarded": [1, 9, 11]}}'
    )
    (tmp_path / "map.json").write_text(text, encoding="utf-8")
    engine = engine_of(backend=backend, **WORLD | SHORT | {"ram_map": tmp_path / "map.json"})
    rows = engine.get_states()
    rows["wram"][0, 0x110:0x112] = 0b0111, 0b1010
    engine.set_states(rows)
    assert engine.obs["events"][0].tolist() == [1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1]
    assert engine.info["events"][0] == 3


def test_a_preset_gives_options_that_others_override():
    config = make_game(preset="scale").config
    assert (config.stack_k, config.pixels) == (1, "packed72x20")
    assert make_game(preset="scale", stack_k=2).config.stack_k == 2
    with pytest.raises(ConfigError, match="preset='fast' is not possible: preset must be one of"):
        make_game(preset="fast")


def test_a_bank_can_be_replaced_as_a_whole():
    engine = engine_of(backend="numba", **SHORT, stack_k=1)
    shared = engine.game.shared.copy()
    shared["starts"][0, [0, 5]] = shared["starts"][0, [5, 0]]
    sixth = make_game(**SHORT, stack_k=1, start_state=5)
    expected = BatchEngine(sixth, 1, "numba")
    for each in (expected, engine):
        if each is engine:
            engine.set_shared(shared)
        each.reset_many(seeds=1)
    assert np.array_equal(engine.obs, expected.obs)
    assert pack(engine._path.lanes.lane(0))[:16] == pack(expected._path.lanes.lane(0))[:16]
