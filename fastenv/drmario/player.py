"""A bottle of Dr. Mario with its registers in plain Python, frame by frame: part of the oracle.

``reference.DrMario`` has one or two players, and what they share. Section numbers are those of
``docs/drmario.md``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from fastenv.drmario import tables as t
from fastenv.drmario.adjacency import adjacency
from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.state import VIEW_DTYPE
from fastenv.drmario.tables import Button, Mode, Next, Tile

SIDES = Button.LEFT | Button.RIGHT
MASK32 = (1 << 32) - 1
VIEW_NAMES = VIEW_DTYPE.names or ()


class Match(Protocol):
    """What a player reads of its game."""

    config: DrMarioConfig
    frame: int
    reserve: list[int]
    versus: bool
    replay: bool
    measures: bool
    players: list[Player]

    def demo_input(self, player: Player) -> None:
        """Take a frame of the demo's input."""

    def goal_met(self, player: Player) -> bool:
        """Tell whether a player has reached what the level asks for."""


class Player:
    """A bottle and its registers; the attributes are the fields of ``PLAYER_DTYPE``.

    Parameters
    ----------
    game : DrMario
        What it shares with the other player.
    """

    mode: int
    next_action: int
    placed_step: int
    row: int
    col: int
    rot: int
    color_first: int
    color_second: int
    preview_first: int
    preview_second: int
    preview_rot: int
    speed_counter: int
    hor_velocity: int
    throw_frame: int
    virus_bcd: int
    status_row: int
    reserve_index: int
    pill_count_lo: int
    pill_count_hi: int
    speed_setting: int
    speed_ups: int
    match_flag: int
    combo_counter: int
    chain_length: int
    buttons_prev: int
    buttons_held: int
    buttons_pressed: int
    intro_wait: int
    stage_clear: int
    level_fail: int
    scored: int
    attack_size: int
    attack_colors: list[int]
    level: int
    initial_viruses: int
    clearing: int
    height: int
    decided: int
    decided_frame: int
    plan_left: int
    plan_action: int
    locks: int
    matches: int
    score: int
    decisions: int
    ev_locks: int
    ev_lock_row: int
    ev_lock_col: int
    ev_lock_rot: int
    ev_tiles_virus: int
    ev_tiles_nonvirus: int
    ev_matches: int
    ev_height: int
    ev_action: int
    ev_cost: int
    ev_adjacency: list[int]
    ev_virus_adjacency: list[int]
    ev_volleys: int
    ev_volley_size: int
    ev_volley_column: int
    ev_volley_frame: int
    ev_volley_colors: list[int]

    def __init__(self, game: Match) -> None:
        self.game = game
        self.board: list[int] = [t.EMPTY] * t.CELLS
        self.clear()

    # -- registers (docs/drmario.md, 3) --------------------------------------------------------

    def clear(self) -> None:
        """Set every register to 0, but for those that have another value for nothing."""
        self.mode, self.next_action, self.placed_step = int(Mode.INTRO), int(Next.SEND), 0
        self.row = self.col = self.rot = self.color_first = self.color_second = 0
        self.preview_first = self.preview_second = self.preview_rot = 0
        self.speed_counter = self.hor_velocity = self.throw_frame = self.virus_bcd = 0
        self.status_row = t.IDLE
        self.reserve_index = self.pill_count_lo = self.pill_count_hi = 0
        self.speed_setting = self.speed_ups = 0
        self.match_flag = self.combo_counter = self.chain_length = 0
        self.buttons_prev = self.buttons_held = self.buttons_pressed = 0
        self.intro_wait = self.stage_clear = self.level_fail = self.scored = 0
        self.attack_size, self.attack_colors = 0, [0] * t.MAX_ATTACK
        self.level = self.initial_viruses = self.latches = self.clearing = self.height = 0
        self.decided, self.decided_frame = t.NO_SPAWN, 0
        self.plan_left, self.plan_action = 0, t.NO_ACTION
        self.locks = self.matches = self.score = self.decisions = 0
        self.clear_events()

    def clear_events(self) -> None:
        """Forget what happened in the last step."""
        self.ev_invalid = self.ev_locks = self.ev_lock_row = self.ev_lock_col = 0
        self.ev_lock_rot = self.ev_tiles_virus = self.ev_tiles_nonvirus = self.ev_matches = 0
        self.ev_height, self.ev_action, self.ev_cost = self.height, t.NO_ACTION, 0
        self.ev_adjacency, self.ev_virus_adjacency = [0] * t.NUM_COLORS, [0] * t.NUM_COLORS
        self.ev_garbage_sent = self.ev_volleys = self.ev_volley_size = 0
        self.ev_volley_column = self.ev_volley_frame = 0
        self.ev_volley_colors = [0] * t.MAX_ATTACK

    def start(self, level: int, speed: int, board: list[int]) -> None:
        """Begin a level with a bottle of viruses."""
        self.clear()
        self.level, self.speed_setting, self.board = level, speed, board
        self.initial_viruses = sum(tile & 0xF0 == Tile.VIRUS for tile in board)
        self.virus_bcd = t.to_bcd(self.initial_viruses)
        self.intro_wait = self.game.config.intro_frames
        self.next_pill()
        self.next_pill()
        self.pill_count_lo, self.pill_count_hi = 1, 0
        self.measure()
        self.clear_events()

    # -- a frame (docs/drmario.md, 4) ----------------------------------------------------------

    def frame(self, raw: int) -> None:
        """Do what a player does in a frame, after the frame counter went up."""
        if self.status_row != t.IDLE:
            self.status_row = (self.status_row - 1) & 0xFF
        if self.mode == Mode.DEMO:
            self.game.demo_input(self)
        else:
            self.press(raw)
        if self.stage_clear or self.level_fail:
            return
        if self.intro_wait:
            self.intro_wait -= 1
            if self.intro_wait == 0 and self.mode != Mode.DEMO:
                self.mode = Mode.PLAYING
            return
        self.act()
        self.count_matches()

    def press(self, raw: int) -> None:
        """Take a byte of buttons, as it is: opposite directions may be held together."""
        self.buttons_pressed = raw & ~self.buttons_prev
        self.buttons_held = self.buttons_prev = raw

    def act(self) -> None:
        """Run the one action that is due."""
        if self.next_action == Next.FALLING:
            self.fall()
        elif self.next_action == Next.PLACED:
            self.settle()
        elif self.next_action == Next.ATTACK:
            self.attack()
        elif self.next_action == Next.SENT:
            self.next_action = Next.FALLING
        elif self.next_action == Next.ADVANCE:
            self.next_action = Next.SEND
        else:
            self.send()

    def count_matches(self) -> None:
        """Count a match event where cells begin to be cleared (docs/drmario.md, 12.3)."""
        cells = sum(tile & 0xF0 in (Tile.CLEARING, Tile.EMPTIED) for tile in self.board)
        clearing = int(cells - self.board.count(t.EMPTY) >= t.MATCH)
        if clearing and not self.clearing:
            self.ev_matches += 1
            self.matches += 1
        self.clearing = clearing

    # -- the falling pill (docs/drmario.md, 5) -------------------------------------------------

    def fall(self) -> None:
        """Move the pill: down, sideways, round; all three, even if the first one locks it."""
        self.chain_length = 0
        if self.plan_left:
            self.plan_left -= 1
            if self.plan_left == 0:
                self.complete_plan()
                return
            if not self.game.replay:
                return
        self.move_down()
        self.move_sideways()
        self.turn()

    def halves(self, row: int, col: int, rot: int) -> list[tuple[int, int, int]]:
        """Return row, column and tile of the first half and of the second."""
        return [(row + up, col + right, tile) for up, right, tile in t.HALVES[rot]]

    def fits(self, row: int, col: int, rot: int) -> bool:
        """Tell whether a pill may be in a pose; halves above the bottle are free to be there."""
        if row < 0:
            return False
        for r, c, _ in self.halves(row, col, rot):
            if not 0 <= c < t.COLUMNS:
                return False
            if r < t.ROWS and self.board[cell_of(r, c)] != t.EMPTY:
                return False
        return True

    def gravity(self) -> int:
        """Return the frames that the pill waits in a row, less one."""
        return t.gravity(self.speed_setting, self.speed_ups)

    def move_down(self) -> None:
        """Let the pill fall (docs/drmario.md, 5.1)."""
        if self.game.frame & 1 and self.buttons_held & t.DPAD == Button.DOWN:
            self.lower()
            return
        self.speed_counter += 1
        if self.speed_counter > self.gravity():
            self.lower()

    def lower(self) -> None:
        """Move the pill one row down, or lock it."""
        self.speed_counter = 0
        if self.row > 0 and self.fits(self.row - 1, self.col, self.rot):
            self.row -= 1
        else:
            self.lock(self.row, self.col, self.rot)

    def lock(self, row: int, col: int, rot: int) -> None:
        """Write the pill into the bottle."""
        before = [*self.board]
        self.write_pill(row, col, rot)
        self.next_action = Next.PLACED
        self.locks += 1
        self.ev_locks += 1
        self.ev_lock_row, self.ev_lock_col, self.ev_lock_rot = row, col, rot
        self.ev_adjacency = adjacency(before, self.board, viruses=False)
        self.ev_virus_adjacency = adjacency(before, self.board, viruses=True)

    def write_pill(self, row: int, col: int, rot: int) -> None:
        """Write both halves, but none above the bottle."""
        self.status_row = t.ROWS - 1 - row
        colors = (self.color_first, self.color_second)
        for (r, c, tile), color in zip(self.halves(row, col, rot), colors, strict=True):
            if r < t.ROWS:
                self.board[cell_of(r, c)] = tile | color

    def move_sideways(self) -> None:
        """Move the pill when a direction is pressed, or held long enough (docs/drmario.md, 5.2).

        With both held it goes to the right and back, or where only one is possible, there.
        """
        if self.buttons_pressed & SIDES:
            self.hor_velocity = 0
        elif self.buttons_held & SIDES:
            self.hor_velocity += 1
            if self.hor_velocity < t.FIRST_REPEAT:
                return
            self.hor_velocity = t.NEXT_REPEAT
        else:
            return
        limit = t.COLUMNS - 1 if self.rot & 1 else t.COLUMNS - 2
        if self.buttons_held & Button.RIGHT and self.col != limit:
            self.shift(1)
        if self.buttons_held & Button.LEFT and self.col > 0:
            self.shift(-1)

    def shift(self, way: int) -> None:
        """Move the pill by a column unless a cell is in the way."""
        if self.fits(self.row, self.col + way, self.rot):
            self.col += way
        else:
            self.hor_velocity = t.BLOCKED_REPEAT

    def turn(self) -> None:
        """Turn the pill with A and B (docs/drmario.md, 5.3)."""
        old = self.rot, self.col
        if self.buttons_pressed & Button.A:
            self.try_rotation((self.rot - 1) & 3, old)
        if self.buttons_pressed & Button.B:
            self.try_rotation((self.rot + 1) & 3, old)

    def try_rotation(self, rot: int, old: tuple[int, int]) -> None:
        """Turn the pill, with a kick to the left if it lies down, or put it back."""
        self.rot = rot
        lying = rot & 1 == 0
        beside = lying and self.col > 0 and self.fits(self.row, self.col - 1, rot)
        if self.fits(self.row, self.col, rot):
            if beside and self.buttons_held & Button.LEFT:
                self.col -= 1
        elif beside:
            self.col -= 1
        else:
            self.rot, self.col = old

    # -- after the lock (docs/drmario.md, 6) ---------------------------------------------------

    def settle(self) -> None:
        """Run one step of what happens after a lock."""
        step, self.placed_step = self.placed_step, self.placed_step + 1
        if step == 0:
            self.scored = 0
        elif step == 3:
            if self.status_row != t.IDLE:
                self.placed_step = 3
                return
            moved = self.drop()
            self.status_row = t.ROWS - 1
            self.placed_step = 2 if moved else 4
        elif step == 4:
            self.match_flag = 0
        elif step == 5:
            self.scan([range(r * t.COLUMNS, (r + 1) * t.COLUMNS) for r in range(t.ROWS)])
        elif step == 6:
            self.scan([range(c, t.CELLS, t.COLUMNS) for c in range(t.COLUMNS)])
        elif step == 7:
            self.update_field()
            self.status_row = t.ROWS - 1
            self.placed_step = 1 if self.match_flag else 8
        elif step == 8:
            self.placed_step = 0
            self.next_action = Next.ATTACK

    def drop(self) -> bool:
        """Move everything unsupported down by a row; tell whether anything moved."""
        board, moved = self.board, False
        for p in reversed(range(t.CELLS)):
            if board[p] < t.FREE:
                continue
            board[p] = t.EMPTY
            q = p - t.COLUMNS
            if q < 0:
                continue
            kind = board[q] & 0xF0
            if kind > Tile.SINGLE or kind == Tile.LEFT:
                continue
            if kind == Tile.RIGHT:
                if p % t.COLUMNS == 0 or board[p - 1] < t.FREE:
                    continue
                board[p - 1], board[q - 1] = board[q - 1], t.EMPTY
            board[p], board[q] = board[q], t.EMPTY
            moved = True
        return moved

    def scan(self, lines: list[range]) -> None:
        """Mark runs of four or more cells of one colour in each line."""
        for line in lines:
            i = 0
            while i + t.MATCH <= len(line):
                color = self.board[line[i]] & 15
                if self.board[line[i]] >= t.FREE:
                    i += 1
                    continue
                end = i + 1
                while end < len(line) and self.board[line[end]] & 15 == color:
                    end += 1
                if end - i < t.MATCH:
                    i += 1
                    continue
                self.match(line[i:end], color)
                i = end

    def match(self, cells: range, color: int) -> None:
        """Mark a run."""
        self.combo_counter += 1
        if self.combo_counter <= t.MAX_ATTACK and self.game.versus:
            self.attack_colors[self.combo_counter - 1] = color
        self.chain_length = (self.chain_length + len(cells)) & 0xFF
        self.match_flag += 1
        for cell in cells:
            kind = self.board[cell] & 0xF0
            if kind == Tile.VIRUS:
                self.ev_tiles_virus += 1
                self.remove_virus()
            elif kind != Tile.CLEARING:
                self.ev_tiles_nonvirus += 1
            self.board[cell] = Tile.CLEARING | color

    def remove_virus(self) -> None:
        """Count a virus less, and what it is worth (docs/drmario.md, 8)."""
        if self.virus_bcd == 0:
            return
        self.virus_bcd = t.bcd_down(self.virus_bcd)
        self.status_row = t.ROWS - 1
        if not self.game.versus:
            self.score += t.SCORES[self.speed_setting] * t.SCORE_FACTORS[self.scored]
            self.scored = min(self.scored + 1, t.MAX_SCORED)
        if self.virus_bcd == 0:
            self.stage_clear = 1

    def update_field(self) -> None:
        """Empty the marked cells; halves that lost their partner become single."""
        board = self.board
        for p in reversed(range(t.CELLS)):
            kind, color = board[p] & 0xF0, board[p] & 15
            if kind == Tile.CLEARING:
                board[p] |= Tile.EMPTIED
            elif kind in t.PARTNERS:
                way, partner = t.PARTNERS[Tile(kind)]
                if not (0 <= p + way < t.CELLS and board[p + way] & 0xF0 == partner):
                    board[p] = Tile.SINGLE | color

    # -- spawn and throw (docs/drmario.md, 7) --------------------------------------------------

    def send(self) -> None:
        """Throw the next pill; with two players it is there at once (docs/drmario.md, 9)."""
        if not self.game.versus:
            if self.speed_setting == 0 and not self.game.frame & 1:
                return
            if self.throw_frame != t.LAST_THROW:
                self.throw()
                return
        self.next_pill()
        self.next_action = Next.SENT
        if not self.fits(self.row, self.col, self.rot):
            self.write_pill(self.row, self.col, self.rot)
            self.level_fail = 1
            self.mode = Mode.LOST

    def throw(self) -> None:
        """Show the next image of the throw."""
        self.throw_frame += 1
        while self.throw_frame in t.THROW_SKIPPED:
            self.throw_frame += 1
        if self.throw_frame % 2 == 0:
            self.preview_rot = (self.preview_rot - 1) & 3

    def next_pill(self) -> None:
        """Let the next pill fall, and show the one after it."""
        self.color_first, self.color_second = self.preview_first, self.preview_second
        pill = self.game.reserve[self.reserve_index]
        self.preview_first, self.preview_second = divmod(pill, t.NUM_COLORS)
        self.reserve_index = (self.reserve_index + 1) % t.RESERVE
        self.throw_frame = self.preview_rot = self.combo_counter = 0
        self.row, self.col, self.rot = t.SPAWN_ROW, t.SPAWN_COLUMN, 0
        self.count_pill()
        if self.pill_count_lo & 15 == 0 and self.speed_ups < t.MAX_SPEED_UPS:
            self.speed_ups += 1

    def count_pill(self) -> None:
        """Count the pill, up to 9,999."""
        if (self.pill_count_hi, self.pill_count_lo) == (0x99, 0x99):
            return
        self.pill_count_lo = t.bcd_up(self.pill_count_lo)
        if self.pill_count_lo == 0xA0:
            self.pill_count_lo, self.pill_count_hi = 0, t.bcd_up(self.pill_count_hi)

    # -- attacks (docs/drmario.md, 9) ----------------------------------------------------------

    def attack(self) -> None:
        """Charge an attack, and let the one of the opponent fall on this bottle."""
        self.next_action = Next.ADVANCE
        if not self.game.versus:
            return
        if self.combo_counter >= t.MIN_ATTACK:
            self.attack_size = (self.attack_size + self.combo_counter) & 0xFF
        self.combo_counter = 0
        opponent = self.game.players[self is self.game.players[0]]
        if opponent.attack_size < t.MIN_ATTACK:
            return
        size = min(opponent.attack_size, t.MAX_ATTACK)
        mask, offsets = t.GARBAGE[size]
        first = self.game.frame & mask
        for color, offset in zip(opponent.attack_colors, offsets, strict=False):
            self.board[first + offset] = Tile.SINGLE | color
        opponent.attack_size = 0
        self.next_action = Next.PLACED
        opponent.ev_garbage_sent += size
        self.ev_volleys += 1
        self.ev_volley_size, self.ev_volley_column = size, first
        self.ev_volley_colors = [*opponent.attack_colors]
        self.ev_volley_frame = self.game.frame

    # -- placements (docs/drmario.md, 12.2) ----------------------------------------------------

    def needs_decision(self) -> bool:
        """Tell whether a pill is there that nothing was decided about."""
        there = self.mode == Mode.PLAYING and self.next_action == Next.FALLING
        return there and self.reserve_index != self.decided

    def complete_plan(self) -> None:
        """Lock the pill where it was to lie; what sets it aside when it is there means nothing."""
        if self.game.replay:
            self.move_down()
        else:
            self.speed_counter = 0
            self.lock(*pose_of(self.plan_action))
        self.row, self.col, self.rot = self.ev_lock_row, self.ev_lock_col, self.ev_lock_rot
        self.hor_velocity, self.plan_action = 0, t.NO_ACTION

    # -- height (docs/drmario.md, 14.1) --------------------------------------------------------

    def measure(self) -> None:
        """Measure the stack, if a reward needs it: its height, and twice that above any virus."""
        if not self.game.measures:
            return
        rows = [self.board[i : i + t.COLUMNS] for i in range(0, t.CELLS, t.COLUMNS)]
        tallest = height_of(any(tile < t.FREE for tile in row) for row in rows)
        virus = height_of(any(tile & 0xF0 == Tile.VIRUS for tile in row) for row in rows)
        self.height = min(tallest + 2 * max(0, tallest - virus), t.MAX_HEIGHT)


def cell_of(row: int, col: int) -> int:
    """Return the cell of a row from the bottom and a column."""
    return (t.ROWS - 1 - row) * t.COLUMNS + col


def pose_of(action: int) -> tuple[int, int, int]:
    """Return row, column and rotation that a placement means (docs/drmario.md, 11.3)."""
    orientation, cell = divmod(action, t.CELLS)
    row, col = t.ROWS - 1 - cell // t.COLUMNS, cell % t.COLUMNS
    return ((row, col, 0), (row - 1, col, 3), (row, col - 1, 2), (row, col, 1))[orientation]


def height_of(rows: Iterable[bool]) -> int:
    """Return the height of the first row, from the top, that has something; 0 if none has."""
    return next((t.ROWS - i for i, found in enumerate(rows) if found), 0)


def view_of(player: Player) -> list[Any]:
    """Return the fields of a player in the view of a frame, in the order of ``VIEW_DTYPE``."""
    return [[*getattr(player, n)] if n == "board" else getattr(player, n) for n in VIEW_NAMES]
