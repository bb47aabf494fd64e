"""Worlds and rollouts of Dr. Mario: nothing that a player sees changes, and nothing else stays."""

import numpy as np
import pytest

from fastenv.drmario import make_game, random_options
from fastenv.drmario import tables as t
from fastenv.drmario.layout import OBSERVATIONS
from fastenv.drmario.reachability import plan
from fastenv.engine import BatchEngine, rng_streams
from fastenv.errors import ConfigError
from fastenv.verify import quick_bots
from tests.needs import HAS_CORE, needs_core
from tests.slow import late, together

KINDS = [(1, False), (1, True), (2, False), (2, True)]
BACKENDS = ("reference", "numba", "cython", "fast") if HAS_CORE else ("reference", "numba")
LANES = 6
# Critical values of the chi-square distribution at 0.999.
CHI_SQUARE = {8: 26.12, 80: 124.84}


def game_of(seed, agents, placement, **changes):
    """Return a game of random options."""
    options = random_options(np.random.default_rng([seed, 1]), agents, placement)
    if placement:
        options["mode"] = "warp"
    return make_game(agents=agents, placement=placement, **(options | changes))


def rows_of(game, seed, steps, who="random"):
    """Return rows of running games at a moment of each."""
    agents = game.spec.num_agents
    engine = BatchEngine(game, LANES, BACKENDS[-1])
    engine.reset_many(seeds=seed)
    for step in range(steps):
        words = [rng_streams(1000 * step + k, LANES) for k in range(agents)]
        chosen = [engine.bot_actions(who, words[k], agent=k) for k in range(agents)]
        engine.step_many(np.stack(chosen, axis=1) if agents == 2 else chosen[0])
    return engine.get_states()


def moments(agents, placement, seeds=2, **changes):
    """Yield games and rows of them at moments that a seed draws."""
    for seed in range(seeds):
        game = game_of(seed, agents, placement, **changes)
        steps = int(np.random.default_rng(seed).integers(1, 40 if placement else 800))
        yield game, rows_of(game, seed, steps, quick_bots(game)[-1])


def first_hidden(row):
    """Return the index behind the pills that have been shown in a game in its first 128."""
    return int(row["players"]["reserve_index"].max())


def on_its_way(game, seed=0, steps=30, lanes=64):
    """Return rows of a match in which the second player's pill is on its way."""
    engine = BatchEngine(game, lanes, BACKENDS[-1])
    engine.reset_many(seeds=seed)
    found = []
    for step in range(steps):
        words = [rng_streams(seed + 1000 * step + k, lanes) for k in range(2)]
        chosen = [engine.bot_actions("random", words[k], agent=k) for k in range(2)]
        engine.step_many(np.stack(chosen, axis=1))
        rows = engine.get_states()
        found.append(rows[rows["players"]["plan_left"][:, 1] > 0])
    return np.concatenate(found)


# -- worlds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("agents", "placement"), KINDS)
def test_backends_draw_the_same_worlds(agents, placement):
    for game, rows in moments(agents, placement):
        seats = np.arange(LANES) % agents
        worlds = [BatchEngine(game, 1, b).resample(rows, seats, 7, worlds=2) for b in BACKENDS]
        assert not (worlds[0]["rng"] == np.repeat(rows, 2)["rng"]).any()
        for other in worlds[1:]:
            np.testing.assert_array_equal(other, worlds[0])


@pytest.mark.parametrize(("agents", "placement"), KINDS)
def test_only_what_is_hidden_changes(agents, placement):
    for game, rows in moments(agents, placement):
        assert game.spec.hidden
        engine = BatchEngine(game, 1)
        for seat in range(agents):
            worlds = engine.resample(rows, seat, 3)
            game.validate(worlds)
            for row, world in zip(rows, worlds, strict=True):
                shown = first_hidden(row)
                np.testing.assert_array_equal(world["reserve"][:shown], row["reserve"][:shown])
                world["reserve"], world["rng"] = row["reserve"], row["rng"]
                if agents == 2:
                    world["bot_rng"] = row["bot_rng"]
                    theirs = world["players"][1 - seat], row["players"][1 - seat]
                    for name in ("plan_action", "ev_action"):
                        theirs[0][name] = theirs[1][name]
            np.testing.assert_array_equal(worlds, rows)


