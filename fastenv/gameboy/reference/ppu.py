"""The display (docs/gameboy.md, 8)."""

from fastenv.gameboy.reference.interrupts import Interrupts
from fastenv.gameboy.reference.pipeline import DrawnLine, Write, draw
from fastenv.gameboy.reference.render import line_objects, render_line
from fastenv.gameboy.tables import (
    DRAW_END,
    FIRST_LINE_LATE,
    FRAME,
    HEIGHT,
    IO,
    LAST_WX,
    LINE,
    LINE_REGISTERS,
    LINES,
    M_CYCLE,
    MOST_WRITES,
    NEXT_LY,
    SCAN_END,
    VISIBLE,
    WIDTH,
    WINDOW_BEGIN,
    WINDOW_TIME,
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
    by_pixel : bool
        Whether writes in mode 3 change the line from their pixel on.
    """

    vram: bytearray
    oam: bytearray
    lcdc: int
    stat: int
    lyc: int
    mode: int
    ly: int

    def __init__(self, interrupts: Interrupts) -> None:
        self.interrupts = interrupts
        self.strict = True
        self.oam_taken = False  # by DMA: no object is found
        self.vram, self.oam = bytearray(0x2000), bytearray(160)
        self.lcdc = self.stat = self.scy = self.scx = self.lyc = 0
        self.bgp = self.obp0 = self.obp1 = self.wy = self.wx = 0
        self.dot: int = 0
        self.first_frame: bool = False  # since the display was turned on: nothing is shown
        self.mode = self.ly = 0
        self.source: int | None = None  # the mode that may cause the interrupt
        self.compared: int | None = 0  # with LYC: mostly LY, for moments nothing
        self.lyc_match: bool = False
        self.stat_line: bool = False
        self.wy_seen: bool = False
        self.window_line: int = 0  # lines of this frame on which the window was drawn
        self.delay: int = 0  # of the end of mode 3 on this line, in T
        self.window_at: int = 0  # T of this line at which the window begins; 0: not at all
        self.windows: int = 0  # of these lines, those on this line
        self.drawn_at: int = 0  # T of this line at which it was drawn
        # -- writes in mode 3 of this line, if they change it (docs/gameboy.md, 8.4) --
        self.by_pixel: bool = False
        self.began: list[int] = []  # LINE_REGISTERS before the first of them
        self.began_wy_seen: bool = False
        self.writes: list[Write] = []
        self.frame_done: bool = False
        self.drawing = False  # whether anybody will look at this frame
        self.picture: bytearray = bytearray(BLANK)  # shades, 0 white to 3 black, row by row

    @property
    def on(self) -> bool:
        """Whether the display is turned on."""
        return bool(self.lcdc & 0x80)

    # -- time (docs/gameboy.md, 8.1) --

    def tick(self) -> None:
        """Let a machine cycle pass."""
        self.dot += M_CYCLE
        if self.dot == FRAME:
            self.dot, self.frame_done = 0, True
        if not self.on:
            return
        line, at = divmod(self.dot, LINE)
        if at == 0:
            self._begin_line(line)
        elif at == NEXT_LY:
            self._leave_line(line % LINES)
        elif line == LINES - 1:
            self._tick_last_line(at)
        elif 0 <= line < VISIBLE:
            self._tick_line(at)

    def _begin_line(self, line: int) -> None:
        """Compare LY again; a visible line searches OAM, line 144 begins VBlank."""
        if line == 0:
            self._begin_frame()
        if line < VISIBLE:
            self.compare_wy()
            self.mode = SCAN
            self.source = SCAN if line == 0 else self.source
            self._compare(line)
            self._set_source(None)  # it is one for a moment only
            return
        self._compare(line, late=line == LINES - 1)
        if line == VISIBLE:
            self.interrupts.request(Interrupt.VBLANK)
            self._scan_interrupt(late=False)
            self.mode = VBLANK
            self._set_source(VBLANK)
        elif line == LINES - 1:
            self.ly = 0

    def _leave_line(self, line: int) -> None:
        """Count LY on; until the next line begins it is compared with nothing."""
        if line == LINES - 1:
            self.mode = HBLANK  # VBlank is still a source of the interrupt
            return
        self.ly, self.compared = line + 1, None
        if self.ly < VISIBLE:
            self._set_source(SCAN, late=True)
        elif self.ly == VISIBLE:
            self._scan_interrupt(late=True)

    def _tick_last_line(self, at: int) -> None:
        """LY has been 153 for a machine cycle: it becomes 0, which is compared two later."""
        if at == M_CYCLE:
            self.compared = None
        elif at == 2 * M_CYCLE:
            self._compare(0)

    def _tick_line(self, at: int) -> None:
        if at == SCAN_END:
            self._plan_line()
            self.writes, self.drawn_at = [], 0
            self.mode = DRAW
            self._set_source(None)
        if not self.drawing_line:
            return
        end = DRAW_END + self.delay
        if at >= end:
            self.mode = HBLANK
        if at > end:  # the interrupt comes a T later
            self._set_source(HBLANK, late=end % M_CYCLE in (2, 3))
            self._draw_line()

    def _begin_frame(self) -> None:
        self.ly = self.window_line = 0
        self.wy_seen = False
        if self.first_frame:
            self.picture[:] = BLANK
        self.first_frame = False

    def compare_wy(self) -> None:
        """Let the window be seen from here to the end of the frame, if it is on and LY is WY."""
        if self.on and self.lcdc & 0x20 and self.wy == self.ly < VISIBLE:
            self.wy_seen = True

    def _plan_line(self) -> None:
        """Find out when the window begins, and by how much all puts off the end of mode 3."""
        window = bool(self.lcdc & 0x20 and self.wy_seen and self.wx <= LAST_WX)
        self.delay, self.window_at = self.scx % 8, 0
        if window:
            self.window_at = WINDOW_BEGIN + self.wx + self.delay
            self.delay += WINDOW_TIME
        if self.first_frame and self.ly == 0:  # when OAM was not searched
            self.delay += FIRST_LINE_LATE
            return
        if not self.lcdc & 0x02:
            return
        columns = set()
        for x in sorted(self.oam[i + 1] for i in line_objects(self, bool(self.lcdc & 0x04))):
            if x >= 168:
                continue
            in_window = window and x > self.wx
            column, within = divmod(x - self.wx - 1 if in_window else x + self.scx, 8)
            takes = 6
            if (in_window, column) not in columns:
                columns.add((in_window, column))
                takes += 5 if x == 0 else max(0, 5 - within)
            self.delay += takes
            if window and not in_window:
                self.window_at += takes

    def write_register(self, register: IO, value: int) -> None:
        """Set a register that the picture is drawn from."""
        ending = self.source == HBLANK and self.dot_of_line == self.drawn_at
        if self.by_pixel and self.on and (self.drawing_line or ending):
            self._note_write(Write(self.dot_of_line, register, value))
        elif register in (IO.LCDC, IO.WX, IO.WY):
            self.write_window(register.name.lower(), value)
        else:
            setattr(self, register.name.lower(), value)

    def _note_write(self, write: Write) -> None:
        """Let a write in mode 3 change the line; one as mode 3 ends changes its last pixels."""
        if len(self.writes) == MOST_WRITES:  # in rows from outside alone
            self.writes.pop()
        if not self.writes:
            self.began = [getattr(self, register.name.lower()) for register in LINE_REGISTERS]
            self.began_wy_seen = self.wy_seen
        self.writes.append(write)
        setattr(self, write.register.name.lower(), write.value)
        if write.register in (IO.LCDC, IO.WY):
            self.compare_wy()
        if not self.drawing_line:
            if self.drawing:
                self._show(self.draw_writes((self.window_line - self.windows) % 256).shades)
            return
        self.window_at = 0
        if write.register in (IO.LCDC, IO.SCX, IO.WX, IO.WY):
            end = max(self.draw_writes(self.window_line).end, write.at)
            self.delay, self.mode = end - DRAW_END, HBLANK if end == write.at else DRAW

    def draw_writes(self, window_row: int) -> DrawnLine:
        """Draw this line with the register writes that were made in it."""
        return draw(self, self.began, self.began_wy_seen, window_row, self.writes)

    def write_window(self, name: str, value: int) -> None:
        """Set LCDC, WX or WY: a window that has not begun may begin elsewhere, or not at all."""
        planned = self.drawing_line and (not self.window_at or self.dot_of_line <= self.window_at)
        setattr(self, name, value)
        self.compare_wy()
        if planned:
            before = self.delay, self.window_at
            self._plan_line()
            if self.window_at and self.window_at < self.dot_of_line:  # too late
                self.delay, self.window_at = before[0] - WINDOW_TIME * (before[1] > 0), 0

    # -- STAT (docs/gameboy.md, 8.2) --

    def _compare(self, ly: int, late: bool = False) -> None:
        self.compared = ly
        self.lyc_match = ly == self.lyc
        self._update_stat_line(late)

    def _set_source(self, mode: int | None, late: bool = False) -> None:
        self.source = mode
        self._update_stat_line(late)

    def _scan_interrupt(self, late: bool) -> None:
        """Line 144 does as if it searched OAM, for a moment."""
        if self.stat & 0x20 and not self.stat_line:
            self.interrupts.request(Interrupt.STAT, late)

    def _update_stat_line(self, late: bool = False) -> None:
        """Request the interrupt when the first of its sources sets in, and not before all ended."""
        before, self.stat_line = self.stat_line, self.sources_active(self.stat)
        if self.stat_line and not before:
            self.interrupts.request(Interrupt.STAT, late)

    def sources_active(self, enabled: int) -> bool:
        """Whether any of the sources of the interrupt that are enabled is active."""
        if self.source is not None and enabled & 0x08 << self.source:
            return True
        return bool(self.lyc_match and enabled & 0x40)

    # -- what the processor sees --

    @property
    def drawing_line(self) -> bool:
        """Whether mode 3 is not yet over in all respects."""
        visible = 0 <= self.dot < VISIBLE * LINE
        return self.on and visible and self.dot_of_line >= SCAN_END and self.source is None

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
        between = self.on and self.ly < VISIBLE and self.dot_of_line >= NEXT_LY
        return self.strict and (self.mode in (SCAN, DRAW) or between)

    @property
    def oam_closed(self) -> bool:
        """Whether writes to OAM are lost."""
        early = self.mode == SCAN and self.dot_of_line < SCAN_END - M_CYCLE
        return self.strict and (self.mode == DRAW or early)

    @property
    def dot_of_line(self) -> int:
        """T since the line began."""
        return self.dot % LINE

    def read_stat(self) -> int:
        """Return STAT but for its highest bit."""
        match = self.lyc_match and not (self.on and self.compared is None)
        return self.stat | match << 2 | self.mode

    def write_stat(self, value: int) -> None:
        """Choose sources of the interrupt; while it is written, all of them are chosen."""
        if self.on:
            self.stat = 0x78
            self._update_stat_line()
        self.stat = value & 0x78
        self._update_stat_line()

    def write_lyc(self, value: int) -> None:
        """Set the line to compare with; while the display is off nothing compares."""
        self.lyc = value
        if self.on and self.compared is not None:
            self._compare(self.compared)

    def write_lcdc(self, value: int) -> None:
        """Set what is shown, and whether anything is: turning it on or off ends the frame.

        While the display is off, the comparison with LYC keeps its last result.
        """
        was_on = self.on
        if was_on == bool(value & 0x80):
            self.write_register(IO.LCDC, value)
            return
        self.lcdc = value
        if was_on and self.compared is None:
            self.lyc_match = False
        self.dot, self.frame_done = 0, True
        self.ly, self.mode, self.compared = 0, HBLANK, None
        self.window_line, self.wy_seen = 0, False
        self.first_frame = self.on
        self.picture[:] = BLANK
        self.source = None
        if self.on:
            self.compare_wy()
            self._compare(0)
        else:
            self._update_stat_line()

    # -- the picture (docs/gameboy.md, 8.3) --

    def _draw_line(self) -> None:
        """Draw a line as everything is at this moment; the window counts its lines anyway."""
        self.drawn_at = self.dot_of_line
        if self.writes:
            drawn = self.draw_writes(self.window_line)
            self.windows, shades = drawn.windows, drawn.shades
        else:
            seen = bool(self.window_at and self.lcdc & 0x01)
            self.windows, shades = int(seen), render_line(self, seen) if self.drawing else b""
        if self.drawing:
            self._show(shades)
        self.window_line = (self.window_line + self.windows) % 256

    def _show(self, shades: bytes) -> None:
        """Put a line into the picture."""
        self.picture[self.ly * WIDTH : (self.ly + 1) * WIDTH] = shades
