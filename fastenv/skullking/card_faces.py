"""Pictures of single cards, drawn with Pillow from plain shapes; no image or font files."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from fastenv.skullking import tables as t
from fastenv.skullking.view import SPECIAL_NAMES

Color = tuple[int, int, int]

INK, PAPER, GOLD, SKIN = (34, 30, 36), (251, 247, 236), (226, 178, 62), (232, 188, 150)
SUIT_COLORS: tuple[Color, ...] = ((24, 128, 66), (120, 58, 152), (190, 126, 10), (34, 32, 40))
CLASS_COLORS: dict[t.CardClass, Color] = {
    t.CardClass.PIRATE: (158, 40, 42),
    t.CardClass.TIGRESS: (190, 88, 26),
    t.CardClass.KING: (86, 16, 32),
    t.CardClass.MERMAID: (18, 122, 138),
    t.CardClass.KRAKEN: (44, 58, 118),
    t.CardClass.WHALE: (62, 104, 144),
    t.CardClass.ESCAPE: (96, 108, 120),
    t.CardClass.LOOT: (132, 94, 32),
}
SCALE = 4  # cards are drawn this much larger and scaled down, for smooth edges


@lru_cache(maxsize=64)
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return the font that comes with Pillow; it has Latin letters only."""
    return ImageFont.load_default(size=size)


def mix(a: Color, b: Color, share: float) -> Color:
    """Return the color ``share`` of the way from ``a`` to ``b``."""
    red, green, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return red, green, blue


class Pen:
    """Draws in a square of 100 x 100 units that lies anywhere in a picture."""

    draw: ImageDraw.ImageDraw
    left: float
    top: float
    unit: float

    def __init__(self, draw: ImageDraw.ImageDraw, left: float, top: float, size: float) -> None:
        self.draw, self.left, self.top, self.unit = draw, left, top, size / 100

    def inset(self, left: float, top: float, size: float) -> Pen:
        """Return a pen for a smaller square inside this one."""
        unit = self.unit
        return Pen(self.draw, self.left + left * unit, self.top + top * unit, size * unit)

    def points(self, xy: tuple[float, ...]) -> list[tuple[float, float]]:
        """Convert ``x0, y0, x1, y1, ...`` to pixels."""
        pairs = zip(xy[::2], xy[1::2], strict=True)
        return [(self.left + x * self.unit, self.top + y * self.unit) for x, y in pairs]

    def polygon(self, fill: Color, *xy: float) -> None:
        """Fill a polygon."""
        self.draw.polygon(self.points(xy), fill=fill)

    def line(self, fill: Color, width: float, *xy: float) -> None:
        """Draw a line with round ends."""
        points, radius = self.points(xy), width * self.unit / 2
        self.draw.line(points, fill=fill, width=round(2 * radius), joint="curve")
        for x, y in (points[0], points[-1]):
            self.draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)

    def arc(
        self, fill: Color, width: float, x: float, y: float, rx: float, ry: float, *span: float
    ) -> None:
        """Draw an elliptic arc between two angles in degrees, clockwise from the right."""
        start, end = span
        angles = [math.radians(start + (end - start) * i / 24) for i in range(25)]
        self.line(
            fill, width, *(v for a in angles for v in (x + rx * math.cos(a), y + ry * math.sin(a)))
        )

    def disc(self, fill: Color, x: float, y: float, rx: float, ry: float | None = None) -> None:
        """Fill a circle, or an ellipse."""
        ry = rx if ry is None else ry
        corners = self.points((x - rx, y - ry, x + rx, y + ry))
        self.draw.ellipse(corners, fill=fill)

    def box(self, fill: Color, *xy: float, radius: float = 0) -> None:
        """Fill a rectangle ``left, top, right, bottom`` with round corners."""
        self.draw.rounded_rectangle(self.points(xy), radius * self.unit, fill=fill)


# -- icons: `ink` is the color of the figure, `ground` that of the card around it -----------------


def skull(pen: Pen, ink: Color, ground: Color, bones: bool = True) -> None:
    """Draw the Jolly Roger."""
    if bones:
        for x in (10, 90):
            pen.line(ink, 9, x, 66, 100 - x, 95)
            for y in (60, 72):
                pen.disc(ink, x, y, 6)
            for y in (89, 101):
                pen.disc(ink, 100 - x, y - 2, 6)
        pen.box(ground, 30, 60, 70, 84, radius=8)
    pen.disc(ink, 50, 36, 31, 30)
    pen.box(ink, 35, 52, 65, 80, radius=7)
    pen.disc(ground, 38, 38, 9)
    pen.disc(ground, 62, 38, 9)
    pen.polygon(ground, 50, 48, 44, 59, 56, 59)
    for x in (43, 50, 57):
        pen.line(ground, 2.5, x, 68, x, 80)


