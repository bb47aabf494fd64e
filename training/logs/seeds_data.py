"""Evaluations over seeds read from the folders of ``training evaluate seeds``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.logs.run_data import RunDataError
from training.run import files

FILE = "seeds.json"


@dataclass(frozen=True)
class SeedsData:
    """Results of players at some levels.

    Parameters
    ----------
    name : str
    head : dict
        Who played what, and when.
    levels : list of dict
        A record for each level, speed and quantile.
    """

    name: str
    head: dict[str, Any]
    levels: list[dict[str, Any]]

    def player(self, record: dict[str, Any]) -> str:
        """Name the player of a record, with the quantile if placements were judged by one."""
        risk_tau = record.get("risk_tau")
        return self.name if risk_tau is None else f"{self.name}, quantile {risk_tau:g}"


def is_seeds(path: Path) -> bool:
    """Tell whether a folder is that of an evaluation over seeds."""
    return (path / FILE).is_file()


def read_seeds(paths: Sequence[Path]) -> list[SeedsData]:
    """Read folders of evaluations over seeds.

    Raises
    ------
    RunDataError
        If one holds no figures by level.
    """
    return [_read(path.resolve()) for path in dict.fromkeys(paths)]


def _read(path: Path) -> SeedsData:
    try:
        head = files.read_json(path / FILE)
        levels = head.pop("levels")
        known = all(map(_is_record, levels))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        known = False
    if not known:
        raise RunDataError(
            f"{path / FILE} has no figures by level: python -m training evaluate seeds writes them."
        )
    return SeedsData(path.name, head, levels)


def _is_record(record: Any) -> bool:
    """Tell whether something holds the figures of a level."""
    whole = {"level", "games"} <= record.keys() and "clear" in record
    risk_tau = record.get("risk_tau")
    return (
        whole
        and all(type(record[name]) is int for name in ("level", "games"))
        and isinstance(record.get("speed"), str)
        and (risk_tau is None or type(risk_tau) in (int, float))
    )


def levels_of(seeds: Sequence[SeedsData]) -> list[tuple[int, str]]:
    """List level and speed of all records, each once, levels rising."""
    levels = dict.fromkeys((r["level"], r["speed"]) for each in seeds for r in each.levels)
    return sorted(levels, key=lambda pair: pair[0])
