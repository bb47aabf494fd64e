"""The bottles as a picture, drawn with Pillow from their views.

Each colour of a virus has a shape of its own as well, and viruses look other than pills.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from fastenv.drmario import tables as t
from fastenv.drmario.tables import Tile
from fastenv.drmario.view import BottleView

Color = tuple[int, int, int]
Point = tuple[float, float]

BLOCK, HEIGHT = 480, 640  # of a player
CELL = 32
LEFT, TOP = 32, 104  # of the first cell
PANEL, END = 318, 456  # left and right of the panel
SCALE = 4  # shapes are drawn this much larger and scaled down, for smooth edges

NIGHT, DEEP, GRID = (18, 22, 38), (8, 10, 20), (15, 18, 32)
GLASS, SHINE = (120, 152, 190), (196, 220, 240)
PAPER, PALE, GREEN, AMBER = (240, 243, 250), (150, 162, 190), (120, 220, 130), (245, 180, 70)
WHITE, BLACK = (255, 255, 255), (20, 16, 24)
COLORS: tuple[Color, ...] = ((246, 204, 50), (226, 62, 64), (64, 132, 242))  # yellow, red, blue
# Round corners of a half, clockwise from the top left.
CORNERS = {
    Tile.TOP: (True, True, False, False),
    Tile.BOTTOM: (False, False, True, True),
    Tile.LEFT: (True, False, False, True),
    Tile.RIGHT: (False, True, True, False),
    Tile.SINGLE: (True, True, True, True),
}


@lru_cache(maxsize=16)
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return the font that comes with Pillow; it has Latin letters only."""
    return ImageFont.load_default(size=size)


@lru_cache(maxsize=2048)
def _letters(text: str, size: int, anchor: str) -> tuple[Image.Image, int, int]:
    """Return a text as a mask, and where that begins from the point the text is anchored at."""
    width, height = BLOCK // 2, 2 * size  # room enough on both sides of the point
    mask = Image.new("L", (2 * width, 2 * height))
    ImageDraw.Draw(mask).text((width, height), text, 255, font(size), anchor)
    left, top, right, bottom = mask.getbbox() or (width, height, width, height)
    return mask.crop((left, top, right, bottom)), left - width, top - height


def mix(a: Color, b: Color, share: float) -> Color:
    """Return the color ``share`` of the way from ``a`` to ``b``."""
    red, green, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return red, green, blue


def draw(views: Sequence[BottleView]) -> np.ndarray:
    """Return a picture of the views side by side, uint8, shape (HEIGHT, BLOCK * len(views), 3)."""
    return np.array(image_of(views))


def image_of(views: Sequence[BottleView]) -> Image.Image:
    """Return the same as an image."""
    image = Image.new("RGB", (BLOCK * len(views), HEIGHT))
    for number, view in enumerate(views):
        image.paste(_block(view), (BLOCK * number, 0))
    return image


# -- what lies in a cell ---------------------------------------------------------------------------


class _Sprite:
    """A cell in the making, in units of a cell's side."""

    def __init__(self) -> None:
        self.image = Image.new("RGBA", (CELL * SCALE, CELL * SCALE))
        self.pen = ImageDraw.Draw(self.image)
        self.unit = CELL * SCALE

    def finish(self) -> Image.Image:
        """Scale it down."""
        return self.image.reduce(SCALE)

    def oval(self, x: float, y: float, rx: float, ry: float, fill: Color) -> None:
        """Fill an ellipse around a centre."""
        u = self.unit
        self.pen.ellipse(((x - rx) * u, (y - ry) * u, (x + rx) * u, (y + ry) * u), fill)

    def shape(self, fill: Color, *points: Point) -> None:
        """Fill a polygon."""
        self.pen.polygon([(x * self.unit, y * self.unit) for x, y in points], fill)

    def line(self, fill: Color, width: float, *points: Point) -> None:
        """Draw lines from point to point."""
        at = [(x * self.unit, y * self.unit) for x, y in points]
        self.pen.line(at, fill, round(width * self.unit), joint="curve")

    def arc(self, fill: Color, x: float, y: float, r: float, start: int, end: int) -> None:
        """Draw a part of a circle, in degrees clockwise from the right."""
        u = self.unit
        box = ((x - r) * u, (y - r) * u, (x + r) * u, (y + r) * u)
        self.pen.arc(box, start, end, fill, round(0.06 * u))


