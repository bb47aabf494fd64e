"""Random programs for the Game Boy, each from a ``random.Random``.

Tests and the command :mod:`tools.gameboy.differences` play the same ones. Hypothesis gives such an
object too (``randoms()``), so that its tests can shrink a program.
"""
