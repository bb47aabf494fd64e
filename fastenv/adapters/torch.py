"""A batch of environments as torch tensors over the engine's own memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, InvalidActionError, show, show_reason
from fastenv.memory import StepBuffers
from fastenv.vector import FastVectorEnv

try:
    import torch
except ImportError as _error:
    raise ImportError(
        "fastenv.adapters.torch needs torch: pip install 'fastenv-rl[torch]'"
    ) from _error

__all__ = ["TorchVecEnv"]

Array = npt.NDArray[Any]
Observation = torch.Tensor | dict[str, torch.Tensor]
_LINE = 64  # every buffer of the block starts on a cache line


class TorchVecEnv:
    """A :class:`fastenv.FastVectorEnv` whose results are tensors, without a copy on a CPU.

    Parameters
    ----------
    vec : FastVectorEnv
        Of ``fastenv.make_vec``, in any autoreset mode; with ``agents="all"`` everything an agent
        sees or does has an axis of K behind that of the lanes. Its infos are not computed.
    device : str or torch.device
        ``"cpu"``: the tensors are the engine's memory. A CUDA device (untested): observations and
        masks are written into pinned memory, and each step sends all of it in one copy.

    Attributes
    ----------
    obs : Tensor, shape (n, *obs_shape), or dict of them
        A dict where observations are structured.
    mask : Tensor of bool, shape (n, A)
        Legal actions.
    reward : Tensor of float32, shape (n,)
        In the game's own float dtype, where that is not float32.
    terminated, truncated : Tensor of bool, shape (n,)
    tau : Tensor of int32, shape (n,)
        How long decisions lasted; all 1 in games whose decisions do not last.

    Raises
    ------
    ConfigError
        Another kind of environment, or a device that is not there.

    Notes
    -----
    The tensors are lent, and so is the dict of infos: they are always the same objects, valid until
    the next ``step`` or ``reset``, which overwrites them, and must not be written. ``clone`` or
    copy what is to outlive it. On a CUDA device they are valid on the stream that was current in
    the call.

    >>> import fastenv
    >>> vec = fastenv.make_vec("SkullKingWorker-v0", 4, autoreset_mode="same_step")
    >>> env = TorchVecEnv(vec)
    >>> obs, infos = env.reset(seed=0)
    >>> actions = infos["action_mask"].int().argmax(dim=1)
    >>> obs, reward, terminated, truncated, infos = env.step(actions)
    """

    def __init__(self, vec: FastVectorEnv, device: str | torch.device = "cpu") -> None:
        if not isinstance(vec, FastVectorEnv):
            raise ConfigError(f"vec={show(vec)}: must be a FastVectorEnv, of fastenv.make_vec")
        self.vec: FastVectorEnv = vec
        self.engine: BatchEngine = vec.engine
        self.num_envs: int = vec.num_envs
        self.device: torch.device = _device(device)
        engine = self.engine
        names = ("obs", "mask", "reward", "terminated", "truncated", "tau")
        arrays = {name: getattr(engine, name) for name in names}
        self._block = None if self.device.type == "cpu" else _Block(arrays, self.device)
        tensors = {name: _tensors(array) for name, array in arrays.items()}
        out = StepBuffers()
        if self._block is not None:
            tensors, out = self._block.tensors, StepBuffers(**self._block.arrays)
        self._advance: Callable[[Any], None] = partial(vec.step_into, out=out)
        if self._block is None and vec.autoreset_mode == AutoresetMode.SAME_STEP:
            self._advance = self._step_in_place
        self.obs: Observation = tensors["obs"]
        self.mask: torch.Tensor = tensors["mask"].view(torch.bool)
        self.reward: torch.Tensor = tensors["reward"]
        self.terminated: torch.Tensor = tensors["terminated"].view(torch.bool)
        self.truncated: torch.Tensor = tensors["truncated"].view(torch.bool)
        self.tau: torch.Tensor = tensors["tau"]
        self._infos = {"action_mask": self.mask, "tau": self.tau}
        flags = (self.terminated, self.truncated)
        self._results = (self.obs, self.reward, *flags, self._infos)
        self._send_all()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy, whose tensors will lie over the memory of its own engine."""
        return {"vec": self.vec, "device": self.device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Continue where the original stood."""
        self.__init__(**state)  # type: ignore[misc]

    def _step_in_place(self, actions: Any) -> None:
        """Step as SAME_STEP does, which is all that it asks for."""
        self.vec.check_open()
        self.engine.step_many(actions)

    def _send_all(self) -> None:
        """Bring what the engine shows now to the device."""
        if self._block is not None:
            self._block.wait()
            self.engine.refresh()
            for name, array in self._block.arrays.items():
                array[...] = getattr(self.engine, name)
            self._block.send()

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, torch.Tensor]]:
        """Start an episode in all lanes or in some; see :meth:`FastVectorEnv.reset`.

        Returns
        -------
        obs, infos
            ``infos`` has ``action_mask`` and ``tau``.
        """
        self.vec.reset(seed=seed, options=options)
        self._send_all()
        return self.obs, self._infos

    def step(
        self, actions: torch.Tensor | Array
    ) -> tuple[Observation, torch.Tensor, torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]:
        """Take one decision in every lane.

        Parameters
        ----------
        actions : Tensor or ndarray of integers, shape (n,), or (n, K) with all agents
            On any device.

        Returns
        -------
        obs, reward, terminated, truncated, infos
            The attributes; ``infos`` has ``action_mask`` and ``tau``.

        Raises
        ------
        InvalidActionError, ResetNeededError
            See :meth:`FastVectorEnv.step`; nothing has moved.
        """
        given = _on_host(actions) if isinstance(actions, torch.Tensor) else actions
        if self._block is not None:
            self._block.wait()
        self._advance(given)
        if self._block is not None:
            self._block.send()
        return self._results

    @property
    def final_obs(self) -> Observation:
        """Last observations of the episodes that ended in the last step; other rows are stale."""
        seen: Observation = self._send(self.engine.final_obs)
        return seen

    @property
    def episode_return(self) -> torch.Tensor:
        """Sums of rewards of the episodes that ended in the last step; others are stale."""
        sums: torch.Tensor = self._send(self.engine.ep_return)
        return sums

    @property
    def episode_length(self) -> torch.Tensor:
        """Decisions of the episodes that ended in the last step; others are stale."""
        lengths: torch.Tensor = self._send(self.engine.ep_length)
        return lengths

    def _send(self, array: Array) -> Any:
        tensors = _tensors(array)
        if isinstance(tensors, dict):
            return {name: tensor.to(self.device) for name, tensor in tensors.items()}
        return tensors.to(self.device)

    def close(self) -> None:
        """Close the environments."""
        self.vec.close()


class _Block:
    """Arrays in one block of host memory, and their tensors in one block of a device's.

    Parameters
    ----------
    arrays : dict of str to ndarray
        What the arrays are like.
    device : torch.device
    """

    def __init__(self, arrays: dict[str, Array], device: torch.device) -> None:
        starts, size = {}, 0
        for name, array in arrays.items():
            starts[name] = size
            size += -(-array.nbytes // _LINE) * _LINE
        cuda = device.type == "cuda"
        self._event: Any = torch.cuda.Event() if cuda else None  # type: ignore[no-untyped-call]
        self._host = torch.zeros(size, dtype=torch.uint8, pin_memory=cuda)
        self._there = torch.zeros(size, dtype=torch.uint8, device=device)
        memory = self._host.numpy()
        self.arrays = {
            name: memory[starts[name] : starts[name] + like.nbytes]
            .view(like.dtype)
            .reshape(like.shape)
            for name, like in arrays.items()
        }
        self.tensors: dict[str, Any] = {
            name: _place(array, self._there, starts[name]) for name, array in self.arrays.items()
        }

    def wait(self) -> None:
        """Wait until the last copy has read the host's block, which may then be written."""
        if self._event is not None:
            self._event.synchronize()

    def send(self) -> None:
        """Copy the block to the device, in the order of its current stream."""
        self._there.copy_(self._host, non_blocking=True)
        if self._event is not None:
            self._event.record(torch.cuda.current_stream(self._there.device))


def _device(device: str | torch.device) -> torch.device:
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(f"device={show(device)}: {show_reason(error)}") from None
    if chosen.type not in ("cpu", "cuda"):
        raise ConfigError(f"device={show(device)}: must be 'cpu' or a CUDA device (untested)")
    if chosen.type == "cuda" and (chosen.index or 0) >= torch.cuda.device_count():
        raise ConfigError(
            f"device={show(device)}: torch finds {torch.cuda.device_count()} CUDA devices here"
        )
    return chosen


def _on_host(actions: torch.Tensor) -> Array:
    """Return actions as an array, over the same memory if they are on a CPU."""
    try:  # asking a tensor first costs as much as half of what is done
        array: Array = actions.numpy()
    except (TypeError, RuntimeError):  # on a device, or with a gradient
        try:
            array = actions.detach().cpu().numpy()
        except (TypeError, RuntimeError) as error:  # sparse, of a dtype NumPy lacks, without data
            raise InvalidActionError(f"actions: {show_reason(error)}") from None
    return array


def _tensors(array: Array) -> Any:
    """Return tensors over the memory of an array; of a structured one a dict of its fields."""
    if array.dtype.names is None:
        return torch.from_numpy(array)
    return {name: torch.from_numpy(array[name]) for name in array.dtype.names}


def _place(array: Array, block: torch.Tensor, start: int) -> Any:
    """Return the tensors of :func:`_tensors` in another block, at the place ``start`` (bytes)."""
    if array.dtype.names is not None:
        fields: Any = array.dtype.fields
        return {
            name: _place(array[name], block, start + offset)
            for name, (_, offset, *_) in fields.items()
        }
    like = torch.from_numpy(np.empty(0, array.dtype))
    strides = [stride // array.itemsize for stride in array.strides]
    return block.view(like.dtype).as_strided(array.shape, strides, start // array.itemsize)
