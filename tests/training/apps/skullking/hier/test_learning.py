"""Does a Manager learn to bid?"""

import numpy as np
import torch

from training.apps.skullking.hier.manager_env import ManagerEnv
from training.ppo.options import NativeConfig, PPOConfig
from training.ppo.trainer import PPOTrainer
from training.run.envs import make_engine


def test_manager_bids_better_than_at_random():
    engine = make_engine(
        "SkullKingWorker-v0", 128, {"goal_mode": "manager", "allowed_phases": ["early"]}
    )
    points = []
    env = ManagerEnv(engine, make_engine("SkullKingManager-v0", 1), reward="points")
    trainer = PPOTrainer(
        env,
        PPOConfig(
            n_steps=16,
            batch_size=256,
            n_epochs=4,
            learning_rate=3e-3,
            net_arch=(32,),
            activation="tanh",
            precision="fp32",
        ),
        NativeConfig(),
        total_steps=10**6,
        device="cpu",
        on_step=lambda env, actions, *_: actions is not None and points.append(env.reward.copy()),
    )
    for _ in range(8):
        trainer.iterate()
    torch.use_deterministic_algorithms(False)
    first, last = (np.concatenate(part) for part in (points[:16], points[-32:]))
    error = np.sqrt(first.var() / first.size + last.var() / last.size)
    print(first.mean(), last.mean(), error)
    assert last.mean() - first.mean() > 5 * error
