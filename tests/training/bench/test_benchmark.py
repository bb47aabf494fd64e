import json
import runpy
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

import fastenv
from benchmarks import flags, gpu, prospector, skullking, trainers, training, views
from fastenv import backend as backends
from fastenv.adapters.torch import TorchVecEnv
from fastenv.drmario.planning import costs_of
from fastenv.engine import BatchEngine
from fastenv.skullking.layout import INFO_COLUMNS
from tests.needs import HAS_CORE, needs_core, needs_speed
from tests.slow import late
from tests.tables import walk
from tests.training.bench.described import HEAD, assert_described
from tests.training.bench.steppers import run_in_threads
from training import benchmark_v9
from training.apps.skullking import pair_benchmark
from training.bench import configs, games, records, runner, tables, targets, timing
from training.bench.configs import CONFIGS, MEASURED
from training.bench.env_modes import EnvPlan, env_only
from training.bench.stock import Flags
from training.bench.timing import Sample, Work, interleaved, summary
from training.ppo.options import NativeRun, PPOConfig
from training.ppo.trainer import PPOTrainer
from training.run import machine

TINY = ["--repeats", "1", "--steps", "64", "--games", "4"]
TINY += ["--set", "n_envs=4", "--set", "n_steps=16", "--set", "batch=32", "--set", "net_arch=[16]"]


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def configured(tmp_path_factory):
    """Rows of all configurations of Skull King, tiny."""
    out = tmp_path_factory.mktemp("configs") / "rows.jsonl"
    given = ["--only", "configs", "--game", "skullking", *TINY, "--out", str(out)]
    assert benchmark_v9.main(given) == 0
    return read(out)


@needs_core
def test_configurations_write_a_row_each(configured):
    head, *rows = configured
    assert {"created", "git_rev", "dirty", "host", "versions", "load"} <= set(head)
    assert [(row["config"], row["backend"], row["ran"]["adapter"]) for row in rows] == [
        ("baseline", "reference", "BatchVecEnv"),
        ("numba", "numba", "BatchVecEnv"),
        ("cython", "cython", "BatchVecEnv"),
        ("fast", "fast", "BatchVecEnv"),
        ("large_net", "reference", "BatchVecEnv"),
        ("dummy", "reference", "DummyVecEnv"),
        ("hierarchical", "fast", "engine"),
    ]
    for row in rows:
        assert set(MEASURED) <= set(row)
        assert row["ran"]["backend"] == row["backend"]
        # Manager and Worker in turns have no speed of the one environment alone.
        assert (row["env_only_steps_per_s"] is None) == (row["config"] == "hierarchical")
        shares = sum(row[f"share_{name}"] for name in ("env", "forward", "update", "other"))
        assert shares == pytest.approx(1)
        assert len(row["all"]) == 1
        if row["config"] != "hierarchical":
            assert row["trained_steps"] >= 128
            assert row["name"].startswith(f"sb3, SkullKingFlat-v0, {row['backend']}, ")
            hours = row["all"][0]["reward_per_hour"]
            change = row["reward_after"] - row["reward_before"]
            assert np.sign(hours) == np.sign(change)
    # Sizes are the same here, so large_net is the baseline once more.
    assert_described([row for row in rows if row["config"] != "large_net"])
    table = tables.config_table(rows)
    assert table.row_count == len(rows)


@needs_core
def test_baseline_and_the_backends_differ_in_the_backend_alone(configured):
    rows = {row["config"]: row["ran"] for row in configured[1:]}
    for name, backend in (("numba", "numba"), ("cython", "cython"), ("fast", "fast")):
        assert rows[name] == {**rows["baseline"], "backend": backend}
    assert rows["dummy"] == {**rows["baseline"], "adapter": "DummyVecEnv"}


