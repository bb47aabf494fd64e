"""Every backend, any number of threads and any schedule: the same bits of a game of two agents."""

import numpy as np
import pytest

from fastenv.engine import rng_streams
from fastenv.verify import Case, first_difference
from tests.race import BACKENDS, ENGINES, HERE, N, engine_of
from tests.slow import diagonal
from tests.tables import walk
from tests.toy import RaceGame

pytestmark = pytest.mark.parity

VARIANTS = {
    "default": {},
    "small": {"size": 7, "goal": 5},
    "long": {"size": 61, "goal": 200},
    "refuses": {"raise_illegal": True},
}


SEATINGS = {"all": (None, None), "a bot": ("random", 1), "outside": ("external", "rotate")}


@walk(("variant", "seated"), diagonal(VARIANTS, SEATINGS))
@walk("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_all_backends_agree_after_every_step(variant, seed, seated):
    """With illegal actions, lanes left out, resets, reloads, and steps without automatic reset."""
    game = RaceGame(**VARIANTS[variant])
    case = Case(game, seed, N, ENGINES, VARIANTS[variant], *SEATINGS[seated])
    difference, ended, illegal, idle = case.check(), 0, 0, 0
    for _ in range(120):
        assert difference is None, str(difference)  # says which seed
        difference = case.advance(illegal=0.25, events=0.2)
        ended += int((case.standard.terminated | case.standard.truncated).sum())
        rows = case.standard.get_states()
        illegal += int(rows["ev_illegal"].sum())
        idle += int((rows["needs_action"] == 0).sum())
    assert difference is None, str(difference)
    assert ended > N
    assert idle > N
    assert (illegal > 0) == (variant != "refuses")


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_the_core_leaves_open_is_filled_in_where_it_is_read(backend):
    engine = engine_of(backend)
    assert engine.completes_rows == (backend in ("cython", "fast"))
    if engine.completes_rows:
        assert not engine._states["stamp"].any()
    rows = engine.get_states([1, 3])
    assert np.array_equal(rows["stamp"], (rows["bot_rng"][:, 0] | np.uint64(1)) * np.uint64(3) + 1)
    assert not rows["stamp_from"].any()
    if engine.completes_rows:
        assert engine._states["stamp"].astype(bool).tolist() == [False, True, False, True, False]
    engine.step_many(np.zeros((N, 2), int))
    assert np.array_equal(engine.get_states([1, 3])["stamp"], rows["stamp"])
    engine.set_states(rows, [0, 2])
    assert np.array_equal(engine.get_states([0, 2]), rows)


PLAYERS = ("random", "slow", "fast")


@walk("agent", [0, 1])
@walk("player", PLAYERS)
def test_bots_play_the_same_on_all_backends(player, agent):
    """From generators of their own and from the rows'; those that are given move, others do not."""
    engines = [engine_of(backend) for backend in HERE]
    given = [rng_streams(3, N) for _ in engines]
    ended = np.zeros(N, bool)
    for step in range(25):
        if ended.all():
            break
        chosen = []
        for engine, streams in zip(engines, given, strict=True):
            kept, rows = streams.copy(), engine.get_states()
            own = step % 2 == 0
            found = engine.bot_actions(player, None if own else streams, agent=agent)
            drew = player == "random"
            moved = engine.get_states()["bot_rng"] != rows["bot_rng"]
            assert moved.any(axis=1).tolist() == (~ended & (own and drew)).tolist()
            assert (streams != kept).any(axis=1).tolist() == (~ended & (not own and drew)).tolist()
            assert not found[ended].any()
            chosen.append(found.copy())
        assert all(np.array_equal(chosen[0], other) for other in chosen)
        legal = engines[0].mask[np.arange(N), agent, chosen[0]]
        assert legal.all()
        actions = np.ones((N, 2), int)
        actions[:, agent] = chosen[0]
        for engine, streams in zip(engines, given, strict=True):
            engine.step_many(actions, select=~ended, autoreset=False)
            assert first_difference(engines[0], engine) is None
            assert np.array_equal(streams, given[0])
        ended = engines[0].ended.copy()
    assert ended.any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_parameters_of_a_bot_are_read(backend):
    """The row's ``stride`` decides how far it walks: as far as it wants and may."""
    engine = engine_of(backend, 40)
    reach = engine.mask[:, 1].sum(axis=1) - 1
    assert set(reach.tolist()) == {0, 1, 2, 3}
    assert np.array_equal(engine.bot_actions("slow", agent=1), np.minimum(reach, 1))
    assert np.array_equal(engine.bot_actions("fast", agent=1), reach)
    out = np.full(40, 9, np.int32)
    assert engine.bot_actions("fast", agent=1, out=out) is out
    assert np.array_equal(out, reach)
