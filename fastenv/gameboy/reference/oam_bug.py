"""What an address of OAM on the bus does while the display searches it (docs/gameboy.md, 9.1)."""

from fastenv.gameboy.reference.ppu import SCAN, Ppu
from fastenv.gameboy.tables import M_CYCLE, OAM_ROW, OAM_ROWS

WORD = 2  # bytes


def is_spoiling(address: int) -> bool:
    """Whether the display is disturbed by an address."""
    return address >> 8 == 0xFE


def searched_row(ppu: Ppu) -> int:
    """Return the row of eight bytes that the display reads in this machine cycle, 0 if none.

    The first row, which nothing can spoil, counts as none.
    """
    if not ppu.strict or ppu.oam_taken or ppu.mode != SCAN:
        return 0
    return (ppu.dot_of_line // M_CYCLE + 1) % OAM_ROWS


def spoil_by_write(ppu: Ppu) -> None:
    """Write to OAM, or count a register up or down that holds an address of it."""
    row = searched_row(ppu)
    if row:
        a, b, c = _word(ppu, row, 0), _word(ppu, row - 1, 0), _word(ppu, row - 1, 2)
        _spoil(ppu, row, (a ^ c) & (b ^ c) ^ c)


def spoil_by_read(ppu: Ppu) -> None:
    """Read from OAM."""
    row = searched_row(ppu)
    if row:
        a, b, c = _word(ppu, row, 0), _word(ppu, row - 1, 0), _word(ppu, row - 1, 2)
        _spoil(ppu, row, b | a & c)


def spoil_by_counted_read(ppu: Ppu) -> None:
    """Read from OAM, and count the register up or down that holds the address."""
    row = searched_row(ppu)
    if 4 <= row < OAM_ROWS - 1:
        a, b = _word(ppu, row - 2, 0), _word(ppu, row - 1, 0)
        c, d = _word(ppu, row, 0), _word(ppu, row - 1, 2)
        _set_word(ppu, row - 1, b & (a | c | d) | a & c & d)
        before = _place(row - 1)
        copied = ppu.oam[before : before + OAM_ROW]
        for other in (row, row - 2):
            ppu.oam[_place(other) : _place(other) + OAM_ROW] = copied
    spoil_by_read(ppu)


def _place(row: int, word: int = 0) -> int:
    return OAM_ROW * row + WORD * word


def _word(ppu: Ppu, row: int, word: int) -> int:
    place = _place(row, word)
    return int.from_bytes(ppu.oam[place : place + WORD], "little")


def _set_word(ppu: Ppu, row: int, value: int) -> None:
    """Set the first word of a row."""
    ppu.oam[_place(row) : _place(row) + WORD] = value.to_bytes(WORD, "little")


def _spoil(ppu: Ppu, row: int, first: int) -> None:
    """Set the first word of a row, and copy the others from the row before."""
    _set_word(ppu, row, first)
    ppu.oam[_place(row, 1) : _place(row + 1)] = ppu.oam[_place(row - 1, 1) : _place(row)]
