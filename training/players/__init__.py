"""Players: bots, networks, agents of several parts; loading, export, cards, ratings."""
