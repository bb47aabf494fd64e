"""``python -m fastenv compare`` and ``check`` from the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings

from benchmarks.faults import WAYS, summarise
from fastenv.__main__ import main
from fastenv.testing import RECIPES, check, compare, replay, strategies
from fastenv.testing.strategies import episodes
from fastenv.testing.tracks import Choice
from fastenv.testing.values import to_action
from tests.processes import run_python
from tests.tables import walk
from tests.testing import odd
from tests.testing.faulty import read_faults
from tests.testing.games.ferry import Ferry
from training.__main__ import main as train
from training.run.files import read_json

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "verify_any.md"
DROP = "tests.testing.games.drop"


def test_a_difference_is_printed_and_written_as_a_script(tmp_path, capsys):
    script = tmp_path / "shows.py"
    arguments = ["tests.testing.faulty:Raising", "tests.testing.games.ferry:Ferry"]
    assert main(["compare", *arguments, "--seconds", "0.5", "--script", str(script)]) == 1
    assert "step 3 of episode 0" in capsys.readouterr().out
    shown = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env={"PYTHONPATH": "."}
    )
    assert "RuntimeError: the engine is gone" in shown.stdout


PROGRAM = """
from fastenv.testing import check
from tests.testing.odd import Infinite


def make():
    return Infinite()