@needs_core
@pytest.mark.parametrize("env", ["Prospector-v0", *late("DrMarioVersus-v0")])
def test_configurations_of_other_games_run_what_they_say(env, tmp_path, monkeypatch):
    """The engine that steps inside SB3's training is the one that the row names."""
    seen = []
    original = BatchEngine.step_many

    def spy(self, *args, **kwargs):
        seen.append((self.game.env_id, self.backend, self.num_envs))
        return original(self, *args, **kwargs)

    monkeypatch.setattr(BatchEngine, "step_many", spy)
    out = tmp_path / "rows.jsonl"
    small = ["--set", "n_envs=2", "--set", "n_steps=2", "--set", "batch=4"]
    given = ["--only", "configs", "--config", "baseline", "cython", *TINY, "--steps", "4", *small]
    assert benchmark_v9.main([*given, "--set", f"env={env}", "--out", str(out)]) == 0
    _, *rows = read(out)
    assert [row["status"] for row in rows] == ["measured"] * 2
    assert [row["backend"] for row in rows] == ["reference", "cython"]
    for row in rows:
        assert (env, row["backend"], 2) in seen
        assert row["ran"]["env"] == env
        assert row["points_after"] is None
        assert row["reward_per_hour"] is not None


def test_every_game_has_its_configurations():
    args = benchmark_v9.parser().parse_args(["--only", "configs"])
    found = [(flags.env, name) for name, flags in configs.chosen(args)]
    for env in [game.config_env for game in games.GAMES.values()]:
        names = [name for each, name in found if each == env]
        whole = env.startswith("SkullKing")
        assert names == [n for n in CONFIGS if whole or n != "hierarchical"]
    assert len(found) == len(set(found)) == 4 * len(CONFIGS) - 3


def test_hierarchical_that_cannot_run_is_null_and_says_why(tmp_path, monkeypatch):
    out, nowhere = tmp_path / "rows.jsonl", tmp_path / "nowhere.yaml"
    monkeypatch.setattr(pair_benchmark, "CONFIG", nowhere)
    assert benchmark_v9.main(["--config", "hierarchical", *TINY, "--out", str(out)]) == 0
    _, row = read(out)
    assert str(nowhere) in row["status"]
    assert all(row[name] is None for name in MEASURED)


@pytest.fixture
def no_core(monkeypatch):
    """Let no core be there, as where no compiler is."""

    def failure(module):
        return "ModuleNotFoundError: never built" if module.endswith("._core") else None

    monkeypatch.setattr(backends, "_import_failure", failure)


@pytest.mark.usefixtures("no_core")
def test_a_configuration_that_needs_a_core_says_so_in_the_table(tmp_path, capsys):
    out = tmp_path / "rows.jsonl"
    asked = ["--config", "cython", "fast", "--game", "prospector", *TINY]
    assert benchmark_v9.main([*asked, "--out", str(out)]) == 0
    rows = read(out)[1:]
    assert [row["config"] for row in rows if row["kind"] == "config"] == ["cython", "fast"]
    assert all("install a C compiler" in row["status"] for row in rows)
    said = " ".join(capsys.readouterr().out.split())  # as wide as the terminal
    assert "cython: backend 'cython' is not available" in said
    assert "fast: backend 'fast' is not available" in said


@pytest.mark.usefixtures("no_core")
def test_a_suite_that_needs_a_core_is_left_out_unless_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "chosen", lambda args: ["bars"])
    asked = ["--game", "prospector", "--short", "--out", str(tmp_path / "rows.jsonl")]
    assert benchmark_v9.main(asked) == 0
    assert "bars: not measured: backend 'fast' is not available" in capsys.readouterr().out
    assert benchmark_v9.main([*asked, "--only", "bars"]) == 2
    assert "error: backend 'fast' is not available" in capsys.readouterr().err


def test_a_run_is_measured_like_a_configuration(monkeypatch):
    """With the native trainer: what is measured of a run does not depend on who trains."""
    ppo = PPOConfig(n_steps=16, batch_size=32, n_epochs=1, net_arch=(8,))
    config = NativeRun(env="SkullKingFlat-v0", num_envs=4, torch_threads=1, ppo=ppo)
    monkeypatch.setattr(pair_benchmark, "settings", lambda flags: config)
    found = pair_benchmark.measure(Flags(), steps=100, games=4)
    assert set(found) - {"ran"} <= set(MEASURED)
    shares = sum(found[f"share_{name}"] for name in ("env", "forward", "update", "other"))
    assert shares == pytest.approx(1)
    collect, update = (1 / found[f"{part}_steps_per_s"] for part in ("collect", "update"))
    assert collect + update <= 1 / found["steps_per_s"]
    assert found["points_after"] is not None
    without = pair_benchmark.measure(Flags(), steps=1, games=0)
    assert without["points_after"] is None


