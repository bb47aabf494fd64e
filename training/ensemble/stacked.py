"""The parts of a trainer for M equal networks at once: parameters stacked, the rest in lists.

Lanes and samples of the members lie side by side in blocks of equal size. Each class has the
methods of what it stacks, and a state that is a mapping from the number of a member, from 1 on, to
the state it would have alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from training.nets.actor_critic import ActorCritic
from training.nets.distribution import Sampler
from training.nets.encoders import Convolutions
from training.nets.layers import InputLayer, Tanh
from training.nets.placements import PlacementHead
from training.ppo.diagnostics import StepWatch
from training.ppo.options import NativeConfig, PPOConfig
from training.ppo.rollout import Minibatches
from training.ppo.trainer import adam


def numbered(states: Sequence[Any]) -> dict[str, Any]:
    """Return the states of members by their numbers."""
    return {str(k): state for k, state in enumerate(states, start=1)}


class StackedNet:
    """M networks without a state; matrix products run over all of them at once.

    Parameters
    ----------
    members : sequence of ActorCritic
        Of equal shape, on the device.
    """

    state_size = view_size = 0
    is_recurrent = False

    def __init__(self, members: Sequence[ActorCritic]) -> None:
        self._params, _ = stack_module_state(list(members))
        self._buffers = {name: b.clone() for name, b in members[0].named_buffers()}  # of all
        self._one = _prepare_for_vmap(deepcopy(members[0]).to("meta"))
        self.size = len(members)

    def __call__(self, obs: Tensor, members: Sequence[int] | None = None) -> tuple[Tensor, Tensor]:
        """Compute logits (M, k, A) and values (M, k) of observations (M, k, ...).

        Parameters
        ----------
        obs : Tensor
        members : sequence of int, optional
            Those that the observations are for, from 0; default all.
        """
        params = self._params
        if members is not None and len(members) < self.size:
            params = {name: p[list(members)] for name, p in params.items()}
        outputs: tuple[Tensor, Tensor] = vmap(self._forward)(params, obs)
        return outputs

    def _forward(self, params: dict[str, Tensor], obs: Tensor) -> Any:
        return functional_call(self._one, (params, self._buffers), (obs,))

    def step(self, obs: Tensor, *, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits (n, A), values (n,) and the state of one decision of all lanes."""
        logits, value = self(obs.unflatten(0, (self.size, -1)))
        return logits.flatten(0, 1), value.flatten(), state

    def value(self, obs: Tensor, *, state: Tensor) -> Tensor:
        """Return the values (n,) of observations of all lanes."""
        return self.step(obs, state=state)[1]

    def value_of(self, member: int, obs: Tensor) -> Tensor:
        """Return the values (k,) of one member."""
        values: Tensor = self._forward({name: p[member] for name, p in self._params.items()}, obs)[
            1
        ]
        return values

    def member(self, number: int) -> ActorCritic:
        """Return a copy of one network, from 0, on its own."""
        net = deepcopy(self._one).to_empty(device=next(self.parameters()).device)
        net.load_state_dict({name: p.detach()[number] for name, p in self._params.items()})
        for name, buffer in net.named_buffers():
            buffer.copy_(self._buffers[name])
        return net

    def initial_state(self, lanes: int) -> Tensor:
        """Return the state of fresh episodes: empty, shape (lanes, 0)."""
        return torch.zeros(lanes, 0, device=next(self.parameters()).device)

    def parameters(self) -> Iterator[Tensor]:
        """Yield the parameters, each (M, ...)."""
        return iter(self._params.values())

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the parameters of all members with their names."""
        return iter(self._params.items())

    def views(self, member: int) -> list[Tensor]:
        """Return the parameters of one member, sharing memory with all."""
        return [p.detach()[member] for p in self.parameters()]

    def state_dict(self) -> dict[str, Any]:
        """Return the parameters of each member."""
        items = list(self._params.items())
        return numbered([{name: p.detach()[k] for name, p in items} for k in range(self.size)])

    @torch.no_grad()
    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned.

        Raises
        ------
        KeyError, RuntimeError
            If it does not fit.
        """
        for name, p in self._params.items():
            p.copy_(torch.stack([saved[number][name] for number in numbered(range(self.size))]))


