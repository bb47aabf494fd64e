"""What ``fastenv.testing`` finds, in environments with faults and in those without."""

from __future__ import annotations

from tools.figures.records import newest, table


def faults_found() -> str:
    """Return how many of the listed faults are found, beside a reference and alone."""
    record = newest("env-faults.json")
    beside, alone = record.head["beside"], record.head["alone"]
    scripts = beside["found"] + alone["found"]
    again = beside["scripts_that_fail_again"] + alone["scripts_that_fail_again"]
    return (
        f"`python -m benchmarks.faults` writes {beside['of']} faults into four small games, one of "
        f"each kind ({record.source}). Half of them were listed before the tool was written. In "
        f"{record.head['seconds']:g} seconds of the processor, `compare` finds {beside['found']} "
        f"of {beside['of']} faults beside the game as it should be, and `check` finds "
        f"{alone['found']} without it. In the median, a case of `compare` has "
        f"{_steps(beside['median_steps'])}, and one of `check` {_steps(alone['median_steps'])}. Of "
        f"{scripts} scripts, {again} fail again in a new process."
    )


def _steps(count: float) -> str:
    return f"{count:g} step{'s' * (count != 1)}"


def correct_environments() -> str:
    """Return what is found in environments that are as they should be, by package."""
    record = newest("env-correct.json")
    rows = [
        [
            group,
            str(own["environments"]),
            f"{own['steps']:,}",
            str(own["true"]),
            str(own["false"]),
        ]
        for group, own in record.head["groups"].items()
    ]
    heads = ("checked", "environments", "steps", "faults of the package", "false findings")
    source = f"`python -m benchmarks.correct`, {record.head['seconds']:g} seconds each"
    return f"{table(heads, rows)}\n\n{source} ({record.source})."
