"""The door for rows from outside: what games produce passes, and what passes can be played on."""

import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fastenv
from fastenv.engine import BatchEngine
from fastenv.skullking import tables as t
from fastenv.skullking.state import STATE_DTYPE
from fastenv.verify import first_difference
from tests.by_hand import bits
from tests.needs import needs_core
from tests.skullking import scenarios as sc
from tests.skullking.moments import TIERS, game_of
from tests.slow import late
from tests.tables import walk

PLAYED = ["worker", *late(*(tier for tier in TIERS if tier != "worker"))]  # the quickest
few = settings(max_examples=8)
seeds = st.integers(0, 2**32 - 1)
MESSAGE = re.compile(r"lane (\d+): (\w+)=.* is not possible: ")


def played(game, seed, n=3):
    """Yield an engine at every decision of random games, ended episodes left as they are."""
    engine, rng = BatchEngine(game, n, "fast"), np.random.default_rng(seed)
    engine.reset_many(seeds=seed)
    while not engine.ended.all():
        yield engine
        actions = fastenv.sample_legal(engine.mask, rng)
        engine.step_many(actions, select=~engine.ended, autoreset=False)
    yield engine


@needs_core
@pytest.mark.parametrize("tier", PLAYED)
@few
@given(seed=seeds)
def test_rows_of_games_pass(tier, seed):
    game = game_of(tier, seed)
    for engine in played(game, seed):
        game.validate(engine.get_states())


# -- corrupted rows ------------------------------------------------------------------------------


def corrupt(row, rng):
    """Change one field of a row in place; return its name and what it was and became."""
    name = rng.choice(STATE_DTYPE.names)
    array = row[name].reshape(-1)
    k = rng.integers(array.size)
    old, dtype = array.tolist(), array.dtype
    if array.size > 1 and rng.random() < 0.3:  # two entries change places
        j = rng.integers(array.size)
        array[[j, k]] = array[[k, j]]
    elif dtype.kind == "f":
        array[k] = rng.choice([np.nan, np.inf, -np.inf, 1e308, array[k] + 1, 0.0])
    elif dtype.itemsize == 8:
        flipped = array[k] ^ (np.uint64(1) << np.uint64(rng.integers(64)))
        array[k] = rng.choice([np.uint64(0), np.uint64(2**64 - 1), flipped])
    else:
        info = np.iinfo(dtype)
        small = rng.integers(-2, 80)
        near = [array[k] - np.int64(1), array[k] + np.int64(1)]
        value = rng.choice([info.min, info.max, small, small % 12, *near, rng.integers(info.max)])
        array[k] = np.clip(value, info.min, info.max)
    if row.ndim == 0:
        row[name] = array.reshape(row[name].shape)
    return name, old, array.tolist()


def refusal(game, row):
    """Return lane and field that the door names, None if it lets the row in."""
    try:
        game.validate(row)
    except fastenv.StateError as error:
        lane, field = MESSAGE.match(str(error)).groups()
        if lane != "0" or field not in STATE_DTYPE.names:
            raise
        return lane, field
    return None


def accepted(game, rows, rng, tries):
    """Return corrupted rows that the door lets in, and what was done to them."""
    good, changes = [], []
    for _ in range(tries):
        row = rows[[rng.integers(len(rows))]]
        change = corrupt(row[0], rng)
        told = refusal(game, row)
        if told is None and not row["done"][0]:
            good.append(row)
            changes.append(change)
    return np.concatenate(good) if good else rows[:0], changes


@needs_core
@pytest.mark.parametrize("tier", PLAYED)
@few
@example(seed=1596)  # flat: a total near what a row may have
@example(seed=2280121000)  # flat: eleven cards in a hand, with abilities="agent"
@given(seed=seeds)
def test_what_passes_can_be_played_to_the_end(tier, seed):
    """The core, which checks nothing, does what the reference does, and comes to an end."""
    game, rng = game_of(tier, seed), np.random.default_rng(seed)
    states = [engine.get_states() for engine in played(game, seed)]
    rows, changes = accepted(game, np.concatenate(states), rng, tries=60)
    if not changes:
        return
    engines = [BatchEngine(game, len(rows), name) for name in ("reference", "fast")]
    for engine in engines:
        engine.set_states(rows)
    for step in range(800):
        active, where = engines if step < 12 else engines[1:], f"seed {seed}, step {step}"
        if len(active) == 2:
            found = first_difference(*engines)
            assert found is None, f"{where}: {found}, after {changes[found[1]]}"
        bad = np.argwhere(~(np.abs(engines[1].obs) <= 1))
        assert not bad.size, f"{where}: obs {bad[0]}, after {changes[bad[0][0]]}"
        select = ~engines[1].ended
        if not select.any():
            return
        game.validate(engines[1].get_states())
        actions = fastenv.sample_legal(engines[1].mask, rng)
        for engine in active:
            engine.step_many(actions, select=select, autoreset=False)
    running = [changes[i] for i in np.flatnonzero(~engines[1].ended)]
    raise AssertionError(f"seed {seed}: still running: {running}")


