"""A trained agent is loaded by its folder and plays what it was trained for."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import training
from fastenv.errors import ConfigError
from tests.processes import run_python
from tests.slow import every, late
from training.players.export import export
from training.players.predict import Predictor
from training.run.checkpoint import CheckpointError
from training.run.folder import RunError, RunFolder
from training.run.options import canonical_json

from .agents import KINDS

ROOT = Path(__file__).resolve().parents[3]
PRETRAINED = ROOT / "pretrained/skullking-ppo"


def rows_of(obs, lanes):
    return {k: v[lanes] for k, v in obs.items()} if isinstance(obs, dict) else obs[lanes]


@pytest.mark.parametrize("kind", every(2, KINDS))
def test_plays_single_and_many_alike(trained, kind):
    policy = training.load_policy(trained(kind))
    vec = policy.make_vec(5, autoreset_mode="same_step")
    obs, _ = vec.reset(seed=11)
    state, states = None, [None] * 5
    for step in range(25):
        masks = vec.action_masks()
        actions, state = policy.act(obs, masks, state)
        assert actions.dtype == np.int32
        for lane in range(5):
            one, states[lane] = policy.act(rows_of(obs, lane), masks[lane], states[lane])
            assert type(one) is int
            assert one == actions[lane], f"seed 11, step {step}, lane {lane}"
            if state is not None:
                np.testing.assert_allclose(states[lane], state[lane], atol=1e-5)
        obs, _, terminated, truncated, _ = vec.step(actions)
        ended = terminated | truncated
        for lane in np.flatnonzero(ended):
            states[lane] = None
        if state is not None:
            assert policy.state_size
            assert state.any()
            state[ended] = 0


@pytest.mark.parametrize("kind", KINDS)
def test_single_environment_to_the_end(trained, kind):
    policy = training.load_policy(trained(kind))
    env = policy.make()
    assert env.observation_space.contains(env.reset(seed=5)[0])
    obs, _ = env.reset(seed=5)
    state, done, steps = None, False, 0
    while not done and steps < 300:
        action, state = policy.act(obs, env.action_masks(), state, deterministic=False, rng=steps)
        obs, _, terminated, truncated, _ = env.step(action)
        done, steps = terminated or truncated, steps + 1
    assert steps > 0


# In a process of its own: a module is imported once, and torch warns once.
LEAVES_ALONE = """
import random, warnings
import numpy as np, torch
def drawn():
    return random.getstate(), repr(np.random.get_state()), torch.get_rng_state().tolist()
before = drawn()
import fastenv.adapters.pettingzoo, fastenv.adapters.sb3, fastenv.adapters.torch, training
assert drawn() == before, "imports draw"
policy = training.load_policy({path!r})
vec = policy.make_vec(3)
obs, infos = vec.reset(seed=1)
given = [obs, infos["action_mask"]]
if policy.state_size:
    given.append(np.zeros((3, policy.state_size), np.float32))
wanted = policy.act(*given)
for array in [*(obs.values() if isinstance(obs, dict) else [obs]), *given[1:]]:
    array.flags.writeable = False
with warnings.catch_warnings():
    warnings.simplefilter("error")
    found = policy.act(*given)
    policy.act(*given, deterministic=False, rng=0)
