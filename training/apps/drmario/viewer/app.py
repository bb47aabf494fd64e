"""The viewer as a Textual application: its keys and views."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input, Static

from fastenv.drmario.render import render_ansi, render_bottles
from training.apps.drmario.best_times import BestTimes
from training.apps.drmario.viewer import panels
from training.apps.drmario.viewer.panels import Training
from training.apps.drmario.viewer.playback import FACTOR, Playback

REFRESH, FEWEST = 30.0, 5.0  # pictures a second of up to four boards, and of any number
SHARE = 0.7  # of the time between two pictures that may be spent on playing
DEBOUNCE = 0.5  # seconds after the last key that changes the number of environments
SKIP = 60  # steps of the key f
COLUMNS = 4  # boards side by side
BOARD = 19  # columns of a board in the grid
NAME = 30  # columns of who plays in the title
WIDE = 120  # columns from which panels stand in two columns

PANELS = ("performance", "learning", "reward", "best times")

SCROLLS = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}

HELP = (
    ("space", "pause, go on"),
    ("n", "one step"),
    ("f", f"{SKIP} steps"),
    ("+ or =", f"faster, by {FACTOR}"),
    ("-", "slower"),
    ("m", "maximum speed, and back"),
    ("Tab, Shift-Tab", "next, previous view: summary, environment 1, 2, ..."),
    ("1-9", "that environment"),
    ("0", "summary"),
    ("g", "grid or one board"),
    ("[ ]", "one environment fewer, more"),
    ("e", "type their number"),
    ("Enter, Esc", "do so at once, or not at all"),
    ("r", "random seeds, or those from --seed on; begins anew"),
    ("p", "names of the planes"),
    ("arrows, pages", "scroll the boards of the grid, or the panels"),
    ("h or ?", "this help"),
    ("q", "quit"),
)


class Help(ModalScreen[None]):
    """The keys; any of them closes it."""

    def compose(self) -> ComposeResult:
        """Show them."""
        shown = Table.grid(padding=(0, 2))
        for keys, what in HELP:
            shown.add_row(Text(keys, "bold"), what)
        yield Static(shown, id="help")

    def on_key(self) -> None:
        """Close."""
        self.dismiss()


class Viewer(App[None]):
    """Shows what is played.

    Parameters
    ----------
    playback : Playback
    store : BestTimes, optional
    training : Training, optional
        Of the agent that plays.
    auto : bool
        Play by the clock; otherwise only :meth:`tick` does.
    """

    CSS = """
    #title { height: 1; background: $primary; color: $text; text-style: bold; }
    #status { height: 1; color: $text-muted; dock: bottom; }
    #number { dock: bottom; display: none; }
    #boards { width: 42; }
    #board { width: auto; }
    #panels { width: 1fr; layout: vertical; }
    #panels Static { border: round $primary; height: auto; padding: 0 1; }
    Screen.-grid #panels Static { display: none; }
    Screen.-grid #panels #summary { display: block; }
    Screen.-grid #boards, Screen.-wide.-two #boards { width: 84; }
    Screen.-narrow.-grid #body { layout: vertical; }
    Screen.-narrow.-grid #boards { width: 1fr; height: 1fr; }
    Screen.-narrow.-grid #panels { width: 1fr; height: 2; }
    Screen.-narrow.-grid #panels #summary { border: none; padding: 0; }
    Screen.-wide #panels { layout: grid; grid-size: 2; grid-rows: auto; }
    Screen.-wide.-grid #panels { layout: vertical; }
    #summary { display: none; }
    Help { align: center middle; }
    #help { border: round $primary; background: $surface; padding: 1 2; width: auto; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012 - as App has it
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None  # keys are ours until a number is typed
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "pause"),
        Binding("n", "steps(1)"),
        Binding("f", f"steps({SKIP})"),
        Binding("plus,equals_sign", "faster"),
        Binding("minus", "slower"),
        Binding("m", "maximum"),
        Binding("tab", "turn(1)", priority=True),
        Binding("shift+tab", "turn(-1)", priority=True),
        *(Binding(str(k), f"show({k})") for k in range(10)),
        Binding("g", "grid"),
        Binding("left_square_bracket", "resize(-1)"),
        Binding("right_square_bracket", "resize(1)"),
        Binding("e", "ask"),
        Binding("enter", "apply"),
        Binding("escape", "cancel"),
        Binding("r", "random_seeds"),
        Binding("p", "planes"),
        *(Binding(key, f"scroll_by({rows})") for key, rows in SCROLLS.items()),
        Binding("h,question_mark", "help"),
        Binding("q", "quit"),
    ]

    def __init__(
        self,
        playback: Playback,
        store: BestTimes | None = None,
        training: Training | None = None,
        auto: bool = True,
    ) -> None:
        super().__init__()
        self.playback, self.store, self.training, self._auto = playback, store, training, auto
        self.shown = 0 if playback.num_envs > 1 else 1  # 0 the summary, k environment k
        self._focus, self._names = 1, False
        self.wanted: int | None = None  # environments that were asked for
        self._due = 0.0
        self._timer: Timer | None = None

    # -- what is there ---------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Return title, boards, panels and status."""
        yield Static(id="title")
        with Horizontal(id="body"):
            with VerticalScroll(id="boards", can_focus=False):
                yield Static(id="board")
            with VerticalScroll(id="panels", can_focus=False):
                for name in ("summary", *PANELS):
                    panel = Static(id=name.replace(" ", "-"))
                    panel.border_title = name
                    yield panel
        yield Input(id="number", type="integer", placeholder="environments")
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
        return min(REFRESH, max(FEWEST, REFRESH * 4 / self.playback.num_envs))

    def tick(self) -> None:
        """Play what is due, and draw."""
        if self.wanted is not None and self.playback.clock() >= self._due:
            self.action_apply()
        self.playback.advance(SHARE / self.refresh_rate)
        self.show()

    # -- drawing ---------------------------------------------------------------------------------

    def show(self) -> None:
        """Draw the view."""
        playback, grid = self.playback, self.shown == 0
        two = playback.engine.spec.state_dtype["players"].shape[0] == 2
        self.screen_stack[0].set_class(grid, "-grid").set_class(two, "-two")
        self._write("title", self._draw_title())
        self._write("board", self._draw_grid() if grid else self._draw_board())
        self._write("status", self._draw_status())
        if grid:
            rows = panels.summary(playback)
            narrow = self.size.width < WIDE
            self._write("summary", panels.line(rows) if narrow else panels.table(rows))
            return
        lane = self.shown - 1
        for name, rows in (
            ("performance", panels.performance(playback, lane, self._names)),
            ("learning", panels.learning(playback, lane, self.training)),
            ("reward", panels.reward(playback, lane)),
            ("best-times", panels.best_times(playback, lane, self.store)),
        ):
            self._write(name, panels.table(rows))

    def _write(self, name: str, content: Any) -> None:
        self.screen_stack[0].query_one(f"#{name}", Static).update(content)

    def _draw_title(self) -> Text:
        source, n = self.playback.source, self.playback.num_envs
        view = f"summary of {n}" if self.shown == 0 else f"environment {self.shown} of {n}"
        name = source.name  # of a long path the end says more
        name = name if len(name) <= NAME else f"…{name[1 - NAME :]}"
        text = f" {name}   {view}   {source.env}"
        return Text(text, no_wrap=True, overflow="ellipsis")

    def _draw_status(self) -> Text:
        playback = self.playback
        if self.wanted is not None:
            text = f"{self.wanted} environments soon: Enter does it now, Esc leaves it"
        else:
            speed = "maximum speed" if playback.maximum else f"{playback.speed:.3g}x"
            state = "over" if playback.over else "paused" if playback.paused else "playing"
            seeds = ", random seeds" if playback.random_seeds else ""
            text = f"{state}, {speed}{seeds}   space pause   Tab view   h help   q quit"
        return Text(f" {text}", no_wrap=True)

    def _find_ghosts(self, lane: int) -> dict[int, int]:
        """Return the placement that comes next, to show where the pill is to lie."""
        playback = self.playback
        config: Any = getattr(playback.engine.game, "config", None)
        waits = playback.engine.ended[lane] or playback.over
        return {} if waits or not config.placement else {0: int(playback.actions[lane])}

    def _draw_board(self) -> Text:
        lane = self.shown - 1
        row = self.playback.engine.get_states([lane])[0]
        return Text.from_ansi(render_ansi(row, ghosts=self._find_ghosts(lane)))

    def _draw_grid(self) -> Table:
        rows = self.playback.engine.get_states()
        players = rows["players"].shape[1]
        columns = max(1, min(COLUMNS, (self.size.width - 2) // (BOARD * players)))
        shown = Table.grid(padding=(0, 1, 0, 0))
        boards = [
            Text.assemble(
                (panels.caption(self.playback, lane, row), "bold"),
                "\n",
                Text.from_ansi(render_bottles(row, ghosts=self._find_ghosts(lane))),
            )
            for lane, row in enumerate(rows)
        ]
        for start in range(0, len(boards), columns):
            shown.add_row(*boards[start : start + columns])
        return shown

    # -- keys ------------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Pause, or go on."""
        self.playback.paused = not self.playback.paused
        self.show()

    def action_steps(self, count: int) -> None:
        """Pause, and take steps."""
        self.playback.paused = True
        for _ in range(count):
            self.playback.step()
        self.show()

    def action_faster(self) -> None:
        """Play faster."""
        self.playback.faster(FACTOR)
        self.show()

    def action_slower(self) -> None:
        """Play slower."""
        self.playback.faster(1 / FACTOR)
        self.show()

    def action_maximum(self) -> None:
        """Play as fast as possible, or at the speed of before."""
        self.playback.maximum = not self.playback.maximum
        self.show()

    def action_turn(self, way: int) -> None:
        """Show the next view, or the one before."""
        self.action_show((self.shown + way) % (self.playback.num_envs + 1))

    def action_show(self, view: int) -> None:
        """Show the summary, or an environment if there is one of that number."""
        if view > self.playback.num_envs:
            self.notify(f"there are {self.playback.num_envs} environments", timeout=2)
            return
        self.shown = view
        self._focus = view or self._focus
        self.show()

    def action_grid(self) -> None:
        """Show all boards, or the one that was shown last."""
        self.action_show(0 if self.shown else min(self._focus, self.playback.num_envs))

    def action_resize(self, more: int) -> None:
        """Choose more or fewer environments; further keys change the number."""
        self._want((self.wanted or self.playback.num_envs) + more)

    def _want(self, count: int) -> None:
        self.wanted = min(max(1, count), self.playback.source.most)
        self._due = self.playback.clock() + DEBOUNCE
        self.show()

    def action_apply(self) -> None:
        """Begin anew with the environments that were asked for."""
        if self.wanted is None:
            return
        count, self.wanted = self.wanted, None
        if count != self.playback.num_envs:
            self.playback.restart(count)
            self.shown, self._focus = min(self.shown, count), min(self._focus, count)
            self._set_timer()
        self.show()

    def action_cancel(self) -> None:
        """Leave the number of environments as it is."""
        self.wanted = None
        self._close_input()
        self.show()

    def action_ask(self) -> None:
        """Have a number of environments typed."""
        box = self.query_one("#number", Input)
        box.value, box.display = "", True
        box.focus()

    def on_input_submitted(self, typed: Input.Submitted) -> None:
        """Take a number that was typed."""
        self._close_input()
        if typed.value.isdecimal() and int(typed.value) > 0:
            self._want(int(typed.value))
            self.action_apply()

    def _close_input(self) -> None:
        box = self.screen_stack[0].query_one("#number", Input)
        box.display = False
        self.screen_stack[0].set_focus(None)

    def action_random_seeds(self) -> None:
        """Begin anew with seeds drawn by chance, or with those of the command line."""
        self.playback.random_seeds = not self.playback.random_seeds
        self.playback.restart(self.playback.num_envs)
        self.show()

    def action_planes(self) -> None:
        """List the planes of an observation, or hide them."""
        self._names = not self._names
        self.show()

    def action_scroll_by(self, rows: int) -> None:
        """Scroll what may not fit."""
        name = "#panels" if self.shown else "#boards"
        self.query_one(name, VerticalScroll).scroll_relative(y=rows, animate=False)

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(Help())
