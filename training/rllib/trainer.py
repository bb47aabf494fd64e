"""PPO of RLlib as a trainer; what its processes run is in :mod:`training.rllib.module`."""

from __future__ import annotations

import gc
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import ray
from gymnasium import VectorizeMode
from ray.exceptions import RayError
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.tune.registry import register_env

from training.rllib.connectors import EpisodesToBatch, LanesToModule, ModuleToLanes
from training.rllib.module import (
    ActorCriticLearner,
    ActorCriticModule,
    Episodes,
    RunnerLanes,
    configure,
    net_of,
    set_state_of,
    state_of,
)
from training.rllib.options import RLlibRun
from training.run import checkpoint, envs
from training.run.checkpoint import State
from training.run.folder import RunError
from training.run.options import decay
from training.run.seeds import stream_seed
from training.run.trainer import Metrics, Trainer, TrainingError, check_loss, check_parameters

ENV = "fastenv lanes"
PATIENCE_S = 300.0  # to wait for an env runner when all are lost

# Names of the values that RLlib's learner logs, and their names in metrics.jsonl.
_TRAIN_VALUES = {
    "total_loss": "loss",
    "policy_loss": "policy_loss",
    "vf_loss": "value_loss",
    "entropy": "entropy",
    "vf_explained_var": "explained_variance",
    "default_optimizer_learning_rate": "lr",
    "gradients_default_optimizer_global_norm": "grad_norm",
}
# Phases in metrics.jsonl, and RLlib's timers of them.
_TIMERS = {
    "sample": "env_runner_sampling_timer",
    "update": "learner_update_timer",
    "sync": "synch_weights",
}


class OneLane:
    """A lane that describes the game; its knobs are those of the lanes of all env runners.

    Parameters
    ----------
    engine : BatchEngine

    Attributes
    ----------
    knobs : dict
        Values that have been set until now.
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.knobs: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the engine."""
        return getattr(self._engine, name)

    def configure(self, name: str, value: Any, idx: Any = None) -> None:
        """Set a knob; refuses as the engine does."""
        self._engine.configure(name, value, idx)
        self.knobs[name] = value


