"""The viewer of Dr. Mario: every key, every panel, and everybody who may play; no time is real."""

import asyncio
import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("textual")

from fastenv.drmario.tables import Mode, Reason, from_bcd
from fastenv.errors import ConfigError
from tests.drmario import golden
from tests.needs import needs_core
from tests.slow import late
from tests.training.test_shaping import TINY as SHAPED
from training.apps.drmario.best_times import BestTimes
from training.apps.drmario.viewer import command, panels, sources
from training.apps.drmario.viewer.app import HELP, SKIP, Help, Viewer
from training.apps.drmario.viewer.panels import Training
from training.apps.drmario.viewer.playback import FASTEST, SLOWEST, Playback
from training.evaluation import replays
from training.logs.run_data import RunData
from training.players.player import begin_all

pytestmark = needs_core  # frames of many games
ENV = "DrMarioPlacement-v0"


class Clock:
    """Time that passes when it is told to, and a little whenever somebody looks."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1e-6
        return self.now


def playback(n=3, env=ENV, bot="first", **options):
    source = replace(sources.make_bot_source(env, {"level": 3, **options}, bot), most=12)
    return Playback(source, n, 5, Clock())


def played(app, *keys, size=(140, 45), then=lambda app: None):
    """Press keys in an application, one after the other; return what ``then`` finds at the end."""

    async def run():
        async with app.run_test(size=size) as pilot:
            await pilot.press(*keys)
            return then(app)

    return asyncio.run(run())


def after(*keys, n=3, then, **options):
    app = Viewer(playback(n, **options), auto=False)
    return played(app, *keys, then=then)


def text_of(app, name):
    """Return what a part of the screen shows."""
    widget = app.screen_stack[0].query_one(f"#{name}")
    lines = (strip.text for strip in widget.render_lines(widget.size.region))
    return "\n".join(lines)


# -- keys ------------------------------------------------------------------------------------------


def test_steps():
    found = after("n", n=1, then=lambda app: app.playback)
    assert found.paused
    assert found.totals.decisions == 1
    found = after("f", "n", n=1, env="DrMarioFrame-v0", bot="random", then=lambda app: app.playback)
    assert found.totals.decisions == SKIP + 1


def test_the_title_fits_80_columns():
    name = "lookahead:pretrained/drmario-evaluator/evaluator.safetensors:cvar0.25"
    for env, bot in (("DrMarioVersus-v0", "attack2"), (ENV, "first")):
        shown = playback(12, env, bot)
        if env == ENV:
            shown.source = replace(shown.source, name=name)
        app = Viewer(shown, auto=False)
        title = played(app, "1", size=(80, 40), then=lambda app: text_of(app, "title")).rstrip()
        end = "safetensors:cvar0.25" if env == ENV else "attack2"
        assert title.endswith(f"{end}   environment 1 of 12   {env}")
        assert len(title) <= 80


def test_no_time_is_written_with_an_exponent():
    found = after("n", "n", n=1, then=lambda app: panels.performance(app.playback, 0, False))
    times = dict(found)
    assert "us a frame" in times
    assert not any("e-" in value for value in times.values())


def walk(read, *path, **options):
    """Press keys and compare what is read after each with what stands beside it."""

    async def run():
        app = Viewer(playback(**options), auto=False)
        async with app.run_test(size=(140, 45)) as pilot:
            for k, (keys, wanted) in enumerate(path):
                await pilot.press(*keys.split())
                assert read(app) == wanted, (k, keys)

    asyncio.run(run())


def test_pause():
    walk(lambda app: app.playback.paused, ("space", True), ("space", False))


def test_speed():
    walk(
        lambda app: round(app.playback.speed, 4),
        *(("plus", 1.25), ("equals_sign", 1.5625), ("minus", 1.25), ("minus", 1.0)),
        ("minus", 0.8),
    )


def test_speed_has_limits():
    found = playback(n=1)
    found.faster(1e9)
    assert found.speed == FASTEST
    found.faster(1e-9)
    assert found.speed == SLOWEST


def test_maximum_speed_and_back():
    def read(app):
        return app.playback.maximum, "maximum speed" in text_of(app, "status")

    yes, no = (True, True), (False, False)
    walk(read, ("m", yes), ("m", no), ("m", yes), ("plus", no))


def test_views():
    walk(
        lambda app: app.shown,
        *(("tab", 1), ("tab", 2), ("tab", 3), ("tab", 0), ("shift+tab", 3), ("shift+tab", 2)),
        *(("1", 1), ("3", 3), ("0", 0), ("2", 2), ("9", 2)),  # there is no ninth
        *(("g", 0), ("g", 2), ("0", 0), ("g", 2)),
    )


FEWER, MORE = "left_square_bracket", "right_square_bracket"


@pytest.mark.parametrize(
    "path",
    [
        ((MORE, 3), ("enter", 4), (f"{FEWER} {FEWER}", 4), ("enter", 2)),
        *late(
            (
                *((f"{FEWER} " * 9, 3), ("enter", 1), (f"{MORE} " * 3, 1)),
                *(("escape", 1), ("enter", 1), ("e 1 2", 1), ("enter", 12), ("e 7", 12)),
                *(("escape", 12), ("e 0 enter", 12), ("e enter", 12), ("e 9 9 enter", 12)),
                ("e 2 enter", 2),
            )
        ),
    ],
    ids=len,
)
def test_number_of_environments(path):
    walk(lambda app: app.playback.num_envs, *path, level=20)


def test_a_new_number_is_taken_half_a_second_after_the_last_key():
    def then(app):
        counts = []
        for seconds in (0.4, 0.2):
            app.playback.clock.now += seconds
            app.tick()
            counts.append(app.playback.num_envs)
        return counts

    assert after("right_square_bracket", then=then) == [3, 4]


def test_a_view_that_is_gone_is_left():
    keys = ["3", "left_square_bracket", "enter"]
    assert after(*keys, then=lambda app: app.shown) == 2
    assert after(*keys, "g", "g", then=lambda app: app.shown) == 2


def test_random_seeds_and_back():
    def seeds(app):
        return app.playback.engine.get_states()["seed"].tolist()

    given = after(then=seeds)
    walk(
        lambda app: (seeds(app) == given, "random" in text_of(app, "status")),
        ("n n", (True, False)),
        ("r", (False, True)),
        ("r", (True, False)),
    )


def test_planes_are_named():
    def read(app):
        return "linked" in text_of(app, "performance")

    walk(read, ("1", False), ("p", True), ("p", False), obs="bitplane_bottle_conn")


def test_help_lists_the_keys_and_goes_away():
    walk(
        lambda app: isinstance(app.screen, Help),
        *(("h", True), ("escape", False), ("question_mark", True), ("q", False), ("q", False)),
    )


def test_quit():
    app = Viewer(playback(), auto=False)
    played(app, "q")
    assert app.return_code == 0
    assert not app.is_running


def test_arrows_scroll_what_does_not_fit():
    def at(app):
        return app.query_one("#panels").scroll_offset.y

    app = Viewer(playback(), auto=False)
    assert played(app, "1", "pagedown", "down", size=(80, 24), then=at) == 11
    app = Viewer(playback(), auto=False)
    assert played(app, "1", "pagedown", "up", "pageup", size=(80, 24), then=at) == 0


def test_every_key_is_in_the_help():
    named = {"plus": "+", "equals_sign": "=", "minus": "-", "left_square_bracket": "["}
    named |= {"right_square_bracket": "]", "question_mark": "?", "escape": "Esc", "tab": "Tab"}
    named |= {"shift+tab": "Shift-Tab", "enter": "Enter", "up": "arrows", "down": "arrows"}
    named |= {"pageup": "pages", "pagedown": "pages"}
    shown = " ".join(keys for keys, _ in HELP)
    for binding in Viewer.BINDINGS:
        for key in binding.key.split(","):
            assert named.get(key, "1-9" if key in "123456789" else key) in shown


# -- playing ---------------------------------------------------------------------------------------


def test_a_placement_takes_its_frames():
    """At the console's speed a second plays 60.0988 frames; the longest of a step counts."""
    found = playback(n=2)
    found.clock.now += 0.4  # 24 frames are due: the first step is taken, and 60 frames pass
    found.advance(1.0)
    assert found.tally.decisions.tolist() == [1, 1]
    taken = int(found.taken.max())
    assert taken > 24
    for _ in range(20):
        found.clock.now += 0.1
        found.advance(1.0)
    due = 2.4 * 60.0988
    played_frames = found.totals.longest
    assert due <= played_frames < due + found.taken.max() + 60


