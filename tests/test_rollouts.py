"""Worlds and rollouts of the toy games: all backends, any order of a batch, and play by hand."""

import dataclasses
from functools import cache

import numba as nb
import numpy as np
import pytest
from numba import types

from fastenv import notices
from fastenv.engine import BatchEngine, rng_streams
from fastenv.env import FastEnv
from fastenv.errors import ConfigError, InvalidActionError, ResetNeededError
from fastenv.numba_cache import cached_cfunc
from fastenv.rng import Rng
from fastenv.vector import FastVectorEnv, sample_legal
from fastenv.verify import available
from tests.by_hand import bits
from tests.needs import FASTEST, HAS_CORE, needs_core
from tests.nim import NimGame
from tests.race import ENGINES, OtherFunctions, engine_of, everything
from tests.ring import RingGame
from tests.slow import diagonal, every
from tests.tables import walk
from tests.toy import SEEN, STATE, RaceGame, WalkGame

GAMES = {
    "walk": WalkGame,
    "strict walk": lambda: WalkGame(raise_illegal=True),
    "race": RaceGame,
    "long race": lambda: RaceGame(size=83, goal=70),
    "strict race": lambda: RaceGame(raise_illegal=True),
    "ring in turns": RingGame,
    "ring together": lambda: RingGame("together", poison=2),
    "ring mixed": lambda: RingGame("mixed", stones=40),
    "nim": lambda: NimGame(players=3),
}
WORLDS = [name for name in GAMES if name != "nim"]  # of the games with `resample`


def positions(game, n=7, seed=0):
    """Return rows of running games, some steps from the beginning."""
    here = available(game)
    engine = engine_of(FASTEST if here[FASTEST] is None else "reference", n, game, seed)
    rng = np.random.default_rng(seed)
    for _ in range(int(rng.integers(6))):
        engine.step_many(sample_legal(engine.mask, rng))
    return engine.get_states()


def engines(game, **options):
    here = available(game)
    return {
        name: BatchEngine(game, 5, backend, threads, **options)
        for name, (backend, threads) in ENGINES.items()
        if here[backend] is None
    }


def asked(game, rows, rng):
    """Return arguments of rollouts, drawn."""
    m = int(rng.integers(1, 80))
    of = rng.integers(len(rows), size=m)
    engine = BatchEngine(game, 1, "reference")
    legal = sample_legal(engine.action_masks_many(rows)[of], rng)
    actions = np.where(rng.random(legal.shape) < 0.4, -1, legal)
    stops = [stop + "4" * stop.endswith("=") for stop in game.spec.stops]
    return {
        "actions": actions,
        "players": [game.bot_names[k] for k in rng.integers(len(game.bot_names), size=seats(game))],
        "until": [None, *stops][rng.integers(1 + len(stops))],
        "limit": [None, 1, 3][rng.integers(3)],
        "seeds": rng.integers(2**63, size=m),
        "of": of,
    }


def seats(game):
    return game.num_seats


def found(rollouts):
    """Return the bits of rollouts."""
    arrays = rollouts.outcomes, rollouts.decisions, rollouts.rows
    return [array.tobytes() for array in arrays]


@walk("seed", every(4, range(4)))
@walk("name", GAMES)
def test_backends_play_the_same_rollouts(name, seed):
    game, rng = GAMES[name](), np.random.default_rng(seed)
    rows = positions(game, seed=seed)
    before, how = rows.tobytes(), asked(game, rows, rng)
    expected, *others = (found(each.rollout(rows, **how)) for each in engines(game).values())
    assert all(other == expected for other in others)
    assert rows.tobytes() == before


@walk("seed", every(4, range(4)))
@walk("name", WORLDS)
def test_backends_draw_the_same_worlds(name, seed):
    game, rng = GAMES[name](), np.random.default_rng(seed)
    rows = positions(game, seed=seed)
    before, agents = rows.tobytes(), rng.integers(game.num_seats, size=len(rows))
    each = [engine.resample(rows, agents, seed, worlds=3) for engine in engines(game).values()]
    assert all(worlds.tobytes() == each[0].tobytes() for worlds in each)
    assert rows.tobytes() == before
    assert each[0].dtype == rows.dtype
    for worlds in (each[0], engines(game)["reference"].resample(rows, 0, seed)):
        assert len(np.unique(worlds["rng"], axis=0)) == len(worlds)


