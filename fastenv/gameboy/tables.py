"""Numbers of the Game Boy that all implementations share; ``docs/gameboy.md`` explains them.

Times are in T, ticks of the 4.194304 MHz clock; a machine cycle is 4 T.
"""

from __future__ import annotations

from enum import IntEnum

CLOCK = 4_194_304  # T a second
M_CYCLE = 4
LINE = 456
LINES = 154
VISIBLE = 144
WIDTH, HEIGHT = 160, 144
FRAME = LINE * LINES

# -- the picture, in T after the beginning of a line (docs/gameboy.md, 8.1) --
SCAN_END = 80  # mode 2 gives way to mode 3
DRAW_END = 249  # mode 3 to mode 0, where scrolling, window and objects do not delay it
WINDOW_TIME = 6  # by how much the window delays it
WINDOW_BEGIN = 81  # where a window with a WX of 0 begins
LAST_WX = 165  # with which there is one
FIRST_LINE_LATE = 2  # and what delays it in the first line after the display was turned on
NEXT_LY = LINE - M_CYCLE  # LY counts on, one machine cycle before its line
OBJECTS_A_LINE = 10
PIPELINE_BEGIN = 82  # the first pixel leaves its queue (docs/gameboy.md, 8.4)
LAST_DRAW = NEXT_LY - 8  # a line that writes would draw out further ends here
MOST_WRITES = 50  # in mode 3 of a line: a write takes two machine cycles

# -- the clock of an MBC3: which bits its five registers have (docs/gameboy.md, 11) --
CLOCK_MASKS = (0x3F, 0x3F, 0x1F, 0xFF, 0xC1)
FIRST_CLOCK_BANK = 8  # the bank of RAM that shows the first of them

# -- the first addresses of regions of memory (docs/gameboy.md, 5.5) --
VRAM, CART_RAM, WRAM, ECHO, OAM, UNUSABLE, HIGH, HRAM = (
    0x8000, 0xA000, 0xC000, 0xE000, 0xFE00, 0xFEA0, 0xFF00, 0xFF80,
)  # fmt: skip
ROM_BANK, RAM_BANK = 0x4000, 0x2000  # bytes

SERIAL_BIT = 512
SERIAL_BITS = 8
SERIAL_TIME = SERIAL_BITS * SERIAL_BIT
SERIAL_PHASE = SERIAL_BIT // 2  # falls of the bit of the timer's counter that clocks the port
SERIAL_KEPT = 64  # bytes sent that a row remembers
LONGEST_STEP = 24  # T of an instruction, or of serving an interrupt
# -- sound (docs/gameboy.md, 10.1) --
SEQUENCER_BIT = 0x1000  # of the timer's counter: the sequencer goes on where it falls
LENGTHS = (64, 64, 256, 64)  # the longest of each channel
WAVE_BYTES = 16
WAVE_DELAY = 8  # T by which the first sample of a wave is later than the others
WAVE_OPEN = 2  # T left to a fetch whose byte is seen,
WAVE_NEXT = 4  # and to one that a trigger meets
SOUND_AT_POWER_UP = 1  # step of the sequencer
# -- what is heard of it (docs/gameboy.md, 10.2) --
SAMPLE = 132  # T
SAMPLES = FRAME // SAMPLE  # of a frame
SAMPLE_RATE = CLOCK / SAMPLE  # samples a second, 31,775.03
DUTY_STEPS = 8
DUTIES = 0x7EE18180  # which steps are high: a byte for each duty, a bit for each step
NOISE_BITS = 15

DMA_TIME = 648  # from the write to the end
DMA_BLOCKS = 640  # left when the first byte is copied
DMA_BYTES = 160
OAM_ROW, OAM_ROWS = 8, 20  # bytes that the display reads in a machine cycle, how many times


