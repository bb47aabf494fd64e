"""Trainings spread over processes: rows say what ran, rows become verdicts, costs a model."""

import json

import pytest

from fastenv.errors import ConfigError
from tests.training.bench.described import assert_described
from tools.figures import records, speeds
from training import benchmark_v9
from training.bench import bars_scale, exchange, scale_model
from training.bench.bars_scale import COMMON, WAYS, Turn, Way
from training.bench.scale_model import Assumed
from training.bench.timing import Sample
from training.run.config import RunConfig
from training.run.reading import merge

# What each way takes: CPU seconds and microseconds of a phase, a decision each.
PHASES = {
    "native": {"env": 1.0, "collect": 4.0, "update": 45.0},
    "native, 2 threads": {"env": 1.0, "collect": 4.0, "update": 35.0},
    "torchrun": {"env": 0.5, "collect": 2.0, "update": 27.5},
    "native, more lanes": {"env": 1.0, "collect": 3.0, "update": 45.0},
    "torchrun, more lanes": {"env": 0.5, "collect": 1.5, "update": 26.0},
    "rllib": {"sample": 60.0, "update": 50.0, "sync": 1.0},
    "rllib, 2 runners": {"sample": 35.0, "update": 50.0, "sync": 1.0},
    "rllib, reference": {"sample": 210.0, "update": 50.0, "sync": 1.0},
}
LOG = 2.0


def turn(key, steps=1000):
    """Return what a run of a way would have been, with 2 us a decision in no phase."""
    way, phases = WAYS[key], PHASES[key]
    config = RunConfig.from_mapping(merge(COMMON, dict(way.options)))
    backend = "reference" if config.backend == "reference" else "fast"
    ray = {"ray": "2.60.0"} if way.rllib else {}
    summary = {"backend": backend, "precision": "fp32", "versions": ray}
    summary |= {} if way.rllib else {"ranks": way.ranks}
    wall = steps * (sum(phases.values()) + LOG) / 1e6
    seconds = {name: steps * us / 1e6 for name, us in phases.items()}
    return Turn(config, summary, Sample(steps, wall, wall, 0.0, 0.0), seconds, 0.0)


def rows():
    found = [bars_scale.row(key, WAYS[key], [turn(key)] * 3) for key in WAYS]
    shared = {"kind": "exchange", "ranks": 2, "obs_bytes": 800, "actions": 100, "us_all": []}
    small = shared | {"name": "one", "bytes": 4, "us": 40.0}
    return [*found, small, shared | {"name": "all", "bytes": 1_000_000, "us": 1040.0}]


def test_a_row_says_what_ran():
    found = {row["way"]: row for row in rows() if "way" in row}
    assert {key: row["name"] for key, row in found.items()} == {
        "native": "native, 1 process, 1 torch thread",
        "native, 2 threads": "native, 1 process, 2 torch threads",
        "torchrun": "native, 2 ranks of torchrun, 1 torch thread each",
        "native, more lanes": "native, 1 process, 1 torch thread",
        "torchrun, more lanes": "native, 2 ranks of torchrun, 1 torch thread each",
        "rllib": "RLlib 2.60.0, 1 env runner, learns in its driver",
        "rllib, 2 runners": "RLlib 2.60.0, 2 env runners, learns in its driver",
        "rllib, reference": "RLlib 2.60.0, 1 env runner, learns in its driver",
    }
    assert found["rllib, reference"]["backend"] == "reference"
    assert_described(found.values())
    assert found["torchrun"]["command"].endswith("--nproc-per-node=2 -m training.train")
    assert found["rllib"]["command"] == ".venv-rllib/bin/python -m training.train"
    assert bars_scale.setting_of(found["torchrun"]) == (
        "SkullKingWorker-v0, 64 lanes, 128 steps, minibatches of 4,096, 4 epochs, 256x256 relu, "
        "fp32"
    )
    of = {key: bars_scale.setting_of(row) for key, row in found.items()}
    lanes = {"rllib, 2 runners": "128 lanes, 64 steps"}  # 64 an env runner, as with one
    lanes |= {f"{way}, more lanes": "512 lanes, 16 steps" for way in ("native", "torchrun")}
    for key, setting in of.items():  # what is compared differs in the way alone
        assert setting == of["native"].replace(
            "64 lanes, 128 steps", lanes.get(key, "64 lanes, 128 steps")
        )
    assert found["rllib"]["us_per_step"] == pytest.approx(PHASES["rllib"])
    assert found["rllib"]["sampled_per_s"] == pytest.approx(1e6 / 60)


