"""Two builds beside each other: what is compared, and what is printed of it."""

from pathlib import Path

import numpy as np
import pytest

import fastenv
from tests.needs import needs_core
from tools.ab_builds import CASES, checksum_of, main

ROOT = Path(__file__).resolve().parents[1]
BRIEF = ("--cases", "skullking-worker", "--rounds", "2", "--restarts", "1", "--seconds", "0.001")


def test_every_game_has_a_case():
    env_ids = {f"fastenv/{case.env_id}" for case in CASES.values()}
    games = {type(fastenv.make_game(env_id)) for env_id in fastenv.list_envs()}
    assert {type(fastenv.make_game(env_id)) for env_id in env_ids} == games
    assert sum("SkullKing" in env_id for env_id in env_ids) == 4


def test_a_checksum_reads_every_part_by_its_name():
    row = np.arange(3)
    final = np.array([None, {"x": row}], object)
    shown = {"obs": {"a": row, "b": row + 1}, "final": final}
    found = checksum_of(shown, 0)
    assert found == checksum_of({"final": final.copy(), "obs": shown["obs"]}, 0)
    others = (
        {"obs": {"a": row + 1, "b": row}, "final": final},
        {"obs": shown["obs"], "final": np.array([None, {"x": row + 1}], object)},
        {"obs": shown["obs"], "final": np.array([{"x": row}, None], object)},
    )
    assert all(checksum_of(other, 0) != found for other in others)


@needs_core
@pytest.mark.slow
def test_a_build_gives_what_it_gives_itself(capfd):
    assert main([str(ROOT), str(ROOT), *BRIEF]) == 0
    outputs, *lines = capfd.readouterr().out.splitlines()
    assert outputs.split() == ["skullking-worker", "outputs", "the", "same"]
    assert len(lines) == 2
    assert all("of 2" in line and "speed x" in line for line in lines)


@pytest.fixture
def other_build(tmp_path):
    """A build whose games have another number of players."""
    (tmp_path / "fastenv").symlink_to(ROOT / "fastenv")
    (tmp_path / "sitecustomize.py").write_text(
        "import fastenv\n"
        "make = fastenv.make_vec\n"
        "fastenv.make_vec = lambda *args, **options: make(*args, **options, num_players=3)\n"
    )
    return tmp_path


@pytest.mark.slow
@needs_core
def test_other_outputs_are_told_before_anything_is_timed(other_build, capfd):
    assert main([str(ROOT), str(other_build), *BRIEF]) == 1
    (line,) = capfd.readouterr().out.splitlines()
    assert "outputs DIFFERENT" in line


def test_a_folder_without_a_build_is_named(tmp_path, capfd):
    assert main([str(tmp_path), str(tmp_path), *BRIEF]) == 2
    assert str(tmp_path) in capfd.readouterr().err
