"""The application of the terminal: every key, every panel, any game; no time is real."""

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("textual")

from fastenv.drmario.tables import Mode, Reason, from_bcd
from fastenv.errors import ConfigError
from tests.drmario import golden
from tests.needs import needs_core
from tests.slow import diagonal
from tests.training.test_shaping import TINY as SHAPED
from training import play, watch
from training.apps.drmario.panels import DrMarioPanels
from training.commands import replay as replay_command
from training.evaluation import replays
from training.logs.run_data import RunData
from training.terminal import panels, sources, text, thinking
from training.terminal.app import HELP, SKIP, App, Help
from training.terminal.session import FASTEST, SLOWEST, TerminalSession

pytestmark = needs_core  # frames of many games
ROOT = Path(__file__).resolve().parents[3]
ENV = "DrMarioPlacement-v0"
AGENT = str(ROOT / "pretrained/skullking-ppo")
FLAT = "--env", "SkullKingFlat-v0", "--against"
GAMES = {
    "cards": ("heuristic", "SkullKingFlat-v0", {}),
    "bottle": ("first", ENV, {"level": 3}),
    "ship": ("greedy_miner", "Prospector-v0", {}),
    "machine": ("random_legal", "LanternWalk-v0", {}),
}


class Clock:
    """Time that passes when it is told to, and a little whenever somebody looks."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1e-6
        return self.now


def make_session(n=3, env=ENV, bot="first", **options):
    options = {"level": 3, **options} if env.startswith("DrMario") else options
    source = sources.make_scripted(bot, env, options)
    return TerminalSession(sources.show_more(replace(source, most=12, endless=True)), n, 5, Clock())


def make_played(*words):
    args = play.parser().parse_args(["--seed", "3", *words])
    return TerminalSession(sources.show_more(sources.make_played(args)), seed=3, clock=Clock())


def press(app, *keys, size=(140, 45), then=lambda app: None):
    """Press keys in an application, one after the other; return what ``then`` finds at the end."""

    async def run():
        async with app.run_test(size=size) as pilot:
            await pilot.press(*keys)
            await pilot.pause()
            return then(app)

    return asyncio.run(run())


def after(*keys, n=3, then, **options):
    return press(App(make_session(n, **options), auto=False), *keys, then=then)


def text_of(app, name):
    """Return what a part of the screen shows."""
    widget = app.screen_stack[0].query_one(f"#{name}")
    lines = (strip.text for strip in widget.render_lines(widget.size.region))
    return "\n".join(lines)


def walk(read, *path, **options):
    """Press keys and compare what is read after each with what stands beside it."""

    async def run():
        app = App(make_session(**options), auto=False)
        async with app.run_test(size=(140, 45)) as pilot:
            for k, (keys, wanted) in enumerate(path):
                await pilot.press(*keys.split())
                assert read(app) == wanted, (k, keys)

    asyncio.run(run())


# -- keys ------------------------------------------------------------------------------------------


def test_steps():
    session = after("n", n=1, then=lambda app: app.session)
    assert session.paused
    assert session.totals.decisions == 1
    session = after(
        "f", "n", n=1, env="DrMarioFrame-v0", bot="random", then=lambda app: app.session
    )
    assert session.totals.decisions == SKIP + 1


@pytest.mark.parametrize(("game", "size"), diagonal(GAMES, [(80, 24), (140, 40)]))
def test_any_game_is_stepped_back_and_forth(game, size):
    bot, env, options = GAMES[game]

    async def run():
        app = App(make_session(1, env, bot, **options), auto=False)
        shown = []
        async with app.run_test(size=size) as pilot:
            for key in "nnnbbnn":
                shown.append((text_of(app, "board"), text_of(app, "choice")))
                await pilot.press(key)
            shown.append((text_of(app, "board"), text_of(app, "choice")))
        return shown, app.session

    shown, session = asyncio.run(run())
    assert shown[:4] == [shown[0], shown[5], shown[4], shown[7]]
    assert shown[2] == shown[4] == shown[6]
    assert session.totals.decisions == 3
    assert all(f"{bot} chooses " in choice for _, choice in shown)


def test_a_step_back_is_shown_to_its_end():
    walk(
        lambda app: ("back" in text_of(app, "status"), app.session.history.index),
        *(("n n", (False, 2)), ("b", (True, 1)), ("b b b", (True, 0)), ("space", (True, 0))),
        *(("n", (True, 1)), ("n", (False, 2)), ("n", (False, 3))),
        n=1,
    )


def test_the_title_says_who_plays_what_as_far_as_it_fits():
    for env, bot in (("DrMarioVersus-v0", "attack2"), (ENV, "first")):
        app = App(make_session(12, env, bot), auto=False)
        title = press(app, "1", size=(80, 40), then=lambda app: text_of(app, "title")).rstrip()
        assert title == f" {env}   environment 1 of 12   {bot}"
    app = App(make_played("--against", *[AGENT] * 3), auto=False)
    title = press(app, size=(80, 24), then=lambda app: text_of(app, "title"))
    assert title.endswith("…")


def test_no_time_is_written_with_an_exponent():
    session = after("n", "n", n=1, then=lambda app: app.session)
    times = dict(panels.list_performance(measure(session), 0))
    assert "us a frame" in times
    assert not any("e-" in value for value in times.values())


def test_pause():
    walk(lambda app: app.session.paused, ("space", True), ("space", False))


def test_speed():
    walk(
        lambda app: round(app.session.speed, 4),
        *(("plus", 1.25), ("equals_sign", 1.5625), ("minus", 1.25), ("minus", 1.0)),
        ("minus", 0.8),
    )


def test_speed_has_limits():
    session = make_session(n=1)
    session.faster(1e9)
    assert session.speed == FASTEST
    session.faster(1e-9)
    assert session.speed == SLOWEST


def test_maximum_speed_and_back():
    def read(app):
        return app.session.maximum, "maximum speed" in text_of(app, "status")

    yes, no = (True, True), (False, False)
    walk(read, ("m", yes), ("m", no), ("m", yes), ("plus", no))


def test_views():
    walk(
        lambda app: (app.shown, app.session.looked),
        *(("tab", (1, 0)), ("tab", (2, 1)), ("tab", (3, 2)), ("tab", (0, None))),
        *(("shift+tab", (3, 2)), ("shift+tab", (2, 1))),
        *(("1", (1, 0)), ("3", (3, 2)), ("0", (0, None)), ("2", (2, 1))),
        *(("9", (2, 1)), ("g", (0, None)), ("g", (2, 1))),  # there is no ninth
    )


FEWER, MORE = "left_square_bracket", "right_square_bracket"


def test_number_of_environments():
    walk(
        lambda app: app.session.num_envs,
        *((MORE, 4), (f"{FEWER} {FEWER}", 2), (f"{FEWER} " * 9, 1), (f"{MORE} " * 3, 4)),
        *(("e 1 2", 4), ("enter", 12), ("e 7 escape enter", 12), ("e 0 enter", 12)),
        *(("e enter", 12), ("e 9 9 enter", 12), ("e 2 enter", 2)),
        level=20,
    )


def test_a_view_that_is_gone_is_left():
    keys = ["3", "left_square_bracket"]
    assert after(*keys, then=lambda app: app.shown) == 2
    assert after(*keys, "g", "g", then=lambda app: app.shown) == 2


def test_random_seeds_and_back():
    def seeds(app):
        return app.session.engine.get_states()["seed"].tolist()

    given = after(then=seeds)
    walk(
        lambda app: (seeds(app) == given, "random" in text_of(app, "status")),
        ("n n", (True, False)),
        ("r", (False, True)),
        ("r", (True, False)),
    )


def test_help_lists_the_keys_and_goes_away():
    walk(
        lambda app: isinstance(app.screen, Help),
        *(("h", True), ("escape", False), ("question_mark", True), ("q", False), ("q", False)),
    )


def test_quit():
    app = App(make_session(), auto=False)
    press(app, "q")
    assert app.return_code == 0
    assert not app.is_running


def test_arrows_scroll_what_does_not_fit():
    def at(app):
        return app.query_one("#panels").scroll_offset.y

    app = App(make_session(), auto=False)
    assert press(app, "1", "pagedown", "down", size=(80, 24), then=at) == 11
    app = App(make_session(), auto=False)
    assert press(app, "1", "pagedown", "up", "pageup", size=(80, 24), then=at) == 0


def test_every_key_is_in_the_help():
    named = {"plus": "+", "equals_sign": "=", "minus": "-", "left_square_bracket": "["}
    named |= {"right_square_bracket": "]", "question_mark": "?", "escape": "Esc", "tab": "Tab"}
    named |= {"shift+tab": "Shift-Tab", "enter": "Enter", "slash": "/", "pageup": "pages"}
    named |= {"pagedown": "pages", **dict.fromkeys(("up", "down", "left", "right"), "arrows")}
    shown = " ".join(keys for keys, _ in HELP)
    for binding in App.BINDINGS:
        for key in binding.key.split(","):
            assert named.get(key, "0-9" if key in "0123456789" else key) in shown


# -- a person --------------------------------------------------------------------------------------


def test_moves_are_chosen_by_number_name_and_arrows():
    def read(app):
        return app.session.totals.decisions, app.session.waits

    async def run():
        app = App(make_played("--env", "Prospector-v0"), auto=False)
        async with app.run_test(size=(140, 45)) as pilot:
            legal = [*app.session.legal()]
            for keys, action in (
                ("enter", legal[0]),
                ("6 enter", 6),
                ("slash h o l d enter", 6),
                ("right enter", None),
            ):
                wanted = [*app.session.legal()][1] if action is None else action
                before = app.session.history.last
                await pilot.press(*keys.split())
                assert app.session.history.last == before + 1
                assert app.session.moment.decisions == ((0, wanted),)
            await pilot.press("9", "9", "enter")  # no such move
            assert app.session.history.last == before + 1
            await pilot.press("b")
            assert app.session.history.index == before
            await pilot.press("n")
            await pilot.press("7", "escape", "down", "up")
            assert app.chosen == 0
            return read(app)

    assert asyncio.run(run()) == (4, True)


def test_what_is_taken_back_is_decided_anew():
    async def run():
        app = App(make_played("--against", AGENT, "rule_hard"), auto=False)
        session, boards = app.session, []

        async def go_on(pilot):
            while not session.waits and not session.over:
                await pilot.press("n")

        async with app.run_test(size=(80, 24)) as pilot:
            await go_on(pilot)
            boards.append(text_of(app, "board"))
            assert "bid" in text_of(app, "moves")
            await pilot.press("0", "enter")
            await go_on(pilot)
            assert "Bids: You 0" in "\n".join(session.news(20))
            await pilot.press("b")
            boards.append(text_of(app, "board"))
            assert "back" in text_of(app, "status")
            await pilot.press("1", "enter")
            await go_on(pilot)
            assert "Bids: You 1" in "\n".join(session.news(20))
        return boards

    before, back = asyncio.run(run())
    assert before == back


def test_nothing_that_others_hold_or_choose_is_shown():
    """At every moment of a round: the board is the person's, and no panel tells of the others."""
    app = App(make_played(*FLAT, "search:heuristic,worlds=2", "rule_hard"), auto=False)
    session = app.session

    def then(app):
        seen = 0
        while session.engine.get_states()["round_idx"][0] < 3 and not session.over:
            app.show()
            row = session.rows[0]
            board = text_of(app, "board").partition("Your hand")[2]
            own = session.engine.game.render_seat(row, 0, "ansi").partition("Your hand")[2]
            names = [line.split("]")[-1].strip() for line in board.splitlines() if "]" in line]
            assert all(name in own for name in names)
            assert not app.query_one("#thought").display
            assert "chooses" not in text_of(app, "choice")
            seen += not session.waits
            if session.waits:
                session.decide(next(iter(session.legal())))
            else:
                session.step()
        return seen

    assert press(app, then=then) > 10
    assert app._list_figures() == []


