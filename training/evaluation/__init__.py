"""Evaluation of agents: episodes, contests, best responses, their statistics and records."""
