"""Metrics of a training in windows of game ticks, added up without a loop over lanes.

A step takes ``dt`` ticks and may so lie in several windows; its reward and metrics are shared out
by ticks, its episode's end belongs to the window of its last tick. The definition is that
for one environment (docs/howto/train_prospector.md): a batch is its lanes one after the other.

The lanes' ticks, laid end to end, are cut at every lane's end and at every end of a window. Each
piece between two cuts has one lane and one window, so that all windows are sums over pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastenv.errors import ConfigError
from training.run import games
from training.run.callback import Callback, EngineStep, Progress
from training.run.checkpoint import State
from training.run.engine import Engine, step_columns

# Rows of the sums over pieces: whole numbers, and floats, behind which the metrics follow.
_TICKS, _STEPS, _INVALID, _EPISODES, _TERMINATED, _TRUNCATED = range(6)
_REWARD, _RETURN, _METRICS = range(3)


class WindowAggregator:
    """Groups steps into windows of ticks.

    Parameters
    ----------
    run_id : str
    window_env_steps : int
        Ticks of a window.
    metric_keys : sequence of str
        Infos to average.

    Attributes
    ----------
    env_steps_total, agent_steps_total, episodes_total : int
        Ticks, step calls and ended episodes so far.
    current_window_id : int
        Of the window that is open.
    """

    def __init__(self, run_id: str, window_env_steps: int, metric_keys: Sequence[str] = ()) -> None:
        whole = isinstance(window_env_steps, (int, np.integer))
        if not whole or isinstance(window_env_steps, bool) or window_env_steps < 1:
            raise ValueError(f"window_env_steps={window_env_steps!r}: must be an integer above 0")
        if isinstance(metric_keys, str) or len(set(metric_keys)) != len(metric_keys):
            raise ValueError(f"metric_keys={metric_keys!r}: must be names, none of them twice")
        self.run_id = run_id
        self.window_env_steps = int(window_env_steps)
        self.metric_keys = tuple(metric_keys)
        self.current_window_id = 0
        self._returns = np.zeros(1)  # of the running episodes, one a lane
        self._before = np.zeros(6, np.int64)  # sums over the windows that are closed
        self._counts = np.zeros(6, np.int64)  # and of the one that is open
        self._sums = np.zeros(_METRICS + len(self.metric_keys))

    @property
    def env_steps_total(self) -> int:
        """Ticks so far."""
        return int(self._before[_TICKS] + self._counts[_TICKS])

    @property
    def agent_steps_total(self) -> int:
        """Step calls so far."""
        return int(self._before[_STEPS] + self._counts[_STEPS])

    @property
    def episodes_total(self) -> int:
        """Episodes that ended so far."""
        return int(self._before[_EPISODES] + self._counts[_EPISODES])

    def record(
        self, rewards: Any, infos: Mapping[str, Any], terminated: Any, truncated: Any
    ) -> list[dict[str, Any]]:
        """Add one step of every lane, lane 0 first; return the windows that they closed.

        Parameters
        ----------
        rewards : array_like of float, shape (n,)
        infos : mapping of str to array_like, shape (n,)
            ``dt`` is 1 if it is missing, not above 0 or no finite number; ``invalid_action`` and
            metrics are 0 then.
        terminated, truncated : array_like of bool, shape (n,)

        Raises
        ------
        ValueError
            For other shapes, rewards that are not finite, or parts of ticks; nothing has changed.
        """
        reward = np.asarray(rewards, np.float64)
        n = reward.size
        if reward.ndim != 1 or n == 0 or not np.isfinite(reward).all():
            raise ValueError("rewards must be finite numbers of shape (n,), n above 0")
        flags = [_read_flags("terminated", terminated, n), _read_flags("truncated", truncated, n)]
        done = flags[0] | flags[1]
        columns = _read_columns(infos, ("dt", "invalid_action", *self.metric_keys), n)
        if (columns[0] != np.floor(columns[0])).any():
            raise ValueError("infos['dt'] must be whole ticks")
        dt = np.maximum(columns[0], 1.0).astype(np.int64)
        invalid, metrics = columns[1] != 0, columns[2:]

        returned = self._add_returns(reward, done)  # from here on nothing can fail
        piece, take, last, starts = self._cut_pieces(dt)
        counts = np.stack(
            [take, last, take * invalid[piece], *(last * flag[piece] for flag in (done, *flags))]
        )
        shared = reward[piece] * (take / dt[piece])
        sums = np.vstack([shared, returned[piece] * last, metrics[:, piece] * take])
        records = []
        for whole, real in zip(
            np.add.reduceat(counts, starts, axis=1).T,
            np.add.reduceat(sums, starts, axis=1).T,
            strict=True,
        ):
            self._counts += whole
            self._sums += real
            if self._counts[_TICKS] == self.window_env_steps:
                records.append(self._emit())
        return records

    def flush_partial(self) -> dict[str, Any] | None:
        """Close the open window as it is; None if it holds no tick."""
        return self._emit() if self._counts[_TICKS] else None

    def state(self) -> dict[str, Any]:
        """Return the exact sums for :meth:`restore`, as JSON values."""
        names = ("_before", "_counts", "_sums", "_returns")
        arrays = {name.strip("_"): getattr(self, name).tolist() for name in names}
        return {"window_id": self.current_window_id, **arrays}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self.current_window_id = int(state["window_id"])
        self._before = np.array(state["before"], np.int64)
        self._counts = np.array(state["counts"], np.int64)
        self._sums = np.array(state["sums"], np.float64)
        self._returns = np.array(state["returns"], np.float64)

    def _cut_pieces(self, dt: np.ndarray) -> tuple[Any, np.ndarray, Any, Any]:
        """Cut ticks into pieces: their lanes, ticks, 1 for a lane's last; and windows' firsts."""
        opened, size = self._counts[_TICKS], self.window_env_steps
        ends = np.cumsum(dt) + opened
        if ends[-1] < size:  # no boundary is reached: a lane is a piece, and all lie in one window
            return slice(None), dt, np.ones_like(dt), [0]
        cuts = np.union1d(ends, np.arange(size, ends[-1] + 1, size))
        lane = np.searchsorted(ends, cuts)
        starts = np.flatnonzero(np.diff((cuts - 1) // size, prepend=-1))
        return lane, np.diff(cuts, prepend=opened), (cuts == ends[lane]).astype(np.int64), starts

    def _add_returns(self, reward: np.ndarray, done: np.ndarray) -> np.ndarray:
        """Add rewards to running episodes; return the returns of those that end, else 0."""
        missing = len(reward) - len(self._returns)
        if missing > 0:
            self._returns = np.concatenate([self._returns, np.zeros(missing)])
        running = self._returns[: len(reward)]
        running += reward
        returned = np.where(done, running, 0.0)
        running[done] = 0.0
        return returned

    def _emit(self) -> dict[str, Any]:
        """Return the record of the open window and open the next.

        ``env_steps`` are ticks, ``agent_steps`` are step calls that ended in the window; means of
        rewards and metrics are by ticks, that of returns over the episodes completed.
        """
        counts, sums = self._counts.tolist(), self._sums.tolist()
        ticks, episodes = counts[_TICKS], counts[_EPISODES]
        start = int(self._before[_TICKS])
        metrics = zip(self.metric_keys, sums[_METRICS:], strict=True)
        means = {key: total / ticks for key, total in metrics}
        record = {
            "run_id": self.run_id,
            "window_id": self.current_window_id,
            "window_complete": ticks == self.window_env_steps,
            "env_steps_start": start,
            "env_steps_end": start + ticks,
            "env_steps_in_window": ticks,
            "env_steps_total": start + ticks,
            "agent_steps": counts[_STEPS],
            "episodes_completed": episodes,
            "terminated_episodes": counts[_TERMINATED],
            "truncated_episodes": counts[_TRUNCATED],
            "reward_sum": sums[_REWARD],
            "reward_mean": sums[_REWARD] / ticks,
            "return_mean": sums[_RETURN] / episodes if episodes else 0.0,
            "invalid_action_rate": counts[_INVALID] / ticks,
            "profit_mean": means.get("net_profit", 0.0),  # what the published benchmark calls them
            "survival_rate": means.get("survival", 0.0),
            **{f"{name}_mean": mean for name, mean in means.items()},
        }
        self._before += self._counts
        self._counts[:] = 0
        self._sums[:] = 0.0
        self.current_window_id += 1
        return record


class Windows(Callback):
    """Logs windows of ticks over the steps of an engine.

    Parameters
    ----------
    engine : Engine
        Read after each of its steps.
    run_id, window_env_steps
        See :class:`WindowAggregator`.

    Raises
    ------
    ConfigError
        If the game counts no ticks or lacks a metric.
    """

    def __init__(self, engine: Engine, run_id: str, window_env_steps: int) -> None:
        metrics = games.find(engine, "window_metrics") or ()
        self._windows = WindowAggregator(run_id, window_env_steps, metrics)
        self._names = ("dt", "invalid_action", *metrics)
        for name in self._names:
            if name not in engine.info:
                raise ConfigError(
                    f"window_ticks={window_env_steps}: this game has no info column {name!r}, so "
                    "its ticks and metrics cannot be grouped; 0 switches windows off."
                )

    def step(self, loop: Progress, step: EngineStep) -> None:
        """Log the windows that a step closes."""
        engine = step.engine
        if step.actions is None:
            return
        infos = step_columns(engine, self._names)
        how = engine.reward, infos, engine.terminated, engine.truncated
        for record in self._windows.record(*how):
            loop.log.window({"step": loop.now, **record})

    def finish(self, loop: Progress) -> None:
        """Log the window that the end of the run leaves open."""
        last = self._windows.flush_partial()
        if last is not None:
            loop.log.window({"step": loop.now, **last})

    def summary(self) -> dict[str, Any]:
        """Return the counts of windows, steps and episodes."""
        windows = self._windows
        return {
            "windows": {
                "window_ticks": windows.window_env_steps,
                "windows_emitted": windows.current_window_id,
                "env_steps_total": windows.env_steps_total,
                "agent_steps_total": windows.agent_steps_total,
                "episodes_total": windows.episodes_total,
            }
        }

    def state(self) -> dict[str, Any]:
        """Return the sums of the window that is open."""
        return {"windows": self._windows.state()}

    def restore(self, saved: State) -> None:
        """Restore from a checkpoint."""
        self._windows.restore(saved.values["windows"])


# -- reading ---------------------------------------------------------------------------------------


def _read_flags(name: str, values: Any, n: int) -> np.ndarray:
    flags = np.asarray(values)
    if flags.shape != (n,):
        raise ValueError(f"{name} has shape {flags.shape}, must have shape ({n},)")
    return flags != 0


def _read_columns(infos: Mapping[str, Any], keys: Sequence[str], n: int) -> np.ndarray:
    """Read infos as float64, shape (keys, n); missing and not finite numbers are 0."""
    columns = np.empty((len(keys), n))
    for key, column in zip(keys, columns, strict=True):
        array = np.asarray(infos.get(key, 0.0), np.float64)
        if array.shape not in ((), (n,)):
            raise ValueError(f"infos[{key!r}] has shape {array.shape}, must have shape ({n},)")
        column[:] = array
    columns[~np.isfinite(columns)] = 0.0
    return columns
