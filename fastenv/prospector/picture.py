"""The instruments as a picture, drawn with Pillow from a ship view.

The colours are those of Okabe and Ito, which stay apart for colour-blind eyes; what a colour says,
a shape, a length, a place or a number says too.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from fastenv.prospector.tables import Action
from fastenv.prospector.view import COSTS, Asteroid, ShipView, count, offer

Color = tuple[int, int, int]
Point = tuple[float, float]

WIDTH, HEIGHT = 960, 640
SCALE = 3  # shapes are drawn this much larger and scaled down, for smooth edges
SPACE, PANEL, LINE = (11, 16, 30), (20, 28, 48), (44, 56, 84)
UNKNOWN = (66, 78, 108)
PAPER, PALE, FAINT = (240, 243, 250), (166, 178, 204), (96, 108, 136)
BLUE, ORANGE, RED, GOLD = (86, 180, 233), (230, 159, 0), (235, 96, 40), (240, 228, 66)
GOOD_COLORS: tuple[Color, ...] = (
    (158, 164, 176),  # iron
    (240, 228, 66),  # nickel
    (86, 180, 233),  # water ice
    (230, 159, 0),  # platinum group
    (214, 132, 178),  # rare isotopes
    (0, 170, 124),  # volatiles
)
LEVEL_COLORS: tuple[Color, ...] = (BLUE, GOLD, RED)
KIND_COLORS = {"station": PAPER, "cluster": BLUE, "hazard": ORANGE}
THREATS: tuple[Color, ...] = ((40, 100, 220), (232, 224, 170), (228, 84, 20))  # none, half, all

CHART = (254, 270, 218, 186)  # center and radii
LEGEND_Y = 484
LEFT, RIGHT = 504, 944  # of the parts beside the chart
SHIP_TOP, MARKET_TOP, WAYS_TOP, FIELD_TOP, NEWS_Y = 64, 176, 338, 498, 611
ROCKS, ROCK = 88, 53  # where the first asteroid is, and the width of each


@lru_cache(maxsize=32)
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return the font that comes with Pillow; it has Latin letters only."""
    return ImageFont.load_default(size=size)


def mix(a: Color, b: Color, share: float) -> Color:
    """Return the color ``share`` of the way from ``a`` to ``b``."""
    red, green, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return red, green, blue


def threat_color(threat: float | None) -> Color:
    """Return the color of an estimate from blue over cream to red; faint where there is none."""
    if threat is None:
        return UNKNOWN
    low, high = (0, 1) if threat < 0.5 else (1, 2)
    return mix(THREATS[low], THREATS[high], threat * 2 - low)


def draw(view: ShipView) -> np.ndarray:
    """Return a picture of the view, uint8 of shape (HEIGHT, WIDTH, 3)."""
    picture = _Picture(view)
    picture.head()
    picture.chart()
    picture.ship()
    picture.market()
    picture.ways()
    if view.kind == "station":
        picture.station()
    else:
        picture.field()
    picture.news()
    return picture.finish()


# -- where the nodes are ---------------------------------------------------------------------------


@lru_cache(maxsize=8)
def place(hops: tuple[int | None, ...], edges: tuple[tuple[int, int], ...]) -> tuple[Point, ...]:
    """Return a place for each node: the station in the middle, hops as rings around it.

    Nodes share the circle by the leaves of a tree of shortest ways, so that no two ways of this
    tree cross; branches change places as long as the other ways get shorter. A node without a
    way home is on a ring of its own.

    Parameters
    ----------
    hops : tuple of int or None
        From each node to the station.
    edges : tuple of pairs of int

    Returns
    -------
    tuple of pairs of float
        In the unit circle.
    """
    rings = max((h for h in hops if h is not None), default=0) + (None in hops)
    ring = [rings if h is None else h for h in hops]
    children = _tree(ring, edges)
    places = _spread(ring, children)
    best, better = _mess(places, edges), True
    while better:
        better = False
        for siblings in children:
            for i, j in combinations(range(len(siblings)), 2):
                siblings[i], siblings[j] = siblings[j], siblings[i]
                other = _spread(ring, children)
                mess = _mess(other, edges)
                if mess < best - 1e-9:
                    places, best, better = other, mess, True
                else:
                    siblings[i], siblings[j] = siblings[j], siblings[i]
    return tuple(places)


