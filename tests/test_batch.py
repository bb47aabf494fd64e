"""The loop over lanes by itself: what it owns, for a game of one agent and one of two."""

import gc
from dataclasses import fields, replace

import numba as nb
import numpy as np
import pytest
from numba import types

from fastenv.game import Compiled
from fastenv.memory import Buffers
from fastenv.numba_cache import cached_cfunc
from fastenv.paths import as_compiled
from fastenv.rng import Rng
from tests.loops import Loop, buffers, copied
from tests.rowcalls import UNWRITTEN, by_reference, unwritten
from tests.slow import diagonal, late
from tests.tables import walk
from tests.toy import RACE_FIXED, RaceGame, WalkGame

_batch = pytest.importorskip("fastenv._batch")

GAMES = {"walk": WalkGame, "race": lambda: RaceGame(goal=7)}
LIMITS = {"walk": 6, "race": 50}  # of episodes, so that some of them are cut short
ANYTHING = (-1, 9, -(2**31), 2**31 - 1)


@pytest.fixture(params=GAMES)
def game(request):
    return GAMES[request.param]()


def started(game, n, seed=0, *, plain=False, **options):
    """Return lanes at the beginning of their episodes, with everything written that can be."""
    lanes = Loop(game, n, plain=plain, **options)
    lanes.knobs["limit"] = LIMITS["walk" if isinstance(game, WalkGame) else "race"]
    lanes.reset(range(seed, seed + n))
    if not plain:
        lanes.observe()
    return lanes


def some_actions(rng, game, n):
    """Return actions, of which some are illegal and some are none."""
    shape = game.spec.agents(n)
    actions = rng.integers(0, game.spec.num_actions, shape, np.int32)
    return np.where(rng.random(shape) < 0.1, rng.choice(ANYTHING, shape), actions)


def values(entry):
    """Return the bytes of an entry of an array, without those between fields."""
    names = entry.dtype.names
    return entry.tobytes() if names is None else [entry[name].tobytes() for name in names]


# -- the fused step --------------------------------------------------------------------------------


class Sums:
    """What the sums of a lane's episode should be."""

    def __init__(self, game):
        self.total, self.length = np.zeros(game.spec.agents()), 0

    def add(self, reward):
        self.total = self.total + np.asarray(reward, np.float64)
        self.length += 1


def expected_of(game, row, ended, sums):
    """Return what a step shows of a lane: its row now, and as it was before a reset."""
    now, then = by_reference(game, row), by_reference(game, ended)
    sums.add(then.reward[0])
    done = ended["done"][0]
    expected = {name: getattr(now, name)[0] for name in ("obs", "mask", "info")}
    expected |= {"reward": then.reward[0], "terms": then.terms[0]}
    expected |= {"terminated": np.uint8(done == 1), "truncated": np.uint8(done == 2)}
    if game.spec.has_tau:
        expected["tau"] = ended["tau"][0]
    if done:
        frames = ended["ep_frames"][0] if game.spec.has_tau else np.int32(sums.length)
        expected |= {"final_obs": then.obs[0], "final_info": then.info[0], "ep_frames": frames}
        expected |= {"ep_return": sums.total, "ep_length": np.int32(sums.length)}
    return expected


@pytest.mark.parametrize("autoreset", [True, False])
def test_a_fused_step_is_a_plain_step_encoded_by_the_reference(game, autoreset):
    n, rng, endings = 6, np.random.default_rng(3), []
    fused, plain = started(game, n), started(game, n, plain=True)
    sums = [Sums(game) for _ in range(n)]
    for step in range(60):
        over = plain.rows["done"] != 0
        for lanes in (fused, plain):
            lanes.reset(select=over)
        fused.observe(over)
        sums = [Sums(game) if over[i] else sums[i] for i in range(n)]
        select, actions = rng.random(n) < 0.8, some_actions(rng, game, n)
        before = {name: copied(array) for name, array in fused.outputs().items()}
        fused.fused(actions, select, autoreset)
        plain.step(actions, select)
        ended = plain.complete()
        done = (ended["done"] != 0) & select
        endings += ended["done"][done].tolist()
        if autoreset:
            plain.reset(select=done)
        rows = plain.complete()
        for i in range(n):
            expected = {name: array[i] for name, array in before.items()}
            if select[i]:
                expected |= expected_of(game, rows[i : i + 1], ended[i : i + 1], sums[i])
            else:
                names = ("reward", "terms", "terminated", "truncated")
                expected |= {name: np.zeros_like(expected[name]) for name in names}
            for name, value in expected.items():
                got = getattr(fused.out, name)[i]
                assert values(got) == values(value), f"step {step} lane {i}: {name}"
            if done[i] and autoreset:
                sums[i] = Sums(game)
            rows["ep_return"][i], rows["ep_length"][i] = sums[i].total, sums[i].length
        got = fused.complete()
        for name in rows.dtype.names:
            assert got[name].tobytes() == rows[name].tobytes(), f"step {step}: {name}"
    assert set(endings) == {1, 2}