class RLlibTrainer(Trainer):
    """RLlib's PPO; see :class:`training.run.trainer.Trainer`.

    Episodes that are under way are not saved: a run that goes on begins new ones.

    Parameters
    ----------
    config : RLlibRun
    lanes : Lanes
        Of :func:`training.rllib.run.make_lanes`.
    """

    def __init__(self, config: RLlibRun, lanes: envs.Lanes) -> None:
        self._config, self._backend = config, lanes.backend.name
        self._lane = OneLane(lanes.engines[0])
        self.engines: list[Any] = [self._lane]
        self.device = "cuda" if config.rllib.gpus_per_learner > 0 else "cpu"
        self.net = net_of(config)
        self._optimizer: dict[str, Any] | None = None
        self._algorithm: Any = None
        self._sent: dict[str, Any] = {}

    # -- training --------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Start Ray, unless it runs, and send knobs that have changed to the env runners."""
        if self._algorithm is None:
            with _translate_errors():
                self._start()
        group = self._algorithm.env_runner_group
        knobs = dict(self._lane.knobs)
        if knobs != self._sent:
            group.foreach_env_runner(partial(configure, knobs=knobs))
            self._sent = knobs

    def iterate(self) -> Metrics:
        """Train once; the metrics include the runners that are up and the episodes that ended."""
        iteration = self.steps // self._config.rollout + 1
        result, runners = self._train()
        self.steps += int(result["env_runners"]["num_env_steps_sampled"])
        self._copy_learner()
        train = self._read_train_values(result, iteration)
        more = {"env_runners": runners, **_read_episodes(result)}
        return {"train": train, "phases": _read_phases(result), **more}

    def _start(self) -> None:
        """Start Ray and the algorithm, where a run that goes on left it."""
        start_ray(self._config)
        register_env(ENV, RunnerLanes)
        self._algorithm = algorithm_config(self._config, self.steps, self._backend).build_algo()
        self._algorithm.knobs, self._algorithm.decisions = self._lane.knobs, self.steps
        for timer in _TIMERS.values():  # by itself RLlib shows a moving average over iterations
            self._algorithm.metrics.log_value(("timers", timer), 0.0, reduce="sum")
        if self._optimizer is not None:
            state = {"policy": self.net.state_dict(), "optimizer": self._optimizer}
            group = self._algorithm.learner_group
            _get_results(group.foreach_learner(partial(set_state_of, state=state)))
            self._algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=group)
        gc.freeze()  # see Episodes.on_environment_created

    def _train(self) -> tuple[Mapping[str, Any], int]:
        """Train until something was sampled; return RLlib's result and the number of runners up.

        Logs env runners that are lost, with the fragments they were sampling, and those that come
        back.
        """
        group, begin = self._algorithm.env_runner_group, time.perf_counter()
        self._algorithm.decisions = self.steps
        while True:
            up = set(group.healthy_env_runner_ids())
            with _translate_errors():
                result = self._algorithm.train()
            now = set(group.healthy_env_runner_ids())
            if lost := sorted(up - now):
                self.log.event("env runners lost", step=self.steps, runners=lost)
                names, every = ", ".join(map(str, lost)), group.num_remote_env_runners()
                self.log.warn(
                    f"lost env runner {names} of {every}, and the fragments of episodes that were "
                    "being sampled there; the others go on"
                )
            if back := sorted(now - up):
                self.log.event("env runners back", step=self.steps, runners=back)
            if result.get("env_runners", {}).get("num_env_steps_sampled"):
                return result, len(now)
            if time.perf_counter() - begin > PATIENCE_S:
                raise TrainingError(
                    f"no env runner has come back in {PATIENCE_S:.0f} s: see to the cluster, and "
                    "go on from the last checkpoint."
                )

    def _copy_learner(self) -> None:
        """Copy parameters and optimizer of a learner; all of them have the same."""
        group = self._algorithm.learner_group
        first = {} if group.is_local else {"remote_actor_ids": [0]}
        state = _get_results(group.foreach_learner(state_of, **first))[0]
        self.net.load_state_dict(state["policy"])
        self._optimizer = state["optimizer"]

    def _read_train_values(self, result: Mapping[str, Any], iteration: int) -> dict[str, Any]:
        values = result["learners"][DEFAULT_MODULE_ID]
        train = {ours: float(values[k]) for k, ours in _TRAIN_VALUES.items() if k in values}
        check_loss(train.get("loss", 0.0), iteration)
        ppo = self._config.ppo
        self.updates += ppo.n_epochs * (self._config.rollout // ppo.batch_size)
        return train

    # -- saving ----------------------------------------------------------------------------------

    def state(self) -> State:
        """Return parameters and optimizer; lanes begin anew."""
        check_parameters(self.net)
        model = {"policy": self.net.state_dict(), "optimizer": self._optimizer or {}}
        return State(
            steps=self.steps,
            model=checkpoint.copy_to_host(model),
            values={"counters": {"updates": self.updates}},
            rows=np.zeros(0, self._lane.spec.state_dtype),
            arrays={},
        )

    def load_state(self, state: State) -> None:
        """Put back what :meth:`state` returned."""
        self.net.load_state_dict(state.model["policy"])
        self._optimizer = state.model["optimizer"] or None
        self.updates = int(state.values["counters"]["updates"])
        self.steps = state.steps

    def reset_lanes(self, shift: int | None = None) -> None:
        """Do nothing after a checkpoint, whose run begins new episodes in any case.

        Raises
        ------
        NotImplementedError
            Without ``shift``: no callback of this trainer needs it.
        """
        if shift is None:
            raise NotImplementedError("lanes of env runners are reset by RLlib alone")

    def close(self) -> None:
        """End the processes."""
        if self._algorithm is not None:
            self._algorithm.stop()
            gc.unfreeze()
        if ray.is_initialized():
            ray.shutdown()


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn errors of Ray, such as a learner out of memory, into a TrainingError."""
    try:
        yield
    except RayError as error:
        reason = " ".join(str(getattr(error, "cause", None) or error).split())
        raise TrainingError(
            "Ray has lost a part that the training needs: the newest checkpoint is complete; "
            f"repair the cluster and use --resume ({type(error).__name__}: {reason[:200]})."
        ) from error


def start_ray(config: RLlibRun) -> None:
    """Join a cluster, or start one on this machine.

    Raises
    ------
    RunError
        There is none at the address, or none can be started.
    """
    rllib = config.rllib
    if ray.is_initialized():
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anybody
    os.environ.setdefault("RAY_worker_niceness", "0")  # else whatever runs beside it starves it
    how: dict[str, Any] = {"address": rllib.address}
    if rllib.address is None:
        how = {
            "num_cpus": 1 + rllib.env_runners + rllib.learners,
            "object_store_memory": rllib.object_store_mb * 2**20,
            "include_dashboard": False,
        }
    try:
        _check_port(rllib.address)
        ray.init(log_to_driver=False, logging_level="warning", **how)
    except Exception as error:  # Ray raises just this if its processes do not come up in time
        reason = " ".join(str(error).split())
        where = "on this machine" if rllib.address is None else f"at {rllib.address}"
        raise RunError(f"no Ray cluster {where}: {reason[:300]}") from error


def _check_port(address: str | None) -> None:
    """Raise OSError if nobody listens at ``host:port``, where Ray would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=10.0).close()


