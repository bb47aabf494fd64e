"""The store of best times: only what replays, whole or not at all, from any number of processes."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fastenv.drmario.tables import SPEEDS, Reason
from fastenv.errors import ConfigError
from tests.drmario import golden
from tests.needs import needs_core
from tests.tables import walk
from tests.training.played import play_episodes
from training.apps.drmario import best_times
from training.apps.drmario.best_times import BestTimes, Clear, RecordError, list_clears
from training.apps.drmario.records import COLUMNS, RecordsOfRun
from training.players.bots import Bot
from training.ppo.options import NativeRun
from training.run.envs import make_engine

pytestmark = needs_core  # clears are many decisions
ROOT = Path(__file__).resolve().parents[4]


def recorded_clears():
    """Return the clears among the recorded episodes."""
    data = np.load(golden.FOLDER / "placement_episodes.npz")
    at = {str(name): k for k, name in enumerate(data["row_cols"])}
    rows, found = data["rows"].astype(int), []
    for episode in rows[rows[:, at["reason"]] == Reason.CLEAR, at["episode"]]:
        its = rows[rows[:, at["episode"]] == episode]
        found.append(
            Clear(
                level=int(data["episode_level"][episode]),
                speed=SPEEDS[data["episode_speed"][episode]],
                seed=int(data["episode_seed"][episode].astype(int) @ [256, 1]),
                frames=int(its[:, at["tau"]].sum()),
                spawns=len(its),
                trace=tuple(its[:, at["action"]].tolist()),
            )
        )
    return found


CLEARS = recorded_clears()
KNOBS = {"level": CLEARS[0].level, "speed": CLEARS[0].speed}


@pytest.fixture
def few(monkeypatch):
    """Keep three clears of a game."""
    monkeypatch.setattr(best_times, "KEEP", 3)


@pytest.fixture
def store(tmp_path):
    with BestTimes(tmp_path / "times.sqlite") as opened:
        yield opened


def rows_of(path):
    with sqlite3.connect(path) as file:
        return file.execute("SELECT * FROM clears ORDER BY 1, 2, 3, 5").fetchall()


def test_recorded_clears_replay_and_come_back(store):
    assert store.add(CLEARS, "somebody") == len(CLEARS) == 6
    for clear in CLEARS:
        found = store.best(clear.level, clear.speed, clear.seed)
        assert found == clear
        assert found.run_id == "somebody"
        assert len(bytes.fromhex(found.sequence_sig)) == 8
    assert store.add(CLEARS[:2], "somebody else") == 0
    assert len(rows_of(store.path)) == 6


def test_floor_and_quantiles_are_of_a_level(store):
    store.add(CLEARS)
    times = sorted(clear.frames for clear in CLEARS if (clear.level, clear.speed) == (0, "high"))
    assert len(times) == 3
    assert store.floor(0, "high") == times[0]
    assert store.quantiles(0, "high", (0.0, 0.5, 1.0)) == times
    assert [clear.frames for clear in store.top(0, "high")] == times
    assert [clear.frames for clear in store.top(0, "high", 2)] == times[:2]
    assert (store.floor(7, "low"), store.quantiles(7, "low"), store.top(7, "low")) == (None, [], [])
    assert store.best(0, "high", 2) is None


def changed(**changes):
    return [CLEARS[0], replace(CLEARS[1], **changes)]


NOT_REPLAYED = [
    (changed(frames=CLEARS[1].frames - 1), "it takes .* frames and .* pills, not"),
    (changed(spawns=CLEARS[1].spawns + 1), "it takes .* frames and .* pills, not"),
    (changed(trace=CLEARS[1].trace[:-1]), "not cleared at the end"),
    (changed(trace=(*CLEARS[1].trace, 3)), "over before placement"),
    (changed(trace=(387, *CLEARS[1].trace[1:])), "placement 1 of .*, 387, cannot be reached"),
    (changed(trace=(70000, *CLEARS[1].trace[1:])), "70000, cannot be reached"),
    (changed(trace=(-1, *CLEARS[1].trace[1:])), "-1, cannot be reached"),
    (changed(trace=()), "missing"),
    (changed(seed=CLEARS[1].seed ^ 0x100), "does not replay"),
    (changed(seed=1), "0 and 1 give no level"),
    (changed(level=25), "level=25"),
    (changed(level=-2), "which viruses stay"),
    (changed(speed="fast"), "speed='fast'"),
    (changed(frames=float(CLEARS[1].frames)), r"frames=\d+\.0 is no whole number"),
    (changed(spawns=None), "spawns=None is no whole number"),
    (changed(seed="5"), "seed='5' is no whole number"),
    (changed(level=True), "level=True is no whole number"),
    (changed(trace=np.array(CLEARS[1].trace)), "trace=array.* is no tuple"),
]


def test_what_does_not_replay_is_refused_by_name_and_nothing_is_written(store, subtests):
    for clears, reason in NOT_REPLAYED:
        with subtests.test(reason):
            named = f"level {clears[1].level}, {clears[1].speed}, seed {clears[1].seed!r}"
            with pytest.raises(RecordError, match=reason) as refused:
                store.add(clears)
            assert named in str(refused.value)
            assert rows_of(store.path) == []


NO_CLEARS = [None, 3, "clears", [3], [CLEARS[0], None]]


def test_what_is_no_clear_is_refused_and_nothing_is_written(store, subtests):
    for clears in NO_CLEARS:
        with subtests.test(repr(clears)):
            with pytest.raises(ConfigError, match=r"clears=.* a sequence of Clear"):
                store.add(clears)
            assert rows_of(store.path) == []


def test_a_run_has_a_name(store):
    with pytest.raises(ConfigError, match="run_id=5"):
        store.add(CLEARS[:1], 5)
    assert rows_of(store.path) == []


NONSENSE = [
    (lambda store: store.best(0, "high", None), "seed=None"),
    (lambda store: store.best(0, "high", 10**30), "seed=1000"),
    (lambda store: store.best(0, "high", 1.0), "seed=1.0"),
    (lambda store: store.top(0, "high", seed=-1), "seed=-1"),
    (lambda store: store.best(25, "high", 5), "level=25"),
    (lambda store: store.floor(-16, "high"), "level=-16"),
    (lambda store: store.top("0", "high"), "level='0'"),
    (lambda store: store.quantiles(10**30, "high"), "level=1000"),
    (lambda store: store.floor(0, "fast"), "speed='fast'"),
    (lambda store: store.quantiles(0, None), "speed=None"),
    (lambda store: store.top(0, ["high"]), "speed="),
    (lambda store: store.top(0, "high", 0), "count=0"),
    (lambda store: store.top(0, "high", 10**30), "count=1000"),
    (lambda store: store.top(0, "high", 2.0), "count=2.0"),
    (lambda store: store.quantiles(0, "high", (0.5, 1.5)), "fractions="),
    (lambda store: store.quantiles(0, "high", [float("nan")]), "fractions="),
    (lambda store: store.quantiles(0, "high", 0.5), "fractions="),
    (lambda store: store.quantiles(0, "high", of="seconds"), "of='seconds'"),
]


def test_questions_that_make_no_sense_are_refused_by_name(store, subtests):
    for ask, message in NONSENSE:
        with subtests.test(message), pytest.raises(ConfigError, match=message):
            ask(store)


ASKED = {
    "floor": lambda store: store.floor(0, "high"),
    "quantiles": lambda store: store.quantiles(0, "high"),
    "top": lambda store: store.top(0, "high"),
    "best": lambda store: store.best(0, "high", 5),
    "add": lambda store: store.add(CLEARS[:1]),
}


def test_a_closed_store_is_refused_by_name(store, subtests):
    for what in ASKED:
        with subtests.test(what):
            store.close()
            with pytest.raises(RecordError, match=r"times\.sqlite.*closed"):
                ASKED[what](store)


@walk("what", ASKED)
def test_a_file_that_is_damaged_while_it_is_open_is_refused_by_name(tmp_path, what):
    path = tmp_path / f"{what}-times.sqlite"
    with BestTimes(path) as made:
        made.add(CLEARS)
    size = path.stat().st_size
    with BestTimes(path) as opened:
        path.write_bytes(path.read_bytes()[:4096] + b"\xff" * (size - 4096))
        with pytest.raises(RecordError, match=r"times\.sqlite"):
            ASKED[what](opened)


FOREIGN = [b"x", b"\0", b"SQLite format 3", b"x" * 5000]


def test_a_file_of_something_else_stays_as_it_is(tmp_path, subtests):
    for content in FOREIGN:
        with subtests.test(repr(content[:20])):
            path = tmp_path / "notes.txt"
            path.write_bytes(content)
            with pytest.raises(
                RecordError, match=r"notes\.txt cannot be used as a store of times: "
            ):
                BestTimes(path)
            assert path.read_bytes() == content


def test_an_empty_file_becomes_a_store(tmp_path):
    (tmp_path / "times.sqlite").touch()
    with BestTimes(tmp_path / "times.sqlite") as made:
        assert made.add(CLEARS) > 0


def test_half_a_placement_is_damage(store):
    store.add(CLEARS)
    with sqlite3.connect(store.path) as file:
        file.execute("UPDATE clears SET trace = x'010203'")
    file.close()
    with pytest.raises(RecordError, match=r"times\.sqlite is damaged: a clear of level 0"):
        store.top(0, "high")


@walk("value", [None, "many", 2.5, b"1"])
@walk("what", ["floor", "quantiles"])
def test_a_time_that_is_no_number_is_damage(tmp_path, value, what):
    path = tmp_path / f"{what}-{type(value).__name__}-times.sqlite"
    with BestTimes(path) as made:
        made.add(CLEARS)
    with sqlite3.connect(path) as file:  # as what is written over may come to hold
        file.execute("ALTER TABLE clears RENAME TO strict")
        file.execute("CREATE TABLE clears AS SELECT * FROM strict")
        file.execute("UPDATE clears SET frames = ?", [value])
    file.close()
    damage = r"times\.sqlite is damaged: .* no whole number of frames"
    with BestTimes(path) as opened, pytest.raises(RecordError, match=damage):
        ASKED[what](opened)


def test_clears_of_an_evaluation_are_accepted(store):
    options = {"level": -15, "speed": "low"}
    engine = make_engine(best_times.ENV, 8, options)
    played = play_episodes(engine, partial(Bot, "first"), 8, 3, 500, keep_actions=True)
    clears = list_clears(played.with_column("speed", "low"))
    assert len(clears) > 0
    assert {clear.speed for clear in clears} == {"low"}
    assert store.add(clears) == len(clears)


@pytest.fixture
def believing(monkeypatch):
    """Accept any clear, to write many quickly."""
    monkeypatch.setattr(best_times, "replay", lambda clears: ["00"] * len(clears))


@pytest.mark.usefixtures("believing", "few")
def test_the_fastest_of_a_game_are_kept(store):
    clears = [Clear(5, "medium", 77, frames, 9, (frames,)) for frames in (50, 20, 40, 30, 10)]
    assert store.add(clears[:4]) == 3
    assert store.add([*clears[3:], Clear(5, "medium", 78, 99, 9, (1,))]) == 2
    assert [clear.frames for clear in store.top(5, "medium", seed=77)] == [10, 20, 30]
    assert [clear.frames for clear in store.top(5, "medium")] == [10, 20, 30, 99]
    assert store.quantiles(5, "medium", (0.0, 1.0)) == [10, 99]


WRITER = """
import sys
from pathlib import Path
from training.apps.drmario import best_times
from training.apps.drmario.best_times import BestTimes, Clear
best_times.replay = lambda clears: ["00"] * len(clears)
path, who, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for k in range(count):
    with BestTimes(path) as store:
        seed = 1000 * int(who) + k
        store.add([Clear(5, "medium", seed, 100 + j, 9, (j,)) for j in range(7)], who)
    print(k, flush=True)
