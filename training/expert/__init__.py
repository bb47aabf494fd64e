"""Expert iteration: PPO that also learns what a teacher would do, the teacher being search."""
