"""The line that says what scripted players in Python alone cost where all else is compiled."""

import dataclasses
import itertools

import numpy as np
import pytest

import fastenv
from fastenv import backend, notices
from fastenv.__main__ import main
from fastenv.engine import BatchEngine
from fastenv.notices import TimedBots, note_fallback
from tests.toy import RaceGame, race_functions


class SlowBotsRace(RaceGame):
    """The race without a compiled bot."""

    bot_names = ("random", "slow", "fast")

    def kernels(self):
        return dataclasses.replace(race_functions()[1], bot=0)


@pytest.fixture(autouse=True)
def nothing_is_reported_yet(monkeypatch):
    monkeypatch.setattr(notices, "_reported", set())
    # Tests of training silence it for as long as tests run.
    monkeypatch.setattr(notices, "note_fallback", note_fallback)


def play(game, backend="fast"):
    engine = BatchEngine(game, 3, backend, opponent="slow")
    engine.reset_many(seeds=0)
    for _ in range(5):
        engine.step_many(np.zeros(3, np.int64))
    return engine


def test_who_gets_a_slower_backend_is_told_so_once_with_what_to_install(monkeypatch, capfd):
    def failure(module):
        return "ModuleNotFoundError: never built" if module.endswith("._core") else None

    monkeypatch.setattr(backend, "_import_failure", failure)
    for _ in range(2):
        assert fastenv.make_vec("SkullKingWorker-v0", 2).backend == "numba"
    (said,) = [line for line in capfd.readouterr().err.splitlines() if "backend" in line]
    assert said.startswith("fastenv: backend 'numba', many times slower than 'fast': ")
    assert "install a C compiler" in said
    fastenv.make_vec("SkullKingWorker-v0", 2, backend="reference")
    assert capfd.readouterr().err == ""


def test_a_bot_in_python_alone_says_what_it_costs_once(monkeypatch, capfd):
    monkeypatch.setattr(notices, "SLOW_S", 0.0)
    monkeypatch.setattr(notices, "SLOW_SHARE", 0.0)
    engines = [play(SlowBotsRace()) for _ in range(2)]
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(
        "fastenv: the bot 'slow' of SlowBotsRace is written in Python alone: its"
    )
    assert line.endswith("; a compiled `bot` makes them fast (docs/tutorials/new_game_players.md)")
    compiled = play(RaceGame())
    for engine in engines:
        assert engine.get_states().tobytes() == compiled.get_states().tobytes()


@pytest.mark.parametrize("backend", ["reference", "numba", "cython"])
def test_where_much_else_is_in_python_nothing_is_said(backend, monkeypatch, capfd):
    monkeypatch.setattr(notices, "SLOW_S", 0.0)
    monkeypatch.setattr(notices, "SLOW_SHARE", 0.0)
    play(SlowBotsRace(), backend)
    play(RaceGame(), "fast")
    assert capfd.readouterr().err == ""


def bots(times):
    """Return bots whose calls begin and end at given times."""
    game = SlowBotsRace()
    timed = TimedBots(game, lambda *_: None, iter(times).__next__)
    select = np.array([1, 0, 1], np.uint8)
    params = game.bot("fast")

    def act():
        timed(params, 1, None, None, select, None, None)

    return act


def test_the_line_has_the_share_of_the_time(capfd):
    act = bots([0.0, 0.3, 0.7, 1.0, 1.2, 1.2])  # 0.6 s of 1.2 s, two lanes a call
    act()
    act()
    assert capfd.readouterr().err == ""
    act()
    assert capfd.readouterr().err == (
        "fastenv: the bot 'fast' of SlowBotsRace is written in Python alone: its actions, "
        "150000 microseconds each, took 50% of the last 1.2 s; a compiled `bot` makes them fast "
        "(docs/tutorials/new_game_players.md)\n"
    )
    act()  # nothing is timed any more: the clock would have stopped


def test_bots_that_do_not_slow_the_batch_say_nothing(capfd):
    starts = [0.0, 10.0, 20.0, 20.6, 21.2]  # of 0.5 s each, the last ones one after the other
    act = bots(itertools.chain.from_iterable((start, start + 0.5) for start in starts))
    for _ in range(3):
        act()
    assert capfd.readouterr().err == ""
    act()
    assert "took 83% of the last 0.6 s" in capfd.readouterr().err


def test_bench_plays_against_a_bot(capsys):
    words = ["bench", "--backend", "fast", "--num-envs", "2", "--seconds", "0.01"]
    assert main([*words, "--env", "DrMarioVersus-v0", "--opponent", "random"]) == 0
    assert "fast" in capsys.readouterr().out
    assert main([*words, "--env", "DrMarioPlacement-v0", "--opponent", "random"]) == 2
    assert "this game has one agent" in capsys.readouterr().err
