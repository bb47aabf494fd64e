import io
import json
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from training.logs import dashboard
from training.logs import status as status_module
from training.logs.dashboard import Dashboard
from training.logs.picture import Picture, sparkline
from training.logs.run_log import RunLog
from training.logs.status import MergedCurve, Status, duration, noise
from training.run.jsonl import drop_after, read_lines


def iteration(k, total=100):
    """One line of metrics.jsonl, as both trainers write it."""
    return {
        "step": 1000 * k,
        "iter": k,
        "wall_s": 2.0 * k,
        "sps": 12_361.0,
        "sps_cpu": 19_285.0,
        "phases": {"env": 0.02, "forward": 0.2, "gae": 0.01, "backward": 0.4, "optimizer": 0.1},
        "train": {"kl": 0.01, "entropy_loss": -0.8, "clipfrac": 0.1, "lr": 1e-3},
        "episode": {"n": 9, "return_mean": k / total},
        "rounds": {"n": 9, "hits": 3, "hit_rate": 0.3},
        "mem": {"rss_mb": 456.0},
    }


LAYERS = {
    "policy_tower.layers.0": {"grad_norm": 0.1, "update_ratio": 2e-3, "dead_units": 0.02},
    "policy_tower.layers.2": {"grad_norm": 0.2, "update_ratio": 1e-3, "dead_units": 0.25},
    "policy_head": {"grad_norm": 0.3, "update_ratio": None},
}


def status(iterations=50, total=100_000):
    found = Status("some-run", total)
    for k in range(1, iterations + 1):
        found.metrics(iteration(k))
    return found


def full():
    """A status with everything that can be shown."""
    found = Status("some-run", 100_000)
    first = iteration(0)
    found.history(first | {"train": first["train"] | {"layers": LAYERS}})
    for k in range(1, 51):
        found.metrics(iteration(k))
    found.warn("the temperature of the [bold]machine[/bold] rises " * 5)
    for step, points in ((20_000, 10.0), (40_000, 30.0)):
        results = {"points, 3 x rule_hard": [points, points - 1, points + 1], "win rate": 0.25}
        found.event("evaluation", {"step": step, "results": results})
    found.event("checkpoint", {"step": 40_000})
    return found


def shown(found, width, height, ascii_only=False):
    return [line.plain for line in Picture(found).lines(width, height, ascii_only)]


def terminal(width=80, height=24):
    return Console(file=io.StringIO(), force_terminal=True, width=width, height=height)


# -- the parts -------------------------------------------------------------------------------------


def test_curve_keeps_its_shape_in_bounded_memory():
    curve = MergedCurve()
    for k in range(100_000):
        curve.add(float(k))
    curve.add(float("nan"))
    assert len(curve.values) < status_module.KEPT
    assert curve.values == sorted(curve.values)
    few = curve.resampled(10)
    assert len(few) == 10
    assert few[0] < 10_000
    assert few[-1] > 90_000
    assert curve.last() > 90_000


def test_sparkline_runs_from_lowest_to_highest():
    assert sparkline([0.0, 3.5, 7.0]) == ["▁▅█"]
    assert sparkline([0.0, 15.0], rows=2) == [" █", "▁█"]
    assert sparkline([1.0, 1.0])[0] == "▄▄"
    assert sparkline([], rows=2) == ["", ""]
    assert sparkline([0.0, 7.0], ascii_only=True)[0].isascii()


def test_noise_looks_like_noise_and_a_trend_like_a_trend():
    rng = np.random.default_rng(5)  # seed 5
    flat, rising = MergedCurve(), MergedCurve()
    for k in range(400):
        flat.add(4.0 + rng.normal(scale=0.3))
        rising.add(k / 40 + rng.normal(scale=0.3))
    heights = {}
    for name, curve in (("flat", flat), ("rising", rising)):
        values, (low, high), _ = curve.smooth(50)
        heights[name] = [(value - low) / (high - low) for value in values]
    assert max(heights["flat"]) - min(heights["flat"]) < 0.5
    assert 0.4 < np.mean(heights["flat"]) < 0.6
    assert (min(heights["rising"]), max(heights["rising"])) == pytest.approx((0.0, 1.0))
    assert np.mean(np.diff(heights["rising"]) > 0) > 0.9


def test_noise_is_what_a_trend_cannot_explain():
    assert noise([]) == noise([3.0]) == noise([1.0, 2.0, 3.0, 4.0]) == 0.0
    values = np.random.default_rng(6).normal(scale=2.0, size=2000)  # seed 6
    assert noise(values.tolist()) == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("width", [60, 80, 140])
