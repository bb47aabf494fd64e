"""What several agents see and do: tau, who must act, who waits, what an illegal action refuses."""

import numpy as np
import pytest

from fastenv.errors import InvalidActionError
from fastenv.vector import sample_legal
from tests.race import BACKENDS, N, engine_of, everything, rows_of
from tests.slow import diagonal
from tests.tables import walk
from tests.toy import HOLE, RaceGame

every_backend = pytest.mark.parametrize("backend", BACKENDS)


@every_backend
def test_what_an_agent_sees_or_does_has_an_axis_of_its_own(backend):
    engine = engine_of(backend)
    assert engine.num_agents == 2
    for name in ("reward", "tau", "ep_return", "terms", "obs", "final_obs"):
        assert getattr(engine, name).shape == (N, 2), name
    assert engine.mask.shape == (N, 2, 4)
    for name in ("terminated", "truncated", "ep_length", "ep_frames", "ended"):
        assert getattr(engine, name).shape == (N,), name
    assert engine.obs["ahead"].shape == (N, 2, 6)
    assert engine.obs["me"].shape == (N, 2, 2, 2)
    assert engine.obs["clock"].shape == (N, 2)
    assert engine.info["gain"].shape == engine.final_info["gain"].shape == (N, 2)
    assert engine.info["places"].shape == (N, 2)
    assert engine.info["clock"].shape == (N,)
    assert engine.reward.dtype == np.float64
    assert engine.tau.dtype == np.int32
    assert engine.encode_obs_many().shape == (N, 2)
    assert engine.action_masks_many().shape == (N, 2, 4)
    assert engine.encode_obs_many(engine.get_states()[:3]).shape == (3, 2)
    assert engine.action_masks_many(engine.get_states()[3]).shape == (1, 2, 4)
    assert sample_legal(engine.mask, 0).shape == (N, 2)
    assert not engine.tau.any()  # nobody has decided anything yet
    engine.step_many(np.zeros((N, 2), int))
    assert engine.tau.any()
    engine.reset_many(mask=np.array([1, 0, 0, 0, 0], bool))
    assert not engine.tau[0].any()
    assert engine.tau[1:].any()


def clear_road(n=N, **fields):
    """Return rows: agent 0 must decide at 10, agent 1 decided at 2 and sleeps until 15."""
    made = {"board": 0, "place": (4, 7), "clock": 10, "ready_at": (10, 15), "decided_at": (6, 2)}
    made |= {"needs_action": (1, 0), "ep_frames": 10, "ep_length": 3, "ep_return": (4.0, 0.5)}
    return rows_of(RaceGame(), n, **made | {"tau": (4, 8)} | fields)


@every_backend
def test_tau_is_what_has_passed_since_an_agents_own_last_decision(backend):
    engine = engine_of(backend)
    engine.set_states(clear_road())
    assert engine.needs_action().tolist() == [[True, False]] * N
    engine.step_many(np.tile([2, 0], (N, 1)))
    rows = engine.get_states()
    woke = rows["ready_at"].min(axis=1)  # 13 or 14, as the wind blew
    assert set(woke.tolist()) == {13, 14}
    assert np.array_equal(engine.tau, np.stack([woke - 10, woke - 2], axis=1))
    assert np.array_equal(engine.tau, rows["tau"])
    assert np.array_equal(engine.info["clock"], woke)
    assert engine.reward.tolist() == [[3.0, 0.0]] * N
    assert engine.terms["gain"].tolist() == [[2.0, 0.0]] * N
    assert engine.terms["progress"].tolist() == [[6 / 20, 7 / 20]] * N
    assert rows["ep_return"].tolist() == [[7.0, 0.5]] * N
    assert rows["ep_length"].tolist() == [4] * N
    assert np.array_equal(rows["ep_frames"], woke)
    assert engine.needs_action().tolist() == [[True, False]] * N


