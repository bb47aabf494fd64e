"""The choices of a game: its options with their help, bots, agents and seats."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from fastenv.errors import FastEnvError
from fastenv.registry import entry_of, make_game, short_id
from training.run import games
from training.run.game_view import find_view
from training.run.seating import SEATING, env_of_table
from training.search.options import SearchOptions
from training.studio.places import PERSON, Places

_ENTRY = re.compile(r"^(\w[\w, ]*?) : (.+)$")
_PLAIN = (bool, int, float, str)


def describe(env: str, places: Places) -> dict[str, Any]:
    """Describe an environment for the page on which a game is begun.

    Parameters
    ----------
    env : str
    places : Places
    """
    name = short_id(env)
    game = make_game(name)
    training, where = games.get_game(name), env_of_table(name)
    seats = game.seats.count if game.seats is not None and where == name else 1
    view = find_view(name)
    return {
        "kind": "game",
        "env": name,
        "title": training.title or name,
        "goal": game.goal,
        "seats": seats,
        "players_option": seats > 1 and "num_players" in _list_options(name),
        "bots": bots_for(name, game),
        "agents": agents_for(name, places),
        "person": PERSON,
        "page": view.page is not None,
        "rules": view.rules is not None,
        "options": list(options_of(name, game)),
        "defaults": {k: v for k, v in training.env_options.items() if _is_plain(v)},
        "search": list(_search_options()),
    }


def agents_for(env: str, places: Places) -> list[str]:
    """Return the names of agents that might play in an environment."""
    other = find_view(env).other_env(env)
    fitting = [each for each in places.agents() if _fits(each["env"], env) or each["env"] == other]
    return [each["name"] for each in fitting]


def bots_for(env: str, game: Any) -> list[str]:
    """Return the bots that can play in an environment, the reference ones first."""
    other = find_view(env).other_env(env)
    others = () if other is None else make_game(other).bot_names
    return [*dict.fromkeys((*games.get_game(env).bots, *game.bot_names, *others))]


def _fits(env: str, name: str) -> bool:
    """Tell whether agents of an environment might play in another."""
    try:
        return env == name or (env_of_table(env) == name and env_of_table(name) == name)
    except FastEnvError:  # an environment that there is not any more
        return False


def _list_options(env: str) -> list[str]:
    return [each["name"] for each in options_of(env, make_game(env))]


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, _PLAIN)


def options_of(env: str, game: Any) -> Iterator[dict[str, Any]]:
    """Yield the options of an environment, but those that its id fixes and who sits where.

    They are those of the game's config, with the words of its documentation; of a game without
    one, the keywords that make it.
    """
    fixed = entry_of(env).fixed
    config = getattr(game, "config", None)
    if is_dataclass(config):
        defaults = {
            f.name: None if f.default is MISSING else getattr(config, f.name)
            for f in fields(config)
        }
    else:
        taken = inspect.signature(entry_of(env).load().make_game).parameters.values()
        defaults = {p.name: p.default for p in taken if p.kind is not p.VAR_KEYWORD}
    helps = dict(_parse_parameters(type(config).__doc__ or ""))
    for name, default in defaults.items():
        kind, text = helps.get(name, ("", ""))
        usable = _is_plain(default) and "Path" not in kind
        if name in fixed or name in SEATING or not usable:
            continue
        yield {
            "name": name,
            "title": title_option(name),
            "default": default,
            "choices": _parse_choices(kind, default),
            "type": kind,
            "help": _strip_marks(text),
        }


# Words in the names of options that are short for others.
_WORDS = {
    "num": "number of",
    "max": "most",
    "obs": "observation",
    "ext": "extension",
    "dtype": "type of numbers",
    "k": "size",
    "ram": "RAM",
    "lcd": "LCD",
}


def title_option(name: str) -> str:
    """Return the title of an option: ``num_players`` is ``Number of players``."""
    text = " ".join(_WORDS.get(word, word) for word in name.split("_"))
    return text[0].upper() + text[1:]


def _strip_marks(text: str) -> str:
    """Return a text of a documentation without the marks of code and references."""
    return re.sub(r"(?::\w+:)?`{1,2}~?([^`]+)`{1,2}", r"\1", text)


def _parse_parameters(doc: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield name, type and meaning of each parameter of a documentation in NumPy's style."""
    lines = inspect.cleandoc(doc).partition("Parameters\n----------\n")[2].splitlines()
    names: list[str] = []
    kind, words = "", [""]
    for line in [*lines, "end : "]:
        entry = _ENTRY.match(line) or (line.startswith("end : ") and True)
        if entry and not line.startswith(" "):
            for name in names:
                yield name, (kind, " ".join(words).strip())
            names, words = [], []
            if not isinstance(entry, bool):
                names, kind = entry[1].split(", "), entry[2]
        else:
            words.append(line.strip())


def _parse_choices(kind: str, default: Any) -> list[Any]:
    """Return the values that a type names, such as ``{"low", "high"}``."""
    if isinstance(default, bool):
        return [False, True]
    match = re.search(r"\{([^}]*)\}", kind)
    if match is None:
        return []
    words = [word.strip() for word in match[1].split(",")]
    constants = {"None": None, "True": True, "False": False}
    return [
        constants[w] if w in constants else int(w) if w.lstrip("-").isdecimal() else w.strip("\"'")
        for w in words
    ]


def _search_options() -> Iterator[dict[str, Any]]:
    for name, field in SearchOptions.model_fields.items():
        if name != "value":  # which names a file
            yield {"name": name, "default": field.default, "help": str(field.description)}
