"""The look-ahead of Dr. Mario: exact successors, judged by an evaluator; nothing hidden is used."""

import json
from functools import cache

import numpy as np
import pytest

from fastenv.drmario.tables import Reason
from fastenv.errors import ConfigError
from tests.tables import walk
from training.apps.drmario import seeds
from training.apps.drmario.best_times import ENV
from training.apps.drmario.evaluator import command, model
from training.apps.drmario.evaluator.features import UNKNOWN, situations
from training.apps.drmario.evaluator.lookahead import LookAhead, lookahead
from training.apps.drmario.evaluator.model import Head
from training.players.names import find_player
from training.players.player import every_lane
from training.run.envs import make_engine

SEED = 27_182
LANES = 5


class Judged:
    """In place of a network: frames that depend on everything an evaluator is shown."""

    head = Head(t_max=9_000)

    def costs(self, seen, measure):
        cells = seen["board"].astype(np.int64) * (1 + np.arange(128) * 37 % 101)
        pill = np.where(seen["pill"] == UNKNOWN, 7, seen["pill"].astype(np.int64) + 1)
        return ((cells.sum(1) + 13 * pill.sum(1)) % 997).astype(np.float32)

    def check(self, levels, speeds):
        pass


def engine_at(decision, level=2, lanes=LANES):
    """An engine whose games have come to some decision by random placements."""
    engine = make_engine(ENV, lanes, {"level": level})
    engine.reset_many(seeds=SEED)
    rng = np.random.default_rng(SEED)
    for _ in range(decision):
        engine.step_many([rng.choice(np.flatnonzero(mask)) for mask in engine.mask])
    return engine


@cache
def single_game():
    return make_engine(ENV, 1, {})


def after(row, action):
    """What a single game comes to by a placement: its engine, until the next call."""
    single = single_game()
    single.set_states(row)
    single.step_many([action], autoreset=False)
    return single


def cost_by_hand(row, action, further):
    """Frames of a placement, and what is judged of the bottle behind it, or of the best behind."""
    single = after(row, action)
    (reached,), frames = single.get_states(), int(single.tau[0])
    if reached["reason"] == Reason.CLEAR:
        return frames
    if reached["done"]:
        return frames + Judged.head.t_max
    if not further:
        return frames + float(Judged().costs(situations(np.array([reached])), None)[0])
    best = np.inf
    for then in np.flatnonzero(single.mask[0].copy()):
        second = after(reached, then)
        rest = float(second.get_states()["reason"][0] != Reason.CLEAR) * Judged.head.t_max
        if not second.ended[0]:
            seen = situations(second.get_states())
            seen["pill"] = UNKNOWN
            rest = float(Judged().costs(seen, None)[0])
        best = min(best, int(second.tau[0]) + rest)
    return frames + best


@walk("decision", [0, 3, 9])
def test_costs_equal_those_of_placements_played_one_by_one(decision):
    engine = engine_at(decision, lanes=2)
    look, lanes = LookAhead(Judged(), engine), every_lane(engine)
    got = look.costs(engine, lanes)
    for lane, row in enumerate(engine.get_states()):
        feasible = np.flatnonzero(engine.mask[lane])
        wanted = [cost_by_hand(row, action, False) for action in feasible]
        np.testing.assert_array_equal(got[lane, feasible], np.array(wanted, np.float32))
        assert np.isinf(np.delete(got[lane], feasible)).all()
    assert (look.act(engine, lanes) == got.argmin(1)).all()


@pytest.mark.slow
def test_two_steps_equal_those_played_one_by_one(monkeypatch):
    monkeypatch.setattr("training.apps.drmario.evaluator.lookahead.BEAM", 3)
    engine = engine_at(9, lanes=1)
    (row,) = engine.get_states()
    lanes = every_lane(engine)
    got = LookAhead(Judged(), engine, depth=2).costs(engine, lanes)[0]
    first = LookAhead(Judged(), engine).costs(engine, lanes)[0]
    best = np.argsort(first, kind="stable")[:3]
    wanted = [cost_by_hand(row, action, True) for action in best]
    np.testing.assert_array_equal(got[best], np.array(wanted, np.float32))
    assert np.isfinite(got).sum() == 3


