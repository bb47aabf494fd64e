"""Gymnasium's own suites over every id: none of them was written with our environments in mind."""

import pickle
import re

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils import performance
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.utils.env_match import check_environments_match
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as wrappers

import fastenv
from fastenv.verify import draw_options
from tests.api.short import IDS, short
from tests.processes import run_python
from tests.slow import diagonal, late

BACKENDS = ("reference", "numba", "cython", "fast")
N = 3
every_id = pytest.mark.parametrize("env_id", IDS)


def legal_actions(infos):
    return fastenv.sample_legal(infos["action_mask"], 0).astype(np.int64)


def shape_of(observed):
    """Return the shape of an observation or of its space; by name where it has parts."""
    if isinstance(observed, (dict, spaces.Dict)):
        return {name: observed[name].shape for name in observed}
    return observed.shape


@pytest.mark.parametrize(("env_id", "backend"), diagonal(IDS, BACKENDS))
def test_check_env_has_nothing_to_say(env_id, backend):
    check_env(gymnasium.make(env_id, backend=backend).unwrapped)


@pytest.mark.parametrize("steps", [2_000, *late(10_000)])
@every_id
def test_passive_checker_stays_silent(env_id, steps):
    """Through ``gymnasium.make``, whose checker is on; warnings are errors here."""
    env = gymnasium.make(env_id, **short(env_id))
    env.action_space.seed(0)
    _, info = env.reset(seed=0)
    ends = 0
    for step in range(steps):
        mask = info["action_mask"] if step % 3 else None
        _, _, terminated, truncated, info = env.step(env.action_space.sample(mask))
        if terminated or truncated:
            ends += 1
            _, info = env.reset()
    assert ends
    env.close()


@pytest.mark.parametrize(("env_id", "backend"), diagonal(IDS, BACKENDS[1:]))
def test_environments_match_the_reference(env_id, backend):
    reference = gymnasium.make(env_id, backend="reference")
    other = gymnasium.make(env_id, backend=backend)
    check_environments_match(reference, other, num_steps=30, seed=3)


@pytest.mark.parametrize(("env_id", "mode"), diagonal(IDS, AutoresetMode))
def test_vector_env_equals_sync_vector_env_of_references(env_id, mode):
    ours = fastenv.make_vec(env_id, N, autoreset_mode=mode, **short(env_id))
    make = lambda: fastenv.make(env_id, backend="reference", **short(env_id))  # noqa: E731
    theirs = SyncVectorEnv([make] * N, autoreset_mode=mode)
    rng, done = np.random.default_rng(0), np.zeros(N, bool)
    a, b = ours.reset(seed=5), theirs.reset(seed=5)
    ends = step = 0
    while step < 30 or not ends:
        assert step < 10_000, "no episode ends by itself, or after a number of steps"
        assert data_equivalence(a, b, exact=True), step
        step += 1
        if mode == AutoresetMode.DISABLED and done.any():
            lanes = done | (rng.random(N) < 0.2)
            a, b = (v.reset(options={"reset_mask": lanes.copy()}) for v in (ours, theirs))
            done[:] = False
            continue
        actions = fastenv.sample_legal(ours.action_masks(), rng)
        wild = rng.random(N) < 0.05
        actions[wild] = rng.integers(0, ours.single_action_space.n, wild.sum())
        a, b = ours.step(actions), theirs.step(actions)
        done = a[2] | a[3]
        ends += done.sum()
    assert ours.metadata == theirs.metadata
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space


