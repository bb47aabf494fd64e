"""Small hierarchical runs."""

import numpy as np
import pytest
import torch

from tests.training import begun
from training.apps.skullking.hier.manager_env import Partner
from training.apps.skullking.hier.trainer import HierTrainer
from training.players.network import shown
from training.run.config import RunConfig
from training.run.config_files import merge

TINY = {
    "env": "SkullKingWorker-v0",
    "trainer": "hier",
    "num_envs": 16,
    "total_steps": 2000,
    "torch_threads": 1,
    "device": "cpu",
    "deterministic": True,
    "env_options": {"opponents": "rule_medium"},
    "ppo": {"n_steps": 16, "batch_size": 64, "net_arch": [16]},
    "hier": {
        "warm_start": 512,
        "worker": {"n_epochs": 1},
        "manager": {"n_epochs": 1, "n_steps": 4},
    },
    "checkpoints": {"every": 500},
    "evaluation": {"games": 4, "episodes": 32, "opponents": ["random"], "bootstrap": 50},
}


class Rigid(Partner):
    """A partner without a network: the highest legal product of observation and fixed weights.

    Row by row, so that it does not depend on who else is asked.
    """

    def __init__(self, obs_size, sight=shown):
        self.weights, self.see = np.random.default_rng(0).normal(size=(11, obs_size)), sight

    def choose(self, obs, mask):
        logits = np.array([self.weights @ row for row in obs]).reshape(-1, 11)
        return np.where(mask != 0, logits, -np.inf).argmax(1)


@pytest.fixture
def rigid():
    return Rigid


@pytest.fixture
def hier_config():
    """Return the options of a tiny run, with changes."""

    def make(**changes):
        return RunConfig.from_mapping(merge(TINY, changes))

    return make


@pytest.fixture
def make_trainer(hier_config):
    """Build a trainer from changes of the tiny run."""

    def make(on_step=None, **changes):
        return HierTrainer(hier_config(**changes), on_step)

    yield make
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def train_hier(tmp_path):
    """Call the command line of training with the tiny run; returns the exit status."""

    def call(name, *flags, evaluation=False, resume=False):
        flags, config = (["--resume", *flags], None) if resume else (flags, TINY)
        return begun.train(tmp_path, name, *flags, config=config, evaluation=evaluation)

    return call
