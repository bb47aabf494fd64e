"""List the commands: ``python -m training``."""

from __future__ import annotations

import ast
from pathlib import Path

from rich.console import Console
from rich.table import Table


def commands() -> dict[str, str]:
    """Return the commands and the first line of what each says of itself."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        if path.stem == "composition":
            continue
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        found[path.stem] = said.partition("\n")[0].partition("``python")[0].rstrip(" .:")
    return found


def main() -> None:
    """Print them."""
    shown = Table.grid(padding=(0, 2))
    for name, said in commands().items():
        shown.add_row(f"python -m training.{name}", said)
    console = Console(highlight=False)
    console.print(shown)
    console.print("\nEach has --help; docs/training.md shows how they belong together.")


if __name__ == "__main__":
    main()
