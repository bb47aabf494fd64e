"""A camera before the screen: shifted, scaled, turned, blurred, in other light, with noise.

Pictures of 640 by 480 pixels are halved, and lie somewhere in frames of 400 by 300.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fastenv.drmario.picture import BLOCK, HEIGHT

PICTURE = (HEIGHT // 2, BLOCK // 2)  # rows and columns of a picture, halved
FRAME = (400, 300)  # of a camera's frame
BLUR_SIDE = 7  # of the kernel
LUMA = (0.299, 0.587, 0.114)


@dataclass(frozen=True)
class Ranges:
    """What differs from camera to camera; drawn evenly between the two ends, or up to each side.

    Parameters
    ----------
    scale : (float, float)
        Of the halved picture.
    aspect : float
        How much wider it may be than high, as a share.
    shift : float
        Pixels that its middle lies beside that of the frame, in both directions; a cell has 16.
    rotation : float
        Degrees.
    blur : (float, float)
        Standard deviation of the blur in pixels.
    noise : (float, float)
        Standard deviation of the noise of every number, of 1.
    brightness : float
        Added, of 1.
    contrast, gamma, saturation : (float, float)
    hue : float
        Degrees.
    gain : float
        Of each of red, green and blue, as a share.
    light : float
        How much brighter one side of the frame may be than its middle, as a share.
    """

    scale: tuple[float, float] = (0.8, 1.2)
    aspect: float = 0.03
    shift: float = 16.0
    rotation: float = 1.5
    blur: tuple[float, float] = (0.0, 1.2)
    noise: tuple[float, float] = (0.0, 0.06)
    brightness: float = 0.12
    contrast: tuple[float, float] = (0.75, 1.25)
    gamma: tuple[float, float] = (0.8, 1.25)
    saturation: tuple[float, float] = (0.7, 1.3)
    hue: float = 12.0
    gain: float = 0.08
    light: float = 0.12


@dataclass(frozen=True)
class Cameras:
    """Cameras, one a frame.

    Parameters
    ----------
    matrix : Tensor, shape (n, 2, 2)
    shift : Tensor, shape (n, 2)
        A point of the picture at ``p`` from its middle, right and down in pixels, is at
        ``matrix @ p + shift`` from the middle of the frame.
    ground : Tensor, shape (n, 3)
        Colour around the picture.
    blur, noise, brightness, contrast, gamma : Tensor, shape (n,)
    colours : Tensor, shape (n, 3, 3)
        Hue, saturation and gains.
    light : Tensor, shape (n, 2)
        Gradient of the light, right and down.
    """

    matrix: Tensor
    shift: Tensor
    ground: Tensor
    blur: Tensor
    noise: Tensor
    brightness: Tensor
    contrast: Tensor
    gamma: Tensor
    colours: Tensor
    light: Tensor

    def __getitem__(self, which: slice | Tensor) -> Cameras:
        """Return some of them."""
        return Cameras(*(getattr(self, field.name)[which] for field in fields(self)))


def draw(n: int, rng: np.random.Generator, ranges: Ranges | None = None) -> Cameras:
    """Return cameras.

    Parameters
    ----------
    n : int
    rng : Generator
    ranges : Ranges, optional
    """
    r = ranges or Ranges()

    def up_to(most: float, *shape: int) -> np.ndarray:
        return rng.uniform(-most, most, (n, *shape))

    scale = rng.uniform(*r.scale, n)
    wider = 1 + up_to(r.aspect) / 2
    sides = np.stack([scale * wider, scale / wider], 1).clip(*r.scale)
    angle = np.deg2rad(up_to(r.rotation))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    made = (
        np.moveaxis(turn, 2, 0) * sides[:, None],
        up_to(r.shift, 2),
        rng.uniform(0, 1, (n, 3)) * rng.uniform(0, 1, (n, 1)),
        rng.uniform(*r.blur, n),
        rng.uniform(*r.noise, n),
        up_to(r.brightness),
        rng.uniform(*r.contrast, n),
        rng.uniform(*r.gamma, n),
        _colours(np.deg2rad(up_to(r.hue)), rng.uniform(*r.saturation, n), 1 + up_to(r.gain, 3)),
        up_to(r.light, 2),
    )
    return Cameras(*(torch.from_numpy(part.astype(np.float32)) for part in made))


def _colours(hue: np.ndarray, saturation: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Return matrices (n, 3, 3) that turn hues, around the axis of greys, and scale."""
    grey = np.full((3, 3), 1 / 3)
    root = 1 / math.sqrt(3)
    cross = np.array([[0, -root, root], [root, 0, -root], [-root, root, 0]])
    cos, sin = (f(hue)[:, None, None] for f in (np.cos, np.sin))
    turn = cos * np.eye(3) + (1 - cos) * grey + sin * cross
    luma = np.tile(LUMA, (3, 1))
    richer = luma + saturation[:, None, None] * (np.eye(3) - luma)
    found: np.ndarray = gains[:, :, None] * (richer @ turn)
    return found


