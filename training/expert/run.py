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
from training.run.ranks import SINGLE_RANK, Ranks
from training.run.seeds import stream_seed

load_nets = native.load_nets  # a network of this trainer is played as one of our PPO


def make_trainer(
    config: ExpertRun, lanes: Lanes | None = None, folder: Path | None = None
) -> PPOTrainer:
    """Make our PPO with the loss of a teacher; see :func:`training.ppo.run.make_trainer`."""
    trainer = native.make_trainer(config, lanes, folder)
    loss = make_loss(config, trainer.net, trainer.engine, trainer.ranks)
    loss.prepare(trainer.engine)
    trainer.add_auxiliary(loss)
    return trainer


def make_loss(
    config: ExpertRun, net: ActorCritic, engine: Engine, ranks: Ranks = SINGLE_RANK
) -> ExpertLoss:
    """Make the loss of the teacher of a run, for this rank's share of the lanes.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        See :func:`training.expert.teacher.make_teacher`.
    """
    rollouts = config.planned_steps // config.rollout
    size = config.ppo.n_steps, engine.num_envs, rollouts
    seed = ranks.seed(stream_seed(config.seed, "auxiliary"))
    part, episodes = config.expert.seeds, None
    if part:
        seed_of_episodes = ranks.seed(stream_seed(config.seed, "episodes"))
        episodes = EpisodeSeeds(config.env, part, seed_of_episodes)
    return ExpertLoss(make_teacher(config, net, engine), config.expert, *size, seed, episodes)


def check(config: ExpertRun, engine: Engine) -> None:
    """Refuse what cannot be trained here.

    Raises
    ------
    ConfigError, RunError, CheckpointError
    """
    native.check(config, engine)
    make_loss(config, ActorCritic(obs_layout(engine), config.ppo, config.native), engine)
