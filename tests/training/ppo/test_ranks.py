"""Ranks of torchrun: two processes learn what one learns from the data of both."""

import json
import multiprocessing
import os
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from fastenv.skullking.state import STATE_DTYPE
from tests.slow import every
from tests.training.conftest import TINY
from tests.training.ppo.conftest import SMALL, make_on, sections
from tests.training.ppo.engines import Corridor
from training.run import checkpoint
from training.run.config import RunConfig
from training.run.jsonl import read_lines
from training.run.ranks import Ranks
from training.run.trainer import TrainingError

LANES = 4  # of a rank
FIELDS = ("obs", "mask", "action", "value", "logp", "reward", "bootstrap", "adv", "ret", "done")


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return str(sock.getsockname()[1])


def environment(rank, port, size=2):
    return {
        **{"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank)},
        **{"LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port},
    }


def trainer_of(ranks, options):
    options = {**SMALL, **options, "batch_size": SMALL["batch_size"] // ranks.size}
    ppo, native = sections(**options)
    return make_on(Corridor(LANES * 2 // ranks.size), ppo, native, ranks=ranks)


def prepared(trainer):
    """Collect a rollout; return the objective of its update."""
    trainer.start()
    objective, _ = trainer.follow_schedules(0.0)
    trainer.collect()
    trainer.bootstrap()
    trainer.advantages()
    return objective


def work(rank, port, options, path):
    """Be one of two ranks for an update, and write down what it learnt from."""
    os.environ.update(environment(rank, port))
    torch.set_num_threads(1)
    ranks = Ranks.from_environment()
    ranks.join()
    trainer = trainer_of(ranks, options)
    orders, draw = [], trainer.minibatches.permutation
    trainer.minibatches.permutation = lambda: orders.append(draw()) or orders[-1]
    objective = prepared(trainer)
    seen = {name: getattr(trainer.rollout, name).clone() for name in FIELDS}
    found = trainer.update(objective)
    found = {name: value for name, value in found.items() if name != "layers"}
    torch.save(
        {"net": trainer.net.state_dict(), "seen": seen, "orders": orders, "found": found},
        f"{path}/{rank}.pt",
    )
    if rank == 0:
        ranks.send("end")
    else:
        ranks.receive()


@pytest.mark.parametrize(
    "options",
    every(
        2,
        [
            {},
            {"target_kl": 1e-5, "learning_rate": 3e-3},
            {"micro_batch": 4},
        ],
    ),
)
def test_two_ranks_learn_what_one_learns_from_the_data_of_both(options, tmp_path):
    """T23; what ends an update early is decided together."""
    port, fork = free_port(), multiprocessing.get_context("fork")
    ranks = [fork.Process(target=work, args=(k, port, options, tmp_path)) for k in range(2)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(120)
    assert [process.exitcode for process in ranks] == [0, 0]
    one, other = (torch.load(tmp_path / f"{k}.pt", weights_only=True) for k in range(2))
    assert all(torch.equal(one["net"][name], other["net"][name]) for name in one["net"])
    assert not torch.equal(one["seen"]["action"], other["seen"]["action"])

    trainer = trainer_of(Ranks(), options)
    objective = prepared(trainer)
    for name in FIELDS:
        both = torch.cat([one["seen"][name], other["seen"][name]], 1)
        getattr(trainer.rollout, name).copy_(both)
    orders = iter([merged(a, b) for a, b in zip(one["orders"], other["orders"], strict=True)])
    trainer.minibatches.permutation = lambda: next(orders)
    found = trainer.update(objective)
    for name, value in trainer.net.state_dict().items():
        assert torch.allclose(value, one["net"][name], rtol=0, atol=1e-6), name
    for name in ("loss", "kl", "clipfrac", "entropy", "grad_norm", "minibatches"):
        assert found[name] == pytest.approx(one["found"][name], abs=1e-6), name
        assert one["found"][name] == other["found"][name], name
    if "target_kl" in options:
        assert found["minibatches"] < 8


def merged(one, other):
    """Return the order of all decisions whose minibatches are those of both ranks together."""
    lanes = [order // LANES * 2 * LANES + order % LANES for order in (one, other)]
    parts = (lanes[0].split(16), (lanes[1] + LANES).split(16))
    return torch.cat([torch.cat(pair) for pair in zip(*parts, strict=True)])


def test_ranks_have_lanes_and_generators_of_their_own():
    seeds = {Ranks(rank, 4).seed(7) for rank in range(4)}
    assert len(seeds) == 4
    assert Ranks().seed(7) == Ranks(0, 4).seed(7) == 7
    lanes = []
    for rank in range(2):
        trainer = trainer_of(Ranks(rank, 2), {})
        lanes.append(trainer.lane_seeds())
    assert lanes[1] == lanes[0] + LANES


def test_a_share_is_what_divides():
    config = RunConfig.from_mapping({"num_envs": 8, "ppo": {"n_steps": 16, "batch_size": 64}})
    share = config.share_of(2)
    assert (share.num_envs, share.ppo.batch_size) == (4, 32)
    assert config.share_of(1) is config
    sizes = {"n_steps": 1, "batch_size": 3}
    for values, text in (
        ({"num_envs": 9, "ppo": sizes}, "num_envs=9 .*a multiple of 2 with 2 ranks"),
        ({"num_envs": 6, "ppo": sizes}, "ppo.batch_size=3 .*a multiple of 2 with 2 ranks"),
        (
            {"trainer": "dqn"},
            "trainer='dqn' .*must be one that trains in several",
        ),
        ({"window_ticks": 60}, "window_ticks=60 .*left out with 2 ranks"),
    ):
        with pytest.raises(ConfigError, match=text):
            RunConfig.from_mapping(values).share_of(2)


def test_a_port_in_use_is_said_in_one_sentence(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for name, value in environment(0, str(taken.getsockname()[1])).items():
            monkeypatch.setenv(name, value)
        with pytest.raises(TrainingError, match=r"the ranks cannot meet at 127.0.0.1:\d+: .*"):
            Ranks.from_environment().join()


# -- whole runs ------------------------------------------------------------------------------------


def start(tmp_path, *flags, size=2, **options):
    """Start the ranks of a run; return their processes."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(TINY | options))
    port = free_port()
    command = [sys.executable, "-m", "training.train", "--config", str(config), "--no-evaluation"]
    return [
        subprocess.Popen(
            [*command, "--runs", str(tmp_path), *flags],
            env={**os.environ, **environment(rank, port, size)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]


def finish(processes):
    """Return exit codes and what the ranks said."""
    said = [process.communicate(timeout=300)[1] for process in processes]
    return [process.returncode for process in processes], said


def parameters(run):
    newest = run / "checkpoints" / (run / "checkpoints/latest").read_text().strip() / "model.pt"
    return torch.load(newest, weights_only=True)


@pytest.mark.slow
def test_a_run_goes_on_exactly_with_as_many_ranks(tmp_path):
    assert finish(start(tmp_path, "--name", "whole"))[0] == [0, 0]
    assert finish(start(tmp_path, "--name", "halves", total_steps=256))[0] == [0, 0]
    codes, said = finish(start(tmp_path, "--name", "halves", "--resume", size=1))
    assert codes == [2]
    assert "as many ranks as have saved it, 2, and here it is 1" in said[0]
    assert finish(start(tmp_path, "--name", "halves", "--resume"))[0] == [0, 0]
    one, other = parameters(tmp_path / "whole"), parameters(tmp_path / "halves")
    assert all(torch.equal(one["policy"][name], other["policy"][name]) for name in one["policy"])
    for a, b in zip(one["ranks"], other["ranks"], strict=True):
        assert all(torch.equal(a[name], b[name]) for name in a)
    records = read_lines(tmp_path / "whole" / "metrics.jsonl")
    assert [record["step"] for record in records] == [128, 256, 384, 512]


@pytest.mark.slow
def test_a_gate_is_decided_for_all_ranks(tmp_path):
    """T23: the first tests the policy; the lanes of both go on in the stage that follows."""
    stages = {"early": ["early"], "late": ["late"]}  # of 3 cards at most, of 7 at least
    gate = {
        "stages": [{"name": n, "knobs": {"allowed_phases": p}} for n, p in stages.items()],
        "success": {"info": "ended_round", "at_least": 1},  # every episode
        **{"target": 0.6, "n_max": 200, "tests": 3, "gate_every": 2, "lanes": 8},
    }
    codes, said = finish(start(tmp_path, "--name", "run", gate=gate))
    assert codes == [0, 0], said
    run = tmp_path / "run"
    events = read_lines(run / "events.jsonl")
    decided = [(e["event"], e["step"]) for e in events if e["event"] in ("gate", "stage")]
    assert decided == [("gate", 256), ("stage", 256)]
    assert len(list((run / "certificates").iterdir())) == 1
    for steps, fits in ((256, lambda cards: cards <= 3), (512, lambda cards: cards >= 7)):
        saved = checkpoint.load(run / f"checkpoints/ckpt_{steps:012d}", {})
        cards = saved.rows.view(STATE_DTYPE)["cards"].reshape(-1)
        assert len(cards) == TINY["num_envs"]
        assert fits(cards).all(), (steps, cards)


@pytest.mark.slow
def test_a_lost_rank_ends_all_with_a_sentence(tmp_path):
    ranks = start(tmp_path, "--name", "run", total_steps=10**7)
    metrics = tmp_path / "run" / "metrics.jsonl"
    while not metrics.is_file() or len(read_lines(metrics)) < 6:
        time.sleep(0.1)
        assert ranks[0].poll() is None
    ranks[1].kill()
    codes, said = finish(ranks)
    assert codes[0] == 2
    last = said[0].strip().splitlines()[-1]
    assert last.startswith("error: a rank of this training has ended")
    assert "Traceback" not in said[0]
    assert checkpoint.load_newest(tmp_path / "run" / "checkpoints", {}, print) is not None


@pytest.mark.slow
def test_torchrun_starts_it(tmp_path):
    """With a knob that changes on the way, which all ranks must hear of."""
    config = tmp_path / "config.json"
    schedules = {"opponents": [[0, "random"], [256, "rule_medium"]]}
    config.write_text(json.dumps(TINY | {"schedules": schedules}))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += ["-m", "training.train", "--config", str(config), "--no-evaluation"]
    done = subprocess.run(
        [*command, "--runs", str(tmp_path), "--name", "run"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert read_lines(tmp_path / "run" / "metrics.jsonl")[-1]["step"] == 512


def test_a_knob_is_set_in_the_same_lanes_of_all_ranks():
    ranks, sent, here = Ranks(0, 2), [], []
    ranks.send = lambda what, **values: sent.append((what, values))
    engine = SimpleNamespace(configure=lambda *given: here.append(given))
    ranks.share_knobs(engine)
    engine.configure("level", np.array([3, 4]), np.array([1, 5]))
    engine.configure("level", 7)
    assert [len(here), here[1]] == [2, ("level", 7, None)]
    assert sent == [
        ("configure", {"name": "level", "value": [3, 4], "idx": [1, 5]}),
        ("configure", {"name": "level", "value": 7, "idx": None}),
    ]
