"""A camera before the screen: shifted, scaled, turned, blurred, in other light, with noise.

Pictures of 640 by 480 pixels are halved, and lie somewhere in frames of 400 by 300.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fastenv.drmario.picture import BLOCK, HEIGHT

PICTURE = (HEIGHT // 2, BLOCK // 2)  # rows and columns of a picture, halved
FRAME = (400, 300)  # of a camera's frame
BLUR_SIDE = 7  # of the kernel
LUMA = (0.299, 0.587, 0.114)
# A camera: a point of the picture at p from its middle, right and down in pixels, is at
# matrix @ p + shift from the middle of the frame.
CAMERA = np.dtype(
    [
        ("matrix", "f4", (2, 2)),
        ("shift", "f4", (2,)),
        ("ground", "f4", (3,)),  # colour around the picture
        *((name, "f4") for name in ("blur", "noise", "brightness", "contrast", "gamma")),
        ("colours", "f4", (3, 3)),  # hue, saturation and gains
        ("light", "f4", (2,)),  # its gradient, right and down
    ]
)


@dataclass(frozen=True)
class Ranges:
    """The ranges of a camera's parameters; drawn evenly between the two ends, or up to each side.

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


def draw(n: int, rng: np.random.Generator, ranges: Ranges | None = None) -> np.ndarray:
    """Draw random cameras, records of :data:`CAMERA`, shape (n,).

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
    parameters = (
        np.moveaxis(turn, 2, 0) * sides[:, None],
        up_to(r.shift, 2),
        rng.uniform(0, 1, (n, 3)) * rng.uniform(0, 1, (n, 1)),
        rng.uniform(*r.blur, n),
        rng.uniform(*r.noise, n),
        up_to(r.brightness),
        rng.uniform(*r.contrast, n),
        rng.uniform(*r.gamma, n),
        _make_colours(
            np.deg2rad(up_to(r.hue)), rng.uniform(*r.saturation, n), 1 + up_to(r.gain, 3)
        ),
        up_to(r.light, 2),
    )
    cameras = np.empty(n, CAMERA)
    for name, values in zip(CAMERA.names or (), parameters, strict=True):
        cameras[name] = values
    return cameras


def _make_colours(hue: np.ndarray, saturation: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Return matrices (n, 3, 3) that turn hues, around the axis of greys, and scale."""
    grey = np.full((3, 3), 1 / 3)
    root = 1 / math.sqrt(3)
    cross = np.array([[0, -root, root], [root, 0, -root], [-root, root, 0]])
    cos, sin = (f(hue)[:, None, None] for f in (np.cos, np.sin))
    turn = cos * np.eye(3) + (1 - cos) * grey + sin * cross
    luma = np.tile(LUMA, (3, 1))
    richer = luma + saturation[:, None, None] * (np.eye(3) - luma)
    matrices: np.ndarray = gains[:, :, None] * (richer @ turn)
    return matrices


@torch.inference_mode()
def shoot(pictures: np.ndarray, cameras: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Film pictures with cameras.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n, 320, 240, 3)
        Halved.
    cameras : ndarray of CAMERA, shape (n,)
    rng : Generator
        Of the noise.

    Returns
    -------
    ndarray of uint8, shape (n, 400, 300, 3)
    """
    of = {name: get_tensor(cameras, name) for name in CAMERA.names or ()}
    ground = of["ground"][:, :, None, None]
    pixels = torch.from_numpy(pictures).float()
    coloured = torch.einsum("nij,nhwj->nihw", of["colours"] / 255, pixels)
    at = (list_points(*FRAME) - of["shift"][:, None]) @ of["matrix"].inverse().mT
    frames = interpolate(coloured - ground, at).unflatten(2, FRAME) + ground  # 0 outside: ground
    frames = _blur(frames, of["blur"])
    down, right = (torch.linspace(-1, 1, side) for side in FRAME)
    to_right, to_bottom = of["light"].T[..., None, None, None]
    frames *= 1 + to_right * right + to_bottom * down[:, None]
    contrast, brightness, gamma, deviation = (
        of[name][:, None, None, None] for name in ("contrast", "brightness", "gamma", "noise")
    )
    frames.sub_(0.5).mul_(contrast).add_(0.5 + brightness).clamp_(0, 1).pow_(gamma)
    noise = torch.Generator().manual_seed(int(rng.integers(2**63)))
    frames += torch.randn(frames.shape, generator=noise).mul_(deviation)
    shown = frames.clamp_(0, 1).mul_(255).round_().byte().permute(0, 2, 3, 1)
    films: np.ndarray = shown.contiguous().numpy()
    return films


def _blur(images: Tensor, deviations: Tensor) -> Tensor:
    """Blur images (n, 3, H, W), each by its own deviation, down and across."""
    at = torch.arange(BLUR_SIDE) - BLUR_SIDE // 2
    weights = torch.exp(-0.5 * (at / deviations.clamp(min=1e-3)[:, None]) ** 2)
    weights /= weights.sum(1, keepdim=True)
    across = weights.repeat_interleave(3, 0)[:, None, None]
    padded = F.pad(images.flatten(0, 1)[None], [BLUR_SIDE // 2] * 4, "replicate")
    blurred = F.conv2d(padded, across, groups=len(across))
    return F.conv2d(blurred, across.mT, groups=len(across)).view_as(images)


def get_tensor(cameras: np.ndarray, name: str) -> Tensor:
    """Return a field of cameras as a tensor."""
    return torch.from_numpy(np.ascontiguousarray(cameras[name]))


def list_points(rows: int, columns: int) -> Tensor:
    """Return the middle of each pixel from the middle of an image: (rows * columns, 2)."""
    down = torch.arange(rows) - (rows - 1) / 2
    right = torch.arange(columns) - (columns - 1) / 2
    return torch.stack(torch.meshgrid(down, right, indexing="ij")[::-1], -1).flatten(0, 1)


def interpolate(images: Tensor, at: Tensor) -> Tensor:
    """Interpolate images between their pixels; 0 outside.

    Parameters
    ----------
    images : Tensor, shape (n, 3, H, W)
    at : Tensor, shape (n, k, 2)
        Right and down from the middle of the image, in pixels.

    Returns
    -------
    Tensor, shape (n, 3, k)
    """
    half = torch.tensor([images.shape[3], images.shape[2]]) / 2
    return F.grid_sample(images, (at / half)[:, None], align_corners=False)[:, :, 0]
