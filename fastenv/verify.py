"""Run the backends beside each other and find the first bit in which they differ.

Used by ``python -m fastenv verify`` and by the differential tests: the same seeds, the same
actions, and after every step the complete rows, observations, masks, rewards, flags, tau, all info
columns, final values and who sits where are compared as bytes. Who must act is held to the order
that the game says.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.backend import Backend, missing
from fastenv.engine import BatchEngine
from fastenv.game import Game
from fastenv.registry import entry_of, make_game
from fastenv.seats import EXTERNAL, ROTATE, Opponent
from fastenv.vector import sample_legal

Array = npt.NDArray[Any]
BACKENDS = {
    "reference": Backend(False, False),
    "numba": Backend(True, False),
    "cython": Backend(False, True),
    "fast": Backend(True, True),
}


@dataclass(frozen=True)
class Difference:
    """The first place where two backends disagree."""

    seed: int  # of the case: options, seeds and actions all follow from it
    options: dict[str, Any]
    backends: tuple[str, str]
    step: int
    lane: int
    field: str
    values: tuple[Any, Any]
    history: list[Any]  # of the lane: actions, and in words what else was done to it

    def __str__(self) -> str:
        """Return what a person needs to replay and to look for."""
        a, b = self.backends
        return "\n".join(
            [
                f"{a} and {b} differ in {self.field!r}, lane {self.lane}, step {self.step}",
                f"  {a}: {self.values[0]}",
                f"  {b}: {self.values[1]}",
                f"  seed of the case: {self.seed}",
                f"  options: {self.options}",
                f"  lane {self.lane}: {self.history}",
            ]
        )


def available(game: Game) -> dict[str, str | None]:
    """Return why each backend cannot run here, None for those that can."""
    modules = (game.spec.kernel_module, game.spec.core_module)
    return {name: missing(backend, *modules) for name, backend in BACKENDS.items()}


def outputs(engine: BatchEngine) -> Iterator[tuple[str, Array]]:
    """Yield everything the world can see of a step, by name, one row a lane.

    Final values are zeroed in lanes where no episode ended, for they are stale there.
    """
    rows = engine.get_states()
    for name in rows.dtype.names or ():
        yield f"state.{name}", rows[name]
    yield "state (padding included)", rows.view(np.uint8).reshape(len(rows), -1)
    yield from _parts("obs", engine.obs)
    yield "mask", engine.mask
    yield "reward", engine.reward
    yield "terminated", engine.terminated
    yield "truncated", engine.truncated
    yield "tau", engine.tau
    for name, column in engine.info.items():
        yield f"info.{name}", column
    if engine.opponent is not None:
        yield "actor", engine.get_actors()
        yield "seat_reward", engine.seat_reward
        yield from _parts("seat_obs", engine.seat_obs)
        for name, column in engine.get_seating().items():
            yield f"seating.{name}", column
    done = (engine.terminated | engine.truncated) != 0
    final = {"final_obs": engine.final_obs, "ep_return": engine.ep_return}
    final |= {"ep_length": engine.ep_length, "ep_frames": engine.ep_frames}
    final |= {f"final_info.{name}": column for name, column in engine.final_info.items()}
    for name, column in final.items():
        for part, values in _parts(name, column):
            kept = values.copy()
            kept[~done] = 0
            yield part, kept


def first_difference(a: BatchEngine, b: BatchEngine) -> tuple[str, int, tuple[Any, Any]] | None:
    """Return field, lane and values of the first difference in bits, or None."""
    for (name, x), (_, y) in zip(outputs(a), outputs(b), strict=True):
        if x.tobytes() != y.tobytes():
            lane = next(i for i in range(len(x)) if x[i].tobytes() != y[i].tobytes())
            wrong = np.flatnonzero(np.atleast_1d(x[lane] != y[lane]))
            if x.ndim > 2 or wrong.size == 0:
                return name, lane, (x[lane].tolist(), y[lane].tolist())
            if x.ndim == 1:
                return name, lane, (x[lane].item(), y[lane].item())
            where = f"{name}[{wrong[0]}]"
            return where, lane, (x[lane, wrong[0]].tolist(), y[lane, wrong[0]].tolist())
    return None


def _parts(name: str, array: Array) -> Iterator[tuple[str, Array]]:
    """Yield an array, or the fields of a structured one: what is between them means nothing."""
    if array.dtype.names is None:
        yield name, array
        return
    for field in array.dtype.names:
        yield f"{name}.{field}", array[field]


class Case:
    """Engines that are led through the same events.

    Parameters
    ----------
    game : Game
        The configured game.
    seed : int
        Everything random follows from it.
    num_envs : int
        Number of lanes.
    engines : dict of str to (backend, num_threads)
        What to compare; the first is the standard.
    options : dict, optional
        Only reported.
    opponent : str or sequence of str, optional
        In a game of several agents: who plays the other seats (:class:`fastenv.BatchEngine`); by
        default all agents are shown.
    agent_seat : int or "rotate", optional
        The learner's seat with an ``opponent``; default drawn.

    Notes
    -----
    Now and then the other seats get new players, and rows are reloaded without who sits where.
    """

    def __init__(
        self,
        game: Game,
        seed: int,
        num_envs: int,
        engines: dict[str, tuple[str, int]],
        options: dict[str, Any] | None = None,
        opponent: Opponent | None = None,
        agent_seat: int | str | None = None,
    ) -> None:
        self.seed, self.options = seed, options or {}
        self.rng = np.random.default_rng(seed)
        columns = (*game.spec.info_columns, *game.spec.term_columns)
        if agent_seat is None:
            agent_seat = 0 if opponent is None else draw_seat(game, seed)
        if opponent is not None:
            self.options = self.options | {"opponent": opponent, "agent_seat": agent_seat}
        self.engines = {
            name: BatchEngine(game, num_envs, backend, threads, columns, opponent, agent_seat)
            for name, (backend, threads) in engines.items()
        }
        self.standard_name, *self.others = self.engines
        self.standard = self.engines[self.standard_name]
        self.history: list[list[Any]] = [[] for _ in range(num_envs)]
        self.step = 0
        self._apply_to_all(
            lambda engine: engine.reset_many(seeds=seed), f"reset with {seed} + lane"
        )

    def _apply_to_all(
        self, do: Callable[[BatchEngine], None], word: Any, lanes: Array | None = None
    ) -> None:
        for engine in self.engines.values():
            do(engine)
        n = self.standard.num_envs
        for lane in range(n) if lanes is None else np.flatnonzero(lanes):
            self.history[lane].append(word[lane] if isinstance(word, list) else word)

    def advance(self, illegal: float = 0.05, events: float = 0.05) -> Difference | None:
        """Take one step with random actions, now and then something else, and compare.

        Parameters
        ----------
        illegal : float
            Share of actions drawn without looking at the mask.
        events : float
            Probability of a reset of some lanes, of reloading all rows, of steps without
            automatic reset: one of these instead of an ordinary step.
        """
        rng, standard = self.rng, self.standard
        n, kind = standard.num_envs, "step"
        if standard.ended.any():
            kind = "reset"
        elif rng.random() < events:
            kind = ("reset", "reload", "no autoreset", "some")[rng.integers(4)]
        if kind == "reset":
            lanes = standard.ended | (rng.random(n) < 0.5)
            self._change_players()
            self._apply_to_all(lambda engine: engine.reset_many(mask=lanes), "reset", lanes)
        elif kind == "reload":
            self._reload()
        else:
            actions = sample_legal(standard.mask, rng)
            any_action = rng.integers(0, standard.num_actions, actions.shape)
            actions = np.where(rng.random(actions.shape) < illegal, any_action, actions)
            if standard.spec.illegal_actions == "raise":
                actions = sample_legal(standard.mask, rng)
            select = rng.random(n) < 0.5 if kind == "some" else np.ones(n, np.bool_)
            auto = kind != "no autoreset"
            self._apply_to_all(
                lambda engine: engine.step_many(actions, select=select, autoreset=auto),
                actions.tolist(),
                select,
            )
        self.step += 1
        return self.check()

    def _change_players(self) -> None:
        """Let others play from the next reset on, now and then."""
        standard = self.standard
        if standard.opponent is not None and self.rng.random() < 0.3:
            players, lanes = (
                draw_players(standard.game, self.rng),
                self.rng.random(len(self.history)) < 0.5,
            )
            self._apply_to_all(
                lambda engine: engine.configure("opponent", players, lanes),
                f"opponent={players}",
                lanes,
            )

    def _reload(self) -> None:
        """Load the rows again, and behind them mostly who sits where and has answered."""
        rows, seating = self.standard.get_states(), self.standard.get_seating()
        kept = bool(seating) and self.rng.random() < 0.7
        word = "reload, players too" if kept else "reload"
        self._apply_to_all(lambda engine: engine.set_states(rows), word)
        if kept:
            self._apply_to_all(lambda engine: engine.set_seating(seating), word)

    def check(self) -> Difference | None:
        """Return the first difference between the standard and the others.

        Before that comes one between the order in which the game says its agents act and its rows.
        """
        unordered = self._check_order()
        if unordered is not None:
            return unordered
        for name in self.others:
            found = first_difference(self.standard, self.engines[name])
            if found is not None:
                field, lane, values = found
                pair = (self.standard_name, name)
                history = self.history[lane]
                return Difference(
                    self.seed, self.options, pair, self.step, lane, field, values, history
                )
        return None

    def _check_order(self) -> Difference | None:
        """Return the first running lane in which not those must act that the order says."""
        spec = self.standard.spec
        if spec.num_agents == 1:
            return None
        rows = self.standard.get_states()
        waits = (rows["needs_action"] != 0).sum(axis=1)
        right, words = {
            "together": (waits == spec.num_agents, "all must act"),
            "turns": (waits == 1, "exactly one must act"),
            "mixed": (waits > 0, "one or more must act"),
        }[spec.order]
        wrong = np.flatnonzero(~right & (rows["done"] == 0))
        if wrong.size == 0:
            return None
        lane = int(wrong[0])
        pair = (f"order={spec.order!r}", self.standard_name)
        values = words, rows["needs_action"][lane].tolist()
        field, history = "state.needs_action", self.history[lane]
        return Difference(self.seed, self.options, pair, self.step, lane, field, values, history)


def draw_options(env_id: str, seed: int, **given: Any) -> dict[str, Any]:
    """Return the random options of a case, as the game of an id draws them.

    That is ``random_options(rng, **fixed, **given)`` beside its ``make_game``; a game without it is
    compared with its defaults.

    Parameters
    ----------
    env_id : str
        An id of the registry.
    seed : int
        Seed of the case.
    **given
        Options that are not to be drawn.
    """
    load, fixed = entry_of(env_id)
    rng = np.random.default_rng([seed, 1])
    draw = getattr(load(), "random_options", None)
    options: dict[str, Any] = given if draw is None else draw(rng, **fixed, **given)
    return options


def draw_opponent(game: Game, seed: int) -> list[str] | None:
    """Return who plays the other seats of a case, None where all agents are shown."""
    rng = np.random.default_rng([seed, 2])
    if game.spec.num_agents == 1 or rng.random() < 0.25:
        return None
    return draw_players(game, rng)


def draw_players(game: Game, rng: np.random.Generator) -> list[str]:
    """Return players for all seats but the learner's: bots, and some from outside."""
    bots, count = game.bot_names or (EXTERNAL,), game.spec.num_agents - 1
    drawn = [bots[k] for k in rng.integers(len(bots), size=count)]
    return [EXTERNAL if rng.random() < 0.5 else name for name in drawn]


