"""What the docs say is what the code does: tables, commands, links and listings."""

import json
import re
import runpy
import shutil
import statistics
import tomllib
from pathlib import Path

import pytest

import fastenv
from fastenv.prospector import layout as prospector
from fastenv.prospector.bots import Bot
from fastenv.prospector.config import ProspectorConfig
from fastenv.skullking.config import SkullKingConfig
from fastenv.skullking.layout import INFO_COLUMNS, REWARD_COLUMNS
from fastenv.skullking.state import STATE_DTYPE
from fastenv.skullking.tables import Phase
from tools.figures import records, speeds
from tools.figures.headlines import headlines, own_figures
from tools.figures.records import newest
from training.bench.targets import unmeasured

ROOT = Path(__file__).resolve().parents[1]
GAMES = {
    name: (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in ("skullking.md", "prospector.md")
}
AGREED = [
    *("Description", "Action space", "Observation space", "Rewards", "Starting state"),
    *("End of an episode", "Illegal actions", "Arguments"),
]
ENVS = [name.rpartition("/")[2] for name in fastenv.list_envs()]
SKULL_KING = GAMES["skullking.md"]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """Return what stands between a heading and the next one of its level."""
    level = heading.split(" ")[0]
    pattern = rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(level)}}} |\Z)"
    found = re.search(pattern, text, flags=re.DOTALL | re.MULTILINE)
    assert found, f"no section {heading!r}"
    return found.group(1)


def rows(text: str) -> list[list[str]]:
    """Return the cells of all table rows."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.mark.parametrize(
    "page", [*GAMES, "drmario.md", "explanation/limits.md", "howto/training.md"]
)
def test_tables_of_layouts_and_limits_are_those_of_the_code(page: str) -> None:
    with_tables = runpy.run_path(str(ROOT / "docs" / "generate.py"))["with_tables"]
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert with_tables(page) == text, "run python docs/generate.py"


@pytest.mark.parametrize("page", GAMES)
def test_sections_of_the_environments_come_in_the_agreed_order(page: str) -> None:
    headings = re.findall(r"^## (\D.*)$", GAMES[page], flags=re.MULTILINE)
    agreed = [*AGREED, "Version history"]
    assert [heading for heading in headings if heading in agreed] == agreed


@pytest.mark.parametrize("page", ["drmario.md", "gameboy.md"])
def test_rule_books_begin_with_what_an_agent_sees_and_does(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").partition("\n## 1 ")[0]
    headings = re.findall(r"^###? (.*)$", text, flags=re.MULTILINE)
    assert [heading for heading in headings if heading in AGREED] == AGREED


def test_every_option_is_documented_with_its_default() -> None:
    listed = {row[0].strip("`"): row[1] for row in rows(section(SKULL_KING, "## Arguments"))[2:]}
    config = SkullKingConfig()
    for name in SkullKingConfig.__dataclass_fields__:
        if name == "tier":
            continue
        value = getattr(config, name)
        shown = "all five" if name == "pirates" else f"`{value!r}`".replace("'", '"')
        assert listed.pop(name) == shown, name
    assert not listed, "options that do not exist"


def test_every_info_column_is_documented() -> None:
    text = section(SKULL_KING, "## Info")
    assert re.findall(r"`(\w+)`", "".join(row[0] for row in rows(text)[2:])) == list(INFO_COLUMNS)
    for name in REWARD_COLUMNS:
        assert f"`{name}`" in text


def test_prospector_is_documented() -> None:
    page = GAMES["prospector.md"]
    listed = {row[0].strip("`"): row[1] for row in rows(section(page, "## Arguments"))[2:]}
    config = ProspectorConfig()
    assert listed == {name: f"`{getattr(config, name)!r}`" for name in listed}
    assert set(listed) == set(ProspectorConfig.__dataclass_fields__)
    text = section(page, "## Info")
    named = re.findall(r"`(\w+)`", "".join(row[0] for row in rows(text)[2:]))
    assert named == list(prospector.INFO_COLUMNS)
    for name in prospector.REWARD_TERMS:
        assert f"`{name}`" in text
    for bot in Bot:
        assert bot.name.lower() in section(page, "## 17 Bots")


def test_round_weights_are_the_documented_ones() -> None:
    config = SkullKingConfig(schedule=(1,) * 12)
    for name, *weights in rows(section(SKULL_KING, "### 11.1 Rounds"))[2:]:
        knobs = config.default_knobs(1)
        config.set_knob(knobs, "round_weights", name.strip("`"))
        shown = [float(weight) for weight in weights]
        assert knobs["round_weights"][0, :12].tolist() == [*shown, shown[-1], shown[-1]]


def test_every_phase_is_documented() -> None:
    listed = rows(section(SKULL_KING, "## Action space"))[2:]
    assert [(row[0], row[1]) for row in listed] == [(p.name, str(int(p))) for p in Phase]


def test_size_of_a_row_is_the_documented_one() -> None:
    design = (ROOT / "docs" / "explanation" / "design.md").read_text(encoding="utf-8")
    assert f"A Skull King game takes {STATE_DTYPE.itemsize} bytes" in design


def test_every_id_is_documented_with_its_size() -> None:
    listed = {
        row[0].strip("`"): int(row[3]) for row in rows(section(SKULL_KING, "## Description"))[2:]
    }
    ids = [env_id for env_id in fastenv.list_envs() if "SkullKing" in env_id]
    assert listed == {env_id: fastenv.make_game(env_id).spec.obs_shape[0] for env_id in ids}


def test_lines_of_the_readme_run(capsys: pytest.CaptureFixture[str]) -> None:
    lines = re.search(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert lines
    code = lines.group(1)
    assert len(code.strip().splitlines()) <= 10
    exec(compile(code, "README.md", "exec"), {})  # it is our own text
    assert "6,400 decisions" in capsys.readouterr().out  # quick without a compiler too


def test_every_page_says_alike_what_a_game_is_written_in() -> None:
    """It is one reference in plain Python and compiled code, which nobody counts."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = {"pyproject.toml": about["description"], "fastenv": fastenv.__doc__ or ""}
    for name in ("README.md", "CITATION.cff", "docs/index.md", "docs/explanation/design.md"):
        said[name] = (ROOT / name).read_text(encoding="utf-8")
    for name, text in said.items():
        assert "plain Python" in text, name
        assert not re.search(r"written (once|twice)|(two|three|four) implementations", text), name


