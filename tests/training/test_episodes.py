"""Episodes of Prospector: the runner, its aggregates against published ones, the command line."""

import json
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from fastenv.errors import ConfigError
from tests.tables import walk
from tests.training.played import play_episodes
from training.evaluate import main
from training.evaluation import evaluation
from training.evaluation.evaluation import Evaluation
from training.evaluation.judging import plan_seeds
from training.evaluation.results import COMMON, Results, join
from training.games.prospector import BOTS, REFERENCE_LINES
from training.players.bots import Bot
from training.players.names import make_player
from training.players.player import begin_all, every_lane
from training.run.envs import make_engine

ENV = "Prospector-v0"

# What the published runner found for seeds 7 to 306, time_max 20000.
PUBLISHED = {
    "greedy_miner": {
        "steps_total": 17018,
        "dt_total": 29056,
        "return_mean": -104.985215,
        "return_median": -111.667929,
        "net_profit_mean": 181.429503,
        "survival_rate": 0,
        "pirate_encounters_mean": 14.793333,
        "value_lost_to_pirates_mean": 1239.060240,
        "scan_count_mean": 0,
        "mining_ticks_mean": 14.97,
        "invalid_action_rate_global": 0.000822658,
    },
    "cautious_scanner": {
        "steps_total": 19083,
        "dt_total": 39774,
        "return_mean": -89.415782,
        "return_median": -65.742099,
        "net_profit_mean": -92.642394,
        "survival_rate": 0,
        "pirate_encounters_mean": 20.426667,
        "value_lost_to_pirates_mean": 1771.272898,
        "scan_count_mean": 5.573333,
        "mining_ticks_mean": 32.916667,
        "invalid_action_rate_global": 0,
    },
    "market_timer": {
        "steps_total": 15917,
        "dt_total": 17592,
        "return_mean": -112.575687,
        "return_median": -112.633214,
        "net_profit_mean": 16.995676,
        "survival_rate": 0,
        "pirate_encounters_mean": 12.113333,
        "value_lost_to_pirates_mean": 2336.837255,
        "scan_count_mean": 0,
        "mining_ticks_mean": 37.893333,
        "invalid_action_rate_global": 0.061569391,
    },
}
SEED_7 = {
    "greedy_miner": (69, -62.953980),
    "cautious_scanner": (69, -60.397017),
    "market_timer": (57, -113.702679),
}


@pytest.fixture(scope="module")
def engine():
    return make_engine(ENV, 300)


@pytest.mark.parametrize("name", PUBLISHED)
def test_bot_plays_as_published(engine, name):
    found = play_episodes(engine, partial(make_player, name), 300, 7, 30_000, name)
    summary = found.summary()
    assert (summary["episode_count"], summary["guard_truncated_count"]) == (300, 0)
    for key, value in PUBLISHED[name].items():
        assert summary[key] == pytest.approx(value, abs=2e-6), key
    row = found.record()[0]
    assert (row["bot"], row["seed"]) == (name, 7)
    assert (row["steps"], row["return_total"]) == pytest.approx(SEED_7[name], abs=1e-6)


def test_cashing_out_is_one_step_and_nearly_nothing(engine):
    found = play_episodes(engine, partial(make_player, "cash_out"), 20, 7, 30_000)
    assert set(found["steps"]) == {1}
    assert found.summary()["return_mean"] == pytest.approx(-0.001)
    assert found["terminated"].all()


def test_rows_equal_a_loop_over_single_episodes():
    found = play_episodes(make_engine(ENV, 8), partial(make_player, "greedy_miner"), 8, 40, 30)
    for e, row in enumerate(found.record()):
        engine = make_engine(ENV, 1)
        engine.reset_many(seeds=40 + e)
        player, ticks, total, invalid, steps = Bot("greedy_miner", engine), 0, 0.0, 0, 0
        begin_all(player, engine, 40 + e)
        while not engine.ended[0] and steps < 30:
            engine.step_many(player.act(engine, every_lane(engine)), autoreset=False)
            steps += 1
            ticks += int(engine.info["dt"][0])
            total += engine.reward[0]
            invalid += bool(engine.info["invalid_action"][0])
        assert (row["seed"], row["steps"], row["dt_total"]) == (40 + e, steps, ticks)
        assert (row["return_total"], row["invalid_actions"]) == (pytest.approx(total), invalid)
        assert row["terminated"] == bool(engine.terminated[0])
        assert row["guard_truncated"] == (not engine.ended[0])
        assert row["net_profit"] == engine.info["net_profit"][0]
        assert row["time_remaining"] == engine.info["time_remaining"][0]


def test_an_evaluation_says_how_far_it_is(monkeypatch):
    told = []
    monkeypatch.setattr(evaluation, "tell_progress", lambda *each: told.append(each))
    play_episodes(make_engine(ENV, 2), partial(make_player, "cash_out"), 6, first=1)
    assert told[-1] == (6, 6, "episodes")
    assert all(before[0] < after[0] for before, after in pairwise(told))


def test_rows_that_were_written_before_are_read():
    row = {"bot": "x", "seed": 7, "steps": 3, "dt_total": 5, "return_total": 1.5}
    row |= {"terminated": True, "truncated": False, "guard_truncated": False}
    row |= {"invalid_actions": 0, "invalid_action_rate": 0.0, "net_profit": 2.0}
    read = Results.read([row, row | {"seed": 8, "return_total": 2.5}], ENV)
    assert read.players == ["x"]
    assert read.mean("return").value == 2
    assert read.record()[0] == row