def draw_seat(game: Game, seed: int) -> int | str:
    """Return the learner's seat of a case."""
    drawn = int(np.random.default_rng([seed, 3]).integers(game.spec.num_agents + 1))
    return drawn if drawn < game.spec.num_agents else ROTATE


@dataclass
class Tally:
    """What a verification has covered."""

    cases: int = 0
    steps: int = 0
    difference: Difference | None = None


def verify(
    env_id: str,
    seconds: float,
    seed: int = 0,
    *,
    num_envs: int = 3,
    steps: int = 150,
    backends: Sequence[str] = tuple(BACKENDS),
    threads: Sequence[int] = (1, 2),
    report: Callable[[Tally], None] = lambda tally: None,
    **given: Any,
) -> Tally:
    """Compare backends on random options until the time is over or they differ.

    Parameters
    ----------
    env_id : str
        An id of the registry.
    seconds : float
        When to stop, counted from when the first case can begin: what is compiled before takes
        its own time. At least one case is run.
    seed : int
        Seed of the first case; each next one adds 1.
    num_envs, steps : int
        Lanes and steps of a case.
    backends : sequence of str
        Which backends; the first is the standard.
    threads : sequence of int
        Thread counts with which ``fast`` is run.
    report : callable
        Called with the tally after every case.
    **given
        Options that are not to be drawn.
    """
    engines = {
        f"{name} with {k} threads" if k > 1 else name: (name, k)
        for name in backends
        for k in (threads if name == "fast" else (1,))
    }
    tally, stop = Tally(), math.inf
    while tally.difference is None and (tally.cases == 0 or time.monotonic() < stop):
        number = seed + tally.cases
        options = draw_options(env_id, number, **given)
        game = make_game(env_id, **options)
        case = Case(game, number, num_envs, engines, options, draw_opponent(game, number))
        stop = min(stop, time.monotonic() + seconds)
        tally.difference = case.check()
        for _ in range(steps):
            if tally.difference is not None or (tally.steps and time.monotonic() > stop):
                break
            tally.difference = case.advance()
            tally.steps += num_envs
        tally.cases += 1
        report(tally)
    return tally