@every_backend
def test_both_decide_at_once_where_both_are_awake(backend):
    engine = engine_of(backend)
    engine.set_states(clear_road(ready_at=(10, 10), needs_action=(1, 1)))
    engine.step_many(np.tile([1, 3], (N, 1)))
    rows = engine.get_states()
    assert rows["place"].tolist() == [[5, 10]] * N
    assert engine.reward.tolist() == [[1.5, 4.5]] * N
    assert np.array_equal(engine.tau, np.stack([rows["clock"] - 10] * 2, axis=1))


@every_backend
def test_decisions_and_frames_are_counted_apart(backend):
    """Both by hand, lane by lane, over whole episodes; so is tau."""
    rng = np.random.default_rng(0)
    engine = engine_of(backend, 8, RaceGame(goal=15))
    lengths, frames, ends = np.zeros(8, int), np.zeros(8, int), 0
    decided = np.zeros((8, 2), int)
    for _ in range(120):
        clock, needs = engine.info["clock"].copy(), engine.needs_action()
        decided[needs] = np.repeat(clock[:, None], 2, axis=1)[needs]
        engine.step_many(sample_legal(engine.mask, rng))
        done = (engine.terminated | engine.truncated) != 0
        now = np.where(done, engine.final_info["clock"], engine.info["clock"])
        lengths, frames = lengths + 1, frames + now - clock
        assert np.array_equal(engine.tau, now[:, None] - decided)
        assert np.array_equal(engine.ep_length[done], lengths[done])
        assert np.array_equal(engine.ep_frames[done], frames[done])
        assert (frames >= lengths).all()
        lengths[done] = frames[done] = decided[done] = 0
        ends += done.sum()
    assert ends > 8


@walk(
    ("nonsense", "raise_illegal", "backend"),
    diagonal([10**9, -5, 3, 2**62, "random"], [False, True], BACKENDS),
)
def test_what_an_agent_sends_that_need_not_act_is_ignored(backend, nonsense, raise_illegal):
    rng = np.random.default_rng(1)
    quiet, loud = (engine_of(backend, game=RaceGame(raise_illegal=raise_illegal)) for _ in "ab")
    idle = 0
    for _ in range(40):
        needs = quiet.needs_action()
        assert np.array_equal(needs, quiet.info["needs"] != 0)
        assert quiet.mask[~needs].tolist() == [[1, 0, 0, 0]] * int((~needs).sum())
        assert quiet.mask[needs][:, 0].all()
        actions = np.where(needs, sample_legal(quiet.mask, rng), 0).astype(np.int64)
        wild = rng.integers(-(2**40), 2**40, needs.shape) if nonsense == "random" else nonsense
        quiet.step_many(actions)
        loud.step_many(np.where(needs, actions, wild))
        assert everything(quiet) == everything(loud)
        idle += int((~needs).sum())
    assert idle > 40


@every_backend
def test_unsigned_nonsense_of_an_idle_agent_is_ignored_too(backend):
    quiet, loud = engine_of(backend), engine_of(backend)
    for engine in (quiet, loud):
        engine.set_states(clear_road())
    quiet.step_many(np.tile([1, 0], (N, 1)))
    loud.step_many(np.tile(np.array([1, 2**64 - 1], np.uint64), (N, 1)))
    assert everything(quiet) == everything(loud)


def holes(n=N):
    """Return rows with a hole two fields before agent 1, in lanes 2 and 4, where both are awake."""
    rows = clear_road(n, ready_at=(10, 10), needs_action=(1, 1))
    rows["board"][[2, 4], 9] = HOLE
    return rows