def test_rows_become_verdicts():
    found = bars_scale.bars(rows())
    assert [b["measured"] for b in found] == pytest.approx([60 / 35, 263 / 113, 52 / 32, 51 / 30])
    assert [b["pass"] for b in found] == [True, False, True, True]
    assert [b["noisy"] for b in found] == [False] * 4
    assert found[1]["what"].startswith(
        "RLlib 2.60.0, 1 env runner, learns in its driver, fast over "
        "RLlib 2.60.0, 1 env runner, learns in its driver, reference; end to end"
    )
    for bar, lanes in zip(found, (128, 64, 64, 512), strict=True):
        assert f" {lanes} lanes" in bar["what"]
    assert found[2]["all"] == pytest.approx([52 / 32] * 3)


def test_without_ray_the_runs_of_rllib_are_left_out(tmp_path, monkeypatch, capsys):
    ran = []

    def take_turn(way, common, iterations):
        key = next(k for k, each in WAYS.items() if each is way)
        ran.append((key, iterations))
        return turn(key)

    monkeypatch.setattr(bars_scale, "RLLIB_PYTHON", tmp_path / "python")
    monkeypatch.setattr(bars_scale, "take_turn", take_turn)
    monkeypatch.setattr(exchange, "rows", lambda config, repeats: rows()[-2:])
    out = tmp_path / "rows.jsonl"
    flags = ["--only", "scale", "--repeats", "2", "--steps", "8192", "--out", str(out)]
    assert benchmark_v9.main(flags) == 0
    assert ran == [(key, 1) for key, way in WAYS.items() if not way.rllib] * 2
    _, *found = [json.loads(line) for line in out.read_text().splitlines()]
    judged = [row for row in found if row["kind"] == "bar"]
    assert [bar["pass"] for bar in judged] == [None, None, True, True]
    assert "make rllib" in judged[0]["reason"]
    assert "make rllib" in capsys.readouterr().out
    with pytest.raises(ConfigError, match=r"no row of 'rllib': make rllib"):
        scale_model.costs_of(found)


def test_a_run_that_fails_is_said_in_a_sentence():
    with pytest.raises(ConfigError, match=r"training.train failed: error: id 'Nowhere-v0': must"):
        bars_scale.take_turn(Way(1, {"env": "Nowhere-v0"}), COMMON, 1)


@pytest.mark.slow
def test_whole_runs_are_what_their_rows_say():
    ppo = {"n_steps": 16, "batch_size": 64, "n_epochs": 2, "net_arch": [32], "precision": "fp32"}
    common = COMMON | {"num_envs": 8, "ppo": ppo}
    ways = {key: WAYS[key] for key in ("native", "torchrun")}
    one, two = bars_scale.all_rows(1, 3, common, ways)[:2]
    assert (one["ranks"], two["ranks"]) == (1, 2)
    assert "1 process" in one["name"]
    assert "2 ranks" in two["name"]
    for row in (one, two):
        assert (row["num_envs"], row["minibatch"], row["net_arch"]) == (8, 64, [32])
        assert row["seconds"][0] == pytest.approx(3 * 128 / row["steps_per_s"], abs=1e-3)
        assert sum(row["us_per_step"].values()) <= 1e6 / row["steps_per_s"]
        assert row["cores_used"] > 0


@pytest.mark.slow
def test_ranks_exchange_what_a_network_has():
    small, large = exchange.rows(RunConfig.from_mapping(COMMON), 1, times=2)
    assert small["numbers"] == 1
    assert large["numbers"] > 2 * 256 * 256
    assert large["us"] > 0


# -- the model -------------------------------------------------------------------------------------