def test_minibatches_of_stock_ppo_need_not_divide_its_rollout():
    config = Flags(n_envs=3, n_steps=7, batch=5).config
    assert (config.rollout, config.ppo.batch_size) == (21, 5)


@walk("flag", ["use_numba", "use_cython"])
def test_manager_and_worker_run_on_the_backend_of_each_flag(flag):
    flags = Flags(use_hierarchical=True, **{flag: True})
    assert pair_benchmark.settings(flags).backend == flags.backend == flag.removeprefix("use_")
    assert CONFIGS["hierarchical"].backend == "fast"


@needs_core
def test_environments_one_by_one_run_too(tmp_path):
    out = tmp_path / "rows.jsonl"
    flags = ["--config", "fast", *TINY, "--set", "vec=dummy", "--out", str(out)]
    assert benchmark_v9.main(flags) == 0


def updates(patch):
    """Return a list in which every update from now on says who trained what how."""
    seen = []

    def watch(kind, method, describe):
        original = getattr(kind, method)

        def spy(self, *args):
            seen.append(describe(self))
            return original(self, *args)

        patch.setattr(kind, method, spy)

    def stock(model):
        assert type(model) is MaskablePPO
        assert type(model.policy) is MaskableActorCriticPolicy  # separate layers, in float32
        return "sb3", "separate", "fp32"

    def native(trainer):
        return "native", trainer.native.trunk, trainer.precision.name

    watch(MaskablePPO, "train", stock)
    watch(PPOTrainer, "update", native)
    return seen


def test_trainers_stand_beside_each_other(tmp_path, capsys, monkeypatch):
    seen = updates(monkeypatch)
    small = trainers.setting(8)
    monkeypatch.setattr(trainers, "setting", lambda _lanes: small)
    out = tmp_path / "rows.jsonl"
    flags = ["--only", "trainers", "--repeats", "2", "--seconds", "0.001", "--out", str(out)]
    assert benchmark_v9.main(flags) == 0
    _, *rows = read(out)
    judged = [rows.pop() for _ in range(3)][::-1]
    assert [row["name"] for row in rows] == list(trainers.NAMED)
    ran = [(row["trainer"], row["trunk"], row["precision"]) for row in rows]
    assert seen == ran + 2 * ran  # once to warm up, then in turns
    assert [row["precision_asked"] for row in rows] == ["fp32", "fp32", "auto", "auto"]
    for row in rows:
        assert row["backend"] == ("fast" if HAS_CORE else "numba")
        assert len(row["ratio_per_cpu_s_all"]) == 2
        assert row["ratio_per_cpu_s"] == pytest.approx(sum(row["ratio_per_cpu_s_all"]) / 2)
    assert rows[0]["ratio_per_cpu_s"] == 1
    for row, bar in zip(rows[1:], judged, strict=True):
        assert bar["what"].startswith(f"{row['name']} over stock MaskablePPO, 8 lanes")
        assert bar["measured"] in (None, row["ratio_per_cpu_s"])
    assert "native auto, shared trunk" in capsys.readouterr().out


def test_ratios_are_medians_of_pairs():
    """Each turn is compared with its own: in the second turn the machine was half as fast."""
    name = "steps_per_cpu_s_all"
    fast, slow = (
        {"name": who, "steps_per_cpu_s": 9.0, name: speeds, "noisy": False, "num_envs": 4096}
        for who, speeds in (("step as tensors", [8, 4, 8]), ("engine's step", [4, 2, 2]))
    )
    found, *_ = targets.judge("views", [fast, slow])
    assert (found["measured"], found["all"]) == (2, [2, 2, 4])


# -- the bars of training --------------------------------------------------------------------------


