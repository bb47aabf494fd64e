"""A game that does not fit together is refused when an engine is made, by the field's name."""

import numpy as np
import pytest

from fastenv.engine import BatchEngine
from fastenv.env import FastEnv
from fastenv.errors import ConfigError
from fastenv.verify import Case
from tests.needs import needs_core
from tests.race import OtherFunctions, engine_of, with_spec
from tests.tables import walk
from tests.toy import FIXED, RACE_INFO, RACE_OBS, STATE, RaceGame, WalkGame


def refuses(game, message, backend="reference", **options):
    with pytest.raises(ConfigError, match=message):
        BatchEngine(game, 2, backend, **options)


# -- rows ------------------------------------------------------------------------------------------


def state_of(fields=FIXED, align=True, tail=("board", "u1", (24,)), **changes):
    """Return the race's rows with fields of other types or more, without those that are None."""
    added = [(name, *changes[name]) for name in {*changes} - {name for name, *_ in [*fields, tail]}]
    made = [
        (name, *changes.get(name, kind))
        for name, *kind in [*fields, *added, tail]
        if changes.get(name, ()) is not None
    ]
    return np.dtype(made, align=align)


def test_the_rows_of_the_race_themselves_are_taken():
    BatchEngine(with_spec(RaceGame(), state_dtype=state_of()), 2, "reference")


NEEDED = ("done", "ep_return", "ep_length", "tau", "ep_frames", "needs_action", "bot_rng")


@walk("name", NEEDED)
def test_a_row_without_a_field_that_the_engine_needs(name):
    """Also one with frames of the episode and none of the decisions: half a clock is a mistake."""
    refuses(with_spec(RaceGame(), state_dtype=state_of(**{name: None})), f"'{name}'")


MISTYPED = {
    "done": [("i4",), ("u1",), ("?",), ("i1", (2,))],
    "ep_return": [("f4", (2,)), ("f8",), ("f8", (3,)), ("f8", (2, 1)), ("i8", (2,))],
    "ep_length": [("i8",), ("u4",), ("i4", (2,)), ("f4",)],
    "tau": [("i4",), ("i8", (2,)), ("u4", (2,)), ("i4", (1,))],
    "ep_frames": [("i8",), ("i4", (2,))],
    "needs_action": [("u1",), ("?", (2,)), ("i1", (2,)), ("i4", (2,))],
    "bot_rng": [("u8",), ("u8", (2,)), ("i8", (4,)), ("u4", (8,))],
    "ends": [("i1",), ("u1", (2,)), ("i1", (3,))],
}


@walk(("name", "kind"), [(n, k) for n in MISTYPED for k in MISTYPED[n]])
def test_a_field_of_another_type(name, kind):
    changed = with_spec(RaceGame(), state_dtype=state_of(**{name: kind}))
    refuses(changed, f"state_dtype: '{name}' is .*, must be ")


def test_a_row_that_is_no_struct():
    refuses(with_spec(RaceGame(), state_dtype=state_of(align=False)), "state_dtype=.*aligned")
    refuses(with_spec(RaceGame(), state_dtype=np.dtype("u1")), "state_dtype=uint8: .*structured")
    walk = np.dtype([(n, STATE[n]) for n in STATE.names], align=False)
    refuses(with_spec(WalkGame(), state_dtype=walk), "state_dtype=.*aligned")


@walk(
    "tail",
    [
        ("done",),
        ("board", "pad"),
        ("pad",),
        ("colour",),
        ("board", "board"),
        tuple(STATE.names) * 9,
    ],
)
def test_a_tail_that_is_not_at_the_end(tail):
    refuses(with_spec(RaceGame(), tail=tail), "tail=.*must name the last fields of the row")


@pytest.mark.parametrize("kind", ["i1", "?", "u2", "f4"])
def test_a_tail_of_other_than_bytes(kind):
    changed = state_of(tail=("board", kind, (24,)))
    refuses(with_spec(RaceGame(), state_dtype=changed), "tail: 'board' is .*, must be of uint8")


@pytest.mark.parametrize("changes", [{"num_agents": 3}, {"num_agents": 1}])
def test_a_row_for_another_number_of_agents(changes):
    refuses(with_spec(RaceGame(), **changes), "state_dtype: 'ep_return' is .*, must be ")


@walk("name", ["num_agents", "num_actions"])
@walk("number", [0, -1, 1.5])
def test_numbers_that_count_nothing(name, number):
    refuses(with_spec(WalkGame(), **{name: number}), f"{name}=")


@walk("stops", ["round", ["round"], ("",), ("=",), (None,), None])
def test_conditions_without_a_name(stops):
    refuses(with_spec(WalkGame(), stops=stops), "stops=.*: must be a tuple of names")


# -- observation and reward ------------------------------------------------------------------------


