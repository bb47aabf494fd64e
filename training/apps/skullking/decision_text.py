"""Describes decisions in words, as all players at the table saw them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastenv.skullking.render import render_ansi
from fastenv.skullking.rules import Play, tigress_mode, winning_play
from fastenv.skullking.tables import TIGRESS, Phase
from fastenv.skullking.view import card_name

YOU = "You"


def render_state(engine: Any, row: np.void, names: Sequence[str], seat: int = 0) -> str:
    """Draw the table as a player sees it, as text with colours; alone, as the agent does."""
    at_table = names if len(names) == engine.game.config.num_players else None
    if at_table is not None and seat != row["actor"]:
        row = row.copy()
        row["actor"], row["first_discard"] = seat, -1  # the discard is the other's
    return render_ansi(row, engine.game.rules[0], names=at_table)


def describe_decision(
    engine: Any,
    before: np.void,
    action: int,
    after: np.void,
    names: Sequence[str],
    seat: int = 0,
) -> list[str]:
    """Describe a decision in lines; see :func:`training.run.game_view.describe_decision`.

    Bids appear once all are made. Where bots move inside a step, only the person's card appears.
    The row itself says whose decision it was.
    """
    phase, seat = int(before["phase"]), int(before["actor"])
    if phase == Phase.BID:
        return _describe_bids(after, names) if int(after["phase"]) != Phase.BID else []
    if phase not in (Phase.PLAY, Phase.TIGRESS):
        return [f"{names[seat]}: {engine.game.action_name(action, before)}"]
    card = TIGRESS if phase == Phase.TIGRESS else int(before["hand"][seat][action])
    if card == TIGRESS and phase == Phase.PLAY and int(after["phase"]) == Phase.TIGRESS:
        return []
    mode = action
    if phase == Phase.PLAY:
        mode = tigress_mode(int(before["bid"][seat]), int(before["won"][seat]))
    lines = [f"{_conjugate(names[seat], 'play')} {card_name(card, mode)}."]
    plays = [*_read_plays(before), Play(seat, card, mode)]
    over = after["round_idx"] != before["round_idx"] or bool(after["done"])
    whole = len(plays) == int(engine.game.rules["num_hands"][0])
    if whole and (over or after["tricks"] != before["tricks"]):
        won = winning_play(plays)
        names_of = [*names, "Graybeard"]
        lines.append(
            "Nobody wins the trick."
            if won is None
            else f"{_conjugate(names_of[won.seat], 'win')} the trick with {card_name(*won[1:])}."
        )
    return lines + (_describe_scores(before, after, names) if over else [])


def _read_plays(row: np.void) -> list[Play]:
    columns = (row["table_seat"], row["table_card"], row["table_mode"])
    table = zip(*(column.tolist() for column in columns), strict=True)
    return [Play(*play) for play in table][: int(row["table_len"])]


def _describe_bids(after: np.void, names: Sequence[str]) -> list[str]:
    bids = ", ".join(f"{name} {after['bid'][seat]}" for seat, name in enumerate(names))
    return [f"Bids: {bids}."]


def _describe_scores(before: np.void, after: np.void, names: Sequence[str]) -> list[str]:
    changes = (after["total"] - before["total"]).tolist()
    scores = ", ".join(
        f"{name} {changes[seat]:+d} ({after['total'][seat]})" for seat, name in enumerate(names)
    )
    return [f"Round {before['round_idx'] + 1} is over: {scores}."]


def _conjugate(name: str, verb: str) -> str:
    return f"{name} {verb}" if name == YOU else f"{name} {verb}s"
