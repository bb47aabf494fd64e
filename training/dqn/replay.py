"""Replay in tensors: a ring of rows of all lanes, allocated once, into which the engine writes.

Row ``l`` holds, of every lane, the observation and mask before decision ``l`` and what the decision
brought. What follows it is row ``l + 1``, which is not stored twice::

    rows   ...  l - 1 |  l   | l + 1 |  ...  | head          | head + 1 ...
           finished decisions: obs, mask,    | obs and mask  | the oldest decision
           action, reward, discount, end     | of the next   |

Only where an episode was cut off is its last observation elsewhere, in a second, smaller ring:
row ``l + 1`` already shows the next episode. Where an episode terminated nothing follows.

A sample is the first decision of a window of ``n_step``, or of fewer if the episode ends::

    reward    sum of r[k] * (d[0] * ... * d[k - 1])
    discount  d[0] * ... * d[m - 1], or 0 where the last of the m decisions terminated
    next_obs  what follows them

with ``d = gamma**tau`` of each decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from fastenv.numba_cache import cached_njit
from training.dqn.options import finals_of
from training.dqn.priorities import Priorities
from training.nets.layout import as_array, as_tensor, storage
from training.nets.precision import zeros_in_large_pages
from training.nets.q_network import FrameStack
from training.run.engine import Engine, discounts
from training.run.options import require

Array = npt.NDArray[Any]
RUNNING, TERMINATED, TRUNCATED = 0, 1, 2  # how a decision left its episode


@dataclass(frozen=True)
class Batch:
    """Decisions to learn from; k of them.

    Parameters
    ----------
    index : Tensor of int64, shape (k,)
        Where they are: row * lanes + lane.
    obs, next_obs : Tensor, shape (k, ...), in the engine's dtype
        Before the decision, and behind the last one of its window.
    action : Tensor of int64, shape (k,)
    reward, discount : Tensor of float32, shape (k,)
        Of the window; see the module.
    next_mask : Tensor of bool, shape (k, A)
        Legal actions behind the window. The engine shows none where it cut an episode off: there
        they are those of the decision before.
    weight : Tensor of float32, shape (k,)
        Of its loss; 1 without priorities.
    """

    index: Tensor
    obs: Tensor
    action: Tensor
    reward: Tensor
    discount: Tensor
    next_obs: Tensor
    next_mask: Tensor
    weight: Tensor


class TensorReplay:
    """The newest decisions of all lanes.

    Parameters
    ----------
    engine : Engine
        Names shape and type of observations, and the number of actions.
    lanes : int
        N, of all engines that write.
    capacity : int
        Decisions; whole rows of N are kept, one of which is the present.
    n_step : int
        Decisions of a window.
    gamma : float
        Discount of a primitive step.
    device : torch.device, optional
        Where the tensors are; default the host.
    seed : int
        Of what draws the samples.
    alpha : float or None
        Of :class:`training.dqn.priorities.Priorities`; None draws all decisions alike.
    learnt, reach : int, optional
        A sample begins in every ``learnt``-th row; its last observation is ``reach`` rows behind
        its first; by default samples are decisions and their windows. See
        :class:`training.dqn.sequences.SequenceReplay`.
    stack : FrameStack, optional
        Puts the frames of some rows together, where a row has a single one.

    Attributes
    ----------
    rows : int
        L, the length of the ring.
    head : int
        Row of the present.
    size : int
        Rows of finished decisions, at most L - 1.

    Raises
    ------
    ConfigError
        If the ring is too short for a single window.
    """

    def __init__(
        self,
        engine: Engine,
        lanes: int,
        capacity: int,
        n_step: int = 1,
        gamma: float = 0.99,
        device: torch.device | None = None,
        seed: int = 0,
        alpha: float | None = None,
        learnt: int = 1,
        reach: int | None = None,
        stack: FrameStack | None = None,
    ) -> None:
        self.device = torch.device("cpu") if device is None else device
        self.lanes, self.n_step, self.gamma = lanes, n_step, gamma
        self.learnt, self.reach = learnt, n_step if reach is None else reach
        self.stack, self._margin = stack, 0 if stack is None else stack.count - 1
        self.num_actions = engine.num_actions
        self.rows = capacity // lanes // learnt * learnt
        needed = -(-(self.reach + self._margin + learnt) // learnt) * learnt
        allowed = f"at least {lanes * needed}: {needed} rows of {lanes} lanes"
        require(self.rows >= needed, "dqn.capacity", capacity, allowed)
        self.head = self.size = 0
        self._finals_seen = 0
        self._allocate(engine)
        self.priorities = None if alpha is None else Priorities(self.rows // learnt * lanes, alpha)
        where = self.device if alpha is None else torch.device("cpu")
        self.generator = torch.Generator(where).manual_seed(seed)

    def _allocate(self, engine: Engine) -> None:
        one, dtype = storage(engine)
        here = (self.rows, self.lanes)

        def zeros(*shape: int, dtype: torch.dtype) -> Tensor:
            if self.device.type == "cpu":
                return zeros_in_large_pages(shape, dtype)
            return torch.zeros(shape, dtype=dtype, device=self.device)

        self.obs = zeros(*here, *one, dtype=dtype)
        # The rest of a decision lies side by side: draws at random find it all in one cache line.
        size = 19 + -(-self.num_actions // 8)
        record = zeros(*here, -(-size // 32) * 32, dtype=torch.uint8)

        def field(first: int, dtype: torch.dtype) -> Tensor:
            return record[..., first : first + dtype.itemsize].view(dtype).squeeze(2)

        self.final_at = field(0, torch.int64)
        self.reward = field(8, torch.float32)
        self.discount = field(12, torch.float32).fill_(self.gamma)
        self.action = field(16, torch.int16)
        self.end = field(18, torch.uint8)
        self.mask = record[..., 19:size]
        self.finals = finals_of(self.rows * self.lanes, self.lanes, self.reach)
        self.final_obs = zeros(self.finals, *one, dtype=dtype)

    # -- writing ---------------------------------------------------------------------------------

    @property
    def available(self) -> int:
        """Decisions that can be drawn: those whose window, or whole sequence, is finished."""
        youngest, oldest = self._youngest, self.size
        if oldest == self.rows - 1:
            oldest -= self._margin
        drawable = 0 if oldest < youngest else (oldest - youngest) // self.learnt + 1
        return drawable * self.learnt * self.lanes

    @property
    def _youngest(self) -> int:
        """Rows from the youngest that can be drawn to the present."""
        return self.reach + (self.head - self.reach) % self.learnt

    def advance(self) -> None:
        """Go on to the next row, whose observations and masks are written."""
        self.head = (self.head + 1) % self.rows
        self.size = min(self.size + 1, self.rows - 1)
        if self.priorities is not None:
            lanes, learnt = self.lanes, self.learnt
            gone = (self.head + self._margin) % self.rows
            if gone % learnt == 0:
                self.priorities.remove(gone // learnt * lanes, lanes)
            finished = (self.head - self.reach) % self.rows
            if self.size >= self.reach and finished % learnt == 0:
                self.priorities.add(finished // learnt * lanes, lanes)

    def keep_final(self, row: int, lanes: Array, obs: Tensor) -> None:
        """Keep the last observations (k, ...) of episodes that decision ``row`` cut off."""
        numbers = self._finals_seen + torch.arange(len(lanes), device=self.device)
        self.final_obs[numbers % self.finals] = obs.to(self.device)
        where = torch.from_numpy(lanes).to(self.device)
        self.end[row, where] = TRUNCATED
        self.final_at[row, where] = numbers
        self._finals_seen += len(lanes)

    def cut(self) -> None:
        """Truncate the episodes of all lanes at the present row, before the lanes are reset."""
        if self.size:
            before = (self.head - 1) % self.rows
            lanes = np.flatnonzero((self.end[before] == RUNNING).cpu().numpy())
            self.keep_final(before, lanes, self.obs[self.head, lanes])

    # -- sampling --------------------------------------------------------------------------------

    def sample(self, count: int, beta: float = 0.0) -> Batch:
        """Draw ``count`` decisions with replacement; some must be available.

        Parameters
        ----------
        count : int
        beta : float
            Of :meth:`Priorities.weights`.
        """
        index = self._draw(count)
        windows = self._windows(index)
        while self._finals_seen > self.finals:
            age = self._finals_seen - self._finals_of(windows)
            lost = windows.truncated & (age > self.finals)
            if not lost.any():
                break
            if self.priorities is not None:
                self.priorities.forget(index[lost].cpu().numpy())
            index[lost] = self._draw(int(lost.sum()))
            windows = self._windows(index)
        return self._gather(index, windows, beta)

    def _draw(self, count: int) -> Tensor:
        """Draw the first decisions of ``count`` samples: row * lanes + lane, int64 (count,)."""
        if self.priorities is not None:
            unit = torch.from_numpy(self.priorities.draw(count, self.generator)).to(self.device)
            return unit if self.learnt == 1 else self._find_first(unit)
        drawable, learnt = self.available // self.learnt, self.learnt
        oldest = self.head - self._youngest - learnt * (drawable // self.lanes - 1)
        unit = torch.randint(drawable, (count,), generator=self.generator, device=self.device)
        unit += oldest // learnt * self.lanes
        unit %= self.rows // learnt * self.lanes
        return unit if learnt == 1 else self._find_first(unit)

    def _find_first(self, unit: Tensor) -> Tensor:
        """Return the first decisions of sequences that are numbered as their priorities are."""
        return unit // self.lanes * self.learnt * self.lanes + unit % self.lanes

    def weights(self, unit: Array, beta: float) -> Tensor:
        """Return the importance weights of losses; see :meth:`Priorities.weights`."""
        assert self.priorities is not None
        drawable = self.available // self.learnt
        return self.priorities.weights(unit, drawable, beta).to(self.device)

    def _gather(self, index: Tensor, windows: WindowTargets, beta: float) -> Batch:
        next_obs = self.observations(windows.following)
        cut = windows.truncated.nonzero().squeeze(1)
        if len(cut):
            slots = self._finals_of(windows)[cut] % self.finals
            next_obs.index_copy_(0, cut, self.final_observations(slots, windows.last[cut]))
        legal = torch.where(windows.truncated, windows.last, windows.following)
        weight = torch.ones_like(windows.reward)
        if self.priorities is not None:
            weight = self.weights(index.cpu().numpy(), beta)
        return Batch(
            index=index,
            obs=self.observations(index),
            action=self.action.view(-1).index_select(0, index).long(),
            reward=windows.reward,
            discount=windows.discount,
            next_obs=next_obs,
            next_mask=unpack(self.mask.flatten(0, 1), legal, self.num_actions),
            weight=weight,
        )

    def observations(self, index: Tensor) -> Tensor:
        """Return the observations (k, ...) before decisions (k,)."""
        stored = self.obs.flatten(0, 1)
        if self.stack is None:
            return stored.index_select(0, index)
        frames = self._find_frames(index)
        return self.stack(stored.index_select(0, frames.view(-1)).unflatten(0, frames.shape))

    def final_observations(self, slots: Tensor, last: Tensor) -> Tensor:
        """Return last observations (k, ...) of episodes, behind their decisions ``last`` (k,)."""
        newest = self.final_obs.index_select(0, slots)
        if self.stack is None:
            return newest
        frames = self._find_frames(last)[:, 1:]
        before = self.obs.flatten(0, 1).index_select(0, frames.reshape(-1))
        return self.stack(torch.cat((before.unflatten(0, frames.shape), newest.unsqueeze(1)), 1))

    def _find_frames(self, index: Tensor) -> Tensor:
        """Find the decisions whose frames are stacked for each of some, (k, count), newest last.

        Before the first frame of an episode is that frame.
        """
        assert self.stack is not None
        end, place = self.end.view(-1), index
        places = [index]
        for _ in range(self.stack.count - 1):
            before = (place - self.lanes) % len(end)
            kept = (self.head - place // self.lanes) % self.rows < self.size
            same = kept & (end.index_select(0, before) == RUNNING)
            place = torch.where(same, before, place)
            places.append(place)
        return torch.stack(places[::-1], 1)

    def update_priorities(self, index: Tensor, error: Tensor) -> None:
        """Set the priorities of what was drawn, ``index`` of a batch, by the errors (k,) of it."""
        if self.priorities is not None:
            self.priorities.update(index.cpu().numpy(), error.cpu().numpy())

    def _windows(self, index: Tensor) -> WindowTargets:
        return windows_of(index, self.n_step, self.reward, self.discount, self.end)

    def _finals_of(self, windows: WindowTargets) -> Tensor:
        """Return the running numbers of the last observations of windows that were cut off."""
        return self.final_at.view(-1).index_select(0, windows.last)

    # -- saving ----------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """Return everything that is stored by decision, each (L, N, ...), by name."""
        names = ("obs", "mask", "action", "reward", "discount", "end", "final_at")
        return {name: getattr(self, name) for name in names}

    def state_dict(self) -> dict[str, Any]:
        """Return a copy of the state in host memory.

        Returns
        -------
        dict
            ``arrays``: of the rows that have been written, by name. ``counters``: JSON values.
            The generator is the caller's to save.
        """
        used = self.rows if self.size == self.rows - 1 else self.head + 1
        arrays = {name: _copy(x[:used]) for name, x in self.tensors().items()}
        arrays["final_obs"] = _copy(self.final_obs[: min(self._finals_seen, self.finals)])
        counters = {"head": self.head, "size": self.size, "finals_seen": self._finals_seen}
        if self.priorities is not None:
            saved = self.priorities.state_dict()
            arrays["priorities"] = saved["priorities"][: -(-used // self.learnt) * self.lanes]
            counters["largest_priority"] = saved["largest"]
        return {"arrays": arrays, "counters": counters}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        arrays, counters = saved["arrays"], saved["counters"]
        for name, tensor in (*self.tensors().items(), ("final_obs", self.final_obs)):
            array = arrays[name]
            tensor[: len(array)] = torch.from_numpy(array)
        self.head, self.size = int(counters["head"]), int(counters["size"])
        self._finals_seen = int(counters["finals_seen"])
        if self.priorities is not None:
            priorities = np.zeros(self.rows // self.learnt * self.lanes)
            priorities[: len(arrays["priorities"])] = arrays["priorities"]
            largest = counters["largest_priority"]
            self.priorities.load_state_dict({"priorities": priorities, "largest": largest})


class ReplayLanes:
    """Lanes of a replay that one engine writes; several share a replay, each with its own lanes.

    Every engine takes its step and stores it, then the replay advances.

    Parameters
    ----------
    replay : TensorReplay
    first : int
        First lane of the engine.
    engine : Engine

    Attributes
    ----------
    slice : slice
        Its lanes.
    legal : ndarray of uint8, shape (n, A)
        Where the engine writes its masks.
    """

    def __init__(self, replay: TensorReplay, first: int, engine: Engine) -> None:
        self.engine, self._replay = engine, replay
        self.slice = slice(first, first + engine.num_envs)
        self.legal = np.zeros((engine.num_envs, engine.num_actions), np.uint8)
        one, dtype = storage(engine)
        staged = replay.device.type != "cpu"
        self._slot = torch.zeros((engine.num_envs, *one), dtype=dtype) if staged else None
        self._varying_tau = engine.spec.has_tau

    @property
    def obs(self) -> Tensor:
        """Observations before the decision that is due, shape (n, ...), where the replay is."""
        return self._replay.obs[self._replay.head, self.slice]

    @property
    def seen(self) -> Tensor:
        """The same as the network sees them: with the frames before, if it sees stacks."""
        replay = self._replay
        if replay.stack is None:
            return self.obs
        first = replay.head * replay.lanes
        here = first + self.slice.start, first + self.slice.stop
        return replay.observations(torch.arange(*here, device=replay.device))

    @property
    def mask(self) -> Tensor:
        """Its legal actions, bool (n, A), in host memory."""
        return torch.from_numpy(self.legal.view(np.bool_))

    def destination(self, *, behind: bool) -> Array:
        """Return the array into which the engine writes its observations.

        Parameters
        ----------
        behind : bool
            Those behind the decision that is due; else those before it, at a reset.
        """
        if self._slot is not None:
            return as_array(self._slot, self.engine)
        replay = self._replay
        row = (replay.head + behind) % replay.rows
        return as_array(replay.obs[row, self.slice], self.engine)

    def store_observation(self, *, behind: bool) -> None:
        """Store the observations and masks that the engine has written; see :meth:`destination`."""
        replay = self._replay
        row = (replay.head + behind) % replay.rows
        packed = np.packbits(self.legal, axis=1, bitorder="little")
        replay.mask[row, self.slice] = torch.from_numpy(packed).to(replay.device)
        if self._slot is not None:
            replay.obs[row, self.slice] = self._slot.to(replay.device)

    def restore(self, obs: Array, legal: Array) -> None:
        """Restore the present row: observations as they are stored, (n, ...), and masks (n, A)."""
        self.legal[:] = legal
        place = self.obs if self._slot is None else self._slot
        place.copy_(torch.from_numpy(obs))
        self.store_observation(behind=False)

    def store(self, action: Tensor) -> None:
        """Store the step that the engine has taken with actions (n,), and what follows it."""
        engine, replay, here = self.engine, self._replay, self.slice
        row, device = replay.head, replay.device
        replay.action[row, here] = action
        replay.reward[row, here] = torch.from_numpy(engine.reward).to(device)
        replay.end[row, here] = torch.from_numpy(engine.terminated).to(device)
        if self._varying_tau:
            discount = discounts(engine, replay.gamma)
            replay.discount[row, here] = torch.from_numpy(discount).to(device)
        lanes = np.flatnonzero(engine.truncated > engine.terminated)
        if lanes.size:
            replay.keep_final(row, here.start + lanes, as_tensor(engine.final_obs[lanes]))
        self.store_observation(behind=True)


# -- windows: in Numba in host memory, in torch elsewhere ------------------------------------------
#
# Both ways compute the same; one loop over a few hundred decisions takes a tenth of the time of two
# dozen operations.


@dataclass(frozen=True)
class WindowTargets:
    """Rewards, discounts and ends of windows, all of shape (k,).

    Parameters
    ----------
    reward : Tensor of float32
        Sum of ``r[i] * (d[0] * ... * d[i - 1])`` over their decisions.
    discount : Tensor of float32
        Product of all ``d``, 0 where the last one terminated.
    following : Tensor of int64
        Decision behind the last one.
    last : Tensor of int64
        Last decision.
    truncated : Tensor of bool
        Whether that one cut the episode off.
    """

    reward: Tensor
    discount: Tensor
    following: Tensor
    last: Tensor
    truncated: Tensor


def windows_of(
    index: Tensor, n_step: int, reward: Tensor, discount: Tensor, end: Tensor
) -> WindowTargets:
    """Compute the windows that begin with decisions.

    A window has ``n_step`` decisions, or fewer if the episode ends; decision ``row * lanes + lane``
    is followed by ``(row + 1) % rows * lanes + lane``.

    Parameters
    ----------
    index : Tensor of int64, shape (k,)
    n_step : int
    reward, discount : Tensor of float32, shape (rows, lanes)
        Of each decision.
    end : Tensor of uint8, shape (rows, lanes)
        ``RUNNING``, ``TERMINATED`` or ``TRUNCATED``.
    """
    if index.device.type != "cpu":
        return windows_torch(index, n_step, reward, discount, end)
    windows = WindowTargets(
        torch.empty(len(index)),
        torch.empty(len(index)),
        torch.empty_like(index),
        torch.empty_like(index),
        torch.empty(len(index), dtype=torch.bool),
    )
    _windows_many(
        *(index.numpy(), reward.numpy(), discount.numpy(), end.numpy(), n_step),
        *(windows.reward.numpy(), windows.discount.numpy()),
        *(windows.following.numpy(), windows.last.numpy(), windows.truncated.numpy()),
    )
    return windows


@cached_njit(nogil=True)
def _windows_many(
    index,  # IN int64 (k,)
    reward,  # IN float32 (rows, lanes)
    discount,  # IN float32 (rows, lanes)
    end,  # IN uint8 (rows, lanes)
    n_step,  # IN int64
    reward_out,  # OUT float32 (k,)
    discount_out,  # OUT float32 (k,)
    following_out,  # OUT int64 (k,)
    last_out,  # OUT int64 (k,)
    truncated_out,  # OUT bool (k,)
):
    rows, lanes = reward.shape
    for k in range(len(index)):
        row, lane = index[k] // lanes, index[k] % lanes
        total, reach, how = np.float32(0.0), np.float32(1.0), 0
        for _ in range(n_step):
            total += reach * reward[row, lane]
            reach *= discount[row, lane]
            how = end[row, lane]
            last_out[k] = row * lanes + lane
            row = (row + 1) % rows
            if how != RUNNING:
                break
        reward_out[k] = total
        discount_out[k] = np.float32(0.0) if how == TERMINATED else reach
        following_out[k] = row * lanes + lane
        truncated_out[k] = how == TRUNCATED


def windows_torch(
    index: Tensor, n_step: int, reward: Tensor, discount: Tensor, end: Tensor
) -> WindowTargets:
    """Compute the same as :func:`windows_of` on any device."""
    rows, lanes = reward.shape
    steps = torch.arange(n_step, device=index.device)
    row, lane = (index // lanes).unsqueeze(1), (index % lanes).unsqueeze(1)
    place = (row + steps) % rows * lanes + lane
    rewards, discounts, ends = (
        x.view(-1).index_select(0, place.view(-1)).view(place.shape)
        for x in (reward, discount, end)
    )
    # Whether decision i belongs to the episode of the first one.
    inside = torch.ones_like(place, dtype=torch.bool)
    inside[:, 1:] = (ends[:, :-1] == RUNNING).cumprod(1)
    reach = torch.where(inside, discounts, 1.0).cumprod(1)
    rewards[:, 1:] *= reach[:, :-1]
    last = inside.sum(1, keepdim=True) - 1
    how = ends.gather(1, last).squeeze(1)
    return WindowTargets(
        reward=torch.where(inside, rewards, 0.0).sum(1),
        discount=torch.where(how == TERMINATED, 0.0, reach[:, -1]),
        following=((row + last + 1) % rows * lanes + lane).squeeze(1),
        last=place.gather(1, last).squeeze(1),
        truncated=how == TRUNCATED,
    )


def unpack(packed: Tensor, index: Tensor, num_actions: int) -> Tensor:
    """Unpack the masks of decisions, bool, shape (k, num_actions).

    Parameters
    ----------
    packed : Tensor of uint8, shape (decisions, bytes)
        Bit ``a % 8`` of byte ``a // 8`` says whether action ``a`` is legal.
    index : Tensor of int64, shape (k,)
    num_actions : int
    """
    if index.device.type == "cpu":
        masks = torch.empty((len(index), num_actions), dtype=torch.bool)
        _unpack_many(packed.numpy(), index.numpy(), masks.numpy())
        return masks
    return unpack_torch(packed, index, num_actions)


@cached_njit(nogil=True)
def _unpack_many(
    packed,  # IN uint8 (decisions, bytes)
    index,  # IN int64 (k,)
    masks_out,  # OUT bool (k, actions)
):
    for k in range(len(index)):
        for action in range(masks_out.shape[1]):
            masks_out[k, action] = (packed[index[k], action // 8] >> (action % 8)) & 1


def unpack_torch(packed: Tensor, index: Tensor, num_actions: int) -> Tensor:
    """Unpack as :func:`unpack` does, on any device."""
    bits = torch.arange(8, dtype=torch.uint8, device=index.device)
    masks = packed.index_select(0, index).unsqueeze(2) >> bits & 1
    return masks.flatten(1)[:, :num_actions].bool()


def _copy(tensor: Tensor) -> Array:
    array: Array = tensor.cpu().numpy().copy()
    return array
