"""What there is to see of a game, for text and picture alike: bottles and their counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastenv.drmario import tables as t
from fastenv.drmario.tables import Mode, Next, Reason, Tile

LETTERS = "yrb"  # by colour, as the rules number them
FRAME_RATE = 60.0988  # frames a second, as docs/drmario.md says at its top


@dataclass(frozen=True)
class Half:
    """One half of a pill that is not in the bottle's cells.

    Parameters
    ----------
    row : int
        From the top; -1 is the neck of the bottle.
    col : int
    tile : Tile
    color : int
        As the rules number it.
    """

    row: int
    col: int
    tile: Tile
    color: int


@dataclass(frozen=True)
class BottleView:
    """What there is to see of a player.

    Parameters
    ----------
    cells : tuple of int
        The 128 bytes of the bottle, from the top left.
    pill : tuple of Half
        The falling pill; empty when there is none.
    ghost : tuple of Half
        Where it is to lie, as far as a placement is chosen.
    preview : tuple of int
        Colours of the next pill.
    counters : tuple of (str, str)
        Names and values.
    news : tuple of str
        What the last step did.
    ending : str
        How the game ended, "" while it goes on.
    won : bool
    """

    cells: tuple[int, ...]
    pill: tuple[Half, ...]
    ghost: tuple[Half, ...]
    preview: tuple[int, int]
    counters: tuple[tuple[str, str], ...]
    news: tuple[str, ...]
    ending: str
    won: bool


def game_views(row: Any, ghosts: Mapping[int, int] | None = None) -> list[BottleView]:
    """Return the view of each player's bottle.

    Parameters
    ----------
    row : record of the dtype of a game
    ghosts : mapping of int to int, optional
        Placements to show, by player; those that players have chosen are shown in any case.
    """
    endings = _endings(row)
    return [
        _bottle_view(row, player, number, (ghosts or {}).get(number), *endings[number])
        for number, player in enumerate(row["players"])
    ]


def halves_of(action: int, first: int, second: int) -> tuple[Half, Half]:
    """Return the halves of a placement (docs/drmario.md, 11.3).

    Parameters
    ----------
    action : int
        0 to 511.
    first, second : int
        Colours of the halves.
    """
    orientation, cell = divmod(action, t.CELLS)
    row, col = divmod(cell, t.COLUMNS)
    down, right = ((0, 1), (1, 0), (0, -1), (-1, 0))[orientation]
    tiles = (
        (Tile.LEFT, Tile.RIGHT),
        (Tile.TOP, Tile.BOTTOM),
        (Tile.RIGHT, Tile.LEFT),
        (Tile.BOTTOM, Tile.TOP),
    )[orientation]
    return Half(row, col, tiles[0], first), Half(row + down, col + right, tiles[1], second)


def _bottle_view(
    row: Any, player: Any, number: int, ghost: int | None, ending: str, won: bool
) -> BottleView:
    colors = int(player["color_first"]), int(player["color_second"])
    if ghost is None and player["plan_left"]:
        ghost = int(player["plan_action"])
    return BottleView(
        cells=tuple(player["board"].tolist()),
        pill=_pill(player, *colors),
        ghost=() if ghost is None else halves_of(ghost, *colors),
        preview=(int(player["preview_first"]), int(player["preview_second"])),
        counters=_counters(row, player, number),
        news=_news(player),
        ending=ending,
        won=won,
    )


def _pill(player: Any, *colors: int) -> tuple[Half, ...]:
    playing = player["mode"] in (Mode.PLAYING, Mode.DEMO)
    if not playing or player["next_action"] not in (Next.FALLING, Next.SENT):
        return ()
    top, left = t.ROWS - 1 - int(player["row"]), int(player["col"])
    halves = t.HALVES[player["rot"]]
    return tuple(
        Half(top - up, left + right, tile, color)
        for (up, right, tile), color in zip(halves, colors, strict=True)
    )


def _counters(row: Any, player: Any, number: int) -> tuple[tuple[str, str], ...]:
    level = int(player["level"])
    if level < t.FEWEST_VIRUSES_LEVEL:
        goal = ("matches", f"{player['matches']} of {t.match_goal(level)}")
    else:
        goal = ("viruses", str(t.from_bcd(int(player["virus_bcd"]))))
    frames = int(row["ep_frames"])
    minutes, seconds = divmod(int(frames / FRAME_RATE), 60)
    last = ("score", f"{player['score']:,}")
    if len(row["players"]) == 2:  # which has no score
        last = ("garbage", _pending(row["players"][1 - number]))
    return (
        ("level", str(level)),
        ("speed", t.SPEEDS[player["speed_setting"]]),
        goal,
        ("pills", str(player["locks"])),
        ("frames", f"{frames:,}"),
        ("time", f"{minutes}:{seconds:02}"),
        last,
    )


def _pending(opponent: Any) -> str:
    """Return the garbage that an opponent has sent and that has not fallen: size and colours."""
    size = min(int(opponent["attack_size"]), t.MAX_ATTACK)
    if size < t.MIN_ATTACK:
        return "none"
    return f"{size} " + "".join(LETTERS[color] for color in opponent["attack_colors"][:size])


def _news(player: Any) -> tuple[str, ...]:
    viruses, matches = int(player["ev_tiles_virus"]), int(player["ev_matches"])
    sent, hit = int(player["ev_garbage_sent"]), int(player["ev_volley_size"])
    return tuple(
        text
        for text, happened in (
            ("out of reach", player["ev_invalid"]),
            (f"{matches} match{'es' * (matches > 1)}", matches),
            (f"{viruses} virus{'es' * (viruses > 1)} gone", viruses),
            (f"sent {sent}", sent),
            (f"hit by {hit}", player["ev_volleys"]),
        )
        if happened
    )


def _endings(row: Any) -> list[tuple[str, bool]]:
    """Return for each player how the game ended, and whether it was won."""
    players = row["players"]
    if row["reason"] == Reason.NONE:
        return [("", False)] * len(players)
    if row["reason"] == Reason.TIMEOUT:
        return [("time is up", False)] * len(players)
    clear = row["reason"] == Reason.CLEAR
    if len(players) == 1:
        return [("clear", True) if clear else ("topped out", False)]
    # The game ends for both; what one of them did is good or bad for the other.
    did = [bool(p["stage_clear"] if clear else p["level_fail"]) for p in players]
    if all(did):
        return [("draw", False)] * len(players)
    names = {True: "clear", False: "beaten"} if clear else {True: "topped out", False: "wins"}
    return [(names[each], each == clear) for each in did]
