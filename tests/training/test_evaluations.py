"""Evaluation while a run trains: what it finds, that it changes nothing, and how it ends."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch

from tests.bits import equal
from tests.slow import late, together
from training.callbacks import evaluations as evaluating
from training.evaluation.curve import CurveEvaluator
from training.evaluation.intervals import Interval
from training.players.trained import load
from training.run import checkpoint
from training.run.folder import RunFolder
from training.run.loop import TrainingLoop
from training.run.seeds import CURVE_SEEDS

KEEP_ALONE = checkpoint.keep_only
ROOT = Path(__file__).resolve().parents[2]
FAST = {
    "every": 256,
    "curve_games": 8,
    "curve_episodes": 4,
    "curve_opponents": ["random", "rule_hard"],
    "bootstrap": 50,
    "max_steps": 200,
}


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A machine that is busy takes long to start a process."""
    monkeypatch.setattr(evaluating, "LAST_RESULT_S", 600.0)


def during(mode, **more):
    return "--set", "evaluation=" + json.dumps({"during": mode, **FAST, **more})


def lines(run, name="evaluations"):
    return [json.loads(line) for line in (run / f"{name}.jsonl").read_text().splitlines()]


def policy(run, steps=512):
    path = run / f"checkpoints/ckpt_{steps:012d}/model.pt"
    return torch.load(path, weights_only=True)["policy"]


def warnings(run):
    return [e["text"] for e in lines(run, "events") if e["event"] == "warning"]


@pytest.mark.parametrize(
    ("mode", "who"),
    [
        ("inline", "native"),
        *late(*together([("inline", "sb3"), ("process", "native"), ("process", "sb3")])),
    ],
)
def test_evaluation_leaves_the_training_as_it_is(train, tmp_path, mode, who):
    """T19."""
    assert train(tmp_path, "without", "--trainer", who) == 0
    assert train(tmp_path, "with", "--trainer", who, *during(mode)) == 0
    assert equal(policy(tmp_path / "without"), policy(tmp_path / "with"))
    assert not (tmp_path / "without/evaluations.jsonl").exists()
    found = lines(tmp_path / "with")
    assert found[-1]["step"] == 512  # what the run came to is always evaluated
    assert warnings(tmp_path / "with") == []
    assert multiprocessing.active_children() == []
    assert not (tmp_path / "with" / evaluating.MAILBOX).exists()


def test_evaluation_that_a_stop_left_out_is_made_up_for(train, tmp_path, monkeypatch):
    """The iteration in which the signal came is the one that made it due."""
    end = TrainingLoop.end_iteration

    def stopped(self, *args, **details):
        if self.iteration == 1:
            signal.raise_signal(signal.SIGTERM)
        end(self, *args, **details)

    assert train(tmp_path, "whole", *during("inline")) == 0
    monkeypatch.setattr(TrainingLoop, "end_iteration", stopped)
    assert train(tmp_path, "parts", *during("inline")) == 0
    monkeypatch.undo()
    assert not (tmp_path / "parts/evaluations.jsonl").exists()
    assert train(tmp_path, "parts", "--resume", config=None) == 0
    found = [
        [{k: line[k] for k in ("version", "step", "results")} for line in lines(tmp_path / run)]
        for run in ("whole", "parts")
    ]
    assert found[0] == found[1]
    assert [line["step"] for line in found[0]] == [256, 512]


def test_lines_say_what_was_played_and_found(train, tmp_path):
    assert train(tmp_path, "run", *during("inline")) == 0
    found = lines(tmp_path / "run")
    assert [(r["step"], r["version"]) for r in found] == [(256, 2), (512, 4)]
    for record in found:
        assert record["first_seed"] == CURVE_SEEDS
        assert record["episodes"] == 16
        assert record["duration_s"] > 0
        names = ["win_rate, 3 x random", "points, 3 x random", "margin, 3 x rule_hard"]
        assert set(names) < set(record["results"])
        for value, low, high in record["results"].values():
            assert low <= value <= high
    assert found[0]["best"]


