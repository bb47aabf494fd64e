"""Shared records of every game: each field is taken by all four backends alike, or refused."""

import copy
import pickle

import numpy as np
import pytest

import fastenv
from fastenv.drmario.state import COEFFICIENTS
from fastenv.engine import BatchEngine
from fastenv.game import first_difference as first_field
from fastenv.skullking.config import REPLACEABLE
from fastenv.vector import sample_legal
from fastenv.verify import first_difference
from tests.needs import FASTEST
from tests.race import HERE, everything
from tests.slow import diagonal, late
from tests.tables import walk
from tests.toy import RaceGame

PLANES = {"obs": "bitplane_bottle", "stack": 1, "intro_frames": 1}
WORLD = {"frames_per_step": 1, "release_after_frames": 1, "stack_k": 1}
FLAT = {"num_players": 3, "abilities": "agent", "schedule": (2, 3)}
# Flat Skull King is a whole game in any case, and shows who decides about abilities.
FLAT_RULES = {f"rules.{name}" for name in REPLACEABLE} - {"rules.full_game", "rules.abilities"}
# name -> id, options, lanes, steps behind each change (all play at the end), fields that must be
# taken
GAMES = {
    "flat": ("SkullKingFlat-v0", FLAT, 2, 20, FLAT_RULES),
    "worker": ("SkullKingWorker-v0", {}, 2, 8, {"rules.goal_bonus", "rules.abilities"}),
    "manager": ("SkullKingManager-v0", {}, 2, 5, {"rules.full_game", "rules.reward"}),
    "prospector": ("Prospector-v0", {"time_max": 60.0}, 2, 40, {"rules.time_max"}),
    "placement": (
        "DrMarioPlacement-v0",
        {"level": 3},
        2,
        1,
        {f"rules.{name}" for name in COEFFICIENTS} | {"rules.replay", "rules.max_wait_frames"},
    ),
    "match": ("DrMarioVersusFrame-v0", PLANES, 2, 5, {"rules.garbage_coef", "rules.first_frame"}),
    "world": (
        "LanternWalk-v0", WORLD, 1, 0,
        {"starts", "head.rules.cell_bonus", "head.rules.sticky", "head.video_is_open"},
    ),
    "goal": ("GameBoyGoal-v0", {}, 1, 0, {"head.rules.alpha", "head.rules.threshold"}),
}  # fmt: skip
QUICK = ("flat", "manager")


def leaves(dtype, path=()):
    """Return the paths of the fields of a record that are numbers."""
    for name in dtype.names:
        part = dtype[name]
        if part.names:
            yield from leaves(part, (*path, name))
        elif part.itemsize:  # an environment without a goal has a goal of no bytes
            yield (*path, name)


def at(record, path):
    for name in path:
        record = record[name]
    return record


def other_values(field, rng):
    """Return values of a field near its own, at the ends of its type and anywhere."""
    if field.dtype.kind == "f":
        around = [field * 2 + 0.5, np.where(field > 0, field / 2, 1.0)]
        wild = [np.full_like(field, value) for value in (np.nan, -np.inf, 1e6)]
        return [*around, *wild]
    near = field.copy()
    near.reshape(-1)[0] ^= 1
    limits = np.iinfo(field.dtype)
    wild = rng.integers(limits.min, limits.max, field.shape, field.dtype, endpoint=True)
    ends = [np.full_like(field, value) for value in (limits.min, limits.max)]
    return [near, field + field.dtype.type(1), *ends, wild]


def told(engine, shared, before):
    """Return how an engine that shows ``before`` refuses a record, or None."""
    try:
        engine.set_shared(shared)
    except ValueError as error:
        assert everything(engine) == before
        text = str(error)
        assert len(text) < 500
        return text
    return None


def play(engines, steps, rng):
    """Step all engines alike, and compare all that they show."""
    for _ in range(steps):
        actions = sample_legal(engines[0].mask, rng)
        for engine in engines:
            engine.step_many(actions)
        for engine in engines[1:]:
            assert first_difference(engines[0], engine) is None


@walk("most", [1, *late(5)])
@walk("name", [*QUICK, *late(*(name for name in GAMES if name not in QUICK))])
def test_each_field_is_taken_by_all_backends_alike_or_refused(name, most):
    env_id, options, lanes, steps, must = GAMES[name]
    game, rng = fastenv.make_game(env_id, **options), np.random.default_rng(1)
    backends = HERE if lanes > 1 else [b for b in HERE if b in ("reference", FASTEST)]
    engines = [BatchEngine(game, lanes, backend) for backend in backends]
    for engine in engines:
        engine.reset_many(seeds=2)
    play(engines, steps, rng)
    taken, shown = set(), [*map(everything, engines)]
    for path in leaves(game.shared.dtype):
        values = other_values(at(engines[0].game.shared, path), rng)
        where = ".".join(path)
        count = most if steps else 3 if where in must else min(most, 3)
        for value in values[:count]:
            shared = engines[0].game.shared.copy()
            at(shared, path)[...] = value
            pairs = zip(engines, shown, strict=True)
            answers = {told(engine, shared, before) for engine, before in pairs}
            assert len(answers) == 1, (path, answers)
            if answers != {None}:
                continue
            if shared.tobytes() != game.shared.tobytes():
                taken.add(where)
                if where in must:
                    play(engines, steps, rng)
            shown = [*map(everything, engines)]
    assert must <= taken
    play([*engines, *map(copy.deepcopy, engines)], 2 * steps or 1, rng)


COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda each: pickle.loads(pickle.dumps(each))}


