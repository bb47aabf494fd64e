"""What the environments of a configuration share: files that were read, rules, sizes of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fastenv.errors import ConfigError, FileError, show
from fastenv.gameboy import frames
from fastenv.gameboy.buttons import NOTHING, keys_of
from fastenv.gameboy.cartridge import Cartridge, load_cartridge, read_cartridge
from fastenv.gameboy.config import (
    BONUSES,
    BY_PIXEL,
    CELLS,
    FIXED,
    KINDS,
    OURS,
    POWER_UP,
    ROMS,
    SEEDED,
    GameBoyConfig,
)
from fastenv.gameboy.goal_template import GoalTemplate, goal_of
from fastenv.gameboy.layout import AUDIO, INFO, TERMS, WAITED, audio_shape, with_audio, with_waits
from fastenv.gameboy.observed import ACTIONS, VISITED, Observed, read_observed
from fastenv.gameboy.position import unpack
from fastenv.gameboy.ram_fields import CARTRIDGE, CONSTANT, HOOK, IN_ROM, RamField
from fastenv.gameboy.ram_map import NOWHERE, RamMap, load_ram_map, row_offset
from fastenv.gameboy.ram_place import MapPlace, load_place
from fastenv.gameboy.ram_program import (
    ENDS,
    LOST,
    Program,
    check_rom,
    load_program,
    with_wait,
)
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.shipped import not_read, shipped
from fastenv.gameboy.starts import Starts, load_starts
from fastenv.gameboy.state import (
    MAX_EVENT_BYTES,
    RULES_DTYPE,
    SHARED_DTYPE,
    SOUND_DTYPE,
    Source,
    fitted,
    lane_dtype,
    shared_record,
)
from fastenv.gameboy.tables import HIGH, LINE_BYTES

_FRACTIONS = (
    *("sticky", "repeat_action_probability", "step_cost", "alpha", "goal_bonus"),
    *BONUSES,
)
_COUNTS = ("frames_per_step", "stack_k")


@dataclass(frozen=True)
class Common:
    """What the environments of a configuration share.

    Parameters
    ----------
    config : GameBoyConfig
    cartridge : Cartridge
    starts : Starts
    goal : GoalTemplate or None
    ram_map : RamMap or None
        Of an overworld.
    program : Program or None
        Fields, rewards and ends of its file.
    place : MapPlace or None
        Where its file says that the player is.
    """

    config: GameBoyConfig
    cartridge: Cartridge
    starts: Starts
    goal: GoalTemplate | None
    ram_map: RamMap | None
    program: Program | None = None
    place: MapPlace | None = None

    @property
    def tau(self) -> float:
        """Distance below which a step is at the goal."""
        assert self.goal is not None
        return self.goal.tau if self.config.tau is None else float(self.config.tau)

    @property
    def k_consecutive(self) -> int:
        """How many steps in a row at the goal reach it."""
        assert self.goal is not None
        given = self.config.k_consecutive
        return self.goal.k_consecutive if given is None else int(given)

    @cached_property
    def keys(self) -> tuple[int, ...]:
        """What actions press, as bits of :class:`fastenv.gameboy.tables.Key`."""
        return self.config.keys

    @property
    def wait_keys(self) -> int:
        """What is pressed while a step lasts on, as bits."""
        name = self.config.wait_press
        return keys_of(() if name == NOTHING else (name,))

    @cached_property
    def goal_planes(self) -> bytes:
        """The frames of the goal, packed; nothing without a goal."""
        return b"" if self.goal is None else self.goal.packed()

    @property
    def slots(self) -> int:
        """Slots of the hash table of visits; 0 where there is none."""
        if self.ram_map is None or self.config.visits == CELLS:
            return 0
        return int(self.config.visits)

    @property
    def visits_bytes(self) -> int:
        """Bytes of what is remembered of visited cells."""
        if self.ram_map is None:
            return 0
        maps, rows, columns = self.ram_map.size
        return 2 * self.slots or (maps * rows * columns + 7) // 8

    @cached_property
    def observed(self) -> Observed | None:
        """What ``observe`` names."""
        return read_observed(self.config, self.program)

    @property
    def shows_pixels(self) -> bool:
        """Whether observations have frames; without, none are drawn."""
        return self.observed is None or self.observed.pixels

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of a row."""
        stack = self.config.stack_k, self.config.format.plane
        program = self.program or Program(())
        sizes = stack, self.visits_bytes, 8 * program.num_values
        recent = 0 if self.observed is None else self.observed.actions
        more = self.by_pixel, self.samples_bytes, program.memory_bytes, program.counted_bytes
        return lane_dtype(self.cartridge.ram_size, *sizes, *more, recent)

    @property
    def samples_bytes(self) -> int:
        """Bytes of the samples of the sound of a step, 0 where there are none."""
        frames, samples, sides = audio_shape(self.config)
        return 2 * frames * samples * sides if self.config.audio else 0

    @property
    def info_dtype(self) -> np.dtype[Any]:
        """Columns of a state."""
        kind = self.config.kind
        own = INFO[kind] if self.program is None else self.program.info_dtype(kind)
        return with_audio(with_waits(own, self.config), self.config)

    @property
    def terms_dtype(self) -> np.dtype[Any]:
        """Terms of the reward."""
        kind = self.config.kind
        return TERMS[kind] if self.program is None else self.program.terms_dtype(kind)

    @cached_property
    def rules(self) -> np.ndarray:
        """The rules as a record, shape (1,)."""
        config, form = self.config, self.config.format
        row = np.zeros(1, RULES_DTYPE)
        for name in (*_FRACTIONS, *_COUNTS):
            row[name] = getattr(config, name)
        row["fills_ram"] = config.ram_fill == SEEDED
        row["release_after"], row["max_steps"] = config.release_after_frames, config.max_steps or 0
        row["kind"], row["packed"] = KINDS.index(config.kind), form.packed
        row["plane"], row["rows"], row["columns"] = form.plane, len(form.ys), len(form.xs)
        row["ys"][0, : len(form.ys)], row["xs"][0, : len(form.xs)] = form.ys, form.xs
        row["lines"][0, list(form.ys)] = 1
        row["max_pool"] = config.max_pool
        row["num_actions"] = count = len(config.chords)
        row["keys"][0, :count] = self.keys
        row["allowed"][0, :count] = [config.is_allowed(k) for k in range(count)]
        row["unpack"] = frames.unpack_table(config.pixel_mode, form.packed)
        row["differences"] = frames.difference_table()
        row["places"] = NOWHERE
        self._write_sizes(row)
        if self.goal is not None:
            row["threshold"], row["k_consecutive"] = self.tau, self.k_consecutive
            row["distance_unit"] = frames.BLACK * 4 * len(self.goal_planes)
        if self.ram_map is not None:
            self._write_world(row, self.ram_map)
        row["plays_on"], row["waits"] = config.play_on, -1
        if self.observed is not None:
            self._write_observed(row, self.observed)
        row["terminates"] = row["truncates"] = row["lost_info_at"] = -1
        if self.program is not None:
            self._write_program(row, self.program)
        return row

    def _write_sizes(self, row: np.ndarray) -> None:
        fields: Any = self.dtype.fields
        row["cart_bytes"] = self.cartridge.ram_size
        row["stack_at"], row["visits_at"] = fields["stack"][1], fields["visits"][1]
        if self.by_pixel:
            row["line_at"], row["line_bytes"] = fields["line"][1], LINE_BYTES
        if self.config.audio:
            columns: Any = self.info_dtype.fields
            row["sound_at"], row["samples_at"] = fields["sound"][1], fields["samples"][1]
            row["sound_bytes"], row["samples_bytes"] = SOUND_DTYPE.itemsize, self.samples_bytes
            row["samples_info_at"] = columns[AUDIO][1]
        row["visits_bytes"], row["slots"] = self.visits_bytes, self.slots
        row["num_starts"], row["goal_bytes"] = len(self.starts.rows), len(self.goal_planes)
        row["start_bytes"] = self.starts.rows.itemsize + self.config.format.plane

    def _write_observed(self, row: np.ndarray, observed: Observed) -> None:
        columns: Any = observed.record(self.config).fields
        fields: Any = self.dtype.fields
        row["observes"], row["hides_pixels"] = 1, not observed.pixels
        row["num_observed"], row["num_recent"] = len(observed.parts), observed.actions
        if observed.actions:
            row["recent_at"], row["actions_at"] = fields["recent"][1], columns[ACTIONS][1]
        if VISITED in columns:
            row["visited"], row["visited_at"] = observed.visited, columns[VISITED][1]

    def _write_world(self, row: np.ndarray, ram_map: RamMap) -> None:
        row["size"], row["places"] = ram_map.size, ram_map.offsets()
        row["num_events"], row["events_at"] = ram_map.num_events, row_offset(ram_map.events)
        row["rewarded"] = event_bits(ram_map.rewarded)
        row["renewing"] = event_bits(self.config.renewing_events)

    def _write_program(self, row: np.ndarray, program: Program) -> None:
        fields: Any = self.dtype.fields
        columns: Any = self.info_dtype.fields
        row["lost_info_at"] = columns[LOST][1] if program.sets else -1
        if program.num_values:
            row["values_at"] = fields["values"][1]
        if program.memory_bytes:
            row["memory_at"], row["memory_bytes"] = fields["memory"][1], program.memory_bytes
        row["num_hooks"], row["num_writes"] = len(program.hooks), len(program.writes)
        if program.counted_bytes:
            row["counted_at"], row["counted_bytes"] = fields["hooks"][1], program.counted_bytes
        for hook in program.hooks:
            if hook.address >= 0:
                row["watched_pages"] |= 1 << (hook.address >> 12)
        if any(hook.place >= 0 for hook in program.hooks):
            rom = SHARED_DTYPE.itemsize + len(self.cartridge.rom)
            row["program_at"] = rom + len(program.constants)
        row["num_fields"], row["num_loads"] = len(program.fields), program.num_loads
        row["num_terms"], row["num_rewards"] = len(program.expressions), len(program.rewards)
        row["num_numbers"] = len(program.numbers)
        row["num_cells"], row["num_sets"] = len(program.cells), len(program.sets)
        row["terminates"], row["truncates"] = map(program.end, ENDS)
        if program.waits is not None:
            row["waits"], row["wait_steps"] = program.wait_term, self.config.wait_steps
            row["wait_keys"], row["waited_info_at"] = self.wait_keys, columns[WAITED][1]

    def offset_of(self, field: RamField) -> int:
        """Return where in its source the first byte of a field is."""
        place = field.place
        fields: Any = self.dtype.fields
        if place >= HOOK:
            return int(fields["hooks"][1]) + place - HOOK
        if place >= CONSTANT:
            return SHARED_DTYPE.itemsize + len(self.cartridge.rom) + place - CONSTANT
        if field.source == Source.ROM:
            return SHARED_DTYPE.itemsize + place - IN_ROM
        if field.source == Source.REGISTERS:
            return place - HIGH
        if place >= CARTRIDGE:
            return int(fields["cart"][1]) + place - CARTRIDGE
        return row_offset(place)

    def shared(self) -> np.ndarray:
        """Build the record that all lanes of an engine share, shape (1,)."""
        records = self.starts.records(self.config.format)
        parts = self.rules, self.goal_planes, records
        tables: dict[str, Any] = {}
        behind = b""
        if self.program is not None:
            at = int(self.rules["memory_at"][0])
            tables = self.program.tables(self.config.kind, self.offset_of, at)
            trapped = self.program.trapped(self.cartridge.rom)
            behind = self.program.constants + trapped
            if trapped:
                tables["traps"] = self.program.traps(self.cartridge.rom, trapped)
        if self.observed is not None and self.observed.parts:
            tables["observed"] = self.observed.table(self.config)
        return shared_record(self.cartridge, *parts, *self.machine_options, tables, behind)

    @property
    def by_pixel(self) -> bool:
        """Whether pictures are exact within a line."""
        return self.config.accuracy == BY_PIXEL

    @property
    def machine_options(self) -> tuple[bool, bool, bool, bool]:
        """Whether video memory is strict, frames fixed, pictures exact by pixel, sound sampled."""
        config = self.config
        strict, fixed = bool(config.strict_video_access), config.frame_policy == FIXED
        return strict, fixed, self.by_pixel, bool(config.audio)

    def machine(self, row: np.ndarray) -> Machine:
        """Return the reference machine of a row, shape (1,)."""
        return unpack(row, self.cartridge, *self.machine_options)


