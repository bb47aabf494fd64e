"""Environments that are as they should be: nothing is found in them; and known faults of others."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from functools import partial
from pathlib import Path

import pytest

import fastenv
from benchmarks.correct import COMPARED, summarise
from fastenv.adapters import pettingzoo
from fastenv.games import SMALL
from fastenv.registry import short_id
from fastenv.scaffold import new_game
from fastenv.testing.factories import Source, source_of
from fastenv.testing.hunt import Hunt
from fastenv.testing.jobs import Job
from fastenv.testing.search import Search
from tests.slow import late
from tests.tables import walk
from tests.test_new_game import PAGES, PLAYERS, STEP, copy_of_the_checkout, run
from tests.testing import correct
from training.run.files import read_json

# PettingZoo 1.27 says at each import of a game that its new registry is preferred.
pytestmark = pytest.mark.filterwarnings("ignore:The old environment creation API")
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "verify_any.md"
GYMNASIUM = [
    *("CartPole-v1", "Blackjack-v1", "FrozenLake-v1"),
    *late("Acrobot-v1", "MountainCar-v0", "Pendulum-v1", "CliffWalking-v1", "Taxi-v4"),
    *late("CliffWalkingSlippery-v1", "FrozenLake8x8-v1"),
]
MINIGRID = [
    "Empty-5x5-v0",
    *late("BlockedUnlockPickup-v0", "LavaCrossingS9N2-v0", "SimpleCrossingS11N5-v0"),
    *late("DistShift2-v0", "DoorKey-8x8-v0", "Dynamic-Obstacles-6x6-v0", "Empty-Random-6x6-v0"),
    *late("Fetch-8x8-N3-v0", "FourRooms-v0", "GoToDoor-6x6-v0", "GoToObject-8x8-N2-v0"),
    *late("KeyCorridorS4R3-v0", "LavaGapS7-v0", "LockedRoom-v0", "MemoryS13Random-v0"),
    *late("MultiRoom-N4-S5-v1", "ObstructedMaze-2Dlhb-v1", "Playground-v0", "PutNear-8x8-N3-v0"),
    *late("RedBlueDoors-8x8-v0", "Unlock-v0", "UnlockPickup-v0"),
]
CLASSIC = [
    *("rps_v2:parallel_env", "tictactoe_v3:env"),
    *late("rps_v2:env", "connect_four_v3:env", "go_v5:env", "chess_v6:env"),
    *late("leduc_holdem_v4:env", "texas_holdem_v4:env", "texas_holdem_no_limit_v6:env"),
]
OURS = [short_id(name) for name in fastenv.list_envs()]
QUICK = ("Prospector-v0", "DrMarioPlacement-v0")


def assert_clean(factory, cases=3, **how):
    report = Hunt(Job(source_of("env", factory), **how), Search(300, cases=cases)).run()
    assert not report.faults, str(report)
    assert report.steps > 3  # an episode of SkullKingManager-v0 has one


@walk("env_id", GYMNASIUM)
def test_environments_of_gymnasium(env_id):
    assert_clean(env_id, cases=2 if env_id == "Taxi-v4" else 4)


@walk("name", MINIGRID)
def test_environments_of_minigrid(name):
    pytest.importorskip("minigrid")
    assert_clean(f"minigrid:MiniGrid-{name}", 2)


@walk("name", CLASSIC)
def test_classic_games_of_pettingzoo(name):
    """Their copies are faulty: see the page."""
    try:
        Source(f"pettingzoo.classic.{name}").make()
    except (fastenv.ConfigError, ImportError) as error:
        pytest.skip(str(error))
    assert_clean(f"pettingzoo.classic.{name}", 2, copies=False)


@walk("env_id", [each if each in QUICK else late(each)[0] for each in (*OURS, *SMALL)])
def test_ids_of_fastenv(env_id):
    assert_clean(env_id, 1 if env_id in QUICK else 3)


@walk("env_id", late(*correct.SEATED))
@walk("view", [pettingzoo.aec_env, pettingzoo.parallel_env])
def test_views_of_several_agents(view, env_id):
    assert_clean(partial(view, game=env_id), 2)


@walk("mode", ["SameStep", *late("NextStep", "Disabled")])
def test_vectors_alone_and_beside_the_single_environment(mode):
    for name, (vector, single) in correct.vectors().items():
        if name.endswith(mode):
            assert_clean(vector, 1)
            job = Job(source_of("fast", vector), Source(single))
            report = Hunt(job, Search(300, cases=2)).run()
            assert not report.faults, str(report)


@walk("env_id", ["Prospector-v0", *late("DrMarioVersus-v0")])
def test_engines(env_id):
    assert_clean(partial(fastenv.make_engine, env_id=env_id, num_envs=2), 1)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_games_of_the_scaffold_and_of_the_tutorials(tmp_path):
    root = copy_of_the_checkout(tmp_path)
    for name, (players, hidden) in zip(("alone", "in_turn", "unseen"), PLAYERS, strict=True):
        new_game(name, root, players, hidden)
    for game, page in PAGES.items():
        new_game(game, root, 1 if game == "pig" else 2)
        for path, text in STEP.findall(page):
            if path.startswith(f"fastenv/{game}/") and path.endswith(".py"):
                (root / path).write_text(text)
    for env_id in ("Alone-v0", "InTurn-v0", "Unseen-v0", "Pig-v0", "LiarsDice-v0"):
        words = ("-m", "fastenv", "check", f"fastenv/{env_id}", "--seconds", "5")
        assert "none found in" in run(root, sys.executable, *words)


def test_the_page_lists_the_known_faults_and_its_program_shows_them():
    """Each line of the program is a fault that a check finds: it differs when it is played."""
    pytest.importorskip("minigrid")
    listed = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (program,) = (text for text in listed if "import replay" in text)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(program, {"__name__": "__main__"})
    printed = said.getvalue()
    assert "nothing fails" not in printed
    assert printed.count("belongs to the caller") + printed.count("a copy goes on") == 5
    assert printed.count("FileNotFoundError") == 6


@walk(
    ("name", "found"),
    [
        ("MountainCarContinuous-v0", {"with what it returned overwritten"}),
        ("pettingzoo.classic.tictactoe_v3:env", {"copied", "pickled"}),
        *late(
            *(
                pytest.param(f"pettingzoo.classic.{name}", {"copied", "pickled"})
                for name in ("connect_four_v3:env", "go_v5:env", "rps_v2:env")
            )
        ),
    ],
)
def test_the_known_faults_are_all_that_is_found(name, found):
    report = Hunt(Job(Source(name)), Search(300, cases=2)).run()
    assert {finding.stress for finding in report.faults} == found


def test_the_record_has_all_of_ours_and_no_false_finding():
    record = read_json(PAGE.parents[2] / "benchmarks" / "env-correct.json")
    rows, groups = record["environments"], record["groups"]
    assert groups == summarise(rows)
    assert sum(own["environments"] for name, own in groups.items() if name != COMPARED) >= 50
    assert not any(own["false"] for own in groups.values())
    names = {row["name"] for row in rows}
    assert {*OURS, *(f"{name}, AEC" for name in correct.SEATED)} <= names
    assert {*correct.gymnasium_ids(), *correct.pairs()} <= names
    assert all(row["steps"] > 0 for row in rows if not row["findings"])


def test_the_page_lists_each_fault_of_the_record():
    record = read_json(PAGE.parents[2] / "benchmarks" / "env-correct.json")
    found = [(row["name"], each) for row in record["environments"] for each in row["findings"]]
    assert len(found) > 5
    for name, finding in found:
        assert finding["known"] == correct.what_is_known(name, finding["stress"])
        assert "replay(" in finding["script"]
        game = re.sub(r"minigrid:MiniGrid-WFC-|pettingzoo\.classic\.|:\w+$", "", name)
        assert game.removesuffix("-v0") in PAGE.read_text("utf-8")
