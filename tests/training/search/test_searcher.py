"""The searcher: the same in any batch, refusals, interruptions, and positions that it must win."""

from dataclasses import replace

import numpy as np
import pytest

import fastenv
import training
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, StateError
from fastenv.rng import Rng
from fastenv.skullking.tables import Phase
from tests.needs import needs_core
from tests.nim import NimGame
from tests.ring import RingGame
from tests.tables import walk
from tests.toy import RaceGame, WalkGame
from training.search import searcher as module
from training.search.options import SearchOptions
from training.search.rules import SearchRules, margin, points
from training.search.searcher import Searcher, complete

FLAT = "SkullKingFlat-v0"
WORLDS = 8


class WorldNim(NimGame):
    """Nim, in which nothing is hidden but who begins the next game."""

    def resample(self, game, agent, rng):
        game.rng = Rng(rng.next())
        game.bot_rng = [rng.next() for _ in range(4)]


class Positions:
    """Running games of a toy, and what a search is asked about them."""

    def __init__(self, game, n=12, seed=3, steps=2):
        self.game = game
        opponent = game.bot_names[0] if game.spec.num_agents > 1 else None
        seats = {"opponent": opponent} if opponent else {}
        self.engine = engine = BatchEngine(game, n, **seats)
        engine.reset_many(seeds=seed)
        for _ in range(steps):
            engine.step_many(engine.mask.argmax(1).astype(np.int32))
        running = np.flatnonzero(~engine.ended)
        self.rows, self.legal = engine.get_states(running), engine.mask[running] != 0
        self.seats = np.zeros(len(running), np.int32)
        if opponent:
            self.seats = engine.get_actors(running)
        self.seeds = np.random.default_rng(seed).integers(2**63, size=len(running)).astype("u8")

    def searcher(self, threads=1, **options):
        engine = BatchEngine(self.game, threads, num_threads=threads)
        return Searcher(engine, None, SearchOptions(**{"worlds": WORLDS, **options}))

    def search(self, which=slice(None), **how):
        of = self.searcher(**how)
        args = (self.rows, self.seats, self.legal, self.seeds)
        return of.search(*(each[which] for each in args))


def cards(n=8, steps=26, seed=5):
    """Return the same of Skull King, where cards are due."""
    found = object.__new__(Positions)
    found.engine = engine = fastenv.make_engine(FLAT, n, seats="all")
    found.game = engine.game
    engine.reset_many(seeds=seed)
    for _ in range(steps):
        engine.step_many(engine.bot_actions("rule_hard", engine_streams(n)))
    due = np.flatnonzero(~np.isin(engine.get_states()["phase"], (Phase.BID, Phase.CANNON)))
    found.rows, found.legal = engine.get_states(due), engine.mask[due] != 0
    found.seats = engine.get_actors(due)
    found.seeds = np.arange(len(due)).astype("u8") + np.uint64(seed)
    return found


def engine_streams(n):
    return fastenv.engine.rng_streams(1, n)


GAMES = {
    "walk": lambda: Positions(WalkGame()),
    "race": lambda: Positions(RaceGame()),
    "ring in turns": lambda: Positions(RingGame()),
    "ring together": lambda: Positions(RingGame("together", poison=2)),
    "cards": cards,
}


def same(one, other, which=slice(None)):
    """Tell whether searches have seen the same, of some positions of the first."""
    width = other.values.shape[2]  # fewer worlds, where all is decided early
    assert np.isnan(one.values[which][:, :, width:]).all()
    np.testing.assert_array_equal(one.values[which][:, :, :width], other.values)
    np.testing.assert_array_equal(one.open[which], other.open)
    np.testing.assert_array_equal(one.counts[which], other.counts)


