"""Replay files: written whole, read with care, played again to the bit."""

import gzip
import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from tests.training.played import play_episodes
from training.commands.replay import main
from training.evaluation import replays
from training.evaluation.replays import ReplayError
from training.players.names import make_player
from training.run.envs import make_engine
from training.terminal import text

GAMES = {
    "Prospector-v0": ({"time_max": 40.0}, "masked_random"),
    "SkullKingWorker-v0": ({"opponents": "rule_easy"}, "random"),
    "SkullKingFlat-v0": ({"opponents": ["random", "rule_hard", "heuristic"]}, "rule_medium"),
}
FRAME = {
    *("schema_version", "frame_index", "t", "dt", "action", "reward", "terminated", "truncated"),
    *("render_state", "events", "info"),
}


def played(env, seed=11):
    options, bot = GAMES[env]
    engine = make_engine(env, 4, options)
    found = play_episodes(engine, partial(make_player, bot), 4, seed, 1000, keep_actions=True)
    return found, [
        replays.record(env, options, seed + e, actions) for e, actions in enumerate(found.actions)
    ]


@pytest.fixture(scope="module", params=GAMES)
def recorded(request):
    return played(request.param)


@pytest.fixture
def file(tmp_path):
    """A replay file of Prospector."""
    return replays.save(played("Prospector-v0")[1][0], tmp_path, window_id=3)


def test_recording_shows_what_was_played(recorded):
    found, recordings = recorded
    for e, each in enumerate(recordings):
        assert each.actions == found.actions[e].tolist()
        assert each.return_total == pytest.approx(found["return"][e])
        last = each.frames[-1]
        assert last["t"] == found["ticks"][e]
        assert last["terminated"] == found["terminated"][e]
        assert last["truncated"] == found["truncated"][e]
        assert all(set(frame) == FRAME for frame in each.frames)


@pytest.mark.parametrize("backend", ["reference", "numba", "cython", "fast"])
def test_file_plays_the_same_on_every_backend(recorded, tmp_path, backend, capsys):
    _, recordings = recorded
    files = [str(replays.save(each, tmp_path)) for each in recordings[:2]]
    assert main([*files, "--backend", backend, "--check"]) == 0
    assert capsys.readouterr().out.count("plays as recorded") == 2


def test_observations_survive_the_file_to_the_bit(recorded, tmp_path):
    _, (each, *_) = recorded
    loaded = replays.load(replays.save(each, tmp_path))
    assert loaded == each
    engine = make_engine(each.head["env"], 1, each.head["options"])
    engine.reset_many(seeds=each.head["seed"])
    assert np.array(loaded.head["reset_observation"], np.float32).tobytes() == engine.obs.tobytes()
    for frame in loaded.frames:
        engine.step_many([frame["action"]], autoreset=False)
        seen = np.array(frame["render_state"]["observation"], np.float32)
        assert seen.tobytes() == engine.obs.tobytes()


def test_prospector_frames_show_what_the_schema_names():
    recordings = played("Prospector-v0", seed=100)[1]
    frames = [frame for each in recordings for frame in each.frames]
    shown = {"observation", "time_remaining", "credits", "net_profit", "survival"}
    shown |= {"cargo_utilization_avg", "node_context"}
    assert all(set(frame["render_state"]) == shown for frame in frames)
    assert {frame["render_state"]["node_context"] for frame in frames} == {"station", "field"}
    for each in recordings:
        ticks = encounters = 0
        for frame in each.frames:
            ticks += frame["dt"]
            grown = frame["info"]["pirate_encounters"] > encounters
            encounters = frame["info"]["pirate_encounters"]
            assert frame["t"] == ticks
            assert ("pirate_encounter" in frame["events"]) == grown
            assert ("terminated" in frame["events"]) == frame["terminated"]
            assert ("truncated" in frame["events"]) == frame["truncated"]
            assert ("invalid_action" in frame["events"]) == frame["info"]["invalid_action"]


def test_illegal_and_strange_actions_are_recorded_as_given():
    found = replays.record("Prospector-v0", {}, 0, [200, -3, 28])
    assert found.actions == [200, -3, 28]
    assert all("invalid_action" in frame["events"] for frame in found.frames)
    assert replays.first_difference(found, replays.play_again(found, "reference")) is None


