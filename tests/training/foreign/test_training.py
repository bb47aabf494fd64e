"""Runs in foreign environments: trained, judged, shown, exported, resumed; and their refusals."""

from __future__ import annotations

import json
from importlib import metadata

import pytest
import torch

import fastenv
import training
from tests.tables import walk
from training import compare, evaluate, export, report, sweep, watch
from training.run import games, machine
from training.run.folder import RunFolder
from training.train import main

HERE = "tests.training.foreign.environments"
TINY = [
    *("--num-envs", "4", "--total-steps", "256", "--set", "ppo.n_steps=16"),
    *("--set", "ppo.batch_size=32", "--set", "ppo.n_epochs=1", "--set", "ppo.net_arch=[16]"),
    *("--set", "deterministic=true", "--set", "evaluation.during=off"),
    *("--set", "evaluation.episodes=8", "--set", "evaluation.bootstrap=50"),
]


def train(runs, name, env, *flags):
    return main(["--env", env, "--runs", str(runs), "--name", name, *TINY, *flags])


@pytest.fixture(scope="module")
def ladder(tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    assert train(runs, "ladder", f"{HERE}:Ladder", "--set", "env_options.length=5") == 0
    return runs / "ladder"


def test_a_run_is_trained_and_judged(ladder):
    record = json.loads((ladder / "evaluation.json").read_text())
    assert {"trained", "random_legal"} <= set(record["episodes"]["policies"])
    assert json.loads((ladder / "summary.json").read_text())["status"] == "finished"


def test_options_come_from_the_file_for_foreign_environments(capsys):
    main(["--env", "CartPole-v1", "--print-config"])
    said = capsys.readouterr()
    assert "training/configs/foreign.yaml" in said.err
    assert "num_envs: 8\n" in said.out


def test_an_agent_is_compared_watched_and_exported(ladder, tmp_path, capsys):
    short = ["--episodes", "4"]
    assert evaluate.main([str(ladder), "--against", "random_legal", *short]) == 0
    assert watch.main([str(ladder), "--text"]) == 0
    said = capsys.readouterr().out
    assert "place: 0" in said
    assert "the state has passed" not in said
    assert export.main([str(ladder), str(tmp_path / "given")]) == 0
    policy = training.load_policy(tmp_path / "given")
    env = policy.make()
    obs, info = env.reset(seed=0)
    action, _ = policy.act(obs, info["action_mask"])
    assert info["action_mask"][action]
    assert RunFolder.open(ladder).config.env == policy.env == f"{HERE}:Ladder"


def test_a_run_is_reported(ladder, tmp_path):
    page = tmp_path / "report.html"
    assert report.main([str(ladder), "--out", str(page)]) == 0
    assert f"{HERE}:Ladder" in page.read_text(encoding="utf-8")


def make_options(runs, name):
    """Make the options of tiny trainings on a ladder, as commands over several runs take them."""
    options = ("num_envs=4", "env_options.length=5", *TINY[5::2])
    given = [word for option in options for word in ("--set", option)]
    lasting = ["--total-steps", "128", "--games", "4", "--name", name, "--runs", str(runs)]
    return ["--env", f"{HERE}:Ladder", *lasting, *given]


def test_variants_are_compared_over_seeds(tmp_path):
    variants = ["--variant", "a", "--variant", "b", "--with", "ppo.gamma=0.5"]
    assert compare.main([*make_options(tmp_path, "two"), "--seeds", "1,2", *variants]) == 0
    found = json.loads((tmp_path / "two.json").read_text())
    assert (found["seeds"], [*found["configs"]]) == ([1, 2], ["a", "b"])
    for variant in ("a", "b"):
        for seed in (1, 2):
            summary = json.loads((tmp_path / f"two-{variant}-{seed}/summary.json").read_text())
            assert summary["status"] == "finished"


def test_options_are_swept(tmp_path):
    vary = ["--vary", "ppo.gamma=[0.5,0.9]", "--trials", "2"]
    assert sweep.main([*make_options(tmp_path, "gammas"), *vary]) == 0
    assert len([*tmp_path.glob("gammas-*-1")]) == 2


def test_agents_of_a_game_in_turns_meet_at_a_table(tmp_path, capsys):
    selfplay = ["--set", "selfplay.start=64", "--set", "selfplay.every=64"]
    name = f"{HERE}:Nim"
    assert train(tmp_path, "nim", name, "--no-evaluation", *selfplay) == 0
    run = str(tmp_path / "nim")
    assert evaluate.main([run, "--against", "random", "--games", "8"]) == 0
    assert "random" in capsys.readouterr().out


def test_a_run_of_stable_baselines3_goes_on_as_one_that_was_not_stopped(tmp_path):
    flags = ["--trainer", "sb3", "--no-evaluation", "--set", "checkpoints.every=128"]
    assert train(tmp_path, "whole", "CartPole-v1", *flags) == 0
    assert train(tmp_path, "halves", "CartPole-v1", *flags, "--total-steps", "128") == 0
    again = ["--name", "halves", "--runs", str(tmp_path), "--resume", "--total-steps", "256"]
    assert main(again) == 0
    whole, halves = (
        torch.load(tmp_path / run / "checkpoints/ckpt_000000000256/model.pt", weights_only=True)
        for run in ("whole", "halves")
    )
    for name, value in whole["policy"].items():
        assert torch.equal(halves["policy"][name], value)


@pytest.mark.slow
def test_an_evaluation_beside_the_training_may_have_processes_too(tmp_path, capsys):
    flags = ["env_options.step_timeout=30", "evaluation.during=process", "evaluation.every=128"]
    given = [word for flag in flags for word in ("--set", flag)]
    assert train(tmp_path, "beside", f"{HERE}:Ladder", *given) == 0
    assert "evaluation failed" not in "".join(capsys.readouterr())
    assert (tmp_path / "beside" / "evaluations.jsonl").read_text()


@walk("trainer", ["dqn", "ensemble"])
def test_other_trainers_take_them_too(tmp_path, trainer):
    flags = ["--trainer", trainer, "--num-envs", "4", "--no-evaluation"]
    options = {
        "dqn": "dqn.net_arch=[8] dqn.batch_size=8 dqn.learning_starts=16 dqn.capacity=256 "
        "dqn.iteration_steps=8 total_steps=64",
        "ensemble": "ensemble.seeds=[1,2] ppo.n_steps=16 ppo.batch_size=32 total_steps=256",
    }[trainer]
    flags += [word for option in options.split() for word in ("--set", option)]
    given = ["--env", "CartPole-v1", "--runs", str(tmp_path), "--name", trainer]
    assert main([*given, *flags]) == 0


@walk("mode", ["NextStep", "SameStep", "Disabled"])
def test_a_vector_of_several_lanes_is_trained_in_every_mode(tmp_path, mode):
    given = ["--set", f"env_options.mode={mode}", "--total-steps", "128", "--no-evaluation"]
    assert train(tmp_path, mode, f"{HERE}:make_vector", *given) == 0


@walk(
    ("flags", "message"),
    [
        (["--env", "Pendulum-v1"], "is continuous"),
        (["--env", "no.such:env"], "no.such:env: No module named"),
        (["--env", f"{HERE}:Unlike"], "different observation spaces"),
        (["--env", "NoSuch-v0"], "or an id of Gymnasium, such as CartPole-v1, or module:name"),
        (
            ["--env", f"{HERE}:Ladder", "--set", "env_options.wrong=raises"],
            f"error: {HERE}:Ladder: step raised KeyError: 'a missing rung'",
        ),
        (
            ["--env", f"{HERE}:Ladder", "--set", 'trackers={"archive": {"cell": {"obs": 0}}}'],
            "cannot be set to a saved state",
        ),
        (["--env", f"{HERE}:Ladder", "--trainer", "sb3"], "'pair.0' in the observation is part of"),
        (["--env", f"{HERE}:Ladder", "--trainer", "expert"], "search and worlds are not possible"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_written(
    tmp_path, capsys, flags, message
):
    assert main([*flags, "--runs", str(tmp_path), "--name", "x"]) == 2
    assert message in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_search_is_refused_by_name(ladder, capsys):
    assert evaluate.main([f"search:{ladder},worlds=4"]) == 2
    assert "cannot be set to a saved state" in capsys.readouterr().err


def test_an_environment_that_fails_leaves_the_last_checkpoint(tmp_path, capsys):
    late = [f"{HERE}:FailsLate", "--set", "checkpoints.every=64"]
    assert train(tmp_path, "late", *late) == 2
    assert f"error: {HERE}:FailsLate: step raised ValueError: out of memory" in (
        capsys.readouterr().err
    )
    run = RunFolder.open(tmp_path / "late")
    assert [path.name for path in sorted(run.checkpoints.glob("ckpt_*"))] == [
        "ckpt_000000000064",
        "ckpt_000000000128",
    ]


def test_a_run_without_a_name_and_the_versions_of_its_packages(tmp_path):
    nim = ["--env", "pettingzoo.classic.connect_four.connect_four:env"]
    assert main([*nim, "--runs", str(tmp_path), *TINY, "--no-evaluation"]) == 0
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("env-")
    versions = json.loads((folder / "config.json").read_text())["versions"]
    assert versions["pettingzoo"] == metadata.version("pettingzoo")
    assert versions["gymnasium"] == metadata.version("gymnasium")


def test_versions_are_those_of_the_environment_inside_a_function():
    pytest.importorskip("minigrid")
    name = f"{HERE}:make_maze"
    fastenv.make_game(name)
    assert {"tests", "minigrid", "gymnasium"} <= set(games.modules_of(name))
    versions = machine.versions(games.modules_of(name))
    assert versions["minigrid"] == metadata.version("minigrid")
    assert games.modules_of("Prospector-v0") == ()