assert repr(found) == repr(wanted)
assert drawn() == before, "a policy draws"
"""


@pytest.mark.parametrize("kind", ["shipped", *late("recurrent")])
def test_generators_and_arrays_of_others_are_left_alone(trained, kind):
    path = PRETRAINED if kind == "shipped" else trained(kind)
    run_python("-c", LEAVES_ALONE.format(path=str(path)))


def test_attributes(trained):
    policy = training.load_policy(trained("native"))
    assert policy.env == "SkullKingWorker-v0"
    assert policy.steps == 128
    assert policy.config.env_options == {}
    assert (policy.obs_shape, policy.obs_dtype) == ((203,), np.float32)
    assert policy.num_actions == 11
    assert policy.state_size == 0
    assert training.load_policy(trained("recurrent")).state_size == 32


def test_a_checkpoint_and_an_exported_folder_are_the_run(trained, tmp_path):
    folder = trained("native")
    policy = training.load_policy(folder)
    export(RunFolder.open(folder), tmp_path / "agent")
    inside = [policy.path, folder / "checkpoints", tmp_path / "agent", str(folder)]
    obs = np.random.default_rng(2).random((7, 203), np.float32)
    mask = np.ones((7, 11), bool)
    for path in inside:
        actions, _ = training.load_policy(path).act(obs, mask)
        assert (actions == policy.act(obs, mask)[0]).all()


def test_members_of_an_ensemble_differ(trained):
    folder = trained("ensemble")
    first, second = (training.load_policy(folder, member=k) for k in (1, 2))
    assert training.load_policy(folder).member == 1
    obs = np.random.default_rng(2).random((500, 203), np.float32)
    mask = np.ones((500, 11), bool)
    assert (first.act(obs, mask)[0] != second.act(obs, mask)[0]).any()
    with pytest.raises(ConfigError, match=r"member=3.*from 1 to 2"):
        training.load_policy(folder, member=3)


def test_the_pair_bids_with_the_manager_and_plays_with_the_worker():
    policy = training.load_policy(PRETRAINED)
    vec = policy.make_vec(64, opponents="rule_hard", autoreset_mode="same_step")
    obs, _ = vec.reset(seed=3)
    from training.players.trained import load

    pair = load(RunFolder.open(PRETRAINED)).pair.networks
    seen = set()
    for _ in range(30):
        mask = vec.action_masks()
        actions, state = policy.act(obs, mask)
        assert state is None
        bids, cards = (pair[name](obs[name]) for name in ("manager", "worker"))
        bidding = obs["phase"][:, None] == 1
        wanted = np.where(mask, np.where(bidding, bids, cards), -np.inf).argmax(1)
        assert (actions == wanted).all()
        seen |= set(obs["phase"].tolist())
        obs, *_ = vec.step(actions)
    assert seen == {0, 1}


def test_the_pair_is_strong_in_its_own_environment():
    policy = training.load_policy(PRETRAINED)
    vec = policy.make_vec(200, opponents="rule_hard", autoreset_mode="disabled")
    obs, infos = vec.reset(seed=1)
    over = np.zeros(200, bool)
    while not over.any():  # 10 bids and 55 cards, and here and there a Kraken's trick less
        actions, _ = policy.act(obs, vec.action_masks())
        obs, _, terminated, truncated, infos = vec.step(actions)
        over = terminated | truncated
    assert over.all()
    assert np.mean(infos["rank"] == 1) > 0.45, "seed 1"


def test_draws_follow_the_policy(trained):
    policy = training.load_policy(trained("native"))
    obs = np.repeat(np.random.default_rng(1).random((1, 203), np.float32), 4000, 0)
    mask = np.zeros((4000, 11), bool)
    mask[:, [1, 4, 7]] = True
    drawn, _ = policy.act(obs, mask, deterministic=False, rng=5)
    again, _ = policy.act(obs, mask, deterministic=False, rng=5)
    assert (drawn == again).all()
    logits = policy.logits(obs[:1])[0, [1, 4, 7]].astype(np.float64)
    wanted = np.exp(logits - logits.max())
    wanted /= wanted.sum()
    shares = [(drawn == a).mean() for a in (1, 4, 7)]
    np.testing.assert_allclose(shares, wanted, atol=0.03)  # four standard errors, seed 5


BAD = {
    "obs of shape (4,)": lambda p: p.act(np.zeros(4, np.float32), np.ones(11)),
    "obs of int64": lambda p: p.act(np.zeros(203, int), np.ones(11)),
    "obs as a dict": lambda p: p.act({"a": 1}, np.ones(11)),
    "mask of shape (10,)": lambda p: p.act(np.zeros(203, np.float32), np.ones(10)),
    "mask of row 1 without": lambda p: p.act(
        np.zeros((2, 203), np.float32), np.array([[1] * 11, [0] * 11])
    ),
    "state does not fit": lambda p: p.act(np.zeros(203, np.float32), np.ones(11), np.zeros(3)),
    "num_players=5": lambda p: p.make(num_players=5),
    "obs_ext='memory'": lambda p: p.make_vec(3, obs_ext="memory"),
}


@pytest.mark.parametrize("named", BAD)
def test_what_does_not_fit_is_refused_by_name(trained, named):
    with pytest.raises(ConfigError) as refused:
        BAD[named](training.load_policy(trained("native")))
    assert named in str(refused.value)
    assert "must be" in str(refused.value)


def test_an_environment_of_another_kind_is_refused(trained):
    policy = training.load_policy(trained("prospector"))
    env = training.load_policy(trained("flat")).make()
    with pytest.raises(ConfigError, match="observation float32"):
        policy.check(env.observation_space, env.action_space)


@pytest.mark.parametrize("path", ["nothing/there", "pretrained", "training/players", "README.md"])
def test_a_path_that_is_none_says_what_it_should_be(path):
    with pytest.raises(RunError, match="must be a run folder, a checkpoint"):
        training.load_policy(ROOT / path)


def test_a_run_without_a_checkpoint_says_so(trained, tmp_path):
    (tmp_path / "checkpoints").mkdir()
    content = (trained("native") / "config.json").read_text()
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(RunError, match="no checkpoint yet"):
        training.load_policy(tmp_path)


def test_a_checkpoint_of_another_environment_is_refused(trained, tmp_path):
    (tmp_path / "checkpoints").mkdir()
    content = (trained("flat") / "config.json").read_text()
    (tmp_path / "config.json").write_text(content)
    name = training.load_policy(trained("native")).path
    (tmp_path / "checkpoints" / name.name).symlink_to(name)
    with pytest.raises(CheckpointError, match="env is 'SkullKingWorker-v0'"):
        training.load_policy(tmp_path)


def test_an_environment_of_another_version_is_named(tmp_path):
    shutil.copytree(PRETRAINED, tmp_path / "agent")
    file = tmp_path / "agent/config.json"
    record = json.loads(file.read_text())
    record["config"]["env"] = "SkullKingWorker-v9"
    record["sha256"] = hashlib.sha256(canonical_json(record["config"]).encode()).hexdigest()
    file.write_text(json.dumps(record))
    with pytest.raises(ConfigError, match=r"'SkullKingWorker-v9': must be one of"):
        training.load_policy(tmp_path / "agent")


def test_a_predictor_forgets_where_episodes_begin(trained):
    policy = training.load_policy(trained("recurrent"))
    rng = np.random.default_rng(4)
    obs = rng.random((3, *policy.obs_shape), np.float32)
    masks, begins = np.ones((3, 11), bool), np.array([False, True, False])
    predictor = Predictor(policy)
    _, state = predictor.predict(obs, action_masks=masks)
    assert (state != 0).any(1).all()
    _, after = predictor.predict(obs, state, begins, True, masks)
    _, fresh = policy.act(obs, masks)
    _, going = policy.act(obs, masks, state)
    assert (after[1] == fresh[1]).all()
    assert (after[[0, 2]] == going[[0, 2]]).all()
    with pytest.raises(ConfigError, match="action_masks=None"):
        predictor.predict(obs)


def test_import_stays_light():
    run_python("-c", "import sys, training; assert 'torch' not in sys.modules")


def test_numbers_that_an_observation_cannot_hold_are_refused():
    policy = training.load_policy(PRETRAINED.parent / "lantern_walk")
    shown = policy.make_vec(1).reset(seed=1)[0]
    parts = shown if isinstance(shown, dict) else {"": shown}
    name, narrow = next((n, x) for n, x in parts.items() if x.dtype == np.uint8)
    wide = narrow.astype(np.int64) + 256
    given = {**shown, name: wide} if name else wide
    with pytest.raises(ConfigError, match=r"of int64 does not fit .* must be of uint8"):
        policy.act(given, np.ones((1, policy.num_actions)))
