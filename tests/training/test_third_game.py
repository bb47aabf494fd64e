"""A game that nothing in ``training`` names goes through every command, as the real ones do."""

import json

import numpy as np
import pytest
import torch

from tests.slow import late
from tests.training import begun, third_game
from tests.training.left import newest
from tests.training.left import timeless as lines
from tests.training.third_game import ENV, TINY
from training import (
    compare,
    evaluate,
    export,
    load_policy,
)
from training.commands import milestones, profile
from training.games.prospector import protocol
from training.players.trained import load
from training.run import checkpoint
from training.run.folder import RunFolder

TRAINERS = ("native", "sb3")
every_trainer = pytest.mark.parametrize("trainer", TRAINERS)
known = pytest.fixture(third_game.known, scope="module", autouse=True)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("third")


def train(runs, name, trainer, *flags, **options):
    return begun.train(runs, name, *flags, config=TINY | {"trainer": trainer} | options)


@pytest.fixture(scope="module")
def finished(runs):
    """A finished run of each trainer; not to be changed."""
    for trainer in TRAINERS:
        assert train(runs, trainer, trainer) == 0
    return runs


@every_trainer
def test_it_trains_and_says_what_it_did(finished, trainer):
    run = finished / trainer
    summary = json.loads((run / "summary.json").read_text())
    assert summary["status"] == "finished"
    assert summary["steps"] == lines(run)[-1]["step"] == 512
    assert np.isfinite(lines(run)[-1]["train"]["value_loss"])


@every_trainer
def test_it_is_evaluated(finished, trainer, capsys):
    assert evaluate.main([str(finished / trainer)]) == 0
    found = json.loads((finished / trainer / "evaluation.json").read_text())
    assert found["env"].endswith(ENV)
    assert "trained" in capsys.readouterr().out
    played = found["matches"]
    assert list(played["policies"]) == ["random", "slow"]  # that of the training, the first bot
    policies = played["policies"]["random"]
    assert (list(policies), played["games"]) == (["trained", "slow", "fast"], 16)
    # The fast one is done in fewer ticks, all of which are counted.
    summaries = {name: each["summary"] for name, each in policies.items()}
    assert summaries["fast"]["return_mean"] > summaries["slow"]["return_mean"]
    assert all(each["dt_total"] > 2 * each["steps_total"] for each in summaries.values())


def test_variants_of_it_are_compared(finished):
    (finished / "both.json").write_text(json.dumps(TINY | {"total_steps": 128}))
    variants = ["--variant", "base", "--variant", "slow", "--with", "ppo.learning_rate=1e-5"]
    flags = ["--config", finished / "both.json", "--runs", finished, "--seeds", "1,2", "--games", 8]
    assert compare.main([*map(str, flags), *variants]) == 0
    report = json.loads((finished / "compare.json").read_text())
    measures = {"win", "draw", "points", "return", "steps", "ticks"}
    assert set(report["compared"]["against random"]["slow"]) >= measures


def test_what_other_games_have_is_refused(finished, tmp_path, capsys):
    assert milestones.main([str(finished / "native")]) == 2
    assert "has no milestones" in capsys.readouterr().err
    (tmp_path / "race.json").write_text(json.dumps(TINY))
    assert protocol.main(["--config", str(tmp_path / "race.json"), "--runs", str(tmp_path)]) == 2
    assert "has no protocol over training seeds" in capsys.readouterr().err


@every_trainer
def test_it_is_exported_and_plays_the_same(finished, trainer):
    folder = finished / f"{trainer}-agent"
    assert export.main([str(finished / trainer), str(folder)]) == 0
    here, there = (load(RunFolder.open(path)) for path in (folder, finished / trainer))
    engine = there.engine()
    engine.reset_many(seeds=3)
    assert np.array_equal(here.logits(engine.obs), there.logits(engine.obs))
    assert there.logits(engine.obs).shape == (1, engine.num_actions)


@every_trainer
def test_it_is_loaded_in_one_line_and_plays(finished, trainer):
    policy = load_policy(finished / trainer)
    vec = policy.make_vec(3)
    obs, info = vec.reset(seed=5)
    assert set(obs) == {"ahead", "me", "clock"}
    for _ in range(5):
        actions = policy.act(obs, info["action_mask"])[0]
        obs, *_, info = vec.step(actions)
    vec.close()


@pytest.mark.parametrize("trainer", ["native", *late("sb3")])
@pytest.mark.slow
def test_it_is_profiled(finished, trainer):
    sizes = ["--num-envs=8", "--rollout-steps=16", "--minibatches=2", "--repeats=1"]
    options = ["env_options.opponent=random", f"trainer={trainer}", "ppo.n_epochs=1"]
    asked = [f"--set={option}" for option in options]
    modes = "env_only,trainer" + ",breakdown" * (trainer == "native")
    where = [f"--modes={modes}", "--seconds=0.02", f"--env={ENV}"]
    out = finished / f"profile-{trainer}"
    assert profile.main([*where, *sizes, *asked, f"--out={out}"]) == 0
    (path,) = out.glob("*.json")
    entries = {entry["mode"]: entry for entry in json.loads(path.read_text())["modes"]}
    assert entries["env_only"]["ticks_per_step"] > 2  # a decision lasts
    assert entries[modes.split(",")[-1]]["phases_us_per_step"]["env"] > 0


# -- what only one of the trainers does ------------------------------------------------------------


def test_the_native_trainer_discounts_by_the_time_of_a_decision(finished):
    from training.ppo.run import make_trainer

    config = RunFolder.open(finished / "native").config
    trainer = make_trainer(config)
    trainer.iterate()
    gammas = trainer.rollout.gamma
    trainer.close()
    assert len(torch.unique(gammas)) > 3
    assert (gammas < config.ppo.gamma + 1e-6).all()


def test_several_networks_are_trained_at_once(runs):
    options = {"ensemble": {"seeds": [1, 2]}, "ppo": TINY["ppo"] | {"batch_size": 32}}
    assert train(runs, "several", "ensemble", **options) == 0


def test_what_only_vectors_have_is_refused(runs, capsys):
    trackers = {"places": {"kind": "visits", "cell": {"obs": 3}}}
    assert train(runs, "cells", "native", trackers=trackers) == 2
    assert "the observation is no vector" in capsys.readouterr().err
    assert train(runs, "images", "native", native={"encoder": "conv"}) == 2
    assert "native.encoder='conv'" in capsys.readouterr().err


def test_two_agents_without_an_opponent_are_refused(runs, capsys):
    assert train(runs, "alone", "native", env_options={"goal": 8}) == 2
    assert "env_options.opponent=None" in capsys.readouterr().err
    assert train(runs, "who", "native", env_options={"opponent": "nobody"}) == 2
    assert "bot 'nobody'" in capsys.readouterr().err


def test_a_checkpoint_of_other_observations_is_foreign(finished):
    run = RunFolder.open(finished / "native")
    saved = newest(run.path).path
    identity = json.loads((saved / "MANIFEST.json").read_text())["identity"]
    assert identity["observation"] == [
        ["ahead", "uint8", [6]],
        ["me", "float32", [2, 2]],
        ["clock", "int16", [1]],
    ]
    other = {**identity, "observation": identity["observation"][:2]}
    with pytest.raises(checkpoint.CheckpointError, match="its observation is"):
        checkpoint.load(saved, other)
