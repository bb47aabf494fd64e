"""Self-play: frozen snapshots of the learner take the other seats of its games.

``pool.py`` keeps the snapshots, ``pool_player.py`` lets them play, ``engine.py`` seats them inside
the learner's step, and ``league.py`` takes, rates and saves the snapshots.
``opponents.py`` seats trained agents instead.
"""
