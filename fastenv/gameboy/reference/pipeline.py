"""A line in which registers of the display are written, T by T (docs/gameboy.md, 8.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fastenv.gameboy.reference.render import (
    BEHIND,
    FLIP_X,
    FLIP_Y,
    SECOND_PALETTE,
    Display,
    line_objects,
)
from fastenv.gameboy.tables import (
    FIRST_LINE_LATE,
    IO,
    LAST_DRAW,
    LAST_WX,
    LINE_REGISTERS,
    PIPELINE_BEGIN,
    SCAN_END,
    WIDTH,
)

# Bits of LCDC.
BACKGROUND, OBJECTS, TALL, SECOND_MAP = 0x01, 0x02, 0x04, 0x08
LOW_TILES, WINDOW, SECOND_WINDOW_MAP = 0x10, 0x20, 0x40
# T from a write to when the register has it, where all of the display sees it then.
_DELAYS = {IO.SCY: -1, IO.SCX: 0, IO.WX: 1, IO.WY: 3}
_HIDDEN = 8  # pixels that are thrown away before the first one that is seen
_TILE_TIME = 6  # T in which a tile is fetched
_READY = 5  # of them before an object can be
_OBJECT_TIME = 6  # T in which an object is fetched; in these its bytes are read
_OBJECT_LOW, _OBJECT_HIGH = 3, 5


class LineDisplay(Display, Protocol):
    """What a line with writes is drawn from, beside its registers."""

    first_frame: bool


@dataclass(frozen=True)
class Write:
    """A write to a register of the display in mode 3.

    Parameters
    ----------
    at : int
        T of the line at which its machine cycle begins.
    register : IO
    value : int
    """

    at: int
    register: IO
    value: int


@dataclass(frozen=True)
class DrawnLine:
    """What comes of a line.

    Parameters
    ----------
    shades : bytes
        160 of them.
    end : int
        T of the line at which mode 3 ends.
    windows : int
        How often the window began.
    """

    shades: bytes
    end: int
    windows: int


def draw(
    display: LineDisplay,
    began: Sequence[int],
    wy_seen: bool,
    window_row: int,
    writes: Sequence[Write],
) -> DrawnLine:
    """Return line LY as it comes out with these writes.

    Parameters
    ----------
    display : LineDisplay
        Its memory, and which line it is; its registers do not matter.
    began : sequence of int
        The registers ``LINE_REGISTERS`` when mode 3 began.
    wy_seen : bool
        Whether WY had been LY by then.
    window_row : int
        Which row of the window comes next.
    writes : sequence of Write
        In their order.
    """
    return Pipeline(display, began, wy_seen, window_row, writes).run()


class Pipeline:
    """Two fetchers fill two queues of pixels, of which one pixel each is mixed in a T.

    Attributes
    ----------
    time : int
        T since the line began.
    x : int
        Column of the next pixel; below 0 they are thrown away.
    scrolled : int
        Pixels that were thrown away until they are SCX & 7; from then on -1.
    lcdc, fetch_lcdc, fetch_scx : int
        LCDC as the mixer sees it; LCDC and SCX as the fetchers see them.
    """

    display: LineDisplay
    writes: list[Write]
    registers: dict[IO, int]
    lcdc: int
    fetch_lcdc: int
    fetch_scx: int
    time: int
    x: int
    scrolled: int
    background: list[int]
    fetched: int
    address: int
    tile: int
    low: int
    high: int
    fetching_object: bool
    wy_seen: bool
    wx_is_new: bool
    window_row: int
    windows: int
    window_column: int
    in_window: bool
    window_awaited: bool
    inserts: bool
    no_gap: bool

    def __init__(
        self,
        display: LineDisplay,
        began: Sequence[int],
        wy_seen: bool,
        window_row: int,
        writes: Sequence[Write],
    ) -> None:
        self.display, self.writes = display, [*reversed(writes)]  # the next one last
        self.registers = dict(zip(LINE_REGISTERS, began, strict=True))
        self.lcdc = self.fetch_lcdc = self.registers[IO.LCDC]
        self.fetch_scx = self.registers[IO.SCX]
        self.time = PIPELINE_BEGIN
        self.objects: list[int] = []  # where in OAM they are; further left first
        if display.first_frame and display.ly == 0:
            self.time += FIRST_LINE_LATE
        else:
            found = line_objects(display, bool(self.lcdc & TALL))
            self.objects = sorted(found, key=lambda i: display.oam[i + 1])
        self.shades: list[int] = []
        self.x, self.scrolled = -_HIDDEN, 0
        self.background = [0] * _HIDDEN  # colour indices
        self.covering: list[tuple[int, int]] = []  # of objects: colour indices and attributes
        # -- the fetchers --
        self.fetched = 0  # T spent on the tile, up to _TILE_TIME
        self.address = self.tile = self.low = self.high = 0
        self.fetching_object = False
        # -- the window --
        self.wy_seen, self.wx_is_new = wy_seen, False
        self.window_row, self.windows, self.window_column = window_row, 0, 0
        self.in_window = self.window_awaited = False
        self.inserts = self.no_gap = False

    def run(self) -> DrawnLine:
        """Draw the line to its end."""
        begin = self.time
        for self.time in range(SCAN_END - 1, begin + 1):
            self._take_writes()
        while True:
            self._look_for_window()
            self._fetch_objects()
            self._shift()
            self._fetch()
            if self.x == WIDTH or self.time >= LAST_DRAW:
                break
            self._pass_time()
        missing = WIDTH - len(self.shades)
        shades = bytes(self.shades + [0] * missing)
        return DrawnLine(shades, min(self.time, LAST_DRAW), self.windows)

    # -- registers --

    def _pass_time(self) -> None:
        self.time += 1
        self._take_writes()

    def _take_writes(self) -> None:
        """Let writes around this T reach their registers, each kind with its own delay."""
        self.wx_is_new = False
        while self.writes and self.time > self.writes[-1].at + _DELAYS[IO.WY]:
            self.writes.pop()
        for write in reversed(self.writes):
            if self.time < write.at - 1:
                break
            self._take(write, self.time - write.at)

    def _take(self, write: Write, since: int) -> None:
        registers, register, value = self.registers, write.register, write.value
        if register == IO.LCDC:
            self._take_lcdc(value, since)
        elif register in (IO.BGP, IO.OBP0, IO.OBP1):
            if since == -1:  # for a T both values are there
                registers[register] |= value
            elif since == 0:
                registers[register] = value
        elif register == IO.SCX and since == -1:
            self.fetch_scx = value
        elif since == _DELAYS[register]:
            registers[register] = value
            self.wx_is_new = register == IO.WX
            if register == IO.WY:
                self._compare_wy()

    def _take_lcdc(self, value: int, since: int) -> None:
        if since == -1:
            self.fetch_lcdc = value
            first = self.x == 0 and self.scrolled < 0
            early = BACKGROUND * first | OBJECTS * (first or self.fetching_object)
            self.lcdc &= value | ~early
        elif since == 0:
            if self.lcdc & WINDOW and not value & WINDOW and self.window_awaited:
                self.no_gap = True
            self.lcdc = value
            self._compare_wy()

    def _compare_wy(self) -> None:
        if self.lcdc & WINDOW and self.registers[IO.WY] == self.display.ly:
            self.wy_seen = True

    # -- window --

    def _look_for_window(self) -> None:
        wx = self.registers[IO.WX]
        if self.in_window:
            waiting = self.window_awaited or self.fetched > 0 or len(self.background) < 8
            if wx == self._place and not waiting:
                self.inserts = True
        elif self.wy_seen and self.lcdc & WINDOW and wx <= LAST_WX and self._begins_window(wx):
            self.background.clear()
            if wx == 0 and self.registers[IO.SCX] & 7:
                self._pass_time()
            self.windows += 1
            self.window_column = self.fetched = 0
            self.in_window = self.window_awaited = True

    def _begins_window(self, wx: int) -> bool:
        if wx > 0:
            return wx == self._place or (wx == self._place - 1 and not self.wx_is_new)
        if self.scrolled < 0:
            return self._place == 0
        return self.scrolled > 0 or self.registers[IO.SCX] & 7 > 0

    @property
    def _place(self) -> int:
        """What WX is compared with; -1 while pixels are thrown away for SCX."""
        return self.x + 7 if self.scrolled < 0 else -1

    # -- background --

    def _fetch(self) -> None:
        """Read map, low byte and high byte of a tile: an address in a T, the byte in the next."""
        vram = self.display.vram
        if self.fetched == _TILE_TIME:
            self._fill_queue()
            return
        self.fetched += 1
        if self.fetched == 1:
            self._find_tile()
        elif self.fetched == 2:
            self.tile = vram[self.address]
        elif self.fetched in (3, 5):
            self.address = self._tile_address() + (self.fetched == 5)
        elif self.fetched == 4:
            self.low = vram[self.address]
        else:
            self.high = vram[self.address]
            self.window_column = (self.window_column + self.in_window) % 32
            self._fill_queue()

    def _find_tile(self) -> None:
        scx, column = self.fetch_scx, self.window_column
        self.in_window &= bool(self.fetch_lcdc & WINDOW)
        if not self.in_window:
            column = (scx + self.x + 8) // 8 % 32 if self.scrolled < 0 else scx // 8
        second = SECOND_WINDOW_MAP if self.in_window else SECOND_MAP
        tiles = 0x1C00 if self.fetch_lcdc & second else 0x1800
        self.address = tiles + self._row() // 8 * 32 + column

    def _row(self) -> int:
        """Return the row of the map that is fetched."""
        if self.in_window:
            return (self.window_row + self.windows - 1) % 256
        return (self.display.ly + self.registers[IO.SCY]) % 256

    def _tile_address(self) -> int:
        tile = self.tile
        if not self.fetch_lcdc & LOW_TILES and tile < 0x80:
            tile += 0x100
        return tile * 16 + self._row() % 8 * 2

    def _fill_queue(self) -> None:
        """Put the tile into the queue as soon as that is empty."""
        if self.background:
            return
        off = self.wy_seen and not self.lcdc & WINDOW and not self.no_gap
        if off and self.registers[IO.WX] == max(self._place, 0):
            self.background.append(0)
            return
        for bit in range(7, -1, -1):
            self.background.append(self.low >> bit & 1 | (self.high >> bit & 1) << 1)
        self.fetched = 0

    # -- objects --

    def _fetch_objects(self) -> None:
        """Fetch objects that begin here; pixels wait meanwhile."""
        oam, place = self.display.oam, self.x + 8 if self.scrolled < 0 else 0
        while self.objects and oam[self.objects[0] + 1] < place:
            self.objects.pop(0)
        while self.objects and self.lcdc & OBJECTS and oam[self.objects[0] + 1] == place:
            self.fetching_object = True
            complete = self._fetch_object(self.objects[0])
            self.fetching_object = False
            if not complete:
                break
            self.objects.pop(0)

    def _fetch_object(self, i: int) -> bool:
        """Fetch an object after the background's tile; False if objects are turned off."""
        while self.fetched < _READY or not self.background:
            self._fetch()
            self._pass_time()
            if not self.lcdc & OBJECTS:
                return False
        low = high = 0
        for passed in range(_OBJECT_TIME):
            if passed < 2:
                self._fetch()
            if passed == _OBJECT_LOW:
                low = self.display.vram[self._object_address(i)]
            elif passed == _OBJECT_HIGH:
                high = self.display.vram[self._object_address(i) + 1]
                self.fetching_object = False  # nothing can end it any more
            self._pass_time()
            if self.fetching_object and not self.lcdc & OBJECTS:
                return False
        self._lay_object(low, high, self.display.oam[i + 3])
        return True

    def _object_address(self, i: int) -> int:
        top, _, tile, flags = self.display.oam[i : i + 4]
        last = 15 if self.fetch_lcdc & TALL else 7
        row = (self.display.ly - top) & last
        if flags & FLIP_Y:
            row = last - row
        return (tile & 0xFE if last == 15 else tile) * 16 + row * 2

    def _lay_object(self, low: int, high: int, flags: int) -> None:
        """Put the pixels of an object where no pixel of another one is in the queue."""
        self.covering += [(0, 0)] * (8 - len(self.covering))
        for column in range(8):
            bit = column if flags & FLIP_X else 7 - column
            index = low >> bit & 1 | (high >> bit & 1) << 1
            if index and not self.covering[column][0]:
                self.covering[column] = index, flags

    # -- pixels --

    def _shift(self) -> None:
        """Take a pixel from each queue; mix them if it is one that is seen."""
        if not self.background:
            return
        index = 0 if self.inserts else self.background.pop(0)
        self.inserts = False
        covering, flags = self.covering.pop(0) if self.covering else (0, 0)
        if self.scrolled >= 0:
            if self.scrolled != self.registers[IO.SCX] & 7:
                self.scrolled = (self.scrolled + 1) % 8
                self.window_awaited &= self.scrolled == 0
                return
            self.scrolled = -1
        self.window_awaited = False
        if self.x >= 0:
            self.shades.append(self._mix(index, covering, flags))
        self.x += 1

    def _mix(self, index: int, covering: int, flags: int) -> int:
        """Return the shade of a pixel; ``covering`` is that of an object."""
        shown = self.lcdc & BACKGROUND
        if covering and self.lcdc & OBJECTS and not (flags & BEHIND and index and shown):
            palette = self.registers[IO.OBP1 if flags & SECOND_PALETTE else IO.OBP0]
            return palette >> 2 * covering & 3
        return self.registers[IO.BGP] >> 2 * (index if shown else 0) & 3
