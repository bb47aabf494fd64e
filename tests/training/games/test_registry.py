"""What training knows of games, and what it does with one that it knows nothing of."""

import io
import json
import os
import re
import shutil
from pathlib import Path

import pytest

import fastenv
from fastenv.errors import ConfigError
from tests.processes import run_python
from tests.training.games import walk
from tests.training.games.walk import ENV
from training import evaluate, play
from training.callbacks.shaping import find_potential
from training.players.names import RANDOM_LEGAL
from training.run import games
from training.run.config import RunConfig
from training.run.config_files import load_file
from training.run.envs import make_engine, with_defaults
from training.run.game_view import GameView, find_view
from training.run.option_layers import load_preset, read_presets
from training.run.schedules import count_elapsed
from training.train import main

ROOT = Path(__file__).resolve().parents[3]
TINY = {
    "env": ENV,
    "num_envs": 8,
    "total_steps": 512,
    "torch_threads": 1,
    "deterministic": True,
    "ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 1, "net_arch": [8]},
    "evaluation": {
        "during": "inline",
        "every": 256,
        "curve_episodes": 8,
        "episodes": 12,
        "bootstrap": 50,
        "replays": 2,
    },
}


@pytest.fixture(autouse=True, scope="module")
def known():
    walk.register()
    yield
    walk.unregister()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run that was evaluated while it trained and at its end."""
    runs = tmp_path_factory.mktemp("walk")
    (runs / "walk.json").write_text(json.dumps(TINY))
    flags = ["--config", runs / "walk.json", "--runs", runs, "--name", "walk"]
    assert main([str(flag) for flag in flags]) == 0
    return runs / "walk"


@pytest.fixture
def told(tmp_path):
    presets = tmp_path / "presets.yaml"
    presets.write_text(f"toy: {{env: {ENV}, num_envs: 4}}")
    toy = games.GameTraining(
        title="a toy",
        env_options={"raise_illegal": True},
        presets=presets,
        bots=("walker", "random"),
    )
    games.register(f"fastenv/{ENV}", toy)
    yield
    games.unregister(ENV)


# -- the registry ----------------------------------------------------------------------------------


@pytest.mark.parametrize("env", [name.rpartition("/")[2] for name in fastenv.list_envs()])
def test_every_environment_is_described_and_by_its_engine_too(env):
    game = games.get_game(env)
    assert game is games.get_game(f"fastenv/{env}") is games.get_engine_game(make_engine(env, 1))
    assert game.title
    assert with_defaults(env, {"a": 1}) == {**game.env_options, "a": 1}


def test_presets_are_configs_of_the_games_that_offer_them():
    found = read_presets()
    assert {"flat", "prospector"} <= set(found)
    for name in found:
        config = RunConfig.from_mapping(load_preset(name))
        assert name in load_file(games.get_game(config.env).presets)


def test_a_game_that_says_nothing_has_defaults():
    assert games.get_game(ENV) == games.GameTraining()
    assert with_defaults(ENV, {"raise_illegal": True}) == {"raise_illegal": True}
    engine = make_engine(ENV, 1)
    assert games.find(ENV, "elapsed") is games.find(engine, "elapsed") is None
    with pytest.raises(ConfigError, match="how many ticks"):
        count_elapsed(engine)
    with pytest.raises(ConfigError, match="left out: this game has none"):
        find_potential(ENV, "viruses")


def test_a_game_that_says_nothing_is_shown_by_its_own_words():
    engine = make_engine(ENV, 1)
    engine.reset_many(seeds=3)
    row = engine.get_states([0])[0]
    view = find_view(ENV)
    assert type(view) is GameView
    assert view.render_state(engine, row, ["you"]) == engine.game.render(row, "ansi")
    said = view.describe_decision(engine, row, 1, row, ["you"])
    assert said == [f"you: {engine.game.action_name(1, row)}"]


def test_a_game_may_be_registered_and_forgotten(told):
    assert games.get_game(ENV).title == games.get_engine_game(make_engine(ENV, 1)).title == "a toy"
    assert make_engine(ENV, 1).game.spec.illegal_actions == "raise"
    assert load_preset("toy") == {"env": ENV, "num_envs": 4, "preset": "toy"}
    games.unregister(ENV)
    assert games.get_game(ENV).title == ""
    with pytest.raises(ConfigError, match="preset='toy'"):
        load_preset("toy")


# -- a game that describes itself ------------------------------------------------------------------

FOLDER = {
    "__init__.py": """
from pathlib import Path
from training.run.games import GameTraining

WALK = GameTraining(
    title="the walk",
    presets=Path(__file__).with_name("presets.yaml"),
    bots=("walker", "random"),
    capabilities={"elapsed": "training.games.walk.clock:elapsed"},
)
""",
    "clock.py": """
import numpy as np

def elapsed(engine):
    return np.zeros(engine.num_envs)
""",
    "presets.yaml": """
walk:
  env: Walk-v0
  num_envs: 8
  total_steps: 128
  mask_schedule: [{action: 1, ticks: 2}]
  ppo: {n_steps: 16, batch_size: 64, n_epochs: 1, net_arch: [8]}
""",
}
SCRIPT = """
import sys
from tests.training.games import walk