def test_where_all_placements_lose_first_ones_keep_their_costs():
    engine, lanes = engine_at(0, lanes=2), np.arange(2)
    rows, cells = engine.get_states(), np.arange(128)
    full = 0xD0 | (cells // 8 + 2 * cells) % 3  # no line of four, and no room for another pill
    rows["players"]["board"][0, 0] = np.where((cells == 3) | (cells == 4), 0xFF, full)
    engine.set_states(rows, trusted=True)
    one, two = (LookAhead(Judged(), engine, depth=depth) for depth in (1, 2))
    costs, further = one.costs(engine, lanes), two.costs(engine, lanes)
    lost = costs[0, np.isfinite(costs[0])]
    assert len(lost)
    assert (lost > Judged.head.t_max).all()
    np.testing.assert_array_equal(further[0], costs[0])
    assert (further[1] != costs[1]).any()
    np.testing.assert_array_equal(two.costs(engine, lanes[:1])[0], costs[0])


@walk("depth", [1, 2])
def test_nothing_hidden_decides(depth):
    """Pills behind the preview and the generator are others; costs are the same."""
    engine, other = engine_at(4), engine_at(4)
    rows = engine.get_states()
    rng = np.random.default_rng(SEED)
    rows["reserve"] = rng.integers(9, size=rows["reserve"].shape)
    rows["rng"] = rng.integers(1, 2**63, size=rows["rng"].shape, dtype=np.uint64)
    other.set_states(rows, trusted=True)
    look, lanes = LookAhead(Judged(), engine, depth=depth), every_lane(engine)
    np.testing.assert_array_equal(look.costs(engine, lanes), look.costs(other, lanes))
    players = rows["players"]
    players["preview_first"] = (players["preview_first"] + 1) % 3  # which a player does see
    other.set_states(rows, trusted=True)
    assert (look.costs(engine, lanes) != look.costs(other, lanes)).any()


def test_lanes_that_it_is_not_asked_for_change_nothing():
    engine = engine_at(0)
    engine.step_many(engine.mask.argmax(1), autoreset=False)
    look, some = LookAhead(Judged(), engine), np.array([0, 2, 4])
    actions = look.act(engine, some)
    assert (actions == look.act(engine, every_lane(engine))[some]).all()
    assert engine.mask[some, actions].all()


def test_other_environments_are_refused():
    for env in ("DrMarioFrame-v0", "DrMarioVersus-v0"):
        with pytest.raises(ConfigError, match="one player, placements"):
            LookAhead(Judged(), make_engine(env, 2, {}))
    with pytest.raises(ConfigError, match="depth=3"):
        LookAhead(Judged(), make_engine(ENV, 1, {}), depth=3)


# -- by name, and on the command line --------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """An evaluator after next to no training."""
    path = tmp_path_factory.mktemp("evaluator") / "small.safetensors"
    tiny = {
        **{"levels": "(0,1)", "hidden": 8, "quantiles": 5, "t_max": 4000},
        **{"bot_games": 4, "bot_steps": 3, "most": 90},
    }
    flags = [flag for name, value in tiny.items() for flag in ("--set", f"{name}={value}")]
    assert command.main(["train", "--out", str(path), *flags]) == 0
    return path


def test_training_writes_what_it_was(file):
    head = model.load(file).head
    assert head.levels == (0, 1)
    assert head.about["bot_games"] == 4
    assert head.about["most"] == 90


def test_names_of_players(file):
    engine = engine_at(1, level=1)
    lanes = every_lane(engine)
    for name in (
        f"lookahead:{file}",
        f"lookahead:{file}:cvar0.25",
        f"lookahead:{file}:mean:depth2",
    ):
        action = lookahead(name)(engine).act(engine, lanes)
        assert engine.mask[lanes, action].all()
    plain = LookAhead(model.load(file), engine, "quantile0.75").costs(engine, lanes)
    named = lookahead(f"lookahead:{file}:quantile0.75")(engine).costs(engine, lanes)
    np.testing.assert_array_equal(plain, named)
    for name, words in ((f"lookahead:{file}:worst", "risk="), ("lookahead:none", "evaluator=")):
        with pytest.raises(ConfigError, match=words):
            lookahead(name)
    assert find_player("DrMarioPlacement-v0", "greedy") is None
    assert find_player("DrMarioVersus-v0", f"lookahead:{file}") is None


def test_calibrate_and_compare_write_records(file, tmp_path, capsys):
    out = tmp_path / "found.json"
    flags = ["--games", "3", "--out", str(out)]
    assert command.main(["calibrate", str(file), "--player", "greedy", *flags]) == 0
    found = json.loads(out.read_text())["calibrate"]
    assert found["games"] == 3
    assert len(found["shares"]) == 9
    who = ["greedy", f"lookahead:{file}"]
    assert command.main(["compare", *who, "--levels", "0", "--games", "2", "--out", str(out)]) == 0
    record = json.loads(out.read_text())["compare"]
    assert record["decisions_per_cpu_s"][who[1]] > 0
    found = record["levels"]["0"]
    assert found["greedy"]["clear"][0] == 1
    assert len(found[who[1]]["less_first"]["tail"]) == 3
    assert command.main(["compare", *who, "--levels", "9", "--games", "2"]) == 2
    assert "trained for levels 0 to 1" in capsys.readouterr().err
    assert command.main(["compare", "nobody"]) == 2
    assert "the file of a player" in capsys.readouterr().err


NONSENSE = [
    (["greedy", "greedy"], "WHO=['greedy', 'greedy'] is not possible: WHO must be different"),
    (["greedy", "--levels", "0", "0"], "--levels=[0, 0] is not possible"),
    (["greedy", "--games", "0"], "--games=0 is not possible"),
    (["greedy", "--seed", "-1"], "--seed=-1 is not possible"),
]


def test_a_comparison_that_makes_no_sense_is_refused(capsys, subtests):
    for words, says in NONSENSE:
        with subtests.test(says):
            assert command.main(["compare", *words]) == 2
            assert says in capsys.readouterr().err


def test_a_name_of_a_bot_and_of_a_run_is_refused(tmp_path, capsys):
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "config.json").write_text("{}")
    runs = ["--runs", str(tmp_path)]
    asked = f"who='first' is not possible: who must be the path {tmp_path / 'first'}"
    assert command.main(["compare", "first", *runs]) == 2
    assert asked in capsys.readouterr().err
    assert seeds.main(["first", *runs, "--out", str(tmp_path / "out")]) == 2
    assert asked in capsys.readouterr().err


