"""The registry of environment ids, and the construction of their games.

``fastenv/games.py`` fills it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fastenv.errors import ConfigError, show, unknown_keyword, with_nearest
from fastenv.game import Game
from fastenv.seats import EXTERNAL

NAMESPACE = "fastenv"


class Entry(NamedTuple):
    """The registry entry of an id.

    Parameters
    ----------
    load : callable
        Imports and returns the game's package, which has ``make_game(**options) -> Game`` and may
        have ``random_options(rng, **options) -> dict``.
    fixed : mapping of str to object
        Options that the id fixes.
    """

    load: Callable[[], Any]
    fixed: Mapping[str, Any]


ENVS: dict[str, Entry] = {}  # by id, without the namespace
# Asked in turn for a name that is not among them; see `register_finder`.
Find = Callable[[str], Entry | None]
_FINDERS: dict[Find, str] = {}  # with the names that each takes, in words
_FOUND: dict[str, Entry] = {}


def register_game(load: Callable[[], Any], ids: Mapping[str, Mapping[str, Any]]) -> None:
    """Register the ids of a game.

    Parameters
    ----------
    load : callable
        See :class:`Entry`; called when an environment is made.
    ids : mapping of str to mapping of str to object
        Options that each id fixes.
    """
    for env_id, fixed in ids.items():
        ENVS[env_id] = Entry(load, fixed)


def register_finder(find: Find, takes: str = "") -> None:
    """Register a function that makes games of names that are no ids here.

    Parameters
    ----------
    find : callable
        Takes a name, and returns its entry or None. It is asked once for a name that it knows.
    takes : str
        Which names those are, for whoever gives a name that nobody knows.
    """
    _FINDERS[find] = takes


def list_envs() -> list[str]:
    """Return the ids of all environments, with their namespace; examples are left out.

    Examples
    --------
    >>> import fastenv
    >>> "fastenv/LanternWalk-v0" in fastenv.list_envs()
    True
    """
    return [f"{NAMESPACE}/{name}" for name in ENVS]


def short_id(env_id: str) -> str:
    """Return an id without its namespace.

    Raises
    ------
    ConfigError
        For an unknown id; the message lists the known ones.
    """
    name = env_id.removeprefix(f"{NAMESPACE}/") if isinstance(env_id, str) else None
    if name not in ENVS and not _is_found(name):
        others = filter(None, _FINDERS.values())
        known = " or ".join([", ".join(list_envs()), *others])
        message = f"id {show(env_id)}: must be one of {known}"
        raise ConfigError(with_nearest(message, name, ENVS))
    return name


def _is_found(name: str | None) -> bool:
    """Return whether a finder knows a name, and keep its entry."""
    if name is None:
        return False
    if name not in _FOUND:
        entry = next((made for find in _FINDERS if (made := find(name)) is not None), None)
        if entry is None:
            return False
        _FOUND[name] = entry
    return True


def entry_of(env_id: str) -> Entry:
    """Return the registry entry of an id, with or without the namespace."""
    name = short_id(env_id)
    return ENVS[name] if name in ENVS else _FOUND[name]


def make_game(env_id: str, /, **options: Any) -> Game:
    """Return the configured game of an id.

    Parameters
    ----------
    env_id : str
        With or without the namespace.
    **options
        Options of the game.

    Raises
    ------
    ConfigError
        Unknown id, an option the id fixes, or a value that is not allowed.
    UnknownOptionError
        An unknown option: a ``ConfigError`` that is a ``TypeError`` too.

    Examples
    --------
    >>> import fastenv
    >>> game = fastenv.make_game("SkullKingWorker-v0", num_players=5)
    >>> game.spec.num_actions, game.spec.obs_shape
    (11, (217,))
    """
    load, fixed = entry_of(env_id)
    for name in fixed:
        if name in options:
            raise ConfigError(
                f"{name}={show(options[name])}: {name} is fixed by the id {show(env_id)}"
            )
    make = load().make_game
    taken = inspect.signature(make).parameters
    if not any(each.kind is each.VAR_KEYWORD for each in taken.values()):
        for name in options:
            if name not in taken:
                raise unknown_keyword(name, show(env_id), taken)
    game: Game = make(**fixed, **options)
    game.env_id = short_id(env_id)
    return game


def make_seated(
    env_id: str, opponent: Any, options: Mapping[str, Any]
) -> tuple[Game, dict[str, Any]]:
    """Return the configured game of an id, and the seating arguments of an engine.

    Games of several agents leave the options ``seats="all"`` and ``agent_seat`` to the engine; one
    whose row shows a seat at a time has them itself.

    Parameters
    ----------
    env_id : str
    opponent : str or sequence of str, optional
        See :class:`fastenv.engine.BatchEngine`.
    options : mapping
        Of the game, and those two.

    Raises
    ------
    ConfigError
        See :func:`make_game`; or ``seats`` is another word or goes with an ``opponent``.
    """
    rest = {name: value for name, value in options.items() if name not in ("seats", "agent_seat")}
    seating = {"opponent": opponent}
    if len(rest) < len(options):
        game = make_game(env_id, **rest)
        if game.spec.num_agents > 1:
            if "seats" in options:
                seats = options["seats"]
                if not (isinstance(seats, str) and seats == "all") or opponent is not None:
                    allowed = "'all', and without an opponent"
                    raise ConfigError(f"seats={show(seats)}: must be {allowed}")
                seating["opponent"] = EXTERNAL
            return game, seating | {"agent_seat": options.get("agent_seat", 0)}
    return make_game(env_id, **options), seating
