"""The Numba kernels write the bits that the plain Python encoding and bots compute."""

import random
from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from fastenv.prospector import bots, encoding, kernels, layout, make_game, tables
from fastenv.prospector.bots import Bot
from fastenv.prospector.reference import Prospector
from fastenv.prospector.state import BOT_DTYPE, STATE_DTYPE
from fastenv.prospector.tables import TABLES, Action
from fastenv.rng import Rng
from tests.processes import run_python
from tests.prospector.games import pay, rows_of
from tests.rowcalls import (
    Encoded,
    Kernels,
    assert_same_bits,
    by_kernels,
    by_reference,
    without_compiler,
)
from tests.slow import every

pytestmark = pytest.mark.parity

TIME_MAX = 500.0
GAME = make_game(time_max=TIME_MAX)


def assert_same(rows, game=GAME, encode=by_kernels):
    expected, got = by_reference(game, rows), encode(game, rows)
    assert np.abs(expected.obs).max() <= 1
    different = np.flatnonzero((got.obs.view("u4") != expected.obs.view("u4")).any(axis=0))
    blocks = layout.OBS_LAYOUT
    names = [b[0] for b in blocks if any(b[1] <= k < b[1] + b[2] for k in different)]
    assert not names, f"{encode.__name__} differs in {names}"
    assert_same_bits(got, expected)


# -- rows ------------------------------------------------------------------------------------------

LIKELY = [*range(6), *range(8, 12), *range(12, 20), 28, 29, 30, 29, 30, 31, 32, 43, 45, 60, 61, 64]


def choose(rng, game):
    """Return an action: mostly one that changes what is seen, now and then an impossible one."""
    legal = np.zeros(tables.NUM_ACTIONS, np.uint8)
    encoding.action_mask(game, legal)
    likely = [action for action in LIKELY if legal[action]]
    kind = rng.random()
    if kind < 0.1 or not likely:
        return rng.randrange(-2, tables.NUM_ACTIONS + 2)
    if kind < 0.8:
        return rng.choice(likely)
    return rng.choice([action for action in np.flatnonzero(legal).tolist() if action != 68])


@lru_cache
def played_rows(n=300):
    """Return rows of reference games under random play, terminal ones among them."""
    rng, game = random.Random(7), Prospector(TIME_MAX, seed=7)
    rows = np.zeros(n, STATE_DTYPE)
    for i in range(n):
        if game.done:
            game.reset()
        else:
            game.step(choose(rng, game))
            pay(game)
        rows[i] = rows_of(game)[0]
    rows.flags.writeable = False
    return rows


def test_played_games():
    assert_same(played_rows())


def test_played_games_reach_what_matters():
    rows = played_rows()
    here = rows["current_node"]
    assert set(rows["node_type"][np.arange(len(rows)), here]) == {0, 1, 2}
    assert {0, 1} <= set(rows["done"])
    assert {-1, 0, 6, 8, 10, 12, 29, 30} <= set(rows["ev_action"])
    for field in ("ev_invalid", "scan_count", "mining_ticks", "credits"):
        assert rows[field].any(), field
    assert (rows["selected"] >= 0).any()


# -- rows that play seldom or never reaches --------------------------------------------------------


def _ship(row, rng):
    for field, most in (
        ("fuel", 1000),
        ("hull", 100),
        ("heat", 100),
        ("tool", 100),
        ("alert", 100),
    ):
        row[field] = rng.choice(
            (0.0, most, most / 3, rng.uniform(0, most), 1e6, -1e6, 5e-324, -0.0)
        )
    row["heat"] = rng.choice((row["heat"], 70.0, 70.1, 69.9))
    row["time_remaining"] = rng.choice((0.0, TIME_MAX, rng.uniform(0, TIME_MAX)))
    prices = (0, 59.99999999999999, 60, 110, 120, 150, 175, 210, 280, 1e7, 1e300, 1e-9, -0.0)
    row["credits"] = rng.choice((*prices, rng.uniform(0, 2e4), rng.uniform(0, 300)))
    for field in ("repair_kits", "stabilizers", "decoys"):
        row[field] = rng.choice((0, 1, 11, 12, rng.randint(0, 12)))