@lru_cache(maxsize=64)
def half_sprite(tile: Tile, color: int, ghost: bool = False) -> Image.Image:
    """Draw a half of a pill; of a ghost, the outline."""
    sprite, body = _Sprite(), COLORS[color]
    corners, edge, size = CORNERS[tile], SCALE, CELL * SCALE
    # Straight sides run up to those of the other half.
    box = (
        edge if corners[0] or corners[3] else -size,
        edge if corners[0] or corners[1] else -size,
        (size if corners[1] or corners[2] else 2 * size) - edge,
        (size if corners[2] or corners[3] else 2 * size) - edge,
    )
    radius = round(0.42 * size)
    if ghost:
        outline = mix(DEEP, body, 0.8)
        sprite.pen.rounded_rectangle(box, radius, None, outline, 2 * SCALE, corners=corners)
        return sprite.finish()
    dark, light = mix(body, BLACK, 0.5), mix(body, WHITE, 0.65)
    sprite.pen.rounded_rectangle(box, radius, body, dark, 2 * SCALE, corners=corners)
    if tile == Tile.BOTTOM:
        sprite.line(light, 0.09, (0.24, 0), (0.24, 0.55))
    elif tile == Tile.TOP:
        sprite.line(light, 0.09, (0.24, 0.42), (0.24, 1))
    elif tile == Tile.RIGHT:
        sprite.line(light, 0.09, (0, 0.24), (0.6, 0.24))
    elif tile == Tile.LEFT:
        sprite.line(light, 0.09, (0.4, 0.24), (1, 0.24))
    else:
        sprite.oval(0.36, 0.32, 0.12, 0.08, light)
    # The seam of a whole pill.
    seam = {
        Tile.TOP: ((0, 1), (1, 1)),
        Tile.BOTTOM: ((0, 0), (1, 0)),
        Tile.LEFT: ((1, 0), (1, 1)),
        Tile.RIGHT: ((0, 0), (0, 1)),
    }
    if tile in seam:
        sprite.line(dark, 0.07, *seam[tile])
    return sprite.finish()


@lru_cache(maxsize=8)
def virus_sprite(color: int) -> Image.Image:
    """Draw a virus with its face."""
    sprite, body = _Sprite(), COLORS[color]
    (_grumpy, _angry, _sleepy)[color](sprite, body, mix(body, BLACK, 0.45))
    return sprite.finish()


def _eyes(sprite: _Sprite, y: float, apart: float, r: float) -> None:
    for side in (-1, 1):
        sprite.oval(0.5 + side * apart, y, r, r * 1.15, WHITE)
        sprite.oval(0.5 + side * (apart - 0.03), y + 0.03, r * 0.5, r * 0.6, BLACK)


def _angry(sprite: _Sprite, body: Color, dark: Color) -> None:
    """Draw the red one: a round body with horns and bared teeth."""
    for side in (-1, 1):
        sprite.shape(
            dark, (0.5 + side * 0.40, 0.02), (0.5 + side * 0.10, 0.2), (0.5 + side * 0.42, 0.42)
        )
        sprite.oval(0.5 + side * 0.2, 0.92, 0.13, 0.06, dark)
    sprite.oval(0.5, 0.55, 0.42, 0.38, dark)
    sprite.oval(0.5, 0.54, 0.37, 0.33, body)
    _eyes(sprite, 0.48, 0.16, 0.11)
    for side in (-1, 1):
        sprite.line(BLACK, 0.07, (0.5 + side * 0.31, 0.29), (0.5 + side * 0.06, 0.41))
    sprite.shape(BLACK, (0.3, 0.66), (0.7, 0.66), (0.62, 0.8), (0.38, 0.8))
    for x in (0.36, 0.47, 0.58):
        sprite.shape(WHITE, (x, 0.66), (x + 0.09, 0.66), (x + 0.045, 0.75))


