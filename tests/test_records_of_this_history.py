"""What a record was measured on can be checked out: its commit is in the history."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RECORDS = sorted([*ROOT.glob("benchmarks/*.json*"), *ROOT.glob("pretrained/*/*.json")])
# The pair is of a commit that never landed, and is to be taken again; the history has all.
OWED = {"pair-5-seeds.json", "history.jsonl"}


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)


@pytest.fixture(scope="module")
def history():
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("this is no checkout with its history")
    return set(git("rev-list", "HEAD").stdout.split())


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_commit_of_a_record_is_in_the_history(path, history):
    text = path.read_text(encoding="utf-8")
    commits = set(re.findall(r'"git_rev": "([0-9a-f]{7,40})"', text))
    unknown = {each for each in commits if not any(known.startswith(each) for known in history)}
    assert path.name in OWED or not unknown
