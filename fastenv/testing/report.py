"""How a case ends, what was found, how much was tried, and the script that shows it again."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import asdict, dataclass
from pprint import pformat
from typing import Any, Literal

from fastenv.errors import ConfigError

Kind = Literal["law broken", "difference", "capability missing", "note"]
FAULTS = ("law broken", "difference")

# A case is the calls that it makes, one after the other: a number is a reset with that seed (None:
# without one), a dict is a step with the plain actions of everybody whose turn it is.
Call = int | dict[str, Any] | None
Case = list[Call]


class Fault(Exception):
    """Something is not as it must be; nobody goes on with the case.

    Parameters
    ----------
    values : tuple of str
        What it is, and what it should be.
    **fields
        Of the finding, where they are not those of the question that was asked.
    """

    def __init__(self, values: tuple[str, str], **fields: Any) -> None:
        super().__init__(": ".join(filter(None, (fields.get("rule"), values[0]))))
        self.fields: dict[str, Any] = {**fields, "values": values}


class Invalid(Exception):
    """A case cannot be played: it chooses an action that is not legal, or both refuse a call."""


class Missing(Exception):
    """The environment cannot do what a stress needs, such as copies."""


class Refused(ConfigError):
    """A function that the caller gave does not do what it must."""


def is_step(call: Call) -> bool:
    """Return whether a call is a step, and not a reset."""
    return isinstance(call, dict)


def place_of(case: Case, index: int) -> str:
    """Return a place in a case in words."""
    begun = [k for k, call in enumerate(case[: index + 1]) if not is_step(call)]
    if not begun:
        return "the beginning"
    step = index - begun[-1]
    return f"{f'step {step}' if step else 'reset'} of episode {len(begun) - 1}"


@dataclass(frozen=True)
class Finding:
    """A rule that does not hold.

    Parameters
    ----------
    kind : str
        "law broken" (a rule of the interface), "difference" (two that must be equal are not),
        "capability missing" (what others can do and this one cannot), "note" (no fault).
    rule : str
        What should hold.
    source : str
        Who says so.
    names, values : tuple of str
        What was compared, and what each gave.
    case : list of int, None or dict
        The shortest that was found: resets with their seeds, and the actions of the steps.
    index : int
        Of the call of the case that shows it; -1: before the first.
    who, field : str
        Of whom what differs.
    stress : str
        What was done to the second track, "" in a comparison of two environments.
    script : str
        A Python program that prints both values.
    number : int
        Of the case in the search: episodes of some are cut short.
    """

    kind: Kind
    rule: str
    source: str
    names: tuple[str, str] = ("", "")
    values: tuple[str, str] = ("", "")
    case: Case = dataclasses.field(default_factory=list)
    index: int = -1
    who: str = ""
    field: str = ""
    stress: str = ""
    script: str = ""
    number: int = 0

    @property
    def where(self) -> str:
        """What differs, of whom, and in which step of which episode."""
        subject = " of ".join(filter(None, (self.field, self.who)))
        place = place_of(self.case, self.index) if self.case or self.stress else ""
        return ", ".join(filter(None, (subject, place)))

    @property
    def name(self) -> str:
        """The field, without the place in it."""
        return re.split(r"[\[:]", self.field)[0]

    @property
    def steps(self) -> int:
        """Number of steps of the case."""
        return sum(map(is_step, self.case))

    def is_like(self, other: Finding) -> bool:
        """Return whether another one is about the same rule and field."""
        ours, theirs = ((each.rule, each.stress, each.name) for each in (self, other))
        return ours == theirs

    def __str__(self) -> str:
        """Return it in a few lines."""
        lines = [f"{self.kind}: {self.rule}", f"  source: {self.source}"]
        if self.where:
            lines.append(f"  where: {self.where}")
        width = max(map(len, self.names))
        pairs = zip(self.names, self.values, strict=True)
        lines += [f"  {name.ljust(width)}: {value}" for name, value in pairs if name]
        if self.case:
            lines.append(f"  case: {', '.join(map(_say, self.case))}")
        return "\n".join(lines)


def _say(call: Call) -> str:
    if not isinstance(call, dict):
        return f"reset(seed={call})"
    return str(call.get("", call) if len(call) == 1 else call)


@dataclass
class Report:
    """All findings, and what was tried before "none" may be said.

    Parameters
    ----------
    names : tuple of str
        What was examined.
    findings : list of Finding
    episodes, steps, cells : int
        Played by the first track; cells are different regions of the observations.
    seconds : float
        Processor time.
    """

    names: tuple[str, ...]
    findings: list[Finding] = dataclasses.field(default_factory=list)
    episodes: int = 0
    steps: int = 0
    cells: int = 0
    seconds: float = 0.0

    @property
    def faults(self) -> list[Finding]:
        """Laws broken and differences, without missing capabilities and notes."""
        return [finding for finding in self.findings if finding.kind in FAULTS]

    def count(self, case: Case) -> None:
        """Count the episodes and steps of a case that was played."""
        steps = sum(map(is_step, case))
        self.episodes += len(case) - steps
        self.steps += steps

    def raise_for_faults(self) -> None:
        """Raise an ``AssertionError`` with the report if there is a fault."""
        if self.faults:
            raise AssertionError(str(self))

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dicts, lists, numbers and text."""
        places = [{"where": finding.where} | asdict(finding) for finding in self.findings]
        return asdict(self) | {"findings": places}

    def __str__(self) -> str:
        """Return the report as text."""
        found = f"{len(self.faults)} found" if self.faults else "none found"
        head = (
            f"{' and '.join(self.names)}: {found} in {self.episodes:,} episodes, "
            f"{self.steps:,} steps, {self.cells:,} cells of the observation, {self.seconds:.1f} s"
        )
        head += "" if self.faults else "; a sample and no proof"
        return "\n\n".join([head, *map(str, self.findings)])


def write_script(title: str, function: str, arguments: dict[str, str], case: list[Any]) -> str:
    """Return a program that plays a case again and prints both values.

    Parameters
    ----------
    title : str
        A line that says what it shows.
    function : str
        What plays it, as ``module:name``.
    arguments : dict of str
        Of that function, as Python text each; without those that are empty.
    case : list
        Its argument ``case``.
    """
    module, _, name = function.partition(":")
    calls = pformat(case, width=88, compact=True).replace("\n", "\n        ")
    given = "".join(f"        {key}={text},\n" for key, text in arguments.items() if text)
    said = " ".join(title.split()).replace("\\", "/").replace('"', "'")
    head = f"from {module} import {name}\n"
    if "find(" in given:
        head += "from fastenv.testing.factories import find\n"
    if "pickle.loads(" in given:
        head = f"import pickle\n\n{head}"
    return (
        f'"""{said}"""\n\n{head}\nif __name__ == "__main__":\n'
        f"    failed = {name}(\n{given}        case={calls},\n    )\n"
        "    raise SystemExit(int(failed))\n"
    )