walk.register()
from training import evaluate, train

flags = ["--preset", "walk", "--runs", ".", "--name", "x", "--no-evaluation"]
sys.exit(train.main(flags) or evaluate.main(["x", "--runs", ".", "--episodes", "4"]))
"""


def files_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_game_with_a_capability_is_a_folder_and_a_line_of_the_composition(tmp_path):
    copied = tmp_path / "training"
    shutil.copytree(ROOT / "training", copied, ignore=shutil.ignore_patterns("__pycache__"))
    before = files_of(copied)
    folder = copied / "games/walk"
    folder.mkdir()
    for name, text in FOLDER.items():
        (folder / name).write_text(text)
    composition = copied / "composition.py"
    text = composition.read_text(encoding="utf-8")
    (entry,) = re.findall(r".*:PROSPECTOR\",\n", text)
    line = f'    "{ENV}": "training.games.walk:WALK",\n'
    composition.write_text(text.replace(entry, entry + line))
    after = files_of(copied)
    assert [path for path in before if after[path] != before[path]] == [composition]
    assert set(after) - set(before) == {folder / name for name in FOLDER}

    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    run_python("-P", "-c", SCRIPT, cwd=tmp_path, PYTHONPATH=paths)
    found = json.loads((tmp_path / "x/evaluation.json").read_text())["episodes"]["policies"]
    assert list(found) == ["trained", "trained, held back", "walker", "random"]


# -- a third game ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("native.hindsight=value", "native.hindsight='value' is not possible: Walk-v0"),
        ("native.heads=phase", "native.heads='phase'"),
        ("native.attention=8", "native.attention=8"),
        ("selfplay={}", "one policy can play every seat"),
        ("window_ticks=10", "window_ticks=10"),
        ("mask_schedule=[{action: 1, ticks: 2}]", "how many ticks"),
        ("trainer=hier", "SkullKingWorker-v0"),
    ],
)
def test_what_it_does_not_have_is_refused_by_name(tmp_path, capsys, option, says):
    flags = ["--env", ENV, "--runs", str(tmp_path), "--name", "x", "--set", option]
    assert main(flags) == 2
    error = capsys.readouterr().err
    assert says in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "x").exists()


def test_a_person_plays_it(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("1\nq\n"))
    assert play.main(["--env", ENV, "--seed", "0"]) == 0
    said = capsys.readouterr().out
    assert "You: 1" in said
    assert "\n1 of " in said


def test_it_is_evaluated_beside_chance(run, capsys):
    capsys.readouterr()
    assert evaluate.main([str(run), "--seed", "5"]) == 0
    assert "walk: 12 episodes, seeds 5 to 16" in capsys.readouterr().out
    record = json.loads((run / "evaluation.json").read_text())
    found = record["episodes"]
    assert list(found["policies"]) == ["trained", RANDOM_LEGAL]
    assert (found["baseline"], found["count"], found["base_seed"]) == (RANDOM_LEGAL, 12, 5)
    assert found["policies"]["trained"]["return_minus_baseline"] is not None
    for name, each in found["policies"].items():
        value, low, high = each["intervals"]["return"]
        assert low <= value <= high
        assert value == pytest.approx(each["summary"]["return_mean"]), name
    rows = [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]
    assert len(rows) == 24
    assert len(record["replays"]) == 2


def test_bots_are_compared_with_the_first_of_them(told, run, tmp_path, capsys):
    assert evaluate.main([str(run)]) == 0
    found = json.loads((run / "evaluation.json").read_text())["episodes"]
    assert list(found["policies"]) == ["trained", "walker", "random"]
    assert found["baseline"] == "walker"
    assert found["policies"]["walker"]["kind"] == "bot"
    out = tmp_path / "bots.json"
    flags = ["--bots", "--env", ENV, "--episodes", "7", "--output-path", str(out)]
    assert evaluate.main(flags) == 0
    assert "bots: 7 episodes, seeds 0 to 6" in capsys.readouterr().out
    assert list(json.loads(out.read_text())["policies"]) == ["walker", "random"]


def test_chance_plays_where_there_are_no_bots(capsys):
    assert evaluate.main(["--bots", "--env", ENV, "--episodes", "3"]) == 0
    assert RANDOM_LEGAL in capsys.readouterr().out


def test_the_bots_of_the_game_itself_play_where_training_knows_none(capsys, monkeypatch):
    monkeypatch.setattr(walk.Walk, "bot_names", ("random", "walker"))
    assert evaluate.main(["--bots", "--env", ENV, "--episodes", "3"]) == 0
    said = capsys.readouterr().out
    assert said.index("walker") < said.index("random")  # the last one is the strongest
    assert RANDOM_LEGAL not in said


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["{run}", "--opponents", "random"], "--opponents random: must be left out with a run"),
        (["{run}", "--time-max", "5"], "--time-max 5.0: must be left out with a run"),
        (["--bots", "--env", ENV, "--time-max", "5"], "--time-max 5.0: must be left out"),
    ],
)
def test_options_that_it_has_no_use_for_are_refused(run, capsys, flags, says):
    assert evaluate.main([flag.format(run=run) for flag in flags]) == 2
    assert says in capsys.readouterr().err
