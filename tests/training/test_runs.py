import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.bits import equal
from tests.slow import every, late, together
from tests.training import manifests
from tests.training.left import lines as records
from training.callbacks import start
from training.players.trained import load
from training.run import checkpoint, files
from training.run.config import RunConfig
from training.run.folder import RunError, RunFolder
from training.run.loop import TrainingLoop

ROOT = Path(__file__).resolve().parents[2]


# Everything here holds for both trainers.
TRAINERS = ["native", *late("sb3")]
pytestmark = pytest.mark.parametrize("trainer", TRAINERS, indirect=True, scope="session")


def contents(folder):
    """Path to hash of everything in a folder."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): files.sha256(path) for path in found}


def saved(run, steps):
    """Parameters, optimizer and state rows of a checkpoint."""
    folder = run / "checkpoints" / f"ckpt_{steps:012d}"
    model = torch.load(folder / "model.pt", weights_only=True)
    with np.load(folder / "engine.npz", allow_pickle=False) as engine:
        return model, engine["rows"]


def error_of(capsys):
    """The message on the standard error stream: one line."""
    lines = [x for x in capsys.readouterr().err.splitlines() if x.startswith("error: ")]
    assert len(lines) == 1
    return lines[0]


def test_a_folder_of_runs_that_cannot_be_is_refused(trainer, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="file cannot hold a run: "):
        RunFolder.create(tmp_path / "file", RunConfig.from_mapping({"trainer": trainer}))


# -- what a run leaves -----------------------------------------------------------------------------


def test_run_folder_holds_what_was_promised(finished):
    expected = {"config.json", "metrics.jsonl", "events.jsonl", "summary.json", "checkpoints", "tb"}
    expected |= {".lock"}
    assert {p.name for p in finished.iterdir()} == expected
    whole = {"model.pt", "trainer.json", "engine.npz", "MANIFEST.json"}
    for steps in (256, 512):
        folder = finished / "checkpoints" / f"ckpt_{steps:012d}"
        assert {p.name for p in folder.iterdir()} == whole
    assert (finished / "checkpoints" / "latest").read_text().strip() == "ckpt_000000000512"


def test_each_episode_has_an_event_if_that_is_wanted(train, tmp_path, finished):
    assert train(tmp_path, "run", "--set", "episode_events=true") == 0
    ended = [e for e in records(tmp_path / "run", "events") if e["event"] == "episode_end"]
    metrics = [r for r in records(tmp_path / "run") if "episode" in r]
    assert len(ended) == sum(r["episode"]["n"] for r in metrics) > 0
    for key, name in (("episode_return", "return_mean"), ("decisions", "length_mean")):
        total = sum(r["episode"]["n"] * r["episode"][name] for r in metrics)
        assert sum(e[key] for e in ended) == pytest.approx(total)
    assert all({"step", "lane", "truncated"} <= e.keys() for e in ended)
    assert not [e for e in records(finished, "events") if e["event"] == "episode_end"]


def test_metrics_have_one_line_an_iteration(finished):
    found = records(finished)
    assert [(r["step"], r["iter"]) for r in found] == [(128, 1), (256, 2), (384, 3), (512, 4)]
    for record in found:
        assert set(record["phases"]) == {"env", "collect", "update"}
        assert {"policy_loss", "value_loss", "kl", "lr"} <= set(record["train"])
        rounds = record["rounds"]
        assert rounds["hit_rate"] == rounds["hits"] / rounds["n"]
        assert rounds["n"] == record["episode"]["n"]  # an episode of the Worker is a round


@pytest.mark.parametrize(("asked", "trained"), together([(64, 64), (1, 2)], 2))
def test_run_shorter_than_its_rollout_ends_where_it_is_to(train, tmp_path, capsys, asked, trained):
    assert train(tmp_path, "short", "--total-steps", asked) == 0
    said = capsys.readouterr().err
    assert f"total_steps={asked} is less than a rollout, which is shortened: " in said
    assert [record["step"] for record in records(tmp_path / "short")] == [trained]
    events = records(tmp_path / "short", "events")
    assert [event["step"] for event in events if event["event"] == "checkpoint"] == [trained]
    assert json.loads((tmp_path / "short/summary.json").read_text())["steps"] == trained
    more = ["--resume", "--total-steps", 2 * trained]
    assert train(tmp_path, "short", *more) == 0  # with the same config file, that of the fixture
    assert [record["step"] for record in records(tmp_path / "short")] == [trained, 2 * trained]


def test_summary_and_config_carry_the_same_hash(finished):
    config = json.loads((finished / "config.json").read_text())
    summary = json.loads((finished / "summary.json").read_text())
    assert config["sha256"] == summary["config_sha256"]
    assert (summary["status"], summary["steps"]) == ("finished", 512)


def test_checkpoints_that_a_kill_left_are_removed_on_resume(train, tmp_path, monkeypatch):
    flags = ("--set", "checkpoints={every: 128, keep: 2}")
    with monkeypatch.context() as killed:  # before it removed one, and before it said its end
        killed.setattr(checkpoint, "prune", lambda *_: None)
        assert train(tmp_path, "few", *flags) == 0
    monkeypatch.setattr(RunFolder, "is_finished", lambda _self: False)
    assert train(tmp_path, "few", "--resume", config=None) == 0
    kept = sorted(p.name for p in (tmp_path / "few/checkpoints").glob("ckpt_*"))
    assert kept == ["ckpt_000000000384", "ckpt_000000000512"]


def test_some_checkpoints_stay_for_ever(train, tmp_path):
    flags = ("--set", "checkpoints={every: 128, keep: 1, keep_every: 200}", "--total-steps", 640)
    assert train(tmp_path, "few", *flags) == 0
    kept = sorted(p.name for p in (tmp_path / "few/checkpoints").glob("ckpt_*"))
    assert kept == [f"ckpt_{steps:012d}" for steps in (256, 512, 640)]  # behind 200, 400, 600


def test_checkpoint_that_is_due_while_another_is_written_is_skipped(train, tmp_path, monkeypatch):
    """The disk is slower than the training: nothing waits for it but the end."""
    save, begun, go_on = checkpoint.save, [], threading.Event()

    def slow(folder, state, *content, **how):
        begun.append(state.steps)
        assert len(begun) > 1 or go_on.wait(600)
        return save(folder, state, *content, **how)

    def end_iteration(self, *args):
        done(self, *args)
        if self.steps == 384:
            go_on.set()

    done = TrainingLoop.end_iteration
    monkeypatch.setattr(checkpoint, "save", slow)
    monkeypatch.setattr(TrainingLoop, "end_iteration", end_iteration)
    flags = ("--set", "checkpoints.every=128", "--set", "deterministic=false")
    assert train(tmp_path, "slow", *flags, "--set", "ppo.precision=fp32") == 0
    assert begun == [128, 512]
    events = records(tmp_path / "slow", "events")
    skipped = [e["step"] for e in events if e["event"] == "checkpoint skipped"]
    assert skipped[:2] == [256, 384]
    assert [e["step"] for e in events if e["event"] == "checkpoint"] == [128, 512]
    assert [r["checkpoints"]["skipped"] for r in records(tmp_path / "slow")][:3] == [0, 0, 1]


def test_disk_that_fills_up_ends_the_run_at_the_next_border(train, tmp_path, monkeypatch, capsys):
    save = checkpoint.save

    def full(folder, state, *content, **how):
        if state.steps == 256:
            raise OSError(28, "No space left on device")
        return save(folder, state, *content, **how)

    monkeypatch.setattr(checkpoint, "save", full)
    assert train(tmp_path, "full", "--set", "checkpoints.every=128") == 2
    assert "No space left" in error_of(capsys)
    assert records(tmp_path / "full")[-1]["step"] == 384  # not at once, and not at the end
    assert (tmp_path / "full/checkpoints/latest").read_text().strip() == f"ckpt_{128:012d}"
    monkeypatch.undo()
    assert train(tmp_path, "full", "--resume", config=None) == 0
    assert [r["step"] for r in records(tmp_path / "full")] == [128, 256, 384, 512]


@pytest.mark.parametrize("fails", every(2, [True, False]))
def test_lost_checkpoint_is_said_whatever_ends_the_run(train, tmp_path, monkeypatch, capsys, fails):
    """It is still being written when the run ends: only its close can tell."""
    begun = threading.Event()

    def full(folder, state, *content, **how):
        assert begun.wait(600)
        raise OSError(28, "No space left on device")

    def end_iteration(self, *args):
        done(self, *args)
        if self.steps == 256:
            begun.set()
            raise RunError("the game is over") if fails else KeyboardInterrupt

    done = TrainingLoop.end_iteration
    monkeypatch.setattr(checkpoint, "save", full)
    monkeypatch.setattr(TrainingLoop, "end_iteration", end_iteration)
    flags = ("--set", "checkpoints.every=128", "--set", "deterministic=false")
    status = train(tmp_path, "run", *flags, "--set", "ppo.precision=fp32")
    said = capsys.readouterr().err
    assert "warning: the checkpoint at 128 decisions could not be written" in said
    assert status == (2 if fails else 130)
    assert ("error: the game is over" in said) == fails
    again = f"resume with --name run --resume --runs {tmp_path}"
    where = tmp_path / "run"
    left = f"interrupted before the first checkpoint: {where} holds no agent yet; {again}\n"
    assert (left in said) != fails


@pytest.mark.parametrize("steps", [0, 256])
def test_an_interrupt_says_what_is_left(train, tmp_path, monkeypatch, capsys, steps):
    def interrupt(*_):
        raise KeyboardInterrupt

    if steps:
        assert train(tmp_path, "run", "--total-steps", steps) == 0
    monkeypatch.setattr(start, "_make_trainer", interrupt)
    capsys.readouterr()
    flags = ("--resume", "--total-steps", 2 * steps) if steps else ()
    assert train(tmp_path, "run", *flags) == 130
    said = capsys.readouterr().err
    run = tmp_path / "run"
    assert run.exists() == bool(steps)
    assert said.endswith(
        f"interrupted: the checkpoints in {run} are complete; resume with --name run "
        f"--resume --runs {tmp_path}\n"
        if steps
        else "interrupted before the training began: nothing was written\n"
    )


def test_schedule_reaches_the_environment(train, tmp_path):
    flags = ("--set", "schedules={allowed_phases: [[0, [early]], [256, [late]]]}")
    assert train(tmp_path, "phases", *flags) == 0
    changes = [r for r in records(tmp_path / "phases", "events") if r["event"] == "knobs"]
    assert [(c["step"], c["allowed_phases"]) for c in changes] == [(256, ["late"])]
    lengths = [r["episode"]["length_mean"] for r in records(tmp_path / "phases")]
    assert max(lengths[:2]) <= 3
    assert lengths[3] > 5


# -- going on --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stopped", every(2, [256, 384]))
def test_a_knob_that_changed_before_a_run_goes_on_is_logged_once(train, tmp_path, stopped):
    phases = "schedules.opponents=[[0,rule_easy],[256,rule_hard]]"
    assert train(tmp_path, "run", "--total-steps", stopped, "--set", phases) == 0
    assert train(tmp_path, "run", "--total-steps", 512, "--resume", config=None) == 0
    changes = [r["step"] for r in records(tmp_path / "run", "events") if r["event"] == "knobs"]
    assert changes == [256]


def test_same_seed_is_the_same_run_and_another_is_not(train, finished, tmp_path):
    assert train(tmp_path, "other", "--seed", 2) == 0
    ours, theirs = saved(tmp_path / "other", 512)[0], saved(finished, 512)[0]
    assert not equal(ours["policy"], theirs["policy"])


def test_existing_run_is_not_overwritten(train, finished, capsys):
    before = contents(finished)
    assert train(finished.parent, "done") == 2
    assert "--resume" in error_of(capsys)
    assert contents(finished) == before


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--set", "ppo.learning_rate=0.1"), "ppo.learning_rate"),
        (("--set", "schedules={rule: [[0, 1]]}"), "schedules.rule"),
        (("--num-envs", 16), "num_envs"),
    ],
)
def test_resume_refuses_other_options(train, finished, capsys, flags, named):
    before = contents(finished)
    assert train(finished.parent, "done", "--resume", *flags) == 2
    assert f"another {named}:" in error_of(capsys)
    assert contents(finished) == before


def test_resume_needs_a_run(train, tmp_path, capsys):
    assert train(tmp_path, "none", "--resume") == 2
    assert "there is no run" in error_of(capsys)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--env", "SkullQueen-v0"), "SkullQueen-v0"),
        (("--set", "env_options.num_players=9"), "num_players"),
        (("--set", "env_options.opponents=martian"), "opponents"),
        (("--set", "schedules.moon=[[0, full]]"), "moon"),
        (("--set", "ppo.n_step=3"), "ppo.n_step"),
    ],
)
def test_bad_option_leaves_no_folder(train, tmp_path, capsys, flags, named):
    assert train(tmp_path, "bad", *flags) == 2
    assert named in error_of(capsys)
    assert not list(tmp_path.iterdir())


# -- damage ----------------------------------------------------------------------------------------


@pytest.fixture
def copy(finished, tmp_path):
    """A copy of the finished run, to damage."""
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def refuses(train, run, capsys, says):
    before = contents(run)
    assert train(run.parent, run.name, "--resume", "--total-steps", 1024, config=None) == 2
    assert says in error_of(capsys)
    assert contents(run) == before


def test_run_without_config_is_refused(train, copy, capsys):
    (copy / "config.json").unlink()
    refuses(train, copy, capsys, "no whole run folder")


def test_changed_config_is_refused(train, copy, capsys):
    text = (copy / "config.json").read_text()
    (copy / "config.json").write_text(text.replace('"n_epochs": 2', '"n_epochs": 3'))
    refuses(train, copy, capsys, "was changed")


def damage(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "name", every(3, ["model.pt", "trainer.json", "engine.npz", "MANIFEST.json"])
)
def test_run_goes_on_from_the_newest_checkpoint_that_is_whole(train, copy, capsys, name):
    newest, before = (copy / f"checkpoints/ckpt_{steps:012d}" for steps in (512, 256))
    straight = saved(copy, 512)[0]
    if name == "MANIFEST.json":
        (newest / name).write_text("{")
    else:
        damage(newest / name)
    assert train(copy.parent, copy.name, "--resume", "--total-steps", 512, config=None) == 0
    lines = [x for x in capsys.readouterr().err.splitlines() if x.startswith("warning: ")]
    assert len(lines) == 1
    assert newest.name in lines[0]
    assert before.name in lines[0]
    assert [r["step"] for r in records(copy)] == [128, 256, 384, 512]
    assert equal(saved(copy, 512)[0], straight)
    kinds = [(r["event"], r.get("step")) for r in records(copy, "events")]
    assert kinds[-1] == ("end", 512)
    assert kinds.count(("checkpoint", 512)) == 1  # what lay behind the damage is forgotten


def test_run_without_any_whole_checkpoint_is_refused(train, copy, capsys):
    for steps in (256, 512):
        damage(copy / f"checkpoints/ckpt_{steps:012d}/model.pt")
    refuses(train, copy, capsys, "has no whole checkpoint to go on from")


def test_run_that_was_killed_before_its_first_checkpoint_begins_anew(train, finished, copy):
    shutil.rmtree(copy / "checkpoints")
    nobody = 2**22 + 1  # was just writing one
    (copy / f"checkpoints/.tmp-{nobody}-ckpt_000000000256").mkdir(parents=True)
    assert train(copy.parent, copy.name, "--resume", config=None) == 0
    assert equal(saved(copy, 512)[0], saved(finished, 512)[0])
    assert [r["step"] for r in records(copy)] == [128, 256, 384, 512]
    assert [r["event"] for r in records(copy, "events")][:2] == ["start", "resume"]
    assert not list((copy / "checkpoints").glob(".tmp-*"))


def test_foreign_checkpoint_is_refused(train, copy, capsys):
    folder = copy / "checkpoints/ckpt_000000000512"
    manifests.change(folder, identity=manifests.read(folder)["identity"] | {"env": "Chess-v0"})
    refuses(train, copy, capsys, "is foreign")


class Bomb:
    """Leaves a file when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_code_in_a_checkpoint_is_not_run(train, copy, capsys, tmp_path):
    folder = copy / "checkpoints/ckpt_000000000512"
    torch.save({"policy": Bomb(tmp_path / "crater")}, folder / "model.pt")
    entries = manifests.read(folder)["files"]
    entries["model.pt"]["sha256"] = files.sha256(folder / "model.pt")
    manifests.change(folder, files=entries)
    refuses(train, copy, capsys, "cannot be read")
    assert not (tmp_path / "crater").exists()


