"""Every listing of docs/search.md runs as it stands, and every option that it names is one."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import needs_core

pytest.importorskip("torch")

from training.search.options import SearchOptions

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "search.md").read_text(encoding="utf-8")
LISTINGS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@needs_core
@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(LISTINGS)))
def test_listing_runs(number):
    done = subprocess.run(
        [sys.executable, "-c", LISTINGS[number]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_options_that_the_page_names_are_options():
    named = {name for name in re.findall(r"[`,](\w+)=", PAGE) if name != "name"}
    known = {*SearchOptions.names(), "seed", "until", "players", "agents"}
    assert named <= known, named - known