def test_nothing_is_played_in_a_pause_and_a_gap_is_not_caught_up_with():
    found = playback(n=1)
    found.paused = True
    found.clock.now += 100
    found.advance(1.0)
    assert found.totals.decisions == 0
    found.paused = False
    found.clock.now += 100
    found.advance(1.0)
    assert 30 <= found.totals.longest < 130


def test_maximum_speed_plays_as_long_as_it_may():
    found = playback(n=1)
    found.maximum = True
    found.advance(0.001)
    assert found.totals.decisions > 20


def test_lanes_that_have_ended_are_shown_once_and_begin_anew():
    found = playback(n=4, level=20)
    while not found.engine.ended.any():
        found.step()
    ended = found.engine.ended.copy()
    decisions = found.tally.decisions.copy()
    rows = found.engine.get_states()
    assert (rows["reason"][ended] == Reason.TOPOUT).all()
    found.step()
    assert not found.engine.ended[ended].any()
    assert (found.tally.decisions[ended] == 0).all()
    running = ~ended & ~found.engine.ended
    assert (found.tally.decisions[running] == decisions[running] + 1).all()


def test_tallies_are_those_of_the_engine():
    found = playback(n=2, level=-15, bot="random", adjacency_pair_bonus=0.25)
    returns, lane = [], 0
    while len(returns) < 3:
        found.step()
        if found.engine.ended[lane]:
            returns.append(float(found.engine.ep_return[lane]))
            last = found.tally.last[lane]
            assert last["return"] == pytest.approx(returns[-1], abs=1e-5)
            assert last["sums"].sum() == pytest.approx(returns[-1], abs=1e-5)
            assert last["frames"] == found.engine.ep_frames[lane]
            assert last["decisions"] == found.engine.ep_length[lane]
    assert list(found.tally.past[lane]) == pytest.approx(returns, abs=1e-5)


