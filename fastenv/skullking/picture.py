"""The table as a picture, drawn with Pillow from a :class:`~fastenv.skullking.view.TableView`."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw

from fastenv.skullking import tables as t
from fastenv.skullking.card_faces import (
    GOLD,
    INK,
    PAPER,
    Color,
    Pen,
    card_back,
    card_face,
    card_height,
    font,
    mix,
    panel,
    skull,
)
from fastenv.skullking.view import SLOT_PHASES, Seat, TableView

WIDTH, HEIGHT = 960, 640
FELT, WOOD, DARK = (22, 98, 70), (74, 46, 28), (14, 52, 40)
PALE, GREEN, RED = (190, 214, 200), (126, 220, 140), (255, 138, 120)
SIGN = (160, 68)  # width and height of a seat's sign; the agent's has no backs of cards
AGENT_SIGN = (200, 50)
RING = (480, 236, 372, 150)  # ellipse of the opponents' signs: center, radii
TRICK_TOP, AGENT_TOP, PROMPT_Y, CHIPS_TOP, HAND_TOP = 166, 306, 382, 400, 454
CHIP = 32
LAST = (34, 334)  # top left of the last trick


def draw(view: TableView) -> np.ndarray:
    """Return a picture of the table, uint8 of shape (HEIGHT, WIDTH, 3)."""
    picture = _Picture(view)
    picture.title()
    picture.seats()
    picture.trick()
    picture.last_trick()
    picture.choices()
    picture.hand()
    return np.array(picture.image)


@lru_cache(maxsize=2)
def _background(emblem: bool) -> Image.Image:
    """Return felt in a wooden frame, lit from above; callers draw on a copy."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    distance = np.hypot((x - WIDTH / 2) / WIDTH, (y - HEIGHT * 0.4) / HEIGHT)
    light = 1.12 - 0.75 * distance**1.4
    felt = np.array(FELT) * light[..., None]
    image = Image.fromarray(felt.clip(0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    if emblem:
        skull(Pen(draw, WIDTH / 2 - 52, TRICK_TOP - 2, 104), mix(FELT, DARK, 0.3), FELT)
    for i in range(14):
        edge = mix(WOOD, INK, 0.1 + 0.4 * abs(i - 5) / 8)
        draw.rectangle((i, i, WIDTH - 1 - i, HEIGHT - 1 - i), outline=edge)
    draw.rectangle((14, 14, WIDTH - 15, HEIGHT - 15), outline=mix(GOLD, WOOD, 0.3))
    return image


class _Picture:
    """A picture in the making; every method draws one part of the table."""

    def __init__(self, view: TableView) -> None:
        self.view = view
        self.image = _background(emblem=not view.plays).copy()
        self.pen = ImageDraw.Draw(self.image)

    def paste(self, part: Image.Image, x: float, y: float) -> None:
        """Lay a picture with transparent corners on the table."""
        self.image.paste(part, (round(x), round(y)), part)

    def text(self, x: float, y: float, text: str, color: Color, size: int, anchor: str) -> None:
        """Write a line; ``anchor`` is Pillow's, ``"ls"`` is left on the base line."""
        self.pen.text((x, y), text, color, font(size), anchor)

    def number(self, x: float, y: float, text: str) -> None:
        """Draw the number of an action on a coin with center ``x, y``."""
        self.paste(panel(22, 22, 11, GOLD), x - 11, y - 11)
        self.text(x, y, text, INK, 14, "mm")

    # -- parts of the table ------------------------------------------------------------------------

    def title(self) -> None:
        """Write where the game stands on the left, what happened on the right."""
        self.text(32, 48, "Skull King", GOLD, 26, "ls")
        self.text(32, 70, " · ".join(self.view.title), PALE, 14, "ls")
        for i, line in enumerate(self.view.news):
            self.text(WIDTH - 32, 42 + 20 * i, line, PAPER, 14, "rs")

    def seats(self) -> None:
        """Draw the signs of all seats: the agent's below, the others around, clockwise."""
        x0, y0, rx, ry = RING
        others = len(self.view.seats) - 1
        span = min(180, 70 * (others - 1)) if others < 6 else 206
        for seat in self.view.seats:
            turn = (seat.number - self.view.agent) % len(self.view.seats)
            if turn == 0:
                self.agent_sign(seat)
                continue
            share = 0.5 if others == 1 else (turn - 1) / (others - 1)
            angle = math.radians(270 + span * (share - 0.5))
            x, y = x0 + rx * math.cos(angle), y0 + ry * math.sin(angle)
            self.sign(seat, round(x - SIGN[0] / 2), round(y - SIGN[1] / 2))

    def agent_sign(self, seat: Seat) -> None:
        """Draw the agent's sign above its hand."""
        x, y = (WIDTH - AGENT_SIGN[0]) // 2, AGENT_TOP
        self.paste(panel(*AGENT_SIGN, 10, DARK, GOLD), x, y)
        self.inscribe(seat, "you", x, y, AGENT_SIGN[0])
        self.text(x + AGENT_SIGN[0] + 12, y + 30, ", ".join(seat.notes), GOLD, 13, "ls")

    def sign(self, seat: Seat, x: int, y: int) -> None:
        """Draw the sign of another seat with the backs of its cards."""
        self.paste(panel(*SIGN, 10, DARK, mix(DARK, PALE, 0.35)), x, y)
        self.inscribe(seat, f"{seat.number} · {seat.name}", x, y, SIGN[0])
        for i in range(seat.cards):
            self.paste(card_back(13), x + 10 + 8 * i, y + SIGN[1] - 24)
        for i, note in enumerate(seat.notes):
            self.text(x + SIGN[0] / 2, y + SIGN[1] + 13 + 14 * i, note, GOLD, 12, "ms")

    def inscribe(self, seat: Seat, name: str, x: int, y: int, width: int) -> None:
        """Write name, tricks and points on a sign."""
        self.text(x + 10, y + 19, name, PAPER, 14, "ls")
        if seat.leads:
            self.paste(panel(40, 16, 8, GOLD), x + width - 47, y + 6)
            self.text(x + width - 27, y + 14, "leads", INK, 11, "mm")
        won, color = f"won {seat.won}", PALE
        if seat.bid is not None:
            won += f" of {seat.bid}"
            color = PAPER if seat.won < seat.bid else GREEN if seat.won == seat.bid else RED
        self.text(x + 10, y + 38, won, color, 14, "ls")
        if seat.total is not None:
            self.text(x + width - 10, y + 38, f"{seat.total} pts", PALE, 14, "rs")

    def trick(self) -> None:
        """Draw the cards on the table in play order, the winning one in gold."""
        view = self.view
        width = 68 if len(view.seats) <= 5 else 56
        height, step = card_height(width), width + 8
        left = WIDTH / 2 - (step * len(view.plays) - 8) / 2
        self.text(WIDTH / 2, TRICK_TOP - 11, view.follow, PALE, 13, "ms")
        for i, play in enumerate(view.plays):
            x, color = round(left + step * i), PALE
            if i == view.winning:
                color = GOLD
                self.paste(panel(width + 8, height + 8, 10, GOLD), x - 4, TRICK_TOP - 4)
            mode = play.mode if play.card == t.TIGRESS else -1
            self.paste(card_face(play.card, mode, width), x, TRICK_TOP)
            who = self.who(play.seat)
            self.text(x + width / 2, TRICK_TOP + height + 19, who, color, 13, "ms")

    def last_trick(self) -> None:
        """Draw the complete trick before this one, small, with the card that won in gold."""
        view = self.view
        if not view.last:
            return
        winner = None if view.last_winner is None else view.last[view.last_winner]
        won = "nobody" if winner is None else self.who(winner.seat)
        width = 36 if len(view.last) <= 5 else 28
        (x, y), step = LAST, width + 4
        self.text(x, y - 8, f"last trick: {won} won", PALE, 13, "ls")
        for i, play in enumerate(view.last):
            left, height = x + step * i, card_height(width)
            if play is winner:
                self.paste(panel(width + 4, height + 4, 5, GOLD), left - 2, y - 2)
            mode = play.mode if play.card == t.TIGRESS else -1
            self.paste(card_face(play.card, mode, width), left, y)
            label = "you" if play.seat == view.agent else str(play.seat)
            self.text(left + width / 2, y + height + 13, label, PALE, 11, "ms")

    def who(self, seat: int) -> str:
        """Return how a player is called on the table."""
        return "you" if seat == self.view.agent else f"seat {seat}"

    def choices(self) -> None:
        """Ask; draw a chip for every action that is not a card: number and meaning."""
        self.text(WIDTH / 2, PROMPT_Y, self.view.prompt, PAPER, 16, "ms")
        labels = [(str(a), "" if text == str(a) else text) for a, text in self.view.choices]
        widths = [
            CHIP + (round(self.pen.textlength(text, font(14))) + 14 if text else 0)
            for _, text in labels
        ]
        x = (WIDTH - sum(widths) - 10 * (len(widths) - 1)) // 2
        for (action, text), width in zip(labels, widths, strict=True):
            self.paste(panel(width, CHIP, CHIP // 2, DARK, GOLD), x, CHIPS_TOP)
            self.number(x + CHIP / 2, CHIPS_TOP + CHIP / 2, action)
            self.text(x + 34, CHIPS_TOP + 21, text, PAPER, 14, "ls")
            x += width + 10

    def hand(self) -> None:
        """Draw the agent's cards; those that are actions now stand out and have a number."""
        view, width, step = self.view, 76, 82
        height = card_height(width)
        left = WIDTH / 2 - (step * len(view.hand) - 6) / 2
        slots = view.phase in SLOT_PHASES
        for slot, card in enumerate(view.hand):
            x, legal = round(left + step * slot), slot in view.legal_slots
            top = HAND_TOP - (12 if legal else 0)
            if card in view.drawn:
                self.paste(panel(width + 6, height + 6, 10, GREEN), x - 3, top - 3)
            self.paste(card_face(card, -1, width, dimmed=slots and not legal), x, top)
            if legal:
                self.number(x + width / 2, HAND_TOP + height + 16, str(slot))
            elif slot == view.discarded:
                self.text(x + width / 2, HAND_TOP + height + 21, "discarded", PALE, 13, "ms")
