"""A process that is forked after threads were used: it steps with one thread, and says so once.

GNU OpenMP keeps its pool of threads after a fork, but the child has none of these threads. A
parallel region in the child would wait for them without end.
"""

import os
import pickle
import select
import signal
import warnings

import numpy as np
import pytest

import fastenv
from fastenv.vector import sample_legal
from tests.needs import needs_core

pytestmark = [
    needs_core,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
]

LANES, THREADS = 12, 4
GUARD = 120  # seconds; a child that hangs is killed


def in_child(call):
    """Return what a call returns in a forked process, or what it raised as a text."""
    readable, writable = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        pid = os.fork()
    if pid == 0:
        try:
            answer = call()
        except BaseException as error:  # whatever happens, no second pytest goes on
            answer = repr(error)
        with os.fdopen(writable, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable, "rb") as pipe:
        answered = select.select([pipe], [], [], GUARD)[0]
        if not answered:
            os.kill(pid, signal.SIGKILL)
        answer = pickle.load(pipe) if answered else "the child hangs"
    os.waitpid(pid, 0)
    return answer


def seen(engine):
    """Return what a step of an engine has written, and the positions of its lanes."""
    names = ("obs", "mask", "reward", "terminated", "truncated", "tau", "info")
    shown = {name: pickle.dumps(getattr(engine, name)) for name in names}
    return shown | {"rows": pickle.dumps(engine.get_states())}


def engine_of(env, backend="fast", **options):
    def make(threads):
        engine = fastenv.make_engine(env, LANES, backend=backend, num_threads=threads, **options)
        engine.reset_many(seeds=3)

        def go():
            engine.step_many(sample_legal(engine.mask, rng=5))
            return seen(engine)

        return go

    return make


def search(threads):
    engine = fastenv.make_engine("SkullKingFlat-v0", LANES, num_threads=threads)
    engine.reset_many(seeds=3)

    def go():
        worlds = engine.resample(engine.get_states(), 0, 9, worlds=3)
        played = engine.rollout(worlds, seeds=9)
        return [pickle.dumps(each) for each in (worlds, played.outcomes, played.decisions)]

    return go


def vector(threads):
    vec = fastenv.make_vec("SkullKingFlat-v0", LANES, num_threads=threads)
    _, infos = vec.reset(seed=3)

    def go():
        return pickle.dumps(vec.step(sample_legal(infos["action_mask"], rng=5)))

    return go


def sb3(threads):
    pytest.importorskip("stable_baselines3")
    from fastenv.adapters.sb3 import make_sb3_vec_env

    venv = make_sb3_vec_env("SkullKingFlat-v0", LANES, num_threads=threads, seed=3)
    venv.reset()

    def go():
        return pickle.dumps(venv.step(sample_legal(np.stack(venv.env_method("action_masks")), 5)))

    return go


def tensors(threads):
    torch = pytest.importorskip("torch")
    from fastenv.adapters.torch import TorchVecEnv

    vec = fastenv.make_vec("SkullKingFlat-v0", LANES, num_threads=threads)
    env = TorchVecEnv(vec)
    env.reset(seed=3)

    def go():
        env.step(torch.from_numpy(sample_legal(vec.action_masks(), rng=5)))
        return seen(vec.engine)

    return go


def several_agents(threads):
    vec = fastenv.make_vec("DrMarioVersus-v0", LANES, num_threads=threads, agents="all")
    _, infos = vec.reset(seed=3)

    def go():
        return pickle.dumps(vec.step(sample_legal(infos["action_mask"], rng=5)))

    return go


KINDS = {
    "equal parts": engine_of("SkullKingFlat-v0"),
    "small chunks": engine_of("DrMarioPlacement-v0"),
    "an opponent": engine_of("DrMarioVersus-v0", opponent="greedy"),
    "a console": engine_of("LanternWalk-v0"),
    "cython alone": engine_of("SkullKingFlat-v0", "cython"),
    "search": search,
    "vector": vector,
    "several agents": several_agents,
    "Stable-Baselines3": sb3,
    "torch": tensors,
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_a_forked_child_goes_on_with_one_thread(make):
    alone, before = make(1), make(THREADS)
    assert alone() == before()  # begins the pool of threads
    expected = [alone(), alone()]

    def play():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            going_on = [before(), before()]
            new = make(THREADS)
            new()
            answer = [going_on, [new(), new()]]
        return answer, [str(each.message) for each in told if each.category is RuntimeWarning]

    answer = in_child(play)
    assert answer != "the child hangs"
    (going_on, new), told = answer
    assert going_on == expected
    assert new == expected
    says = [text for text in told if "num_threads=4 is 1 in this process" in text]
    assert len(says) == len(told) == (make is not KINDS["cython alone"])
    assert [before(), before()] == expected  # the parent keeps its threads


def test_a_child_of_a_single_environment():
    """Which never used threads, and so has nothing to say."""
    env = fastenv.make("SkullKingFlat-v0")
    env.reset(seed=3)
    action = int(env.action_masks().argmax())
    found = in_child(lambda: pickle.dumps(env.step(action)))
    assert found == pickle.dumps(env.step(action))
