"""Train with ``sb3_contrib.MaskablePPO``: stock by default, and nothing of it is ever patched.

A faster buffer, bfloat16 layers and batched collection are options (``ppo.rollout_buffer``,
``ppo.precision``, ``ppo.algorithm``): constructor arguments and subclasses.

Its own ``save`` leaves out engine, generators and last observation, so that a resumed run would be
another run; what is missing is taken and put back here, at the border between two iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger

from fastenv import BatchEngine
from fastenv.adapters.sb3 import BatchVecEnv
from training import checkpoint, envs, machine
from training.checkpoint import Checkpoint, CheckpointError
from training.config import RunConfig
from training.logging import RunLog, drop_after
from training.presets import derived_sizes
from training.runs import RunFolder
from training.sb3.algo import BatchMaskablePPO
from training.sb3.buffer import FastMaskableRolloutBuffer
from training.sb3.loop import Loop, Stop
from training.sb3.policy import AutocastMaskablePolicy, policy_kwargs
from training.sb3.vec import LateActionVecEnv, TimedVecEnv
from training.windows import EngineWindows

# From this many lanes on, masks go to the trainer as one block instead of a row each.
BLOCK_MASKS_FROM = 1024


@dataclass(frozen=True)
class Outcome:
    """How a training ended.

    Parameters
    ----------
    finished : bool
        False if it was stopped; it can be resumed.
    steps : int
        Decisions taken, those before a resume included.
    wall_s : float
        Seconds of training, likewise.
    """

    finished: bool
    steps: int
    wall_s: float


def train(run: RunFolder, resume: bool = False) -> Outcome:
    """Train a run to its ``total_steps``, or until it is told to stop.

    Parameters
    ----------
    run : RunFolder
        Where config is, and everything goes.
    resume : bool
        Go on from its newest checkpoint.

    Returns
    -------
    Outcome

    Raises
    ------
    ConfigError
        From the engine: an option or knob it does not know.
    CheckpointError
        If ``resume`` finds a checkpoint that is damaged or foreign; nothing is written then.
    """
    stop = Stop()
    with stop.signals():
        return _train(run, resume, stop)


def _train(run: RunFolder, resume: bool, stop: Stop) -> Outcome:
    config = run.config
    torch.set_num_threads(torch_threads(config))
    torch.use_deterministic_algorithms(config.deterministic)
    engine, impl = envs.training_engine(config)
    knobs = envs.Knobs(engine, config.schedules)
    windows = None
    if config.window_ticks:
        windows = EngineWindows(engine, run.name, config.window_ticks)
    batch = config.ppo.algorithm == "batch"  # which counts episodes itself
    masks = "block" if batch or config.num_envs >= BLOCK_MASKS_FROM else "rows"
    lanes = BatchVecEnv(engine, masks=masks, monitor=not batch)
    late_actions = LateActionVecEnv(lanes, config.mask_schedule) if config.mask_schedule else None
    vec = TimedVecEnv(late_actions or lanes)
    model = build(config, vec)
    saved = _newest(run, engine) if resume else None
    if saved is not None:
        _restore(model, engine, saved)
        drop_after(run.metrics, saved.steps)
        if windows is not None:
            windows.restore(saved.trainer["windows"])
            drop_after(run.windows, saved.steps)
    steps = 0 if saved is None else saved.steps
    before = {"iteration": 0, "wall_s": 0.0} if saved is None else saved.trainer["progress"]
    if steps >= config.total_steps:  # nothing is left to do
        return Outcome(True, steps, before["wall_s"])
    knobs.apply(steps)

    log = RunLog(run.path, config.total_steps, steps)
    save = _saver(run, model, engine, lambda: loop)
    loop = Loop(config, vec, engine, knobs, log, save, stop, late_actions, windows, **before)
    try:
        log.say(
            f"{run.name}: {config.env}, backend {engine.backend}, device {model.device}, "
            f"{_precision(model)}"
        )
        log.say(derived_sizes(config, engine.obs.shape[1], engine.num_actions))
        log.event("resume" if resume else "start", step=steps, **machine.revision())
        if impl.record()["ppo_env_impl_auto_fallback"]:
            log.say(f"on the reference implementation, which is slow: {impl.probe}")
        summary = {**impl.record(), **_ppo_record(config, str(model.device))}
        progress = {"status": "running", "steps": steps, "wall_s": before["wall_s"]}
        run.write_summary({**progress, **summary})
        model.learn(config.total_steps - steps, loop, reset_num_timesteps=saved is None)
        outcome = Outcome(not loop.stopped, loop.steps, loop.wall_s)
        log.event("end" if outcome.finished else "stopped", step=outcome.steps)
    finally:
        log.close()
        vec.close()
    status = {"status": "finished" if outcome.finished else "stopped"}
    timing = {"steps": outcome.steps, "wall_s": outcome.wall_s, "iterations": loop.iteration}
    summary["ppo_policy_updates"] = model._n_updates
    if windows is not None:
        summary |= {
            "windows": {
                "window_ticks": config.window_ticks,
                "windows_emitted": windows.current_window_id,
                "env_steps_total": windows.env_steps_total,
                "agent_steps_total": windows.agent_steps_total,
                "episodes_total": windows.episodes_total,
            }
        }
    run.write_summary({**status, **timing, **summary, "last": loop.last_record})
    return outcome


def _ppo_record(config: RunConfig, device: str) -> dict[str, Any]:
    """Return the fields of the summary on network and rollout (Prospector spec, section 23)."""
    ppo = config.ppo
    return {
        "ppo_policy_arch": f"mlp-{'x'.join(map(str, ppo.net_arch))}-{ppo.activation}",
        "ppo_device": device,
        "ppo_num_envs": config.num_envs,
        "ppo_num_workers": config.env_threads,
        "ppo_rollout_steps": ppo.n_steps,
    }


def torch_threads(config: RunConfig) -> int:
    """Return the threads of the network: as asked, or the cores that the engine leaves."""
    if config.torch_threads is not None:
        return config.torch_threads
    return max(1, machine.physical_cores() - config.env_threads)


def build(config: RunConfig, vec: TimedVecEnv) -> MaskablePPO:
    """Return MaskablePPO as the config asks, with all generators seeded."""
    ppo = config.ppo
    rate = ppo.learning_rate
    algorithm = BatchMaskablePPO if ppo.algorithm == "batch" else MaskablePPO
    autocast = ppo.precision != "fp32"
    model = algorithm(
        AutocastMaskablePolicy if autocast else "MlpPolicy",
        vec,
        learning_rate=rate if ppo.lr_schedule == "constant" else lambda left: rate * left,
        n_steps=ppo.n_steps,
        batch_size=ppo.batch_size,
        n_epochs=ppo.n_epochs,
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip_range,
        ent_coef=ppo.ent_coef,
        vf_coef=ppo.vf_coef,
        max_grad_norm=ppo.max_grad_norm,
        target_kl=ppo.target_kl,
        rollout_buffer_class=FastMaskableRolloutBuffer if ppo.rollout_buffer == "fast" else None,
        policy_kwargs=policy_kwargs(ppo) | ({"precision": ppo.precision} if autocast else {}),
        seed=envs.stream_seed(config.seed, "init"),
        device=config.device,
    )
    if autocast:
        model.policy.choose_precision(ppo.batch_size)
    vec.seed(envs.training_seed(config.seed))  # the model has seeded it with its own
    model.set_logger(Logger(None, []))  # our log reads what the trainer records
    return model


def _precision(model: MaskablePPO) -> str:
    """Return the precision of the layers; what ``auto`` chose, not ``auto``."""
    return getattr(model.policy, "precision", "fp32")


# -- checkpoints -----------------------------------------------------------------------------------


def identity(run: RunFolder, engine: BatchEngine) -> dict[str, Any]:
    """Return what a checkpoint must share with this run."""
    width = int(np.prod(engine.obs_shape))
    same = checkpoint.identity_of(run.config.env, engine.game.state_dtype, width)
    return {**same, "network": list(run.config.ppo.net_arch), "trainer": run.config.trainer}


def _saver(
    run: RunFolder, model: MaskablePPO, engine: BatchEngine, loop: Callable[[], Loop]
) -> Callable[[int], None]:
    def save(steps: int) -> None:
        progress = {"iteration": loop().iteration, "wall_s": loop().wall_s}
        windows = loop().windows
        checkpoint.save(
            run.checkpoints,
            steps,
            identity={**identity(run, engine), "lanes": engine.num_envs},
            model={
                "policy": model.policy.state_dict(),
                "optimizer": model.policy.optimizer.state_dict(),
                "generator": torch.get_rng_state(),
                "device_generators": torch.cuda.get_rng_state_all(),  # none without CUDA
            },
            trainer={
                "counters": {"num_timesteps": steps, "n_updates": model._n_updates},
                "progress": progress,
                "precision": _precision(model),
                "windows": None if windows is None else windows.state(),
                "generators": checkpoint.global_generators(),
                "config": run.config.to_dict(),
                "config_sha256": run.config.sha256(),
                "versions": machine.versions(),
                **machine.revision(),
            },
            states=engine.get_states(),
            arrays={"episode_starts": model._last_episode_starts},
            keep=run.config.checkpoints.keep,
        )

    return save


def _newest(run: RunFolder, engine: BatchEngine) -> Checkpoint:
    path = checkpoint.newest(run.checkpoints)
    if path is None:
        raise CheckpointError(f"{run.path} has no whole checkpoint to go on from.")
    lanes = {"lanes": engine.num_envs}
    return checkpoint.load(path, {**identity(run, engine), **lanes})


def _restore(model: MaskablePPO, engine: BatchEngine, saved: Checkpoint) -> None:
    """Put back everything that decides how the run goes on."""
    try:
        rows = np.ascontiguousarray(saved.rows).view(engine.game.state_dtype).reshape(-1)
        engine.set_states(rows)
        model.policy.load_state_dict(saved.model["policy"])
        model.policy.optimizer.load_state_dict(saved.model["optimizer"])
        counters = saved.trainer["counters"]
        model.num_timesteps = int(counters["num_timesteps"])
        model._n_updates = int(counters["n_updates"])
        if isinstance(model.policy, AutocastMaskablePolicy):  # auto does not choose again
            model.policy.precision = saved.trainer["precision"]
        model._last_obs = engine.obs.copy()
        model._last_episode_starts = saved.arrays["episode_starts"].astype(bool)
        checkpoint.set_global_generators(saved.trainer["generators"])
        torch.set_rng_state(saved.model["generator"])
        if len(saved.model["device_generators"]) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(saved.model["device_generators"])
    except (ValueError, KeyError, RuntimeError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise CheckpointError(f"{saved.path} does not fit this run: {reason}") from error
