"""The compiled frames against the golden files, and against the reference, byte for byte."""

import numpy as np
import pytest

from fastenv.drmario import position
from fastenv.drmario import tables as t
from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.state import STACKED
from tests.drmario import golden
from tests.drmario.rows import CompiledRows, assert_same_row, played
from tests.needs import needs_core
from tests.slow import every, late
from tests.tables import walk

pytestmark = needs_core


def registers(row, fields, player=0):
    """Return the registers of a player in the order of a golden file."""
    record = row["players"][player]
    return [
        int(row["frame"]) & 0xFF
        if name == "frame_lo"
        else int(record[golden.RENAMED.get(name, name)])
        for name in fields
    ]


@pytest.mark.parametrize("path", golden.files("layouts"), ids=lambda path: path.stem)
def test_layouts_are_the_golden_ones(path):
    file = golden.load(path, "layouts")
    config = DrMarioConfig(placement=False)
    seeds = file["seed"].astype(int) @ [256, 1]
    knobs = np.repeat(config.knobs_record(), len(seeds))
    knobs["game_seed"], knobs["level"] = seeds, file["level"][:, None]
    lanes = CompiledRows(config, knobs)
    lanes.reset(range(len(seeds)))
    np.testing.assert_array_equal(lanes.rows["players"]["board"][:, 0], file["board"])
    np.testing.assert_array_equal(lanes.rows["reserve"], file["reserve"])
    np.testing.assert_array_equal(
        lanes.rows["players"]["initial_viruses"][:, 0], file["virus_count"]
    )


@pytest.mark.parametrize("path", golden.files("frame_traces"), ids=lambda path: path.stem)
@pytest.mark.parametrize("step", [3, *late(1)])
def test_frames_are_the_golden_ones(path, step):
    for trace in [*golden.traces(path)][::step]:
        lanes = CompiledRows(DrMarioConfig(placement=False, **golden.options_of(trace.meta)))
        lanes.reset([1])
        row = lanes.rows[0]
        assert registers(row, trace.fields) == trace.state0.tolist(), trace
        for i, buttons in enumerate(trace.buttons.tolist()):
            row["done"] = 0  # a golden game goes on behind its end, where nothing moves
            lanes.step(buttons)
            assert registers(row, trace.fields) == trace.states[i].tolist(), (str(trace), i + 1)
            board = row["players"][0]["board"]
            assert board.tobytes() == trace.boards[i + 1].tobytes(), (str(trace), i + 1)


def test_demo_is_the_recorded_one():
    path = golden.console_file("demo_trace")
    file = golden.load(path, "demo_trace")
    config = DrMarioConfig(placement=False, demo=path)
    lanes, game = CompiledRows(config), played(config, config.knobs_record()[0], 3)
    lanes.reset([3])
    fields, before, after = golden.demo_registers(file)
    assert registers(lanes.rows[0], fields) == before
    for i, wanted in enumerate(after):
        assert_same_row(lanes.rows[0], game, f"frame {i}")
        lanes.step(i & 0xFF)
        game.step([i & 0xFF])
        assert registers(lanes.rows[0], fields) == wanted, f"frame {i + 1}"


# -- against the reference -------------------------------------------------------------------------

CONFIGS = {
    "buttons": {},
    "latched": {"actions": "latched", "level": 3, "speed": "high"},
    "unlatched, stack": {"actions": "unlatched", "stack": 4, "level": 18},
    "low speed, few viruses": {"level": -2, "speed": "low", "first_frame": 2**32 - 200},
    "matches": {"level": -15, "speed": "high", "intro_frames": 1},
    "matches, more": {"level": -8, "speed": "high", "rewards": {"column_height_penalty": -0.1}},
    "two": {"agents": 2, "speed": "high", "level": (0, 4)},
    "two equal, stack": {"agents": 2, "level": 12, "speed": ("high", "low"), "stack": 4},
    "two, far apart": {
        "agents": 2,
        "level": (24, 0),
        "speed": "high",
        "actions": "latched",
        "rewards": {"column_height_penalty": 1.0},
    },
}


def random_actions(rng, config, previous):
    """Return actions: mostly what was pressed before, so that directions are held."""
    most = 256 if config.actions == "buttons" else 10
    drawn = rng.integers(0, most, len(previous))
    if most == 256:  # little that is not a direction, down often alone
        drawn = np.where(rng.random(len(previous)) < 0.4, t.Button.DOWN, drawn)
    return np.where(rng.random(len(previous)) < 0.5, previous, drawn)


