"""Networks that learn from a bot alone, and runs that say which games they play."""

import json

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from tests.bits import equal
from tests.needs import needs_core
from tests.training.expert.test_run import saved
from tests.training.test_resume import metrics
from training.expert.options import ExpertConfig, ExpertRun
from training.expert.run import make_trainer
from training.expert.teacher import make_teacher
from training.games.drmario.splits import seeds_for
from training.nets.actor_critic import ActorCritic
from training.nets.layout import obs_layout
from training.run.config import RunConfig
from training.run.envs import make_engine
from training.train import main

pytestmark = needs_core
ENV = "DrMarioPlacement-v0"
TINY = {
    "env": ENV,
    "trainer": "expert",
    "num_envs": 16,
    "total_steps": 512,
    "torch_threads": 1,
    "device": "cpu",
    "deterministic": True,
    "env_options": {"level": 2},
    "ppo": {"n_steps": 8, "batch_size": 32, "n_epochs": 1, "learning_rate": 3e-3, "net_arch": [16]},
    "native": {"trunk": "shared", "heads": "placements", "board": [[8, 3, 3]]},
    "evaluation": {"during": "off"},
}
EXPERT = {"teacher": "greedy", "share": 1.0, "ppo": "none", "seeds": "tuning"}


def config_of(**expert):
    return {**TINY, "expert": {**EXPERT, **expert}}


def train(runs, name, *flags, **expert):
    path = runs / "options.json"
    path.write_text(json.dumps(config_of(**expert)))
    words = ["--runs", str(runs), "--name", name, "--no-evaluation", *map(str, flags)]
    return main(words if "--resume" in flags else [*words, "--config", str(path)])


@pytest.mark.parametrize("expert", [{"window": 2}, {"share": 0.5, "seeds": ""}])
@pytest.mark.slow
def test_a_run_that_goes_on_equals_one_that_was_never_ended(tmp_path, expert):
    assert train(tmp_path, "whole", **expert) == 0
    assert train(tmp_path, "halves", "--total-steps", 256, **expert) == 0
    assert train(tmp_path, "halves", "--resume", "--total-steps", 512) == 0
    whole, halves = (saved(tmp_path / name, 512) for name in ("whole", "halves"))
    assert whole["auxiliary"]["iteration"] == 4
    assert equal(whole, halves)
    assert metrics(tmp_path / "whole") == metrics(tmp_path / "halves")


def trainer_of(**expert):
    return make_trainer(RunConfig.from_mapping(config_of(**expert)))


def test_ppo_learns_nothing_where_it_shall_not():
    trainer = trainer_of(weight=1e-30)
    before = {name: x.clone() for name, x in trainer.net.state_dict().items()}
    figures = trainer.iterate()["train"]
    assert figures["policy_loss"] == figures["value_loss"] == 0.0
    assert figures["expert_samples"] == 16 * 8
    after = trainer.net.state_dict()
    assert all(torch.equal(after[name], x) for name, x in before.items() if "value" in name)
    trainer.close()


@pytest.mark.slow
def test_the_teacher_is_copied_where_the_network_plays():
    losses = {}
    for weight in (1.0, 1e-30):
        trainer = trainer_of(window=4, weight=weight)
        figures = [trainer.iterate()["train"] for _ in range(120)]
        losses[weight] = np.mean([each["expert_loss"] for each in figures[-20:]])
        trainer.close()
    assert losses[1.0] < 0.8 * losses[1e-30]


@pytest.mark.parametrize(("lead", "share"), [(0.0, 0.0), (1.0, 1.0)])
def test_the_teacher_plays_at_first_as_far_as_it_leads(lead, share):
    trainer = trainer_of(lead=lead)
    trainer.start()
    wanted, best = [], []
    decide = trainer._auxiliary.decide

    def watch(t, engine, logits):
        wanted.append(engine.bot_actions("greedy", np.ones((16, 4), np.uint64)))
        legal = trainer.rollout.mask[t] != 0
        best.append(logits.masked_fill(~legal, -1e9).argmax(1).numpy())
        return decide(t, engine, logits)

    trainer._auxiliary.decide = watch
    trainer.collect()
    played = trainer.rollout.action.numpy()
    trainer.close()
    same, own = (float((played == np.array(each)).mean()) for each in (wanted, best))
    assert same == 1.0 if share else same < 0.5
    assert own == 1.0 if not share else own < 0.5


