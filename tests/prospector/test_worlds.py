"""Worlds and rollouts: what the ship cannot know is drawn anew, and nothing else; bots play on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastenv
from fastenv.prospector import make_game
from fastenv.prospector import tables as t
from fastenv.prospector.position import unpack
from fastenv.prospector.reference import Prospector
from fastenv.prospector.resample import scans_behind
from fastenv.prospector.state import STATE_DTYPE
from fastenv.prospector.tables import Action
from fastenv.prospector.world import FIRST_CONFIDENCE
from tests.needs import FASTEST, HAS_CORE
from tests.prospector.games import mask_of, rows_of
from tests.slow import every
from tests.tables import walk

BACKENDS = ("reference", "numba", "cython", "fast") if HAS_CORE else ("reference", "numba")
HIDDEN = {
    "rng", "node_hazard", "node_pirate", "edge_threat", "true_comp", "richness", "stability",
    "noise", "price_phase", "price_period", "price_amp",
}  # fmt: skip
LOOKS = [Action.SCAN_WIDE, Action.SCAN_FOCUSED, Action.SCAN_DEEP, Action.LISTEN]
WORK = [*range(Action.SELECT, Action.SELECT + 6), *range(Action.MINE_CONSERVATIVE, 32), 0, 1]


def engine(backend=FASTEST, **options):
    return fastenv.make_engine("Prospector-v0", 1, backend=backend, **options)


def travelled(seed, steps, time_max=t.TIME_MAX):
    """Return the row of a ship that has travelled, scanned, listened and mined."""
    rng, game = np.random.default_rng(seed), Prospector(time_max, seed)
    row = rows_of(game)
    for _ in range(steps):
        liked = LOOKS if rng.random() < 0.4 else WORK
        legal = np.flatnonzero(mask_of(game)[: Action.CASH_OUT])
        game.step(int(rng.choice(np.intersect1d(liked, legal) if rng.random() < 0.8 else legal)))
        if game.done:
            break
        row = rows_of(game)
    return row.copy()


def travellers(n, steps=25, time_max=t.TIME_MAX, first=0):
    return np.concatenate([travelled(first + s, steps, time_max) for s in range(n)])


def same_rows(got, wanted, where):
    for name in STATE_DTYPE.names:
        assert got[name].tobytes() == wanted[name].tobytes(), f"{where}: {name}"


# -- worlds ------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), steps=st.integers(0, 40), world=st.integers(0, 2**64 - 1))
def test_reference_and_core_draw_the_same_world(seed, steps, world):
    row, numbers = travelled(seed, steps), np.array([world], np.uint64)
    one, other = (engine(b).resample(row, 0, numbers) for b in ("reference", FASTEST))
    same_rows(one, other, f"seed {seed}, {steps} steps, world {world}")


def test_what_is_shown_and_public_stays_and_all_else_is_drawn():
    rows = travellers(12)
    eng = engine()
    worlds = eng.resample(rows, 0, 3)
    make_game().validate(worlds)
    assert make_game().spec.hidden
    for name in STATE_DTYPE.names:
        same = worlds[name].tobytes() == rows[name].tobytes()
        assert same == (name not in HIDDEN), name
    for show in (eng.encode_obs_many, eng.action_masks_many):
        assert show(worlds).tobytes() == show(rows).tobytes()
    game = make_game()
    for row, world in zip(rows, worlds, strict=True):
        assert game.info(unpack(world, t.TIME_MAX)) == game.info(unpack(row, t.TIME_MAX))
        assert game.render(world, "ansi") == game.render(row, "ansi")


def test_rows_by_hand_have_worlds():
    """Numbers that no play comes to: worlds are drawn, and are possible."""
    rows, rng = travellers(8), np.random.default_rng(4)
    exists = np.arange(t.MAX_ASTEROIDS) < rows["asteroid_count"][:, :, None]
    for name in ("depletion", "scan_conf", "stability_est", "richness"):
        rows[name] = exists * rng.choice([0.0, 0.03, 0.5, 1.0], exists.shape)
    rows["price"], rows["station_inventory"] = t.PRICE_MAX, 1e30
    rows["recent_sales"] = 3e38
    rows["edge_threat_est"][rows["neighbor"] >= 0] = 1.0
    make_game().validate(rows)
    one, other = (engine(b).resample(rows, 0, 9) for b in ("reference", FASTEST))
    same_rows(one, other, "by hand")
    make_game().validate(one)


def test_nothing_leaks():
    """Another truth that the ship cannot tell from this one: the same worlds, bit for bit."""
    rows, rng = travellers(10), np.random.default_rng(5)
    others = rows.copy()
    others["rng"] += 1
    for name in ("node_hazard", "node_pirate", "edge_threat", "stability", "noise"):
        there = rows[name] != 0
        others[name] = np.where(there, rng.uniform(0, 1, there.shape), 0)
    for name in ("price_phase", "price_period", "price_amp"):
        others[name] = rng.permuted(others[name], axis=0)
    mined = rows["depletion"] > 0
    other = (rows["noise"] > 0) & ~mined
    others["true_comp"][other] = rng.dirichlet(np.ones(6), int(other.sum()))
    others["richness"][other] = rng.uniform(0.2, 4.0, int(other.sum()))
    # of what was mined the ship knows the class of its richness
    grade = np.floor(np.log(rows["richness"][mined].astype(float)) / 0.15)
    others["richness"][mined] = np.clip(np.exp(0.15 * (grade + rng.uniform(0.1, 0.9))), 0.2, 4)
    assert mined.any()
    same_rows(engine().resample(others, 0, 1, trusted=True), engine().resample(rows, 0, 1), "leak")


def test_what_was_mined_is_known():
    rows = travellers(20, 40)
    worlds = engine().resample(rows, 0, 1)
    mined = rows["depletion"] > 0
    assert mined.sum() > 20
    assert (worlds["true_comp"] == rows["true_comp"])[mined].all()
    ratio = np.log(worlds["richness"][mined] / rows["richness"][mined])
    assert (np.abs(ratio) < 0.15 + 1e-5).all()
    assert ratio.std() > 0.03


# -- distributions -----------------------------------------------------------------------------


def distance(one, other):
    """Return the distance of two samples, as a share of what Kolmogorov and Smirnov allow.

    1 is passed by chance in one case of a thousand.
    """
    one, other = np.sort(one), np.sort(other)
    points = np.concatenate([one, other])
    sides = [np.searchsorted(each, points, "right") / len(each) for each in (one, other)]
    most = np.sqrt(-0.5 * np.log(0.0005) * (1 / len(one) + 1 / len(other)))
    return np.abs(sides[0] - sides[1]).max() / most


@pytest.fixture(scope="module")
def fresh():
    """Return rows after a reset with each of many seeds, and a world of each."""
    eng = fastenv.make_engine("Prospector-v0", 400, backend=FASTEST)
    eng.reset_many(seeds=10_000)
    rows = eng.get_states()
    return rows, eng.resample(rows, 0, 99)


@pytest.mark.parametrize("name", ["richness", "stability", "noise", "true_comp"])
def test_asteroids_are_drawn_from_the_prior(fresh, name):
    rows, worlds = fresh
    there = rows["noise"] > 0
    true, drawn = (each[name][there].reshape(there.sum(), -1) for each in (rows, worlds))
    for c in range(true.shape[1]):
        assert distance(true[:, c], drawn[:, c]) < 1.2, c
        assert abs(np.corrcoef(true[:, c], drawn[:, c])[0, 1]) < 0.02
    # pairs too: shares of an asteroid are not independent
    if name == "true_comp":
        assert distance(true[:, :2].max(1), drawn[:, :2].max(1)) < 1.2
        np.testing.assert_allclose(drawn.sum(1), 1.0, atol=1e-6)


@pytest.mark.parametrize("name", ["node_hazard", "node_pirate", "edge_threat"])
def test_threats_are_drawn_from_the_prior(fresh, name):
    rows, worlds = fresh
    for kind in (t.NodeType.CLUSTER, t.NodeType.HAZARD):
        nodes = (rows["node_type"] == kind) & (rows["asteroid_count"] > 0)
        if name == "edge_threat":
            nodes = nodes[:, :, None] & (rows["neighbor"] >= 0)
        true, drawn = rows[name][nodes], worlds[name][nodes]
        assert distance(true, drawn) < 1.2, kind


def test_cycles_fit_the_price_and_are_else_drawn_from_the_prior(fresh):
    rows, worlds = fresh
    base = np.array(t.PRICE_BASE)
    for name in ("price_phase", "price_period", "price_amp"):
        for c in range(t.NUM_COMMODITIES):
            assert distance(rows[name][:, c], worlds[name][:, c]) < 1.2, name
    miss = worlds["price_amp"] * np.sin(worlds["price_phase"]) - (rows["price"] - base)
    assert 0.025 < (miss / base).std() < 0.035  # about the noise of a tick, 0.03


def cycles_then(worlds, ticks):
    angle = t.TWO_PI * (ticks / worlds["price_period"].astype(float)) + worlds["price_phase"]
    return worlds["price_amp"] * np.sin(angle)


@pytest.mark.slow
def test_cycles_are_those_of_rejection():
    """After a sale: the cycle in some ticks, against worlds from the prior that made the price."""
    game = Prospector(seed=4)
    game.cargo[:] = 20.0
    for action in (Action.HOLD, Action.SELL + 2, Action.SELL + 5):
        game.step(action)
    row = rows_of(game)
    drawn = engine().resample(row, 0, 1, worlds=800)
    rng, n = np.random.default_rng(1), 100_000
    base, stock, sales = np.array(t.PRICE_BASE), row["station_inventory"], row["recent_sales"]
    prior = np.zeros(n, STATE_DTYPE[["price_phase", "price_period", "price_amp"]])
    prior["price_phase"] = rng.uniform(0, t.TWO_PI, (n, 6))
    prior["price_period"] = rng.uniform(180, 380, (n, 6))
    prior["price_amp"] = base * rng.uniform(0.1, 0.3, (n, 6))
    made = base + cycles_then(prior, 3.0) - 0.04 * stock / 0.998 - 0.05 * sales * np.exp(1 / 14)
    made += rng.normal(size=(n, 6)) * 0.03 * base
    for c in range(6):
        fits = np.abs(made[:, c] - row["price"][0, c]) < 0.004 * base[c]
        assert fits.sum() > 200
        for ticks in (3.0, 40.0, 120.0):
            one, other = cycles_then(drawn, ticks)[:, c], cycles_then(prior[fits], ticks)[:, c]
            assert distance(one, other) < 1.2, (c, ticks)


def scanned(n, scans):
    """Return truth and estimates of ``n`` asteroids from the prior after the same scans."""
    rng = np.random.default_rng(7)
    comp, first = (rng.dirichlet(np.ones(6), n).astype(np.float32) for _ in range(2))
    stability, noise = rng.beta(3, 2, n), rng.uniform(0.04, 0.22, n)
    est, seen, conf = first.astype(float), np.full(n, 0.5), FIRST_CONFIDENCE
    for scan in scans:
        sigma, b = noise * (1.0 - conf + 0.1) * scan.noise, scan.blend
        x = np.maximum(comp + sigma[:, None] * rng.normal(size=(n, 6)), 1e-8)
        est = (1 - b) * est + b * x / x.sum(1, keepdims=True)
        s = np.clip(stability + sigma * rng.normal(size=n), 0, 1)
        seen, conf = (1 - b) * seen + b * s, min(1.0, conf + scan.gain)
    return comp, stability, est, seen, conf


@pytest.mark.parametrize("conf", every(5, [0.20, 0.40, 0.55, 0.85, 1.0]))
def test_scanned_asteroids_are_near_those_of_rejection(conf):
    """What docs/prospector.md, 24 says of the approximation.

    Means and spreads of asteroids with about the same estimates, against worlds of one with these
    estimates. Where nothing is known a share has a spread of 0.14.
    """
    comp, stability, est, seen, reached = scanned(300_000, scans_behind(np.float32(conf)))
    assert reached == pytest.approx(conf)
    rows = np.repeat(rows_of(Prospector(seed=0)), 12)
    rows["comp_est"][:, 1, 0], rows["stability_est"][:, 1, 0] = est[:12], seen[:12]
    rows["scan_conf"][:, 1, 0] = conf
    worlds = engine().resample(rows, 0, 5, worlds=200).reshape(12, 200)
    shares, firm = worlds["true_comp"][:, :, 1, 0], worlds["stability"][:, :, 1, 0]
    off = [((est - est[k]) ** 2).sum(1) + (seen - seen[k]) ** 2 for k in range(12)]
    near = [np.argpartition(each, 300)[:300] for each in off]
    mean = np.array([comp[each].mean(0) for each in near])
    for got, wanted in ((shares, mean), (firm, [stability[each].mean() for each in near])):
        miss = np.abs(got.mean(1) - wanted)
        assert np.sqrt((miss**2).mean()) < 0.05
        assert miss.max() < 0.12
    blur = np.sqrt(np.mean([each[n].mean() for each, n in zip(off, near, strict=True)]) / 7)
    spread = np.mean([comp[each].std(0) for each in near])
    assert shares.std(1).mean() == pytest.approx(spread, rel=0.2, abs=blur)


def test_threats_heard_of_the_ways_from_the_station_are_those_of_rejection():
    """One way heard of: hazard, pirates and threat against worlds that made the same sound."""
    game = Prospector(seed=3)
    game.step(Action.LISTEN)
    row = rows_of(game)
    node, heard = int(row["neighbor"][0, 0, 0]), (row["edge_threat_est"][0, 0, 0] - 0.125) / 0.75
    drawn = engine().resample(row, 0, 2, worlds=3000)
    rng, n = np.random.default_rng(3), 400_000
    bad = int(row["node_type"][0, node] == t.NodeType.HAZARD)
    hazard = rng.uniform(0.05, 0.35, n) + 0.25 * bad
    pirate = rng.uniform(0.05, 0.30, n) + 0.12 * bad
    threat = np.clip(0.5 * hazard + 0.5 * pirate + rng.normal(0, 0.05, n), 0, 1)
    fits = np.abs(threat + rng.normal(0, 0.08, n) - heard) < 0.01
    assert fits.sum() > 2000
    for name, wanted in (("node_hazard", hazard), ("node_pirate", pirate)):
        assert distance(drawn[name][:, node], wanted[fits]) < 1.2, name
    assert distance(drawn["edge_threat"][:, 0, 0], threat[fits]) < 1.2


def test_broken_asteroids_make_a_node_more_dangerous_in_every_world():
    row = rows_of(Prospector(seed=0)).copy()
    before = engine().resample(row, 0, 1, worlds=50)["node_hazard"][:, 1]
    row["depletion"][0, 1, :3] = 1.0
    after = engine().resample(row, 0, 1, worlds=50)["node_hazard"][:, 1]
    np.testing.assert_allclose(after, before + 0.3, atol=1e-6)


# -- rollouts ----------------------------------------------------------------------------------


@walk("bot", every(3, make_game().bot_names))
def test_rollouts_of_every_player_agree(bot):
    time_max = 60.0
    rows = np.concatenate([travelled(s, 5 * s, time_max) for s in range(4)])
    of = np.repeat(np.arange(4), 3)
    first = np.tile([-1, int(Action.SCAN_WIDE), int(Action.SELL)], 4)
    for limit in (None, 1, 7):
        found = [
            engine(b, time_max=time_max).rollout(rows, first, bot, limit=limit, seeds=5, of=of)
            for b in BACKENDS
        ]
        for backend, got in zip(BACKENDS[1:], found[1:], strict=True):
            where = f"{bot} limit {limit} {backend}"
            assert got.outcomes.tobytes() == found[0].outcomes.tobytes(), where
            assert got.decisions.tolist() == found[0].decisions.tolist(), where
            same_rows(got.rows, found[0].rows, where)
        assert limit is None or found[0].decisions.max() <= limit
