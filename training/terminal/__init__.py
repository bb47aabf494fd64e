"""A game in a terminal: played, watched, or with thoughts beside it."""
