"""Lanes that are stepped together: in processes of their own, or by one vector environment."""

from __future__ import annotations

import multiprocessing
import time
import weakref
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from fastenv.errors import ConfigError, FastEnvError, show_reason
from fastenv.memory import Batch
from fastenv.paths import PythonLanes, selected_lanes
from fastenv.testing.masks import find_masks, find_method
from fastenv.testing.values import first_difference, keep, of_lane
from training.foreign.lanes import (
    RUNNING,
    TERMINATED,
    TRUNCATED,
    Lane,
    as_paid,
    as_seed,
    call,
    close_quietly,
)
from training.foreign.spaces import Actions, ForeignError
from training.run.signals import start_shielded

Array = npt.NDArray[Any]
STARTUP_S = 120.0  # that a process may take to import or make an environment
TRIES, MOVES = 4, 16  # episodes, and steps of each, to see a lane of a vector move
CLOSING_S = 5.0  # that all processes may take to close theirs


class BatchLanes(PythonLanes):
    """Lanes that move together, before they are looked at one by one."""

    game: Any

    def make_games(self, count: int) -> list[Any]:
        """Make what stands for the lanes here: what they show."""
        return [self.game.track(Lane(self.game.spec.num_agents)) for _ in range(count)]

    def reset(self, select: Array, seeds: Array | None) -> None:
        """Begin an episode in each selected lane."""
        lanes = selected_lanes(select)
        given = {i: None if seeds is None else int(seeds[i]) for i in lanes}
        self._reset(given)
        for i, seed in given.items():
            self.games[i].begin(seed)
            self._moved(i)

    def step(self, actions: Array, select: Array) -> None:
        """Take one decision in each selected lane."""
        given = actions.tolist()
        lanes = selected_lanes(select)
        self._step({i: given[i] for i in lanes})
        for i in lanes:
            self.games[i].moves += 1

    def step_lane(self, i: int, action: Any) -> None:
        """Note that a lane has moved, with all others."""
        self._moved(i)

    def _reset(self, seeds: Mapping[int, int | None]) -> None:
        raise NotImplementedError

    def _step(self, actions: Mapping[int, Any]) -> None:
        raise NotImplementedError


# -- processes -------------------------------------------------------------------------------------


class EnvProcess(NamedTuple):
    """A process with some of the lanes.

    Parameters
    ----------
    lanes : list of int
    process : BaseProcess
    pipe : Connection
    count : RawValue
        Environments that it has made, reset or stepped so far: it goes on while the process works.
    """

    lanes: list[int]
    process: BaseProcess
    pipe: Connection
    count: Any


class WorkerLanes(BatchLanes):
    """Lanes in processes of their own.

    Parameters
    ----------
    game : training.foreign.games.ForeignGame
    batch : Batch
    workers : int
        Processes, which have an even share of the lanes.
    timeout_s : float
        Seconds that a step or reset of a lane may take.

    Raises
    ------
    ConfigError
        This process is a daemon, which can have no others.
    ForeignError
        A process cannot make its environments.
    """

    def __init__(self, game: Any, batch: Batch, workers: int, timeout_s: float) -> None:
        if multiprocessing.current_process().daemon:
            raise ConfigError(
                f"{game.name}: lanes in processes of their own are not possible in a daemonic "
                "process; leave step_timeout out and step them on one thread"
            )
        super().__init__(game, batch)
        self._timeout_s = timeout_s
        context = multiprocessing.get_context("spawn")
        shares = np.array_split(np.arange(len(batch.states)), min(workers, len(batch.states)))
        self._workers: list[EnvProcess] = []
        for share in shares:
            ours, theirs = context.Pipe()
            count = context.RawValue("Q", 0)
            given = (theirs, game, len(share), count)
            process: BaseProcess = context.Process(target=work, args=given, daemon=True)
            start_shielded(process)
            theirs.close()
            self._workers.append(EnvProcess(share.tolist(), process, ours, count))
        self._end = weakref.finalize(self, _end, self._workers)
        for worker in self._workers:
            self._receive(worker, STARTUP_S)

    def _reset(self, seeds: Mapping[int, int | None]) -> None:
        self._ask("reset", seeds)

    def _step(self, actions: Mapping[int, Any]) -> None:
        self._ask("step", actions)

    def _ask(self, what: str, given: Mapping[int, Any]) -> None:
        """Let all processes do it at once, and take what their lanes show."""
        asked = []
        for worker in self._workers:
            first = worker.lanes[0]
            own = [i for i in worker.lanes if i in given]
            if own:
                self._send(worker, (what, [(i - first, given[i]) for i in own]))
                asked.append((own, worker))
        for own, worker in asked:
            shown = self._receive(worker, self._timeout_s)
            for i, each in zip(own, shown, strict=True):
                self.games[i].take(each)

    def _send(self, worker: EnvProcess, message: Any) -> None:
        try:
            worker.pipe.send(message)
        except OSError:  # it has ended, and perhaps said why
            self._receive(worker, self._timeout_s)
            raise

    def _receive(self, worker: EnvProcess, limit_s: float) -> Any:
        who, process = self.game.name, worker.process
        try:
            self._wait(worker, limit_s)
            answer = worker.pipe.recv()
        except (EOFError, OSError) as error:
            process.join(1.0)
            raise ForeignError(
                f"{who}: the process of its lanes has died (exit status {process.exitcode})"
            ) from error
        if isinstance(answer, str):
            raise ForeignError(answer)
        return answer

    def _wait(self, worker: EnvProcess, limit_s: float) -> None:
        """Wait for an answer, as long as the next lane is done within the limit."""
        count, since = worker.count.value, time.monotonic()
        while not worker.pipe.poll(limit_s / 8):
            now = time.monotonic()
            if worker.count.value != count:
                count, since = worker.count.value, now
            elif now - since >= limit_s:
                for each in self._workers:
                    each.process.terminate()
                self._end()
                raise ForeignError(
                    f"{self.game.name}: no answer for {limit_s:g} s: the environment hangs"
                )


