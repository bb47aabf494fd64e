"""Comparing settings over seeds: what is trained, what is resumed, what is said of it."""

import io
import json
import math
import shlex
import shutil
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from tests.bits import equal
from tests.tables import walk
from tests.training.conftest import TINY
from tests.training.left import parameters
from training import compare as compare_module
from training import train as train_module
from training.apps.skullking.evaluation import play_matches
from training.apps.skullking.whole_games import DECODED
from training.callbacks.start import check_config
from training.compare import main
from training.evaluation import comparison, tables, trainings
from training.evaluation import over_seeds as statistics
from training.evaluation.comparison import plan
from training.evaluation.intervals import over_seeds
from training.evaluation.judging import CURVE, get_judging
from training.evaluation.run_evaluation import evaluate_trained
from training.evaluation.statistics import improvement_interval, iqm_interval
from training.players.trained import load
from training.run.folder import RunFolder
from training.run.seating import AGENT

RECORDS = Path(__file__).resolve().parents[2] / "benchmarks"
MEASURES = ("points", "margin", "win_rate", "bid_hit")  # of Skull King
VARIANTS = ["--variant", "base", "--variant", "slow", "--with", "ppo.learning_rate=1e-5"]


@pytest.fixture(scope="module")
def compare(tiny_config):
    """Call the command line with the tiny run; returns the exit status."""

    def call(runs, *flags, seeds="3,5", config=tiny_config, variants=VARIANTS):
        given = ["--config", str(config), "--runs", str(runs), "--seeds", seeds, "--games", "8"]
        return main([*given, "--name", "t", *variants, *map(str, flags)])

    return call


@pytest.fixture(scope="module")
def compared(compare, tmp_path_factory):
    """Folder of the runs and the report of two variants with two seeds; not to be changed."""
    runs = tmp_path_factory.mktemp("compared")
    assert compare(runs, "--opponents", "random,rule_hard", "--total-steps", 256) == 0
    return runs, json.loads((runs / "t.json").read_text())


def test_every_variant_is_trained_with_every_seed(compared):
    runs, report = compared
    names = ["t-base-3", "t-slow-3", "t-base-5", "t-slow-5"]
    assert [run["run"] for run in report["runs"]] == names
    assert (report["baseline"], report["seeds"]) == ("base", [3, 5])
    for run in report["runs"]:
        config = RunFolder.open(runs / run["run"]).config
        assert (config.seed, config.total_steps) == (run["seed"], 256)
        assert config.ppo.learning_rate == (1e-5 if run["variant"] == "slow" else 3e-4)
    assert report["decisions"] == {"base": [256, 256], "slow": [256, 256]}
    assert report["configs"]["slow"]["ppo"]["learning_rate"] == 1e-5
    assert {"git_rev", "host", "versions", "command", "evaluation"} <= set(report)


def test_figures_are_those_of_an_evaluation(compared):
    runs, report = compared
    for run in report["runs"]:
        trained = load(RunFolder.open(runs / run["run"]))
        found = play_matches(trained, trained.config.evaluation, CURVE)
        for opponents in ("random", "rule_hard"):
            ours = run["results"][opponents][AGENT]
            assert ours == {m: found[opponents][AGENT][m].to_list() for m in MEASURES}
    points = report["compared"]["rule_hard"]["slow"]["points"]
    by_variant = [r["results"]["rule_hard"][AGENT]["points"][0] for r in report["runs"]]
    assert points["by_seed"] == by_variant[1::2]
    gaps = [by_variant[1] - by_variant[0], by_variant[3] - by_variant[2]]
    assert points["minus_baseline"][0] == pytest.approx(sum(gaps) / 2)


