"""Runs with a teacher: they come to play as it does, and go on as if they had never ended."""

import re

import pytest
import torch

from tests.bits import equal
from tests.needs import needs_core
from tests.slow import every
from tests.tables import walk
from tests.training import begun
from tests.training.left import timeless as metrics
from training.expert import loss
from training.expert.options import ExpertConfig
from training.expert.run import make_trainer
from training.nets.layout import obs_layout
from training.players.export import export
from training.run.config import RunConfig
from training.run.folder import RunFolder

pytestmark = needs_core
TINY = {
    "env": "SkullKingFlat-v0",
    "trainer": "expert",
    "num_envs": 16,
    "total_steps": 1024,
    "torch_threads": 1,
    "device": "cpu",
    "deterministic": True,
    "env_options": {"opponents": "heuristic"},
    "ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 1, "net_arch": [16]},
    "evaluation": {"during": "off"},
}

BIDS = {"rest_search": "decisions=bids,worlds=2,rollouts=policy", "rest_share": 0.25}

LATE = {"late_search": "worlds=2,rollouts=policy", "late_start": 0.1, "late_share": 0.25}


def train(runs, name, *flags, **expert):
    values = {**TINY, "expert": expert} if expert else TINY
    return begun.train(runs, name, *flags, config=None if "--resume" in flags else values)


def saved(run, steps):
    path = run / f"checkpoints/ckpt_{steps:012d}"
    return torch.load(path / "model.pt", weights_only=True)


def test_answers_of_a_share_count_as_all_it_stands_for():
    expert = {"search": "worlds=2", "share": 1.0, "ppo": "rest", **BIDS}
    trainer = make_trainer(RunConfig.from_mapping({**TINY, "expert": expert}))
    trainer.iterate()
    trainer.close()
    (answers,) = trainer._auxiliary._window
    offset, _ = obs_layout(trainer.engines[0]).parts.phase
    asked, rollout = answers.obs[:, offset + 1] == 1, trainer.rollout
    assert (answers.weight == torch.where(asked, 4.0, 1.0)).all()
    due = (rollout.obs[:-1, :, offset + 1] == 1) & (rollout.mask[:-1].sum(-1) > 1)
    assert 0.1 * int(due.sum()) < int(asked.sum()) < 0.5 * int(due.sum())


@pytest.mark.slow
def test_answers_are_learnt_and_counted(tmp_path):
    larger = ("--set", "ppo.learning_rate=3e-3", "--set", "ppo.net_arch=[64]")
    flags = ("--total-steps", 16_384, *larger)
    for name, weight in (("taught", 5.0), ("not taught", 1e-9)):
        given = {"teacher": "rule_hard", "share": 1.0, "weight": weight}
        assert train(tmp_path, name.replace(" ", "-"), *flags, **given) == 0
    taught, alone = (metrics(tmp_path / name) for name in ("taught", "not-taught"))
    assert taught[0]["train"]["expert_samples"] == alone[0]["train"]["expert_samples"]
    # Some decisions have no choice.
    assert 0.3 * 16 * 16 < taught[0]["train"]["expert_samples"] <= 16 * 16

    def last(lines):
        return sum(line["train"]["expert_loss"] for line in lines[-8:]) / 8

    assert last(taught) < 0.7 * last(alone)


@walk("ppo", ["all", "rest"])
def test_ppo_leaves_to_the_search_what_it_answers(ppo):
    expert = {"search": "worlds=2", "share": 0.1, "ppo": ppo}
    trainer = make_trainer(RunConfig.from_mapping({**TINY, "expert": expert}))
    trainer.iterate()
    trainer.close()
    rollout = trainer.rollout
    offset, _ = obs_layout(trainer.engines[0]).parts.phase
    bids, learnt = rollout.obs[:-1, :, offset + 1] == 1, rollout.adv != 0
    assert 0.05 < bids.float().mean() < 0.5
    assert learnt[~bids].any() == (ppo == "all")
    for lane in range(rollout.lanes):  # what follows the last bid is not known
        own = bids[:, lane].nonzero().squeeze(1)
        assert learnt[own[:-1], lane].all()
    certain = rollout.logp > -1e-3
    choice = rollout.mask[:-1].sum(-1) > 1
    assert not certain[bids & choice].any()
    assert bool(certain[~bids & choice].float().mean() > 0.9) == (ppo == "rest")


