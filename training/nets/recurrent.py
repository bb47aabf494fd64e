"""Recurrent cells: one flat state a lane, stepped in the rollout, unrolled in the update.

A state is one float32 tensor (n, size): whatever a cell keeps lies side by side in it, so that
moving, storing, detaching and saving it cannot forget a part. It is set to zero right after the
decision that ended an episode, both in the rollout and in the unrolled chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor, nn

SSM_HEADS, SSM_STATE = 2, 32


class GRU(nn.Module):
    """Gated recurrent unit.

    Parameters
    ----------
    size_in, size_out : int
    """

    def __init__(self, size_in: int, size_out: int) -> None:
        super().__init__()
        self.state_size = self.size_out = size_out
        self.cell = nn.GRUCell(size_in, size_out)

    def forward(self, x: Tensor, *, state: Tensor) -> tuple[Tensor, Tensor]:
        """Compute output and next state for one decision of n lanes."""
        state = self.cell(x, state)
        return state, state


class LSTM(nn.Module):
    """Long short-term memory; output and cell lie side by side in the state.

    Parameters
    ----------
    size_in, size_out : int
    """

    def __init__(self, size_in: int, size_out: int) -> None:
        super().__init__()
        self.size_out, self.state_size = size_out, 2 * size_out
        self.cell = nn.LSTMCell(size_in, size_out)

    def forward(self, x: Tensor, *, state: Tensor) -> tuple[Tensor, Tensor]:
        """Compute output and next state for one decision of n lanes."""
        h, c = self.cell(x, state.chunk(2, -1))
        return h, torch.cat((h, c), -1)


class SSM(nn.Module):
    """Selective linear recurrence: ``s = sigmoid(W_g x) * s + W_b x``, ``y = W_c s`` per head.

    Parameters
    ----------
    size_in, size_out : int
        ``size_out`` is even: each of the two heads gives half of the output.
    """

    def __init__(self, size_in: int, size_out: int) -> None:
        super().__init__()
        self.size_out, self.state_size = size_out, SSM_HEADS * SSM_STATE
        self.gate = nn.Linear(size_in, self.state_size)
        self.inward = nn.Linear(size_in, self.state_size, bias=False)
        self.outward = nn.ModuleList(
            nn.Linear(SSM_STATE, size_out // SSM_HEADS, bias=False) for _ in range(SSM_HEADS)
        )

    def forward(self, x: Tensor, *, state: Tensor) -> tuple[Tensor, Tensor]:
        """Compute output and next state for one decision of n lanes."""
        state = torch.sigmoid(self.gate(x)) * state + self.inward(x)
        parts = [out(s) for out, s in zip(self.outward, state.chunk(SSM_HEADS, -1), strict=True)]
        return torch.cat(parts, -1), state


class Parallel(nn.Module):
    """A GRU and an LSTM side by side, each of ``size_out / 2``; their outputs are concatenated.

    Parameters
    ----------
    size_in, size_out : int
        ``size_out`` is even.
    ssm : bool
        Whether both see, beside the features, the output of a :class:`SSM` for them.
    """

    def __init__(self, size_in: int, size_out: int, ssm: bool = False) -> None:
        super().__init__()
        self.size_out = size_out
        self.first = SSM(size_in, SSM_HEADS * SSM_STATE) if ssm else None
        if self.first is not None:
            size_in += self.first.size_out
        self.arms = nn.ModuleList((GRU(size_in, size_out // 2), LSTM(size_in, size_out // 2)))
        cells = [cell for cell in (self.first, *self.arms) if cell is not None]
        self._sizes = [int(cell.state_size) for cell in cells]
        self.state_size = sum(self._sizes)

    def forward(self, x: Tensor, *, state: Tensor) -> tuple[Tensor, Tensor]:
        """Compute output and next state for one decision of n lanes."""
        states = list(state.split(self._sizes, -1))
        behind = []
        if self.first is not None:
            y, after = self.first(x, state=states.pop(0))
            x = torch.cat((x, y), -1)
            behind.append(after)
        outputs = [arm(x, state=own) for arm, own in zip(self.arms, states, strict=True)]
        behind += [after for _, after in outputs]
        return torch.cat([y for y, _ in outputs], -1), torch.cat(behind, -1)


Cell = GRU | LSTM | SSM | Parallel
CELLS: dict[str, Callable[[int, int], Cell]] = {
    "gru": GRU,
    "lstm": LSTM,
    "ssm": SSM,
    "gru_lstm": Parallel,
    "ssm_gru_lstm": partial(Parallel, ssm=True),
}


def forget(state: Tensor, done: Tensor) -> Tensor:
    """Return the state after a decision, zero in lanes whose episode it ended.

    Parameters
    ----------
    state : Tensor of float32, shape (n, size)
    done : Tensor of bool, shape (n,)
    """
    return state.masked_fill(done.unsqueeze(1), 0.0)


def unroll(cell: nn.Module, x: Tensor, state: Tensor, done: Tensor) -> tuple[Tensor, Tensor]:
    """Step a cell through L decisions of S chunks.

    A library sequence call cannot forget in the middle, so this is a loop.

    Parameters
    ----------
    cell : nn.Module
    x : Tensor, shape (L, S, features)
    state : Tensor of float32, shape (S, size)
        At the start of the chunks.
    done : Tensor of bool, shape (L, S)

    Returns
    -------
    Tensor, shape (L, S, size_out)
    Tensor, shape (S, size)
        The state behind the chunks.
    """
    outputs = []
    for y, behind in steps(cell, x, state, done):
        outputs.append(y)
        state = behind
    return torch.stack(outputs), forget(state, done[-1])


def steps(
    cell: nn.Module, x: Tensor, state: Tensor, done: Tensor, burn_in: int = 0
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield output (S, size_out) and the state (S, size) behind each decision.

    The state is not forgotten yet: it is that of the last observation of an episode that a clock
    cut off. No gradient flows back through the first ``burn_in`` decisions. The other parameters
    are those of :func:`unroll`.
    """
    for step in range(len(x)):
        if step == burn_in:
            state = state.detach()
        y, behind = cell(x[step], state=state)
        behind = behind.float()
        state = forget(behind, done[step])
        yield y, behind