def radius(ring: int, rings: int) -> float:
    """Return the radius of a ring; the inner ones, with short ways, get a little more room."""
    return float((ring / max(1, rings)) ** 0.85)


def _tree(ring: list[int], edges: tuple[tuple[int, int], ...]) -> list[list[int]]:
    """Return the children of each node, each a ring further out than its parent."""
    children: list[list[int]] = [[] for _ in ring]
    for node in range(1, len(ring)):
        joined = [a + b - node for a, b in edges if node in (a, b)]
        parents = [other for other in joined if ring[other] == ring[node] - 1]
        children[min(parents, key=lambda p: (len(children[p]), p), default=0)].append(node)
    return children


def _spread(ring: list[int], children: list[list[int]]) -> list[Point]:
    """Place the nodes on their rings; each branch gets a sector as wide as it has leaves."""
    leaves = [0] * len(ring)
    for node in sorted(range(len(ring)), key=lambda n: -ring[n]):
        leaves[node] = max(1, sum(leaves[child] for child in children[node]))
    places: list[Point] = [(0.0, 0.0)] * len(ring)
    sectors = [(0, 0.0)]
    for node, start in sectors:  # grows while it is walked through
        angle = math.tau * (start + leaves[node] / leaves[0] / 2)
        r = radius(ring[node], max(ring))
        places[node] = (r * math.sin(angle), -r * math.cos(angle))
        for child in children[node]:
            sectors.append((child, start))
            start += leaves[child] / leaves[0]
    return places


def _mess(places: list[Point], edges: tuple[tuple[int, int], ...]) -> float:
    """Return how long the ways are, and much more for each that runs into a foreign node."""
    at = np.array(places)
    ends = np.array(edges, np.intp).reshape(-1, 2)
    start, way = at[ends[:, :1]], at[ends[:, 1:]] - at[ends[:, :1]]
    length = (way * way).sum(-1)
    along = ((at - start) * way).sum(-1) / np.maximum(length, 1e-9)
    gap = np.abs(at - start - along.clip(0, 1)[..., None] * way).sum(-1)
    hits = ((along > 0) & (along < 1) & (gap < 0.1)).sum()
    return float(length.sum() + 0.5 * hits)


@lru_cache(maxsize=1)
def _background() -> Image.Image:
    """Return the night sky, larger by SCALE; callers draw on a copy."""
    image = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE), SPACE)
    pen = ImageDraw.Draw(image)
    stars = np.random.RandomState(54)
    for x, y, r in stars.rand(220, 3).tolist():
        x, y, r = x * WIDTH * SCALE, y * HEIGHT * SCALE, (0.4 + 0.5 * r) * SCALE
        pen.ellipse((x - r, y - r, x + r, y + r), mix(SPACE, PALE, 0.15 + 0.25 * r / SCALE))
    return image


