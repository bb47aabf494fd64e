"""Blocks of seeds by use, so that no policy is measured on seeds that trained or chose it.

Each use has a block of 2**40 seeds. Where deals are replayed (``deals="duplicate"``, Skull King
8.4), a game with seed ``s`` shuffles its decks with the seeds ``s + 2**40`` to ``s + 10 * 2**40``:
such games reach ten blocks beyond their own.
"""

BLOCK = 1 << 40

# Episodes of Prospector begin at 0, the seeds that people give.
MATCH_SEEDS = 1 * BLOCK  # whole games of an evaluation; decks reach up to 12 blocks
# Rounds at equal goals, of the same evaluation. The matches' first decks have these seeds too: both
# measure the same policy, and nothing is chosen by either.
GOAL_SEEDS = 2 * BLOCK
CURVE_SEEDS = 16 * BLOCK  # evaluations during a training, which choose the best policy
GATE_SEEDS = 32 * BLOCK  # tests of gates, which choose when a curriculum goes on
# Training seeds have this bit.
TRAINING_BIT = 1 << 62