def _prepare_for_vmap(net: ActorCritic) -> ActorCritic:
    """Switch off what vmap cannot run: reordered layers, chosen scores and inputs, our tanh.

    Ours overwrites its argument, and vmap has none to overwrite.
    """
    for module in list(net.modules()):
        if isinstance(module, PlacementHead):
            module.may_choose = False
        if isinstance(module, Convolutions):
            module.may_reorder = False
        if isinstance(module, InputLayer):
            module.skips = False
        for name, child in module.named_children():
            if isinstance(child, Tanh):
                setattr(module, name, nn.Tanh())
    return net


class Stacked:
    """Parts of the members, whose states are saved by their numbers.

    Attributes
    ----------
    members : list
        With ``state_dict`` and ``load_state_dict``.
    """

    members: list[Any]

    def state_dict(self) -> dict[str, Any]:
        """Return the state of each member."""
        return numbered([part.state_dict() for part in self.members])

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        for number, part in numbered(self.members).items():
            part.load_state_dict(saved[number])


class StackedAdam(Stacked):
    """An optimizer for each member, on its part of the stacked parameters.

    Parts share memory with the stack, so norms, clipping and steps are those of a member alone.

    Parameters
    ----------
    net : StackedNet
    ppo : PPOConfig
    native : NativeConfig
    """

    def __init__(self, net: StackedNet, ppo: PPOConfig, native: NativeConfig) -> None:
        self._net, self._max_norm = net, ppo.max_grad_norm
        self._views = [net.views(member) for member in range(net.size)]
        self.members = [adam(views, ppo, native) for views in self._views]

    def set_rates(self, rates: Sequence[float]) -> None:
        """Set the learning rate of every member."""
        for optimizer, rate in zip(self.members, rates, strict=True):
            optimizer.param_groups[0]["lr"] = rate

    def step(self, member: int, watch: StepWatch | None = None) -> Tensor:
        """Clip the gradients of a member and step; return their norm before."""
        views = self._views[member]
        for view, p in zip(views, self._net.parameters(), strict=True):
            assert p.grad is not None
            view.grad = p.grad[member]
        if watch is not None:
            watch.before()
        norm = torch.nn.utils.clip_grad_norm_(views, self._max_norm)
        self.members[member].step()
        if watch is not None:
            watch.after()
        return norm

    def watch(self, member: int) -> StepWatch:
        """Make the watch of a step of a member."""
        names = (name for name, _ in self._net.named_parameters())
        return StepWatch(zip(names, self._views[member], strict=True))

    def zero_grad(self) -> None:
        """Drop the gradients of all members."""
        for p in (*self._net.parameters(), *(view for views in self._views for view in views)):
            p.grad = None


class StackedSampler(Stacked):
    """A sampler for each block of rows.

    Parameters
    ----------
    seeds : sequence of int
    device : torch.device
    """

    def __init__(self, seeds: Sequence[int], device: torch.device) -> None:
        self.members = [Sampler(seed, device) for seed in seeds]

    def draw(self, logits: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return actions and their log-probabilities; see :meth:`Sampler.draw`."""
        size = len(self.members)
        blocks = zip(self.members, logits.chunk(size), mask.chunk(size), strict=True)
        drawn = [sampler.draw(block, legal) for sampler, block, legal in blocks]
        actions, logps = zip(*drawn, strict=True)
        return torch.cat(actions), torch.cat(logps)


class StackedMinibatches:
    """Minibatches of every member's own lanes, and their generators as one.

    Parameters
    ----------
    members : sequence of Minibatches
    """

    def __init__(self, members: Sequence[Minibatches]) -> None:
        self.members = list(members)

    @property
    def generator(self) -> StackedMinibatches:
        """Their generators, as the trainer saves them."""
        return self

    def get_state(self) -> Tensor:
        """Return the states of the generators, uint8, shape (M, bytes)."""
        return torch.stack([minibatches.generator.get_state() for minibatches in self.members])

    def set_state(self, state: Tensor) -> None:
        """Put back what :meth:`get_state` returned."""
        for minibatches, own in zip(self.members, state, strict=True):
            minibatches.generator.set_state(own.clone())  # torch reads a row from its beginning
