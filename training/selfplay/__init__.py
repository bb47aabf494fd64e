"""Self-play: frozen snapshots of the learner take the other seats of its games.

``pool.py`` keeps the snapshots and seats them inside the learner's step (``seated.py``);
``league.py`` takes, rates and saves them. ``opponents.py`` seats trained agents instead.
"""
