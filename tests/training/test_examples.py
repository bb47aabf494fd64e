"""A player, a metric and an evaluation of one's own: each is one entry, and is known everywhere."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fastenv
from training import evaluate
from training.evaluation.contest import contest, load_players
from training.evaluation.curve import CurveEvaluator
from training.evaluation.evaluation import Evaluation, play
from training.evaluation.over_seeds import compare_over_seeds
from training.evaluation.run_evaluation import play_for_comparison
from training.games import skullking
from training.logs.run_data import read_run
from training.logs.sections import make_sections
from training.players.trained import load, read_again
from training.run import games
from training.run.folder import RunFolder
from training.run.games import Column, GameTraining
from training.selfplay.opponents import Opponents

from .players import met

NIM = met.NIM

FLAT = "SkullKingFlat-v0"
RUN = Path("tests/data/runs/native-skull-king")
PAGE = Path("docs/howto/evaluate.md")


# -- a player --------------------------------------------------------------------------------------


class Copycat:
    """Takes as many sticks as the seat before it did, or as few as there may be.

    Parameters
    ----------
    engine : BatchEngine
        Of Nim for two.
    """

    def __init__(self, engine):
        self._left = np.zeros(engine.num_envs, np.int64)

    def begin(self, engine, lanes, seeds=None):
        """Know of no action before."""
        self._left[lanes] = 0

    def act(self, engine, lanes):
        """Return the action of the seat before where it is legal, else the first legal one."""
        engine.refresh()
        sticks, legal = engine.get_states(lanes)["sticks"], engine.mask[lanes] != 0
        copied = np.clip(self._left[lanes] - sticks - 1, 0, 2)
        can = (self._left[lanes] > 0) & legal[np.arange(len(lanes)), copied]
        actions = np.where(can, copied, legal.argmax(1))
        self._left[lanes] = sticks - 1 - actions
        return actions.astype(np.int32)


def find_copycat(name):
    """Find the player of Nim by its name: the capability of the game."""
    return Copycat if name == "copycat" else None


# Nim with one more name of a player.
COPIED_NIM = GameTraining(capabilities={"player": f"{__name__}:find_copycat"})


@pytest.fixture
def copied():
    met.register()
    games.register(NIM, COPIED_NIM)
    yield
    met.unregister()


def test_a_player_is_known_by_its_name_to_all_who_play(copied, tmp_path, capsys):
    path = tmp_path / "found.json"
    flags = ["--env", NIM, "--games", "20", "--output-path", str(path)]
    assert evaluate.main(["copycat", "--against", "perfect", *flags]) == 0
    table = {one["name"]: one for one in json.loads(path.read_text())["players"]}
    assert table["perfect"]["win_share"][0] > table["copycat"]["win_share"][0]
    flags = ["--bots", "--env", NIM, "--bot", "copycat", "--opponents", "random", "--episodes", "9"]
    assert evaluate.main([*flags, "--output-path", str(path)]) == 0
    assert list(json.loads(path.read_text())["results"]["random"]) == ["copycat"]
    assert "copycat" in capsys.readouterr().out


def test_a_player_may_have_a_seat_beside_a_learner(copied):
    engine = fastenv.make_engine(NIM, 6, seats="all")
    engine.reset_many(seeds=np.arange(6))
    seated = Opponents(engine, ["copycat"])
    assert isinstance(seated.players[0], Copycat)


# -- a metric --------------------------------------------------------------------------------------


def exact_bids(engine, lanes):
    """Return in how many rounds each seat has made its bid, (k, P)."""
    return engine.get_states(lanes)["hits"][:, : engine.get_outcomes(lanes).shape[1]]


EXACT_BIDS = Column("measure", "rounds", "exact bids", 1, read=exact_bids)
# Skull King with one more column.
MEASURED_GAMES = replace(
    skullking.FLAT, columns={**skullking.FLAT.columns, "exact_bids": EXACT_BIDS}
)


def test_the_columns_of_the_page_are_possible():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names = {"Column": Column, "exact_bids": exact_bids}
    exec(code, names)
    assert all(column.is_measured for column in names["columns"].values())


@pytest.fixture
def run(tmp_path):
    games.register(FLAT, MEASURED_GAMES)
    shutil.copytree(RUN, tmp_path / RUN.name)
    yield RunFolder.open(tmp_path / RUN.name)
    games.register(FLAT, skullking.FLAT)


def test_a_metric_is_in_the_table_of_an_evaluation_and_its_record(run, capsys):
    flags = ["--games", "8", "--opponents", "random"]
    assert evaluate.main([str(run.path), *flags]) == 0
    assert "exact bids" in capsys.readouterr().out
    players = json.loads((run.path / "evaluation.json").read_text())["matches"]["results"]["random"]
    for means in players.values():
        value, low, high = means["exact_bids"]
        assert 0 <= low <= value <= high <= 10
        assert value == pytest.approx(10 * means["bid_hit"][0])
    (strength,) = [s for s in make_sections([read_run(run.path)]) if "well" in s["title"]]
    tables = [part["head"] for part in strength["parts"] if part["kind"] == "table"]
    assert any("exact bids" in columns for columns in tables)


def test_a_metric_is_in_comparisons_and_curves(run):
    trained = load(run)
    options = run.config.evaluation.replace(games=8, curve_games=8, opponents=("random",))
    results = play_for_comparison(run, trained, options, run.config)
    runs = [{"variant": name, "results": results} for name in ("a", "b")]
    compared = compare_over_seeds(runs, "a")["random"]["b"]["exact_bids"]
    assert compared["minus_baseline"][0] == 0
    curve = RunFolder(run.path, run.config.replace(evaluation=options))
    line = CurveEvaluator(curve).evaluate(
        1, trained.steps, read_again(trained.path).model["policy"]
    )
    assert line["results"]["exact_bids, 3 x rule_hard"][0] > 0


def test_a_metric_is_in_a_contest(run, tmp_path, capsys):
    path = tmp_path / "found.json"
    flags = ["--env", FLAT, "--games", "8", "--output-path", str(path)]
    assert evaluate.main(["rule_hard", "--against", "random", *flags]) == 0
    assert "exact bids" in capsys.readouterr().out
    table = {one["name"]: one for one in json.loads(path.read_text())["players"]}
    assert table["rule_hard"]["exact_bids"][1] > table["random"]["exact_bids"][2]
    same = contest(load_players(["rule_hard", "random"]), 8, env=FLAT)
    assert same.record()["players"][0]["exact_bids"] == table["rule_hard"]["exact_bids"]


# -- an evaluation ---------------------------------------------------------------------------------

TWO_AGAINST_TWO = Evaluation(
    "two against two",
    FLAT,
    {"deals": "duplicate"},
    who=("rule_hard", "rule_hard"),
    against=("random", "random"),
    seeds=range(10),
    rotations=4,
    at_table=True,
    decides="win",
)


def test_an_evaluation_is_data():
    results = play(TWO_AGAINST_TWO)
    assert len(results) == 10 * 4 * 4
    assert results.players == ["rule_hard", "random"]
    strong, weak = (results.of(player=name) for name in results.players)
    assert len(strong) == len(weak) == 10 * 4 * 2
    wins = strong.mean(TWO_AGAINST_TWO.decides)
    assert wins.low > 0.25
    assert 2 * (wins.value + weak.mean("win").value) == pytest.approx(1)
    gap = results.difference("rule_hard", "random", "points")
    assert gap.low > 0
    assert gap.value == pytest.approx(strong["points"].mean() - weak["points"].mean())
    again = type(results).read(json.loads(json.dumps(results.record())), FLAT)
    np.testing.assert_array_equal(again["win"], results["win"])
    assert again.mean("points") == results.mean("points")