def test_a_person_is_advised():
    words = [*FLAT, "rule_hard", "--think", "search:heuristic,worlds=2,decisions=all"]

    def then(app):
        advice = app.session.decision.action
        shown = text_of(app, "moves")
        assert f"{thinking.CHOSEN}{advice} " in shown
        assert [*app.session.legal()][app.chosen] == advice
        return text_of(app, "thought")

    assert "thought for" in press(App(make_played(*words), auto=False), then=then)


def test_a_placement_is_marked_before_it_is_chosen():
    def board(app):
        return text_of(app, "board")

    words = ("--env", ENV, "--set", "level=5")
    first, second = (
        press(App(make_played(*words), auto=False), *keys, then=board)
        for keys in ([], ["right", "right"])
    )
    assert first != second


def test_a_finished_game_says_its_result():
    app = App(make_played("--env", "Prospector-v0"), auto=False)
    shown = press(app, "slash", *"cash", "enter", then=lambda app: text_of(app, "choice"))
    assert shown.startswith("The game is over: return ")
    assert app.session.over


# -- playing ---------------------------------------------------------------------------------------


def test_a_placement_takes_its_frames():
    """At the console's speed a second plays 60.0988 frames; the longest of a step counts."""
    session = make_session(n=2)
    session.clock.now += 0.4  # 24 frames are due: the first step is taken, and 60 frames pass
    session.advance(1.0)
    assert session.tally.episode["decisions"].tolist() == [1, 1]
    taken = int(session.moment.taken.max())
    assert taken > 24
    for _ in range(20):
        session.clock.now += 0.1
        session.advance(1.0)
    due = 2.4 * 60.0988
    played_frames = session.totals.longest
    assert due <= played_frames < due + session.moment.taken.max() + 60