@pytest.mark.parametrize(
    ("n", "num_threads", "chunk"),
    diagonal([1, *late(2), 5, 64], [2, *late(3), 7], [0, 1, 3, *late(100)]),
)
def test_results_depend_neither_on_threads_nor_on_chunks(game, n, num_threads, chunk):
    one = started(game, n)
    many = started(game, n, num_threads=num_threads, core=replace(game.core(), chunk=chunk))
    rng = np.random.default_rng(n)
    for step in range(30):
        actions, select = some_actions(rng, game, n), rng.random(n) < 0.9
        one.fused(actions, select)
        many.fused(actions, select)
        for name, array in one.bytes().items():
            assert array == many.bytes()[name], f"step {step}: {name}"


WANTED = [
    ((), ()),
    (("needs", "clock"), ("progress",)),  # two bytes, and eight
    (("share",), ("progress", "gain")),
    (("mood", "places", "apart"), ()),
    (("clock", "places", "apart", "mood", "share", "needs"), ("gain",)),
]


@walk("num_threads", [1, 3])
@walk(("info", "terms"), WANTED)
def test_only_wanted_columns_are_written_in_the_wanted_order(info, terms, num_threads):
    n, rng, ended = 8, np.random.default_rng(1), 0
    whole = started(RaceGame(goal=7), n)
    part = started(RaceGame(goal=7), n, info=info, terms=terms, num_threads=num_threads)
    assert (part.out.info.dtype.names or (), part.out.terms.dtype.names or ()) == (info, terms)
    for _ in range(40):
        actions = some_actions(rng, whole.game, n)
        for lanes in (whole, part):
            lanes.fused(actions)
        ended += int(whole.out.terminated.sum())
        for names, kinds in ((info, ("info", "final_info")), (terms, ("terms",))):
            for name, kind in ((name, kind) for name in names for kind in kinds):
                got, wanted = getattr(part.out, kind)[name], getattr(whole.out, kind)[name]
                assert got.tobytes() == wanted.tobytes(), (kind, name)
        assert part.out.reward.tobytes() == whole.out.reward.tobytes()
        assert part.rows.tobytes() == whole.rows.tobytes()
    assert ended


@cached_cfunc(types.int32(*[types.voidptr] * 5))
def free_gift(row, derived, shared, reward_out, terms_out):
    """Pay 5, sometimes 6, for nothing that the agent has decided."""
    s, out = nb.carray(row, (1,), RACE_FIXED)[0], nb.carray(reward_out, (2,), np.float64)
    out[0] = out[1] = 5.0 + s.clock % 2
    return 0


def test_a_reward_that_belongs_to_no_decision_is_shown_and_not_counted():
    game, rng = RaceGame(), np.random.default_rng(0)
    lanes = started(game, 3, kernels=replace(game.kernels(), reward=free_gift.address))
    for _ in range(5):
        lanes.fused(some_actions(rng, game, 3))
        assert (lanes.out.reward >= 5).all()
    assert not lanes.rows["ep_return"].any()
    assert not lanes.rows["ep_length"].any()


# -- selection -------------------------------------------------------------------------------------

CALLS = {
    "reset": lambda lanes, select: lanes.reset(select=select),
    "reset with seeds": lambda lanes, select: lanes.reset(range(50, 50 + lanes.n), select),
    "step": lambda lanes, select: lanes.step(1, select),
    "fused": lambda lanes, select: lanes.fused(1, select),
    "fused without reset": lambda lanes, select: lanes.fused(1, select, autoreset=False),
    "observe": lambda lanes, select: lanes.observe(select),
    "complete": lambda lanes, select: lanes.loop.complete(lanes.selected(select)),
    "derive": lambda lanes, select: lanes.loop.derive(lanes.selected(select)),
}