def test_a_report_has_what_is_robust_over_seeds(compared):
    _, report = compared
    for opponents, rows in report["compared"].items():
        base = rows["base"]["points"]
        assert "probability_of_improvement" not in base
        for row, measures in rows.items():
            for measure, found in measures.items():
                each = found["by_seed"]
                assert found["iqm"] == iqm_interval(each, 100).to_list()
                profile = report["profiles"][opponents][measure]
                above = [sum(x > tau for x in each) / len(each) for tau in profile["above"]]
                assert profile["share"][row] == above
                assert set(each) <= set(profile["above"])
        slow = rows["slow"]["points"]
        better = improvement_interval(slow["by_seed"], base["by_seed"], 100)
        assert slow["probability_of_improvement"] == better.to_list()


def events(run):
    return [json.loads(line)["event"] for line in (run / "events.jsonl").read_text().splitlines()]


def test_the_command_of_a_run_trains_it_alone(compared, tmp_path):
    runs, report = compared
    run = report["runs"][1]
    words = shlex.split(run["command"].replace(str(runs), str(tmp_path)))
    assert words[:4] == ["python", "-m", "training", "train"]
    assert train_module.main(words[4:]) == 0
    assert equal(parameters(tmp_path / run["run"]), parameters(runs / run["run"]))


@pytest.mark.slow
def test_what_has_ended_is_not_trained_again_and_the_rest_is_resumed(compare, compared, tmp_path):
    runs, report = compared
    flags = ("--total-steps", 256, "--set", "checkpoints.every=128")
    shutil.copytree(runs / "t-base-3", tmp_path / "t-base-3")
    assert compare(tmp_path, *flags, "--opponents", "random,rule_hard") == 0
    again = json.loads((tmp_path / "t.json").read_text())
    assert again["compared"] == report["compared"]
    shutil.rmtree(tmp_path / "t-slow-5/checkpoints/ckpt_000000000256")  # as if it was interrupted
    shutil.rmtree(tmp_path / "t-base-5")
    assert compare(tmp_path, *flags, "--opponents", "random,rule_hard", seeds="3,5,6") == 0
    more = json.loads((tmp_path / "t.json").read_text())
    assert more["seeds"] == [3, 5, 6]
    assert (
        more["compared"]["random"]["slow"]["points"]["by_seed"][:2]
        == (report["compared"]["random"]["slow"]["points"]["by_seed"])
    )
    begins = {
        run["run"]: [e for e in events(tmp_path / run["run"]) if e in ("start", "resume")]
        for run in more["runs"]
    }
    resumed = begins.pop("t-slow-5")
    assert resumed == ["start", "resume"]
    assert all(each == ["start"] for each in begins.values())
    assert equal(parameters(tmp_path / "t-slow-5"), parameters(runs / "t-slow-5"))


def test_a_run_that_was_begun_otherwise_is_refused_before_anything_is_trained(
    compare, compared, tmp_path, capsys
):
    runs, _ = compared
    shutil.copytree(runs / "t-slow-5", tmp_path / "t-slow-5")
    assert compare(tmp_path, "--total-steps", 384) == 2
    assert "begun with total_steps=256, not 384" in capsys.readouterr().err
    variants = ["--variant", "base", "--variant", "slow", "--with", "ppo.learning_rate=1e-6"]
    assert compare(tmp_path, "--total-steps", 256, variants=variants) == 2
    assert "begun with another ppo.learning_rate" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["t-slow-5"]


def test_variants_of_equal_time_have_the_decisions_their_speed_makes(
    compare, tmp_path, monkeypatch
):
    speeds = {"base": 1000.0, "slow": 410.0}
    monkeypatch.setattr(trainings, "_measure_speed", lambda each, _: speeds[each.variant])
    assert compare(tmp_path, "--core-seconds", 0.5) == 0
    report = json.loads((tmp_path / "t.json").read_text())
    assert report["decisions"] == {"base": [512, 512], "slow": [256, 256]}  # rollouts of 128
    assert report["core_seconds"] == 0.5
    for run in report["runs"]:
        assert f"--total-steps={run['steps']}" in shlex.split(run["command"])
        config = RunFolder.open(tmp_path / run["run"]).config
        assert (config.total_steps, run["core_s"] > 0) == (run["steps"], True)
    took = [run["core_s"] for run in report["runs"] if run["variant"] == "slow"]
    assert report["core_s"]["slow"] == over_seeds(took, least=0.0).to_list()


