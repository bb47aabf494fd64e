"""What teachers answer is what they would do."""

import numpy as np
import pytest
import torch

from fastenv.engine import rng_streams
from fastenv.errors import ConfigError
from fastenv.skullking.tables import Phase
from tests.needs import needs_core
from tests.slow import every
from tests.tables import walk
from training.expert.options import ExpertConfig, ExpertRun
from training.expert.teacher import AskedDecisions, PlayerTeacher, SearchTeacher, make_teacher
from training.nets.actor_critic import ActorCritic
from training.nets.layout import as_tensor, obs_layout
from training.players.trained import load_policy
from training.run.envs import make_engine
from training.run.folder import RunError
from training.search.options import SearchOptions
from training.search.searcher import Searcher

pytestmark = needs_core
ENV = "SkullKingFlat-v0"
AGENT = "pretrained/skullking-ppo"
BIDS = "decisions=bids,worlds=4,rollouts=policy"


@pytest.fixture(scope="module")
def states():
    """Rows at decisions of the learner, what they show, and what is legal."""
    engine = make_engine(ENV, 64, {"opponents": "heuristic"})
    engine.reset_many(seeds=7)
    streams = rng_streams(3, 64)
    for t in range(60):  # lanes are spread over their games
        engine.step_many(engine.bot_actions("random", streams), select=np.arange(64) > t)
    legal = engine.mask != 0
    choice = np.flatnonzero(legal.sum(1) > 1)
    assert len(choice) > 20
    return engine, engine.get_states(choice), engine.obs[choice], legal[choice]


def config_of(**expert):
    return ExpertRun.from_mapping({"env": ENV, "trainer": "expert", "expert": expert})


def search_teacher(net, engine, threads=1, **expert):
    return SearchTeacher(net, config_of(), engine, ExpertConfig(**expert), threads)


def seeds_of(rows):
    return np.arange(len(rows)).astype(np.uint64) + np.uint64(5)


def asked(rows, logits, legal):
    return AskedDecisions(rows, np.zeros(len(rows), np.int32), logits, legal, seeds_of(rows))


def logits_of(net, obs):
    with torch.inference_mode():
        return net.logits(as_tensor(obs)).numpy()


@walk("bot", ["rule_hard", "heuristic"])
def test_a_bot_answers_as_it_plays(states, bot):
    engine, rows, _, legal = states
    answers = PlayerTeacher(bot, engine).answers(asked(rows, 0.0 * legal, legal))
    other = make_engine(ENV, len(rows), {"opponents": "heuristic"})
    other.reset_many(seeds=0)
    other.set_states(rows)
    played = other.bot_actions(bot, rng_streams(0, len(rows)))
    assert answers.dtype == np.float32
    assert (answers.argmax(1) == played).all()
    assert (answers.sum(1) == 1).all()
    assert legal[np.arange(len(rows)), answers.argmax(1)].all()


def test_an_agent_answers_as_it_plays_whatever_is_asked_beside(states):
    engine, rows, _, legal = states
    teacher = PlayerTeacher(load_policy(AGENT), engine)
    answers = teacher.answers(asked(rows, 0.0 * legal, legal))
    policy = load_policy(AGENT)
    played, _ = policy.act(policy.env_spec.encode(rows), legal)
    assert (answers.argmax(1) == played).all()
    some = np.array([3, 11, 5])
    again = teacher.answers(asked(rows, 0.0 * legal, legal).take(some))
    assert (again == answers[some]).all()


def test_a_search_that_is_interrupted_is_no_answer(states, monkeypatch):
    """Ctrl-C ends a search early, with what it has: nothing for some decisions."""
    engine, rows, obs, legal = states
    net = ActorCritic(obs_layout(engine), config_of().ppo, config_of().native, 3)
    teacher = search_teacher(net, engine, search="worlds=4")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(teacher._searcher.blueprint, "play_on", interrupt)
    with pytest.raises(KeyboardInterrupt):
        teacher.answers(asked(rows, logits_of(net, obs), legal))