def views_of(env_id, options):
    """Return every kind of view of a game, and of each its engine."""
    engine = fastenv.make_engine(env_id, 2, **options)
    yield engine, engine
    for view in (fastenv.make(env_id, **options), fastenv.make_vec(env_id, 2, **options)):
        yield view, view.engine
    torch, sb3 = (pytest.importorskip(f"fastenv.adapters.{name}") for name in ("torch", "sb3"))
    for view in (
        torch.TorchVecEnv(fastenv.make_vec(env_id, 2, **options)),
        sb3.make_sb3_vec_env(env_id, 2, **options),
    ):
        yield view, view.engine
    if env_id == "SkullKingFlat-v0":
        zoo = pytest.importorskip("fastenv.adapters.pettingzoo")
        view = zoo.aec_env(env_id, **options)
        yield view, view.engine


CHANGES = {
    "SkullKingFlat-v0": ("rules", "scoring", 1, {}),
    "Prospector-v0": ("rules", "time_max", 77.0, {"time_max": 50.0}),
    "DrMarioFrame-v0": ("rules", "topout_penalty", -3.0, {}),
    "LanternWalk-v0": ("head", "fixed_frames", 1, {}),
}


@pytest.mark.parametrize(("env_id", "how"), diagonal(CHANGES, COPIES))
def test_copies_of_every_view_have_the_record_and_the_id(env_id, how):
    part, field, value, options = CHANGES[env_id]
    for view, engine in views_of(env_id, options):
        shared = engine.game.shared.copy()
        shared[part][field] = value
        if "starts" in (shared.dtype.names or ()):
            shared["starts"] = shared["starts"][:, ::-1]
        engine.set_shared(shared)
        again = COPIES[how](view)
        its = getattr(again, "engine", again).game
        assert first_field(its.shared, shared) is None
        assert its.env_id == env_id
        assert engine.game.env_id == env_id
        if hasattr(view, "game"):  # what it renders by
            assert view.game is engine.game


OTHER_OPTIONS = {
    "SkullKingWorker-v0": {"scoring": "rascal", "goal_bonus": 2.5, "late_suit": True},
    "Prospector-v0": {"time_max": 30.0},
    "DrMarioPlacement-v0": {"topout_penalty": -7.0, "max_wait_frames": 50},
    "LanternWalk-v0": {"cell_bonus": 0.5, "max_steps": 3, "states": "lantern_walk_held_out"},
}


@pytest.mark.parametrize("env_id", OTHER_OPTIONS)
def test_an_engine_given_a_record_plays_as_one_made_with_it(env_id):
    made, given = (fastenv.make_engine(env_id, 2, **o) for o in (OTHER_OPTIONS[env_id], {}))
    given.set_shared(made.game.shared)
    for engine in (made, given):
        engine.reset_many(seeds=3)
    play([made, given], 12, np.random.default_rng(0))


def test_rows_that_a_record_does_not_allow_keep_it_out():
    engine = fastenv.make_engine("Prospector-v0", 2)
    engine.reset_many(seeds=1)
    before, shared = everything(engine), fastenv.make_game("Prospector-v0", time_max=9.0).shared
    with pytest.raises(fastenv.StateError, match="lane 0: time_remaining"):
        engine.set_shared(shared)
    assert everything(engine) == before
    assert engine.game.config.time_max > 9.0
    rows = engine.get_states()
    rows["time_remaining"] = 9.0
    engine.set_states(rows)
    engine.set_shared(shared)
    assert engine.game.config.time_max == 9.0


@pytest.mark.parametrize("how", COPIES)
def test_rows_beside_a_trusted_record_are_copied_as_they_are(how):
    engine = fastenv.make_engine("Prospector-v0", 2)
    engine.reset_many(seeds=1)
    shared = fastenv.make_game("Prospector-v0", time_max=9.0).shared
    engine.set_shared(shared, trusted=True)
    assert COPIES[how](engine).get_states().tobytes() == engine.get_states().tobytes()


def test_start_states_that_no_machine_can_be_in_are_refused():
    engine = fastenv.make_engine("GameBoyPixels-v0", 1)
    shared = engine.game.shared.copy()
    shared["starts"] = 0xFF
    with pytest.raises(fastenv.StateError, match="shared: starts: lane 0"):
        engine.set_shared(shared)
    assert not engine.game.keeps_shared
    engine.set_shared(engine.game.shared, trusted=True)


def test_a_game_that_cannot_check_takes_a_trusted_record_alone():
    class Unchecked(RaceGame):
        def with_shared(self, shared, trusted=False):
            return super(RaceGame, self).with_shared(shared, trusted)

        def __reduce__(self):
            return object.__reduce__(self)

    game = Unchecked()
    game.spec  # noqa: B018
    engine, shared = BatchEngine(game, 2, "reference"), game.shared.copy()
    shared["goal"] = 7
    engine.set_shared(game.shared)
    with pytest.raises(fastenv.ConfigError, match="shared: goal must stay 20, got 7"):
        engine.set_shared(shared)
    engine.set_shared(shared, trusted=True)
    assert engine.game.shared["goal"][0] == 7


@pytest.mark.parametrize(
    ("env_id", "name"),
    [("SkullKingWorker-v0", "rules.goal_bonus"), ("LanternWalk-v0", "head.rules.cell_bonus")],
)
def test_rewards_that_no_float32_can_hold_are_refused_at_every_door(env_id, name):
    *_, option = path = name.split(".")
    said = f"{option}=-?1e.300 .* from -1000000 to 1000000"
    engine = fastenv.make_engine(env_id, 1)
    for bonus in (1e300, -1e300):
        with pytest.raises(fastenv.ConfigError, match=said):
            fastenv.make_game(env_id, **{option: bonus})
        shared = engine.game.shared.copy()
        at(shared, path)[...] = bonus
        with pytest.raises(fastenv.ConfigError, match=said):
            engine.set_shared(shared)
    at(shared, path)[...] = 1e6
    engine.set_shared(shared)
