"""Listings of docs/tutorials/search.md run, and options that the pages of search name are some."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from tests.needs import needs_core

pytest.importorskip("torch")

from tests.processes import run_python
from training.search.options import SearchOptions

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "tutorials" / "search.md").read_text(encoding="utf-8")
EXPLAINED = (ROOT / "docs" / "explanation" / "search.md").read_text(encoding="utf-8")
LISTINGS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@needs_core
@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(LISTINGS)))
def test_listing_runs(number):
    assert run_python("-c", LISTINGS[number]).stdout


def test_options_that_the_pages_name_are_options():
    named = {name for name in re.findall(r"[`,](\w+)=", PAGE + EXPLAINED) if name != "name"}
    known = {*SearchOptions.names(), "seed", "until", "players", "agents"}
    assert named <= known, named - known


# -- what RUNS.md says of the study ----------------------------------------------------------------

STRANGERS = ("pretrained/skullking-ppo", "heuristic", "rule_hard")


@cache
def study():
    """Return wins (value, low, high) by part and label, and by opponent."""
    record = json.loads((ROOT / "benchmarks/skullking-search.json").read_text(encoding="utf-8"))
    found = {}
    for row in record["rows"]:
        found.setdefault((row["part"], row["label"]), {})[row["against"]] = row
    return found


def wins(part, label, against):
    return study()[part, label][against]["win_share"]


def mean(*row):
    return wins(*row)[0]


def apart(ours, theirs):
    """Tell whether the first interval lies above the other."""
    return ours[1] > theirs[2]


def overlap(ours, theirs):
    return not apart(ours, theirs) and not apart(theirs, ours)


def cost(part, label):
    rows = study()[part, label].values()
    return sum(row["cpu_ms_per_decision"] for row in rows) / len(rows)


def test_what_is_said_of_worlds_and_allocation():
    agent = STRANGERS[0]
    means = [mean("worlds", f"{n} worlds", agent) for n in (8, 16, 32, 64)]
    assert means == sorted(means)
    for n in (128, 256):
        more, some = (wins("worlds", f"{k} worlds", agent) for k in (n, 64))
        assert overlap(more, some)
    for other in STRANGERS:
        everything = wins("halving", "all worlds for all actions", other)
        assert overlap(everything, wins("worlds", "32 worlds", other))


def test_what_is_said_of_rollouts_and_beliefs():
    players = [label for part, label in study() if part == "blueprint"]
    for other in STRANGERS:
        rest = [mean("blueprint", label, other) for label in players if label != "whoever it is"]
        rest.append(mean("worlds", "32 worlds", other))  # by heuristic
        assert mean("blueprint", "whoever it is", other) > max(rest)
    own = [label for label in players if label != "whoever it is"]
    best = max(own, key=lambda label: mean("blueprint", label, "rule_hard"))
    assert best == "rule_hard"
    assert max(own, key=lambda label: mean("blueprint", label, STRANGERS[0])) == "the network"
    assert mean("blueprint", "the network", STRANGERS[0]) > mean(
        "worlds", "32 worlds", STRANGERS[0]
    )
    for other in STRANGERS:
        assert overlap(wins("belief", "bids", other), wins("worlds", "32 worlds", other))
    assert 7 < cost("belief", "bids") / cost("worlds", "32 worlds") < 15


def test_what_is_said_of_horizons_and_bids():
    for other in STRANGERS:
        bare = wins("none", "the agent", other)
        for label in ("one trick", "three tricks"):
            assert apart(bare, wins("horizon", label, other))
        closed = wins("value", "three tricks, closed by a network", other)
        assert overlap(closed, wins("worlds", "64 worlds", other))
        assert bare[0] > mean("bids", "bids alone", other)
    ratio = cost("value", "three tricks, closed by a network") / cost("worlds", "64 worlds")
    assert 0.7 < ratio < 1.4
    cards = {other: mean("worlds", "32 worlds", other) for other in STRANGERS}
    assert mean("bids", "bids and cards", "heuristic") > cards["heuristic"]
    assert mean("bids", "bids and cards", "rule_hard") < cards["rule_hard"]


def test_what_is_said_of_time():
    for other in STRANGERS[:2]:
        assert apart(wins("budget", "0.2 ms", other), wins("none", "the agent", other))
    others = [rows["heuristic"]["win_share"][0] for rows in study().values() if "heuristic" in rows]
    assert mean("budget", "5 ms", "heuristic") == max(others)