def test_no_term_and_no_change_is_cut_off(width):
    found = full()
    record = iteration(50)
    record["train"] |= {"value_loss": 1234.5, "grad_norm": 0.123, "explained_variance": 0.5}
    found.metrics(record)
    lines = shown(found, width, 60)
    for heading in ("entropy", "kl", "clipped", "explained", "value loss", "gradient", "lr"):
        assert any(f"{heading} " in line for line in lines)
    assert any(line.endswith("+20.0") for line in lines)
    assert len([line for line in lines if "…" in line]) == (width < 80) + 1  # name, and the warning


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(59.7, "1:00"), (3_725, "1:02:05"), (200_000, "2 days 7:33"), (float("nan"), "-"), (-1, "-")],
)
def test_duration_is_short(seconds, text):
    assert duration(seconds) == text


def test_picture_says_what_matters():
    text = "\n".join(shown(full(), 120, 40))
    for part in ("some-run", "50 %  50,000 of 100,000", "12,361 decisions/s", "0.6 cores"):
        assert part in text
    for part in ("return ", "bids made", "0.300", "backward", "entropy 0.800", "456 MiB"):
        assert part in text
    assert "at 40,000   changes since 20,000" in text
    assert "layers      update/weight 2.0e-03 policy_tower.layers.0" in text
    assert "dead units 25 % policy_tower.layers.2" in text
    assert "points, 3 x rule_hard  30.0 [29.0, 31.0]  +20.0" in text
    assert "! the temperature of the [bold]machine[/bold]" in text


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("width", [1, 2, 10, 31, 40, 64, 80, 120, 400])
def test_picture_fits_every_terminal(width, ascii_only):
    for height in (1, 2, 3, 5, 8, 12, 16, 24, 60):
        for found in (full(), status(0), status(1)):
            lines = Picture(found).lines(width, height, ascii_only)
            assert len(lines) <= max(1, height - 1)
            assert all(line.cell_len <= max(1, width - 1) for line in lines)
            assert not ascii_only or all(line.plain.isascii() for line in lines)


def test_small_terminal_keeps_progress_and_warnings():
    lines = shown(full(), 60, 7)
    assert "50 %" in lines[0]
    assert "decisions/s" in lines[1]
    assert lines[-1].startswith("! ")


def test_a_return_just_below_zero_has_no_sign():
    found = Status("run", 10)
    found.metrics({"step": 5, "episode": {"return_mean": -0.001}})
    assert "return 0.00" in found.line()


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"step": 5},
        {"step": 5, "phases": None, "train": [], "episode": {"return_mean": None}},
        {"step": 5, "sps": 0.0, "sps_cpu": 0.0, "phases": {"env": 0.0}},
        {"step": 5, "sps": float("inf"), "phases": {"env": float("nan")}, "mem": {}},
    ],
)
def test_incomplete_iterations_are_shown_as_far_as_they_go(record):
    found = Status("run", 10)
    found.metrics(record)
    assert shown(found, 80, 24)
    assert found.line().startswith(f"{record.get('step', 0)} of 10 decisions")


def test_what_is_not_finite_becomes_a_warning():
    found = Status("run", 10)
    found.metrics({"step": 5, "iter": 3, "train": {"loss": float("nan"), "kl": 0.1}})
    assert list(found.warnings) == ["not finite in iteration 3: loss"]


def test_a_run_is_never_beyond_its_length():
    found = Status("run", 64)
    found.at(128)
    assert found.line().startswith("128 of 128 decisions (100%)")