@pytest.mark.parametrize(
    ("env", "bot", "delay", "decisions"),
    [
        ("Prospector-v0", "greedy_miner", None, 3),  # a decision a second
        ("Prospector-v0", "greedy_miner", 0.5, 5),
        ("DrMarioFrame-v0", "random", None, 121),
        ("GameBoyPixels-v0", "random_legal", None, 5),  # 24 frames of the machine
        (ENV, "first", 0.5, 5),
    ],
)
def test_the_pace_of_a_game(env, bot, delay, decisions):
    session = make_session(1, env, bot)
    session.source = replace(session.source, delay=delay)
    session.restart(1)
    for _ in range(20):
        session.clock.now += 0.1
        session.advance(1.0)
    assert abs(session.totals.decisions - decisions) <= 1


def test_nothing_is_played_in_a_pause_and_a_gap_is_not_caught_up_with():
    session = make_session(n=1)
    session.paused = True
    session.clock.now += 100
    session.advance(1.0)
    assert session.totals.decisions == 0
    session.paused = False
    session.clock.now += 100
    session.advance(1.0)
    assert 30 <= session.totals.longest < 130


def test_maximum_speed_plays_as_long_as_it_may():
    session = make_session(n=1)
    session.maximum = True
    session.advance(0.001)
    assert session.totals.decisions > 20


