"""Four small games to look for faults in: one of each kind of environment."""
