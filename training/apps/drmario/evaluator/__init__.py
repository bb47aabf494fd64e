"""The evaluator: a network of the frames to the clear, its training, and players that use it."""
