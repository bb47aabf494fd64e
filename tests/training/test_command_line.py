"""The command line: what it lists, what it imports, which modules start one."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.processes import run_python
from tests.tables import walk
from training import benchmark_v9
from training.__main__ import main
from training.commands import gpu_check, matrix, profile
from training.run import machine
from training.run.registry import COMMANDS, PROGRAMS, main_commands, parts_of

TRAINING = Path(machine.ROOT) / "training"
NAMES = [*main_commands(COMMANDS), *main_commands(PROGRAMS)]
EVERY = [*([name] for name in NAMES), *([name, part] for name in NAMES for part in parts_of(name))]
INNER = [
    *(["evaluator", part] for part in ("train", "calibrate", "compare")),
    *(["reader", part] for part in ("train", "evaluate", "play")),
]
# What takes long to import, and no help needs.
HEAVY = {"torch", "numba", "scipy", "optuna", "matplotlib", "stable_baselines3", "textual", "ray"}


def test_alone_it_lists_every_command(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 40
    for name in NAMES:
        assert re.search(rf"^  {name} .", shown, re.MULTILINE)
    assert len(NAMES) <= 14


@pytest.mark.parametrize("words", [*EVERY, *INNER], ids=" ".join)
def test_help_fits_a_screen_and_has_an_example(words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit, match="0"):
        main([*words, "--help"])
    shown = capsys.readouterr().out
    whole = f"python -m training {' '.join(words)} "
    assert shown.startswith(f"usage: {whole}")
    assert f"example: {whole}" in shown
    assert len(shown.splitlines()) <= 40
    assert max(map(len, shown.splitlines())) <= 80
    for part in parts_of(words[0]) if len(words) == 1 else ():
        assert f"  {words[0]} {part} " in shown


def test_runs_are_never_in_a_folder_without_a_name(capsys):
    asked = 0
    for words in (*EVERY, *INNER):
        with pytest.raises(SystemExit, match="0"):
            main([*words, "--help"])
        if "--runs" in capsys.readouterr().out:
            with pytest.raises(SystemExit, match="2"):
                main([*words, "--runs", ""])
            said = "argument --runs: '' is not possible: it must be the path of a folder\n"
            assert capsys.readouterr().err.endswith(said), words
            asked += 1
    assert asked >= 14


def test_help_imports_nothing_that_takes_long():
    """One child asks for all: what the first has imported that it should not is told of it."""
    program = """
import json, sys
from training.__main__ import main
for words in json.loads(sys.argv[1]):
    try: main([*words, "--help"])
    except SystemExit: print(*words, *sys.modules, sep="\\n", end="\\n\\n", file=sys.stderr)
"""
    asked = run_python("-c", program, json.dumps(EVERY)).stderr.strip().split("\n\n")
    assert len(asked) == len(EVERY)
    for words, imported in zip(EVERY, asked, strict=True):
        assert imported.startswith("\n".join(words))
        assert HEAVY & set(imported.split("\n")) == set(), words


def test_a_name_that_is_no_command_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["trane"])
    assert "invalid choice: 'trane'" in capsys.readouterr().err


# -- modules as commands ---------------------------------------------------------------------------


@walk("name", sorted({*COMMANDS} & {path.stem for path in TRAINING.glob("*.py")}))
def test_a_module_of_the_root_starts_its_command(name):
    assert 'if __name__ == "__main__":' in (TRAINING / f"{name}.py").read_text(encoding="utf-8")


# -- what is recorded of a command, and what parsers have as numbers -------------------------------


def test_a_record_has_the_command_as_it_is_typed(monkeypatch):
    for file, words, said in (
        ("/x/training/__main__.py", ["evaluate", "a b"], "python -m training evaluate 'a b'"),
        ("/x/training/train.py", ["--seed", "1"], "python -m training.train --seed 1"),
        (f"{machine.ROOT}/tools/roms.py", ["-x"], "python -m tools.roms -x"),
        (f"{machine.ROOT}/tools/site/__main__.py", [], "python -m tools.site"),
    ):
        monkeypatch.setattr(sys, "argv", [file, *words])
        assert machine.command() == said


def test_numbers_of_parsers_are_those_of_what_they_start():

    from benchmarks import gpu, skullking
    from training.bench import choices, configs, records
    from training.bench import profile as profiler
    from training.ppo.options import NativeRun

    assert tuple(configs.CONFIGS) == choices.CONFIGS
    args = benchmark_v9.parser().parse_args([])
    assert args.lanes == skullking.LANES
    assert args.floor_share == records.SHARE
    args = profile.parser().parse_args([])
    assert (args.floor_share, args.out) == (records.SHARE, profiler.FOLDER)
    run = NativeRun()
    assert {
        "backend": run.backend,
        "num_envs": run.num_envs,
        "env_threads": run.engine_threads,
        "rollout_steps": run.ppo.n_steps,
        "minibatches": run.rollout // run.ppo.batch_size,
        "epochs": run.ppo.n_epochs,
        "precision": "fp32",
    } == choices.FACTORS
    assert matrix.parser().parse_args([]).out == profiler.FOLDER / "matrix"
    assert gpu_check.parser().parse_args([]).lanes == gpu.LANES