def test_time_left_follows_the_speed_of_late(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(dashboard.time, "monotonic", lambda: now[0])
    found = Status("run", 1000, start=200)
    assert found.left_s != found.left_s  # nothing known yet
    now[0] += 10.0
    found.metrics({"step": 400, "wall_s": 50.0})
    assert found.left_s == pytest.approx(30.0)
    now[0] += 5.0
    assert found.left_s == pytest.approx(25.0)
    assert found.passed_s == pytest.approx(55.0)


# -- on a terminal and elsewhere -------------------------------------------------------------------


def test_live_picture_ends_complete_and_gives_the_cursor_back():
    console = terminal()
    board = Dashboard("run", 2000, console=console)
    board.metrics(iteration(1))
    board.say("a line above")
    board.metrics(iteration(2))
    board.close()
    text = console.file.getvalue()
    assert "a line above" in text
    assert "100 %  2,000 of 2,000" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_elsewhere_there_are_few_lines_and_no_control_codes(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(dashboard.time, "monotonic", lambda: now[0])
    file = io.StringIO()
    board = Dashboard("run", 10_000, console=Console(file=file))
    for k in range(1, 11):
        now[0] += 7.0
        board.metrics(iteration(k))
    board.close()
    lines = file.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[4].startswith("5,000 of 10,000 decisions (50%), 12,361 decisions/s, 0:35 left")
    assert "\x1b" not in file.getvalue()


class Broken(io.StringIO):
    """A terminal that goes away."""

    def write(self, text):
        raise OSError("the terminal is gone")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_lines_are_broken_between_words_on_a_terminal_and_nowhere_else(is_terminal):
    out = io.StringIO()
    board = Dashboard("run", 100, console=Console(file=out, force_terminal=is_terminal, width=20))
    board.say("nothing is broken within a word")
    board.close()
    broken = "nothing is broken \nwithin a word\n"
    assert (broken if is_terminal else broken.replace("\n", "", 1)) in out.getvalue()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_that_goes_away_harms_nothing(is_terminal):
    board = Dashboard("run", 100, console=Console(file=Broken(), force_terminal=is_terminal))
    for k in range(1, 4):
        board.metrics(iteration(k))
        board.say("hello")
    board.event("evaluation", {"step": None, "results": {"points": "many"}})
    board.close()


def test_a_second_picture_falls_back_to_lines():
    console = terminal()
    first, second = (Dashboard(name, 100, console=console) for name in ("first", "second"))
    second.metrics(iteration(1))
    second.close()
    first.metrics(iteration(1))
    first.close()
    assert "first" in console.file.getvalue()


@pytest.mark.parametrize(("took", "wait"), [(0.02, 4.0), (0.001, 1.0)])
def test_drawing_is_cheap(monkeypatch, took, wait):
    """A drawing of 20 ms is followed by 4 s without one, and none comes earlier than 1 s later."""
    spent, waits = [0.0], []

    def refresh():
        spent[0] += took

    def pause(seconds):
        waits.append(seconds)
        return len(waits) == 4

    board = Dashboard("run", 100, console=Console(file=io.StringIO()))
    board._live = SimpleNamespace(refresh=refresh)
    board._ended = SimpleNamespace(wait=pause)
    monkeypatch.setattr(dashboard.time, "thread_time", lambda: spent[0])
    board._draw()
    assert waits == pytest.approx([0.2, wait, wait, wait])
    assert board.draw_s == pytest.approx(3 * took)


# -- the log of a run ------------------------------------------------------------------------------


def test_log_shows_evaluations_and_warnings(tmp_path):
    console = terminal()
    log = RunLog(tmp_path, 2000, console=console)
    log.metrics(iteration(1))
    log.evaluation(1000, {"win rate": [0.3, float("nan"), 0.4]}, checkpoint="ckpt")
    log.warn("the evaluator has crashed")
    log.close()
    events = read_lines(tmp_path / "events.jsonl")
    assert [e["event"] for e in events] == ["warning"]
    (found,) = read_lines(tmp_path / "evaluations.jsonl")
    assert (found["step"], found["checkpoint"]) == (1000, "ckpt")
    assert found["results"] == {"win rate": [0.3, None, 0.4]}
    text = console.file.getvalue()
    assert "win rate" in text
    assert "the evaluator has crashed" in text[text.rindex("win rate") :]


def test_evaluation_is_a_line_where_there_is_no_picture(tmp_path):
    console = Console(file=io.StringIO())
    log = RunLog(tmp_path, 2000, console=console)
    log.evaluation(1000, {"win rate": [0.3, 0.25, 0.4], "points": 12.5})
    log.close()
    expected = "evaluation at 1,000: win rate 0.300 [0.250, 0.400]; points 12.5\n"
    assert console.file.getvalue() == expected


def test_resumed_run_goes_on_with_its_curve_and_evaluations(tmp_path):
    log = RunLog(tmp_path, 4000, console=Console(file=io.StringIO()))
    for k in (1, 2):
        log.metrics(iteration(k))
    log.evaluation(1000, {"win rate": 0.3})
    log.close()
    console = terminal()
    log = RunLog(tmp_path, 4000, start=2000, console=console)
    log.metrics(iteration(3))
    log.close()
    text = console.file.getvalue()
    assert "0.01 to 0.03" in text
    assert "at 1,000" in text


def test_dropping_what_lies_behind_keeps_the_rest_as_it_was(tmp_path):
    path = tmp_path / "metrics.jsonl"
    lines = [json.dumps(iteration(k)) for k in (1, 2, 3)]
    path.write_text("\n".join([*lines, '{"step": 4']))
    drop_after(path, 2000)
    assert path.read_text().splitlines() == lines[:2]
