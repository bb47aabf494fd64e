"""A trainer that nothing in ``training`` names: REINFORCE with one linear layer."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import nn

from training.nets.options import HiddenConfig
from training.run import checkpoint, registry
from training.run.checkpoint import State
from training.run.config import Only, RunConfig
from training.run.options import Number, Options, Whole, option
from training.run.seeds import training_seed
from training.run.trainer import Metrics, Trainer

NAME = "reinforce"


class ReinforceConfig(Options):
    """Hyper-parameters of REINFORCE."""

    SECTION: ClassVar[str] = "reinforce."

    n_steps: Whole = option(16, "decisions per lane and iteration", ge=1)
    learning_rate: Number = option(0.01, "of plain gradient descent", gt=0)


class ReinforceRun(RunConfig):
    """A run of REINFORCE."""

    ONLY: ClassVar[tuple[Only, ...]] = (Only("selfplay", (None,)),)

    trainer: Literal["reinforce"] = option(NAME, "REINFORCE")
    reinforce: ReinforceConfig = option(ReinforceConfig, "hyper-parameters of REINFORCE")

    @property
    def gamma(self) -> float:
        return 1.0

    @property
    def iteration_steps(self) -> int:
        return self.reinforce.n_steps

    @property
    def net(self) -> HiddenConfig:
        return HiddenConfig(net_arch=())

    def sizes(self, obs_bytes: int, num_actions: int) -> str:
        return f"rollout of {self.rollout} decisions, one update each"


class Linear(nn.Module):
    """Logits, straight from the numbers of an observation."""

    def __init__(self, size: int, num_actions: int) -> None:
        super().__init__()
        self.layer = nn.Linear(size, num_actions)

    def logits(self, obs: Any) -> torch.Tensor:
        return self.layer(torch.as_tensor(obs).float().flatten(1))


class ToyTrainer(Trainer):
    """The network, its generator and its lanes."""

    def __init__(self, config: ReinforceRun, engine: Any) -> None:
        self.config, self.engine, self.engines = config, engine, [engine]
        torch.manual_seed(config.seed)
        self.net = Linear(int(np.prod(engine.obs_shape)), engine.num_actions)
        self.generator = torch.Generator().manual_seed(config.seed)
        self.started = False

    def reset_lanes(self) -> None:
        self.engine.reset_many()

    def iterate(self) -> Metrics:
        engine, rates = self.engine, []
        if not self.started:
            engine.reset_many(seeds=training_seed(self.config.seed))
            self.on_step(engine, None, engine.obs, engine.mask)
            self.started = True
        for _ in range(self.config.reinforce.n_steps):
            logits = self.net.logits(engine.obs.copy())
            logits = logits.masked_fill(torch.from_numpy(engine.mask == 0), -torch.inf)
            actions = torch.multinomial(logits.softmax(1).detach(), 1, generator=self.generator)
            rates.append(logits.log_softmax(1).gather(1, actions)[:, 0])
            engine.step_many(actions[:, 0].numpy().astype(np.int32))
            self.on_step(engine, actions[:, 0].numpy(), engine.obs, engine.mask)
            rates[-1] = rates[-1] * torch.from_numpy(engine.reward.astype(np.float32))
            self.steps += engine.num_envs
        loss = -torch.stack(rates).mean()
        self.net.zero_grad()
        loss.backward()
        with torch.no_grad():
            for each in self.net.parameters():
                each -= self.config.reinforce.learning_rate * each.grad
        self.updates += 1
        return {"train": {"loss": loss.item()}, "phases": {}}

    def policy(self) -> dict[str, Any]:
        return checkpoint.copy_to_host(self.net.state_dict())

    def state(self) -> State:
        model = {"policy": self.policy(), "generator": self.generator.get_state()}
        rows = self.engine.get_state()
        return State(self.steps, model, {"updates": self.updates}, rows, arrays={})

    def load_state(self, state: State) -> None:
        self.net.load_state_dict(state.model["policy"])
        self.generator.set_state(state.model["generator"])
        self.steps, self.updates = state.steps, int(state.values["updates"])
        self.engine.set_state(None, state.rows)
        self.started = True


# -- what a trainer's module has -------------------------------------------------------------------


def check(config: Any, engine: Any) -> None:
    pass


def make_trainer(config: Any, lanes: Any, folder: Any = None) -> ToyTrainer:
    return ToyTrainer(config, lanes.engines[0])


def load_net(config: Any, engine: Any, parameters: Any) -> Linear:
    net = Linear(int(np.prod(engine.obs_shape)), engine.num_actions)
    net.load_state_dict(parameters)
    return net


def load_nets(config: Any, engine: Any, parameters: Any) -> dict[str, Any]:
    return {"policy": (load_net(config, engine, parameters), engine)}


def register() -> None:
    """Enter it as :mod:`training.composition` would."""
    import tests.training.toy_trainer as module

    registry.register_trainer(NAME, ReinforceRun, module)


def unregister() -> None:
    registry.unregister_trainer(NAME)
