"""A game that is played and watched: what the terminal and the studio have in common."""
