"""Benchmarks: the environment alone, against a fill of its own output, and inside the trainer."""