@pytest.mark.parametrize("name", GAMES)
@needs_core
def test_a_position_is_the_same_in_any_batch(name, monkeypatch):
    found = GAMES[name]()
    whole = found.search().estimates
    assert whole.counts.max() == WORLDS
    assert (whole.counts > 0).any(1).tolist() == (found.legal.sum(1) > 1).tolist()
    for k in range(0, len(found.rows), 3):
        same(whole, found.search([k]).estimates, [k])
    backwards = np.arange(len(found.rows))[::-1]
    same(whole, found.search(backwards).estimates, backwards)
    same(whole, found.search(threads=3).estimates)
    for chunk in (1, 3 * WORLDS, 5 * WORLDS):
        monkeypatch.setattr(module, "AT_ONCE", chunk)
        same(whole, found.search().estimates)


def test_nothing_is_changed():
    found = cards()
    rows, legal = found.rows.tobytes(), found.legal.tobytes()
    found.search()
    assert (found.rows.tobytes(), found.legal.tobytes()) == (rows, legal)


def test_all_worlds_are_seen_without_halving(monkeypatch):
    monkeypatch.setattr("training.search.estimates.DOUBT", 1e9)
    found = cards()
    counts = found.search(halving=False, worlds=11).estimates.counts
    several = found.legal.sum(1) > 1
    assert (counts[several][found.legal[several]] == 11).all()
    assert (counts[~found.legal] == 0).all()


def test_all_worlds_are_seen_in_one_block():
    found = cards()
    counts = found.search(blocks=1, worlds=11).estimates.counts
    several = found.legal.sum(1) > 1
    assert (counts[several][found.legal[several]] == 11).all()
    values = [found.search(worlds=64, blocks=n).estimates for n in (1, 4)]
    assert values[0].counts.sum() > values[1].counts.sum(), "in four, some are dropped"


def test_means_are_those_of_rollouts_by_hand():
    """One position, worlds and rollouts asked for one by one."""
    found = cards()
    of = found.searcher(halving=False)
    k = int(np.flatnonzero(found.legal.sum(1) > 1)[0])
    got = found.search([k], halving=False).estimates
    engine = found.engine
    for world in range(WORLDS):
        seed = module.mix(found.seeds[[k]], np.array([world]), module.WORLD)
        row = engine.resample(found.rows[[k]], found.seats[[k]], seed)
        for action in np.flatnonzero(got.counts[0] > world):
            seed = module.mix(found.seeds[[k]], np.array([world]), module.ROLLOUT)
            then = engine.rollout(row, [action], "heuristic", "round", seeds=seed)
            value = margin(then.outcomes, then.rows, found.seats[[k]])[0]
            assert got.values[0, action, world] == value
    assert of.options.rollouts == "heuristic"
    assert of.options.horizon == "round"


# -- refusals --------------------------------------------------------------------------------------


def test_a_finished_game_is_refused():
    found = cards()
    found.rows["done"][1] = 1
    with pytest.raises(StateError, match="row 1: the game is over, nothing can follow"):
        found.search()


@walk("seat", [-1, 4])
def test_a_seat_that_is_not_there_is_refused(seat):
    found = cards()
    found.seats = np.full(len(found.rows), seat)
    with pytest.raises(ValueError, match=r"seats=.*: must be 0\.\.3"):
        found.search()


def test_a_game_without_resample_is_refused():
    with pytest.raises(ConfigError, match="NimGame has no resample: add the method `resample`"):
        Searcher(BatchEngine(NimGame(), 1))


