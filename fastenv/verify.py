"""Run the backends beside each other and find the first bit in which they differ.

Used by ``python -m fastenv verify`` and by the differential tests: the same seeds, the same
actions, and after every step the complete rows, observations, masks, rewards, flags, tau, all info
columns, final values and who sits where are compared as bytes. Who must act is held to the order
that the game says. Worlds and rollouts from the rows are compared too. A difference comes with few
events that lead to it, and with a script that shows it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.backend import Backend, missing
from fastenv.engine import BatchEngine
from fastenv.errors import FastEnvError, StateError
from fastenv.game import Game
from fastenv.numba_cache import compile_clock
from fastenv.registry import entry_of, make_game
from fastenv.rollouts import Rollouts, knows_resample
from fastenv.seats import EXTERNAL, ROTATE, Opponent
from fastenv.testing.report import write_script
from fastenv.testing.shrink import shorten
from fastenv.vector import sample_legal

Array = npt.NDArray[Any]
Outputs = Iterable[tuple[str, Array]]
# What is done to all engines, as plain values: a name, and what that needs.
Event = tuple[Any, ...]
BACKENDS = {
    "reference": Backend(False, False),
    "numba": Backend(True, False),
    "cython": Backend(False, True),
    "fast": Backend(True, True),
}
SHORTENING = 4.0  # seconds of processor time, at most, to make a difference short


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
        """Return the difference as text, with the seed, options and steps that replay it."""
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
    """Return for each backend why it cannot run here, None if it can."""
    modules = (game.spec.kernel_module, game.spec.core_module)
    return {name: missing(backend, *modules) for name, backend in BACKENDS.items()}


def outputs(engine: BatchEngine) -> Iterator[tuple[str, Array]]:
    """Yield every output of a step, by name, with one row per lane.

    Final values are zeroed in lanes where no episode ended, for they are stale there.
    """
    yield from _row_parts("state", engine.get_states())
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


Found = tuple[str, int, tuple[Any, Any]]  # field, lane and values of a difference


def first_difference(a: BatchEngine, b: BatchEngine) -> Found | None:
    """Return field, lane and values of the first difference in bits, or None."""
    return _first(outputs(a), outputs(b))


def _first(ours: Outputs, theirs: Outputs) -> Found | None:
    for (name, x), (_, y) in zip(ours, theirs, strict=True):
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


def _row_parts(name: str, rows: Array) -> Iterator[tuple[str, Array]]:
    """Yield the fields of rows, and all their bytes."""
    yield from _parts(name, rows)
    yield f"{name} (padding included)", rows.view(np.uint8).reshape(len(rows), rows.itemsize)


def _rollout_parts(rollouts: Rollouts) -> Iterator[tuple[str, Array]]:
    yield "rollout.decisions", rollouts.decisions
    yield from _row_parts("rollout.rows", rollouts.rows)
    yield "rollout.outcomes", rollouts.outcomes


def _masks_of_seats(engine: BatchEngine, rows: Array) -> Array:
    """Return the masks of all agents of rows, shape (k, K, A)."""
    if engine.opponent is None:
        masks = engine.action_masks_many(rows)
        return masks.reshape(len(rows), engine.spec.num_agents, -1)
    seats = range(engine.spec.num_agents)
    return np.stack([engine.action_masks_many(rows, seat=k) for k in seats], axis=1)


def _shown_parts(engine: BatchEngine, rows: Array, agents: Array) -> Iterator[tuple[str, Array]]:
    """Yield what rows show an agent each: observation and mask."""
    each = np.arange(len(rows)), agents
    if engine.opponent is not None:
        obs = engine.encode_obs_many(rows, trusted=True, seat=agents)
        mask = engine.action_masks_many(rows, trusted=True, seat=agents)
    else:
        obs = engine.encode_obs_many(rows, trusted=True)
        mask = engine.action_masks_many(rows, trusted=True)
        if engine.spec.num_agents > 1:
            obs, mask = obs[each], mask[each]
    yield from _parts("obs", obs)
    yield "mask", mask


class Case:
    """Engines of several backends that go through the same events.

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
    Now and then the other seats get new players, rows are reloaded without who sits where, and from
    the lanes' rows worlds are drawn and rollouts played, where the game has ``resample`` and bots.
    """

    standard_name: str
    others: list[str]

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
        self.seed: int = seed
        self.options: dict[str, Any] = options or {}
        self.rng: np.random.Generator = np.random.default_rng(seed)
        self._search_rng = np.random.default_rng([seed, 4])
        columns = (*game.spec.info_columns, *game.spec.term_columns)
        if agent_seat is None:
            agent_seat = 0 if opponent is None else draw_seat(game, seed)
        if opponent is not None:
            self.options = self.options | {"opponent": opponent, "agent_seat": agent_seat}
        self.engines: dict[str, BatchEngine] = {
            name: BatchEngine(game, num_envs, backend, threads, columns, opponent, agent_seat)
            for name, (backend, threads) in engines.items()
        }
        self.standard_name, *self.others = self.engines
        self.standard: BatchEngine = self.engines[self.standard_name]
        self.step: int = 0
        self.events: list[Event] = []
        for engine in self.engines.values():
            engine.reset_many(seeds=seed)

    def advance(
        self, illegal: float = 0.05, events: float = 0.05, searches: float = 0.05
    ) -> Difference | None:
        """Take one step with random actions, now and then something else, and compare.

        Parameters
        ----------
        illegal : float
            Share of actions drawn without looking at the mask.
        events : float
            Probability of a reset of some lanes, of reloading all rows, of steps without
            automatic reset: one of these instead of an ordinary step.
        searches : float
            Probability of worlds and rollouts from the rows, behind the step.
        """
        found = None
        for event in self._draw(illegal, events):
            found = found or self.apply(event)
        self.step += 1
        if found is None and self._search_rng.random() < searches:
            found = self.apply(("search", int(self._search_rng.integers(2**63))))
        return found

    def _draw(self, illegal: float, events: float) -> list[Event]:
        """Draw what is done next, as plain values."""
        rng, standard = self.rng, self.standard
        n, kind = standard.num_envs, "step"
        if standard.ended.any():
            kind = "reset"
        elif rng.random() < events:
            kind = ("reset", "reload", "no autoreset", "some")[rng.integers(4)]
        if kind == "reset":
            lanes = standard.ended | (rng.random(n) < 0.5)
            return [*self._draw_players(), ("reset", lanes.tolist())]
        if kind == "reload":
            return [("reload", bool(standard.get_seating()) and bool(rng.random() < 0.7))]
        actions = sample_legal(standard.mask, rng)
        any_action = rng.integers(0, standard.num_actions, actions.shape)
        actions = np.where(rng.random(actions.shape) < illegal, any_action, actions)
        if standard.spec.illegal_actions == "raise":
            actions = sample_legal(standard.mask, rng)
        select = rng.random(n) < 0.5 if kind == "some" else np.ones(n, np.bool_)
        return [("step", actions.tolist(), select.tolist(), kind != "no autoreset")]

    def _draw_players(self) -> list[Event]:
        """Let others play from the next reset on, now and then."""
        if self.standard.opponent is None or self.rng.random() >= 0.3:
            return []
        players = draw_players(self.standard.game, self.rng)
        return [("opponent", players, (self.rng.random(self.standard.num_envs) < 0.5).tolist())]

    def apply(self, event: Event) -> Difference | None:
        """Do something to all engines, and return the first difference after it.

        Parameters
        ----------
        event : tuple
            ``("step", actions, lanes, autoreset)``, ``("reset", lanes)``, ``("opponent", players,
            lanes)``, ``("reload", with who sits where)`` or ``("search", seed)``: worlds and
            rollouts, which change nothing.
        """
        kind, *given = event
        self.events.append(event)
        if kind == "search":
            return self.check_search(np.random.default_rng(given[0]))
        if kind == "reload":
            rows, seating = self.standard.get_states(), self.standard.get_seating()
        for engine in self.engines.values():
            if kind == "step":
                actions, lanes, autoreset = np.asarray(given[0]), np.asarray(given[1]), given[2]
                engine.step_many(actions, select=lanes, autoreset=autoreset)
            elif kind == "reset":
                engine.reset_many(mask=np.asarray(given[0]))
            elif kind == "opponent":
                engine.configure("opponent", given[0], np.asarray(given[1]))
            else:
                engine.set_states(rows)
                if given[0]:
                    engine.set_seating(seating)
        return self.check()

    def play(self, events: Iterable[Event]) -> Difference | None:
        """Return the first difference, now or after one of the events."""
        return self.check() or next(filter(None, map(self.apply, events)), None)

    def check(self) -> Difference | None:
        """Return the first difference between the first backend and the others.

        Before that comes one between the order in which the game says its agents act and its rows.
        """
        unordered = self._check_order()
        if unordered is not None:
            return unordered
        for name in self.others:
            found = first_difference(self.standard, self.engines[name])
            if found is not None:
                return self._difference((self.standard_name, name), found)
        return None

    def _difference(
        self,
        pair: tuple[str, str],
        found: Found,
        lanes: Sequence[int] | None = None,
        word: str | None = None,
    ) -> Difference:
        """Return it with what led to it.

        Parameters
        ----------
        pair : tuple of str
            What differs.
        found : tuple
            Field, lane and values.
        lanes : sequence of int, optional
            The lanes by the numbers in ``found``, where those are others.
        word : str, optional
            What was done last, if nobody's history says so.
        """
        field, place, values = found
        lane = place if lanes is None else lanes[place]
        history = [*self._history_of(lane), *([] if word is None else [word])]
        return Difference(self.seed, self.options, pair, self.step, lane, field, values, history)

    def _history_of(self, lane: int) -> list[Any]:
        """Return the actions of a lane, and in words what else was done to it."""
        history: list[Any] = [f"reset with {self.seed} + lane"]
        for kind, *given in self.events:
            if kind == "step" and given[1][lane]:
                history.append(given[0][lane])
            elif kind == "reset" and given[0][lane]:
                history.append("reset")
            elif kind == "opponent" and given[1][lane]:
                history.append(f"opponent={given[0]}")
            elif kind == "reload":
                history.append("reload, players too" if given[0] else "reload")
        return history

    # -- search ----------------------------------------------------------------------------------

    def check_search(self, rng: np.random.Generator | None = None) -> Difference | None:
        """Draw worlds and play rollouts from the rows of running lanes, and compare.

        Parameters
        ----------
        rng : numpy.random.Generator, optional
            Draws for whom, and how it is played; by default one of the case.
        """
        standard, rng = self.standard, rng or self._search_rng
        lanes = np.flatnonzero(~standard.ended)
        if lanes.size == 0:
            return None
        rows, found = standard.get_states(lanes), None
        if knows_resample(standard.game):
            found = self._check_worlds(rows, lanes.tolist(), rng)
        if found is None and quick_bots(standard.game):
            found = self._check_rollouts(rows, lanes.tolist(), rng)
        return found

    def _check_worlds(
        self, rows: Array, lanes: list[int], rng: np.random.Generator
    ) -> Difference | None:
        game = self.standard.game
        agents = rng.integers(game.num_seats, size=len(rows))
        seed, given = int(rng.integers(2**63)), rows.tobytes()
        word = f"resample for agents {agents.tolist()} with {seed} + 2 * row, 2 worlds each"
        each = {
            name: engine.resample(rows, agents, seed, worlds=2)
            for name, engine in self.engines.items()
        }
        worlds = each[self.standard_name]
        lanes = [lane for lane in lanes for _ in range(2)]
        if rows.tobytes() != given:
            values = "the rows", "others"
            return self._difference(("given", "after resample"), ("rows", 0, values), lanes, word)
        for name in self.others:
            found = _first(_row_parts("world", worlds), _row_parts("world", each[name]))
            if found is not None:
                return self._difference((self.standard_name, name), found, lanes, word)
        impossible = self._check_possible(worlds, lanes, word)
        if impossible is not None:
            return impossible
        rows, who = rows.repeat(2), agents.repeat(2)
        seen = np.flatnonzero(who == self._shown_seats(rows, who))
        rows, worlds, who = rows[seen], worlds[seen], who[seen]
        lanes = [lanes[k] for k in seen]
        shown, again = (_shown_parts(self.standard, array, who) for array in (rows, worlds))
        found = _first(shown, again)
        if found is None:
            return None
        return self._difference(("row", "world of it"), found, lanes, word)

    def _shown_seats(self, rows: Array, agents: Array) -> Array:
        """Return the seat that each row shows; the given one where a row shows all of them."""
        game = self.standard.game
        if game.seats is not None and game.seats.fields is not None:
            actors: Array = rows[game.seats.fields.actor]
            return actors
        states = [game.unpack(rows[place : place + 1]) for place in range(len(rows))]
        seats = [game.seat_of(s, int(k)) for s, k in zip(states, agents, strict=True)]
        return np.array(seats, np.int64)

    def _check_possible(self, worlds: Array, lanes: list[int], word: str) -> Difference | None:
        """Return a difference where the game's own check refuses a world."""
        for place in range(len(worlds)):
            try:
                self.standard.game.validate(worlds[place : place + 1])
            except StateError as error:
                values = "a possible row", str(error)
                pair = "resample", "validate"
                return self._difference(pair, ("world", place, values), lanes, word)
        return None

    def _check_rollouts(
        self, rows: Array, lanes: list[int], rng: np.random.Generator
    ) -> Difference | None:
        game, standard = self.standard.game, self.standard
        spec, k = game.spec, len(rows)
        actions = sample_legal(_masks_of_seats(standard, rows), rng)
        actions = np.where(rng.random(actions.shape) < 0.5, -1, actions)
        until = (None, *spec.stops)[rng.integers(1 + len(spec.stops))]
        how: dict[str, Any] = {
            "actions": actions.reshape(spec.agents(k)).tolist(),
            "players": [str(name) for name in rng.choice(quick_bots(game), game.num_seats)],
            "until": f"{until}{rng.integers(1, 6)}" if until and until.endswith("=") else until,
            "limit": int(rng.integers(1, 9)),
            "seeds": int(rng.integers(2**63)),
        }
        expected = standard.rollout(rows, **how)
        for name in self.others:
            rollouts = self.engines[name].rollout(rows, **how)
            found = _first(_rollout_parts(expected), _rollout_parts(rollouts))
            if found is not None:
                pair, word = (self.standard_name, name), f"rollouts of lanes {lanes}: {how}"
                return self._difference(pair, found, lanes, word)
        return None

    # -- order -----------------------------------------------------------------------------------

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
        values = words, rows["needs_action"][lane].tolist()
        pair = (f"order={spec.order!r}", self.standard_name)
        return self._difference(pair, ("state.needs_action", lane, values))


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
    """Return the bot of the other seats of a case, None where all agents are shown."""
    rng = np.random.default_rng([seed, 2])
    if game.spec.num_agents == 1 or rng.random() < 0.25:
        return None
    return draw_players(game, rng)