SETTINGS = ["bot_games", "="]


def test_a_setting_without_a_name_or_a_value_is_refused(capsys, subtests):
    for text in SETTINGS:
        with subtests.test(repr(text)):
            with pytest.raises(SystemExit):
                command.main(["train", "--out", "x.safetensors", "--set", text])
            assert "argument --set: " in capsys.readouterr().err


def test_sweep_compares_quantiles_game_by_game(file, tmp_path, capsys):
    parquet = pytest.importorskip("pyarrow.parquet")
    name, flags = f"lookahead:{file}", ["--seeds", "1", "--episodes", "1", "--t-max", "500"]
    out = ["--out", str(tmp_path / "sweep")]
    assert seeds.main([name, *out, *flags, "--risk-taus", "0.25", "0.75"]) == 0
    rows = parquet.read_table(tmp_path / "sweep" / "seeds.parquet").to_pylist()
    assert [(row["seed_id"], row["risk_tau"]) for row in rows] == [
        ("L00_S000", 0.25),
        ("L00_S000", 0.75),
    ]
    levels = json.loads((tmp_path / "sweep" / "seeds.json").read_text())["levels"]
    assert [(found["level"], found["risk_tau"]) for found in levels] == [(0, 0.25), (0, 0.75)]
    assert "less_first" not in levels[0]
    gap = levels[1]["cvar_25"][0] - levels[0]["cvar_25"][0]
    assert levels[1]["less_first"]["cvar_25"][0] == pytest.approx(gap)
    further = [f"{name}:depth2", "--out", str(tmp_path / "two"), *flags, "--risk-taus", "0.5"]
    assert seeds.main(further) == 0
    page = tmp_path / "report.html"
    from training import report

    folders = [str(tmp_path / "sweep"), str(tmp_path / "two")]
    assert report.main([*folders, "--out", str(page)]) == 0
    shown = page.read_text()
    for words in (
        "Over seeds, by level",
        "sweep, quantile 0.75",
        "two, quantile 0.5",
        "worst 25 %",
    ):
        assert words in shown
    (tmp_path / "two" / "seeds.json").write_text("{}")
    assert report.main([*folders, "--out", str(page)]) == 2
    assert "seeds.json has no figures by level" in capsys.readouterr().err
    assert seeds.main([name, *out, *flags, "--risk-taus", "2"]) == 2
    assert "risk=" in capsys.readouterr().err
    assert seeds.main(["greedy", *out, *flags, "--risk-taus", "0.5"]) == 2
    assert "--risk-taus" in capsys.readouterr().err
