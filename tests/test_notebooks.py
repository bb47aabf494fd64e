"""The notebooks run from top to bottom, and what is committed of them is fit to be read."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from tests.needs import needs_core

if TYPE_CHECKING:
    from collections.abc import Callable

    import nbformat

    Show = Callable[[str], nbformat.NotebookNode]

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "notebooks" / "runs"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def library() -> ModuleType:
    """Import nbformat, without a grammar that takes seconds: of addresses that no notebook has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "rfc3987_syntax", None)
        import nbformat

    return nbformat


def read(path: Path) -> nbformat.NotebookNode:
    return library().read(path, as_version=4)


def outputs(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]


def text_of(notebook: nbformat.NotebookNode) -> str:
    """Join everything the notebook printed or returned; what is said beside it does not count."""
    said = [out for out in outputs(notebook) if out.get("name") != "stderr"]
    return "\n".join(out.get("text") or out.get("data", {}).get("text/plain", "") for out in said)


def said_in(notebook: nbformat.NotebookNode) -> str:
    """Join the text cells."""
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def pictures(notebook: nbformat.NotebookNode) -> int:
    return sum("image/png" in out.get("data", {}) for out in outputs(notebook))


def shape(notebook: nbformat.NotebookNode) -> list[str]:
    """Return the words of all output: what the machine decides, numbers and its load, left out."""
    text = re.sub(r"^the machine was busy.*$", "", text_of(notebook), flags=re.MULTILINE)
    return re.findall(r"[^\W_]+", re.sub(r"[\d.,]+", "0", text))


def run(name: str) -> nbformat.NotebookNode:
    """Execute a notebook; what is committed looks the same."""
    from tools.notebooks import execute

    path = ROOT / "notebooks" / name
    notebook = execute(path)
    committed = read(path)
    assert shape(committed) == shape(notebook), f"run python -m tools.notebooks {name[:2]}"
    return notebook


@pytest.fixture(
    params=["committed", pytest.param("run again", marks=[needs_core, pytest.mark.slow])]
)
def show(request: pytest.FixtureRequest) -> Show:
    """Give what is said of a notebook both its committed outputs and those of a run of today."""
    if request.param == "committed":
        return lambda name: read(ROOT / "notebooks" / name)
    return run


