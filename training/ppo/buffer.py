"""The rollout: time-major tensors, allocated once; ``lanes.py`` lets the engine write into them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from training.nets.layout import storage
from training.ppo.intrinsic import IntrinsicRollout
from training.ppo.loss import Samples
from training.run.engine import Engine


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
    obs_device : torch.device, optional
        Where observations are kept instead, if they do not fit.
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
    intrinsic : IntrinsicRollout or None
        What intrinsic rewards have for themselves, where they do.
    """

    def __init__(
        self,
        steps: int,
        lanes: int,
        engine: Engine,
        device: torch.device,
        *,
        obs_device: torch.device | None = None,
        varying_tau: bool = False,
        state_size: int = 0,
        chunk: int = 1,
        view_size: int = 0,
    ) -> None:
        self.steps, self.lanes, self.device = steps, lanes, device
        host = torch.device("cpu")
        self.obs_device = obs_device or device
        pinned = self.obs_device == host and device.type == "cuda"
        one, dtype = storage(engine)
        shape = (steps + 1, lanes, *one)
        # Zeros touch every page now and not in the first rollout.
        self.obs = torch.zeros(shape, dtype=dtype, device=self.obs_device, pin_memory=pinned)

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
        self.intrinsic: IntrinsicRollout | None = None
        self._rounded: Tensor | None = None
        self._room = torch.empty(0, dtype=torch.bfloat16)  # for them

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
        own = [] if self.intrinsic is None else self.intrinsic.tensors()
        some = [x for x in (self.gamma, self.view) if x is not None]
        return [*parts, *rest, *some, *own]

    def store_values(self, t: int, here: slice, value: Tensor) -> None:
        """Store the values of observations t in some lanes: (n,), or (n, 2) with intrinsic ones."""
        if self.intrinsic is None:
            self.value[t, here] = value
        else:
            self.value[t, here], self.intrinsic.value[t, here] = value.unbind(1)

    def bootstraps(self) -> list[Tensor]:
        """Return where values of last observations go, each (T, N), in the order of the values."""
        own = self.intrinsic
        return (
            [self.bootstrap] if own is None or not own.episodic else [self.bootstrap, own.bootstrap]
        )

    def describe(self) -> str:
        """Return one line on how much memory it takes."""
        size = sum(x.numel() * x.element_size() for x in self.tensors())
        each = size / (self.steps * self.lanes)
        place = str(self.device)
        if self.obs_device != self.device:
            place += f", observations on {self.obs_device}"
        return (
            f"rollout {self.lanes:,} x {self.steps:,}: {size / 2**20:,.0f} MiB on {place}, "
            f"{each:,.0f} bytes a decision"
        )

    # -- minibatches -----------------------------------------------------------------------------

    def round(self) -> None:
        """Let minibatches have bfloat16 in the place of float32 observations of a whole rollout.

        For layers under autocast, which would round them in every pass; so half as much is read.
        """
        if self.obs.dtype == torch.float32:
            self._rounded = self._room.resize_(self.obs.shape).copy_(self.obs)

    def samples(self, idx: Tensor, adv: Tensor) -> Samples:
        """Return what the loss needs of the decisions ``idx`` of the flattened rollout.

        Parameters
        ----------
        idx : Tensor of int64, shape (k,)
        adv : Tensor of float32, shape (k,)
            Their advantages, normalised.
        """
        fields = (self.mask, self.action, self.logp, self.ret, self.value)
        mask, action, logp, ret, value = (x.flatten(0, 1).index_select(0, idx) for x in fields)
        if self.intrinsic is None:
            return Samples(mask, action, logp, adv, ret, value)
        both = ((ret, self.intrinsic.ret), (value, self.intrinsic.value))
        pairs = (torch.stack((x, own.flatten(0, 1).index_select(0, idx)), 1) for x, own in both)
        return Samples(mask, action, logp, adv, *pairs)

    def observations(self, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        """Yield the observations of each batch of indices, on the device.

        Parameters
        ----------
        batches : sequence of Tensor of int64
        """
        flat = (self.obs if self._rounded is None else self._rounded).flatten(0, 1)
        if self.obs_device == self.device:
            for idx in batches:
                yield flat.index_select(0, idx)
            return
        yield from self._prefetched(flat, batches)

    def _prefetched(self, flat: Tensor, batches: Sequence[Tensor]) -> Iterator[Tensor]:
        """Gather in host memory and copy on a stream of its own, one batch ahead."""
        pinned = self.device.type == "cuda"
        side = torch.cuda.Stream(self.device) if pinned else None

        def fetch(idx: Tensor) -> tuple[Tensor, Tensor]:
            picked = flat.index_select(0, idx.cpu())
            if side is None:
                return picked, picked.to(self.device)
            picked = picked.pin_memory()
            with torch.cuda.stream(side):
                return picked, picked.to(self.device, non_blocking=True)

        ahead = fetch(batches[0])
        for k in range(len(batches)):
            if side is not None:
                torch.cuda.current_stream(self.device).wait_stream(side)
                ahead[1].record_stream(torch.cuda.current_stream(self.device))
            here = ahead
            if k + 1 < len(batches):
                ahead = fetch(batches[k + 1])
            yield here[1]
