"""Self-play: frozen snapshots of the learner take the other seats of its games.

``pool.py`` keeps the snapshots, ``pool_player.py`` lets them play, ``engine.py`` seats them inside
the learner's step, and ``league.py`` says when a snapshot is taken and what is saved.
``opponents.py`` seats trained agents instead.
"""
