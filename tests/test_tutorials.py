"""Listings and commands of docs/tutorials/ run as they stand, step by step.

Those of the pages on new games and on search have tests of their own.
"""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.needs import needs_core
from tests.processes import run_python

ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
STEP = re.compile(r"^```(python|sh)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
# What a page says, and what takes less time in a test.
SHORTER = {
    "first_steps": {"--seconds 10": "--seconds 1"},
    "train_and_watch": {
        **{"--total-steps 300k": "--total-steps 10k", "--total-steps 400k": "--total-steps 20k"},
        **{"--episodes 200": "--episodes 8", "evaluation.episodes=200": "evaluation.episodes=4"},
        **{"--out my-agent.gif": "--max-steps 3 --out my-agent.gif"},
    },
    "own_rom": {
        "--total-steps 100k": "--total-steps 8k",
        "--out walk.gif": "--max-steps 3 --out walk.gif",
    },
}
WRITTEN = {
    "first_steps": (),
    "train_and_watch": ("my-agent.gif", "runs/my-agent/summary.json", "exported/config.json"),
    "own_rom": ("my.png", "my-states.npz", "my-goal/goal.json", "walk.gif", "my-map.json"),
}


def steps_of(page: str) -> list[tuple[str, str]]:
    """Return the listings and commands of a page in their order, with its text made shorter."""
    text = (TUTORIALS / f"{page}.md").read_text(encoding="utf-8")
    for said, short in SHORTER[page].items():
        assert said in text, said
        text = text.replace(said, short)
    return STEP.findall(text)


LISTINGS = [code for kind, code in steps_of("first_steps") if kind == "python"]


@pytest.mark.parametrize("number", range(len(LISTINGS)))
def test_listing_of_the_first_steps_runs(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    code = LISTINGS[number]
    for word, module in (("sb3_contrib", "sb3_contrib"), ("rgb_array", "PIL")):
        if word in code:
            pytest.importorskip(module)
    exec(compile(code, "first_steps.md", "exec"), {})  # it is our own text
    assert capsys.readouterr().out


@needs_core
@pytest.mark.slow
@pytest.mark.parametrize("page", SHORTER)
def test_the_page_followed_step_by_step(page: str, tmp_path: Path) -> None:
    for module in ("torch", "PIL", "sb3_contrib"):
        pytest.importorskip(module)
    for kind, text in steps_of(page):
        if kind == "python":
            assert run_python("-c", text, cwd=tmp_path).stdout
            continue
        for line in text.splitlines():
            command, *words = shlex.split(line)
            if command == "cp":
                shutil.copy(ROOT / words[0], tmp_path / words[1])
                continue
            assert command == "python", line
            assert run_python(*words, cwd=tmp_path).stdout
    assert [name for name in WRITTEN[page] if not (tmp_path / name).exists()] == []