@walk("name", WORLDS)
def test_a_world_looks_the_same_to_its_agent(name):
    game = GAMES[name]()
    rows, engine = positions(game, seed=9), BatchEngine(game, 1, FASTEST)
    for agent in range(game.num_seats):
        worlds = engine.resample(rows, agent, 5, worlds=4)
        game.validate(worlds)
        for show in (engine.encode_obs_many, engine.action_masks_many):
            shown, again = show(rows), show(worlds)
            if game.spec.num_agents > 1:
                shown, again = shown[:, agent], again[:, agent]
            # but for what is between fields
            assert bits(again) == bits(shown.repeat(4, axis=0))


def test_a_world_knows_nothing_of_what_is_hidden():
    """Neither of the fields that nobody has seen nor of the luck to come."""
    rows = positions(RaceGame(), seed=3)
    others = rows.copy()
    for row in others:
        row["board"][row["place"][1] + SEEN : 24] = 7
    for name in ("rng", "bot_rng", "stamp"):
        others[name] += np.uint64(1)
    for engine in engines(RaceGame()).values():
        worlds = engine.resample(rows, 1, 11, worlds=6)
        assert worlds.tobytes() == engine.resample(others, 1, 11, worlds=6).tobytes()
    assert len(np.unique(worlds["board"], axis=0)) == len(worlds)


# -- the same by hand ------------------------------------------------------------------------------


def by_hand(engine, row, first, players, stopped, limit, seed):
    """Play a rollout by steps of an engine of one lane; return its row and decisions."""
    engine.set_states(row)
    words, agents, taken = rng_streams(seed, 1), engine.spec.num_agents, 0
    while True:
        needs, actions = engine.needs_action()[0], np.zeros((1, agents), int)
        for k in range(agents):
            if needs[k] and taken == 0 and first[k] >= 0:
                actions[0, k] = first[k]
            elif needs[k]:
                actions[0, k] = engine.bot_actions(players[k], words, agent=k)[0]
        engine.step_many(actions if agents > 1 else actions[0], autoreset=False)
        taken += 1
        if engine.ended[0] or taken == limit or stopped(engine.get_states()[0], row[0]):
            return engine.get_states(), taken


CONDITIONS = {
    None: lambda row, start: False,
    "odd": lambda row, start: row["position"] % 2 == 1,
    "steps=4": lambda row, start: row["steps"] >= start["steps"] + 4,
    "apart": lambda row, start: row["place"][0] != row["place"][1],
    "frames=4": lambda row, start: row["clock"] >= start["clock"] + 4,
}


@walk("backend", ["reference", "fast"] if HAS_CORE else ["reference", "numba"])
@walk("name", GAMES)
def test_a_rollout_is_the_steps_of_an_engine(name, backend):
    """Sums of rewards and lengths of the episode too: they are in the row."""
    game, rng = GAMES[name](), np.random.default_rng(1)
    if available(game)[backend] is not None:
        pytest.skip("a game in plain Python")
    engine, rows = BatchEngine(game, 1, backend), positions(game, seed=1)
    for _ in range(3):
        how = asked(game, rows, rng)
        rollouts = engine.rollout(rows, **how)
        for i in range(0, len(how["of"]), 9):
            row = rows[how["of"][i : i + 1]]
            first, seed = np.atleast_1d(how["actions"][i]), how["seeds"][i]
            stopped = CONDITIONS[how["until"]]
            row, taken = by_hand(engine, row, first, how["players"], stopped, how["limit"], seed)
            assert row.tobytes() == rollouts.rows[i : i + 1].tobytes()
            assert taken == rollouts.decisions[i]
            assert rollouts.outcomes[i].tobytes() == game.outcomes(row)[0].tobytes()


# -- what rollouts do not depend on ----------------------------------------------------------------


