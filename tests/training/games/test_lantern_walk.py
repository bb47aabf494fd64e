"""DQN on Lantern Walk with everything that is followed there: it runs, and goes on to the bit."""

import json

import numpy as np
import pytest
import torch

from tests.bits import equal
from tests.needs import needs_core
from tests.training import begun
from training.callbacks.trackers import options
from training.nets.actor_critic import ActorCritic
from training.nets.layout import obs_layout
from training.nets.q_network import QNetwork
from training.run.callback import EngineStep
from training.run.config import RunConfig
from training.run.config_files import load_file, merge
from training.run.envs import make_engine
from training.run.option_layers import CONFIGS

FILE = load_file(CONFIGS / "lantern_walk_trackers.yaml")
MEMORY = load_file(CONFIGS / "lantern_walk_dqn.yaml")
SHORT = {
    **{"num_envs": 4, "deterministic": True, "evaluation": {"during": "off"}},
    "checkpoints": {"every": 128},
    "env_options": {"max_steps": 24},
    "dqn": {
        **{"capacity": 512, "batch_size": 16, "learning_starts": 64, "replay_ratio": 1.0},
        **{"lr_schedule": "constant", "epsilon_start": 0.5, "epsilon_end": 0.5},
        **{"iteration_steps": 16, "net_arch": [16], "num_quantiles": 5, "save_replay": True},
    },
}


def train(folder, name, *flags, options=FILE):
    assert begun.train(folder, name, *flags, config=merge(options, SHORT)) == 0
    return [json.loads(x) for x in (folder / name / "metrics.jsonl").read_text().splitlines()]


@needs_core
@pytest.mark.parametrize("options", [FILE, MEMORY], ids=["trackers", "memory"])
@pytest.mark.slow
def test_everything_is_followed_and_goes_on_exactly(tmp_path, options):
    straight = train(tmp_path, "straight", "--total-steps", "512", options=options)
    train(tmp_path, "halves", "--total-steps", "256", options=options)
    assert begun.train(tmp_path, "halves", "--resume", "--total-steps", 512) == 0
    halves = [json.loads(x) for x in (tmp_path / "halves/metrics.jsonl").read_text().splitlines()]
    assert [x["trackers"] for x in halves] == [x["trackers"] for x in straight]
    last = straight[-1]["trackers"]
    assert last["archive/restarts"] > 0
    if "visits" in options["trackers"]:
        assert last["visits/cells"] > 20
        assert last["visits/bonus"] > 0
        assert {"quests/candles", "progress/candle", "progress/told_low"} <= last.keys()
    ours, theirs = (
        torch.load(tmp_path / f"{name}/checkpoints/ckpt_000000000512/model.pt", weights_only=True)
        for name in ("halves", "straight")
    )
    assert equal(ours["policy"], theirs["policy"])


@needs_core
def test_dqn_with_a_memory_plays_the_same_game_and_sees_it_as_ppo_does():
    ppo = load_file(CONFIGS / "lantern_walk.yaml")
    assert MEMORY["env_options"] == {**ppo["env_options"], "pixels": "packed72x20"}
    assert MEMORY["trackers"] == ppo["trackers"]
    sizes = []
    for file, make, section in ((ppo, ActorCritic, "native"), (MEMORY, QNetwork, "dqn")):
        config = RunConfig.from_mapping(file)
        engine = make_engine(config.env, 2, config.env_options)
        given = (config.ppo, config.native) if section == "native" else (config.dqn,)
        net = make(obs_layout(engine), *given)
        sizes.append({name: p.shape for name, p in net.encoder.named_parameters()})
        assert net.state_size == 128
    assert sizes[0] == sizes[1]
    assert [shape[0] for name, shape in sizes[0].items() if "weight" in name] == [16, 32]


@needs_core
def test_episodes_begin_where_few_have_been_and_the_screen_shows_it():
    engine = make_engine(FILE["env"], 8, {**FILE["env_options"], "max_steps": 12})
    how = merge(FILE["trackers"], {"archive": {"p_archive": 1.0}})
    trackers = options.build(engine, how, seed=3)
    obs, mask = engine.obs.copy(), engine.mask.copy()
    engine.reset_many(seeds=5, obs_out=obs, mask_out=mask)
    trackers.step(None, EngineStep(engine, None, obs, mask))
    rng, moved = np.random.default_rng(0), 0
    for _ in range(40):
        engine.step_many(np.array([rng.choice(np.flatnonzero(m)) for m in mask]), obs, mask)
        trackers.step(None, EngineStep(engine, np.zeros(8), obs, mask))
        done = (engine.terminated | engine.truncated) > 0
        placed = done & trackers.placed
        if placed.any():
            states = engine.get_state(np.flatnonzero(placed))
            archive = trackers._named["archive"]
            assert all((archive.blobs == state).all(1).any() for state in states)
            engine.refresh()
            assert (obs["pixels"][placed] == engine.obs["pixels"][placed]).all()
            moved += int(placed.sum())
    assert moved > 8


@needs_core
def test_gate_moves_the_start_states_on(tmp_path):
    """A curriculum of start states, with the archive: all lanes begin anew in the next one."""
    stages = [{"name": n, "knobs": {"start_state": k}} for n, k in (("near", 40), ("far", 0))]
    gate = {"stages": stages, "success": {"info": "cells", "at_least": 0}, "target": 0.02}
    gate |= {"alpha": 0.2, "tests": 2, "gate_every": 1, "n_max": 300}
    train(tmp_path, "run", "--total-steps", "192", "--set", f"gate={json.dumps(gate)}")
    events = [json.loads(x) for x in (tmp_path / "run/events.jsonl").read_text().splitlines()]
    assert [e["step"] for e in events if e["event"] == "stage"] == [64]
