"""N-step windows of stored decisions: in Numba in host memory, in torch elsewhere.

A window begins with a decision and has ``n_step`` of them, or fewer if the episode ends; decision
``row * lanes + lane`` is followed by ``(row + 1) % rows * lanes + lane``. Both ways compute the
same; one loop over a few hundred decisions takes a tenth of the time of two dozen operations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fastenv.numba_cache import cached_njit

RUNNING, TERMINATED, TRUNCATED = 0, 1, 2  # how a decision left its episode


@dataclass(frozen=True)
class Windows:
    """Rewards, discounts and ends of windows, all of shape (k,).

    Parameters
    ----------
    reward : Tensor of float32
        Sum of ``r[i] * (d[0] * ... * d[i - 1])`` over their decisions.
    discount : Tensor of float32
        Product of all ``d``, 0 where the last one terminated.
    following : Tensor of int64
        Decision behind the last one.
    last : Tensor of int64
        Last decision.
    truncated : Tensor of bool
        Whether that one cut the episode off.
    """

    reward: Tensor
    discount: Tensor
    following: Tensor
    last: Tensor
    truncated: Tensor


def windows_of(
    index: Tensor, n_step: int, reward: Tensor, discount: Tensor, end: Tensor
) -> Windows:
    """Compute the windows that begin with decisions.

    Parameters
    ----------
    index : Tensor of int64, shape (k,)
    n_step : int
    reward, discount : Tensor of float32, shape (rows, lanes)
        Of each decision.
    end : Tensor of uint8, shape (rows, lanes)
        ``RUNNING``, ``TERMINATED`` or ``TRUNCATED``.
    """
    if index.device.type != "cpu":
        return windows_torch(index, n_step, reward, discount, end)
    windows = Windows(
        torch.empty(len(index)),
        torch.empty(len(index)),
        torch.empty_like(index),
        torch.empty_like(index),
        torch.empty(len(index), dtype=torch.bool),
    )
    _windows_many(
        *(index.numpy(), reward.numpy(), discount.numpy(), end.numpy(), n_step),
        *(windows.reward.numpy(), windows.discount.numpy()),
        *(windows.following.numpy(), windows.last.numpy(), windows.truncated.numpy()),
    )
    return windows


@cached_njit(nogil=True)
def _windows_many(
    index,  # IN int64 (k,)
    reward,  # IN float32 (rows, lanes)
    discount,  # IN float32 (rows, lanes)
    end,  # IN uint8 (rows, lanes)
    n_step,  # IN int64
    reward_out,  # OUT float32 (k,)
    discount_out,  # OUT float32 (k,)
    following_out,  # OUT int64 (k,)
    last_out,  # OUT int64 (k,)
    truncated_out,  # OUT bool (k,)
):
    rows, lanes = reward.shape
    for k in range(len(index)):
        row, lane = index[k] // lanes, index[k] % lanes
        total, reach, how = np.float32(0.0), np.float32(1.0), 0
        for _ in range(n_step):
            total += reach * reward[row, lane]
            reach *= discount[row, lane]
            how = end[row, lane]
            last_out[k] = row * lanes + lane
            row = (row + 1) % rows
            if how != RUNNING:
                break
        reward_out[k] = total
        discount_out[k] = np.float32(0.0) if how == TERMINATED else reach
        following_out[k] = row * lanes + lane
        truncated_out[k] = how == TRUNCATED


def windows_torch(
    index: Tensor, n_step: int, reward: Tensor, discount: Tensor, end: Tensor
) -> Windows:
    """Compute the same as :func:`windows_of` on any device."""
    rows, lanes = reward.shape
    steps = torch.arange(n_step, device=index.device)
    row, lane = (index // lanes).unsqueeze(1), (index % lanes).unsqueeze(1)
    place = (row + steps) % rows * lanes + lane
    rewards, discounts, ends = (
        x.view(-1).index_select(0, place.view(-1)).view(place.shape)
        for x in (reward, discount, end)
    )
    # Whether decision i belongs to the episode of the first one.
    inside = torch.ones_like(place, dtype=torch.bool)
    inside[:, 1:] = (ends[:, :-1] == RUNNING).cumprod(1)
    reach = torch.where(inside, discounts, 1.0).cumprod(1)
    rewards[:, 1:] *= reach[:, :-1]
    last = inside.sum(1, keepdim=True) - 1
    how = ends.gather(1, last).squeeze(1)
    return Windows(
        reward=torch.where(inside, rewards, 0.0).sum(1),
        discount=torch.where(how == TERMINATED, 0.0, reach[:, -1]),
        following=((row + last + 1) % rows * lanes + lane).squeeze(1),
        last=place.gather(1, last).squeeze(1),
        truncated=how == TRUNCATED,
    )


def unpack(packed: Tensor, index: Tensor, num_actions: int) -> Tensor:
    """Unpack the masks of decisions, bool, shape (k, num_actions).

    Parameters
    ----------
    packed : Tensor of uint8, shape (decisions, bytes)
        Bit ``a % 8`` of byte ``a // 8`` says whether action ``a`` is legal.
    index : Tensor of int64, shape (k,)
    num_actions : int
    """
    if index.device.type == "cpu":
        masks = torch.empty((len(index), num_actions), dtype=torch.bool)
        _unpack_many(packed.numpy(), index.numpy(), masks.numpy())
        return masks
    return unpack_torch(packed, index, num_actions)


@cached_njit(nogil=True)
def _unpack_many(
    packed,  # IN uint8 (decisions, bytes)
    index,  # IN int64 (k,)
    masks_out,  # OUT bool (k, actions)
):
    for k in range(len(index)):
        for action in range(masks_out.shape[1]):
            masks_out[k, action] = (packed[index[k], action // 8] >> (action % 8)) & 1


def unpack_torch(packed: Tensor, index: Tensor, num_actions: int) -> Tensor:
    """Unpack as :func:`unpack` does, on any device."""
    bits = torch.arange(8, dtype=torch.uint8, device=index.device)
    masks = packed.index_select(0, index).unsqueeze(2) >> bits & 1
    return masks.flatten(1)[:, :num_actions].bool()
