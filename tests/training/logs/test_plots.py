import json
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from training.logs import plots
from training.logs.run_data import RunData, read_runs
from training.logs.seed_groups import SeedGroup

PICTURES = (
    plots.learning_curves,
    plots.phases,
    plots.evaluations,
    plots.evaluation_points,
)


def test_pictures_are_left_out_where_there_is_nothing(native, only_evaluated):
    (native / "evaluations.jsonl").unlink()
    only, trained = read_runs([only_evaluated, native])
    assert [draw([only]) is not None for draw in PICTURES] == [False] * 2 + [True, False]
    assert [draw([trained]) is not None for draw in PICTURES] == [True] * 2 + [False, False]


def test_figures_show_raw_and_smoothed_over_decisions_and_time(native):
    (run,) = read_runs([native])
    figure = plots.learning_curves([run])
    assert [axis.get_xlabel() for axis in figure.axes] == ["decisions", "minutes of training"]
    raw, smoothed = figure.axes[0].lines
    np.testing.assert_array_equal(raw.get_ydata(), np.arange(1.0, 21.0))
    assert smoothed.get_ydata()[-1] == 18.0  # the mean of 16 to 20
    assert figure.axes[1].lines[0].get_xdata()[-1] == pytest.approx(20 * 70 / 60)


def test_what_never_changes_has_one_tick(native):
    record = '{{"step": {}, "episode": {{"return_mean": {}}}, "rounds": {{"hit_rate": {}}}}}'
    lines = [record.format(k, 3e-4 + 1e-12 * k, k) for k in range(1, 9)]
    (native / "metrics.jsonl").write_text("\n".join(lines))
    constant, changing = plots.learning_curves(read_runs([native]), over_time=False).axes
    assert len(changing.get_yticks()) > 1
    assert constant.get_yticks() == pytest.approx([3e-4])


def test_long_runs_are_thinned(native):
    line = '{{"step": {0}, "wall_s": {0}, "episode": {{"return_mean": 1}}}}'
    text = "\n".join(line.format(k) for k in range(1, 5000))
    (native / "metrics.jsonl").write_text(text)
    figure = plots.learning_curves(read_runs([native]))
    assert all(len(line.get_xdata()) <= plots.POINTS for line in figure.axes[0].lines)


def test_a_run_of_one_iteration_is_a_point(native):
    (native / "metrics.jsonl").write_text('{"step": 5, "episode": {"return_mean": 1}}')
    runs = read_runs([native])
    assert plots.learning_curves(runs, over_time=False).axes[0].lines[0].get_marker() == "o"


def test_panels_of_evaluations_have_room(evaluated, tmp_path):
    """Names take less than half of a line; no tick is printed over another, no title cut off."""
    for name in ("a-run-with-quite-a-long-name-1", "a-run-with-quite-a-long-name-2"):
        path = shutil.copytree(evaluated, tmp_path / name) / "evaluation.json"
        record = json.loads(path.read_text())
        players = record["matches"]["results"]["rule_hard"]
        players["trained, decoded bids"] = players["trained"]
        sets = ("rule_hard", "rule_medium", "heuristic", "mixed", "rule_pi_hard", "random", "x")
        record["matches"]["results"] = dict.fromkeys(sets, players)
        path.write_text(json.dumps(record))
    figure = plots.evaluations(read_runs(sorted(tmp_path.iterdir())))
    figure.draw_without_rendering()
    assert len(figure.axes) == 8  # seven sets of opponents, and the goals
    width = figure.bbox.width
    lines = {}
    for axis in figure.axes:
        assert len(axis.get_title(loc="left")) <= 25
        assert axis.get_tightbbox().x0 >= 0
        assert axis.get_tightbbox().x1 <= width
        ticks = [label.get_window_extent() for label in axis.get_xticklabels() if label.get_text()]
        inside = [box for box in ticks if axis.bbox.x0 <= (box.x0 + box.x1) / 2 <= axis.bbox.x1]
        assert all(a.x1 < b.x0 for a, b in pairwise(inside))
        lines.setdefault((axis.figure, round(axis.bbox.y0)), []).append(axis.bbox.width)
    assert all(sum(widths) > 0.5 * width for widths in lines.values() if len(widths) == 3)
    assert len([widths for widths in lines.values() if len(widths) == 3]) == 2