@pytest.mark.parametrize("who", ["native", *late("sb3")])
def test_training_ends_when_evaluations_bring_no_progress(train, tmp_path, monkeypatch, who):
    def evaluate(self, version, steps, parameters):
        played.append(steps)
        return {"step": steps, "results": {"margin": [1.0, 0.0, 2.0]}, "best": steps == 128}

    played = []
    monkeypatch.setattr(CurveEvaluator, "evaluate", evaluate)
    flags = ("--trainer", who, *during("inline", every=128, patience=2))
    assert train(tmp_path, "run", *flags) == 0
    run = tmp_path / "run"
    said = {"patience": 2, "best_at": 128, "ended_at": 384}
    summary = json.loads((run / "summary.json").read_text())
    assert (summary["status"], summary["steps"]) == ("finished", 384)
    assert summary["early_stop"] == said
    assert (
        said.items() <= next(e for e in lines(run, "events") if e["event"] == "early stop").items()
    )
    assert train(tmp_path, "run", "--resume", config=None) == 0  # it is over
    assert played == [128, 256, 384]
    flags = ("--resume", "--set", "evaluation.patience=3")
    assert train(tmp_path, "run", *flags, config=None) == 0
    summary = json.loads((run / "summary.json").read_text())
    assert (summary["steps"], summary["early_stop"]["ended_at"]) == (512, 512)
    assert played == [128, 256, 384, 512]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"patience": 0}, "evaluation.patience=0"),
        ({"patience": 2, "during": "off"}, "nothing shows then whether there is progress"),
    ],
)
def test_patience_that_cannot_be_is_refused(train, tmp_path, capsys, more, says):
    assert train(tmp_path, "run", *during("inline", **more)) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_process_and_inline_find_the_same(train, tmp_path):
    results = []
    for mode in ("inline", "process"):
        assert train(tmp_path, mode, *during(mode)) == 0
        results.append(lines(tmp_path / mode)[-1]["results"])
    assert results[0] == results[1]


def test_prospector_is_evaluated_by_return(train, tmp_path):
    flags = ("--env", "Prospector-v0", "--set", "env_options.time_max=100")
    assert train(tmp_path, "run", *flags, *during("inline"), "--total-steps", 256) == 0
    (record,) = lines(tmp_path / "run")
    assert record["decides"] == "return"
    assert set(record["results"]) == {"return", "net_profit", "survival", "steps", "ticks"}
    assert load(RunFolder.open(tmp_path / "run"), "best").steps == 256


def test_best_policy_by_its_lower_end_is_kept_whatever_follows(train, tmp_path):
    assert train(tmp_path, "run", "--set", "checkpoints={every: 128, keep: 1}") == 0
    run = RunFolder.open(tmp_path / "run")
    evaluator = CurveEvaluator(run)
    lows = {128: 1.0, 256: 3.0, 384: 2.0}
    parameters = policy(run.path)

    def play(steps, _parameters):
        interval = type(next(iter(played.values())))(9.0, lows[steps], 9.0)
        return dict.fromkeys(played, interval)

    played = evaluator._play(0, parameters)
    evaluator._play = play
    marked = {
        steps: {k: v + steps if v.is_floating_point() else v for k, v in parameters.items()}
        for steps in lows
    }
    best = [evaluator.evaluate(1, steps, marked[steps])["best"] for steps in lows]
    assert best == [True, True, False]
    assert equal(
        torch.load(checkpoint.newest(run.checkpoints / "best") / "model.pt", weights_only=True)[
            "policy"
        ],
        marked[256],
    )
    assert load(run, "best").steps == 256
    again = CurveEvaluator(run)  # another process knows what is to be beaten
    again._play = play
    assert not again.evaluate(1, 384, marked[384])["best"]
    lows[384] = 3.5
    assert again.evaluate(1, 384, marked[384])["best"]


def interval_of(low):
    return {"margin, 3 x random": Interval(9.0, low, 9.0)}


