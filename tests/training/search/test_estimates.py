"""Estimates against their twin in plain Python: means, paired differences, what is dropped."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tables import walk
from tests.training.search.slow_estimates import Position
from training.players.draws import mix
from training.search.estimates import DOUBT, FEW_WORLDS, MIN_WORLDS, ActionEstimates
from training.search.searcher import choose_by_weight

SEEDS = st.integers(0, 2**32 - 1)


def play(seed, blocks=4, n=3, actions=5, halving=True, kept=False):
    """Return estimates and their twins after some blocks of drawn values, and the values drawn."""
    rng = np.random.default_rng(seed)
    legal = rng.random((n, actions)) < 0.7
    legal[:, 0] = True
    own = rng.integers(0, actions, n) if kept else None
    fast = ActionEstimates(legal, own)
    slow = [Position(row, None if own is None else own[i]) for i, row in enumerate(legal)]
    # Eighths, whose sums are exact: both round alike, and ties are ties.
    worth = rng.integers(-20, 20, size=(n, actions)) * rng.choice([0.125, 1.0])
    for block in range(blocks):
        fresh = int(rng.integers(1, 12))
        here = np.flatnonzero(fast.undecided)
        at, what = np.nonzero(fast.open[here])
        places = here[at].repeat(fresh), what.repeat(fresh), np.tile(np.arange(fresh), len(at))
        values = worth[places[:2]] + rng.choice([0.0, 0.0, 1.0, -3.0], size=len(places[0]))
        fast.note(*places, values)
        for k, twin in enumerate(slow):
            seen = {(a, w): v for p, a, w, v in zip(*places, values, strict=True) if p == k}
            twin.note(seen, fresh if len(places[0]) else 0)
        compare(fast, slow)
        fast.drop((block + 1) / blocks, halving)
        for twin in slow:
            twin.drop((block + 1) / blocks, halving)
        assert fast.open.tolist() == [twin.open for twin in slow]
    return fast, slow


def compare(fast, slow):
    assert fast.counts.tolist() == [[len(seen) for seen in twin.seen] for twin in slow]
    np.testing.assert_allclose(fast.means(), [twin.means() for twin in slow], atol=1e-9)
    np.testing.assert_allclose(fast.errors(), [twin.errors() for twin in slow], atol=1e-9)
    assert fast.best().tolist() == [twin.best() for twin in slow]
    for action in range(fast.legal.shape[1]):
        apart, error = fast.behind(np.full(len(slow), action))
        pairs = np.array([twin.behind(action) for twin in slow])
        np.testing.assert_allclose(apart, pairs[:, :, 0], atol=1e-9)
        np.testing.assert_allclose(error, pairs[:, :, 1], atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, halving=st.booleans(), blocks=st.integers(1, 5), kept=st.booleans())
def test_the_twin_says_the_same(seed, halving, blocks, kept):
    play(seed, blocks, halving=halving, kept=kept)


def test_the_best_is_never_dropped():
    for seed in range(30):
        fast, _ = play(seed)
        assert fast.open[np.arange(3), fast.best()].all(), f"seed {seed}"
        assert (fast.open <= fast.legal).all(), f"seed {seed}"


def test_what_is_worse_in_every_world_by_the_same_is_dropped():
    """A paired difference without spread leaves no doubt, however much the worlds differ."""
    fast, luck = ActionEstimates(np.ones((1, 2), bool)), np.arange(MIN_WORLDS) * 100.0
    worlds = np.tile(np.arange(MIN_WORLDS), 2)
    actions = np.repeat([0, 1], MIN_WORLDS)
    fast.note(np.zeros(len(worlds), int), actions, worlds, np.tile(luck, 2) + actions)
    fast.drop(0.1, halving=False)
    assert fast.open.tolist() == [[False, True]]


@walk(("factor", "dropped"), [(1.01, True), (0.99, False)])
def test_doubt_is_a_number_of_standard_errors(factor, dropped):
    spread = np.tile([1.0, -1.0], 8)
    error = np.sqrt((spread**2).sum() / 15 / 16)
    fast = ActionEstimates(np.ones((1, 2), bool))
    worlds = np.tile(np.arange(16), 2)
    values = np.concatenate([np.zeros(16), -factor * DOUBT * error + spread])
    fast.note(np.zeros(32, int), np.repeat([0, 1], 16), worlds, values)
    fast.drop(0.1, halving=False)
    assert fast.open[0].tolist() == [True, not dropped]


def test_a_lead_counts_less_in_few_worlds():
    for seed in range(30):
        fast, slow = play(seed)
        best, other = fast.best(), np.zeros(len(slow), int)
        for lane, (lead, twin) in enumerate(zip(fast.leads(best, other), slow, strict=True)):
            mine, theirs = twin.seen[best[lane]], twin.seen[0]
            apart = [mine[world] - theirs[world] for world in mine.keys() & theirs.keys()]
            if not any(apart):
                assert lead == 0 or not apart, f"seed {seed}"
                continue
            apart.append(0.0)
            error = np.std(apart, ddof=1) / np.sqrt(len(apart))
            expected = np.mean(apart) / error / (1 + FEW_WORLDS / (len(apart) - 1))
            np.testing.assert_allclose(lead, expected, err_msg=f"seed {seed}")


def test_halving_keeps_what_would_be_played_anyway():
    """All worlds then compare it with the best; doubt may still drop it."""
    legal = np.ones((2, 5), bool)
    estimates = ActionEstimates(legal, own=np.array([4, 0]))
    worth = np.arange(5.0, 0.0, -1.0)
    noise = np.array([3.0, -3.0])
    at, what, world = (x.ravel() for x in np.indices((2, 5, 2)))
    estimates.note(at, what, world, worth[what] + noise[world])
    estimates.drop(0.9, halving=True)
    assert estimates.open.tolist() == [[1, 1, 0, 0, 1], [1, 1, 0, 0, 0]]
    assert estimates.take([0]).open.tolist() == [[1, 1, 0, 0, 1]]


def test_halving_leaves_two_at_least():
    fast = ActionEstimates(np.ones((1, 16), bool))
    left = []
    for spent in (0.25, 0.5, 0.75, 1.0):
        what = np.flatnonzero(fast.open[0])
        fast.note(np.zeros(len(what), int), what, np.zeros(len(what), int), what * 1.0)
        fast.drop(spent, halving=True)
        left.append(np.flatnonzero(fast.open[0]).tolist())
    assert [len(each) for each in left] == [8, 4, 2, 2]
    assert left[-1] == [14, 15]


def test_parts_are_joined_and_taken():
    parts = [play(seed, blocks=seed + 1)[0] for seed in range(3)]
    joined = ActionEstimates.join(parts)
    means = np.concatenate([part.means() for part in parts])
    np.testing.assert_array_equal(joined.means(), means)
    np.testing.assert_array_equal(joined.take([4, 7]).means(), means[[4, 7]])
    np.testing.assert_array_equal(joined.take([4]).errors(), parts[1].errors()[[1]])


# -- weights and seeds -----------------------------------------------------------------------------


def test_worlds_are_chosen_by_their_weights():
    """Systematic draws: as often as the weight says, one more or less."""
    weights = np.array([0.5, 0.25, 0.125, 0.125, 0.0])
    with np.errstate(divide="ignore"):
        logs = np.log(np.tile(weights, (200, 1))) - 700.0
    seeds = np.random.default_rng(1).integers(2**64, size=200, dtype=np.uint64)
    chosen = choose_by_weight(logs, 10, seeds)
    counts = np.stack([np.bincount(row, minlength=5) for row in chosen])
    assert (np.abs(counts - 10 * weights) < 1).all()
    np.testing.assert_allclose(counts.mean(0), 10 * weights, atol=0.15)
    assert (counts[:, 4] == 0).all()


def test_worlds_that_cannot_be_are_equally_likely():
    chosen = choose_by_weight(np.full((1, 4), -np.inf), 8, np.zeros(1, np.uint64))
    assert np.bincount(chosen[0]).tolist() == [2, 2, 2, 2]


def test_one_choice_does_not_depend_on_another():
    rng = np.random.default_rng(3)
    logs, seeds = rng.normal(size=(9, 12)) * 5, rng.integers(2**63, size=9).astype(np.uint64)
    whole = choose_by_weight(logs, 3, seeds)
    for k in range(9):
        assert (choose_by_weight(logs[[k]], 3, seeds[[k]]) == whole[k]).all()


def test_seeds_never_meet():
    seeds = np.arange(50, dtype=np.uint64).repeat(40)
    numbers = np.tile(np.arange(40), 50)
    found = np.concatenate([mix(seeds, numbers, purpose) for purpose in range(4)])
    assert len(np.unique(found)) == len(found)
    assert mix(seeds[:1], numbers[:1], 1) == mix(seeds, numbers, 1)[0]


def test_groups_of_positions_are_joined_as_they_are():
    parts = [play(seed, blocks)[0] for seed, blocks in ((1, 1), (2, 4), (3, 3))]
    assert any((part.open != part.legal).any() for part in parts)
    joined = ActionEstimates.join(parts)
    compared = 0
    for part in parts:
        some = joined.take(np.arange(compared, compared + len(part.legal)))
        compared += len(part.legal)
        width = part.values.shape[2]
        for name in ("legal", "open", "counts"):
            np.testing.assert_array_equal(getattr(some, name), getattr(part, name), name)
        np.testing.assert_array_equal(some.values[:, :, :width], part.values)
        assert np.isnan(some.values[:, :, width:]).all()
    assert compared == len(joined.legal)
