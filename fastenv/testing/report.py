"""What was found, how much was tried, and the script that shows a finding again."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pprint import pformat
from typing import Any, Literal

Kind = Literal["law broken", "difference", "capability missing", "note"]
FAULTS = ("law broken", "difference")


@dataclass
class Episode:
    """A seed and the actions of everybody who chose, step by step, as plain numbers."""

    seed: int | None
    actions: list[dict[str, Any]] = field(default_factory=list)

    def copy(self) -> Episode:
        """Return an episode with a list of actions of its own."""
        return Episode(self.seed, list(self.actions))


Case = list[Episode]


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
    where : str
        Episode, step, who and which field.
    names, values : tuple of str
        What was compared, and what each gave.
    case : list of Episode
        The shortest that was found.
    stress : str
        What was done to the second track, "" in a comparison of two environments.
    script : str
        A Python program that prints both values.
    """

    kind: Kind
    rule: str
    source: str
    where: str = ""
    names: tuple[str, str] = ("", "")
    values: tuple[str, str] = ("", "")
    case: Case = field(default_factory=list)
    stress: str = ""
    script: str = ""

    def __str__(self) -> str:
        """Return it in a few lines."""
        lines = [f"{self.kind}: {self.rule}", f"  source: {self.source}"]
        if self.where:
            lines.append(f"  where: {self.where}")
        width = max(map(len, self.names))
        lines += [
            f"  {name.ljust(width)}: {value}"
            for name, value in zip(self.names, self.values, strict=True)
            if name
        ]
        for number, episode in enumerate(self.case):
            actions = [step.get("", step) if len(step) == 1 else step for step in episode.actions]
            lines.append(f"  episode {number}: reset(seed={episode.seed}), actions {actions}")
        return "\n".join(lines)


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
    findings: list[Finding] = field(default_factory=list)
    episodes: int = 0
    steps: int = 0
    cells: int = 0
    seconds: float = 0.0

    @property
    def faults(self) -> list[Finding]:
        """Laws broken and differences, without missing capabilities and notes."""
        return [finding for finding in self.findings if finding.kind in FAULTS]

    def raise_for_faults(self) -> None:
        """Raise an ``AssertionError`` with the report if there is a fault."""
        if self.faults:
            raise AssertionError(str(self))

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dicts, lists, numbers and text."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the report as text."""
        tried = (
            f"{self.episodes:,} episodes, {self.steps:,} steps, {self.cells:,} cells of the "
            f"observation, {self.seconds:.1f} s"
        )
        about = " and ".join(self.names)
        if not self.faults:
            head = f"{about}: none found in {tried}; a sample and no proof"
        else:
            head = f"{about}: {len(self.faults)} found in {tried}"
        return "\n\n".join([head, *map(str, self.findings)])


def write_script(title: str, job: dict[str, Any], case: Case, stress: str) -> str:
    """Return a program that plays a case again and prints both values.

    Parameters
    ----------
    title : str
        A line that says what it shows.
    job : dict
        Arguments of :func:`fastenv.testing.replay`, as Python text each.
    case : list of Episode
    stress : str
        Name of what is done to the second track.
    """
    arguments = [f"        {name}={text},\n" for name, text in job.items()]
    if stress:
        arguments.append(f"        stress={stress!r},\n")
    episodes = pformat([(each.seed, each.actions) for each in case], width=88, compact=True)
    indented = episodes.replace("\n", "\n        ")
    return (
        f'"""{title}"""\n\n'
        "from fastenv.testing import replay\n\n"
        'if __name__ == "__main__":\n'
        "    replay(\n" + "".join(arguments) + f"        case={indented},\n    )\n"
    )
