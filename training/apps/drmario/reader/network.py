"""The network that reads frames: where the picture lies, then what each cell shows.

::

    frame -> halved twice -> convolutions -> where the picture lies, nearly
          -> the same with the picture put right -> the rest of the way, twice
          -> a patch around each cell -> convolutions -> its class

The last layer of the first part is linear in how far the picture is off, so that it can be asked
again until it is right.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from training.apps.drmario.reader import camera, cell_classes
from training.apps.drmario.reader.cell_classes import CELLS, CLASSES, MIDDLES, Reading
from training.run.network_file import NetworkFile
from training.run.options import require

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
        patch = camera.points_of(SIDE, SIDE) * STEP
        self.corners: Tensor  # of a picture, (3, 2)
        signs = torch.tensor([[-1, -1], [1, -1], [-1, 1]])
        self.register_buffer("corners", signs * half, False)
        self.points: Tensor  # of all patches, (138, 256, 2)
        self.register_buffer("points", middles[:, None] + patch, False)
        self.coarse: Tensor
        rows, columns = (side // COARSE for side in camera.FRAME)
        self.register_buffer("coarse", camera.points_of(rows, columns) * COARSE, False)

    def off(self, halved: np.ndarray, matrix: Tensor, shift: Tensor) -> Tensor:
        """Estimate the error of an assumed place of the picture, shape (n, 6).

        Parameters
        ----------
        halved : ndarray of float32, shape (n, 200, 150, 3)
            Frames at half their size.
        matrix, shift : Tensor, shape (n, 2, 2) and (n, 2)
            See :data:`training.apps.drmario.reader.camera.CAMERA`.
        """
        seen_so = camera.sampled(halved, self.coarse[None] / 2, matrix, shift / 2)
        of = seen_so.unflatten(1, [side // COARSE for side in camera.FRAME])
        offsets: Tensor = self.locate(of.permute(0, 3, 1, 2))
        return offsets

    def place(self, frames: np.ndarray) -> tuple[Tensor, Tensor]:
        """Locate the pictures in frames, as :meth:`classes` takes them."""
        halved = halve_images(frames)
        matrix = torch.eye(2).repeat(len(frames), 1, 1)
        shift = torch.zeros(len(frames), 2)
        for _ in range(ROUNDS):
            matrix, shift = move_places(matrix, shift, self.off(halved, matrix, shift))
        return matrix, shift

    def classes(
        self, frames: np.ndarray, matrix: Tensor, shift: Tensor, cells: Tensor | None = None
    ) -> Tensor:
        """Return the logits of the classes of cells, shape (n, k, 25).

        Parameters
        ----------
        frames : ndarray of float32, shape (n, 400, 300, 3)
        matrix, shift : Tensor
            Where the pictures lie.
        cells : Tensor of int, shape (n, k), optional
            Which; default all 138.
        """
        points = self.points[None] if cells is None else self.points[cells]
        samples = camera.sampled(frames, points.flatten(1, 2), matrix, shift)
        patches = samples.view(-1, SIDE, SIDE, 3).permute(0, 3, 1, 2)
        logits: Tensor = self.classify(patches)
        return logits.unflatten(0, (len(frames), -1))

    @torch.inference_mode()
    def read_classes(self, frames: np.ndarray) -> np.ndarray:
        """Return the class of every cell, uint8, shape (n, 138); see :meth:`read`."""
        images = fit_to_input(frames)
        classes = []
        for k in range(0, len(images), CHUNK):
            x = as_input(images[k : k + CHUNK])
            classes.append(self.classes(x, *self.place(x)).argmax(2).byte().numpy())
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


def as_input(frames: np.ndarray) -> np.ndarray:
    """Return frames (n, 400, 300, 3) as float32 of mean 0 and deviation 1, each by itself."""
    coarse = frames[:, ::COARSE, ::COARSE].reshape(len(frames), -1)
    mean, deviation = coarse.mean(1), coarse.std(1, ddof=1)
    scaled = np.empty(frames.shape, np.float32)
    for frame, own, its_mean, its in zip(scaled, frames, mean, deviation, strict=True):
        np.subtract(own, np.float32(its_mean), out=frame)
        frame *= np.float32(1 / (its + 1))
    return scaled


def halve_images(frames: np.ndarray) -> np.ndarray:
    """Return frames at half their size."""
    upper, lower = frames[:, ::2], frames[:, 1::2]
    halved: np.ndarray = upper[:, :, ::2] + upper[:, :, 1::2] + lower[:, :, ::2]
    halved += lower[:, :, 1::2]
    halved *= np.float32(0.25)
    return halved


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
