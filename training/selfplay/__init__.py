"""Self-play: frozen snapshots of the learner take the other seats of its games.

``pool.py`` keeps the snapshots, ``engine.py`` lets them play inside the learner's step,
``ratings.py`` rates them, and ``league.py`` says when a snapshot is taken and what is saved.
"""