def test_long_names_keep_beginning_and_end():
    short = plots._shorten("a-run-with-a-very-long-name-indeed, decoded bids")
    assert len(short) == plots.LETTERS
    assert short.startswith("a-run")
    assert short.endswith("decoded bids")
    assert plots._shorten("short") == "short"


def test_evaluation_points_say_wins_and_bids_made(native):
    results = {f"{m}, 3 x rule_hard": [0.5, 0.4, 0.6] for m in ("win_rate", "margin", "bid_hit")}
    line = json.dumps({"step": 5, "results": results})
    (native / "evaluations.jsonl").write_text(line)
    axes = plots.evaluation_points(read_runs([native])).axes
    assert [axis.get_title(loc="left") for axis in axes] == [
        f"{said}, 3 x rule_hard" for said in ("wins", "margin", "bids made")
    ]


def seed(steps, values, **evaluated):
    """Return a run with a column ``x``, and with a measure that was evaluated at its steps."""
    metrics = {"step": np.array(steps, float), "x": np.array(values, float)}
    points = [
        {"step": step, "results": {name: value}}
        for name, of_name in evaluated.items()
        for step, value in zip(steps, of_name, strict=True)
    ]
    return RunData("seed", Path("seed"), metrics=metrics, evaluations=points)


def test_curves_over_seeds_are_a_mean_in_a_band():
    """Between the steps that all seeds have reached, where they differ."""
    one = seed([100, 200, 300], [0, 0, 0], won=[1, 2, 3])
    two = seed([100, 250, 400], [6, 6, 6], won=[3, 6, 9])
    groups = [SeedGroup("both", (one, two)), SeedGroup("alone", (one,))]
    figure = plots.seed_curves(groups, {"x": "X", "won": "won", "missing": "-"})
    column, measure = figure.axes
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["X", "won"]
    for axis in figure.axes:
        *thin, mean, alone = axis.lines
        assert [len(line.get_xdata()) for line in thin] == [3, 3]
        assert all(line.get_linewidth() < mean.get_linewidth() for line in thin)
        np.testing.assert_array_equal(mean.get_xdata(), [100, 200, 250, 300])
        assert len(alone.get_xdata()) == 3
        (band,) = axis.collections  # one seed has none
        assert np.ptp(band.get_paths()[0].vertices[:, 0]) == 200
    np.testing.assert_array_equal(column.lines[2].get_ydata(), [3.0] * 4)
    np.testing.assert_allclose(measure.lines[2].get_ydata(), [2, 3.5, 4.25, 5])
    heights = column.collections[0].get_paths()[0].vertices[:, 1]
    assert [heights.min(), heights.max()] == pytest.approx([3 - 18**0.5, 3 + 18**0.5])
    assert plots.seed_curves(groups, {"missing": "-"}) is None


def test_lines_are_told_apart_without_colours(native, tmp_path):
    for name in ("a", "b", "c"):
        shutil.copytree(native, tmp_path / "runs" / name)
    runs = read_runs(sorted((tmp_path / "runs").iterdir()))
    groups = [SeedGroup(run.name, (run,)) for run in runs]
    for figure in (
        plots.learning_curves(runs, over_time=False),
        plots.seed_curves(groups, {"episode/return_mean": "return"}),
        plots.evaluation_points(runs),
    ):
        thick = [line for line in figure.axes[0].lines if line.get_linewidth() > 1]
        named = figure.legends[0].get_lines()
        for lines in (thick, named):
            assert len({line.get_linestyle() for line in lines}) == len(runs)
