"""What a bot that looks ahead finds of the placements it follows (docs/drmario.md, 17.3).

Values are in frames: one that is lower by 100 than that of another placement weighs as if the pill
had taken 100 frames longer.

>>> import fastenv
>>> engine = fastenv.BatchEngine(fastenv.make_game("DrMarioPlacement-v0", game_seed=0x8988), 1)
>>> _ = engine.reset_many(seeds=0)
>>> found = engine.game.considered(engine.get_states()[0], 0, "lookahead3")
>>> found[["action", "count"]].tolist()
[(59, 9), (45, 9), (303, 9), (329, 9)]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.backend import Backend, resolve
from fastenv.drmario import tables as t
from fastenv.drmario.lookahead import consider
from fastenv.game import CONSIDERED_DTYPE

Array = npt.NDArray[Any]
MOST = 256  # placements that are followed


def considered(
    game: Any, row: np.void, agent: int, bot: str, backend: str | Backend
) -> Array | None:
    """Return placements with their values, the best one first; see ``Game.considered``."""
    params = game.bot(bot)
    if bot not in game.bots_that_look_ahead:
        return None
    playing = game.unpack(row)
    costs = playing.costs()[agent]
    if costs is None or row["done"]:
        return None
    spec, looking = game.spec, t.LOOKING_AHEAD[bot]
    which = resolve(backend, kernel_module=spec.kernel_module, core_module=spec.core_module)
    if which.use_cython:
        actions, weights, counts = _compiled(game, row, agent, params, costs, looking)
    else:
        bottle = {name: int(params[name][0]) for name in t.GREEDY}
        found = consider(playing, playing.players[agent], costs, bottle, looking)
        actions = np.array([each.action for each in found])
        weights = np.array([each.weight for each in found])
        counts = np.array([each.count for each in found])
    result = np.empty(len(actions), CONSIDERED_DTYPE)
    result["action"], result["count"] = actions, counts
    result["value"] = weights / counts / -params["frame"][0]
    return result


def _compiled(
    game: Any, row: np.void, agent: int, params: Array, costs: Any, looking: t.Looking
) -> tuple[Array, Array, Array]:
    """Return actions, weights, and of how many sums each weight is one, from the core."""
    from fastenv.drmario import _core

    actions, weights = np.empty(MOST, np.int32), np.empty(MOST, np.int64)
    raw = np.frombuffer(row.tobytes(), np.uint8)
    count, kept = _core.consider_placements(
        raw,
        game.shared.view(np.uint8),
        agent,
        np.array(costs, np.uint16),
        params.view(np.uint8),
        actions,
        weights,
    )
    counts = np.full(count, t.NUM_PILLS if looking.second else 1)
    counts[:kept] *= looking.repeats
    order = np.lexsort((actions[:count], -weights[:count], np.arange(count) >= kept))
    return actions[order], weights[order], counts[order]