def test_step_limit_and_time_limit_are_told_apart():
    engine = make_engine(ENV, 3, {"time_max": 10})
    hold = partial(make_player, "hold")
    stopped, timed_out = (play_episodes(engine, hold, 3, 0, limit) for limit in (9, 30))
    assert stopped["given_up"].all()
    assert not (stopped["truncated"] | stopped["terminated"]).any()
    assert timed_out["truncated"].all()
    assert not timed_out["given_up"].any()
    assert stopped.summary()["guard_truncated_count"] == 3


def test_other_games_have_the_columns_they_know():
    engine = make_engine("SkullKingManager-v0", 4)
    found = play_episodes(engine, partial(make_player, "rule_easy"), 6, 5, 100)
    np.testing.assert_array_equal(found["ticks"], found["steps"])
    assert "net_profit" not in found
    assert "net_profit_mean" not in found.summary()
    assert set(found.estimate(resamples=50).means["x"]) == {
        *("return", "steps", "ticks", "invalid_action_rate")
    }


def test_comparison_is_paired():
    def made(player, returns):
        n = len(returns)
        columns = {"player": np.full(n, player), "seed": np.arange(n), "return": returns}
        return Results(columns, {"return": COMMON["return"]})

    luck = np.random.default_rng(0).normal(size=50)
    both = join([made("a", luck + 1), made("b", luck)])
    drawn = both.estimate()
    gap = drawn.gaps("b", "return")["a"]
    assert (gap.low, gap.value, gap.high) == pytest.approx((1, 1, 1))
    assert drawn.means["a"]["return"].value == pytest.approx((luck + 1).mean())
    assert list(drawn.gaps("b", "return")) == ["a"]
    assert both.difference("a", "b", "return") == gap
    assert both.of(player="a").mean("return").value == pytest.approx((luck + 1).mean())


@walk(
    ("values", "named"),
    [
        ({"seeds": range(0)}, "episodes=0"),
        ({"max_steps": 0}, "max_steps=0"),
        ({"resamples": 0}, "bootstrap=0"),
    ],
)
def test_impossible_evaluation_is_refused(values, named):
    with pytest.raises(ConfigError, match=named):
        Evaluation("episodes", ENV, **values)


@walk(
    ("first", "count", "named"),
    [(0, 0, "episodes=0"), (-1, 1, "base_seed=-1"), (2**40, 1, "base_seed")],
)
def test_impossible_seeds_are_refused(first, count, named):
    with pytest.raises(ConfigError, match=named):
        plan_seeds(first, count)


# -- command line ----------------------------------------------------------------------------------


def test_bots_alone_are_printed_and_written(tmp_path, capsys):
    out = tmp_path / "deep" / "bots.json"
    flags = ["--bots", "--episodes", "6", "--base-seed", "9", "--time-max", "300"]
    assert main([*flags, "--output-path", str(out), "--run-id", "x"]) == 0
    printed = capsys.readouterr().out
    report = json.loads(out.read_text())
    assert list(report["policies"]) == [*REFERENCE_LINES, *BOTS]
    for name, found in report["policies"].items():
        assert name in printed
        value, low, high = found["intervals"]["return"]
        assert low <= value <= high
        assert value == pytest.approx(found["summary"]["return_mean"])
    assert report["run_id"] == "x"
    assert report["time_max"] == 300
    assert report["policies"]["hold"]["summary"]["dt_total"] == 6 * 300
    assert report["policies"]["cash_out"]["kind"] == "reference_line"
    assert report["policies"]["greedy_miner"]["kind"] == "bot"
    rows = report["episodes"]
    assert [r["seed"] for r in rows if r["bot"] == "hold"] == list(range(9, 15))


def test_only_some_bots_may_be_asked_for(tmp_path):
    out = tmp_path / "bots.json"
    names = ["hold", "cash_out", "market_timer_iron"]
    flags = ["--bots", "--episodes", "2", "--max-steps", "5", *(f"--bot={name}" for name in names)]
    assert main([*flags, "--output-path", str(out)]) == 0
    report = json.loads(out.read_text())
    assert list(report["policies"]) == names
    assert report["policies"]["market_timer_iron"]["kind"] == "bot"
    assert report["policies"]["hold"]["summary"]["guard_truncated_count"] == 2


@walk(
    ("flags", "says"),
    [
        (["--bots", "--episodes", "0"], "episodes=0"),
        (["--bots", "--time-max", "-1"], "time_max"),
        (["--bots", "--bot", "pirate"], "pirate"),
        (["--bots", "--env", "SkullKingFlat-v0"], "SkullKingFlat-v0"),
        (["--bots", "--env", "Chess-v0"], "Chess-v0"),
        (["--bots", "some-run"], "either"),
        (
            ["search:pretrained/prospector,worlds=2", "--against", "hold"],
            "does not search: evaluate pretrained/prospector --against search:",
        ),
        ([], "either"),
    ],
)
def test_bad_request_is_refused(capsys, flags, says):
    assert main(flags) == 2
    assert says in capsys.readouterr().err
