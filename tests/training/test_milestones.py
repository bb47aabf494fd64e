import json
import shutil
from dataclasses import replace

import pytest

from training.evaluation import tables
from training.evaluation.trained import AGENT, load
from training.games.skullking import milestones
from training.games.skullking.milestones import MILESTONES, first_reached, measure
from training.games.skullking.playing import play_matches
from training.milestones import main
from training.run.folder import RunFolder

ALL_MISSED = {m.name: [m.bar + 0.1, m.bar - 0.1, m.bar + 0.2] for m in MILESTONES}


def entry(steps, **results):
    return {
        "checkpoint": f"ckpt_{steps:012d}",
        "steps": steps,
        "wall_s": steps / 100,
        "results": ALL_MISSED | results,
    }


def test_a_milestone_is_reached_where_the_whole_interval_lies_above():
    course = [
        entry(100, M1=[0.5, 0.40, 0.6], M4=[9.0, -1.0, 20.0]),  # a low end on the bar is not above
        entry(200, M1=[0.5, 0.41, 0.6]),
        entry(300, M1=[0.5, 0.30, 0.7], M4=[9.0, 0.5, 20.0], M3=[None, None, None]),
        entry(400, M1=[0.9, 0.80, 1.0], M4=[9.0, 0.5, 20.0]),
    ]
    found = first_reached(course)
    assert list(found) == ["M1", "M2", "M3", "M4"]
    assert found["M1"] == {
        **{"checkpoint": "ckpt_000000000200", "steps": 200, "wall_s": 2.0},
        "result": [0.5, 0.41, 0.6],
    }
    assert found["M4"]["steps"] == 300
    assert found["M2"] is None
    assert found["M3"] is None


def test_bars_are_those_of_the_spec():
    asked = {m.name: (m.opponents, m.measure, m.bar) for m in MILESTONES}
    assert asked == {
        "M1": ("rule_medium", "win_rate", 0.40),
        "M2": ("rule_hard", "win_rate", 0.50),
        "M3": ("rule_hard", "bid_hit", 0.60),
        "M4": ("heuristic", "margin", 0.0),
    }


@pytest.fixture
def run(finished, tmp_path):
    """A copy of a finished run with two checkpoints, 256 and 512."""
    shutil.copytree(finished, tmp_path / "done")
    return RunFolder.open(tmp_path / "done")


def test_every_checkpoint_plays_and_tells_its_time(run, capsys):
    assert main([str(run.path), "--games", "8", "--seed", "5"]) == 0
    printed = capsys.readouterr().out
    record = json.loads((run.path / "milestones.json").read_text())
    assert [c["steps"] for c in record["checkpoints"]] == [256, 512]
    metrics = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    wall = {m["step"]: m["wall_s"] for m in metrics}
    assert [c["wall_s"] for c in record["checkpoints"]] == [wall[256], wall[512]]
    assert set(record["milestones"]) == {"M1", "M2", "M3", "M4"}
    assert all(m.says in printed for m in MILESTONES)
    # The figures are those of an evaluation with the same options.
    options = replace(run.config.evaluation, games=8, seed=5)
    found = play_matches(load(run), replace(options, opponents=("rule_hard", "heuristic")))
    last = record["checkpoints"][-1]["results"]
    assert last["M2"] == found["rule_hard"][AGENT]["win_rate"].to_list()
    assert last["M3"] == found["rule_hard"][AGENT]["bid_hit"].to_list()
    assert last["M4"] == found["heuristic"][AGENT]["margin"].to_list()


@pytest.fixture
def played(monkeypatch):
    """Decisions of the checkpoints that play, all with results beyond every bar."""
    steps = []
    results = {name: [1000.0, 999.0, 1001.0] for name in ALL_MISSED}

    def play(trained, options):
        steps.append(trained.steps)
        return results

    monkeypatch.setattr(milestones, "play", play)
    return steps


def test_what_was_played_is_kept_and_not_played_again(run, played):
    options, console = run.config.evaluation, tables.console()
    first = measure(run, options, console)
    assert played == [256, 512]
    assert first["milestones"]["M1"]["steps"] == 256
    shutil.rmtree(run.checkpoints / "ckpt_000000000256")
    again = measure(run, options, console)
    assert played == [256, 512]
    assert again["checkpoints"] == first["checkpoints"]
    measure(run, replace(options, seed=1), console)  # other games: nothing is known of them
    assert played == [256, 512, 512]


def test_a_checkpoint_that_changed_plays_again_and_later_ones_are_dropped(run, played):
    options, console = run.config.evaluation, tables.console()
    measure(run, options, console)
    shutil.rmtree(run.checkpoints / "ckpt_000000000512")
    manifest = run.checkpoints / "ckpt_000000000256" / "MANIFEST.json"
    manifest.write_text(manifest.read_text() + "\n")
    record = measure(run, options, console)
    assert played == [256, 512, 256]
    assert [c["steps"] for c in record["checkpoints"]] == [256]


def test_time_is_shown_as_hours_minutes_seconds():
    assert milestones.duration(3725.4) == "1:02:05"
    assert milestones.duration(None) == "-"


def test_runs_that_have_no_milestones_are_refused(train, tmp_path, capsys):
    assert train(tmp_path, "three", "--set", "env_options.num_players=3", "--total-steps=128") == 0
    capsys.readouterr()
    assert main([str(tmp_path / "three")]) == 2
    assert "num_players=3" in capsys.readouterr().err
    flags = ("--env", "Prospector-v0", "--total-steps", 128)
    assert train(tmp_path, "ore", *flags) == 0
    capsys.readouterr()
    assert main([str(tmp_path / "ore")]) == 2
    assert "has no milestones" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "says"), [(["nowhere"], "there is no run"), (["{run}", "--games", "0"], "games=0")]
)
def test_bad_request_is_refused(run, capsys, flags, says):
    assert main([flag.format(run=run.path) for flag in flags]) == 2
    assert says in capsys.readouterr().err
    assert not (run.path / "milestones.json").exists()
