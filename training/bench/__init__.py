"""How fast: the environment alone, against the floor of its own output, and inside the trainer."""
