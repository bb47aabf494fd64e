"""The examples of docs/howto/views.md run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")
pytest.importorskip("pettingzoo")

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "howto" / "views.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^#+ ([^\n]*)\n(?:(?!^#).)*?```python\n(.*?)```", PAGE, re.DOTALL | re.M)


def test_every_view_has_an_example():
    titles = [title for title, _ in EXAMPLES]
    assert titles[:5] == [
        *("Gymnasium", "Many environments", "Stable-Baselines3", "PettingZoo", "Torch"),
    ]
    assert PAGE.count("```python") == len(EXAMPLES)


@pytest.mark.slow
def test_examples_run():
    """All in one process, each with names of its own."""
    code = "\n".join(f"exec({text!r}, {{}})" for _, text in EXAMPLES)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(EXAMPLES), done.stdout
