"""PPO in one file: ``python docs/examples/ppo.py [decisions]`` learns four rounds of Skull King.

Rollouts are tensors that the environments' memory is copied into once; nothing else is copied.
"""

import sys
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.distributions import Categorical

import fastenv
from fastenv.adapters.torch import TorchVecEnv


@dataclass
class Settings:
    """What the learning depends on."""

    steps: int = 16  # of a rollout, in every lane
    epochs: int = 2
    minibatches: int = 4
    learning_rate: float = 1e-3
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01


class Agent(nn.Module):
    """Policy and value on one trunk."""

    def __init__(self, inputs: int, actions: int, width: int = 128) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.policy, self.value = nn.Linear(width, actions), nn.Linear(width, 1)

    def forward(self, obs: Tensor, mask: Tensor) -> tuple[Categorical, Tensor]:
        """Return the policy over legal actions, and the value."""
        hidden = self.trunk(obs)
        logits = self.policy(hidden).masked_fill(~mask, -1e9)
        return Categorical(logits=logits, validate_args=False), self.value(hidden).squeeze(-1)


@torch.no_grad()
def collect(env, agent: Agent, rollout: dict[str, Tensor], gamma: float, lam: float) -> Tensor:
    """Fill a rollout, returns and advantages included; return the rewards of ended episodes."""
    ended = []
    for t in range(len(rollout["obs"])):
        rollout["obs"][t].copy_(env.obs)  # the next step overwrites what the environment shows
        rollout["mask"][t].copy_(env.mask)
        policy, rollout["value"][t] = agent(rollout["obs"][t], rollout["mask"][t])
        action = policy.sample()
        rollout["action"][t], rollout["log_prob"][t] = action, policy.log_prob(action)
        _, reward, terminated, truncated, _ = env.step(action)
        rollout["reward"][t], rollout["done"][t] = reward, terminated | truncated
        ended.append(env.episode_return[terminated | truncated])
    following, advantage = agent(env.obs, env.mask)[1], 0.0
    for t in reversed(range(len(rollout["obs"]))):
        alive = 1.0 - rollout["done"][t]
        error = rollout["reward"][t] + gamma * alive * following - rollout["value"][t]
        advantage = error + gamma * lam * alive * advantage
        rollout["advantage"][t], following = advantage, rollout["value"][t]
    return torch.cat(ended)


def update(agent: Agent, optimizer, rollout: dict[str, Tensor], settings: Settings) -> None:
    """Take the gradient steps of one rollout."""
    data = {name: part.flatten(0, 1) for name, part in rollout.items()}
    size = len(data["obs"])
    for _ in range(settings.epochs):
        for rows in torch.randperm(size, device=data["obs"].device).chunk(settings.minibatches):
            batch = {name: part[rows] for name, part in data.items()}
            policy, value = agent(batch["obs"], batch["mask"])
            ratio = (policy.log_prob(batch["action"]) - batch["log_prob"]).exp()
            advantage = batch["advantage"]
            target = advantage + batch["value"]
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
            loss = -torch.min(ratio * advantage, clipped * advantage).mean()
            loss = loss + 0.5 * (value - target).square().mean()
            loss = loss - settings.entropy * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def train(env, decisions: int, settings: Settings, seed: int = 0):
    """Yield the mean return of the episodes that ended in each rollout."""
    torch.manual_seed(seed)
    env.reset(seed=seed)
    agent = Agent(env.obs.shape[1], env.mask.shape[1]).to(env.obs.device)
    optimizer = torch.optim.Adam(agent.parameters(), settings.learning_rate, eps=1e-5)
    shape = settings.steps, len(env.obs)
    names = ("value", "log_prob", "reward", "done", "advantage")
    rollout = {name: torch.zeros(shape, device=env.obs.device) for name in names}
    rollout["action"] = torch.zeros(shape, dtype=torch.long, device=env.obs.device)
    for name in ("obs", "mask"):
        like = getattr(env, name)
        rollout[name] = torch.zeros(settings.steps, *like.shape, dtype=like.dtype).to(like.device)
    for _ in range(max(decisions // (shape[0] * shape[1]), 1)):
        returns = collect(env, agent, rollout, settings.gamma, settings.gae_lambda)
        update(agent, optimizer, rollout, settings)
        yield returns.mean().item()


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    four_rounds = {"schedule": (1, 2, 3, 4), "reward": "points"}
    lanes = fastenv.make_vec("SkullKingFlat-v0", 256, autoreset_mode="same_step", **four_rounds)
    device = "cuda" if torch.cuda.is_available() else "cpu"  # untested on CUDA
    for k, mean in enumerate(train(TorchVecEnv(lanes, device), count, Settings())):
        print(f"{(k + 1) * 4096:9,} decisions: mean return {mean:6.2f}")