@walk("call", CALLS)
def test_only_selected_lanes_are_touched(game, call):
    n, select = 6, np.array([1, 0, 0, 1, 1, 0], np.uint8)
    every, some = started(game, n), started(game, n)
    for lanes in (every, some):
        for _ in range(2):  # one more, and some episodes are over
            lanes.fused(1)
        if lanes.derived is not None:
            lanes.derived["reach"] = UNWRITTEN if call == "derive" else lanes.derived["reach"]
        for array in lanes.outputs().values():
            array.reshape(-1).view(np.uint8).fill(UNWRITTEN)
    before = some.bytes()
    CALLS[call](every, every.all)
    CALLS[call](some, select)
    whole, got = every.bytes(), some.bytes()
    cleared = ("reward", "terms", "terminated", "truncated") if call.startswith("fused") else ()
    for name in got:
        for i in range(n):
            if select[i]:
                assert got[name][i] == whole[name][i], name
            elif name in cleared:
                assert not any(got[name][i]), name
            else:
                assert got[name][i] == before[name][i], name
    assert call in ("complete", "derive") or got != before


def test_a_seed_belongs_to_its_lane_whichever_are_selected(game):
    seeds = [7, 2**64 - 1, 0, 5]
    lanes, alone = Loop(game, 4), Loop(game, 1)
    lanes.reset(seeds, [0, 1, 0, 1])
    for i in range(4):
        row = lanes.rows[i : i + 1]
        if i % 2:
            alone.reset(seeds[i : i + 1])
            assert row.tobytes() == alone.rows.tobytes()
        else:
            assert not row.view(np.uint8).any()


def test_without_seeds_the_streams_of_the_rows_go_on(game):
    lanes, played = started(game, 2), game.create()
    game.reset(played, lanes.knobs[0], 0)
    for _ in range(3):
        lanes.reset()
        game.reset(played, lanes.knobs[0], None)
        assert lanes.complete()[0].tobytes() == game.pack(played)


# -- what follows from a row, and what is left open ------------------------------------------------


def test_a_derived_record_is_computed_when_a_step_or_a_reset_asks_for_it():
    lanes = started(RaceGame(goal=10**6), 16, plain=True)
    twin, kept, rng = Loop(lanes.game, 16), 0, np.random.default_rng(2)
    for _ in range(40):
        before = lanes.derived.copy()
        lanes.step(rng.integers(0, 4, (16, 2)))
        kept += (before == lanes.derived).sum()
        twin.rows[:] = lanes.rows
        twin.loop.derive(twin.all)
        assert lanes.derived.tobytes() == twin.derived.tobytes()
        lanes.reset(select=lanes.rows["done"] != 0)
    assert 0 < kept < 16 * 40


def test_a_row_from_outside_is_seen_once_it_is_derived():
    one, other = started(RaceGame(), 1, 3), started(RaceGame(), 1, 8)
    other.rows[:] = one.rows
    assert other.derived["reach"].tolist() != one.derived["reach"].tolist()
    other.loop.derive(other.all)
    other.observe()
    for lanes in (one, other):
        lanes.fused(1)
    assert other.bytes() == one.bytes()


def test_what_is_left_open_is_filled_in_when_it_is_asked_for():
    lanes = started(RaceGame(), 3)
    assert lanes.loop.completes
    assert not lanes.rows["stamp"].any()
    lanes.loop.complete(lanes.all)
    rows = copied(lanes.rows)
    assert rows["stamp"].all()
    assert not rows["stamp_from"].any()
    lanes.loop.complete(lanes.all)
    assert lanes.rows.tobytes() == rows.tobytes()
    played = lanes.game.create()
    lanes.game.reset(played, lanes.knobs[1], 1)
    assert rows[1].tobytes() == lanes.game.pack(played)


def test_a_game_that_leaves_nothing_open_is_complete():
    lanes = started(WalkGame(), 3)
    before = lanes.rows.tobytes()
    assert not lanes.loop.completes
    lanes.loop.complete(lanes.all)
    lanes.loop.derive(lanes.all)
    assert lanes.rows.tobytes() == before


# -- legal actions ---------------------------------------------------------------------------------