def _grumpy(sprite: _Sprite, body: Color, dark: Color) -> None:
    """Draw the yellow one: a square body with feelers and a crooked mouth."""
    for side in (-1, 1):
        sprite.line(dark, 0.06, (0.5 + side * 0.14, 0.3), (0.5 + side * 0.26, 0.08))
        sprite.oval(0.5 + side * 0.27, 0.08, 0.08, 0.08, body)
    unit = CELL * SCALE
    for edge, fill in ((0.1, dark), (0.15, body)):
        box = (edge * unit, (edge + 0.1) * unit, (1 - edge) * unit, (1.02 - edge) * unit)
        sprite.pen.rounded_rectangle(box, 0.16 * unit, fill)
    _eyes(sprite, 0.47, 0.17, 0.12)
    sprite.line(BLACK, 0.06, (0.28, 0.76), (0.42, 0.7), (0.56, 0.78), (0.72, 0.7))


def _sleepy(sprite: _Sprite, body: Color, dark: Color) -> None:
    """Draw the blue one: a drop with three legs, heavy lids and a grin."""
    for x in (0.24, 0.5, 0.76):
        sprite.oval(x, 0.86, 0.11, 0.12, dark)
    sprite.shape(dark, (0.5, 0.0), (0.86, 0.42), (0.14, 0.42))
    sprite.oval(0.5, 0.56, 0.42, 0.32, dark)
    sprite.shape(body, (0.5, 0.09), (0.8, 0.44), (0.2, 0.44))
    sprite.oval(0.5, 0.56, 0.37, 0.27, body)
    _eyes(sprite, 0.5, 0.16, 0.12)
    for side in (-1, 1):
        sprite.oval(0.5 + side * 0.16, 0.41, 0.14, 0.07, mix(body, BLACK, 0.25))
    sprite.arc(BLACK, 0.5, 0.58, 0.18, 25, 155)


@lru_cache(maxsize=8)
def clearing_sprite(color: int) -> Image.Image:
    """Draw a burst, of a cell that is being cleared."""
    sprite, body = _Sprite(), COLORS[color]
    angles = np.arange(16) * np.pi / 8
    radii = np.where(np.arange(16) % 2, 0.24, 0.5)
    sprite.shape(
        mix(body, WHITE, 0.35),
        *zip(
            (0.5 + radii * np.cos(angles)).tolist(),
            (0.5 + radii * np.sin(angles)).tolist(),
            strict=True,
        ),
    )
    sprite.oval(0.5, 0.5, 0.2, 0.2, WHITE)
    sprite.oval(0.5, 0.5, 0.12, 0.12, body)
    return sprite.finish()


@lru_cache(maxsize=8)
def emptied_sprite(color: int) -> Image.Image:
    """Draw what is left of a cell that was just cleared: four sparks."""
    sprite = _Sprite()
    for x, y in ((0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)):
        sprite.oval(x, y, 0.08, 0.08, mix(COLORS[color], DEEP, 0.3))
    return sprite.finish()


def sprite_of(tile: int) -> Image.Image | None:
    """Return the picture of a cell, None of one that is empty."""
    kind, color = tile & 0xF0, tile & 0x0F
    if tile == t.EMPTY:
        return None
    if kind == Tile.VIRUS:
        return virus_sprite(color)
    if kind == Tile.CLEARING:
        return clearing_sprite(color)
    if kind == Tile.EMPTIED:
        return emptied_sprite(color)
    return half_sprite(Tile(kind), color)


