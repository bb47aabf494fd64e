"""Players by name: a trained agent, one that searches, or a bot."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from fastenv.errors import FastEnvError
from fastenv.registry import make_game, short_id
from training.players.bots import Bot, RandomLegal
from training.players.network import seat_policy
from training.players.player import MakePlayer, Player
from training.players.policy import Policy
from training.players.trained import load_policy
from training.run import games, registry
from training.run.engine import Engine
from training.run.folder import name_of_agent
from training.run.options import require
from training.run.seating import SEARCH, check_bot, is_search, short_name

RANDOM_LEGAL = "random_legal"


class SearchingAgent(Protocol):
    """A player built on a policy or a bot, such as an agent with search."""

    @property
    def base(self) -> Policy | str:
        """The policy or the bot behind it."""

    @property
    def name(self) -> str:
        """The name that it was loaded by."""

    def player(self, engine: Any) -> Player:
        """Make its player for an engine."""


Who = Policy | SearchingAgent | str  # a trained agent, one that searches, or a bot by its name
AnyPlayer = Who | MakePlayer  # or what makes a player


def find_base(who: Who) -> Policy | str:
    """Return the policy or the bot that plays, or stands behind one that searches."""
    return who if isinstance(who, Policy | str) else who.base


def name_in_line(who: Who) -> str:
    """Name a player in a line of text: a trained agent by its run, or exported folder."""
    if isinstance(who, Policy):
        return name_of_agent(who.path)
    return short_name(who) if isinstance(who, str) else f"{SEARCH}{name_in_line(who.base)}"


def load_who(
    name: str,
    runs: Path = Path("runs"),
    *,
    checkpoint: str | None = None,
    member: int | None = None,
) -> Who:
    """Load a player by name: a trained agent, an agent with search, or the name of a bot.

    Parameters
    ----------
    name : str
        A path or the name of a run, that of a bot, or ``search:`` before one of them.
    runs : Path
        Folder of all runs.
    checkpoint : str, optional
        Name of one, or ``best``; default that of the path, or the newest.
    member : int, optional
        Network of an ensemble, from 1 on; default the first.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If a path is no trained agent, a search option is invalid, or a run has the name of a bot
        of its game.
    """
    which: dict[str, Any] = {"checkpoint": checkpoint, "member": member}
    if is_search(name):
        agent: Who = registry.FUNCTIONS.load("search")(name, runs, **which)
        return agent
    path = _find_path(name, runs)
    if path is None:
        return name  # of a bot, or of a player with a file, or the game refuses it
    at = path if checkpoint is None else path / "checkpoints" / checkpoint
    policy = load_policy(at, member=member)
    other = path if "/" in str(path) else f"./{path}"
    allowed = f"the path {other}, or a name that either a bot or a run has"
    require("/" in name or not _is_bot(name, policy.env), "who", name, allowed)
    return policy


def _is_bot(name: str, env: str) -> bool:
    try:
        return name in make_game(env).bot_names
    except FastEnvError:  # a game that needs further options
        return False


def _find_path(name: str, runs: Path) -> Path | None:
    """Find the path that a name means; None for one of a bot, or of a player with a file.

    A word alone is a run or a checkpoint: another folder of that name, such as one for what a bot
    has played, does not hide the bot.
    """
    for path in (Path(name), runs / name):
        held = any((path / file).exists() for file in ("config.json", "MANIFEST.json"))
        if path.exists() and ("/" in name or held):
            return path
    return Path(name) if "/" in name and ":" not in name else None


def load_for(env: str, name: str, runs: Path = Path("runs"), *, flag: str = "who") -> AnyPlayer:
    """Load a player of an environment by name, and refuse everybody else.

    Parameters
    ----------
    env : str
        Id of the environment, without the namespace.
    name : str
        A bot, a player that the game knows (such as ``lookahead:FILE``), or what :func:`load_who`
        takes.
    runs : Path
        Folder of all runs.
    flag : str
        What errors call the name.

    Raises
    ------
    ConfigError, RunError
        If there is nobody of that name, a bot and a run have it, or the agent is of another
        environment.
    """
    bots, run = make_game(env).bot_names, runs / name
    alone = name not in bots or not (run / "config.json").exists()
    require(alone, flag, name, f"the path {run}, or a name that either a bot or a run has")
    if name in bots:
        return name
    make = find_player(env, name)
    if make is not None:
        return make
    who = load_who(name, runs)
    base = find_base(who)
    known = f"a bot ({', '.join(bots)}), the file of a player, a run folder"
    allowed = f"{known}, or the name of one under {runs}"
    require(not isinstance(base, str) or base in bots, flag, name, allowed)
    same = isinstance(base, str) or short_id(base.env) == env
    require(same, flag, name, f"a bot, or an agent of {env}")
    return who


def make_player(
    who: AnyPlayer, engine: Any, *, beside: bool = False, sample: bool | None = None
) -> Player:
    """Make a player of an engine.

    Parameters
    ----------
    who : Policy, SearchingAgent, str or callable
        A name is that of a bot, of a player that the game knows (such as ``lookahead:FILE``), or
        ``random_legal``. What is callable makes its player itself.
    engine : BatchEngine
    beside : bool
    sample : bool, optional
        See :func:`training.players.network.seat_policy`; others choose as ever.

    Raises
    ------
    ConfigError
        If there is nobody of that name, or he cannot play there.
    """
    if callable(who):
        return who(engine)
    if isinstance(who, Policy):
        return seat_policy(who, engine, beside=beside, sample=sample)
    if not isinstance(who, str):
        return who.player(engine)
    if who == RANDOM_LEGAL:
        return RandomLegal(engine)
    make = find_player(engine, who)
    if make is not None:
        return make(engine)
    check_bot(engine.game, who)
    return Bot(who, engine)


def find_player(of: str | Engine | games.GameTraining, name: str) -> MakePlayer | None:
    """Find the function that makes a player whose name is no bot's, such as one with a file.

    The capability ``player`` is such a function of the name.

    Parameters
    ----------
    of : str, Engine or GameTraining
        As :func:`training.run.games.find` takes it.
    name : str

    Returns
    -------
    callable or None
        None for a name that the game does not know.

    Raises
    ------
    ConfigError
        If there is nothing where it points to.
    """
    find = games.find(of, "player")
    make: MakePlayer | None = None if find is None else find(name)
    return make