def _hold(row, rng):
    most = rng.choice((0.0, 1.0, 40.0, 200.0, 1e6))
    row["cargo"] = [rng.choice((0.0, -0.0, most, rng.uniform(0, most))) for _ in range(6)]
    for c in range(6):
        low, high, base = tables.PRICE_MIN[c], tables.PRICE_MAX[c], tables.PRICE_BASE[c]
        row["price"][c] = rng.choice((low, base, high, rng.uniform(low, high)))
        row["prev_price"][c] = rng.choice(
            (row["price"][c], low, base, high, rng.uniform(low, high))
        )
        row["station_inventory"][c] = rng.choice((0, 500, 499.9999, rng.uniform(0, 120), 1e30))


def _place(row, rng):
    row["current_node"] = here = rng.choice((0, rng.randrange(int(row["node_count"]))))
    count = int(row["asteroid_count"][here])
    row["selected"] = rng.randrange(-1, count)
    edges = row["neighbor"][here] >= 0
    threats = [rng.choice((0.0, 1.0, rng.random())) for _ in range(6)]
    row["edge_threat_est"][here] = np.where(edges, threats, 0.5)


def _asteroids(row, rng):
    here = int(row["current_node"])
    for a in range(int(row["asteroid_count"][here])):
        row["depletion"][here, a] = rng.choice((0.0, 1.0, 0.99999994, rng.random()))
        row["scan_conf"][here, a] = rng.choice((0.0, 1.0, rng.random()))
        row["stability_est"][here, a] = rng.choice((0.0, 1.0, rng.random()))
        most = rng.choice((0.0, 1e-9, 1e-8, 1.0, 1.0, 1.0))
        comp = [
            rng.choice((0.0, -0.0, most, rng.uniform(0, most), rng.random() ** 9)) for _ in range(6)
        ]
        row["comp_est"][here, a] = comp


def _events(row, rng):
    row["ev_action"], row["ev_dt"] = rng.randrange(69), rng.randint(1, 8)
    row["ev_invalid"] = rng.randrange(2)
    row["ev_destroyed"], row["ev_stranded"] = rng.randrange(2), rng.randrange(2)
    over = row["ev_action"] == Action.CASH_OUT or row["ev_destroyed"] or row["ev_stranded"]
    row["done"] = 1 if over else rng.choice((0, 0, 2))
    for field, most in (("fuel", 1000), ("hull", 100), ("tool", 100), ("credits", 2e4)):
        row[f"ev_{field}"] = rng.choice((row[field], rng.uniform(0, most)))
    row["ev_cargo_value"] = rng.choice((0.0, rng.uniform(0, 3e4)))
    row["value_lost"], row["ev_value_lost"] = rng.uniform(0, 4e3), rng.uniform(0, 4e3)
    row["total_spend"] = rng.choice((0.0, rng.uniform(0, 4e3)))
    row["util_count"] = rng.choice((0.0, rng.uniform(1, 400)))
    row["util_sum"] = rng.uniform(0, 1.1) * row["util_count"]
    row["ep_return"] = rng.uniform(-100, 100)
    for field in ("ep_length", "ticks_elapsed", "overheat_ticks", "pirate_encounters"):
        row[field] = rng.choice((0, 1, rng.randrange(2**30)))
    for field in ("scan_count", "mining_ticks"):
        row[field] = rng.randrange(2**30)


