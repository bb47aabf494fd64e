"""The command that writes runs as one page, and what is on that page."""

import json
import re
import shutil

import pytest

from tests.processes import run_python
from training import report as command
from training.run import machine


def data_of(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a page of runs, and returns it."""

    def call(*runs, flags=()):
        out = tmp_path / "pages" / "report.html"
        assert command.main([*map(str, runs), "--out", str(out), *flags]) == 0
        return out.read_text(encoding="utf-8")

    return call


def test_the_page_holds_curves_and_what_is_said(finished, write, capsys):
    text = write(finished, flags=("--title", "My <runs>"))
    assert "1 run\n" in capsys.readouterr().out
    assert "<title>My &lt;runs&gt;</title>" in text
    found = data_of(text)
    assert [run["name"] for run in found["runs"]] == ["done"]
    assert len(found["curves"]["done"]["train/entropy"]) == 4
    assert found["sections"][0]["title"] == "Runs side by side"
    assert "class Report" in text


def test_the_page_needs_nothing_else(finished, write):
    text = write(finished)
    assert set(re.findall(r'(?:src|href)="([^"]*)"', text)) == {"data:,"}
    assert "default-src 'none'" in text
    assert not re.search(r"url\(|@import|\bimport[ (]|fetch\(", text)


def test_names_end_no_script(finished, tmp_path, write):
    bad = shutil.copytree(finished, tmp_path / "<script>x")
    (bad / "summary.json").write_text('{"status": "</script><script>alert(1)"}')
    text = write(bad)
    assert text.count("<script") == text.count("</script>") == 2
    assert "Runs: &lt;script&gt;x" in text
    assert "</script><script>alert(1)" in json.dumps(data_of(text)["sections"])


def test_runs_of_the_same_name_are_told_apart(finished, tmp_path, write):
    again = shutil.copytree(finished, tmp_path / "again" / finished.name)
    names = [run["name"] for run in data_of(write(finished, again, finished))["runs"]]
    assert names == [f"{finished.parent.name}/done", "again/done"]


def test_players_over_seeds_have_a_page_without_runs(tmp_path, write):
    level = {"level": 5, "speed": "low", "games": 8, "clear": [0.5, 0.4, 0.6]}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "seeds.json").write_text(json.dumps({"who": "greedy", "levels": [level]}))
    text = write(tmp_path / "mine")
    (section,) = data_of(text)["sections"]
    dots, table = section["parts"]
    assert dots["panels"][0]["rows"][0]["interval"] == [50.0, 40.0, 60.0]
    assert table["rows"][0][:3] == ["5", "low", "mine"]
    assert "Players: mine" in text


def test_elements_are_written_by_hand_in_templates_alone():
    sources = (machine.ROOT / "training").rglob("*.py")
    assert not [path for path in sources if "</" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("kind", ["missing", "empty"])
def test_what_is_no_run_is_refused(kind, tmp_path, capsys):
    path = tmp_path / "none"
    if kind == "empty":
        path.mkdir()
    out = tmp_path / "report.html"
    assert command.main([str(path), "--runs", str(tmp_path), "--out", str(out)]) == 2
    assert "is no run" in capsys.readouterr().err
    assert not out.exists()


def test_a_page_of_runs_waits_neither_for_torch_nor_for_the_studios_server(finished, tmp_path):
    told = (
        "import sys; from training import report; "
        f"report.main([{str(finished)!r}, '--out', {str(tmp_path / 'x.html')!r}]); "
        "print({'torch', 'starlette', 'matplotlib', 'jinja2'} & set(sys.modules))"
    )
    assert run_python("-c", told).stdout.splitlines()[-1] == "set()"