@pytest.mark.parametrize(("kind", "record"), [("config", "configs"), ("env", "bars")])
def test_the_committed_comparison_is_that_of_the_record(kind: str, record: str) -> None:
    notebook = read(ROOT / "notebooks" / "02_explore_runs.ipynb")
    shown = re.findall(rf"(\d+) row\(s\) of kind {kind} in (\S+)", text_of(notebook))
    lines = (ROOT / "benchmarks" / f"{record}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["kind"] == kind]
    assert shown == [(str(len(rows)), f"{record}.jsonl")], "run python -m tools.notebooks 02"


def test_the_committed_speeds_are_those_of_the_record() -> None:
    notebook = read(ROOT / "notebooks" / "02_explore_runs.ipynb")
    shown = re.findall(r"^(\d+) +(\S+-v0) +(\S+) +\d+ +\d+ +(\d+)", text_of(notebook), re.M)
    lines = (ROOT / "benchmarks" / "bars.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["kind"] == "env"]
    assert shown
    for number, *figures in shown:
        row = rows[int(number)]
        assert figures == [
            row["env"],
            row["ran"]["workload"],
            f"{row['steps_per_cpu_s']:.0f}",
        ], "run python -m tools.notebooks 02"


def test_the_committed_steps_of_replay_are_those_of_the_record() -> None:
    text = text_of(read(ROOT / "notebooks" / "06_replay.ipynb"))
    lines = (ROOT / "benchmarks" / "replay_steps.jsonl").read_text(encoding="utf-8").splitlines()
    head, *rows = map(json.loads, lines)
    asked = [f"replay_steps.jsonl at {head['git_rev'][:7]}, decisions a CPU second:"]
    asked += [
        f"{row['game']}, {row['step']}: {row['steps_per_cpu_s']:,.0f}"
        for row in rows
        if row["kind"] == "trainer"
    ]
    assert "\n".join(asked) in text, "run python -m tools.notebooks 06"


def test_the_committed_walks_of_replay_are_what_is_said_of_them() -> None:
    """Other processors learn otherwise, so this is of the committed ones alone."""
    notebook = read(ROOT / "notebooks" / "06_replay.ipynb")
    shown = re.findall(
        r"^(random|DQN|with trackers) +(\d+) cells;", text_of(notebook), re.MULTILINE
    )
    cells = {name: int(number) for name, number in shown}
    assert "DQN ends below random play" in notebook.cells[-1].source
    assert "With both trackers, DQN visits more cells" in notebook.cells[-1].source
    assert cells["DQN"] < cells["random"] < cells["with trackers"]


@needs_core
def test_the_committed_games_of_dr_mario_are_those_of_today() -> None:
    """By the bot and by the agent that is committed, played again."""
    import numpy as np

    import fastenv
    from fastenv.drmario.seeds import seed_of
    from fastenv.engine import rng_streams
    from training.apps.drmario.compare import load_player
    from training.evaluation.loop import Loop
    from training.players.names import make_player
    from training.run.envs import make_engine

    text = text_of(read(ROOT / "notebooks" / "07_drmario_evaluator.ipynb"))
    level, seed = seed_of("L10_S004")
    engine = fastenv.make_engine("DrMarioPlacement-v0", 1, level=level, game_seed=seed)
    engine.reset_many(seeds=0)
    pills, streams = 0, rng_streams(0, 1)
    while not engine.ended[0]:
        engine.step_many(engine.bot_actions("greedy", streams), autoreset=False)
        pills += 1
    frames = int(engine.get_states()[0]["ep_frames"])
    asked = rf"^greedy +{pills} pills, +{frames:,} frames;"
    assert re.search(asked, text, re.MULTILINE), "run python -m tools.notebooks 07"

    who, options = load_player(str(ROOT / "pretrained" / "drmario"))
    both = make_engine("DrMarioPlacement-v0", 2, options)
    for _ in Loop(both, [make_player(who, both)], 400 + np.arange(2)):
        pass
    one, two = both.get_states()["ep_frames"]
    for who in ("states", "pixels"):
        asked = f"{who}: frames of the two games {one:,} and {two:,}"
        assert asked in text, "run python -m tools.notebooks 07"


def test_quickstart_shows_equal_numbers(show: Show) -> None:
    notebook = show("01_quickstart.ipynb")
    text = text_of(notebook)
    assert "identical: True" in text
    assert "Your hand" in text
    assert "seat 3 wins with Mermaid, bonus 50" in text
    assert "rounds of the first half : [ 7  8  9 10]" in text
    assert pictures(notebook) == 1


def test_explore_runs_shows_what_the_committed_runs_hold(show: Show) -> None:
    """Every figure that it prints, or says in its text, is one of ``notebooks/runs``."""
    notebook = show("02_explore_runs.ipynb")
    text = text_of(notebook)
    for variant in ("baseline", "short"):
        assert f"gamma-{variant}: seeds 1, 2, 3" in text
    assert re.search(r"^ppo.gamma +(0\.9997 +){3}(0\.997 *){3}$", text, re.MULTILINE)
    assert re.search(r"; plays as recorded$", text, re.MULTILINE)
    report, sweep = (json.loads((RUNS / f"{name}.json").read_text()) for name in ("gamma", "rates"))
    found = report["compared"]["episodes"]
    for of in found.values():
        value, low, high = of["return"]["mean"]
        assert f"{value:.2f} [{low:.2f}, {high:.2f}]" in text
    for trial in sweep["trials"]:
        assert re.search(rf"^{trial['trial']} +{trial['value']:.2f}", text, re.MULTILINE)
    said = said_in(notebook)
    for record in (report, sweep):
        assert record["command"] in said.replace(" \\\n    ", " ")
    gap = found["short"]["return"]["minus_baseline"]
    assert f"{gap[0]:.2f} [{gap[1]:.2f}, {gap[2]:.2f}]" in said
    means = [found[variant]["return"]["mean"][0] for variant in ("baseline", "short")]
    assert "{:.2f} and {:.2f}".format(*means) in said
    values = [trial["value"] for trial in sweep["trials"]]
    assert f"from {min(values):.2f} to {max(values):.2f} here" in said
    for gamma in (0.997, 0.9997):
        assert f"{gamma**200:.2f}" in said
    assert re.search(r"^fast +\d+ +\d+ +\d+$", text, re.MULTILINE)
    assert re.search(r"^\d+ +SkullKingWorker-v0 +masked_uniform +4096 +1 +\d+", text, re.MULTILINE)
    assert pictures(notebook) == 5


def test_committed_runs_are_whole_and_small() -> None:
    logs = sorted(RUNS.glob("*/metrics.jsonl"))
    assert len(logs) == 6
    assert sum(path.stat().st_size for path in RUNS.rglob("*") if path.is_file()) < 1_500_000
    assert not list(RUNS.rglob("checkpoints"))
    for log in logs:
        steps = [json.loads(line)["step"] for line in log.read_text().splitlines()]
        config, summary = (
            json.loads((log.parent / f"{name}.json").read_text()) for name in ("config", "summary")
        )
        assert steps == list(range(steps[0], steps[-1] + 1, steps[0])), "a line for each iteration"
        assert steps[-1] == summary["steps"] == config["config"]["total_steps"]
        assert not summary["dirty"]
    for path in RUNS.rglob("*.json*"):
        if path.suffix != ".gz":
            assert not re.search(r"/(home|root|tmp|work|Users)/", path.read_text()), path


def test_prospector_shows_who_beats_cashing_out(show: Show) -> None:
    notebook = show("03_prospector.ipynb")
    text = text_of(notebook)
    assert re.search(r"greedy_miner .* The ship is destroyed\.", text)
    assert re.search(r"short_haul .* Cashed out, with 282 credits\.", text)
    assert re.search(r"cash_out +-0\.001", text)
    for workload in ("uniform", "cash_out", "hold"):
        assert re.search(rf"{workload} +fast is +[\d,]+ times the reference", text)
    assert pictures(notebook) == 5


def test_drmario_shows_a_clear_and_what_the_planner_promised(show: Show) -> None:
    notebook = show("04_drmario.ipynb")
    text = text_of(notebook)
    assert re.search(r"^clear after \d+ pills and [\d,]+ frames", text, re.MULTILINE)
    promised = re.search(r"promised (\d+) frames; pressed (\d+); locked: True", text)
    assert promised
    assert promised[1] == promised[2]
    assert "88 placements can be reached, in 12 to 44 frames" in text
    assert re.search(r"^0 +0 % +0 % +100 %$", text, re.MULTILINE)
    assert len(re.findall(r"[\d,]+ consoles at once", text)) == 4
    assert pictures(notebook) == 3


def test_gameboy_reaches_its_goal_and_measures_memory(show: Show) -> None:
    notebook = show("05_gameboy.ipynb")
    text = text_of(notebook)
    assert "goal reached: True, after 42 steps" in text
    for rom in ("lantern_walk", "busy", "heavy", "poll"):
        assert re.search(rf"^{rom} +[\d,]+ +[\d,]+", text, re.MULTILINE)
    assert re.search(r"scale\" +18,720 +1,440 +1,440 +338$", text, re.MULTILINE)
    assert pictures(notebook) == 3


def test_replay_measures_and_shows_where_agents_walk(show: Show) -> None:
    notebook = show("06_replay.ipynb")
    text = text_of(notebook)
    assert re.search(r"^the same, four pixels a byte +1,440 +1,550 +23,061$", text, re.MULTILINE)
    assert re.search(r"^written +[\d.]+ M decisions a CPU second$", text, re.MULTILINE)
    shown = re.findall(r"^(random|DQN|with trackers) +(\d+) cells;", text, re.MULTILINE)
    # Who walks how far is left to the processor, which rounds while DQN learns.
    assert [name for name, _ in shown] == ["random", "DQN", "with trackers"]
    assert min(int(cells) for _, cells in shown) > 100
    assert "Plain DQN ends below random play" in said_in(notebook)
    assert pictures(notebook) == 3


def test_evaluator_tells_how_long_and_reader_reads(show: Show) -> None:
    notebook = show("07_drmario_evaluator.ipynb")
    text = text_of(notebook)
    assert len(re.findall(r"pills, +[\d,]+ frames; at first +[\d,]+ were told", text)) == 2
    costs = re.search(r"placements; least cost ([\d,]+) frames, largest ([\d,]+)", text)
    assert costs
    assert int(costs[1].replace(",", "")) < int(costs[2].replace(",", ""))
    wrong = re.search(r"^4\d frames, 6,\d{3} cells: (\d+) misread$", text, re.MULTILINE)
    assert wrong
    assert int(wrong[1]) < 20
    assert re.search(r"^pixels: frames of the two games [\d,]+ and [\d,]+$", text, re.MULTILINE)
    assert pictures(notebook) == 6


def test_search_shows_a_decision_and_what_search_is_worth(show: Show) -> None:
    notebook, committed = show("08_search.ipynb"), read(ROOT / "notebooks" / "08_search.ipynb")
    text = text_of(notebook)
    # Who decides in how many positions is exact, so a run of today prints the committed numbers.
    for exact in (
        r"^\d+ decisions were searched; in \d+ the agent alone prefers another card$",
        r"^decision \d+: \d+ legal actions, 32 worlds$",
        r"^(?:32 worlds|1,024 worlds|all cards open) +plays .*$",
        r"^(?:search:)?rich_haul +profit .*$",
        r"^\d+ decisions were searched; \d+% are not those of the bot$",
    ):
        found = re.findall(exact, text, re.MULTILINE)
        assert found
        assert found == re.findall(exact, text_of(committed), re.MULTILINE), (
            "run python -m tools.notebooks 08"
        )
    record = json.loads((ROOT / "benchmarks" / "skullking-search.json").read_text("utf-8"))
    others = ", ".join(dict.fromkeys(row["against"] for row in record["rows"]))
    assert f"{len(record['rows'])} rows of skullking-search.json, against {others}" in text
    bids = json.loads((ROOT / "benchmarks" / "skullking-bids.json").read_text("utf-8"))
    for summary in (bids["played"], bids["searched"]["search"]):
        high = "{:.1f} % [{:.1f}, {:.1f}]".format(*(100 * share for share in summary["high"]))
        shown = f"{summary['bids']:,} bids, {high} of {bids['high']} and more"
        assert shown in text, "run python -m tools.notebooks 08"
    means = [int(mean.replace(",", "")) for mean in re.findall(r"profit +([\d,]+) on", text)]
    assert means[1] > means[0]  # with search
    assert pictures(notebook) == 8


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_committed_notebook_is_fit_to_be_read(path: Path) -> None:
    notebook = read(path)
    library().validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert path.stat().st_size < 300_000
    assert not any(out.output_type == "error" for out in outputs(notebook))
    shown = text_of(notebook)
    assert not re.search(r"/(home|root|tmp|work|Users)/", shown), "a path of somebody's machine"
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1)), "run once, from top to bottom"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_records_that_a_notebook_reads_are_there(path: Path) -> None:
    code = "".join(cell.source for cell in read(path).cells)
    for name in re.findall(r'"benchmarks"\)?(?: / |\.glob\()"([^"]+)"', code):
        assert list((ROOT / "benchmarks").glob(name)), name


def test_there_are_eight_notebooks() -> None:
    names = [path.stem for path in NOTEBOOKS]
    assert names == [
        *("01_quickstart", "02_explore_runs", "03_prospector", "04_drmario", "05_gameboy"),
        *("06_replay", "07_drmario_evaluator", "08_search"),
    ]
