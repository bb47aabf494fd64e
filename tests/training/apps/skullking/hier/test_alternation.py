"""Who learns next, and for how many epochs."""

import numpy as np
import pytest
import torch

from training.apps.skullking.hier.options import HierConfig
from training.apps.skullking.hier.trainer import REFERENCE, AdaptiveEpochs, next_policy


@pytest.mark.parametrize("rollouts", [(512, 96), (512, 512), (64, 1000), (1000, 1)])
@pytest.mark.parametrize("ratio", [5.0, 1.0, 2.5])
def test_decisions_keep_their_ratio_after_the_warm_start(rollouts, ratio):
    config = HierConfig(warm_start=3000, ratio=ratio)
    worker, manager = rollouts
    steps, order = {"worker": 0, "manager": 0}, []
    for _ in range(5000):
        name = next_policy(config, steps["worker"], steps["manager"])
        steps[name] += worker if name == "worker" else manager
        order.append(name)
        if steps["manager"]:
            behind = steps["worker"] - config.warm_start - ratio * steps["manager"]
            assert -ratio * manager < behind <= worker
    first = order.index("manager")
    assert first * worker > config.warm_start >= (first - 1) * worker
    assert {"worker", "manager"} == set(order)


def test_epochs_follow_the_variance_of_the_returns():
    epochs, generator = AdaptiveEpochs(), torch.Generator().manual_seed(0)
    returns = torch.randn(4, 1000, generator=generator)
    for _ in range(REFERENCE):
        assert epochs.epochs(5) == 5  # nothing to compare with yet
        epochs.add(returns)
    assert epochs.epochs(5) == 30
    other = AdaptiveEpochs()
    other.load_state_dict(epochs.state_dict())
    for one in (epochs, other):
        one.add(returns * np.sqrt(0.5))
        assert one.epochs(5) == 20
        one.add(returns * 9)
        assert one.epochs(5) == 30
        one.add(returns * 0)
        assert one.epochs(5) == 10