@pytest.mark.parametrize(("env_id", "mode"), diagonal(IDS, ["next_step", "disabled", "same_step"]))
def test_vector_wrappers_work_on_top(env_id, mode):
    vec = fastenv.make_vec(env_id, N, autoreset_mode=mode, **short(env_id))
    vec = wrappers.RecordEpisodeStatistics(vec)
    vec = wrappers.NormalizeReward(vec)
    if mode != "same_step" and isinstance(vec.single_observation_space, spaces.Dict):
        vec = wrappers.FlattenObservation(vec)
    if mode == "next_step":  # Gymnasium's own limits: this one takes no other mode,
        vec = wrappers.NormalizeObservation(vec)
    if mode != "same_step":  # and this one all but that
        vec = wrappers.TransformObservation(
            vec, lambda obs: obs * 2, single_observation_space=vec.single_observation_space
        )
    vec = wrappers.DictInfoToList(vec)
    obs, infos = vec.reset(seed=0)
    assert shape_of(obs) == shape_of(vec.observation_space)
    assert len(infos) == N
    episodes, steps = [], 0
    while steps < 80 or not episodes:
        assert steps < 10_000, "no episode ends"
        steps += 1
        masks = np.stack([info["action_mask"] for info in infos])
        _, _, terminated, truncated, infos = vec.step(fastenv.sample_legal(masks, 0))
        episodes += [info["episode"] for info in infos if "episode" in info]
        done = terminated | truncated
        if mode == "disabled" and done.any():
            fresh = vec.reset(options={"reset_mask": done})[1]
            infos = [new if d else old for d, new, old in zip(done, fresh, infos, strict=True)]
    vec.close()


@pytest.mark.parametrize(("env_id", "mode"), diagonal(IDS, ["vector_entry_point", "sync", None]))
def test_make_vec(env_id, mode):
    vec = gymnasium.make_vec(env_id, num_envs=2, vectorization_mode=mode, backend="reference")
    assert vec.unwrapped.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    vec.reset(seed=0)
    vec.step(np.zeros(2, np.int64))
    again = gymnasium.make_vec(vec.spec)
    assert (again.num_envs, type(again)) == (2, type(vec))
    assert isinstance(vec, fastenv.FastVectorEnv) == (mode != "sync")
    vec.close()


def test_make_vec_async():
    """Forked workers: the default of one thread survives that, also after a parallel region."""
    engine = fastenv.make_engine(IDS[2], 4, num_threads=2)
    engine.reset_many(seeds=0)
    engine.step_many(np.zeros(4, np.int64))
    vec = gymnasium.make_vec(IDS[2], num_envs=2, vectorization_mode="async")
    sync = gymnasium.make_vec(IDS[2], num_envs=2, vectorization_mode="sync")
    assert data_equivalence(vec.reset(seed=1), sync.reset(seed=1), exact=True)
    for _ in range(10):
        actions = np.zeros(2, np.int64)
        assert data_equivalence(vec.step(actions), sync.step(actions), exact=True)
    vec.close()


def configured(env):
    """Return what the options of an environment decide, as bytes."""
    game = env.game
    return game.spec.state_dtype, game.shared.tobytes(), game.default_knobs(1).tobytes()


@every_id
def test_specs_survive_json_and_pickle(env_id):
    spec = gymnasium.spec(env_id)
    assert EnvSpec.from_json(spec.to_json()) == spec
    assert pickle.loads(pickle.dumps(spec)) == spec
    fixed = fastenv.registry.ENVS[fastenv.registry.short_id(env_id)][1]
    drawn = draw_options(env_id, 1)
    options = {name: value for name, value in drawn.items() if name not in fixed}
    env = gymnasium.make(env_id, backend="reference", **options)
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert configured(again.unwrapped) == configured(env.unwrapped)
    ours = fastenv.make(env_id, **options)
    assert configured(gymnasium.make(ours.spec).unwrapped) == configured(ours)


def test_specs_of_batches_survive_json():
    """Gymnasium writes the options as they were given; JSON has no members of enumerations."""
    options = {"autoreset_mode": AutoresetMode.SAME_STEP, "num_players": np.int64(3)}
    options |= {"backend": fastenv.Backend(False, False), "opponents": ("random", "rule_hard")}
    made = gymnasium.make_vec(IDS[2], num_envs=2, **options)
    again = gymnasium.make_vec(EnvSpec.from_json(made.spec.to_json()))
    assert (again.num_envs, again.backend) == (2, "reference")
    assert again.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert configured(again) == configured(made)
    assert fastenv.make_vec(IDS[2], 2, **options).spec.to_json()
    del options["autoreset_mode"]
    single = gymnasium.make(IDS[2], **options)
    assert single.unwrapped.spec.kwargs["backend"] == "reference"
    assert configured(single.spec.make().unwrapped) == configured(made)


