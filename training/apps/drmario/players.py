"""Who plays the placements of Dr. Mario, by name: a bot, a look-ahead or a trained agent."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import fastenv
from training.apps.drmario.evaluator.lookahead import lookahead
from training.players.bots import Bot
from training.players.network import Network
from training.players.player import MakePlayer
from training.players.trained import find_run, load
from training.run.envs import with_defaults
from training.run.options import require

ENV = "DrMarioPlacement-v0"


def find_player(
    name: str, runs: Path = Path("runs"), *, sample: bool = False, flag: str = "who"
) -> tuple[MakePlayer, dict[str, Any] | None]:
    """Find a player by name.

    Parameters
    ----------
    name : str
        A bot, ``lookahead:FILE``, a run folder, or the name of a run.
    runs : Path
        Folder of all runs.
    sample : bool
        A trained agent draws its actions.
    flag : str
        What errors call the name.

    Returns
    -------
    make : callable
        Makes the player for an engine.
    options : dict or None
        Of the environment that an agent has learnt in; None for those who need none.

    Raises
    ------
    ConfigError, RunError
        If there is nobody of that name, a bot and a run have it, or the agent is of another
        environment.
    """
    bots = fastenv.make_game(ENV).bot_names
    looking = lookahead(name)
    if looking is not None:
        return looking, None
    if name in bots:
        run = runs / name
        allowed = f"the path {run}, or a name that either a bot or a run has"
        require(not (run / "config.json").exists(), flag, name, allowed)
        return partial(Bot, name), None
    path = Path(name) if Path(name).exists() else runs / name
    known = f"a bot ({', '.join(bots)}), lookahead:FILE, a run folder"
    require(path.exists(), flag, name, f"{known}, or the name of one under {runs}")
    trained = load(*find_run(path))
    require(trained.config.env == ENV, flag, name, f"a bot, or an agent of {ENV}")
    options = with_defaults(ENV, trained.config.env_options)
    if sample:
        return partial(Network, trained.logits, sample=True), options
    return next(iter(trained.players().values())), options
