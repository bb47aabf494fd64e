"""Figures on pages: each is that of a committed record, which names its command and commit."""

from __future__ import annotations

import json
import math
import re
import runpy
import statistics
import tomllib
from collections.abc import Iterator

import yaml

import fastenv
from tools.figures import cards, speeds
from tools.figures.headlines import comparisons, taken_at
from tools.figures.records import newest
from tools.pages.files import PAGES
from tools.records import head_of
from training.bench.targets import TABLE
from training.players import card
from training.ppo.options import NativeRun, PPOConfig
from training.run import machine
from training.run.config import RunConfig
from training.run.config_files import load_file
from training.run.machine import ROOT
from training.run.option_layers import config_of

CARDS = [f"pretrained/{name}/README.md" for name in cards.AGENTS]
OWN = "docs/explanation/figures.md"
SUITES = ("trainers", "training", "views", "replay", "search", "bars")
# Recipe to wins asked against rule_hard and heuristic, in per cent, seconds of a core at most, and
# trainings of its record.
RECIPES = {"`make train`": (62, 66, 160, 5), "`main.yaml`": (55, 50, 480, 5)}
OF_A_TRAINING = ("env", "trainer", "num_envs", "env_options", "schedules", "ppo", "native", "hier")


def check() -> Iterator[str]:
    """Yield what pages say and records do not, and what records lack."""
    for each in (
        *(_check_tables, _check_cards, _check_comparisons, _check_heads, _check_commands),
        *(_check_flags, _check_recipes, _check_configs, _check_learning),
    ):
        yield from each()


def measured(text: str) -> list[str]:
    """Find shares, intervals and ranges that stand outside of code and of tables of records.

    The metadata of a card are a table of records too.
    """
    text = card.split(text)[1]
    text = re.sub(r"<!-- (\w+):begin -->.*?<!-- \1:end -->", "", text, flags=re.DOTALL)
    text = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL).replace("95 %", "")
    number = r"-?[\d.,]*\d"
    shapes = (f"{number} ?%", rf"\[{number}, {number}\]", f"{number} to {number} times", r"\dx\b")
    return re.findall("|".join(shapes), text)


def _check_tables() -> Iterator[str]:
    figures = runpy.run_path(str(ROOT / "docs" / "figures.py"))
    for page in figures["pages"]():
        if figures["with_tables"](page) != (ROOT / page).read_text(encoding="utf-8"):
            yield f"{page}: its tables are not those of the records: python docs/figures.py"
    for page in ("README.md", "RUNS.md", OWN, *CARDS):
        for figure in measured(PAGES[page]):
            yield f"{page}: {figure} stands outside of the tables of records"


def _check_cards() -> Iterator[str]:
    for page in CARDS:
        folder = (ROOT / page).parent
        files = [file for file in folder.rglob("*") if file.suffix not in {".md", ".json", ""}]
        megabytes = round(sum(file.stat().st_size for file in files) / 1e6, 1)
        if [*map(float, re.findall(r"([\d.]+) MB", PAGES[page]))] != [megabytes]:
            yield f"{page}: the network takes {megabytes} MB"
        for games in re.findall(r"# ([\d,]+) games against", PAGES[page]):
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))["config"]
            if int(games.replace(",", "")) != config["evaluation"]["games"]:
                yield f"{page}: its command does not play {games} games"
    for film in re.findall(r"!\[[^]]+\]\(([^)]+\.gif)\)", PAGES["README.md"]):
        if (ROOT / film).stat().st_size > 3_000_000:
            yield f"README.md: {film} is large"


def _check_comparisons() -> Iterator[str]:
    """Yield rows of the README that are of several runs, or compare something else than speeds."""
    readme = PAGES["README.md"].replace(" | ", "| ")
    note = taken_at([*{row.record.path.name: row.record for row in comparisons()}.values()])
    if note not in PAGES["README.md"]:
        yield f"README.md: it does not say: {note}"
    for row in comparisons():
        head = row.record.head
        wanted = (row.record.path.name, head["git_rev"][:7], machine.describe(head["host"]))
        if not all(part in note for part in wanted):
            yield f"README.md: {row.what}: its record is not among those named"
        if "| ".join(row.cells()) not in readme:
            yield f"README.md: no row {row.cells()}"
        if row.times:
            found = statistics.median(row.ours) / statistics.median(row.theirs)
            if not math.isclose(found, statistics.median(row.times), rel_tol=0.25):
                yield f"README.md: {row.what}: the ratio is not one of these speeds"