@walk("name", every(8, CONFIGS))
def test_frames_are_those_of_the_reference(name):
    config = DrMarioConfig(placement=False, **CONFIGS[name])
    rng, lanes = np.random.default_rng(5), CompiledRows(config)
    seed, ends = 11, 0
    game = played(config, config.knobs_record()[0], seed)
    lanes.reset([seed])
    assert_same_row(lanes.rows[0], game, "reset")
    actions = np.zeros(config.agents, int)
    for i in range(4000):
        actions = random_actions(rng, config, actions)
        lanes.step(actions)
        game.step(actions.tolist())
        assert_same_row(lanes.rows[0], game, f"{name}: step {i}")
        if game.done:
            ends += 1
            lanes.reset()
            game.reset(config.knobs_record()[0])
            assert_same_row(lanes.rows[0], game, f"{name}: reset after step {i}")
    assert ends, "no episode has ended"


def crowd(row, rng):
    """Give a row boards full of single halves and viruses, about to settle."""
    for player in row["players"]:
        tiles = rng.choice([t.Tile.SINGLE, t.Tile.VIRUS], t.CELLS, p=[0.9, 0.1])
        board = tiles | rng.choice(3, t.CELLS, p=rng.dirichlet([2, 2, 2]))
        board[(rng.random(t.CELLS) < 0.4) | (np.arange(t.CELLS) < 24)] = t.EMPTY
        player["board"], player["virus_bcd"] = board, rng.integers(1, 5)
        player["mode"], player["next_action"], player["intro_wait"] = 4, t.Next.PLACED, 0


@pytest.mark.parametrize("agents", [*late(1), 2])
def test_crowded_boards_settle_as_in_the_reference(agents):
    config = DrMarioConfig(placement=False, agents=agents, speed="high")
    rng, volleys, matches, clears = np.random.default_rng(8), 0, 0, 0
    lanes = CompiledRows(config)
    for seed in range(25):
        lanes.reset([seed])
        crowd(lanes.rows[0], rng)
        game = position.unpack(lanes.rows[0], config)
        assert_same_row(lanes.rows[0], game, "as it was loaded")
        for i in range(300):
            actions = rng.integers(0, 256, agents)
            lanes.step(actions)
            game.step(actions.tolist())
            assert_same_row(lanes.rows[0], game, f"seed {seed}, step {i}")
            volleys += sum(player.ev_volleys for player in game.players)
            matches += sum(player.ev_matches for player in game.players)
            clears += game.reason == t.Reason.CLEAR
            if game.done:
                break
    assert matches > 20
    assert volleys > 5 or agents == 1
    assert clears


def litter(row, rng):
    """Give a row boards of all tiles anywhere, halves without their others too, in some step."""
    kinds = rng.permutation([*t.Tile])[: rng.integers(2, len(t.Tile) + 1)]
    for player in row["players"]:
        tiles = rng.choice(kinds, t.CELLS) | rng.choice(3, t.CELLS, p=rng.dirichlet([0.5] * 3))
        board = player["board"]
        board[:] = np.where(rng.random(t.CELLS) < rng.random(), tiles, t.EMPTY)
        player["virus_bcd"], player["intro_wait"] = rng.integers(1, 5), 0
        player["mode"], player["next_action"] = t.Mode.PLAYING, t.Next.PLACED
        player["placed_step"], player["status_row"] = rng.integers(0, 9), t.IDLE
        cleared = (board & 0xF0 == t.Tile.CLEARING) | ((board >= t.FREE) & (board != t.EMPTY))
        player["clearing"] = cleared.sum() >= t.MATCH


@pytest.mark.parametrize("agents", [*late(1), 2])
def test_littered_boards_settle_as_in_the_reference(agents):
    config = DrMarioConfig(placement=False, agents=agents, speed="high")
    rng, cleared = np.random.default_rng(9), 0
    lanes = CompiledRows(config)
    lanes.reset([0])
    begin = lanes.rows[0].copy()
    for board in range(400):
        lanes.rows[0] = begin
        litter(lanes.rows[0], rng)
        game = position.unpack(lanes.rows[0], config)
        for i in range(24):
            lanes.step(np.zeros(agents))
            game.step([0] * agents)
            assert_same_row(lanes.rows[0], game, f"board {board}, step {i}")
            cleared += sum(player.ev_tiles_nonvirus for player in game.players)
            if game.done:
                break
    assert cleared > 1000


def test_a_stack_holds_the_frames_before():
    config = DrMarioConfig(placement=False, stack=4, agents=2, level=9)
    lanes, rng = CompiledRows(config), np.random.default_rng(2)
    lanes.reset([1])
    views = [lanes.rows["players"][0].copy()] * (STACKED + 1)
    for _ in range(400):
        lanes.step(rng.integers(0, 256, 2))
        views = [*views[1:], lanes.rows["players"][0].copy()]
        for player in range(2):
            shown = [view[player].tobytes()[:144] for view in views[:-1]]
            assert shown == [part.tobytes() for part in lanes.rows["stack"][0, player]]
