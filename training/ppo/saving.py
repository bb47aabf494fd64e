"""Gathers the state of a trainer from several ranks into one, and splits it again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from training.run.checkpoint import State
from training.run.ranks import Ranks

# What each rank has of its own in a checkpoint, beside its lanes.
_OWN = ("sampler", "minibatch", "state")


def gather_state(ranks: Ranks, state: State) -> State:
    """Gather the lanes and generators of all ranks into the state of the first."""
    if ranks.size == 1:
        return state
    model = state.model
    own = {
        "sampler": model["sampler"]["generator"].numpy(),
        "minibatch": model["minibatch"]["generator"].numpy(),
        "state": model["state"].numpy(),
    }
    parts = ranks.gather({"rows": state.rows, **state.arrays, **own})
    if not parts:
        return state
    names = ("rows", *state.arrays)
    lanes = {name: np.concatenate([part[name] for part in parts]) for name in names}
    each = [{name: torch.from_numpy(part[name]) for name in _OWN} for part in parts]
    rest = {name: value for name, value in model.items() if name not in _OWN}
    return replace(state, model={**rest, "ranks": each}, rows=lanes.pop("rows"), arrays=lanes)


def get_rank_state(ranks: Ranks, state: State) -> State:
    """Return the share of a rank in the state that :func:`gather_state` returned.

    Raises
    ------
    ValueError
        If other ranks have saved it than are here.
    """
    saved = int(state.values.get("ranks", 1))
    if saved != ranks.size:
        raise ValueError(
            f"it continues with as many ranks as have saved it, {saved}, and here it is "
            f"{ranks.size} (torchrun --nproc-per-node)"
        )
    if ranks.size == 1:
        return state
    lanes = len(state.rows) // ranks.size
    here = slice(ranks.rank * lanes, (ranks.rank + 1) * lanes)
    model = dict(state.model)
    own = model.pop("ranks")[ranks.rank]
    model |= {name: {"generator": own[name]} for name in ("sampler", "minibatch")}
    return replace(
        state,
        model={**model, "state": own["state"]},
        rows=state.rows[here],
        arrays={name: array[here] for name, array in state.arrays.items()},
    )