class Here:
    """A pool of processes that is this one: another takes seconds to import torch."""

    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def submit(self, call, *args):
        found = call(*args)
        return SimpleNamespace(result=lambda: found)


def judge_training(rows):
    return [bar for part in training.SUITE.targets for bar in targets.judge(part, rows)]


SMALL = trainers.setting(64).replace(ppo=PPOConfig(n_steps=8, batch_size=64, net_arch=(8,)))


@pytest.fixture(scope="module")
def training_rows():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "ProcessPoolExecutor", Here)
        return training.all_rows(repeats=1, seconds=1e-9, config=SMALL)


@pytest.mark.slow
@pytest.mark.skipif(machine.physical_cores() < 2, reason="needs two cores")
def test_threads_are_measured_in_processes_of_their_own():
    rows = training.thread_rows(SMALL, repeats=1, seconds=1e-9)
    ways = [(row["waiting"], row["torch_threads"]) for row in rows]
    assert ways == [(way, threads) for way in training.WAITING for threads in (1, 2)]


@needs_core
@pytest.mark.slow
def test_bars_of_training_are_judged_or_say_why_not(training_rows):
    judged = judge_training(training_rows)
    asked = [bar["asked"] for bar in judged]
    assert asked[:3] == ["at least 1.2", "at least 2.6", "at least 4.2"]
    assert asked[3:5] == ["at least 6", "at least 150,000"]
    assert asked[5:10] == ["at most 0.06", *["at most 0.03"] * 4]
    assert asked[-3:] == ["at least 500,000", "at least 1e+06", "at least 80"]
    assert asked[10:-3] == ["at least 1.6"] * len(training.WAITING)
    for bar in judged:
        if bar["measured"] is None:
            assert bar["pass"] is None
            assert bar["reason"]
        else:
            assert isinstance(bar["pass"], bool)
    measured = {bar["what"]: bar["measured"] for bar in judged}
    pairs = [r for r in training_rows if r["mode"] == training.REFERENCE]
    threads = sorted({1, machine.physical_cores()})
    assert [r["torch_threads"] for r in pairs] == [n for n in threads for _ in range(2)]
    assert [r["backend"] for r in pairs] == ["reference", "fast"] * len(threads)
    today, ours = pairs[-2:]
    over = next(value for what, value in measured.items() if "reference envs" in what)
    assert over == ours["steps_per_s"] / today["steps_per_s"]
    assert len([r for r in training_rows if r["mode"] == "train"]) == len(trainers.NAMED)


@pytest.mark.slow
@needs_speed
def test_env_shares_are_shares(training_rows):
    found = [r for r in training_rows if r["mode"] == training.SHARE]
    assert [r["tier"] for r in found] == ["flat", "manager", "worker", "ability", "prospector"]
    for row in found:
        assert all(0 < share < 1 for share in row["share_env_all"])


@pytest.mark.slow
@needs_speed
def test_missed_bars_decide_the_exit_status_only_on_request(
    training_rows, tmp_path, capsys, monkeypatch
):
    rows = [
        row | ({"share_env_all": [9.0]} if "share_env_all" in row else {}) for row in training_rows
    ]  # no environment is that slow
    monkeypatch.setattr(training, "SUITE", replace(training.SUITE, measure=lambda _: rows))
    out = tmp_path / "rows.jsonl"
    flags = ["--only", "training", "--out", str(out)]
    assert benchmark_v9.main(flags) == 0
    assert benchmark_v9.main([*flags, "--enforce"]) == 1
    assert "not measured here" in capsys.readouterr().out
    assert [row["kind"] for row in read(out)].count("bar") == len(judge_training(training_rows))


