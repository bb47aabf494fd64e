"""Compile the kernels of all games into Numba's cache: ``python -m tests.kernels``.

Workers of pytest that begin with an empty cache would each compile the same. Here the kernels of a
module are compiled by one process, and as many modules at a time as there are cores.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import fastenv
from fastenv.engine import BatchEngine
from fastenv.game import Game
from fastenv.verify import available
from tests.ring import RingGame
from tests.toy import RaceGame, WalkGame

Maker = Callable[[], Game]


def makers_by_module() -> list[list[Maker]]:
    """Return what makes every game, in a list for each module of kernels."""
    modules: dict[str | None, list[Maker]] = {}
    for name in fastenv.list_envs():
        make = partial(fastenv.make_game, name)
        modules.setdefault(make().spec.kernel_module, []).append(make)
    return [*modules.values(), [WalkGame], [RaceGame], [RingGame]]


def compile_kernels(makers: list[Maker]) -> None:
    """Compile the kernels of games, or find them in the cache."""
    for make in makers:
        game = make()
        if available(game)["numba"] is None:
            BatchEngine(game, 1, "numba")


def main() -> None:
    """Compile the kernels of all games."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        for _ in pool.map(compile_kernels, makers_by_module()):
            pass


if __name__ == "__main__":
    main()
