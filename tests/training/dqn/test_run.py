"""DQN as a run: what it writes, how it goes on, what it refuses."""

import json

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from tests.bits import equal
from tests.tables import walk
from tests.training import begun, third_game
from tests.training.left import timeless as metrics
from training import export, load_policy
from training.dqn import run as dqn_run
from training.dqn.run import load_net, load_nets
from training.nets.actor_critic import make_player
from training.nets.layout import obs_layout
from training.nets.q_network import QNetwork
from training.run import checkpoint, sizes
from training.run.config import RunConfig
from training.run.config_files import merge
from training.run.envs import make_engine
from training.run.option_layers import load_preset

DQN = {
    "capacity": 320,
    "batch_size": 16,
    "learning_starts": 64,
    "iteration_steps": 16,
    "replay_ratio": 1.0,
    "num_quantiles": 5,
    "net_arch": [16],
}
TINY = {
    "env": "SkullKingWorker-v0",
    "trainer": "dqn",
    "num_envs": 8,
    "total_steps": 512,
    "torch_threads": 1,
    "deterministic": True,
    "dqn": DQN,
    "checkpoints": {"every": 256},
    "evaluation": {"during": "off", "games": 4, "episodes": 16, "bootstrap": 20},
}


@pytest.fixture
def train(tmp_path):
    """Train a tiny run in this process; returns the exit status."""

    def call(name, *flags, config=TINY, evaluation=False, **dqn):
        values = config and {**config, "dqn": {**DQN, **dqn}}
        return begun.train(tmp_path / "runs", name, *flags, config=values, evaluation=evaluation)

    return call


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def saved(run, steps=512):
    """Everything in a checkpoint that decides how the run goes on."""
    path = run / f"checkpoints/ckpt_{steps:012d}"
    record = json.loads((path / "trainer.json").read_text())
    found = {"counters": record["counters"]}
    for name in ("engine", "replay"):
        if (path / f"{name}.npz").exists():
            with np.load(path / f"{name}.npz") as file:
                found[name] = {k: torch.from_numpy(file[k]) for k in file.files}
    for name in ("model", "trackers"):
        if (path / f"{name}.pt").exists():
            found[name] = torch.load(path / f"{name}.pt", weights_only=True)
    return found


def test_run_without_its_replay_goes_on_with_an_empty_one(train, runs):
    assert train("run", "--total-steps", 256, save_replay=False) == 0
    assert "replay" not in saved(runs / "run", 256)
    assert train("run", "--resume", "--total-steps", 512, config=None) == 0
    sizes_seen = [r["train"]["replay_size"] for r in metrics(runs / "run")]
    assert sizes_seen == [128, 256, 128, 256]
    assert metrics(runs / "run")[2]["train"]["updates"] < 8


def test_runners_are_the_same_run_with_one_lane(train, runs):
    """T27, with everything around the trainer."""
    one = {**TINY, "num_envs": 1, "total_steps": 128}
    for runner in ("vector", "legacy"):
        options = {"learning_starts": 16, "capacity": 100, "runner": runner}
        assert train(runner, config=one, **options) == 0
    assert metrics(runs / "vector") == metrics(runs / "legacy")
    for part, value in saved(runs / "vector", 128).items():
        assert equal(value, saved(runs / "legacy", 128)[part]), part


def test_agent_is_evaluated_loaded_and_exported(train, runs, tmp_path):
    flags = ("--set", "evaluation.during=inline", "--set", "evaluation.every=256")
    assert train("run", *flags, evaluation=True) == 0
    assert json.loads((runs / "run/evaluation.json").read_text())["goals"]["rates"]["trained"]
    policy = load_policy(runs / "run")
    engine = make_engine(TINY["env"], 5)
    engine.reset_many(seeds=3)
    actions, state = policy.act(engine.obs, engine.mask)
    assert state is None
    assert engine.mask[np.arange(5), actions].all()
    assert export.main([str(runs / "run"), str(tmp_path / "small")]) == 0
    again, _ = load_policy(tmp_path / "small").act(engine.obs, engine.mask)
    assert again.tolist() == actions.tolist()
    assert not list((tmp_path / "small").rglob("replay.npz"))


