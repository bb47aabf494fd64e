"""The DQN trainer: Q-learning from a replay of tensors, on the batch engine.

What is named here is for other packages; the modules are the trainer's own.
"""

from training.dqn import run
from training.dqn.run import DQNLearner
from training.dqn.trainer import DQNTrainer

__all__ = ["DQNLearner", "DQNTrainer", "run"]
