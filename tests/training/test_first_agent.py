"""What the first command shows: lines on the way, and what to do when it is done."""

import shutil
import subprocess

import numpy as np
import pytest

from fastenv.engine import BatchEngine
from tests.needs import needs_core
from tests.training.conftest import TINY
from tools.figures import games
from training.evaluation.judging import get_judging
from training.logs import dashboard
from training.logs.dashboard import Dashboard
from training.run.config_files import load_file
from training.run.envs import make_engine
from training.run.machine import ROOT
from training.run.option_layers import CONFIGS, merge_layers, parser
from training.run.stats import IterationSums


@needs_core
def test_games_won_are_counted():
    engine = make_engine("SkullKingFlat-v0", 64, {"opponents": "random", "agent_seat": "rotate"})
    assert isinstance(engine, BatchEngine)
    engine.reset_many(seeds=3)
    window, won, games = IterationSums(engine), 0, 0
    streams = np.arange(256, dtype=np.uint64).reshape(64, 4) + np.uint64(1)
    for _ in range(100):
        engine.step_many(engine.bot_actions("rule_hard", streams))
        window.add(engine)
        done = np.flatnonzero(engine.terminated | engine.truncated)
        games += len(done)
        won += int((engine.final_info["game_rank"][done] == 1).sum())
    found = window.record()["games"]
    assert found == {"n": games, "wins": won, "win_rate": won / games}
    assert found["win_rate"] > 0.5, "of three that play at random"


@pytest.mark.parametrize(("iteration", "lines"), [(0.5, 4), (2.0, 5), (4.0, 5), (9.0, 2)])
def test_a_line_comes_about_every_five_seconds(monkeypatch, iteration, lines):
    clock = [100.0]
    monkeypatch.setattr(dashboard.time, "monotonic", lambda: clock[0])
    said = []
    shown = Dashboard("run", 1000)
    monkeypatch.setattr(shown, "say", said.append)
    for k in range(int(20 / iteration)):
        clock[0] += iteration
        shown.metrics({"step": k + 1, "games": {"win_rate": 0.25}, "sps": 100.0})
    shown.close()
    assert len(said) in (lines - 1, lines)
    assert "wins 25.0%" in said[-1]


