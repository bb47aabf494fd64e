"""Frames of an observation: packed pixels, and stacks of the last few.

A stack is what an engine with a longer memory would show, put together from observations of one
frame each; before an episode's first frame it shows that frame.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from training.nets.layout import Field, ObsLayout
from training.run.options import require

PACKED = "packed"  # Field.kind: four pixels a byte, the first in the low two bits
DARKEST = 3


def unpack(x: Tensor) -> Tensor:
    """Unpack the pixels of bytes (..., W), uint8, shape (..., 4 * W)."""
    return torch.stack([x >> 2 * i & 3 for i in range(4)], -1).flatten(-2)


def unpack_field(field: Field) -> Field:
    """Return the field that a network sees: itself unless it is packed."""
    if field.kind != PACKED:
        return field
    *outer, width = field.shape
    shape = (*outer, 4 * width)
    return replace(field, shape=shape, unit=float(DARKEST), values=DARKEST + 1, kind="planes")


class FrameStack:
    """Stacks single frames.

    Parameters
    ----------
    layout : ObsLayout
        Of observations that show one frame, with channels in the first axis.
    count : int
        Frames of a stack, the newest last.

    Attributes
    ----------
    layout : ObsLayout
        Of observations that show stacks.

    Raises
    ------
    ConfigError
        If there are several images, or none.
    """

    def __init__(self, layout: ObsLayout, count: int) -> None:
        images = [f for f in layout.fields if f.is_image and len(f.shape) == 3]
        one = len(images) == 1 and not images[0].channels_last
        allowed = "1: this game shows no single image with its channels in front"
        require(one, "dqn.stack_k", count, allowed)
        (image,) = images
        self.count, self._record = count, layout.record_size > 0
        self._slice = slice(image.offset, image.offset + image.nbytes)
        more = (count - 1) * image.nbytes
        largest = max(np.dtype(f.dtype).itemsize for f in layout.fields)
        require(more % largest == 0 or not self._record, "dqn.stack_k", count, allowed)
        fields = tuple(
            replace(f, shape=(count * f.shape[0], *f.shape[1:]), kind=f.kind or "planes")
            if f is image
            else replace(f, offset=f.offset + more * (f.offset > image.offset))
            for f in layout.fields
        )
        self.layout = replace(
            layout,
            fields=fields,
            obs_size=layout.obs_size + (count - 1) * image.size,
            record_size=layout.record_size + more * self._record,
        )

    def __call__(self, frames: Tensor) -> Tensor:
        """Stack observations (n, count, ...), the newest last, to shape (n, ...)."""
        if not self._record:
            return frames.flatten(1, 2)
        newest, here = frames[:, -1], self._slice
        parts = (newest[:, : here.start], frames[:, :, here].flatten(1), newest[:, here.stop :])
        return torch.cat(parts, 1)


class Stacking(nn.Module):
    """A network over stacks, to play with on single frames: its state holds those before.

    ::

        state    how many frames are held | their numbers, the newest last | state of the network

    Parameters
    ----------
    net : nn.Module
        With ``logits`` or, if it has a state, ``step``.
    stack : FrameStack
    size : int
        Numbers, or bytes, of an observation.
    """

    def __init__(self, net: Any, stack: FrameStack, size: int) -> None:
        super().__init__()
        self.net, self._stack, self._size = net, stack, size
        self._own = 1 + (stack.count - 1) * size
        self.state_size = self._own + net.state_size

    def step(self, obs: Tensor, *, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Compute scores of actions (n, A), values (n,) and the next state."""
        count, held = self._stack.count, state[:, :1]
        shape = (len(obs), count - 1, *obs.shape[1:])
        before = state[:, 1 : self._own].view(shape).to(obs.dtype)
        newer = obs
        for k in range(count - 2, -1, -1):  # the oldest that is there stands for those before it
            there = (held > count - 2 - k).view(-1, *(1,) * (obs.ndim - 1))
            newer = before[:, k] = torch.where(there, before[:, k], newer)
        frames = torch.cat((before, obs.unsqueeze(1)), 1)
        stacked = self._stack(frames)
        if self.net.state_size:
            scores, value, after = self.net.step(stacked, state=state[:, self._own :])
        else:
            scores, after = self.net.logits(stacked), state[:, self._own :]
            value = scores.amax(1)
        kept = frames[:, 1:].reshape(len(obs), -1).float()
        held = (held + 1).clamp(max=count - 1)
        return scores, value, torch.cat((held, kept, after.float()), 1)