def test_the_end_of_an_episode_alone_is_a_pause():
    session = make_session(n=1, level=20)
    while not session.paused:
        session.clock.now += 0.1
        session.advance(1.0)
    assert session.moment.ended[0]
    session.step()
    assert not session.moment.ended[0]


def test_lanes_that_have_ended_are_shown_once_and_begin_anew():
    session = make_session(n=4, level=20)
    while not session.engine.ended.any():
        session.step()
    ended = session.engine.ended.copy()
    decisions = session.tally.episode["decisions"].copy()
    rows = session.engine.get_states()
    assert (rows["reason"][ended] == Reason.TOPOUT).all()
    session.step()
    assert not session.engine.ended[ended].any()
    now = session.tally.episode["decisions"]
    assert (now[ended] == 0).all()
    running = ~ended & ~session.engine.ended
    assert (now[running] == decisions[running] + 1).all()


def test_tallies_are_those_of_the_engine():
    session = make_session(n=2, level=-15, bot="random", adjacency_pair_bonus=0.25)
    returns, lane = [], 0
    while len(returns) < 3:
        session.step()
        if session.engine.ended[lane]:
            returns.append(float(session.engine.ep_return[lane]))
            last, _ = session.tally.last[lane]
            assert last["return"] == pytest.approx(returns[-1], abs=1e-5)
            assert last["sums"].sum() == pytest.approx(returns[-1], abs=1e-5)
            assert last["frames"] == session.engine.ep_frames[lane]
            assert last["decisions"] == session.engine.ep_length[lane]
    assert list(session.tally.past[lane]) == pytest.approx(returns, abs=1e-5)


# -- panels ----------------------------------------------------------------------------------------


def measure(session):
    """Play until a window of rates is complete."""
    session.paused = False
    for _ in range(30):
        session.clock.now += 0.1
        session.advance(1.0)
    return session


def list_game(session, times=None):
    return {name: dict(rows) for name, rows in DrMarioPanels(times).list_rows(session, 0).items()}


