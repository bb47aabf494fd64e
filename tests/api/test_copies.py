"""Copies of every view of every id go on as the original would, in everything that they show."""

import copy
import pickle

import numpy as np
import pytest

import fastenv
from fastenv.vector import allocate
from tests.api.short import SEVERAL, short
from tests.slow import diagonal
from tests.tables import walk

N, BEFORE, STEPS = 3, 15, 60  # episodes end within them
COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda view: pickle.loads(pickle.dumps(view))}
BUFFERS = ("obs", "mask", "reward", "terms", "terminated", "truncated", "tau", "final_obs", "ended")
SUMS = ("ep_return", "ep_length", "ep_frames")


def options_of(env_id):
    """Return options with which steps and episodes are short."""
    if env_id.startswith("SkullKing"):
        return {"opponents": "random"}
    if env_id.startswith(("GameBoy", "LanternWalk")) and "Link" not in env_id:
        options = {"max_steps": 40, "sticky": 0.25, "start_state": None, "states": "lantern_walk"}
        frames = {"frames_per_step": 2, "release_after_frames": 1}
        return options if "Goal" in env_id else options | frames  # our goal is one of 24 frames
    return short(env_id)


def rng_of(seed):
    return np.random.default_rng(seed)


def frozen(value):
    """Return nested results as nested tuples of bytes, numbers and names, types told."""
    if type(value).__module__.startswith("torch"):
        value = ("tensor", value.numpy())
    if isinstance(value, np.ndarray) and value.dtype.names:  # what is between fields is nothing
        return value.shape, *((name, frozen(value[name])) for name in value.dtype.names)
    if isinstance(value, np.ndarray):
        parts = map(frozen, value.flat) if value.dtype == object else [value.tobytes()]
        return value.dtype, value.shape, *parts
    if isinstance(value, dict):
        return type(value), *((name, frozen(part)) for name, part in value.items() if name != "t")
    if isinstance(value, (list, tuple)):
        return type(value), *map(frozen, value)
    if isinstance(value, (np.generic, float)):
        return type(value), np.asarray(value).tobytes()
    return frozen(value()) if callable(value) else value  # a bound method of SB3


class Driver:
    """How a kind of view is made, begun, stepped and looked at."""

    options = {}  # noqa: RUF012

    def __init__(self, view):
        self.view = view

    def reset(self, seed=None):
        return self.view.reset(seed=seed)

    def masks(self):
        return self.view.engine.mask

    def step(self, rng):
        return self.view.step(fastenv.sample_legal(self.masks(), rng))

    def look(self):
        """Return what there is to see without a step."""
        return self.view.get_states(), self.view.action_masks()


class Engine(Driver):
    make = staticmethod(fastenv.make_engine)

    def reset(self, seed=None):
        self.view.reset_many(seeds=seed)

    def masks(self):
        return self.view.mask

    def step(self, rng):
        self.view.step_many(fastenv.sample_legal(self.masks(), rng))

    def look(self):
        view = self.view
        columns = (view.info, view.final_info, view.get_seating(), view.never_reset())
        shown = [getattr(view, name) for name in (*BUFFERS, *SUMS)]
        return shown, columns, view.get_states(), view.encode_obs_many()


class ElsewhereEngine(Engine):
    """Results go to other buffers, and the engine's own stay behind."""

    def step(self, rng):
        obs, mask = np.zeros_like(self.view.obs), np.zeros_like(self.view.mask)
        legal = self.view.action_masks_many()
        self.view.step_many(fastenv.sample_legal(legal, rng), obs, mask)
        return obs, mask

    def look(self):
        return self.view.obs, self.view.mask, *super().look()


class Single(Driver):
    make = staticmethod(lambda env_id, _n, **options: fastenv.make(env_id, **options))

    def step(self, rng):
        if self.view.engine.ended[0]:
            return self.reset()
        return self.view.step(int(fastenv.sample_legal(self.masks(), rng)[0]))

    def look(self):
        return self.view.get_state(), self.view.action_masks(), self.view.np_random.random()


