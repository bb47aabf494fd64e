"""Run folders that several processes want at once."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from training.evaluation.trainings import train_to_end
from training.logs.run_log import read_lines
from training.players.trained import load
from training.ppo.options import NativeRun
from training.run import checkpoint, files, folder
from training.run.folder import RunError, RunFolder

ROOT = Path(__file__).resolve().parents[2]


def started(*words):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    words = [sys.executable, *map(str, words)]
    return subprocess.Popen(words, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE)


def steps_of(run):
    path = checkpoint.newest(run / "checkpoints")
    return 0 if path is None else int(path.name.removeprefix("ckpt_"))


@pytest.mark.slow
def test_second_process_is_refused_until_the_first_is_killed(
    train, tiny_config, tmp_path, capsys, request
):
    run = tmp_path / "run"
    words = ["-m", "training.train", "--config", tiny_config, "--runs", tmp_path, "--name", "run"]
    first = started(*words, "--total-steps", 10**8, "--set", "checkpoints={every: 128, keep: 1000}")
    request.addfinalizer(first.kill)
    deadline = time.monotonic() + 600
    while steps_of(run) == 0:
        assert first.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    lines = len(read_lines(run / "metrics.jsonl"))
    for flags in (["--resume"], ["--resume", "--total-steps", 10**9]):
        assert train(tmp_path, "run", *flags, config=None) == 2
        (said,) = capsys.readouterr().err.splitlines()
        assert said.startswith(f"error: {run} is being trained by another process: ")
    assert train(tmp_path, "run") == 2  # not as a new one either
    assert "is there already" in capsys.readouterr().err
    assert load(RunFolder.open(run)).steps >= 128  # reading goes on
    assert first.poll() is None
    first.kill()
    first.communicate()
    assert len(read_lines(run / "metrics.jsonl")) >= lines
    steps = steps_of(run)
    assert train(tmp_path, "run", "--resume", "--total-steps", steps + 128, config=None) == 0
    found = [record["step"] for record in read_lines(run / "metrics.jsonl")]
    assert found == list(range(128, steps + 129, 128))


def test_run_that_has_begun_is_not_begun_again(finished):
    run = RunFolder.open(finished)
    before = (finished / "metrics.jsonl").read_bytes()
    with pytest.raises(RunError, match=r"use --resume to continue it"):
        train_to_end(run)
    assert (finished / "metrics.jsonl").read_bytes() == before


CONFIGS = ["", "[]", "3", "null", "{}", '{"a": NaN}', "[" * 100_000, '{"a": ' + "9" * 5000 + "}"]


@pytest.mark.parametrize("text", CONFIGS, ids=range(len(CONFIGS)))
def test_config_of_something_else_is_refused(tmp_path, text):
    run = RunFolder.create(tmp_path, NativeRun(name="run"))
    (run.path / "config.json").write_text(text)
    with pytest.raises(RunError, match=r"config\.json is half written or not a run's config"):
        RunFolder.open(run.path)


@pytest.mark.parametrize("value", [5, None, [], "text", [["a", 1]], {"seed": {}}, {"ppo": 5}])
def test_options_of_something_else_are_refused(tmp_path, value):
    run = RunFolder.create(tmp_path, NativeRun(name="run"))
    file = run.path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"config": value}))
    with pytest.raises(RunError, match=r"config\.json"):
        RunFolder.open(run.path)


def test_lock_is_free_again_after_an_error(tmp_path):
    run = RunFolder.create(tmp_path, NativeRun(name="run"))
    again = RunFolder.open(run.path)
    with pytest.raises(KeyboardInterrupt), run.lock():
        raise KeyboardInterrupt
    with run.lock(), pytest.raises(RunError, match="another process"), again.lock():
        pass
    with again.lock():
        pass


def test_leftovers_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path):
    run = RunFolder.create(tmp_path, NativeRun(name="run"))
    dead, living = (run.path / f".tmp-{pid}-summary.json" for pid in (2**22 + 1, os.getppid()))
    dead.touch()
    living.touch()
    with run.lock():
        assert not dead.exists()
        assert living.exists()


def test_file_system_without_locks_is_named(tmp_path, monkeypatch):
    run = RunFolder.create(tmp_path, NativeRun(name="run"))
    monkeypatch.setattr(
        files.fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(95, "Not supported"))
    )
    with pytest.raises(RunError, match=r"run cannot be locked \(Not supported\): "), run.lock():
        pass


CREATE = """
import json, sys, time
from pathlib import Path
from training.ppo.options import NativeRun
from training.run.folder import RunError, RunFolder
root, won = Path(sys.argv[1]), []
(root / sys.argv[2]).touch()
while not (root / "go").exists():
    time.sleep(0.001)
for k in range(60):
    name = f"run-{k // 2}" if k % 2 else None  # every second one takes a name that is made up
    try:
        won.append(RunFolder.create(root, NativeRun(name=name)).name)
    except RunError as error:
        assert "is there already" in str(error), error
print(json.dumps(won))
"""


@pytest.mark.slow
def test_each_name_is_given_to_one_process(tmp_path, request):
    both = [started("-c", CREATE, tmp_path, f"ready-{k}") for k in range(2)]
    for process in both:
        request.addfinalizer(process.kill)
    deadline = time.monotonic() + 600
    while len(list(tmp_path.glob("ready-*"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    (tmp_path / "go").touch()
    won = [json.loads(process.communicate(timeout=600)[0]) for process in both]
    names = won[0] + won[1]
    assert len(names) == len(set(names)) == 30 + 2 * 30
    assert {f"run-{k}" for k in range(30)} <= set(names)
    assert all(RunFolder.open(tmp_path / name).name == name for name in names)
    assert not list(tmp_path.glob(".tmp-*"))


def test_what_a_killed_process_began_is_removed_by_the_next_and_what_lives_stays(tmp_path):
    begin = (
        "import pathlib, sys, time; from training.run.files import temporary_folder\n"
        "with temporary_folder(pathlib.Path(sys.argv[1])) as made:\n"
        "    (made / 'run').mkdir(); print(made, flush=True); time.sleep(600)"
    )
    processes = [started("-c", begin, tmp_path) for _ in range(2)]
    try:
        killed, living = (Path(process.stdout.readline().strip()) for process in processes)
        processes[0].kill()
        processes[0].wait()
        empty, own, full = (tmp_path / f".tmp-{name}" for name in ("a2345678", "mine", "b2345678"))
        for path in (empty, own, full / "somebody"):
            path.mkdir(parents=True)  # of a process killed still earlier; and no folders of ours
        assert RunFolder.create(tmp_path, NativeRun(name="next")).path.is_dir()
        assert not killed.exists()
        assert not empty.exists()
        assert (living / "run").is_dir()
        assert own.is_dir()
        assert (full / "somebody").is_dir()
    finally:
        for process in processes:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("name", ["run", None])
def test_name_that_is_taken_just_now_is_refused_or_made_up_anew(tmp_path, monkeypatch, name):
    record, others = folder._config_record, []

    def slow(config):
        if not others:
            others.append(tmp_path / config.name)
            (others[0] / "checkpoints").mkdir(parents=True)
        return record(config)

    monkeypatch.setattr(folder, "_config_record", slow)
    if name is None:
        assert RunFolder.create(tmp_path, NativeRun()).path != others[0]
    else:
        with pytest.raises(RunError, match="run is there already"):
            RunFolder.create(tmp_path, NativeRun(name=name))
    assert list(others[0].iterdir()) == [others[0] / "checkpoints"]
    assert not list(tmp_path.glob(".tmp-*"))
