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
from gymnasium.vector import AutoresetMode

from fastenv.errors import FastEnvError, show_reason
from fastenv.memory import Batch
from fastenv.paths import PythonLanes, selected_lanes
from fastenv.testing.values import keep, of_lane
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
from training.foreign.spaces import ForeignError
from training.run.shielded import start_shielded

Array = npt.NDArray[Any]
STARTUP_S = 120.0  # that a process may take to import or make an environment
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


class Worker(NamedTuple):
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
    ForeignError
        A process cannot make its environments.
    """

    def __init__(self, game: Any, batch: Batch, workers: int, timeout_s: float) -> None:
        super().__init__(game, batch)
        self._timeout_s = timeout_s
        context = multiprocessing.get_context("spawn")
        shares = np.array_split(np.arange(len(batch.states)), min(workers, len(batch.states)))
        self._workers: list[Worker] = []
        for share in shares:
            ours, theirs = context.Pipe()
            count = context.RawValue("Q", 0)
            given = (theirs, game, len(share), count)
            process: BaseProcess = context.Process(target=work, args=given, daemon=True)
            start_shielded(process)
            theirs.close()
            self._workers.append(Worker(share.tolist(), process, ours, count))
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

    def _send(self, worker: Worker, message: Any) -> None:
        try:
            worker.pipe.send(message)
        except OSError:  # it has ended, and perhaps said why
            self._receive(worker, self._timeout_s)
            raise

    def _receive(self, worker: Worker, limit_s: float) -> Any:
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

    def _wait(self, worker: Worker, limit_s: float) -> None:
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
            lanes.append(game.create())
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


def _end(workers: list[Worker]) -> None:
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
        self._has_begun = True
        for i in seeds if some else range(count):
            self._look(i, obs, infos)

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
        obs, rewards, terminated, truncated, infos = stepped
        final = infos.get("final_obs")
        for i, lane in enumerate(games):
            over = bool(terminated[i] or truncated[i])
            if i in actions:
                lane.paid = as_paid(who, rewards[i])
                lane.done = RUNNING if not over else TERMINATED if terminated[i] else TRUNCATED
            self._look(i, obs, infos)
            if over:
                self._idle[i] = True
                if self._mode is AutoresetMode.SAME_STEP:
                    if final is None:
                        raise ForeignError(
                            f"{who}: infos lack final_obs, which SAME_STEP autoreset must give"
                        )
                    self._new[i] = lane.obs, lane.mask
                    lane.obs = keep(of_lane(final, i))

    def _look(self, i: int, obs: Any, infos: Mapping[str, Any]) -> None:
        lane, masks = self.games[i], infos.get("action_mask")
        lane.obs = keep(of_lane(obs, i))
        lane.mask = None if masks is None else self.game.form.actions.read_mask(masks[i])


NO_SINGLE_RESETS = (
    "this vector environment resets lanes on the next step alone, not singly by reset_mask; make "
    "it with SAME_STEP or DISABLED autoreset"
)