def test_game_of_records_whose_decisions_last_is_learnt_from(train, runs):
    third_game.register()
    try:
        game = {name: third_game.TINY[name] for name in ("env", "env_options")}
        assert train("race", config={**TINY, **game, "evaluation": {"during": "off"}}) == 0
    finally:
        third_game.unregister()
    discounts = saved(runs / "race")["replay"]["discount"]
    assert len(discounts.unique()) > 2


def test_gate_opens_the_next_stage_and_cuts_the_episodes_off(train, runs):
    gate = {
        "stages": [
            {"name": "early", "knobs": {"allowed_phases": ["early"]}},
            {"name": "all", "knobs": {"allowed_phases": []}},
        ],
        "success": {"info": "ended_won", "equals": "ended_bid"},
        **{"target": 0.02, "alpha": 0.2, "tests": 2, "gate_every": 1, "n_max": 600},
    }
    assert train("run", "--set", f"gate={json.dumps(gate)}", "--total-steps", 256) == 0
    events = [json.loads(line) for line in (runs / "run/events.jsonl").read_text().splitlines()]
    assert [e["step"] for e in events if e["event"] == "stage"] == [128]
    end = saved(runs / "run", 256)["replay"]["end"]
    assert (end[15] != 0).all()  # the last decisions before all lanes began anew
    assert (end == 2).any()


@walk(
    ("options", "says"),
    [
        ({"n_step": 40}, "dqn.capacity=320 is not possible: dqn.capacity must be at least 328"),
        ({"batch_size": 65}, "dqn.batch_size=65 is not possible: dqn.batch_size must be at most"),
        ({"learning_starts": 320}, "dqn.learning_starts must be at most 296, which a replay"),
        ({"capacity": 10**12}, "dqn.capacity must be less: a replay of 1,000,000,000,000"),
        ({"encoder": "conv"}, "dqn.encoder='conv' is not possible"),
        ({"recurrent": "gru", "burn_in": 24}, "dqn.burn_in must be below dqn.seq_len=24"),
        ({"recurrent": "gru", "seq_len": 15, "burn_in": 0}, "dqn.batch_size must be a multiple of"),
        ({"recurrent": "ssm", "recurrent_size": 5}, "dqn.recurrent_size must be even"),
        ({"recurrent": "gru"}, "dqn.capacity must be at least"),
        ({"precision": "fp16"}, "dqn.precision='fp16' is not possible"),
        ({"num_quantile": 5}, "'dqn.num_quantile' is not an option"),
    ],
)
def test_what_cannot_be_is_refused_with_nothing_written(train, runs, capsys, options, says):
    make_engine(TINY["env"], 1)  # says that it compiles something, once
    capsys.readouterr()
    assert train("bad", **options) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not runs.exists()


@walk(
    ("values", "says"),
    [
        ({"dqn": {"n_step": 5}}, "dqn.n_step=5 is not possible: dqn.n_step must be 3 with trainer"),
        ({"trainer": "dqn", "ppo": {"n_steps": 64}}, "ppo.n_steps must be 128 with trainer='dqn'"),
        ({"trainer": "dqn", "native": {"recurrent": "gru"}}, "native.recurrent"),
        ({"trainer": "dqn", "dqn": {"runner": "legacy"}, "window_ticks": 9}, "dqn.runner"),
    ],
)
def test_options_that_the_trainer_would_not_use_are_refused(values, says):
    with pytest.raises(Exception, match=says.replace("(", r"\(")):
        RunConfig.from_mapping(values)


def test_checkpoint_of_another_trainer_or_network_is_foreign(train, runs):
    assert train("run", "--total-steps", 256) == 0
    noisy = RunConfig.from_mapping(merge(TINY, {"dqn": {"noisy": True}}))
    path = runs / f"run/checkpoints/ckpt_{256:012d}"
    for wanted, says in (
        ({"trainer": "native"}, "its trainer is 'dqn', here it is 'native'"),
        (noisy.identity, "its network is"),
    ):
        with pytest.raises(checkpoint.CheckpointError, match=f"foreign: {says}"):
            checkpoint.load(path, wanted)


