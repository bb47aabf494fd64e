"""The game's own random numbers, and what a level is made of them (docs/drmario.md, 2).

>>> generator = Generator(0x12, 0x34)
>>> make_reserve(generator)[:8], [hex(n) for n in generator.state]
([8, 7, 2, 0, 3, 0, 0, 7], ['0x4a', '0xc8'])
"""

from __future__ import annotations

from fastenv.drmario import tables as t


class Generator:
    """A shift register of two bytes.

    Parameters
    ----------
    a, b : int
        Its seed, of which all but (0, 0) and (0, 1) lead into one cycle of 32,767 states.
    """

    a: int
    b: int

    __slots__ = ("a", "b")

    def __init__(self, a: int, b: int) -> None:
        self.a, self.b = a, b

    @property
    def state(self) -> tuple[int, int]:
        """Both bytes."""
        return self.a, self.b

    def step(self) -> None:
        """Take one step."""
        carry = (self.a >> 1 ^ self.b >> 1) & 1
        self.b = self.b >> 1 | (self.a & 1) << 7
        self.a = self.a >> 1 | carry << 7


def orbit_state(number: int) -> tuple[int, int]:
    """Return one of the 32,767 states of the cycle, ``1 <= number <= 32767``.

    A state is in the cycle if the highest bit of its first byte is the sum of both lowest bits, and
    if it is not 0: the other 15 bits are those of ``number``.
    """
    a, b = number >> 8, number & 0xFF
    return a | ((a ^ b) & 1) << 7, b


def make_reserve(generator: Generator) -> list[int]:
    """Return the 128 pills of a game; they are drawn from the last to the first."""
    pill, reserve = 0, [0] * t.RESERVE
    for index in reversed(range(t.RESERVE)):
        generator.step()
        pill = (pill + (generator.a & 15)) % t.NUM_PILLS
        reserve[index] = pill
    return reserve


class Viruses:
    """A bottle that is being filled with the viruses of a level.

    Parameters
    ----------
    level : int
        At least 0.

    Attributes
    ----------
    board : list of int
        128 cells.
    left : int
        Viruses that are still to be placed.
    """

    def __init__(self, level: int) -> None:
        self.board: list[int] = [t.EMPTY] * t.CELLS
        self.left: int = t.virus_count(level)
        self.height: int = t.virus_height(level)

    def attempt(self, generator: Generator) -> bool:
        """Try to place one virus; return False if the height was rejected."""
        generator.step()
        height = generator.a & 15
        if height > self.height:
            return False
        cell = (t.ROWS - 1 - height) * t.COLUMNS + (generator.b & 7)
        color = self.left & 3
        if color == 3:
            generator.step()
            color = t.VIRUS_COLORS[generator.b & 15]
        while True:
            while cell < t.CELLS and self.board[cell] != t.EMPTY:
                cell += 1
            if cell >= t.CELLS:
                return True
            around = self.colors_around(cell)
            if len(around) < t.NUM_COLORS:
                break
            cell += 1
        while color in around:
            color = (color - 1) % t.NUM_COLORS
        self.board[cell] = t.Tile.VIRUS | color
        self.left -= 1
        return True

    def colors_around(self, cell: int) -> set[int]:
        """Return the colours exactly two cells away in each direction."""
        column = cell % t.COLUMNS
        cells = [cell - 2 * t.COLUMNS, cell + 2 * t.COLUMNS]
        cells += [cell - 2] * (column >= 2) + [cell + 2] * (column < t.COLUMNS - 2)
        found = (self.board[i] for i in cells if 0 <= i < t.CELLS)
        return {tile & 15 for tile in found if tile != t.EMPTY}


def make_viruses(level: int, generator: Generator) -> list[int]:
    """Return the 128 cells of a level's bottle.

    Some seeds outside the cycle would never place the last virus, hence the cap on attempts.
    """
    viruses = Viruses(level)
    for _ in range(max(64 * viruses.left, 256)):
        if viruses.left == 0:
            break
        viruses.attempt(generator)
    return viruses.board


def make_two_bottles(levels: list[int], generator: Generator) -> list[list[int]]:
    """Return the bottles of two players (docs/drmario.md, 9).

    Equal levels have equal bottles. Otherwise the players take turns. A turn ends when a virus
    is placed or the cells run out; a player who has all viruses draws nothing.
    """
    if levels[0] == levels[1]:
        board = make_viruses(levels[0], generator)
        return [board, [*board]]
    bottles = [Viruses(level) for level in levels]
    attempts = max(max(64 * bottle.left, 256) for bottle in bottles)
    for _ in range(attempts):
        for bottle in bottles:
            if bottle.left:
                while not bottle.attempt(generator):
                    pass
    return [bottle.board for bottle in bottles]