def test_gpu_rows_on_a_cpu_have_everything_but_the_gpu(monkeypatch):
    """The same code with another device; NVIDIA's library has nothing to say of it."""

    def setting(epochs, lanes):
        ppo = PPOConfig(n_steps=8, batch_size=32, n_epochs=epochs, net_arch=(8,))
        options = {"opponents": "rule_medium"}
        return NativeRun(
            num_envs=lanes, torch_threads=1, device="cpu", env_options=options, ppo=ppo
        )

    def nothing_to_ask():
        raise ModuleNotFoundError("pynvml")

    monkeypatch.setattr(gpu, "setting", setting)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "utilization", nothing_to_ask)
    rows = gpu.rows(repeats=1, seconds=0.3, lanes=16)
    assert [row["epochs"] for row in rows] == [4, 1]
    for row in rows:
        assert row["gpu_busy_percent"] is None
        assert {"env", "forward", "backward"} <= set(row["us_per_step"])
    assert targets.judge("gpu", rows)[2]["reason"] == "nvidia-ml-py is not installed"
    monkeypatch.setattr(torch.cuda, "utilization", lambda: 40)
    with gpu.Utilisation() as seen:
        while not seen.values:
            time.sleep(0.01)
    assert set(seen.values) == {40.0}


@pytest.mark.gpu
def test_gpu_rows_say_where_a_step_goes():
    for row in gpu.rows(repeats=1, seconds=1e-9, lanes=512):
        assert row["precision"] in ("bf16", "fp16")
        assert sum(row["us_per_step"].values()) > 0


def test_gpu_bars_without_the_management_library():
    rows = [
        {"mode": "cuda", "epochs": epochs, "steps_per_s": 6e5, "steps_per_s_all": [6e5]}
        | {"noisy": False, "gpu_busy_percent": None}
        for epochs in (4, 1)
    ]
    assert [bar["pass"] for bar in targets.judge("gpu", rows)] == [True, False, None]
    busy = [row | {"gpu_busy_percent": 81.0} for row in rows]
    assert [bar["pass"] for bar in targets.judge("gpu", busy)] == [True, False, True]


REFUSED = [
    (["--config", "rust"], "rust"),
    (["--config", "fast", "--set", "n_env=3"], "n_env"),
    (["--config", "fast", "--set", "env=king"], "env='king'"),
    (["--config", "fast", "--set", "n_envs=many"], "n_envs='many'"),
    (["--repeats", "0"], "--repeats 0"),
    (["--steps", "0"], "--steps 0: must be at least 1"),
    (["--lanes", "0"], "--lanes 0: must be at least 1"),
    (["--games", "-1"], "--games -1: must be at least 0"),
    (["--seconds", "0"], "--seconds 0: must be a finite number above 0"),
    (["--max-mem-delta", "-1"], "--max-mem-delta -1: must be at least 0"),
]


def test_what_cannot_be_is_refused_before_anything_is_measured(tmp_path, capsys, subtests):
    out = ["--out", str(tmp_path / "none")]
    for given, refused in REFUSED:
        with subtests.test(given):
            assert benchmark_v9.main([*given, *out]) == 2
            said = capsys.readouterr()
            assert refused in said.err
            assert said.out == ""
            assert not (tmp_path / "none").exists()


@pytest.fixture(scope="module")
def bar_rows():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(skullking, "STOCK_STEPS", 1)
        return skullking.all_rows(repeats=1, seconds=0.01, lanes=32)


@needs_core
@pytest.mark.slow
def test_bars_are_all_judged(bar_rows):
    judged = targets.judge("bars", [row | {"game": "Skull King"} for row in bar_rows])
    assert len(judged) == 11
    for bar in judged:
        assert bar["measured"] > 0
        assert isinstance(bar["pass"], bool)
    assert {"worker", "ability", "flat", "manager"} <= {r["tier"] for r in bar_rows if "tier" in r}


@pytest.fixture(scope="module")
def prospector_rows():
    small = {"num_envs": 8, "torch_threads": 1}
    small["ppo"] = {"n_steps": 8, "batch_size": 32, "n_epochs": 1, "net_arch": [8]}
    with pytest.MonkeyPatch.context() as patch:
        seen = updates(patch)
        trained = prospector.trainer_row(1, 0.001, small)
    assert trained["what"] == "stock MaskablePPO"
    assert set(seen) == {(trained["trainer"], "separate", trained["precision"])}
    return [
        *timing.rows(prospector.env_works(8), 1, 0.001),
        *timing.rows(prospector.thread_works(8), 1, 0.001),
        trained,
    ]


