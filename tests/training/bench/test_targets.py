"""Targets of measured rows: what the table may say, and how rows are judged by it."""

import sys
import tomllib

import pytest

from tests.tables import walk
from training import benchmark_v9
from training.bench import targets
from training.run import registry

FIELDS = {"row", "game", "over", "measure", "of", "time_unit", "at_least", "at_most", "what"}
FIELDS |= {"where", "lacks", "absent", "name"}


def table():
    return tomllib.loads(targets.TABLE.read_text(encoding="utf-8"))


def test_every_target_is_of_a_suite_and_has_one_bar():
    suites = [registry.SUITES.load(name) for name in registry.SUITES]
    assert set(table()) == {part for suite in suites for part in suite.targets}
    for entry in (each for part in table().values() for each in part):
        assert set(entry) <= FIELDS
        assert {"row", "measure", "what"} <= set(entry)
        assert ("at_least" in entry) != ("at_most" in entry)
        assert "where" not in entry or "lacks" in entry
        assert "name" not in entry or "absent" in entry


@pytest.fixture
def judge(tmp_path, monkeypatch):
    """Judge rows by one target, of lines of a table."""

    def judged(rows, *lines, **values):
        path = tmp_path / "targets.toml"
        path.write_text("\n".join(["[[x]]", 'what = "{name}, over {over}"', *lines]))
        monkeypatch.setattr(targets, "TABLE", path)
        return targets.judge("x", rows, **values)

    return judged


def row(name, *speeds, **more):
    middle = sorted(speeds)[len(speeds) // 2]
    figures = {"steps_per_cpu_s": middle, "steps_per_cpu_s_all": list(speeds), "steps_per_s": 7.0}
    return {"name": name, "noisy": False, **figures, **more}


SPEED = 'measure = "steps_per_cpu_s"'


@walk(
    ("lines", "measured", "every", "passed", "wall"),
    [
        (["at_least = 3"], [3.0], [1, 3, 9], [True], 7.0),
        (["at_least = 3.5"], [3.0], [1, 3, 9], [False], 7.0),
        (["at_most = 3"], [3.0], [1, 3, 9], [True], 7.0),
        (["at_most = 'limit'"], [3.0], [1, 3, 9], [False], 7.0),
        (["at_least = 1", 'of = "least repeat"'], [1.0], [1, 3, 9], [True], 7.0),
        (["at_most = 4", "time_unit = 9.0"], [3.0], [9, 3, 1], [True], None),
        (["at_least = 3", 'over = { name = "b" }'], [1.0], [0.5, 1.0, 9.0], [False], None),
    ],
)
def test_a_row_is_judged_by_the_median_of_its_repeats(judge, lines, measured, every, passed, wall):
    rows = [row("a", 1.0, 3.0, 9.0), row("b", 2.0, 3.0, 1.0, noisy=True)]
    found = judge(rows, 'row = { name = "a" }', SPEED, *lines, limit=2.5)
    assert [bar["measured"] for bar in found] == measured
    assert [bar["pass"] for bar in found] == passed
    assert (found[0]["all"], found[0]["wall"]) == (every, wall)
    assert found[0]["noisy"] == any("over" in line for line in lines)


@walk(
    ("lines", "reasons"),
    [
        (['row = { name = "[ab]" }'], [None, None]),
        (['row = { name = ["b", "c"] }'], [None]),
        (['row = { name = "c" }'], []),
        (['row = { name = "c" }', 'absent = "none here"'], ["none here"]),
        (['row = { name = "a" }', 'over = { name = "c" }'], []),
        (['row = { name = "a" }', 'over = { name = "c" }', 'absent = "no c"'], ["no c"]),
        (['row = { name = "a" }', "where = { noisy = true }", 'lacks = "quiet"'], ["quiet"]),
        (['row = { name = "b" }', "where = { noisy = true }", 'lacks = "quiet"'], [None]),
        (['row = { name = "a" }', 'game = "Go"', 'absent = "no Go"'], []),
    ],
)
def test_rows_are_chosen_by_their_fields(judge, lines, reasons):
    rows = [row("a", 1.0), row("b", 2.0, noisy=True)]
    found = judge(rows, *lines, SPEED, "at_least = 1")
    assert [bar.get("reason") for bar in found] == reasons
    assert [bar["pass"] for bar in found] == [None if reason else True for reason in reasons]


def test_a_measure_that_a_row_lacks_is_said_or_left_out(judge):
    lines = ['row = { name = "a" }', 'measure = "share"', "at_most = 1"]
    assert judge([row("a", 1.0)], *lines) == []
    (bar,) = judge([row("a", 1.0)], *lines, 'lacks = "no share"')
    assert (bar["measured"], bar["reason"]) == (None, "no share")
    (bar,) = judge([row("a", 1.0, share=2)], *lines)
    assert (bar["measured"], bar["pass"], bar["all"], bar["noisy"]) == (2, False, [], False)


def test_without_a_checkout_of_the_suites_a_sentence_says_so(monkeypatch, tmp_path, capsys):
    for name in [each for each in sys.modules if each.partition(".")[0] == "benchmarks"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "benchmarks", None)
    assert benchmark_v9.main(["--only", "flags", "--out", str(tmp_path / "x")]) == 2
    assert "in benchmarks/ of a checkout" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