class Vector(Driver):
    make = staticmethod(fastenv.make_vec)

    def step(self, rng):
        ended = self.view.engine.ended
        if self.view.autoreset_mode.value == "Disabled" and ended.any():
            return self.view.reset(options={"reset_mask": ended.copy()})
        return super().step(rng)

    def look(self):
        view, columns = self.view, list(self.view.engine.info)
        called = [view.call(name) for name in (*columns, "action_masks", "backend")]
        return *super().look(), called, view.np_random.random(), view.np_random_seed


class Into(Vector):
    """By ``step_into``, with buffers of the caller's own for all of it."""

    def step(self, rng):
        out = allocate(self.view)
        self.view.step_into(fastenv.sample_legal(self.view.action_masks(), rng), out)
        return vars(out)


class ForSB3(Driver):
    @staticmethod
    def make(env_id, n, vec_env_kwargs=None, **options):
        from fastenv.adapters.sb3 import make_sb3_vec_env

        return make_sb3_vec_env(env_id, n, vec_env_kwargs=vec_env_kwargs, **options)

    def reset(self, seed=None):
        self.view.seed(seed)
        return self.view.reset()

    def step(self, rng):
        return self.view.step(fastenv.sample_legal(self.masks(), rng))

    def masks(self):
        return np.stack([*self.view.env_method("action_masks")]).reshape(N, -1)

    def look(self):
        engine = self.view.engine
        some = {name: self.view.get_attr(name) for name in (*engine.info, "action_masks")}
        masks = (
            self.view.env_method("action_masks"),
            self.view.env_method("action_masks", indices=1),
        )
        return some, masks, engine.get_states(), engine.mask


class ForDummies(ForSB3):
    """SB3's own vector over single environments."""

    def look(self):
        return self.view.env_method("action_masks"), self.view.env_method("get_state")


class Tensors(Driver):
    @staticmethod
    def make(env_id, n, **options):
        from fastenv.adapters.torch import TorchVecEnv

        return TorchVecEnv(fastenv.make_vec(env_id, n, **options))

    def masks(self):
        return self.view.mask.numpy()

    def look(self):
        view = self.view
        names = ("obs", "mask", "reward", "terminated", "truncated", "tau")
        sums = (view.final_obs, view.episode_return, view.episode_length)
        return [getattr(view, name) for name in names], sums, view.engine.get_states()


class Parallel(Driver):
    @staticmethod
    def make(env_id, _n, **options):
        from fastenv.adapters.pettingzoo import parallel_env

        return parallel_env(env_id, **options)

    def step(self, rng):
        if not self.view.agents:
            return self.reset()
        masks = [seen["action_mask"] for seen in self.view._observations().values()]
        actions = fastenv.sample_legal(np.stack(masks), rng)
        return self.view.step(dict(zip(self.view.agents, actions, strict=True)))

    def look(self):
        return self.view.agents, self.view.engine.get_states()


class Turns(Driver):
    @staticmethod
    def make(env_id, _n, **options):
        from fastenv.adapters.pettingzoo import aec_env

        return aec_env(env_id, **options)

    def step(self, rng):
        if not self.view.agents:
            return self.reset()
        over = any(self.view.last()[2:4])
        return self.view.step(None if over else int(fastenv.sample_legal(self.masks(), rng)[0]))

    def look(self):
        view = self.view
        agents = [(name, view.observe(name)) for name in view.possible_agents]
        paid = (view.rewards, view._cumulative_rewards, view.terminations, view.truncations)
        told = view.last() if view.agents else None
        return agents, paid, told, view.agents, view.agent_selection, view.engine.get_states()


class ForRLlib(Driver):
    @staticmethod
    def make(env_id, n, **options):
        from fastenv.adapters.rllib import RLlibVectorEnv

        return RLlibVectorEnv({"env": env_id, "num_envs": n, **options})

    def look(self):
        return self.view.engine.get_states(), self.view.engine.obs