def event_bits(numbers: tuple[int, ...]) -> np.ndarray:
    """Return a bit for each of these events, in ``MAX_EVENT_BYTES`` bytes."""
    flags = np.zeros(8 * MAX_EVENT_BYTES, np.uint8)
    flags[[*numbers]] = 1
    return np.packbits(flags, bitorder="little")


def read_rom(rom: str | Path) -> Cartridge:
    """Return the cartridge of a ROM file, or of the one of ours with that name.

    Raises
    ------
    ConfigError
        If it cannot be read, or its cartridge is not emulated.
    """
    if rom in ROMS:
        return read_cartridge(shipped("roms", f"{rom}.gb").read_bytes(), str(rom))
    try:
        return load_cartridge(rom)
    except FileError as error:
        raise not_read("rom", error, rom, ROMS) from error


def load_common(config: GameBoyConfig) -> Common:
    """Read the files of a configuration.

    Raises
    ------
    ConfigError, StateError
        If one of them cannot be read or belongs to another ROM.
    """
    cartridge, states = read_rom(config.rom), config.states
    if states is None:
        states = POWER_UP if config.rom != OURS or config.kind == "pixels" else OURS
    if config.ram_fill == SEEDED and states != POWER_UP:
        raise ConfigError(
            f"ram_fill={SEEDED!r} is not possible: states={show(str(states))} say what memory "
            f"holds, only {POWER_UP!r} does not."
        )
    audio = bool(config.audio)
    starts = load_starts(states, cartridge, audio)
    starts = replace(starts, rows=fitted(starts.rows, config.accuracy == BY_PIXEL, audio))
    number = config.start_state
    if number is not None and number >= len(starts.rows):
        last = len(starts.rows) - 1
        raise ConfigError(f"start_state={number} is not possible: it must be from 0 to {last}.")
    ram_map = None
    if config.kind == "overworld":
        ram_map = load_ram_map(config.ram_map or OURS)
        for event in config.renewing_events:
            if event >= ram_map.num_events:
                raise ConfigError(
                    f"renewing_events={show(config.renewing_events)} is not possible: the RAM "
                    f"map has {ram_map.num_events} events."
                )
    goal = goal_of(config, cartridge) if config.kind == "goal" else None
    made = Common(config, cartridge, starts, goal, ram_map, _program(config, cartridge))
    given = None if config.ram_map is None else load_place(config.ram_map, made.info_dtype)
    return replace(made, place=MapPlace() if given is None and ram_map is not None else given)


