"""Layer diagnostics of an update: sizes of gradients, parameters and steps, dead units.

They are taken once every ``native.diagnostics`` iterations, and change nothing that is learnt: no
generator of the training is drawn from, and nothing is written to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from training.nets.layers import Tanh

SAMPLE = 1024  # decisions of the rollout that units are looked at in
SILENT = 1e-6  # size of the output up to which a unit is silent
SATURATED = 0.99  # size of a tanh that no longer follows its argument

Layers = dict[str, dict[str, float]]  # name of a module to its diagnostics


class StepWatch:
    """Measures one optimizer step, layer by layer.

    Parameters
    ----------
    parameters : iterable of (str, Tensor)
        With their names; those of one module are one layer.
    """

    def __init__(self, parameters: Iterable[tuple[str, Tensor]]) -> None:
        self._layers: dict[str, list[Tensor]] = {}
        for name, parameter in parameters:
            self._layers.setdefault(name.rpartition(".")[0], []).append(parameter)
        self._old: dict[str, list[Tensor]] = {}
        self._norms: list[Tensor] = []

    def before(self) -> None:
        """Measure gradients, before they are clipped, and parameters."""
        layers = self._layers.items()
        self._old = {name: [p.detach().clone() for p in layer] for name, layer in layers}
        grads = [[_gradient(p) for p in layer] for layer in self._layers.values()]
        self._norms = [*map(_norm, grads), *map(_norm, self._old.values())]

    def after(self) -> None:
        """Measure the changes that the step has made."""
        for name, layer in self._layers.items():
            moved = [p.detach() - old for p, old in zip(layer, self._old[name], strict=True)]
            self._norms.append(_norm(moved))

    def record(self) -> Layers:
        """Return, by layer, ``grad_norm``, ``weight_norm`` (before) and ``update_ratio``.

        Empty if there was no step.
        """
        if not self._old:
            return {}
        grads, weights, moved = torch.stack(self._norms).view(3, -1)
        ratios = moved / weights
        rows = torch.stack((grads, weights, ratios), 1).tolist()
        names = ("grad_norm", "weight_norm", "update_ratio")
        return {
            layer: dict(zip(names, row, strict=True))
            for layer, row in zip(self._layers, rows, strict=True)
        }


def _gradient(parameter: Tensor) -> Tensor:
    return parameter.new_zeros(()) if parameter.grad is None else parameter.grad


def _norm(tensors: list[Tensor]) -> Tensor:
    """Return the Euclidean norm of all numbers of some tensors."""
    norms = [torch.linalg.vector_norm(x.float()) for x in tensors]
    norm: Tensor = torch.linalg.vector_norm(torch.stack(norms))
    return norm


def sample(obs: Tensor) -> Tensor:
    """Select observations (k, ...) of up to :data:`SAMPLE` decisions of a rollout (T, N, ...).

    Of a large rollout they are drawn, always at the same places.
    """
    steps, lanes = obs.shape[:2]
    chosen = torch.arange(steps * lanes)
    if len(chosen) > SAMPLE:
        places = torch.Generator().manual_seed(0)
        chosen = torch.randint(steps * lanes, (SAMPLE,), generator=places)
    chosen = chosen.to(obs.device)
    return obs[chosen // lanes, chosen % lanes]


def dead_units(net: Any, obs: Tensor, view: Tensor | None = None) -> Layers:
    """Return, by hidden layer, the share of dead units: none of the observations changes them.

    Those of relu and gelu are silent in all of them, those of tanh saturated in all of them; a unit
    of a convolution is a channel.

    Parameters
    ----------
    net : ActorCritic
        A copy that nobody else uses: hooks are put on it.
    obs : Tensor, shape (k, ...)
    view : Tensor, shape (k, view_size), optional
        What the value network alone sees beside them.
    """
    shares: dict[str, Tensor] = {}

    def measure(layer: str, activation: nn.Module, _inputs: Any, out: Tensor) -> None:
        size = out.abs().transpose(0, 1).flatten(1)  # by unit
        if isinstance(activation, Tanh | nn.Tanh):
            dead = size.amin(1) >= SATURATED
        else:
            dead = size.amax(1) <= SILENT
        shares[layer] = dead.float().mean()

    for name, module in net.named_modules():
        if isinstance(module, nn.Sequential):
            for (layer, _), (_, following) in pairwise(module.named_children()):
                if isinstance(following, Tanh | nn.Tanh | nn.ReLU | nn.GELU):
                    following.register_forward_hook(partial(measure, f"{name}.{layer}"))
    with torch.inference_mode():
        seen = {} if view is None else {"view": view}
        net.step(obs, state=net.initial_state(len(obs)), **seen)
    if not shares:
        return {}
    values = torch.stack(list(shares.values())).tolist()
    return {name: {"dead_units": x} for name, x in zip(shares, values, strict=True)}


def merged(one: Mapping[str, dict[str, float]], other: Mapping[str, dict[str, float]]) -> Layers:
    """Merge two diagnostics of the same layers."""
    return {name: {**one.get(name, {}), **other.get(name, {})} for name in {**one, **other}}
