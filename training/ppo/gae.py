"""Advantages: generalised advantage estimation with a discount per decision.

With ``g = gamma**tau`` of each decision, ``V'`` the value of the last observation of an episode
that was cut off, and everything backwards in time::

    r      <- r + g * V'                       where the episode was truncated
    delta   = r + g * V[t+1] * (1 - done) - V
    A       = delta + g * lambda * (1 - done) * A[t+1]
    returns = A + V

This is the textbook recurrence: where an episode was truncated, ``V'`` stands for the value behind
it. It is written in the order in which Stable-Baselines3 computes it, so that the bits agree too.
``lambda`` counts decisions, not primitive steps.

Where PPO learns only some of the decisions (:func:`gae_some`), what lies between two of them is one
step: its rewards are added up as they are, and ``g`` is ``gamma`` whatever lies there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from fastenv.numba_cache import cached_njit

Array = npt.NDArray[Any]

# The inner loop runs over lanes: rows are contiguous, and lanes do not depend on each other, so it
# becomes vector code. Lane-outer is ten times slower at 4096 lanes.


@cached_njit(nogil=True)
def _gae_constant(reward, value, done, bootstrap, gamma, trace, adv_out, ret_out):
    steps, lanes = reward.shape
    one = np.float32(1.0)
    last = np.zeros(lanes, np.float32)
    for t in range(steps - 1, -1, -1):
        for i in range(lanes):
            continues = one - np.float32(done[t, i])
            r = reward[t, i] + gamma * bootstrap[t, i]
            delta = (r + gamma * value[t + 1, i] * continues) - value[t, i]
            last[i] = delta + trace * continues * last[i]
            adv_out[t, i] = last[i]
            ret_out[t, i] = last[i] + value[t, i]


@cached_njit(nogil=True)
def _gae_varying(reward, value, done, bootstrap, gamma, lam, adv_out, ret_out):
    steps, lanes = reward.shape
    one = np.float32(1.0)
    last = np.zeros(lanes, np.float32)
    for t in range(steps - 1, -1, -1):
        for i in range(lanes):
            g = gamma[t, i]
            continues = one - np.float32(done[t, i])
            r = reward[t, i] + g * bootstrap[t, i]
            delta = (r + g * value[t + 1, i] * continues) - value[t, i]
            last[i] = delta + g * lam * continues * last[i]
            adv_out[t, i] = last[i]
            ret_out[t, i] = last[i] + value[t, i]


def gae_many(
    reward: Array,
    value: Array,
    done: Array,
    bootstrap: Array,
    gamma: float | Array,
    lam: float,
    adv_out: Array,
    ret_out: Array,
) -> None:
    """Write advantages and returns of a rollout.

    Parameters
    ----------
    reward, bootstrap : ndarray of float32, shape (T, N)
        Reward of each decision; value of the final observation where an episode was truncated,
        0 elsewhere.
    value : ndarray of float32, shape (T + 1, N)
        Values of the observations; the last row is what follows the rollout.
    done : ndarray of bool, shape (T, N)
        The episode ended, either way.
    gamma : float or ndarray of float32, shape (T, N)
        Discount, the same for all decisions or one each.
    lam : float
    adv_out, ret_out : ndarray of float32, shape (T, N)
        Overwritten.
    """
    if isinstance(gamma, np.ndarray):
        _gae_varying(reward, value, done, bootstrap, gamma, np.float32(lam), adv_out, ret_out)
    else:
        trace = np.float32(gamma * lam)
        _gae_constant(reward, value, done, bootstrap, np.float32(gamma), trace, adv_out, ret_out)


@cached_njit(nogil=True)
def _gae_some(reward, value, done, bootstrap, gamma, trace, some, adv_out, ret_out, learnt_out):
    steps, lanes = reward.shape
    for i in range(lanes):
        paid = np.float32(0.0)  # since the decision, up to what follows
        next_value, next_adv = np.float32(0.0), np.float32(0.0)
        has_next = False  # whether the rollout shows what follows
        for t in range(steps - 1, -1, -1):
            if done[t, i]:
                paid, has_next = np.float32(0.0), True
                next_value, next_adv = np.float32(0.0), np.float32(0.0)
            paid += reward[t, i] + gamma * bootstrap[t, i]
            learnt_out[t, i] = some[t, i] and has_next
            adv_out[t, i] = ret_out[t, i] = np.float32(0.0)
            if some[t, i]:
                if has_next:
                    delta = (paid + gamma * next_value) - value[t, i]
                    adv_out[t, i] = delta + trace * next_adv
                    ret_out[t, i] = adv_out[t, i] + value[t, i]
                next_value, next_adv, has_next = value[t, i], adv_out[t, i], True
                paid = np.float32(0.0)


def gae_some(
    reward: Array,
    value: Array,
    done: Array,
    bootstrap: Array,
    gamma: float,
    lam: float,
    some: Array,
    adv_out: Array,
    ret_out: Array,
) -> Array:
    """Write advantages and returns of some decisions, as if there were no others.

    Other parameters are those of :func:`gae_many`.

    Parameters
    ----------
    gamma : float
        Discount from one of them to the next.
    some : ndarray of bool, shape (T, N)
        The decisions; the rest get 0.

    Returns
    -------
    ndarray of bool, shape (T, N)
        Those of ``some`` for which the rollout shows what follows: the end of the episode or
        another of them. The last ones of the lanes are left out.
    """
    learnt = np.empty(reward.shape, np.bool_)
    trace = np.float32(gamma * lam)
    inputs = reward, value, done, bootstrap, np.float32(gamma), trace, some
    _gae_some(*inputs, adv_out, ret_out, learnt)
    return learnt


def gae_torch(
    reward: torch.Tensor,
    value: torch.Tensor,
    done: torch.Tensor,
    bootstrap: torch.Tensor,
    gamma: float | torch.Tensor,
    lam: float,
    adv_out: torch.Tensor,
    ret_out: torch.Tensor,
) -> None:
    """Write the same as :func:`gae_many`, on the device the tensors are on, without waiting."""
    continues = 1.0 - done.to(reward.dtype)
    next_value = gamma * continues * value[1:]
    delta = (reward + gamma * bootstrap + next_value) - value[:-1]
    trace = gamma * lam * continues
    last = torch.zeros_like(reward[0])
    for t in range(len(reward) - 1, -1, -1):
        torch.addcmul(delta[t], trace[t], last, out=adv_out[t])
        last = adv_out[t]
    torch.add(adv_out, value[:-1], out=ret_out)
