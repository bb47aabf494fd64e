"""What rows say of what ran is what the committed records say, so that floors go on to compare.

Nothing is timed, stepped or trained: rows are made of what would be.
"""

import json
from types import SimpleNamespace

import pytest

from benchmarks import (
    drmario,
    flags,
    gameboy,
    gameboy_costs,
    prospector,
    replay,
    scale,
    search,
    skullking,
    trainers,
    training,
    views,
)
from benchmarks.learners import Timed
from fastenv.engine import BatchEngine
from tests.needs import needs_core
from tests.slow import late
from tests.tables import walk
from tests.training.bench.steppers import run_in_threads
from tests.training.bench.test_scale import turn
from training import benchmark_v9
from training.bench import configs, env_modes, stock, timing, vectorised
from training.bench import profile as profiles
from training.bench.runner import BenchmarkOptions
from training.commands import profile
from training.run import machine

# Decided by the processor, or by a first iteration, which is not taken here.
OPEN = ("precision",)


def key(ran):
    return json.dumps({k: v for k, v in ran.items() if k not in OPEN}, sort_keys=True)


def recorded(name):
    """Return the keys of the rows of a committed record."""
    text = (machine.ROOT / "benchmarks" / name).read_text(encoding="utf-8")
    rows = map(json.loads, text.splitlines()) if name.endswith("l") else json.loads(text)["rows"]
    return {key(row["ran"]) for row in rows if row.get("ran")}


def assert_recorded(rows, name, but=0):
    """All rows are in a record, which has so many more."""
    keys, held = {key(row["ran"]) for row in rows}, recorded(name)
    assert keys <= held, sorted(keys - held)
    assert len(held) == len(keys) + but


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch):
    def ends(engine, *_args, **_kwargs):
        engine.ended[:] = True

    monkeypatch.setattr(timing, "_run_once", lambda _: (1.0, 1.0))
    monkeypatch.setattr(BatchEngine, "step_many", ends)
    monkeypatch.setattr(flags.Stepper, "step", lambda *_: (1.0, 1.0))
    monkeypatch.setattr(flags, "_check_same", lambda *_: None)
    monkeypatch.setattr(Timed, "iterate", lambda _: None)
    monkeypatch.setattr(Timed, "share", lambda _: {})


def once(works):
    return timing.rows(works, 1, 1.0)


def described(flags, _steps, _played, _seconds=0.0):
    """What ``stock.measure`` returns of a configuration that is not trained."""
    ran = stock.described(flags, stock.make_vec_env(flags))
    names = ("share_env", "steps_per_s", "steps_per_cpu_s")
    learnt = {"reward_per_hour": None, "reward_per_million": None}
    return {"ran": ran, "noisy": False, **dict.fromkeys(names, 1.0), **learnt}


@needs_core
def test_rows_of_throughput(monkeypatch):
    monkeypatch.setattr(skullking, "measure", described)
    rows = [
        *skullking.all_rows(1, 1.0),
        *(
            row
            for works in (prospector.env_works, prospector.thread_works)
            for row in once(works())
        ),
        *once(drmario.play_works()),
    ]
    assert_recorded(rows, "bars.jsonl", but=3)  # trainings of Prospector and Dr. Mario


@needs_core
def test_rows_of_search(monkeypatch):
    def dealt(engine):
        engine.reset_many(seeds=0)
        return engine.get_states()

    monkeypatch.setattr(search, "first_cards", dealt)
    assert_recorded(search.rows(1, 1.0), "search.jsonl")


