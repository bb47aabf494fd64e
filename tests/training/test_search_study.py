"""The study of search pairs each row with the agent alone, deal by deal."""

from itertools import islice

import numpy as np
import pytest

from tools.figures import search
from tools.search_study import list_defaults, rows
from training.evaluation.contest import contest, load_players
from training.evaluation.intervals import Resamples


def row(label, who, won, first_seed=5):
    """Make a row of games against mixed bots, four of each deal."""
    return {
        **{"label": label, "who": who, "against": "mixed", "first_seed": first_seed},
        **{"deals": len(won), "games": 4 * len(won)},
        "twelfths_won": " ".join(map(str, won)),
    }


def test_rows_have_the_wins_on_each_deal_of_a_table_of_mixed_bots():
    alone, searching = islice(rows(["champion"], 8, ["mixed"], "heuristic"), 2)
    assert [one["who"] for one in (alone, searching)] == [*list_defaults("heuristic").values()][:2]
    for one in (alone, searching):
        won = np.array(one["twelfths_won"].split(), int)
        assert won.shape == (one["deals"],) == (2,)
        assert won.sum() / 12 / one["games"] == pytest.approx(one["win_share"][0])
    others = {"rule_medium", "rule_hard", "heuristic#2"}
    assert set(alone["points_over"]) == others
    assert len(search.compare_with_alone([alone, searching])) == 1


def test_rows_that_were_played_are_left_out():
    alone, eight = ((each, "mixed") for each in [*list_defaults("heuristic").values()][:2])
    (first,) = islice(rows(["champion"], 4, ["mixed"], "heuristic", [alone]), 1)
    assert (first["who"], first["against"]) == eight


def test_shares_of_wins_on_deals_come_to_the_share_of_all():
    found = contest(load_players(["heuristic", "random"]), 24, env="SkullKingFlat-v0", resamples=5)
    for one in found.standings:
        assert len(one.wins_on_deals) == found.deals
        assert np.mean(one.wins_on_deals) == pytest.approx(one.wins.value)


def test_differences_are_paired_by_deal():
    base = np.random.default_rng(1).integers(0, 49, 200)
    alone, better = row("the agent", "a", base), row("8 worlds", "search:a", base - base % 2 + 12)
    (found,) = search.compare_with_alone([alone, better]).values()
    assert found.value == pytest.approx((12 - (base % 2).mean()) / 48)
    assert 0 < found.low < found.value < found.high
    assert found.high - found.low < 0.005  # wins of single deals differ by a hundred times as much


def test_rows_of_other_deals_or_without_them_are_not_compared():
    alone, other = row("the agent", "a", [3, 4]), row("8 worlds", "search:a", [3, 4], first_seed=6)
    assert not search.compare_with_alone([alone, other])
    del other["twelfths_won"]
    assert not search.compare_with_alone([alone, {**other, "first_seed": 5}])


def test_an_interval_of_a_higher_level_is_wider():
    wins = np.random.default_rng(2).integers(0, 2, (300, 2))
    drawn = Resamples(wins, np.ones_like(wins), 4000, 0)
    usual, wide = drawn.difference(0, 1), drawn.difference(0, 1, 0.99)
    assert usual.value == wide.value
    ratio = (wide.high - wide.low) / (usual.high - usual.low)
    assert ratio == pytest.approx(2.576 / 1.960, rel=0.1)


def test_the_table_of_the_champion_has_a_column_of_differences(monkeypatch):
    shown = {"win_share": [0.5, 0.4, 0.6], "points": [9, 8, 10], "cpu_ms_per_decision": 1.5}
    made = [row("the agent", "a", [12] * 9), row("8 worlds", "search:a", [18] * 9)]
    record = search.newest("skullking-champion-search.json")
    record.head = {**record.head, "rows": [one | shown for one in made]}
    monkeypatch.setattr(search, "newest", lambda name: record)
    head, _, alone, searching = search.champion().splitlines()[:4]
    assert "| beside the agent alone, 99 % |" in head
    assert alone.startswith("| `a` | `mixed` | 50.0 % [40.0, 60.0] |  |")
    assert "| 12.5 % [12.5, 12.5] |" in searching
