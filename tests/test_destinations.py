"""Where a caller may have results written, above all structured observations; what is refused."""

import numpy as np
import pytest

import fastenv
from fastenv.engine import rng_streams
from fastenv.vector import FastVectorEnv, StepBuffers, allocate
from tests.race import BACKENDS, N, engine_of, everything
from tests.tables import walk
from tests.toy import RACE_OBS, RaceGame

every_backend = pytest.mark.parametrize("backend", BACKENDS)


def obs_of(dtype=RACE_OBS, shape=(N, 2)):
    return np.zeros(shape, dtype)


def dtype_of(**changes):
    """Return the observation's dtype with fields of other types, or without those that are None."""
    kinds = {"ahead": ("u1", (6,)), "me": ("f4", (2, 2)), "clock": ("i2",)} | changes
    return np.dtype([(n, *k) for n, k in kinds.items() if k is not None], align=True)


def moved(name, offset):
    offsets = {n: RACE_OBS.fields[n][1] for n in RACE_OBS.names} | {name: offset}
    return np.dtype(
        {
            "names": RACE_OBS.names,
            "formats": [RACE_OBS[n] for n in RACE_OBS.names],
            "offsets": [offsets[n] for n in RACE_OBS.names],
            "itemsize": RACE_OBS.itemsize,
        }
    )


def read_only():
    array = obs_of()
    array.flags.writeable = False
    return array