def test_a_speed_is_measured_once_in_a_run_of_its_own(tmp_path):
    config = tmp_path / "tiny.json"
    config.write_text(json.dumps(TINY))
    flags = ["--config", str(config), "--seeds", "3,5", "--runs", str(tmp_path), *VARIANTS]
    planned = plan(compare_module.parser().parse_args(flags), check_config)
    found = trainings.fit_to_time(planned, 0.2, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        *("compare-base-speed", "compare-slow-speed", "tiny.json")
    }
    assert [each.config.seed for each in found] == [3, 3, 5, 5]
    lengths = [each.config.total_steps for each in found]
    assert lengths[:2] == lengths[2:]
    assert all(steps % 128 == 0 for steps in lengths)
    again = trainings.fit_to_time(planned, 0.2, tmp_path)
    assert [each.config for each in again] == [each.config for each in found]


def test_the_report_has_every_whole_seed_of_an_interrupted_comparison(
    compare, tmp_path, monkeypatch, capsys
):
    trained = []

    def train_to_end(run, resume):
        if len(trained) == 3:
            raise KeyboardInterrupt
        trained.append(run.name)
        return original(run, resume)

    original = trainings.train_to_end
    monkeypatch.setattr(trainings, "train_to_end", train_to_end)
    assert compare(tmp_path, "--total-steps", 128) == 130
    assert "the same command continues" in capsys.readouterr().err
    report = json.loads((tmp_path / "t.json").read_text())
    assert report["seeds"] == [3]
    assert report["compared"]["rule_hard"]["base"]["points"]["mean"][1:] == [None, None]


@pytest.mark.slow
def test_a_pair_with_a_head_over_tricks_also_plays_the_bids_it_computes(compare, tmp_path, capsys):
    hier = {"env": "SkullKingWorker-v0", "trainer": "hier", "num_envs": 16, "total_steps": 600}
    hier |= {"torch_threads": 1, "device": "cpu", "evaluation": {"during": "off", "bootstrap": 50}}
    hier |= {"ppo": {"n_steps": 16, "batch_size": 64, "net_arch": [16]}}
    small = {"n_epochs": 1, "n_steps": 4}
    hier |= {"hier": {"warm_start": 256, "worker": {"n_epochs": 1}, "manager": small}}
    flat = {**hier, "env": "SkullKingFlat-v0", "trainer": "native", "hier": {}}
    for name, values in (("hier", hier), ("flat", flat)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(values))
    variants = ["--variant", "flat", "--from", str(tmp_path / "flat.yaml"), "--variant", "pair"]
    variants += ["--with", "hier.manager={n_epochs: 2, n_steps: 4, hindsight: tricks}"]
    assert compare(tmp_path, config=tmp_path / "hier.yaml", variants=variants) == 0
    report = json.loads((tmp_path / "t.json").read_text())
    assert report["configs"]["pair"]["hier"]["manager"]["n_epochs"] == 2
    rows = report["compared"]["rule_hard"]
    assert list(rows) == ["flat", "pair", f"pair, {DECODED}"]
    pair = load(RunFolder.open(tmp_path / "t-pair-3"))
    options = pair.config.evaluation.replace(games=8, opponents=("rule_hard",))
    found = play_matches(pair, options)["rule_hard"]
    for player, row in ((AGENT, "pair"), (DECODED, f"pair, {DECODED}")):
        assert rows[row]["margin"]["by_seed"][0] == found[player]["margin"].value
    printed = capsys.readouterr().out
    assert "pair, decoded bids minus flat" in " ".join(printed.split())
    assert "in points, by the 95 % interval" in printed


