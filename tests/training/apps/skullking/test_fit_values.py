"""What ``python -m training values`` refuses, and which of its games only judge."""

import numpy as np

from tests.needs import needs_core
from tests.tables import walk
from training.apps.skullking import fit_values


@walk(
    ("words", "says"),
    [
        (["--games", "0"], "--games=0 is not possible: --games must be from 8"),
        (["--games", "1000000000000"], "--games=1000000000000 is not possible"),
        (["--epochs", "0"], "--epochs=0 is not possible"),
        (["--hidden", "64", "0"], "--hidden=[64, 0] is not possible"),
        (["--seed", "-1"], "--seed=-1 is not possible"),
    ],
)
def test_numbers_without_sense_are_refused(words, says, tmp_path, capsys):
    out = tmp_path / "value.safetensors"
    assert fit_values.main(["heuristic", "--out", str(out), *words]) == 2
    assert says in capsys.readouterr().err
    assert not out.exists()


@needs_core
def test_an_eighth_of_few_games_only_judges(monkeypatch):
    from training.apps.skullking.round_view import RoundView
    from training.evaluation.contest import load_players, table_of

    played = []
    play = fit_values.play_samples
    monkeypatch.setattr(
        fit_values,
        "play_samples",
        lambda engine, *rest: played.append(engine.num_envs) or play(engine, *rest),
    )
    words = ["heuristic", "--out", "value.safetensors", "--games", "16"]
    args = fit_values.parser().parse_args(words)
    players = load_players([args.agent])
    table = table_of(players, "SkullKingFlat-v0")
    view = RoundView(table.make(1).game)
    seen, _, _, held = fit_values._collect_samples(args, players[0].who, table, view)
    assert played == [2] * 8
    assert len(held) == len(seen)
    assert 0.05 < np.mean(held) < 0.25
