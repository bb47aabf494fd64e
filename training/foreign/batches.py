"""Lanes that are stepped together: in processes of their own, or by one vector environment."""

from __future__ import annotations

import multiprocessing
import weakref
from collections.abc import Mapping
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from fastenv.errors import FastEnvError
from fastenv.memory import Batch
from fastenv.paths import PythonLanes, selected_lanes
from fastenv.testing.values import keep, of_lane
from training.foreign.lanes import RUNNING, TERMINATED, TRUNCATED, Lane, as_paid, as_seed, call
from training.foreign.spaces import ForeignError

Array = npt.NDArray[Any]
STARTUP_S = 120.0  # that a process may take to import and make its environments


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


class WorkerLanes(BatchLanes):
    """Lanes in processes of their own.

    Parameters
    ----------
    game : training.foreign.games.ForeignGame
    batch : Batch
    workers : int
        Processes, which have an even share of the lanes.
    timeout_s : float
        Seconds that a step or reset of all lanes of a process may take.

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
        self._workers: list[tuple[list[int], BaseProcess, Connection]] = []
        process: BaseProcess
        for share in shares:
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(theirs, game, len(share)), daemon=True)
            process.start()
            theirs.close()
            self._workers.append((share.tolist(), process, ours))
        self._end = weakref.finalize(self, _end, [worker[1:] for worker in self._workers])
        for _, started, pipe in self._workers:
            self._receive(started, pipe, STARTUP_S)

    def _reset(self, seeds: Mapping[int, int | None]) -> None:
        self._ask("reset", seeds)

    def _step(self, actions: Mapping[int, Any]) -> None:
        self._ask("step", actions)

    def _ask(self, what: str, given: Mapping[int, Any]) -> None:
        """Let all processes do it at once, and take what their lanes show."""
        asked = []
        for lanes, process, pipe in self._workers:
            own = [i for i in lanes if i in given]
            if own:
                pipe.send((what, [(i - lanes[0], given[i]) for i in own]))
                asked.append((own, process, pipe))
        for own, process, pipe in asked:
            shown = self._receive(process, pipe, self._timeout_s)
            for i, each in zip(own, shown, strict=True):
                self.games[i].take(each)

    def _receive(self, process: BaseProcess, pipe: Connection, limit_s: float) -> Any:
        who = self.game.name
        try:
            if not pipe.poll(limit_s):
                self._end()
                raise ForeignError(f"{who}: no answer for {limit_s:g} s: the environment hangs")
            answer = pipe.recv()
        except (EOFError, OSError) as error:
            process.join(1.0)
            raise ForeignError(
                f"{who}: the process of its lanes has died (exit status {process.exitcode})"
            ) from error
        if isinstance(answer, str):
            raise ForeignError(answer)
        return answer


def work(pipe: Connection, game: Any, count: int) -> None:
    """Step lanes in this process until the pipe closes."""
    try:
        lanes = [game.create() for _ in range(count)]
        pipe.send(None)
        while True:
            what, given = pipe.recv()
            for k, value in given:
                (lanes[k].reset if what == "reset" else lanes[k].step)(value)
            pipe.send([lanes[k].show() for k, _ in given])
    except (EOFError, OSError, KeyboardInterrupt):
        return
    except FastEnvError as error:
        pipe.send(str(error))


def _end(workers: list[tuple[BaseProcess, Connection]]) -> None:
    for process, pipe in workers:
        pipe.close()
        process.terminate()


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
        self._end = weakref.finalize(self, self.env.close)

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
