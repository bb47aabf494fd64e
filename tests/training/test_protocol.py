"""The benchmark protocol: what it compares, what it writes, when it passes."""

import json

import numpy as np
import pytest

from tests.tables import walk
from training.evaluation.evaluation import Evaluation, play
from training.evaluation.judging import get_judging
from training.evaluation.results import Results
from training.games.prospector import protocol
from training.games.prospector.protocol import main
from training.players.trained import load
from training.run.folder import RunFolder
from training.run.seating import AGENT

FLAGS = ["--total-steps", "128", "--episodes-per-seed", "3", "--time-max", "60"]
for option in (
    *("num_envs=4", "torch_threads=1", "window_ticks=0"),
    *("ppo.n_steps=16", "ppo.batch_size=64", "ppo.n_epochs=1", "ppo.net_arch=[8]"),
):
    FLAGS += ["--set", option]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Folder of the runs and the report of two tiny trainings."""
    runs = tmp_path_factory.mktemp("protocol")
    assert main(["--seeds", "7,19", *FLAGS, "--runs", str(runs), "--run-id", "tiny"]) == 0
    return runs, json.loads((runs / "tiny.json").read_text())


def test_one_run_a_seed(report):
    runs, found = report
    assert [r["run"] for r in found["training_runs"]] == ["tiny-ppo-seed7", "tiny-ppo-seed19"]
    for run in found["training_runs"]:
        config = json.loads((runs / run["run"] / "config.json").read_text())["config"]
        assert config["seed"] == run["seed"]
        assert (runs / run["run"] / "checkpoints" / run["checkpoint"]).is_dir()


def test_the_agent_takes_its_best_action_as_the_contract_asks(report):
    runs, found = report
    assert found["config"]["actions"] == "highest legal logit"
    agent = load(RunFolder.open(runs / "tiny-ppo-seed7"))
    options = {**agent.config.env_options, "time_max": 60.0}
    steps = found["config"]["episodes"]["max_steps"]
    plan = Evaluation("x", agent.config.env, options, seeds=range(7, 10), max_steps=steps)
    again = play(plan.by({"ppo": agent.players()[AGENT]}))
    assert protocol.summary(again) == found["contenders"][0]["seed_reports"][0]["aggregate"]


def test_everybody_plays_the_same_episodes_a_block_a_seed(report):
    _, found = report
    names = [each["name"] for each in found["contenders"]]
    assert names[:5] == ["ppo", "cash_out", "hold", "masked_random", "random"]
    assert {"greedy_miner", "cautious_scanner", "market_timer"} <= set(names)
    kinds = {each["name"]: each["kind"] for each in found["contenders"]}
    assert (kinds["ppo"], kinds["cash_out"], kinds["greedy_miner"]) == (
        *("policy", "reference_line", "bot"),
    )
    for each in found["contenders"]:
        parts = each["seed_reports"]
        assert [(p["seed"], p["first_episode_seed"]) for p in parts] == [(7, 7), (19, 10)]
        assert each["aggregate"]["episode_count"] == 6
        steps = sum(p["aggregate"]["steps_total"] for p in parts)
        assert each["aggregate"]["steps_total"] == steps
        value, low, high = each["over_seeds"]["return_mean"]
        assert low <= value <= high
        assert value == pytest.approx(each["aggregate"]["return_mean"])
        _, low, high = each["over_seeds"]["survival_rate"]
        assert 0 <= low <= high <= 1


def test_summary_and_comparison_are_complete(report):
    _, found = report
    assert found["summary"] == {
        "pass": True,
        "seed_count": 2,
        "episodes_per_seed": 3,
        "episodes_per_contender": 6,
        "all_episodes_complete": True,
        "expectations_evaluated": True,
        "expectations_pass": found["summary"]["expectations_pass"],
        "enforce_protocol_expectations": False,
    }
    rows = found["comparison"]["rows"]
    assert len(rows) == 5 * (len(found["contenders"]) - 1)
    for row in rows:
        delta = row["reference_value"] - row["candidate_value"]
        assert row["delta_reference_minus_candidate"] == delta
        better = delta >= 0 if row["direction"] == "higher" else delta <= 0
        assert row["reference_better_or_equal"] == better
    assert {"generated_at", "run_id", "config", "artifacts", "git_rev"} <= set(found)


def test_existing_run_or_report_is_not_overwritten(report, capsys, tmp_path):
    runs, _ = report
    before = sorted(p.name for p in runs.iterdir())
    flags = ["--seeds", "19,31", *FLAGS, "--runs", str(runs), "--run-id", "tiny"]
    assert main(flags) == 2
    assert "tiny.json is there already" in capsys.readouterr().err
    assert main([*flags, "--output-path", str(tmp_path / "new.json")]) == 2
    assert "tiny-ppo-seed19 is there already" in capsys.readouterr().err
    assert sorted(p.name for p in runs.iterdir()) == before
    assert not list(tmp_path.iterdir())


@walk(
    ("flags", "says"),
    [
        (["--seeds", "7,7"], "--seeds"),
        (["--seeds", "7,x"], "--seeds"),
        (["--episodes-per-seed", "0"], "episodes=0"),
        (["--config", "none.yaml"], "none.yaml"),
        (["--set", "env=SkullKingFlat-v0"], "SkullKingFlat-v0"),
        (["--set", "mask_schedule=[{action: 99, ticks: 1}]"], "mask_schedule.action=99"),
        (["--time-max", "0"], "time_max"),
        (["--run-id", "../x"], "--run-id='../x' is not possible"),
    ],
)
def test_bad_request_is_refused(tmp_path, capsys, flags, says):
    assert main([*FLAGS, "--runs", str(tmp_path), *flags]) == 2
    assert says in capsys.readouterr().err


# -- verdicts --------------------------------------------------------------------------------------


def contender(name, profit, survival, guarded=0):
    aggregate = dict.fromkeys(protocol.METRICS, 0.0)
    aggregate |= {"net_profit_mean": profit, "survival_rate": survival}
    return {"name": name, "aggregate": aggregate | {"guard_truncated_count": guarded}}


def verdict(enforce, ours, guarded=0):
    bots = [contender(name, 10, 0.5) for name in set(protocol.EXPECTATIONS.values())]
    contenders = [contender("ppo", *ours, guarded), *bots]
    report = {"contenders": contenders, "training_runs": [0]}
    report["comparison"] = protocol.comparison(contenders, "ppo")
    return protocol.verdict(report, 5, enforce)


@walk(
    ("ours", "guarded", "enforce", "passes", "met"),
    [
        ((10, 0.5), 0, True, True, True),
        ((9, 0.5), 0, True, False, False),
        ((9, 0.5), 0, False, True, False),
        ((10, 0.4), 0, True, False, False),
        ((10, 0.5), 1, False, False, True),
    ],
)
def test_report_passes_if_complete_and_as_expected(ours, guarded, enforce, passes, met):
    found = verdict(enforce, ours, guarded)
    assert (found["pass"], found["expectations_pass"]) == (passes, met)
    assert found["all_episodes_complete"] == (guarded == 0)


def test_failing_report_exits_with_2(tmp_path):
    flags = ["--seeds", "3", *FLAGS, "--max-steps", "5", "--runs", str(tmp_path)]
    assert main([*flags, "--run-id", "short"]) == 2
    found = json.loads((tmp_path / "short.json").read_text())
    assert not found["summary"]["all_episodes_complete"]  # hold does not end in five steps
    assert found["contenders"][0]["over_seeds"]["return_mean"][1:] == [None, None]


def test_aggregate_is_over_all_blocks():
    def block(seed, steps):
        n = len(steps)
        columns = {name: np.zeros(n) for name in ("return", "net_profit", "survival")}
        columns |= {name: np.zeros(n) for name in ("invalid_actions", "invalid_action_rate")}
        columns |= {"profit_per_tick": np.zeros(n), "overheat_ticks": np.zeros(n)}
        columns |= {"pirate_encounters": np.zeros(n), "given_up": np.zeros(n)}
        columns |= {"value_lost_to_pirates": np.zeros(n), "scan_count": np.zeros(n)}
        columns |= {"mining_ticks": np.zeros(n)}
        columns |= {"seed": np.arange(n) + seed, "steps": np.array(steps)}
        return Results(columns | {"ticks": 2 * np.array(steps)}, judging.about)

    judging = get_judging("Prospector-v0")

    found = protocol.contender(judging, "x", {1: block(7, [1, 2]), 2: block(9, [3, 6])})
    assert found["aggregate"]["steps_total"] == 12
    assert found["over_seeds"]["steps_mean"][0] == pytest.approx(3)
    assert found["aggregate"]["dt_mean"] == pytest.approx(6)