def test_a_search_that_answers_everything_leaves_ppo_nothing(tmp_path, capsys):
    assert train(tmp_path, "run", search="worlds=2,decisions=all", ppo="rest") == 2
    said = capsys.readouterr().err
    assert "expert.ppo='rest' is not possible" in said
    assert "PPO would have nothing to learn" in said
    assert not (tmp_path / "run").exists()


def test_nobody_is_asked_when_the_weight_is_gone(tmp_path):
    assert train(tmp_path, "run", teacher="rule_hard", share=1.0, until=0.5) == 0
    samples = [line["train"]["expert_samples"] for line in metrics(tmp_path / "run")]
    assert [count > 0 for count in samples] == [True, True, False, False]


def test_the_late_search_answers_late_alone():
    options = ExpertConfig(**LATE, share=0.75)
    assert [options.share_at(done) for done in (0.0, 0.09, 0.1, 1.0)] == [0.75, 0.75, 0.25, 0.25]
    assert ExpertConfig(share=0.75).share_at(1.0) == 0.75


def test_weights_fall():
    options = ExpertConfig(weight=2.0, until=0.5)
    assert [options.weight_at(done) for done in (0, 0.25, 0.5, 1)] == [2.0, 1.0, 0.0, 0.0]
    assert ExpertConfig(weight=3.0).weight_at(0.9) == 3.0


def test_the_newest_rollouts_are_the_window(tmp_path):
    assert train(tmp_path, "run", teacher="rule_hard", share=0.5, window=2) == 0
    samples = [line["train"]["expert_samples"] for line in metrics(tmp_path / "run")]
    assert samples[1] > 1.5 * samples[0]
    assert samples[3] < 1.5 * samples[1]


def test_another_run_begins_with_its_parameters(tmp_path):
    assert train(tmp_path, "teacher", teacher="rule_hard") == 0
    first = RunFolder.open(tmp_path / "teacher")
    flags = ["--trainer", "native", "--set", f"native.warm_start={first.path}"]
    assert train(tmp_path, "next", *flags, "--set", "ppo.learning_rate=1e-30") == 0
    ours, theirs = saved(first.path, 1024)["policy"], saved(tmp_path / "next", 1024)["policy"]
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_an_exported_agent_gives_all_but_the_value(tmp_path):
    assert train(tmp_path, "teacher", teacher="rule_hard") == 0
    exported = tmp_path / "exported"
    export(RunFolder.open(tmp_path / "teacher"), exported)
    flags = ["--trainer", "native", "--set", f"native.warm_start={exported}"]
    assert train(tmp_path, "next", *flags, "--set", "ppo.learning_rate=1e-30") == 0
    ours, theirs = saved(exported, 1024)["policy"], saved(tmp_path / "next", 1024)["policy"]
    assert all(name.startswith("value_") for name in theirs.keys() - ours.keys())
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("native.warm_start={runs}/none",), "the folder of a run that has a checkpoint"),
        (
            ("native.warm_start={runs}/teacher", "ppo.net_arch=[8]"),
            "its network is {'net_arch': [16]}, here",
        ),
        (("native.warm_start={runs}/teacher", "env_options.obs_ext=memory"), "observation"),
    ],
)
def test_first_parameters_that_do_not_fit_are_refused(tmp_path, capsys, flags, says):
    assert train(tmp_path, "teacher", teacher="rule_hard") == 0
    capsys.readouterr()
    given = [word for flag in flags for word in ("--set", flag.format(runs=tmp_path))]
    assert train(tmp_path, "next", "--trainer", "native", *given) == 2
    error = capsys.readouterr().err
    assert says in error
    assert re.search(r"^error: native\.warm_start=", error, re.MULTILINE)
    assert not (tmp_path / "next").exists()


@pytest.mark.parametrize(
    ("board", "says"),
    [
        ([[4, 3, 1], [4, 1, 3]], "layers.2.weight is missing, here it is 4 x 4 x 1 x 3"),
        ([[4, 1, 3]], "layers.0.weight is 4 x 14 x 3 x 1, here it is 4 x 14 x 1 x 3"),
    ],
)
def test_first_parameters_of_other_convolutions_are_refused(
    tmp_path, capsys, monkeypatch, board, says
):
    monkeypatch.setitem(TINY, "env_options", {})
    flags = ["--env", "DrMarioPlacement-v0", "--trainer", "native", "--total-steps", 256]
    assert train(tmp_path, "first", *flags, "--set", "native.board=[[4,3,1]]") == 0
    capsys.readouterr()
    given = ["--set", f"native.board={board}", "--set", f"native.warm_start={tmp_path / 'first'}"]
    assert train(tmp_path, "next", *flags, *given) == 2
    error = capsys.readouterr().err
    assert "its network has other layers (encoder.convs.0." in error
    assert says in error
    assert not (tmp_path / "next").exists()