def altered_rows(seed, n=8):
    """Return played rows with much changed in them, such as the door still lets in."""
    rng = random.Random(seed)
    rows = played_rows()[rng.sample(range(len(played_rows())), n)]
    for row in rows:
        for alter in (_ship, _hold, _place, _asteroids, _events):
            if rng.random() < 0.8:
                alter(row, rng)
        # What these fields may be depends on those that were altered.
        node = int(row["current_node"])
        row["selected"] = min(int(row["selected"]), int(row["asteroid_count"][node]) - 1)
        if row["done"] == 2:
            row["time_remaining"] = 0.0
    GAME.validate(rows)
    return rows


@given(seed=st.integers(0, 2**32))
def test_altered_rows(seed):
    assert_same(altered_rows(seed))


@given(seed=st.integers(0, 2**32), time_max=st.floats(1e-3, 1e9))
def test_any_time_max(seed, time_max):
    rng = random.Random(seed)
    rows = played_rows()[:2].copy()
    rows["time_remaining"] = [rng.choice((0, time_max, rng.uniform(0, time_max))) for _ in rows]
    assert_same(rows, make_game(time_max=time_max))


@pytest.mark.parametrize("values", [np.linspace(0, 400, 401), np.geomspace(1e-9, 1e8, 400)])
def test_quotients_on_a_fine_grid(values):
    rows = np.repeat(played_rows()[5:6], len(values))
    for field in ("fuel", "hull", "heat", "tool", "alert", "credits"):
        rows[field] = values
    rows["cargo"] = values[:, None] / np.arange(1, 7)
    rows["station_inventory"] = values[:, None] * np.arange(1, 7)
    rows["price"] = rows["prev_price"][::-1] + values[:, None] / 7
    assert_same(rows)


def test_every_small_number():
    rows = np.repeat(played_rows()[5:6], 32)
    k = np.arange(32)
    rows["node_count"], rows["current_node"] = 32, k
    rows["steps_to_station"] = k
    for field in ("repair_kits", "stabilizers", "decoys"):
        rows[field] = np.minimum(k, 12)
    rows["neighbor"], rows["edge_time"] = k[:, None, None] % 9 - 1, (k % 8 + 1)[:, None, None]
    rows["selected"] = -1
    assert_same(rows)


# -- bots ------------------------------------------------------------------------------------------


def by_bot_kernel(params, obs, mask, words):
    """Let the kernel decide, without a position: these bots go by what they are shown."""
    kernel, row = Kernels(GAME), np.zeros(1, STATE_DTYPE)
    seen = zip(obs, mask, words, strict=True)
    return [kernel.bot(row, params, *each) for each in seen]


def assert_same_decisions(kind, obs, mask, target=3, seed=0, decide=by_bot_kernel):
    generators = [Rng(seed + i) for i in range(len(obs))]
    words = np.array([rng.state for rng in generators], np.uint64)
    actions = decide(np.array([(kind, target)], BOT_DTYPE), obs, mask, words)
    for i, rng in enumerate(generators):
        where = f"{kind!r} row {i} seed {seed}"
        assert actions[i] == bots.bot_action(kind, obs[i], mask[i], rng, target), where
        assert words[i].tolist() == rng.state, where
    return actions


# Thresholds of the bots, as they are after rounding, and their neighbours.
EDGES = [np.float32(x) for x in (0.01, 0.05, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)]
EDGES += [np.float32(x) for x in (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.0, 1.0)]
EDGES += [np.nextafter(x, np.float32(2)) for x in EDGES] + [np.nextafter(EDGES, np.float32(-2))[0]]


def random_obs(rng, n):
    """Return observations that need not make sense, with values at the bots' thresholds."""
    obs = rng.random((n, tables.OBS_DIM), np.float32)
    edges = rng.random(obs.shape) < 0.5
    obs[edges] = rng.choice(EDGES, edges.sum())
    obs[:, 17] = rng.integers(0, 2, n)
    obs[rng.random(obs.shape) < rng.choice((0.0, 0.2, 0.8), n)[:, None]] = 0
    changes = obs[:, layout.PRICE_CHANGES : layout.INVENTORY]
    changes *= rng.choice(np.float32([-1, 1, 0.1, -0.1]), changes.shape)
    obs[rng.random(n) < 0.3, 7] *= np.float32(0.4)
    least = rng.random(n)[:, None] < 0.5  # little in the hold, so that bots come to later rules
    obs[:, 8:14] = np.where(least, obs[:, 8:14] * np.float32(0.01), obs[:, 8:14])
    return obs


