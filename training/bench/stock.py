"""Time the phases of a stock trainer, iteration by iteration."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from fastenv.adapters.sb3 import BatchVecEnv
from fastenv.engine import BatchEngine
from training.bench import ran
from training.run import machine
from training.sb3.vec import LENT, TimedVecEnv

# `loss` is the forward pass of the update and everything up to the loss; clipping of the gradient
# belongs to `backward`.
PHASES = ("env", "forward", "store", "gae", "gather", "loss", "backward", "optimizer")


@dataclass
class Iteration:
    """One rollout and its update.

    Parameters
    ----------
    steps : int
    wall_s, cpu_s : float
    collect_s : float
        Wall time of the rollout; the update is the rest.
    phases : dict
        Seconds of each phase that was timed.
    """

    steps: int
    wall_s: float = 0.0
    cpu_s: float = 0.0
    collect_s: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)


class Stopwatch(BaseCallback):
    """Times the iterations of a trainer after the first, until it has seen enough.

    Parameters
    ----------
    vec : TimedVecEnv
    enough : callable
        Looks at the iterations so far; True ends the training.
    detailed : bool
        Time all ``PHASES`` instead of the first two. Costs a little in every minibatch.
    device : str
        On ``cuda`` (untested) the detailed clock waits for the device at boundaries of phases.

    Attributes
    ----------
    iterations : list of Iteration
    warmup_s : float
        Wall time of the first iteration.
    rewards : list of float
        Mean reward of a decision in each rollout, the first one's included.
    """

    def __init__(
        self,
        vec: TimedVecEnv,
        enough: Callable[[Sequence[Iteration]], bool],
        detailed: bool = False,
        device: str = "cpu",
    ) -> None:
        super().__init__()
        self._vec, self._sees_enough, self._detailed = vec, enough, detailed
        self._synchronise = detailed and device == "cuda"
        self._open: Iteration | None = None
        self._count = 0
        self._done = False
        self._gathered = self._cleared = 0.0
        self.iterations: list[Iteration] = []
        self.warmup_s = 0.0
        self.rewards: list[float] = []

    def _now(self) -> float:
        if self._synchronise:
            torch.cuda.synchronize()
        return time.perf_counter()

    def _add(self, phase: str, begin: float) -> float:
        now = self._now()
        if self._open is not None:
            phases = self._open.phases
            phases[phase] = phases.get(phase, 0.0) + now - begin
        return now

    # -- what stable-baselines calls ---------------------------------------------------------------

    def _on_training_start(self) -> None:
        policy = self.model.policy
        self._hooks = [
            policy.register_forward_pre_hook(self._forward_begins),
            policy.register_forward_hook(self._forward_ends),
        ]
        if self._detailed:
            self._watch_update()

    def _forward_begins(self, *_: Any) -> None:
        self._at = self._now()

    def _forward_ends(self, *_: Any) -> None:
        self._add("forward", self._at)

    def _on_rollout_start(self) -> None:
        self._iteration_ends()
        self._vec.busy_s = 0.0
        model: Any = self.model
        self._open = Iteration(model.n_steps * model.n_envs)
        self._began, self._cpu = time.perf_counter(), time.process_time()

    def _on_step(self) -> bool:
        return not self._done

    def _on_rollout_end(self) -> None:
        self._collected = time.perf_counter()
        buffer: Any = self.model
        self.rewards.append(float(buffer.rollout_buffer.rewards.mean()))

    def _on_training_end(self) -> None:
        if not self._done:
            self._iteration_ends()
        for hook in self._hooks:
            hook.remove()

    def _iteration_ends(self) -> None:
        if self._open is None:
            return
        ended, self._open = self._open, None
        ended.wall_s = time.perf_counter() - self._began
        ended.cpu_s = time.process_time() - self._cpu
        ended.collect_s = self._collected - self._began
        ended.phases["env"] = self._vec.busy_s
        self._count += 1
        if self._count == 1:
            self.warmup_s = ended.wall_s
            return
        self.iterations.append(ended)
        self._done = self._sees_enough(self.iterations)

    def reward_change(self) -> dict[str, float]:
        """Return the mean reward of a decision in the first rollout and in the last.

        Returns
        -------
        dict
            ``reward_before``, ``reward_after`` and ``reward_per_hour``: the change for each hour of
            training that lies between the two.
        """
        between = self.warmup_s + sum(each.wall_s for each in self.iterations[:-1])
        before, after = self.rewards[0], self.rewards[-1]
        change = 3600 * (after - before) / between
        return {"reward_before": before, "reward_after": after, "reward_per_hour": change}

    # -- inside the update -------------------------------------------------------------------------

    def _watch_update(self) -> None:
        """Put clocks around the methods of this model, and of no other."""
        model: Any = self.model
        buffer, policy, optimizer = model.rollout_buffer, model.policy, model.policy.optimizer
        buffer.add = self._clocked("store", buffer.add)
        buffer.compute_returns_and_advantage = self._clocked(
            "gae", buffer.compute_returns_and_advantage
        )
        policy.predict_values = self._clocked("forward", policy.predict_values)
        buffer.get = self._gather(buffer.get)
        clear, step = optimizer.zero_grad, optimizer.step

        def clocked_clear(*args: Any, **kwargs: Any) -> None:
            begin = self._add("loss", self._gathered)
            clear(*args, **kwargs)
            self._cleared = self._add("optimizer", begin)

        def clocked_step(*args: Any, **kwargs: Any) -> Any:
            begin = self._add("backward", self._cleared)
            result = step(*args, **kwargs)
            self._add("optimizer", begin)
            return result

        optimizer.zero_grad, optimizer.step = clocked_clear, clocked_step

    def _clocked(self, phase: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def clocked(*args: Any, **kwargs: Any) -> Any:
            begin = self._now()
            result = call(*args, **kwargs)
            self._add(phase, begin)
            return result

        return clocked

    def _gather(self, get: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        def clocked(*args: Any) -> Iterator[Any]:
            batches = get(*args)
            while True:
                begin = self._now()
                batch = next(batches, None)
                self._gathered = self._add("gather", begin)
                if batch is None:
                    return
                yield batch

        return clocked


def time_stock(
    learner: Callable[..., Any],
    trainer: str,
    engine: BatchEngine,
    sizes: Mapping[str, Any],
    repeats: int,
) -> dict[str, Any]:
    """Train a stock trainer on one thread; return its speed and the share of the env.

    Parameters
    ----------
    learner : callable
        Makes the trainer for a ``VecEnv`` and ``sizes``.
    trainer : str
        Who trains, with its network.
    engine : BatchEngine
    sizes : mapping
        Arguments of the trainer that differ from its own defaults.
    repeats : int
        Iterations that are timed.
    """
    torch.set_num_threads(1)
    vec = TimedVecEnv(BatchVecEnv(engine, **LENT))
    model = learner(vec, device="cpu", seed=0, **sizes)
    model.set_logger(Logger(None, []))
    watch, load = Stopwatch(vec, lambda seen: len(seen) == repeats), machine.load()
    model.learn(1 << 40, callback=watch)
    vec.close()
    iterations = watch.iterations
    fixed: dict[str, Any] = {"precision": "fp32", "device": "cpu", "torch_threads": 1}
    shares = [i.phases["env"] / i.wall_s for i in iterations]
    how: dict[str, Any] = {"adapter": "BatchVecEnv", "trainer": trainer, "config": dict(sizes)}
    return {
        "ran": ran.describe_engine(engine, "iterations", **how, **fixed),
        "backend": engine.backend,
        "steps_per_s": statistics.median(i.steps / i.wall_s for i in iterations),
        "steps_per_cpu_s": statistics.median(i.steps / i.cpu_s for i in iterations),
        "share_env": statistics.median(shares),
        "share_env_all": shares,
        "load": [load, machine.load()],
        "noisy": max(load, machine.load()) > machine.physical_cores(),
    }
