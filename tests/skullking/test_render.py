"""The drawn table shows what a player may know, and no more."""

import random
import re
from collections.abc import Iterator

import numpy as np
import pytest

from fastenv.skullking.config import SkullKingConfig
from fastenv.skullking.reference import SkullKing
from fastenv.skullking.render import card_name, render_ansi, render_rgb
from fastenv.skullking.rules import Play, score_round
from fastenv.skullking.tables import TIGRESS, Phase
from fastenv.skullking.view import table_view
from tests.skullking.states import rows_of
from tests.slow import every
from tests.tables import walk

VARIANTS = {
    "flat": {"tier": "flat"},
    "manager": {"tier": "manager", "mode": "game", "num_players": 3},
    "worker": {"tier": "worker", "num_players": 6},
    "ability": {"tier": "ability", "tigress": "agent", "agent_seat": 2},
    "cannon": {"tier": "flat", "scoring": "rascal_cannon", "num_players": 8, "abilities": "auto"},
    "graybeard": {"tier": "flat", "num_players": 2, "tigress": "agent"},
    "late_suit": {"tier": "flat", "preset": "pi_compat", "num_players": 5},
}

Position = tuple[SkullKing, np.void, np.void]


def positions(steps: int = 120, seed: int = 1, **options: object) -> Iterator[Position]:
    """Play legal random actions; yield the game, its row and its rules at every decision."""
    config = SkullKingConfig.from_options(**options)
    rules, knobs = config.rules_record()[0], config.default_knobs(1)[0]
    game, choice = SkullKing(rules, knobs, seed), random.Random(seed)
    for _ in range(steps):
        yield game, rows_of(game)[0], rules
        if game.done:
            game.reset()
        else:
            game.step(choice.choice(game.legal_actions()))


def first(phase: Phase, **options: object) -> Position:
    return next(p for p in positions(steps=5000, **options) if p[0].phase == phase)


def shuffle_unseen(row: np.void, seed: int) -> None:
    """Deal the cards that the agent has not seen anew: other hands and, before Jade, the stock."""
    row["rng"] += np.uint64(1)
    agent = int(row["agent"])
    places = [
        (row["hand"][seat], i)
        for seat in range(8)
        if seat != agent
        for i in range(int(row["hand_len"][seat]))
    ]
    if row["jade_seat"] != row["actor"]:
        places += [(row["stock"], i) for i in range(int(row["stock_pos"]), int(row["stock_len"]))]
    cards = [int(array[i]) for array, i in places]
    random.Random(seed).shuffle(cards)
    for (array, i), card in zip(places, cards, strict=True):
        array[i] = card


@walk(
    ("card", "mode", "name"),
    [
        (30, None, "Parrot 7"),
        (38, None, "Pirate Map 1"),
        (65, None, "Treasure Chest 14"),
        (23, None, "Jolly Roger 14"),
        (0, None, "Skull King"),
        (5, 1, "Rosie D'Laney"),
        (TIGRESS, None, "Tigress"),
        (TIGRESS, 0, "Tigress (escape)"),
        (TIGRESS, 1, "Tigress (pirate)"),
    ],
)
def test_card_name_is_the_printed_one(card: int, mode: int | None, name: str) -> None:
    assert card_name(card, mode) == name


@walk("variant", every(4, VARIANTS))
def test_hidden_cards_and_secret_bids_change_nothing(variant: str) -> None:
    for n, (game, row, rules) in enumerate(positions(**VARIANTS[variant])):
        before, text = table_view(row, rules), render_ansi(row, rules)
        picture = render_rgb(row, rules) if n % 50 == 0 else None
        shuffle_unseen(row, seed=n)
        if not row["out"].any():  # another player's discards
            row["discard"] = row["discard"][::-1]
        others = [seat for seat in range(game.rules.num_players) if seat != game.agent]
        row["cannon"][others] ^= 1
        if game.phase in (Phase.BID, Phase.CANNON):
            row["bid"][others] = (row["bid"][others] + 1) % (game.cards + 1)
        assert table_view(row, rules) == before
        assert render_ansi(row, rules) == text
        if picture is not None:
            np.testing.assert_array_equal(render_rgb(row, rules), picture)


@walk("variant", every(2, VARIANTS))
def test_marked_actions_are_the_legal_ones(variant: str) -> None:
    for game, row, rules in positions(**VARIANTS[variant]):
        expected = set() if game.done else set(game.legal_actions())
        assert table_view(row, rules).legal_actions == expected
        text = render_ansi(row, rules, color=False)
        numbered = [int(n) for n in re.findall(r"\[(\d+)\]", text)]
        starred = [int(n) for n in re.findall(r"\*\s+\[(\d+)\]", text)]
        assert set(starred or numbered) == expected


def test_all_phases_render() -> None:
    seen = set()
    for options in VARIANTS.values():
        for game, row, rules in positions(steps=400, **options):
            text = render_ansi(row, rules)
            assert text == text.strip("\n")
            if game.phase not in seen:
                seen.add(game.phase)
                picture = render_rgb(row, rules)
                assert picture.dtype == np.uint8
                assert picture.shape == (640, 960, 3)
                assert picture.flags.writeable
                assert picture.std() > 10, "not one flat color"
    assert seen == set(Phase)


