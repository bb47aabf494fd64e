"""The application of the terminal: any game played, watched, and stepped through."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import textual.app
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input, Static

from training.terminal import panels, text, thinking
from training.terminal.session import FACTOR, TerminalSession

REFRESH, FEWEST = 30.0, 5.0  # pictures a second of up to four boards, and of any number
SHARE = 0.7  # of the time between two pictures that may be spent on playing
SKIP = 60  # steps of the key f
BESIDE = 38  # columns beside a board in which the panels stand there; else below it
TWO = 72  # columns from which panels stand in two columns
EVENTS = 12  # lines of the newest events
MOVES = 8  # one line in so many is for the moves of a person

HELP = (
    ("space", "pause, go on"),
    ("n, b", "one step on, one step back"),
    ("f", f"{SKIP} steps"),
    ("+ or =", f"faster, by {FACTOR}"),
    ("-", "slower"),
    ("m", "maximum speed, and back"),
    ("arrows", "choose a move; else scroll"),
    ("Enter", "make the move that is chosen"),
    ("Esc", "leave what is typed"),
    ("0-9", "type a move's number; else show that environment, 0 all"),
    ("/", "type the name of a move"),
    ("Tab, Shift-Tab", "next, previous view: all environments, then each of them"),
    ("g", "all environments or one"),
    ("[ ]", "one environment fewer, more; they begin anew"),
    ("e", "type their number"),
    ("r", "begin anew with random seeds, or with those of --seed"),
    ("pages", "scroll"),
    ("h or ?", "this help"),
    ("q", "quit"),
)


class Help(ModalScreen[None]):
    """The keys; any of them closes it."""

    def compose(self) -> textual.app.ComposeResult:
        """Show them."""
        shown = Table.grid(padding=(0, 2))
        for keys, what in HELP:
            shown.add_row(Text(keys, "bold"), what)
        yield Static(shown, id="help")

    def on_key(self) -> None:
        """Close."""
        self.dismiss()


class App(textual.app.App[None]):
    """Shows a session.

    Parameters
    ----------
    session : TerminalSession
    times : Path or None
        File of best times.
    auto : bool
        Play by the clock; otherwise only :meth:`tick` does.

    Attributes
    ----------
    shown : int
        What is shown: 0 all lanes, k lane k - 1.
    chosen : int
        Which of the legal moves of a person is chosen.
    """

    CSS = """
    #title, #status { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    #title { background: $primary; color: $text; text-style: bold; }
    #body { height: 1fr; layout: horizontal; }
    #boards { width: auto; height: 1fr; overflow: hidden auto; padding: 0 1 0 0; }
    #board { width: auto; }
    #panels { width: 1fr; height: 1fr; overflow: hidden auto; }
    #panels Static { border: round $primary; height: auto; padding: 0 1; }
    #figures { layout: vertical; height: auto; }
    Screen.-two #figures { layout: horizontal; }
    .column { width: 1fr; height: auto; }
    Screen.-below #body { layout: vertical; overflow: hidden auto; scrollbar-size: 0 0; }
    Screen.-below #boards, Screen.-below #panels { width: 1fr; height: auto; overflow: hidden; }
    Screen.-below #boards, Screen.-all #boards { padding: 0; }
    Screen.-all #panels { display: none; }
    Screen.-all #boards { width: 1fr; }
    #choice, #moves { height: auto; }
    #choice { color: $accent; text-style: bold; }
    #typed { height: 1; border: none; padding: 0 1; display: none; }
    #status { color: $text-muted; }
    Help { align: center middle; }
    #help { border: round $primary; background: $surface; padding: 1; width: auto; }
    """
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None  # keys are ours until something is typed
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "pause"),
        Binding("n", "steps(1)"),
        Binding("f", f"steps({SKIP})"),
        Binding("b", "step_back"),
        Binding("plus,equals_sign", f"faster({FACTOR})"),
        Binding("minus", f"faster({1 / FACTOR})"),
        Binding("m", "maximum"),
        Binding("tab", "turn(1)", priority=True),
        Binding("shift+tab", "turn(-1)", priority=True),
        *(Binding(str(k), f"number({k})") for k in range(10)),
        Binding("slash", "type('')"),
        Binding("g", "all"),
        Binding("left_square_bracket", "resize(-1)"),
        Binding("right_square_bracket", "resize(1)"),
        Binding("e", "type('')"),
        Binding("enter", "choose"),
        Binding("escape", "cancel"),
        Binding("r", "random_seeds"),
        *(Binding(key, f"move({way}, 0)") for key, way in (("left", -1), ("right", 1))),
        *(Binding(key, f"move(0, {way})") for key, way in (("up", -1), ("down", 1))),
        *(Binding(key, f"scroll_by({way})") for key, way in (("pageup", -10), ("pagedown", 10))),
        Binding("h,question_mark", "help"),
        Binding("q", "quit"),
    ]

    def __init__(
        self, session: TerminalSession, times: Path | None = None, auto: bool = True
    ) -> None:
        super().__init__()
        session.weighs = True
        self.session, self._auto = session, auto
        self.own = panels.find_panels(session.source.env, times)
        self.training = panels.read_training(session.source.run)
        self.shown, self._one, self.chosen = 1, 1, 0
        self._timer: Timer | None = None
        self._columns = 1  # of the moves
        self._wide = 0  # the widest board so far: panels beside it stay where they are
        self._drawn: tuple[int, bool, int, bool] | None = None  # what is on the screen
        self._look(0 if session.num_envs > 1 else 1)

    # -- what is there ---------------------------------------------------------------------------

    def compose(self) -> textual.app.ComposeResult:
        """Return title, boards, panels, what comes next, and status."""
        yield Static(id="title")
        with Container(id="body"):
            with Container(id="boards"):
                yield Static(id="board")
            with Container(id="panels"):
                yield _make_panel("thought")
                yield _make_panel("events")
                names = [name for name, _ in self._list_figures()]
                with Container(id="figures"):
                    for k in range(2):
                        with Container(classes="column"):
                            yield from map(_make_panel, names[k::2])
        yield Static(id="choice")
        yield Static(id="moves")
        yield Input(id="typed", select_on_focus=False)
        yield Static(id="status")

    def on_mount(self) -> None:
        """Begin to play."""
        self._set_timer()
        self.show()

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.call_after_refresh(self.show)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        if self._auto:
            self._timer = self.set_interval(1 / self.refresh_rate, self.tick)

    @property
    def refresh_rate(self) -> float:
        """Pictures a second: fewer the more boards there are."""
        return min(REFRESH, max(FEWEST, REFRESH * 4 / self.session.num_envs))

    def tick(self) -> None:
        """Play what is due, and draw what has changed."""
        session = self.session
        session.advance(SHARE / self.refresh_rate)
        if self._drawn != self._sum_up():
            self.show()

    def _sum_up(self) -> tuple[int, bool, int, bool]:
        """Return what decides whether the screen has to be drawn anew."""
        session = self.session
        return id(session.moment), session.waits, id(session.rates), session.paused

    # -- drawing ---------------------------------------------------------------------------------

    def show(self) -> None:
        """Draw the view."""
        session, screen, every = self.session, self.screen_stack[0], self.shown == 0
        lane = max(0, self.shown - 1)
        legal = session.legal() if session.waits else {}
        last, self._drawn = self._drawn, self._sum_up()
        if legal and (last is None or last[:2] != self._drawn[:2]):
            advice = session.decision.action if session.decision is not None else None
            self.chosen = [*legal].index(advice) if advice in legal else 0
            self.call_after_refresh(self._scroll_to_hand)
        choice = [*legal][self.chosen] if legal else None
        board = Text.from_ansi("" if every else session.draw(lane, choice=choice), no_wrap=True)
        self._wide = wide = max([self._wide, *(line.cell_len for line in board.split())])
        beside = self.size.width - wide >= BESIDE
        room = self.size.width - beside * (wide + 1)
        screen.set_class(every, "-all").set_class(not (every or beside), "-below")
        screen.set_class(room >= TWO, "-two")
        screen.query_one("#board").styles.min_width = 0 if every else wide
        self._write("title", self._draw_title())
        self._write("board", self._draw_all() if every else board)
        if not every:
            self._write("thought", self._draw_thought(lane, room - 6))
            self._write("events", Text("\n").join(map(text.style_news, session.news(EVENTS))))
            for name, rows in self._list_figures(lane):
                self._write(name, panels.make_grid(rows) if rows else None)
        self._write("choice", self._draw_choice(lane))
        self._write("moves", self._draw_moves(legal))
        self._write("status", self._draw_status())

    def _write(self, name: str, content: RenderableType | None) -> None:
        """Show the content of a part; a part without content is hidden."""
        part = self.screen_stack[0].query_one(f"#{name.replace(' ', '-')}", Static)
        part.display = bool(content) if isinstance(content, Text) else content is not None
        part.update("" if content is None else content)

    def _list_figures(self, lane: int = 0) -> list[tuple[str, panels.Rows]]:
        """List the panels of figures; those of others' states would tell a person their cards."""
        if self.session.is_played and self.session.table.meets:
            return []
        return list(panels.list_panels(self.session, lane, self.own, self.training))

    def _draw_title(self) -> Text:
        source, n = self.session.source, self.session.num_envs
        view = f"all {n} environments" if self.shown == 0 else f"environment {self.shown} of {n}"
        names = ", ".join(source.names)
        return Text(f" {source.env}   {view}   {names}", no_wrap=True, overflow="ellipsis")

    def _draw_status(self) -> Text:
        session = self.session
        speed = "maximum speed" if session.maximum else f"{session.speed:.3g}x"
        state = "over" if session.over else "paused" if session.paused else "playing"
        if session.is_played and not session.over:
            deciding = int(session.seats[0])
            state = "your move" if session.waits else f"{session.source.names[deciding]} decides"
        behind = session.history.last - session.history.index
        back = f", {behind} back" if behind else ""
        seeds = ", random seeds" if session.random_seeds else ""
        keys = "arrows, Enter or a number   b back" if session.waits else "space pause   n, b step"
        shown = f"{state}, {speed}{back}{seeds}   {keys}   h help   q quit"
        return Text(f" {shown}", no_wrap=True)

    def _draw_choice(self, lane: int) -> Text:
        """Draw what comes next, or what has happened last."""
        session = self.session
        if self.shown == 0:
            return panels.join_rows(panels.list_summary(session))
        if session.moment.ended[lane]:
            return Text(text.describe_result(session, lane))
        if session.is_played:
            return Text("").join(map(text.style_news, session.news(1)))
        return Text(text.describe_choice(session, lane))

    def _draw_moves(self, legal: dict[int, str]) -> Text:
        """Draw the moves of a person in columns, around the one that is chosen."""
        if not legal:
            return Text()
        decision, width = self.session.decision, self.size.width
        labels = [str(a) if name == str(a) else f"{a} {name}" for a, name in legal.items()]
        advised = None if decision is None else decision.action
        marks = [thinking.CHOSEN if action == advised else " " for action in legal]
        cell = min(width - 1, 2 + max(map(len, labels)))
        self._columns = max(1, (width - 1) // cell)
        lines = max(3, self.size.height // MOVES)
        last = -(-len(labels) // self._columns) - lines
        first = max(0, min(last, self.chosen // self._columns - lines // 2)) * self._columns
        shown = Text(no_wrap=True)
        for k in range(first, min(len(labels), first + lines * self._columns)):
            if k > first and k % self._columns == 0:
                shown.append("\n")
            style = "reverse" if k == self.chosen else "cyan" if marks[k] != " " else ""
            shown.append(f"{marks[k]}{labels[k]}"[:cell].ljust(cell), style)
        return shown

    def _draw_thought(self, lane: int, width: int) -> RenderableType | None:
        """Draw what a player that decides expects of its actions; None if nothing is known."""
        session, decision = self.session, self.session.decision
        if decision is None or decision.lane != lane:
            return None
        parts: list[RenderableType] = []
        thought, chances = decision.thought, decision.probabilities

        def name_of(action: int) -> str:
            return session.name_action(action, lane)

        if decision.value is not None:
            parts.append(Text.assemble(("value ", "dim"), f"{decision.value:.4g}"))
        reason = decision.explain(name_of)
        if reason:
            parts.append(Text(reason))
        if thought is not None:
            parts.append(thinking.table(thought, name_of, width))
        elif chances is not None and np.isfinite(chances).any():
            parts.append(thinking.make_weights(chances, decision.action, name_of, width))
        if session.no_value:
            parts.append(Text(session.no_value, "dim"))
        return Group(*parts) if parts else None

    def _draw_all(self) -> Table:
        """Draw all lanes, as many side by side as fit."""
        session = self.session
        tiles = [self.own.draw_tile(session, lane) for lane in range(session.num_envs)]
        wide = max(max(map(len, board.plain.splitlines())) for _, board in tiles)
        shown = Table.grid(padding=(0, 1, 0, 0))
        cells = [Text.assemble((about, "bold"), "\n", board) for about, board in tiles]
        columns = max(1, (self.size.width - 2) // (wide + 1))
        for start in range(0, len(cells), columns):
            shown.add_row(*cells[start : start + columns])
        return shown

    # -- keys of time ----------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Pause, or go on."""
        self.session.paused = not self.session.paused
        self.show()

    def action_steps(self, count: int) -> None:
        """Pause, unless a person plays, and take steps."""
        self.session.paused = not self.session.is_played
        for _ in range(count):
            self.session.step()
        self.show()

    def action_step_back(self) -> None:
        """Pause, and go back a step, or to the last move of the person."""
        self.session.back()
        self.show()

    def action_faster(self, factor: float) -> None:
        """Play faster, or slower."""
        self.session.faster(factor)
        self.show()

    def action_maximum(self) -> None:
        """Play as fast as possible, or at the speed of before."""
        self.session.maximum = not self.session.maximum
        self.show()

    def action_random_seeds(self) -> None:
        """Begin anew with seeds drawn by chance, or with those of the command line."""
        self.session.random_seeds = not self.session.random_seeds
        self.session.restart(self.session.num_envs)
        self.show()

    # -- keys of a person ------------------------------------------------------------------------

    def action_number(self, digit: int) -> None:
        """Begin the number of a move, or show an environment."""
        if self.session.waits:
            self.action_type(str(digit))
        else:
            self.action_show(digit)

    def action_type(self, begun: str) -> None:
        """Let a move be typed, or the number of environments where nobody plays."""
        if self.session.is_played and not self.session.waits:
            return
        box = self.query_one("#typed", Input)
        box.placeholder = "number or name" if self.session.waits else "number of environments"
        box.value, box.display, box.cursor_position = begun, True, len(begun)
        box.focus()

    def on_input_submitted(self, typed: Input.Submitted) -> None:
        """Take what was typed."""
        self.action_cancel()
        words = typed.value.strip()
        if not self.session.is_played:
            if words.isdecimal() and int(words) > 0:
                self._resize(int(words))
            return
        legal = self.session.legal() if self.session.waits else {}
        action = text.parse_action(words, legal) if words else [*legal][self.chosen]
        if action is None:
            self.notify(f"{words!r} is none of your moves now", timeout=2)
        else:
            self._decide(action)

    def action_cancel(self) -> None:
        """Leave what is typed."""
        self.query_one("#typed", Input).display = False
        self.screen_stack[0].set_focus(None)

    def action_choose(self) -> None:
        """Make the move that is chosen."""
        if self.session.waits:
            self._decide([*self.session.legal()][self.chosen])

    def _decide(self, action: int) -> None:
        self.session.decide(action)
        self.show()

    def action_move(self, across: int, down: int) -> None:
        """Choose another move, or scroll."""
        if not self.session.waits:
            self.action_scroll_by(down)
            return
        new = self.chosen + across + down * self._columns
        if 0 <= new < len(self.session.legal()):
            self.chosen = new
        self.show()

    def _scroll_to_hand(self) -> None:
        """Scroll a wide board that does not fit to its end, where hands and offers are drawn."""
        screen = self.screen_stack[0]
        if screen.has_class("-below"):
            board, body = screen.query_one("#board"), screen.query_one("#body")
            body.scroll_to(y=max(0, board.size.height - body.size.height), animate=False)

    # -- keys of views ---------------------------------------------------------------------------

    def _look(self, view: int) -> None:
        """Choose a view; thoughts are kept of the lane that is shown."""
        self.shown, self._one = view, view or self._one
        one = self.session.num_envs == 1
        self.session.looked = 0 if one else None if view == 0 else view - 1

    def action_turn(self, way: int) -> None:
        """Show the next view, or the one before."""
        self.action_show((self.shown + way) % (self.session.num_envs + 1))

    def action_show(self, view: int) -> None:
        """Show all environments, or one if there is one of that number."""
        if view > self.session.num_envs:
            self.notify(f"there are {self.session.num_envs} environments", timeout=2)
            return
        self._look(view)
        self.show()

    def action_all(self) -> None:
        """Show all environments, or the one that was shown last."""
        self.action_show(0 if self.shown else min(self._one, self.session.num_envs))

    def action_resize(self, more: int) -> None:
        """Begin anew with more or fewer environments."""
        self._resize(self.session.num_envs + more)

    def _resize(self, count: int) -> None:
        count = min(max(1, count), self.session.source.most)
        if count != self.session.num_envs:
            self.session.restart(count)
            self._one = min(self._one, count)
            self._look(min(self.shown, count))
            self._set_timer()
        self.show()

    def action_scroll_by(self, rows: int) -> None:
        """Scroll what may not fit."""
        below = self.screen_stack[0].has_class("-below")
        name = "#boards" if self.shown == 0 else "#body" if below else "#panels"
        self.query_one(name).scroll_relative(y=rows, animate=False)

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(Help())


def _make_panel(name: str) -> Static:
    panel = Static(id=name.replace(" ", "-"))
    panel.border_title = name
    return panel
