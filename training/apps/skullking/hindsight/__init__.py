"""Hindsight: learning from the value of a round with another goal or bid."""