@pytest.mark.parametrize("kind", every(2, Bot))
@given(seed=st.integers(0, 2**32), target=st.integers(0, 5))
def test_bots_decide_the_same_on_any_observation(kind, seed, target):
    rng = np.random.default_rng(seed)
    obs = random_obs(rng, 64)
    mask = (rng.random((64, tables.NUM_ACTIONS)) < rng.random((64, 1))).astype(np.uint8)
    mask[:, Action.HOLD] = 1
    note(f"seed {seed}")
    assert_same_decisions(kind, obs, mask, target, seed)


# -- constants that the kernels repeat -------------------------------------------------------------


def test_constants_are_those_of_the_tables():
    for name in ("OBS_DIM", "NUM_ACTIONS", "NUM_COMMODITIES", "MAX_NEIGHBORS", "MAX_ASTEROIDS"):
        assert getattr(kernels, name) == getattr(tables, name), name
    for name in ("NEIGHBORS", "ASTEROIDS", "PRICES", "PRICE_CHANGES", "INVENTORY"):
        assert getattr(kernels, name) == getattr(layout, name), name
    assert tables.SUPPLY_MAX == kernels.SUPPLY_MAX
    assert len(layout.REWARD_TERMS) == kernels.NUM_TERMS
    fuel = tuple(price for price, _ in tables.FUEL_PACKS.values())
    others = (tables.PRICE_REPAIR_KIT, tables.PRICE_STABILIZER, tables.PRICE_DECOY)
    assert (*fuel, *others, tables.PRICE_OVERHAUL) == kernels.SHOP
    for kind in Bot:
        assert getattr(kernels, kind.name) == kind
    assert TABLES["log_cap"][0] == kernels.LOG_CAP
    # Prices are divided in float32, which is exact for bases that float32 holds.
    assert (TABLES["price_base"].astype(np.float32) == TABLES["price_base"]).all()


# -- what a row's functions read and write ---------------------------------------------------------


def test_functions_of_a_row_write_the_places_of_that_row_alone():
    rows, untouched = played_rows(), Encoded(GAME.spec, len(played_rows()))
    every, lanes = by_kernels(GAME, rows), range(0, len(rows), 3)
    some = by_kernels(GAME, rows, lanes)
    chosen = np.isin(np.arange(len(rows)), lanes)
    for (name, got), (_, all_), (_, rest) in zip(
        some.numbers(), every.numbers(), untouched.numbers(), strict=True
    ):
        assert got[chosen].tobytes() == all_[chosen].tobytes(), name
        assert got[~chosen].tobytes() == rest[~chosen].tobytes(), name


def test_asteroids_of_other_nodes_are_not_read():
    rows = played_rows()
    expected = by_kernels(GAME, rows)
    stale = rows.copy()
    for field in ("depletion", "scan_conf", "stability_est", "comp_est"):
        stale[field] = np.nan
        for i, here in enumerate(rows["current_node"].tolist()):
            count = rows["asteroid_count"][i, here]
            stale[field][i, here, :count] = rows[field][i, here, :count]
    for field in ("true_comp", "richness", "stability", "noise"):
        stale[field] = np.nan
    assert_same_bits(by_kernels(GAME, stale), expected)


def test_places_come_from_the_derived_record_and_the_rest_from_the_row():
    rows, kernel = played_rows(), Kernels(GAME)
    expected = by_kernels(GAME, rows)
    for i in range(0, len(rows), 7):
        row, out = rows[i : i + 1], Encoded(GAME.spec, 1)
        derived = kernel.derived(row)
        derived["places"][0, : tables.OBS_DIM] += 1
        pointers = [a.ctypes.data for a in (row, derived, out.obs, out.mask)]
        kernel.observe(*pointers[:2], kernel.shared, *pointers[2:])
        moved = expected.obs[i].copy()
        moved[layout.PLACES] += 1
        assert out.obs[0].tobytes() == moved.tobytes()
        assert out.mask[0].tobytes() == expected.mask[i].tobytes()


