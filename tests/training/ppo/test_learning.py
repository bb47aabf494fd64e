"""T21: what has a known best answer is found, and cards are played better than by chance."""

import numpy as np
import pytest
import torch

from tests.needs import needs_speed
from tests.training.ppo.engines import Bandit, Corridor
from training.nets.distribution import Sampler, masked_log_probs
from training.nets.layout import as_tensor
from training.run.envs import make_engine


def test_the_best_legal_arm_is_found(make_trainer):
    trainer = make_trainer(Bandit(64), batch_size=256, n_epochs=4, learning_rate=0.01)
    for _ in range(40):
        trainer.iterate()
    engine = Bandit(512)
    engine.reset_many(seeds=99)
    with torch.no_grad():
        logits = trainer.net(torch.from_numpy(engine.obs))[0]
    chosen = np.where(engine.mask, logits.numpy(), -np.inf).argmax(1)
    assert (chosen == engine.best()).all()


@pytest.mark.slow
def test_the_end_of_the_corridor_is_found(make_trainer):
    trainer = make_trainer(Corridor(32), n_steps=32, batch_size=256, n_epochs=4, learning_rate=0.01)
    for _ in range(40):
        trainer.iterate()
    with torch.no_grad():
        logits = trainer.net(torch.eye(9))[0]
    assert (logits[:8, 1] > logits[:8, 0]).all()


def returns(engine, net, steps):
    """Returns of the episodes of random legal play, or of the draws of a network."""
    found, sampler = [], Sampler(1, torch.device("cpu"))
    engine.reset_many(seeds=10**6)
    for _ in range(steps):
        mask = torch.from_numpy(engine.mask.view(np.bool_))
        with torch.no_grad():
            logits = net(as_tensor(engine.obs))[0] if net else torch.zeros(mask.shape)
        engine.step_many(sampler(masked_log_probs(logits, mask), mask).numpy())
        found.append(engine.ep_return[(engine.terminated | engine.truncated) > 0])
    return np.concatenate(found)


@pytest.mark.slow
@needs_speed
def test_cards_are_played_better_than_by_chance(make_trainer):
    options = {"opponents": "random", "allowed_phases": ["early"]}
    trainer = make_trainer(
        make_engine("SkullKingWorker-v0", 128, options),
        n_steps=64,
        batch_size=512,
        n_epochs=4,
        net_arch=(64,),
        activation="relu",
        learning_rate=4e-3,
        gae_lambda=0.85,
    )
    for _ in range(12):
        trainer.iterate()
    judge = make_engine("SkullKingWorker-v0", 512, options)
    chance, played = returns(judge, None, 300), returns(judge, trainer.net, 300)
    error = np.sqrt(chance.var() / len(chance) + played.var() / len(played))
    assert played.mean() - chance.mean() > 5 * error