def test_performance():
    session = measure(make_session(n=2))
    rows = dict(panels.list_performance(session, 0))
    assert float(rows["fps in all"]) == pytest.approx(2 * float(rows["fps each"]), abs=1.1)
    assert 60 <= float(rows["fps in all"]) <= 240
    taken = session.moment.taken
    assert rows["tau max / sum"] == f"{taken.max()} / {taken.sum()}"
    assert rows["mask"].endswith(" of 512")
    assert float(list_game(session)["game"]["planner"].split()[0]) > 0


def test_speedup_is_that_over_one_environment_of_this_session():
    session = measure(make_session(n=2))
    assert dict(panels.list_summary(session))["speedup, efficiency"] == "n/a, n/a"
    session.restart(1)
    rows = dict(panels.list_summary(measure(session)))
    assert rows["speedup, efficiency"] == "1.00, 100%"
    session.restart(2)
    rows = dict(panels.list_summary(measure(session)))
    speedup, percent = rows["speedup, efficiency"].split(", ")
    assert 100 * float(speedup) / 2 == pytest.approx(float(percent[:-1]), abs=1)


def test_rewards_are_of_this_episode_or_of_the_last_if_one_just_began():
    session = make_session(n=1, level=20)
    while not session.engine.ended[0]:
        session.step()
    rows = dict(panels.list_rewards(session, 0))
    assert rows["episode"] == "this"
    assert rows["topout"].split() == ["1", "-1.000"]
    assert rows["r_env"].split() == rows["r_total"].split()
    session.step()
    rows = dict(panels.list_rewards(session, 0))
    assert rows["episode"] == "the last"
    assert rows["topout"].split() == ["1", "-1.000"]
    assert list_game(session)["game"]["ended by"] == "topout"
    session.step()
    assert dict(panels.list_rewards(session, 0))["topout"].split() == ["0", "0.000"]


def count_viruses(session):
    return from_bcd(int(session.engine.get_states([0])["players"]["virus_bcd"][0, 0]))


def test_shaping_of_a_training_stands_beside_the_rewards_of_its_agent(train, tmp_path):
    assert train(tmp_path, "run", config=SHAPED) == 0
    source = sources.make_trained(str(tmp_path / "run"), tmp_path, {"level": 1})
    source = sources.show_more(replace(source, endless=True))
    session, expected, ended = TerminalSession(source, 2, 5, Clock()), 0.0, 0
    while ended < 2:
        before = count_viruses(session)
        session.step()
        if session.tally.episode["decisions"][0] == 0:
            expected = 0.0
            continue
        left = 0 if session.engine.ended[0] else count_viruses(session)
        expected += 0.997 ** int(session.engine.tau[0]) * -left / 4 + before / 4
        rows = panels.list_rewards(session, 0)[1:]
        rewards = {name: float(shown.split()[-1]) for name, shown in rows}
        assert rewards["r_shape"] == pytest.approx(expected, abs=2e-3)
        assert rewards["r_total"] == pytest.approx(rewards["r_env"] + rewards["r_shape"], abs=2e-3)
        ended += bool(session.engine.ended[0])
    assert expected
    session.step()
    assert dict(panels.list_rewards(session, 0))["r_shape"].split() == [f"{expected:.3f}"]


def test_value_and_probabilities_of_an_agent_are_shown(train, tmp_path):
    assert train(tmp_path, "run", config=SHAPED) == 0
    source = sources.make_trained(str(tmp_path / "run"), tmp_path, {})
    app = App(TerminalSession(source, 1, 5, Clock()), auto=False)
    shown = press(app, "n", then=lambda app: text_of(app, "thought"))
    assert "value " in shown
    assert f"{thinking.CHOSEN} " in shown
    chances = app.session.decision.probabilities
    assert chances.argmax() == app.session.action()
    assert f"{100 * chances.max():.1f} %" in shown


