"""The network that reads frames: where the picture lies, then what each cell shows.

::

    frame -> halved twice -> convolutions -> where the picture lies, nearly
          -> the same with the picture put right -> the rest of the way, twice
          -> a patch around each cell -> convolutions -> its class

The last layer of the first part is linear in how far the picture is off, so that it can be asked
again until it is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.apps.drmario.reader import camera, cell_classes
from training.apps.drmario.reader.cell_classes import CELLS, CLASSES, MIDDLES, Reading
from training.run.options import require
from training.run.weights import NetworkFile

# Rows and columns of frames that are read. A picture alone is put into the middle of a frame.
SIZES = (camera.FRAME, camera.PICTURE)
FILE = NetworkFile("fastenv-reader", "reader", "reader", "python -m training reader")
ROUNDS = 3  # how often it is looked where the picture lies
COARSE = 4  # pixels of a frame a pixel of what that is seen in
UNITS = 16.0  # pixels of a frame that count as 1 in what is off
SIDE, STEP = 16, 1.25  # of a patch: points, and pixels of the picture between them
WIDTHS = (16, 32, 48, 64)
CHUNK = 4  # frames that are read at once


class Reader(nn.Module):
    """Reads frames of Dr. Mario.

    Parameters
    ----------
    seed : int
        Of the initial parameters; the global generator is left alone.
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            layers: list[nn.Module] = []
            for before, after in zip((3, *WIDTHS), WIDTHS, strict=False):
                layers += [nn.Conv2d(before, after, 3, 2, 1), nn.ReLU(inplace=True)]
            rows, columns = (-(-side // COARSE) for side in camera.FRAME)
            for _ in WIDTHS:
                rows, columns = -(-rows // 2), -(-columns // 2)
            size = WIDTHS[-1] * rows * columns
            layers += [nn.Flatten(), nn.Linear(size, 64), nn.ReLU(), nn.Linear(64, 6)]
            self.locate = nn.Sequential(*layers)
            self.classify = nn.Sequential(
                *(nn.Conv2d(3, 24, 5, 2, 2), nn.ReLU(inplace=True)),
                *(nn.Conv2d(24, 48, 3, 2, 1), nn.ReLU(inplace=True)),
                *(nn.Flatten(), nn.Linear(48 * (SIDE // 4) ** 2, 96), nn.ReLU()),
                nn.Linear(96, len(CLASSES)),
            )
            last = self.locate[-1]
            assert isinstance(last, nn.Linear)
            nn.init.zeros_(last.weight)  # at first nothing is off
            nn.init.zeros_(last.bias)
        half = torch.tensor([camera.PICTURE[1], camera.PICTURE[0]]) / 2
        middles = torch.from_numpy(MIDDLES) / 2 - half
        patch = camera.list_points(SIDE, SIDE) * STEP
        self.corners: Tensor  # of a picture, (3, 2)
        signs = torch.tensor([[-1, -1], [1, -1], [-1, 1]])
        self.register_buffer("corners", signs * half, False)
        self.points: Tensor  # of all patches, (138, 256, 2)
        self.register_buffer("points", middles[:, None] + patch, False)
        self.coarse: Tensor
        rows, columns = (side // COARSE for side in camera.FRAME)
        self.register_buffer("coarse", camera.list_points(rows, columns) * COARSE, False)

    def places(self, frames: Tensor, rounds: int = ROUNDS) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield where the pictures in frames lie, nearer each time, as :meth:`classes` takes it.

        Only the last correction has a gradient.
        """
        halved = F.avg_pool2d(frames, 2)
        matrix = torch.eye(2).repeat(len(frames), 1, 1)
        shift = torch.zeros(len(frames), 2)
        for _ in range(rounds):
            matrix, shift = matrix.detach(), shift.detach()
            at = place(self.coarse, matrix, shift) / 2
            put_right = camera.interpolate(halved, at)
            sides = [side // COARSE for side in camera.FRAME]
            matrix, shift = move_places(matrix, shift, self.locate(put_right.unflatten(2, sides)))
            yield matrix, shift

    def classes(
        self, frames: Tensor, matrix: Tensor, shift: Tensor, cells: Tensor | None = None
    ) -> Tensor:
        """Return the logits of the classes of cells, shape (n, k, 25).

        Parameters
        ----------
        frames : Tensor, shape (n, 3, 400, 300)
        matrix, shift : Tensor, shape (n, 2, 2) and (n, 2)
            Where the pictures lie; see :data:`training.apps.drmario.reader.camera.CAMERA`.
        cells : Tensor of int, shape (n, k), optional
            Which; default all 138.
        """
        points = self.points[None] if cells is None else self.points[cells]
        patches = camera.interpolate(frames, place(points.flatten(1, 2), matrix, shift))
        patches = patches.unflatten(2, (-1, SIDE, SIDE)).transpose(1, 2).flatten(0, 1)
        logits: Tensor = self.classify(patches)
        return logits.unflatten(0, (len(frames), -1))

    @torch.inference_mode()
    def read_classes(self, frames: np.ndarray) -> np.ndarray:
        """Return the class of every cell, uint8, shape (n, 138); see :meth:`read`."""
        images = fit_to_input(frames)
        classes = []
        for k in range(0, len(images), CHUNK):
            x = as_input(images[k : k + CHUNK])
            *_, found = self.places(x)
            classes.append(self.classes(x, *found).argmax(2).byte().numpy())
        return np.concatenate(classes) if classes else np.zeros((0, CELLS), np.uint8)

    def read(self, frames: np.ndarray) -> Reading:
        """Read frames.

        Parameters
        ----------
        frames : ndarray of uint8, shape (n, H, W, 3)
            In RGB, of one of the :data:`SIZES`, or twice that.

        Raises
        ------
        ConfigError
            Frames of another size.
        """
        return cell_classes.read_cells(self.read_classes(frames))


def place(points: Tensor, matrix: Tensor, shift: Tensor) -> Tensor:
    """Return where points of pictures (k, 2) or (n, k, 2) lie in frames, shape (n, k, 2)."""
    return points @ matrix.mT + shift[:, None]


def move_places(matrix: Tensor, shift: Tensor, off: Tensor) -> tuple[Tensor, Tensor]:
    """Correct the places of pictures by their estimated errors."""
    turn = off[:, :4].unflatten(1, (2, 2)) / UNITS + torch.eye(2)
    along = (matrix @ off[:, 4:, None]).squeeze(2) * UNITS / 4
    return matrix @ turn, shift + along


def fit_to_input(frames: np.ndarray) -> np.ndarray:
    """Return frames as the network takes them, uint8, shape (n, 400, 300, 3).

    Raises
    ------
    ConfigError
        They are no such frames.
    """
    frames = np.asarray(frames)
    read = [*SIZES, *((2 * rows, 2 * columns) for rows, columns in SIZES)]
    named = " or ".join(f"(n, {rows}, {columns}, 3)" for rows, columns in read)
    fits = frames.ndim == 4 and frames.shape[1:3] in read and frames.shape[3] == 3
    require(fits, "shape of frames", frames.shape, named)
    require(frames.dtype == np.uint8, "dtype of frames", str(frames.dtype), "uint8")
    if frames.shape[1:3] not in SIZES:
        n, rows, columns, _ = frames.shape
        parts = frames.reshape(n, rows // 2, 2, columns // 2, 2, 3)
        frames = parts.mean((2, 4), np.float32).round().astype(np.uint8)
    if frames.shape[1:3] == camera.FRAME:
        return frames
    margins = [(a - b) // 2 for a, b in zip(camera.FRAME, camera.PICTURE, strict=True)]
    return np.pad(frames, [(0, 0), *((m, m) for m in margins), (0, 0)], "edge")


def as_input(frames: np.ndarray) -> Tensor:
    """Return frames (n, 400, 300, 3) as (n, 3, 400, 300) of mean 0 and deviation 1, each alone."""
    images = torch.from_numpy(frames).permute(0, 3, 1, 2).float()
    deviation, mean = torch.std_mean(images[..., ::COARSE, ::COARSE], (1, 2, 3), keepdim=True)
    return (images - mean) / (deviation + 1)


def save_reader(reader: Reader, path: Path, trained: str = "{}") -> None:
    """Write a network to a file of safetensors, as float16.

    Parameters
    ----------
    reader : Reader
    path : Path
    trained : str
        JSON that says how it was made.
    """
    tensors = {name: value.half() for name, value in reader.state_dict().items()}
    FILE.write(path, tensors, {"version": "1", "trained": trained})


def load_reader(path: str | Path) -> tuple[Reader, str]:
    """Load the network of a file, and the file's text about its training.

    Raises
    ------
    ConfigError
        It is no such file, or of another network.
    """
    about, tensors = FILE.read(Path(path))
    reader = Reader()
    FILE.fill(Path(path), reader, tensors)
    return reader.eval(), about.get("trained", "{}")
