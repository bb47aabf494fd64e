"""Prospector: its evaluation, and its benchmark over training seeds."""