def test_equal_replays_are_equal_files(file, tmp_path):
    again = replays.save(replays.load(file), tmp_path / "other", window_id=3)
    assert again.name == file.name
    assert again.read_bytes() == file.read_bytes()
    assert file.name.startswith("replay-000003-")
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == [file.name]


@pytest.mark.parametrize(
    ("actions", "says"), [([], "at least one"), ([68, 6], "over after 1 of 2")]
)
def test_impossible_recording_is_refused(actions, says):
    with pytest.raises(ReplayError, match=says):
        replays.record("Prospector-v0", {}, 0, actions)


# -- looking at an episode -------------------------------------------------------------------------


def test_every_state_is_drawn_with_what_led_to_it(recorded):
    _, (each, *_) = recorded
    texts = list(replays.render_frames(each, "ansi"))
    assert len(texts) == len(each.frames) + 1
    assert "the beginning" in texts[0][0]
    engine = make_engine(each.head["env"], 1, each.head["options"])
    engine.reset_many(seeds=each.head["seed"])
    row = engine.get_states()[0]
    assert texts[0][1] == engine.game.render(row, "ansi")
    name = engine.game.action_name(each.actions[0], row)
    assert texts[1][0].startswith(f"step 1 of {len(each.frames)}: {name}, reward ")
    assert f"return {each.return_total:.6g}" in texts[-1][0]
    picture = next(replays.render_frames(each, "rgb_array"))[1]
    assert picture.dtype == np.uint8
    assert picture.ndim == 3


def test_command_shows_the_frames(file, capsys):
    assert main([str(file)]) == 0
    shown = capsys.readouterr().out
    frames = replays.load(file).frames
    assert f"step {len(frames)} of {len(frames)}: " in shown
    assert shown.count("asteroid") >= 1
    assert "plays as recorded" in shown.splitlines()[-1]


def test_frames_have_colours_and_take_their_time_on_a_terminal_alone(capsys, monkeypatch):
    slept = []
    monkeypatch.setattr(text.time, "sleep", slept.append)
    frames = [("first", "\x1b[1mone\x1b[0m"), ("second", "two")]
    text.print_frames(frames, fps=4.0)
    assert capsys.readouterr().out == "first\n\none\n\nsecond\n\ntwo\n\n"
    monkeypatch.setattr(text.sys.stdout, "isatty", lambda: True)
    text.print_frames(frames, fps=4.0)
    assert "\x1b[1mone" in capsys.readouterr().out
    assert slept == [0.0, 0.0, 0.25, 0.25]


def test_command_writes_a_film(file, tmp_path, capsys):
    out = tmp_path / "new" / "episode.gif"
    assert main([str(file), "--out", str(out), "--fps", "5"]) == 0
    with Image.open(out) as found:
        assert found.n_frames == len(replays.load(file).frames) + 1
    assert capsys.readouterr().out.count("\n") == 1  # the verdict alone


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--out", "x.avi"], "must end in .gif or .mp4"),
        (["--out", "x.gif", "--check"], "without --check"),
        (["--fps", "0"], "--fps"),
        (["--fps", "nan"], "--fps"),
    ],
)
def test_films_that_cannot_be_made_are_refused(file, flags, says, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main([str(file), *flags]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert says in error


def test_a_game_without_drawings_says_so(file, monkeypatch, capsys):
    monkeypatch.setattr(replays, "make_engine", lambda *a, **k: _blind(make_engine(*a, **k)))
    with pytest.raises(ReplayError, match="Prospector-v0 has no drawings of the kind ansi"):
        next(replays.render_frames(replays.load(file), "ansi"))


def _blind(engine):
    """Return an engine of a game that cannot be drawn."""
    game = SimpleNamespace(spec=SimpleNamespace(render_modes=()))
    return SimpleNamespace(game=game)


# -- differences and damage ------------------------------------------------------------------------


def rewrite(file, change):
    """Change the frames of a file."""
    frames = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    frames = change(frames) or frames
    text = "".join(json.dumps(frame) + "\n" for frame in frames)
    file.write_bytes(gzip.compress(text.encode()))


def alter_reward(frames):
    frames[2]["reward"] += 1e-12


def alter_observation(frames):
    frames[1]["render_state"]["observation"][5] = 0.123


def leave_out_a_field(frames):
    del frames[1]["info"]["pirate_encounters"]


def add_a_field(frames):
    frames[1]["info"]["of_another_version"] = 3


def alter_seed(frames):
    frames[0]["replay"]["seed"] += 1


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (alter_reward, "frame 2, reward: "),
        (alter_observation, "frame 1, render_state, observation[5]: 0.123 in the file"),
        (leave_out_a_field, "frame 1, info, pirate_encounters: None in the file, 0"),
        (add_a_field, "frame 1, info, of_another_version: 3 in the file, None now"),
        (alter_seed, "reset_observation"),
    ],
)
def test_first_difference_is_reported(file, capsys, change, where):
    rewrite(file, change)
    assert main([str(file)]) == 1
    printed = capsys.readouterr().out
    assert "DIFFERS" in printed
    assert where in printed


