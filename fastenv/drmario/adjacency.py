"""What a pill lies next to when it locks (docs/drmario.md, 12.4)."""

from __future__ import annotations

from fastenv.drmario import tables as t

NONE, PAIR, TRIPLET = 0, 1, 2
AXES = ((0, 1), (1, 0))  # rows down, columns right


def adjacency(before: list[int], after: list[int], viruses: bool) -> list[int]:
    """Return, by canonical colour, whether a pill made a pair or a triplet.

    Parameters
    ----------
    before, after : list of int
        The board before and after the pill locked.
    viruses : bool
        Whether viruses count in a line, of which one must then have one.
    """
    flags = [NONE] * t.NUM_COLORS
    for cell in range(t.CELLS):
        if is_static(after[cell]) and not is_static(before[cell]):
            color = t.CANONICAL[after[cell] & 15]
            flags[color] = max(flags[color], _flag(before, after, cell, viruses))
    return flags


def is_static(tile: int) -> bool:
    """Tell whether a cell is a half of a pill that is not being cleared."""
    return t.Tile.TOP <= tile < t.Tile.CLEARING


def _counts(tile: int, color: int, viruses: bool) -> bool:
    virus = tile & 0xF0 == t.Tile.VIRUS
    return tile & 15 == color and (is_static(tile) or (viruses and virus))


def _flag(before: list[int], after: list[int], cell: int, viruses: bool) -> int:
    color, found, infected = after[cell] & 15, NONE, False
    for axis in AXES:
        sides = [_run(before, cell, color, axis, way, viruses) for way in (-1, 1)]
        best = max(map(len, sides))
        line = [*_run(after, cell, color, axis, -1, viruses)]
        line += _run(after, cell, color, axis, 1, viruses)
        infected |= any(tile & 0xF0 == t.Tile.VIRUS for tile in line)
        if best < 3 <= len(line) + 1:
            found = TRIPLET
        elif best < 2 <= len(line) + 1:
            found = max(found, PAIR)
    return found if infected or not viruses else NONE


def _run(
    board: list[int], cell: int, color: int, axis: tuple[int, int], way: int, viruses: bool
) -> list[int]:
    """Return the cells of a colour that follow one another from a cell on, without it."""
    row, column = divmod(cell, t.COLUMNS)
    run: list[int] = []
    while True:
        row, column = row + way * axis[0], column + way * axis[1]
        if not (0 <= row < t.ROWS and 0 <= column < t.COLUMNS):
            return run
        tile = board[row * t.COLUMNS + column]
        if not _counts(tile, color, viruses):
            return run
        run.append(tile)
