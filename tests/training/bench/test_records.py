"""One description of what ran for records, history, floors and trend."""

import json
import re
import time
from pathlib import Path

import pytest

import fastenv
from benchmarks import bars, drmario, gameboy, prospector, trainers, views
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from tests.needs import needs_core
from tests.slow import late
from tests.tables import walk
from tests.training.bench.described import HEAD, assert_described
from tools.records import head_of
from training import benchmark_v9
from training.bench import games, ran, records, timing
from training.bench import profile as profiler
from training.bench.runner import Suite
from training.commands import profile
from training.ppo.options import NativeConfig, NativeRun
from training.run import machine, registry

ROOT = Path(__file__).resolve().parents[3]
WORKER = "SkullKingWorker-v0"


# -- what ran --------------------------------------------------------------------------------------


def of(env=WORKER, lanes=2, timed="step_many", more=None, **options):
    return ran.describe_engine(fastenv.make_engine(env, lanes, **options), timed, **(more or {}))


@needs_core
def test_whatever_differs_makes_another_description():
    busy = str(ROOT / "fastenv/gameboy/roms/busy.gb")
    every = [
        of(),
        of(lanes=4),
        of(timed="reset_many"),
        of(backend="numba"),
        of(lanes=4, num_threads=2),
        of(info_columns=()),
        of(num_players=3),
        of("SkullKingFlat-v0"),
        of(more={"adapter": "gymnasium"}),
        of(more={"workload": "uniform"}),
        of("GameBoyPixels-v0"),
        of("GameBoyPixels-v0", rom=busy),
        of("GameBoyPixels-v0", stack_k=1),
        of("GameBoyGoal-v0"),
    ]
    keys = [ran.key({"ran": one}) for one in every]
    assert len(set(keys)) == len(keys)
    words = [ran.label(one) for one in every]
    assert len(set(words)) == len(words)
    assert keys[0] == ran.key({"ran": of()})
    assert not any("/" in word for word in words), "a path of somebody's machine"


def test_a_training_is_described_with_all_that_is_unusual():
    config, engine = trainers.setting(4), fastenv.make_engine(WORKER, 4)

    def key(config, precision="fp32", **more):
        return ran.key({"ran": ran.describe_run(config, engine, "train", precision, **more)})

    others = [
        config.replace(native=NativeConfig(trunk="shared")),
        config.replace(native=NativeConfig(value_loss="huber")),
        config.replace(torch_threads=2),
        config.replace(ppo=config.ppo.replace(n_epochs=1)),
        config.replace(ppo=config.ppo.replace(target_kl=0.1)),
        NativeRun(env=WORKER),
    ]
    keys = [key(config), key(config, "bf16"), key(config, trainer="sb3"), *map(key, others)]
    assert len(set(keys)) == len(keys)
    assert key(config) == key(config.replace(seed=7, name="x", total_steps=9))


def test_a_file_is_named_by_what_is_in_it(tmp_path):
    (tmp_path / "a").write_text("one")
    (tmp_path / "b").write_text("one")
    first, second = (ran.digest(str(tmp_path / name)) for name in "ab")
    assert first == second
    assert re.fullmatch("[0-9a-f]{12}", first)
    assert ran.digest("lantern_walk") == "lantern_walk"


@needs_core
@pytest.mark.parametrize(
    "measure",
    [
        lambda: timing.rows(prospector.env_works(4), 1, 1e-4),
        lambda: timing.rows(prospector.thread_works(4), 1, 1e-4),
        lambda: timing.rows(drmario.play_works(4), 1, 1e-4),
        *late(lambda: gameboy.step_rows("busy", 1, 1e-6, (2, 4))),
        lambda: gameboy.reset_rows(1, 1e-6, (2, 4)),
        lambda: [gameboy.single_row(1, 1e-6)],
        lambda: views.rows(1, 1e-4),
    ],
    ids=[
        *("prospector", "threads", "drmario", "gameboy", "resets", "single", "views"),
    ],
)
def test_rows_name_engines_that_were_stepped(monkeypatch, measure):
    """Each description is that of an engine whose methods were called, and of no other."""
    for name, value in {"LANES": 4, "STEPS": 2, "TURNS": 1, "PPO_LANES": 8}.items():
        monkeypatch.setattr(views, name, value)
    stepped = set()

    def watch(name):
        original = getattr(BatchEngine, name)

        def spy(self, *args, **kwargs):
            config = self.game.config
            about = {n: getattr(config, n, None) for n in ("level", "stack_k", "obs")}
            stepped.add(
                json.dumps(
                    [self.game.env_id, self.backend, self.num_envs, self.num_threads, about],
                    sort_keys=True,
                )
            )
            return original(self, *args, **kwargs)

        monkeypatch.setattr(BatchEngine, name, spy)

    for name in ("step_many", "step_lane", "reset_many"):
        watch(name)
    rows = measure()
    assert_described(rows)
    for row in rows:
        found = row["ran"]
        config = fastenv.make_game(found["env"]).config
        about = {
            n: found["options"].get(n, getattr(config, n, None))
            for n in ("level", "stack_k", "obs")
        }
        named = [found["env"], found["backend"], found["num_envs"], found["num_threads"], about]
        assert json.dumps(named, sort_keys=True) in stepped