def test_the_first_illegal_action_of_a_selected_lane_is_named():
    lanes = started(WalkGame(), 4)
    lanes.rows["position"] = [0, 1, 1, 1]  # where a jump is illegal
    jump = lanes.actions(2)
    assert lanes.loop.first_illegal(jump, lanes.all) == 1
    assert lanes.loop.first_illegal(jump, np.array([1, 0, 0, 1], np.uint8)) == 3
    assert lanes.loop.first_illegal(jump, np.array([1, 0, 0, 0], np.uint8)) == -1
    assert lanes.loop.first_illegal(lanes.actions(3), lanes.all) == 0
    lanes.rows["done"][:3] = 1, 2, 0
    assert lanes.loop.first_illegal(lanes.actions(3), lanes.all) == 2


def test_an_illegal_action_is_named_with_its_agent_if_that_must_act():
    lanes = started(RaceGame(), 3)
    lanes.rows["needs_action"] = 1
    actions = np.zeros((3, 2), np.int32)
    assert lanes.loop.first_illegal(actions, lanes.all) == -1
    actions[1, 1] = actions[2, 0] = 4
    assert lanes.loop.first_illegal(actions, lanes.all) == 1 * 2 + 1
    lanes.rows["needs_action"][1] = 1, 0
    assert lanes.loop.first_illegal(actions, lanes.all) == 2 * 2 + 0


# -- scripted players ------------------------------------------------------------------------------


def bot_call(lanes, **changes):
    """Let a bot decide; return what it was given, the actions under ``out``."""
    given = {"params": lanes.game.bot("random"), "agent": 0, "obs": lanes.out.obs}
    given |= {"mask": lanes.out.mask, "select": lanes.all}
    given |= {"rng_states": np.array([Rng(50 + i).state for i in range(lanes.n)], np.uint64)}
    given |= {"out": np.full(lanes.n, -9, np.int32)} | changes
    lanes.loop.bot_actions(*given.values())
    return given


@pytest.mark.parametrize("agent", [0, 1])
def test_bots_of_selected_lanes_decide_with_the_generators_they_are_given(game, agent):
    agent = min(agent, game.spec.num_agents - 1)
    lanes, select = started(game, 6), np.array([0, 1, 1, 0, 1, 0], np.uint8)
    before = lanes.bytes()
    given = bot_call(lanes, agent=agent, select=select)
    for i, row in enumerate(lanes.complete()):
        rng, action = Rng(50 + i), -9
        if select[i]:
            seen = lanes.out.obs[i], lanes.out.mask[i]
            if game.spec.num_agents > 1:
                seen = seen[0][agent], seen[1][agent]
            params = given["params"][0]
            action = game.bot_action(game.unpack(row), params, agent, *seen, rng)
        assert given["out"][i] == action
        assert given["rng_states"][i].tolist() == rng.state
    assert lanes.bytes() == before


def test_bots_without_generators_advance_those_of_the_rows():
    lanes, twin = started(RaceGame(), 6), started(RaceGame(), 6)
    select = np.array([0, 1, 1, 0, 1, 0], np.uint8)
    states = twin.rows["bot_rng"].copy()
    wanted = bot_call(twin, agent=1, select=select, rng_states=states)["out"]
    got = bot_call(lanes, agent=1, select=select, rng_states=None)["out"]
    assert got.tolist() == wanted.tolist()
    assert lanes.rows["bot_rng"].tolist() == states.tolist()
    assert (states == twin.rows["bot_rng"]).all(axis=1).tolist() == [
        True,
        *[False] * 2,
        True,
        False,
        True,
    ]


def test_a_bot_sees_what_its_own_agent_sees():
    game = RaceGame()
    lanes, fast = started(game, 3), game.bot("fast")
    lanes.out.mask[:] = [[1, 1, 0, 0], [1, 1, 1, 0]]
    for agent, stride in ((0, 1), (1, 2)):
        assert bot_call(lanes, agent=agent, params=fast)["out"].tolist() == [stride] * 3


@walk("agent", [-1, 2, 2**31 - 1])
def test_agents_that_are_not_there_have_no_bots(agent):
    with pytest.raises(ValueError, match=f"agent {agent}: there is no such bot"):
        bot_call(started(RaceGame(), 2), agent=agent)


def test_a_game_without_bots_or_without_generators_says_so():
    game = WalkGame()
    lanes = started(game, 2, core=replace(game.core(), bot=0))
    with pytest.raises(ValueError, match="agent 0: there is no such bot"):
        bot_call(lanes)
    with pytest.raises(ValueError, match="rng_states: the rows of this game have no generator"):
        bot_call(started(game, 2), rng_states=None)