def test_costs_are_those_of_the_record():
    costs = scale_model.costs_of(rows())
    assert (costs.env, costs.act, costs.update) == pytest.approx((1, 4, 45))
    assert costs.log == pytest.approx(LOG)
    assert costs.one_core == pytest.approx(52)
    # 60 us with one env runner and 35 with two: 50 are shared, 10 are not.
    assert (costs.sample, costs.gather) == pytest.approx((50, 10))
    assert (costs.rllib_update, costs.rllib_other) == pytest.approx((50, 3))
    assert costs.message == pytest.approx(20)
    assert costs.bytes_per_us == pytest.approx(1000, rel=1e-4)
    assert costs.decision_bytes == 800 + 400 + 24


def test_estimates_are_recomputed():
    costs, assumed = scale_model.costs_of(rows()), Assumed()
    found = {(e.way, e.size): e for e in scale_model.estimates(costs, assumed)}
    assert found["native, 1 process (measured)", "1 core"].steps_per_s == pytest.approx(1e6 / 52)
    # 14 hops of 20 us, and 14 eighths of a megabyte at 1,000 bytes/us; 4 epochs of 4,096 each.
    ring = 14 * 20 + 14 / 8 * 1e6 / 1000
    fixed = found["torchrun, the same minibatches", "8 cores"]
    assert fixed.parts == pytest.approx(
        {"environment": 1 / 8, "acting": 0.5, "update": 45 / 8, "gradients": ring / 1024, "log": 2},
        rel=1e-3,
    )
    assert fixed.binds == "update"
    grown = found["torchrun, lanes and minibatches grow", "8 cores"]
    assert grown.parts["gradients"] == pytest.approx(ring / 8192, rel=1e-3)
    assert grown.parts["log"] == pytest.approx(0.25)
    one = found["RLlib, 1 learner", "8 cores"]
    assert sum(one.parts.values()) == pytest.approx(50 / 7 + 10 + 50 + 3)
    assert one.binds == "update"
    # Beyond a machine gradients and samples go over the network.
    far = found["RLlib, 1 learner", "1,024 cores"]
    assert far.parts["gathering samples"] == pytest.approx(10 + 1224 / 1250)
    many = found["torchrun, the same minibatches", "1,024 cores"]
    hops = 2 * 1023
    ring = hops * 50 + hops / 1024 * 1e6 / 1000
    assert many.parts["gradients"] == pytest.approx(ring / 1024, rel=1e-3)
    assert many.binds == "gradients"
    assert many.assumed
    assert not fixed.assumed
    for size in ("8 cores", "64 cores", "1,024 cores"):
        best = found["RLlib, as many learners as are best", size]
        assert best.steps_per_s >= found["RLlib, 1 learner", size].steps_per_s
    gpus = found["torchrun on GPUs", "4 GPUs, 32 cores"]
    assert gpus.parts["device"] == pytest.approx(0.5)
    assert gpus.parts["environment"] == pytest.approx(1 / 32)
    slow = scale_model.estimates(costs, Assumed(device_us=8.0))
    assert slow[-1].parts["device"] == pytest.approx(1.0)


def test_the_page_has_the_table_of_the_newest_record(tmp_path, monkeypatch):
    measured, model = speeds.scale, speeds.scale_model
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    assert "--only scale" in measured()
    assert "--only scale" in model()
    head = {"git_rev": "a" * 12, "created": "2026-01-01", "dirty": False, "load": 0.1}
    head |= {"load_after": 0.2, "host": {"cpu_model": "a core", "physical_cores": 2}}
    every = [head, *rows(), *bars_scale.bars(rows())]
    (tmp_path / "scale.jsonl").write_text("\n".join(map(json.dumps, every)))
    text = measured()
    assert "| native, 2 ranks of torchrun, 1 torch thread each | 64 | `fast` | 31,250" in text
    assert "`benchmarks/scale.jsonl` at aaaaaaa" in text
    costs = scale_model.costs_of(rows())
    for line in scale_model.table(costs, Assumed()):
        assert f"| {' | '.join(line)} |" in model()
    assert scale_model.sentence(Assumed()) in model()