# -- the history -----------------------------------------------------------------------------------


def line(created, speed, lanes=2, **changes):
    row = {"ran": of(lanes=lanes), "steps_per_s": speed, "steps_per_cpu_s": speed}
    (found,) = records.lines({**HEAD, "created": created}, [row], "x.jsonl")
    return {**found, **changes}


def test_history_only_grows(tmp_path):
    path = tmp_path / "history.jsonl"
    records.append([line("2026-01-01", 1.0)], path)
    before = path.read_text()
    records.append([line("2026-01-02", 2.0)], path)
    assert path.read_text().startswith(before)
    assert [one["steps_per_s"] for one in records.history(path)] == [1.0, 2.0]
    assert records.history(tmp_path / "none") == []


def test_trend_compares_the_same_thing_on_the_same_processor():
    found = records.trend(
        [
            line("2026-01-01", 100.0),
            line("2026-01-02", 150.0),
            line("2026-01-03", 10.0, lanes=4),
            line("2026-01-04", 600.0, cpu_model="another"),
            line("2026-01-04", 700.0, cpu_flags=["avx2"]),
            line("2026-01-05", 900.0, dirty=True),
            line("2026-01-06", 300.0),
        ]
    )
    ratios = {one["created"][-2:]: one["ratio"] for one in found if "avx2" not in str(one)}
    assert ratios == {"01": None, "02": 1.5, "03": None, "04": None, "05": 6.0, "06": 2.0}


def test_floor_is_the_newest_of_the_same_thing_on_this_processor(monkeypatch):
    monkeypatch.setattr(machine, "host", lambda: {"cpu_model": "C"})
    row = {"ran": of(), "steps_per_cpu_s": 1500.0}
    every = [
        line("2026-01-02", 2000.0),
        line("2026-01-01", 1000.0),
        line("2026-01-03", 9000.0, lanes=4),
        line("2026-01-03", 9000.0, dirty=True),
        line("2026-01-05", 9000.0, cpu_flags=["avx512_bf16"]),
        line("2026-01-03", 9000.0, cpu_model="another"),
    ]
    floor = records.find_floor(row, every=every)
    assert (floor.recorded, floor.same_machine) == (2000.0, True)
    assert floor.steps_per_cpu_s == pytest.approx(1400)
    assert floor.source == "x.jsonl, commit abc"
    assert floor.check(row)["pass"]
    assert not floor.check({**row, "steps_per_cpu_s": 1399.0})["pass"]
    elsewhere = records.find_floor(row, every=every[-1:])
    assert not elsewhere.same_machine
    said = records.floor_sentence(elsewhere.check({**row, "noisy": True}))
    assert "1,500 steps per CPU second are below the floor of 6,300 (x.jsonl, commit abc)" in said
    assert "0.7 times the record; the record is of another processor; something" in said
    said = records.floor_sentence(floor.check({**row, "steps_per_cpu_s": 1399.0}))
    assert said.endswith("0.7 times the record")
    assert records.find_floor({"ran": of(num_players=3)}, every=every) is None
    assert records.find_floor({"steps_per_cpu_s": 1.0}, every=every) is None