@needs_core
@pytest.mark.parametrize("tier", PLAYED)
@few
@given(seed=seeds)
def test_what_passes_has_worlds_and_rollouts(tier, seed):
    """The same in the core and in plain Python, for every agent."""
    game, rng = game_of(tier, seed), np.random.default_rng(seed)
    rows = np.concatenate([engine.get_states() for engine in played(game, seed)][::3])
    rows, changes = accepted(game, rows[rows["done"] == 0], rng, tries=60)
    if not changes:
        return
    plain, core = (BatchEngine(game, 1, name) for name in ("reference", "fast"))
    for agent in range(game.num_seats):
        worlds = core.resample(rows, agent, seed)
        game.validate(worlds)
        assert bits(worlds) == bits(plain.resample(rows, agent, seed)), changes
    how = {"players": "heuristic", "until": "round", "seeds": seed}
    assert bits(core.rollout(rows, **how).rows) == bits(plain.rollout(rows, **how).rows), changes


@needs_core
def test_a_row_of_another_kind_of_deal_goes_on_alike():
    """Matches show a Worker the rows of a full game with duplicate deals."""
    rows = rows_of("worker", deals="duplicate").get_states()
    assert rows["deal_seed"].all()
    game, rng = fastenv.make_game("SkullKingWorker-v0"), np.random.default_rng(0)
    engines = [BatchEngine(game, len(rows), name) for name in ("reference", "fast")]
    for engine in engines:
        engine.set_states(rows)
    for _ in range(40):
        actions = fastenv.sample_legal(engines[0].mask, rng)
        for engine in engines:
            engine.step_many(actions)
        assert first_difference(*engines) is None


# -- the door itself -----------------------------------------------------------------------------


def rows_of(tier, **options):
    engine = fastenv.make_engine(f"SkullKing{tier.title()}-v0", 3, backend="reference", **options)
    engine.reset_many(seeds=5)
    return engine


def everything(engine):
    arrays = [engine.get_state(), engine.obs, engine.mask, engine.reward, engine.ended]
    return [array.tobytes() for array in (*arrays, *engine.info.values())]


@walk(
    ("field", "value", "named"),
    [
        ("phase", t.Phase.HARRY, "phase|tricks"),
        ("phase", 55, "phase"),
        ("agent", 4, "agent"),
        ("hand_len", 12, "hand_len"),
        ("table_len", 4, "table_len"),
        ("bid", 11, "bid"),
        ("bots", 8, "bots"),
        ("rng", 0, "rng"),
        ("seen_strength", np.nan, "seen_strength"),
        ("ep_return", np.inf, "ep_return"),
        ("round_idx", 10, "round_idx"),
        ("cards", 0, "cards"),
        ("rounds_done", 10, "rounds_done"),
        ("abilities", t.Abilities.AGENT, "abilities"),
        ("cannon", 1, "cannon"),
        ("invalid_count", 50, "done"),
    ],
)
def test_a_bad_row_is_named_and_nothing_changes(field, value, named):
    engine = rows_of("worker")
    before, rows = everything(engine), engine.get_states()
    rows[field][1] = value
    with pytest.raises(fastenv.StateError, match=rf"lane 1: ({named})="):
        engine.set_states(rows)
    with pytest.raises(fastenv.StateError, match=rf"lane 0: ({named})="):
        engine.set_states(rows[1:2], 2)
    assert everything(engine) == before


def test_an_unsorted_hand_is_refused():
    """The core looks for the Whale in the first two slots only."""
    engine = rows_of("manager", schedule=(5,), round_weights="uniform")
    rows = engine.get_states()
    rows["hand"][2, 3, :2] = rows["hand"][2, 3, 1::-1]
    with pytest.raises(fastenv.StateError, match=r"lane 2: hand=.*sorted"):
        engine.set_states(rows)


def test_graybeards_pile_may_be_in_any_order():
    rules, knobs, rows = sc.graybeard_row("P9", "M9 C4")
    sc.game_of(rules, knobs).validate(rows)
    pile = rows["hand"][0, 2, :2].tolist()
    rows["hand"][0, 2, :2] = pile[::-1]
    sc.game_of(rules, knobs).validate(rows)
