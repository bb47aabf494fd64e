"""One pass over the rows of a minibatch: targets, loss, and its gradient by the outputs of a head.

The definition is :func:`training.dqn.targets.compute_targets` with :mod:`training.dqn.loss`; tests
hold this to it. Outputs of a row are the quantiles of each action (A * K), those of the state (K)
if there are any, and the further number of each action (A) if there is one; advantages are counted
from their mean.
"""

from __future__ import annotations

import numpy as np

from fastenv.numba_cache import cached_njit
from training.dqn.loss import loss_and_slope


@cached_njit(nogil=True)
def _compute_quantiles(row, action, actions, dueling, bonus, quantiles_out):
    count = len(quantiles_out)
    further = actions * count + (count if dueling else 0)
    for i in range(count):
        quantile = row[action * count + i]
        if bonus:
            quantile += row[further + action]
        if dueling:
            total = np.float32(0.0)
            for a in range(actions):
                total += row[a * count + i] + (row[further + a] if bonus else np.float32(0.0))
            quantile += row[actions * count + i] - total / np.float32(actions)
        quantiles_out[i] = quantile


@cached_njit(nogil=True)
def _write_gradient(slope, action, actions, dueling, bonus, grad_out):
    """Write the gradient by the outputs of a row from that by the quantiles of its action."""
    count = len(slope)
    further = actions * count + (count if dueling else 0)
    for i in range(count):
        share = slope[i] / np.float32(actions) if dueling else np.float32(0.0)
        for a in range(actions):
            part = (slope[i] if a == action else np.float32(0.0)) - share
            grad_out[a * count + i] = part
            if bonus:
                grad_out[further + a] += part
        if dueling:
            grad_out[actions * count + i] = slope[i]


@cached_njit(nogil=True)
def loss_rows(
    outputs,  # IN float32 (k, outputs)
    behind,  # IN float32 (k, outputs), of the target network
    chooser,  # IN float32 (k, A), values that choose the action behind
    legal,  # IN bool (k, A)
    action,  # IN int64 (k,)
    reward,  # IN float32 (k,)
    discount,  # IN float32 (k,)
    weight,  # IN float32 (k,)
    actions,  # from here on scalars: A
    count,  # K
    dueling,
    bonus,
    level,  # IN float32 (K,)
    kappa,
    grad_out,  # OUT float32 (k, outputs), given as zeros
    error_out,  # OUT float32 (k,)
    sums,  # OUT float64 (3,): losses, absolute errors, values
):
    """Write the gradient of the mean loss by the outputs, and the errors of the means."""
    rows = len(action)
    theta, target = np.empty((rows, count), np.float32), np.empty((rows, count), np.float32)
    for k in range(rows):
        best, most = 0, -np.inf
        for a in range(actions):
            if legal[k, a] and chooser[k, a] > most:
                best, most = a, chooser[k, a]
        _compute_quantiles(outputs[k], action[k], actions, dueling, bonus, theta[k])
        _compute_quantiles(behind[k], best, actions, dueling, bonus, target[k])
        for i in range(count):
            target[k, i] = reward[k] + discount[k] * target[k, i]
    loss, slope = np.empty(rows, np.float32), np.empty((rows, count), np.float32)
    loss_and_slope(theta, target, level, kappa, loss, slope)
    for k in range(rows):
        slope[k] *= weight[k] / np.float32(rows)
        _write_gradient(slope[k], action[k], actions, dueling, bonus, grad_out[k])
        value = theta[k].mean()
        error_out[k] = (target[k].mean() - value) if weight[k] > 0.0 else np.float32(0.0)
        sums[0] += weight[k] * loss[k]
        sums[1] += abs(error_out[k])
        sums[2] += value