def test_lines_become_fewer_as_a_run_goes_on(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(dashboard.time, "monotonic", lambda: clock[0])
    said = []
    shown = Dashboard("run", 10**6)
    monkeypatch.setattr(shown, "say", said.append)
    for k in range(24 * 360):  # a day
        clock[0] += 10.0
        shown.metrics({"step": k + 1})
    shown.close()
    assert 100 < len(said) < 1000


@needs_core
def test_the_end_says_what_to_do_next_and_films_a_game(tmp_path, train, capsys):
    evaluation = {"games": 4, "opponents": ["random"], "film": True, "bootstrap": 50}
    values = {**TINY, "env": "SkullKingFlat-v0", "env_options": {"schedule": [1, 2]}}
    values |= {"evaluation": {"during": "off", **evaluation}, "total_steps": 128}
    assert train(tmp_path, "first", config=values, evaluation=True) == 0
    said = capsys.readouterr().out
    run = tmp_path / "first"
    assert (run / "film.gif").read_bytes()[:4] == b"GIF8"
    assert f"a game of it: {run / 'film.gif'}" in said
    (line,) = [each for each in said.splitlines() if each.startswith("next: ")]
    assert f"python -m training play --against {run}" in line
    assert "python -m training studio" in line
    twice = 2 * values["total_steps"]
    on = f"python -m training train --name first --resume --runs {tmp_path} --total-steps {twice}"
    assert line.endswith(on)


@needs_core
@pytest.mark.parametrize(
    ("env", "options"),
    [("SkullKingFlat-v0", {"schedule": [1]}), ("Prospector-v0", {"time_max": 9})],
)
def test_a_film_needs_no_evaluation(tmp_path, train, capsys, env, options):
    evaluation = {"during": "off", "after_training": False, "film": True}
    values = {**TINY, "env": env, "env_options": options, "evaluation": evaluation}
    assert train(tmp_path, "first", "--total-steps", 128, config=values, evaluation=True) == 0
    film = tmp_path / "first" / "film.gif"
    assert film.read_bytes()[:4] == b"GIF8"
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"a game of it: {film}"
    assert said[-2].startswith("first: ")


@needs_core
@pytest.mark.parametrize(
    ("env", "first", "by_ppo"),
    [
        ("SkullKingFlat-v0", "skullking", "main"),
        ("DrMarioPlacement-v0", "drmario_first", "drmario"),
        ("Prospector-v0", "prospector", "prospector"),
        ("LanternWalk-v0", "lantern_walk_first", "lantern_walk"),
    ],
)
def test_an_environment_alone_trains_as_make_train_does(capsys, env, first, by_ppo):
    config = merge_layers(parser().parse_args(["--env", env]), {})
    recipe = load_file(CONFIGS / f"{first}.yaml")
    values = config.to_dict()
    assert config.trainer == recipe["trainer"]
    for name in ("total_steps", "num_envs", "env_options", "expert", "native", "trackers"):
        asked = recipe.get(name, {})
        found = values.get(name)
        assert found is not None or not asked
        assert (found if isinstance(asked, int) else {k: found[k] for k in asked}) == asked
    assert f"training/configs/{first}.yaml" in capsys.readouterr().err
    other = merge_layers(parser().parse_args(["--env", env, "--trainer", "native"]), {})
    assert other.total_steps == load_file(CONFIGS / f"{by_ppo}.yaml")["total_steps"]


def test_without_the_core_ppo_learns_alone(no_core, capsys):
    words = ["--config", str(CONFIGS / "skullking.yaml")]
    config = merge_layers(parser().parse_args(words), {})
    assert (config.trainer, config.ppo.gamma) == ("native", 0.99)
    words = ["--config", str(CONFIGS / "main.yaml")]
    baseline = merge_layers(parser().parse_args(words), {}, lambda _line: None)
    for name in ("ppo", "native", "total_steps", "num_envs", "env_options"):
        assert getattr(config, name) == getattr(baseline, name), name
    (line,) = capsys.readouterr().err.splitlines()
    assert "trainer 'native' instead of 'expert'" in line


@pytest.mark.parametrize("temperature", [5.0, 6.0])
def test_flags_of_the_searching_trainer_are_taken(no_core, temperature):
    """Where its search cannot run they have no use."""
    words = ["--config", str(CONFIGS / "skullking.yaml"), "--set"]
    chosen = parser().parse_args([*words, f"expert.temperature={temperature}"])
    assert merge_layers(chosen, {}, lambda _line: None).trainer == "native"


@needs_core
def test_flags_of_the_searching_trainer_are_taken_where_it_searches():
    words = ["--config", str(CONFIGS / "skullking.yaml"), "--set", "expert.temperature=6"]
    config = merge_layers(parser().parse_args(words), {}, lambda _line: None)
    assert (config.trainer, config.expert.temperature) == ("expert", 6.0)


MAKE = [shutil.which("make") or "make", "--dry-run", "train"]


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make on this machine")
@pytest.mark.parametrize("game", ["skullking", "drmario", "prospector", "lantern_walk"])
def test_make_train_has_a_configuration_for_every_game(game):
    said = subprocess.run([*MAKE, f"GAME={game}"], cwd=ROOT, capture_output=True, text=True)
    path = said.stdout.split("--config ")[1].split()[0]
    assert game in path
    words = ["--config", str(ROOT / path)]
    config = merge_layers(parser().parse_args(words), {}, lambda _line: None)
    assert config.evaluation.film
    assert (config.env_threads, config.torch_threads) == (None, None), "chosen for the machine"


def test_the_first_agent_of_dr_mario_is_compared_with_its_teacher():
    teacher = load_file(CONFIGS / "drmario_first.yaml")["expert"]["teacher"]
    assert get_judging("DrMarioPlacement-v0").bots[0] == teacher == "lookahead3"
    assert teacher in games.FIRST_AGENTS["drmario"][-1]


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make on this machine")
@pytest.mark.parametrize("game", ["chess", "", "drmario prospector"])
def test_make_train_names_the_games_that_there_are(game):
    command = [*MAKE[:1], "train", f"GAME={game}"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert said.returncode == 2
    listed = "skullking drmario prospector lantern_walk"
    assert f"GAME={game} is not possible: it must be one of {listed}." in said.stdout
