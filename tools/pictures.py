"""Draw the games as their environments render them, for the pages: ``python -m tools.pictures``.

``games`` writes ``docs/games.png`` and ``docs/drmario.png``, ``film`` the four games in
``docs/games.gif``, ``gallery`` a picture of each environment into ``docs/gallery/``, and
``lantern_walk`` the maps of the ROM and screens of its quest. Needs Pillow (``pip install
".[dev]"``). Scripted players and random ones play: nothing is trained for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import fastenv
from fastenv.adapters.pettingzoo import parallel_env
from fastenv.engine import rng_streams
from fastenv.gameboy.cartridge import load_cartridge
from fastenv.gameboy.console import Console
from fastenv.gameboy.lantern_walk import Solver, load_world
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.tables import WRAM, Key
from fastenv.registry import make_game, short_id
from tools.command import new_parser
from tools.roms import GAME, ROMS
from tools.sm83 import Program, assemble

DOCS = Path(__file__).parents[1] / "docs"
COLORS = 256
BACKGROUND = (24, 24, 28)
Pixels = np.ndarray[Any, np.dtype[np.uint8]]


def single(env_id: str, options: dict[str, Any], seed: int, decisions: int) -> Image.Image:
    """Return one player's game after some random legal decisions."""
    rng = np.random.default_rng(seed)
    env = fastenv.make(env_id, render_mode="rgb_array", **options)

    def choose() -> int:
        return int(rng.choice(np.flatnonzero(env.action_masks())))

    return next(islice(played(env, choose, seed), decisions, None))


def played(env: Any, choose: Callable[[], int], seed: int) -> Iterator[Image.Image]:
    """Yield pictures of games, one before each decision."""
    env.reset(seed=seed)
    while True:
        yield Image.fromarray(env.render())
        _, _, terminated, truncated, _ = env.step(choose())
        if terminated or truncated:
            env.reset()


def fitted(picture: Image.Image, width: int, height: int) -> Image.Image:
    """Return a picture of another size; the pixels of a Game Boy stay what they are."""
    pixels = picture.width == 160
    way = Image.Resampling.NEAREST if pixels else Image.Resampling.LANCZOS
    return picture.resize((width, height), way)


# -- all games beside each other -------------------------------------------------------------------

WIDTH, GAP = 1448, 8


def match(decisions: int = 9) -> Image.Image:
    """Return a match of Dr. Mario after some random placements of both."""
    env = parallel_env("DrMarioVersus-v0", render_mode="rgb_array", level=10)
    observations, _ = env.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(decisions):
        masks = {agent: seen["action_mask"] for agent, seen in observations.items()}
        actions = {agent: rng.choice(np.flatnonzero(mask)) for agent, mask in masks.items()}
        observations, *_ = env.step(actions)
    return Image.fromarray(env.render())


def line(pictures: list[Image.Image]) -> Image.Image:
    """Return pictures side by side, of one height and ``WIDTH`` together."""
    height = round((WIDTH - GAP * (len(pictures) - 1)) / sum(p.width / p.height for p in pictures))
    row, left = Image.new("RGB", (WIDTH, height), "white"), 0
    for picture in pictures:
        picture = fitted(picture, round(picture.width * height / picture.height), height)
        row.paste(picture, (left, 0))
        left += picture.width + GAP
    return row


def draw_games() -> None:
    """Write a picture of all games, and one of Dr. Mario."""
    cards, belt = single("SkullKingFlat-v0", {}, 9, 28), single("Prospector-v0", {}, 5, 100)
    bottles = match()
    rows = [line([cards, belt]), line([bottles, single("LanternWalk-v0", {}, 1, 40)])]
    whole = Image.new("RGB", (WIDTH, sum(row.height for row in rows) + GAP), "white")
    whole.paste(rows[0], (0, 0))
    whole.paste(rows[1], (0, rows[0].height + GAP))
    for name, picture in {"games": whole, "drmario": bottles}.items():
        picture.quantize(COLORS).save(DOCS / f"{name}.png", optimize=True)


# -- the film of the README ------------------------------------------------------------------------

FRAMES, MILLISECONDS = 44, 400
PANEL, MARGIN, FILM_COLORS = (400, 300), 6, 96