@pytest.mark.parametrize(("agents", "placement"), KINDS)
def test_players_see_the_same(agents, placement):
    names = [name for name in OBSERVATIONS if placement or "mask" not in name]
    extras = ("pill", "aux_vs", *(("costs", "candidates") if placement else ()))
    rows = None
    for obs in names:
        shown = {"obs": obs, "extras": extras, **({} if placement else {"stack": 4})}
        game = make_game(agents=agents, placement=placement, level=10, **shown)
        if rows is None:
            rows = rows_of(game, 5, 25, quick_bots(game)[-1])
            worlds = [BatchEngine(game, 1).resample(rows, seat, 11) for seat in range(agents)]
        columns = (*game.spec.info_columns, *game.spec.term_columns)
        engine = BatchEngine(game, LANES, BACKENDS[-1], info_columns=columns)
        for seat, drawn in enumerate(worlds):
            seen = []
            for states in (rows, drawn):
                engine.set_states(states)
                info = [engine.info[name].tobytes() for name in game.spec.info_columns]
                seen.append([engine.obs.tobytes(), engine.mask.tobytes(), *info])
                seen[-1] += [game.render_seat(row, seat, "ansi") for row in states]
            assert seen[0] == seen[1], (obs, seat)


@pytest.mark.parametrize(("agents", "placement"), KINDS)
def test_the_truth_does_not_leak(agents, placement):
    """Rows that differ in what is hidden alone have the same worlds."""
    rng = np.random.default_rng(8)
    for game, rows in moments(agents, placement):
        engine, other = BatchEngine(game, 1), rows.copy()
        for row in other:
            shown = first_hidden(row)
            row["reserve"][shown:] = rng.integers(9, size=t.RESERVE - shown)
            row["rng"] = rng.integers(1, 2**63, size=4, dtype=np.uint64)
            if agents == 2:
                row["bot_rng"] = rng.integers(1, 2**63, size=4, dtype=np.uint64)
        for seat in range(agents):
            worlds = [engine.resample(states, seat, 5, worlds=2) for states in (rows, other)]
            np.testing.assert_array_equal(*worlds)


@needs_core
def test_pills_are_uniform_and_independent():
    game = make_game(level=5)
    rows = rows_of(game, 1, 10, "greedy")[:1]
    worlds = BatchEngine(game, 1).resample(rows, 0, 2_718, worlds=9_000)
    pills = worlds["reserve"][:, first_hidden(rows[0]) :].astype(int)
    for counts, expected in (
        (np.bincount(pills[:, 0], minlength=9), 1_000),
        (np.bincount(pills[:, -1], minlength=9), 1_000),
        (np.bincount(9 * pills[:, 0] + pills[:, 1], minlength=81), 9_000 / 81),
    ):
        assert ((counts - expected) ** 2 / expected).sum() < CHI_SQUARE[len(counts) - 1]


@pytest.mark.parametrize("agents", [1, 2])
def test_pills_that_come_again_are_known(agents):
    """A game has 128 pills, which come again: who has seen all of them knows what comes."""
    game = make_game(agents=agents, level=3)
    rows = rows_of(game, 1, 3)
    engine = BatchEngine(game, 1)
    for count, hidden in ((0x0126, 1), (0x0127, 0), (0x0200, 0), (0x9999, 0)):
        at = int(f"{count:x}") + 1
        players = rows["players"][:, -1]
        players["pill_count_hi"], players["pill_count_lo"] = count >> 8, count & 255
        players["reserve_index"] = at % t.RESERVE
        rows["players"][:, -1] = players
        worlds = engine.resample(rows, 0, 1, worlds=50, trusted=True)
        changed = (worlds["reserve"] != np.repeat(rows, 50)["reserve"]).any(0)
        assert changed.sum() == hidden, count
        assert changed[127] == hidden