def _check_heads() -> Iterator[str]:
    runs = PAGES["RUNS.md"].partition("\n## Log\n")[0]
    text = PAGES["README.md"] + PAGES[OWN] + runs
    for name in sorted(set(re.findall(r"`(benchmarks/[^`/]+\.jsonl?)`", text))):
        head = head_of(ROOT / name)
        if head["dirty"] is not False or not head["git_rev"] or not head["host"]["cpu_model"]:
            yield f"{name}: it does not name a clean commit and a machine"


def _check_commands() -> Iterator[str]:
    """Yield suites whose record was taken by another command than that above its table."""
    said = re.findall(r"python -m training benchmark ([^`\n]+)", PAGES["RUNS.md"])
    for suite in SUITES:
        command = head_of(ROOT / f"benchmarks/{suite}.jsonl")["command"]
        _, taken = re.split(r"python -m training(?:\.benchmark_v9| benchmark) ", command)
        words, *others = ({*each.split()} - {"--record"} for each in (taken, *said))
        if words not in others:
            yield f"RUNS.md: it does not name the command of benchmarks/{suite}.jsonl: {command}"


def _check_flags() -> Iterator[str]:
    record = newest("flags.jsonl")
    found = [(row["env"], row["backend"], row["num_envs"]) for row in speeds.flag_rows(record)]
    envs = [*(name.rpartition("/")[2] for name in fastenv.list_envs()), "ScaffoldedCoins-v0"]
    asked = {(env, flag, n) for env in envs for flag in ("numba", "cython") for n in (1, 8, 64)}
    if not asked <= set(found) or len(found) > len(set(found)) or {e for e, *_ in found} != {*envs}:
        yield "benchmarks/flags.jsonl: it does not have every id, and each once"
    for page in ("docs/howto/install.md", "docs/explanation/design.md"):
        if (speeds.FLAGS_CLAIM in PAGES[page]) == bool(speeds.flags_below(record)):
            yield f"{page}: what it says of the flags is not what the record bears out"
    asked_of = tomllib.loads(TABLE.read_text(encoding="utf-8"))["flags"]
    if [one["at_least"] for one in asked_of[:2]] != [speeds.FLAG_MEDIAN, speeds.FLAG_LEAST]:
        yield "docs: the bars of the flags are not those of their sentence"


def _check_recipes() -> Iterator[str]:
    """Yield recipes whose figures are not those of their runs, or miss what is asked of them."""
    interval = r"([\d.]+) % \[([\d.]+), ([\d.]+)\]"
    for recipe, (*asked, seconds, trainings) in RECIPES.items():
        (line,) = re.findall(rf"^\| {recipe}[:,] .*$", PAGES[OWN], re.MULTILINE)
        (name,) = re.findall(r"`(\S+\.json)`", line)
        record = json.loads((ROOT / name).read_text(encoding="utf-8"))
        runs = [*record["runs"].values()]
        trained, scripted = [], []
        for opponents in ("rule_hard", "heuristic"):
            found = [run["win_rate"][opponents] for run in runs]
            if any(wins["trained"][1] <= wins["heuristic"][2] for wins in found):
                yield f"{name}: a run is not better than the heuristic against {opponents}"
            if any(wins["heuristic"] != found[0]["heuristic"] for wins in found):
                yield f"{name}: the heuristic has not played the same games in all runs"
            trained.append(_over_seeds([wins["trained"] for wins in found]))
            scripted.append([f"{100 * x:.1f}" for x in found[0]["heuristic"]])
        if [[*each] for each in re.findall(interval, line)] != [*trained, *scripted]:
            yield f"{OWN}: {recipe}: its figures are not those of {name}"
        if any(float(wins[0]) < bar for wins, bar in zip(trained, asked, strict=True)):
            yield f"{OWN}: {recipe}: it wins less than is asked of it"
        slow = max(run["cpu_s"] for run in runs) > seconds
        if record["dirty"] or len(runs) != trainings or slow:
            yield f"{name}: it must have {trainings} runs of a clean commit, of {seconds} s at most"


