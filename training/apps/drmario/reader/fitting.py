"""Train the network that reads frames."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from training.apps.drmario.reader import camera, cell_classes, positions
from training.apps.drmario.reader.cell_classes import EMPTY
from training.apps.drmario.reader.network import UNITS, Reader, as_input, halve_images, move_places
from training.nets.descent import descend
from training.run.options import require
from training.run.seeds import TRAINING_BIT

SEEDS = 1000  # of the positions of one training, at most
WANDERING = 0.5  # share of the patches that lie as the network places them, not as they are

BATCH = 16  # frames
CELLS = 96  # that are learnt from in a frame, above all those that are not empty
LEARNING_RATE = 2e-3  # the highest; it rises at first, and falls to 0
TELL = 50  # batches
OPTIONS = {"batch": BATCH, "cells": CELLS, "learning_rate": LEARNING_RATE}  # in records


def train(
    frames: int,
    seed: int,
    agent: Path | None = None,
    tell: Callable[[dict[str, float]], None] | None = None,
) -> Reader:
    """Return a network that has learnt to read.

    Parameters
    ----------
    frames : int
        How many are looked at.
    seed : int
    agent : Path, optional
        A trained one, from whose games positions are taken too.
    tell : callable, optional
        Is told frames, seconds of the processor and losses from time to time.

    Raises
    ------
    ConfigError
        For too few frames.
    """
    require(frames >= 3 * BATCH, "--frames", frames, f"at least {3 * BATCH}")
    rng = np.random.default_rng(seed)
    rows = positions.mix_positions(frames, TRAINING_BIT + SEEDS * seed, agent)
    reader = Reader(seed)
    optimizer = torch.optim.Adam(reader.parameters(), LEARNING_RATE)
    batches = [rows[k : k + BATCH] for k in range(0, len(rows), BATCH)]
    rising = 0.1 if len(batches) != 10 else 0.2  # a rise of one step alone is divided by 0
    rate = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, LEARNING_RATE, total_steps=len(batches), pct_start=rising
    )
    start, parts = time.process_time(), list[Sequence[float]]()

    def losses() -> Iterator[Tensor]:
        for batch in batches:
            location, entropy, wrong = _compute_losses(reader, batch, rng)
            parts.append((location.item(), entropy.item(), wrong.item()))
            yield location + entropy

    for step, _ in enumerate(descend(reader, optimizer, rate, losses(), max_norm=1.0), 1):
        if tell is not None and (step % TELL == 0 or step == len(batches)):
            names = ("location", "cells", "wrong")
            shown = dict(zip(names, np.mean(parts, axis=0).tolist(), strict=True))
            seconds = time.process_time() - start
            tell({"frames": step * BATCH, "cpu_s": seconds, **shown})
            parts.clear()
    return reader


def _compute_losses(
    reader: Reader, rows: np.ndarray, rng: np.random.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the loss of the places, and cross-entropy and share of errors of the classes."""
    pictures, classes = cell_classes.draw_pictures(rows)
    cameras = camera.draw(len(rows), rng)
    frames = as_input(camera.shoot(pictures, cameras, rng))
    location, matrix, shift = _compute_location_loss(reader, frames, cameras)
    truth = torch.from_numpy(rng.random(len(rows)) >= WANDERING)
    matrix = torch.where(truth[:, None, None], camera.tensor_of(cameras, "matrix"), matrix)
    shift = torch.where(truth[:, None], camera.tensor_of(cameras, "shift"), shift)
    noise = torch.from_numpy(rng.normal(0, 0.5, shift.shape).astype(np.float32))
    which = _draw_cells(classes, rng)
    logits = reader.classes(frames, matrix, shift + noise, which).flatten(0, 1)
    wanted = torch.from_numpy(classes).long().gather(1, which).flatten()
    entropy = F.cross_entropy(logits, wanted)
    return location, entropy, (logits.argmax(1) != wanted).float().mean()


def _compute_location_loss(
    reader: Reader, frames: np.ndarray, cameras: np.ndarray
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the loss of the located corners, in units, and return the last place with it."""
    halved = halve_images(frames)
    matrix = torch.eye(2).repeat(len(frames), 1, 1)
    shift = torch.zeros(len(frames), 2)
    placed = (camera.tensor_of(cameras, name) for name in ("matrix", "shift"))
    wanted = _locate_corners(reader, *placed)
    loss = torch.zeros(())
    for _ in range(2):
        matrix, shift = move_places(matrix, shift, reader.off(halved, matrix, shift))
        corners = _locate_corners(reader, matrix, shift)
        loss = loss + F.smooth_l1_loss(corners / UNITS, wanted / UNITS, beta=0.1)
        matrix, shift = matrix.detach(), shift.detach()
    return loss, matrix, shift


def _locate_corners(reader: Reader, matrix: Tensor, shift: Tensor) -> Tensor:
    return reader.corners @ matrix.mT + shift[:, None]


def _draw_cells(classes: np.ndarray, rng: np.random.Generator) -> Tensor:
    """Draw cells (n, CELLS) to learn from: those that are empty are four times as rare."""
    keys = rng.random(classes.shape) * np.where(classes == EMPTY, 1.0, 4.0)
    return torch.from_numpy(np.argsort(-keys, axis=1)[:, :CELLS].copy())
