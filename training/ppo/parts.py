"""The public parts of the native trainer, for other packages; its other modules are private."""

from training.ppo.diagnostics import Layers, StepWatch, dead_units, merged, sample
from training.ppo.gae import gae_many
from training.ppo.loss import KL, OF_A_MEMBER, TERMS, Objective, Samples, explained_variance
from training.ppo.rollout import Minibatches, Piece, Rollout, TruncatedEpisodes
from training.ppo.trainer import PPOTrainer, adam, get_sum_dtype

__all__ = [
    "KL",
    "OF_A_MEMBER",
    "TERMS",
    "Layers",
    "Minibatches",
    "Objective",
    "PPOTrainer",
    "Piece",
    "Rollout",
    "Samples",
    "StepWatch",
    "TruncatedEpisodes",
    "adam",
    "dead_units",
    "explained_variance",
    "gae_many",
    "get_sum_dtype",
    "merged",
    "sample",
]
