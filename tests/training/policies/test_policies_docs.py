"""The examples of docs/policies.md run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/policies.md").read_text(encoding="utf-8")
TEXTS = re.findall(r"## ([^\n]*)\n\n```python\n(.*?)```", PAGE, flags=re.DOTALL)
EXAMPLES = dict(TEXTS)


def test_there_is_an_example_of_each():
    assert list(EXAMPLES) == ["One game", "Many games", "Stable-Baselines3"]
    assert PAGE.count("```python") == 3


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(name):
    if name == "Stable-Baselines3":
        pytest.importorskip("sb3_contrib")
    command = [sys.executable, "-W", "error::DeprecationWarning:training", "-c", EXAMPLES[name]]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    assert re.fullmatch(r"[^\n]*\d[^\n]*\n", found.stdout)