def test_best_policy_goes_back_with_a_run_that_was_killed(train, tmp_path, monkeypatch):
    """What was found behind the newest checkpoint is found again, and is the best again."""
    flags = (*during("inline", every=128), "--set", "checkpoints={every: 256, keep: 1}")
    lows = {128: 1.0, 256: 2.0, 384: 3.0, 512: 4.0}
    monkeypatch.setattr(CurveEvaluator, "_play", lambda self, steps, _: interval_of(lows[steps]))

    def killed(self, loop):
        end(self, loop)
        if loop.steps == 384:
            raise KeyboardInterrupt

    end = evaluating.Evaluations.end_iteration
    monkeypatch.setattr(evaluating.Evaluations, "end_iteration", killed)
    assert train(tmp_path, "run", *flags) == 130
    run = tmp_path / "run"
    best = run / "checkpoints/best"
    assert {256, 384} <= {checkpoint.steps_of(path) for path in checkpoint.list_whole(best)}
    monkeypatch.setattr(evaluating.Evaluations, "end_iteration", end)
    seen = []
    monkeypatch.setattr(
        checkpoint, "keep_only", lambda *args: seen.append(args[1]) or KEEP_ALONE(*args)
    )
    assert train(tmp_path, "run", "--resume", config=None) == 0
    assert seen == [{128, 256}]
    assert [line["best"] for line in lines(run)] == [True] * 4
    assert checkpoint.steps_of(checkpoint.newest(best)) == 512
    run = RunFolder.open(run)  # with everything saved and logged, no other may be wanted again
    lows[640] = 5.0
    assert CurveEvaluator(run).evaluate(5, 640, policy(run.path))["best"]
    assert [checkpoint.steps_of(path) for path in checkpoint.list_whole(best)] == [512, 640]


def test_run_that_was_killed_while_it_ended_is_ended_when_it_goes_on(train, tmp_path, monkeypatch):
    """Its last checkpoint is written, and its last policy is not evaluated yet."""
    flags = during("inline", every=300)
    assert train(tmp_path, "whole", *flags) == 0

    def killed(self, loop):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(evaluating.Evaluations, "finish", killed)
        assert train(tmp_path, "run", *flags) == 130
    assert train(tmp_path, "run", "--resume", config=None) == 0
    whole, run = (
        [
            {k: v for k, v in line.items() if k not in ("duration_s", "time")}
            for line in lines(tmp_path / name)
        ]
        for name in ("whole", "run")
    )
    assert run == whole
    assert RunFolder.open(tmp_path / "run").is_finished()


def crash(_folder, _values, channel):
    channel.recv()
    os._exit(3)


def crash_once(folder, values, channel):
    trace = Path(folder) / "crashed"
    if not trace.exists():
        trace.touch()
        crash(folder, values, channel)
    SERVE(folder, values, channel)


def fail(_folder, _values, channel):
    channel.recv()
    channel.send("ValueError: no such table")


SERVE = evaluating.serve


@pytest.mark.slow
def test_evaluator_that_crashes_is_started_once_more(train, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluating, "serve", crash_once)
    assert train(tmp_path, "run", *during("process")) == 0
    (text,) = warnings(tmp_path / "run")
    assert "exit status 3" in text
    assert "tried once more" in text
    assert lines(tmp_path / "run")[-1]["step"] == 512
    assert multiprocessing.active_children() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "says"),
    [
        pytest.param(crash, "exit status 3", marks=pytest.mark.slow),
        (fail, "ValueError: no such table"),
    ],
)
def test_evaluator_that_crashes_twice_is_given_up_and_training_goes_on(
    train, tmp_path, monkeypatch, how, says
):
    monkeypatch.setattr(evaluating, "serve", how)
    assert train(tmp_path, "run", *during("process", every=128)) == 0
    first, second = warnings(tmp_path / "run")
    assert says in first
    assert says in second
    assert "no more evaluations" in second
    assert [r["step"] for r in lines(tmp_path / "run", "metrics")] == [128, 256, 384, 512]
    assert multiprocessing.active_children() == []


def test_inline_evaluation_that_fails_does_not_end_the_training(train, tmp_path, monkeypatch):
    def evaluate(*_args):
        raise OSError("No space left on device")

    monkeypatch.setattr(CurveEvaluator, "evaluate", evaluate)
    assert train(tmp_path, "run", *during("inline", every=128)) == 0
    assert len(warnings(tmp_path / "run")) == 2
    assert [r["step"] for r in lines(tmp_path / "run", "metrics")] == [128, 256, 384, 512]


class Slow:
    """An evaluation process that is not done before it is told to be; in this process."""

    def __init__(self, run, log):
        self.told, self.answers = [], []
        self.handle = evaluating.ProcessEvaluations(run, lambda: {"w": torch.ones(1)})
        self.handle._channel = self
        self.loop = SimpleNamespace(log=log, steps=0, iteration=0, stopping=False)
        evaluating.Evaluations.start(self.handle, self.loop)

    def end_iteration(self, steps, iteration):
        self.loop.steps, self.loop.iteration = steps, iteration
        self.handle.end_iteration(self.loop)

    def send(self, version):
        self.told.append(version)

    def poll(self, *_timeout):
        return bool(self.answers)

    def recv(self):
        return self.answers.pop(0)


