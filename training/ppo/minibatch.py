"""Minibatches of a rollout: shuffled, gathered, and on a CPU cut into pieces that stay in cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from training.ppo.loss import Samples, normalise
from training.ppo.options import NativeConfig, PPOConfig
from training.ppo.rollout import Rollout
from training.run.ranks import SINGLE_RANK, Ranks

LOW_ROWS = 4096  # of a piece in bfloat16, a thread; see Minibatches.begin


class Piece(NamedTuple):
    """Decisions for one forward and backward pass.

    ``obs`` is (k, ...), or (L, S, ...) for S chunks of L decisions, which have ``states`` (S, size)
    at their start and ``done`` (L, S). ``total`` is the number of samples of the minibatch, and
    ``view`` (k, view_size) what the value network alone sees.
    """

    obs: Tensor
    samples: Samples
    total: int
    states: Tensor | None = None
    done: Tensor | None = None
    view: Tensor | None = None


class Minibatches:
    """Cuts a rollout into minibatches.

    What is shuffled are decisions, or whole chunks of ``seq_len`` decisions of a lane if the
    network has a state.

    Parameters
    ----------
    rollout : Rollout
    ppo : PPOConfig
    native : NativeConfig
    lanes : range, optional
        Those whose decisions are used; default all.
    ranks : Ranks
        Over whose shares of a minibatch advantages are normalised.

    Attributes
    ----------
    generator : torch.Generator
        Draws the permutations.
    """

    def __init__(
        self,
        rollout: Rollout,
        ppo: PPOConfig,
        native: NativeConfig,
        lanes: range | None = None,
        ranks: Ranks = SINGLE_RANK,
    ) -> None:
        self._ranks = ranks
        self._rollout, self._burn_in = rollout, native.burn_in
        self._lanes = range(rollout.lanes) if lanes is None else lanes
        self._recurrent = rollout.states.shape[2] > 0
        self._length = native.seq_len if self._recurrent else 1
        self._units = rollout.steps * len(self._lanes) // self._length
        self._per_minibatch = ppo.batch_size // self._length
        self._asked, self._width = native.micro_batch, max(ppo.net_arch)
        self.begin("fp32")
        self.generator = torch.Generator(rollout.device)

    def begin(self, precision: str, some: Tensor | None = None) -> None:
        """Prepare for an update from a rollout, by layers that compute in ``precision``.

        On a CPU it decides how large a piece is: in bfloat16 activations are half as large, and
        what a piece costs beside its rows, weights to round and calls to make, has a larger share.
        On a device a piece is the minibatch, unless smaller ones are asked for.

        Parameters
        ----------
        precision : str
        some : Tensor of int64, optional
            Numbers of the decisions to learn from, where that are not all. They are spread over as
            many minibatches, which are smaller.
        """
        self._some = some
        rows = cached_rows(self._width)
        if self._rollout.device.type != "cpu":
            rows = self._per_minibatch * self._length
        elif precision == "bf16":
            rows = LOW_ROWS * torch.get_num_threads()
            self._rollout.round()
        wanted = (self._asked or rows) // self._length
        self._per_piece = divisor(self._per_minibatch, max(1, wanted))

    def permutation(self) -> Tensor:
        """Draw an order of all decisions (index ``t * n + lane`` of n lanes), or of all chunks."""
        generator, device = self.generator, self._rollout.device
        if self._some is None:
            return torch.randperm(self._units, generator=generator, device=device)
        order = torch.randperm(len(self._some), generator=generator, device=device)
        return self._some[order]

    def epoch(self) -> Iterator[Iterator[Piece]]:
        """Yield the minibatches of a pass over the rollout, each as its pieces."""
        order = self.permutation()
        batches: Sequence[Tensor] = order.split(self._per_minibatch)
        if self._some is not None:
            batches = order.tensor_split(self._units // self._per_minibatch)
            # One alone has no deviation to be normalised by.
            batches = [units if len(units) > 1 else units[:0] for units in batches]
        for units in batches:
            yield self._pieces(units)

    def _pieces(self, units: Tensor) -> Iterator[Piece]:
        if not len(units):
            return
        rollout, burnt = self._rollout, self._burn_in if self._recurrent else 0
        parts = units.split(self._per_piece)
        places = [self._expand(part) for part in parts]
        learnt = [idx[burnt * len(part) :] for part, idx in zip(parts, places, strict=True)]
        adv = rollout.adv.view(-1)
        chosen = [adv.index_select(0, idx) for idx in learnt]
        whole = torch.cat(chosen) if len(chosen) > 1 else chosen[0]
        normalised = normalise(whole, self._ranks).split(len(learnt[0]))
        total = sum(map(len, learnt))
        for part, place, idx, advantage in zip(parts, places, learnt, normalised, strict=True):
            piece = Piece(rollout.observations(place), rollout.samples(idx, advantage), total)
            if rollout.view is not None:
                view = rollout.view.flatten(0, 1).index_select(0, place)
                piece = piece._replace(view=view)
            if self._recurrent:
                shape = (self._length, len(part))
                done = rollout.done.view(-1).index_select(0, place).view(shape)
                states = rollout.states.flatten(0, 1).index_select(0, self._map_to_all_lanes(part))
                piece = piece._replace(obs=piece.obs.unflatten(0, shape), states=states, done=done)
            yield piece

    def _expand(self, units: Tensor) -> Tensor:
        """Expand units to their decisions, time-major within them: shape (length * k,)."""
        units = self._map_to_all_lanes(units)
        if not self._recurrent:
            return units
        lanes = self._rollout.lanes
        first = (units // lanes) * (self._length * lanes) + units % lanes
        steps = torch.arange(self._length, device=units.device) * lanes
        return (steps.unsqueeze(1) + first).view(-1)

    def _map_to_all_lanes(self, units: Tensor) -> Tensor:
        """Map units of the lanes used to their indices among those of all lanes."""
        n, lanes = len(self._lanes), self._rollout.lanes
        if n == lanes:
            return units
        return units // n * lanes + units % n + self._lanes.start


def cached_rows(width: int) -> int:
    """Return the number of rows of a layer's activations that stay in the cache.

    They stay from one operation to the next: about a megabyte of them; not fewer than 512, as
    weights have to be read for every piece.
    """
    return min(max(2**18 // width, 512), 4096) * torch.get_num_threads()


def divisor(number: int, limit: int) -> int:
    """Return the largest divisor of ``number`` that is not above ``limit``."""
    return next(d for d in range(min(number, limit), 0, -1) if number % d == 0)
