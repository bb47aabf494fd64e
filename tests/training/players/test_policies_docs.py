"""The examples of docs/howto/agents.md run as they stand."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/howto/agents.md").read_text(encoding="utf-8")
TEXTS = re.findall(r"## ([^\n]*)\n\n```python\n(.*?)```", PAGE, flags=re.DOTALL)
EXAMPLES = dict(TEXTS)


def test_there_is_an_example_of_each():
    assert list(EXAMPLES) == ["One game", "Many games", "Stable-Baselines3"]
    assert PAGE.count("```python") == 3


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(name, capsys, monkeypatch):
    if name == "Stable-Baselines3":
        pytest.importorskip("sb3_contrib")
    monkeypatch.chdir(ROOT)
    exec(compile(EXAMPLES[name], name, "exec"), {"__name__": "__main__"})
    assert re.fullmatch(r"[^\n]*\d[^\n]*\n", capsys.readouterr().out)
