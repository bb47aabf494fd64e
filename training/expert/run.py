"""Train with the expert trainer: :mod:`training.ppo.run` with the loss of a teacher beside it."""

from __future__ import annotations

from pathlib import Path

from training.expert.loss import EpisodeSeeds, ExpertLoss
from training.expert.options import ExpertRun
from training.expert.teacher import make_teacher
from training.nets.actor_critic import ActorCritic
from training.nets.layout import obs_layout
from training.ppo import run as native
from training.ppo.trainer import PPOTrainer
from training.run.engine import Engine
from training.run.envs import Lanes
from training.run.seeds import stream_seed

# A network of this trainer is played as one of our PPO.
make_lanes, identity = native.make_lanes, native.identity
load_logits, load_nets = native.load_logits, native.load_nets


def make_trainer(
    config: ExpertRun, lanes: Lanes | None = None, folder: Path | None = None
) -> PPOTrainer:
    """Make our PPO with the loss of a teacher; see :func:`training.ppo.run.make_trainer`."""
    trainer = native.make_trainer(config, lanes, folder)
    loss = make_loss(config, trainer.net, trainer.engine)
    loss.prepare(trainer.engine)
    trainer.add_auxiliary(loss)
    return trainer


def make_loss(config: ExpertRun, net: ActorCritic, engine: Engine) -> ExpertLoss:
    """Make the loss of the teacher of a run.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        See :func:`training.expert.teacher.make_teacher`.
    """
    size = config.ppo.n_steps, config.num_envs, config.planned_steps // config.rollout
    seed = stream_seed(config.seed, "auxiliary")
    part, episodes = config.expert.seeds, None
    if part:
        episodes = EpisodeSeeds(config.env, part, stream_seed(config.seed, "episodes"))
    return ExpertLoss(make_teacher(config, net, engine), config.expert, *size, seed, episodes)


def check(config: ExpertRun, engine: Engine) -> None:
    """Refuse what cannot be trained here.

    Raises
    ------
    ConfigError, RunError, CheckpointError
    """
    native.check(config, engine)
    make_loss(config, ActorCritic(obs_layout(engine), config.ppo, config.native), engine)
