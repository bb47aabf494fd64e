import io
import json
import re
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from training.evaluate import main
from training.evaluation import conclusion
from training.evaluation.tables import format_interval
from training.run.envs import STREAMS, stream_seed
from training.run.seeds import MATCH_SEEDS


def test_evaluation_of_a_worker_reports_points_and_goals(train, tmp_path, capsys):
    assert train(tmp_path, "w", "--total-steps", 128, evaluation=True) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("w: SkullKingWorker-v0, 128 decisions of trainer native in ")
    assert said[1].startswith("against whom: the best scripted player in each of 3 comparisons: ")
    assert re.match(r"better or not: .* \(by 95 % intervals\)", said[2])
    assert len(said) <= 28
    assert all(len(line) <= 80 for line in said[3:-1])
    assert said[-1] == f"all tables: {tmp_path / 'w/evaluation.txt'}"
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


def test_columns_break_between_words_alone():
    policies = {
        "trained": {"points": [-1234567.25, -2345678.5, -987654.5]},
        "a_scripted_player_of_old": {"points": [1234567.25, 987654.5, 2345678.5]},
    }
    names = ("rule_pi_hard", "mixed", *(f"bot_{k}" for k in range(8)))
    record = {"matches": {"results": dict.fromkeys(names, policies)}}
    found = conclusion.compare(
        record, lambda group: ("points", "points", lambda x: format_interval(x, 1))
    )
    out = io.StringIO()
    Console(file=out, width=80).print(conclusion.table(found))
    words = {word for each in found for part in each[:5] for word in part.split()} - {"against"}
    assert words <= set(out.getvalue().split())
    assert max(map(len, out.getvalue().splitlines())) <= 80
    assert "worse in 10" in conclusion.verdict(found)[1]


def test_one_comparison_is_no_comparisons():
    found = [
        conclusion.MeasureComparison("episodes", "return", "2 [1, 3]", "random", "0 [0, 0]", 1)
    ]
    assert conclusion.verdict(found) == [
        "against whom: the best scripted player: random",
        "better or not: better (by 95 % intervals)",
    ]


@pytest.mark.parametrize("width", [80, 140])
def test_terminal_breaks_lines_between_words(width, tmp_path, monkeypatch):
    record = {"matches": {"players": 6, "results": {"rule_hard": {}}}}
    assert list(conclusion.groups_of(record)) == ["against 5 x rule_hard"]
    line = "against whom: " + " ".join(f"word{k:04}" for k in range(40))
    out = io.StringIO()
    conclusion._say(Console(file=out, width=width, force_terminal=True, highlight=False), line)
    assert out.getvalue().split() == line.split()
    assert max(map(len, out.getvalue().splitlines())) <= width
    out = io.StringIO()
    conclusion._say(Console(file=out, width=width, highlight=False), line)
    assert out.getvalue() == line + "\n"


@pytest.mark.parametrize("tier", ["Flat", "Manager", "Ability"])
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


def test_a_run_has_the_name_of_its_folder(finished, tmp_path, capsys):
    given = shutil.copytree(finished, tmp_path / "given-away")
    flags = ["--games", "4", "--opponents", "random", "--only", "matches"]
    assert main([str(given), *flags]) == 0
    assert capsys.readouterr().out.startswith("given-away: 4 games a row")


@pytest.mark.parametrize(
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