# -- being stopped ---------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
def test_signal_saves_and_exits_cleanly(tiny_config, train, tmp_path, number):
    command = [sys.executable, "-m", "training.train", "--config", str(tiny_config)]
    command += ["--runs", str(tmp_path), "--name", "long", "--total-steps", "100000000"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    process = subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True)
    run = tmp_path / "long"
    try:
        deadline = time.monotonic() + 600
        while not (run / "metrics.jsonl").is_file() or not records_so_far(run):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(number)
        _, err = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 0, err
    summary = json.loads((run / "summary.json").read_text())
    steps = summary["steps"]
    assert summary["status"] == "stopped"
    assert (run / "checkpoints/latest").read_text().strip() == f"ckpt_{steps:012d}"
    assert records(run)[-1]["step"] == steps
    assert train(tmp_path, "long", "--resume", "--total-steps", steps + 128, config=None) == 0
    assert records(run)[-1]["step"] == steps + 128


def test_signal_before_the_first_iteration_leaves_something_to_go_on_from(
    train, tmp_path, monkeypatch, capsys
):
    class AskedAtOnce(start.TrainingLoop):
        def __init__(self, *args):
            signal.raise_signal(signal.SIGTERM)
            super().__init__(*args)

    monkeypatch.setattr(start, "TrainingLoop", AskedAtOnce)
    assert train(tmp_path, "early") == 0
    said = f"stopped at 0 decisions; resume with --name early --resume --runs {tmp_path}\n"
    assert said in capsys.readouterr().out
    monkeypatch.undo()
    assert (tmp_path / "early/checkpoints/latest").read_text().strip() == f"ckpt_{0:012d}"
    assert train(tmp_path, "early", "--resume", config=None) == 0
    assert [r["step"] for r in records(tmp_path / "early")] == [128, 256, 384, 512]