# -- rows that belong to no lane -------------------------------------------------------------------


@walk("k", [0, 1, 2, 9])
def test_any_number_of_rows_is_encoded_and_no_lane_touched(game, k):
    lanes, others = started(game, 2), started(game, 9, seed=100)
    others.step(1)
    rows, before = others.complete()[:k], lanes.bytes()
    out = buffers(game.spec, k)
    lanes.loop.encode_rows(rows, out.obs, out.mask)
    expected = by_reference(game, rows)
    for i in range(k):
        assert values(out.obs[i]) == values(expected.obs[i])
        assert values(out.mask[i]) == values(expected.mask[i])
    assert lanes.bytes() == before


# -- functions -------------------------------------------------------------------------------------


def test_the_core_comes_first_and_kernels_fill_in_what_it_lacks():
    game = RaceGame()
    core, kernels = game.core(), game.kernels()
    both = started(game, 4)
    assert not core.bot
    assert (
        bot_call(both)["out"].tolist()
        == bot_call(
            started(game, 4, core=replace(core, bot=kernels.bot), kernels=replace(kernels, bot=0))
        )["out"].tolist()
    )
    other = replace(kernels, reward=free_gift.address)
    lanes = started(game, 4, core=replace(core, reward=kernels.reward), kernels=other)
    for each in (both, lanes):
        each.fused(1)
    assert lanes.bytes() == both.bytes()


def test_a_core_alone_steps_and_cannot_be_bound(game):
    lanes = started(game, 2, plain=True)
    lanes.step(1)
    with pytest.raises(ValueError, match="the kernels have no observe or no reward"):
        lanes.bind()
    with pytest.raises(ValueError, match="the kernels have no observe"):
        lanes.loop.encode_rows(lanes.rows, lanes.out.obs, lanes.out.mask)


@pytest.mark.parametrize(
    ("name", "message"), [("observe", "no observe"), ("reward", "no reward"), ("info", "no info")]
)
def test_kernels_that_lack_a_function_cannot_be_bound(game, name, message):
    with pytest.raises(ValueError, match=f"the kernels have .*{message}"):
        started(game, 2, kernels=replace(game.kernels(), **{name: 0}))


def test_kernels_need_no_info_where_none_is_wanted(game):
    lanes = started(game, 2, info=(), kernels=replace(game.kernels(), info=0))
    lanes.fused(1)
    assert lanes.out.obs.tobytes() != unwritten(lanes.out.obs.shape, lanes.out.obs.dtype).tobytes()


def test_a_table_is_read_as_addresses_and_sizes():
    core = pytest.importorskip("fastenv.skullking._core")
    table = _batch.read_table(core.TABLE)
    names = {field.name for field in fields(Compiled)}
    assert set(table) == names - {"obs_size", "info_size", "terms_size"}
    assert Compiled(**table).step
    with pytest.raises(ValueError, match="PyCapsule_GetPointer called with i"):
        _batch.read_table(object())


# -- arrays that do not fit ------------------------------------------------------------------------


def given_to(lanes):
    """Return good arguments of all methods, by name."""
    return {
        "select": lanes.all,
        "seeds": np.arange(lanes.n, dtype=np.uint64),
        "actions": lanes.actions(1),
        "obs": lanes.out.obs,
        "mask": lanes.out.mask,
        "params": lanes.game.bot("random"),
        "rng_states": np.array([Rng(i).state for i in range(lanes.n)], np.uint64),
        "out": np.zeros(lanes.n, np.int32),
        "rows": copied(lanes.rows),
    }


METHODS = {
    "reset": ("select", "seeds"),
    "step": ("actions", "select"),
    "derive": ("select",),
    "complete": ("select",),
    "first_illegal": ("actions", "select"),
    "bot_actions": ("params", "agent", "obs", "mask", "select", "rng_states", "out"),
    "step_fused": ("actions", "select", "autoreset", "obs", "mask"),
    "observe": ("select", "obs", "mask"),
    "encode_rows": ("rows", "obs", "mask"),
}
OTHERS = {"agent": 0, "autoreset": True}
WRITTEN = {
    "bot_actions": ("rng_states", "out"),
    "step_fused": ("obs", "mask"),
    "observe": ("obs", "mask"),
    "encode_rows": ("obs", "mask"),
}
ARRAYS = [
    (method, name) for method, names in METHODS.items() for name in names if name not in OTHERS
]


