import io
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from tests.slow import every
from tests.tables import walk
from training.evaluate import main
from training.evaluation import conclusion, run_evaluation
from training.evaluation.judging import ShownColumn, get_judging
from training.evaluation.results import EvaluationReport
from training.players.trained import load
from training.run.folder import RunFolder
from training.run.games import Column
from training.run.seeds import MATCH_SEEDS, STREAMS, stream_seed


def test_evaluation_of_a_worker_reports_points_and_goals(train, tmp_path, capsys):
    assert train(tmp_path, "w", "--total-steps", 128, evaluation=True) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("w: SkullKingWorker-v0, 128 decisions of trainer native in ")
    assert said[1].startswith("compared with: the best scripted player in each of 3 comparisons: ")
    assert re.match(r"better or not: .* \(by 95 % intervals\)", said[2])
    assert len(said) <= 28
    end = said.index(f"all tables: {tmp_path / 'w/evaluation.txt'}")
    assert all(len(line) <= 80 for line in said[3:end])
    assert said[-1].startswith("next: python -m training ")
    assert re.match(r" +wins % against +wins % against +% of *$", said[4])
    best = said[1].split(": ")[-1].split(", ")[0]
    assert said[7].startswith(best)
    assert re.match(r"even share +25\.0 +25\.0 *$", said[10])
    printed = (tmp_path / "w/evaluation.txt").read_text()
    assert printed.index("on the same deals") < printed.index("The same goals and deals")
    assert re.search(r"trained reaches [\d.]+ \[.*, the best of the scripted players", printed)
    record = json.loads((tmp_path / "w/evaluation.json").read_text())
    assert set(record["matches"]["results"]) == {"random", "rule_hard"}
    for policies in record["matches"]["results"].values():
        assert set(policies) == {"random", "rule_hard", "heuristic", "trained"}
        for found in policies.values():
            for name in ("points", "margin", "win_rate", "rank", "bid_hit", "bid_hit_late"):
                value, low, high = found[name]
                assert low <= value <= high
    assert "not a measure of strength" in record["matches"]["shaped_return_is"]
    rates = record["goals"]["rates"]
    assert set(rates) == {"random", "rule_hard", "heuristic", "trained"}
    assert record["goals"]["episodes"] == 64


def printed(found, width=80):
    """Return the lines of the tables; the last line of one is followed by an empty one."""
    out = io.StringIO()
    for block in conclusion.make_tables(found):
        Console(file=out, width=width).print(block, "", sep="\n")
    return out.getvalue().splitlines()


def compared(results, headline, players=4):
    record = {"matches": {"players": players, "results": results}}
    return conclusion.compare(record, SimpleNamespace(find_headline=headline))


def of_points(players):
    return ShownColumn("points", Column("measure", decimals=1)), None


def of_wins(players):
    return ShownColumn("wins", Column("share", decimals=1)), 1 / players


def test_columns_break_between_words_alone():
    policies = {
        "trained": {"points": [-1234567.25, -2345678.5, -987654.5]},
        "a_scripted_player_of_old": {"points": [1234567.25, 987654.5, 2345678.5]},
    }
    names = ("rule_pi_hard", "mixed", *(f"bot_{k}" for k in range(8)))
    found = compared(dict.fromkeys(names, policies), of_points)
    lines = printed(found)
    words = {word for each in found for text in (each.ours, each.played) for word in text.split()}
    assert words | {"a_scripted_player_of_old"} <= {"against", *" ".join(lines).split()}
    assert max(map(len, lines)) <= 80
    assert "worse in 10" in conclusion.summarise(found)[1]


def test_everybody_stands_beside_an_even_share_the_best_first():
    results = {
        "rule_hard": {
            "random": {"wins": [0.004, 0.001, 0.007]},
            "rule_hard": {"wins": [0.248, 0.23, 0.265]},
            "decoded bids": {"wins": [0.6, 0.58, 0.62]},  # of the trained network, no rival
            "heuristic": {"wins": [0.45, 0.427, 0.472]},
            "trained": {"wins": [0.607, 0.586, 0.628]},
        },
        "heuristic": {
            "heuristic": {"wins": [0.246, 0.237, 0.255]},
            "trained": {"wins": [0.25, 0.23, 0.27]},
        },
    }
    found = compared(results, of_wins)
    assert [line.rstrip() for line in printed(found)] == [
        "             wins % against      wins % against",
        "who plays    3 x rule_hard       3 x heuristic",
        "trained      60.7 [58.6, 62.8]   25.0 [23.0, 27.0]",
        "heuristic    45.0 [42.7, 47.2]   24.6 [23.7, 25.5]",
        "rule_hard    24.8 [23.0, 26.5]",
        "random        0.4 [0.1, 0.7]",
        "even share   25.0                25.0",
        "trained is   better              unclear",
        "",
    ]
    assert conclusion.summarise(found) == [
        "compared with: the best scripted player in each of 2 comparisons: heuristic",
        "better or not: better in 1, unclear in 1 (by 95 % intervals)",
    ]


