"""Skull King: matches, goals, abilities, and the parts of its hierarchical trainer."""