@walk("backend", ENGINES)
def test_order_and_company_change_nothing(backend):
    game, rng = RaceGame(), np.random.default_rng(2)
    rows = positions(game, n=5, seed=2)
    engine = engines(game)[backend]
    how = asked(game, rows, rng)
    whole = engine.rollout(rows, **how)
    chosen = rng.permutation(len(how["of"]))[: 1 + len(how["of"]) // 2]
    part = {key: how[key][chosen] for key in ("actions", "seeds", "of")}
    again = engine.rollout(rows, **{**how, **part})
    assert again.rows.tobytes() == whole.rows[chosen].tobytes()
    assert again.decisions.tolist() == whole.decisions[chosen].tolist()
    straight = {**how, **part, "of": None}
    assert found(engine.rollout(rows[part["of"]], **straight)) == found(again)
    worlds = engine.resample(rows, 1, how["seeds"][0], worlds=2)
    seeds = np.arange(10, dtype=np.uint64) + np.uint64(how["seeds"][0])
    assert engine.resample(rows[3:], 1, seeds[6:], worlds=2).tobytes() == worlds[6:].tobytes()


@walk("backend", ENGINES)
def test_the_engine_itself_stays_where_it_is(backend):
    engine = engine_of(*ENGINES[backend][:1])
    engine.step_many(np.ones((5, 2), int))
    before, rows = everything(engine), engine.get_states()
    engine.rollout(rows, until="frames=9")
    engine.resample(rows, 0, 0, worlds=3)
    assert everything(engine) == before


@walk(
    ("name", "columns"),
    diagonal(ENGINES, [(), ("progress",), ("clock", "gain"), ("gain", "progress")]),
)
def test_columns_change_nothing(name, columns):
    rows = positions(RaceGame(), seed=4)
    whole, part = (engines(RaceGame(), **o)[name] for o in ({}, {"info_columns": columns}))
    assert found(part.rollout(rows, seeds=8)) == found(whole.rollout(rows, seeds=8))


@walk("name", ENGINES)
def test_an_opponent_changes_nothing(name):
    """Seats are played by ``players`` alone, and all of them are asked for a first action."""
    game = RaceGame(raise_illegal=True)
    rows = positions(game, seed=5)
    how = asked(game, rows, np.random.default_rng(5))
    seated = engines(game, opponent="fast", agent_seat=1)[name]
    seated.reset_many(seeds=0)
    expected = found(engines(game)["reference"].rollout(rows, **how))
    assert found(seated.rollout(rows, **how)) == expected
    worlds = engines(game)["reference"].resample(rows, 1, 5)
    assert seated.resample(rows, 1, 5).tobytes() == worlds.tobytes()


@walk("name", ENGINES)
def test_no_rows_are_no_rollouts(name):
    for game in (WalkGame(raise_illegal=True), RaceGame(raise_illegal=True)):
        engine, rows = engines(game)[name], positions(game)
        none = engine.rollout(rows[:0])
        assert none.outcomes.shape == (0, game.num_seats)
        assert none.rows.shape == none.decisions.shape == (0,)
        assert engine.rollout(rows, of=[]).decisions.size == 0
        shape = (0, 2) if game.num_seats == 2 else (0,)
        assert engine.rollout(rows, np.zeros(shape, int), of=[], seeds=[]).decisions.size == 0
        assert engine.resample(rows[:0], [], 0, worlds=5).shape == (0,)


@walk("name", ENGINES)
def test_padding_of_given_rows_means_nothing(name):
    clean = positions(WalkGame(), seed=6)
    dirty = np.empty_like(clean)
    dirty.view(np.uint8).fill(0xAA)
    for field in STATE.names:
        dirty[field] = clean[field]
    assert dirty.tobytes() != clean.tobytes()
    engine = engines(WalkGame())[name]
    assert found(engine.rollout(dirty)) == found(engine.rollout(clean))
    assert engine.resample(dirty, 0, 1).tobytes() == engine.resample(clean, 0, 1).tobytes()


@walk("name", ENGINES)
def test_seeds_are_modulo_two_to_the_64th(name):
    engine, rows = engines(WalkGame())[name], positions(WalkGame(), n=2)
    top = 2**64 - 1
    expected = found(engine.rollout(rows, seeds=np.array([top, 0], np.uint64)))
    for seeds in (
        *(-1, top, top - 2**70, np.int64(-1), np.array(-1)),
        *([-1, 0], (top, 2**64), [top + 5 * 2**64, np.int8(0)], range(-1, 1)),
        *(np.array([-1, 0], np.int8), np.array([-1, 2**80], object)),
    ):
        assert found(engine.rollout(rows, seeds=seeds)) == expected
    worlds = engine.resample(rows, 0, [-1, 0]).tobytes()
    assert engine.resample(rows, 0, top).tobytes() == worlds


# -- ends ------------------------------------------------------------------------------------------


@walk("name", ENGINES)
def test_limits_and_conditions(name):
    game = WalkGame()
    engine, rows = engines(game)[name], positions(game, n=40, seed=7)
    ended = engine.rollout(rows, players="random").rows
    assert (ended["done"] != 0).all()
    for limit in (1, 3, 2**31 - 1):
        rollouts = engine.rollout(rows, players="random", limit=limit)
        assert (rollouts.decisions <= limit).all()
        assert ((rollouts.decisions == limit) | (rollouts.rows["done"] != 0)).all()
    rollouts = engine.rollout(rows, until="steps=2")
    assert ((rollouts.decisions == 2) | (rollouts.rows["done"] != 0)).all()
    assert (rollouts.decisions == 2).any()
    rollouts = engine.rollout(rows, until="odd")
    odd = rollouts.rows["position"] % 2 == 1
    assert (odd | (rollouts.rows["done"] != 0)).all()
    assert found(engine.rollout(rows, until="steps=007", limit=5)) == found(
        engine.rollout(rows, until="steps=7", limit=5)
    )


def test_the_first_action_is_taken_as_it_is():
    rows = positions(RaceGame(), n=1, seed=8)
    rows["needs_action"], rows["board"] = [[1, 0]], 0
    for engine in engines(RaceGame()).values():
        taken = engine.rollout(rows, [[3, 10**6], [-1, -9], [0, 0]], "slow", limit=1, of=[0, 0, 0])
        gained = taken.rows["place"] - rows["place"]
        assert gained.tolist() == [[3, 0], [1, 0], [0, 0]]


# -- bots in Python, and what else is not compiled -------------------------------------------------


@needs_core
@pytest.mark.parametrize("missing", ["bot", "stop"])
def test_what_is_not_compiled_is_played_in_python_and_told_once(missing, monkeypatch, capsys):
    monkeypatch.setattr(notices, "SLOW_S", 0.0)
    monkeypatch.setattr(notices, "_reported", set())
    changes = ({"stop": 0}, {}) if missing == "stop" else ({}, {"bot": 0})
    rows = positions(RaceGame(), seed=6)
    expected = found(engines(RaceGame())["reference"].rollout(rows, until="apart"))
    engine = BatchEngine(OtherFunctions(*changes), 5, "fast")
    for _ in range(2):
        assert found(engine.rollout(rows, until="apart")) == expected
    assert capsys.readouterr().err.count("rollouts of OtherFunctions are played in Python") == 1
    for backend in ("reference", "cython"):
        BatchEngine(OtherFunctions(*changes), 5, backend).rollout(rows, until="apart")
    assert not capsys.readouterr().err


class TwoInTurn(WalkGame):
    """The walk of two who decide in turn for the one walker; a rollout begins at its start."""

    num_seats = 2

    def begin_rollout(self, game, players, until, rng):
        game.position = rng.bounded(2)

    def seat_of(self, game, agent):
        return game.steps % 2


def test_seats_that_a_game_names_itself():
    game = TwoInTurn()
    rows = positions(game, n=30, seed=6)
    bots = ("walker", "random")
    expected, *others = (each.rollout(rows, None, bots) for each in engines(game).values())
    assert all(found(other) == found(expected) for other in others)
    for i in range(30):
        walk, rng, taken = game.unpack(rows[i]), Rng(i), 0
        walk.position = rng.bounded(2)
        while not walk.done:
            params = game.bot(bots[walk.steps % 2])[0]
            walk.step(game.bot_action(walk, params, 0, None, None, rng))
            taken += 1
        assert expected.rows[i]["position"] == walk.position
        assert expected.decisions[i] == taken


@cache
def noting_rollout():
    """Return a compiled rollout that writes down what it is given."""

    @cached_cfunc(types.int32(*[types.voidptr] * 4, *[types.int32] * 4, types.voidptr))
    def rollout(row, shared, knobs, players, action, until, number, limit, rng):
        s, kind = nb.carray(row, (1,), STATE)[0], nb.carray(players, (1,), np.int32)[0]
        s.position, s.goal, s.steps, s.limit, s.moved = action, until, number, limit, kind
        s.rng[:] = nb.carray(rng, (4,), np.uint64)
        return 9

    return rollout


class OwnRollout(WalkGame):
    pays_rollouts = False

    def core(self):
        return dataclasses.replace(super().core(), rollout=noting_rollout().address)


@needs_core
@pytest.mark.parametrize("backend", ["cython", "fast"])
def test_a_rollout_that_a_game_compiles_itself(backend):
    rows = positions(WalkGame(), n=2)
    engine = BatchEngine(OwnRollout(), 2, backend, 2)
    rollouts = engine.rollout(rows, [2, -1], "random", "steps=6", 8, seeds=4)
    for i, action in enumerate((2, -1)):
        row = rollouts.rows[i]
        given = [int(row[name]) for name in ("position", "goal", "steps", "limit", "moved")]
        assert given == [action, 1, 6, 8, 1]
        assert row["rng"].tolist() == Rng(4 + i).state
    assert rollouts.decisions.tolist() == [9, 9]
    assert engine.rollout(rows).rows["goal"].tolist() == [-1, -1]
    OwnRollout.pays_rollouts = True
    try:
        with pytest.raises(ConfigError, match="rollout: only for games of one agent"):
            BatchEngine(OwnRollout(), 2, backend)
    finally:
        OwnRollout.pays_rollouts = False


# -- views -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("agents", ["one", "all"])
def test_the_lanes_of_a_vector_environment(agents):
    vec = FastVectorEnv(RaceGame(), 5, agents=agents, **SEATED[agents])
    with pytest.raises(ResetNeededError, match="lane 3 has no running episode: reset it first"):
        vec.resample(0, 0, idx=[3])
    vec.reset(seed=4)
    engine, rows, before = vec.engine, vec.get_states(), everything(vec.engine)
    worlds = vec.resample([1, 0], 7, worlds=3, idx=[4, 2])
    assert worlds.tobytes() == engine.resample(rows[[4, 2]], [1, 0], 7, worlds=3).tobytes()
    assert vec.resample(1, 7).tobytes() == engine.resample(rows, 1, 7).tobytes()
    lanes = [4, 4, 1]
    how = ("fast", "frames=9", 5, [3, 1, 2])
    rollouts = vec.rollout([[1, 0], [2, -1], [0, 0]], *how, idx=lanes)
    assert found(rollouts) == found(engine.rollout(rows[lanes], [[1, 0], [2, -1], [0, 0]], *how))
    assert found(vec.rollout()) == found(engine.rollout(rows))
    assert everything(engine) == before


SEATED = {"one": {"opponent": "slow"}, "all": {}}


def test_the_state_of_an_environment():
    env = FastEnv(WalkGame())
    for call in (lambda: env.resample(0, 0), env.rollout):
        with pytest.raises(ResetNeededError, match="call reset"):
            call()
    env.reset(seed=5)
    engine, row = env.engine, env.get_state()
    assert env.resample(0, 3, worlds=4).tobytes() == engine.resample(row, 0, 3, worlds=4).tobytes()
    tried = env.rollout([0, 1, 2, -1], "random", seeds=[6] * 4)
    each = [env.rollout(action, "random", seeds=6) for action in (0, 1, 2, -1)]
    assert found(tried) == [b"".join(bits) for bits in zip(*map(found, each), strict=True)]
    assert found(each[3]) == found(env.rollout(None, "random", seeds=6))
    assert env.get_state() == row
    with pytest.raises(InvalidActionError, match="rollout 1: action 3 is out of range"):
        env.rollout([0, 3])
    env.close()
    with pytest.raises(ResetNeededError, match="call reset"):
        env.rollout()
