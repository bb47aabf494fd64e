"""Several processes that train one network together, as torchrun starts them: its ranks.

Each has its share of the lanes, and of every minibatch. Gradients are averaged before every step of
the optimizer, so all have the same parameters. The first rank has the run folder and the
log, and decides; it sends commands to the others (:meth:`Ranks.send`). Ranks trust each other: what
they exchange is pickled.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Self

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from training.run.trainer import TrainingError

WAIT = timedelta(days=1)  # the first may evaluate meanwhile; a rank that is lost is noticed


class Ranks:
    """One of several ranks; a single rank sends nothing.

    Parameters
    ----------
    rank, size : int
        Number of this process, from 0 on, and how many there are.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size

    @classmethod
    def from_environment(cls) -> Self:
        """Make the ranks that torchrun sets in the environment; a single one without it."""
        return cls(int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1)))

    @property
    def is_first(self) -> bool:
        """Whether this is the first rank, which decides."""
        return self.rank == 0

    def seed(self, seed: int) -> int:
        """Derive the seed of a generator for this rank; the first rank keeps it."""
        if self.is_first:
            return seed
        return int(np.random.SeedSequence([seed, self.rank]).generate_state(1)[0])

    # -- joining ---------------------------------------------------------------------------------

    def join(self) -> None:
        """Connect to the other ranks.

        Raises
        ------
        TrainingError
            The port is taken, or a rank does not connect.
        """
        if self.size == 1 or dist.is_initialized():
            return
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        try:
            dist.init_process_group(backend, rank=self.rank, world_size=self.size, timeout=WAIT)
        except (RuntimeError, ValueError, OSError) as error:
            where = f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
            reason = " ".join(str(error).split())[:200]
            raise TrainingError(f"the ranks cannot meet at {where}: {reason}") from error

    def leave(self) -> None:
        """Tell the other ranks that the training has ended, and leave the group."""
        if self.size == 1 or not dist.is_initialized():
            return
        try:
            self.send("end")
        except TrainingError:
            return  # a rank is lost, which another error has reported
        dist.destroy_process_group()

    # -- commands of the first rank --------------------------------------------------------------

    def send(self, what: str, **details: Any) -> None:
        """Send a command to the other ranks; only the first of several ranks does so."""
        if self.size > 1 and self.is_first:
            self.broadcast((what, details))

    def receive(self) -> tuple[str, dict[str, Any]]:
        """Wait for a command of the first rank."""
        what, details = self.broadcast(None)
        return what, details

    def broadcast(self, value: Any) -> Any:
        """Return the first rank's value on every rank."""
        values = [value]
        if self.size > 1:
            with _report_lost_rank():
                dist.broadcast_object_list(values, 0)
        return values[0]

    def share_knobs(self, engine: Any) -> None:
        """Set the knobs that are set here in the engines of the other ranks too."""
        if self.size > 1 and self.is_first:
            engine.configure = self._share_configure(engine.configure)

    def _share_configure(self, configure: Callable[..., None]) -> Callable[..., None]:
        def configure_all(name: str, value: Any, idx: Any = None) -> None:
            configure(name, value, idx)  # refuses first
            lanes = None if idx is None else np.asarray(idx).tolist()
            plain = np.asarray(value).tolist() if isinstance(value, np.ndarray) else value
            self.send("configure", name=name, value=plain, idx=lanes)

        return configure_all

    # -- numbers ---------------------------------------------------------------------------------

    def average(self, tensors: Iterable[Tensor]) -> None:
        """Replace tensors by their means over the ranks; all have the same, in the same order."""
        if self.size == 1:
            return
        every = list(tensors)
        flat = self.sum(torch.cat([each.reshape(-1) for each in every])) / self.size
        for each, mean in zip(every, flat.split([x.numel() for x in every]), strict=True):
            each.copy_(mean.view_as(each))

    def average_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace the gradients of parameters by their means over the ranks.

        One that a rank has no gradient of, such as without a decision to learn, counts as 0 there.
        """
        if self.size == 1:
            return
        every = list(parameters)
        for each in every:
            if each.grad is None:
                each.grad = torch.zeros_like(each)
        self.average([each.grad for each in every if each.grad is not None])

    def sum(self, tensor: Tensor) -> Tensor:
        """Sum a tensor over the ranks."""
        if self.size > 1:
            with _report_lost_rank():
                dist.all_reduce(tensor)
        return tensor

    def count(self, number: int) -> float:
        """Return the mean of a number over the ranks."""
        if self.size == 1:
            return number
        return int(self.sum(torch.tensor(number))) / self.size

    def gather(self, value: Any) -> list[Any]:
        """Gather the values of all ranks in the first; the others get none."""
        gathered = [None] * self.size if self.is_first else None
        with _report_lost_rank():
            dist.gather_object(value, gathered)
        return gathered or []


SINGLE_RANK = Ranks()


@contextmanager
def _report_lost_rank() -> Iterator[None]:
    """Raise TrainingError where a rank is lost; everything that waits for it raises something."""
    try:
        yield
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:120]
        raise TrainingError(
            "a rank of this training has ended, so it cannot go on: the newest checkpoint is "
            f"whole; start as many ranks again with --resume ({reason})."
        ) from error