class _Picture:
    """A picture in the making: shapes are drawn large and at once, the text when it is scaled."""

    def __init__(self, view: ShipView) -> None:
        self.view = view
        self.image = _background().copy()
        self.pen = ImageDraw.Draw(self.image)
        self.texts: list[tuple[float, float, str, Color, int, str]] = []

    def finish(self) -> np.ndarray:
        """Scale the shapes down and write the text."""
        image = self.image.reduce(SCALE)
        pen = ImageDraw.Draw(image)
        for x, y, text, color, size, anchor in self.texts:
            pen.text((x, y), text, color, font(size), anchor)
        return np.array(image)

    def text(self, x: float, y: float, text: str, color: Color, size: int, anchor: str) -> None:
        """Write a line; ``anchor`` is Pillow's, ``"ls"`` is left on the base line."""
        self.texts.append((x, y, text, color, size, anchor))

    def box(self, *xy: float, fill: Color, radius: float = 0, outline: Color | None = None) -> None:
        """Draw a rectangle ``left, top, right, bottom`` with round corners."""
        left, top, right, bottom = (v * SCALE for v in xy)
        if right - left >= 1 and bottom - top >= 1:
            self.pen.rounded_rectangle(
                (left, top, right - 1, bottom - 1), radius * SCALE, fill, outline, SCALE
            )

    def disc(self, x: float, y: float, r: float, fill: Color | None, ring: Color | None) -> None:
        """Draw a circle; ``ring`` is the color of its edge."""
        x, y, r = x * SCALE, y * SCALE, r * SCALE
        self.pen.ellipse((x - r, y - r, x + r, y + r), fill, ring, round(1.6 * SCALE))

    def polygon(self, fill: Color, *points: Point) -> None:
        """Fill a polygon."""
        self.pen.polygon([(x * SCALE, y * SCALE) for x, y in points], fill)

    def line(self, a: Point, b: Point, color: Color, width: float) -> None:
        """Draw a straight line."""
        ends = [(x * SCALE, y * SCALE) for x, y in (a, b)]
        self.pen.line(ends, color, round(width * SCALE))

    def bar(self, x: float, y: float, width: float, height: float, share: float, c: Color) -> None:
        """Draw a bar that is filled from the left."""
        self.box(x, y, x + width, y + height, fill=LINE, radius=2)
        self.box(x, y, x + width * share, y + height, fill=c, radius=2)

    def key(self, x: float, y: float, action: int) -> None:
        """Draw the number of an action that is possible now, on a coin with center ``x, y``."""
        if action in self.view.legal:
            self.box(x - 11, y - 8, x + 11, y + 8, fill=mix(PANEL, GOLD, 0.85), radius=7)
            self.text(x, y, str(action), SPACE, 12, "mm")

    def panel(self, left: float, top: float, bottom: float, *heads: tuple[float, str]) -> None:
        """Draw the ground of a part up to the right margin and the heads of its columns."""
        self.box(left, top, RIGHT, bottom, fill=PANEL, radius=6)
        for x, text in heads:
            self.text(x, top + 16, text, PALE, 12, "rs")

    # -- parts -------------------------------------------------------------------------------------

    def head(self) -> None:
        """Write where the ship is, how much time is left and what the last step did."""
        view = self.view
        self.text(18, 30, "Asteroid Prospector", PAPER, 21, "ls")
        place = f"node {view.node}, {view.kind}"
        if view.hops_home is None:
            place += ", no way home"
        elif view.hops_home:
            place += f", {count(view.hops_home, 'hop')} and {view.fuel_home:.0f} fuel from home"
        self.text(18, 51, place, PALE, 13, "ls")
        self.text(944, 27, f"{view.credits:,.0f} credits", PAPER, 18, "rs")
        self.bar(504, 41, 230, 8, view.time.share, BLUE)
        time = f"{view.time.value:,.0f} of {count(view.time.limit, 'tick')} left"
        self.text(944, 51, time, PALE, 13, "rs")

    def chart(self) -> None:
        """Draw the belt: rings are hops from home, colors of ways estimated threats."""
        view = self.view
        x0, y0, rx, ry = CHART
        units = place(view.node_hops, tuple(edge.ends for edge in view.edges))
        at = [(x0 + rx * x, y0 + ry * y) for x, y in units]
        rings = max((h for h in view.node_hops if h is not None), default=0)
        rings += None in view.node_hops
        for ring in range(1, rings + 1):
            dx, dy = (r * radius(ring, rings) * SCALE for r in (rx, ry))
            box = (x0 * SCALE - dx, y0 * SCALE - dy, x0 * SCALE + dx, y0 * SCALE + dy)
            self.pen.ellipse(box, outline=mix(SPACE, LINE, 0.55), width=SCALE)
        for edge in view.edges:
            a, b = at[edge.ends[0]], at[edge.ends[1]]
            middle = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
            near = view.node in edge.ends
            for end, threat in zip((a, b), edge.threats, strict=True):
                width = 1.4 if threat is None else 2.4
                self.line(end, middle, threat_color(threat), width + 1.2 * near)
        for node, (x, y) in enumerate(at):
            self.node(node, x, y)
        for way in view.ways:
            x, y = at[way.node]
            self.key(x + 15, y - 11, way.slot)
        self.legend()

    def node(self, node: int, x: float, y: float) -> None:
        """Draw a node: the shape and the color say what it is, a halo that the ship is there."""
        kind = self.view.node_kinds[node]
        color = KIND_COLORS[kind]
        if node == self.view.node:
            self.disc(x, y, 20, mix(SPACE, GOLD, 0.3), GOLD)
        else:
            self.sign(kind, x, y, 14, SPACE)
        self.sign(kind, x, y, 11, color)
        if kind != "station":
            self.text(x, y + (2 if kind == "hazard" else 0), str(node), SPACE, 11, "mm")

    def sign(self, kind: str, x: float, y: float, r: float, color: Color) -> None:
        """Draw the sign of a type of nodes: a house, a triangle or a disc."""
        if kind == "station":
            self.polygon(color, (x - r, y), (x, y - r), (x + r, y))
            self.box(x - 0.7 * r, y - 1, x + 0.7 * r, y + 0.8 * r, fill=color)
        elif kind == "hazard":
            self.polygon(
                color, (x, y - 1.25 * r), (x + 1.2 * r, y + 0.8 * r), (x - 1.2 * r, y + 0.8 * r)
            )
        else:
            self.disc(x, y, r, color, None)

    def legend(self) -> None:
        """Explain signs and colors of the chart."""
        x, y = 24.0, LEGEND_Y
        for kind, color in KIND_COLORS.items():
            self.sign(kind, x, y, 6, color)
            self.text(x + 11, y, kind, PALE, 12, "lm")
            x += 72
        self.text(x + 2, y, "threat", PALE, 12, "lm")
        for k in range(40):
            self.box(x + 58 + k, y - 3, x + 59 + k, y + 3, fill=threat_color(k / 39))
        self.text(x + 54, y, "0", PALE, 12, "rm")
        self.text(x + 102, y, "1", PALE, 12, "lm")
        self.line((x + 124, y), (x + 150, y), LINE, 2)
        self.text(x + 156, y, "unknown", PALE, 12, "lm")

    def ship(self) -> None:
        """Draw the gauges and what is in store."""
        self.panel(LEFT, SHIP_TOP, SHIP_TOP + 104)
        for k, gauge in enumerate((*self.view.gauges, self.view.hold)):
            x, y = LEFT + 12 + 216 * (k % 2), SHIP_TOP + 18 + 23 * (k // 2)
            self.text(x, y, gauge.name, PALE, 13, "lm")
            self.bar(x + 40, y - 5, 112, 10, gauge.share, LEVEL_COLORS[gauge.level])
            color = PAPER if gauge.level == 0 else LEVEL_COLORS[gauge.level]
            self.text(x + 202, y, f"{gauge.value:,.1f}", color, 13, "rm")
        supplies = ", ".join(self.view.supplies)
        self.text(LEFT + 12, SHIP_TOP + 89, supplies, PAPER, 13, "lm")

    def market(self) -> None:
        """Draw hold and market, and at the station the action that sells all."""
        station = self.view.kind == "station"
        heads = [(196.0, "hold"), (256.0, "price"), (318.0, "change"), (374.0, "stock")]
        heads += [(430.0, "sell all")] if station else []
        bottom = MARKET_TOP + 26 + 21 * len(self.view.goods) + 4
        self.panel(LEFT, MARKET_TOP, bottom, *((LEFT + x, text) for x, text in heads))
        for c, good in enumerate(self.view.goods):
            x, y = LEFT, MARKET_TOP + 35 + 21 * c
            self.box(x + 12, y - 6, x + 24, y + 6, fill=GOOD_COLORS[c], radius=3)
            self.text(x + 32, y, good.name, PAPER, 13, "lm")
            self.bar(x + 120, y - 3, 36, 6, good.held / self.view.hold.limit, GOOD_COLORS[c])
            self.text(x + 196, y, f"{good.held:.1f}", PAPER, 13, "rm")
            self.text(x + 256, y, f"{good.price:.1f}", PAPER, 13, "rm")
            self.change(x + 318, y, good.change)
            self.text(x + 374, y, f"{good.stock:.0f}", PALE, 13, "rm")
            if station:
                self.key(x + 410, y, Action.SELL + 3 * c + 2)

    def change(self, x: float, y: float, change: float) -> None:
        """Draw how a price changed: an arrow and a number that ends at ``x``."""
        up = change > 0
        if abs(change) >= 0.05:
            color, tip = (BLUE if up else ORANGE), (-5 if up else 4)
            self.polygon(color, (x - 46, y - tip - 1), (x - 36, y - tip - 1), (x - 41, y + tip))
            self.text(x, y, f"{abs(change):.1f}", PALE, 13, "rm")

    def ways(self) -> None:
        """Draw the edges that leave from here."""
        heads = ((196.0, "ticks"), (256.0, "fuel"), (340.0, "threat"), (430.0, "hops home"))
        self.panel(LEFT, WAYS_TOP, WAYS_TOP + 152, *((LEFT + x, text) for x, text in heads))
        self.text(LEFT + 32, WAYS_TOP + 16, "travel to", PALE, 12, "ls")
        for k, way in enumerate(self.view.ways):
            x, y = LEFT, WAYS_TOP + 35 + 20 * k
            self.key(x + 18, y, way.slot)
            self.sign(way.kind, x + 42, y, 6, KIND_COLORS[way.kind])
            self.text(x + 56, y, f"{way.node} {way.kind}", PAPER, 13, "lm")
            self.text(x + 196, y, str(way.ticks), PAPER, 13, "rm")
            self.text(x + 256, y, f"{way.fuel:.0f}", PAPER, 13, "rm")
            if way.heard:
                self.bar(x + 272, y - 3, 30, 6, way.threat, threat_color(way.threat))
            self.text(x + 340, y, f"{way.threat:.2f}" if way.heard else "?", PAPER, 13, "rm")
            hops = "-" if way.hops_home is None else str(way.hops_home)
            self.text(x + 430, y, hops, PALE, 13, "rm")

    def field(self) -> None:
        """Draw the asteroids of the node as far as they have been scanned."""
        top = FIELD_TOP
        self.panel(16, top, top + 98)
        rows = ("asteroid", "estimate", "worth a unit", "left", "stability", "confidence")
        for text, y in zip(rows, (13, 31, 47, 62, 75, 88), strict=True):
            self.text(ROCKS - 6, top + y, text, PALE, 11, "rm")
        for k, rock in enumerate(self.view.asteroids):
            self.rock(rock, ROCKS + ROCK * k, top)

    def rock(self, rock: Asteroid, x: float, top: float) -> None:
        """Draw one asteroid in a column; the selected one has a frame."""
        if rock.selected:
            self.box(
                x, top + 2, x + ROCK, top + 96, fill=mix(PANEL, GOLD, 0.12), radius=4, outline=GOLD
            )
        left, width, spent = x + 4, ROCK - 8.0, rock.depletion >= 1.0
        middle = x + ROCK / 2
        action = Action.SELECT + rock.slot
        if action in self.view.legal:
            self.key(middle, top + 13, action)
        else:
            self.text(middle, top + 13, str(rock.slot), FAINT, 12, "mm")
        start = left
        for color, share in zip(GOOD_COLORS, rock.shares, strict=True):
            color = mix(color, PANEL, 0.7) if spent else color
            self.box(start, top + 25, start + width * share, top + 37, fill=color)
            start += width * share
        self.text(middle, top + 47, f"{rock.value:.0f}", FAINT if spent else PAPER, 12, "mm")
        self.bar(left, top + 59, width, 6, 1.0 - rock.depletion, PAPER)
        steady = GOLD if rock.steadied else BLUE
        self.bar(left, top + 72, width, 6, rock.stability, steady)
        self.bar(left, top + 85, width, 6, rock.confidence, PALE)

    def station(self) -> None:
        """Draw what the station offers; what can be paid now has the number of its action."""
        self.panel(16, FIELD_TOP, FIELD_TOP + 98)
        self.text(28, FIELD_TOP + 17, "at the station", PALE, 12, "ls")
        for k, action in enumerate((Action.DOCK, *COSTS)):
            x, y = 40 + 300 * (k // 3), FIELD_TOP + 36 + 23 * (k % 3)
            color = PAPER if action in self.view.legal else FAINT
            self.key(x, y, action)
            self.text(x + 20, y, offer(action), color, 13, "lm")

    def news(self) -> None:
        """Write what the last step did; the end of the episode is written over the chart."""
        view = self.view
        news = " ".join(view.news)
        fits = [s for s in (13, 12, 11, 10) if self.pen.textlength(news, font(s)) < RIGHT - 20]
        self.text(20, NEWS_Y + 1, news, PAPER, max(fits, default=9), "lm")
        self.text(20, NEWS_Y + 19, ", ".join(view.record), FAINT, 12, "lm")
        if view.ending:
            x, y = CHART[0], CHART[1] - CHART[3] + 4
            half = self.pen.textlength(view.ending, font(18)) / 2 + 18
            self.box(x - half, y - 18, x + half, y + 18, fill=PANEL, radius=8, outline=GOLD)
            self.text(x, y, view.ending, GOLD, 18, "mm")