def shoot(pictures: np.ndarray, cameras: Cameras, rng: np.random.Generator) -> np.ndarray:
    """Return frames of pictures.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, 320, 240, 3)
        Halved.
    cameras : Cameras
        As many.
    rng : Generator
        Of the noise.

    Returns
    -------
    ndarray of uint8, shape (n, 400, 300, 3)
    """
    drawn = torch.Generator().manual_seed(int(rng.integers(2**62)))
    x = torch.from_numpy(pictures).float().div_(255)
    x = torch.einsum("nij,nhwj->nihw", cameras.colours, x)
    x = _blurred(_placed(x, cameras), cameras.blur)
    down, right = (torch.linspace(-1, 1, side) for side in FRAME)
    light = 1 + cameras.light[:, 1, None, None] * down[:, None]
    light = light + cameras.light[:, 0, None, None] * right
    contrast, brightness = (_wide(v) for v in (cameras.contrast, cameras.brightness))
    x.mul_(light.unsqueeze(1)).sub_(0.5).mul_(contrast).add_(brightness + 0.5)
    x.clamp_(0, 1).pow_(_wide(cameras.gamma))
    x.add_(torch.randn(x.shape, generator=drawn).mul_(_wide(cameras.noise)))
    return x.clamp_(0, 1).mul_(255).round_().byte().permute(0, 2, 3, 1).contiguous().numpy()


def _wide(values: Tensor) -> Tensor:
    return values.view(-1, 1, 1, 1)


def _placed(pictures: Tensor, cameras: Cameras) -> Tensor:
    """Return frames with the pictures in their places."""
    back = torch.linalg.inv(cameras.matrix)
    where = (points_of(*FRAME) - cameras.shift[:, None]) @ back.mT
    solid = torch.ones_like(pictures[:, :1])
    found = sampled(torch.cat((pictures, solid), 1), where).unflatten(2, FRAME)
    return found[:, :3] + (1 - found[:, 3:]) * cameras.ground[:, :, None, None]


def points_of(rows: int, columns: int) -> Tensor:
    """Return the middle of each pixel from the middle of an image: (rows * columns, 2)."""
    down = torch.arange(rows) - (rows - 1) / 2
    right = torch.arange(columns) - (columns - 1) / 2
    return torch.stack(torch.meshgrid(down, right, indexing="ij")[::-1], -1).flatten(0, 1)


def sampled(images: Tensor, points: Tensor) -> Tensor:
    """Return what is at points of images, between their pixels; 0 outside.

    Parameters
    ----------
    images : Tensor, shape (n, C, H, W)
    points : Tensor, shape (n, k, 2)
        Right and down from the middle, in pixels.

    Returns
    -------
    Tensor, shape (n, C, k)
    """
    half = torch.tensor([images.shape[3], images.shape[2]]) / 2
    grid = (points / half).unsqueeze(1)
    return F.grid_sample(images, grid, align_corners=False).squeeze(2)


def _blurred(x: Tensor, deviations: Tensor) -> Tensor:
    """Return frames blurred, each by its own deviation."""
    n, channels = x.shape[:2]
    at = torch.arange(BLUR_SIDE) - BLUR_SIDE // 2
    weights = torch.exp(-0.5 * (at / deviations.clamp(min=1e-3)[:, None]) ** 2)
    weights = (weights / weights.sum(1, keepdim=True)).repeat_interleave(channels, 0)
    x = F.pad(x, [BLUR_SIDE // 2] * 4, "replicate").flatten(0, 1).unsqueeze(0)
    x = F.conv2d(x, weights[:, None, None, :], groups=n * channels)
    x = F.conv2d(x, weights[:, None, :, None], groups=n * channels)
    return x.view(n, channels, *FRAME)