def work(pipe: Connection, game: Any, size: int, count: Any) -> None:
    """Step lanes in this process until the pipe closes."""
    lanes: list[Any] = []
    try:
        for _ in range(size):
            lanes.append(game.create(draws=False))  # nobody sees it here
            count.value += 1
        pipe.send(None)
        while True:
            what, given = pipe.recv()
            for k, value in given:
                (lanes[k].reset if what == "reset" else lanes[k].step)(value)
                count.value += 1
            pipe.send([lanes[k].show() for k, _ in given])
    except (EOFError, OSError, KeyboardInterrupt):
        return
    except FastEnvError as error:
        _say(pipe, str(error))
    except Exception as error:
        reason = f"{type(error).__name__}: {show_reason(error)}"
        _say(pipe, f"{game.name}: cannot be stepped in a process of its own: {reason}")
    finally:
        for lane in lanes:
            lane.close()


def _say(pipe: Connection, what: str) -> None:
    with suppress(OSError):
        pipe.send(what)


def _end(workers: list[EnvProcess]) -> None:
    """Let processes close their environments, and end those that do not."""
    for worker in workers:
        worker.pipe.close()
    until = time.monotonic() + CLOSING_S
    for worker in workers:
        worker.process.join(max(0.0, until - time.monotonic()))
        if worker.process.is_alive():
            worker.process.terminate()


# -- vector environments ---------------------------------------------------------------------------


