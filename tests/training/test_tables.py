"""Figures in tables: 100 per cent are all, and 0 none."""

import json

from tests.tables import walk
from training.evaluation.intervals import Interval
from training.evaluation.tables import format_interval, format_interval_short
from training.run.rounding import rounded


@walk(
    ("share", "decimals", "says"),
    [
        (1.0, 0, "100"),
        (249 / 250, 0, "99.6"),
        (0.9996, 1, "99.96"),
        (0.5, 0, "50"),
        (0.0004, 1, "0.04"),
        (-0.9999, 1, "-99.99"),
        (0.0, 1, "0.0"),
        (1 - 1e-16, 1, "100.0"),
        (float("nan"), 1, "nan"),
    ],
)
def test_a_share_is_all_or_none_only_if_it_is(share, decimals, says):
    assert rounded(share, decimals, 100) == says


def test_other_figures_are_rounded_as_ever():
    assert rounded(0.0004, 2) == "0.00"
    assert rounded(1234.5, 1, form="+,") == "+1,234.5"


def test_intervals_of_shares():
    nearly = Interval(249 / 250, 0.988, 1.0)
    assert format_interval_short(nearly, 100) == "99.6 [99, 100]"
    assert format_interval(nearly, 1, 100) == "99.6 [98.8, 100.0]"
    assert format_interval_short(Interval(1.0, 1.0, 1.0), 100) == "100"
    assert format_interval_short(Interval(249 / 250, 249 / 250, 249 / 250), 100) == "99.6"


def test_ends_that_are_not_known_are_not_shown():
    nan = float("nan")
    assert format_interval(Interval(3.25, nan, nan), 1) == "3.2"
    assert format_interval_short(Interval(3.25, nan, nan)) == "3.25"
    assert format_interval_short(Interval(0.5, nan, nan), 100) == "50.0"
    assert format_interval_short(Interval(nan, nan, nan)) == "-"


def test_the_title_says_how_many_games_are_played(train, tmp_path):
    """As many as are asked for, at least, with the agent in each of three seats equally often."""
    flags = ["env_options.num_players=3", "evaluation.games=4", "evaluation.opponents=[random]"]
    words = [word for flag in flags for word in ("--set", flag)]
    assert train(tmp_path, "three", *words, "--total-steps=128", evaluation=True) == 0
    assert "6 games a row on the same deals" in (tmp_path / "three/evaluation.txt").read_text()
    assert json.loads((tmp_path / "three/evaluation.json").read_text())["matches"]["games"] == 6
