"""The rollout: time-major tensors, allocated once; ``lanes.py`` lets the engine write into them."""

from __future__ import annotations

import torch
from torch import Tensor

from training.nets.layout import storage
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
        some = [x for x in (self.gamma, self.view) if x is not None]
        return [*parts, *rest, *some]

    def describe(self) -> str:
        """Return one line on how much memory it takes."""
        size = sum(x.numel() * x.element_size() for x in self.tensors())
        each = size / (self.steps * self.lanes)
        return (
            f"rollout {self.lanes:,} x {self.steps:,}: {size / 2**20:,.0f} MiB on {self.device}, "
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
        return Samples(mask, action, logp, adv, ret, value)

    def observations(self, idx: Tensor) -> Tensor:
        """Return the observations of the decisions ``idx`` of the flattened rollout.

        Parameters
        ----------
        idx : Tensor of int64, shape (k,)
        """
        obs = self.obs if self._rounded is None else self._rounded
        return obs.flatten(0, 1).index_select(0, idx)