def test_more_players_and_groups_than_fit_are_counted_and_broken_up():
    players = {f"bot_{k}": {"wins": [k / 100, 0, 0.2]} for k in range(15)}
    results = {f"set_{k}": {**players, "trained": {"wins": [0.5, 0.4, 0.6]}} for k in range(5)}
    lines = printed(compared(results, of_wins, players=2))
    heads = [line.split() for line in lines if "set_" in line]
    assert [head[2:] for head in heads] == [["set_0", "set_1", "set_2"], ["set_3", "set_4"]]
    assert [line.split()[0] for line in lines[2:5]] == ["trained", "bot_14", "bot_13"]
    assert sum(line.startswith("3 more") for line in lines) == 2
    assert sum(line.split() == ["even", "share", *["50.0"] * 3] for line in lines) == 1


def test_one_comparison_is_no_comparisons():
    scripted = {"random": "0 [0, 0]"}
    found = [conclusion.MeasureComparison("episodes", "return", "2 [1, 3]", scripted, "", 1)]
    assert conclusion.summarise(found) == [
        "compared with: the best scripted player: random",
        "better or not: better (by 95 % intervals)",
    ]
    assert not [line for line in printed(found) if "even share" in line]


def test_drawn_actions_are_judged_beside_the_best_ones():
    results = {
        "rule_hard": {
            "trained, drawn": {"wins": [0.5, 0.48, 0.52]},
            "trained": {"wins": [0.3, 0.28, 0.32]},
            "heuristic": {"wins": [0.45, 0.43, 0.47]},
        },
    }
    assert [line.rstrip() for line in printed(compared(results, of_wins))] == [
        "                    wins % against",
        "who plays           3 x rule_hard",
        "trained             30.0 [28.0, 32.0]",
        "trained, drawn      50.0 [48.0, 52.0]",
        "heuristic           45.0 [43.0, 47.0]",
        "even share          25.0",
        "trained is          worse",
        "trained, drawn is   better",
        "",
    ]


def test_nobody_to_compare_with_is_said():
    assert conclusion.summarise([])[0] == "compared with: nobody"
    assert conclusion.make_tables([]) == []


@walk(
    ("env", "measure", "even"),
    [
        ("SkullKingFlat-v0", "win_rate", 1 / 6),
        ("DrMarioVersus-v0", "win", 1 / 6),
        ("DrMarioPlacement-v0", "clear", None),
        ("Prospector-v0", "net_profit", None),
    ],
)
def test_what_the_end_shows_of_a_game(env, measure, even):
    shown, equals = get_judging(env).find_headline(6)
    assert (shown.name, equals) == (measure, even)


@pytest.mark.parametrize("width", [80, 140])
def test_terminal_breaks_lines_between_words(width, tmp_path, monkeypatch):
    record = {"matches": {"players": 6, "results": {"rule_hard": {}}}}
    assert list(conclusion.groups_of(record)) == ["against 5 x rule_hard"]
    line = "compared with: " + " ".join(f"word{k:04}" for k in range(40))
    out = io.StringIO()
    conclusion._say(Console(file=out, width=width, force_terminal=True, highlight=False), line)
    assert out.getvalue().split() == line.split()
    assert max(map(len, out.getvalue().splitlines())) <= width
    out = io.StringIO()
    conclusion._say(Console(file=out, width=width, highlight=False), line)
    assert out.getvalue() == line + "\n"


@pytest.mark.parametrize("tier", every(3, ["Flat", "Manager", "Ability"]))
def test_every_tier_is_evaluated(train, tmp_path, tier):
    flags = ("--env", f"SkullKing{tier}-v0", "--total-steps", 128)
    assert train(tmp_path, "x", *flags, evaluation=True) == 0
    record = json.loads((tmp_path / "x/evaluation.json").read_text())
    assert "trained" in record["matches"]["results"]["rule_hard"]
    assert ("goals" in record) == (tier == "Ability")
    assert ("abilities" in record) == (tier == "Ability")


