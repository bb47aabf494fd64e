"""A match of two as it was recorded from the console (docs/drmario.md, 9 and 16).

The recording has no buttons: it says where pills appeared and locked. So each pill is put where it
locked, in the bottle it appeared in, and the frames to the player's next pill, its colours and the
bottle by then must be the recorded ones.
"""

import numpy as np
import pytest

from fastenv.drmario import make_game
from fastenv.drmario import tables as t
from fastenv.drmario.generator import Generator, make_reserve, make_viruses
from fastenv.engine import BatchEngine
from tests.drmario import golden

KIND = "recorded_two_player"
SEED = (0x34, 0xBA)
VIRUS_STEPS = 12  # of the generator
SPAWN, LOCK = 0, 1
MOST_FRAMES = 600  # a pill that clears four times over is there sooner
PLAIN = {"obs": "bitplane_bottle", "extras": (), "stack": 1}
BACKENDS = ("reference", "numba", "cython", "fast")


@pytest.fixture(scope="module", params=golden.files(KIND) or [None])
def match(request):
    """A recorded match, or skip."""
    return golden.recorded_match(request.param or golden.console_file(KIND))


def events_of(match, player):
    """Return the events of a player, each with the bottle, in their order."""
    rows = zip(match["events"].tolist(), match["spawn_field"], strict=True)
    found = [dict(zip(golden.EVENT, row, strict=True)) | {"field": field} for row, field in rows]
    return [event for event in found if event["player"] == player]


def pills_of(match):
    """Return what is known of each pill: its spawn, its lock, and the spawn of the next one."""
    found = []
    for player in (1, 2):
        events = events_of(match, player)
        threes = zip(events, events[1:], events[2:], strict=False)
        found += [
            (player - 1, *three)
            for three in threes
            if [event["type"] for event in three] == [SPAWN, LOCK, SPAWN]
        ]
    return found


def test_bottles_are_those_of_the_seed(match):
    generator = Generator(*SEED)
    reserve, state = make_reserve(generator), generator.state
    board = make_viruses(int(match["level"][0]), generator)
    assert board == match["field1"].tolist() == match["field2"].tolist()
    assert generator.state == tuple(match["rng_after_init"].tolist())
    steps = Generator(*state)
    for _ in range(VIRUS_STEPS):
        steps.step()
    assert steps.state == generator.state
    for player in (1, 2):
        spawns = [event for event in events_of(match, player) if event["type"] == SPAWN]
        shown = [t.NUM_COLORS * event["first"] + event["second"] for event in spawns]
        shown.append(t.NUM_COLORS * spawns[-1]["preview_first"] + spawns[-1]["preview_second"])
        turns = (np.roll(reserve, -k)[: len(shown)].tolist() for k in range(t.RESERVE))
        assert shown in turns, f"player {player}"


def loaded(match, pills, backend):
    """Return an engine with a lane a pill, which lies where it locks in the next frame."""
    level, speed = match["level"].tolist(), [t.SPEEDS[k] for k in match["speed"]]
    game = make_game(agents=2, placement=False, level=tuple(level), speed=tuple(speed), **PLAIN)
    engine = BatchEngine(game, len(pills), backend, info_columns=())
    engine.reset_many(seeds=0)
    rows = engine.get_states()
    rows["players"]["mode"], rows["players"]["intro_wait"] = t.Mode.PLAYING, 0
    rows["players"]["next_action"] = t.Next.FALLING
    for row, (player, spawn, lock, _) in zip(rows, pills, strict=True):
        record = row["players"][player]
        record["board"] = spawn["field"]
        record["virus_bcd"] = t.to_bcd(int((spawn["field"] & 0xF0 == t.Tile.VIRUS).sum()))
        record["col"], record["row"], record["rot"] = lock["speedups_or_x"], lock["y"], lock["rot"]
        record["speed_setting"], record["speed_ups"] = spawn["speed_or_-1"], spawn["speedups_or_x"]
        record["speed_counter"] = t.gravity(*record[["speed_setting", "speed_ups"]].tolist())
        for half in ("first", "second"):
            record[f"color_{half}"] = spawn[half]
            record[f"preview_{half}"] = spawn[f"preview_{half}"]
    engine.set_states(rows)
    return engine


@pytest.mark.parametrize("backend", BACKENDS)
def test_intervals_and_bottles_are_the_recorded_ones(match, backend):
    pills = pills_of(match)
    assert len(pills) >= 10
    engine = loaded(match, pills, backend)
    players = np.array([player for player, *_ in pills])
    lanes, idle = np.arange(len(pills)), np.zeros((len(pills), 2), int)
    spawn_id = engine.get_states()["players"]["reserve_index"][lanes, players]
    intervals, fields = np.zeros(len(pills), int), np.zeros((len(pills), t.CELLS), np.uint8)
    colors = np.zeros((len(pills), 2), int)
    for frame in range(MOST_FRAMES):
        before = engine.get_states()["players"]["board"][lanes, players]
        engine.step_many(idle, select=intervals == 0, autoreset=False)
        record = engine.get_states()["players"][lanes, players]
        if frame == 0:  # the frame of the lock
            assert (record["next_action"] == t.Next.PLACED).all()
            assert ((before != record["board"]).sum(axis=1) == 2).all()
        there = (record["reserve_index"] != spawn_id) & (intervals == 0)
        there &= record["next_action"] == t.Next.FALLING
        intervals[there], fields[there] = frame, record["board"][there]
        colors[there] = np.stack([record["color_first"], record["color_second"]], axis=1)[there]
        if intervals.all():
            break
    for (player, spawn, lock, after), interval, field, pill in zip(
        pills, intervals.tolist(), fields, colors.tolist(), strict=True
    ):
        where = f"player {player + 1}, locked in frame {lock['frame']}"
        assert interval == after["frame"] - lock["frame"], where
        assert field.tolist() == after["field"].tolist(), where
        assert pill == [after["first"], after["second"]], where
        assert pill == [spawn["preview_first"], spawn["preview_second"]], where


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("truncated", "cannot be read"),
        ("no events", "no array 'events'"),
        ("other columns", "event_cols is .* must be"),
        ("other fields", r"spawn_field is float64 of shape \(3, 64\), must be uint8 .*\(3, 128\)"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_by_name(damage, says, tmp_path):
    path = tmp_path / "recorded_two_player_new.npz"
    arrays = {name: np.zeros(1) for name in golden.SCHEMAS[KIND]}
    arrays |= {"event_cols": np.array(golden.EVENT), "events": np.zeros((3, 11), np.int32)}
    arrays["spawn_field"] = np.zeros((3, 128), np.uint8)
    if damage == "no events":
        del arrays["events"]
    if damage == "other columns":
        arrays["event_cols"] = np.array(golden.EVENT[::-1])
    if damage == "other fields":
        arrays["spawn_field"] = np.zeros((3, 64))
    np.savez(path, **arrays)
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(golden.GoldenError, match=rf"recorded_two_player_new\.npz.*{says}"):
        golden.recorded_match(path)
