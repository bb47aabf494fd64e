"""Encoders of observations as inputs of hidden layers; images and boards by convolutions.

::

    field of rank 1, single numbers      divided by its unit, or shown by bins; flattened
    image, both sides 36 or more         convolutions as asked for, by default 8x8/4, 4x4/2, 3x3
    board or small image, sides from 4   convolutions that keep its size, by default 5x5, 3x3

A field of rank 3 has its channels in the first axis or the last, whichever is shorter unless the
game says; one of rank 2 is a single channel or, if its cells have few values, one for each of them.

Colours whose names do not matter are shown relative to those that are to be placed: a network need
not learn the same for each (:class:`Recolouring`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.nets.layers import computes_in_bfloat16
from training.nets.layout import Colours, Field, ObsLayout, torch_dtype
from training.nets.options import BOARD, NATURE
from training.nets.scaling import RunningScale
from training.run.options import require

SMALLEST_IMAGE = 36  # sides; the usual convolutions leave nothing of what is smaller
PACKED = "packed"  # Field.kind: four pixels a byte, the first in the low two bits
DARKEST = 3


class Encoder(nn.Module):
    """All fields of an observation side by side: flattened ones first, then convolved ones.

    Parameters
    ----------
    layout : ObsLayout
    kind : {"auto", "flat", "conv"}
        Whether images and boards go through convolutions; whoever insists on it (``conv``) has
        checked that there are some.
    convs : sequence of (int, int, int)
        Convolutions over an image: channels, side of the kernel and stride of each.
    option : str
        What they are called where they are refused.
    board : sequence of (int, int, int)
        Convolutions over a board: channels, height and width of each.
    normalize : bool
        Scale the flattened numbers by their mean and deviation so far; see :meth:`update`.

    Raises
    ------
    ConfigError
        They leave nothing of an image.

    Attributes
    ----------
    size_out : int
        Numbers that hidden layers get.
    places : dict of str to slice
        Where each field is among them.
    cells : dict of str to int
        Cells of the output of the convolutions over a field, channel by channel.
    sides : dict of str to tuple of int
        Height and width of such a field.
    as_is : bool
        Whether observations of one axis are the features.
    """

    def __init__(
        self,
        layout: ObsLayout,
        kind: str = "auto",
        convs: Sequence[Sequence[int]] = NATURE,
        option: str = "native.convs",
        board: Sequence[Sequence[int]] = BOARD,
        normalize: bool = False,
    ) -> None:
        super().__init__()
        plain = Field("", (layout.obs_size,))
        self._given = layout.fields or (plain,)
        self._is_record = layout.record_size > 0
        self._recolouring = None
        shown = tuple(map(unpack_field, self._given))
        if layout.parts.colours is not None:
            self._recolouring = Recolouring(layout.parts.colours, shown)
        self._fields = self._recolouring.fields if self._recolouring else shown
        self._images = [f for f in self._fields if kind != "flat" and f.is_image]
        self._flat = [f for f in self._fields if f not in self._images]
        convs_of = [Convolutions(field, convs, option, board) for field in self._images]
        self.convs = nn.ModuleList(convs_of)
        numbers = self._fields[0].dtype == "float32" and not self._images
        self.as_is = numbers and not self._is_record and not normalize
        widths = [part.width for part in self._flat]
        self.scale = RunningScale(sum(widths)) if normalize else None
        sizes = widths + [conv.size_out for conv in convs_of]
        ends = list(accumulate(sizes))
        names = [part.name for part in (*self._flat, *self._images)]
        self.size_out = ends[-1]
        self.places = {n: slice(end - k, end) for n, k, end in zip(names, sizes, ends, strict=True)}
        self.cells = {conv.field.name: conv.num_cells for conv in convs_of}
        self.sides = {conv.field.name: conv.field.sides for conv in convs_of}

    def forward(self, obs: Tensor) -> Tensor:
        """Return the features, float32, shape (n, size_out).

        Parameters
        ----------
        obs : Tensor, shape (n, ...)
            See :func:`training.nets.layout.as_tensor`.
        """
        if self.as_is:
            return obs if obs.ndim == 2 else obs.flatten(1)
        return self.encode(self.split(obs))

    def split(self, obs: Tensor) -> dict[str, Tensor]:
        """Split observations into fields by name, each (n, ...), in its own type.

        Colours whose names do not matter are shown as :class:`Recolouring` does.
        """
        if not self._is_record:
            parts = {self._given[0].name: obs}
        else:
            parts = {field.name: _view_field(obs, field) for field in self._given}
        packed = [field.name for field in self._given if field.kind == PACKED]
        parts |= {name: unpack(parts[name]) for name in packed}
        return parts if self._recolouring is None else self._recolouring(parts)

    def numbers(self, fields: dict[str, Tensor], name: str) -> Tensor:
        """Scale a field, (n, ...), for networks; integers become numbers from -1 to 1."""
        (field,) = (f for f in self._fields if f.name == name)
        return _to_floats(fields[name], field)

    def encode(self, fields: dict[str, Tensor]) -> Tensor:
        """Return the features of fields, see :meth:`split`."""
        parts = self._show_numbers(fields)
        if self.scale is not None:
            parts = [self.scale(torch.cat(parts, 1))]
        parts += [
            conv(fields[field.name]) for field, conv in zip(self._images, self.convs, strict=True)
        ]
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)

    def _show_numbers(self, fields: dict[str, Tensor]) -> list[Tensor]:
        """Return the numbers of fields that no convolution sees, each (n, width)."""
        return [to_bins(_to_floats(fields[f.name], f).flatten(1), f.bins) for f in self._flat]

    @torch.no_grad()
    def update(self, obs: Tensor, sum_over_ranks: Callable[[Tensor], Tensor] | None = None) -> None:
        """Take observations (n, ...) into the scale of its numbers, if it has one."""
        if self.scale is not None:
            numbers = torch.cat(self._show_numbers(self.split(obs)), 1)
            self.scale.update(numbers, sum_over_ranks)


class Recolouring:
    """Replaces colours by which of the given colours they are equal to.

    ::

        planes of colours    -> a plane for each given colour: where it is; one: where any colour is
        given colours (k, C) -> which of them are equal, (k, k)

    Parameters
    ----------
    colours : Colours
    fields : sequence of Field
        Of the observation.

    Attributes
    ----------
    fields : tuple of Field
        What they are then, in the same order.
    """

    def __init__(self, colours: Colours, fields: Sequence[Field]) -> None:
        by_name = {field.name: field for field in fields}
        self._board, self._given = by_name[colours.board], by_name[colours.given]
        channels, *sides = self._board.shape
        self._colours = list(colours.planes)
        self._others = [c for c in range(channels) if c not in colours.planes]
        count = self._given.shape[0]
        shapes = {
            self._board.name: (count + 1 + len(self._others), *sides),
            self._given.name: (count, count),
        }
        kinds = {self._board.name: "planes", self._given.name: "numbers"}
        self.fields = tuple(
            replace(f, shape=shapes[f.name], dtype="float32", kind=kinds[f.name])
            if f.name in shapes
            else f
            for f in fields
        )

    def __call__(self, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        """Convert the fields of observations, each (n, ...), for networks."""
        board = _to_floats(fields[self._board.name], self._board)
        given = _to_floats(fields[self._given.name], self._given)
        colours = board[:, self._colours]
        equal = (given @ colours.flatten(2)).unflatten(2, board.shape[2:])
        planes = (equal, colours.sum(1, keepdim=True), board[:, self._others])
        return {
            **fields,
            self._board.name: torch.cat(planes, 1),
            self._given.name: given @ given.mT,
        }


class Patches(nn.Conv2d):
    """A convolution whose kernels lie side by side: each pixel is seen by one of them.

    In bfloat16 on a CPU it is a product of matrices, which takes forward and backward pass of the
    layer half as long as oneDNN's convolution; elsewhere it is the convolution that it is called.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Convolve planes (n, C, H, W), to shape (n, width, H // side, W // side)."""
        if not computes_in_bfloat16(x):
            return super().forward(x)
        (n, channels, *sides), side = x.shape, self.kernel_size[0]
        high, wide = (length // side for length in sides)
        x = x[:, :, : high * side, : wide * side]
        cells = x.reshape(n, channels, high, side, wide, side).permute(0, 2, 4, 1, 3, 5)
        outputs = F.linear(cells.reshape(-1, channels * side**2), self.weight.flatten(1), self.bias)
        return outputs.view(n, high, wide, -1).permute(0, 3, 1, 2)


class Convolutions(nn.Module):
    """Convolutions over one field.

    Parameters
    ----------
    field : Field
    images : sequence of (int, int, int)
        What an image goes through; see :class:`Encoder`.
    option : str
    board : sequence of (int, int, int)
        Likewise.

    Attributes
    ----------
    num_cells : int
        Cells of the output.
    size_out : int
    may_reorder : bool
        ``vmap`` knows one order of the axes of planes; whoever needs it sets this to False.
    """

    may_reorder = True

    def __init__(
        self,
        field: Field,
        images: Sequence[Sequence[int]] = NATURE,
        option: str = "native.convs",
        board: Sequence[Sequence[int]] = BOARD,
    ) -> None:
        super().__init__()
        self.field = field
        self._last = field.channels_last
        self._cells = len(field.shape) == 2 and field.values > 0
        sides = field.sides
        channels = 1
        if self._cells:
            channels = field.values
            values = torch.arange(field.low, field.low + channels).view(1, channels, 1, 1)
            self.values: Tensor
            self.register_buffer("values", values, persistent=False)
        elif len(field.shape) == 3:
            channels = field.shape[2 if self._last else 0]
        layers: list[nn.Module] = []
        self._is_board = min(sides) < SMALLEST_IMAGE
        if self._is_board:
            for width, high, wide in board:
                padding = high // 2, wide // 2
                convolution = nn.Conv2d(channels, width, (high, wide), 1, padding)
                layers += [convolution, nn.ReLU(inplace=True)]  # a pass over the memory less
                channels = width
        else:
            for width, kernel, stride in images:
                kind = Patches if stride == kernel else nn.Conv2d
                layers += [kind(channels, width, kernel, stride), nn.ReLU()]
                sides = tuple((side - kernel) // stride + 1 for side in sides)
                channels = width
        shown = tuple(map(tuple, images))
        require(min(sides) >= 1, option, shown, f"smaller than an image of {field.sides}")
        self.layers = nn.Sequential(*layers)
        self.num_cells = sides[0] * sides[1]
        self.size_out = channels * self.num_cells

    def forward(self, x: Tensor) -> Tensor:
        """Convolve arrays (n, ...), to shape (n, size_out)."""
        if self._cells:
            planes = (x.unsqueeze(1) == self.values).float()
        else:
            numbers = _to_floats(x, self.field, low=computes_in_bfloat16(x))
            planes = numbers.unsqueeze(1) if numbers.ndim == 3 else numbers
            if self._last:
                planes = planes.movedim(3, 1)
        if self._is_board and planes.is_cpu and self.may_reorder:  # which oneDNN prefers
            planes = planes.contiguous(memory_format=torch.channels_last)
        outputs: Tensor = self.layers(planes)
        return outputs.flatten(1)


def to_bins(x: Tensor, bins: int) -> Tensor:
    """Encode numbers from 0 to 1, shape (n, k), by ``bins`` each, shape (n, k * bins).

    One bin is 1 where a number lies on it, and both its neighbours share one that lies between
    them: a layer tells places apart, and what it learns of one it need not unlearn for the next.
    With 0 bins numbers stay as they are.
    """
    if bins == 0:
        return x
    at = torch.arange(bins, dtype=x.dtype, device=x.device)
    return (1 - (x.unsqueeze(2) * (bins - 1) - at).abs()).clamp_(min=0).flatten(1)


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


def _view_field(obs: Tensor, field: Field) -> Tensor:
    """View a field of records, shape (n, *shape), over the same memory."""
    part = obs[:, field.offset : field.offset + field.nbytes]
    return part.view(torch_dtype(field.dtype)).reshape(-1, *(field.shape or (1,)))


def _to_floats(x: Tensor, field: Field, *, low: bool = False) -> Tensor:
    """Convert a field to float32, bytes to bfloat16 if ``low``; integers from -1 to 1."""
    if x.dtype == torch.float32:
        return x
    numbers = x.to(torch.bfloat16 if low and x.dtype == torch.uint8 else torch.float32)
    return numbers if field.unit == 1.0 else numbers.div_(field.unit)


# -- a larger network for images -------------------------------------------------------------------

FIRST, WIDTH = 48, 96  # channels
GROUPS = 8
BLOCKS = 3
SQUEEZE = 16  # by how much a block narrows its channels to weigh them
HEADS = 4
SIDE, GOAL = 128, 48  # hidden widths of the side features and of the goal


class PixelEncoder(Encoder):
    """A larger network for images: residual convolutions, attention, side features.

    ::

        image -> 5x5/2, 3x3/2 -> 3 residual blocks -> attention -> 1x1 -> mean (96) -+->
        other numbers -> side features, which those of the goal scale and shift (96) -+

    Normalisation is over groups of channels of each image by itself (Wu and He, Group
    Normalization, 2018), so that acting in one lane or in many gives the same, in training or not.
    An observation without other numbers has no side features.

    Parameters
    ----------
    layout : ObsLayout
        With an image; the first one is looked at, further ones are side features.
    """

    def __init__(self, layout: ObsLayout) -> None:
        super().__init__(layout, "flat")
        image = next(field for field in self._fields if field.is_image)
        self._image = image.name
        self._goals = [f for f in self._fields if f.name in layout.parts.goals]
        others = (image, *self._goals)
        self._sides = [f for f in self._fields if f not in others]
        self._last = image.channels_last
        planes = image.shape if len(image.shape) == 3 else (1,)
        self.trunk = Trunk(planes[2 if self._last else 0])
        sizes = [sum(f.size for f in fields) for fields in (self._sides, self._goals)]
        self.side = SideFeatures(*sizes) if self._sides else None
        self.size_out = WIDTH * (2 if self.side is not None else 1)
        self.places, self.cells = {}, {}
        self.as_is = False

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
    normalize: bool = False,
) -> Encoder:
    """Make the encoder that an option ``encoder`` names; the others as in :class:`Encoder`."""
    if kind == "pixels":
        return PixelEncoder(layout)
    return Encoder(layout, kind, convs, option, board, normalize)
