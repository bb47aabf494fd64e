"""The native trainer: PPO in torch on the batch engine, nothing between the two."""