def algorithm_config(config: RLlibRun, steps: int, backend: str) -> PPOConfig:
    """Make the options of RLlib for a run.

    Parameters
    ----------
    config : RLlibRun
    steps : int
        Decisions before this process; schedules go on from there.
    backend : str
        Of the lanes.
    """
    ppo, rllib = config.ppo, config.rllib
    context = {
        **envs.with_seating(config.env, config.env_options),
        "env": config.env,
        "backend": backend,
        "num_threads": config.engine_threads,
        "began": steps,
    }
    learners = max(1, rllib.learners)
    sizes = {"minibatch": ppo.batch_size // learners, "spare": -(-config.num_envs // learners)}
    batches = EpisodesToBatch(gamma=ppo.gamma, lambda_=ppo.gae_lambda, **sizes)
    module = RLModuleSpec(module_class=ActorCriticModule, model_config={"run": config.to_dict()})
    return (
        PPOConfig()
        .environment(ENV, env_config=context)
        .env_runners(
            num_env_runners=rllib.env_runners,
            num_envs_per_env_runner=config.num_envs // max(1, rllib.env_runners),
            gym_env_vectorize_mode=VectorizeMode.VECTOR_ENTRY_POINT,
            rollout_fragment_length=ppo.n_steps,
            env_to_module_connector=lambda env, spaces, device: LanesToModule(),
            module_to_env_connector=lambda env, spaces: ModuleToLanes(),
            add_default_connectors_to_env_to_module_pipeline=False,
            add_default_connectors_to_module_to_env_pipeline=False,
        )
        .learners(
            num_learners=rllib.learners,
            num_gpus_per_learner=rllib.gpus_per_learner,
            learner_class=ActorCriticLearner,
            learner_connector=lambda observations, actions: batches,
            add_default_connectors_to_learner_pipeline=False,
            learner_config_dict={"adam_eps": config.native.adam_eps, "spare": sizes["spare"]},
        )
        .rl_module(rl_module_spec=module)
        .training(**_make_hyper_parameters(config, steps))
        .callbacks(Episodes)
        .fault_tolerance(
            restart_failed_env_runners=True,
            delay_between_env_runner_restarts_s=1.0,
            env_runner_health_probe_timeout_s=1.0,  # at every iteration while one is lost
            env_runner_restore_timeout_s=60.0,
        )
        .debugging(seed=stream_seed(config.seed, "env", bits=31))
    )


def _make_hyper_parameters(config: RLlibRun, steps: int) -> dict[str, Any]:
    ppo, learners = config.ppo, max(1, config.rllib.learners)
    lr: Any = ppo.learning_rate
    if ppo.lr_schedule != "constant":
        now = decay(lr, ppo.lr_schedule, steps / config.total_steps)
        lr = [[0, now], [max(1, config.total_steps - steps), 0.0]]
    return {
        "gamma": ppo.gamma,
        "lambda_": ppo.gae_lambda,
        "lr": lr,
        "train_batch_size_per_learner": config.rollout // learners,
        "minibatch_size": ppo.batch_size // learners,
        "num_epochs": ppo.n_epochs,
        "clip_param": ppo.clip_range,
        "vf_clip_param": float("inf"),
        "vf_loss_coeff": ppo.vf_coef,
        "entropy_coeff": ppo.ent_coef,
        "grad_clip": ppo.max_grad_norm,
        "grad_clip_by": "global_norm",
        "use_kl_loss": False,
    }


def _get_results(results: Any) -> list[Any]:
    """Get the results of remote calls; raises their errors."""
    return [each.get() for each in results.result_or_errors]


def _read_phases(result: Mapping[str, Any]) -> dict[str, float]:
    timers = result.get("timers", {})
    return {ours: float(timers[name]) for ours, name in _TIMERS.items() if name in timers}


def _read_episodes(result: Mapping[str, Any]) -> dict[str, Any]:
    """Read the statistics of the episodes that ended in an iteration."""
    values = result["env_runners"]
    returns = np.array(values.get("ended_returns", ()), np.float64)
    lengths = np.array(values.get("ended_lengths", ()), np.float64)
    if not len(returns):
        return {}
    return {
        "episode": {
            "n": len(returns),
            "return_mean": float(returns.mean()),
            "return_std": float(returns.std()),
            "return_min": float(returns.min()),
            "return_max": float(returns.max()),
            "length_mean": float(lengths.mean()),
        }
    }