def test_a_batch_says_how_to_get_a_time_limit():
    asked = {"num_envs": 2, "max_episode_steps": 3}
    with pytest.raises(fastenv.UnknownOptionError, match=r"take .*vectorization_mode='sync'"):
        gymnasium.make_vec(IDS[2], **asked)
    vec = gymnasium.make_vec(IDS[2], vectorization_mode="sync", **asked)
    vec.reset(seed=0)
    truncated = [vec.step(np.zeros(2, np.int64))[3].tolist() for _ in range(3)]
    assert truncated == [[False] * 2, [False] * 2, [True] * 2]


@pytest.mark.parametrize("seed", [True, np.False_, 1.5, "1", [1]], ids=repr)
def test_seeds_are_shown_as_they_were_given(seed):
    shown = re.escape(f"seed={seed!r} is not possible: it must be an integer")
    with pytest.raises(fastenv.ConfigError, match=shown):
        fastenv.make(IDS[2]).reset(seed=seed)
    if isinstance(seed, (bool, np.bool_)):
        with pytest.raises(fastenv.ConfigError, match=shown):
            fastenv.make_vec(IDS[2], 2).reset(seed=seed)


@pytest.mark.parametrize("render_mode", ["ansi", "rgb_array"])
@every_id
def test_rendered_frames(env_id, render_mode):
    if render_mode not in fastenv.make_game(env_id).spec.render_modes:
        pytest.skip(f"the game has no {render_mode}")
    if render_mode == "rgb_array":
        pytest.importorskip("PIL")
    vec = gymnasium.make_vec(
        env_id, num_envs=2, vectorization_mode="vector_entry_point", render_mode=render_mode
    )
    env = fastenv.make(env_id, render_mode=render_mode)
    vec.reset(seed=0)
    env.reset(seed=1)
    rows, frames = vec.get_states().tobytes(), vec.render()
    assert len(frames) == 2
    for frame in frames:
        if render_mode == "ansi":
            assert isinstance(frame, str)
        else:
            assert frame.dtype == np.uint8
            assert frame.ndim == 3
    for again in (vec.render()[1], env.render()):
        np.testing.assert_array_equal(again, frames[1])
    assert vec.get_states().tobytes() == rows


WITHOUT_PILLOW = """
import sys
sys.modules["PIL"] = None
import fastenv
for env_id in ("SkullKingFlat-v0", "Prospector-v0", "DrMarioPlacement-v0"):
    for mode in ("ansi", "rgb_array"):
        env = fastenv.make(env_id, render_mode=mode, backend="reference")
        env.reset(seed=0)
        try:
            assert env.render() and mode == "ansi", env_id
        except ImportError as error:
            assert mode == "rgb_array" and "Pillow: pip install" in str(error), (env_id, error)
"""


def test_text_needs_no_pillow_and_pictures_say_what_to_install():
    run_python("-c", WITHOUT_PILLOW)


@every_id
def test_speed_can_be_measured_as_others_do(env_id):
    timing = {"target_duration": 0.02, "seed": 0}
    assert performance.benchmark_step(gymnasium.make(env_id), **timing) > 0
    assert performance.benchmark_init(lambda: gymnasium.make(env_id), **timing) > 0
    if hasattr(performance, "benchmark_vector_step"):  # new in Gymnasium 1.4
        assert performance.benchmark_vector_step(fastenv.make_vec(env_id, 8), **timing) > 0


def test_ids_are_registered_once_and_without_an_import():
    fastenv.games.register_envs()  # again: no warning, which would be an error here
    code = "import gymnasium; e = gymnasium.make('fastenv:fastenv/SkullKingWorker-v0'); "
    code += "e.reset(seed=0); print(e.spec.id)"
    assert run_python("-c", code).stdout.strip() == "fastenv/SkullKingWorker-v0"


def test_the_plugin_entry_point_names_the_same_ids():
    """Loaders of the group set a namespace of their own around the call."""
    from gymnasium.envs import registration

    saved = {key: registration.registry.pop(key) for key in IDS}
    try:
        with registration.namespace("fastenv"):
            fastenv.games.register_envs()
        assert all(key in registration.registry for key in IDS)
    finally:
        registration.registry.update(saved)