def parrot(pen: Pen, ink: Color, ground: Color) -> None:
    """Draw a parrot on its perch."""
    pen.line(mix(ink, INK, 0.6), 5, 12, 80, 88, 80)
    pen.polygon(mix(ink, INK, 0.35), 40, 66, 20, 98, 38, 98, 52, 74)
    pen.disc(ink, 50, 52, 23, 30)
    pen.disc(ink, 56, 26, 20)
    pen.disc(mix(ink, ground, 0.35), 42, 56, 13, 23)
    pen.polygon(GOLD, 71, 17, 90, 27, 86, 42, 74, 36)
    pen.disc(ground, 61, 22, 6)
    pen.disc(INK, 62, 22, 3)
    pen.polygon(ink, 42, 10, 36, -2, 50, 5, 54, -4, 60, 8)


def treasure_map(pen: Pen, ink: Color, ground: Color) -> None:
    """Draw a map whose cross marks the spot."""
    pen.polygon(ink, 6, 22, 35, 12, 65, 22, 94, 12, 94, 80, 65, 90, 35, 80, 6, 90)
    for x, top in ((35, 12), (65, 22)):
        pen.line(mix(ink, ground, 0.4), 3, x, top + 2, x, top + 66)
    for x, y in ((18, 74), (27, 64), (38, 58), (49, 60), (58, 52)):
        pen.disc(ground, x, y, 3.5)
    pen.line(ground, 6, 69, 34, 83, 50)
    pen.line(ground, 6, 83, 34, 69, 50)


def chest(pen: Pen, ink: Color, ground: Color) -> None:
    """Draw a treasure chest."""
    pen.box(mix(ink, INK, 0.25), 8, 16, 92, 60, radius=22)
    pen.box(ink, 8, 46, 92, 88, radius=5)
    pen.line(ground, 4, 9, 46, 91, 46)
    for x in (24, 76):
        pen.line(mix(ink, INK, 0.5), 6, x, 20, x, 85)
    pen.box(mix(GOLD, ground, 0.3), 41, 38, 59, 60, radius=4)
    pen.disc(INK, 50, 48, 4)


def skull_king(pen: Pen, ink: Color, ground: Color) -> None:
    """Draw a skull with a crown."""
    skull(pen.inset(14, 26, 72), ink, ground, bones=False)
    pen.polygon(GOLD, 20, 34, 14, 2, 34, 17, 50, -4, 66, 17, 86, 2, 80, 34)
    pen.box(mix(GOLD, INK, 0.25), 20, 28, 80, 37, radius=2)
    for x, y in ((14, 2), (50, -4), (86, 2)):
        pen.disc(ink, x, y, 5)


def pirate(pen: Pen, ink: Color, ground: Color) -> None:
    """Draw a face with a beard, an eye patch and a hat."""
    beard = (88, 58, 40)
    pen.disc(beard, 50, 66, 30, 32)
    pen.disc(SKIN, 50, 52, 27, 28)
    pen.disc(beard, 50, 76, 24, 15)
    pen.line(mix(ink, ground, 0.35), 4, 41, 72, 59, 72)
    pen.line(INK, 3, 26, 40, 76, 58)
    pen.disc(INK, 61, 52, 8)
    pen.disc(INK, 40, 52, 3.5)
    _hat(pen, ink)


def pirate_woman(pen: Pen, ink: Color, ground: Color) -> None:
    """Draw a face with long hair, an earring and a hat."""
    hair = (58, 34, 30)
    pen.disc(hair, 50, 54, 36, 34)
    pen.box(hair, 14, 50, 86, 96, radius=14)
    pen.box(SKIN, 42, 74, 58, 96, radius=6)
    pen.disc(SKIN, 50, 57, 24, 29)
    for x in (40, 60):
        pen.disc(INK, x, 54, 3.5)
    pen.arc(mix(ground, INK, 0.1), 4, 50, 68, 9, 6, 20, 160)
    pen.disc(GOLD, 75, 72, 5)
    _hat(pen, ink)


def _hat(pen: Pen, ink: Color) -> None:
    pen.polygon(INK, 2, 42, 22, 14, 50, 4, 78, 14, 98, 42, 74, 36, 50, 33, 26, 36)
    skull(pen.inset(40, 11, 20), ink, INK)


def mermaid(pen: Pen, ink: Color, ground: Color) -> None:
    """Draw a tail above the waves."""
    pen.polygon(ink, 50, 34, 8, 14, 20, 2, 38, 4, 50, 18, 62, 4, 80, 2, 92, 14)
    pen.polygon(ink, 43, 26, 57, 26, 64, 50, 70, 84, 30, 84, 36, 50)
    for y in (46, 58, 70):
        pen.arc(ground, 2.5, 42, y, 8, 7, 20, 160)
        pen.arc(ground, 2.5, 58, y, 8, 7, 20, 160)
    for x in (11, 37, 63, 89):
        pen.arc(mix(ink, ground, 0.25), 6, x, 78, 13, 10, 0, 180)


