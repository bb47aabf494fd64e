"""The table of Skull King as data: what a seat may see of it, from the view that pictures use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fastenv.skullking import tables as t
from fastenv.skullking.layout import layout
from fastenv.skullking.tables import Abilities
from fastenv.skullking.view import SUIT_NAMES, TableView, card_name, table_view
from training.run.game_view import GameView, ObservationBlock

SUITS = tuple(name.partition(" ")[0].lower() for name in SUIT_NAMES)
KINDS = {kind: kind.name.lower() for kind in t.CardClass}


def card(number: int, mode: int | None = None) -> dict[str, Any]:
    """Return a card as JSON values."""
    face: dict[str, Any] = {"name": card_name(number, mode)}
    if t.NUMBER[number]:
        return {**face, "suit": int(t.SUIT[number]), "number": int(t.NUMBER[number])}
    return {**face, "kind": KINDS[t.CardClass(t.CLASS[number])]}


class SkullKingView(GameView):
    """How Skull King is shown; see :class:`training.run.game_view.GameView`."""

    page: ClassVar = Path(__file__).parent / "scene.js"

    def scene(
        self,
        engine: Any,
        row: np.void,
        seat: int,
        names: Sequence[str],
        *,
        opened: bool = False,
        choice: int | None = None,
    ) -> dict[str, Any]:
        """Return the table as a seat sees it; opened, with all hands."""
        rules, own = engine.game.rules[0], int(row["actor"])
        several = len(names) == int(rules["num_players"])
        due = own if not several else seat
        if due != own:
            row = row.copy()
            row["actor"], row["first_discard"] = due, -1  # the discard is the other's
        view = table_view(row, rules, names if several else None)
        scene = _make_scene(view)
        scene["due"] = due == own
        if opened:
            hands, lengths = row["hand"], row["hand_len"]
            scene["hands"] = [
                [card(int(c)) for c in hands[k, : int(lengths[k])]] for k in range(len(view.seats))
            ]
            scene["stock"] = [card(int(c)) for c in row["stock"][: int(row["stock_len"])]]
        return scene

    def mark(self, engine: Any, before: np.void, after: np.void) -> str:
        """Return the end of a round."""
        over = after["round_idx"] != before["round_idx"] or after["done"] != before["done"]
        return f"round {int(before['round_idx']) + 1}" if over else ""

    def blocks(self, engine: Any) -> Sequence[ObservationBlock]:
        """Return the blocks of the tier."""
        rules = engine.game.rules[0]
        decides = rules["abilities"] == Abilities.AGENT
        shape = int(rules["tier"]), int(rules["num_players"]), bool(rules["memory"])
        return [ObservationBlock(*block) for block in layout(*shape, bool(decides))]


def _make_scene(view: TableView) -> dict[str, Any]:
    return {
        "title": list(view.title),
        "phase": view.phase.name,
        "prompt": view.prompt,
        "agent": view.agent,
        "seats": [seat._asdict() for seat in view.seats],
        "plays": [{"seat": p.seat, **card(p.card, p.mode)} for p in view.plays],
        "winning": view.winning,
        "follow": view.follow,
        "last": [{"seat": p.seat, **card(p.card, p.mode)} for p in view.last],
        "last_winner": view.last_winner,
        "hand": [card(c) for c in view.hand],
        "drawn": [view.hand.index(c) for c in view.drawn],
        "discarded": view.discarded,
        "legal": sorted(view.legal_slots),
        "choices": [list(each) for each in view.choices],
        "suits": list(SUITS),
    }
