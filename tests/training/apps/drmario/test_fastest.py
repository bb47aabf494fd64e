"""The beam over known pills: what it finds replays, by placements and by buttons."""

import json
import shutil

import numpy as np
import pytest

from fastenv.drmario import make_game
from fastenv.drmario.seeds import seeds_of
from fastenv.drmario.tables import CELLS, LAST_VIRUS_LEVEL, SPEEDS
from fastenv.engine import BatchEngine, rng_streams
from fastenv.errors import ConfigError
from tests.needs import needs_core
from tests.slow import late
from tests.tables import walk
from training.apps.drmario import best_times, fastest
from training.apps.drmario.best_times import MOST, BestTimes
from training.apps.drmario.fastest import choose_heaviest, find_fastest, make_replay
from training.evaluation import replays
from training.run import machine

pytestmark = needs_core
SEED = seeds_of(0)[0]


def frames_of_bot(bot, level, speed, seed):
    """Return the frames in which a bot clears a game."""
    engine = BatchEngine(make_game(level=level, speed=speed, game_seed=seed, obs="none"), 1)
    engine.reset_many(seeds=0)
    words, frames = rng_streams(0, 1), 0
    while not engine.ended[0]:
        engine.step_many(engine.bot_actions(bot, words), autoreset=False)
        frames += int(engine.tau[0])
    return frames


@walk("speed", ["low", *late("high")])
def test_a_beam_is_faster_than_a_bot_that_knows_no_pills(speed):
    clear = find_fastest(0, speed, SEED, width=100)
    assert best_times.replay([clear])
    assert clear.frames < frames_of_bot("lookahead3", 0, speed, SEED)
    wider = find_fastest(0, speed, SEED, width=400)
    assert wider.frames <= clear.frames  # of this game; no beam promises it


def test_the_buttons_of_a_clear_clear_the_bottle_frame_by_frame():
    clear = find_fastest(0, "medium", SEED, width=50)
    played = make_replay(clear)
    last = played.frames[-1]["info"]
    assert last["reason"] == "clear"
    assert last["viruses"] == 0
    frames = [frame["info"]["reason"] for frame in played.frames]
    assert frames.index("clear") == len(frames) - 1


def test_of_equal_bottles_one_is_kept():
    boards = np.zeros((6, CELLS), np.uint8)
    boards[[1, 3, 4], 0] = 1
    boards[5, 1] = 1
    weights = np.array([3, 9, 4, 8, 7, 1])
    assert choose_heaviest(boards, weights, 10).tolist() == [1, 2, 5]
    assert choose_heaviest(boards, weights, 2).tolist() == [1, 2]


IMPOSSIBLE = [
    ({"level": -3}, r"level=-3 .*from 0 to 24"),
    ({"level": 25}, r"level=25 .*from 0 to 24"),
    ({"width": 0}, r"width=0 .*from 1 to 100,000"),
    ({"width": 10**9}, r"width=1000000000 .*from 1 to 100,000"),
    ({"speed": "fast"}, r"fast"),
    ({"seed": 2**16}, r"65536"),
]


def test_what_there_is_not_is_refused(subtests):
    for options, message in IMPOSSIBLE:
        with subtests.test(message), pytest.raises(ConfigError, match=message):
            find_fastest(**{"level": 0, "speed": "low", "seed": SEED, "width": 5, **options})


def test_the_command_keeps_clears_replays_and_a_record(tmp_path, capsys):
    store, folder, out = tmp_path / "times.sqlite", tmp_path / "replays", tmp_path / "record.json"
    words = ["--levels", "0", "--speeds", "high", "--width", "20", "--best-times", str(store)]
    assert fastest.main([*words, "--replays", str(folder), "--out", str(out)]) == 0
    (game,) = json.loads(out.read_text())["games"]
    with BestTimes(store) as known:
        clear = known.best(0, "high", SEED)
    assert (game["seed"], game["frames"]) == (SEED, clear.frames)
    assert tuple(game["trace"]) == clear.trace
    (path,) = folder.iterdir()
    recorded = replays.load(path)
    assert replays.first_difference(recorded, replays.play_again(recorded)) is None
    assert fastest.main(words) == 0
    assert f"{clear.frames:,} before" in capsys.readouterr().out


def test_the_command_names_what_it_refuses(tmp_path, capsys):
    for words in (["--levels", "21"], ["--seeds", "0"], ["--speeds", "fast"], ["--width", "-1"]):
        assert fastest.main(words) == 2
        assert f"{words[0]}={words[1]}" in capsys.readouterr().err.replace(" ", "").replace("'", "")
    for words in (["--levels", "0", "0"], ["--speeds", "low", "low"]):
        assert fastest.main(words) == 2
        assert f"{words[0]} must be different from each other" in capsys.readouterr().err


# -- the times that are committed ------------------------------------------------------------------


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """A copy of the committed store, which opening may write to."""
    path = tmp_path_factory.mktemp("times") / "times.sqlite"
    shutil.copyfile(machine.ROOT / "benchmarks" / "drmario-times.sqlite", path)
    with BestTimes(path) as store:
        yield store


@walk("speed", SPEEDS)
def test_every_registered_game_has_a_time(committed, speed):
    for level in range(LAST_VIRUS_LEVEL + 1):
        cleared = {clear.seed for clear in committed.top(level, speed, MOST)}
        assert cleared == set(seeds_of(level)), (level, speed)


@walk("level", [7, *late(*(n for n in range(LAST_VIRUS_LEVEL + 1) if n != 7))])
def test_the_times_of_a_level_are_played_again(committed, level):
    clears = [clear for speed in SPEEDS for clear in committed.top(level, speed, MOST)]
    assert best_times.replay(clears) == [clear.sequence_sig for clear in clears]


def test_no_committed_time_is_slower_than_that_of_the_wider_beam(committed):
    record = json.loads((machine.ROOT / "benchmarks" / "drmario-fastest.json").read_text())
    for game in record["games"]:
        best = committed.best(game["level"], game["speed"], game["seed"])
        assert best.frames <= game["frames"], game["seed_id"]