@needs_core
def test_placements_of_an_opponent_are_those_that_lock_in_the_same_frame():
    game = make_game(agents=2, level=(0, 8), speed=("low", "high"))
    rows = on_its_way(game)
    assert len(rows) > 100
    for row in rows[:: len(rows) // 10]:
        player = row["players"][1]
        gravity = t.gravity(int(player["speed_setting"]), int(player["speed_ups"]))
        costs = plan(player["board"], int(player["decided_frame"]) & 1, gravity)
        cost = int(player["plan_left"]) + int(row["frame"] - player["decided_frame"])
        same = np.flatnonzero(costs == cost)
        assert player["plan_action"] in same
        worlds = BatchEngine(game, 1).resample(np.array([row]), 0, 31, worlds=100 * len(same))
        chosen = worlds["players"][:, 1]["plan_action"]
        counts = np.bincount(chosen, minlength=t.NUM_PLACEMENTS)
        assert counts[same].sum() == len(chosen)
        limit = len(same) - 1 + 4.5 * np.sqrt(2 * len(same))  # normal approximation
        assert ((counts[same] - 100) ** 2 / 100).sum() < limit
        own = BatchEngine(game, 1).resample(np.array([row]), 1, 31, worlds=20)
        assert (own["players"][:, 1]["plan_action"] == player["plan_action"]).all()


@needs_core
def test_a_placement_that_could_not_be_chosen_stays():
    """Rows that pass the check need not be such that a game comes to them."""
    game = make_game(agents=2, level=4)
    rows = on_its_way(game)[:20]
    rows["players"]["plan_left"][:, 1] = 1
    rows["frame"] = rows["players"]["decided_frame"][:, 1]
    game.validate(rows)
    worlds = [BatchEngine(game, 1, backend).resample(rows, 0, 1) for backend in BACKENDS]
    np.testing.assert_array_equal(worlds[0]["players"], rows["players"])
    for other in worlds[1:]:
        np.testing.assert_array_equal(other, worlds[0])


# -- rollouts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seeds", [1, *late(3)])
@pytest.mark.parametrize(("agents", "placement"), together(KINDS, 3))
def test_backends_play_the_same_rollouts(agents, placement, seeds):
    number = 2 if placement and seeds > 1 else 1  # plain Python takes a second a placement
    for game, rows in moments(agents, placement, seeds, intro_frames=1):
        rows = rows[:3]
        for who in quick_bots(game):
            first = BatchEngine(game, 1).rollout(rows, None, who, limit=1, seeds=4)
            found = [
                BatchEngine(game, 1, b).rollout(
                    rows, None, who, f"pills={number}", 400, seeds=4, of=[0, 2, 1, 0]
                )
                for b in BACKENDS
            ]
            assert (found[0].decisions >= 1).all()
            assert (first.decisions == 1).all()
            for other in found[1:]:
                np.testing.assert_array_equal(other.rows, found[0].rows)
                np.testing.assert_array_equal(other.decisions, found[0].decisions)
                np.testing.assert_array_equal(other.outcomes, found[0].outcomes)


@pytest.mark.parametrize(("agents", "placement"), KINDS)
def test_rollouts_end_behind_the_pills_of_every_player(agents, placement):
    game = make_game(agents=agents, placement=placement, level=3, speed="high")
    rows = rows_of(game, 2, 4)
    engine = BatchEngine(game, 1)
    ended = [engine.rollout(rows, None, game.bot_names[0], f"pills={k}", seeds=1) for k in (1, 3)]
    for number, found in zip((1, 3), ended, strict=True):
        placed = found.rows["players"]["locks"] - rows["players"]["locks"]
        assert (placed.min(1) == number).all()
        if agents == 1 and placement:
            assert (found.decisions == number).all()
        if agents == 1 and not placement:
            before = engine.rollout(rows[:1], None, "random", limit=found.decisions[0] - 1, seeds=1)
            assert before.rows["players"]["locks"] - rows["players"]["locks"][:1] == number - 1
    with pytest.raises(ConfigError, match="pills=K"):
        engine.rollout(rows, until="clear")
