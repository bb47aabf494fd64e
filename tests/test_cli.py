"""The command line: ``python -m fastenv``."""

import ctypes
import io
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace

import pytest

import fastenv
from fastenv import numba_cache, skullking, startup, verify
from fastenv.__main__ import main
from fastenv.paths import as_compiled, callable_at
from fastenv.skullking.state import STATE_DTYPE
from tests.needs import needs_core


def test_envs_lists_every_id(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["envs"]) == 0
    shown = capsys.readouterr().out
    assert "reference" in shown
    for env_id in fastenv.list_envs():
        assert env_id in shown
        for name in fastenv.make_game(env_id).bot_names:
            assert name in shown


@pytest.mark.parametrize(
    ("command", "refused"),
    [
        (["play", "--seed", "-1"], "--seed -1: must be at least 0"),
        (["play", "--bot", "random", "--delay", "-1"], "--delay -1: must be a finite number of"),
        (["bench", "--env", "SkullKingWorker-v0", "--seconds", "0"], "--seconds 0: must be a"),
        (["verify", "--env", "SkullKingWorker-v0", "--seconds", "nan"], "--seconds nan: must"),
        (["verify", "--env", "SkullKingWorker-v0", "--seed", "-1"], "--seed -1: must be"),
    ],
)
def test_numbers_that_cannot_be_are_refused(capsys, command, refused):
    assert main(command) == 2
    shown = capsys.readouterr()
    assert refused in shown.err
    assert shown.out == ""


def test_verify_says_that_all_is_equal(capsys):
    args = ["verify", "--env", "SkullKingWorker-v0", "--seconds", "0.2", "--players", "3"]
    assert main(args) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^equal: \d+ configurations?, \d+ steps, every bit$", shown, re.MULTILINE)
    assert "a sample and no proof: seeds 0 to " in shown


def test_verify_counts_what_it_had_no_time_for_and_no_compiling(monkeypatch):
    tally = verify.verify("Prospector-v0", 1e-9, steps=5, backends=["reference", "numba"])
    assert (tally.cases, tally.cut, tally.steps) == (1, 1, 3)  # a step of three lanes

    @contextmanager
    def compiling_all_the_time():
        yield lambda: 1e9

    class EnoughError(Exception):
        pass

    def report(tally):
        if tally.cases == 2:
            raise EnoughError(tally)

    monkeypatch.setattr(verify, "compile_clock", compiling_all_the_time)
    with pytest.raises(EnoughError) as stopped:
        verify.verify(
            "Prospector-v0", 1e-9, steps=5, backends=["reference", "numba"], report=report
        )
    (tally,) = stopped.value.args
    assert (tally.cut, tally.steps) == (0, 30)


class Forgetful(skullking.SkullKingGame):
    """Skull King with a bug in its core: it forgets what has been played."""

    def core(self):
        whole = as_compiled(self, super().core())
        step, place = (
            callable_at(whole.step, ctypes.c_int, 5),
            STATE_DTYPE.fields["seen_strength"][1],
        )
        kind = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 5)

        def forget(row, *rest):
            says = step(row, *rest)
            ctypes.c_double.from_address(row + place).value = 0.0
            return says

        self.called = [*getattr(self, "called", ()), kind(forget)]  # as long as somebody may
        return replace(whole, step=ctypes.cast(self.called[-1], ctypes.c_void_p).value)