class VectorLanes(BatchLanes):
    """Lanes of a vector environment, in any autoreset mode.

    Lanes that this engine does not move, since their episode is over, take any action; the
    environment may begin episodes there that nobody looks at.

    Parameters
    ----------
    game : training.foreign.games.ForeignGame
    batch : Batch
    """

    def __init__(self, game: Any, batch: Batch) -> None:
        super().__init__(game, batch)
        self.env = game.make_vector(len(batch.states))
        self._mode = game.form.mode
        self._ask = find_method(self.env)
        self._idle = np.zeros(len(batch.states), np.bool_)  # has ended, and waits for a reset
        self._new: dict[int, tuple[Any, Any]] = {}  # observation and mask of episodes begun inside
        self._has_begun = False
        self._end = weakref.finalize(self, close_quietly, self.env)

    def _reset(self, seeds: Mapping[int, int | None]) -> None:
        left = dict(seeds)
        for i in [i for i in left if left[i] is None and i in self._new]:
            self.games[i].obs, self.games[i].mask = self._new[i]
            del left[i]
        for i in seeds:
            self._new.pop(i, None)
            self._idle[i] = False
        if left:
            self._reset_inside(left)

    def _reset_inside(self, seeds: Mapping[int, int | None]) -> None:
        who, count = self.game.name, len(self.games)
        given = [seeds.get(i) for i in range(count)]
        numbers: Any = [None if seed is None else as_seed(seed) for seed in given]
        options: dict[str, Any] = {}
        if not self.game.form.resets_lanes:  # such a vector counts on from one seed
            numbers = next((number for number in numbers if number is not None), None)
        # No lane can be reset alone before all have begun: the first reset is one of all lanes.
        some = len(seeds) < count and self._has_begun
        if some:
            if not self.game.form.resets_lanes:
                raise ForeignError(f"{who}: {NO_SINGLE_RESETS}")
            chosen = np.zeros(count, np.bool_)
            chosen[list(seeds)] = True
            options = {"options": {"reset_mask": chosen}}
        with call(who, "reset"):
            obs, infos = self.env.reset(seed=numbers, **options)
            masks = find_masks(self._ask, infos, obs, count)
            for i in seeds if some else range(count):
                self._look(i, obs, masks[i])
        self._has_begun = True

    def _step(self, actions: Mapping[int, Any]) -> None:
        who, form, games = self.game.name, self.game.form, self.games
        self._new.clear()  # an episode that nobody has taken over goes on with this step
        idle = np.flatnonzero(self._idle).tolist()
        if idle and self._mode is AutoresetMode.DISABLED:
            self._reset_inside(dict.fromkeys(idle))
            self._idle[idle] = False
        given = []
        for i, lane in enumerate(games):
            number = actions.get(i)
            if number is None:
                number = 0 if lane.mask is None else int(np.argmax(lane.mask))
            given.append(form.actions.decode(number))
        with call(who, "step"):
            stepped = self.env.step(np.array(given, self.env.action_space.dtype))
            self._take(stepped, actions)

    def _take(self, stepped: tuple[Any, ...], moved: Mapping[int, Any]) -> None:
        """Take over what a step returned; rewards and ends of the lanes that were to move."""
        obs, rewards, terminated, truncated, infos = stepped
        who, same_step = self.game.name, self._mode is AutoresetMode.SAME_STEP
        final, masks = infos.get("final_obs"), find_masks(self._ask, infos, obs, len(self.games))
        for i, lane in enumerate(self.games):
            over = bool(terminated[i] or truncated[i])
            if i in moved:
                lane.paid = as_paid(who, rewards[i])
                lane.done = RUNNING if not over else TERMINATED if terminated[i] else TRUNCATED
            # Where an episode is over, nothing need be legal.
            self._look(i, obs, None if over and not same_step else masks[i])
            if not over:
                continue
            self._idle[i] = True
            if same_step:
                if final is None:
                    raise ForeignError(
                        f"{who}: infos lack final_obs, which SAME_STEP autoreset must give"
                    )
                self._new[i] = lane.obs, lane.mask
                lane.obs = keep(of_lane(final, i))

    def _look(self, i: int, obs: Any, mask: Any) -> None:
        lane = self.games[i]
        lane.obs = keep(of_lane(obs, i))
        lane.mask = None if mask is None else self.game.form.actions.read_mask(mask)


def resets_lanes(who: str, env: VectorEnv, actions: Actions) -> bool:
    """Return whether a vector of two lanes can reset one of them alone, by ``reset_mask``.

    The second lane must stay where it is when the first one is reset. That can be seen where it has
    moved away from where it began: random legal actions are taken until it has. If it never does,
    the classes of Gymnasium are known to do it, and others are not trusted.
    """
    gymnasiums: Any = (SyncVectorEnv, AsyncVectorEnv)
    if type(env) in gymnasiums:
        return True
    rng, ask = np.random.default_rng(0), find_method(env)
    for seed in range(TRIES):
        with call(who, "reset"):
            obs, infos = env.reset(seed=seed)
            first = keep(of_lane(obs, 1))
        for _ in range(MOVES):
            with call(who, "step"):
                masks = find_masks(ask, infos, obs, 2)
                legal = [
                    np.arange(actions.count) if mask is None else np.flatnonzero(mask)
                    for mask in [None if m is None else actions.read_mask(m) for m in masks]
                ]
                given = [actions.decode(int(rng.choice(each))) for each in legal]
                stepped = env.step(np.array(given, env.action_space.dtype))
                obs, _, terminated, truncated, infos = stepped
                over = bool(np.any(terminated) or np.any(truncated))
                before = keep(of_lane(obs, 1))
            if over:
                break
            if first_difference("", first, before) is not None:
                return _stays(env, before)
    return isinstance(env.unwrapped, gymnasiums)


def _stays(env: VectorEnv, before: Any) -> bool:
    """Return whether the second lane shows the same as before when the first one is reset."""
    seeds: Any = [TRIES, None]
    try:
        obs, _ = env.reset(seed=seeds, options={"reset_mask": np.array([True, False])})
    except Exception:  # whatever it raises, it cannot
        return False
    return first_difference("", before, of_lane(obs, 1)) is None


NO_SINGLE_RESETS = (
    "this vector environment resets lanes on the next step alone, not singly by reset_mask; make "
    "it with SAME_STEP or DISABLED autoreset"
)
