"""The table of environments, from the registry."""

from __future__ import annotations

import fastenv
from fastenv.errors import FastEnvError
from fastenv.game import Game
from fastenv.registry import short_id
from tools.figures.records import table

RULE_BOOKS = {
    "SkullKing": "docs/skullking.md",
    "Prospector": "docs/prospector.md",
    "DrMario": "docs/drmario.md",
    "GameBoy": "docs/gameboy.md",
    "LanternWalk": "docs/lantern_walk.md",
}  # by what an id begins with
MOST_PLAYERS = 16  # more are not asked for
TIMES = "\u00d7"


def environments() -> str:
    """Return id, players, observation and actions of every environment, by its defaults."""
    made = []
    for env_id in map(short_id, fastenv.list_envs()):
        game = fastenv.make_game(env_id)
        page = next(page for start, page in RULE_BOOKS.items() if env_id.startswith(start))
        row = (players(env_id, game), observation(game), str(game.spec.num_actions))
        made.append((f"[`{env_id}`]({page})", *row))
    return table(("id", "players", "observation", "actions"), made)


def players(env_id: str, game: Game) -> str:
    """Return how many players a game may have."""
    taken = []
    for count in range(1, MOST_PLAYERS + 1):
        try:
            fastenv.make_game(env_id, num_players=count)
        except FastEnvError:
            continue
        taken.append(count)
    if taken:
        return f"{taken[0]}\u2013{taken[-1]}"
    return str(game.spec.num_agents)


def observation(game: Game) -> str:
    """Return type and shape of an observation, or those of its fields."""
    spec = game.spec
    if spec.obs_dtype.names is None:
        return _array(spec.obs_dtype.name, spec.obs_shape)
    fields = {name: spec.obs_dtype[name] for name in spec.obs_dtype.names}
    return ", ".join(f"{name}: {_array(x.base.name, x.shape)}" for name, x in fields.items())


def _array(dtype: str, shape: tuple[int, ...]) -> str:
    return f"{dtype} {TIMES.join(map(str, shape)) or 'number'}"