# -- a player --------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _empty() -> Image.Image:
    """Draw the bottle; callers draw on a copy."""
    image = Image.new("RGB", (BLOCK * SCALE, HEIGHT * SCALE), NIGHT)
    pen = ImageDraw.Draw(image)

    def box(*xy: float, fill: Color, radius: float = 0) -> None:
        left, top, right, bottom = (v * SCALE for v in xy)
        pen.rounded_rectangle((left, top, right - 1, bottom - 1), radius * SCALE, fill)

    right, bottom = LEFT + CELL * t.COLUMNS, TOP + CELL * t.ROWS
    neck = LEFT + CELL * t.SPAWN_CELLS[0], LEFT + CELL * (t.SPAWN_CELLS[1] + 1)
    wall = 7
    # The glass first, then what is inside it.
    box(LEFT - wall, TOP - wall, right + wall, bottom + wall, fill=GLASS, radius=16)
    box(neck[0] - wall, TOP - CELL - 14, neck[1] + wall, TOP, fill=GLASS)
    box(
        neck[0] - 2 * wall,
        TOP - CELL - 20,
        neck[1] + 2 * wall,
        TOP - CELL - 10,
        fill=GLASS,
        radius=5,
    )
    box(LEFT, TOP, right, bottom, fill=DEEP, radius=9)
    box(*(neck[0], TOP - CELL - 24, neck[1], TOP + 4), fill=DEEP)
    for row in range(t.ROWS):
        for col in range(row % 2, t.COLUMNS, 2):
            x, y = LEFT + CELL * col, TOP + CELL * row
            box(x + 1, y + 1, x + CELL - 1, y + CELL - 1, fill=GRID, radius=5)
    for x in (LEFT - 5, right + 3):
        box(x, TOP + 20, x + 2, bottom - 60, fill=SHINE, radius=1)
    box(PANEL, 46, END, 136, fill=DEEP, radius=10)
    box(PANEL, 152, END, 152 + 34 * 7 + 14, fill=DEEP, radius=10)
    return image.reduce(SCALE)


def _block(view: BottleView) -> Image.Image:
    """Draw a player: the bottle and what is beside it."""
    image = _empty().copy()
    for i, tile in enumerate(view.cells):
        sprite = sprite_of(tile)
        if sprite is not None:
            row, col = divmod(i, t.COLUMNS)
            _put(image, sprite, LEFT + CELL * col, TOP + CELL * row)
    for ghost, halves in ((True, view.ghost), (False, view.pill)):
        for half in halves:
            sprite = half_sprite(half.tile, half.color, ghost)
            _put(image, sprite, LEFT + CELL * half.col, TOP + CELL * half.row)
    middle = (PANEL + END) // 2
    _write(image, (middle, 64), "next", PALE, 15, "mm")
    for side, (tile, color) in enumerate(zip((Tile.LEFT, Tile.RIGHT), view.preview, strict=True)):
        _put(image, half_sprite(tile, color), middle + CELL * (side - 1), 84)
    for line, (name, value) in enumerate(view.counters):
        y = 176 + 34 * line
        _write(image, (PANEL + 12, y), name, PALE, 15, "lm")
        _write(image, (END - 12, y), value, PAPER, 18, "rm")
    for line, text in enumerate(view.news):
        _write(image, (middle, 436 + 24 * line), text, AMBER, 16, "mm")
    if view.ending:
        _banner(image, view)
    return image


def _write(
    image: Image.Image, at: tuple[int, int], text: str, color: Color, size: int, anchor: str
) -> None:
    """Write a text; most of them come again, and drawing letters takes longest."""
    mask, right, down = _letters(text, size, anchor)
    image.paste(color, (at[0] + right, at[1] + down), mask)


def _put(image: Image.Image, sprite: Image.Image, x: int, y: int) -> None:
    image.paste(sprite, (x, y), sprite)


def _banner(image: Image.Image, view: BottleView) -> None:
    """Write the end across the bottle."""
    pen, color = ImageDraw.Draw(image), GREEN if view.won else AMBER
    x, y = LEFT + CELL * t.COLUMNS // 2, TOP + CELL * 5
    box = (LEFT + 8, y - 34, LEFT + CELL * t.COLUMNS - 8, y + 34)
    pen.rounded_rectangle(box, 12, NIGHT, color, 3)
    _write(image, (x, y), view.ending, color, 32, "mm")