@needs_core
def test_rows_of_the_game_boy(monkeypatch):
    from tools.gameboy import bench

    monkeypatch.setattr(bench, "WARM_UP", 1)
    monkeypatch.setattr(gameboy, "per_frame", lambda *_: 1.0)
    rows = [
        *gameboy.step_rows(gameboy.OURS, 1, 1.0),
        *(
            row
            for rom in ("busy", "heavy", "poll", "split", "delay")
            for row in gameboy.step_rows(rom, 1, 1.0, (64,))
        ),
        *(gameboy.alone_row(*each, 1, 1.0) for each in gameboy.MEASURED if each[1] != "step"),
        *gameboy.many_rows(1, 1.0, many=()),
        *gameboy.reset_rows(1, 1.0),
        *gameboy.forced_rows(1, 1.0),
        *gameboy.thread_rows(1, 1.0),
        gameboy.single_row(1, 1.0),
    ]
    held = recorded("bars-gameboy.jsonl")  # one that was taken before has none of the pairs
    pairs = [*gameboy_costs.hook_rows(1, 1.0), *gameboy_costs.field_rows(1, 1.0)]
    known = [row for row in pairs if key(row["ran"]) in held]
    assert len(known) in (0, len(pairs))
    # 8,192 and 16,384 lanes, growth, stock PPO; with the pairs the live map, and none
    assert_recorded([*rows, *known], "bars-gameboy.jsonl", but=6 if known else 4)


@needs_core
@walk("env", ["SkullKingManager-v0", *late("DrMarioVersus-v0", "GameBoyGoal-v0")])
def test_rows_of_the_flags(env, monkeypatch):
    run_in_threads(monkeypatch)
    rows = flags.rows_of(env, 1, 1.0)
    assert len(rows) == 6
    assert {key(row["ran"]) for row in rows} <= recorded("flags.jsonl")


@needs_core
def test_rows_of_views_and_replay():
    assert_recorded(views.rows(1, 1.0), "views.jsonl")
    rows = once(replay.end_to_end_works())
    assert {key(row["ran"]) for row in rows} <= recorded("replay.jsonl")


@needs_core
def test_rows_of_training(monkeypatch):
    def here(config, repeats, seconds):
        return [
            row | {"ran": row["ran"] | {"waiting": way}}
            for way in training.WAITING
            for row in training._measure_threads(config, repeats, seconds)
        ]

    monkeypatch.setattr(training, "thread_rows", here)
    config = trainers.setting()
    assert_recorded(trainers.rows(config, 1, 1.0), "trainers.jsonl")
    parts = (trainers.rows, training.reference_rows, training.rollout_rows)
    parts += (training.share_rows, training.thread_rows)
    rows = [row for part in parts for row in part(config, 1, 1.0)]
    assert {key(row["ran"]) for row in rows} <= recorded("training.jsonl")


@pytest.mark.slow
@needs_core
def test_rows_of_the_configurations(monkeypatch):
    monkeypatch.setattr(configs, "measure", described)
    names = [name for name in configs.CONFIGS if name != "hierarchical"]
    given = ["--only", "configs", "--short", "--repeats", "1", "--config", *names]
    args = benchmark_v9.parser().parse_args(given)
    rows = configs.SUITE.measure(BenchmarkOptions(args, SimpleNamespace(), 1.0))
    assert_recorded(rows, "configs.jsonl", but=1)


@needs_core
def test_rows_of_whole_runs():
    rows = [scale.row(name, way, [turn(name)]) for name, way in scale.WAYS.items()]
    assert {key(row["ran"]) for row in rows} <= recorded("scale.jsonl")


@needs_core
@walk("env", ["DrMarioPlacement-v0", "DrMarioFrame-v0"])
def test_rows_of_ways_to_vectorise(env):
    plan = vectorised.Plan(env, {})
    made = [(vectorised.make(plan, way, 2), way) for way in ("engine", "sync")]
    rows = [{"ran": vectorised.ran_of(vec, plan, way)} for vec, way in made]
    assert {key(row["ran"]) for row in rows} <= recorded(f"vectorised-{env}.json")


@needs_core
@walk("env", ["SkullKingWorker-v0", "Prospector-v0", "GameBoyPixels-v0"])
def test_modes_of_the_profiler(env):
    text = (machine.ROOT / f"benchmarks/throughput/{env}.json").read_text(encoding="utf-8")
    record = json.loads(text)
    given = ["--env", env, "--num-envs", str(record["config"]["run"]["num_envs"])]
    args = profile.parser().parse_args([*given, "--minibatches", "1"])
    plan = profiles.env_plans(args, profiles.run_config(args))["main"]
    held = {key(mode["ran"]) for mode in record["modes"]}
    assert key(env_modes.prepare(plan).ran()) in held
