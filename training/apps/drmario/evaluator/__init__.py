"""How long a bottle still takes: a network, what it is trained on, and who plays by it."""
