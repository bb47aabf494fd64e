"""What is the same for all games: the folder of a new one, its tests and its id.

The templates in ``fastenv/templates/`` hold the smallest game there is, for one (guessing the toss
of a coin) or for two (guessing in turn), which runs on every backend and passes its tests from the
first minute on; its rules are then replaced, file by file (``docs/tutorials/new_game.md``). A line
of a template that begins with ``@hidden@`` is for a game in which each sees what the other does
not, one with ``@open@`` for any other.
"""

from __future__ import annotations

import keyword
import re
from importlib import resources
from pathlib import Path

from fastenv.errors import ConfigError, show

PARTS = ("__init__.py", "state.py", "reference.py", "kernels.py", "_core.pyx")
IMPORTS = re.compile(r"^(?:from fastenv\.\S+ import .*\n)+", re.MULTILINE)
ENTER_ABOVE = "# `python -m fastenv new-game` enters a game above this line.\n"
BEFORE_FIRST = "register_game(\n"  # the functions that load a game stand above

LOADER = """\
def _@name@() -> ModuleType:
    from fastenv import @name@

    return @name@


"""
ENTRY = 'register_game(_@name@, {"@id@": {}})\n'


def new_game(
    name: str, root: Path, players: int = 1, hidden: bool = False, judged_by: str | None = None
) -> list[Path]:
    """Write the files of a new game into a checkout, and enter its id.

    Parameters
    ----------
    name : str
        Of the folder, such as ``liars_dice``; the id is ``LiarsDice-v0``.
    root : Path
        The checkout.
    players : {1, 2}
        Two act in turn.
    hidden : bool
        Of two: whether each sees what the other does not.
    judged_by : {"win", "points"}, optional
        Of two: what ranks them; see :class:`fastenv.GameSpec`. Default that they win.

    Returns
    -------
    list of Path
        What was written or changed.

    Raises
    ------
    ConfigError
        If the name is none for a package, the game is there already, there are other players, or
        ``root`` is no checkout. Nothing has been written then.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise ConfigError(f"name {show(name)}: must be lower-case words joined by _, as liars_dice")
    if players not in (1, 2):
        raise ConfigError(f"players {show(players)}: must be 1 or 2")
    if hidden and players == 1:
        raise ConfigError("hidden True: must be left out of a game for 1 player")
    if judged_by not in (None, "win", "points"):
        raise ConfigError(f"judged_by {show(judged_by)}: must be win or points")
    if judged_by is not None and players == 1:
        raise ConfigError(f"judged_by {judged_by}: must be left out of a game for 1 player")
    games = root / "fastenv" / "games.py"
    text = games.read_text(encoding="utf-8") if games.exists() else ""
    if text.count(ENTER_ABOVE) != 1:
        raise ConfigError(f"root {show(str(root))}: must be a checkout of fastenv")
    folder, tests = root / "fastenv" / name, root / "tests" / name
    for path in (folder, tests, folder.with_suffix(".py")):
        if path.exists():
            raise ConfigError(f"name {show(name)}: {path.relative_to(root)} is there already")
    camel = "".join(word.capitalize() for word in name.split("_"))
    words = {"@name@": name, "@Class@": camel, "@id@": f"{camel}-v0"}
    words["@judged_by@"] = judged_by or "win"
    files = {folder / part: text for part, text in files_of_a_game(players, hidden).items()}
    files[tests / f"test_{name}_parity.py"] = _read("test_parity.py")
    for path, template in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(_filled(template, words), encoding="utf-8")
    text = text.replace(BEFORE_FIRST, _filled(LOADER, words) + BEFORE_FIRST, 1)
    text = text.replace(ENTER_ABOVE, _filled(ENTRY, words) + ENTER_ABOVE)
    games.write_text(text, encoding="utf-8")
    return [*files, games]


def files_of_a_game(players: int, hidden: bool) -> dict[str, str]:
    """Return the templates of the files in the folder of a game, by name.

    ``@name@``, ``@Class@``, ``@id@`` and ``@judged_by@`` stand in them for the name of the game,
    its class, its id and what ranks its players.

    Parameters
    ----------
    players : {1, 2}
    hidden : bool
        Of two: whether each sees what the other does not.
    """
    kept, dropped = ("@hidden@", "@open@") if hidden else ("@open@", "@hidden@")
    folder = "one" if players == 1 else "two"
    files = {name: _read(f"{folder}/{name}") for name in PARTS} | {"_core.pyi": _read("_core.pyi")}
    for name, text in files.items():
        lines = (line for line in text.splitlines(True) if not line.startswith(dropped))
        files[name] = "".join(line.removeprefix(kept) for line in lines)
    return files


def _read(name: str) -> str:
    path = resources.files("fastenv") / "templates" / f"{name}.template"
    return path.read_text(encoding="utf-8")


def _filled(template: str, words: dict[str, str]) -> str:
    """Return a template with the words of a game in their places, and its imports in order."""
    text = re.sub("|".join(words), lambda found: words[found[0]], template)
    return IMPORTS.sub(lambda found: "".join(sorted(found[0].splitlines(keepends=True))), text)