@every_backend
def test_an_illegal_action_of_one_agent_refuses_the_whole_call(backend):
    engine = engine_of(backend, game=RaceGame(raise_illegal=True))
    engine.step_many(np.zeros((N, 2), int))
    engine.set_states(holes())
    assert engine.mask[2].tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
    before = everything(engine)
    message = r"lane 2, agent 1: action 3 is illegal in phase CLOCK 10, legal are \[0, 1\]"
    for autoreset in (True, False):
        with pytest.raises(InvalidActionError, match=message):
            engine.step_many(np.full((N, 2), 3), autoreset=autoreset)
        assert everything(engine) == before
    with pytest.raises(InvalidActionError, match="lane 4, agent 1: action 2 is illegal"):
        engine.step_many(np.tile([3, 2], (N, 1)), select=[True, True, False, True, True])
    assert everything(engine) == before
    engine.step_many(np.full((N, 2), 3), select=np.array([1, 1, 0, 1, 0], bool))
    engine.set_states(holes())
    engine.step_many(np.tile([3, 1], (N, 1)))


@every_backend
def test_the_rules_deal_with_illegal_actions_where_they_say_so(backend):
    engine = engine_of(backend)
    engine.set_states(holes())
    engine.step_many(np.full((N, 2), 3))
    assert engine.get_states()["ev_illegal"].tolist() == [[0, 0], [0, 0], [0, 1], [0, 0], [0, 1]]
    assert engine.reward[2].tolist() == [4.5, -0.5]


@every_backend
@pytest.mark.parametrize("raise_illegal", [False, True])
def test_an_action_out_of_range_is_named_with_lane_and_agent(backend, raise_illegal):
    engine = engine_of(backend, game=RaceGame(raise_illegal=raise_illegal))
    engine.set_states(clear_road(ready_at=(10, 10), needs_action=(1, 1)))
    before = everything(engine)
    for lane, agent, wrong in ((3, 1, 4), (0, 0, -1), (4, 1, 2**40)):
        actions = np.zeros((N, 2), int)
        actions[lane, agent] = wrong
        message = rf"lane {lane}, agent {agent}: action {wrong} is out of range, allowed are 0\.\.3"
        with pytest.raises(InvalidActionError, match=message):
            engine.step_many(actions)
        assert everything(engine) == before


@every_backend
@pytest.mark.parametrize("autoreset", [False, True])
def test_each_agent_has_a_sum_and_a_last_observation(backend, autoreset):
    engine = engine_of(backend)
    row = clear_road(place=(19, 3), ep_length=11, ep_frames=10)
    engine.set_states(row)
    engine.step_many(np.tile([1, 0], (N, 1)), autoreset=autoreset)
    assert engine.terminated.tolist() == [1] * N
    assert not engine.truncated.any()
    assert engine.ep_return.tolist() == [[5.5, 0.5]] * N
    assert engine.ep_length.tolist() == [12] * N
    assert np.array_equal(engine.ep_frames, engine.final_info["clock"])
    assert np.array_equal(engine.final_obs["clock"][:, 0], engine.final_info["clock"])
    assert engine.final_obs["me"][:, 0, 0, 0].tolist() == [np.float32(0.2)] * N
    assert engine.final_obs["me"][:, 1, 1, 0].tolist() == [np.float32(0.2)] * N
    assert engine.final_info["mood"].tolist() == [2] * N
    assert np.array_equal(engine.tau[:, 0], engine.final_info["clock"] - 10)
    assert engine.ended.tolist() == [not autoreset] * N
    if autoreset:
        assert not engine.info["places"].any()
    else:
        assert engine.mask.all()
        assert engine.info["places"].tolist() == [[20, 3]] * N


@every_backend
def test_an_episode_may_be_cut_short(backend):
    engine = engine_of(backend)
    engine.set_states(clear_road(limit=11))
    engine.step_many(np.tile([1, 0], (N, 1)))
    assert engine.truncated.tolist() == [1] * N
    assert not engine.terminated.any()


def test_a_lane_without_a_legal_action_is_named_with_its_agent():
    masks = np.ones((3, 2, 4), np.uint8)
    masks[1, 0] = 0
    with pytest.raises(ValueError, match="lane 1, agent 0"):
        sample_legal(masks, 0)
    assert sample_legal(np.ones((0, 2, 4), bool)).shape == (0, 2)