def test_what_a_run_left_behind():
    metrics = {f"train/{name}": np.array([2.0, *[0.125] * 9]) for name in ("loss", "entropy", "kl")}
    gates = [{"stage": "L3", "successes": 30, "failures": 10, "interval": [0.6, 0.85]}]
    run = RunData("run", None, metrics=metrics)
    rows = dict(panels.list_training(run, gates))
    assert (rows["stage"], rows["stage rate"]) == ("L3", "75% of 40, low 60%")
    gates[0] |= {"successes": 249, "failures": 1, "interval": [0.985, 1.0]}
    rows = dict(panels.list_training(run, gates))
    assert rows["stage rate"] == "99.6% of 250, low 98%"
    assert (rows["kl"], rows["policy loss"]) == ("0.1250", panels.NOTHING)
    assert panels.list_training(RunData("run", None), []) == []


def test_level_budget_and_planes_of_a_bottle():
    options = {"task_max_frames": 5000, "task_max_spawns": 40, "obs": "bitplane_bottle_conn"}
    session = make_session(n=1, **options)
    for _ in range(3):
        session.step()
    rows = list_game(session)["game"]
    frames = session.tally.episode["frames"][0]
    assert rows["budget"] == f"{frames} of 5,000 frames, 3 of 40 pills"
    assert rows["viruses"] == "16 of 16"
    assert rows["level"] == "3, medium"
    assert "linked" in rows["planes"]
    assert dict(panels.list_episode(session, 0))["decisions"] == "3"


def test_best_times_stand_beside_the_level(tmp_path):
    from tests.training.apps.drmario.test_best_times import CLEARS
    from training.apps.drmario.best_times import BestTimes

    clears = [clear for clear in CLEARS if (clear.level, clear.speed) == (0, "high")]
    times = sorted(clear.frames for clear in clears)
    options = {"level": 0, "speed": "high", "game_seed": clears[0].seed, "task_max_frames": 900}
    with BestTimes(tmp_path / "times.sqlite") as store:
        store.add(clears)
    rows = list_game(make_session(n=1, **options), tmp_path / "times.sqlite")
    assert rows["best times"]["floor"] == f"{times[0]:,}"
    assert rows["best times"]["50%"] == f"{times[1]:,}"
    assert rows["best times"]["this game"] == f"{clears[0].frames:,}"
    assert rows["game"]["budget"] == "0 of 900 frames"
    assert list_game(make_session(n=1))["best times"]["store"].startswith("none")
    with pytest.raises(ConfigError, match="--best-times"):
        panels.find_panels("Prospector-v0", tmp_path / "times.sqlite")


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
def test_boards_fit_the_screen(size):
    def grid(app):
        return text_of(app, "board")

    shown = press(App(make_session(n=5), auto=False), size=size, then=grid)
    assert shown.count("┌─────┘    └─────┐") == 5
    assert max(map(len, shown.splitlines())) <= size[0]
    assert "5 L3 16v 0f" in shown
    shown = press(App(make_session(n=5), auto=False), "5", size=size, then=grid)
    assert "next" in shown
    assert "viruses         16" in shown


@pytest.mark.parametrize("game", GAMES)
def test_several_lanes_of_any_game_are_shown_side_by_side(game):
    bot, env, options = GAMES[game]
    app = App(make_session(3, env, bot, **options), auto=False)
    shown = press(app, "n", then=lambda app: (text_of(app, "board"), text_of(app, "choice")))
    assert all(f"{k} " in shown[0] for k in (1, 2, 3))
    assert "environments 3" in shown[1]


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
def test_panels_stand_beside_a_board_where_there_is_room(size):
    def regions(app):
        return app.query_one("#board").region, app.query_one("#panels").region

    app = App(make_session(1, "SkullKingFlat-v0", "heuristic"), auto=False)
    board, around = press(app, "n", size=size, then=regions)
    if size[0] == 140:
        assert around.x >= board.right
    else:
        assert around.y >= board.bottom


# -- what was recorded -----------------------------------------------------------------------------


def record(tmp_path, steps=6):
    options = {"level": 3, "obs": "bitplane_bottle"}
    session = TerminalSession(sources.make_scripted("first", ENV, options), seed=9)
    actions = []
    for _ in range(steps):
        actions.append(session.action())
        session.step()
    return replays.save(replays.record(ENV, options, 9, actions), tmp_path), actions


