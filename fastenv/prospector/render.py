"""The ship's instruments: as text (``ansi``) and as a picture (``rgb_array``)."""

from __future__ import annotations

import re
from itertools import zip_longest
from textwrap import wrap
from typing import Any

import numpy as np

from fastenv.pillow import needs_pillow
from fastenv.prospector.tables import Action
from fastenv.prospector.view import COSTS, SYMBOLS, Gauge, ShipView, count, offer, ship_view

__all__ = ["render_ansi", "render_rgb"]

WIDTH = 80  # of the text, at most
BAR = 10
BOLD, DIM = "1", "2"
LEVEL_COLORS = ("36", "33", "1;31")  # cyan, yellow, bright red: apart for every eye
KIND_COLORS = {"station": "1;36", "cluster": "0", "hazard": "33"}
# What is not an edge, an asteroid or a commodity, in the order of its use.
MENU = {
    "here": (Action.HOLD, Action.BURN, Action.SCAN_WIDE, Action.LISTEN, Action.CASH_OUT),
    "asteroid": (
        Action.SCAN_FOCUSED,
        Action.SCAN_DEEP,
        Action.MINE_CONSERVATIVE,
        Action.MINE_STANDARD,
        Action.MINE_AGGRESSIVE,
        Action.STABILIZE,
    ),
    "ship": (Action.REFINE, Action.COOLDOWN, Action.MAINTAIN_TOOL, Action.PATCH_HULL),
    "station": (Action.DOCK, *COSTS),
}