"""


def run_program(text, path):
    command = [sys.executable, path if text is None else "-"]
    return subprocess.run(
        command, input=text, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT)}
    )


def test_a_program_names_its_own_factories_and_says_how_it_must_look(tmp_path):
    program = tmp_path / "program.py"
    text = (
        PROGRAM + "if __name__ == '__main__':\n    print(check(make, seconds=0.3).faults[0].script)"
    )
    program.write_text(text)
    script = run_program(None, program).stdout
    assert f"{program}:make" in script
    again = run_program(script, None)
    assert again.returncode == 1
    assert "a reward is a finite number" in again.stdout
    program.write_text(PROGRAM + "check(make, seconds=0.3)")
    for done in (run_program(None, program), run_program(PROGRAM + "check(make)", None)):
        assert 'calls below if __name__ == "__main__"' in done.stderr
        assert "ConfigError" in done.stderr


@walk(
    "call",
    [
        lambda: compare(odd.OtherDraws, odd.OtherDrawsReference, sync=odd.set_walk, seconds=0.3),
        lambda: compare(odd.lake, "FrozenLake-v1", sync=RECIPES["FrozenLake"], seconds=0.3),
        lambda: check(partial(odd.Infinite, 3), seconds=0.3),
        lambda: check(odd.Infinite, options={"mode": AutoresetMode.SAME_STEP}, seconds=0.3),
        lambda: check(odd.Infinite, options={"sizes": np.arange(2)}, seconds=0.3),
    ],
)
def test_scripts_name_all_that_was_given(call, capsys):
    (finding,) = call().faults
    with pytest.raises(SystemExit, match="1"):
        exec(finding.script, {"__name__": "__main__"})
    assert finding.rule in capsys.readouterr().out


def test_a_case_that_cannot_be_played_is_said(capsys):
    assert not replay(env=Ferry, case=[0, {"": 9}])
    assert "cannot be played: {'': 9} is not legal" in capsys.readouterr().out


def test_what_environments_print_is_no_part_of_the_json():
    words = ["check", "tests.testing.odd:Prints", "--seconds", "0.2", "--json"]
    done = run_python("-m", "fastenv", *words)
    assert json.loads(done.stdout)["findings"] == []


def test_the_page_shows_what_its_commands_print(capsys):
    text = PAGE.read_text("utf-8")
    shown = re.findall(r"```\npython -m fastenv (.*?)\n```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(shown) == 3
    for command, printed in shown:
        assert main(command.split()) == 1
        said = capsys.readouterr().out.splitlines()
        for line in printed.splitlines():
            assert line in said, command


def test_the_action_of_the_page_is_yaml_and_its_command_runs(tmp_path, monkeypatch, capsys):
    (action,) = re.findall(r"```yml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(action.splitlines()) == 5
    steps = yaml.safe_load(action)["jobs"]["verify"]["steps"]
    assert steps[0] == {"uses": "actions/checkout@v4"}
    command = steps[1]["run"].partition("&& ")[2]
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "fast.py").write_text(
        "from gymnasium.envs.toy_text import TaxiEnv as Env\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    python, m, module, *words = command.split()
    assert (python, m, module) == ("python", "-m", "fastenv")
    assert main([*words, "--seconds", "0.3"]) == 0
    assert "my_package.fast:Env: none found" in capsys.readouterr().out


def test_the_property_of_the_page_holds_and_a_wrong_one_is_made_short():
    shown = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (text,) = (each for each in shown if "hypothesis" in each)
    names = {}
    exec(text, names)
    names["test_nothing_is_won_before_the_end"]()

    @settings(database=None, derandomize=True, max_examples=30)
    @given(episodes(Ferry))
    def test(episode):
        assert episode[-1][1]["", "observation"][2] > 22

    with pytest.raises(AssertionError) as caught:
        test()
    said = "".join(caught.value.__notes__)
    assert "episode=[(0," in said  # the simplest seed, and no step too many
    assert "'info.steps'): 2" in said


@walk("choice", [MultiDiscrete([2, 3]), Box(-1, 1, (2,)), Discrete(3, start=2)])
def test_drawn_actions_are_those_of_the_space(choice):
    actions = strategies._actions(Choice(choice))

    @settings(database=None, derandomize=True, max_examples=8)
    @given(actions)
    def test(plain):
        assert choice.contains(to_action(choice, plain))

    test()


def test_each_compare_names_the_other(capsys):
    for commands, other in ((main, "python -m training compare"), (train, "fastenv compare")):
        with pytest.raises(SystemExit):
            commands(["compare", "--help"])
        assert other in " ".join(capsys.readouterr().out.split())


def test_the_script_of_a_start_that_is_always_the_same_shows_it_again(capsys):
    class Again(Ferry):
        def reset(self, *, seed=None, options=None):
            return super().reset(seed=seed or 0, options=options)

    assert replay(env=Again, stress="reset without a seed", case=[])
    assert "goes on with the generator" in capsys.readouterr().out


def test_an_episode_beyond_the_limit_of_its_id_breaks_a_law(capsys):
    class Long(Ferry):
        spec = SimpleNamespace(max_episode_steps=1)

    assert replay(env=Long, case=[0, {"": 0}, {"": 0}])
    assert "no episode is longer than the limit" in capsys.readouterr().out


def test_none_found_exits_with_0_and_as_json(capsys):
    vector = f"{DROP}:DropVector"
    arguments = ["compare", vector, f"{DROP}:Drop", "--seconds", "0.3", "--json"]
    assert main([*arguments]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []


@walk(
    ("arguments", "words"),
    [
        (["check", "Nothing-v9"], "Nothing-v9"),
        (["check", f"{DROP}:Drop", "--seconds", "-1"], "--seconds -1: must be a finite number"),
        (["check", f"{DROP}:Drop", "--script", "/dev/null/a.py"], "a.py: cannot be written: "),
        (["verify", "--env", "KuhnPoker-v0", "--script", "/dev/null/a.py"], "cannot be written: "),
        (["check", "gymnasium:Env"], "Env: must be .* engine of fastenv: it has no action_space"),
        (
            ["check", f"{DROP}:Drop", "--twin", "nothing"],
            "twin='nothing': must be module:name of a function",
        ),
        (
            ["check", f"{DROP}:Drop", "--twin", "broken:twin"],
            "broken:twin: cannot be imported: SyntaxError: invalid syntax",
        ),
        (
            ["compare", f"{DROP}:Drop", f"{DROP}:Drop", "--sync", "a:b"],
            "sync='a:b': must be module:name of a function",
        ),
    ],
)
def test_what_cannot_run_exits_with_2(arguments, words, capsys, tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("def (")
    monkeypatch.syspath_prepend(tmp_path)
    assert main(arguments) == 2
    assert re.search(words, capsys.readouterr().err)


def test_the_record_of_faults_is_of_this_list():
    record = read_json(ROOT / "benchmarks" / "env-faults.json")
    rows = record["faults"]
    assert {way: record[way] for way in WAYS} == summarise(rows)
    assert [(row["file"], row["what"], row["early"]) for row in rows] == [
        (fault["file"], fault["what"], fault.get("early", False)) for fault in read_faults()
    ]


def test_importing_loads_neither_hypothesis_nor_pettingzoo():
    code = (
        "import sys, fastenv.testing\n"
        "print([name for name in ('hypothesis', 'pettingzoo', 'torch') if name in sys.modules])"
    )
    assert run_python("-c", code).stdout.strip() == "[]"