class IO(IntEnum):
    """Registers, as low bytes of their addresses in page $FF."""

    P1 = 0x00
    SB = 0x01
    SC = 0x02
    DIV = 0x04
    TIMA = 0x05
    TMA = 0x06
    TAC = 0x07
    IF = 0x0F
    NR10 = 0x10
    NR13 = 0x13
    NR14 = 0x14
    NR30 = 0x1A
    NR43 = 0x22
    NR50 = 0x24
    NR51 = 0x25
    NR52 = 0x26
    WAVE = 0x30
    LCDC = 0x40
    STAT = 0x41
    SCY = 0x42
    SCX = 0x43
    LY = 0x44
    LYC = 0x45
    DMA = 0x46
    BGP = 0x47
    OBP0 = 0x48
    OBP1 = 0x49
    WY = 0x4A
    WX = 0x4B
    IE = 0xFF


# What a line of the picture is drawn from, and where a row notes what was written to it in mode 3.
LINE_REGISTERS = (IO.SCY, IO.SCX, IO.LCDC, IO.WX, IO.WY, IO.BGP, IO.OBP0, IO.OBP1)
LINE_BEGAN, LINE_SEEN, LINE_COUNT, LINE_WRITES = 0, 8, 9, 10
LINE_BYTES = LINE_WRITES + 3 * MOST_WRITES


class Interrupt(IntEnum):
    """Bits of IF and IE; the lowest is served first, at ``$40 + 8 * bit``."""

    VBLANK = 0
    STAT = 1
    TIMER = 2
    SERIAL = 3
    JOYPAD = 4


class Key(IntEnum):
    """Bits of the pressed keys: the pad in the low half, buttons in the high one."""

    RIGHT = 0
    LEFT = 1
    UP = 2
    DOWN = 3
    A = 4
    B = 5
    SELECT = 6
    START = 7


class Mbc(IntEnum):
    """Bank controllers (docs/gameboy.md, 11)."""

    NONE = 0
    MBC1 = 1
    MBC2 = 2
    MBC3 = 3
    MBC5 = 5
    MBC1M = 11  # an MBC1 among several games, wired otherwise
    MBC30 = 30  # an MBC3 that reaches twice as much


class Reload(IntEnum):
    """What the timer is doing in this machine cycle (docs/gameboy.md, 7)."""

    NO = 0
    OVERFLOWN = 1
    DONE = 2


# Bits that read as 1, of the registers that have any: all bits of those that do not exist.
READ_ONES = [0xFF] * 0x80
for _register, _ones in {
    IO.P1: 0xC0, IO.SB: 0, IO.SC: 0x7E, IO.DIV: 0, IO.TIMA: 0, IO.TMA: 0, IO.TAC: 0xF8, IO.IF: 0xE0,
    0x10: 0x80, 0x11: 0x3F, 0x12: 0, 0x13: 0xFF, 0x14: 0xBF,
    0x16: 0x3F, 0x17: 0, 0x18: 0xFF, 0x19: 0xBF,
    0x1A: 0x7F, 0x1B: 0xFF, 0x1C: 0x9F, 0x1D: 0xFF, 0x1E: 0xBF,
    0x20: 0xFF, 0x21: 0, 0x22: 0, 0x23: 0xBF, 0x24: 0, 0x25: 0, 0x26: 0x70,
    **{register: 0 for register in range(IO.WAVE, IO.LCDC)},
    IO.LCDC: 0, IO.STAT: 0x80, IO.SCY: 0, IO.SCX: 0, IO.LY: 0, IO.LYC: 0, IO.DMA: 0,
    IO.BGP: 0, IO.OBP0: 0, IO.OBP1: 0, IO.WY: 0, IO.WX: 0,
}.items():  # fmt: skip
    READ_ONES[_register] = _ones

# Registers when a program starts (docs/gameboy.md, 12): those that are not 0.
POWER_UP = {
    IO.IF: 0x01,
    0x11: 0x80, 0x12: 0xF3, 0x13: 0xC1, 0x14: 0x87,
    IO.NR50: 0x77, IO.NR51: 0xF3, IO.NR52: 0x81,
    IO.LCDC: 0x91, IO.DMA: 0xFF, IO.BGP: 0xFC, IO.OBP0: 0xFF, IO.OBP1: 0xFF,
}  # fmt: skip
DIV_AT_POWER_UP = 0xABCC
DOT_AT_POWER_UP = -60  # when the first frame of a program begins