class _Text:
    """Builds lines; colour never changes what they say or how they are aligned."""

    def __init__(self, view: ShipView, color: bool) -> None:
        self.view, self.color = view, color

    def paint(self, text: str, code: str) -> str:
        """Colour a piece of a line."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text and code != "0" else text

    def key(self, action: int) -> str:
        """Return the action in brackets if it is possible now, else as many blanks."""
        return f"[{action}]".rjust(4) if action in self.view.legal else " " * 4

    def bar(self, gauge: Gauge) -> str:
        """Draw a gauge as a bar of full and empty cells."""
        full = round(gauge.share * BAR)
        full = max(full, 1) if gauge.value > 0 else full
        return self.paint("█" * full, LEVEL_COLORS[gauge.level]) + self.paint(
            "·" * (BAR - full), DIM
        )

    # -- parts -------------------------------------------------------------------------------------

    def head(self) -> list[str]:
        """Say where the ship is, and what the last step did."""
        view = self.view
        place = f"node {view.node}, {self.paint(view.kind, KIND_COLORS[view.kind])}"
        if view.hops_home is None:
            place += " · no way home"
        elif view.hops_home:
            place += f" · home: {count(view.hops_home, 'hop')}, {view.fuel_home:.0f} fuel"
        lines = [
            f"{self.paint('Asteroid Prospector', BOLD)}  {place}",
            f"{self.bar(view.time)}  {view.time.value:,.0f} of "
            f"{count(view.time.limit, 'tick')} left · "
            + self.paint(f"{view.credits:,.0f} credits", BOLD),
            *(line for text in view.news for line in wrap(text, WIDTH, subsequent_indent="  ")),
        ]
        return [*lines, self.paint(view.ending, BOLD)] if view.ending else lines

    def ship(self) -> list[str]:
        """Draw the gauges, three in a line."""
        gauges = [
            f"{gauge.name:<5} {self.bar(gauge)} {gauge.value:>6.1f}"
            for gauge in (*self.view.gauges, self.view.hold)
        ]
        rows = ["  ".join(gauges[k : k + 3]) for k in range(0, len(gauges), 3)]
        return [self.paint("ship", BOLD), *rows]

    def market(self) -> list[str]:
        """Draw hold and market; selling and jettisoning are columns."""
        head = f"{'commodity':<18}{'hold':>6}{'price':>7}{'change':>8}{'stock':>7}"
        lines = [self.paint(f"{head}  sell 25, 50, 100% drop", BOLD)]
        for c, good in enumerate(self.view.goods):
            arrow = "▲" if good.change > 0.05 else "▼" if good.change < -0.05 else " "
            sell = " ".join(self.key(Action.SELL + 3 * c + k) for k in range(3))
            held = self.paint(f"{good.held:>6.1f}", BOLD if good.held > 0 else DIM)
            lines.append(
                f"{good.symbol:<4}{good.name:<14}{held}{good.price:>7.1f}"
                f"{arrow:>2}{abs(good.change):>6.1f}{good.stock:>7.0f}  {sell}    "
                f"{self.key(Action.JETTISON + c)}".rstrip()
            )
        return lines

    def ways(self) -> list[str]:
        """Draw the edges that leave from here."""
        lines = [self.paint("     to           ticks fuel threat hops", BOLD)]
        for way in self.view.ways:
            kind = self.paint(f"{way.kind:<8}", KIND_COLORS[way.kind])
            hops = "-" if way.hops_home is None else way.hops_home
            threat = f"{way.threat:.2f}" if way.heard else "?"
            lines.append(
                f"{self.key(way.slot)} {way.node:>2} {kind}{way.ticks:>6}{way.fuel:>5.0f}"
                f"{threat:>7}{hops:>5}"
            )
        return lines

    def asteroids(self) -> list[str]:
        """Draw the asteroids of the node: estimated shares in percent, the largest in bold."""
        if not self.view.asteroids:
            return []
        head = "".join(f"{symbol:>4}" for symbol in SYMBOLS)
        lines = [self.paint(f"asteroid{head} value  stab  conf left", BOLD)]
        for rock in self.view.asteroids:
            top = max(rock.shares)
            shares = "".join(
                self.paint(f"{100 * share:>4.0f}", BOLD if share == top else "0")
                for share in rock.shares
            )
            mark = "►" if rock.selected else " "
            held = "+" if rock.steadied else " "
            lines.append(
                f"{self.key(Action.SELECT + rock.slot)} {mark}{rock.slot:>2}{shares}"
                f"{rock.value:>6.0f}{rock.stability:>6.2f}{held}{rock.confidence:>5.2f}"
                f"{1 - rock.depletion:>5.0%}"
            )
        return lines

    def menu(self) -> list[str]:
        """List the other actions that are possible now."""
        lines = []
        for title, actions in MENU.items():
            texts = [self.choice(action) for action in actions]
            lines += _wrap(self.paint(f"{title:<9}", BOLD), [text for text in texts if text])
        return lines

    def choice(self, action: Action) -> str:
        """Name an action that is possible now or could be bought with more credits; else ""."""
        text = offer(action)
        if action in self.view.legal:
            return f"[{int(action)}] {text}"
        shop = action in COSTS and self.view.kind == "station" and not self.view.ending
        return self.paint(text, DIM) if shop else ""


def _wrap(title: str, texts: list[str]) -> list[str]:
    lines: list[str] = []
    row = ""
    for text in texts:
        if row and 9 + _width(row) + 2 + _width(text) > WIDTH:
            lines.append(row)
            row = ""
        row += f"  {text}" if row else text
    lines += [row] if row else []
    return [(title if k == 0 else " " * 9) + line for k, line in enumerate(lines)]


def _width(line: str) -> int:
    return len(re.sub(r"\x1b\[[\d;]*m", "", line))


def _beside(left: list[str], right: list[str]) -> list[str]:
    """Put two blocks side by side, or one below the other where they are too wide."""
    width = max(map(_width, left), default=0) + 2
    if width + max(map(_width, right), default=0) > WIDTH:
        return [*left, "", *right]
    return [
        (a + " " * (width - _width(a)) + b) if b else a
        for a, b in zip_longest(left, right, fillvalue="")
    ]


def render_ansi(row: Any, time_max: float, color: bool = True) -> str:
    """Return the ship's instruments as text that a player can read and play by.

    Parameters
    ----------
    row : record of STATE_DTYPE
        A complete game.
    time_max : float
        Ticks of an episode, from the rules.
    color : bool
        Colour gauges and titles with ANSI escape sequences.

    Returns
    -------
    str
        Lines of at most 80 characters without a line break at the end. A number in brackets is
        an action that is possible now; it stands beside what it acts on. A question mark is a
        threat of which nothing has been heard.
    """
    view = ship_view(row, time_max)
    text = _Text(view, color)
    lines = [*text.head(), ""]
    lines += [*text.ship(), "", *text.market()]
    lines += ["", " · ".join(view.supplies)]
    lines += [text.paint(line, DIM) for line in wrap(" · ".join(view.record), WIDTH)]
    lines.append("")
    lines += _beside(text.ways(), text.asteroids())
    menu = text.menu()
    return "\n".join([*lines, "", *menu] if menu else lines)


def render_rgb(row: Any, time_max: float) -> np.ndarray:
    """Return a picture of the belt and of the ship's instruments.

    Parameters
    ----------
    row : record of STATE_DTYPE
        A complete game.
    time_max : float
        Ticks of an episode, from the rules.

    Returns
    -------
    ndarray of uint8, shape (640, 960, 3)
        A new array.

    Raises
    ------
    ImportError
        Without Pillow.
    """
    with needs_pillow("the belt"):
        from fastenv.prospector import picture
    return picture.draw(ship_view(row, time_max))
