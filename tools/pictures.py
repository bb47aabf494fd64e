"""Draw the games as their environments render them, for the site and docs/drmario.md.

``python -m tools.pictures`` needs Pillow (``pip install ".[dev]"``) and writes ``docs/games.png``
and ``docs/drmario.png``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import fastenv
from fastenv.adapters.pettingzoo import parallel_env

DOCS = Path(__file__).parents[1] / "docs"
WIDTH, GAP, COLORS = 1448, 8, 256
SINGLE: tuple[tuple[str, dict[str, Any], int, int], ...] = (  # id, options, seed, decisions
    ("SkullKingFlat-v0", {}, 9, 28),
    ("Prospector-v0", {}, 5, 100),
    ("LanternWalk-v0", {}, 1, 40),
)


def single(env_id: str, options: dict[str, Any], seed: int, decisions: int) -> Image.Image:
    """Return one player's game after some random legal decisions."""
    env = fastenv.make(env_id, render_mode="rgb_array", **options)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(decisions):
        _, _, terminated, truncated, _ = env.step(rng.choice(np.flatnonzero(env.action_masks())))
        if terminated or truncated:
            env.reset()
    return Image.fromarray(env.render())


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
        smooth = Image.Resampling.NEAREST if picture.width == 160 else Image.Resampling.LANCZOS
        picture = picture.resize((round(picture.width * height / picture.height), height), smooth)
        row.paste(picture, (left, 0))
        left += picture.width + GAP
    return row


def main() -> None:
    """Write the pictures."""
    cards, belt, walk = (single(*what) for what in SINGLE)
    bottles = match()
    rows = [line([cards, belt]), line([bottles, walk])]
    whole = Image.new("RGB", (WIDTH, sum(row.height for row in rows) + GAP), "white")
    whole.paste(rows[0], (0, 0))
    whole.paste(rows[1], (0, rows[0].height + GAP))
    for name, picture in {"games": whole, "drmario": bottles}.items():
        picture.quantize(COLORS).save(DOCS / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