MODES = ("next_step", "same_step", "disabled")
BLOCK = {
    "masks": "block",
    "mask_buffers": "engine",
    "obs_buffers": "pingpong",
    "infos": "shared",
}
QUICK = {
    "engine": (Engine, {}),
    "single": (Single, {}),
    "vector": (Vector, {}),
    "sb3": (ForSB3, {}),
    "torch": (Tensors, {"autoreset_mode": "same_step"}),
    "rllib": (ForRLlib, {}),
}
MORE = {
    "engine, results elsewhere": (ElsewhereEngine, {}),
    "vector, same_step": (Vector, {"autoreset_mode": "same_step"}),
    "vector, disabled": (Vector, {"autoreset_mode": "disabled"}),
    "vector, no copies": (Vector, {"copy": False}),
    "vector, statistics": (Vector, {"info_mode": "stats"}),
    "vector, step_into": (Into, {}),
    "sb3, other options": (ForSB3, {"vec_env_kwargs": BLOCK}),
    "torch, next_step": (Tensors, {"autoreset_mode": "next_step"}),
}
OF_AGENTS = {
    "vector, all agents": (Vector, {"agents": "all"}),
    "torch, all agents": (Tensors, {"agents": "all"}),
}
OF_PLAYERS = {"parallel": (Parallel, {}), "aec": (Turns, {})}
NEEDS = {ForSB3: "stable_baselines3", Tensors: "torch", Parallel: "pettingzoo", Turns: "pettingzoo"}
NEEDS |= {ForRLlib: "ray"}
IDS = [name.rpartition("/")[2] for name in fastenv.list_envs()]
WITH_ALL = (
    "SkullKingWorker-v0",
    "DrMarioVersus-v0",
)  # the other ids have a third of these, and all when there is time


def cases():
    """Yield id, name, kind of view and its options; those that take longer are marked."""
    for k, env_id in enumerate(IDS):
        several = fastenv.make_game(env_id).spec.num_agents > 1
        views = QUICK | (OF_AGENTS if several else {})
        views |= OF_PLAYERS if f"fastenv/{env_id}" in SEVERAL else {}
        for number, (name, (kind, options)) in enumerate((views | MORE).items()):
            in_turn = name == "engine" or number % 3 == k % 3
            late = not (env_id in WITH_ALL or (name not in MORE and in_turn))
            marks = [pytest.mark.slow] if late else []
            yield pytest.param(env_id, kind, options, id=f"{env_id}, {name}", marks=marks)


def record(driver, steps=STEPS):
    """Return all that a view shows now and in its next steps, frozen."""
    rng, seen = rng_of(1), [frozen(driver.look())]
    for step in range(steps):
        seen.append(frozen(driver.step(rng)))
        if step % 5 == 0:
            seen.append(frozen(driver.look()))
    return [*seen, frozen(driver.look())]


def assert_copies_go_on(driver, steps=STEPS):
    """Copy a view in every way: originals and copies then go the same way, each alone."""
    twins = {how: type(driver)(COPIES[how](driver.view)) for how in COPIES}
    seen = {how: record(twin, steps) for how, twin in twins.items()}
    ours = record(driver, steps)
    for how, theirs in seen.items():
        pairs = enumerate(zip(ours, theirs, strict=True))
        assert next((i for i, (one, other) in pairs if one != other), None) is None, how


def driver_of(kind, *args, **options):
    if kind in NEEDS:
        pytest.importorskip(NEEDS[kind])
    return kind(kind.make(*args, **options))


@pytest.mark.parametrize(("env_id", "kind", "options"), list(cases()))
def test_copies_go_on_as_the_original(env_id, kind, options):
    driver, rng = driver_of(kind, env_id, N, **options_of(env_id), **options), rng_of(0)
    driver.reset(seed=3)
    for _ in range(BEFORE):
        driver.step(rng)
    assert_copies_go_on(driver)


# Of the backends and kinds of views that hold something of their own between steps.
@walk(
    ("backend", "kind"),
    diagonal(["reference", "numba", "cython", "fast"], [Engine, Single, Vector, ForSB3, Tensors]),
)
def test_copies_go_on_on_every_backend(backend, kind):
    if kind is ForSB3 and backend == "reference":
        kind = ForDummies
    game = {"schedule": (2, 1), "opponents": "random"}
    driver, rng = driver_of(kind, "SkullKingWorker-v0", N, backend=backend, **game), rng_of(0)
    driver.reset(seed=4)
    for _ in range(BEFORE):
        driver.step(rng)
    assert_copies_go_on(driver, 30)


