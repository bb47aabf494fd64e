"""The table of wheels that were installed and compared."""

from __future__ import annotations

import re

from tools.figures.records import RECORDS, Record, table


def wheels() -> str:
    """Return a row for each wheel, and the record."""
    record = Record(RECORDS / "wheel.json")
    made = []
    for wheel in record.head["wheels"]:
        tag = re.sub(r".*-cp\d+-cp\d+-|\.whl$", "", wheel["wheel"])
        verified = wheel["verified"]
        made.append(
            (
                wheel["python"],
                f"`{tag}`",
                f"{wheel['bytes'] / 1e6:.1f} MB",
                f"{wheel['packages']['numpy']}, {wheel['packages']['numba']}",
                f"{wheel['install_s']:.1f} s",
                f"{wheel['import_cpu_s']:.3f} s",
                f"{len(verified)} ids, {sum(verified.values()):,} steps, no difference"
                if wheel["passed"]
                else "differs",
            )
        )
    heads = ("Python", "wheel", "size", "NumPy, Numba", "installed in", "import, CPU", "`verify`")
    return f"{table(heads, made)}\n\n{record.source}."