@pytest.mark.parametrize(
    ("text", "said", "flags"),
    [
        (
            "model name\t: AMD EPYC\ncpu family\t: 25\nmodel\t\t: 1\nflags\t\t: sse4_2 avx2 x\n"
            "\nmodel name\t: AMD EPYC\ncpu family\t: 99\n",
            "AMD EPYC (family 25, model 1)",
            ["sse4_2", "avx2"],
        ),
        ("Features\t: asimd sve\nCPU architecture: 8\nCPU part\t: 0xd40\n", "model 0xd40)", None),
        ("", "", []),
    ],
)
def test_processor_is_known_by_family_model_and_flags(text, said, flags, tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text(text)
    host = machine.host()
    assert machine.describe(host).endswith(said)
    assert host["cpu_flags"] == (["asimd", "sve"] if flags is None else flags)
    found = line("2026-01-01", 1.0, **machine.processor(host))
    assert set(machine.PROCESSOR) <= set(found)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A folder in place of ``benchmarks/``, in a checkout without changes."""
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    monkeypatch.setattr(records, "HISTORY", tmp_path / "history.jsonl")
    monkeypatch.setattr(machine, "revision", lambda: {"git_rev": "abc", "dirty": False})
    return tmp_path


@needs_core
def test_unchanged_build_reaches_the_floors_of_its_record_and_no_higher_ones(
    repository, monkeypatch, capsys
):
    """All rows of a part, through the command line: taken as a record, then held to it."""
    works = (prospector.env_works(4), prospector.thread_works(4))
    rows = [row for each in works for row in timing.rows(each, 1, 1e-4)]
    measured = list(rows)
    monkeypatch.setattr(bars, "SUITE", Suite(lambda _: measured))
    measure = ["--only", "bars", "--out", str(repository / "out.jsonl")]
    assert benchmark_v9.main([*measure, "--enforce-floor"]) == 2
    assert "has nothing of the same thing" in capsys.readouterr().err
    assert benchmark_v9.main([*measure, "--record"]) == 0
    assert_described(rows)
    assert benchmark_v9.main([*measure, "--enforce-floor"]) == 0
    assert f"{len(rows)} of {len(rows)} rows reach their floor\n" in capsys.readouterr().out
    raised = ["--floor-share", str(1.5 * records.SHARE)]
    assert benchmark_v9.main([*measure, "--enforce-floor", *raised]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == len(rows)
    assert all("below the floor" in sentence for sentence in said)
    new = {**rows[0], "ran": rows[0]["ran"] | {"workload": "another"}}
    measured.append(new)
    assert benchmark_v9.main([*measure, "--enforce-floor"]) == 0
    said = f"{len(rows)} of {len(rows)} rows reach their floor; 1 more has none on record\n"
    assert said in capsys.readouterr().out


@pytest.mark.slow
@needs_core
def test_profile_is_a_record_and_held_to_it(repository, monkeypatch, capsys):
    flags = ["--repeats", "1", "--seconds", "0.001", "--num-envs", "4"]
    flags += ["--out", str(repository / "out")]
    assert profile.main([*flags, "--run-id", "a", "--record"]) == 0
    kept = json.loads((repository / "throughput" / f"{WORKER}.json").read_text())
    (only,) = records.history()
    assert only["ran"] == kept["modes"][0]["ran"]
    assert only["record"] == f"throughput/{WORKER}.json"
    low = ["--enforce-floor", "--floor-share", "0.001"]
    assert profile.main([*flags, "--run-id", "b", *low]) == 0
    assert profile.main([*flags, "--run-id", "c", "--enforce-floor", "--floor-share", "1e6"]) == 1
    assert "below the floor" in capsys.readouterr().err
    assert profile.main([*flags, "--run-id", "d", "--enforce-floor", "--floor-share", "0"]) == 2
    assert profile.main([*flags, "--run-id", "e", *low, "--num-envs", "8"]) == 2
    assert "has nothing of the same thing" in capsys.readouterr().err


def test_a_part_of_a_kind_is_no_record(repository, capsys, subtests):
    for options in (
        ["--only", "bars", "--game", "prospector"],
        ["--only", "configs", "--config", "fast"],
        ["--only", "trainers", "--set", "n_envs=3"],
        [],
    ):
        with subtests.test(options):
            out = ["--out", str(repository / "o")]
            assert benchmark_v9.main([*options, "--record", *out]) == 2
            said = capsys.readouterr()
            assert "--record needs --only" in said.err
            assert said.out == ""


@pytest.mark.parametrize("dirty", [True, None])
def test_uncommitted_changes_are_no_record(repository, monkeypatch, capsys, dirty):
    monkeypatch.setattr(machine, "revision", lambda: {"git_rev": "abc", "dirty": dirty})
    out = ["--out", str(repository / "o"), "--record"]
    assert benchmark_v9.main(["--only", "bars", *out]) == 2
    assert "uncommitted" in capsys.readouterr().err
    assert profile.main(out) == 2
    assert "uncommitted" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="uncommitted"):
        records.check_clean()
    assert list(repository.iterdir()) == []


# -- what is committed -----------------------------------------------------------------------------


def committed():
    """Return the measured rows of each committed record of speeds, by the name of its file."""
    found = {}
    for path in sorted((ROOT / "benchmarks").rglob("*.json*")):
        name = path.relative_to(ROOT / "benchmarks").as_posix()
        text = path.read_text(encoding="utf-8")
        if name == "history.jsonl":
            continue
        if path.suffix == ".jsonl":
            head, *rows = map(json.loads, text.splitlines())
        else:
            head = json.loads(text)
            rows = head.get("rows") if name.startswith("vectorised-") else head.get("modes")
            rows = head["cells"] if name == "matrix.json" else rows
        if rows is not None:
            found[name] = head, [row for row in rows if row.get("kind") not in ("bar", "head")]
    return found


def test_history_holds_every_committed_record():
    every = records.history()
    assert every
    for name, (head, rows) in committed().items():
        assert head["dirty"] is False, name
        about = head["created"], head["git_rev"], name
        held = [x for x in every if (x["created"], x["git_rev"], x["record"]) == about]
        assert held, f"{name} is not in the history"
        described = [ran.key(row) for row in rows if row.get("ran")]
        keys = [ran.key(one) for one in held]
        assert set(described) <= set(keys), name
        if described:
            assert len(described) == len(set(described)), f"{name}: a row twice"
            for one in held:
                if one.get("steps_per_cpu_s"):
                    newest = records.find_floor(one, 1.0, held)
                    assert newest.recorded == one["steps_per_cpu_s"], name


@walk("game", list(games.GAMES))
def test_every_game_has_a_baseline_of_the_profiler(game):
    """What it measures by default, and in training, each found again by what ran."""
    prefix = {"skullking": "SkullKing", "prospector": "Prospector", "drmario": "DrMario"}
    env = prefix.get(game, "GameBoy")
    (name,) = [name for name in committed() if name.startswith(f"throughput/{env}")]
    head, modes = committed()[name]
    assert [mode["mode"] for mode in modes] == ["env_only", "trainer", "breakdown"]
    for row in profiler.rows_of(head):
        assert records.find_floor(row).recorded == row["steps_per_cpu_s"]
    assert "/tmp" not in json.dumps(head["config"])


def test_history_is_in_order_and_clean():
    every = records.history()
    created = [one["created"] for one in every]
    assert created == sorted(created)
    assert not any(one["dirty"] for one in every)


def test_there_is_one_record_of_each_kind():
    """A newer record takes the place of the older one, whose figures the history keeps."""
    kinds = {*registry.SUITES, "bars-gameboy"}
    for name in committed():
        allowed = name.removesuffix(".jsonl") in kinds
        allowed |= name == "matrix.json" or name.startswith(("vectorised-", "throughput/"))
        allowed |= "old" in head_of(ROOT / "benchmarks" / name)  # its suite was removed
        assert allowed, name
    envs = {env.rpartition("/")[2] for env in fastenv.list_envs()}
    for name in committed():
        if name.startswith(("vectorised-", "throughput/")):
            stem = Path(name).stem.removeprefix("vectorised-")
            assert stem in envs


def test_every_record_is_shown_or_named_on_a_page():
    """Records of learning stand on a page with their figures; those of speeds in the records."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("pretrained/*/README.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    speeds = committed()
    for path in (ROOT / "benchmarks").glob("*.json*"):
        if path.name not in speeds:
            assert f"benchmarks/{path.name}" in text, path.name


def test_what_was_measured_is_on_the_disk_and_told_before_the_end(tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    path.write_text("an older file")
    works = {"fill": timing.Work(lambda: sum(range(100)), 10, row=lambda: {"kind": "env"})}
    with timing.written_to(path, {"kind": "head"}):
        assert path.read_text() == "an older file"
        timing.rows(works, 2, 1e-6)
        kinds = [json.loads(line)["kind"] for line in path.read_text().splitlines()]
        assert kinds == ["head", "repeat", "repeat", "env"]
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in told] == [f"fill, repeat {k} of 2" for k in (1, 2)]
    timing.rows(works, 1, 1e-6)  # beside a measurement nothing is told or written
    assert len(path.read_text().splitlines()) == 4
    assert capsys.readouterr().err == ""


def test_repeats_of_a_measurement_that_is_stopped_are_on_the_disk(tmp_path):
    path, runs = tmp_path / "rows.jsonl", []

    def work():
        runs.append(time.perf_counter())
        if len(runs) == 3:  # one before all, then two repeats
            raise KeyboardInterrupt

    works = {"work": timing.Work(work, 10)}
    with timing.written_to(path, {"kind": "head"}), pytest.raises(KeyboardInterrupt):
        timing.interleaved(works, 2, 1e-9)
    _, repeat = (json.loads(line) for line in path.read_text().splitlines())
    assert (repeat["kind"], repeat["name"], repeat["repeat"]) == ("repeat", "work", 1)
    assert repeat["steps"] == 10