def refused(capsys, file):
    assert main([str(file)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert str(file) in err
    return err


@pytest.mark.parametrize(
    "change",
    [
        lambda frames: frames[:-1],
        lambda frames: frames[1:],
        lambda frames: [frames[0], *frames[2:], frames[1]],
        lambda frames: frames[0].pop("replay") and None,
        lambda frames: frames[0]["replay"].pop("options") and None,
        lambda frames: frames[3].update(action="travel"),
        lambda frames: frames[3].update(reward=None),
        lambda frames: [[1], [2]],
    ],
)
def test_file_with_missing_or_strange_parts_is_refused(file, capsys, change):
    rewrite(file, change)
    assert "damaged or cut off" in refused(capsys, file)


def test_other_schema_version_is_refused(file, capsys):
    rewrite(file, lambda frames: [frame | {"schema_version": 2} for frame in frames])
    assert "schema version 2" in refused(capsys, file)


def test_something_else_is_refused(tmp_path, capsys):
    path = tmp_path / "x.jsonl.gz"
    path.write_text("no gzip")
    refused(capsys, path)
    refused(capsys, tmp_path / "none.jsonl.gz")


def test_unknown_environment_and_backend_are_refused(file, capsys):
    assert main([str(file), "--backend", "rust"]) == 2
    rewrite(file, lambda frames: frames[0]["replay"].update(env="Chess-v0"))
    assert main([str(file)]) == 2
    assert "Chess-v0" in capsys.readouterr().err


# -- the index -------------------------------------------------------------------------------------


def entry(folder, actions, **about):
    found = replays.record("Prospector-v0", {}, 7, actions)
    path = replays.save(found, folder / "replays", about["window_id"])
    return replays.add_to_index(folder, path, found, **about)


def test_index_grows_and_tags(tmp_path):
    about = {
        "run_id": "r",
        "checkpoint_path": "checkpoints/c",
        "trainer_backend": "sb3",
        "checkpoint_env_steps_total": 12,
    }
    first = entry(tmp_path, [6, 68], window_id=0, **about)
    second = entry(tmp_path, [6, 6, 68], window_id=1, **about)
    third = entry(tmp_path, [68], window_id=2, **about)
    assert replays.load_index(tmp_path) == [first, second, third]
    assert first["tags"] == ["every_window", "best_so_far", "milestone:survival:1"]
    assert "best_so_far" not in second["tags"]
    assert "best_so_far" in third["tags"]
    assert third["run_id"] == "r"
    assert (third["steps"], third["terminated"], third["survival"]) == (1, True, 1.0)
    assert (tmp_path / third["replay_path"]).is_file()


@pytest.mark.parametrize("text", ["", "[]", '{"schema_version": 1}', '{"replays": []}'])
def test_damaged_index_is_refused(tmp_path, text):
    (tmp_path / "replay_index.json").write_text(text)
    with pytest.raises(ReplayError, match=r"replay_index\.json is damaged"):
        replays.load_index(tmp_path)


def test_index_of_another_version_is_refused(tmp_path):
    (tmp_path / "replay_index.json").write_text('{"schema_version": 2, "replays": []}')
    with pytest.raises(ReplayError, match="schema version 2"):
        replays.load_index(tmp_path)
