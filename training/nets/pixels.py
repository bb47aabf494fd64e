"""A larger network for images: residual convolutions, attention over positions, side features.

::

    image -> 5x5/2, 3x3/2 -> 3 residual blocks -> attention -> 1x1 -> mean of positions  (96) -+->
    other numbers -> side features, which those of the goal scale and shift              (96) -+

Normalisation is over groups of channels of each image by itself (Wu and He, Group Normalization,
2018), so that acting in one lane or in many gives the same, in training or not.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.nets.encoders import Encoder
from training.nets.layout import Field, ObsLayout
from training.nets.options import BOARD, NATURE

FIRST, WIDTH = 48, 96  # channels
GROUPS = 8
BLOCKS = 3
SQUEEZE = 16  # by how much a block narrows its channels to weigh them
HEADS = 4
SIDE, GOAL = 128, 48  # hidden widths of the side features and of the goal


class PixelEncoder(Encoder):
    """The larger encoder; an observation without other numbers has no side features.

    Parameters
    ----------
    layout : ObsLayout
        With an image; the first one is looked at, further ones are side features.
    """

    def __init__(self, layout: ObsLayout) -> None:
        super().__init__(layout, "flat")
        image = next(field for field in self._fields if field.is_image)
        self._image = image.name
        self._goals = [f for f in self._fields if f.name in layout.goals]
        others = (image, *self._goals)
        self._sides = [f for f in self._fields if f not in others]
        self._last = image.channels_last
        planes = image.shape if len(image.shape) == 3 else (1,)
        self.trunk = Trunk(planes[2 if self._last else 0])
        self.num_sides = sum(f.size for f in self._sides)
        self.num_goals = sum(f.size for f in self._goals)
        self.side = SideFeatures(self.num_sides, self.num_goals) if self.num_sides else None
        self.size_out = WIDTH * (2 if self.side is not None else 1)
        self.places, self.cells = {}, {}
        self._as_is = False

    def encode(self, fields: dict[str, Tensor]) -> Tensor:
        """Compute the features of fields; see :meth:`Encoder.split`."""
        image = self.numbers(fields, self._image)
        planes = image.unsqueeze(1) if image.ndim == 3 else image
        features = self.trunk(planes.movedim(3, 1) if self._last else planes)
        if self.side is None:
            return features
        goals = self._flatten(fields, self._goals) if self._goals else None
        side = self.side(self._flatten(fields, self._sides), goals)
        return torch.cat((features, side), 1)

    def side_numbers(self, obs: Tensor) -> Tensor:
        """Return the numbers that side features are made of, shape (n, num_sides)."""
        return self._flatten(self.split(obs), self._sides)

    def goal_numbers(self, obs: Tensor) -> Tensor:
        """Return the numbers of the goal, shape (n, num_goals)."""
        return self._flatten(self.split(obs), self._goals)

    def _flatten(self, fields: dict[str, Tensor], wanted: list[Field]) -> Tensor:
        return torch.cat([self.numbers(fields, f.name).flatten(1) for f in wanted], 1)


class Trunk(nn.Module):
    """Convolutions from planes (n, C, H, W) to features (n, WIDTH).

    Parameters
    ----------
    channels : int
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            *normalised_convolution(channels, FIRST, 5, stride=2),
            nn.ReLU(),
            *normalised_convolution(FIRST, WIDTH, 3, stride=2),
            nn.ReLU(),
        )
        self.blocks = nn.Sequential(*(Residual() for _ in range(BLOCKS)))
        self.attention = PositionAttention()
        self.last = nn.Conv2d(WIDTH, WIDTH, 1)

    def forward(self, planes: Tensor) -> Tensor:
        """Compute features (n, WIDTH) of planes (n, C, H, W)."""
        x = self.attention(self.blocks(self.stem(planes)))
        return torch.relu(self.last(x)).mean((2, 3))


class Residual(nn.Module):
    """Two convolutions added to their input, weighed by channel: Hu et al., 2018."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.Sequential(
            *normalised_convolution(WIDTH, WIDTH, 3),
            nn.ReLU(),
            *normalised_convolution(WIDTH, WIDTH, 3),
        )
        narrow = WIDTH // SQUEEZE
        self.weigh = nn.Sequential(nn.Linear(WIDTH, narrow), nn.ReLU(), nn.Linear(narrow, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        """Return planes of the same shape."""
        change = self.convs(x)
        weight = torch.sigmoid(self.weigh(change.mean((2, 3))))
        return torch.relu(x + change * weight[:, :, None, None])


def normalised_convolution(
    size_in: int, size_out: int, side: int, stride: int = 1
) -> tuple[nn.Module, nn.Module]:
    """Make a convolution that keeps the size, but for its stride, and its normalisation."""
    conv = nn.Conv2d(size_in, size_out, side, stride, side // 2)
    return conv, nn.GroupNorm(GROUPS, size_out)


class PositionAttention(nn.Module):
    """Attention between all positions of planes, added to its input."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """Return planes of the same shape."""
        cells = x.flatten(2).transpose(1, 2)
        parts = self.qkv(self.norm(cells)).unflatten(2, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts)
        out = self.out(mixed.transpose(1, 2).flatten(2))
        return x + out.transpose(1, 2).unflatten(2, x.shape[2:])


class SideFeatures(nn.Module):
    """Features of numbers beside the image, scaled and shifted by those of a goal if there is one.

    Perez et al., FiLM, 2018.

    Parameters
    ----------
    size, goals : int
    """

    def __init__(self, size: int, goals: int = 0) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(size, SIDE), nn.LayerNorm(SIDE), nn.ReLU(), nn.Linear(SIDE, WIDTH)
        )
        self.goal = None
        if goals:
            self.goal = nn.Sequential(
                nn.Linear(goals, GOAL), nn.LayerNorm(GOAL), nn.ReLU(), nn.Linear(GOAL, 2 * WIDTH)
            )

    def forward(self, sides: Tensor, goals: Tensor | None = None) -> Tensor:
        """Compute features, shape (n, WIDTH)."""
        x: Tensor = self.layers(sides)
        if self.goal is None:
            return x
        scale, shift = self.goal(goals).chunk(2, 1)
        return x * (1 + torch.tanh(scale)) + shift


def make_encoder(
    layout: ObsLayout,
    kind: str,
    convs: Sequence[Sequence[int]] = NATURE,
    option: str = "native.convs",
    board: Sequence[Sequence[int]] = BOARD,
) -> Encoder:
    """Make the encoder that an option ``encoder`` names; the others as in :class:`Encoder`."""
    return PixelEncoder(layout) if kind == "pixels" else Encoder(layout, kind, convs, option, board)