def test_command_line_changes_what_is_played(finished, capsys):
    flags = ["--games", "4", "--opponents", "mixed", "--only", "matches", "--seed", "3"]
    assert main([str(finished), *flags]) == 0
    (finished / "evaluation.json").rename(finished.parent / "evaluation.json")
    record = json.loads((finished.parent / "evaluation.json").read_text())
    assert list(record["matches"]["results"]) == ["mixed"]
    assert record["matches"]["first_seed"] == MATCH_SEEDS + 3
    printed = capsys.readouterr().out
    assert "shaped return" in printed
    assert "trained against mixed, round by round" in printed


def test_sampled_actions_are_a_row_of_their_own(finished, tmp_path):
    run = shutil.copytree(finished, tmp_path / "drawn")
    assert main([str(run), "--games", "4", "--opponents", "random", "--sample"]) == 0
    record = json.loads((run / "evaluation.json").read_text())
    assert record["policy"].startswith("highest legal logit; trained, drawn: ")
    results, goals = record["matches"]["results"]["random"], record["goals"]
    assert results["trained, drawn"]["points"] != results["trained"]["points"]
    assert goals["rates"]["trained, drawn"] != goals["rates"]["trained"]
    assert goals["best_scripted"] in ("random", "rule_hard", "heuristic")


def test_a_run_has_the_name_of_its_folder(finished, tmp_path, capsys):
    given = shutil.copytree(finished, tmp_path / "given-away")
    flags = ["--games", "4", "--opponents", "random", "--only", "matches"]
    assert main([str(given), *flags]) == 0
    assert capsys.readouterr().out.startswith("given-away: 4 games a row")


@walk(
    ("flags", "says"),
    [
        (["nowhere"], "there is no run"),
        (["{run}", "--opponents", "martians"], "martians"),
        (["{run}", "--games", "0"], "evaluation.games=0"),
        (["{run}", "--checkpoint", "ckpt_1"], "ckpt_1"),
        (["{run}", "--bot", "hold"], "--bot ['hold']: must be left out with a run of SkullKing"),
        (["{run}", "--time-max", "5"], "--time-max 5.0: must be left out"),
        (["--bots", "--games", "4"], "--games 4: must be left out with --bots"),
    ],
)
def test_bad_request_is_refused(finished, capsys, flags, says):
    assert main([flag.format(run=finished) for flag in flags]) == 2
    assert says in capsys.readouterr().err


def test_streams_of_a_seed_differ():
    seeds = {stream_seed(seed, name) for seed in range(20) for name in STREAMS}
    assert len(seeds) == 20 * len(STREAMS)


def test_damaged_checkpoint_is_replaced_by_the_one_before_unless_it_was_named(
    finished, tmp_path, capsys
):
    run = Path(shutil.copytree(finished, tmp_path / "copy"))
    (run / "checkpoints/ckpt_000000000512/model.pt").write_bytes(b"half")
    flags = [str(run), "--games", "4", "--opponents", "random", "--only", "matches"]
    assert main(flags) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("warning: ")
    assert json.loads((run / "evaluation.json").read_text())["steps"] == 256
    assert main([*flags, "--checkpoint", "ckpt_000000000512"]) == 2
    assert "model.pt is damaged" in capsys.readouterr().err


def test_what_a_command_asks_for_beyond_the_config_is_passed_on(finished, tmp_path, monkeypatch):
    run = RunFolder.open(shutil.copytree(finished, tmp_path / "run"))
    asked = []

    def evaluated(_console, _name, _trained, _options, given):
        asked.append(given)
        return EvaluationReport({})

    monkeypatch.setattr(run_evaluation, "evaluate_trained", evaluated)
    options = run.config.evaluation.replace(replays=0)
    run_evaluation.evaluate(run, options, Console(file=io.StringIO()), only="matches")
    assert asked == [{"only": "matches"}]


def test_in_a_comparison_all_play_the_game_of_the_baseline(finished, tmp_path, monkeypatch):
    run = RunFolder.open(shutil.copytree(finished, tmp_path / "run"))
    reference = run.config.replace(env_options={"opponents": "rule_hard", "num_players": 3})
    seen = []

    def noted(evaluation):
        seen.append(evaluation.options)
        raise KeyboardInterrupt

    monkeypatch.setattr(run_evaluation, "play", noted)
    with pytest.raises(KeyboardInterrupt):
        run_evaluation.play_for_comparison(run, load(run), run.config.evaluation, reference)
    assert seen[0]["num_players"] == 3
