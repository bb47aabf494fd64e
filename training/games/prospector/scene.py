"""The belt of Prospector as data: chart, ship, market and asteroids, as far as a player knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fastenv.prospector.layout import OBS_LAYOUT
from fastenv.prospector.tables import Action
from fastenv.prospector.view import ACTION_NAMES, offer, ship_view
from training.run.game_view import GameView, ObservationBlock


class ProspectorView(GameView):
    """How Prospector is shown; see :class:`training.run.game_view.GameView`."""

    page: ClassVar = Path(__file__).parent / "scene.js"
    rules: ClassVar = Path(__file__).parent / "rules.html"

    def scene(
        self,
        engine: Any,
        row: np.void,
        seat: int,
        names: Sequence[str],
        *,
        opened: bool = False,
        choice: int | None = None,
    ) -> dict[str, Any]:
        """Return the instruments."""
        view = ship_view(row, engine.game.config.time_max)
        scene = asdict(view)
        for name in ("goods", "ways", "asteroids", "edges", "gauges"):
            scene[name] = [each._asdict() for each in getattr(view, name)]
        scene["time"], scene["hold"] = view.time._asdict(), view.hold._asdict()
        scene["legal"] = sorted(view.legal)
        scene["places"] = _find_places(view.node_hops, tuple(edge.ends for edge in view.edges))
        scene["actions"] = {k: _format_label(k) for k in scene["legal"]}
        return scene

    def mark(self, engine: Any, before: np.void, after: np.void) -> str:
        """Describe a sale, and a meeting with pirates."""
        sold, met = engine.info.get("reward_sell"), engine.info.get("reward_pirate")
        words = ["sold"] if sold is not None and float(sold[0]) > 0 else []
        return ", ".join([*words, *(["pirates"] if met is not None and float(met[0]) < 0 else [])])

    def blocks(self, engine: Any) -> Sequence[ObservationBlock]:
        """Return the blocks of the observation."""
        return [ObservationBlock(*block) for block in OBS_LAYOUT]


def _format_label(action: int) -> str:
    """Return the name of an action, and what it costs."""
    return offer(Action(action)) if action in set(Action) else ACTION_NAMES[action]


@lru_cache(maxsize=64)
def _find_places(
    hops: tuple[int | None, ...], edges: tuple[tuple[int, int], ...]
) -> list[list[float]] | None:
    """Compute the places of nodes, from -1 to 1; None where Pillow is not there."""
    try:
        from fastenv.prospector.picture import place
    except ImportError:
        return None
    return [[round(x, 4), round(y, 4)] for x, y in place(hops, edges)]