def call(lanes, method, **changes):
    given = given_to(lanes) | OTHERS | changes
    return getattr(lanes.loop, method)(*(given[name] for name in METHODS[method]))


def assert_refused(lanes, method, name, wrong, error, message=None):
    """Call a method with a wrong array twice: nothing may have moved, nor the array be kept."""
    before = lanes.bytes()
    for _ in range(2):
        with pytest.raises(error, match=message):
            call(lanes, method, **{name: wrong})
        assert lanes.bytes() == before
    call(lanes, method)


@walk(("method", "name"), [pair for pair in ARRAYS if pair[1] not in ("params", "rows")])
def test_arrays_of_another_size_are_refused_by_name(game, method, name):
    lanes = started(game, 3)
    good = given_to(lanes)[name]
    for change in (-1, 1):
        fewer = np.zeros((len(good) + change, *good.shape[1:]), good.dtype)
        narrower = np.zeros(good.nbytes + change, np.uint8)
        for wrong in (fewer, narrower):
            message = f"^{name} has {wrong.nbytes} bytes, the loop needs {good.nbytes}"
            assert_refused(lanes, method, name, wrong, ValueError, message)


@walk(("method", "name"), ARRAYS)
def test_arrays_with_gaps_are_refused(game, method, name):
    lanes = started(game, 3)
    good = given_to(lanes)[name]
    wrong = (
        np.zeros((2 * len(good), *good.shape[1:]), good.dtype)[::2]
        if len(good) > 1
        else np.zeros((1, 8), np.uint8)[:, ::2]
    )
    assert_refused(lanes, method, name, wrong, ValueError, "not C-contiguous")


@walk(("method", "name"), [(m, n) for m, names in WRITTEN.items() for n in names])
def test_destinations_that_are_read_only_are_refused(game, method, name):
    lanes = started(game, 3)
    wrong = copied(given_to(lanes)[name])
    wrong.flags.writeable = False
    assert_refused(lanes, method, name, wrong, ValueError, "read-only")


@walk(("method", "name"), [pair for pair in ARRAYS if pair[0] not in WRITTEN])
def test_what_is_only_read_may_be_read_only(game, method, name):
    lanes = started(game, 3)
    given = copied(given_to(lanes)[name])
    given.flags.writeable = False
    call(lanes, method, **{name: given})


@walk(("method", "name"), ARRAYS)
def test_what_is_no_array_is_refused(game, method, name):
    for wrong in ([1, 1, 1], 3, None)[: 2 if name in ("seeds", "rng_states") else 3]:
        errors = (TypeError, ValueError, AttributeError)
        assert_refused(started(game, 3), method, name, wrong, errors)


def test_nothing_at_all_is_refused(game):
    for lanes in (started(game, 3), Loop(game, 3, plain=True)):
        with pytest.raises(TypeError, match="actions must be an array, not None"):
            lanes.loop.step_fused(None, None, True, None, None)


def test_the_same_four_arrays_are_looked_at_once_and_others_again(game):
    lanes, twin, other = started(game, 3), started(game, 3), buffers(game.spec, 3)
    rollout = [(lanes.out.obs, lanes.out.mask)] * 2 + [(other.obs, other.mask)] * 2
    actions = lanes.actions(1)
    for obs, mask in rollout + rollout:
        lanes.loop.step_fused(actions, lanes.all, True, obs, mask)
        twin.fused(1)
        assert [values(o) for o in obs] == [values(o) for o in twin.out.obs]
        assert mask.tobytes() == twin.out.mask.tobytes()
    actions[:] = 0
    lanes.loop.step_fused(actions, lanes.all, True, obs, mask)  # read anew each time
    twin.fused(0)
    assert lanes.rows.tobytes() == twin.rows.tobytes()


# -- memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["step_fused", "observe"])
def test_nothing_is_encoded_before_it_is_known_where_to(game, method):
    lanes = Loop(game, 3, plain=True)
    with pytest.raises(RuntimeError, match="bind has not been called"):
        call(lanes, method)


