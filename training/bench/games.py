"""The games as configurations and the profiler measure them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from training.run import registry


@dataclass(frozen=True)
class GameBenchmark:
    """A game as it is measured; what it leaves out suits any game.

    Parameters
    ----------
    name : str
        As ``--game`` takes it.
    title : str
    envs : tuple of str
        What the ids of its environments begin with.
    config_env : str
        Environment of its configurations.
    small : mapping
        Flags of its configurations, where the reference is slow.
    opponents : bool
        Its environments have opponents, which are an option.
    forced_resets : mapping
        Options with which each step ends an episode, empty if there are none.
    """

    name: str = ""
    title: str = ""
    envs: tuple[str, ...] = ()
    config_env: str = ""
    small: Mapping[str, Any] = field(default_factory=dict)
    opponents: bool = False
    forced_resets: Mapping[str, Any] = field(default_factory=dict)

    def find(self, name: str) -> Callable[..., Any] | None:
        """Find a function of the game's application that measures, None if there is none.

        Parameters
        ----------
        name : str
            ``whole_games`` takes a network as a function, the id it plays and a number of games,
            and returns the means of what they bring, ``points`` among them. ``two_tiers`` takes
            flags, timed steps and a number of games, and returns the measured fields of a
            configuration in which one agent decides what the other is to reach. ``frames`` returns
            what an entry of the profiler has beside; see
            :func:`training.bench.env_modes.env_only`.
        """
        where = f"benchmark {self.name} {name}"
        function: Callable[..., Any] | None = None
        if where in registry.FUNCTIONS:
            function = registry.FUNCTIONS.load(where)
        return function


# The first one is the default of the configurations.
GAMES = {
    game.name: game
    for game in (
        GameBenchmark(
            "skullking", "Skull King", ("SkullKing",), "SkullKingFlat-v0", opponents=True
        ),
        GameBenchmark("prospector", "Prospector", ("Prospector",), "Prospector-v0"),
        GameBenchmark(
            *("drmario", "Dr. Mario", ("DrMario",), "DrMarioPlacement-v0"),
            small={"n_steps": 8, "batch": 64},
        ),
        GameBenchmark(
            *("gameboy", "Game Boy", ("GameBoy", "LanternWalk"), "GameBoyGoal-v0"),
            small={"n_envs": 2, "n_steps": 2, "batch": 4},
            forced_resets={"max_steps": 1},
        ),
    )
}


def of(env: str) -> GameBenchmark:
    """Return the game of an environment id; one that is not listed has the defaults."""
    return next((game for game in GAMES.values() if env.startswith(game.envs)), GameBenchmark())
