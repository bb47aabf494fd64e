"""Arrays of every kind at every door: the same as plain ones, or refused in one sentence.

A refused call moves nothing.
"""

from functools import partial

import numpy as np
import pytest

import fastenv
from fastenv.engine import BatchEngine, rng_streams
from fastenv.env import FastEnv
from fastenv.vector import FastVectorEnv, allocate, sample_legal
from tests.api.short import short
from tests.needs import FASTEST
from tests.race import BACKENDS, everything
from tests.slow import late, together
from tests.toy import RaceGame

N = 3
GAME_BOY = {"frames_per_step": 1, "release_after_frames": 1, "stack_k": 1}
IDS = [name.removeprefix("fastenv/") for name in fastenv.list_envs()]
READABLE = ("SkullKingWorker-v0", "Prospector-v0", "DrMarioFrame-v0")  # their reference is quick
DEAR = "Prospector-v0"  # of these: its reference takes as long as the others together
QUICK = (*READABLE, "DrMarioVersus-v0", "GameBoyGoal-v0", "LanternWalk-v0")
LONGEST = 500  # characters of a message: a dtype of observations is long


class Liar(np.ndarray):
    """Says of itself what a check likes to hear; only its memory is true."""

    def min(self, *args, **kwargs):
        return 0

    max = argmax = min

    def any(self, *args, **kwargs):
        return np.zeros(self.shape[:1], bool)

    def tolist(self):
        raise AssertionError("asked for the list of a subclass")

    copy = astype = reshape = tolist


def fortran(array):
    """Return the same numbers in another order of memory, where there is one."""
    if array.ndim > 1:
        return np.asfortranarray(array)
    return np.repeat(array, 2)[::2]


