"""The rows and targets of the Game Boy: what is measured, and how it is judged."""

import numpy as np
import pytest

from benchmarks import gameboy
from fastenv.gameboy.cartridge import load_cartridge
from fastenv.gameboy.tables import FRAME
from tests.needs import needs_core
from tests.training.bench.described import assert_described
from training.bench import targets
from training.games.gameboy.frames import per_frame

BRIEF = {"repeats": 1, "seconds": 1e-6}


@pytest.fixture(scope="module")
def rows():
    from tools.gameboy import bench

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "WARM_UP", 24)
        rows = [
            *gameboy.step_rows("lantern_walk", **BRIEF, lanes=(2, 4)),
            gameboy.alone_row("poll", "skip", **BRIEF),
            *gameboy.many_rows(**BRIEF, many=(4, 8), few=2),
            *gameboy.reset_rows(**BRIEF, lanes=(4,)),
            *gameboy.forced_rows(**BRIEF, lanes=2),
            gameboy.single_row(**BRIEF),
            *gameboy.thread_rows(**BRIEF, lanes=4),
            gameboy.growth_row(64),
            gameboy.stock_row(1, {"num_envs": 2, "n_steps": 2, "batch_size": 2}),
        ]
        return [row | {"game": "Game Boy"} for row in rows]


def judge(rows, limit=2**20):
    return targets.judge("bars", rows, max_mem_delta=limit)


@needs_core
@pytest.mark.slow
def test_rows_name_program_and_options(rows):
    for row in rows:
        assert len(row["rom_sha256"]) == 64
        assert "/" not in row["rom"].removeprefix("micro/"), "a path of somebody's machine"
        assert isinstance(row["options"], dict)
    assert_described(rows)
    for row in rows:
        if row["what"] in ("step", "skip", "many"):
            assert row["instructions_per_frame"] > 200
    reset = next(row for row in rows if row["what"] == "masked reset")
    assert reset["cart_ram_bytes"] == 8192
    many = [row for row in rows if row["what"] == "many"]
    assert [row["bytes_per_env"]["row"] for row in many] == [18_720] * 3


@needs_core
@pytest.mark.slow
def test_every_bar_is_judged(rows):
    judged = judge(rows)
    asked = [bar["asked"] for bar in judged]
    assert asked == [
        *("at least 400,000",) * 2,
        *("at least 6.5",) * 2,
        "at least 3e+06",
        *("at least 0.9", "at least 0.9", "at most 2", "at most 15", "at least 1.8"),
        *("at most 0", "at most 1.04858e+06", "at most 0.05"),
    ]
    assert all(isinstance(bar["pass"], bool) for bar in judged if bar["measured"] is not None)


@pytest.mark.slow
@needs_core
def test_growth_above_the_limit_is_missed(rows):
    grown = [row | ({"rss_growth_bytes": 101} if row["kind"] == "growth" else {}) for row in rows]
    for limit, passed in ((100, False), (101, True)):
        bars = judge(grown, limit)
        assert [bar["pass"] for bar in bars if bar["what"].endswith("rss")] == [passed]


@pytest.mark.slow
@needs_core
def test_without_pyboy_its_bars_are_open(rows):
    alone = [{k: v for k, v in row.items() if "pyboy" not in k} for row in rows]
    bars = [bar for bar in judge(alone) if bar["what"].endswith("times PyBoy")]
    assert [(bar["pass"], bar["reason"]) for bar in bars] == [(None, "PyBoy is not installed")] * 2


def test_the_header_with_ram_is_one_that_is_run(tmp_path):
    cartridge = load_cartridge(gameboy.with_ram(tmp_path / "ram.gb"))
    assert cartridge.ram_size == 8192


def test_instructions_of_a_frame():
    before, after = np.array([100.0, 0.0]), np.array([400.0, 2 * FRAME])
    assert per_frame(before, after) == 150
