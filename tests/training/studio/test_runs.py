"""Runs and their curves, read on while they are written, and the report of them."""

import json
import re
import shutil

from training.players import card
from training.run import machine
from training.run.jsonl import scan_lines
from training.studio import runs
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


def test_a_line_without_an_end_stops_no_curve(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "MAX_LINE", 100)
    monkeypatch.setattr(runs, "MAX_READ", 200)
    monkeypatch.setattr("training.run.jsonl.MAX_LINE", 100)
    path = tmp_path / "metrics.jsonl"
    reader = runs.CurveReader({"one": tmp_path})

    def read():
        found = reader.read_all()
        return found["curves"]["one"].get("x"), " ".join(found["sections"][0]["notes"])

    path.write_text('{"step": 1, "x": 1}\n' + "y" * 1000)
    points, notes = read()
    assert points == [[1, 1]]
    assert "metrics.jsonl: 1 line is left out" in notes
    with path.open("a") as file:
        file.write("y" * 1000 + '}\n{"step": 2, "x": 3}\n' + "[" * 50 + "\n")
    points, notes = read()
    assert points == [[1, 1], [2, 3]]
    assert "metrics.jsonl: 2 lines are left out" in notes
    assert [line["x"] for line in scan_lines(path).records] == [1, 3]
    assert scan_lines(path).left_out == 2


def test_long_curves_are_thinned(tmp_path):
    lines = [json.dumps({"step": step, "x": step}) for step in range(5000)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    points = runs.CurveReader({"one": tmp_path}).read()["curves"]["one"]["x"]
    assert len(points) <= runs.MAX_POINTS
    assert points[-1][0] > 4900


def test_evaluations_of_a_training_have_their_intervals(tmp_path):
    record = {
        "step": 5,
        "results": {"points": [1.5, 1.0, 2.0], "wins": 0.5, "odd": "x", "no": None},
    }
    (tmp_path / "evaluations.jsonl").write_text(json.dumps(record) + "\n")
    curves = runs.CurveReader({"one": tmp_path}).read()["curves"]["one"]
    assert curves == {"evaluation/points": [[5, 1.5, 1.0, 2.0]], "evaluation/wins": [[5, 0.5]]}


def test_an_evaluation_that_comes_later_is_said(finished, tmp_path):
    run = shutil.copytree(finished, tmp_path / "late")
    reader = runs.CurveReader({"late": run})
    titles = [each["title"] for each in reader.read()["sections"]]
    assert "How well they play" not in titles
    assert reader.read() is None
    record = {"matches": {"results": {"random": {"trained": {"points": [3.0, 2.0, 4.0]}}}}}
    (run / "evaluation.json").write_text(json.dumps(record))
    titles = [each["title"] for each in reader.read()["sections"]]
    assert "How well they play" in titles


def test_the_summary_says_where_a_thinned_run_stands(tmp_path):
    lines = [json.dumps({"step": k, "wall_s": k / 10, "sps": 7.0}) for k in range(4000)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    (summary, *_) = runs.CurveReader({"one": tmp_path}).read()["sections"]
    table = summary["parts"][0]
    shown = dict(zip(table["head"], table["rows"][0], strict=True))
    assert (shown["decisions"], shown["training time"]) == ("3,999", "6:40")


def test_the_module_of_a_report_imports_nothing():
    assert not re.search(
        r"^import|import\(", (PAGE / "report.js").read_text(encoding="utf-8"), re.M
    )


def test_a_committed_agent_shows_the_evaluation_of_its_card():
    folder = machine.ROOT / "pretrained" / "skullking"
    (results, *_) = card.read_results(folder)
    message = runs.CurveReader({"champion": folder}).read()
    (section,) = [each for each in message["sections"] if each["title"] == "How well they play"]
    (panels,) = [part for part in section["parts"] if part["kind"] == "dots"]
    assert panels["panels"][0]["title"] == results.config
    assert panels["panels"][0]["rows"][0]["interval"] == results.metrics["points"]
    assert "benchmarks/pretrained-skullking.json" in " ".join(message["sections"][0]["notes"])
    places = Places(machine.ROOT / "runs", folder.parent)
    listed = {entry["name"]: entry for entry in runs.listed(places)}
    said = listed["pretrained/skullking"]["result"]
    assert said.startswith(f"wins {100 * results.metrics['win_rate'][0]:.1f} % [")
    assert listed["pretrained/prospector"]["result"].startswith("net profit ")


def test_the_newest_runs_come_first_and_own_ones_before_agents(tmp_path):
    begun = {"runs/old": "2026-01-02", "runs/new": "2026-02-01", "agents/a": "2026-03-01"}
    for name, day in {**begun, "agents/b": "2026-04-01", "agents/c": None}.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "config.json").write_text(json.dumps({"created": day, "config": {}}))
    found = runs.listed(Places(tmp_path / "runs", tmp_path / "agents"))
    agents = [f"pretrained/{name}" for name in "bac"]
    assert [entry["name"] for entry in found] == ["new", "old", *agents]


def test_a_card_that_nobody_can_read_is_noted(tmp_path):
    (tmp_path / "config.json").write_text('{"config": {"env": "SkullKingFlat-v0"}}')
    (tmp_path / "README.md").write_text("---\nlicense: [\n---\n")
    summary, *_ = runs.CurveReader({"one": tmp_path}).read()["sections"]
    assert "README.md" in " ".join(summary["notes"])
    assert runs.listed(Places(tmp_path.parent, tmp_path.parent / "none"))[0]["result"] == ""


def test_what_differs_leaves_out_options_of_other_trainers(tmp_path):
    base = {"env": "SkullKingFlat-v0", "seed": 1, "ppo": {"n_epochs": 2}}
    for name, more in {
        "a": {"trainer": "native", "dqn": {"lr": 1.0}},
        "b": {"trainer": "expert", "expert": {"worlds": 8}, "ppo": {"n_epochs": 4}},
    }.items():
        (tmp_path / name).mkdir()
        config = {**base, **more}
        (tmp_path / name / "config.json").write_text(json.dumps({"config": config}))
    sections = runs.CurveReader({name: tmp_path / name for name in "ab"}).read()["sections"]
    (options,) = [each for each in sections if each["title"] == "Options"]
    differing, every = options["parts"]
    assert [row[0] for row in differing["rows"]] == ["ppo.n_epochs", "trainer"]
    named = [row[0] for row in every["rows"]]
    assert "expert.worlds" in named
    assert "dqn.lr" not in named
