"""The DQN trainer: Q-learning from a replay of tensors, on the batch engine."""
