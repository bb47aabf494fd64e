"""Players by name: a bot, or the look-ahead with the file of an evaluator.

::

    greedy
    lookahead:FILE
    lookahead:FILE:cvar0.25
    lookahead:FILE:quantile0.75:depth2
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

from training.apps.drmario.evaluator import model
from training.apps.drmario.evaluator.lookahead import LookAhead
from training.apps.drmario.evaluator.risk import Measure
from training.players.bots import Bot
from training.players.player import MakePlayer
from training.run.options import require

LOOKAHEAD = "lookahead:"
DEPTH = ":depth2"
ALLOWED = "lookahead:FILE, and behind it :RISK such as :cvar0.25, :depth2, or both"


def is_lookahead(name: str) -> bool:
    """Tell whether a name is that of a look-ahead."""
    return name.startswith(LOOKAHEAD)


def is_scripted(name: str, bots: Collection[str], runs: Path) -> bool:
    """Tell whether a name is that of a bot or a look-ahead, and not of a trained agent.

    Raises
    ------
    ConfigError
        If a bot and a run have the name.
    """
    if name not in bots:
        return is_lookahead(name)
    run = runs / name
    allowed = f"the path {run}, or a name that either a bot or a run has"
    require(not (run / "config.json").exists(), "who", name, allowed)
    return True


def find_lookahead(name: str) -> MakePlayer | None:
    """Find the factory of the look-ahead of a name; None for the name of another player.

    Raises
    ------
    ConfigError
        See :func:`lookahead`.
    """
    return lookahead(name) if is_lookahead(name) else None


def lookahead(name: str) -> MakePlayer:
    """Make the factory of the look-ahead of a name.

    Raises
    ------
    ConfigError
        If it asks for something else, or there is no such evaluator.
    """
    require(is_lookahead(name), "player", name, ALLOWED)
    rest = name.removeprefix(LOOKAHEAD).removesuffix(DEPTH)
    depth = 2 if name.endswith(DEPTH) else 1
    file, colon, risk = rest.rpartition(":")
    if not colon or risk.endswith(".safetensors"):
        file, risk = rest, "mean"
    measure, evaluator = Measure.parse(risk), model.load(Path(file))
    return partial(LookAhead, evaluator, measure=measure, depth=depth)


def player_of(name: str) -> MakePlayer:
    """Make the factory of the player of a name.

    Raises
    ------
    ConfigError
        If it asks for an evaluator that there is not.
    """
    return lookahead(name) if is_lookahead(name) else partial(Bot, name)
