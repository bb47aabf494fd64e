"""Hindsight: learning from what a round would have been worth with another goal or bid."""
