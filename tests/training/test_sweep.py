"""The search over options: what is varied, what is trained, and how it goes on."""

import json
import math

import pytest

from tests.tables import walk

pytest.importorskip("optuna")

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from fastenv.errors import ConfigError
from training.apps.skullking.evaluation import play_matches
from training.evaluation import trials
from training.evaluation.judging import CURVE
from training.evaluation.trials import space
from training.logs.run_data import compared, read_runs
from training.players.trained import load
from training.report import main as report_main
from training.run import files
from training.run.folder import RunFolder
from training.sweep import main

VARIED = ["--vary", "ppo.learning_rate=1e-4..1e-2,log", "--vary", "ppo.n_epochs=[1, 2]"]


@pytest.fixture(scope="module")
def sweep(tiny_config):
    """Call the command line with the tiny run; returns the exit status."""

    def call(runs, *flags, varied=VARIED):
        given = ["--config", str(tiny_config), "--runs", str(runs), "--games", "8"]
        given += ["--total-steps", "128", "--name", "s", "--seeds", "3,5"]
        return main([*given, *varied, *map(str, flags)])

    return call


def test_space_is_read_as_it_is_written():
    found = space(["a=[1, [2, 3], x]", "b=1..8", "c=0..0.5", "d=1e-4..1e-2,log", "e=1..64,log"])
    assert found == {
        "a": CategoricalDistribution(["1", "[2,3]", '"x"']),
        "b": IntDistribution(1, 8),
        "c": FloatDistribution(0.0, 0.5),
        "d": FloatDistribution(1e-4, 1e-2, log=True),
        "e": IntDistribution(1, 64, log=True),
    }


@walk(
    "text", ["a", "a=3", "a=[1]", "a=2..1", "a=0..1,log", "a=1..2,lin", "a=x..y", "a=true..false"]
)
def test_what_varies_nothing_is_refused(text):
    with pytest.raises(ConfigError, match="--vary"):
        space([text])


def test_every_trial_trains_every_seed_and_is_worth_their_mean(sweep, tmp_path, capsys):
    assert sweep(tmp_path, "--trials", 2) == 0
    report = json.loads((tmp_path / "s.json").read_text())
    assert {each["trial"] for each in report["trials"]} == {0, 1}
    values = [each["value"] for each in report["trials"]]
    assert values == sorted(values, reverse=True)
    for each in report["trials"]:
        points = []
        for seed in (3, 5):
            run = RunFolder.open(tmp_path / f"s-{each['trial']}-{seed}")
            assert run.config.seed == seed
            assert run.config.ppo.n_epochs == json.loads(each["options"]["ppo.n_epochs"])
            assert math.isclose(
                run.config.ppo.learning_rate, each["options"]["ppo.learning_rate"], rel_tol=1e-12
            )
            options = run.config.evaluation.replace(games=8, episodes=8, opponents=("rule_hard",))
            found = play_matches(load(run), options, CURVE)
            points.append(found["rule_hard"]["trained"]["points"].value)
        assert each["value"] == pytest.approx(sum(points) / 2)
    # What they played is on the page that compares runs.
    runs = read_runs(sorted(tmp_path.glob("s-*")))
    assert [run.notes for run in runs] == [[]] * 4
    played = compared(runs)["against 3 x rule_hard"]
    assert played["s-0-3"]["points"][0] + played["s-0-5"]["points"][0] == pytest.approx(
        2 * next(each["value"] for each in report["trials"] if each["trial"] == 0)
    )
    assert report_main([*(str(run.path) for run in runs), "--out", str(tmp_path / "x.html")]) == 0
    # More trials: those that are there stay as they are.
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("s-*/metrics.jsonl")}
    assert sweep(tmp_path, "--trials", 3) == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    again = json.loads((tmp_path / "s.json").read_text())
    assert len(again["trials"]) == 3
    assert all(each in again["trials"] for each in report["trials"])
    capsys.readouterr()
    assert sweep(tmp_path, "--games", 16) == 2  # other games than those before
    assert "same options" in capsys.readouterr().err


def test_trial_that_was_interrupted_goes_on(sweep, tmp_path, monkeypatch):
    values = iter([1.0, KeyboardInterrupt(), 2.0, 3.0])
    asked = []

    def value_of(config, options, root):
        asked.append(config.name)
        value = next(values)
        if isinstance(value, KeyboardInterrupt):
            raise value
        return value

    monkeypatch.setattr(trials, "value_of", value_of)
    assert sweep(tmp_path, "--trials", 1) == 130
    assert sweep(tmp_path, "--trials", 1) == 0
    assert asked == ["s-0-3", "s-0-5", "s-0-3", "s-0-5"]
    (trial,) = json.loads((tmp_path / "s.json").read_text())["trials"]
    assert trial["value"] == 2.5


def worth(config, options, root):
    """Judge a trial without training it."""
    return 1 / config.ppo.n_epochs - abs(math.log10(config.ppo.learning_rate) + 3)


def made(folder):
    return sorted(json.loads((folder / "s.json").read_text())["trials"], key=lambda t: t["trial"])