def _over_seeds(rates: list[list[float]]) -> list[str]:
    """Return the mean of rates with the interval of seeds and deals together, in per cent."""
    percent = [100 * rate for rate, _, _ in rates]
    student = {3: 4.303, 5: 2.776}[len(percent)]  # t, one degree of freedom less
    of_seeds = student * statistics.stdev(percent) / len(percent) ** 0.5
    of_deals = [50 * (high - low) for _, low, high in rates]
    half = math.hypot(of_seeds, statistics.fmean(x**2 for x in of_deals) ** 0.5)
    mean = statistics.mean(percent)
    return [f"{x:.1f}" for x in (mean, mean - half, mean + half)]


def _check_configs() -> Iterator[str]:
    """Yield records of trainings that the committed options would not repeat."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for pattern in ("make-train-*-seeds.json", "main-*-seeds.json"):
        record = newest(pattern)
        (command,), name = record.head["commands"], record.path.name
        if pattern.startswith("make-train"):
            recipe = re.search(r"^train:.*\n\t\$\(PY\) (.+)$", makefile, re.MULTILINE)
            (game,) = re.findall(r"^GAME \?= (\w+)$", makefile, re.MULTILINE)
            (first,) = re.findall(rf"\b{game}:(\w+)", makefile)
            agent = f"training/configs/{first}.yaml"
            runs = recipe and recipe[1].replace("$(FIRST_AGENT)", agent)
            if not command.startswith(f"python {runs} --seed SEED"):
                yield f"{name}: it is not of what make train runs"
        (path,) = re.findall(r"--config (\S+)", command)
        config = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))
        evaluation, rollout = config["evaluation"], config["num_envs"] * config["ppo"]["n_steps"]
        for run in record.head["runs"].values():
            if not 0 <= run["steps"] - config["total_steps"] < rollout:
                yield f"{name}: a run has another length than {path}"
            if list(run["win_rate"]) != evaluation["opponents"]:
                yield f"{name}: a run has played others than {path} names"
        if record.head["games"] != evaluation["games"]:
            yield f"{name}: as many games as {path} asks for were not played"
    configs = newest("variants-*-seeds.json").head["configs"]
    for variant, file in (("pair", "hierarchical"), ("flat", "main")):
        options = load_file(ROOT / f"training/configs/{file}.yaml")
        options.pop("without_core", None)  # lengths and what belongs to the machine aside
        now, then = RunConfig.from_mapping(options), RunConfig.from_mapping(configs[variant])
        names = [name for name in OF_A_TRAINING if name in now.model_fields_set]
        yield from _name_differences(f"training/configs/{file}.yaml", now, then, names)


def _check_learning() -> Iterator[str]:
    for report in newest("defaults-*-seeds.json").head["compared"].values():
        found, plain = (RunConfig.from_mapping(report["configs"][n]) for n in ("found", "plain"))
        flags = ["--env", found.env, "--trainer", found.trainer]
        alone = config_of(flags, lambda _: None)
        names = ("num_envs", "env_options", "schedules", "ppo", "native")
        yield from _name_differences(f"what {found.env} learns by alone", alone, found, names)
        usual = plain.num_envs == NativeRun().num_envs and plain.ppo == PPOConfig()
        if plain.env_options != found.env_options or not usual:
            yield f"the record of {found.env}: plain options are others than those of PPO"
    for game in ("drmario", "gameboy", "prospector"):
        runs = newest(f"{game}-learning.json").head["runs"].values()
        if any(run["dirty"] or run["evaluation"]["dirty"] for run in runs):
            yield f"{game}-learning.json: a run is not of a clean commit"


def _name_differences(
    what: str, now: RunConfig, then: RunConfig, names: tuple[str, ...] | list[str]
) -> Iterator[str]:
    for name in names:
        if getattr(now, name) != getattr(then, name):
            yield f"{what}: {name} is not what its record was taken with"