def test_prospector_is_compared_on_returns(compare, tmp_path):
    ore = {"env": "Prospector-v0", "num_envs": 4, "total_steps": 64, "torch_threads": 1}
    ore |= {"ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 1, "net_arch": [8]}}
    ore |= {"env_options": {"time_max": 60}, "evaluation": {"during": "off", "bootstrap": 50}}
    (tmp_path / "ore.json").write_text(json.dumps(ore))
    assert compare(tmp_path, config=tmp_path / "ore.json") == 0
    report = json.loads((tmp_path / "t.json").read_text())
    assert list(report["compared"]) == ["episodes"]
    rows = report["compared"]["episodes"]
    assert {"return", "net_profit", "survival"} <= set(rows["slow"])
    trained = load(RunFolder.open(tmp_path / "t-slow-5"))
    options = trained.config.evaluation.replace(episodes=8)
    found = evaluate_trained(tables.console(), "t", trained, options, {})
    returns = found.played["return"]
    assert rows["slow"]["return"]["by_seed"][1] == pytest.approx(returns.mean())


FAST = ["--variant", "fast", "--with", "ppo.learning_rate=1e-2"]
PLAYED = ("--total-steps", 256, "--opponents", "random,rule_hard")


def test_further_variants_stand_beside_a_report_whose_runs_are_gone(compare, compared, tmp_path):
    runs, before = compared
    shutil.copy(runs / "t.json", tmp_path / "before.json")
    onto = ("--onto", tmp_path / "before.json")
    assert compare(tmp_path, *PLAYED, *onto, variants=FAST) == 0
    report = json.loads((tmp_path / "t.json").read_text())
    assert {path.name for path in tmp_path.glob("t-*")} == {"t-fast-3", "t-fast-5"}
    assert list(report["configs"]) == ["base", "slow", "fast"]
    assert (report["baseline"], report["seeds"]) == ("base", [3, 5])
    assert report["onto"]["command"] == before["command"]
    for opponents, rows in before["compared"].items():
        found = report["compared"][opponents]
        assert {name: found[name] for name in rows} == rows
        points, base = found["fast"]["points"], rows["base"]["points"]
        gaps = [a - b for a, b in zip(points["by_seed"], base["by_seed"], strict=True)]
        assert points["minus_baseline"] == over_seeds(gaps).to_list()
    assert [run["variant"] for run in report["runs"]] == ["base", "slow"] * 2 + ["fast"] * 2
    assert report["runs"][-1]["trained"]["seed"] == 5


def test_an_older_report_gets_what_it_lacks(compare, compared, tmp_path):
    """One from before there were interquartile means."""
    before = json.loads((compared[0] / "t.json").read_text())
    wanted = before["compared"]["rule_hard"]["slow"]["points"].copy()
    del before["profiles"]
    for rows in before["compared"].values():
        for measures in rows.values():
            for found in measures.values():
                del found["iqm"]
                found.pop("probability_of_improvement", None)
    (tmp_path / "before.json").write_text(json.dumps(before))
    onto = ("--onto", tmp_path / "before.json")
    assert compare(tmp_path, *PLAYED, *onto, variants=FAST) == 0
    report = json.loads((tmp_path / "t.json").read_text())
    rows = report["compared"]["rule_hard"]
    assert rows["slow"]["points"] == wanted
    assert rows["fast"]["points"]["probability_of_improvement"][0] in (0.0, 0.25, 0.5, 0.75, 1.0)
    assert set(report["profiles"]["rule_hard"]["points"]["share"]) == {"base", "slow", "fast"}


@walk("name", ["drmario-heads", "variants-3-seeds", "lantern-walk-parts"])
def test_records_of_the_repository_can_be_compared_with(name):
    earlier = comparison.EarlierComparison.read(RECORDS / f"{name}.json")
    report, variants = earlier.report, list(earlier.configs)
    about = get_judging(earlier.configs[variants[0]].env).about
    shares = [name for name, column in about.items() if column.is_part]
    found = comparison._summarise(report["runs"], variants, shares, 100)
    json.dumps(found, allow_nan=False)
    for opponents, rows in report["compared"].items():
        for row, measures in rows.items():
            for measure, before in measures.items():
                assert found["compared"][opponents][row][measure]["by_seed"] == before["by_seed"]
        assert found["profiles"][opponents]


@walk(
    ("seeds", "flags", "variants", "says"),
    [
        ("3,6", (), FAST, "--seeds='3,6' is not possible"),
        ("3,5", ("--games", 16), FAST, "evaluation.games=16 is not possible"),
        ("3,5", (), ["--variant", "slow", "--with", "ppo.learning_rate=1e-2"], "a name of its own"),
        ("3,5", (), ["--variant", "x", "--with", "ppo.learning_rate=1e-5"], "slow and x have the"),
        ("3,5", (), [], "given at least once"),
        ("3,5", ("--onto", "README.md"), FAST, "--onto='README.md' is not possible"),
    ],
)
def test_what_cannot_stand_beside_a_report_is_refused(
    compare, compared, tmp_path, capsys, seeds, flags, variants, says
):
    given = (*PLAYED, "--onto", compared[0] / "t.json", *flags)
    assert compare(tmp_path, *given, seeds=seeds, variants=variants) == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_env_is_that_of_all_variants():
    flags = ["--env", "Prospector-v0", "--seeds", "1,2", *VARIANTS]
    trainings = plan(compare_module.parser().parse_args(flags), check_config)
    assert [each.config.env for each in trainings] == ["Prospector-v0"] * 4
    assert all("--env=Prospector-v0" in shlex.split(each.command) for each in trainings)


# -- statistics ------------------------------------------------------------------------------------


def run(variant, points, player=AGENT, half=0.0):
    found = [None] * 3 if points is None else [points, points - half, points + half]
    return {"variant": variant, "results": {"rule_hard": {player: {"points": found}}}}


def test_differences_are_paired_by_seed():
    # Seeds differ by far more than variants do: 3, 5 and 4 points are certainly more than none.
    runs = [
        *(run("base", 100.0), run("more", 103.0)),
        *(run("base", 500.0), run("more", 505.0)),
        *(run("base", 900.0), run("more", 904.0)),
    ]
    found = statistics.compare_over_seeds(runs, "base")["rule_hard"]
    assert "minus_baseline" not in found["base"]["points"]
    value, low, high = found["more"]["points"]["minus_baseline"]
    half = 4.302653 * 1.0 / math.sqrt(3)  # the standard deviation of 3, 5, 4 is 1
    assert (value, low, high) == pytest.approx((4, 4 - half, 4 + half), rel=1e-5)
    half = 4.302653 * 400 / math.sqrt(3)
    assert found["base"]["points"]["mean"] == pytest.approx([500, 500 - half, 500 + half], rel=1e-5)
    assert found["more"]["points"]["mean"] == over_seeds([103.0, 505.0, 904.0]).to_list()


def test_games_that_all_have_played_are_in_the_intervals_of_means():
    runs = [run(name, x, half=30.0) for x in (100.0, 101.0, 102.0) for name in ("base", "more")]
    found = statistics.compare_over_seeds(runs, "base")["rule_hard"]
    assert found["base"]["points"]["mean"] == over_seeds([100, 101, 102], shared=[30.0]).to_list()
    assert found["more"]["points"]["minus_baseline"] == [0.0, 0.0, 0.0]


def test_a_measure_that_a_run_lacks_has_no_mean():
    runs = [run("base", None), run("more", 2.0), run("base", 1.0), run("more", 5.0)]
    found = statistics.compare_over_seeds(runs, "base")["rule_hard"]
    nothing = [None, None, None]
    assert found["base"]["points"] == {"by_seed": [None, 1.0], "mean": nothing, "iqm": nothing}
    assert found["more"]["points"]["minus_baseline"] == [None, None, None]
    assert found["more"]["points"]["mean"][0] == 3.5
    assert found["more"]["points"]["iqm"][0] == 3.5
    assert found["more"]["points"]["probability_of_improvement"] == nothing
    shown = statistics.profiles({"rule_hard": found})["rule_hard"]["points"]
    assert shown == {"above": [2.0, 5.0], "share": {"more": [0.5, 0.0]}}
    assert statistics.profiles({"rule_hard": {"base": found["base"]}}) == {"rule_hard": {}}


def test_seeds_are_compared_with_all_seeds_of_the_baseline():
    runs = [
        *(run("base", 100.0), run("more", 103.0)),
        *(run("base", 500.0), run("more", 505.0)),
        *(run("base", 900.0), run("more", 904.0)),
    ]
    found = statistics.compare_over_seeds(runs, "base")["rule_hard"]["more"]["points"]
    assert found["probability_of_improvement"][0] == pytest.approx(6 / 9)
    assert found["iqm"] == pytest.approx([504.0, 103.0, 904.0])


@pytest.fixture
def five_seeds():
    """The report of two variants with long names and figures, without the runs."""
    runs = []
    for seed in range(5):
        for variant, more in (("a-base", 0.0), ("another-variant", 2.0)):
            found = dict.fromkeys(MEASURES, [0.5 + 0.01 * seed + more / 1000] * 3)
            found["points"] = [1234 + 100 * seed + more] * 3
            runs.append({"variant": variant, "results": {"rule_hard": {AGENT: found}}})
    report = {"name": "t", "baseline": "a-base", "seeds": list(range(5)), "training_s": {}}
    report |= {"decisions": {}, "evaluation": {"games": 8}}
    return report | {"compared": statistics.compare_over_seeds(runs, "a-base")}


@pytest.mark.parametrize("width", [80, 140])
def test_interquartile_means_stand_in_a_table_that_fits(five_seeds, width):
    page = io.StringIO()
    console = Console(file=page, width=width, highlight=False)
    statistics.show(console, five_seeds, get_judging("SkullKingFlat-v0"))
    table = page.getvalue().split("IQM and probability of improvement")[1]
    lines = table.splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in table
    points = next(line for line in lines if "another-variant" in line)
    cells = [cell.strip() for cell in points.split("│")[2:-1]]
    assert cells == ["another-variant", "1436 [1303, 1603]", "60 [24, 92]"]
    assert "Bootstrap intervals of 5 seeds are too narrow" in " ".join(lines)


def test_an_interval_of_a_share_ends_where_shares_do():
    runs = []
    for rates in ((0.1, 0.9), (0.9, 0.2)):
        for variant, rate in zip(("base", "other"), rates, strict=True):
            found = {name: [rate] * 3 for name in ("win_rate", "points")}
            runs.append({"variant": variant, "results": {"rule_hard": {AGENT: found}}})
    found = statistics.compare_over_seeds(runs, "base", ("win_rate",))["rule_hard"]
    assert found["base"]["win_rate"]["mean"] == pytest.approx([0.5, 0.0, 1.0])
    assert found["other"]["win_rate"]["minus_baseline"] == pytest.approx([0.05, -1.0, 1.0])
    assert found["base"]["points"]["mean"][1] < 0.0  # no share


@walk(
    ("gaps", "says"),
    [((3, 5, 4), "is above"), ((-3, -5, -4), "is below"), ((9, -5, 4), "is not apart from")],
)
def test_what_is_said_of_a_variant(capsys, gaps, says):
    runs = []
    for seed, gap in enumerate(gaps):
        for variant, more in (("base", 0.0), ("other", gap)):
            found = {name: [10.0 * seed + more] * 3 for name in MEASURES}
            runs.append({"variant": variant, "results": {"rule_hard": {AGENT: found}}})
    report = {"name": "t", "baseline": "base", "seeds": [1, 2, 3], "evaluation": {"games": 8}}
    report |= {"training_s": {name: [7.0, 6.0, 8.0] for name in ("base", "other")}}
    report["decisions"] = {"base": [256, 256, 256], "other": [320, 320, 320]}
    report["compared"] = statistics.compare_over_seeds(runs, "base")
    statistics.show(tables.console(), report, get_judging("SkullKingFlat-v0"))
    printed = capsys.readouterr().out
    assert f"other {says} base in points" in printed
    assert "base 256, other 320" in " ".join(printed.split())


# -- what is refused -------------------------------------------------------------------------------


@walk(
    ("variants", "flags", "says"),
    [
        ([], [], "--variant must be given at least twice, such as --variant base --variant"),
        (["a", "b", "c"], [], "python -m training evaluate a --against b c"),
        (["--variant", "a"], [], "given at least twice"),
        (["--variant", "a", "--variant", "a"], [], "a name of its own"),
        (["--variant", "a", "--variant", "b/c"], [], "'b/c'"),
        (["--with", "ppo.n_epochs=1", "--variant", "a"], [], "--with ppo.n_epochs=1: must stand"),
        (["--from", "x.yaml", "--variant", "a"], [], "--from x.yaml: must stand"),
        (["--variant", "a", "--variant", "b"], [], "variants a and b have the same options"),
        ([*VARIANTS, "--with", "seed=4"], [], "seed=4 is not possible"),
        (VARIANTS, ["--set", "name=x"], "name='x' is not possible"),
        ([*VARIANTS, "--with", "ppo.epochs=4"], [], "'ppo.epochs' is not an option"),
        ([*VARIANTS, "--from", "none.yaml"], [], "none.yaml"),
        ([*VARIANTS, "--with", "env=Prospector-v0"], [], "only agents of one game"),
        ([*VARIANTS, "--with", "env_options.num_players=3"], [], "with 3 players and 'base'"),
        (
            [*VARIANTS, "--with", "trainer=ensemble", "--with", "ensemble.seeds=[1,2]"],
            *([], "trainer='ensemble' is not possible"),
        ),
        (VARIANTS, ["--seeds", "3"], "--seeds='3' is not possible"),
        (VARIANTS, ["--seeds", "3,3"], "different numbers"),
        (VARIANTS, ["--games", "0"], "evaluation.games=0"),
        (VARIANTS, ["--opponents", "martians"], "martians"),
        (VARIANTS, ["--total-steps", "0"], "total_steps=0"),
        ([*VARIANTS, "--with", "total_steps=5k"], ["--total-steps", "9k"], "left to --total-steps"),
        ([*VARIANTS, "--with", "total_steps=5"], ["--core-seconds", "9"], "left to --core-seconds"),
        (
            [*VARIANTS, "--with", "env=Prospector-v0"],
            ["--env", "SkullKingFlat-v0"],
            "env='Prospector-v0' is not possible: env must be left to --env.",
        ),
        (VARIANTS, ["--core-seconds", "0"], "--core-seconds=0.0 is not possible"),
        (VARIANTS, ["--core-seconds", "1e300"], "more than 0 and at most 60,000,000"),
        (VARIANTS, ["--core-seconds", "9", "--games", "0"], "evaluation.games=0"),
        (VARIANTS, ["--core-seconds", "9", "--total-steps", "9"], "left out with --core-seconds"),
        ([*VARIANTS, "--set", "trainer=hier"], ["--core-seconds", "9"], "whose iterations"),
        (VARIANTS, ["--name", "../x"], "name='../x-base-3' is not possible"),
    ],
)
def test_nonsense_is_refused_with_nothing_written(compare, tmp_path, capsys, variants, flags, says):
    assert compare(tmp_path, *flags, variants=variants) == 2
    assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_report_of_something_else_is_not_replaced(compare, compared, tmp_path, capsys):
    _, report = compared
    other = {"base": {**report["configs"]["base"], "num_envs": 64}}
    for there in (
        {"trials": []},
        {**report, "configs": {"c": other["base"]}},
        {**report, "configs": other},
    ):
        (tmp_path / "t.json").write_text(json.dumps(there))
        assert compare(tmp_path) == 2
        assert "t.json is there, and is no report of this comparison" in capsys.readouterr().err
        assert json.loads((tmp_path / "t.json").read_text()) == there
        assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


def test_a_report_that_cannot_be_written_is_refused_before_the_work(compare, tmp_path, capsys):
    (tmp_path / "t.json").mkdir()
    assert compare(tmp_path) == 2
    assert "t.json: cannot be written: it is a folder, must be a file." in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]
    (tmp_path / "file").touch()
    assert compare(tmp_path / "file") == 2
    assert "file is no folder" in capsys.readouterr().err
