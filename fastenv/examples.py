"""The small games of ``docs/examples/`` as a package, where this is a checkout."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "examples"
__path__ = [str(FOLDER)]  # in which its modules are looked for
