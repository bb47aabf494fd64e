"""The evaluation over the seed registry of Dr. Mario: figures, files, anomalies."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from fastenv.drmario.seeds import registry_seeds, seed_of
from fastenv.drmario.tables import Reason
from tests.needs import needs_core
from tests.tables import walk
from training.apps.drmario import seeds
from training.apps.drmario.best_times import BestTimes
from training.apps.drmario.compare import cvar, make_columns
from training.apps.drmario.seeds import SeedPlan
from training.commands import replay as replay_command
from training.evaluation import replays
from training.evaluation.results import Results
from training.players.bots import Bot

GAME = (5, "medium", 17)


def episode(frames, cleared=True, timeout=False):
    reason = Reason.CLEAR if cleared else 0 if timeout else Reason.TOPOUT
    return frames, reason, frames // 50, 1.0 if cleared else -1.0


def played(episodes, plan, games=1):
    """Return the results of episodes of some games, one game after the other."""
    names = ("ticks", "reason", "spawns", "return")
    made = {name: np.array(x) for name, x in zip(names, zip(*episodes, strict=True), strict=True)}
    count = len(episodes)
    made |= {"player": np.full(count, "x"), "seed": np.arange(count)}
    made["game"] = np.arange(count) // (count // games)
    return Results(made, make_columns(plan.t_max))


@walk(
    ("share", "wanted"),
    [(0.25, 95.0), (0.05, 100.0), (0.1, 100.0), (1.0, 55.0), (0.3, 90.0), (0.01, 100.0)],
)
def test_cvar_is_the_mean_of_the_largest_costs(share, wanted):
    costs = np.random.default_rng(1).permutation(np.arange(10.0, 101.0, 10.0))
    if share == 0.25:  # two and a half episodes: 100, 90 and half of 80
        wanted = (100 + 90 + 0.5 * 80) / 2.5
    assert cvar(costs, share) == pytest.approx(wanted)


def test_figures_of_a_game():
    """Checked by hand: four clears, a full bottle, and one that was given up."""
    times = [1000, 2000, 3000, 6000]
    episodes = [episode(n) for n in times]
    episodes += [episode(500, False), episode(9050, False, True)]
    plan = SeedPlan(t_max=9000, within=2500)
    row = seeds.compute_row(GAME, played(episodes, plan), plan)
    assert (row["level"], row["speed"], row["seed_id"]) == (5, "medium", "L05_S017")
    assert seed_of(row["seed_id"]) == (5, row["seed"])
    assert row["success_rate"] == pytest.approx(4 / 6)
    assert row["frames_mean"] == 3000
    assert row["frames_var"] == pytest.approx((2000**2 + 1000**2 + 3000**2) / 3)
    assert row["timeout_rate"] == pytest.approx(1 / 6)
    assert row["within_rate"] == pytest.approx(2 / 6)
    assert row["cvar_5"] == 9000  # a failure costs t_max, not the few frames it took
    assert row["cvar_25"] == pytest.approx(9000)
    assert row["return_mean"] == pytest.approx(2 / 6)
    assert row["spawns_mean"] == pytest.approx((20 + 40 + 60 + 120 + 10 + 181) / 6)


def test_figures_of_a_level_and_differences_game_by_game():
    """Slower by 100 frames in each game, whose lengths differ by far more."""
    plan = SeedPlan(levels=(5, 7), seeds=4, episodes=1, t_max=9000)
    times = [[1000, 2000, 3000, 8000], [500, 600, 700, 800]]
    usual = [episode(n) for level in times for n in level]
    slower = [episode(n + 100) for level in times for n in level]
    slower[3] = episode(9050, False, True)
    both = {tau: played(each, plan, 8) for tau, each in ((0.25, usual), (0.75, slower))}
    found = seeds.compare_levels(plan, both)
    assert [(r["level"], r["risk_tau"]) for r in found] == [
        (5, 0.25),
        (5, 0.75),
        (7, 0.25),
        (7, 0.75),
    ]
    assert found[0]["clear"][0] == 1
    assert found[0]["clear"][1] < 0.6  # four games say little, even if all are cleared
    assert (found[0]["cost"][0], found[0]["cvar_25"][0]) == (3500, 8000)
    assert found[1]["frames_to_clear"][0] == 2100  # of the three that are cleared
    assert found[1]["less_first"]["cvar_25"][0] == 1000  # one that is not counts t_max
    assert found[3]["less_first"]["cost"] == pytest.approx([100] * 3)


def test_episodes_of_a_game_are_drawn_together():
    plan = SeedPlan(seeds=2, episodes=50)
    games = [episode(1000)] * 50 + [episode(500, False)] * 50
    (found,) = seeds.compare_levels(plan, {None: played(games, plan, 2)})
    assert found["clear"] == [0.5, 0.0, 1.0]
    assert found["frames_to_clear"][0] == 1000


def test_a_game_that_is_never_cleared_has_no_mean():
    row = seeds.compute_row(GAME, played([episode(500, False)] * 3, SeedPlan()), SeedPlan())
    assert (row["success_rate"], row["frames_mean"], row["frames_var"]) == (0, None, None)
    assert row["cvar_25"] == SeedPlan().t_max


def test_anomalies_are_unlike_the_others():
    def find_anomalies(*episodes):
        return seeds.find_anomalies(played(episodes, SeedPlan()))

    usual = [episode(1000 + k) for k in range(12)]
    assert find_anomalies(*usual) == []
    assert find_anomalies(*usual, episode(300, False)) == [(12, "not cleared")]
    assert find_anomalies(*usual, episode(9000)) == [(12, "slow")]
    failures = [episode(400, False)] * 5
    assert find_anomalies(*failures, episode(900)) == [(5, "cleared")]
    assert find_anomalies(*failures) == []


class Moody:
    """Plays well, but by chance in every fifth lane."""

    def __init__(self, engine):
        self.good, self.bad = Bot("greedy", engine), Bot("random", engine)

    def begin(self, engine, lanes, seeds=None):
        for player in (self.good, self.bad):
            player.begin(engine, lanes, seeds)

    def act(self, engine, lanes):
        bad = lanes % 5 == 4
        return np.where(bad, self.bad.act(engine, lanes), self.good.act(engine, lanes))


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds")
    args = ["greedy", "--out", str(folder / "out"), "--levels", "0", "2", "--seeds", "2"]
    args += ["--episodes", "10", "--t-max", "9000", "--traces", "1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seeds, "load_player", lambda *args: (Moody, None))
        assert seeds.main([*args, "--best-times", str(folder / "times.sqlite")]) == 0
    return folder


@needs_core
def test_csv_and_parquet_say_the_same(swept):
    parquet = pytest.importorskip("pyarrow.parquet")
    with (swept / "out" / "seeds.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["seed_id"], row["speed"]) for row in rows] == [
        (name, "medium") for name in ("L00_S000", "L00_S001", "L02_S000", "L02_S001")
    ]
    table = parquet.read_table(swept / "out" / "seeds.parquet")
    assert table.column_names == list(seeds.TYPES)
    for row, same in zip(rows, table.to_pylist(), strict=True):
        for name, text in row.items():
            assert text == ("" if same[name] is None else str(same[name])), name
    assert {row["episodes"] for row in rows} == {"10"}
    assert {row["success_rate"] for row in rows} <= {"0.8", "0.9", "1.0"}
    head = json.loads((swept / "out" / "seeds.json").read_text())
    assert head["plan"]["t_max"] == 9000


@needs_core
def test_anomalies_play_again(swept, capsys):
    with (swept / "out" / "anomalies.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["what"] for row in rows} == {"not cleared"}
    assert 1 <= len(rows) <= 4
    paths = [swept / "out" / row["file"] for row in rows]
    assert replay_command.main(["--check", *map(str, paths)]) == 0
    assert capsys.readouterr().out.count("plays as recorded") == len(paths)
    for row, path in zip(rows, paths, strict=True):
        replay = replays.load(path)
        assert replay.frames[-1]["t"] == int(row["frames"])
        assert replay.head["options"]["game_seed"] == seed_of(row["seed_id"])[1]


@needs_core
@walk("damage", ["truncated", "foreign"])
def test_a_damaged_recording_is_refused_by_name(swept, damage, tmp_path, capsys):
    path = next((swept / "out" / "anomalies").iterdir())
    content = path.read_bytes()
    bad = tmp_path / path.name
    bad.write_bytes(content[: len(content) // 2] if damage == "truncated" else b"level,5\n")
    assert replay_command.main(["--check", str(bad)]) == 2
    assert str(bad) in capsys.readouterr().err


@needs_core
def test_clears_go_to_the_store(swept):
    with (swept / "out" / "seeds.csv").open(encoding="utf-8") as file:
        rates = {row["seed_id"]: float(row["success_rate"]) for row in csv.DictReader(file)}
    with BestTimes(swept / "times.sqlite") as store:
        for name, rate in rates.items():
            level, seed = seed_of(name)
            assert (store.best(level, "medium", seed) is not None) == (rate > 0)


@needs_core
def test_a_game_is_the_same_in_every_episode_and_a_seed_decides_who_plays():
    plan = SeedPlan(levels=(0,), seeds=2, episodes=3, t_max=2000)

    def play(who, seed=0):
        results = seeds.play_plan(who, replace(plan, seed=seed), {}, sample=True)
        assert results["game"].tolist() == [0, 0, 0, 1, 1, 1]
        assert (results["ticks"] <= 2000 + 500).all()
        ends = zip(results["ticks"].tolist(), results["return"].tolist(), strict=True)
        return [(*end, *map(int, a)) for end, a in zip(ends, results.actions, strict=True)]

    first = play("first")
    assert [len(set(game)) for game in (first[:3], first[3:])] == [1, 1]  # it draws nothing
    assert first[0] != first[3]
    drawn = play("random")
    assert play("random") == drawn
    assert play("random", 7) != drawn


REFUSED = [
    (["nobody"], "who='nobody'"),
    (["nobody"], "a bot (random, first, greedy, lookahead2, lookahead3, rollouts)"),
    (["first", "--levels", "21"], "--levels=21"),
    (["first", "--levels", "-1"], "--levels=-1"),
    (["first", "--speeds", "fast"], "--speeds='fast'"),
    (["first", "--levels", "5", "0", "5"], "--levels=[5, 0, 5]"),
    (["first", "--levels", "5", "--levels", "5"], "--levels=[5, 5]"),
    (["first", "--speeds", "low", "low"], "--speeds=['low', 'low']"),
    (["first", "--set", "level=5"], "--set level=5 is not possible"),
    (["first", "--set", "level=5"], "use --levels"),
    (["first", "--set", "speed=low"], "use --speeds"),
    (["first", "--set", "game_seed=77"], "use --seeds"),
    (["first", "--set", "seed_registry=True"], "use --seeds"),
    (["first", "--seeds", "121"], "--seeds=121"),
    (["first", "--episodes", "0"], "--episodes=0"),
    (["first", "--set", "obs='pixels'"], "obs='pixels'"),
    (["first", "--set", "extended_inputs=True", "--best-times", "t.sqlite"], "--best-times"),
]


def test_what_cannot_be_is_refused_by_name(tmp_path, capsys, subtests):
    for args, message in REFUSED:
        with subtests.test(message):
            out = tmp_path / "out"
            assert seeds.main([*args, "--out", str(out)]) == 2
            assert message in capsys.readouterr().err
            assert not out.exists() or not list(out.iterdir())


def test_seeds_are_those_of_the_registry():
    games = SeedPlan(levels=(3, 4), speeds=("low", "high"), seeds=2).games()
    assert games[:3] == [(3, "low", 0), (3, "low", 1), (3, "high", 0)]
    assert len(games) == 8
    assert registry_seeds()[3, 0] == seed_of("L03_S000")[1]