@walk("name", [field.name for field in fields(Buffers) if field.name not in ("obs", "mask")])
def test_destinations_that_do_not_fit_are_not_bound(game, name):
    lanes = started(game, 3)
    good = getattr(lanes.out, name)
    wider = np.dtype([("all", good.dtype), ("more", "u8")])
    for wrong in (
        np.zeros((2, *good.shape[1:]), good.dtype),
        np.zeros((4, *good.shape[1:]), good.dtype),
        np.zeros(good.shape, wider) if name not in ("info", "terms") else np.zeros(1, good.dtype),
    ):
        with pytest.raises(ValueError, match=f"^{name} has {wrong.nbytes} bytes, the loop needs"):
            lanes.bind(**{name: wrong})
    gaps = np.zeros((6, *good.shape[1:]), good.dtype)[::2]
    with pytest.raises(ValueError, match="not C-contiguous"):
        lanes.bind(**{name: gaps})
    still = copied(good)
    still.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        lanes.bind(**{name: still})


def test_columns_that_the_game_has_not_are_not_bound(game):
    lanes = started(game, 3)
    other = np.zeros(3, np.dtype([("weather", "i4")]))
    with pytest.raises(KeyError, match="weather"):
        lanes.bind(info=other, final_info=other)


def test_a_loop_may_be_bound_again(game):
    lanes, twin = started(game, 3), started(game, 3)
    old = lanes.bytes()
    lanes.out = buffers(game.spec, 3, info=twin.out.info.dtype.names[1:], terms=())
    lanes.bind()
    lanes.fused(1)
    twin.fused(1)
    assert lanes.out.reward.tobytes() == twin.out.reward.tobytes()
    for name in lanes.out.info.dtype.names:
        assert lanes.out.info[name].tobytes() == twin.out.info[name].tobytes()
    assert lanes.bytes()["rows"] == twin.bytes()["rows"] != old["rows"]


@pytest.mark.parametrize("name", ["states", "knobs", "derived"])
def test_memory_that_does_not_fit_is_refused(name):
    game = RaceGame()
    lanes = Loop(game, 3)
    functions = as_compiled(game, game.core()), as_compiled(game, game.kernels())
    memory = dict(zip(("states", "knobs", "derived", "shared"), lanes.memory, strict=True))
    good = memory[name]
    short = name if name != "states" else "knobs"  # as many lanes as there are rows
    with pytest.raises(ValueError, match=f"^{short} has"):
        _batch.BatchLoop(game.spec, *functions, *(memory | {name: copied(good[:2])}).values())
    narrow = np.zeros((3, good.dtype.itemsize - 1), np.uint8)
    with pytest.raises(ValueError, match=f"^{name} has {narrow.nbytes} bytes, the loop needs"):
        _batch.BatchLoop(game.spec, *functions, *(memory | {name: narrow}).values())
    gaps = np.repeat(good, 2)[::2]
    with pytest.raises(ValueError, match="not C-contiguous"):
        _batch.BatchLoop(game.spec, *functions, *(memory | {name: gaps}).values())
    if name != "knobs":
        still = copied(good)
        still.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            _batch.BatchLoop(game.spec, *functions, *(memory | {name: still}).values())


def test_arrays_are_kept_as_long_as_the_loop(game):
    lanes, twin = started(game, 64), started(game, 64)
    loop, given = lanes.loop, (lanes.actions(1), lanes.all, True, lanes.out.obs, lanes.out.mask)
    loop.step_fused(*given)
    twin.fused(1)
    rows, reward = lanes.rows, lanes.out.reward
    del lanes
    gc.collect()
    noise = [unwritten(10_000, np.uint8) for _ in range(200)]
    for _ in range(5):
        loop.step_fused(*given)
        twin.fused(1)
    assert rows.tobytes() == twin.rows.tobytes()
    assert reward.tobytes() == twin.out.reward.tobytes()
    assert all((array == UNWRITTEN).all() for array in noise)


@pytest.mark.parametrize("num_threads", [-3, 0, 1])
def test_there_is_at_least_one_thread(game, num_threads):
    lanes = started(game, 2, num_threads=num_threads)
    lanes.fused(1)
    assert lanes.loop.num_threads == 1
    numbers = (lanes.loop.num_envs, lanes.loop.num_agents, lanes.loop.num_actions)
    assert numbers == (2, game.spec.num_agents, game.spec.num_actions)
    with pytest.raises(AttributeError):
        lanes.loop.num_envs = 3
