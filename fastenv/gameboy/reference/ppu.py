"""The display (docs/gameboy.md, 8)."""

from fastenv.gameboy.reference.interrupts import Interrupts
from fastenv.gameboy.reference.render import line_objects, render_line
from fastenv.gameboy.tables import (
    DRAW_END,
    FRAME,
    HEIGHT,
    LINE,
    LINES,
    M_CYCLE,
    NEXT_LY,
    SCAN_END,
    VISIBLE,
    WIDTH,
    Interrupt,
)

HBLANK, VBLANK, SCAN, DRAW = 0, 1, 2, 3
BLANK = bytes(WIDTH * HEIGHT)


class Ppu:
    """Draws 144 lines of a frame, each while it is shown, and requests two interrupts.

    Attributes
    ----------
    dot : int
        T since the frame began.
    mode, ly : int
        As STAT and LY show them.
    strict : bool
        Whether video memory is closed to the processor while the display reads it.
    """

    def __init__(self, interrupts: Interrupts) -> None:
        self.interrupts = interrupts
        self.strict = True
        self.vram, self.oam = bytearray(0x2000), bytearray(160)
        self.lcdc = self.stat = self.scy = self.scx = self.lyc = 0
        self.bgp = self.obp0 = self.obp1 = self.wy = self.wx = 0
        self.dot = 0
        self.first_frame = False  # since the display was turned on: nothing is shown
        self.mode = self.ly = 0
        self.lyc_match = False
        self.stat_line = False
        self.wy_seen = False
        self.window_line = 0  # lines of this frame on which the window was drawn
        self.delay = 0  # of the end of mode 3 on this line
        self.frame_done = False
        self.drawing = False  # whether anybody will look at this frame
        self.picture = bytearray(BLANK)  # shades, 0 white to 3 black, row by row

    @property
    def on(self) -> bool:
        """Whether the display is turned on."""
        return bool(self.lcdc & 0x80)

    # -- time (docs/gameboy.md, 8.1) --

    def tick(self) -> None:
        """Let a machine cycle pass."""
        self.dot += M_CYCLE
        if not self.on:
            if self.dot == FRAME:
                self.dot, self.frame_done = 0, True
            return
        early = M_CYCLE if self.first_frame else 0
        vblank = VISIBLE * LINE - 2 * early
        if self.dot < vblank:
            self._tick_line(*divmod(self.dot + early, LINE))
        elif self.dot == vblank:
            self._begin_vblank()
        elif self.dot == FRAME:
            self._begin_frame()
        elif (self.dot - vblank) % LINE == 0 and self.ly < LINES - 1:
            self._set_ly(self.ly + 1)

    def _tick_line(self, line: int, dot: int) -> None:
        if dot == 0:
            self._scan()
        elif dot == SCAN_END:
            self.delay = self._mode3_delay()
            self._set_mode(DRAW)
        elif dot == DRAW_END + self.delay:
            self._set_mode(HBLANK)
            self._draw_line()
        elif dot == NEXT_LY and line < VISIBLE - 1:
            self._set_ly(line + 1)

    def _scan(self) -> None:
        self.wy_seen |= self.wy == self.ly
        self._set_mode(SCAN)

    def _begin_vblank(self) -> None:
        self.interrupts.request(Interrupt.VBLANK)
        if self.stat & 0x20 and not self.stat_line:  # mode 2 counts here too, for a moment
            self.interrupts.request(Interrupt.STAT)
        self.ly, self.mode = VISIBLE, VBLANK
        self._compare_ly()

    def _begin_frame(self) -> None:
        self.dot = self.ly = self.window_line = 0
        self.wy_seen = False
        if self.first_frame:
            self.picture[:] = BLANK
        self.first_frame, self.frame_done = False, True
        self.mode = SCAN
        self.wy_seen = self.wy == 0
        self._compare_ly()

    def _set_mode(self, mode: int) -> None:
        self.mode = mode
        self._update_stat_line()

    def _set_ly(self, ly: int) -> None:
        self.ly = ly
        self._compare_ly()

    def _mode3_delay(self) -> int:
        """Return by how much scrolling and objects put off the end of mode 3."""
        delay = 0 if self.first_frame else (self.scx % 8 + 3) & ~3
        if not self.lcdc & 0x02:
            return delay
        objects, columns = 0, set()
        for x in sorted(self.oam[i + 1] for i in line_objects(self)):
            if x >= 168:
                continue
            objects += 6
            column, within = divmod(x + self.scx, 8)
            if column not in columns:
                columns.add(column)
                objects += 5 if x == 0 else max(0, 5 - within)
        return delay + (objects & ~3)

    # -- STAT (docs/gameboy.md, 8.2) --

    def _compare_ly(self) -> None:
        self.lyc_match = self.ly == self.lyc
        self._update_stat_line()

    def _update_stat_line(self) -> None:
        """Request the interrupt when the first of its sources sets in, and not before all ended."""
        before, self.stat_line = self.stat_line, self.stat_line_now
        if self.stat_line and not before:
            self.interrupts.request(Interrupt.STAT)

    @property
    def stat_line_now(self) -> bool:
        """Whether any source of the interrupt is active."""
        if self.on and self.mode != DRAW and self.stat & 0x08 << self.mode:
            return True
        return bool(self.lyc_match and self.stat & 0x40)

    # -- what the processor sees --

    @property
    def vram_hidden(self) -> bool:
        """Whether VRAM reads as $FF."""
        late = self.mode == SCAN and self.dot_of_line >= SCAN_END - M_CYCLE
        return self.strict and (self.mode == DRAW or late)

    @property
    def vram_closed(self) -> bool:
        """Whether writes to VRAM are lost."""
        return self.strict and self.mode == DRAW

    @property
    def oam_hidden(self) -> bool:
        """Whether OAM reads as $FF."""
        between = self.mode == HBLANK and self.ly > 0 and self.dot_of_line >= NEXT_LY
        return self.strict and (self.mode in (SCAN, DRAW) or between)

    @property
    def oam_closed(self) -> bool:
        """Whether writes to OAM are lost."""
        early = self.mode == SCAN and self.dot_of_line < SCAN_END - M_CYCLE
        return self.strict and (self.mode == DRAW or early)

    @property
    def dot_of_line(self) -> int:
        """T since the line began."""
        return (self.dot + (M_CYCLE if self.first_frame else 0)) % LINE

    def read_stat(self) -> int:
        """Return STAT but for its highest bit."""
        return self.stat | self.lyc_match << 2 | self.mode

    def write_stat(self, value: int) -> None:
        """Choose sources of the interrupt."""
        self.stat = value & 0x78
        self._update_stat_line()

    def write_lyc(self, value: int) -> None:
        """Set the line to compare with; while the display is off nothing compares."""
        self.lyc = value
        if self.on:
            self._compare_ly()

    def write_lcdc(self, value: int) -> None:
        """Set what is shown, and whether anything is: turning it on or off ends the frame.

        The next one begins at once, or, on, when this machine cycle is over. While the display is
        off, the comparison with LYC keeps its last result.
        """
        was_on, self.lcdc = self.on, value
        if self.on == was_on:
            return
        self.dot, self.frame_done = -M_CYCLE if self.on else 0, True
        self.ly, self.mode = 0, HBLANK
        self.window_line, self.wy_seen = 0, False
        self.first_frame = self.on
        self.picture[:] = BLANK
        if self.on:
            self._compare_ly()
        else:
            self._update_stat_line()

    # -- the picture (docs/gameboy.md, 8.3) --

    def _draw_line(self) -> None:
        """Draw a line as everything is at this moment; the window counts its lines anyway."""
        seen = self.lcdc & 0x21 == 0x21 and self.wy_seen and self.wx <= 166
        if self.drawing:
            start = self.ly * WIDTH
            self.picture[start : start + WIDTH] = render_line(self, seen)
        if seen:
            self.window_line += 1
