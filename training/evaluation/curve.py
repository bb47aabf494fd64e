"""Evaluations of a policy during its training: one point of a curve each, and the best so far.

The training itself evaluates, or a process beside it: nothing here draws from a generator of the
training, and no seed is one that it, or the evaluation at its end, plays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from training.evaluation.evaluation import Evaluation, play
from training.evaluation.intervals import Interval
from training.evaluation.judging import CURVE, get_judging
from training.players.trained import make_trained
from training.run import checkpoint, envs
from training.run.checkpoint import BEST, CheckpointError, State
from training.run.folder import RunFolder
from training.run.jsonl import read_lines
from training.run.seeds import generators_kept


class CurveEvaluator:
    """Plays the same games with every policy it is given, and keeps the best one.

    Parameters
    ----------
    run : RunFolder
        ``checkpoints/best/`` is written into it.
    wanted : callable, optional
        Called before a policy is kept; False if nobody wants it any more.
    """

    def __init__(self, run: RunFolder, wanted: Callable[[], bool] = lambda: True) -> None:
        self._run, self._wanted, config = run, wanted, run.config
        self._options = config.evaluation
        self._view = envs.make_engine(config.env, 1, config.env_options)
        self._identity = checkpoint.identity_of_agent(config, self._view)
        self._judging = get_judging(config.env)
        plan = self._judging.evaluations(config, config.evaluation, CURVE)
        self._played = [(each, each.make_engine()) for each in plan]
        self._decides = _name(plan[0].decides, plan[0])
        self._count = sum(each.episodes for each in plan)
        self._seed = plan[0].seeds.start
        self._lowest = self._read_best()

    def evaluate(self, version: int, steps: int, parameters: dict[str, Any]) -> dict[str, Any]:
        """Evaluate a policy, and save it as a checkpoint if it is the best so far.

        Parameters
        ----------
        version : int
            Iterations that made it.
        steps : int
            Decisions, likewise.
        parameters : dict of str to Tensor

        Returns
        -------
        dict
            A line of ``evaluations.jsonl``.
        """
        begin = time.perf_counter()
        with generators_kept():
            means = self._play(steps, parameters)
        lowest = means[self._decides].low
        best = bool(lowest > self._lowest)
        record = {
            "version": version,
            "step": steps,
            "results": {name: interval.to_list() for name, interval in means.items()},
            "decides": self._decides,
            "best": best,
            "episodes": self._count,
            "first_seed": self._seed,
            "bootstrap": self._options.bootstrap,
        }
        if best and self._wanted():
            self._lowest = lowest
            self._keep(steps, parameters, record)
        return {**record, "duration_s": round(time.perf_counter() - begin, 3)}

    def _play(self, steps: int, parameters: dict[str, Any]) -> Mapping[str, Interval]:
        """Play with a policy; return its means by measure and opponents."""
        agent = make_trained(self._run.config, self._run.checkpoints, steps, parameters)
        players = self._judging.players_of(agent, self._options, CURVE)
        results: dict[str, Interval] = {}
        for each, engine in self._played:
            played = play(each.by(players), engine)
            (means,) = each.estimate(played).means.values()
            results |= {_name(name, each): mean for name, mean in means.items()}
        return results

    def _keep(self, steps: int, parameters: dict[str, Any], record: dict[str, Any]) -> None:
        folder = self._run.checkpoints / BEST
        values = {"evaluation": record, "config": self._run.config.to_dict()}
        rows = np.zeros(0, self._view.spec.state_dtype)  # there is no going on from here
        state = State(steps, {"policy": parameters}, values, rows, arrays={})
        checkpoint.save(folder, state, self._identity, keep=1 + self._count_returnable(folder))

    def _count_returnable(self, folder: Path) -> int:
        """Count the newest kept policies that a killed run may return to.

        It goes on from its newest checkpoint at the earliest, with the policy that was best then.
        """
        saved = checkpoint.newest(self._run.checkpoints)
        until = -1 if saved is None else checkpoint.steps_of(saved)
        best = {line.get("step") for line in read_lines(self._run.evaluations) if line.get("best")}
        kept = [checkpoint.steps_of(path) for path in checkpoint.list_whole(folder)]
        then = max((steps for steps in kept if steps <= until and steps in best), default=0)
        return sum(steps >= then for steps in kept)

    def _read_best(self) -> float:
        """Read the lower end of the kept policy's interval, if it was measured in the same way."""
        path = checkpoint.newest(self._run.checkpoints / BEST)
        try:
            kept = None if path is None else checkpoint.load(path, self._identity)
        except CheckpointError:  # a better one will take its place
            kept = None
        if kept is None:
            return -np.inf
        record = kept.values["evaluation"]
        same = record["decides"] == self._decides and record["first_seed"] == self._seed
        same = same and record["episodes"] == self._count
        return float(record["results"][self._decides][1]) if same else -np.inf


def _name(measure: str, evaluation: Evaluation) -> str:
    """Return the name of a measure in a curve: with the opponents, where there are some."""
    return measure if evaluation.against is None else f"{measure}, {evaluation.name}"
