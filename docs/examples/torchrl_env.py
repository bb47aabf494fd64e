"""All lanes of one engine as one TorchRL environment: ``python docs/examples/torchrl_env.py``.

It needs ``pip install torchrl``. Tensors are copied once a step, since TorchRL keeps them.
"""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Binary, Categorical, Composite, Unbounded
from torchrl.envs import EnvBase
from torchrl.envs.utils import check_env_specs

import fastenv
from fastenv.adapters.torch import TorchVecEnv


class FastTorchRLEnv(EnvBase):
    """A batch of environments with action masks, for games whose observation is one array.

    Parameters
    ----------
    env_id : str
    num_envs : int
        Lanes, which are the batch size.
    **options
        Of the game and of ``fastenv.make_vec``.
    """

    def __init__(self, env_id: str, num_envs: int, **options: Any) -> None:
        super().__init__(batch_size=[num_envs])
        vec = fastenv.make_vec(env_id, num_envs, autoreset_mode="disabled", **options)
        self.lanes, self.first_seed = TorchVecEnv(vec), None
        obs, mask = self.lanes.obs, self.lanes.mask
        self.observation_spec = Composite(
            observation=Unbounded(obs.shape, dtype=obs.dtype),
            action_mask=Binary(shape=mask.shape, dtype=torch.bool),
            shape=self.batch_size,
        )
        self.action_spec = Categorical(mask.shape[1], shape=self.batch_size, mask=mask.clone())
        self.reward_spec = Unbounded((num_envs, 1))
        flags = ("done", "terminated", "truncated")
        flag = Binary(shape=(num_envs, 1), dtype=torch.bool)
        self.done_spec = Composite({name: flag for name in flags}, shape=self.batch_size)

    def _shown(self) -> dict[str, torch.Tensor]:
        mask = self.lanes.mask.clone()
        self.action_spec.update_mask(mask)  # random actions are legal ones
        return {"observation": self.lanes.obs.clone(), "action_mask": mask}

    def _reset(self, tensordict: TensorDictBase | None, **_: Any) -> TensorDict:
        chosen = None if tensordict is None else tensordict.get("_reset", None)
        options = None if chosen is None else {"reset_mask": chosen.flatten().numpy()}
        self.lanes.reset(seed=self.first_seed, options=options)
        self.first_seed = None
        return TensorDict(self._shown(), self.batch_size)

    def _step(self, tensordict: TensorDictBase) -> TensorDict:
        _, reward, terminated, truncated, _ = self.lanes.step(tensordict["action"])
        paid = {"reward": reward, "terminated": terminated, "truncated": truncated}
        paid["done"] = terminated | truncated
        columns = {name: tensor.clone().unsqueeze(-1) for name, tensor in paid.items()}
        return TensorDict(self._shown() | columns, self.batch_size)

    def _set_seed(self, seed: int | None) -> None:
        self.first_seed = seed


if __name__ == "__main__":
    env = FastTorchRLEnv("SkullKingWorker-v0", 64)
    env.set_seed(0)
    check_env_specs(env)
    rollout = env.rollout(100, break_when_any_done=False)
    legal = rollout["action_mask"].gather(-1, rollout["action"].unsqueeze(-1))
    ended = int(rollout["next", "done"].sum())
    print(f"{rollout.numel():,} decisions, {ended} episodes ended, all legal: {bool(legal.all())}")
