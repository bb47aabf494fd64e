"""Trained agents for people: load one, play with it, give it to other programs."""
