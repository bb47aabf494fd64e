"""Train with the expert trainer: :mod:`training.ppo.run` with the loss of a teacher beside it."""

from __future__ import annotations

from typing import Any

from training.callbacks.run_callbacks import run_training
from training.expert.episodes import Episodes
from training.expert.loss import ExpertLoss
from training.expert.options import ExpertRun
from training.expert.teacher import make_teacher
from training.nets.actor_critic import ActorCritic
from training.nets.layout import obs_layout
from training.ppo import run as native
from training.ppo.parts import NativeLearner, PPOTrainer
from training.run import envs
from training.run.engine import Engine, OnStep
from training.run.envs import Lanes
from training.run.folder import RunFolder
from training.run.session import Outcome

# A network of this trainer is played as one of our PPO.
make_lanes, identity = native.make_lanes, native.identity
load_logits, load_nets = native.load_logits, native.load_nets


def train(run: RunFolder, lanes: Lanes, resume: bool = False) -> Outcome:
    """Train a run on its lanes; see :func:`training.run.session.run_training`."""
    return run_training(run, resume, lambda: ExpertLearner(run.config, lanes, run.path), identity)


class ExpertLearner(NativeLearner):
    """:class:`NativeLearner` that also learns from a teacher."""

    _config: ExpertRun

    def build(self, config: Any, on_step: OnStep) -> PPOTrainer:
        """Return the trainer as the config asks, with all generators seeded."""
        trainer = super().build(config, on_step)
        loss = make_loss(config, trainer.net, self.engines[0])
        loss.prepare(self.engines[0])
        trainer.add_auxiliary(loss)
        return trainer


def make_loss(config: ExpertRun, net: ActorCritic, engine: Engine) -> ExpertLoss:
    """Return the loss of the teacher that a run asks for.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        See :func:`training.expert.teacher.make_teacher`.
    """
    size = config.ppo.n_steps, config.num_envs, config.planned_steps // config.rollout
    seed = envs.stream_seed(config.seed, "auxiliary")
    part, episodes = config.expert.seeds, None
    if part:
        episodes = Episodes(config.env, part, envs.stream_seed(config.seed, "episodes"))
    return ExpertLoss(make_teacher(config, net, engine), config.expert, *size, seed, episodes)


def check(config: ExpertRun, engine: Engine) -> None:
    """Refuse what cannot be trained here.

    Raises
    ------
    ConfigError, RunError, CheckpointError
    """
    native.check(config, engine)
    make_loss(config, ActorCritic(obs_layout(engine), config.ppo, config.native), engine)