# -- panels ----------------------------------------------------------------------------------------


def measured(found):
    """Play until a window of rates is complete."""
    for _ in range(30):
        found.clock.now += 0.1
        found.advance(1.0)
    return found


def test_performance():
    found = measured(playback(n=2))
    rows = dict(panels.performance(found, 0, names=False))
    assert float(rows["fps in all"]) == pytest.approx(2 * float(rows["fps each"]), abs=1.1)
    assert 60 <= float(rows["fps in all"]) <= 240
    assert rows["target"] == "60.1 Hz"
    longest, total = found.taken.max(), found.taken.sum()
    assert rows["tau max / sum"] == f"{longest} / {total}"
    assert rows["spawns"] == str(found.tally.decisions.sum())
    assert rows["mask"].endswith(" of 512")
    assert rows["  update"] == panels.NOTHING
    assert float(rows["  planner"]) > 0


def test_speedup_is_that_over_one_environment_of_this_viewer():
    found = measured(playback(n=2))
    assert dict(panels.summary(found))["speedup, efficiency"] == "n/a, n/a"
    found.restart(1)
    assert dict(panels.summary(measured(found)))["speedup, efficiency"] == "1.00, 100%"
    found.restart(2)
    speedup, percent = dict(panels.summary(measured(found)))["speedup, efficiency"].split(", ")
    assert 100 * float(speedup) / 2 == pytest.approx(float(percent[:-1]), abs=1)


def test_rewards_are_of_this_episode_or_of_the_last_if_one_just_began():
    found = playback(n=1, level=20)
    while not found.engine.ended[0]:
        found.step()
    rows = dict(panels.reward(found, 0))
    assert rows["episode"] == "this"
    assert rows["topout"].split() == ["1", "-1.000"]
    assert rows["r_env"].split() == rows["r_total"].split()
    assert rows["last top-out"].split() == ["-1.000"]
    found.step()
    rows = dict(panels.reward(found, 0))
    assert rows["episode"] == "the last"
    assert rows["topout"].split() == ["1", "-1.000"]
    found.step()
    assert dict(panels.reward(found, 0))["topout"].split() == ["0", "0.000"]


def viruses(found):
    return from_bcd(int(found.engine.get_states([0])["players"]["virus_bcd"][0, 0]))


