"""The rollout: time-major tensors, how the engine writes into them, and the minibatches of them.

On a CPU the destinations of the engine are rows of the rollout itself, so an observation is written
once, where it is used. On a device they are pinned slots of one step, two in turn: the engine may
fill a slot again as soon as the copies out of it are done, which is what the slot's event says.

Minibatches are shuffled, gathered, and on a CPU cut into pieces that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from training.nets.layout import as_array, as_tensor, find_critic_view, storage
from training.ppo.gae import write_advantages, write_some
from training.ppo.loss import Samples, explained_variance
from training.ppo.options import NativeConfig, PPOConfig
from training.run.engine import Engine, discounts
from training.run.ranks import SINGLE_RANK, Ranks

Array = np.ndarray[Any, Any]
LOW_ROWS = 4096  # of a piece in bfloat16, a thread; see Minibatches.begin


class Rollout:
    """Storage of T decisions of N lanes.

    Parameters
    ----------
    steps, lanes : int
        T and N.
    engine : Engine
        Names shape and type of observations, and the number of actions.
    device : torch.device
        Where everything is kept.
    varying_tau : bool
        Decisions may take several primitive steps: keep a discount for each.
    state_size, chunk : int
        Size of a recurrent state, and decisions from one stored state to the next.
    view_size : int
        Numbers that the value network alone sees of a state; 0 for none.

    Attributes
    ----------
    obs : Tensor, shape (T + 1, N, ...), in the engine's dtype
        Of structured observations the bytes of the records, uint8, shape (T + 1, N, itemsize).
    mask : Tensor of bool, shape (T + 1, N, A)
    action : Tensor of int64, shape (T, N)
    logp, reward, bootstrap, adv, ret : Tensor of float32, shape (T, N)
        ``bootstrap`` is the value of the last observation of episodes that were cut off.
    value : Tensor of float32, shape (T + 1, N)
    done : Tensor of bool, shape (T, N)
    gamma : Tensor of float32, shape (T, N), or None
        ``gamma**tau`` of each decision.
    states : Tensor of float32, shape (T / chunk, N, state_size)
        At the start of each chunk.
    view : Tensor of uint8, shape (T + 1, N, view_size), or None
        What the value network alone sees beside the observations.
    learnt : Tensor of int64, or None
        Numbers of the decisions that are learnt, of the flattened rollout; None for all.
    """

    def __init__(
        self,
        steps: int,
        lanes: int,
        engine: Engine,
        device: torch.device,
        *,
        varying_tau: bool = False,
        state_size: int = 0,
        chunk: int = 1,
        view_size: int = 0,
    ) -> None:
        self.steps, self.lanes, self.device = steps, lanes, device
        one, dtype = storage(engine)
        shape = (steps + 1, lanes, *one)
        # Zeros touch every page now and not in the first rollout.
        self.obs = torch.zeros(shape, dtype=dtype, device=device)

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.mask = zeros(steps + 1, lanes, engine.num_actions, dtype=torch.bool)
        self.action = zeros(steps, lanes, dtype=torch.int64)
        self.value = zeros(steps + 1, lanes)
        self.logp, self.reward, self.bootstrap = (zeros(steps, lanes) for _ in range(3))
        self.adv, self.ret = zeros(steps, lanes), zeros(steps, lanes)
        self.done = zeros(steps, lanes, dtype=torch.bool)
        self.gamma = zeros(steps, lanes) if varying_tau else None
        self.states = zeros(steps // chunk, lanes, state_size)
        shown = steps + 1, lanes, view_size
        self.view = zeros(*shown, dtype=torch.uint8) if view_size else None
        self.learnt: Tensor | None = None
        self._rounded: Tensor | None = None
        self._room = torch.empty(0, dtype=torch.bfloat16)  # memory for them

    def begin(self) -> None:
        """Start the next rollout where the last one ended."""
        self._rounded = None
        self.obs[0].copy_(self.obs[-1])
        self.mask[0].copy_(self.mask[-1])

    def tensors(self) -> list[Tensor]:
        """Return all tensors of the rollout."""
        parts = (
            self.obs,
            self.mask,
            self.action,
            self.value,
            self.logp,
            self.reward,
            self.bootstrap,
        )
        rest = (self.adv, self.ret, self.done, self.states)
        some = [x for x in (self.gamma, self.view) if x is not None]
        return [*parts, *rest, *some]

    def describe(self) -> str:
        """Describe the memory of the rollout in one line."""
        size = sum(x.numel() * x.element_size() for x in self.tensors())
        each = size / (self.steps * self.lanes)
        return (
            f"rollout {self.lanes:,} x {self.steps:,}: {size / 2**20:,.0f} MiB on {self.device}, "
            f"{each:,.0f} bytes a decision"
        )

    # -- advantages ------------------------------------------------------------------------------

    def write_advantages(self, gamma: float, lam: float, some: Array | None) -> None:
        """Write advantages and returns.

        Parameters
        ----------
        gamma : float
            Discount of a decision, where they have none each, or from one that is learnt to the
            next.
        lam : float
        some : ndarray of bool, shape (T, N), or None
            The decisions that are learnt; None for all.
        """
        inputs = (self.reward, self.value, self.done, self.bootstrap)
        if some is None:
            self.learnt = None
            discount = gamma if self.gamma is None else self.gamma
            write_advantages(*inputs, discount, lam, self.adv, self.ret)
        else:
            learnt = write_some(*inputs, gamma, lam, some, self.adv, self.ret)
            self.learnt = learnt.flatten().nonzero().squeeze(1)

    def explained(self) -> dict[str, float]:
        """Return the explained variance of the returns learnt from; nothing of fewer than two."""
        value, ret = self.value[:-1], self.ret
        if self.learnt is not None:
            value, ret = (x.flatten()[self.learnt] for x in (value, ret))
        if value.numel() < 2:
            return {}
        return {"explained_variance": float(explained_variance(value, ret))}

    # -- minibatches -----------------------------------------------------------------------------

    def round(self) -> None:
        """Round float32 observations of the whole rollout to bfloat16, for the minibatches.

        For layers under autocast, which would round them in every pass; so half as much is read.
        """
        if self.obs.dtype == torch.float32:
            self._rounded = self._room.resize_(self.obs.shape).copy_(self.obs)

    def samples(self, idx: Tensor, adv: Tensor) -> Samples:
        """Gather the inputs of the loss for the decisions ``idx`` of the flattened rollout.

        Parameters
        ----------
        idx : Tensor of int64, shape (k,)
        adv : Tensor of float32, shape (k,)
            Their advantages, normalised.
        """
        fields = (self.mask, self.action, self.logp, self.ret, self.value)
        mask, action, logp, ret, value = (x.flatten(0, 1).index_select(0, idx) for x in fields)
        return Samples(mask, action, logp, adv, ret, value)

    def observations(self, idx: Tensor) -> Tensor:
        """Gather the observations of the decisions ``idx`` of the flattened rollout.

        Parameters
        ----------
        idx : Tensor of int64, shape (k,)
        """
        obs = self.obs if self._rounded is None else self._rounded
        return obs.flatten(0, 1).index_select(0, idx)


# -- how the engine writes into it -----------------------------------------------------------------


class DirectLanes:
    """Lanes of a rollout in host memory.

    Parameters
    ----------
    rollout : Rollout
    engine : Engine
    gamma : float
        Discount of a primitive step.
    """

    def __init__(self, rollout: Rollout, engine: Engine, gamma: float) -> None:
        self._engine, self._gamma = engine, gamma
        self._obs = list(as_array(rollout.obs, engine))
        self._mask = list(rollout.mask.numpy().view(np.uint8))
        self._reward = list(rollout.reward.numpy())
        self._done = list(rollout.done.numpy())
        self._discount = None if rollout.gamma is None else list(rollout.gamma.numpy())

    def destination(self, t: int) -> tuple[Array, Array]:
        """Return the arrays for the observations and masks that follow decision t - 1."""
        return self._obs[t], self._mask[t]

    def store(self, t: int) -> None:
        """Store the outcome of decision t."""
        engine = self._engine
        self._reward[t][:] = engine.reward
        np.logical_or(engine.terminated, engine.truncated, out=self._done[t])
        if self._discount is not None:
            discounts(engine, self._gamma, self._discount[t])

    def store_observation(self, t: int) -> None:
        """Do nothing: observations and masks are where they belong."""


class StagedLanes:
    """Lanes of a rollout on a device, filled by way of two slots; see :class:`DirectLanes`."""

    def __init__(self, rollout: Rollout, engine: Engine, gamma: float) -> None:
        self._engine, self._gamma, self._rollout = engine, gamma, rollout
        self._slots = [Slot(rollout, engine) for _ in range(2)]
        self._ahead = rollout.device.type == "cuda"  # elsewhere nothing says when a copy is done

    def destination(self, t: int) -> tuple[Array, Array]:
        """Return the arrays for the observations and masks that follow decision t - 1."""
        slot = self._slots[t % 2]
        slot.wait()
        return as_array(slot.obs, self._engine), slot.mask.numpy().view(np.uint8)

    def store(self, t: int) -> None:
        """Send the outcome of decision t, and then the observation that follows it."""
        engine, rollout, slot = self._engine, self._rollout, self._slots[(t + 1) % 2]
        slot.reward.numpy()[:] = engine.reward
        np.logical_or(engine.terminated, engine.truncated, out=slot.done.numpy())
        rollout.reward[t].copy_(slot.reward, non_blocking=self._ahead)
        rollout.done[t].copy_(slot.done, non_blocking=self._ahead)
        if rollout.gamma is not None:
            discounts(engine, self._gamma, slot.gamma.numpy())
            rollout.gamma[t].copy_(slot.gamma, non_blocking=self._ahead)
        self.store_observation(t + 1)

    def store_observation(self, t: int) -> None:
        """Send the observation and mask that were written into ``destination(t)``."""
        slot = self._slots[t % 2]
        self._rollout.obs[t].copy_(slot.obs, non_blocking=self._ahead)
        self._rollout.mask[t].copy_(slot.mask, non_blocking=self._ahead)
        slot.mark_sent()


Lanes = DirectLanes | StagedLanes


def make_lanes(rollout: Rollout, engine: Engine, gamma: float) -> Lanes:
    """Make the lanes of the engine, direct or staged as the device of the rollout needs."""
    kind = DirectLanes if rollout.device.type == "cpu" else StagedLanes
    return kind(rollout, engine, gamma)


class Slot:
    """Host memory for the outputs of one step, pinned if they go to CUDA (untested).

    Parameters
    ----------
    rollout : Rollout
    engine : Engine
    """

    def __init__(self, rollout: Rollout, engine: Engine) -> None:
        pinned = rollout.device.type == "cuda"
        n = engine.num_envs

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, pin_memory=pinned)

        self.obs = zeros(n, *rollout.obs.shape[2:], dtype=rollout.obs.dtype)
        self.mask = zeros(n, engine.num_actions, dtype=torch.bool)
        self.reward, self.gamma = zeros(n), zeros(n)
        self.done = zeros(n, dtype=torch.bool)
        self._sent = torch.cuda.Event() if pinned else None

    def wait(self) -> None:
        """Block until the copies out of the slot are done."""
        if self._sent is not None:
            self._sent.synchronize()

    def mark_sent(self) -> None:
        """Record that all copies out of the slot are queued."""
        if self._sent is not None:
            self._sent.record()


class TruncatedEpisodes:
    """Last observations of the truncated episodes of a rollout.

    They are kept until the end of the rollout, where one forward pass gives the values of all; the
    parameters do not change in between.

    Parameters
    ----------
    engine : Engine
        Names shape and type of an observation.
    """

    def __init__(self, engine: Engine) -> None:
        self._obs = np.empty((64, *engine.obs_shape), engine.obs_dtype)
        self.clear()

    def clear(self) -> None:
        """Begin a new rollout."""
        self.count = 0
        self._times: list[Array] = []
        self._lanes: list[Array] = []
        self._states: list[Tensor] = []

    def add(self, t: int, engine: Engine, state: Tensor) -> None:
        """Add the episodes that were truncated in decision t.

        Parameters
        ----------
        t : int
        engine : Engine
        state : Tensor, shape (n, state_size)
            Behind the decision, not yet reset.
        """
        if not engine.truncated.any():
            return
        rows = np.flatnonzero(engine.truncated > engine.terminated)
        end = self.count + len(rows)
        if end > len(self._obs):
            grown = np.empty((max(end, 2 * len(self._obs)), *self._obs.shape[1:]), self._obs.dtype)
            grown[: self.count] = self._obs[: self.count]
            self._obs = grown
        self._obs[self.count : end] = engine.final_obs[rows]
        self._times.append(np.full(len(rows), t))
        self._lanes.append(rows)
        if state.shape[1]:
            self._states.append(state[torch.from_numpy(rows).to(state.device)])
        self.count = end

    def obs(self) -> Tensor:
        """Return the observations, shape (count, ...), in host memory; valid until the next add."""
        return as_tensor(self._obs[: self.count])

    def lanes(self) -> Array:
        """Return the lanes of the episodes, int64, shape (count,)."""
        return np.concatenate([np.empty(0, np.int64), *self._lanes])

    def states(self, size: int, device: torch.device) -> Tensor:
        """Return the recurrent states behind the observations, shape (count, size)."""
        if self._states:
            return torch.cat(self._states)
        return torch.zeros(self.count, size, device=device)

    def write(self, values: Tensor, bootstrap_out: Tensor) -> None:
        """Write the values (count,) of the observations into ``bootstrap_out``; at least one."""
        times, lanes = (torch.from_numpy(np.concatenate(x)) for x in (self._times, self._lanes))
        place = (times * bootstrap_out.shape[1] + lanes).to(bootstrap_out.device)
        bootstrap_out.view(-1).index_copy_(0, place, values)


class Views:
    """Writes views of the critic into a rollout that has room for them; else there are none.

    They are made of the rows of the lanes as these are, so nothing of them has to be saved.

    Parameters
    ----------
    rollout : Rollout
    engine : Engine
    """

    def __init__(self, rollout: Rollout, engine: Any) -> None:
        self._stored, self._engine = rollout.view, engine
        shown = find_critic_view(engine)
        self._write = None if shown is None else shown.write

    def store(self, t: int) -> dict[str, Tensor]:
        """Store the view of the states behind t decisions; return it as a network's argument."""
        if self._stored is None or self._write is None:
            return {}
        here = self._stored[t]
        shown = np.empty(here.shape, np.uint8)
        self._write(self._engine.get_states(), shown)
        return {"view": here.copy_(torch.from_numpy(shown))}


# -- minibatches -----------------------------------------------------------------------------------


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


def normalise(adv: Tensor, ranks: Ranks = SINGLE_RANK) -> Tensor:
    """Normalise advantages to mean 0 and deviation 1, over those of all ranks."""
    if ranks.size == 1:
        return (adv - adv.mean()) / (adv.std() + 1e-8)
    wide, count = adv.double(), adv.numel() * ranks.size
    total, squares = ranks.sum(torch.stack((wide.sum(), wide.square().sum())))
    variance = (squares - total.square() / count).clamp(min=0.0) / (count - 1)
    return ((wide - total / count) / (variance.sqrt() + 1e-8)).to(adv.dtype)