def records_so_far(run):
    return (run / "metrics.jsonl").read_text().count("\n")


def test_network_that_is_not_finite_ends_the_run_and_keeps_the_checkpoint(
    trainer, train, tmp_path, capsys, monkeypatch
):
    """The update spoils the network; what the trainer then stumbles over is one sentence."""
    assert train(tmp_path, "run", "--total-steps", 256) == 0
    step = torch.optim.Adam.step

    def spoilt(self, *args, **options):
        result = step(self, *args, **options)
        with torch.no_grad():
            for group in self.param_groups:
                group["params"][0].fill_(float("nan"))
        return result

    monkeypatch.setattr(torch.optim.Adam, "step", spoilt)
    assert train(tmp_path, "run", "--total-steps", 512, "--resume", config=None) == 2
    message = error_of(capsys)
    assert "ppo.learning_rate" in message
    assert "from the last checkpoint" in message
    monkeypatch.undo()
    assert train(tmp_path, "run", "--total-steps", 512, "--resume", config=None) == 0
    assert [r["step"] for r in records(tmp_path / "run")] == [128, 256, 384, 512]


def test_rows_of_another_layout_are_refused_to_go_on_from_but_their_network_plays(
    train, copy, capsys
):
    folder = copy / "checkpoints/ckpt_000000000512"
    identity = manifests.read(folder)["identity"] | {"state layout": "0" * 16}
    manifests.change(folder, identity=identity)
    trained = load(RunFolder.open(copy))
    assert trained.logits(trained.engine().obs).shape == (1, trained.engine().num_actions)
    refuses(train, copy, capsys, "its state layout is")