def test_a_recorded_game_is_played_to_its_end_and_back(tmp_path):
    path, actions = record(tmp_path)
    source = sources.make_replay(replays.load(path), path.name)
    session, taken = TerminalSession(source, clock=Clock()), []
    while not session.over:
        taken.append(session.action())
        session.step()
    assert taken == actions
    assert session.step() == 0
    app = App(TerminalSession(source, clock=Clock()), auto=False)
    keys = ["right_square_bracket", "f"]
    assert press(app, *keys, then=lambda app: text_of(app, "status")).startswith(" over")
    assert app.session.num_envs == 1
    app = App(TerminalSession(source, clock=Clock()), auto=False)
    press(app, "f", *"bbbbbb", then=lambda app: None)
    assert app.session.history.index == 0
    assert [app.session.action(), app.session.step() and app.session.action()] == actions[:2]


def test_events_and_impossible_actions_of_a_recording(tmp_path):
    replay = replays.record("Prospector-v0", {}, 0, [200, -3, 28])
    app = App(TerminalSession(sources.make_replay(replay, "x"), clock=Clock()), auto=False)

    def then(app):
        return text_of(app, "choice"), app.query_one("#events").display

    choice, displayed = press(app, "n", then=then)
    assert "x chooses action -3" in choice
    assert displayed
    assert app.session.news(9) == ["decision 1: invalid_action"]


def demo_file(tmp_path):
    """Write tables of a demo of our own: left, then nothing, over an empty bottle."""
    inputs = np.zeros((256, 2), np.uint8)
    inputs[:, 0] = [2, 0] * 128
    arrays = {"initial_board": np.full(128, 0xFF, np.uint8), "input_table": inputs}
    arrays["initial_board"][127] = 0xD0
    np.savez(tmp_path / "demo.npz", **arrays, pill_table=np.arange(128, dtype=np.uint8) % 9)
    return tmp_path / "demo.npz"


def make_demo(path):
    return make_session(1, "DrMarioFrame-v0", "random", demo=str(path), stack=1, level=0)


def test_the_demo_is_played_by_itself_frame_by_frame(tmp_path):
    session = make_demo(demo_file(tmp_path))
    assert session.engine.get_states()["players"]["mode"][0, 0] == Mode.DEMO
    for _ in range(200):
        assert session.step() == 1
    assert session.engine.get_states()["players"]["col"][0, 0] < 3
    app = App(make_demo(demo_file(tmp_path)), auto=False)
    assert "frames         180" in press(app, *"fff", then=lambda app: text_of(app, "board"))


def test_the_recorded_demo_runs_in_the_terminal():
    path = golden.console_file("demo_trace")
    session = make_demo(path)
    with np.load(path) as data:
        wanted = data["pill_col"][:400]
    columns = []
    for _ in range(399):
        session.step()
        columns.append(int(session.engine.get_states()["players"]["col"][0, 0]))
    np.testing.assert_array_equal(columns, wanted[:399])


# -- commands --------------------------------------------------------------------------------------


@pytest.fixture
def opened(monkeypatch):
    """Return the applications that commands run, as in a terminal; nobody looks at them."""
    found = []
    monkeypatch.setattr(text, "is_needed", lambda args: args.text)
    monkeypatch.setattr(App, "run", lambda app: found.append(app))
    return found


def test_commands_open_the_application(opened, tmp_path, capsys):
    path, _ = record(tmp_path)
    assert watch.main(["first", "--env", ENV, "--envs", "8", "--delay", "0"]) == 0
    assert play.main(["--against", AGENT, "--seed", "1", "--seat", "2"]) == 0
    assert replay_command.main([str(path), "--fps", "4"]) == 0
    assert "plays as recorded" in capsys.readouterr().out
    assert replay_command.main([str(path), "--text"]) == 0
    watched, played, replayed = (app.session for app in opened)
    assert (watched.num_envs, watched.maximum) == (8, True)
    assert played.source.names[2] == "You"
    assert replayed.source.delay == 0.25
    assert "step 6 of 6" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["first", "--envs", "0"], "--envs"),
        (["first", "--envs", "257"], "--envs"),
        (["first", "--envs", "2", "--text"], "--envs"),
        (["first", "--text", "--best-times", "x.sqlite"], "--best-times"),
        (["first", "--best-times", str(ROOT / "README.md")], "README.md"),
        (["wizard"], "bot 'wizard'"),
    ],
)
def test_what_cannot_be_shown_is_refused_by_name(words, message, opened, capsys):
    assert watch.main([*words, "--env", ENV]) == 2
    assert message in capsys.readouterr().err
    assert opened == []
