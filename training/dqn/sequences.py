"""Replay for networks with a state: sequences of decisions, and the state each begins with.

Kapturowski et al., Recurrent Experience Replay, 2019. A sequence is unrolled from the state that
acting had when its first decision was due, which older parameters made: ``burn_in`` decisions bring
it up to date before the first one that is learnt from. Its last windows end behind it::

    row      first                 + burn_in              + seq_len          + n_step
             | up to date          | learnt from          | for windows      |
    state    | stored                                     | first + learnt: the next one
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from training.dqn.replay import RUNNING, Array, TensorReplay, unpack
from training.run.engine import Engine

LARGEST_SHARE = 0.9  # of the largest error in the priority of a sequence; the rest is of the mean


@dataclass(frozen=True)
class SequenceBatch:
    """Sequences to learn from: S of them, k decisions of which are learnt from, in order of time.

    A place is ``t * S + s``, for the observation before decision t of sequence s.

    Parameters
    ----------
    index : Tensor of int64, shape (S,)
        Numbers of the sequences.
    obs : Tensor, shape (T, S, ...), in the engine's dtype
        ``T = seq_len + n_step``.
    state : Tensor of float32, shape (S, size)
        Before the first decision.
    done : Tensor of bool, shape (T, S)
        Decisions that ended an episode.
    burn_in : int
        First decisions of each that are not learnt from.
    action : Tensor of int64, shape (k,)
    reward, discount : Tensor of float32, shape (k,)
        Of windows; see :mod:`training.dqn.replay`.
    following : Tensor of int64, shape (k,)
        Places of what follows the windows.
    next_mask : Tensor of bool, shape (k, A)
    cut : Tensor of int64, shape (c,)
        Those of the k whose window ends where a clock cut the episode off; what follows them is
        ``final_obs`` (c, ...), behind the decision at place ``last`` (c,).
    weight : Tensor of float32, shape (k,)
        Of the losses; 0 where the last observation of an episode is no longer kept.
    """

    index: Tensor
    obs: Tensor
    state: Tensor
    done: Tensor
    burn_in: int
    action: Tensor
    reward: Tensor
    discount: Tensor
    following: Tensor
    next_mask: Tensor
    cut: Tensor
    last: Tensor
    final_obs: Tensor
    weight: Tensor


class SequenceReplay(TensorReplay):
    """The newest decisions of all lanes, drawn as sequences.

    Parameters
    ----------
    engine, lanes, capacity : see :class:`TensorReplay`
    seq_len, burn_in : int
        Sequences begin ``seq_len - burn_in`` rows apart.
    state_size : int
        Numbers of a lane's state.
    n_step : int
    options
        The others of :class:`TensorReplay`.

    Attributes
    ----------
    state : Tensor of float32, shape (rows / learnt, N, state_size)
        Before the first decision of each sequence.
    """

    def __init__(
        self,
        engine: Engine,
        lanes: int,
        capacity: int,
        *,
        seq_len: int,
        burn_in: int,
        state_size: int,
        n_step: int = 1,
        **options: Any,
    ) -> None:
        options |= {"learnt": seq_len - burn_in, "reach": seq_len - 1 + n_step}
        super().__init__(engine, lanes, capacity, n_step, **options)
        self.seq_len, self.burn_in = seq_len, burn_in
        shape = (self.rows // self.learnt, lanes, state_size)
        self.state = torch.zeros(shape, device=self.device)

    def store_state(self, state: Tensor) -> None:
        """Keep the states (N, state_size) before the decision that is due, where one begins."""
        if self.head % self.learnt == 0:
            self.state[self.head // self.learnt] = state

    def sample(self, count: int, beta: float = 0.0) -> SequenceBatch:  # type: ignore[override]
        """Draw sequences with ``count`` decisions to learn from, with replacement.

        Parameters
        ----------
        count : int
            A multiple of ``seq_len - burn_in``.
        beta : float
            Of :meth:`Priorities.weights`.
        """
        first = self._draw(count // self.learnt)
        unit = first // self.lanes // self.learnt * self.lanes + first % self.lanes
        index = self._expand(first)
        learnt = index[self.burn_in : self.seq_len].reshape(-1)
        windows = self._windows(learnt)
        number = torch.arange(len(learnt), device=self.device) % len(first)
        age = self._finals_seen - self._finals_of(windows)
        lost = windows.truncated & (age > self.finals)
        cut = (windows.truncated & ~lost).nonzero().squeeze(1)
        weight = torch.ones_like(windows.reward)
        if self.priorities is not None:
            weight = self.weights(unit.cpu().numpy(), beta)[number]
        legal = torch.where(windows.truncated, windows.last, windows.following)
        slots = self._finals_of(windows)[cut] % self.finals
        flat = index.view(-1)
        return SequenceBatch(
            index=unit,
            obs=self.observations(flat).unflatten(0, index.shape),
            state=self.state.flatten(0, 1).index_select(0, unit),
            done=self.end.view(-1).index_select(0, flat).view(index.shape) != RUNNING,
            burn_in=self.burn_in,
            action=self.action.view(-1).index_select(0, learnt).long(),
            reward=windows.reward,
            discount=windows.discount,
            following=self._find_places(windows.following, first, number),
            next_mask=unpack(self.mask.flatten(0, 1), legal, self.num_actions),
            cut=cut,
            last=self._find_places(windows.last, first, number)[cut],
            final_obs=self.final_observations(slots, windows.last[cut]),
            weight=weight.masked_fill(lost, 0.0),
        )

    def update_priorities(self, index: Tensor, error: Tensor) -> None:
        """See :class:`TensorReplay`; of a sequence the largest error counts most."""
        size = error.abs().view(self.learnt, -1)
        mixed = LARGEST_SHARE * size.amax(0) + (1.0 - LARGEST_SHARE) * size.mean(0)
        super().update_priorities(index, mixed)

    def _expand(self, first: Tensor) -> Tensor:
        """Return all decisions of sequences by their first ones, shape (T, S)."""
        steps = torch.arange(self.reach + 1, device=self.device).unsqueeze(1)
        row = (first // self.lanes + steps) % self.rows
        return row * self.lanes + first % self.lanes

    def _find_places(self, index: Tensor, first: Tensor, number: Tensor) -> Tensor:
        """Return the places of decisions in sequences ``number`` (k,)."""
        time = (index // self.lanes - first[number] // self.lanes) % self.rows
        return time * len(first) + number

    def state_dict(self) -> dict[str, Any]:
        """See :class:`TensorReplay`."""
        saved = super().state_dict()
        used = -(-len(saved["arrays"]["action"]) // self.learnt)
        state: Array = self.state[:used].cpu().numpy().copy()
        return {**saved, "arrays": {**saved["arrays"], "state": state}}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """See :class:`TensorReplay`."""
        super().load_state_dict(saved)
        state = torch.from_numpy(saved["arrays"]["state"])
        self.state[: len(state)] = state
