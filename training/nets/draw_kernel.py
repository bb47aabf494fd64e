"""Draw actions and give their log-probabilities, a row at a time, from logits and mask alone.

The definition is ``Sampler.__call__`` on ``masked_log_probs``, which goes over all actions a dozen
times where most are illegal; the tests hold this to it. Used where logits are bfloat16: for
float32 runs the bits of the definition count.
"""

from __future__ import annotations

import math

import numpy as np

from fastenv.numba_cache import cached_njit


@cached_njit(nogil=True)
def draw_rows(
    logits,  # IN float32 (n, A)
    mask,  # IN bool (n, A)
    point,  # IN float32 (n,), uniform in [0, 1)
    action_out,  # OUT int64 (n,)
    logp_out,  # OUT float32 (n,)
):
    """Write the action of each row at ``point`` of its cumulative distribution.

    A row without a legal action is uniform, and its action 0.
    """
    rows, actions = logits.shape
    weight = np.empty(actions, np.float64)
    for i in range(rows):
        top = -np.inf
        for j in range(actions):
            if mask[i, j]:
                top = max(top, np.float64(logits[i, j]))
        total, chosen = 0.0, 0
        for j in range(actions):
            if mask[i, j]:
                weight[j] = math.exp(logits[i, j] - top)
                total += weight[j]
        left = point[i] * total
        for j in range(actions):
            if mask[i, j]:
                chosen = j
                left -= weight[j]
                if left < 0.0:
                    break
        action_out[i] = chosen
        logp_out[i] = -math.log(actions)
        if total > 0.0:
            logp_out[i] = logits[i, chosen] - top - math.log(total)
