"""The rollout: time-major tensors, how the engine writes into them, and the minibatches of them.

On a CPU the destinations of the engine are rows of the rollout itself, so an observation is written
once, where it is used. On a device they are pinned slots of one step, two in turn: the engine may
fill a slot again as soon as the copies out of it are done, which is what the slot's event says.

Minibatches are shuffled, gathered, and on a CPU cut into pieces that stay in the cache.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from training.nets.layout import as_array, as_tensor, find_critic_view, storage
from training.nets.scaling import LIMIT, SMALLEST, RunningScale
from training.ppo.gae import gae_many, gae_some, gae_torch
from training.ppo.options import NativeConfig, PPOConfig
from training.run.engine import Engine, OnStep, discounts
from training.run.ranks import SINGLE_RANK, Ranks

Array = np.ndarray[Any, Any]
LOW_ROWS = 4096  # of a piece in bfloat16, a thread; see Minibatches.begin


class Samples(NamedTuple):
    """Inputs of the loss of k samples beside logits and values; float32 unless it says otherwise.

    ``mask`` is bool (k, A), ``action`` int64 (k,), ``logp`` is that of the rollout, and ``adv`` is
    already normalised.
    """

    mask: Tensor
    action: Tensor
    logp: Tensor
    adv: Tensor
    ret: Tensor


class MinibatchPart(NamedTuple):
    """Which decisions one forward and backward pass learns from, as numbers in the rollout.

    Decision t of lane i of N is number ``t * N + i``. ``places`` (k,) are their numbers, ``adv``
    their normalised advantages. ``total`` is the number of samples of the minibatch, of several
    ranks their mean. ``chunks`` (S,) are the numbers of the states that a network with a memory
    begins with, where ``places`` are S chunks, time-major.
    """

    places: Tensor
    adv: Tensor
    total: float
    chunks: Tensor | None = None


class Piece(NamedTuple):
    """Inputs of one forward and backward pass.

    ``obs`` is (k, ...), or (L, S, ...) for S chunks of L decisions, which have ``states`` (S, size)
    at their start and ``done`` (L, S). ``total`` is the number of samples of the minibatch, and
    ``view`` (k, view_size) what the value network alone sees.
    """

    obs: Tensor
    samples: Samples
    total: float
    states: Tensor | None = None
    done: Tensor | None = None
    view: Tensor | None = None


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
        columns, lasting = (self.reward, self.value, self.done, self.bootstrap), self.gamma
        self.learnt = None
        if some is None and self.device.type != "cpu":
            factor = gamma if lasting is None else lasting
            gae_torch(*columns, factor, lam, self.adv, self.ret)
            return
        reward, value, done, bootstrap = (x.cpu().numpy() for x in columns)
        if some is None:
            discount = gamma if lasting is None else lasting.numpy()
            out = self.adv.numpy(), self.ret.numpy()
            gae_many(reward, value, done, bootstrap, discount, lam, *out)
            return
        adv, ret = np.empty((2, *some.shape), np.float32)
        learnt = gae_some(reward, value, done, bootstrap, gamma, lam, some, adv, ret)
        self.adv.copy_(torch.from_numpy(adv))
        self.ret.copy_(torch.from_numpy(ret))
        self.learnt = torch.from_numpy(np.flatnonzero(learnt)).to(self.device)

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

    def gather(self, part: MinibatchPart) -> Piece:
        """Gather the inputs of a pass over some decisions."""
        seen = self.obs if self._rounded is None else self._rounded
        obs = seen.flatten(0, 1).index_select(0, part.places)
        fields = (self.mask, self.action, self.logp, self.ret)
        mask, action, logp, ret = (x.flatten(0, 1).index_select(0, part.places) for x in fields)
        samples, view = Samples(mask, action, logp, part.adv, ret), None
        if self.view is not None:
            view = self.view.flatten(0, 1).index_select(0, part.places)
        if part.chunks is None:
            return Piece(obs, samples, part.total, view=view)
        done = self.done.view(-1).index_select(0, part.places).view(-1, len(part.chunks))
        states = self.states.flatten(0, 1).index_select(0, part.chunks)
        return Piece(obs.unflatten(0, done.shape), samples, part.total, states, done, view)


class RewardScale(nn.Module):
    """Divides rewards by the deviation of their discounted sums so far.

    Parameters
    ----------
    lanes : int

    Attributes
    ----------
    sums : Tensor of float32, shape (lanes,)
        Discounted sum of the running episode of each lane.
    """

    sums: Tensor

    def __init__(self, lanes: int) -> None:
        super().__init__()
        self.of_sums = RunningScale(1)
        self.register_buffer("sums", torch.zeros(lanes))

    @torch.no_grad()
    def scale(self, rollout: Rollout, gamma: float) -> None:
        """Scale the rewards of a rollout, which are taken into account first.

        Parameters
        ----------
        rollout : Rollout
        gamma : float
            Discount of a decision, where they have none each.
        """
        seen = torch.empty_like(rollout.reward)
        for t in range(rollout.steps):
            self.sums.mul_(gamma if rollout.gamma is None else rollout.gamma[t])
            self.sums.add_(rollout.reward[t])
            seen[t] = self.sums
            self.sums.masked_fill_(rollout.done[t], 0.0)
        self.of_sums.update(seen.view(-1, 1))
        scale = torch.rsqrt(self.of_sums.var + SMALLEST)
        rollout.reward.mul_(scale).clamp_(-LIMIT, LIMIT)


# -- how the engine writes into it -----------------------------------------------------------------


class RolloutLanes:
    """Lanes of a rollout: the engine steps, and what comes of it is stored.

    On a CPU the engine writes observations and masks where they are used.

    Parameters
    ----------
    rollout : Rollout
    engine : Engine
    gamma : float
        Discount of a primitive step.

    Attributes
    ----------
    truncated : TruncatedEpisodes
        Of this rollout.
    env_s : float
        Seconds of this rollout in which the engine stepped.
    """

    def __init__(self, rollout: Rollout, engine: Engine, gamma: float) -> None:
        self._engine, self._gamma, self._rollout = engine, gamma, rollout
        self.truncated, self.env_s = TruncatedEpisodes(engine), 0.0
        view = find_critic_view(engine)
        self._write_view = None if view is None else view.write
        self._connect()

    def _connect(self) -> None:
        rollout = self._rollout
        self._obs = list(as_array(rollout.obs, self._engine))
        self._mask = list(rollout.mask.numpy().view(np.uint8))
        self._reward = list(rollout.reward.numpy())
        self._done = list(rollout.done.numpy())
        self._discount = None if rollout.gamma is None else list(rollout.gamma.numpy())

    def begin(self) -> None:
        """Begin a rollout where the last one ended."""
        self._rollout.begin()
        self.truncated.clear()
        self.env_s = 0.0

    def reset(self, seeds: Any, on_step: OnStep | None) -> None:
        """Begin an episode in every lane, by these seeds or by the generators of the lanes."""
        last = self._rollout.steps
        obs, mask = self._destination(last)
        self._engine.reset_many(seeds=seeds, obs_out=obs, mask_out=mask)
        if on_step is not None:
            on_step(self._engine, None, obs, mask)
        self._store_observation(last)

    def step(self, t: int, actions: Array, state: Tensor, on_step: OnStep | None) -> None:
        """Take the actions of decision t, and store the outcome.

        Parameters
        ----------
        t : int
        actions : ndarray of int64, shape (n,)
        state : Tensor, shape (n, state_size)
            Behind the decision, not yet reset.
        on_step : callable, optional
            Called before the outcome is stored.
        """
        obs, mask = self._destination(t + 1)
        begin = time.perf_counter()
        self._engine.step_many(actions, obs_out=obs, mask_out=mask)
        self.env_s += time.perf_counter() - begin
        if on_step is not None:
            on_step(self._engine, actions, obs, mask)
        self._store(t)
        self.truncated.add(t, self._engine, state)

    def store_view(self, t: int) -> Tensor:
        """Store what the value network alone sees behind t decisions; return it.

        It is made of the rows of the lanes as these are, so nothing of it has to be saved.
        """
        assert self._rollout.view is not None
        assert self._write_view is not None
        here = self._rollout.view[t]
        shown = np.empty(here.shape, np.uint8)
        self._write_view(self._engine.get_states(), shown)
        return here.copy_(torch.from_numpy(shown))

    def _destination(self, t: int) -> tuple[Array, Array]:
        """Return the arrays for the observations and masks that follow decision t - 1."""
        return self._obs[t], self._mask[t]

    def _store(self, t: int) -> None:
        """Store the outcome of decision t."""
        engine = self._engine
        self._reward[t][:] = engine.reward
        np.logical_or(engine.terminated, engine.truncated, out=self._done[t])
        if self._discount is not None:
            discounts(engine, self._gamma, self._discount[t])

    def _store_observation(self, t: int) -> None:
        """Do nothing: observations and masks are where they belong."""


class StagedRolloutLanes(RolloutLanes):
    """Lanes of a rollout on a device, filled by way of two slots."""

    def _connect(self) -> None:
        rollout = self._rollout
        self._slots = [Slot(rollout, self._engine) for _ in range(2)]
        self._ahead = rollout.device.type == "cuda"  # elsewhere nothing says when a copy is done

    def _destination(self, t: int) -> tuple[Array, Array]:
        slot = self._slots[t % 2]
        slot.wait()
        return as_array(slot.obs, self._engine), slot.mask.numpy().view(np.uint8)

    def _store(self, t: int) -> None:
        """Send the outcome of decision t, and then the observation that follows it."""
        engine, rollout, slot = self._engine, self._rollout, self._slots[(t + 1) % 2]
        slot.reward.numpy()[:] = engine.reward
        np.logical_or(engine.terminated, engine.truncated, out=slot.done.numpy())
        rollout.reward[t].copy_(slot.reward, non_blocking=self._ahead)
        rollout.done[t].copy_(slot.done, non_blocking=self._ahead)
        if rollout.gamma is not None:
            discounts(engine, self._gamma, slot.gamma.numpy())
            rollout.gamma[t].copy_(slot.gamma, non_blocking=self._ahead)
        self._store_observation(t + 1)

    def _store_observation(self, t: int) -> None:
        """Send the observation and mask that were written into the slot."""
        slot = self._slots[t % 2]
        self._rollout.obs[t].copy_(slot.obs, non_blocking=self._ahead)
        self._rollout.mask[t].copy_(slot.mask, non_blocking=self._ahead)
        slot.mark_sent()


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


# -- minibatches -----------------------------------------------------------------------------------


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
        self._rollout = rollout
        self._lanes = range(rollout.lanes) if lanes is None else lanes
        self._recurrent = rollout.states.shape[2] > 0
        self._length = native.seq_len if self._recurrent else 1
        self._units = rollout.steps * len(self._lanes) // self._length
        self._per_minibatch = ppo.batch_size // self._length
        self._asked, self._width = native.micro_batch, max(ppo.net_arch)
        self._rounds = not native.normalize_observations  # which comes before any rounding
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
            if self._rounds:
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

    def epoch(self) -> list[list[MinibatchPart]]:
        """Return the minibatches of a pass over the rollout, each as its parts."""
        order = self.permutation()
        batches: Sequence[Tensor] = order.split(self._per_minibatch)
        if self._some is not None:
            batches = order.tensor_split(self._units // self._per_minibatch)
        return [self._split(units) for units in batches]

    def _split(self, units: Tensor) -> list[MinibatchPart]:
        """Split a minibatch into parts, with its advantages normalised.

        There is none where all ranks together have less than two decisions: one alone has no
        deviation to be normalised by.
        """
        total: float = len(units)
        if self._some is not None and self._ranks.size > 1:
            total = self._ranks.count(len(units))
        if total * self._ranks.size < 2:
            return []
        chunks = [self._map_to_all_lanes(part) for part in units.split(self._per_piece)]
        places = [self._expand(part) for part in chunks]
        adv = self._rollout.adv.view(-1)
        chosen = [adv.index_select(0, idx) for idx in places]
        whole = torch.cat(chosen) if len(chosen) > 1 else chosen[0]
        normalised = normalise(whole, self._ranks).split(max(1, len(places[0])))
        if not len(units):
            return []
        parts = zip(places, normalised, chunks, strict=True)
        if self._some is None:
            total = len(whole)
        return [
            MinibatchPart(place, advantage, total, chunk if self._recurrent else None)
            for place, advantage, chunk in parts
        ]

    def _expand(self, units: Tensor) -> Tensor:
        """Expand units to their decisions, time-major within them: shape (length * k,)."""
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
    wide = adv.double()
    total, squares, count = ranks.sum(
        torch.stack((wide.sum(), wide.square().sum(), wide.new_tensor(adv.numel())))
    )
    variance = (squares - total.square() / count).clamp(min=0.0) / (count - 1)
    return ((wide - total / count) / (variance.sqrt() + 1e-8)).to(adv.dtype)


def explained_variance(value: Tensor, ret: Tensor) -> Tensor:
    """Return the share of the variance of the returns that the values explain; a scalar tensor."""
    return 1.0 - (ret - value).var() / ret.var()
