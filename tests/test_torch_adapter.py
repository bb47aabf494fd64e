"""The torch view: the engine's own memory on a CPU, one block of pinned memory beside a GPU."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import fastenv  # noqa: E402
from fastenv.adapters.torch import TorchVecEnv, _Block, _tensors  # noqa: E402
from fastenv.vector import FastVectorEnv  # noqa: E402
from tests.toy import RaceGame, WalkGame  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
N = 6
NAMES = ("obs", "mask", "reward", "terminated", "truncated", "tau")
MODES = ("same_step", "next_step", "disabled")
GAMES = {
    "skull king": ("SkullKingWorker-v0", {}),
    "frames": ("Prospector-v0", {}),
    "two agents, a dict": (RaceGame(), {"agents": "all"}),
    "one of them": (RaceGame(), {"opponent": "random"}),
}
needs_gpu = pytest.mark.gpu
DEVICES = ["cpu", pytest.param("cuda", marks=needs_gpu)]


def vec_of(name, mode="same_step", copy=True):
    game, options = GAMES[name]
    return FastVectorEnv(game, N, autoreset_mode=mode, copy=copy, **options)


def parts(value):
    """Return tensors or arrays by name: the fields of a dict, or the thing itself."""
    return value if isinstance(value, dict) else {"": value}


def assert_equal(tensors, arrays):
    tensors, arrays = parts(tensors), parts(arrays)
    assert tensors.keys() == arrays.keys()
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(tensor.cpu().numpy(), arrays[name], err_msg=name)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("game", GAMES)
def test_tensors_are_what_gymnasium_is_shown(game, mode, device):
    env, vec = TorchVecEnv(vec_of(game, mode), device), vec_of(game, mode)
    obs, infos = env.reset(seed=3)
    expected, _ = vec.reset(seed=3)
    assert_equal(obs, expected)
    rng, ended = np.random.default_rng(0), 0
    for _ in range(60):
        actions = fastenv.sample_legal(vec.action_masks(), rng)
        given = torch.from_numpy(actions).to(device)
        obs, reward, terminated, truncated, infos = env.step(given)
        expected, *results, shown = vec.step(actions)
        assert_equal(obs, expected)
        for tensor, array in zip((reward, terminated, truncated), results, strict=True):
            assert_equal(tensor, array)
            assert tensor.device.type == device
        assert_equal(infos["action_mask"], vec.engine.mask.astype(bool))
        assert_equal(infos["tau"], vec.engine.tau)
        done = results[1] | results[2]
        if done.any():
            assert_equal(env.episode_return[terminated | truncated], vec.engine.ep_return[done])
            assert_equal(env.episode_length[terminated | truncated], vec.engine.ep_length[done])
        if mode == "same_step" and done.any():
            lane = int(done.argmax())
            last = {name: part[lane] for name, part in parts(env.final_obs).items()}
            assert_equal(last, parts(shown["final_obs"][lane]))
        if mode == "disabled" and done.any():
            options = {"reset_mask": done}
            assert_equal(env.reset(options=options)[0], vec.reset(options=options)[0])
        ended += done.sum()
    assert ended


@pytest.mark.parametrize("mode", MODES)
def test_no_step_between_close_and_reset(mode):
    env = TorchVecEnv(vec_of("skull king", mode))
    actions = env.reset(seed=1)[1]["action_mask"].int().argmax(dim=1)
    env.close()
    rows = env.engine.get_states()
    with pytest.raises(fastenv.ResetNeededError, match="closed"):
        env.step(actions)
    assert np.array_equal(env.engine.get_states(), rows)
    env.reset(seed=1)
    env.step(actions)


@pytest.mark.parametrize("game", GAMES)
def test_nothing_is_copied_on_a_cpu(game):
    env = TorchVecEnv(vec_of(game))
    env.reset(seed=1)
    engine, pointers = env.engine, None
    for step in range(4):
        actions = fastenv.sample_legal(engine.mask, step)
        obs, reward, terminated, truncated, infos = env.step(torch.from_numpy(actions))
        for name, tensor in parts(obs).items():
            array = engine.obs[name] if name else engine.obs
            assert tensor.data_ptr() == array.ctypes.data
            assert tensor.stride(0) * tensor.element_size() == array.strides[0]
        small = (infos["action_mask"], reward, terminated, truncated, infos["tau"])
        for tensor, name in zip(small, NAMES[1:], strict=True):
            assert tensor.data_ptr() == getattr(engine, name).ctypes.data, name
        everything = (*parts(obs).values(), *small)
        assert pointers in (None, [id(tensor) for tensor in everything])
        pointers = [id(tensor) for tensor in everything]
    assert infos["action_mask"].dtype == terminated.dtype == truncated.dtype == torch.bool


def test_tensors_change_with_the_next_step_and_clones_do_not():
    env = TorchVecEnv(vec_of("skull king"))
    obs, infos = env.reset(seed=1)
    before = obs.clone()
    env.step(infos["action_mask"].int().argmax(dim=1))
    assert obs is env.obs
    assert not torch.equal(obs, before)


@pytest.mark.parametrize("game", GAMES)
def test_a_block_holds_everything_a_step_writes(game):
    """What goes to a GPU, copied to a block of this machine: no part lies over another."""
    vec = vec_of(game)
    arrays = {name: getattr(vec.engine, name) for name in NAMES}
    block = _Block(arrays, torch.device("cpu"))
    assert all(array.ctypes.data % 64 == block._host.data_ptr() % 64 for array in
               block.arrays.values())  # fmt: skip
    vec.reset(seed=2)
    rng = np.random.default_rng(2)
    for _ in range(12):
        block.wait()
        vec.step_into(fastenv.sample_legal(vec.action_masks(), rng), dict(block.arrays))
        vec.engine.refresh()
        block.send()
        for name, array in arrays.items():
            assert block.arrays[name].tobytes() == array.tobytes(), name
            tensors, expected = parts(block.tensors[name]), parts(_tensors(array))
            for field, tensor in tensors.items():
                assert torch.equal(tensor, expected[field])
                assert tensor.dtype == expected[field].dtype


@needs_gpu
def test_memory_of_a_gpu_does_not_grow_with_steps():
    vec = fastenv.make_vec("GameBoyPixels-v0", 32, autoreset_mode="same_step")
    env, peaks = TorchVecEnv(vec, "cuda"), []
    env.reset(seed=1)
    for _ in range(3):
        torch.cuda.reset_peak_memory_stats()
        for step in range(100):
            env.step(fastenv.sample_legal(vec.engine.mask, step))
        peaks.append(torch.cuda.max_memory_allocated())
    assert len(set(peaks)) == 1


@needs_gpu
def test_what_goes_to_a_gpu_is_pinned_and_arrives_whole_whatever_is_queued():
    env, vec = TorchVecEnv(vec_of("skull king"), "cuda"), vec_of("skull king")
    assert env._block._host.is_pinned()
    env.reset(seed=1)
    vec.reset(seed=1)
    seen = []
    for step in range(50):
        actions = fastenv.sample_legal(vec.action_masks(), step)
        env.step(actions)  # nothing here waits for the copy of the last step
        seen.append((env.obs.clone(), vec.step(actions)[0]))
    for tensor, array in seen:
        assert_equal(tensor, array)


@pytest.mark.parametrize(
    ("actions", "says"),
    [
        (torch.zeros(N + 1, dtype=torch.long), "must have shape (6,), got (7,)"),
        (torch.zeros(N), "must be integers, got dtype float32"),
        (torch.full((N,), 11), "lane 0: action 11 is out of range"),
        ([0.5] * N, "must be integers"),
        (torch.zeros(N, dtype=torch.long).to_sparse(), "actions: can't convert Sparse"),
        (torch.zeros(N, dtype=torch.long, device="meta"), "actions: Cannot copy out of meta"),
        (torch.zeros(N, dtype=torch.bfloat16), "actions: Got unsupported ScalarType BFloat16"),
    ],
)
def test_actions_that_do_not_fit_are_refused_and_nothing_moves(actions, says):
    env = TorchVecEnv(vec_of("skull king"))
    with pytest.raises(fastenv.ResetNeededError):
        env.step(torch.zeros(N, dtype=torch.long))
    env.reset(seed=1)
    before = env.engine.get_states().tobytes()
    with pytest.raises(fastenv.InvalidActionError, match=re.escape(says)):
        env.step(actions)
    assert env.engine.get_states().tobytes() == before


@pytest.mark.parametrize(
    ("vec", "device", "says"),
    [
        (fastenv.BatchEngine(WalkGame(), 1), "cpu", "must be a FastVectorEnv"),
        (FastVectorEnv(WalkGame(), 1), "disk", "device='disk'"),
        (FastVectorEnv(WalkGame(), 1), None, "device=None"),
        (FastVectorEnv(WalkGame(), 1), 2**70, "device=1180591620717411303424: "),
        (FastVectorEnv(WalkGame(), 1), "meta", "device='meta': must be 'cpu' or a CUDA device"),
        (FastVectorEnv(WalkGame(), 1), "cuda:63", "torch finds [0-9]+ CUDA devices here"),
    ],
)
def test_what_cannot_be_shown_is_refused(vec, device, says):
    with pytest.raises(fastenv.ConfigError, match=says):
        TorchVecEnv(vec, device)


# -- docs/examples/ppo.py ------------------------------------------------------------------------


@pytest.mark.slow
def test_ppo_of_the_page_learns_four_rounds_of_skull_king():
    """It begins below zero, as random play does, and soon makes points."""
    ppo = runpy.run_path(str(ROOT / "docs" / "examples" / "ppo.py"))
    four_rounds = {"schedule": (1, 2, 3, 4), "reward": "points"}
    vec = fastenv.make_vec("SkullKingFlat-v0", 256, autoreset_mode="same_step", **four_rounds)
    means = list(ppo["train"](TorchVecEnv(vec), 110_000, ppo["Settings"]()))
    assert np.mean(means[:3]) < -0.5
    assert np.mean(means[-3:]) > 1.0
