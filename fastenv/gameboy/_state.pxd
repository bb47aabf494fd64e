# Generated from fastenv.gameboy.state by "python -m tools.structs"; not to be edited.
from libc.stdint cimport int16_t, int32_t, int64_t, int8_t, uint16_t, uint32_t, uint64_t, uint8_t

cdef enum:
    M_CYCLE = 4
    LINE = 456
    LINES = 154
    VISIBLE = 144
    FRAME = 70224
    WIDTH = 160
    HEIGHT = 144
    SCAN_END = 80
    DRAW_END = 249
    PIPELINE_BEGIN = 82
    LAST_DRAW = 444
    MOST_WRITES = 50
    LINE_BEGAN = 0
    LINE_SEEN = 8
    LINE_COUNT = 9
    LINE_WRITES = 10
    LINE_BYTES = 160
    WINDOW_TIME = 6
    WINDOW_BEGIN = 81
    LAST_WX = 165
    FIRST_LINE_LATE = 2
    NEXT_LY = 452
    OBJECTS_A_LINE = 10
    SERIAL_BIT = 512
    SERIAL_BITS = 8
    SERIAL_TIME = 4096
    SERIAL_PHASE = 256
    SERIAL_KEPT = 64
    DMA_TIME = 648
    DMA_BLOCKS = 640
    DMA_BYTES = 160
    CLOCK = 4194304
    FIRST_CLOCK_BANK = 8
    SEQUENCER_BIT = 4096
    WAVE_BYTES = 16
    WAVE_DELAY = 8
    WAVE_OPEN = 2
    WAVE_NEXT = 4
    SAMPLE = 132
    SAMPLES = 532
    DUTY_STEPS = 8
    DUTIES = 2128707968
    NOISE_BITS = 15
    OAM_ROW = 8
    OAM_ROWS = 20
    R_P1 = 0
    R_SB = 1
    R_SC = 2
    R_DIV = 4
    R_TIMA = 5
    R_TMA = 6
    R_TAC = 7
    R_IF = 15
    R_NR10 = 16
    R_NR13 = 19
    R_NR14 = 20
    R_NR30 = 26
    R_NR43 = 34
    R_NR50 = 36
    R_NR51 = 37
    R_NR52 = 38
    R_WAVE = 48
    R_LCDC = 64
    R_STAT = 65
    R_SCY = 66
    R_SCX = 67
    R_LY = 68
    R_LYC = 69
    R_DMA = 70
    R_BGP = 71
    R_OBP0 = 72
    R_OBP1 = 73
    R_WY = 74
    R_WX = 75
    R_IE = 255
    MAX_EVENT_BYTES = 8192
    MAX_LOADS = 1024
    MAX_EXPRESSION_STACK = 64
    MAX_VISITS = 65535

cdef enum Interrupt:
    INT_VBLANK = 0
    INT_STAT = 1
    INT_TIMER = 2
    INT_SERIAL = 3
    INT_JOYPAD = 4

cdef enum Mbc:
    NO_MBC = 0
    MBC1 = 1
    MBC2 = 2
    MBC3 = 3
    MBC5 = 5
    MBC1M = 11
    MBC30 = 30

cdef enum Reload:
    RELOAD_NO = 0
    RELOAD_OVERFLOWN = 1
    RELOAD_DONE = 2

cdef enum Kind:
    KIND_PIXELS = 0
    KIND_GOAL = 1
    KIND_OVERWORLD = 2

cdef enum Place:
    PLACE_MAP = 0
    PLACE_X = 1
    PLACE_Y = 2
    PLACE_FACING = 3
    PLACE_DIALOGUE = 4
    PLACE_ITEMS = 5
    PLACE_STEPS_LOW = 6
    PLACE_STEPS_HIGH = 7
    PLACE_STAGE = 8
    PLACE_DONE = 9