def kraken(pen: Pen, ink: Color, ground: Color) -> None:
    """Draw a head with eight arms."""
    for x, rx in ((24, 20), (76, 20)):
        first, last = (180, 20) if x < 50 else (0, 160)
        pen.arc(ink, 7, x, 62, rx, 16, first, last)
        pen.arc(ink, 7, x, 80, rx - 4, 14, first, last)
    for x in (36, 46, 54, 64):
        pen.line(ink, 8, x, 52, x + (x - 50) * 0.7, 94)
    pen.disc(ink, 50, 34, 28, 34)
    pen.box(ink, 28, 40, 72, 66, radius=14)
    for x in (39, 61):
        pen.disc(ground, x, 42, 8)
        pen.disc(GOLD, x, 43, 4)


def whale(pen: Pen, ink: Color, ground: Color) -> None:
    """Draw a whale that blows."""
    pen.arc(mix(ink, ground, 0.3), 5, 24, 22, 14, 16, 180, 350)
    pen.arc(mix(ink, ground, 0.3), 5, 52, 22, 14, 16, 190, 360)
    pen.polygon(ink, 72, 62, 82, 44, 70, 30, 86, 32, 98, 22, 96, 42, 88, 66, 78, 80)
    pen.disc(ink, 42, 62, 38, 28)
    pen.disc(mix(ink, ground, 0.35), 36, 80, 24, 8)
    pen.disc(ground, 20, 56, 4.5)
    pen.arc(ground, 3, 14, 66, 14, 7, 30, 120)


def flag(pen: Pen, ink: Color, ground: Color) -> None:
    """Draw a white flag."""
    pen.line(mix(ink, ground, 0.35), 6, 22, 4, 22, 98)
    pen.polygon(ink, 22, 8, 38, 6, 54, 14, 72, 16, 92, 8, 92, 54, 72, 62, 54, 60, 38, 52, 22, 54)
    pen.disc(GOLD, 22, 3, 5)


def tigress(pen: Pen, ink: Color, ground: Color) -> None:
    """Draw a tiger's face."""
    for x in (22, 78):
        pen.disc(ink, x, 22, 16)
        pen.disc(mix(ink, ground, 0.6), x, 23, 8)
    pen.disc(ink, 50, 52, 40, 38)
    for side in (-1, 1):
        for y, inner in ((42, 26), (54, 29), (66, 25)):
            x = 50 + side * inner
            pen.polygon(INK, x, y, 50 + side * 40, y - 5, 50 + side * 39, y + 4)
        pen.disc(GOLD, 50 + side * 16, 46, 7)
        pen.disc(INK, 50 + side * 16, 46, 2.5, 6)
        pen.arc(INK, 2.5, 50 + side * 7, 72, 7, 7, 0, 180)
    for x, y in ((50, 30), (42, 27), (58, 27)):
        pen.polygon(INK, x - 3, 14, x + 3, 14, x, y)
    pen.polygon(mix(ground, INK, 0.3), 43, 60, 57, 60, 50, 68)


def loot(pen: Pen, ink: Color, ground: Color) -> None:
    """Draw a heap of coins."""
    coins = ((50, 30), (34, 48), (66, 48), (20, 70), (50, 70), (80, 70))
    for x, y in coins:
        pen.disc(mix(GOLD, INK, 0.45), x, y + 5, 19, 15)
        pen.disc(GOLD, x, y, 19, 15)
        pen.disc(mix(GOLD, ink, 0.5), x, y, 12, 9)


Icon = Callable[[Pen, Color, Color], None]
SUIT_ICONS: tuple[Icon, ...] = (parrot, treasure_map, chest, skull)
CLASS_ICONS: dict[t.CardClass, Icon] = {
    t.CardClass.PIRATE: pirate,
    t.CardClass.TIGRESS: tigress,
    t.CardClass.KING: skull_king,
    t.CardClass.MERMAID: mermaid,
    t.CardClass.KRAKEN: kraken,
    t.CardClass.WHALE: whale,
    t.CardClass.ESCAPE: flag,
    t.CardClass.LOOT: loot,
}
WOMEN = (t.ROSIE, t.JADE)