def test_a_leading_teacher_is_asked_once_and_answers_what_it_played():
    trainer = trainer_of(lead=1.0)
    trainer.start()
    trainer.collect()
    trainer.bootstrap()
    trainer.advantages()
    asked = []
    trainer._auxiliary._teacher.answers = asked.append
    trainer._auxiliary.begin(trainer.rollout, 4)
    trainer.close()
    assert not asked
    played = trainer.rollout.action.flatten()
    choice = trainer.rollout.mask[:-1].flatten(0, 1).sum(1) > 1
    (answers,) = trainer._auxiliary._window
    assert torch.equal(answers.target.argmax(1), played[choice].long())


@pytest.mark.parametrize("part", ["tuning", "reports"])
@pytest.mark.slow
def test_episodes_are_games_of_the_part_that_is_asked_for(part):
    trainer = trainer_of(seeds=part)
    found = []
    for _ in range(12):
        found.append(trainer.engines[0].get_states()["seed"].copy())
        trainer.iterate()
    trainer.close()
    seeds = {int(a) << 8 | int(b) for rows in found[1:] for a, b in rows.reshape(-1, 2)}
    assert len(seeds) > 20, "games end, and others follow"
    assert seeds <= set(seeds_for(part).tolist())


@pytest.mark.parametrize(
    ("expert", "says"),
    [
        ({"teacher": "nobody"}, "bot 'nobody'"),
        ({"teacher": "heuristic"}, "bot 'heuristic'"),
        ({"teacher": "pretrained/skullking-ppo"}, "SkullKing"),
        ({"seeds": "nothing"}, "expert.seeds='nothing' is not possible: part"),
    ],
    ids=["unknown", "a bot of another game", "an agent of another game", "seeds"],
)
def test_teachers_and_seeds_that_cannot_be_are_refused(tmp_path, capsys, expert, says):
    assert train(tmp_path, "run", **expert) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") <= 2
    assert not (tmp_path / "run").exists()


def test_a_game_that_does_not_split_its_seeds_says_so(tmp_path, capsys):
    values = {"env": "SkullKingFlat-v0", "trainer": "expert", "expert": {"seeds": "tuning"}}
    path = tmp_path / "options.json"
    path.write_text(json.dumps(values))
    assert main(["--runs", str(tmp_path), "--config", str(path), "--name", "run"]) == 2
    assert "expert.seeds='tuning' is not possible: this game does not split" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("expert", "says"),
    [
        ({"ppo": "rest"}, "expert.ppo='rest' is not possible"),
        ({"until": 0.5}, "expert.until=0.5 is not possible"),
        ({"lead": 0.5, "ppo": "all"}, "expert.lead=0.5"),
        ({"lead": 0.5, "teacher": None}, "expert.lead=0.5"),
        ({"lead": 1.5}, "expert.lead=1.5"),
    ],
)
def test_options_that_cannot_be_are_refused(expert, says):
    with pytest.raises(ConfigError) as error:
        ExpertRun.from_mapping(config_of(**expert))
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_the_lead_falls():
    options = ExpertConfig(lead=0.5, ppo="none", teacher="greedy")
    assert [options.lead_at(done) for done in (0, 0.25, 0.5, 1)] == [1.0, 0.5, 0.0, 0.0]
    assert ExpertConfig().lead_at(0.0) == 0.0


def test_a_bot_answers_with_actions_of_the_mask():
    engine = make_engine(ENV, 32, {"level": 20, "speed": "high"})
    engine.reset_many(seeds=5)
    config = ExpertRun.from_mapping(config_of(teacher="lookahead3"))
    net = ActorCritic(obs_layout(engine), config.ppo, config.native)
    teacher = make_teacher(config, net, engine)
    for _ in range(12):
        seats, seeds = np.zeros(32, np.int32), np.arange(32).astype(np.uint64)
        moves = teacher.moves(engine.get_states(), seats, seeds)
        assert (engine.mask[np.arange(32), moves] != 0).all()
        assert (moves == engine.bot_actions("lookahead3", np.ones((32, 4), np.uint64))).all()
        engine.step_many(moves.astype(np.int32))
