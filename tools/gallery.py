"""Draw each environment as it renders itself: ``python -m tools.gallery`` writes ``docs/gallery/``.

Needs Pillow (``pip install ".[dev]"``). An environment that draws in text alone gives a picture of
its text.
"""

from __future__ import annotations

from typing import Any

from PIL import Image

import fastenv
from fastenv.registry import short_id
from tools.pictures import COLORS, DOCS, single

FOLDER = DOCS / "gallery"
WIDTH = 640  # of a picture; one of a Game Boy has whole multiples of its pixels
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


def picture(env_id: str) -> Image.Image:
    """Return what an environment shows after some random legal decisions."""
    drawn = single(env_id, *CHOSEN.get(env_id, PLAIN))
    if drawn.width * 2 <= WIDTH:
        times = WIDTH // drawn.width
        return drawn.resize((drawn.width * times, drawn.height * times), Image.Resampling.NEAREST)
    size = (WIDTH, round(drawn.height * WIDTH / drawn.width))
    return drawn.resize(size, Image.Resampling.LANCZOS) if drawn.width > WIDTH else drawn


def main() -> None:
    """Write the pictures, and remove those of ids that are no more."""
    FOLDER.mkdir(exist_ok=True)
    names = [short_id(env_id) for env_id in fastenv.list_envs()]
    for path in FOLDER.glob("*.png"):
        if path.stem not in names:
            path.unlink()
    for name in names:
        picture(name).quantize(COLORS).save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