def test_a_late_search_takes_the_place_of_the_first(states):
    engine, rows, obs, legal = states
    net = ActorCritic(obs_layout(engine), config_of().ppo, config_of().native, 3)
    late, other = "worlds=2,rollouts=policy", "worlds=4"
    both = search_teacher(net, engine, search=other, late_search=late, late_start=0.5)
    given = asked(rows, logits_of(net, obs), legal)
    for done, search in ((0.0, other), (0.49, other), (0.5, late), (1.0, late), (0.1, other)):
        both.prepare(done)
        alone = search_teacher(net, engine, search=search)
        assert (both.answers(given) == alone.answers(given)).all(), done
        assert (both.covers(rows) == alone.covers(rows)).all()


@walk("prior", [1.0, 0.5, 0.0])
def test_search_answers_by_the_means_and_the_network(states, prior):
    engine, rows, obs, legal = states
    net = ActorCritic(obs_layout(engine), config_of().ppo, config_of().native, 3)
    with torch.no_grad():  # a policy that wants something
        net.policy_head.weight.mul_(50)
    teacher = search_teacher(net, engine, search="worlds=8", temperature=4.0, prior=prior)
    answers = teacher.answers(asked(rows, logits_of(net, obs), legal))

    cards = rows["phase"] == Phase.PLAY
    assert cards.any()
    assert not cards.all()
    assert not answers[~cards].any()  # bids are not searched unless they are asked for
    searcher = Searcher(make_engine(ENV, 1), None, SearchOptions(worlds=8))
    some, where = rows[cards], legal[cards]
    found = searcher.search(some, some["actor"].astype(np.int32), where, seeds_of(rows)[cards])
    means = found.estimates.means()
    logits = logits_of(net, obs[cards]).astype(np.float64)
    scores = np.where(np.isfinite(means), prior * logits + np.where(where, means, 0) / 4.0, -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(
        answers[cards], weights / weights.sum(1, keepdims=True), rtol=1e-4, atol=1e-6
    )
    assert not answers[cards][~where].any()


def test_a_second_search_answers_what_the_first_leaves(states):
    engine, rows, obs, legal = states
    net = ActorCritic(obs_layout(engine), config_of().ppo, config_of().native, 3)
    one = search_teacher(net, engine, search="worlds=4")
    both = search_teacher(net, engine, search="worlds=4", rest_search=BIDS, rest_share=0.25)
    given = asked(rows, logits_of(net, obs), legal)
    bids = rows["phase"] == Phase.BID
    assert bids.any()
    assert (both.covers(rows) == ~bids).all()  # PPO learns bids still
    assert (one.shares(rows) == np.where(bids, 0.0, 1.0)).all()
    assert (both.shares(rows) == np.where(bids, 0.25, 1.0)).all()
    alone, answers = one.answers(given), both.answers(given)
    assert (answers[~bids] == alone[~bids]).all()
    assert not alone[bids].any()
    np.testing.assert_allclose(answers[bids].sum(1), 1.0, rtol=1e-5)
    assert not answers[~legal].any()
    # The same as a search of bids alone, by the network as it is.
    only = search_teacher(net, engine, search=BIDS)
    assert (only.answers(given)[bids] == answers[bids]).all()


@walk("seat", every(2, [0, 1]))
def test_where_rows_show_all_seats_the_learners_is_asked(seat):
    engine = make_engine("DrMarioVersus-v0", 8, {"opponent": "first", "agent_seat": seat})
    engine.reset_many(seeds=3)
    for _ in range(3):
        engine.step_many(engine.bot_actions("random", rng_streams(1, 8)))
    legal, seats = engine.mask != 0, engine.get_actors()
    assert (seats == seat).all()
    rows = engine.get_states()
    given = AskedDecisions(rows, seats, 0.0 * legal, legal, seeds_of(rows))
    answers = PlayerTeacher("greedy", engine).answers(given)
    assert (answers.argmax(1) == engine.bot_actions("greedy", rng_streams(2, 8))).all()
    config = ExpertRun.from_mapping({"env": "DrMarioVersus-v0", "trainer": "expert"})
    net = ActorCritic(obs_layout(engine), config.ppo, config.native)
    searched = SearchTeacher(net, config, engine, ExpertConfig(search="worlds=2")).answers(given)
    assert (searched.sum(1) > 0.99).all()
    assert not searched[~legal].any()


def test_the_network_is_asked_as_it_is_when_the_teacher_prepares(states):
    engine, rows, _, legal = states
    net = ActorCritic(obs_layout(engine), config_of().ppo, config_of().native, 3)
    teacher = make_teacher(config_of(search="worlds=4,rollouts=policy"), net, engine)
    given = asked(rows, 0.0 * legal, legal)
    before = teacher.answers(given)
    with torch.no_grad():
        net.policy_head.weight.add_(torch.randn_like(net.policy_head.weight))
    assert (teacher.answers(given) == before).all()
    teacher.prepare(0.0)
    assert (teacher.answers(given) != before).any()


def test_answers_do_not_depend_on_the_threads(states):
    engine, rows, obs, legal = states
    net = ActorCritic(obs_layout(engine), config_of().ppo, config_of().native, 3)
    given = asked(rows, logits_of(net, obs), legal)
    searches = {"search": "worlds=8", "rest_search": BIDS}
    answers = [
        search_teacher(net, engine, threads, **searches).answers(given) for threads in (1, 2, 8)
    ]
    assert answers[0].any()
    assert all((each == answers[0]).all() for each in answers[1:])


@walk(
    ("expert", "says"),
    [
        ({"teacher": "nobody"}, "bot 'nobody'"),
        ({"teacher": "runs/none"}, "runs/none"),
        ({"search": "worlds=0"}, "search.worlds=0"),
        ({"search": "depth=3"}, "depth"),
        ({"search": "worlds"}, "search:WHO"),
        ({"search": "rollouts=nobody"}, "search.rollouts='nobody'"),
        ({"rest_search": "worlds=4"}, "of other decisions than cards"),
        ({"search": "decisions=all", "rest_search": "decisions=bids"}, "expert.rest_search="),
        ({"late_search": "decisions=bids"}, "of the same decisions as expert.search, cards"),
    ],
)
def test_teachers_that_cannot_be_are_refused(states, expert, says):
    engine = states[0]
    config = config_of(**expert)
    net = ActorCritic(obs_layout(engine), config.ppo, config.native)
    with pytest.raises((ConfigError, RunError)) as error:
        make_teacher(config, net, engine)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@walk(
    ("values", "says"),
    [
        ({"expert": {"share": 0}}, "expert.share=0"),
        ({"expert": {"share": 1.5}}, "expert.share=1.5"),
        ({"expert": {"until": 0}}, "expert.until=0"),
        ({"expert": {"weight": float("nan")}}, "expert.weight=nan"),
        ({"expert": {"window": 0}}, "expert.window=0"),
        ({"expert": {"teacher": "x", "search": "worlds=4"}}, "left out with expert.teacher"),
        ({"expert": {"teacher": "x", "rest_search": "worlds=4"}}, "expert.rest_search='worlds=4'"),
        ({"expert": {"rest_share": 0}}, "expert.rest_share=0"),
        ({"expert": {"late_share": 0}}, "expert.late_share=0"),
        ({"expert": {"late_start": 1}}, "expert.late_start=1"),
        ({"expert": {"teacher": "x", "late_search": "worlds=4"}}, "expert.late_search='worlds=4'"),
        ({"native": {"recurrent": "gru"}}, "'none' with trainer='expert'"),
        ({"native": {"hindsight": "value"}}, "'off' with trainer='expert'"),
    ],
)
def test_options_that_cannot_be_are_refused(values, says):
    with pytest.raises(ConfigError) as error:
        ExpertRun.from_mapping({"env": ENV, "trainer": "expert", **values})
    assert says in str(error.value)
    assert "\n" not in str(error.value)
