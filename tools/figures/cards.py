"""Metadata and tables of the cards of ``pretrained/``, from the records of what was measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.figures.drmario import LEARNT, OTHER, played_through
from tools.figures.records import RECORDS, Record, newest
from training.players import card
from training.players.card import Result

LICENSE = "mit"  # that of the repository
_MATCHES = ("points", "margin", "win_rate", "bid_hit")
_EPISODES = ("return", "net_profit", "survival", "steps", "ticks")
_VALUE = "pretrained/skullking-value/value.safetensors"


def metadata(agent: str) -> str:
    """Return the metadata of a card, between its lines of dashes."""
    tags = list(dict.fromkeys(result.env for result in results(agent)))
    return card.format_front_matter(card.make_metadata(agent, results(agent), LICENSE, tags))


def table(agent: str) -> str:
    """Return the results of a card as a table."""
    return card.format_table(results(agent))


def results(agent: str) -> list[Result]:
    """List the results of a folder of ``pretrained/``, from its records."""
    return list(_RESULTS[agent]())


def _skull_king(agent: str) -> Iterator[Result]:
    record = newest(f"pretrained-{agent}.json")
    for opponents, players in record.head["matches"]["results"].items():
        seats = opponents if opponents == "mixed" else f"3 x {opponents}"
        found = _chosen(players["trained"], _MATCHES)
        yield _result("SkullKingFlat-v0", f"against {seats}", found, record)


def _prospector() -> Iterator[Result]:
    record = newest("prospector-learning.json")
    evaluation = record.head["runs"]["profit-1"]["evaluation"]
    for player, actions in (("trained, drawn", "drawn actions"), ("trained", "best actions")):
        found = evaluation["episodes"]["policies"][player]["intervals"]
        where = f"worlds of seeds 7 to 306, {actions}"
        yield _result("Prospector-v0", where, _chosen(found, _EPISODES), record, evaluation)


def _game_boy(env: str, name: str) -> Iterator[Result]:
    record = newest("gameboy-learning.json")
    run = record.head["runs"][name]
    places = {"": "states that it was not trained on", "beginning": "from the beginning"}
    for place, where in places.items():
        found = run["evaluation"].get(place) if place else run["evaluation"]
        if found is None:
            continue
        for player, actions in (("trained, drawn", "drawn actions"), ("trained", "best actions")):
            values = _chosen(found["policies"][player], ("reached", "steps"))
            yield _result(env, f"{where}, {actions}", values, record, run["evaluation"])


def _dr_mario() -> Iterator[Result]:
    for name in (LEARNT, OTHER):
        record = newest(name)
        for level, speeds in record.head["levels"].items():
            for speed, players in speeds.items():
                found = players["pretrained/drmario"]
                values = {"clear": found["cleared"], "frames_to_clear": [found["frames"]["mean"]]}
                where = f"level {level}, {speed} speed"
                yield _result("DrMarioPlacement-v0", where, values, record)


def _evaluator() -> Iterator[Result]:
    record = newest("drmario-lookahead.json")
    who = "lookahead:pretrained/drmario-evaluator/evaluator.safetensors:depth2"
    for level, players in record.head["compare"]["levels"].items():
        values = _chosen(players[who], ("clear", "frames_to_clear"))
        where = f"level {level}, medium speed, `depth2`"
        yield _result("DrMarioPlacement-v0", where, values, record)
    record = newest("drmario-calibration.json")
    values = {"variance explained": [record.head["calibrate"]["explained"]]}
    yield _result("DrMarioPlacement-v0", "frames to clear, games of greedy", values, record)


def _reader() -> Iterator[Result]:
    record = newest("drmario-reader-frames.json")
    read = {f"{name} right": part["share"] for name, part in record.head["read"].items()}
    yield _result("DrMarioPlacement-v0", "frames of random cameras", read, record)
    for name in ("greedy", "agent"):
        record = newest(f"drmario-reader-play-{name}.json")
        values = _chosen(record.head["players"]["pixels"], ("clear", "frames_to_clear"))
        who = played_through(record.head).replace("`", "")
        where = f"level {record.head['level']}, {who} plays through it"
        yield _result("DrMarioPlacement-v0", where, values, record)


def _value() -> Iterator[Result]:
    about = file_head(RECORDS.parent / _VALUE)["about"]
    for tricks in ("all", "1", "2", "3", "5", "8", "10"):
        found = about["held_out"][tricks]
        values = {
            "variance explained": [found["r2"]],
            "variance explained, margins": [found["r2_margin"]],
        }
        where = f"held-out games, tricks left: {tricks}"
        revision = about["git_rev"][:7]
        yield Result("SkullKingFlat-v0", where, values, revision, _VALUE)
    record = newest("skullking-search.json")
    for row in record.head["rows"]:
        if row["part"] == "value":
            where = f"search with 32 worlds, {row['label']}, against 3 x {row['against']}"
            won = _chosen(row, ("win_share", "points"))
            yield _result("SkullKingFlat-v0", where, won, record, row)


def file_head(path: Path) -> dict[str, Any]:
    """Read the head of the file of a network that evaluates the ends of rollouts."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    found: dict[str, Any] = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["head"])
    return found


def _chosen(values: Mapping[str, Any], names: Sequence[str]) -> dict[str, Sequence[float]]:
    return {name: values[name] for name in names}


def _result(
    env: str,
    where: str,
    values: Mapping[str, Sequence[float]],
    record: Record,
    measured: Mapping[str, Any] | None = None,
) -> Result:
    """Return a result of a record, at the commit of a part of it if one is given."""
    revision = (measured or record.head)["git_rev"][:7]
    path = record.path.relative_to(RECORDS.parent).as_posix()
    return Result(env, where, values, revision, path)


_RESULTS: dict[str, Callable[[], Iterator[Result]]] = {
    "skullking": lambda: _skull_king("skullking"),
    "skullking-2": lambda: _skull_king("skullking-2"),
    "skullking-ppo": lambda: _skull_king("skullking-ppo"),
    "skullking-value": _value,
    "prospector": _prospector,
    "gameboy": lambda: _game_boy("GameBoyGoal-v0", "goal-1"),
    "lantern_walk": lambda: _game_boy("LanternWalk-v0", "walk-2"),
    "drmario": _dr_mario,
    "drmario-evaluator": _evaluator,
    "drmario-reader": _reader,
}
AGENTS = tuple(_RESULTS)