@needs_core
def test_bars_of_prospector_are_all_judged(prospector_rows):
    judged = targets.judge("bars", [row | {"game": "Prospector"} for row in prospector_rows])
    assert [bar["asked"] for bar in judged] == [
        *("at least 1.5e+06", "at least 300,000", "at least 3.5e+06"),
        *("at least 1.8", "at least 300", "at least 150,000", "at most 0.05"),
    ]
    for bar in judged:
        assert bar["measured"] > 0
        assert bar["all"]


@pytest.mark.slow
@needs_core
def test_rows_of_the_bars_say_what_ran(prospector_rows, bar_rows, training_rows):
    for rows in (prospector_rows, bar_rows, training_rows):
        assert_described(rows)
    rollout = next(row for row in training_rows if row["mode"] == training.ROLLING)
    assert rollout["precision_asked"] == rollout["ran"]["precision"] == "fp32"
    shares = [row for row in training_rows if row["mode"] == training.SHARE]
    assert "opponents" not in shares[-1]["options"], "an option that Prospector does not have"


@needs_core
def test_a_mode_of_the_profiler_is_held_to_the_row_of_the_same_thing(prospector_rows):
    plan = EnvPlan(prospector.ENV, num_envs=8, workload="hold", backend="fast")
    entry = env_only({"x": plan}, 1, 1e-9, memory=False)["x"]
    hold = next(row for row in prospector_rows if row.get("workload") == "hold")
    lines = records.lines(HEAD, prospector_rows, "x.jsonl")
    assert records.find_floor(entry, every=lines).recorded == hold["steps_per_cpu_s"]


@pytest.mark.slow
@needs_core
def test_bar_rows_say_how_they_were_taken(bar_rows):
    for row in bar_rows:
        if row["kind"] == "env":
            assert row["method"]
            assert row["steps_per_s_all"]
            assert len(row["load"]) == 2
    worker = bar_rows[0]
    assert worker["bytes_per_step"] == 203 * 4 + 11 + 4 + 3 * 4 + 2 + len(INFO_COLUMNS) * 4


def test_summary_takes_medians_and_marks_noise():
    samples = [Sample(100, wall, 1.0, 0.0, 0.0) for wall in (1.0, 1.0, 4.0)]
    found = summary(samples)
    assert found["steps_per_s"] == 100
    assert found["noisy"]
    assert not summary(samples[:2])["noisy"]


def test_interleaved_takes_turns():
    order = []
    works = {name: Work(lambda name=name: order.append(name), 1) for name in "ab"}
    interleaved(works, repeats=2, seconds=1e-9)
    assert order == list("ab" * 3)


@needs_core
@pytest.mark.parametrize("env", ["SkullKingWorker-v0", *late("LanternWalk-v0")])
def test_rows_of_the_flags_name_what_ran_and_say_what_was_possible(monkeypatch, env):
    run_in_threads(monkeypatch)
    monkeypatch.setattr(flags, "PIECE", 24)
    rows = flags.rows_of_lanes(env, 3, 2, 1e-4)
    assert [(r["flag"], r["backend"]) for r in rows] == [
        ("use_numba", "numba"),
        ("use_cython", "cython"),
    ]
    fastenv.make(env, **rows[0]["env_options"]).close()
    for row in rows:
        assert row["num_envs"] == 3
        assert len(row["over_reference_all"]) == 2
        assert min(row["reference_us"], row["us"]) > 0
    asked = {(b["what"], b["asked"]): b["measured"] for b in targets.judge("flags", rows)}
    for row in rows:
        what = f"{env}, {row['flag']} alone, 3 lanes: over the reference"
        assert asked[what, "at least 1"] == row["over_reference"]
        least = asked[f"{what}, least repeat", "at least 0.97"]
        assert least == min(row["over_reference_all"])
        limited = env in ("SkullKingWorker-v0",)  # the Game Boy's rules are nearly all there is
        assert ("share_of_limit" in row) == limited
        part = f"{env}, {row['flag']} alone, 3 lanes: part of the limit"
        assert ((part, "at least 0.85") in asked) == limited
        if limited:
            assert row["replaced_us"] == pytest.approx(row["reference_us"] - row["limit_us"])
            assert len(row["share_of_limit_all"]) == 2