BOUNDS = {"ahead": (0, 9), "me": (-100.0, 100.0), "clock": (0, 32767)}
OBSERVATIONS = {
    "packed": (
        {"obs_dtype": np.dtype([(n, RACE_OBS[n]) for n in RACE_OBS.names])},
        "obs_dtype: 'me' is not aligned to its 4 bytes",
    ),
    "too short": (
        {"obs_dtype": np.dtype([("me", "f4", (2, 2)), ("clock", "i2"), ("ahead", "u1", (1,))])},
        "obs_dtype has 19 bytes, must have a multiple of 4.*align=True",
    ),
    "objects": (
        {"obs_dtype": np.dtype([("ahead", "O"), ("me", "f4"), ("clock", "i2")])},
        "'ahead'",
    ),
    "text": ({"obs_dtype": np.dtype([("ahead", "U4"), ("me", "f4"), ("clock", "i2")])}, "'ahead'"),
    "nested": (
        {"obs_dtype": np.dtype([("ahead", RACE_OBS), ("me", "f4"), ("clock", "i2")], align=True)},
        "obs_dtype: 'ahead'",
    ),
    "shape": ({"obs_shape": (2,)}, r"obs_shape=\(2,\): a structured observation has shape \(\)"),
    "one pair": ({"obs_bounds": (-1.0, 1.0)}, "obs_bounds: must have one pair for each of ahead"),
    "a pair less": ({"obs_bounds": {"ahead": (0, 9), "me": (-1.0, 1.0)}}, "obs_bounds"),
    "a pair more": ({"obs_bounds": BOUNDS | {"wind": (0, 1)}}, "obs_bounds"),
    "other names": ({"obs_bounds": {"a": (0, 1), "b": (0, 1), "c": (0, 1)}}, "obs_bounds"),
}


@walk("kind", OBSERVATIONS)
def test_a_structured_observation_that_cannot_be_taken_apart(kind):
    changes, message = OBSERVATIONS[kind]
    refuses(with_spec(RaceGame(), **changes), message)


def test_plain_observations():
    for wrong in ("O", "U3", "c8", "V4", "M8[s]"):
        refuses(with_spec(WalkGame(), obs_dtype=np.dtype(wrong)), "obs_dtype=")
    refuses(with_spec(WalkGame(), obs_bounds={"position": (0, 1)}), "obs_bounds")


@pytest.mark.parametrize("name", ["obs_dtype", "reward_dtype"])
def test_types_are_given_as_dtypes(name):
    """``np.float32`` is what one writes first: it is no dtype yet."""
    refuses(with_spec(WalkGame(), **{name: np.float32}), f"{name}=.*must be a NumPy dtype")


@walk("kind", [int, "i4", "f2", "O", "c16", "?"])
def test_rewards_that_are_no_floats(kind):
    refuses(with_spec(WalkGame(), reward_dtype=np.dtype(kind)), "reward_dtype=.*float32 or float64")


def test_what_to_do_about_illegal_actions():
    for wrong in ("ignore", "", None, True):
        refuses(with_spec(WalkGame(), illegal_actions=wrong), "illegal_actions=.*play or raise")


# -- columns and other records ---------------------------------------------------------------------


RECORDS = ("terms_dtype", "info_dtype", "knobs_dtype", "derived_dtype", "bot_dtype")


@pytest.mark.parametrize("name", RECORDS)
def test_records_that_c_cannot_read(name):
    for fields, message in (
        ([("clock", "O")], f"{name}: 'clock' is object, must be of numbers"),
        ([("clock", "i4"), ("name", "S3")], f"{name}: 'name' is .*, must be of numbers"),
        ([("a", "u1"), ("clock", "f8")], f"{name}: 'clock' is not aligned to its 8 bytes"),
        ([("clock", "f8"), ("a", "u1")], f"{name} has 9 bytes, must have a multiple of 8"),
        ([("clock", "c16")], f"{name}: 'clock' is complex128"),
    ):
        refuses(with_spec(WalkGame(), **{name: np.dtype(fields)}), message)
    refuses(with_spec(WalkGame(), **{name: np.dtype("i4")}), f"{name}=int32: must be a structured")


def test_columns_that_are_not_there():
    refuses(with_spec(RaceGame(), default_info=("clock", "weather")), "default_info.*'weather'")
    refuses(with_spec(RaceGame(), info_labels={"weather": ("dry",)}), "info_labels.*'weather'")
    refuses(
        RaceGame(), "info_columns: 'weather' must be one of clock, .*", info_columns=["weather"]
    )


@pytest.mark.parametrize(
    "name", ["tau", "action_mask", "episode_return", "final_obs", "final_info"]
)
def test_columns_with_names_that_the_views_use(name):
    """They would hide what the view says under that name, or be hidden by it."""
    info = np.dtype([(name, "i4"), ("goal", "i4")], align=True)
    refuses(with_spec(WalkGame(), info_dtype=info), f"info_dtype.*'{name}'")


