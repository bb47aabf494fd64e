"""The native trainer: PPO in torch on the batch engine, nothing between the two.

What is named here is for other packages; the modules are the trainer's own.
"""

from training.ppo import run
from training.ppo.buffer import Rollout
from training.ppo.diagnostics import Layers, StepWatch, dead_units, merged, sample
from training.ppo.gae import gae_many
from training.ppo.lanes import CutOff, Lanes
from training.ppo.loss import KL, TERMS, Objective, Samples, explained_variance, normalised
from training.ppo.minibatch import Minibatches, Piece
from training.ppo.run import NativeLearner
from training.ppo.trainer import PPOTrainer, adam, wide

__all__ = [
    "KL",
    "TERMS",
    "CutOff",
    "Lanes",
    "Layers",
    "Minibatches",
    "NativeLearner",
    "Objective",
    "PPOTrainer",
    "Piece",
    "Rollout",
    "Samples",
    "StepWatch",
    "adam",
    "dead_units",
    "explained_variance",
    "gae_many",
    "merged",
    "normalised",
    "run",
    "sample",
    "wide",
]