@needs_core
def test_verify_prints_seed_and_actions_of_the_first_difference(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(skullking, "SkullKingGame", Forgetful)
    args = ["verify", "--env", "SkullKingWorker-v0", "--seconds", "600", "--seed", "12"]
    script = tmp_path / "shows.py"
    assert main([*args, "--script", str(script)]) == 1
    shown = capsys.readouterr().out
    for part in ("reference and", "state.seen_strength", "seed of the case: 12", "options: {"):
        assert part in shown
    assert "replay: python -m fastenv verify --env SkullKingWorker-v0" in shown
    assert "['reset with 12 + lane', " in shown
    assert script.read_text().count("'step'") == 1
    with pytest.raises(SystemExit, match="1"):
        exec(script.read_text(), {"__name__": "__main__"})
    assert "state.seen_strength" in capsys.readouterr().out


def test_bench_prints_a_rate(capsys):
    assert (
        main(["bench", "--env", "SkullKingWorker-v0", "--num-envs", "8", "--seconds", "0.02"]) == 0
    )
    shown = capsys.readouterr().out
    assert "steps/s" in shown
    assert "reference" in shown


def test_play_by_a_bot_and_by_hand(capsys, monkeypatch):
    assert main(["play", "--env", "SkullKingWorker-v0", "--bot", "heuristic", "--delay", "0"]) == 0
    assert "heuristic plays" in capsys.readouterr().out
    answers = iter(["x", "99", "q"])
    monkeypatch.setattr("builtins.input", lambda _: next(answers))
    assert main(["play", "--env", "SkullKingFlat-v0", "--seed", "1"]) == 0
    assert capsys.readouterr().out.count("not a legal action") == 2


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["verify", "--env", "Chess-v0"], "SkullKingFlat-v0"),
        (["play", "--bot", "wizard"], "rule_hard"),
        (["bench", "--env", "SkullKingFlat-v0", "--num-envs", "0"], "num_envs"),
        (["play", "--env", "DrMarioPlacement-v0", "--set", "level=25"], "level=25"),
        (["play", "--env", "DrMarioPlacement-v0", "--set", "env_id=1"], "'env_id' is not an"),
        (["play", "--env", "Prospector-v0", "--set", "level=5"], "'level'"),
        (
            ["play", "--env", "LanternWalk-v0", "--states", "a"],
            "--states: only possible with --rom",
        ),
        (["play", "--window", "--scale", "4", "--save", "a"], "--window, --scale, --save: only po"),
        (
            ["play", "--rom", "a.gb", "--env", "LanternWalk-v0", "--seed", "0", "--set", "level=5"],
            "--env, --seed, --set: not possible with --rom; with it there are --window, --scale,",
        ),
        (["play", "--rom", "a.gb", "--bot", "random", "--delay", "1"], "--bot, --delay: not possi"),
        (
            ["verify", "--env", "Prospector-v0", "--seconds", "1", "--players", "2"],
            "--players 2: Prospector-v0 has no option num_players: leave it out",
        ),
        (["verify", "--env", "LanternWalk-v0", "--players", "2"], "has no option num_players"),
    ],
)
def test_mistakes_are_one_line(capsys, args, message, monkeypatch):
    monkeypatch.setattr(numba_cache, "print_notice", lambda _text: None)  # of a first compilation
    assert main(args) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ")
    assert message in shown


def test_options_of_a_game_are_set(capsys):
    command = ["play", "--env", "DrMarioPlacement-v0", "--bot", "first", "--delay", "0"]
    options = ["--set", "level=-15", "--set", "speed=high", "--set", "extras=('pill',)"]
    assert main([*command, "--seed", "1", *options]) == 0
    shown = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert re.search(r"level +-15\n", shown)
    assert re.search(r"speed +high\n", shown)


def test_a_match_is_played_against_the_bot_that_is_named(capsys):
    command = ["play", "--env", "DrMarioVersus-v0", "--bot", "first", "--delay", "0", "--seed", "1"]
    shown = []
    for opponent in ("random", "greedy"):
        assert main([*command, "--opponent", opponent, "--set", "level=24"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] != shown[1]
    assert main(["play", "--env", "DrMarioFrame-v0", "--opponent", "random"]) == 2
    assert "opponent='random': this game has one agent" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["level", "=5", "le vel=5", "rules.level=5"])
def test_what_is_no_option_is_refused(text, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["play", "--set", text])
    assert (
        f"{text!r}: must be NAME=VALUE, a name of letters, digits and '_'"
        in capsys.readouterr().err
    )


COMMANDS = ("envs", "play", "bench", "verify", "new-game", "bank", "goal")


def test_without_a_command_it_says_what_there_is(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 24
    for name in COMMANDS:
        assert re.search(rf"^    {name} ", shown, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_fits_a_screen(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 24
    assert "example: " in shown


@pytest.mark.parametrize("env_id", fastenv.list_envs())
def test_bot_names_are_those_that_a_game_knows(env_id):
    game = fastenv.make_game(env_id)
    for name in game.bot_names:
        game.bot(name)


@pytest.mark.parametrize("env_id", ["SkullKingFlat-v0", "Prospector-v0"])
def test_play_begins_with_the_goal_and_names_what_can_be_done(env_id, capsys, monkeypatch):
    answers = iter(["?", "q"])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(answers))
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["play", "--env", env_id, "--seed", "1"]) == 0
    shown = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert max(map(len, shown.split("\n"))) <= 80
    assert shown.split("\n\n")[0].split() == fastenv.make_game(env_id).goal.split()
    assert ("1 (bid 1)" if "Skull" in env_id else "6 (hold)") in shown


def test_a_game_is_played_where_the_terminal_knows_ascii_alone():
    words = [sys.executable, "-m", "fastenv", "play", "--env", "SkullKingFlat-v0"]
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, env=environment, input=b"q\n", capture_output=True, check=False)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    assert b"How many tricks will you win?" in done.stdout
    assert b" ? " in done.stdout  # where a dot stands in other terminals


def test_what_an_encoding_lacks_is_a_question_mark(monkeypatch):
    written = {}
    for name, encoding in (("stdout", "ascii"), ("stderr", "utf-8")):
        written[name] = io.BytesIO()
        monkeypatch.setattr(sys, name, io.TextIOWrapper(written[name], encoding))
    startup.replace_unprintable()
    for name in written:
        print("a \u00b7 b", file=getattr(sys, name), flush=True)
    assert written["stdout"].getvalue() == b"a ? b\n"
    assert written["stderr"].getvalue().decode() == "a \u00b7 b\n"