def test_damaged_replay_is_noticed_and_the_checkpoint_before_it_taken(train, runs, capsys):
    assert train("run") == 0
    file = runs / f"run/checkpoints/ckpt_{512:012d}/replay.npz"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert train("run", "--resume", "--total-steps", 640, config=None) == 0
    assert "replay.npz is damaged" in capsys.readouterr().err
    assert [r["step"] for r in metrics(runs / "run")] == [128, 256, 384, 512, 640]


def test_memory_for_the_copy_of_a_checkpoint_is_asked_for(monkeypatch):
    config = RunConfig.from_mapping(TINY)
    once = config.replay_bytes(812, 74)
    memory = type("Memory", (), {"total": 2 * once})
    monkeypatch.setattr(sizes.psutil, "virtual_memory", lambda: memory)
    with pytest.raises(ConfigError, match=r"twice that while it is saved .* this machine has"):
        config.check_memory(812, 74)
    unsaved = RunConfig.from_mapping(merge(TINY, {"dqn": {"save_replay": False}}))
    unsaved.check_memory(812, 74)
    memory.total = once
    with pytest.raises(ConfigError, match=r"GiB, and this machine has"):
        unsaved.check_memory(812, 74)


def test_replay_on_a_gpu_is_measured_by_its_memory(monkeypatch):
    engine, memory = make_engine(TINY["env"], 1), type("Memory", (), {"total_memory": 2**18})
    monkeypatch.setattr(dqn_run, "choose_device", lambda _: torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: memory)
    config = RunConfig.from_mapping(merge(TINY, {"dqn": {"precision": "auto"}}))
    with pytest.raises(ConfigError, match=r"dqn.capacity must be less: .* and the GPU .* has 0.0"):
        dqn_run.check(config, engine)
    memory.total_memory = 2**30
    dqn_run.check(config, engine)


@walk("recurrent", ["none", "gru", "lstm", "ssm", "ssm_gru_lstm"])
def test_sizes_are_those_of_the_tensors(recurrent):
    options = {**DQN, "capacity": 4096, "prioritized": True, "recurrent": recurrent, "seq_len": 24}
    config = RunConfig.from_mapping({**TINY, "dqn": options})
    engine = make_engine(config.env, 8)
    replay = dqn_run.make_trainer(config).replay
    held = sum(x.nbytes for x in (*replay.tensors().values(), replay.final_obs))
    held += replay.priorities.tree.nbytes
    held += 0 if recurrent == "none" else replay.state.nbytes
    assert config.replay_bytes(engine.obs[0].nbytes, engine.num_actions) == held
    assert "replay of 4,096 decisions" in config.sizes(4, 8)


@pytest.mark.slow
def test_recurrent_agent_is_evaluated_and_loaded_with_its_state(train, runs):
    cell = {"recurrent": "gru_lstm", "recurrent_size": 8, "seq_len": 6, "burn_in": 2}
    assert train("run", "--total-steps", 256, evaluation=True, **cell) == 0
    policy = load_policy(runs / "run")
    assert policy.state_size == 4 + 8
    engine = make_engine(TINY["env"], 5)
    engine.reset_many(seeds=3)
    actions, state = policy.act(engine.obs, engine.mask)
    assert engine.mask[np.arange(5), actions].all()
    assert (state != 0).any(1).all()


@walk("name", ["flat_dqn", "worker_dqn", "prospector_dqn"])
def test_presets_are_possible(name):
    config = RunConfig.from_mapping(load_preset(name))
    assert config.trainer == "dqn"
    assert config.dqn.learning_starts < config.total_steps / 4


def test_the_network_that_is_loaded_has_the_parameters_of_the_checkpoint():
    config = RunConfig.from_mapping(TINY)
    engine = make_engine(config.env, 1)
    trained = QNetwork(obs_layout(engine), config.dqn).state_dict()
    trained = {name: value + 0.5 for name, value in trained.items()}
    loaded = load_net(config, engine, trained)
    assert equal(dict(loaded.state_dict()), trained)
    engine.reset_many(seeds=1)
    with torch.no_grad():
        expected = loaded.logits(torch.from_numpy(engine.obs))
    found = make_player(load_nets(config, engine, trained)["policy"][0])(engine.obs)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
