"""The table as the agent sees it: as text (``ansi``) and as a picture (``rgb_array``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastenv.pillow import needs_pillow
from fastenv.skullking import tables as t
from fastenv.skullking.rules import Play
from fastenv.skullking.view import SLOT_PHASES, TableView, card_name, table_view

__all__ = ["card_name", "render_ansi", "render_rgb"]

SUIT_COLORS = ("32", "35", "33", "1;37;40")  # green, magenta, yellow, white on black
CLASS_COLORS = {
    t.CardClass.PIRATE: "31",
    t.CardClass.TIGRESS: "31",
    t.CardClass.KING: "1;31",
    t.CardClass.MERMAID: "36",
    t.CardClass.KRAKEN: "34",
    t.CardClass.WHALE: "34",
    t.CardClass.ESCAPE: "37",
    t.CardClass.LOOT: "93",
}
BOLD, DIM = "1", "2"


def _paint(text: str, code: str, color: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if color else text


def _card_text(card: int, mode: int | None, color: bool) -> str:
    suit = t.SUIT[card]
    code = SUIT_COLORS[suit] if suit >= 0 else CLASS_COLORS[t.CLASS[card]]
    return _paint(card_name(card, mode), code, color)


def render_ansi(
    row: Any, rules: Any, color: bool = True, names: Sequence[str] | None = None
) -> str:
    """Return the table as text that a player can read, as the agent sees it.

    Parameters
    ----------
    row : record of STATE_DTYPE
        The game.
    rules : record of RULES_DTYPE
        The rules it is played by.
    color : bool
        Colour suits and specials with ANSI escape sequences.
    names : sequence of str, optional
        Of the players in seat order; default those of the bots.

    Returns
    -------
    str
        Several lines without a line break at the end. A number in brackets is an action, a star
        marks the cards that may be played or discarded now.
    """
    view = table_view(row, rules, names)
    title = _paint("Skull King", BOLD, color) + "  " + " · ".join(view.title)
    lines = [title, "", *_score_lines(view, color)]
    if view.last:
        lines += [
            "",
            "The last trick",
            *_play_lines(view, view.last, view.last_winner, "won", color),
        ]
    if view.plays:
        lines += ["", f"On the table ({view.follow})"]
        lines += _play_lines(view, view.plays, view.winning, "wins so far", color)
    if view.hand:
        lines += ["", "Your hand", *_hand_lines(view, color)]
    lines += ["", *(_paint(text, BOLD, color) for text in view.news), view.prompt]
    if view.choices:
        plain = view.phase == t.Phase.BID  # the number says it all
        texts = [f"[{a}]" if plain else f"[{a}] {text}" for a, text in view.choices]
        lines.append("  " + "   ".join(texts))
    return "\n".join(lines)


def _score_lines(view: TableView, color: bool) -> list[str]:
    def cell(value: int | None) -> str:
        return "-" if value is None else str(value)

    width = max(len(seat.name) for seat in view.seats)
    lines = [f"  seat  {'player':{width}}  bid  won  cards  points"]
    for seat in view.seats:
        line = (
            f"  {seat.number:>4}  {seat.name:{width}}  {cell(seat.bid):>3}  {seat.won:>3}  "
            f"{seat.cards:>5}  {cell(seat.total):>6}"
        )
        notes = ["leads"] if seat.leads else []
        notes += seat.notes
        line += "  " + ", ".join(notes) if notes else ""
        lines.append(_paint(line, BOLD, color) if seat.number == view.agent else line)
    return lines


def _play_lines(
    view: TableView, plays: Sequence[Play], winner: int | None, wins: str, color: bool
) -> list[str]:
    """Return a trick, one line a card; ``wins`` says what the best card does."""
    lines = []
    for i, play in enumerate(plays):
        mark = f"  {wins}" if i == winner else ""
        who = "you" if play.seat == view.agent else f"seat {play.seat}"
        lines.append(f"  {i + 1}. {who}: {_card_text(play.card, play.mode, color)}{mark}")
    if winner is None:
        lines.append(f"  nobody {wins}")
    return lines


def _hand_lines(view: TableView, color: bool) -> list[str]:
    lines = []
    for slot, card in enumerate(view.hand):
        name = _card_text(card, None, color)
        if view.phase in SLOT_PHASES:
            legal = slot in view.legal_slots
            name = name if legal else _paint(card_name(card), DIM, color)
            name = f"{'*' if legal else ' '} {f'[{slot}]':>4} {name}"
        notes = ["drawn"] if card in view.drawn else []
        notes += ["discarded"] if slot == view.discarded else []
        lines.append(f"  {name}" + (f"  ({', '.join(notes)})" if notes else ""))
    return lines


def render_rgb(row: Any, rules: Any) -> np.ndarray:
    """Return a picture of the table, as the agent sees it.

    Parameters
    ----------
    row : record of STATE_DTYPE
        The game.
    rules : record of RULES_DTYPE
        The rules it is played by.

    Returns
    -------
    ndarray of uint8, shape (640, 960, 3)
        A new array.

    Raises
    ------
    ImportError
        Without Pillow.
    """
    with needs_pillow("the table"):
        from fastenv.skullking import picture
    return picture.draw(table_view(row, rules))
