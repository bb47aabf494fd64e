"""Networks that learn from a bot alone, and runs that say which games they play."""

import numpy as np
import pytest
import torch

from fastenv.engine import BatchEngine, rng_streams
from fastenv.errors import ConfigError
from tests.needs import needs_core
from tests.tables import walk
from tests.training import begun
from training.expert.loss import SHARPEN, ExpertLoss
from training.expert.options import ExpertConfig, ExpertRun
from training.expert.run import make_trainer
from training.expert.teacher import PlayerTeacher, make_teacher
from training.games.drmario.splits import seeds_for
from training.nets.actor_critic import ActorCritic
from training.nets.layout import as_tensor, obs_layout
from training.run.config import RunConfig
from training.run.envs import make_engine

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
    config = None if "--resume" in flags else config_of(**expert)
    return begun.train(runs, name, *flags, config=config)


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


@walk(("lead", "share"), [(0.0, 0.0), (1.0, 1.0)])
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


def test_where_the_teacher_does_not_lead_the_network_plays_its_best():
    trainer = trainer_of()
    trainer.start()
    loss, engine = trainer._auxiliary, trainer.engines[0]
    loss._lead = 0.5
    logits = torch.randn(16, engine.num_actions)
    decided = loss.decide(0, engine, logits)
    trainer.close()
    wanted = engine.bot_actions("greedy", np.ones((16, 4), np.uint64))
    led = torch.from_numpy(np.eye(engine.num_actions, dtype=np.float32)[wanted])
    by_network = (decided == SHARPEN * logits).all(1)
    by_teacher = (decided == SHARPEN * led).all(1)
    assert (by_network ^ by_teacher).all()
    assert 0 < by_network.sum() < 16


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_a_leading_teacher_is_asked_once_and_answers_what_it_played(share):
    trainer = trainer_of(lead=1.0, share=share)
    trainer.start()
    trainer.collect()
    trainer.bootstrap()
    trainer.advantages()
    asked, kept = [], trainer._auxiliary._kept
    places = torch.from_numpy(np.concatenate([each[0] for each in kept]))
    trainer._auxiliary._teacher.answers = asked.append
    trainer._auxiliary.begin(trainer.rollout, 4)
    trainer.close()
    assert not asked
    rollout = trainer.rollout
    seen, legal = (x[:-1].flatten(0, 1)[places] for x in (rollout.obs, rollout.mask))
    choice = legal.sum(1) > 1
    (answers,) = trainer._auxiliary._window
    assert torch.equal(answers.target.argmax(1), rollout.action.flatten()[places][choice].long())
    assert torch.equal(answers.obs, seen[choice])
    # Where a decision is kept is where its row is found: the row shows the same.
    table = make_engine(ENV, len(places), TINY["env_options"])
    table.reset_many(seeds=0)
    table.set_states(np.concatenate([each[1] for each in kept]))
    table.refresh()
    assert torch.equal(as_tensor(table.obs), seen)


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
        ({"teacher": "search:greedy,worlds=nothing"}, "worlds"),
        ({"seeds": "nothing"}, "expert.seeds='nothing' is not possible: part"),
    ],
    ids=["unknown", "a bot of another game", "an agent of another game", "a search", "seeds"],
)
def test_teachers_and_seeds_that_cannot_be_are_refused(tmp_path, capsys, expert, says):
    assert train(tmp_path, "run", **expert) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") <= 2
    assert not (tmp_path / "run").exists()


def test_a_game_that_does_not_split_its_seeds_says_so(tmp_path, capsys):
    values = {"env": "SkullKingFlat-v0", "trainer": "expert", "expert": {"seeds": "tuning"}}
    assert begun.train(tmp_path, "run", config=values) == 2
    assert "expert.seeds='tuning' is not possible: this game does not split" in (
        capsys.readouterr().err
    )


@walk(
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


VERSUS = "DrMarioVersus-v0"


def learner_of(seat):
    """Positions of a match in which the learner sits there, and a teacher of it."""
    game = make_engine(VERSUS, 1, {"level": 20}).game
    engine = BatchEngine(game, 12, opponent="random", agent_seat=seat)
    engine.reset_many(seeds=3)
    for _ in range(3):
        engine.step_many(engine.mask.argmax(1).astype(np.int32))
    return engine, PlayerTeacher("greedy", engine)


@pytest.mark.parametrize("seat", [0, 1])
def test_a_teacher_sees_the_seat_that_it_is_asked_about(seat):
    engine, teacher = learner_of(seat)
    seats, seeds = np.full(12, seat, np.int32), np.arange(12).astype(np.uint64)
    wanted = engine.bot_actions("greedy", rng_streams(1, 12))
    assert (teacher.moves(engine.get_states(), seats, seeds) == wanted).all()
    others = teacher.moves(engine.get_states(), 1 - seats, seeds)
    assert (others != wanted).any()


@pytest.mark.parametrize("seat", [0, 1])
def test_a_teacher_leads_in_the_seat_of_the_learner(seat):
    engine, teacher = learner_of(seat)
    options = ExpertConfig(lead=1.0, ppo="none", teacher="greedy", share=1.0)
    loss = ExpertLoss(teacher, options, steps=4, lanes=12, rollouts=2, seed=1)
    decided = loss.decide(0, engine, torch.zeros(12, engine.num_actions))
    wanted = engine.bot_actions("greedy", rng_streams(1, 12))
    assert decided.argmax(1).tolist() == wanted.tolist()


def test_what_is_asked_and_drawn_depends_on_the_seed():
    engine = make_engine(ENV, 32, {"level": 2})
    engine.reset_many(seeds=5)
    found = []
    for seed in (1, 1, 2):
        drawn = []
        teacher = PlayerTeacher("greedy", engine)
        teacher.moves = lambda rows, seats, seeds, to=drawn: to.append(seeds) or np.zeros(32, int)
        options = ExpertConfig(lead=1.0, ppo="none", teacher="greedy", share=0.5)
        loss = ExpertLoss(teacher, options, steps=4, lanes=32, rollouts=2, seed=seed)
        loss.decide(0, engine, torch.zeros(32, engine.num_actions))
        found.append((loss._kept[0][0].tolist(), drawn[0].tolist()))
    assert found[0] == found[1]
    assert found[0][0] != found[2][0]
    assert not set(found[0][1]) & set(found[2][1])


def test_each_pass_over_the_answers_has_an_order_of_its_own():
    trainer = trainer_of()
    trainer.start()
    trainer.collect()
    trainer.bootstrap()
    trainer.advantages()
    loss, orders = trainer._auxiliary, []
    loss.begin(trainer.rollout, 4)
    for _ in range(3):
        for minibatch in range(4):
            loss.loss(trainer.net, minibatch)
        orders.append(torch.cat(loss._parts).tolist())
    trainer.close()
    assert len({tuple(order) for order in orders}) == 3
    assert [sorted(order) for order in orders] == [list(range(len(orders[0])))] * 3
