"""Runs and their curves, read on while they are written, and the report of them."""

import json
import re

import pytest

from training.run import machine
from training.studio import report, runs
from training.studio.places import Places

PAGE = machine.ROOT / "training" / "studio" / "page"


def test_a_finished_run_is_listed_and_has_its_curves(finished):
    places = Places(finished.parent, machine.ROOT / "pretrained")
    listed = {entry["name"]: entry for entry in runs.listed(places)}
    entry = listed["done"]
    assert (entry["status"], entry["env"]) == ("finished", "SkullKingWorker-v0")
    assert listed["pretrained/skullking-ppo"]["has_agent"]
    message = runs.CurveReader({"done": finished}).read()
    lines = (finished / "metrics.jsonl").read_text().splitlines()
    points = message["curves"]["done"]["train/entropy"]
    assert [step for step, _ in points] == [json.loads(line)["step"] for line in lines]


def test_what_was_written_since_is_read_on(tmp_path):
    path = tmp_path / "metrics.jsonl"
    reader = runs.CurveReader({"one": tmp_path})
    assert reader.read()["curves"] == {"one": {}}
    assert reader.read() is None
    path.write_text('{"step": 1, "train": {"kl": 0.5}}\n{"step": 2, "tra')
    assert reader.read()["curves"]["one"] == {"train/kl": [[1, 0.5]]}
    assert reader.read() is None
    with path.open("a") as file:
        file.write('in": {"kl": 0.25}}\nnonsense\n[1]\n{"step": "x"}\n{"step": 3, "sps": NaN}\n')
    assert reader.read()["curves"]["one"] == {"train/kl": [[1, 0.5], [2, 0.25]]}


def test_long_curves_are_thinned(tmp_path):
    lines = [json.dumps({"step": step, "x": step}) for step in range(5000)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    points = runs.CurveReader({"one": tmp_path}).read()["curves"]["one"]["x"]
    assert len(points) <= runs.MAX_POINTS
    assert points[-1][0] > 4900


def test_measures_are_those_with_intervals(tmp_path):
    record = {"matches": {"win": [0.5, 0.4, 0.6], "games": 8, "list": [1, 2]}, "x": "y"}
    (tmp_path / "evaluation.json").write_text(json.dumps(record))
    entry = runs.CurveReader({"one": tmp_path}).read()["runs"][0]
    assert entry["evaluated"] == [["matches/win", 0.5, 0.4, 0.6]]


def test_a_report_is_one_file_that_holds_everything(finished, tmp_path):
    text = report.page({"done": finished, "<script>": tmp_path}, PAGE)
    assert "<title>Runs: done, &lt;script&gt;</title>" in text
    assert not re.search(r'(src|href)="', text)
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1]
    assert json.loads(data)["curves"]["done"]
    assert "showCurves" in text


@pytest.mark.parametrize("name", ["curves.js"])
def test_a_module_of_the_report_imports_nothing(name):
    assert "import " not in (PAGE / name).read_text(encoding="utf-8").replace("It imports", "")