def test_a_sweep_that_is_resumed_makes_the_trials_of_one_that_was_not(sweep, tmp_path, monkeypatch):
    """Those that are guided by earlier ones too; writers that are killed cost no trial."""
    monkeypatch.setattr(trials, "value_of", worth)
    assert sweep(tmp_path / "whole", "--trials", 13) == 0
    assert sweep(tmp_path / "parts", "--trials", 3) == 0
    journal = tmp_path / "parts" / "s.journal"
    with journal.open("ab") as file:
        file.write(b'{"op_code":6,"worker_id":"x')  # killed in the middle of a line
    (tmp_path / "parts" / "s.journal.lock").symlink_to(journal)  # and while it had the lock
    assert sweep(tmp_path / "parts", "--trials", 12) == 0
    assert sweep(tmp_path / "parts", "--trials", 13) == 0
    assert made(tmp_path / "parts") == made(tmp_path / "whole")
    options = [each["options"] for each in made(tmp_path / "whole")]
    assert len({each["ppo.learning_rate"] for each in options}) == 13
    assert sweep(tmp_path / "other", "--trials", 3, "--sampler-seed", 1) == 0
    assert [each["options"] for each in made(tmp_path / "other")] != options[:3]


def test_nothing_else_is_replaced_or_shared(sweep, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(trials, "value_of", worth)
    report = tmp_path / "s.json"
    report.write_text('{"trials": "of somebody else"}')
    assert sweep(tmp_path, "--trials", 1) == 2
    assert f"{report} is there, and is no report of this sweep" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]
    assert report.read_text() == '{"trials": "of somebody else"}'
    report.unlink()
    assert sweep(tmp_path, "--trials", 1) == 0
    with files.hold(tmp_path / "s.journal"):
        assert sweep(tmp_path, "--trials", 2) == 2
    assert "s.journal is used by another process" in capsys.readouterr().err
    assert len(made(tmp_path)) == 1


@walk(
    ("varied", "flags", "says"),
    [
        (["env=[SkullKingWorker-v0, SkullKingFlat-v0]"], [], "env must be left to --env."),
        (["seed=[1, 2]"], [], "seed must be left to --seeds."),
        (["name=[a, b]"], [], "name must be left to --name."),
        (["total_steps=100..200"], [], "total_steps must be left to --total-steps."),
        (["foo=1..2"], [], "'foo' is not an option"),
        (["ppo.foo=[1, 2]"], [], "'ppo.foo' is not an option"),
        (["env_options.foo=1..2"], [], "'foo' is not an option"),
        (["ppo.n_epochs=0..8"], [], "ppo.n_epochs=0 is not possible"),
        (["ppo.n_epochs=[2, x]"], [], "ppo.n_epochs='x' is not possible"),
        (["ppo.learning_rate=-1e-3..1e-3"], [], "ppo.learning_rate=-0.001 is not possible"),
        (["torch_threads=1..2000"], [], "torch_threads=2000 is not possible"),
        (["ppo.n_epochs=1..2"], ["--trials", "0"], "--trials=0 is not possible"),
        (["ppo.n_epochs=1..2"], ["--sampler-seed", "-1"], "--sampler-seed=-1 is not possible"),
        ([], [], "--vary must be given at least once, such as --vary ppo.n_epochs=2..8."),
        (["ppo.n_epochs=1..2"], ["--set", "seed=4"], "seed must be left to --seeds."),
        (["ppo.n_epochs=1..2"], ["--name", "../x"], "name='../x-0-3' is not possible"),
    ],
)
def test_what_no_trial_could_have_is_refused_first(sweep, tmp_path, capsys, varied, flags, says):
    given = [word for text in varied for word in ("--vary", text)]
    assert sweep(tmp_path, *flags, varied=given) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content", [None, b"garbage", b"garbage\n", b"3\n", b"{}\n", b'{"op_code": 99}\n', b"\xff\n"]
)
def test_what_is_no_journal_is_left_as_it_is(sweep, tmp_path, capsys, content):
    path = tmp_path / "s.journal"
    path.mkdir() if content is None else path.write_bytes(content)
    assert sweep(tmp_path) == 2
    error = capsys.readouterr().err
    assert "s.journal is " in error
    assert error.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == ["s.journal"]
    assert content is None or path.read_bytes() == content


def test_a_report_that_cannot_be_written_is_refused_before_the_work(sweep, tmp_path, capsys):
    (tmp_path / "s.json").mkdir()
    assert sweep(tmp_path) == 2
    assert "s.json: cannot be written: it is a folder, must be a file." in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]
    (tmp_path / "file").touch()
    assert sweep(tmp_path / "file") == 2
    assert "file is no folder" in capsys.readouterr().err


def test_options_that_do_not_go_together_fail_alone(sweep, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(trials, "value_of", lambda config, options, root: 1.0)
    varied = ["--vary", "ppo.batch_size=[64, 63]"]
    assert sweep(tmp_path, "--trials", 6, varied=varied) == 0
    report = json.loads((tmp_path / "s.json").read_text())
    assert len(report["trials"]) + len(report["failed"]) == 6
    assert {each["options"]["ppo.batch_size"] for each in report["trials"]} == {"64"}
    assert report["failed"]
    assert "ppo.batch_size=63" in capsys.readouterr().out
