"""Programs of their own over one game, and what they are made of."""
