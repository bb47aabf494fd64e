"""An environment around the reference machine, in plain Python (docs/gameboy.md, 16 to 20)."""

from __future__ import annotations

import numpy as np

from fastenv.gameboy.common import Common
from fastenv.gameboy.config import SEEDED, GameBoyConfig
from fastenv.gameboy.frames import difference
from fastenv.gameboy.ram_fields import CARTRIDGE, CONSTANT, HOOK, IN_ROM, PLACES
from fastenv.gameboy.ram_hooks import ALL, LATCH, RESET, STEP, Write, bytes_of
from fastenv.gameboy.ram_memory import Memory, Values
from fastenv.gameboy.ram_program import ENDS
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.state import Place
from fastenv.gameboy.tables import HIGH, HRAM, OAM, VRAM, WRAM
from fastenv.rng import Rng

RUNNING, TERMINATED, TRUNCATED = 0, 1, 2
HASH_FACTORS = (73_856_093, 19_349_663, 83_492_791, 536_870_909)  # map, x, y, stage
LAST_ID = 2**16 - 1


class Environment:
    """One lane.

    Parameters
    ----------
    common : Common

    Attributes
    ----------
    machine : Machine
    rng : Rng
        From which start states and sticky actions are drawn.
    done : int
        0 running, 1 terminated, 2 truncated.
    ep_return, ep_length : float, int
        Kept by the engine.
    start : int
        Number of the start state.
    last_action : int
    stack : list of bytes
        Packed frames, the newest last.
    distance, ev_distance, near : int
        Of a goal: distance now and before the last step, and steps in a row at the goal.
    visits : bytearray
        Visited cells: a bit each, or the slots of a hash table.
    visit_id : int
        What marks a cell of this episode in the hash table.
    cells : int
        New cells of the episode.
    ev_cells, ev_items, ev_dialogue, ev_events : int
        What the last step brought.
    values : list of int
        Rewards of a RAM map for the last step, before weights, then its numbers.
    remembered : Memory
        What expressions remember.
    waited : int
        How often the last step was as long again.
    recent : list of int
        The last actions that were asked for, the newest last: their numbers and 1; 0: none yet.
    hooks : list of int
        What each hook has counted in this episode, and how often fields were set.
    samples : list of int
        Left and right of each sample of the last step, frame by frame; 0 after a reset.
    """

    done: int
    ep_return: float
    ep_length: int
    start: int
    last_action: int
    distance: int
    ev_distance: int
    near: int
    visit_id: int
    cells: int
    ev_cells: int
    ev_items: int
    ev_dialogue: int
    ev_events: int
    waited: int
    values: list[int]
    recent: list[int]
    samples: list[int]

    def __init__(self, common: Common) -> None:
        self.common: Common = common
        self.config: GameBoyConfig = common.config
        program = common.program
        self.hooks: list[int] = [0] * (0 if program is None else program.counted_bytes // 4)
        self.machine = Machine(common.cartridge, *common.machine_options)
        self.rng: Rng = Rng()
        self.done, self.ep_return, self.ep_length = RUNNING, 0.0, 0
        self.start = self.last_action = 0
        self.stack: list[bytes] = [bytes(common.config.format.plane)] * common.config.stack_k
        self.distance = self.ev_distance = self.near = 0
        self.visits: bytearray = bytearray(common.visits_bytes)
        self.visit_id = self.cells = 0
        self.ev_cells = self.ev_items = self.ev_dialogue = self.ev_events = 0
        self.values = [0] * program.num_values if program is not None else []
        self.remembered: Memory = Memory() if program is None else program.memory()
        self.waited = 0
        self.recent = [0] * (0 if common.observed is None else common.observed.actions)
        self.samples = [0] * (common.samples_bytes // 2)

    # -- episodes (docs/gameboy.md, 18) --

    def reset(self, start_state: int, seed: int | None, starts: np.ndarray) -> None:
        """Start an episode from a start state; nothing runs.

        Parameters
        ----------
        start_state : int
            Its number, or -1 to draw one.
        seed : int, optional
            Of the stream; None goes on with it.
        starts : ndarray of uint8, shape (S, bytes)
            Rows of machines, each with its packed frame.
        """
        if seed is not None:
            self.rng = Rng(seed)
            self.visits[:] = bytes(len(self.visits))
            self.visit_id = 0
        cut = self.done == TRUNCATED and not self.machine.cpu.locked
        if not (self.config.play_on and seed is None and cut):
            self.load(start_state, starts)
        self.hooks = [0] * len(self.hooks)
        self.write_fields(RESET)
        self.done, self.ep_return, self.ep_length = RUNNING, 0.0, 0
        self.last_action = 0
        self.recent = [0] * len(self.recent)
        self.distance = self.ev_distance = self.goal_distance()
        self.near = self.cells = self.waited = 0
        self.ev_cells = self.ev_items = self.ev_dialogue = self.ev_events = 0
        self.samples = [0] * len(self.samples)
        self.begin_memory()
        if self.common.ram_map is not None:
            self.forget_visits()
            self.visit()

    def load(self, start_state: int, starts: np.ndarray) -> None:
        """Load a start state, its number or -1 to draw one, and its frame."""
        drawn = start_state < 0 and len(starts) > 1
        self.start = self.rng.bounded(len(starts)) if drawn else max(start_state, 0)
        rows = self.common.starts.rows
        start = starts[self.start].tobytes()
        row, frame = start[: rows.itemsize], start[rows.itemsize :]
        self.machine = self.common.machine(np.frombuffer(row, rows.dtype))
        if self.config.ram_fill == SEEDED:
            self.machine.fill_memory(self.rng.next())
        self.stack = [frame] * self.config.stack_k

    def step(self, action: int) -> None:
        """Press a button, run the frames of a step, and see what came of it."""
        self.write_fields(STEP)
        before, memory = self.seen(), self.memory()
        if self.recent:
            self.recent = [*self.recent[1:], action + 1]
        self.samples = []
        if self.config.sticky > 0 and self.rng.uniform() < self.config.sticky:
            action = self.last_action
        if self.config.repeat_action_probability > 0:
            pictures = self.run_by_frames(action)
        else:
            self.last_action = action
            pictures = self.run(self.common.keys[action])
        self.waited = 0
        while self.is_waiting():
            self.waited += 1
            pictures = self.run(self.common.wait_keys)
        if self.common.shows_pixels:
            self.stack = [*self.stack[1:], self.config.format.pack(self.pooled(pictures))]
        reached = False
        if self.config.kind == "goal":
            reached = self.look_at_goal()
        elif self.config.kind == "overworld":
            reached = self.look_around(*before)
        ends = self.look_at_memory(memory)
        if reached or ends == TERMINATED:
            self.done = TERMINATED
        elif ends == TRUNCATED or self.machine.cpu.locked or self.is_late:
            self.done = TRUNCATED

    def is_waiting(self) -> bool:
        """Tell whether the step still waits for its condition, within ``wait_steps`` repeats."""
        program = self.common.program
        if program is None or self.waited >= self.config.wait_steps:
            return False
        return not program.is_over(self.read)

    @property
    def is_late(self) -> bool:
        """Whether the step that is being taken is the last one of the episode."""
        most = self.config.max_steps
        return most is not None and self.ep_length + 1 >= most

    def run(self, keys: int) -> list[bytes]:
        """Run the frames of a step with keys that are released on the way; return the pictures."""
        release, pictures = self.config.release_after_frames, []
        self.machine.press(keys)
        for frame in range(self.config.frames_per_step):
            if frame == release:
                self.machine.press(0)
            pictures += self.run_frame(frame)
        return pictures

    def run_by_frames(self, action: int) -> list[bytes]:
        """Run the frames of a step, each of which may repeat the action of the one before."""
        release, pictures = self.config.release_after_frames, []
        for frame in range(self.config.frames_per_step):
            if self.rng.uniform() >= self.config.repeat_action_probability:
                self.last_action = action
            self.machine.press(self.common.keys[self.last_action] if frame < release else 0)
            pictures += self.run_frame(frame)
        return pictures

    def run_frame(self, frame: int) -> list[bytes]:
        """Run a frame of a step; return its picture if it is one of those that are seen."""
        seen = frame >= self.config.frames_per_step - (2 if self.config.max_pool else 1)
        seen &= self.common.shows_pixels
        self.machine.run_frame(draw=seen)
        self.samples += self.machine.samples
        return [bytes(self.machine.ppu.picture)] if seen else []

    @staticmethod
    def pooled(pictures: list[bytes]) -> bytes:
        """Return the darkest of some pictures, pixel by pixel."""
        return bytes(map(max, *pictures)) if len(pictures) > 1 else pictures[0]

    # -- a goal (docs/gameboy.md, 19) --

    def goal_distance(self) -> int:
        """Return the sum of differences in shade to the goal; 0 without one."""
        goal = self.common.goal_planes
        if not goal:
            return 0
        return difference(b"".join(self.stack)[-len(goal) :], goal)

    def look_at_goal(self) -> bool:
        """Compare with the goal; return whether it is reached."""
        self.ev_distance, self.distance = self.distance, self.goal_distance()
        at_goal = self.distance / self.distance_unit < self.common.tau
        self.near = self.near + 1 if at_goal else 0
        return self.near >= self.common.k_consecutive

    @property
    def distance_unit(self) -> float:
        """The largest sum of differences: 3 for each pixel that is compared."""
        return float(self.common.rules["distance_unit"][0])

    # -- expressions of a RAM map (docs/gameboy.md, 20.1) --

    def memory(self) -> Values:
        """Return the operands of expressions: loads read from memory, and remembered cells."""
        program = self.common.program
        return {} if program is None else program.read(self.read) | self.remembered.values()

    def begin_memory(self) -> None:
        """Look at the start state of an episode."""
        program = self.common.program
        if program is not None:
            now = program.read(self.read)
            self.remembered.begin(now)
            self.values = program.first_values(now)

    def look_at_memory(self, before: Values) -> int:
        """Compare memory with what it was before the step; return how the episode ends."""
        program = self.common.program
        if program is None:
            return RUNNING
        now = program.read(self.read)
        self.remembered.look(before, now)
        values = program.values(before, now)
        self.values = values[: program.num_values]
        for name, done in zip(ENDS, (TERMINATED, TRUNCATED), strict=True):
            number = program.end(name)
            if number >= 0 and values[number] != 0:
                return done
        return RUNNING

    # -- hooks and writes (docs/gameboy.md, 20.3 and 20.4) --

    @property
    def machine(self) -> Machine:
        """The console."""
        return self._machine

    @machine.setter
    def machine(self, machine: Machine) -> None:
        """Take a console, and watch what hooks count."""
        self._machine = machine
        program = self.common.program
        if program is not None and program.hooks:
            machine.cpu.watch, machine.bus.watch = self.see_instruction, self.see_write

    def see_instruction(self, address: int) -> None:
        """Count an instruction that is about to run."""
        assert self.common.program is not None
        if address < VRAM:
            place = self.machine.bus.cart.place_in_rom(address)
            for k, hook in enumerate(self.common.program.hooks):
                if hook.place == place:
                    self.count(k)

    def see_write(self, address: int) -> None:
        """Count a byte that the program has just written."""
        assert self.common.program is not None
        for k, hook in enumerate(self.common.program.hooks):
            if hook.address == address:
                self.count(k)

    def count(self, number: int) -> None:
        """Count for a hook, and set the fields that go with it."""
        assert self.common.program is not None
        latches = self.common.program.hooks[number].do == LATCH
        self.hooks[number] = 1 if latches else (self.hooks[number] + 1) % 2**32
        self.write_fields(number)

    def write_fields(self, on: int) -> None:
        """Set the fields that are set at a time: ``RESET``, ``STEP``, or the number of a hook."""
        program = self.common.program
        for write in () if program is None else program.writes:
            assert program is not None
            if write.on == on and (
                write.when is None or program.value(self.read, write.when, self.rng.bounded) != 0
            ):
                self.write_field(write)
                self.hooks[-1] = (self.hooks[-1] + 1) % 2**32

    def write_field(self, write: Write) -> None:
        """Set a field, or one of its elements."""
        program = self.common.program
        assert program is not None
        field = program.by_name[write.field]
        only = [max(write.element, 0)]
        for element in range(field.count) if write.element == ALL and field.count else only:
            number = program.value(self.read, write.to, self.rng.bounded)
            first = bytes_of(field, element, number, bytes(field.size))[0]
            before = bytes(self.read(first + k) for k in range(field.size))
            for k, byte in enumerate(bytes_of(field, element, number, before)[1]):
                self.store(first + k, byte)

    def store(self, place: int, byte: int) -> None:
        """Set a byte of WRAM, HRAM or the RAM of the cartridge."""
        bus = self.machine.bus
        if place >= CARTRIDGE:
            bus.cart.ram[place - CARTRIDGE] = byte & bus.cart.ram_bits
        elif place >= HIGH:
            bus.hram[place - HRAM] = byte
        else:
            bus.wram[place - WRAM] = byte

    # -- a world (docs/gameboy.md, 20) --

    def read(self, address: int) -> int:
        """Return a byte at a place, whatever a transfer or the display closes at this moment."""
        bus = self.machine.bus
        if address >= HOOK:
            number, byte = divmod(address - HOOK, 4)
            return self.hooks[number] >> 8 * byte & 0xFF
        if address >= CONSTANT:
            assert self.common.program is not None
            return self.common.program.constants[address - CONSTANT]
        if address >= IN_ROM:
            return self.common.cartridge.rom[address - IN_ROM]
        if address >= CARTRIDGE:
            return bus.cart.ram[address - CARTRIDGE]
        if address >= HIGH:
            return bus.read_between(address & 0xFF)
        if address >= OAM:
            return bus.ppu.oam[address - OAM]
        return bus.wram[address - WRAM] if address >= WRAM else bus.ppu.vram[address - VRAM]

    def place(self, name: str) -> int:
        """Read the number at a place of the RAM map, low byte first; 0 without such a place."""
        ram_map = self.common.ram_map
        if ram_map is None or name not in ram_map.places:
            return 0
        address = ram_map.places[name]
        parts = [self.read(address + k) << 8 * k for k in range(len(PLACES[name]))]
        return sum(parts)

    def places(self) -> list[int]:
        """Return the bytes of all of :class:`Place`."""
        found = [0] * len(Place)
        for name, parts in PLACES.items():
            for k, part in enumerate(parts):
                found[part] = self.place(name) >> 8 * k & 0xFF
        return found

    def events(self) -> list[int]:
        """Return the events as bits."""
        ram_map = self.common.ram_map
        if ram_map is None:
            return []
        return [
            self.read(ram_map.events + bit // 8) >> bit % 8 & 1 for bit in range(ram_map.num_events)
        ]

    def seen(self) -> tuple[int, int, list[int]]:
        """Return items, dialogue and events."""
        return self.place("items"), self.place("dialogue"), self.events()

    def look_around(self, items: int, dialogue: int, events: list[int]) -> bool:
        """Compare with what there was before the step; return whether the quest is finished."""
        ram_map = self.common.ram_map
        assert ram_map is not None
        now = self.events()
        fired = [bit for bit, was in enumerate(events) if now[bit] and not was]
        self.ev_items = max(0, self.place("items") - items)
        self.ev_dialogue = int(dialogue == 0 and self.place("dialogue") != 0)
        self.ev_events = len({*fired} & {*ram_map.rewarded})
        if {*fired} & {*self.config.renewing_events}:
            self.forget_visits()
        self.ev_cells = int(self.visit())
        self.cells += self.ev_cells
        return self.place("done") != 0

    def forget_visits(self) -> None:
        """Make all cells new again."""
        if self.common.slots == 0:
            self.visits[:] = bytes(len(self.visits))
            return
        self.visit_id += 1
        if self.visit_id > LAST_ID:
            self.visits[:] = bytes(len(self.visits))
            self.visit_id = 1

    def visit(self) -> bool:
        """Note the cell of now; return whether it was new."""
        ram_map = self.common.ram_map
        assert ram_map is not None
        cell = [self.place(name) for name in ("map", "x", "y")]
        if self.common.slots:
            return self.visit_slot([*cell, self.place("stage")])
        maps, rows, columns = ram_map.size
        number, x, y = cell
        if number >= maps or x >= columns or y >= rows:
            return False
        byte, bit = divmod((number * rows + y) * columns + x, 8)
        new = not self.visits[byte] >> bit & 1
        self.visits[byte] |= 1 << bit
        return new

    def was_visited(self, cell: list[int]) -> bool:
        """Tell whether a cell, with its stage, was visited in this episode."""
        number, x, y, _ = cell
        if x < 0 or y < 0:
            return False
        if self.common.slots:
            at = self.slot(cell)
            return int.from_bytes(self.visits[at : at + 2], "little") == self.visit_id
        assert self.common.ram_map is not None
        maps, rows, columns = self.common.ram_map.size
        if number >= maps or x >= columns or y >= rows:
            return False
        byte, bit = divmod((number * rows + y) * columns + x, 8)
        return bool(self.visits[byte] >> bit & 1)

    def slot(self, cell: list[int]) -> int:
        """Return where in the hash table a cell is."""
        index = 0
        for number, factor in zip(cell, HASH_FACTORS, strict=True):
            index ^= number * factor
        return 2 * (index % self.common.slots)

    def visit_slot(self, cell: list[int]) -> bool:
        """Note a cell in the hash table; return whether it was new."""
        at = self.slot(cell)
        marked = int.from_bytes(self.visits[at : at + 2], "little")
        self.visits[at : at + 2] = self.visit_id.to_bytes(2, "little")
        return marked != self.visit_id
