"""Hierarchical training for Skull King: a Manager that bids, a Worker that plays to a goal."""