def test_shaping_of_a_training_stands_beside_the_rewards_of_its_agent(train, tmp_path):
    config = tmp_path / "shaped.json"
    config.write_text(json.dumps(SHAPED))
    assert train(tmp_path, "run", config=config) == 0
    source = sources.make_policy_source(tmp_path / "run", {"level": 1})
    found, expected, ended = Playback(source, 2, 5, Clock()), 0.0, 0
    while ended < 2:
        before = viruses(found)
        found.step()
        if found.tally.decisions[0] == 0:
            expected = 0.0
            continue
        left = 0 if found.engine.ended[0] else viruses(found)
        expected += 0.997 ** int(found.engine.tau[0]) * -left / 4 + before / 4
        rows = {name: float(text.split()[-1]) for name, text in panels.reward(found, 0)[1:]}
        assert rows["r_shape"] == pytest.approx(expected, abs=2e-3)
        assert rows["r_total"] == pytest.approx(rows["r_env"] + rows["r_shape"], abs=2e-3)
        ended += bool(found.engine.ended[0])
    assert expected
    found.step()
    assert dict(panels.reward(found, 0))["r_shape"].split() == [f"{expected:.3f}"]


def test_learning_tells_what_a_run_left_behind():
    metrics = {f"train/{name}": np.array([2.0, *[0.125] * 9]) for name in ("loss", "entropy", "kl")}
    gates = [{"stage": "L3", "successes": 30, "failures": 10, "interval": [0.6, 0.85]}]
    training = Training(RunData("run", None, metrics=metrics), gates)
    found = playback(n=1, task_max_frames=5000, task_max_spawns=40)
    for _ in range(3):
        found.step()
    rows = dict(panels.learning(found, 0, training))
    assert (rows["stage"], rows["stage rate"]) == ("L3", "75% of 40, low 60%")
    gates[0] |= {"successes": 249, "failures": 1, "interval": [0.985, 1.0]}
    rows = dict(panels.learning(found, 0, training))
    assert rows["stage rate"] == "99.6% of 250, low 98%"
    assert (rows["kl"], rows["policy loss"]) == ("0.1250", panels.NOTHING)
    frames = found.tally.frames[0]
    assert rows["budget"] == f"{frames} of 5,000 frames, 3 of 40 pills"
    assert rows["decisions"] == "3"
    assert rows["viruses"] == "16 of 16"
    assert rows["level"] == "3, medium"


def test_best_times_stand_beside_the_budget(tmp_path):
    from tests.training.apps.drmario.test_best_times import CLEARS

    clears = [clear for clear in CLEARS if (clear.level, clear.speed) == (0, "high")]
    times = sorted(clear.frames for clear in clears)
    options = {"level": 0, "speed": "high", "game_seed": clears[0].seed, "task_max_frames": 900}
    with BestTimes(tmp_path / "times.sqlite") as store:
        store.add(clears)
        rows = dict(panels.best_times(playback(n=1, **options), 0, store))
    assert rows["floor"] == f"{times[0]:,}"
    assert rows["50%"] == f"{times[1]:,}"
    assert rows["this game"] == f"{clears[0].frames:,}"
    assert rows["budget"] == "0 of 900 frames"
    assert dict(panels.best_times(playback(n=1), 0, None))["store"].startswith("none")


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
def test_boards_fit_the_screen(size):
    def grid(app):
        return text_of(app, "board")

    app = Viewer(playback(n=5), auto=False)
    shown = played(app, size=size, then=grid)
    assert shown.count("┌─────┘    └─────┐") == 5
    assert max(map(len, shown.splitlines())) <= size[0]
    assert "5 L3 16v 0f" in shown
    app = Viewer(playback(n=5), auto=False)
    shown = played(app, "5", size=size, then=grid)
    assert "next" in shown
    assert "viruses         16" in shown


# -- who plays -------------------------------------------------------------------------------------


def recording(tmp_path, steps=6):
    options = {"level": 3, "obs": "bitplane_bottle"}
    engine = sources.make_bot_source(ENV, options, "first").engine(1)
    engine.reset_many(seeds=9)
    actions = []
    player = sources.make_bot_source(ENV, options, "first").player(engine)
    begin_all(player, engine, 9)
    for _ in range(steps):
        actions.append(int(player.act(engine, np.arange(1))[0]))
        engine.step_many(actions[-1:], autoreset=False)
    replay = replays.record(ENV, options, 9, actions)
    return replays.save(replay, tmp_path), actions