@walk(
    ("options", "refused"),
    [
        ({"belief": "bids"}, "search.belief='bids' is not possible: .* where there is no policy"),
        ({"rollouts": "policy"}, "search.rollouts='policy' .* there is no network"),
        ({"rollouts": "nobody"}, "search.rollouts='nobody' .* must be random"),
        ({"outcome": "joy"}, "search.outcome='joy' .* must be points or margin"),
        ({"horizon": "tomorrow"}, "search.horizon: until='tomorrow'"),
        ({"decisions": "none"}, "search.decisions='none' .* must be cards or bids or all"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, refused):
    with pytest.raises(ConfigError, match=refused) as error:
        Searcher(fastenv.make_engine(FLAT, 1), None, SearchOptions(**options))
    assert "\n" not in str(error.value)


def test_a_belief_that_a_game_does_not_know_is_refused():
    with pytest.raises(ConfigError, match=r"search\.belief='plays' .* uniform: this game knows no"):
        Searcher(BatchEngine(WalkGame(), 1), None, SearchOptions(belief="plays"))


# -- what a game says ------------------------------------------------------------------------------


def test_a_game_says_what_is_usual():
    rules = SearchRules(horizon="round", limit=7, options={"worlds": 3, "lead": 1.0})
    usual = complete(SearchOptions(), rules, ("random", "best"))
    assert (usual.rollouts, usual.horizon, usual.limit) == ("best", "round", 7)
    assert (usual.outcome, usual.decisions) == ("margin", "all")
    assert (usual.worlds, usual.lead) == (3, 1.0)
    given = SearchOptions(worlds=5, rollouts="random", horizon="end", lead=0, limit=None)
    mine = complete(given, rules, ("random", "best"))
    assert (mine.rollouts, mine.horizon, mine.limit) == ("random", "end", 7)
    assert (mine.worlds, mine.lead) == (5, 0)
    assert complete(SearchOptions(budget_ms=2), rules, ("best",)).budget_ms == 2
    assert complete(SearchOptions(), replace(rules, rollouts="random"), ()).rollouts == "random"


def test_outcomes():
    outcomes, seats = np.array([[1.0, 2.0, 6.0], [3.0, 0.0, 0.0]]), np.array([2, 0])
    assert points(outcomes, None, seats).tolist() == [6, 3]
    assert margin(outcomes, None, seats).tolist() == [4.5, 3]
    assert margin(outcomes[:, :1], None, np.zeros(2, int)).tolist() == [1, 3]


@walk(("decisions", "due"), [("cards", False), ("bids", True), ("all", True)])
def test_only_what_is_wanted_is_searched(decisions, due):
    engine = fastenv.make_engine(FLAT, 3, seats="all")
    engine.reset_many(seeds=1)
    of = Searcher(engine, None, SearchOptions(decisions=decisions))
    assert of.wants(engine.get_states(), engine.mask != 0).tolist() == [due] * 3
    assert not of.wants(engine.get_states(), np.eye(3, engine.num_actions) > 0).any()


# -- Ctrl-C and time -------------------------------------------------------------------------------


class Interrupted:
    """Plays rollouts until Ctrl-C is pressed in one of them."""

    def __init__(self, blueprint, calls):
        self.blueprint, self.left = blueprint, calls

    def play_on(self, *args):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return self.blueprint.play_on(*args)


@pytest.mark.parametrize("calls", range(5))
def test_ctrl_c_leaves_the_best_so_far(calls, monkeypatch):
    monkeypatch.setattr("training.search.estimates.DOUBT", 1e9)
    found = cards()
    of = found.searcher(halving=False)
    whole = found.search(halving=False).estimates
    of.blueprint = Interrupted(of.blueprint, calls)
    got = of.search(found.rows, found.seats, found.legal, found.seeds)
    blocks = of.options.blocks
    assert got.finished == (calls >= blocks)
    done = min(calls, blocks) * (WORLDS // blocks)
    np.testing.assert_array_equal(got.estimates.values, whole.values[:, :, :done])
    several = int(np.flatnonzero(found.legal.sum(1) > 1)[0])
    thought = of.think(got, several, 0, np.full(found.legal.shape[1], np.nan))
    assert thought.worlds.max() == done
    assert (thought.finished, thought.budget) == (got.finished, str(WORLDS))


def test_ctrl_c_ends_all_that_was_to_come(monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", WORLDS)
    found = cards()
    several = np.flatnonzero(found.legal.sum(1) > 1)
    of = found.searcher()
    of.blueprint = Interrupted(of.blueprint, 1)
    got = of.search(*(x[several] for x in (found.rows, found.seats, found.legal, found.seeds)))
    assert not got.finished
    assert (got.estimates.counts.sum(1) > 0).tolist() == [True, *[False] * (len(several) - 1)]


@pytest.mark.parametrize(("budget", "blocks"), [(10, 5), (2, 1), (11, 6)])
def test_a_budget_of_time_is_kept(budget, blocks, monkeypatch):
    """A block takes two milliseconds of a clock that only it moves."""
    monkeypatch.setattr("training.search.estimates.DOUBT", 1e9)
    found, now = cards(), [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    engine = BatchEngine(found.game, 1)
    of = Searcher(engine, None, SearchOptions(budget_ms=budget, halving=False))
    k = [int(np.flatnonzero(found.legal.sum(1) > 1)[0])]
    play_on = of.blueprint.play_on

    def slowly(*args):
        now[0] += 0.002
        return play_on(*args)

    monkeypatch.setattr(of.blueprint, "play_on", slowly)
    got = of.search(found.rows[k], found.seats[k], found.legal[k], found.seeds[k])
    assert got.estimates.counts.max() == blocks * module.FIRST_WORLDS
    assert got.milliseconds == pytest.approx(2 * blocks)
    assert got.finished


# -- positions that must be won --------------------------------------------------------------------


@walk("sticks", [5, 6, 7, 9, 10])
def test_a_won_game_of_nim_is_won(sticks):
    """Whoever leaves a multiple of four wins against everybody who plays perfectly."""
    found = Positions(WorldNim(sticks=10), n=1, steps=0)
    found.rows["sticks"] = sticks
    found.legal = np.ones((1, 3), bool)
    assert found.search(worlds=2).estimates.best()[0] + 1 == sticks % 4


# -- rollouts by a network -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def policy():
    return training.load_policy("pretrained/skullking-ppo")


def test_a_network_plays_rollouts(policy):
    found = cards(n=4)
    engine = found.engine
    of = Searcher(engine, policy, SearchOptions(worlds=4, rollouts="policy"))
    args = found.rows, found.seats, found.legal, found.seeds
    got = of.search(*args)
    assert got.finished
    assert np.isfinite(got.estimates.means()[found.legal]).any()
    again = of.search(*args)
    np.testing.assert_array_equal(got.estimates.values, again.estimates.values)


def test_a_network_with_a_memory_plays_no_rollouts(policy):
    forgetful = training.load_policy("pretrained/skullking-ppo")
    forgetful.state_size = 8
    with pytest.raises(ConfigError, match=r"search\.rollouts='policy' is not possible for .* bot"):
        Searcher(fastenv.make_engine(FLAT, 1), forgetful, SearchOptions(rollouts="policy"))


def test_open_cards_are_the_true_ones(policy):
    found = cards()
    got = found.search(belief="open", halving=False).estimates
    k = int(np.flatnonzero(found.legal.sum(1) > 1)[0])
    action = int(np.flatnonzero(found.legal[k])[0])
    seed = module.mix(found.seeds[[k]], np.array([0]), module.ROLLOUT)
    then = found.engine.rollout(found.rows[[k]], [action], "heuristic", "round", seeds=seed)
    assert got.values[k, action, 0] == margin(then.outcomes, then.rows, found.seats[[k]])[0]


@needs_core
def test_errors_of_a_thought_are_those_of_differences_to_what_was_chosen():
    found = cards()
    searcher, k = found.searcher(halving=False), int(found.legal.sum(1).argmax())
    results = found.search([k], halving=False)
    values, legal = results.estimates.values[0], np.flatnonzero(found.legal[k])
    chosen = int(legal[0])
    thought = searcher.think(results, 0, chosen, np.ones(found.legal.shape[1]))
    assert thought.actions.tolist() == legal.tolist()
    differences = values[legal] - values[chosen]
    differences[0] = values[chosen]
    expected = differences.std(1, ddof=1) / np.sqrt(WORLDS)
    np.testing.assert_allclose(thought.error, expected, atol=1e-9)
    alone = values[legal].std(1, ddof=1) / np.sqrt(WORLDS)
    assert not np.allclose(expected[1:], alone[1:])
