"""How good an agent plays, in units of the game: points, wins, bids made; with intervals."""
