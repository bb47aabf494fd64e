"""Sessions as lines of text, for pipes and simple terminals, and as films."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fastenv.env import check_render_mode
from training.logs import film as films
from training.run.game_view import YOU
from training.terminal import thinking
from training.terminal.session import TerminalSession

MOST_NEWS = 1000  # lines between two decisions of a person
_COLOUR = re.compile("\x1b\\[[0-9;]*m")


class LeaveGame(Exception):
    """The person leaves the game."""


def is_needed(args: argparse.Namespace) -> bool:
    """Tell whether a command shows text: it was asked for, or the application cannot run."""
    live = sys.stdin.isatty() and sys.stdout.isatty()
    return args.text or not live or find_spec("textual") is None


# -- watching --------------------------------------------------------------------------------------


def watch(console: Console, session: TerminalSession, think: bool, delay: float | None) -> None:
    """Show an episode, a decision after the other."""
    if delay is None:
        delay = 1.0 if console.is_terminal else 0.0
    step = 0
    while True:
        over = session.over
        ended = bool(session.moment.ended[0])
        head = "the end" if ended else f"cut off after {step} decisions"
        console.rule(head if over else f"decision {step + 1}", style="dim")
        console.print(Text.from_ansi(session.draw()), no_wrap=True, overflow="crop")
        if over:
            break
        print_thought(console, session, think)
        console.print(Text(f"\n{describe_choice(session)}", "bold cyan"))
        time.sleep(delay)
        session.step()
        step += 1
    if ended:
        console.print(f"{describe_result(session)} Repeat it with --seed {session.seed}.")


def describe_choice(session: TerminalSession, lane: int = 0) -> str:
    """Describe the decision that comes next in a lane; empty if there is none."""
    action = session.action(lane)
    if action is None:
        return ""
    who = session.source.names[int(session.seats[lane])]
    return f"{who} chooses {session.name_action(action, lane)}"


def describe_result(session: TerminalSession, lane: int = 0) -> str:
    """Describe how the episode of a lane ended at the moment that is shown."""
    total = float(session.episode(lane)["return"])
    return session.table.describe_result(session.rows[lane], total)


def print_thought(
    console: Console,
    session: TerminalSession,
    shown: bool,
    name_of: Callable[[int], str] | None = None,
) -> None:
    """Print the thought of the decision that comes next, with the reason in words.

    Of a search that was cut it is said how far it came.
    """
    decision = session.consider()
    if decision is None:
        return
    thought, name_of = decision.thought, name_of or session.name_action
    reason = decision.explain(name_of) if shown else ""
    if shown and thought is not None:
        console.print()
        console.print(thinking.table(thought, name_of, console.width))
    if reason:
        console.print(Text(reason))
    if thought is not None and not thought.finished:
        console.print(f"  {thinking.how_far(thought)}", style="yellow", markup=False)


def print_frames(frames: Iterable[tuple[str, str]], fps: float) -> None:
    """Print captions and drawings one below the other; with colours and pauses in a terminal."""
    live = sys.stdout.isatty()
    for caption, drawing in frames:
        frame = f"{caption}\n\n{drawing}\n"
        print(frame if live else _COLOUR.sub("", frame), flush=True)
        time.sleep(1.0 / fps if live else 0.0)


def film(session: TerminalSession, path: Path, fps: float) -> int:
    """Write an episode as a film; return its decisions.

    Raises
    ------
    FilmError, ConfigError
        If that is not possible here, or the game draws no pictures.
    """
    films.check(path)
    check_render_mode(session.engine.game, "rgb_array")
    decisions = 0

    def draw_all() -> Iterator[np.ndarray]:
        """Draw all moments while it is played, the last one twice."""
        nonlocal decisions
        while not session.over:
            if not session.has_pending:  # or others decide at the same moment
                yield session.draw(mode="rgb_array")
            session.step()
            decisions += 1
        yield from [session.draw(mode="rgb_array")] * 2

    films.write(path, draw_all(), fps)
    return decisions


# -- playing ---------------------------------------------------------------------------------------


def play(console: Console, session: TerminalSession) -> None:
    """Let a person play a game, asked for each move.

    Raises
    ------
    LeaveGame
        If the person leaves.
    """
    seats = ", ".join(f"{k} {name}" for k, name in enumerate(session.source.names))
    news, told = [f"Seats: {seats}."] if session.table.meets else [], 0
    session.weighs = True  # where nothing is searched, the adviser's probabilities are its reason
    while True:
        while not session.over and not session.waits:
            print_thought(console, session, False)
            session.step()
        _print_news(console, [*news, *session.history.lines(MOST_NEWS, told)])
        console.print(Text.from_ansi(session.draw()))
        if session.over:
            break
        news, told = [], session.history.index
        session.decide(_ask(console, session))
    print_result(console, session)


def _print_news(console: Console, news: list[str]) -> None:
    """Print what has happened since the last decision of the person."""
    console.rule(style="dim")
    for line in news:
        console.print(Padding(style_news(line), (0, 0, 0, 2)))
    if news:
        console.print()


def style_news(line: str) -> Text:
    """Return a line of news, in bold where a round or trick ends."""
    strong = "is over" in line or line.startswith(f"{YOU} win")
    return Text(line, "bold" if strong else "cyan")


def _ask(console: Console, session: TerminalSession) -> int:
    """Return the legal action that the person chooses."""
    legal = session.legal()
    decision = session.consider()
    if decision is not None and decision.action is not None:
        print_thought(console, session, True, lambda a: legal.get(a, str(a)))
        console.print(f"  advice: {legal[decision.action]}", style="cyan", markup=False)
    while True:
        try:
            text = console.input("\nyour move (a number or a name; ? lists, q quits): ").strip()
        except EOFError:
            raise LeaveGame from None
        if text.lower() in ("q", "quit"):
            raise LeaveGame
        if not text:
            continue
        if text == "?":
            console.print(list_actions(legal), highlight=False, markup=False)
            continue
        action = parse_action(text, legal)
        if action is not None:
            return action
        refused = f"{text!r} is none of your moves now: {list_actions(legal)}"
        console.print(refused, markup=False, style="yellow")


def print_result(console: Console, session: TerminalSession) -> None:
    """Print the result of a game that is over: at a table the points of all, the best first."""
    if not session.table.meets:
        console.print(describe_result(session))
        return
    table = Table(title="The game is over", title_justify="left")
    table.add_column("player")
    table.add_column("points", justify="right")
    for name, total in session.table.rank(session.rows[0]):
        table.add_row(escape(name), f"{total:.6g}", style="bold" if name == YOU else None)
    console.print(table)


def parse_action(text: str, legal: dict[int, str]) -> int | None:
    """Parse a legal action from its number, its name or an unambiguous part of the name."""
    if text.isdecimal():
        return int(text) if int(text) in legal else None
    wanted = text.casefold()
    exact = [action for action, name in legal.items() if name.casefold() == wanted]
    part = [action for action, name in legal.items() if wanted and wanted in name.casefold()]
    if exact:
        return exact[0]
    same = {legal[action] for action in part}  # two Escapes are one
    return part[0] if len(same) == 1 else None


def list_actions(legal: dict[int, str]) -> str:
    """Return numbers and names of actions in a line."""
    return ", ".join(str(a) if name == str(a) else f"{a} {name}" for a, name in legal.items())