def _program(config: GameBoyConfig, cartridge: Cartridge) -> Program | None:
    """Load the program of the RAM map and check it against the cartridge; None without one."""
    path = config.ram_map
    if path is None:
        return None
    found = load_program(path, config.kind)
    shown = f"ram_map={show(str(path))}"
    if found is None:
        if config.kind == "overworld" and config.wait_until is None:
            return None
        raise ConfigError(f"{shown}: it has neither fields, rewards nor ends.")
    check_rom(found, cartridge, shown)
    if config.wait_until is not None:
        found = with_wait(found, config.wait_until)
    columns = {AUDIO: (config.audio, "audio=True"), WAITED: (config.wait_until, "wait_until")}
    for name, (given, option) in columns.items():
        names = {each.name for each in found.shown} | {each.name for each in found.numbers}
        if given and name in names:
            raise ConfigError(
                f"{shown}: fields.{name} has the name of the column of {option}: it needs another."
            )
    for field in found.fields:
        memory, begin, size = "cartridge's RAM", CARTRIDGE, cartridge.ram_size
        if field.source == Source.ROM:
            memory, begin, size = "ROM", IN_ROM, len(cartridge.rom)
        if begin <= field.place < CONSTANT and field.end > begin + size:
            raise ConfigError(
                f"{shown}: fields.{field.name} ends at byte {field.end - begin:,} of the {memory}, "
                f"which has {size:,}."
            )
    for hook in found.hooks:
        if hook.place >= len(cartridge.rom):
            raise ConfigError(
                f"{shown}: hooks.{hook.name}.at={show(hook.at)} is not possible: the ROM has "
                f"{cartridge.rom_banks} banks, 00 to {cartridge.rom_banks - 1:02X}."
            )
    return found.with_writes(config.writes, shown)