def shifted(array):
    """Return the same numbers, begun at an odd address."""
    block = np.zeros(array.nbytes + 1, np.uint8)
    block[1:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return block[1:].view(array.dtype).reshape(array.shape)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


KINDS = {
    "masked": lambda array: np.ma.array(array, mask=np.ones(array.shape, bool)),
    "masked nowhere": np.ma.array,
    "read-only": read_only,
    "other order": fortran,
    "objects": lambda array: array.astype(object),
    "subclass": lambda array: array.copy().view(Liar),
    "records": lambda array: array.copy().view(np.recarray),
    "unaligned": shifted,
    "swapped bytes": lambda array: array.astype(array.dtype.newbyteorder()),
}
REFUSED = {"masked", "masked nowhere"}  # everywhere; the others where the door says so


def marked(env_id, *more):
    """Return a case; ids that share their doors with another are tried when there is time."""
    late = env_id not in (*QUICK, "race") or (more == ("next_step",) and env_id != "race")
    return pytest.param(env_id, *more, marks=[pytest.mark.slow] if late else [])


def game_of(env_id):
    if env_id == "race":
        return RaceGame()
    options = short(env_id)
    if env_id.startswith(("GameBoy", "Lantern")):
        options = GAME_BOY | ({} if env_id == "GameBoyGoal-v0" else {"pixels": "72x80"})
    if env_id == "GameBoyGoal-v0":
        options = {}  # its template fixes them
    return fastenv.make_game(env_id, **options)


def legal(engine):
    return sample_legal(engine.mask, np.random.default_rng(0))


def step(name):
    return lambda engine, array: engine.step_many(**{"actions": legal(engine), name: array})


def bot(name):
    def ask(engine, array):
        kind = (*engine.game.bot_names, "random")[0]
        return engine.bot_actions(kind, **{"rng_states": rng_streams(1, N), name: array})

    return ask


# name -> (what is given, the call)
DOORS = {
    "actions": (legal, step("actions")),
    "select": (lambda e: np.arange(N) != 1, step("select")),
    "obs_out": (lambda e: np.zeros_like(e.obs), step("obs_out")),
    "mask_out": (lambda e: np.zeros_like(e.mask), step("mask_out")),
    "reset mask": (lambda e: np.arange(N) != 1, lambda e, array: e.reset_many(mask=array)),
    "seeds": (lambda e: np.arange(N) + 5, lambda e, array: e.reset_many(seeds=array)),
    "reset obs_out": (lambda e: np.zeros_like(e.obs), lambda e, array: e.reset_many(obs_out=array)),
    "rows": (lambda e: e.get_states()[::-1].copy(), lambda e, array: e.set_states(array)),
    "lanes": (
        lambda e: np.array([2, 0]),
        lambda e, array: e.set_states(e.get_states()[:2], array),
    ),
    "lanes asked": (lambda e: np.array([2, 0]), lambda e, array: e.get_states(array)),
    "blob": (lambda e: e.get_state()[::-1].copy(), lambda e, array: e.set_state(None, array)),
    "rows to encode": (lambda e: e.get_states(), lambda e, array: e.encode_obs_many(array)),
    "rows to mask": (lambda e: e.get_states(), lambda e, array: e.action_masks_many(array)),
    "own obs": (lambda e: np.zeros_like(e.obs), lambda e, array: e.encode_obs_many(out=array)),
    "encoded": (
        lambda e: np.zeros_like(e.obs),
        lambda e, array: e.encode_obs_many(e.get_states(), out=array),
    ),
    "shared": (lambda e: e.game.shared.copy(), lambda e, array: e.set_shared(array)),
    "decisions": (
        lambda e: np.arange(N, dtype=np.int32),
        lambda e, array: e.set_seating({"decisions": array}),
    ),
    "rng_states": (lambda e: rng_streams(3, N), bot("rng_states")),
    "bot's out": (lambda e: np.zeros(N, np.int32), bot("out")),
}


def told(call, engine, array):
    """Return what a call gave, or its error; None for an error is no answer."""
    try:
        return call(engine, array), None
    except (ValueError, TypeError) as error:
        return None, error


def same(one, other):
    """Tell whether two arrays hold the same, byte for byte but for padding."""
    if one is None or other is None:
        return one is other
    return np.array_equal(np.asarray(one), np.asarray(other))


def check_call(call, make, kind, engine, twin):
    """Call an engine with an array of a kind, its twin with a plain one, and compare."""
    given, standard = KINDS[kind](make(engine)), make(twin)
    before = everything(engine)
    got, error = told(call, engine, given)
    expected, failure = told(call, twin, standard)
    assert failure is None
    if error is None:
        assert kind not in REFUSED
        assert same(got, expected)
        assert same(given, standard), "what was written, or left"
    else:
        text = str(error)
        assert "\n" not in text
        assert len(text) < LONGEST
        assert everything(engine) == before
        call(engine, make(engine))
    assert everything(engine) == everything(twin)
    return error


def doors_of(game):
    return [
        name
        for name in DOORS
        if game.bot_names or RaceGame is type(game) or name not in ("rng_states", "bot's out")
    ]


@pytest.mark.parametrize(
    ("env_id", "backend"),
    [
        *(marked(env_id, FASTEST) for env_id in IDS),
        *((each, "reference") for each in READABLE if each != DEAR),
        *late(*together([(DEAR, "reference")])),
    ],
)
def test_every_door_of_an_engine(env_id, backend):
    check_engine(game_of(env_id), backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_door_of_an_engine_of_several_agents(backend):
    check_engine(RaceGame(), backend)


def check_engine(game, backend):
    engine, twin = (BatchEngine(game, N, backend) for _ in range(2))
    for each in (engine, twin):
        each.reset_many(seeds=3)
    taken = set()
    for name in doors_of(game):
        make, call = DOORS[name]
        for kind in KINDS:
            if kind == "objects" and make(engine).dtype.names:
                continue  # objects of a record are tuples: another dtype, as of any other array
            if check_call(call, make, kind, engine, twin) is None:
                taken.add((name, kind))
    for name in doors_of(game):
        assert (name, "subclass") in taken
    assert ("seeds", "objects") in taken
    assert ("actions", "read-only") in taken
    assert ("rows", "unaligned") in taken


# -- views -----------------------------------------------------------------------------------------


def view_doors(vec):
    """Return what is given to a vector environment, and the call that takes it."""
    doors = {
        "actions": (legal(vec.engine), vec.step),
        "rows": (vec.get_states(), vec.set_states),
        "reset_mask": (np.arange(N) != 1, lambda array: vec.reset(options={"reset_mask": array})),
        "seeds": (np.arange(N), lambda array: vec.reset(seed=array)),
        "masks": (vec.engine.mask.copy(), lambda array: sample_legal(array, 0)),
    }
    for name, array in vars(allocate(vec)).items():
        doors[name] = array, lambda out, name=name: vec.step_into(legal(vec.engine), {name: out})
    return doors


@pytest.mark.parametrize(
    ("env_id", "mode"),
    [marked(each, mode) for each in ("race", *IDS) for mode in ("next_step", "same_step")],
)
def test_every_door_of_a_vector_environment(env_id, mode):
    opponent = "fast" if env_id == "race" else None
    vec, twin = (
        FastVectorEnv(game_of(env_id), N, autoreset_mode=mode, opponent=opponent) for _ in range(2)
    )
    for each in (vec, twin):
        each.reset(seed=3)
    for name in view_doors(vec):
        for kind in ("masked", "read-only", "other order", "subclass", "unaligned"):
            given, call = view_doors(vec)[name]
            given, before = KINDS[kind](given), everything(vec.engine)
            standard, stands = view_doors(twin)[name]
            _, error = told(lambda _, array, call=call: call(array), vec, given)
            if error is None:
                assert kind not in REFUSED, name
            else:
                assert len(str(error)) < LONGEST, (name, kind)
                assert everything(vec.engine) == before, (name, kind)
                call(view_doors(vec)[name][0])
            stands(standard)
            assert everything(vec.engine) == everything(twin.engine), (name, kind)


HIDDEN = np.ma.array([0] * (N - 1) + [-(2**31)], mask=[False] * (N - 1) + [True], dtype=np.int64)


def one_env(env_id):
    env = FastEnv(game_of(env_id), opponent="fast" if env_id == "race" else None)
    env.reset(seed=3)
    return env


@pytest.mark.parametrize("env_id", ["race", *IDS])
def test_a_number_under_a_mask_reaches_no_game(env_id):
    """Nor a state: of one environment and of many."""
    env = one_env(env_id)
    before = everything(env.engine)
    for action in (HIDDEN[-1:], HIDDEN[-1], np.ma.masked, np.ma.array(0, mask=True)):
        with pytest.raises(fastenv.InvalidActionError):
            env.step(action)
    with pytest.raises(fastenv.StateError):
        env.set_state(np.ma.array(env.engine.get_states()))
    assert everything(env.engine) == before
    env.step(np.asarray(legal(env.engine)[0]))


def test_so_do_the_adapters():
    torch = pytest.importorskip("fastenv.adapters.torch")
    sb3 = pytest.importorskip("fastenv.adapters.sb3")
    make = partial(fastenv.make_vec, "SkullKingWorker-v0", N, autoreset_mode="same_step")
    tensors, lanes = torch.TorchVecEnv(make()), sb3.make_sb3_vec_env("SkullKingWorker-v0", N)
    for view, take in ((tensors, tensors.step), (lanes, lanes.step)):
        view.reset()
        before = everything(view.engine)
        with pytest.raises(fastenv.InvalidActionError, match="masked"):
            take(HIDDEN)
        assert everything(view.engine) == before
        take(legal(view.engine).view(Liar))


def test_and_games_of_several_players():
    zoo = pytest.importorskip("fastenv.adapters.pettingzoo")
    parallel, turns = zoo.parallel_env(RaceGame()), zoo.aec_env("SkullKingFlat-v0")
    for view in (parallel, turns):
        view.reset(seed=1)
        before = everything(view.engine)
        with pytest.raises(fastenv.InvalidActionError, match="action"):
            view.step(dict.fromkeys(view.agents, HIDDEN[-1:]) if view is parallel else HIDDEN[-1:])
        assert everything(view.engine) == before


@pytest.mark.parametrize("flag", [np.array([True, False]), np.array(1), "yes", 2, None])
def test_flags_are_true_or_false(flag):
    engine = BatchEngine(RaceGame(), N, FASTEST)
    engine.reset_many(seeds=0)
    before, rows, actions = everything(engine), engine.get_states(), np.zeros((N, 2), int)
    for name, call in (
        ("autoreset", lambda: engine.step_many(actions, autoreset=flag)),
        ("skip_reset_if_empty", lambda: engine.reset_many(skip_reset_if_empty=flag)),
        ("trusted", lambda: engine.set_states(rows, trusted=flag)),
        ("trusted", lambda: engine.encode_obs_many(rows, trusted=flag)),
        ("copy", lambda: FastVectorEnv(RaceGame(), N, opponent="fast", copy=flag)),
    ):
        with pytest.raises(fastenv.ConfigError, match=f"{name} must be True or False"):
            call()
    assert everything(engine) == before
    for name in ("use_numba", "use_cython"):
        if flag is not None:
            with pytest.raises(fastenv.ConfigError, match=f"{name} must be True, False or None"):
                FastEnv(RaceGame(), opponent="fast", **{name: flag})


NAMES = np.array(["full", "none"])


@pytest.mark.parametrize("name", ["info_mode", "render_mode", "agents", "opponent"])
def test_arrays_are_no_names(name):
    options = {"opponent": "fast"} | {name: NAMES}
    if name == "agents":
        options.pop("opponent")
    with pytest.raises(fastenv.ConfigError, match=name):
        FastVectorEnv(RaceGame(), N, **options)


@pytest.mark.parametrize(
    ("env_id", "name", "value"),
    [
        ("SkullKingWorker-v0", "goal", 3),
        ("SkullKingWorker-v0", "opponents", ["random"] * 3),
        ("SkullKingWorker-v0", "round_weights", [1.0] * 10),
        ("DrMarioVersus-v0", "level", [3, 4]),
        ("DrMarioFrame-v0", "game_seed", 77),
    ],
)
def test_knobs_take_arrays_as_the_lists_they_hold(env_id, name, value):
    engine, twin = (BatchEngine(game_of(env_id), N) for _ in range(2))
    engine.configure(name, np.array(value).view(Liar))
    twin.configure(name, value)
    assert engine.get_knob(name) == twin.get_knob(name)
    assert everything(engine) == everything(twin)
    with pytest.raises(fastenv.ConfigError, match="masked"):
        engine.configure(name, np.ma.array(value))
    assert everything(engine) == everything(twin)
