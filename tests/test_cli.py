"""The command line: ``python -m fastenv``."""

import pytest

import fastenv
from fastenv import skullking
from fastenv.__main__ import main


def test_envs_lists_every_id(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["envs"]) == 0
    shown = capsys.readouterr().out
    assert all(env_id in shown for env_id in fastenv.list_envs())
    assert "reference" in shown


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
    assert "equal: 1 configurations" in capsys.readouterr().out


def test_verify_prints_seed_and_actions_of_the_first_difference(capsys, monkeypatch):
    class Broken(skullking.SkullKingGame):
        def core(self, states, knobs, num_threads):
            core = super().core(states, knobs, num_threads)
            rows = states.view(self.state_dtype).reshape(-1)
            return _Meddler(core, rows)

    if fastenv.make("SkullKingWorker-v0").backend == "reference":
        pytest.skip("there is nothing to compare here")
    monkeypatch.setattr(skullking, "SkullKingGame", Broken)
    args = ["verify", "--env", "SkullKingWorker-v0", "--seconds", "5", "--seed", "12"]
    assert main(args) == 1
    shown = capsys.readouterr().out
    for part in ("reference and", "state.seen_strength", "seed of the case: 12", "options: {"):
        assert part in shown
    assert "replay: python -m fastenv verify --env SkullKingWorker-v0" in shown
    assert "['reset with 12 + lane', " in shown


class _Meddler:
    """A core with a bug: it forgets what has been played."""

    def __init__(self, core, rows):
        self._core, self._rows = core, rows

    def __getattr__(self, name):
        return getattr(self._core, name)

    def step(self, actions, select):
        self._core.step(actions, select)
        self._rows["seen_strength"] = 0

    def step_fused(self, actions, select, autoreset, obs, mask):
        self._core.step_fused(actions, select, autoreset, obs, mask)
        self._rows["seen_strength"] = 0


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
    ],
)
def test_mistakes_are_one_line(capsys, args, message):
    assert main(args) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ")
    assert message in shown
