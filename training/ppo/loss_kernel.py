"""One pass over the rows of a minibatch: the terms of the loss and its gradient in closed form.

The definition is ``Objective.loss``; the tests hold this to it. With ``p`` the masked softmax of a
row, ``H`` its entropy and ``r`` the ratio of the action ``a``::

    d policy_loss / d logit_j  = -adv * r * ([j = a] - p_j)      0 where the clip is binding
    d (-c * H)    / d logit_j  = c * p_j * (log p_j + H)
"""

from __future__ import annotations

import math

import numpy as np

from fastenv.numba_cache import cached_njit


@cached_njit(nogil=True)
def loss_rows(
    logits,  # IN float32 (k, A)
    mask,  # IN bool (k, A)
    action,  # IN int64 (k,)
    old_logp,  # IN float32 (k,)
    adv,  # IN float32 (k,)
    ret,  # IN float32 (k,)
    old_value,  # IN float32 (k,)
    value,  # IN float32 (k,)
    clip,  # from here on scalars, as in Objective
    clip_vf,  # negative for none
    ent_coef,
    vf_coef,
    huber,
    share,  # weight of a row: one over the samples of the minibatch
    grad_logits_out,  # OUT float32 (k, A)
    grad_value_out,  # OUT float32 (k,)
    sums,  # OUT float64 (6,), added to
):
    """Write the gradients by logits and values, and add up the terms of the loss.

    A row without a legal action is uniform and has no gradient, as in the definition.
    """
    rows, actions = logits.shape
    log_prob = np.empty(actions, np.float64)
    for i in range(rows):
        entropy = _log_softmax(logits[i], mask[i], action[i], log_prob)
        log_ratio = log_prob[action[i]] - old_logp[i]
        ratio = math.exp(log_ratio)
        surrogate = adv[i] * ratio
        clipped_surrogate = adv[i] * min(max(ratio, 1.0 - clip), 1.0 + clip)
        grad_log_prob = -surrogate if surrogate <= clipped_surrogate else 0.0  # of policy_loss
        for j in range(actions):
            slope = 0.0
            if mask[i, j]:
                p = math.exp(log_prob[j])
                chosen = 1.0 if j == action[i] else 0.0
                slope = grad_log_prob * (chosen - p) + ent_coef * p * (log_prob[j] + entropy)
            grad_logits_out[i, j] = slope * share
        v, target, old = np.float64(value[i]), np.float64(ret[i]), np.float64(old_value[i])
        error, slope = _value_error(v, target, old, clip_vf, huber)
        grad_value_out[i] = vf_coef * slope * share

        policy_loss = -min(surrogate, clipped_surrogate)
        sums[0] += (policy_loss - ent_coef * entropy + vf_coef * error) * share
        sums[1] += policy_loss * share
        sums[2] += error * share
        sums[3] += entropy * share
        sums[4] += (ratio - 1.0 - log_ratio) * share
        sums[5] += share if abs(ratio - 1.0) > clip else 0.0


@cached_njit(nogil=True, inline="always")
def _log_softmax(logits, mask, action, log_prob_out):
    """Write the log-probabilities of the legal actions, and return their entropy."""
    actions = len(logits)
    top = -np.inf
    for j in range(actions):
        if mask[j]:
            top = max(top, np.float64(logits[j]))
    total = 0.0
    for j in range(actions):
        if mask[j]:
            log_prob_out[j] = logits[j] - top
            total += math.exp(log_prob_out[j])
    if total == 0.0:  # no legal action: all are equally likely
        log_prob_out[action] = -math.log(np.float64(actions))
        return 0.0
    shift, entropy = math.log(total), 0.0
    for j in range(actions):
        if mask[j]:
            log_prob_out[j] -= shift
            entropy -= math.exp(log_prob_out[j]) * log_prob_out[j]
    return entropy


@cached_njit(nogil=True, inline="always")
def _value_error(value, ret, old, clip_vf, huber):
    """Return the error of a value and its slope, clipped unless ``clip_vf`` is negative."""
    if clip_vf < 0.0:
        return _error(value, ret, huber)
    difference = value - old
    clipped = min(max(difference, -clip_vf), clip_vf)
    error, slope = _error(old + clipped, ret, huber)
    if difference != clipped:  # the clip holds the value: it has no slope
        slope = 0.0
    return error, slope


@cached_njit(nogil=True, inline="always")
def _error(value, ret, huber):
    """Return the error of a value and its slope: squared, or linear beyond 1 (huber)."""
    difference = value - ret
    if not huber:
        return difference * difference, 2.0 * difference
    if abs(difference) <= 1.0:
        return 0.5 * difference * difference, difference
    return abs(difference) - 0.5, math.copysign(1.0, difference)