# -- whole cards ----------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def card_face(card: int, mode: int, width: int, dimmed: bool = False) -> Image.Image:
    """Return the face of a card; callers must not draw on it.

    Parameters
    ----------
    card : int
        Card id.
    mode : int
        How the Tigress was played, -1 where that is not decided.
    width : int
        Pixels; the height is 1.45 times the width.
    dimmed : bool
        Draw a card that may not be played.
    """
    image, draw, size = _blank(width)
    if t.NUMBER[card]:
        _number_face(draw, size, card)
    else:
        _special_face(draw, size, card, mode)
    face = image.resize((width, card_height(width)), Image.Resampling.LANCZOS)
    if dimmed:
        shade = Image.new("RGBA", face.size, (20, 40, 32, 255))
        shade.putalpha(face.getchannel("A").point(lambda a: a * 0.55))
        face = Image.alpha_composite(face, shade)
    return face


@lru_cache(maxsize=256)
def panel(
    width: int, height: int, radius: int, fill: Color, border: Color | None = None
) -> Image.Image:
    """Return a rectangle with smooth round corners; callers must not draw on it."""
    image = Image.new("RGBA", (width * SCALE, height * SCALE), (*(border or fill), 0))
    box = (0, 0, width * SCALE - 1, height * SCALE - 1)
    ImageDraw.Draw(image).rounded_rectangle(
        box, radius * SCALE, fill, border, round(1.5 * SCALE) if border else 0
    )
    return image.resize((width, height), Image.Resampling.LANCZOS)


@lru_cache(maxsize=8)
def card_back(width: int) -> Image.Image:
    """Return the back of a card; callers must not draw on it."""
    image, draw, (w, h) = _blank(width)
    edge, ground = w * 0.08, (46, 54, 96)
    draw.rounded_rectangle((edge, edge, w - edge, h - edge), w * 0.08, fill=ground)
    if width < 30:
        Pen(draw, w * 0.2, h * 0.29, w * 0.6).disc(mix(ground, PAPER, 0.45), 50, 50, 34)
    else:
        skull(Pen(draw, w * 0.22, h * 0.3, w * 0.56), mix(ground, PAPER, 0.6), ground)
    return image.resize((width, card_height(width)), Image.Resampling.LANCZOS)


def card_height(width: int) -> int:
    """Return the height of a card."""
    return round(width * 1.45)


def _blank(width: int) -> tuple[Image.Image, ImageDraw.ImageDraw, tuple[int, int]]:
    size = (width * SCALE, card_height(width) * SCALE)
    image = Image.new("RGBA", size, (0, 0, 0, 0))
    draw = ImageDraw.Draw(image)
    box = (0, 0, size[0] - 1, size[1] - 1)
    draw.rounded_rectangle(box, size[0] * 0.1, fill=PAPER, outline=(120, 112, 100), width=SCALE)
    return image, draw, size


def _number_face(draw: ImageDraw.ImageDraw, size: tuple[int, int], card: int) -> None:
    w, h = size
    suit, number = t.SUIT[card], str(t.NUMBER[card])
    color = SUIT_COLORS[suit]
    dark = suit == t.TRUMP  # trump shows from afar
    ink, ground = (PAPER, color) if dark else (color, PAPER)
    edge = w * 0.05
    if dark:
        draw.rounded_rectangle((edge, edge, w - edge, h - edge), w * 0.07, fill=color)
    else:
        draw.rounded_rectangle(
            (edge, edge, w - edge, h - edge), w * 0.07, outline=color, width=round(w * 0.025)
        )
    SUIT_ICONS[suit](Pen(draw, w * 0.24, h * 0.36, w * 0.52), ink, ground)
    big, small = font(round(w * 0.32)), font(round(w * 0.2))
    stroke = round(w * 0.008)
    draw.text((w * 0.13, h * 0.07), number, ink, big, "lt", stroke_width=stroke, stroke_fill=ink)
    draw.text((w * 0.88, h * 0.93), number, ink, small, "rb", stroke_width=stroke, stroke_fill=ink)


def _special_face(draw: ImageDraw.ImageDraw, size: tuple[int, int], card: int, mode: int) -> None:
    w, h = size
    color = CLASS_COLORS[t.CLASS[card]]
    edge = w * 0.05
    draw.rounded_rectangle((edge, edge, w - edge, h - edge), w * 0.07, fill=color)
    icon = pirate_woman if card in WOMEN else CLASS_ICONS[t.CLASS[card]]
    icon(Pen(draw, w * 0.2, h * 0.14, w * 0.6), PAPER, color)
    name = SPECIAL_NAMES[card]
    if card == t.TIGRESS and mode >= 0:
        name += " as pirate" if mode else " as escape"
    first, _, last = name.rpartition(" ") if card != t.TIGRESS else name.partition(" ")
    lines = [line for line in (first, last) if line]
    small, step = font(round(w * 0.16)), h * 0.125
    for i, line in enumerate(lines):
        y = h * 0.91 - step * (len(lines) - 1 - i)
        draw.text((w / 2, y), line, PAPER, small, "ms", stroke_width=1, stroke_fill=PAPER)
