"""What a run says of itself: a few lines when it begins, and ``summary.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from training.run import machine
from training.run.jsonl import replace_nonfinite
from training.run.sizes import whole_rollouts

if TYPE_CHECKING:  # which has one written
    from training.run.loop import Outcome, TrainingLoop


def announce(loop: TrainingLoop, resumed: bool) -> None:
    """Say what is trained, how and on what, and begin the summary."""
    run, trainer, log, config = loop.run, loop.trainer, loop.log, loop.run.config
    engine, device = trainer.engines[0], str(trainer.device)
    log.say(
        f"{run.name}: {config.env}, backend {engine.backend}, device {device}, "
        f"trainer {config.trainer}, {trainer.chosen_precision}"
    )
    if device.startswith("cuda"):
        log.say("training on CUDA is untested (docs/howto/many_machines.md)")
    log.say(config.sizes(engine.obs[0].nbytes, engine.num_actions))
    if (longer := whole_rollouts(config)) is not None:
        log.say(longer)
    if resumed:
        log.say(
            f"resumed at {loop.steps:,} decisions"
            if loop.steps
            else "no checkpoint was saved before: it begins again"
        )
    log.event("resume" if resumed else "start", step=loop.steps, **machine.revision())
    for text in loop.warnings:
        log.warn(text)
    if loop.backend.fell_back:
        log.say(f"on the backend {loop.backend.name}, which is slow: {loop.backend.probe}")
    so_far = {"status": "running", "steps": loop.steps, "wall_s": loop.wall_s}
    run.write_summary({**so_far, **_facts(loop)})


def write_end(loop: TrainingLoop, outcome: Outcome) -> None:
    """Write the summary of a run that has ended."""
    status = {"status": "finished" if outcome.finished else "stopped"}
    timing = {"steps": outcome.steps, "wall_s": outcome.wall_s, "iterations": loop.iteration}
    counted = {
        "ppo_policy_updates": loop.trainer.updates,
        "precision": loop.trainer.chosen_precision,
        **{key: value for each in loop.callbacks for key, value in each.summary().items()},
    }
    last = {"last": replace_nonfinite(loop.last_record)}
    loop.run.write_summary({**status, **timing, **_facts(loop), **counted, **last})


def _facts(loop: TrainingLoop) -> dict[str, Any]:
    """Return what the summary says from its beginning."""
    return {**loop.backend.record(), **loop.run.config.facts(str(loop.trainer.device))}