"""


def writer(path, who, count):
    command = [sys.executable, "-c", WRITER, str(path), str(who), str(count)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)


def test_two_processes_write_at_once(tmp_path):
    path = tmp_path / "times.sqlite"
    writers = [writer(path, who, 30) for who in (1, 2)]
    for each in writers:
        _, said = each.communicate(timeout=300)
        assert each.returncode == 0, said
    rows = rows_of(path)
    assert len(rows) == 2 * 30 * 7
    assert {row[2] for row in rows} == {1000 * who + k for who in (1, 2) for k in range(30)}


def test_a_kill_at_any_moment_leaves_whole_transactions(tmp_path):
    path, rng, told = tmp_path / "times.sqlite", random.Random(5), 0
    for who in range(1, 5):
        process = writer(path, who, 10**6)
        for _ in range(rng.randrange(1, 40)):
            assert process.stdout.readline(), process.stderr.read()
        os.kill(process.pid, signal.SIGKILL)
        told += len(process.communicate()[0].splitlines())
        with BestTimes(path) as store, sqlite3.connect(path) as file:
            assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert len(store.top(5, "medium", 1)) == 1
        of_seed = {}
        for row in rows_of(path):
            of_seed[row[2]] = of_seed.get(row[2], 0) + 1
        assert set(of_seed.values()) == {7}
        written = [seed % 1000 for seed in of_seed if seed // 1000 == who]
        assert sorted(written) == list(range(len(written)))


@walk("content", ["text", "another", "cut", "newer"])
def test_a_file_that_is_no_store_is_refused_by_name(content, tmp_path):
    path = tmp_path / f"{content}-times.sqlite"
    if content == "text":
        path.write_text("level 5 in 812 frames\n" * 100)
    else:
        with BestTimes(path) as store:
            store.add(CLEARS[:1])
        with sqlite3.connect(path) as file:
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            if content != "cut":
                pragma = {"another": "application_id", "newer": "user_version"}[content]
                file.execute(f"PRAGMA {pragma} = 7")
        file.close()
        if content == "cut":
            path.write_bytes(path.read_bytes()[:6000])
    with pytest.raises(RecordError, match=r"times\.sqlite"):
        BestTimes(path).floor(0, "high")


@pytest.fixture
def collected(tmp_path):
    """The callback of a training on no engine, whose clears are given to it."""
    made = RecordsOfRun(tmp_path / "times.sqlite", NativeRun(env=best_times.ENV), [], "run")
    yield made
    made.close()


def note(records, *clears):
    """Let a training find clears; return how many were new until then."""
    for clear in clears:
        records._note(clear)
    return records.record()["best_times"]["new"]


def noted_in(state):
    return [tuple(values[:5]) for values in state["best_times"]["noted"]]


def test_clears_of_a_training_are_in_the_file_once_a_checkpoint_has_them(collected, tmp_path):
    path = tmp_path / "times.sqlite"
    level = SimpleNamespace(get_knob=lambda name, lanes: [KNOBS[name]])
    assert note(collected, *CLEARS[:2]) == 2
    assert note(collected, *CLEARS[:3]) == 3
    state = collected.state()
    assert noted_in(state) == [(c.level, c.speed, c.seed, c.frames, c.spawns) for c in CLEARS[:3]]
    assert note(collected, *CLEARS[3:5]) == 5
    assert rows_of(path) == []
    floor = collected.floor(level, "frames")
    own = [c.frames for c in CLEARS[:5] if (c.level, c.speed) == (KNOBS["level"], KNOBS["speed"])]
    assert floor == pytest.approx(np.quantile(own, 0.1))
    collected.saved()  # while the training has gone on
    assert len(rows_of(path)) == 3
    assert len(noted_in(collected.state())) == 2
    assert collected.floor(level, "frames") == floor
    again = RecordsOfRun(path, NativeRun(env=best_times.ENV), [], "run")
    assert note(again, *CLEARS) == 3  # what was never written is nowhere
    again.close()


def test_clears_that_only_a_checkpoint_knew_come_into_the_file(tmp_path):
    """Of a run that was killed behind a checkpoint, before it wrote them."""
    noted = [[getattr(clear, name) for name in COLUMNS] for clear in CLEARS[:2]]
    state = json.loads(json.dumps({"best_times": {"actions": [], "new": 2, "noted": noted}}))
    path = tmp_path / "times.sqlite"
    again = RecordsOfRun(path, NativeRun(env=best_times.ENV), [], "run")
    again.restore(SimpleNamespace(values=state))
    again.close()
    assert len(rows_of(path)) == 2


@pytest.mark.usefixtures("believing", "few")
def test_clears_of_a_training_are_the_fastest_of_file_and_checkpoints(
    collected, tmp_path, monkeypatch
):
    """The same clears, wherever the file takes them in, are as many new."""
    monkeypatch.setattr("training.apps.drmario.records.KEEP", 3)
    several = [Clear(5, "medium", 77, n, 9, (n,)) for n in (50, 20, 40, 20, 30, 50, 10, 60, 20, 5)]
    with BestTimes(tmp_path / "at once.sqlite") as one:
        expected = np.cumsum([one.add([clear]) for clear in several]).tolist()
        kept = one.top(5, "medium")
    found = []
    for number, clear in enumerate(several):
        found.append(note(collected, clear))
        if number % 3 == 1:
            collected.state()
            collected.saved()
    assert found == expected
    collected.state()
    collected.saved()
    with BestTimes(tmp_path / "times.sqlite") as other:
        assert other.top(5, "medium") == kept