def test_slow_evaluator_leaves_policies_out_and_never_blocks(finished, tmp_path):
    class Log:
        found = ()

        def evaluation(self, steps, results, **_details):
            self.found = (*self.found, steps)

    source = RunFolder.open(finished)
    config = type(source.config).from_mapping(
        source.config.to_dict() | {"evaluation": {"during": "process", "every": 128}}
    )
    log = Log()
    slow = Slow(RunFolder(tmp_path, config), log)
    for iteration in range(1, 5):
        slow.end_iteration(128 * iteration, iteration)
    assert slow.told == [1]  # the first one is still being played with
    letter = torch.load(tmp_path / evaluating.MAILBOX, weights_only=True)
    assert (letter["version"], letter["step"]) == (4, 512)
    slow.answers.append({"version": 1, "step": 128, "results": {}})
    slow.end_iteration(520, 5)
    assert slow.told == [1, 4]
    slow.answers.append({"version": 4, "step": 512, "results": {}})
    slow.end_iteration(530, 6)
    assert (slow.told, log.found) == ([1, 4], (128, 512))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_when_the_training_is_ended(tiny_config, tmp_path, number):
    command = [sys.executable, "-m", "training.train", "--config", str(tiny_config)]
    command += ["--runs", str(tmp_path), "--name", "run", "--total-steps", "100000000"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with subprocess.Popen(
        [*command, *during("process")], cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            deadline = time.monotonic() + 600
            while not (tmp_path / "run" / evaluating.MAILBOX).is_file():  # it begins to play
                assert process.poll() is None, process.stderr.read()
                assert time.monotonic() < deadline
                time.sleep(0.05)
            left = psutil.Process(process.pid).children(recursive=True)
            assert left
            if number == signal.SIGINT:  # a terminal sends it to everybody
                for child in left:
                    child.send_signal(number)
            process.send_signal(number)
            _, error = process.communicate(timeout=600)
        finally:
            process.kill()
    assert process.returncode == (-number if number == signal.SIGKILL else 0), error
    assert "Traceback" not in error
    _, alive = psutil.wait_procs(left, timeout=600)
    assert alive == []


@pytest.mark.parametrize(
    ("assignment", "says"),
    [
        ("evaluation.during=sometimes", "evaluation.during='sometimes'"),
        ("evaluation.every=0", "evaluation.every=0"),
        ("evaluation.curve_opponents=[]", "evaluation.curve_opponents=()"),
        ("evaluation.curve_opponents=[martians]", "evaluation.curve_opponents='martians'"),
    ],
)
def test_impossible_options_are_refused(train, tmp_path, capsys, assignment, says):
    assert train(tmp_path, "bad", "--set", assignment) == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_off_is_off_although_yaml_reads_it_as_false(train, tmp_path):
    flags = ("--set", "evaluation.during=off", "--total-steps", 128)
    assert train(tmp_path, "run", *flags) == 0
    assert RunFolder.open(tmp_path / "run").config.evaluates == "off"


def test_a_policy_that_cannot_be_written_is_not_played(tmp_path, monkeypatch):
    def full(path, content):
        raise OSError(28, "No space left on device")

    beside, said, sent = object.__new__(evaluating.ProcessEvaluations), [], []
    beside._run, beside._policy = SimpleNamespace(path=tmp_path), dict
    beside._log, beside._channel = (
        SimpleNamespace(warn=said.append),
        SimpleNamespace(send=sent.append),
    )
    beside._version, beside._pending, beside._evaluating = 0, False, False
    with monkeypatch.context() as patch:
        patch.setattr(evaluating.files, "write_bytes", full)
        beside._publish(1, 256)
    assert sent == []
    assert said == [
        "the policy at 256 decisions is not evaluated ([Errno 28] No space left on device)."
    ]
    beside._publish(2, 512)
    assert sent == [2]


def test_the_process_beside_takes_the_options_that_the_run_goes_on_with(finished, monkeypatch):
    class Closed:
        def recv(self):
            raise EOFError

    seen = []
    monkeypatch.setattr(evaluating, "CurveEvaluator", lambda run, alive: seen.append(run.config))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    begun = RunFolder.open(finished).config
    now = begun.replace(seed=begun.seed + 5)
    evaluating.serve(str(finished), now.to_dict(), Closed())
    assert seen == [now]