@walk("name", ["two words", "a-b", "class", "0"])
@walk("kind", ["i4", "u1", "f8"])
def test_columns_may_have_any_name(name, kind):
    info = np.dtype([(name, kind), ("goal", "i4")], align=True)
    env = FastEnv(with_spec(WalkGame(), info_dtype=info), backend="reference")
    assert env.reset(seed=0)[1][name] == 0


def test_default_columns():
    names = ("share", "gain", "places")
    engine = engine_of("reference", game=with_spec(RaceGame(), default_info=names))
    assert (engine.info_columns, engine.term_columns) == (("share", "places"), ("gain",))
    assert tuple(engine.info) == ("share", "places", "gain")


# -- compiled functions ----------------------------------------------------------------------------


SIZES = ("state_size", "knobs_size", "shared_size", "derived_size", "bot_size")
SIZES += ("obs_size", "info_size", "terms_size")
WHERE = {"core": [("cython", 0), ("fast", 0)], "kernels": [("numba", 1), ("fast", 1)]}


@needs_core
@walk("of", WHERE)
@walk("name", SIZES)
def test_functions_compiled_for_other_records(name, of):
    for backend, which in WHERE[of]:
        for size in (1, 10**6):
            changes = [{}, {}]
            changes[which] = {name: size}
            message = f"{name}: the compiled functions have {size} bytes, the game's dtype .*"
            message += r": they were built from other sources; build them again with `make build`"
            refuses(OtherFunctions(*changes), message, backend)
    BatchEngine(OtherFunctions({name: 10**6}, {name: 10**6}), 2, "reference")  # has no use for them


@needs_core
def test_functions_that_were_made_before_a_record_grew():
    """What the sizes are for: the dtype changed, the compiled functions did not."""
    grown = np.dtype([*((n, RACE_INFO[n]) for n in RACE_INFO.names), ("more", "f8")], align=True)
    for backend in ("numba", "fast"):
        refuses(with_spec(RaceGame(), info_dtype=grown), "info_size", backend)
    longer = state_of([*FIXED, ("more", "i8")])
    for backend in ("numba", "cython", "fast"):
        refuses(with_spec(RaceGame(), state_dtype=longer), "state_size", backend)


MISSING = [
    ("core", "reset"),
    ("core", "step"),
    ("core", "derive"),
    ("kernels", "observe"),
    ("kernels", "reward"),
    ("kernels", "info"),
    ("kernels", "derive"),
]


@needs_core
@walk(("of", "name"), MISSING)
def test_functions_that_are_missing(of, name):
    """Without ``derive``, those that read the derived record would read zeros: all is forbidden."""
    for backend, which in WHERE[of]:
        changes = [{}, {}]
        changes[which] = {name: 0}
        if name == "derive" and backend == "fast":
            changes = [{name: 0}, {name: 0}]  # one is enough there
        refuses(OtherFunctions(*changes), f"{name}: the compiled functions of this game", backend)


@needs_core
@pytest.mark.parametrize("of", ["core", "kernels"])
def test_one_of_both_may_compute_the_derived_record(of):
    changes = [{"derive": 0}, {}] if of == "core" else [{}, {"derive": 0}]
    case = Case(
        OtherFunctions(*changes), 3, 4, {"reference": ("reference", 1), "fast": ("fast", 1)}
    )
    for _ in range(60):
        assert case.advance() is None, "seed 3"


@needs_core
def test_a_game_that_refuses_illegal_actions_must_know_them():
    changes = ({"is_legal": 0}, {})
    for backend in ("cython", "fast"):
        BatchEngine(OtherFunctions(*changes), 2, backend)
        refuses(OtherFunctions(*changes, raise_illegal=True), "is_legal", backend)


@pytest.mark.parametrize("backend", ["numba", "cython", "fast"])
def test_a_game_whose_bots_are_written_in_python_alone(backend):
    wanted = engine_of("reference").bot_actions("random", agent=1).tolist()
    engine = engine_of(backend, game=OtherFunctions({}, {"bot": 0}))
    assert engine.bot_actions("random", agent=1).tolist() == wanted


@needs_core
@pytest.mark.parametrize("name", ["chunk", "fetch"])
def test_schedules_that_are_none(name):
    """A negative chunk is no part of the lanes: nothing would be stepped, and nobody told."""
    refuses(OtherFunctions({name: -1}, {}), name, "fast", num_threads=2)


@needs_core
def test_without_columns_the_kernels_need_not_write_any():
    game = with_spec(
        OtherFunctions({}, {"info": 0, "info_size": 0}), info_dtype=np.dtype([]), info_labels={}
    )
    for backend in ("numba", "fast"):
        engine = engine_of(backend, game=game)
        engine.step_many(np.zeros((5, 2), int))
        assert set(engine.info) == {"gain", "progress"}