def quick_bots(game: Game) -> tuple[str, ...]:
    """Return the scripted players that the reference can play too."""
    return tuple(name for name in game.bot_names if name not in game.slow_bots)


def draw_players(game: Game, rng: np.random.Generator) -> list[str]:
    """Return players for all seats but the learner's: bots, and some from outside."""
    bots, count = quick_bots(game) or (EXTERNAL,), game.spec.num_agents - 1
    drawn = [bots[k] for k in rng.integers(len(bots), size=count)]
    return [EXTERNAL if rng.random() < 0.5 else name for name in drawn]


def draw_seat(game: Game, seed: int) -> int | str:
    """Return the learner's seat of a case."""
    drawn = int(np.random.default_rng([seed, 3]).integers(game.spec.num_agents + 1))
    return drawn if drawn < game.spec.num_agents else ROTATE


@dataclass
class Tally:
    """The coverage and the result of a verification.

    Parameters
    ----------
    cases : int
        Configurations.
    steps : int
        Of all lanes.
    cut : int
        Cases that the time ended before their last step.
    difference : Difference or None
    script : str
        A program that shows the difference again.
    """

    cases: int = 0
    steps: int = 0
    cut: int = 0
    difference: Difference | None = None
    script: str = ""


def _run(case: Case, steps: int, seconds: float, tally: Tally) -> float:
    """Lead a case through its steps, or as many as there is time for; return the seconds of it."""
    with compile_clock() as compiled:
        begun = time.monotonic()
        tally.difference = case.check()
        for step in range(steps):
            if tally.difference is not None:
                break
            if step and time.monotonic() - begun - compiled() > seconds:
                tally.cut += 1
                break
            tally.difference = case.advance()
            tally.steps += case.standard.num_envs
        return time.monotonic() - begun - compiled()


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

    No case takes more than a third of the time, so that short verifications see several.

    Parameters
    ----------
    env_id : str
        An id of the registry.
    seconds : float
        When to stop. Setting up and compiling are not counted; each case takes one step at least.
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
    tally, left = Tally(), seconds
    how: dict[str, Any] = {"num_envs": num_envs, "backends": [*backends], "threads": [*threads]}
    while tally.difference is None and (tally.cases == 0 or left > 0):
        number = seed + tally.cases
        case = _make_case(env_id, number, given, **how)
        left -= _run(case, steps, min(left, seconds / 3), tally)
        if tally.difference is not None:
            make = partial(_make_case, env_id, number, given, **how)
            events, tally.difference = _shorten(case.events, tally.difference, make)
            arguments = {"env_id": env_id, "seed": number, "options": given, **how}
            texts = {name: repr(value) for name, value in arguments.items()}
            title = f"{env_id}: {' and '.join(tally.difference.backends)} differ."
            tally.script = write_script(title, "fastenv.verify:replay", texts, events)
        tally.cases += 1
        report(tally)
    return tally


