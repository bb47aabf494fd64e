"""Cards of models: a ``README.md`` whose metadata hubs of models read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from fastenv.errors import show
from fastenv.files import read_regular
from fastenv.registry import short_id
from training.run.config_files import MAX_BYTES, parse_yaml
from training.run.options import require

FILE = "README.md"
LIBRARY = "fastenv"
TASK = "reinforcement-learning"
_EDGE = "---\n"  # before and behind the metadata
_INTERVAL = re.compile(r", 95 % interval (-?\d[\d.e+-]*) to (-?\d[\d.e+-]*)$")


class Result(NamedTuple):
    """The results of an agent in one environment under one set of conditions.

    Parameters
    ----------
    env : str
    config : str
        The conditions in words, such as ``against 3 x rule_hard``.
    metrics : dict of str to sequence of float
        A value, or value, low and high of its 95 % interval.
    revision : str, optional
        Commit at which it was measured.
    record : str, optional
        File that has the values.
    """

    env: str
    config: str
    metrics: Mapping[str, Sequence[float]]
    revision: str | None = None
    record: str | None = None


def make_metadata(
    name: str, results: Sequence[Result], license_: str | None = None, tags: Sequence[str] = ()
) -> dict[str, Any]:
    """Make the metadata of a card.

    Parameters
    ----------
    name : str
        Of the model.
    results : sequence of Result
        May be empty: then there is no ``model-index``.
    license_ : str, optional
    tags : sequence of str
        Beside those that all models here have.
    """
    values: dict[str, Any] = {} if license_ is None else {"license": license_}
    values |= {"library_name": LIBRARY, "pipeline_tag": TASK, "tags": [LIBRARY, TASK, *tags]}
    if results:
        values["model-index"] = [{"name": name, "results": [_make_entry(each) for each in results]}]
    return values


def _make_entry(result: Result) -> dict[str, Any]:
    env = short_id(result.env)
    dataset: dict[str, Any] = {"name": env, "type": env, "config": result.config}
    if result.revision is not None:
        dataset["revision"] = result.revision
    if result.record is not None:
        dataset["args"] = {"record": result.record}
    metrics = [
        {
            "type": re.sub(r"\W+", "_", name),
            "value": _round(values[0]),
            "name": _name_metric(name, values),
        }
        for name, values in result.metrics.items()
    ]
    return {"task": {"type": TASK, "name": TASK}, "dataset": dataset, "metrics": metrics}


def _name_metric(name: str, values: Sequence[float]) -> str:
    shown = name.replace("_", " ")
    if len(values) < 3:
        return shown
    return f"{shown}, 95 % interval {_round(values[1])} to {_round(values[2])}"


def _round(value: float) -> float:
    """Round a number to six significant digits."""
    return float(f"{value:.6g}")


def format_front_matter(values: Mapping[str, Any]) -> str:
    """Format metadata for the top of a card."""
    text = yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True, width=10_000)
    return f"{_EDGE}{text}{_EDGE}"


def split(text: str) -> tuple[str, str]:
    """Split a card into its YAML, empty if it has none, and the text behind it."""
    if not text.startswith(_EDGE):
        return "", text
    head, edge, rest = text.removeprefix(_EDGE).partition(f"\n{_EDGE}")
    return (head, rest) if edge else ("", text)


def check(text: str, where: str) -> dict[str, Any]:
    """Read and check the metadata of a card.

    Parameters
    ----------
    text : str
        The whole card.
    where : str
        Its name in messages.

    Raises
    ------
    ConfigError
        If there are none, or hubs could not read them.
    """
    head, _ = split(text)
    require(bool(head), where, text[:20], "a card that begins with metadata between lines of ---")
    values = parse_yaml(head, f"metadata of {where}")
    require(isinstance(values, dict), f"metadata of {where}", show(values), "options by name")
    for name in ("license", "library_name", "pipeline_tag"):
        value = values.get(name, "")
        require(isinstance(value, str), f"{name} of {where}", value, "a text")
    tags = values.get("tags", [])
    all_texts = isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
    require(all_texts, f"tags of {where}", tags, "a list of texts")
    for entry in _list_entries(values.get("model-index", []), where):
        _check_entry(entry, f"model-index of {where}")
    return values


def _list_entries(models: Any, where: str) -> Iterator[Any]:
    """Yield the results of all models."""
    allowed = "a list of models, each with a name and a list of results"
    require(isinstance(models, list), f"model-index of {where}", models, allowed)
    for model in models:
        whole = isinstance(model, dict) and isinstance(model.get("name"), str)
        whole = whole and isinstance(model.get("results"), list)
        require(whole, f"model-index of {where}", model, allowed)
        yield from model["results"]


def _check_entry(entry: Any, where: str) -> None:
    parts = entry if isinstance(entry, dict) else {}
    for part, fields in (("task", ("type",)), ("dataset", ("name", "type"))):
        values = parts.get(part)
        texts = isinstance(values, dict) and all(isinstance(values.get(x), str) for x in fields)
        require(texts, where, values, f"results with a {part} that has {' and '.join(fields)}")
    metrics = parts.get("metrics")
    whole = isinstance(metrics, list) and all(
        isinstance(each, dict)
        and isinstance(each.get("type"), str)
        and isinstance(each.get("value"), int | float | str)
        for each in metrics
    )
    require(whole, where, metrics, "results with metrics that have type and value")


def read(folder: Path) -> str | None:
    """Read the card in a folder; None if there is none or it has no metadata.

    Raises
    ------
    ConfigError
        If hubs could not read its metadata.
    FileError
        If it is no regular file, or a large one.
    """
    path = folder / FILE
    if not path.exists():
        return None
    text = read_regular(path, MAX_BYTES).decode(errors="replace")
    if not split(text)[0]:
        return None
    check(text, str(path))
    return text


def read_results(folder: Path) -> list[Result]:
    """Read the results in the card of a folder; none where there is no card.

    Raises
    ------
    ConfigError, FileError
        See :func:`read`.
    """
    text = read(folder)
    if text is None:
        return []
    values = parse_yaml(split(text)[0], FILE)
    results = []
    for entry in _list_entries(values.get("model-index", []), FILE):
        data = entry["dataset"]
        metrics = {each["type"]: _read_metric(each) for each in entry["metrics"]}
        record = data["args"].get("record") if isinstance(data.get("args"), dict) else None
        known = {name: metric for name, metric in metrics.items() if metric}
        conditions = str(data.get("config", data["name"]))
        results.append(Result(data["type"], conditions, known, data.get("revision"), record))
    return results


def _read_metric(entry: Mapping[str, Any]) -> list[float]:
    """Read a value and its interval as :func:`_name_metric` writes it; nothing if it is a text."""
    value = entry["value"]
    if isinstance(value, str | bool):
        return []
    ends = _INTERVAL.search(str(entry.get("name", "")))
    return [float(value), *(map(float, ends.groups()) if ends else ())]


def format_table(results: Sequence[Result]) -> str:
    """Format results as a Markdown table."""
    lines = ["| conditions | measure | value, 95 % interval |", "| --- | --- | --- |"]
    for result in results:
        for name, (value, *ends) in result.metrics.items():
            interval = ", ".join(f"{end:.5g}" for end in ends)
            shown = f"{value:.5g}{interval and f' [{interval}]'}"
            lines.append(f"| {result.config} | {name.replace('_', ' ')} | {shown} |")
    return "\n".join(lines)