def test_first_parameters_are_read_at_the_first_step_alone(tmp_path):
    assert train(tmp_path, "teacher", teacher="rule_hard") == 0
    flags = ["--trainer", "native", "--set", f"native.warm_start={tmp_path / 'teacher'}"]
    assert train(tmp_path, "next", *flags) == 0
    (tmp_path / "teacher").rename(tmp_path / "moved")
    assert train(tmp_path, "next", "--resume", "--total-steps", 2048) == 0
    assert saved(tmp_path / "next", 2048)["policy"]


def test_answers_that_are_late_are_those_to_the_questions_before():
    """The learner's policy there and what is seen are of the iteration that asked."""
    learnt = {}
    for delay in (0, 1):
        expert = {"search": "worlds=2", "share": 1.0, "weight": 1e-30, "delay": delay}
        trainer = make_trainer(RunConfig.from_mapping({**TINY, "expert": expert}))
        found = []
        for _ in range(3):
            trainer.iterate()
            found.append(list(trainer._auxiliary._window))
        learnt[delay] = found
        trainer.close()
    assert not learnt[1][0]
    for late, prompt in zip(learnt[1][1:], learnt[0], strict=False):
        assert equal([each._asdict() for each in late], [each._asdict() for each in prompt])


class Late:
    """Answers that are looked for when they are needed, at the last moment."""

    def __init__(self, answer, question):
        self._answer, self._question = answer, question

    def result(self):
        return self._answer(self._question)


class Prompt(Late):
    """Answers that are there at once."""

    def __init__(self, answer, question):
        self._found = answer(question)

    def result(self):
        return self._found


def test_answers_are_the_same_however_long_they_take(monkeypatch):
    """The network that searches stays as it was when it was asked."""
    learnt = []
    for begin in (Prompt, Late):
        monkeypatch.setattr(loss, "_begin", begin)
        expert = {"search": "worlds=2,rollouts=policy", "share": 0.2, "delay": 1}
        ppo = {**TINY["ppo"], "learning_rate": 0.05}
        trainer = make_trainer(RunConfig.from_mapping({**TINY, "ppo": ppo, "expert": expert}))
        for _ in range(3):
            trainer.iterate()
        learnt.append([each._asdict() for each in trainer._auxiliary._window])
        trainer.close()
    assert learnt[0]
    assert equal(*learnt)


@pytest.mark.parametrize("threads", every(1, [2, 8]))
def test_a_run_is_the_same_on_any_number_of_threads(tmp_path, threads):
    expert = {"search": "worlds=4,blocks=1", "share": 0.5, "ppo": "rest", "delay": 1}
    for name, number in (("one", 1), ("more", threads)):
        flags = ("--set", f"env_threads={number}", "--total-steps", 512)
        assert train(tmp_path, name, *flags, **expert) == 0
    one, more = (saved(tmp_path / name, 512) for name in ("one", "more"))
    assert len(one["auxiliary"]["ahead"]["obs"])
    assert equal(one, more)
    assert metrics(tmp_path / "one") == metrics(tmp_path / "more")


@walk("ppo", ["rest", "none"])
def test_values_are_those_of_the_decisions_that_ppo_learns(ppo):
    expert = {"search": "worlds=2", "share": 0.5, "ppo": ppo}
    trainer = make_trainer(RunConfig.from_mapping({**TINY, "expert": expert}))
    trainer.start()
    trainer.collect()
    trainer.bootstrap()
    rollout, rest = trainer.rollout, torch.from_numpy(trainer._auxiliary.learnt_by_ppo())
    with torch.inference_mode():
        _, values = trainer.net(rollout.obs[:-1].flatten(0, 1))
    trainer.close()
    assert bool(rest.any()) == (ppo == "rest")
    assert not rollout.value[:-1][~rest].any()
    torch.testing.assert_close(rollout.value[:-1][rest], values.view_as(rest * 1.0)[rest])


def test_each_rank_has_a_share_of_the_lanes():
    config = RunConfig.from_mapping({**TINY, "expert": {"delay": 1}})
    share = config.share_of(2)
    assert (share.num_envs, share.ppo.batch_size) == (8, 32)
    assert share.expert == config.expert
