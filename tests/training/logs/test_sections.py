"""What is said of runs side by side, and what they played."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from training.evaluation.over_seeds import compare_groups
from training.logs.run_data import RunData, compared, read_run, read_runs, smooth
from training.logs.sections import make_sections
from training.logs.seed_groups import find_groups
from training.run.config import RunConfig


def said(value):
    """Return all texts of plain values, one behind the other."""
    if isinstance(value, dict):
        # Below a cell stands what is to be read behind it.
        return said([value[key] for key in value if key != "kind"])
    if isinstance(value, list):
        return " ".join(filter(None, map(said, value)))
    return value if isinstance(value, str) else ""


def section_of(sections, title):
    return next(each for each in sections if each["title"] == title)


def make(paths):
    runs = read_runs(paths)
    return make_sections(runs, groups=compare_groups(runs))


def test_runs_of_all_kinds_stand_side_by_side(evaluated, native, only_evaluated):
    found = make([evaluated, native, only_evaluated])
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert [each["title"] for each in found] == [
        "Runs side by side", "How well they play", "Share of the time by phase",
        "Options", "Machine and versions",
    ]  # fmt: skip
    summary, strength, phases, options, _ = found
    assert [row[0]["run"] for row in summary["parts"][0]["rows"]] == [0, 1, 2]
    assert "native-run: no config.json; no evaluation.json; no summary.json" in said(summary)
    assert "10 [5, 15]" in said(strength)
    assert "0 [-5, 5]" in said(strength)  # and not -0
    assert said(phases["parts"][0]["rows"][1]) == "native-run 14% 29% 57%"
    assert "ppo.n_steps 16" in said(options)
    folded = [part for each in found for part in each["parts"] if part.get("folded")]
    assert [part["title"] for part in folded] == [f"All {len(folded[0]['rows'])} options"]


def test_main_measures_are_dots_runs_above_bots(evaluated, only_evaluated):
    points, goals, *_ = section_of(make([evaluated, only_evaluated]), "How well they play")["parts"]
    assert (points["kind"], points["percent"], goals["percent"]) == ("dots", False, True)
    (panel,) = points["panels"]
    assert panel["title"] == "against 3 x rule_hard"
    assert [(row["name"], row["run"]) for row in panel["rows"]] == [
        ("sb3-run", 0), ("only-evaluated", 1), ("random", None),
    ]  # fmt: skip
    assert panel["rows"][0]["interval"] == [10.0, 5.0, 15.0]


def test_a_file_that_cannot_be_read_is_named(native):
    (native / "summary.json").write_text('{"status": "x')
    assert "summary.json cannot be read" in said(make([native]))


def test_differing_options_stand_apart(evaluated, tmp_path):
    other = shutil.copytree(evaluated, tmp_path / "other")
    config = json.loads((other / "config.json").read_text())
    config["config"]["ppo"]["gamma"] = 0.5
    (other / "config.json").write_text(json.dumps(config))
    differing, every = section_of(make([evaluated, other]), "Options")["parts"]
    assert differing["rows"] == [["ppo.gamma", "0.99", "0.5"]]
    assert len(every["rows"]) > 20
    same = section_of(make([evaluated, shutil.copytree(evaluated, other / "b")]), "Options")
    assert same["notes"] == ["All options are equal."]
    assert len(same["parts"]) == 1


def test_evaluations_on_other_deals_are_called_so(evaluated, only_evaluated):
    path = only_evaluated / "evaluation.json"
    path.write_text(path.read_text().replace('"games": 40', '"games": 80'))
    assert "the evaluations differ in games" in said(make([evaluated, only_evaluated]))


def test_an_evaluation_of_another_config_is_called_so(evaluated):
    path = evaluated / "evaluation.json"
    record = json.loads(path.read_text())
    known = json.loads((evaluated / "config.json").read_text())["sha256"]
    for sha256, notes in ((known, 0), ("0" * 64, 1)):
        path.write_text(json.dumps({**record, "config_sha256": sha256}))
        found = [note for note in read_run(evaluated).notes if "another config" in note]
        assert len(found) == notes
    path.write_text(json.dumps(record))


def test_options_that_came_since_make_no_other_config(evaluated, tmp_path):
    run = shutil.copytree(evaluated, tmp_path / "old")
    config = json.loads((run / "config.json").read_text())
    del config["config"]["evaluation"]["replays"]  # an option that an older version did not know
    (run / "config.json").write_text(json.dumps({**config, "sha256": "1" * 64}))
    record = json.loads((run / "evaluation.json").read_text())
    now = RunConfig.from_mapping(config["config"]).sha256()
    (run / "evaluation.json").write_text(json.dumps({**record, "config_sha256": now}))
    assert not [note for note in read_run(run).notes if "another config" in note]


# -- runs that differ in their seed alone ----------------------------------------------------------


def test_seeds_of_one_training_are_a_group(seeds_of):
    first = seeds_of("base", {1: 10.0, 2: 20.0, 3: 30.0, 4: 90.0})
    other = seeds_of("other", {1: 40.0, 2: 50.0}, total_steps=7)
    found = section_of(make([*first, *other]), "Over training seeds")
    text = said(found)
    assert "seed comes to more than one of base." in text
    assert "Of 2 seeds none is left out" in text
    assert "Bootstrap intervals of 4 seeds are too narrow" in text
    assert "nan" not in text.lower()
    points = next(part for part in found["parts"] if part["kind"] == "table")["rows"]
    assert said(points[0]).startswith("base 4 25 [")  # of four, one at either end is left out
    assert said(points[1]).startswith("other 2 45 [40, 50] above in 75 % [")
    (compared_first,) = (
        x for x in compare_groups(read_runs(first)).played.values() if "points" in x
    )
    assert compared_first["points"][0].probability_of_improvement is None


def test_a_seed_alone_stands_beside_a_group_without_interval(seeds_of):
    paths = [*seeds_of("base", {1: 10.0, 2: 20.0}), *seeds_of("other", {9: 15.0}, total_steps=7)]
    text = said(section_of(make(paths), "Over training seeds"))
    assert "other-9 1 15 above in 50 %" in text
    assert "One seed has no interval" in text
    assert "nan" not in text.lower()


@pytest.mark.parametrize("kind", ["alone", "the same seed", "other options", "not evaluated"])
def test_without_seeds_beside_each_other_there_are_no_groups(seeds_of, kind):
    paths = seeds_of("base", {1: 10.0})
    if kind == "the same seed":
        paths.append(shutil.copytree(paths[0], paths[0].parent / "again"))
    if kind == "other options":
        paths += seeds_of("other", {2: 10.0}, total_steps=7)
    if kind == "not evaluated":
        paths += seeds_of("base", {2: 10.0})
        for path in paths:
            (path / "evaluation.json").unlink()
    assert compare_groups(read_runs(paths)) is None
    assert "Over training seeds" not in {each["title"] for each in make(paths)}


def test_runs_without_config_are_in_no_group(native, only_evaluated):
    assert find_groups(read_runs([native, only_evaluated])) == []


def test_groups_have_names_of_their_own(seeds_of):
    """What stands before the seed, or else the name of the first run."""
    same = [*seeds_of("a", {1: 0.0, 2: 0.0}), *seeds_of("b", {3: 0.0}, total_steps=7)]
    assert [group.name for group in find_groups(read_runs(same))] == ["a", "b-3"]
    mixed = [*seeds_of("c", {5: 0.0}, num_envs=9), *seeds_of("d", {6: 0.0}, num_envs=9)]
    assert [group.name for group in find_groups(read_runs(mixed))] == ["c-5"]
    twice = seeds_of("e", {1: 0.0, 2: 0.0}, num_envs=10)
    twice += seeds_of("e", {3: 0.0, 4: 0.0}, num_envs=11)
    assert [group.name for group in find_groups(read_runs(twice))] == ["e-1", "e-3"]


def profile_of(paths):
    return section_of(make(paths), "Over training seeds")["parts"][0]["charts"][0]


def test_a_performance_profile_falls_at_each_seed(seeds_of):
    paths = [*seeds_of("base", {1: 10.0, 2: 30.0}), *seeds_of("other", {9: 15.0}, total_steps=7)]
    chart = profile_of(paths)
    assert (chart["title"], chart["x"]) == ("against 3 x rule_hard", "points in a whole game")
    (line,) = chart["lines"]  # a seed alone has no profile
    begin, *corners, end = line["points"]
    assert corners == [[10.0, 1.0], [10.0, 0.5], [30.0, 0.5], [30.0, 0.0]]
    assert begin[0] < 10.0 < 30.0 < end[0]
    assert (begin[1], end[1]) == (1.0, 0.0)


def test_seeds_that_came_to_the_same_have_a_profile(seeds_of):
    points = profile_of(seeds_of("base", {1: 10.0, 2: 10.0}))["lines"][0]["points"]
    assert (points[0], points[-1]) == ([9.0, 1.0], [11.0, 0.0])


# -- what they played ------------------------------------------------------------------------------


def test_entropy_has_one_sign(evaluated, native):
    for run in read_runs([evaluated, native]):
        assert (run.column("train/entropy") > 0).all()


def test_bots_that_played_the_same_stand_once(evaluated, only_evaluated):
    runs = read_runs([evaluated, only_evaluated])
    players = compared(runs)["against 3 x rule_hard"]
    assert list(players) == ["sb3-run", "only-evaluated", "random"]
    path = only_evaluated / "evaluation.json"
    path.write_text(path.read_text().replace("-0.04", "-7"))
    players = compared(read_runs([evaluated, only_evaluated]))["against 3 x rule_hard"]
    assert list(players)[2:] == ["random", "random (only-evaluated)"]


def test_what_a_pair_and_its_halves_played_belongs_to_the_run(evaluated, tmp_path):
    for name in ("one", "other"):
        path = shutil.copytree(evaluated, tmp_path / name) / "evaluation.json"
        record = json.loads(path.read_text())
        players = record["matches"]["results"]["rule_hard"]
        halves = ("trained bids", "decoded bids")
        players |= dict.fromkeys(halves, players["trained"])
        record["matches"]["results"]["mixed"] = players
        path.write_text(json.dumps(record))
    found = compared(read_runs([tmp_path / "one", tmp_path / "other"]))
    assert set(found) >= {"against 3 x rule_hard", "against mixed"}
    names = list(found["against mixed"])
    assert names[:3] == ["one", "one bids", "one, decoded bids"]
    assert names[-1] == "random"
    for run in ("one", "other"):
        assert {run, f"{run} bids", f"{run}, decoded bids"} <= set(names)


def test_a_bot_is_no_run_whose_name_it_begins_with(evaluated, tmp_path):
    found = compared([read_run(shutil.copytree(evaluated, tmp_path / "r"))])
    assert list(found["against 3 x rule_hard"]) == ["r", "random"]


def test_runs_of_the_same_name_are_told_apart(evaluated, tmp_path):
    shutil.copytree(evaluated, tmp_path / "again" / evaluated.name)
    runs = read_runs([evaluated, tmp_path / "again" / evaluated.name, evaluated])
    names = [run.name for run in runs]
    assert len(names) == 2
    assert names[1] == "again/sb3-run"


def test_smoothing_leaves_out_what_is_missing():
    values = np.array([np.nan, 2.0, 4.0, np.nan, 6.0, 8.0, 10.0])
    np.testing.assert_array_equal(smooth(values), [np.nan, 2.0, 3.0, 3.0, 4.0, 5.0, 7.0])


def test_quests_are_listed_with_their_first_completion():
    metrics = {
        "step": np.array([100.0, 200.0]),
        "trackers/story/out": np.array([0.0, 3.0]),
        "trackers/story/first/out": np.array([np.nan, 150.0]),
        "trackers/story/home": np.array([0.0, 0.0]),
    }
    run = RunData("a", Path("a"), {"env": "GameBoyPixels-v0"}, metrics=metrics)
    section = section_of(make_sections([run]), "Milestones")
    assert section["parts"][0]["rows"] == [["out", "a", "150", "3"]]
    del metrics["trackers/story/first/out"]
    assert "Milestones" not in [each["title"] for each in make_sections([run])]