def test_names_that_the_glossary_says_to_use_are_in_the_code() -> None:
    page = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    asked = rows(section(page, "## Words that are not used"))[2:]
    named = {name for row in asked for name in re.findall(r"`(\w+)`", row[1])}
    folders = [ROOT / name for name in ("fastenv", "training")]
    modules = [path for folder in folders for path in folder.rglob("*.py")]
    words = {path.stem for path in modules}
    for path in modules:
        words |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    assert named
    assert named <= words


def test_readme_lists_every_environment_with_its_sizes() -> None:
    listed = [row[0] for row in rows(README) if row[0].startswith("[`")]
    assert [re.findall(r"`([\w-]+)`", cell)[0] for cell in listed] == ENVS
    assert "| [`SkullKingFlat-v0`](docs/skullking.md) | 2\u20138 | float32 190 | 11 |" in README
    assert "| [`DrMarioVersus-v0`](docs/drmario.md) | 2 | planes: float32 20\u00d7" in README


def test_readme_names_the_two_commands_and_the_place_of_the_figures() -> None:
    assert re.search(r"^make train\b", README, flags=re.MULTILINE)
    assert re.search(r"^make test\b", README, flags=re.MULTILINE)
    assert re.search(r"first `make` [^.]*minutes[^.]*disk", README)
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_tables_of_figures_follow_the_newest_clean_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    for rev, day, dirty, value in (("a", 1, False, 2.0), ("b", 3, True, 3.0), ("c", 2, False, 4.0)):
        head = {"git_rev": rev * 12, "created": f"2026-01-0{day}", "dirty": dirty, "load": 0.0}
        head |= {"host": {"cpu_model": f"processor {rev}"}}
        row = {"kind": "bar", "what": "a ratio", "asked": "at least 3", "pass": value >= 3}
        row |= {"measured": value, "all": [value, value + 2, value + 1]}
        lines = [json.dumps(each) for each in ({**head, "load_after": 0.0}, row)]
        (tmp_path / f"{rev}-bars.jsonl").write_text("\n".join(lines))
    text = speeds.bars("*-bars.jsonl")
    assert "| a ratio | at least 3 | 5.000 (4.000 to 6.000) | yes |" in text  # a median of turns
    assert "`benchmarks/c-bars.jsonl` at ccccccc" in text
    assert text.endswith("on processor c: 1 of 1 reached.")


def test_headlines_say_what_a_machine_could_not_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "benchmarks", tmp_path, dirs_exist_ok=True)
    head, *rows = map(json.loads, (tmp_path / "trainers.jsonl").read_text("utf-8").splitlines())
    kept = []
    for row in rows:
        bf16 = row["kind"] == "bar" and row["what"].startswith("native auto")
        kept.append(unmeasured(row["what"], 2.0, "no bf16 here") if bf16 else row)
    text = "\n".join(map(json.dumps, (head, *kept)))
    (tmp_path / "trainers.jsonl").write_text(text, encoding="utf-8")
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    assert own_figures().count("| not measured: no bf16 here |") == 2
    assert headlines().count("| not measured: no bf16 here |") == 1


def flag_record(folder: Path, *over: list[float]) -> None:
    head = {"kind": "head", "git_rev": "a" * 12, "dirty": False, "load": 0.1, "load_after": 0.2}
    rows = [
        {"kind": "flag", "env": "SkullKingFlat-v0", "flag": "use_numba", "num_envs": lanes}
        | {"over_reference": statistics.median(x), "over_reference_all": x, "share_of_limit": 0.9}
        for lanes, x in zip((1, 8), over, strict=True)
    ]
    text = "\n".join(map(json.dumps, (head, *rows)))
    (folder / "flags.jsonl").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([[1.0, 0.97, 1.2], [1.5, 1.4, 1.6]], "Each flag alone is at least as fast"),
        ([[0.99, 0.98, 1.2], [1.5, 1.4, 1.6]], "1 lane: 0.99, 0.98."),
        ([[1.0, 1.1, 1.2], [1.5, 0.96, 1.6]], "8 lanes: 1.5, 0.96."),
    ],
)
def test_sentence_of_the_flags_names_what_is_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: list[list[float]], said: str
) -> None:
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    flag_record(tmp_path, *cells)
    verdict, below = speeds.flags_verdict(), speeds.flags_below(newest("flags.jsonl"))
    assert said in verdict
    assert ("In 1 of 2 cases" in verdict) == ("Below that: `SkullKingFlat-v0`" in verdict)
    assert (speeds.FLAGS_CLAIM in verdict) == (not below)
    assert verdict in speeds.flags_alone()