def test_a_recorded_game_is_played_to_its_end(tmp_path):
    path, actions = recording(tmp_path)
    found = Playback(sources.make_replay_source(path), 1, 0, Clock())
    taken = []
    while not found.over:
        taken.append(int(found.actions[0]))
        found.step()
    assert taken == actions
    assert found.step() == 0
    app = Viewer(Playback(sources.make_replay_source(path), 1, 0, Clock()), auto=False)
    keys = ["right_square_bracket", "enter", "f"]
    assert played(app, *keys, then=lambda app: text_of(app, "status")).startswith(" over")
    assert app.playback.num_envs == 1


def test_a_damaged_recording_is_refused_by_name(tmp_path, capsys):
    path, _ = recording(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    assert command.main(["--replay", str(path)]) == 2
    assert f"{path} is no file of gzip, or damaged" in capsys.readouterr().err


def demo_file(tmp_path):
    """Write tables of a demo of our own: left, then nothing, over an empty bottle."""
    inputs = np.zeros((256, 2), np.uint8)
    inputs[:, 0] = [2, 0] * 128
    arrays = {"initial_board": np.full(128, 0xFF, np.uint8), "input_table": inputs}
    arrays["initial_board"][127] = 0xD0
    np.savez(tmp_path / "demo.npz", **arrays, pill_table=np.arange(128, dtype=np.uint8) % 9)
    return tmp_path / "demo.npz"


def test_the_demo_is_played_by_itself_frame_by_frame(tmp_path):
    found = Playback(sources.make_demo_source(demo_file(tmp_path)), 1, 0, Clock())
    assert found.engine.get_states()["players"]["mode"][0, 0] == Mode.DEMO
    for _ in range(200):
        assert found.step() == 1
    assert found.engine.get_states()["players"]["col"][0, 0] < 3
    steps = 200
    while not found.over:
        found.step()
        steps += 1
    assert 240 < steps < 300  # a pair is a frame here; seven have passed at the reset
    app = Viewer(Playback(sources.make_demo_source(demo_file(tmp_path)), 1, 0, Clock()), auto=False)
    keys = ["f", "f", "f"]
    assert "frames         180" in played(app, *keys, then=lambda app: text_of(app, "board"))


def test_the_recorded_demo_runs_in_the_viewer():
    path = golden.console_file("demo_trace")
    found = Playback(sources.make_demo_source(path), 1, 0, Clock())
    with np.load(path) as data:
        wanted = data["pill_col"][:400]
    columns = []
    for _ in range(399):
        found.step()
        columns.append(int(found.engine.get_states()["players"]["col"][0, 0]))
    np.testing.assert_array_equal(columns, wanted[:399])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--bot", "wizard"], "bot 'wizard'"),
        (["--bot", "first", "--set", "level=25"], "level=25"),
        (["--bot", "first", "--env", "Prospector-v0"], "env='Prospector-v0'"),
        (["--bot", "first", "--envs", "0"], "--envs=0"),
        (["--bot", "first", "--speed", "0"], "--speed=0.0"),
        (["--bot", "first", "--seed", "-1"], "--seed=-1"),
        (["--policy", "nowhere"], "nowhere"),
        (["--replay", "nowhere.gz"], "nowhere.gz"),
        (["--demo", "nowhere.npz"], "nowhere.npz"),
        (["--demo", "nowhere.npz", "--set", "level=5"], "--set"),
    ],
)
def test_what_cannot_be_shown_is_refused_by_name(args, message, capsys):
    assert command.main(args) == 2
    assert message in capsys.readouterr().err


def test_frames_of_many_games_are_played_too():
    found = playback(n=2, env="DrMarioFrame-v0", bot="random")
    for _ in range(5):
        assert found.step() == 1
    app = Viewer(found, auto=False)
    assert "pill" in played(app, "1", then=lambda app: text_of(app, "performance"))


def test_other_recordings_are_refused(tmp_path):
    replay = replays.record("Prospector-v0", {}, 1, [6])
    path = replays.save(replay, tmp_path)
    with pytest.raises(ConfigError, match="Prospector-v0"):
        sources.make_replay_source(path)