def _make_case(
    env_id: str,
    seed: int,
    given: Mapping[str, Any],
    num_envs: int,
    backends: Sequence[str],
    threads: Sequence[int],
) -> Case:
    """Make the case of a seed, whose options are drawn."""
    engines = {
        f"{name} with {k} threads" if k > 1 else name: (name, k)
        for name in backends
        for k in (threads if name == "fast" else (1,))
    }
    options = draw_options(env_id, seed, **given)
    game = make_game(env_id, **options)
    return Case(game, seed, num_envs, engines, options, draw_opponent(game, seed))


def _shorten(
    events: list[Event], difference: Difference, make: Callable[[], Case]
) -> tuple[list[Event], Difference]:
    """Return fewer events that lead to a difference in the same field, and that difference."""
    best = difference

    def kept(tried: list[Event]) -> list[Event] | None:
        nonlocal best
        case = make()
        try:
            found = case.play(tried)
        except FastEnvError:  # a lane that has ended, an action that is not legal now
            return None
        field = difference.field.partition("[")[0]
        if found is None or found.field.partition("[")[0] != field:
            return None
        best = found
        return case.events

    return shorten(events, kept, lambda event: [], SHORTENING), best


def replay(
    env_id: str,
    *,
    seed: int,
    case: Sequence[Event],
    options: Mapping[str, Any] | None = None,
    num_envs: int = 3,
    backends: Sequence[str] = tuple(BACKENDS),
    threads: Sequence[int] = (1, 2),
) -> bool:
    """Play the events of a difference again, and print it: what its script calls.

    Parameters
    ----------
    env_id, seed, num_envs, backends, threads
        As in :func:`fastenv.verify.verify`; the seed is that of the case.
    case : sequence of tuple
        The events, as :meth:`fastenv.verify.Case.apply` takes them.
    options : mapping, optional
        Options that were not drawn.

    Returns
    -------
    bool
        Whether the backends still differ.
    """
    made = _make_case(env_id, seed, options or {}, num_envs, backends, threads)
    found = made.play(case)
    print(found or "no difference")
    return found is not None
