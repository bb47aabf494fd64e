"""Values and gradients of a plain network on a CPU, without autograd.

Hidden layers and a linear head are five products of matrices, forward and backward. With a batch of
a few hundred decisions, autograd and autocast take longer than the products do, for the hundred
small operations between them. Here weights are rounded once for each change, and everything between
the head's output and its gradient is one loop in Numba.

The definition is :func:`training.dqn.loss.compute_targets` with the loss there, which serves
every other network and device; tests hold this to it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fastenv.numba_cache import cached_njit
from training.dqn.loss import levels, loss_and_slope
from training.dqn.replay import Batch
from training.nets.encoders import Encoder
from training.nets.layers import available, before_activation, fused_name, layer
from training.nets.q_network import QNetwork

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
# Of which the sides of rounded matrices are multiples: 11 outputs take oneDNN twice as long as 16.
_SIDE = 16
_FEW = 8  # rows in float32 for which oneDNN is not worth its call


def is_supported(net: QNetwork, device: torch.device) -> bool:
    """Tell whether a network is nothing but hidden layers and a linear head, on a CPU."""
    head = net.head
    return (
        device.type == "cpu"
        and available()
        and type(net.encoder) is Encoder
        and not list(net.encoder.parameters())
        and all(fused_name(activation) for _, activation in net.layers.pairs())
        and all(type(part) is nn.Linear for part in head.children())
        and not net.is_recurrent
    )


class Products:
    """The matrix products of a network, in one precision.

    Parameters
    ----------
    net : QNetwork
        One that :func:`is_supported`.
    dtype : torch.dtype
        Of the products; parameters stay as they are, and are taken over whenever they change.
    """

    def __init__(self, net: QNetwork, dtype: torch.dtype) -> None:
        self._encoder, self._head, self._dtype = net.encoder, net.head, dtype
        pairs = list(net.layers.pairs())
        self._activations = [activation for _, activation in pairs]
        # The parts of a matrix, one below the other: one of each hidden layer, those of the head.
        self._parts: list[list[nn.Linear]] = [[linear] for linear, _ in pairs]
        self._parts.append([part for part in net.head.children() if isinstance(part, nn.Linear)])
        self._weights: list[Tensor] = []
        self._biases: list[Tensor] = []
        self._parameters: list[Tensor] = []
        self._places: list[Tensor] = []  # of the parameters, in those matrices
        for parts in self._parts:
            size_in, size_out = parts[0].in_features, sum(part.out_features for part in parts)
            shape = self._pad(size_out), self._pad(size_in)
            weight, bias = torch.zeros(shape, dtype=dtype), torch.zeros(shape[0], dtype=dtype)
            for part, rows in _pair_with_rows(parts):
                self._parameters += [part.weight, part.bias]
                self._places += [weight[rows, :size_in], bias[rows]]
            self._weights.append(weight)
            self._biases.append(bias)
        self._versions: list[int] = []
        self._mean: tuple[Tensor, Tensor] | None = None

    def _pad(self, size: int) -> int:
        return size if self._dtype == torch.float32 else -(-size // _SIDE) * _SIDE

    def refresh(self) -> None:
        """Take the parameters over if they have changed."""
        versions = [parameter._version for parameter in self._parameters]
        if versions == self._versions:
            return
        torch._foreach_copy_(self._places, self._parameters)
        self._versions, self._mean = versions, None

    def features(self, *obs: Tensor) -> Tensor:
        """Encode observations, one batch below the other, as the first product takes them."""
        if len(obs) == 1 and self._dtype == torch.float32:
            return self._encoder(obs[0])
        x = torch.zeros(sum(map(len, obs)), self._weights[0].shape[1], dtype=self._dtype)
        first = 0
        for part in obs:
            rows = slice(first, first := first + len(part))
            x[rows, : self._encoder.size_out] = self._encoder(part)
        return x

    def hidden(self, x: Tensor) -> list[Tensor]:
        """Return the features and the output of each hidden layer, in order."""
        layers = [x]
        matrices = zip(self._weights[:-1], self._biases[:-1], self._activations, strict=True)
        for weight, bias, activation in matrices:
            layers.append(self._multiply(layers[-1], weight, bias, activation))
        return layers

    def outputs(self, last: Tensor) -> Tensor:
        """Return the outputs of the head's parts side by side, float32, shape (n, outputs).

        Behind those of :meth:`QuantileHead.children` there may be columns without a meaning.
        """
        return self._multiply(last, self._weights[-1], self._biases[-1]).float()

    def means(self, last: Tensor) -> Tensor:
        """Return the values of actions, float32, shape (n, A)."""
        if self._mean is None:
            weight, bias = self._head.mean_layer()
            side = self._pad(len(bias))
            both = weight.new_zeros(side, self._weights[-1].shape[1]), bias.new_zeros(side)
            both[0][: len(bias), : weight.shape[1]] = weight
            both[1][: len(bias)] = bias
            self._mean = both[0].to(self._dtype), both[1].to(self._dtype)
        return self._multiply(last, *self._mean)[:, : self._head.num_actions].float()

    def _multiply(
        self, x: Tensor, weight: Tensor, bias: Tensor, activation: nn.Module | None = None
    ) -> Tensor:
        if self._dtype == torch.float32 and len(x) <= _FEW:
            y = F.linear(x, weight, bias)
            return y if activation is None else activation(y)
        return layer(x, weight, bias, fused_name(activation) if activation else "none")

    def backward(self, layers: list[Tensor], grad: Tensor) -> None:
        """Set the gradients of the parameters.

        Parameters
        ----------
        layers : list of Tensor
            Of :meth:`hidden`.
        grad : Tensor of float32, shape (n, outputs)
            By :meth:`outputs`.
        """
        grad = grad.to(self._dtype)
        for k in reversed(range(len(layers))):
            by_weight, by_bias = grad.t() @ layers[k], grad.sum(0)
            for part, rows in _pair_with_rows(self._parts[k]):
                part.weight.grad = by_weight[rows, : part.in_features].float()
                part.bias.grad = by_bias[rows].float()
            if k:
                by_output, name = grad @ self._weights[k], fused_name(self._activations[k - 1])
                grad = before_activation(by_output, layers[k], name)


def _pair_with_rows(parts: list[nn.Linear]) -> Iterator[tuple[nn.Linear, slice]]:
    """Yield each layer with its rows in the matrix of all of them."""
    first = 0
    for part in parts:
        yield part, slice(first, first + part.out_features)
        first += part.out_features


class Direct:
    """Values and gradients of the networks of a trainer, by their matrix products.

    Parameters
    ----------
    net, target : QNetwork
        Such that :func:`is_supported`.
    double : bool
        See :class:`training.dqn.options.DQNConfig`.
    kappa : float
    """

    def __init__(self, net: QNetwork, target: QNetwork, double: bool, kappa: float) -> None:
        self._nets = {name: Products(net, dtype) for name, dtype in _DTYPES.items()}
        self._targets = {name: Products(target, dtype) for name, dtype in _DTYPES.items()}
        self._double, self._kappa, self._head = double, np.float32(kappa), net.head
        self._level = levels(torch.empty(1, net.head.num_quantiles)).numpy()

    @torch.no_grad()
    def values(self, obs: Tensor, precision: str) -> Tensor:
        """Compute the values of actions, float32, shape (n, A), in a precision by its name."""
        net = self._nets[precision]
        net.refresh()
        return net.means(net.hidden(net.features(obs))[-1])

    @torch.no_grad()
    def passes(self, obs: Tensor, precision: str) -> None:
        """Go forward and backward once; the gradients are of no use."""
        net = self._nets[precision]
        net.refresh()
        layers = net.hidden(net.features(obs))
        net.backward(layers, net.outputs(layers[-1]))

    @torch.no_grad()
    def gradients(self, batch: Batch, precision: str) -> tuple[Tensor, Tensor]:
        """Set the gradients of the mean loss of some decisions.

        Returns
        -------
        Tensor of float64, shape (3,)
            Means of loss, absolute error and value.
        Tensor of float32, shape (k,)
            Temporal-difference errors.
        """
        net, target, k = self._nets[precision], self._targets[precision], len(batch.action)
        net.refresh()
        target.refresh()
        both = net.features(batch.obs, batch.next_obs)
        behind = target.hidden(both[k:])[-1]
        every = net.hidden(both if self._double else both[:k])
        chooser = net.means(every[-1][k:]) if self._double else target.means(behind)
        layers = [x[:k] for x in every]
        outputs = net.outputs(layers[-1])
        grad, error, sums = torch.zeros_like(outputs), torch.empty(k), np.zeros(3)
        head = self._head
        shape = (head.num_actions, head.num_quantiles, head.state is not None)
        loss_rows(
            *(x.numpy() for x in (outputs, target.outputs(behind), chooser, batch.next_mask)),
            *(x.numpy() for x in (batch.action, batch.reward, batch.discount, batch.weight)),
            *(*shape, self._level, self._kappa),
            *(grad.numpy(), error.numpy(), sums),
        )
        net.backward(layers, grad)
        return torch.from_numpy(sums / k), error


# -- one pass over the rows of a minibatch ---------------------------------------------------------


@cached_njit(nogil=True)
def _compute_quantiles(row, action, actions, dueling, quantiles_out):
    count = len(quantiles_out)
    for i in range(count):
        quantile = row[action * count + i]
        if dueling:
            total = np.float32(0.0)
            for a in range(actions):
                total += row[a * count + i]
            quantile += row[actions * count + i] - total / np.float32(actions)
        quantiles_out[i] = quantile


@cached_njit(nogil=True)
def _write_gradient(slope, action, actions, dueling, grad_out):
    """Write the gradient by the outputs of a row from that by the quantiles of its action."""
    count = len(slope)
    for i in range(count):
        share = slope[i] / np.float32(actions) if dueling else np.float32(0.0)
        for a in range(actions):
            grad_out[a * count + i] = (slope[i] if a == action else np.float32(0.0)) - share
        if dueling:
            grad_out[actions * count + i] = slope[i]


@cached_njit(nogil=True)
def loss_rows(
    outputs,  # IN float32 (k, outputs)
    behind,  # IN float32 (k, outputs), of the target network
    chooser,  # IN float32 (k, A), values that choose the action behind
    legal,  # IN bool (k, A)
    action,  # IN int64 (k,)
    reward,  # IN float32 (k,)
    discount,  # IN float32 (k,)
    weight,  # IN float32 (k,)
    actions,  # from here on scalars: A
    count,  # K
    dueling,
    level,  # IN float32 (K,)
    kappa,
    grad_out,  # OUT float32 (k, outputs), given as zeros
    error_out,  # OUT float32 (k,)
    sums,  # OUT float64 (3,): losses, absolute errors, values
):
    """Write the gradient of the mean loss by the outputs, and the errors of the means.

    Outputs of a row are the quantiles of each action (A * K), and those of the state (K) if there
    are any; advantages are counted from their mean.
    """
    rows = len(action)
    theta, target = np.empty((rows, count), np.float32), np.empty((rows, count), np.float32)
    for k in range(rows):
        best, most = 0, -np.inf
        for a in range(actions):
            if legal[k, a] and chooser[k, a] > most:
                best, most = a, chooser[k, a]
        _compute_quantiles(outputs[k], action[k], actions, dueling, theta[k])
        _compute_quantiles(behind[k], best, actions, dueling, target[k])
        for i in range(count):
            target[k, i] = reward[k] + discount[k] * target[k, i]
    loss, slope = np.empty(rows, np.float32), np.empty((rows, count), np.float32)
    loss_and_slope(theta, target, level, kappa, loss, slope)
    for k in range(rows):
        slope[k] *= weight[k] / np.float32(rows)
        _write_gradient(slope[k], action[k], actions, dueling, grad_out[k])
        value = theta[k].mean()
        error_out[k] = (target[k].mean() - value) if weight[k] > 0.0 else np.float32(0.0)
        sums[0] += weight[k] * loss[k]
        sums[1] += abs(error_out[k])
        sums[2] += value