# -- the kernels without Numba's compiler ----------------------------------------------------------

# So a debugger and a coverage tool can follow them. Kernels widen and round where NumPy would not
# do it by itself, so that these are the same bits as well.


@pytest.mark.slow
def test_kernels_agree_without_the_compiler():
    run = run_python("-m", "tests.prospector.test_kernels", NUMBA_DISABLE_JIT="1")
    assert run.stdout.strip() == "same"


def plain_quotients(low):
    def quotients(a, b):
        out = [x / y for x, y in zip(a, b, strict=True)]
        return out if low is None else [min(np.float32(1), max(low, np.float32(x))) for x in out]

    return quotients


def use_plain_functions():
    """Replace what the kernels have from LLVM."""
    kernels._divide = plain_quotients(None)
    kernels._shares = plain_quotients(np.float32(0))
    kernels._changes = plain_quotients(np.float32(-1))
    kernels._at_most = lambda v, limit, count: [k < count and x <= limit for k, x in enumerate(v)]

    without_compiler(kernels)


def plain_obs(obs):
    """Return an observation as the record that the kernels get."""
    rocks = obs[layout.ASTEROIDS : layout.PRICES].reshape(16, 11)
    ways = obs[layout.NEIGHBORS :][:42].reshape(6, 7)
    return SimpleNamespace(
        obs=obs, bits=obs.view(np.int32),
        neighbors=ways, neighbor_bits=ways.view(np.int32), padding=obs[66:68],
        asteroids=rocks, asteroid_bits=rocks.view(np.int32), all=obs[layout.PLACES],
    )  # fmt: skip


def by_plain_kernels(game, rows):
    """The twin of ``by_kernels``."""
    out = Encoded(game.spec, len(rows))
    derive, observe, reward, info, _ = kernels._cfuncs()
    records, shared = rows.copy().view(np.recarray), [game.shared.view(np.recarray)[0]]
    before, infos = records.tobytes(), out.info.view(np.recarray)
    terms = out.terms.view(np.float64).reshape(len(rows), -1)
    for i in range(len(rows)):
        derived = [plain_obs(np.empty(tables.OBS_DIM, np.float32))]
        row = ([records[i]], derived, shared)
        derive(*row)
        observe(*row, [plain_obs(out.obs[i])], [SimpleNamespace(legal=out.mask[i])])
        info(*row, [infos[i]])
        columns = [SimpleNamespace(terms=terms[i])]
        out.counted[i] = reward(*row, out.reward[i : i + 1], columns)
    assert records.tobytes() == before
    return out


def by_plain_bot(params, obs, mask, words):
    """The twin of ``by_bot_kernel``."""
    *_, bot = kernels._cfuncs()
    player = [params.view(np.recarray)[0]]
    return [
        bot(
            [None],
            None,
            None,
            player,
            0,
            [plain_obs(o)],
            [SimpleNamespace(legal=m)],
            [SimpleNamespace(s=w)],
        )
        for o, m, w in zip(obs, mask, words, strict=True)
    ]


def main():
    use_plain_functions()
    assert_same(played_rows(), encode=by_plain_kernels)
    for seed in range(20):
        assert_same(altered_rows(seed), encode=by_plain_kernels)
    obs, mask = random_obs(np.random.default_rng(1), 200), np.ones((200, 69), np.uint8)
    with np.errstate(over="ignore"):  # the generator means to
        for kind in Bot:
            assert_same_decisions(kind, obs, mask, decide=by_plain_bot)
    print("same")


if __name__ == "__main__":
    main()
