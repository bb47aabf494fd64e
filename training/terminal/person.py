"""A person at a table in the terminal: prints what happens and asks for legal actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from training.players.player import Player, begin_all, every_lane
from training.run.game_view import describe_decision, render_state
from training.run.seating import name_all_seats
from training.terminal.thinking import Thoughts

YOU = "You"


class LeaveGame(Exception):
    """The person leaves the game."""


class Session:
    """One game between a person and others.

    Parameters
    ----------
    console : rich.console.Console
    engine : BatchEngine
        Of one lane.
    names : sequence of str
        Of the players in seat order; the person's is ``YOU``.
    players : sequence of Player or None
        Who sits there; None for the person. Where nobody else decides, one that is None.
    adviser : Player, optional
        Searches each decision of the person, who is shown its thought. Thoughts of others are never
        shown: they name their cards.
    """

    def __init__(
        self,
        console: Console,
        engine: Any,
        names: Sequence[str],
        players: Sequence[Player | None],
        adviser: Player | None = None,
    ) -> None:
        self._console, self._engine = console, engine
        self._names, self._players = list(names), list(players)
        self._meets = len(names) > 1
        self._seat = self._names.index(YOU)
        self._secret: list[tuple[np.void, int, int]] = []  # decided, but nothing has come of it
        self._news: list[str] = []
        self._adviser, self._advice, self._others = adviser, Thoughts(True), Thoughts(False)
        self._advice.listen([adviser])
        self._others.listen(players)

    @property
    def _row(self) -> np.void:
        row: np.void = self._engine.get_states([0])[0]
        return row

    def play(self, seed: int) -> None:
        """Play to the end.

        Parameters
        ----------
        seed : int
            Of the game, and of what the adviser draws; the others draw from those behind it.

        Raises
        ------
        LeaveGame
            If the person leaves.
        """
        engine = self._engine
        engine.reset_many(seeds=[seed])
        others = [player for player in self._players if player is not None]
        for k, player in enumerate(others):
            begin_all(player, engine, seed + 1 + k)
        if self._adviser is not None:
            begin_all(self._adviser, engine, seed)
        if self._meets:
            seats = enumerate(self._names)
            self._news.append("Seats: " + ", ".join(f"{k} {name}" for k, name in seats) + ".")
        while not engine.ended[0]:
            before, seat = self._row, int(engine.get_actors()[0]) if self._meets else 0
            decides = self._players[seat]
            action = self._ask(before) if decides is None else self._let_decide(decides)
            engine.step_many([action], autoreset=False)
            self._note_decision(before, action, seat)
        self._print_news()
        self._print_result()

    def _let_decide(self, player: Player) -> int:
        """Ask another player for its action; print how far its search came if it was cut."""
        action = int(player.act(self._engine, every_lane(self._engine))[0])
        self._others.hear(player)
        self._others.draw(self._console, str)
        return action

    def _note_decision(self, before: np.void, action: int, seat: int) -> None:
        """Note a decision for the news; simultaneous ones are described once all are made."""
        after = self._row
        self._secret.append((before, action, seat))
        if after.tobytes() == before.tobytes():
            return
        for row, chosen, who in self._secret:
            names = name_all_seats(self._engine.game, row, self._names, who)
            self._news += describe_decision(
                self._engine, row, chosen, after, names, seat=names.index(self._names[who])
            )
        self._secret.clear()

    # -- talking ---------------------------------------------------------------------------------

    def _print_news(self) -> None:
        """Print the news since the last decision of the person."""
        self._console.rule(style="dim")
        for line in self._news:
            strong = "is over" in line or line.startswith(f"{YOU} win")
            style = "bold" if strong else "cyan"
            self._console.print(Padding(Text(line, style), (0, 0, 0, 2)))
        if self._news:
            self._console.print()
        self._news.clear()

    def _ask(self, row: np.void) -> int:
        """Show the state and return the legal action that the person chooses."""
        self._print_news()
        drawn = render_state(self._engine, row, self._names, seat=self._seat)
        self._console.print(Text.from_ansi(drawn))
        name = self._engine.game.action_name
        legal = {int(a): name(int(a), row) for a in np.flatnonzero(self._engine.mask[0])}
        self._advise(legal)
        while True:
            try:
                text = self._console.input("\nyour move (a number or a name; ? lists, q quits): ")
            except EOFError:
                raise LeaveGame from None
            text = text.strip()
            if text.lower() in ("q", "quit"):
                raise LeaveGame
            if not text:
                continue
            if text == "?":
                self._console.print(_list_actions(legal), highlight=False, markup=False)
                continue
            action = parse_action(text, legal)
            if action is not None:
                return action
            self._console.print(
                f"{text!r} is none of your moves now: {_list_actions(legal)}",
                markup=False,
                style="yellow",
            )

    def _advise(self, legal: dict[int, str]) -> None:
        """Show the adviser's thought of the person's decision."""
        if self._adviser is None:
            return
        action = int(self._adviser.act(self._engine, every_lane(self._engine))[0])
        self._advice.hear(self._adviser)
        self._advice.draw(self._console, lambda a: legal.get(a, str(a)))
        self._console.print(f"  advice: {legal[action]}", style="cyan", markup=False)

    def _print_result(self) -> None:
        engine, row = self._engine, self._row
        drawn = render_state(engine, row, self._names, seat=self._seat)
        self._console.print(Text.from_ansi(drawn))
        if not self._meets:
            self._console.print(f"The game is over: return {engine.ep_return[0]:.2f}.")
            return
        points = engine.get_outcomes([0])[0].tolist()
        table = Table(title="The game is over", title_justify="left")
        table.add_column("player")
        table.add_column("points", justify="right")
        for total, name in sorted(zip(points, self._names, strict=True), reverse=True):
            table.add_row(escape(name), f"{total:.6g}", style="bold" if name == YOU else None)
        self._console.print(table)


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


def number_names(names: Sequence[str]) -> list[str]:
    """Add numbers to names that occur more than once."""
    return [
        name if names.count(name) == 1 else f"{name} {names[:k].count(name) + 1}"
        for k, name in enumerate(names)
    ]


def _list_actions(legal: dict[int, str]) -> str:
    return ", ".join(str(a) if name == str(a) else f"{a} {name}" for a, name in legal.items())
