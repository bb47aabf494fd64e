"""Film the four games as their environments render them, for README.md.

``python -m tools.film`` needs Pillow (``pip install ".[dev]"``) and writes ``docs/games.gif``.
Scripted players play: nothing is trained for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from PIL import Image

import fastenv
from fastenv.engine import rng_streams
from fastenv.gameboy.lantern_walk import Solver
from fastenv.gameboy.tables import WRAM
from fastenv.registry import make_game
from tools.pictures import DOCS

FRAMES, MILLISECONDS = 44, 400
PANEL, GAP, COLORS = (400, 300), 6, 96
BACKGROUND = (24, 24, 28)


def by_bot(
    env_id: str, bot: str, seed: int, opponent: str | None = None, **options: Any
) -> Iterator[Image.Image]:
    """Yield pictures of games that a scripted player plays, one for each decision."""
    game = make_game(env_id, **options)
    env = fastenv.FastEnv(game, render_mode="rgb_array", opponent=opponent)
    env.reset(seed=seed)
    streams = rng_streams(seed, 1)
    yield from _played(env, lambda: int(env.engine.bot_actions(bot, streams)[0]))


def by_solver() -> Iterator[Image.Image]:
    """Yield pictures of Lantern Walk, whose solver goes for the candles."""
    env = fastenv.make("LanternWalk-v0", render_mode="rgb_array")
    env.reset(seed=0)
    config: Any = env.game.config  # type: ignore[attr-defined]
    solver, buttons = Solver(), list(config.action_names)

    def choose() -> int:
        memory = env.get_state()["wram"]
        button = solver.button(lambda address: int(memory[address - WRAM]))
        return buttons.index("noop" if button is None else button.lower())

    yield from _played(env, choose)


def _played(env: Any, choose: Callable[[], int]) -> Iterator[Image.Image]:
    while True:
        yield Image.fromarray(env.render())
        _, _, terminated, truncated, _ = env.step(choose())
        if terminated or truncated:
            env.reset()


def framed(picture: Image.Image) -> Image.Image:
    """Return a picture of the size of a panel, as large as it fits, on the background."""
    pixels = picture.width == 160
    scale = min(side / of for side, of in zip(PANEL, picture.size, strict=True))
    scale = int(scale) if pixels else scale
    size = (round(picture.width * scale), round(picture.height * scale))
    picture = picture.resize(size, Image.Resampling.NEAREST if pixels else Image.Resampling.LANCZOS)
    panel = Image.new("RGB", PANEL, BACKGROUND)
    panel.paste(picture, ((PANEL[0] - size[0]) // 2, (PANEL[1] - size[1]) // 2))
    return panel


def sheet(panels: list[Image.Image]) -> Image.Image:
    """Return four panels, two in a row."""
    width, height = PANEL
    whole = Image.new("RGB", (2 * width + GAP, 2 * height + GAP), BACKGROUND)
    for k, panel in enumerate(panels):
        whole.paste(panel, (k % 2 * (width + GAP), k // 2 * (height + GAP)))
    return whole


def main() -> None:
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
    palette = Image.fromarray(strip).quantize(COLORS)  # one for all, so that nothing flickers
    first, *others = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    first.save(
        DOCS / "games.gif", save_all=True, append_images=others, duration=MILLISECONDS, loop=0,
        optimize=True,
    )  # fmt: skip


if __name__ == "__main__":
    main()
