"""The notebooks run from top to bottom, and what is committed of them is fit to be read."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.needs import needs_core

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]


def text_of(notebook: nbformat.NotebookNode) -> str:
    """Join everything the notebook printed or returned."""
    texts = [
        out.get("text") or out.get("data", {}).get("text/plain", "") for out in outputs(notebook)
    ]
    return "\n".join(texts)


def pictures(notebook: nbformat.NotebookNode) -> int:
    return sum("image/png" in out.get("data", {}) for out in outputs(notebook))


def run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> nbformat.NotebookNode:
    """Execute a notebook in its own folder, where no run and no benchmark has been made yet."""
    monkeypatch.setenv("FASTENV_RUNS", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=":")
    notebook = nbformat.read(ROOT / "notebooks" / name, as_version=4)
    where = {"metadata": {"path": str(ROOT / "notebooks")}}
    client = NotebookClient(notebook, timeout=400, kernel_name="python3", resources=where)
    return client.execute()


@needs_core
@pytest.mark.slow
def test_quickstart_shows_equal_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = run("01_quickstart.ipynb", tmp_path, monkeypatch)
    text = text_of(notebook)
    assert "identical: True" in text
    assert "Your hand" in text
    assert "seat 3 wins with Mermaid, bonus 50" in text
    assert "rounds of the first half : [ 7  8  9 10]" in text
    assert pictures(notebook) == 1


@pytest.mark.slow
def test_explore_runs_makes_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = run("02_explore_runs.ipynb", tmp_path, monkeypatch)
    text = text_of(notebook)
    assert "1 run(s): tiny" in text
    assert "1 run(s) evaluated" in text
    assert "no run was evaluated while it trained" not in text
    assert re.search(r"[1-9]\d* row\(s\) in ", text)
    assert pictures(notebook) == 5


@needs_core
@pytest.mark.slow
def test_prospector_shows_who_beats_cashing_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = run("03_prospector.ipynb", tmp_path, monkeypatch)
    text = text_of(notebook)
    assert re.search(r"greedy_miner .* The ship is destroyed\.", text)
    assert re.search(r"short_haul .* Cashed out, with 282 credits\.", text)
    assert re.search(r"cash_out +-0\.001", text)
    for workload in ("uniform", "cash_out", "hold"):
        assert re.search(rf"{workload} +fast is +[\d,]+ times the reference", text)
    assert pictures(notebook) == 5


@needs_core
@pytest.mark.slow
def test_drmario_shows_a_clear_and_what_the_planner_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = run("04_drmario.ipynb", tmp_path, monkeypatch)
    text = text_of(notebook)
    assert re.search(r"^clear after \d+ pills and [\d,]+ frames", text, re.MULTILINE)
    promised = re.search(r"promised (\d+) frames; pressed (\d+); locked: True", text)
    assert promised
    assert promised[1] == promised[2]
    assert "88 placements can be reached, in 12 to 44 frames" in text
    assert re.search(r"^0 +0 % +0 % +100 %$", text, re.MULTILINE)
    assert len(re.findall(r"[\d,]+ consoles at once", text)) == 4
    assert pictures(notebook) == 3


@needs_core
@pytest.mark.slow
def test_gameboy_reaches_its_goal_and_measures_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = run("05_gameboy.ipynb", tmp_path, monkeypatch)
    text = text_of(notebook)
    assert "goal reached: True, after 42 steps" in text
    for rom in ("lantern_walk", "busy", "heavy", "poll"):
        assert re.search(rf"^{rom} +[\d,]+ +[\d,]+", text, re.MULTILINE)
    assert re.search(r"scale\" +18,720 +1,440 +1,440 +338$", text, re.MULTILINE)
    assert pictures(notebook) == 3


@needs_core
@pytest.mark.slow
def test_replay_measures_and_shows_where_trackers_lead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = run("06_replay.ipynb", tmp_path, monkeypatch)
    text = text_of(notebook)
    assert re.search(r"^the same, four pixels a byte +1,440 +1,550 +23,061$", text, re.MULTILINE)
    assert re.search(r"^written +[\d.]+ M decisions a CPU second$", text, re.MULTILINE)
    found = dict(re.findall(r"^(random|DQN|with trackers) +(\d+) cells;", text, re.MULTILINE))
    assert int(found["with trackers"]) > max(int(found["random"]), int(found["DQN"])) > 100
    assert pictures(notebook) == 3


@needs_core
@pytest.mark.slow
def test_evaluator_tells_how_long_and_reader_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = run("07_drmario_evaluator.ipynb", tmp_path, monkeypatch)
    text = text_of(notebook)
    assert len(re.findall(r"pills, +[\d,]+ frames; at first +[\d,]+ were told", text)) == 2
    costs = re.search(r"placements; least cost ([\d,]+) frames, largest ([\d,]+)", text)
    assert costs
    assert int(costs[1].replace(",", "")) < int(costs[2].replace(",", ""))
    wrong = re.search(r"48 frames, 6,624 cells: (\d+) misread", text)
    assert wrong
    assert int(wrong[1]) < 20
    assert re.search(r"^pixels: frames of the two games [\d,]+ and [\d,]+$", text, re.MULTILINE)
    assert pictures(notebook) == 6


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_committed_notebook_is_fit_to_be_read(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert path.stat().st_size < 300_000
    assert not any(out.output_type == "error" for out in outputs(notebook))
    shown = text_of(notebook)
    assert not re.search(r"/(home|root|tmp|work|Users)/", shown), "a path of somebody's machine"
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1)), "run once, from top to bottom"


def test_there_are_seven_notebooks() -> None:
    names = [path.stem for path in NOTEBOOKS]
    assert names == [
        *("01_quickstart", "02_explore_runs", "03_prospector", "04_drmario", "05_gameboy"),
        *("06_replay", "07_drmario_evaluator"),
    ]