def by_bot(
    env_id: str, bot: str, seed: int, opponent: str | None = None, **options: Any
) -> Iterator[Image.Image]:
    """Yield pictures of games that a scripted player plays."""
    env = fastenv.FastEnv(make_game(env_id, **options), render_mode="rgb_array", opponent=opponent)
    streams = rng_streams(seed, 1)
    return played(env, lambda: int(env.engine.bot_actions(bot, streams)[0]), seed)


def by_solver() -> Iterator[Image.Image]:
    """Yield pictures of Lantern Walk, whose solver goes for the candles."""
    env = fastenv.make("LanternWalk-v0", render_mode="rgb_array")
    config: Any = env.game.config  # type: ignore[attr-defined]
    solver, buttons = Solver(), list(config.action_names)

    def choose() -> int:
        memory = env.get_state()["wram"]
        button = solver.button(lambda address: int(memory[address - WRAM]))
        return buttons.index("noop" if button is None else button.lower())

    return played(env, choose, 0)


def framed(picture: Image.Image) -> Image.Image:
    """Return a picture of the size of a panel, as large as it fits, on the background."""
    scale = min(side / of for side, of in zip(PANEL, picture.size, strict=True))
    scale = int(scale) if picture.width == 160 else scale
    picture = fitted(picture, round(picture.width * scale), round(picture.height * scale))
    panel = Image.new("RGB", PANEL, BACKGROUND)
    panel.paste(picture, ((PANEL[0] - picture.width) // 2, (PANEL[1] - picture.height) // 2))
    return panel


def sheet(panels: list[Image.Image]) -> Image.Image:
    """Return four panels, two in a row."""
    width, height = PANEL
    whole = Image.new("RGB", (2 * width + MARGIN, 2 * height + MARGIN), BACKGROUND)
    for k, panel in enumerate(panels):
        whole.paste(panel, (k % 2 * (width + MARGIN), k // 2 * (height + MARGIN)))
    return whole


def draw_film() -> None:
    """Write the film."""
    games = (
        by_bot("SkullKingFlat-v0", "heuristic", seed=9),
        by_bot("Prospector-v0", "rich_haul", seed=5),
        by_bot("DrMarioVersus-v0", "greedy", seed=1, opponent="random", level=10),
        by_solver(),
    )
    frames = [
        sheet([framed(each) for each in at]) for at in islice(zip(*games, strict=True), FRAMES)
    ]
    strip = np.concatenate([np.asarray(frame)[::4, ::4] for frame in frames])
    palette = Image.fromarray(strip).quantize(FILM_COLORS)  # one for all: nothing flickers
    first, *others = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    first.save(
        DOCS / "games.gif", save_all=True, append_images=others, duration=MILLISECONDS, loop=0,
        optimize=True,
    )  # fmt: skip


# -- a picture of each environment -----------------------------------------------------------------

FOLDER = DOCS / "gallery"
PAGE_WIDTH = 640  # of a picture; one of a Game Boy has whole multiples of its pixels
PLAIN: tuple[dict[str, Any], int, int] = ({}, 1, 30)  # options, seed, random decisions
CHOSEN: dict[str, tuple[dict[str, Any], int, int]] = {
    "SkullKingFlat-v0": ({}, 9, 28),
    "SkullKingManager-v0": ({}, 4, 7),
    "SkullKingWorker-v0": ({}, 3, 33),
    "SkullKingAbility-v0": ({}, 1, 15),
    "Prospector-v0": ({}, 5, 100),
    "DrMarioFrame-v0": ({"level": 8}, 2, 900),
    "DrMarioPlacement-v0": ({"level": 10}, 3, 9),
    "DrMarioVersus-v0": ({"level": 8}, 2, 6),
    "DrMarioVersusFrame-v0": ({"level": 6}, 4, 700),
    "GameBoyPixels-v0": ({}, 1, 10),
    "GameBoyGoal-v0": ({}, 2, 200),
    "GameBoyOverworld-v0": ({}, 3, 300),
    "LanternWalk-v0": ({}, 1, 40),
    "GameBoyLink-v0": ({}, 2, 60),
}


def sized(drawn: Image.Image) -> Image.Image:
    """Return a picture that is at most as wide as a page shows it."""
    if drawn.width * 2 <= PAGE_WIDTH:
        times = PAGE_WIDTH // drawn.width
        return drawn.resize((drawn.width * times, drawn.height * times), Image.Resampling.NEAREST)
    if drawn.width <= PAGE_WIDTH:
        return drawn
    return fitted(drawn, PAGE_WIDTH, round(drawn.height * PAGE_WIDTH / drawn.width))


def draw_gallery() -> None:
    """Write the pictures of all ids, and remove those of ids that are no more."""
    FOLDER.mkdir(exist_ok=True)
    names = [short_id(env_id) for env_id in fastenv.list_envs()]
    for path in FOLDER.glob("*.png"):
        if path.stem not in names:
            path.unlink()
    for name in names:
        drawn = sized(single(name, *CHOSEN.get(name, PLAIN)))
        drawn.quantize(COLORS).save(FOLDER / f"{name}.png", optimize=True)


# -- Lantern Walk ----------------------------------------------------------------------------------

GREYS = np.array([255, 170, 85, 0], np.uint8)
BETWEEN = 4  # pixels between pictures
# When the solver's next screen is worth showing: items, quest bits and map.
MOMENTS = ((0, 0, 0), (3, 0, 0), (4, 0, 1), (4, 1, 0), (4, 1, 2), (4, 7, 0))
SETTLE = 100  # frames after which a page of text is complete


def tile(program: Program, start: int) -> Pixels:
    """Return a tile of the ROM: (8, 8), shades 0 to 3."""
    rows = np.frombuffer(program.rom, np.uint8, 16, start).reshape(8, 2)
    bits = np.unpackbits(rows.reshape(8, 2, 1), axis=2)
    return np.asarray(bits[:, 0] + 2 * bits[:, 1], np.uint8)


def draw_map(program: Program, rows: list[str]) -> Pixels:
    """Return a map: (256, 256), shades."""
    symbols = program.symbols
    kinds = {}
    for start in range(symbols["kinds"], symbols["kinds_end"], symbols["KIND_SIZE"]):
        four = [
            tile(program, symbols["world_tiles"] + 16 * (number - 0x80))
            for number in program.rom[start + 4 : start + 8]
        ]
        kinds[chr(program.rom[start])] = np.block([four[:2], four[2:]])
    return np.block([[kinds[sign] for sign in row] for row in rows])


def screens() -> list[Pixels]:
    """Return the title, screens on the way through the quest, and the end: (144, 160), shades."""
    world, solver = load_world(), Solver()
    cartridge = load_cartridge(ROMS / f"{GAME}.gb")
    console = Console(cartridge, power_up_row(cartridge))

    def read(address: int) -> int:
        return int(console.row["wram"][0, address - WRAM])

    def now(*names: str) -> tuple[int, ...]:
        return tuple(read(world.memory[name]) for name in names)

    def settled() -> Pixels:
        console.run_frames(SETTLE)
        return console.picture.copy()

    found, moments = [settled()], list(MOMENTS)
    while now("done", "mode") != (1, 0):
        if moments and now("mode", "items", "quest", "map") == (1, *moments[0]):
            found.append(settled())
            del moments[0]
        button = solver.button(read)
        console.press(0 if button is None else 1 << Key[button])
        console.run_frames(8, draw=False)
        console.press(0)
        console.run_frames(16, draw=False)
    return [*found, settled()]


def save_shades(pictures: list[Pixels], across: int, path: Path) -> None:
    """Write pictures of one size side by side, ``across`` in a row."""
    height, width = pictures[0].shape
    down = -(-len(pictures) // across)
    page = np.full((down * (height + BETWEEN), across * (width + BETWEEN)), 255, np.uint8)
    for i, picture in enumerate(pictures):
        y, x = i // across * (height + BETWEEN), i % across * (width + BETWEEN)
        page[y : y + height, x : x + width] = GREYS[picture]
    Image.fromarray(page[:-BETWEEN, :-BETWEEN]).quantize(4).save(path, optimize=True)


def draw_lantern_walk() -> None:
    """Write the maps and the screens."""
    program = assemble(ROMS / f"{GAME}.asm")
    maps = [draw_map(program, rows) for rows in load_world().maps]
    save_shades(maps, 3, DOCS / "lantern_walk_maps.png")
    save_shades(screens(), 4, DOCS / "lantern_walk.png")


DRAWN = {
    "games": draw_games,
    "film": draw_film,
    "gallery": draw_gallery,
    "lantern_walk": draw_lantern_walk,
}


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("pictures", __doc__)
    parse.add_argument("names", nargs="*", choices=[[], *DRAWN], help="default: all")
    for name in parse.parse_args(argv).names or DRAWN:
        DRAWN[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