@needs_core
@pytest.mark.parametrize("alone", [False, *late(True)], ids=["threads", "processes"])
def test_flags_and_reference_take_the_same_steps_each_once(monkeypatch, alone):
    """The reference of Dr. Mario keeps its plans: one that another turn has made takes no time."""
    taken, step = {}, flags.Stepper.step
    if not alone:
        run_in_threads(monkeypatch)
    monkeypatch.setattr(flags, "PIECE", 8)
    monkeypatch.setitem(flags.PIECES, "DrMario", 4)

    def spy(self, batches):
        taken.setdefault(self.ran["backend"], []).extend(batch.tolist() for batch in batches)
        return step(self, batches)

    monkeypatch.setattr(flags.Stepper, "step", spy)
    costs_of.cache_clear()
    rows = flags.rows_of_lanes("DrMarioPlacement-v0", 2, 1, 1e-9)
    assert (costs_of.cache_info().currsize == 0) == alone  # nothing was planned in this process
    pieces = timing.TURNS
    assert [r["steps"] for r in rows] == [pieces * 4] * 2
    assert len(taken["reference"]) == (1 + pieces) * 2  # a piece to warm up
    assert taken["reference"] == taken["numba"] == taken["cython"]


@needs_core
def test_backends_that_end_in_other_states_are_no_row(monkeypatch):
    run_in_threads(monkeypatch)
    monkeypatch.setattr(flags, "PIECE", 2)
    monkeypatch.setattr(flags.Stepper, "states", lambda _: b"")
    with pytest.raises(RuntimeError, match="Prospector-v0: the states of reference"):
        flags.rows_of_lanes("Prospector-v0", 1, 1, 1e-9)


def test_flags_are_measured_on_every_id_and_on_a_new_game(monkeypatch):
    def one(env, lanes, *_):
        return [{"env": env, "lanes": lanes}]

    monkeypatch.setattr(flags, "rows_of_lanes", one)
    monkeypatch.setattr(flags, "scaffolded_rows", lambda *_: [{"env": "new", "lanes": 1}])
    measured = {(row["env"], row["lanes"]) for row in flags.rows(1, 0.1)}
    ids = [env.rpartition("/")[2] for env in fastenv.list_envs()]
    assert measured == {(env, n) for env in ids for n in (1, 8, 64)} | {("new", 1)}


def test_rows_of_the_views_name_what_ran(monkeypatch, tmp_path, capsys):
    for name, value in {"LANES": 8, "STEPS": 2, "TURNS": 2, "PPO_LANES": 16}.items():
        monkeypatch.setattr(views, name, value)
    out = tmp_path / "rows.jsonl"
    options = ["--only", "views", "--repeats", "1", "--seconds", "0.001", "--out", str(out)]
    assert benchmark_v9.main(options) == 0
    _, *found = read(out)
    bars_of_views = [row for row in found if row["kind"] == "bar"]
    names = ["engine's step", "step as tensors", "PPO by hand", "PPO on tensors"]
    assert [row["name"] for row in found if row["kind"] == "view"] == names
    assert all(row["steps_per_cpu_s"] > 0 for row in found if row["kind"] == "view")
    assert len(bars_of_views) == 2
    assert "docs/examples/ppo.py over the same by hand" in capsys.readouterr().out


def test_the_loop_by_hand_learns_the_same():
    """Both views show the same numbers, so that what is compared is what they cost."""
    ppo = runpy.run_path(str(views.PPO))
    means = []
    for view in (views.ByHand, TorchVecEnv):
        vec = fastenv.make_vec(
            "SkullKingFlat-v0", 8, autoreset_mode="same_step", **views.FOUR_ROUNDS
        )
        means.append(list(ppo["train"](view(vec), 400, ppo["Settings"]())))
    assert means[0] == pytest.approx(means[1], rel=1e-6)
