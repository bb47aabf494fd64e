"""What the docs say is what the code does: tables, commands, links and listings."""

import json
import math
import re
import runpy
import shutil
import statistics
import tomllib
from pathlib import Path

import pytest
import yaml

import fastenv
from fastenv.prospector import layout as prospector
from fastenv.prospector.bots import Bot
from fastenv.prospector.config import ProspectorConfig
from fastenv.skullking.config import SkullKingConfig
from fastenv.skullking.layout import INFO_COLUMNS, REWARD_COLUMNS
from fastenv.skullking.state import STATE_DTYPE
from fastenv.skullking.tables import Phase
from tests import prose
from tools.figures import cards, records, speeds
from tools.figures.headlines import comparisons, headlines, own_figures, taken_at
from tools.figures.records import newest
from training.bench.targets import TABLE, unmeasured
from training.players import card
from training.ppo.options import NativeRun, PPOConfig
from training.run import machine
from training.run.config import RunConfig
from training.run.config_files import load_file
from training.run.layers import merge_layers, parser

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
GAMES = {
    name: (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in ("skullking.md", "prospector.md")
}
AGREED = [
    *("Description", "Action space", "Observation space", "Rewards", "Starting state"),
    *("End of an episode", "Illegal actions", "Arguments"),
]
PRETRAINED = [f"pretrained/{name}/README.md" for name in cards.AGENTS]
ENVS = [name.rpartition("/")[2] for name in fastenv.list_envs()]
SKULL_KING = GAMES["skullking.md"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
OWN_FIGURES = (ROOT / "docs" / "explanation" / "figures.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


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


@pytest.mark.parametrize("page", [*GAMES, "drmario.md", "explanation/limits.md"])
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?://)([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if file.resolve() == ROOT / "RUNS.md" and not file.exists():
            continue  # written with the first figures
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), target


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.M):
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
        if found[anchor]:
            found[f"{anchor}-{found[anchor]}"] = 0
    return set(found)


def test_lines_of_the_readme_run(capsys: pytest.CaptureFixture[str]) -> None:
    lines = re.search(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert lines
    code = lines.group(1)
    assert len(code.strip().splitlines()) <= 10
    exec(compile(code, "README.md", "exec"), {})  # it is our own text
    assert "6,400 decisions" in capsys.readouterr().out  # quick without a compiler too


def test_readme_is_read_in_a_minute() -> None:
    """The first figure and the first code stand on the first screen, and the whole on a few.

    Tables are looked up, not read.
    """
    read = "\n".join(line for line in README.splitlines() if not line.startswith("|"))
    assert len(prose.words(read)) <= 900
    begin = " ".join(README.split()[:150])
    assert "<!-- first:end -->" in begin
    assert "```python import fastenv" in begin


def test_every_page_says_alike_what_a_game_is_written_in() -> None:
    """It is one reference in plain Python and compiled code, which nobody counts."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = {"pyproject.toml": about["description"], "fastenv": fastenv.__doc__ or ""}
    for name in ("README.md", "CITATION.cff", "docs/index.md", "docs/explanation/design.md"):
        said[name] = (ROOT / name).read_text(encoding="utf-8")
    for name, text in said.items():
        assert "plain Python" in text, name
        assert not re.search(r"written (once|twice)|(two|three|four) implementations", text), name


@pytest.mark.parametrize("page", PRETRAINED)
def test_cards_say_how_large_the_network_is(page: str) -> None:
    folder = (ROOT / page).parent
    files = [file for file in folder.rglob("*") if file.suffix not in {".md", ".json", ""}]
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    (said,) = re.findall(r"([\d.]+) MB", (ROOT / page).read_text(encoding="utf-8"))
    assert float(said) == round(megabytes, 1)


def test_cards_say_how_many_games_their_command_plays() -> None:
    said = {
        page: int(games.replace(",", ""))
        for page in PRETRAINED
        for games in re.findall(
            r"# ([\d,]+) games against", (ROOT / page).read_text(encoding="utf-8")
        )
    }
    assert said
    for page, games in said.items():
        config = json.loads((ROOT / page).with_name("config.json").read_text(encoding="utf-8"))
        assert games == config["config"]["evaluation"]["games"], page


def test_readme_shows_a_film_that_is_small() -> None:
    (film,) = re.findall(r"!\[[^]]+\]\(([^)]+\.gif)\)", README)
    assert (ROOT / film).stat().st_size < 3_000_000


def test_readme_lists_every_environment_with_its_sizes() -> None:
    listed = [row[0] for row in rows(README) if row[0].startswith("[`")]
    assert [re.findall(r"`([\w-]+)`", cell)[0] for cell in listed] == ENVS
    assert "| [`SkullKingFlat-v0`](docs/skullking.md) | 2\u20138 | float32 190 | 11 |" in README
    assert "| [`DrMarioVersus-v0`](docs/drmario.md) | 2 | planes: float32 20\u00d7" in README


def test_readme_names_the_two_commands_and_the_place_of_the_figures() -> None:
    assert re.search(r"^make train\b", README, flags=re.MULTILINE)
    assert re.search(r"^make test\b", README, flags=re.MULTILINE)
    assert re.search(r"first `make` [^.]*\d+ minutes [^.]*\d+ GB", README)
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


FIGURES = runpy.run_path(str(ROOT / "docs" / "figures.py"))


@pytest.mark.parametrize("page", FIGURES["pages"]())
def test_tables_of_figures_are_those_of_the_records(page: str) -> None:
    with_tables = FIGURES["with_tables"]
    assert with_tables(page) == (ROOT / page).read_text(encoding="utf-8"), "docs/figures.py"


def measured(text: str) -> list[str]:
    """Return shares, intervals and ranges that stand outside of code and of tables of records.

    The metadata of a card are a table of records too.
    """
    text = card.split(text)[1]
    text = re.sub(r"<!-- (\w+):begin -->.*?<!-- \1:end -->", "", text, flags=re.DOTALL)
    text = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL).replace("95 %", "")
    number = r"-?[\d.,]*\d"
    shapes = (f"{number} ?%", rf"\[{number}, {number}\]", f"{number} to {number} times", r"\dx\b")
    return re.findall("|".join(shapes), text)


@pytest.mark.parametrize(
    "page", ["README.md", "RUNS.md", "docs/explanation/figures.md", *PRETRAINED]
)
def test_no_figure_stands_outside_of_tables_of_records(page: str) -> None:
    assert measured((ROOT / page).read_text(encoding="utf-8")) == []


def test_figures_outside_of_tables_would_be_found() -> None:
    text = "<!-- x:begin -->1 % [2, 3]<!-- x:end -->`4 %` 5 %, 95 % [-6.5, 7], 1.1 to 2.2 times, 8x"
    assert measured(text) == ["5 %", "[-6.5, 7]", "1.1 to 2.2 times", "8x"]


@pytest.mark.parametrize(("variant", "file"), [("pair", "hierarchical"), ("flat", "main")])
def test_variants_of_the_record_are_the_configs(variant: str, file: str) -> None:
    """Lengths and what belongs to the machine aside, the files train what the record tells of."""
    record = newest("variants-*-seeds.json").head["configs"][variant]
    options = load_file(ROOT / f"training/configs/{file}.yaml")
    options.pop("without_core", None)
    config = RunConfig.from_mapping(options)
    theirs = RunConfig.from_mapping(record)
    own = {"env", "trainer", "num_envs", "env_options", "schedules", "ppo", "native", "hier"}
    for name in own & config.model_fields_set:
        assert getattr(config, name) == getattr(theirs, name), name


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


def test_rows_of_the_readme_are_of_one_run_or_it_says_which_are_not() -> None:
    taken = {row.record.path.name: row.record for row in comparisons()}.values()
    note = taken_at([*taken])
    assert note in README
    for record in taken:
        assert f"`benchmarks/{record.path.name}`" in note
        assert record.head["git_rev"][:7] in note
        assert machine.describe(record.head["host"]) in note
        assert str(record.head["load"]) in note
    one, other = [*taken][:2]
    assert taken_at([one, one]).startswith("Records: ")
    assert "all at " in taken_at([one, one])
    assert taken_at([one, other]).startswith("Records: ") == (
        [one.head["git_rev"], machine.processor(one.head["host"])]
        == [other.head["git_rev"], machine.processor(other.head["host"])]
    )


def test_rows_of_the_readme_compare_by_cpu_time() -> None:
    """Speeds, their ratio and its range belong together; nothing else is a ratio."""
    for row in comparisons():
        assert not (row.times and row.why) or row.ours
        if row.times:
            found = statistics.median(row.ours) / statistics.median(row.theirs)
            assert found == pytest.approx(statistics.median(row.times), rel=0.25), row.what
        shown = "| ".join(row.cells())
        assert shown in README.replace(" | ", "| ")
        assert row.lanes[0].isdigit()


def test_records_of_the_tables_name_what_they_were_taken_on() -> None:
    runs = (ROOT / "RUNS.md").read_text(encoding="utf-8").partition("\n## Log\n")[0]
    named = set(re.findall(r"`(benchmarks/[^`/]+\.jsonl?)`", README + OWN_FIGURES + runs))
    assert len(named) >= 8
    for name in named:
        text = (ROOT / name).read_text(encoding="utf-8")
        head = json.loads(text.splitlines()[0] if name.endswith("l") else text)
        assert head["dirty"] is False, name
        assert head["git_rev"], name
        assert head["host"]["cpu_model"], name


@pytest.mark.parametrize(
    "kind", ["trainers", "training", "views", "replay", "replay_steps", "search", "bars"]
)
def test_command_above_a_table_is_that_of_its_record(kind: str) -> None:
    runs = (ROOT / "RUNS.md").read_text(encoding="utf-8")
    head = json.loads(
        (ROOT / f"benchmarks/{kind}.jsonl").read_text(encoding="utf-8").splitlines()[0]
    )
    said = re.findall(r"python -m training benchmark ([^`\n]+)", runs)
    _, taken = re.split(r"python -m training(?:\.benchmark_v9| benchmark) ", head["command"])
    words = [sorted({*command.split()} - {"--record"}) for command in (taken, *said)]
    assert words[0] in words[1:]


def test_record_of_the_flags_has_every_id_and_a_new_game() -> None:
    record = newest("flags.jsonl")
    rows = [(r["env"], r["backend"], r["num_envs"]) for r in speeds.flag_rows(record)]
    envs = [*ENVS, "ScaffoldedCoins-v0"]
    asked = {(env, flag, n) for env in envs for flag in ("numba", "cython") for n in (1, 8, 64)}
    assert asked <= set(rows)
    assert len(rows) == len(set(rows))
    assert {env for env, _, _ in rows} == set(envs)


@pytest.mark.parametrize("page", ["docs/howto/install.md", "docs/explanation/design.md"])
def test_claim_of_the_flags_stands_where_the_record_bears_it(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert (speeds.FLAGS_CLAIM in text) == (not speeds.flags_below(newest("flags.jsonl")))


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


def test_bars_of_the_flags_are_those_of_their_sentence() -> None:
    asked = tomllib.loads(TABLE.read_text(encoding="utf-8"))["flags"]
    assert [one["at_least"] for one in asked[:2]] == [speeds.FLAG_MEDIAN, speeds.FLAG_LEAST]


# Recipe to wins asked against rule_hard and heuristic, in per cent, and seconds of a core at most.
RECIPES = {"`make train`": (62, 66, 240), "`main.yaml`": (55, 50, 480)}


@pytest.mark.parametrize("recipe", RECIPES)
def test_figures_of_a_recipe_are_those_of_the_record(recipe: str) -> None:
    interval = r"([\d.]+) % \[([\d.]+), ([\d.]+)\]"
    (line,) = re.findall(rf"^\| {recipe}[:,] .*$", OWN_FIGURES, re.MULTILINE)
    record = json.loads((ROOT / re.findall(r"`(\S+\.json)`", line)[0]).read_text(encoding="utf-8"))
    assert record["dirty"] is False
    runs = [*record["runs"].values()]
    assert len(runs) == 5
    trained, scripted = [], []
    for opponents in ("rule_hard", "heuristic"):
        found = [run["win_rate"][opponents] for run in runs]
        assert all(wins["trained"][1] > wins["heuristic"][2] for wins in found)
        assert all(wins["heuristic"] == found[0]["heuristic"] for wins in found)
        rates = [100 * wins["trained"][0] for wins in found]
        of_seeds = 2.776 * statistics.stdev(rates) / len(rates) ** 0.5  # t, 4 degrees of freedom
        of_deals = [50 * (high - low) for _, low, high in (wins["trained"] for wins in found)]
        half = math.hypot(of_seeds, statistics.fmean(x**2 for x in of_deals) ** 0.5)
        mean = statistics.mean(rates)
        trained.append([f"{x:.1f}" for x in (mean, mean - half, mean + half)])
        scripted.append([f"{100 * x:.1f}" for x in found[0]["heuristic"]])
    assert [[*each] for each in re.findall(interval, line)] == [*trained, *scripted]
    *asked, seconds = RECIPES[recipe]
    assert all(float(wins[0]) >= bar for wins, bar in zip(trained, asked, strict=True))
    assert max(run["cpu_s"] for run in runs) <= seconds


@pytest.mark.parametrize("pattern", ["make-train-*-seeds.json", "main-*-seeds.json"])
def test_the_record_of_a_recipe_is_of_its_command(pattern: str) -> None:
    record = newest(pattern).head
    (command,) = record["commands"]
    if pattern.startswith("make-train"):
        recipe = re.search(r"^train:.*\n\t\$\(PY\) (.+)$", MAKEFILE, re.MULTILINE)
        assert recipe
        assert command.startswith(f"python {recipe[1]} --seed SEED")
    (path,) = re.findall(r"--config (\S+)", command)
    config = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))
    rollout = config["num_envs"] * config["ppo"]["n_steps"]
    for run in record["runs"].values():
        assert 0 <= run["steps"] - config["total_steps"] < rollout
        assert list(run["win_rate"]) == config["evaluation"]["opponents"]
    assert record["games"] == config["evaluation"]["games"]


def test_what_is_said_of_an_environment_named_alone_is_what_it_learns_by() -> None:
    reports = newest("defaults-*-seeds.json").head["compared"].values()
    for report in reports:
        found, plain = (RunConfig.from_mapping(report["configs"][n]) for n in ("found", "plain"))
        alone = merge_layers(parser().parse_args(["--env", found.env]), {})
        for name in ("num_envs", "env_options", "schedules", "ppo", "native"):
            assert getattr(found, name) == getattr(alone, name), name
        assert plain.env_options == found.env_options
        assert (plain.num_envs, plain.ppo) == (NativeRun().num_envs, PPOConfig())


@pytest.mark.parametrize("game", ["drmario", "gameboy", "prospector"])
def test_trainings_came_from_clean_commits(game: str) -> None:
    runs = newest(f"{game}-learning.json").head["runs"]
    assert {run["dirty"] for run in runs.values()} == {False}
    assert {run["evaluation"]["dirty"] for run in runs.values()} == {False}


def test_modules_named_in_commands_exist() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name in set(re.findall(r"python -m ([\w.]+)", text)) - {"pytest", "venv"}:
        path = ROOT / name.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), name
