"""What a training imports when it begins, imported once by the server that forks trainings."""

import torch._inductor  # noqa: F401  torch.use_deterministic_algorithms imports it

from training.run.envs import build

for env in ("SkullKingFlat-v0", "Prospector-v0", "KuhnPoker-v0"):
    build("auto", env)  # loads the compiled functions of the game
