"""Results of a view in its default form are the caller's, to keep and to write into."""

import numpy as np
import pytest

import fastenv
from tests.api import test_copies as copies
from tests.api.short import SEVERAL
from tests.slow import diagonal
from tests.tables import walk

N, STEPS, LOOKS = 2, 24, (0, 1, 15)  # most episodes end within them
OPTIONS = {"SkullKingFlat-v0": {"schedule": (1, 2)}}


class Single(copies.Single):
    def look(self):
        shown = self.view.render() if self.view.render_mode else None  # without one it warns
        return self.view.get_state(), self.view.action_masks(), shown


class Vector(copies.Vector):
    def look(self):
        view, names = self.view, (*self.view.engine.info, *knobs_of(self.view.engine))
        called = [view.call(name) for name in (*names, "action_masks", "render")]
        attributes = [view.get_attr(name) for name in names]
        return view.get_states(), view.action_masks(), called, attributes


class ForSB3(copies.ForSB3):
    @staticmethod
    def make(env_id, n, render_mode=None, **options):
        given = {"render_mode": render_mode}
        return copies.ForSB3.make(env_id, n, vec_env_kwargs=given, **options)

    def masks(self):
        return np.stack(self.view.env_method("action_masks"))

    def look(self):
        view, names = self.view, (*self.view.engine.info, *knobs_of(self.view.engine))
        masks = [view.env_method("action_masks", indices=which) for which in (None, 1)]
        methods = [method() for method in view.get_attr("action_masks")]
        return masks, methods, [view.get_attr(name) for name in names], view.get_images()


class Parallel(copies.Parallel):
    def step(self, rng):
        if not self.view.agents:
            return self.reset()
        masks = self.view.engine.mask[0]
        if self.view.engine.num_agents == 1:
            masks = [masks] * len(self.view.agents)
        actions = fastenv.sample_legal(np.stack([*masks]), rng)
        return self.view.step(dict(zip(self.view.agents, actions, strict=True)))

    def look(self):
        return self.view.render()


class Turns(copies.Turns):
    def look(self):
        view = self.view
        told = [view.last(), view.last(observe=False)] if view.agents else None
        return told, [view.observe(name) for name in view.possible_agents], view.render()


class ForRLlib(copies.ForRLlib):
    @staticmethod
    def make(env_id, n, render_mode=None, **options):
        return copies.ForRLlib.make(env_id, n, **options)

    def look(self):
        return None


VIEWS = {
    "single": (Single, {}),
    "vector": (Vector, {}),
    "vector, same_step": (Vector, {"autoreset_mode": "same_step"}),
    "sb3": (ForSB3, {}),
    "rllib": (ForRLlib, {}),
}
OF_PLAYERS = {"parallel": (Parallel, {}), "aec": (Turns, {})}
OF_AGENTS = {"vector, all agents": (Vector, {"agents": "all"})}
copies.NEEDS |= {ForSB3: "stable_baselines3", ForRLlib: "ray"}
copies.NEEDS |= {Parallel: "pettingzoo", Turns: "pettingzoo"}


def knobs_of(engine):
    """Return the knobs that an engine knows."""
    names = {"opponents", "opponent", "schedule", *(engine.spec.knobs_dtype.names or ())}
    found = []
    for name in sorted(names):
        try:
            engine.get_knob(name)
        except AttributeError:
            continue
        found.append(name)
    return found


def overwrite(value):
    """Write into all that is in nested results."""
    if isinstance(value, np.void) or (isinstance(value, np.ndarray) and value.dtype.names):
        for name in value.dtype.names:
            part = value[name]
            if isinstance(part, (np.void, np.ndarray)):
                overwrite(part)
            else:
                value[name] = 77
    elif isinstance(value, np.ndarray):
        assert value.flags.writeable
        if value.dtype == object:
            overwrite([*value.flat])
            value[...] = None
        else:
            value[...] = ~value if value.dtype == bool else 77
    elif isinstance(value, dict):
        overwrite([*value.values()])
        value.clear()
        value["written"] = "here"
    elif isinstance(value, (list, tuple)):
        for part in value:
            overwrite(part)
        if isinstance(value, list):
            value.clear()


def drawn_by(env_id):
    """Return the mode in which pictures of a game are made, if any."""
    modes = fastenv.make_game(env_id).spec.render_modes
    return "rgb_array" if "rgb_array" in modes else None


def assert_results_are_the_caller_s(kind, env_id, steps, **options):
    """Write into all that a view returns: a twin that nobody writes into shows the same."""
    fixed = copies.options_of(env_id) | OPTIONS.get(env_id, {})
    if kind in (Parallel, Turns):
        fixed.pop("opponents", None)  # all seats are agents
    options = {"render_mode": drawn_by(env_id), **fixed, **options}
    ours, twin = (copies.driver_of(kind, env_id, N, **options) for _ in range(2))
    rngs, kept = [copies.rng_of(0), copies.rng_of(0)], []
    for step in range(steps):
        acts = [lambda driver, _: driver.reset(seed=3)] if step == 0 else []
        acts += [lambda driver, rng: driver.step(rng)]
        acts += [lambda driver, _: driver.look()] if step in LOOKS else []
        for act in acts:
            given, wanted = (act(*each) for each in zip((ours, twin), rngs, strict=True))
            frozen = copies.frozen(wanted)
            assert copies.frozen(given) == frozen, f"step {step}: what was returned before shows"
            kept.append((wanted, frozen))
            overwrite(given)
    for wanted, frozen in kept:
        assert copies.frozen(wanted) == frozen, "what was returned has changed later"


def cases():
    """Yield kind of view, id and options; of most ids every second view waits for time."""
    for k, env_id in enumerate(copies.IDS):
        views = {**VIEWS}
        if fastenv.make_game(env_id).spec.num_agents > 1:
            views |= OF_AGENTS
        if f"fastenv/{env_id}" in SEVERAL:
            views |= OF_PLAYERS
        for number, (name, (kind, options)) in enumerate(views.items()):
            late = env_id not in copies.WITH_ALL and number % 2 != k % 2
            marks = [pytest.mark.slow] if late else []
            yield pytest.param(kind, env_id, options, id=f"{env_id}, {name}", marks=marks)


@pytest.mark.parametrize(("kind", "env_id", "options"), list(cases()))
def test_results_are_the_caller_s(kind, env_id, options):
    assert_results_are_the_caller_s(kind, env_id, STEPS, **options)


@walk(
    ("backend", "kind"),
    diagonal(["reference", "numba", "cython"], [Single, Vector, Parallel, Turns]),
)
def test_results_are_the_caller_s_on_every_backend(backend, kind):
    assert_results_are_the_caller_s(kind, "SkullKingWorker-v0", STEPS, backend=backend)