@walk(
    ("kind", "game"),
    [(kind, "SkullKingWorker-v0") for kind in (Single, Vector, Parallel, Turns)]
    + [(kind, "DrMarioVersus-v0") for kind in (Parallel, Turns)],
)
def test_a_copy_made_between_episodes_begins_the_one_that_follows(kind, game):
    driver, rng = driver_of(kind, game, N, **options_of(game)), rng_of(0)
    driver.reset(seed=5)
    while not driver.view.engine.ended.any():
        driver.step(rng)
    assert_copies_go_on(driver, 10)
    driver.view.close()
    for how in COPIES.values():
        twin = kind(how(driver.view))
        with pytest.raises(fastenv.ResetNeededError):
            twin.view.step({} if kind is Parallel else np.zeros(N, int) if kind is Vector else 0)


@walk("how", COPIES)
@walk("kind", [Engine, Single, Vector, ForSB3, Tensors])
def test_a_copy_of_a_view_that_was_never_reset_can_be(kind, how):
    driver = driver_of(kind, "SkullKingWorker-v0", N)
    twin = kind(COPIES[how](driver.view))
    for one in (driver, twin):
        one.reset(seed=6)
    assert record(twin, 10) == record(driver, 10)


@pytest.mark.parametrize("how", COPIES)
def test_attributes_that_a_user_has_set_are_copied(how):
    env = fastenv.make("SkullKingWorker-v0")
    env.reset(seed=1)
    env.note = {"seen": [1, 2]}
    copied = COPIES[how](env)
    assert copied.note == {"seen": [1, 2]}
    assert copied.note is not env.note
    assert vars(copied).keys() == vars(env).keys()


# -- a state alone ---------------------------------------------------------------------------------

# Episodes in which both players decide several times, and not together.
BOTH_DECIDE = {"DrMarioVersus-v0": {"level": 15, "speed": "high", "task_max_spawns": 6}}


def told_at_the_end(env):
    """Play an episode out; return what single environments tell, the actions and the states."""
    rng, rows, actions, told, over = rng_of(0), [], [], [], False
    env.reset(seed=3)
    while not over:
        rows.append(env.get_state())
        actions.append(int(fastenv.sample_legal(env.action_masks()[None], rng)[0]))
        told.append(env.step(actions[-1]))
        over = any(told[-1][2:4])
    return told, actions, rows


def assert_a_state_is_enough(env_id, **options):
    """Load the state of half an episode into other environments: they end it as the original."""
    options = options_of(env_id) | BOTH_DECIDE.get(env_id, {}) | options
    told, actions, rows = told_at_the_end(fastenv.make(env_id, **options))
    at = len(rows) // 2
    other = fastenv.make(env_id, **options)
    other.reset(seed=8)
    other.set_state(rows[at])
    assert [frozen(other.step(action)) for action in actions[at:]] == [*map(frozen, told[at:])]
    lanes = fastenv.make_vec(env_id, 2, autoreset_mode="disabled", **options)
    lanes.reset(seed=8)
    lanes.set_states(np.array([rows[at]] * 2))
    for action in actions[at:]:
        infos = lanes.step(np.full(2, action))[-1]
    for name in ("episode_return", "episode_length", "episode_frames"):
        assert (name in infos) == (name in told[-1][-1])
        if name in infos:
            assert infos[name].tolist() == [told[-1][-1][name]] * 2


@pytest.mark.parametrize("env_id", IDS)
def test_a_state_in_another_environment_ends_the_same_episode(env_id):
    assert_a_state_is_enough(env_id)


@pytest.mark.parametrize("backend", ["reference", "numba", "cython"])
def test_a_state_in_another_environment_ends_the_same_episode_on_every_backend(backend):
    assert_a_state_is_enough("DrMarioVersus-v0", backend=backend)