cdef enum Op:
    OP_NUMBER = 0
    OP_NOW = 1
    OP_BEFORE = 2
    OP_EACH = 3
    OP_RANDOM = 4
    OP_NEG = 5
    OP_NOT = 6
    OP_ABS = 7
    OP_ADD = 8
    OP_SUB = 9
    OP_MUL = 10
    OP_DIV = 11
    OP_MOD = 12
    OP_EQ = 13
    OP_NE = 14
    OP_LT = 15
    OP_LE = 16
    OP_GT = 17
    OP_GE = 18
    OP_AND = 19
    OP_OR = 20
    OP_MIN = 21
    OP_MAX = 22

cdef enum Cells:
    CELL_MOST = 0
    CELL_SUM = 1
    CELL_VISITS = 2
    CELL_SIZE = 3

cdef enum Form:
    FORM_UNSIGNED = 0
    FORM_SIGNED = 1
    FORM_BCD = 2
    FORM_DIGITS = 3
    FORM_BIT = 4

cdef enum Source:
    SOURCE_ROW = 0
    SOURCE_ROM = 1
    SOURCE_REGISTERS = 2

cdef extern from "_state.h":
    ctypedef struct Knobs:
        int32_t start_state

    ctypedef struct Sound:
        int32_t sums[2]
        uint32_t noise_left
        uint16_t duty_left[2]
        uint16_t lfsr
        uint8_t duty_at[2]
        uint8_t duty_high[2]
        uint8_t volumes[3]
        uint8_t envelopes[3]
        uint8_t wave_byte
        uint8_t unused_sound[3]

    ctypedef struct Field:
        int64_t mask
        int32_t at
        int32_t count
        int32_t stride
        int32_t bit
        int32_t size
        int32_t form
        int32_t big
        int32_t info_at
        int32_t info_size
        int32_t source

    ctypedef struct Load:
        int32_t field
        int32_t element
        int32_t each

    ctypedef struct Step:
        int64_t number
        int32_t op
        int32_t load

    ctypedef struct Term:
        double weight
        int32_t begin
        int32_t end
        int32_t info_at

    ctypedef struct Cell:
        int32_t kind
        int32_t of
        int32_t load

    ctypedef struct KeySet:
        int32_t at
        int32_t slots
        int32_t capacity
        int32_t key
        int32_t numbers
        int32_t when

    ctypedef struct Hook:
        int32_t place
        int32_t address
        int32_t latch

    ctypedef struct Trap:
        int32_t place
        int32_t hook
        int32_t follow

    ctypedef struct Write:
        int32_t field
        int32_t element
        int32_t to
        int32_t when
        int32_t on

    ctypedef struct Observed:
        double low
        double span
        int32_t field
        int32_t first
        int32_t count
        int32_t at
        int32_t flag

    ctypedef struct Rules:
        double sticky
        double repeat_action_probability
        double step_cost
        double alpha
        double goal_bonus
        double threshold
        double distance_unit
        double cell_bonus
        double item_bonus
        double dialogue_bonus
        double event_bonus
        double finish_bonus
        int32_t max_steps
        int32_t frames_per_step
        int32_t release_after
        int32_t num_actions
        int32_t stack_k
        int32_t plane
        int32_t rows
        int32_t columns
        int32_t k_consecutive
        int32_t cart_bytes
        int32_t stack_at
        int32_t visits_at
        int32_t visits_bytes
        int32_t slots
        int32_t num_starts
        int32_t start_bytes
        int32_t goal_bytes
        int32_t line_at
        int32_t line_bytes
        int32_t sound_at
        int32_t sound_bytes
        int32_t samples_at
        int32_t samples_bytes
        int32_t samples_info_at
        int32_t values_at
        int32_t num_fields
        int32_t num_loads
        int32_t num_terms
        int32_t num_rewards
        int32_t num_numbers
        int32_t num_cells
        int32_t num_sets
        int32_t memory_at
        int32_t memory_bytes
        int32_t num_hooks
        int32_t num_writes
        int32_t counted_at
        int32_t counted_bytes
        int32_t watched_pages
        int32_t lost_info_at
        int32_t terminates
        int32_t truncates
        int32_t num_events
        int32_t events_at
        int32_t max_pool
        int32_t waits
        int32_t wait_steps
        int32_t wait_keys
        int32_t waited_info_at
        int32_t plays_on
        int32_t observes
        int32_t hides_pixels
        int32_t num_observed
        int32_t num_recent
        int32_t recent_at
        int32_t actions_at
        int32_t visited_at
        int32_t visited[2]
        int32_t fills_ram
        int32_t size[3]
        int32_t places[10]
        int64_t goal_at
        int64_t starts_at
        int64_t fields_at
        int64_t loads_at
        int64_t steps_at
        int64_t terms_at
        int64_t cells_at
        int64_t sets_at
        int64_t hooks_at
        int64_t writes_at
        int64_t watched_at
        int64_t program_at
        int64_t traps_at
        int64_t observed_at
        uint8_t kind
        uint8_t packed
        uint8_t keys[256]
        uint8_t allowed[256]
        uint8_t rewarded[8192]
        uint8_t renewing[8192]
        uint8_t ys[144]
        uint8_t xs[160]
        uint8_t lines[144]
        uint32_t unpack[256]
        uint8_t differences[256]

    ctypedef struct Shared:
        int32_t rom_banks
        int32_t ram_bytes
        int16_t mbc
        int16_t has_clock
        int16_t video_is_open
        int16_t fixed_frames
        int16_t by_pixel
        int16_t audio
        uint8_t read_ones[128]
        uint64_t spread[256]
        Rules rules

    ctypedef struct Episode:
        uint64_t rng[4]
        double ep_return
        int32_t ep_length
        int32_t start
        int32_t distance
        int32_t ev_distance
        int32_t near
        int32_t cells
        int32_t ev_cells
        int32_t ev_items
        int32_t ev_dialogue
        int32_t ev_events
        int32_t waited
        uint16_t visit_id
        uint8_t last_action
        int8_t done
        uint8_t unused_episode[40]

    ctypedef struct LinkHead:
        uint64_t rng[4]
        uint64_t bot_rng[4]
        double ep_return[2]
        int32_t ep_length
        int8_t done
        uint8_t needs_action[2]
        uint8_t unused_link[41]

    ctypedef struct LinkShared:
        int64_t row_at[2]
        int64_t shared_at[2]

    ctypedef struct State:
        int64_t cyc
        int64_t instr
        int32_t dot
        int32_t serial_count
        uint16_t pc
        uint16_t sp
        uint8_t a
        uint8_t f
        uint8_t b
        uint8_t c
        uint8_t d
        uint8_t e
        uint8_t h
        uint8_t l
        uint8_t ime
        uint8_t ime_delay
        uint8_t halted
        uint8_t halt_bug
        uint8_t stopped
        uint8_t locked
        uint16_t div
        uint16_t serial_left
        uint16_t dma_left
        uint8_t dma_blocks
        uint8_t reload
        uint8_t keys
        uint8_t first_frame
        uint8_t lyc_match
        uint8_t wy_seen
        uint16_t rom_bank
        uint8_t ram_bank
        uint8_t bank_mode
        uint8_t ram_enable
        uint8_t window_line
        uint16_t delay
        uint8_t clock[5]
        uint8_t clock_latched[5]
        int32_t clock_part
        uint8_t clock_armed
        uint8_t dma_byte
        uint16_t window_at
        uint8_t late
        uint8_t sound_step
        uint16_t lengths[4]
        uint16_t wave_left
        uint16_t sweep_period
        uint8_t sweep_left
        uint8_t sweep_due
        uint8_t sweep_negated
        uint8_t wave_at
        uint8_t serial_bits
        uint8_t unused[157]
        uint8_t oam[160]
        uint8_t serial[64]
        uint8_t pad[32]
        uint8_t high[256]
        uint8_t vram[8192]
        uint8_t wram[8192]
