"""Shows the table of Skull King: what a seat may see, as data and as text, decisions in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fastenv.skullking import tables as t
from fastenv.skullking.render import render_ansi
from fastenv.skullking.rules import Play, score_bid, tigress_mode, winning_play
from fastenv.skullking.tables import TIGRESS, Phase, Scoring
from fastenv.skullking.view import card_name, table_view
from training.apps.skullking.rules import blocks_of
from training.run.game_view import YOU, GameView, ObservationBlock

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
    rules: ClassVar = Path(__file__).parent / "rules.html"

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
        row = _look_from(row, due)
        view = table_view(row, rules, names if several else None)
        seats = [seat._asdict() for seat in view.seats]
        if several:  # the seat that is looked from may be a bot's that is watched
            for shown, name in zip(seats, names, strict=False):
                shown["name"] = name
        scene = {
            "title": list(view.title),
            "phase": view.phase.name,
            "prompt": view.prompt,
            "agent": view.agent,
            "seats": seats,
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
            "due": due == own,
        }
        if opened:
            hands, lengths = row["hand"], row["hand_len"]
            scene["hands"] = [
                [card(int(c)) for c in hands[k, : int(lengths[k])]] for k in range(len(view.seats))
            ]
        return scene

    def mark(self, engine: Any, before: np.void, after: np.void) -> str:
        """Return the end of a round."""
        over = after["round_idx"] != before["round_idx"] or after["done"] != before["done"]
        return f"round {int(before['round_idx']) + 1}" if over else ""

    def blocks(self, engine: Any) -> Sequence[ObservationBlock]:
        """Return the blocks of the tier."""
        return [ObservationBlock(*block) for block in blocks_of(engine.game)]

    def render_state(self, engine: Any, row: np.void, names: Sequence[str], seat: int = 0) -> str:
        """Draw the table as a player sees it, as text with colours; alone, as the agent does."""
        at_table = names if len(names) == engine.game.config.num_players else None
        if at_table is not None:
            row = _look_from(row, seat)
        return render_ansi(row, engine.game.rules[0], names=at_table)

    def describe_decision(
        self,
        engine: Any,
        before: np.void,
        action: int,
        after: np.void,
        names: Sequence[str],
        seat: int = 0,
    ) -> list[str]:
        """Describe a decision in lines.

        Bids appear once all are made. Where bots move inside a step, only the person's card
        appears. The row itself says whose decision it was.
        """
        phase, seat = int(before["phase"]), int(before["actor"])
        if phase == Phase.BID:
            if int(after["phase"]) == Phase.BID:
                return []
            bids = ", ".join(f"{name} {after['bid'][seat]}" for seat, name in enumerate(names))
            return [f"Bids: {bids}."]
        over = after["round_idx"] != before["round_idx"] or bool(after["done"])
        scores = _describe_scores(before, after, names, engine.game.rules[0]) if over else []
        if phase not in (Phase.PLAY, Phase.TIGRESS):
            return [f"{names[seat]}: {engine.game.action_name(action, before)}", *scores]
        card = TIGRESS if phase == Phase.TIGRESS else int(before["hand"][seat][action])
        if card == TIGRESS and phase == Phase.PLAY and int(after["phase"]) == Phase.TIGRESS:
            return []
        mode = action
        if phase == Phase.PLAY:
            mode = tigress_mode(int(before["bid"][seat]), int(before["won"][seat]))
        lines = [f"{_conjugate(names[seat], 'play')} {card_name(card, mode)}."]
        plays = [*_read_plays(before), Play(seat, card, mode)]
        whole = len(plays) == int(engine.game.rules["num_hands"][0])
        if whole and (over or after["tricks"] != before["tricks"]):
            won = winning_play(plays)
            said = "Nobody wins the trick."
            if won is not None:
                wins = _conjugate([*names, "Graybeard"][won.seat], "win")
                said = f"{wins} the trick with {card_name(*won[1:])}."
            lines.append(said)
        return lines + scores


def _look_from(row: np.void, seat: int) -> np.void:
    """Return a row as if the decision were due at a seat: views show what that seat sees."""
    if seat != row["actor"]:
        row = row.copy()
        row["actor"], row["first_discard"] = seat, -1  # the discard is the other's
    return row


def _read_plays(row: np.void) -> list[Play]:
    columns = (row["table_seat"], row["table_card"], row["table_mode"])
    table = zip(*(column.tolist() for column in columns), strict=True)
    return [Play(*play) for play in table][: int(row["table_len"])]


def _describe_scores(
    before: np.void, after: np.void, names: Sequence[str], rules: np.void
) -> list[str]:
    """Describe the end of a round: what it paid to each player, and why."""
    changes = (after["total"] - before["total"]).tolist()
    scores = ", ".join(
        f"{name} {changes[seat]:+d} ({after['total'][seat]})" for seat, name in enumerate(names)
    )
    head = f"Round {before['round_idx'] + 1} is over: {scores}."
    # Sums over completed rounds tell bid and tricks of this one, whoever changed a bid at its end.
    bids = (after["bid_sum"].astype(int) - before["bid_sum"]).tolist()
    errors = (after["error"].astype(int) - before["error"]).tolist()
    cards, scoring = int(before["cards"]), Scoring(int(rules["scoring"]))
    players = zip(names, bids, errors, changes, before["cannon"].tolist(), strict=False)
    reasons = [
        _explain_score(name, bid, bid + error, change, cards, scoring, bool(cannon))
        for name, bid, error, change, cannon in players
    ]
    return [head, *sorted(reasons, key=lambda reason: reason.startswith(f"{YOU} "))]  # theirs last


def _explain_score(
    name: str, bid: int, won: int, points: int, cards: int, scoring: Scoring, cannonball: bool
) -> str:
    """Explain the points of a player for a round (docs/skullking.md, 5 and 7.1)."""
    paid = score_bid(bid, won, cards, 0, scoring, cannonball).points
    off = abs(won - bid)
    missed = f"{off} too {'many' if won > bid else 'few'}"
    of_cards = f"for {'the one card' if cards == 1 else f'each of {cards} cards'}"
    if scoring == Scoring.SKULL_KING:
        if bid == 0:
            why = f"{paid:+d}, 10 {of_cards}"
        else:
            why = f"{paid:+d}, " + ("20 for each trick" if not off else "10 off for each")
    elif scoring == Scoring.RASCAL_CANNON and cannonball:
        why = f"{paid:+d}, 15 {of_cards}" if not off else "nothing, with a cannonball"
    else:
        shares = (f"{paid:+d}, 10 {of_cards}", f"{paid:+d}, half of 10 {of_cards}", "nothing")
        why = shares[min(off, 2)]
    beside = points - paid
    more = f", and {beside:+d} for cards captured, Loot and bets" if beside else ""
    said = "" if not off else f", {missed}"
    return f"{name} bid {bid} and won {won}{said}: {why}{more}."


def _conjugate(name: str, verb: str) -> str:
    return f"{name} {verb}" if name == YOU else f"{name} {verb}s"
