"""The composition of training: registers its games, trainers, commands and shared functions.

The packages import one way, as ``docs/explanation/design.md`` says. Where a lower one needs what a
higher one has, such as the game or the trainer that a run names, it asks a registry, which is
filled here. :mod:`training` does that when it is imported, so that commands, spawned workers,
those of Ray and tests find the same. A loader imports what it names when that is asked for, not
before.

A new game or trainer is entered here and in no other module of :mod:`training`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from training.run import registry
from training.run.registry import Command

# -- games -----------------------------------------------------------------------------------------


def _skullking() -> Mapping[str, Any]:
    from training.games import skullking

    return skullking.GAMES


def _prospector() -> Mapping[str, Any]:
    from training.games import prospector

    return prospector.GAMES


def _drmario() -> Mapping[str, Any]:
    from training.games import drmario

    return drmario.GAMES


def _gameboy() -> Mapping[str, Any]:
    from training.games import gameboy

    return gameboy.GAMES


# By environment id, what imports its game; a game has an entry in `GAMES` for each of its ids.
GAMES: dict[str, Callable[[], Mapping[str, Any]]] = {
    "SkullKingFlat-v0": _skullking,
    "SkullKingManager-v0": _skullking,
    "SkullKingWorker-v0": _skullking,
    "SkullKingAbility-v0": _skullking,
    "Prospector-v0": _prospector,
    "DrMarioPlacement-v0": _drmario,
    "DrMarioFrame-v0": _drmario,
    "DrMarioVersus-v0": _drmario,
    "DrMarioVersusFrame-v0": _drmario,
    "GameBoyPixels-v0": _gameboy,
    "GameBoyGoal-v0": _gameboy,
    "GameBoyOverworld-v0": _gameboy,
    "LanternWalk-v0": _gameboy,
    "GameBoyLink-v0": _gameboy,
}


def _game(env: str) -> Any:
    return GAMES[env]()[env]


def _skullking_benchmark() -> Any:
    from training.apps.skullking import benchmark_rows

    return benchmark_rows.GAME


def _prospector_benchmark() -> Any:
    from training.apps.prospector import benchmark_rows

    return benchmark_rows.GAME


def _drmario_benchmark() -> Any:
    from training.apps.drmario import benchmark_rows

    return benchmark_rows.GAME


def _gameboy_benchmark() -> Any:
    from training.apps.gameboy import benchmark_rows

    return benchmark_rows.GAME


# By name, what imports how a game is measured; the first one is where none is named.
BENCHMARKS: dict[str, Callable[[], Any]] = {
    "skullking": _skullking_benchmark,
    "prospector": _prospector_benchmark,
    "drmario": _drmario_benchmark,
    "gameboy": _gameboy_benchmark,
}


# -- trainers --------------------------------------------------------------------------------------


def _native_options() -> Any:
    from training.ppo.options import NativeRun

    return NativeRun


def _native() -> Any:
    from training.ppo import run

    return run


def _expert_options() -> Any:
    from training.expert.options import ExpertRun

    return ExpertRun


def _expert() -> Any:
    from training.expert import run

    return run


def _sb3_options() -> Any:
    from training.sb3.options import SB3Run

    return SB3Run


def _sb3() -> Any:
    try:
        from training.sb3 import run
    except ModuleNotFoundError as error:
        if error.name in ("stable_baselines3", "sb3_contrib"):
            raise ImportError(
                "trainer='sb3' needs Stable-Baselines3: pip install '.[sb3]', or choose "
                "trainer='native'."
            ) from error
        raise
    return run


def _hier_options() -> Any:
    from training.apps.skullking.hier.options import HierRun

    return HierRun


def _hier() -> Any:
    from training.apps.skullking.hier import run

    return run


def _ensemble_options() -> Any:
    from training.ensemble.options import EnsembleRun

    return EnsembleRun


def _ensemble() -> Any:
    from training.ensemble import run

    return run


def _dqn_options() -> Any:
    from training.dqn.options import DQNRun

    return DQNRun


def _dqn() -> Any:
    from training.dqn import run

    return run


def _rllib_options() -> Any:
    from training.rllib.options import RLlibRun

    return RLlibRun


def _rllib() -> Any:
    from training.rllib import run

    return run


# Of each trainer what imports its options, and what imports its module.
TRAINERS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "native": (_native_options, _native),
    "expert": (_expert_options, _expert),
    "sb3": (_sb3_options, _sb3),
    "hier": (_hier_options, _hier),
    "ensemble": (_ensemble_options, _ensemble),
    "dqn": (_dqn_options, _dqn),
    "rllib": (_rllib_options, _rllib),
}
WHOLE_GAMES = ("hier",)  # trainers of a part of a game whose agents play whole games


# -- programs over one game ------------------------------------------------------------------------


def _evaluator() -> Callable[[list[str]], int]:
    from training.apps.drmario.evaluator import command

    return command.main


def _reader() -> Callable[[list[str]], int]:
    from training.apps.drmario.reader import command

    return command.main


def _seeds() -> Callable[[list[str]], int]:
    from training.apps.drmario import seed_command

    return seed_command.main


def _fastest() -> Callable[[list[str]], int]:
    from training.apps.drmario import fastest_command

    return fastest_command.main


def _viewer() -> Callable[[list[str]], int]:
    from training.apps.drmario.viewer import command

    return command.main


def _values() -> Callable[[list[str]], int]:
    from training.apps.skullking import fit_values

    return fit_values.main


# By what stands behind `python -m training`.
PROGRAMS = {
    "evaluator": Command("train and compare evaluators of positions in Dr. Mario", _evaluator),
    "reader": Command("train a network that reads camera frames of Dr. Mario", _reader),
    "values": Command("train the value network of the search in Skull King", _values),
    "evaluate seeds": Command("evaluate on the seed registry of Dr. Mario", _seeds),
    "evaluate fastest": Command("search for the fastest clears in Dr. Mario", _fastest),
    "watch viewer": Command("watch games of Dr. Mario live", _viewer),
}


# -- what commands take where no game is named -----------------------------------------------------

DEFAULT_ENVS = {
    "train": "SkullKingWorker-v0",
    "bots": "Prospector-v0",
    "play": "SkullKingFlat-v0",
    "protocol": "Prospector-v0",
    "vectorised": "DrMarioPlacement-v0",
}


# -- functions that lower packages call ------------------------------------------------------------


def _seating() -> Callable[..., Any]:
    from training.selfplay.opponents import prepare_seats

    return prepare_seats


def _opponents() -> Callable[..., Any]:
    from training.selfplay.opponents import check

    return check


def _train() -> Callable[..., Any]:
    from training.callbacks.start import train

    return train


def _search() -> Callable[..., Any]:
    from training.search.agent import load

    return load


def _searching() -> Callable[..., Any]:
    from training.search.agent import searching

    return searching


def compose() -> None:
    """Fill the registries."""
    for env in GAMES:
        registry.GAMES.register(env, partial(_game, env))
    for trainer, (options, module) in TRAINERS.items():
        registry.OPTIONS.register(trainer, options)
        registry.TRAINERS.register(trainer, module)
    registry.WHOLE_GAMES.update(WHOLE_GAMES)
    registry.PROGRAMS.update(PROGRAMS)
    for game, measured in BENCHMARKS.items():
        registry.BENCHMARKS.register(game, measured)
    registry.DEFAULT_ENVS.update(DEFAULT_ENVS)
    registry.FUNCTIONS.register("seating", _seating)
    registry.FUNCTIONS.register("opponents", _opponents)
    registry.FUNCTIONS.register("train", _train)
    registry.FUNCTIONS.register("search", _search)
    registry.FUNCTIONS.register("searching", _searching)
