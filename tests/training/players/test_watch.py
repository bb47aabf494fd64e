"""An agent at play, in the terminal and on film."""

import re
import shutil
from pathlib import Path

import pytest

from tests.needs import needs_core
from training.evaluation import run_card
from training.evaluation.contest import load_players
from training.logs import film
from training.players.export import export
from training.players.names import name_in_line
from training.run.folder import RunFolder
from training.watch import main

AGENT = "pretrained/skullking-ppo"
JUDGE = "lookahead:pretrained/drmario-evaluator/evaluator.safetensors"
BOTTLE = ("--env", "DrMarioPlacement-v0")


def test_in_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([AGENT, "--opponents", "rule_hard"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("skullking-ppo chooses") == 65  # ten bids and 55 cards
    assert re.search(r"The game is over: return -?[\d.]+\. Repeat it with --seed 0\.", shown)
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("kind", ["prospector", "native", "recurrent"])
def test_every_kind(trained, kind, capsys):
    assert main([str(trained(kind)), "--max-steps", "3"]) == 0
    assert f"{kind} chooses" in capsys.readouterr().out


def test_drawn_actions_are_those_of_a_seed(trained, capsys):
    def shown(*words):
        assert main([str(trained("flat")), *words]) == 0
        return capsys.readouterr().out

    assert shown("--sample") == shown("--sample") != shown()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Return a folder with an agent, of which one checkpoint is the best, and one for a hub."""
    folder, run = tmp_path_factory.mktemp("exported"), RunFolder.open(Path(AGENT))
    written = export(run, folder / "agent")
    shutil.copytree(written, written.parent / "best" / written.name)
    export(run, folder / "hub", make_card=run_card.make)
    return folder


@pytest.mark.parametrize(
    ("here", "path", "name"),
    [
        (".", "agent/checkpoints/best", "agent"),
        (".", "agent", "agent"),
        ("agent", ".", "agent"),
        ("agent", "checkpoints/best", "agent"),
        (".", "hub", "hub"),
        (".", "hub/model.safetensors", "hub"),
        ("hub", ".", "hub"),
    ],
)
def test_an_agent_is_called_by_its_run_or_folder(exported, here, path, name, capsys, monkeypatch):
    monkeypatch.chdir(exported / here)
    assert main([path, "--opponents", "rule_hard", "--max-steps", "1"]) == 0
    assert f"\n{name} chooses" in capsys.readouterr().out


def test_an_agent_has_the_same_name_at_a_table(exported):
    best = exported / "agent" / "checkpoints" / "best"
    names = [str(best), f"search:{best},worlds=2", str(exported / "hub" / "model.safetensors")]
    players = load_players([*names, "rule_hard"])
    shown = ["agent", "search:agent", "hub", "rule_hard"]
    assert [player.short for player in players] == shown
    assert [name_in_line(player.who) for player in players] == shown


@pytest.mark.parametrize(
    ("flags", "name", "decisions"),
    [
        (["rule_hard", "--env", "SkullKingFlat-v0", "--opponents", "random"], "rule_hard", 65),
        (["greedy_miner", "--env", "Prospector-v0", "--max-steps", "4"], "greedy_miner", 4),
        (["random_legal", "--env", "Prospector-v0", "--max-steps", "4"], "random_legal", 4),
        (["greedy", *BOTTLE, "--set", "level=-3"], "greedy", None),
        ([JUDGE, *BOTTLE, "--set", "level=0", "--max-steps", "2"], "lookahead", 2),
        ([f"{JUDGE}:cvar0.25:depth2", *BOTTLE, "--max-steps", "2"], "lookahead:cvar0.25:depth2", 2),
    ],
    ids=["cards", "ship", "any", "bottle", "ahead", "two-ahead"],
)
@needs_core
def test_scripted_players(flags, name, decisions, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(flags) == 0
    shown = capsys.readouterr().out
    chosen = shown.count(f"{name} chooses ")
    assert chosen == decisions or (decisions is None and chosen > 0 and "the end" in shown)
    assert max(map(len, shown.splitlines())) <= 80
    assert main(flags) == 0
    assert capsys.readouterr().out == shown  # a seed is an episode


@needs_core
def test_the_placement_that_is_chosen_is_marked_in_the_bottle(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["greedy", *BOTTLE, "--set", "level=0", "--max-steps", "1"]) == 0
    shown = re.split(r"─+ .* ─+\n", capsys.readouterr().out)[1:]
    before, behind = ([line[:18] for line in text.splitlines()[3:18]] for text in shown)
    assert before == behind  # below the spawn: the pill lies where it was to lie
    assert sum(line.count("(") + line.count("^") for line in before) == 1


def test_a_gif_has_a_picture_of_every_decision(tmp_path, capsys):
    image = pytest.importorskip("PIL.Image")
    assert main([AGENT, "--max-steps", "4", "--out", str(tmp_path / "x.gif"), "--fps", "2"]) == 0
    assert "4 decisions" in capsys.readouterr().out
    with image.open(tmp_path / "x.gif") as gif:
        assert gif.size == (960, 640)
        assert gif.n_frames >= 5
        assert gif.info["duration"] == 500


def test_an_mp4_needs_ffmpeg(tmp_path, capsys, monkeypatch):
    def missing():
        raise film.FilmError("an MP4 needs ffmpeg: install it.")

    monkeypatch.setattr(film, "_ffmpeg", missing)
    assert main([AGENT, "--out", str(tmp_path / "x.mp4")]) == 2
    assert "needs ffmpeg" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "refused"),
    [
        (["tests"], "must be a run folder"),
        ([AGENT, "--out", "x.png"], "must end in .gif or .mp4"),
        ([AGENT, "--max-steps", "0"], "--max-steps must be at least 1"),
        ([AGENT, "--opponents", "nobody"], "nobody"),
        ([AGENT, "--fps", "0"], "--fps must be a finite number"),
        ([AGENT, "--seed", "-3"], "--seed must be from 0"),
        (["greedy"], "with --env"),
        (["nobody", *BOTTLE], "nobody"),
        (["greedy", "--env", "Nothing-v0"], "Nothing-v0"),
        (["greedy", *BOTTLE, "--set", "level=99"], "level"),
        ([JUDGE, "--env", "Prospector-v0"], "lookahead"),
        ([JUDGE, "--env", "DrMarioFrame-v0"], "must be one of random, first, greedy"),
        ([JUDGE, *BOTTLE, "--set", "level=15"], "trained for levels 0 to 10"),
        ([JUDGE, *BOTTLE, "--set", "speed=high"], "trained for speed medium"),
        ([f"{JUDGE}:cvar2", *BOTTLE], "cvar"),
        (["lookahead:none.safetensors", *BOTTLE], "none.safetensors"),
    ],
)
def test_what_cannot_be_is_refused(capsys, flags, refused):
    assert main(flags) == 2
    assert refused in capsys.readouterr().err