def unaligned(dtype):
    """Return an equal dtype that asks for no alignment."""
    names, parts = dtype.names, [dtype.fields[name] for name in dtype.names]
    formats, offsets = zip(*(part[:2] for part in parts), strict=True)
    packed = {"names": names, "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize}
    assert np.dtype(packed) == dtype
    assert np.dtype(packed).alignment == 1
    return np.dtype(packed)


def shifted(dtype):
    block = np.zeros(2 * N * dtype.itemsize + 1, np.uint8)
    return block[1:].view(dtype).reshape(N, 2)


OBSERVATIONS = {
    "type of a field": (lambda: obs_of(dtype_of(me=("f8", (2, 2)))), "field 'me' must be .*f4"),
    "sign of a field": (lambda: obs_of(dtype_of(clock=("u2",))), "field 'clock' must be int16"),
    "shape of a field": (lambda: obs_of(dtype_of(ahead=("u1", (7,)))), "field 'ahead' must be"),
    "byte order": (lambda: obs_of(dtype_of(clock=(">i2",))), "field 'clock' must be int16"),
    "a field less": (lambda: obs_of(dtype_of(clock=None)), "has no field 'clock'"),
    "another name": (lambda: obs_of(dtype_of(clock=None, time=("i2",))), "has no field 'clock'"),
    "a field more": (lambda: obs_of(dtype_of(wind=("f8",))), "must be a record of 3 fields"),
    "packed": (
        lambda: obs_of(np.dtype([(n, RACE_OBS[n]) for n in RACE_OBS.names])),
        "field 'me' must be .* at byte 8, got .* at byte 6",
    ),
    "elsewhere in the record": (
        lambda: obs_of(moved("clock", 26)),
        "field 'clock' must be int16 at byte 24, got int16 at byte 26",
    ),
    "plain": (lambda: np.zeros((N, 2, 28), np.uint8), "must be a record of 3 fields.*, got uint8"),
    "bytes": (lambda: np.zeros((N, 2), "V28"), r"must be a record of 3 fields.*, got \|V28"),
    "an odd address": (lambda: shifted(RACE_OBS), "must begin at a multiple of 4 bytes"),
    "an odd address that is none for its dtype": (
        lambda: shifted(unaligned(RACE_OBS)),
        "must begin at a multiple of 4 bytes",
    ),
    "a lane less": (
        lambda: obs_of(shape=(N - 1, 2)),
        r"of shape \(5, 2\), got .* of shape \(4, 2\)",
    ),
    "an agent less": (lambda: obs_of(shape=(N, 1)), r"of shape \(5, 2\)"),
    "no axis of agents": (lambda: obs_of(shape=(N,)), r"of shape \(5, 2\)"),
    "not contiguous": (lambda: obs_of(shape=(2 * N, 2))[::2], "C-contiguous"),
    "the other way": (lambda: obs_of(shape=(2, N)).T, "C-contiguous"),
    "broadcast": (lambda: np.broadcast_to(obs_of(shape=(1, 2)), (N, 2)), "C-contiguous|read-only"),
    "read-only": (read_only, "is read-only"),
    "a dict": (lambda: {n: obs_of()[n] for n in RACE_OBS.names}, "must be a NumPy array, got dict"),
    "a list": (lambda: obs_of().tolist(), "must be a NumPy array, got list"),
    "one record": (lambda: obs_of()[0, 0], "must be a NumPy array, got void"),
    "nothing to write to": (lambda: obs_of().data, "must be a NumPy array, got memoryview"),
}


@walk("kind", OBSERVATIONS)
@walk("backend", ["reference", "fast"])
def test_an_unusable_observation_names_its_field_and_nothing_has_moved(backend, kind):
    engine = engine_of(backend)
    engine.step_many(np.ones((N, 2), int))
    before = everything(engine)
    make, message = OBSERVATIONS[kind]
    for _ in range(2):  # a refusal must not be remembered
        with pytest.raises(ValueError, match=f"obs_out.*({message})"):
            engine.step_many(np.ones((N, 2), int), obs_out=make())
        with pytest.raises(ValueError, match=f"obs_out.*({message})"):
            engine.reset_many(seeds=3, obs_out=make())
        assert everything(engine) == before
    with pytest.raises(ValueError, match=f"out.*({message})"):
        engine.encode_obs_many(out=make())


@walk("kind", OBSERVATIONS)
def test_so_does_step_into(kind):
    vec = FastVectorEnv(RaceGame(), N, agents="all")
    vec.reset(seed=0)
    actions = np.ones((N, 2), int)
    vec.step(actions)
    before, out = everything(vec.engine), allocate(vec)
    make, message = OBSERVATIONS[kind]
    out.obs = make()
    with pytest.raises(ValueError, match=f"obs.*({message})"):
        vec.step_into(actions, out)
    assert everything(vec.engine) == before
    for name in ("mask", "reward", "terminated", "truncated", "tau"):
        assert not getattr(out, name).any(), name


@pytest.mark.parametrize("shape", [(N, 2), (N, 1), (N - 1,), (1, N)])
def test_one_agent_has_no_axis_of_agents(shape):
    vec = FastVectorEnv(RaceGame(), N, opponent="fast")
    vec.reset(seed=0)
    before = everything(vec.engine)
    with pytest.raises(ValueError, match=r"obs.* must be .* of shape \(5,\)"):
        vec.step_into(np.ones(N, int), StepBuffers(obs=obs_of(shape=shape)))
    assert everything(vec.engine) == before


OTHERS = {
    "mask": (np.zeros((N, 2, 4), bool), np.zeros((N, 4), np.uint8), np.zeros((N, 2, 5), np.uint8)),
    "reward": (np.zeros((N, 2), np.float32), np.zeros(N), np.zeros((2, N)).T, [[0.0] * 2] * N),
    "terminated": (np.zeros((N, 2), bool), np.zeros(N, np.int8), np.zeros(2 * N, bool)[::2]),
    "truncated": (np.zeros(N, np.int32), np.zeros(N + 1, np.uint8), (0,) * N),
    "tau": (np.zeros(N, np.int32), np.zeros((N, 2), np.int64), np.zeros((N, 2), np.uint32)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_other_buffers_are_refused_by_name(name):
    vec = FastVectorEnv(RaceGame(), N, agents="all")
    vec.reset(seed=0)
    before = everything(vec.engine)
    for wrong in OTHERS[name]:
        out = allocate(vec)
        setattr(out, name, wrong)
        with pytest.raises(ValueError, match=name):
            vec.step_into(np.ones((N, 2), int), out)
        assert everything(vec.engine) == before
        for other, array in vars(out).items():
            assert other == name or not np.asarray(array).view(np.uint8).any(), other
    with pytest.raises(TypeError, match="colour"):
        vec.step_into(np.ones((N, 2), int), {"colour": np.zeros(N)})
    assert everything(vec.engine) == before


@every_backend
@pytest.mark.parametrize("opponent", [None, "random"])
def test_slices_of_a_rollout_receive_what_the_own_buffers_would(backend, opponent):
    """Also partly: rows of lanes that are not selected are left alone."""
    a, b = (engine_of(backend, opponent=opponent) for _ in "ab")
    rollout = np.zeros((30, *a.obs.shape), RACE_OBS)
    masks = np.zeros((30, *a.mask.shape), np.uint8)
    rng = np.random.default_rng(0)
    for step in range(30):
        actions, select = rng.integers(0, 4, a.mask.shape[:-1]), rng.random(N) < 0.7
        rollout[step]["clock"], masks[step] = -1, 9
        a.step_many(actions, select=select)
        b.step_many(actions, rollout[step], masks[step], select)
        assert np.array_equal(rollout[step][select], a.obs[select])
        assert np.array_equal(masks[step][select], a.mask[select])
        assert (rollout[step][~select]["clock"] == -1).all()
        assert (masks[step][~select] == 9).all()
    b.refresh()
    assert everything(a) == everything(b)


@every_backend
def test_a_reset_may_be_written_elsewhere_too(backend):
    a, b = (engine_of(backend) for _ in "ab")
    obs, mask = obs_of(), np.zeros((N, 2, 4), np.uint8)
    some = np.array([1, 0, 0, 1, 0], bool)
    a.reset_many(mask=some, seeds=9)
    b.reset_many(mask=some, seeds=9, obs_out=obs, mask_out=mask)
    assert np.array_equal(obs[some], a.obs[some])
    assert np.array_equal(mask[some], a.mask[some])
    for name in RACE_OBS.names:
        assert not obs[~some][name].any()
    b.refresh()
    assert everything(a) == everything(b)


@every_backend
def test_observations_and_masks_of_given_rows(backend):
    engine = engine_of(backend)
    engine.step_many(np.ones((N, 2), int))
    rows, out = engine.get_states(), obs_of()
    assert engine.encode_obs_many(rows, out=out) is out
    assert np.array_equal(out, engine.obs)
    mask = np.zeros((N, 2, 4), np.uint8)
    assert engine.action_masks_many(rows, out=mask) is mask
    assert np.array_equal(mask, engine.mask)
    done = rows.copy()
    done["done"][2] = 1
    assert engine.action_masks_many(done)[2].all()
    assert engine.encode_obs_many(rows[:0]).shape == (0, 2)
    before = everything(engine)
    for wrong in (obs_of(shape=(N - 1, 2)), obs_of(dtype_of(clock=None)), obs_of().tolist()):
        with pytest.raises(ValueError, match="out"):
            engine.encode_obs_many(rows, out=wrong)
    assert everything(engine) == before


@every_backend
def test_rows_with_two_axes_are_refused(backend):
    engine = engine_of(backend, 4)
    with pytest.raises(ValueError, match="rows"):
        engine.encode_obs_many(engine.get_states().reshape(2, 2))


@every_backend
def test_destinations_of_bots(backend):
    engine = engine_of(backend)
    before = everything(engine)
    for wrong in (np.zeros(N, np.int64), np.zeros((N, 2), np.int32), np.zeros(2 * N, "i4")[::2]):
        with pytest.raises(ValueError, match=r"^out"):
            engine.bot_actions("random", out=wrong)
    streams = rng_streams(1, N)
    for wrong in (streams[:4], streams.astype(np.int64), streams.T.copy().T, streams.tolist()):
        with pytest.raises(ValueError, match=r"^rng_states"):
            engine.bot_actions("random", wrong)
    stuck = streams.copy()
    stuck[3] = 0  # draws would not end
    with pytest.raises(fastenv.StateError, match="lane 3: rng_states is all zeros"):
        engine.bot_actions("random", stuck)
    for agent in (-1, 2, 10**20, float("nan")):
        with pytest.raises(ValueError, match=r"agent=.*0\.\.1"):
            engine.bot_actions("random", streams, agent=agent)
    assert np.array_equal(streams, rng_streams(1, N))
    assert everything(engine) == before


@pytest.mark.parametrize("backend", ["reference", "fast"])
def test_an_agent_is_a_whole_number(backend):
    engine = engine_of(backend)
    before = everything(engine)
    with pytest.raises((ValueError, TypeError), match="agent"):
        engine.bot_actions("random", agent=0.5)
    assert everything(engine) == before


def test_without_buffers_step_into_steps():
    a, b = (FastVectorEnv(RaceGame(), N, agents="all") for _ in "ab")
    for vec in (a, b):
        vec.reset(seed=0)
    a.step(np.ones((N, 2), int))
    b.step_into(np.ones((N, 2), int), StepBuffers())
    assert np.array_equal(a.get_states(), b.get_states())
