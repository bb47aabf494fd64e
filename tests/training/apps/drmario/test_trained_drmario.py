"""What people do with a trained agent of Dr. Mario: evaluate it, keep its clears, watch it."""

import csv
import json

import pytest

from fastenv.errors import ConfigError
from tests.needs import needs_core
from training import evaluate
from training.apps.drmario import seeds
from training.apps.drmario.best_times import BestTimes
from training.terminal import panels, sources
from training.terminal.session import TerminalSession

pytestmark = [needs_core, pytest.mark.slow]
CONFIG = {
    "env": "DrMarioPlacement-v0",
    "env_options": {"level": -15, "speed": "high"},
    "num_envs": 8,
    "total_steps": 256,
    "torch_threads": 1,
    "deterministic": True,
    "ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 1, "net_arch": [16]},
    "checkpoints": {"every": 128},
    "evaluation": {"during": "off", "episodes": 24, "bootstrap": 20, "max_steps": 200},
}


@pytest.fixture(scope="module")
def run(train, tmp_path_factory):
    folder = tmp_path_factory.mktemp("drmario")
    assert train(folder, "tiny", config=CONFIG) == 0
    return folder / "tiny"


def test_clears_of_an_evaluation_are_stored(run, tmp_path, capsys):
    path = tmp_path / "times.sqlite"
    assert evaluate.main([str(run), "--best-times", str(path)]) == 0
    printed = capsys.readouterr().out
    with BestTimes(path) as store:
        best = store.top(-15, "high")
    assert f"times.sqlite: {len(best)} new of {len(best)} clears" in " ".join(printed.split())
    assert {clear.run_id for clear in best} == {"tiny"}


def test_a_file_that_is_no_store_is_refused_before_anything_is_played(run, tmp_path, capsys):
    path = tmp_path / "times.sqlite"
    path.write_text("no store\n" * 1000)
    assert evaluate.main([str(run), "--best-times", str(path)]) == 2
    shown = capsys.readouterr()
    assert str(path) in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("more", [[], ["--deterministic"]])
def test_an_agent_is_evaluated_over_seeds(run, more, tmp_path):
    out = tmp_path / "out"
    args = [str(run), "--out", str(out), "--seeds", "2", "--episodes", "4", "--t-max", "600"]
    assert seeds.main([*args, *more]) == 0
    with (out / "seeds.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["seed_id"] for row in rows] == ["L00_S000", "L00_S001"]
    head = json.loads((out / "seeds.json").read_text())
    assert head["options"]["obs"] != "bitplane_reduced"  # that of the training


def test_the_terminal_shows_an_agent_and_what_its_training_left_behind(run):
    source = sources.show_more(sources.make_trained(str(run), run.parent, {"level": 3}))
    session = TerminalSession(source, 2)
    for _ in range(5):
        session.step()
    assert session.totals.decisions == 10
    own = panels.find_panels(source.env)
    shown = dict(panels.list_panels(session, 0, own, panels.read_training(source.run)))
    assert dict(shown["game"])["level"] == "3, high"
    training = dict(shown["training"])
    assert float(training["entropy"]) > 0
    assert training["kl"] != panels.NOTHING
    with pytest.raises(ConfigError, match="does not fit the policy"):
        sources.make_trained(str(run), run.parent, {"obs": "bitplane_bottle"})
