"""The reference against the golden layouts and frames, and against what the rule book says."""

import numpy as np
import pytest

from fastenv.drmario import tables as t
from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.generator import (
    Generator,
    make_reserve,
    make_viruses,
)
from fastenv.drmario.reference import DrMario
from tests.drmario import golden
from tests.slow import late


def new_game(seed=1, knobs=None, demo=None, **options):
    """Return a game that has been reset."""
    game = DrMario(DrMarioConfig(placement=False, **options), demo)
    record = game.config.replace(**knobs or {}).knobs_record()[0]
    game.reset(record, seed)
    return game


def registers(game, fields, player=0):
    """Return the registers of a player in the order of a golden file."""
    values = vars(game.players[player]) | {"frame_lo": game.frame & 0xFF}
    return [int(values[golden.RENAMED.get(name, name)]) for name in fields]


# -- golden files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", golden.files("layouts"), ids=lambda path: path.stem)
def test_layouts_are_the_golden_ones(path):
    file = golden.load(path, "layouts")
    assert len(file["level"]) >= 1000
    for i, (level, seed) in enumerate(zip(file["level"].tolist(), file["seed"], strict=True)):
        generator = Generator(*seed.tolist())
        assert make_reserve(generator) == file["reserve"][i].tolist(), i
        board = make_viruses(level, generator)
        assert board == file["board"][i].tolist(), i
        assert generator.state == tuple(file["rng_after"][i].tolist()), i
        assert (
            sum(tile != t.EMPTY for tile in board)
            == file["virus_count"][i]
            == (t.virus_count(level))
        )


def replay(trace):
    game = new_game(**golden.options_of(trace.meta))
    assert game.reserve == trace.reserve.tolist()
    assert registers(game, trace.fields) == trace.state0.tolist(), trace
    assert game.players[0].board == trace.boards[0].tolist()
    for i, buttons in enumerate(trace.buttons.tolist()):
        game.play([buttons])
        got = registers(game, trace.fields)
        if got != trace.states[i].tolist():
            wrong = np.flatnonzero(np.array(got) != trace.states[i])[0]
            pytest.fail(
                f"{trace}: frame {i + 1}: {trace.fields[wrong]} is {got[wrong]}, "
                f"recorded {trace.states[i][wrong]}"
            )
        assert game.players[0].board == trace.boards[i + 1].tolist(), (str(trace), i)


@pytest.mark.parametrize("path", golden.files("frame_traces"), ids=lambda path: path.stem)
@pytest.mark.parametrize("step", [6, *late(1)])
def test_frames_are_the_golden_ones(path, step):
    for trace in [*golden.traces(path)][::step]:
        replay(trace)


def test_demo_is_the_recorded_one():
    path = golden.console_file("demo_trace")
    file = golden.load(path, "demo_trace")
    game = new_game(demo=DrMarioConfig(placement=False, demo=path).demo_record())
    fields, before, after = golden.demo_registers(file)
    assert registers(game, fields) == before
    frames = len(after)
    deltas = [file[f"delta_{name}"] for name in ("frame", "cell", "value")]
    boards = golden.boards_of(file["initial_board"], frames, deltas)
    poses = np.stack([file[f"pill_{name}"] for name in ("row", "col", "rot")], axis=1)
    for i in range(frames):
        game.play([0])
        assert registers(game, fields) == after[i], f"frame {i + 1}"
        player = game.players[0]
        assert player.board == boards[i].tolist(), f"frame {i + 1}"
        assert [player.row, player.col, player.rot] == poses[i].tolist(), f"frame {i + 1}"
