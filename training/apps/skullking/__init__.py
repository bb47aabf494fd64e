"""Skull King: its evaluation, whole games, milestones, and its Manager and Worker."""
