"""A person at the table, through stdin and stdout."""

import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fastenv
from training.play import main
from training.playing.game_table import number_names
from training.terminal.text import parse_action

ROOT = Path(__file__).resolve().parents[3]
AGENT = str(ROOT / "pretrained/skullking-ppo")


def played(monkeypatch, capsys, text, *flags):
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    monkeypatch.setenv("COLUMNS", "100")
    status = main(["--seed", "3", *flags])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_a_whole_game_to_the_end(monkeypatch, capsys):
    # Of "0" and "1" one is legal now or soon: what is refused is asked again.
    text = "\n".join(str(k % 11) for k in range(3000))
    status, out, _ = played(monkeypatch, capsys, text, "--against", AGENT, "rule_hard")
    assert status == 0
    rounds = re.findall(r"Round (\d+) is over: You ([+-]\d+) \((-?\d+)\)", out)
    assert [int(number) for number, _, _ in rounds] == list(range(1, 11))
    assert np.cumsum([int(change) for _, change, _ in rounds]).tolist() == [
        int(total) for _, _, total in rounds
    ]
    tricks = out.count("the trick with") + out.count("Nobody wins the trick.")
    assert tricks == 55
    assert len(re.findall(r"^  \S.* plays? ", out, re.MULTILINE)) == 4 * 55  # every card is told
    assert "The game is over" in out


@pytest.mark.parametrize(
    "env", ["SkullKingWorker-v0", "SkullKingManager-v0", "SkullKingAbility-v0"]
)
def test_a_seat_alone_is_told_who_won(monkeypatch, capsys, env):
    """Bots move inside a step: nobody has said their names."""
    text = "\n".join(str(k % 11) for k in range(3000))
    status, out, error = played(monkeypatch, capsys, text, "--env", env)
    assert (status, error) == (0, "")
    assert "The game is over" in out
    if env == "SkullKingWorker-v0":
        assert re.search(r"seat \d wins the trick with", out)


def test_bids_stay_secret_until_all_are_made(monkeypatch, capsys):
    _, out, _ = played(monkeypatch, capsys, "q\n", "--against", AGENT, "rule_hard", "--seat", "2")
    assert "Bids" not in out
    assert "how many tricks" in out.lower()
    _, out, _ = played(monkeypatch, capsys, "1\nq\n", "--against", AGENT, "rule_hard")
    assert re.search(r"Bids: You 1, skullking-ppo #1 \d, rule_hard \d, skullking-ppo #2 \d\.", out)


def test_what_is_illegal_is_refused_politely(monkeypatch, capsys):
    text = "77\nno such card\n\n?\n1\nescape\nq\n"
    status, out, _ = played(monkeypatch, capsys, text, "--against", AGENT)
    assert status == 0
    assert "'77' is none of your moves now: 0 bid 0, 1 bid 1" in out
    assert "'no such card' is none of your moves now" in out
    assert "You play Escape." in out
    assert out.rstrip().endswith("Goodbye.")


def test_the_end_of_input_leaves(monkeypatch, capsys):
    status, out, _ = played(monkeypatch, capsys, "", "--against", "rule_hard")
    assert status == 0
    assert "Goodbye" in out


def test_any_environment_alone(monkeypatch, capsys):
    status, out, _ = played(monkeypatch, capsys, "hold\ncash out\n", "--env", "Prospector-v0")
    assert status == 0
    assert "You: hold" in out
    assert "The game is over: return" in out


@pytest.mark.parametrize("env", [name.partition("/")[2] for name in fastenv.list_envs()])
def test_every_environment_asks(monkeypatch, capsys, env):
    status, out, _ = played(monkeypatch, capsys, "?\nq\n", "--env", env)
    assert status == 0
    assert "your move" in out


@pytest.mark.parametrize(
    ("flags", "refused"),
    [
        (("--env", "Prospector-v0", "--against", "random"), "here players do not meet"),
        (("--env", "SkullKingWorker-v0", "--against", "random"), "must be SkullKingFlat-v0 with"),
        (("--against", "nobody"), "bot 'nobody': must be one of 'random', 'rule_easy'"),
        (("--against", "nobody"), "; or a trained agent: the name of a run in the folder --runs"),
        (("--against", "no/where"), "must be a run folder"),
        (("--against", *["random"] * 4), "1 to 3 players"),
        (("--against", "random", "--seat", "4"), "--seat must be from 0 to 3"),
        (("--env", "Chess-v0"), "Chess-v0"),
        (("--seed", "-1"), "--seed must be from 0"),
    ],
)
def test_what_cannot_be_is_refused(monkeypatch, capsys, flags, refused):
    status, _, error = played(monkeypatch, capsys, "", *flags)
    assert status == 2
    assert refused in error


def test_moves_by_name():
    legal = {0: "Escape", 1: "Parrot 1", 2: "Parrot 12", 4: "Escape"}
    assert parse_action("parrot 1", legal) == 1
    assert parse_action("12", legal) is None
    assert parse_action("t 12", legal) == 2
    assert parse_action("parrot", legal) is None
    assert parse_action("esc", legal) == 0
    assert parse_action("4", legal) == 4
    assert parse_action("3", legal) is None
    assert number_names(["a", "b", "a"]) == ["a #1", "b", "a #2"]


@pytest.mark.slow
def test_through_a_pipe():
    command = [sys.executable, "-m", "training.play", "--against", "rule_hard", "--seed", "1"]
    found = subprocess.run(
        command, input="q\n", cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert found.returncode == 0
    assert "Goodbye" in found.stdout
    assert "\x1b" not in found.stdout