def test_text_tells_what_is_on_the_table() -> None:
    _, row, rules = first(Phase.PLAY, tier="worker", num_players=4)
    agent = int(row["agent"])
    row["hand"][agent] = 0
    row["hand"][agent, :3] = (0, 25, 40)
    row["hand_len"][agent] = 3
    row["table_card"][:3] = (66, 30, TIGRESS)
    row["table_seat"][:3] = (1, 2, 3)
    row["table_mode"][:3] = (0, 0, 1)
    row["table_len"] = 3
    lines = render_ansi(row, rules, color=False).splitlines()
    assert "On the table (follow Parrot)" in lines
    assert "  1. seat 1: Escape" in lines
    assert "  2. seat 2: Parrot 7" in lines
    assert "  3. seat 3: Tigress (pirate)  wins so far" in lines
    assert "  *  [0] Skull King" in lines
    assert "  *  [1] Parrot 2" in lines
    assert "     [2] Pirate Map 3" in lines


def test_text_tells_bids_only_after_they_are_revealed() -> None:
    def bids(row: np.void, rules: np.void) -> list[str]:
        lines = render_ansi(row, rules, color=False).splitlines()[3:7]
        return [re.split(r"\s{2,}", line.strip())[2] for line in lines]

    game, row, rules = first(Phase.BID, tier="flat")
    assert bids(row, rules) == ["-"] * 4
    game.step(1)
    assert bids(rows_of(game)[0], rules) == [str(bid) for bid in game.bid[:4]]


def test_text_reports_a_round_and_an_illegal_action() -> None:
    game, row, rules = first(Phase.BID, tier="flat")
    game.step(10)
    row = rows_of(game)[0]
    assert "Action 10 was illegal and changed nothing (1 of 50)." in render_ansi(row, rules)
    while not game.ev_round:
        game.step(game.legal_actions()[0])
    text = render_ansi(rows_of(game)[0], rules)
    assert f"Round 1: bid {game.ev_bid}, won {game.ev_won}, {game.ev_points:+d} points" in text


@pytest.mark.parametrize(
    ("alliances", "bonus", "said"),
    [(0, 0, "+20 points."), (1, 30, "(bonus 30, alliance 20)"), (2, 0, "(2 alliances 40)")],
)
def test_text_of_a_round_has_the_points_of_its_alliances(
    alliances: int, bonus: int, said: str
) -> None:
    """The extras that are named and the points of the bid are the points of the round."""
    game, _, rules = first(Phase.BID, tier="flat")
    row = rows_of(game)[0]
    points = score_round(1, 1, 1, bonus, alliances).points
    event = {"round": 1, "bid": 1, "won": 1, "bonus": bonus, "points": points}
    for name, value in (event | {"alliances": alliances}).items():
        row[f"ev_{name}"] = value
    (line,) = (line for line in render_ansi(row, rules).splitlines() if "Round 1:" in line)
    assert said in line
    named = sum(map(int, re.findall(r"(?:bonus|alliances?) (\d+)", line)))
    assert f"{20 + named:+d} points" in line


def test_color_can_be_left_out() -> None:
    _, row, rules = first(Phase.PLAY, tier="flat")
    assert "\x1b[" in render_ansi(row, rules)
    assert "\x1b" not in render_ansi(row, rules, color=False)
    plain = re.sub(r"\x1b\[[\d;]*m", "", render_ansi(row, rules))
    assert plain == render_ansi(row, rules, color=False)


# -- the last trick ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"tier": "flat"},
        {"tier": "worker", "num_players": 6, "tigress": "agent"},
        {"tier": "flat", "num_players": 2, "scoring": "rascal_cannon"},
        {"tier": "manager", "mode": "game"},
        {"tier": "ability", "num_players": 8},
    ],
    ids=lambda options: options["tier"],
)
def test_the_last_trick_is_shown_whole_with_who_won_it(
    options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    tricks: list[tuple[list[Play], int]] = []
    finish = SkullKing.finish_trick

    def finish_and_tell(game: SkullKing) -> None:
        plays, before = game.plays(), list(game.won)
        finish(game)
        won = [seat for seat in range(8) if game.won[seat] > before[seat]]
        tricks.append((plays, won[0] if won else -1))

    monkeypatch.setattr(SkullKing, "finish_trick", finish_and_tell)
    shown = 0
    for game, row, rules in positions(steps=300, **options):
        view = table_view(row, rules)
        if not game.tricks and not game.ev_round:
            assert view.last == ()
            continue
        plays, winner = tricks[-1]
        assert list(view.last) == plays
        assert (-1 if view.last_winner is None else view.last[view.last_winner].seat) == winner
        text = render_ansi(row, rules, color=False).split("The last trick\n")[1]
        for line, play in zip(text.splitlines(), plays, strict=False):
            who = "you" if play.seat == game.actor else f"seat {play.seat}"
            mode = play.mode if play.card == TIGRESS else None
            won = "  won" if play.seat == winner else ""
            assert line[5:] == f"{who}: {card_name(play.card, mode)}{won}"
        assert ("nobody won" in text) == (winner < 0)
        shown += 1
    assert shown > 10


def test_the_picture_shows_the_last_trick() -> None:
    _, row, rules = next(p for p in positions(tier="flat") if p[0].ev_round and not p[0].done)
    whole = render_rgb(row, rules)
    without = row.copy()
    without["last_card"] = without["last_seat"] = -1
    changed = np.argwhere((whole != render_rgb(without, rules)).any(axis=2))
    assert changed.size
    assert changed.min(axis=0).tolist() >= [300, 14]  # in its own corner
    assert (changed.max(axis=0) < [420, 300]).all()
