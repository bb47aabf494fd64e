"""Train the network that reads frames."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from training.apps.drmario.reader import camera, cell_classes, positions
from training.apps.drmario.reader.cell_classes import EMPTY
from training.apps.drmario.reader.network import UNITS, Reader, as_input, place
from training.nets.descent import descend
from training.run.options import require
from training.run.seeds import TRAINING_BIT

SEEDS = 10**7  # of the positions of one training, at most
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
    log: Callable[[str], None] = lambda text: None,
) -> Reader:
    """Return a network that has learnt to read.

    Parameters
    ----------
    frames : int
        How many are looked at.
    seed : int
    agent : Path, optional
        A trained one, from whose games positions are taken too.
    log : callable
        Gets a line now and then.

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
    start, recent = time.process_time(), deque[list[float]](maxlen=TELL)

    def losses() -> Iterator[Tensor]:
        for batch in batches:
            location, entropy, wrong = _compute_losses(reader, batch, rng)
            recent.append([location.item(), entropy.item(), wrong.item()])
            yield location + entropy

    for step, _ in enumerate(descend(reader, optimizer, rate, losses(), max_norm=1.0), 1):
        if step % TELL == 0 or step == len(batches):
            location, cells, wrong = np.mean(recent, axis=0)
            log(
                f"{step * BATCH:>7,} frames {time.process_time() - start:>5.0f} s  "
                f"location {location:.4f}  cells {cells:.5f}  wrong {wrong:.3%}"
            )
    return reader


def _compute_losses(
    reader: Reader, rows: np.ndarray, rng: np.random.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the loss of the places, and cross-entropy and share of errors of the classes."""
    pictures, classes = cell_classes.draw_pictures(rows)
    cameras = camera.draw(len(rows), rng)
    frames = as_input(camera.shoot(pictures, cameras, rng))
    true_matrix, true_shift = (camera.get_tensor(cameras, name) for name in ("matrix", "shift"))
    corners, location = place(reader.corners, true_matrix, true_shift), torch.zeros(())
    for matrix, shift in reader.places(frames, 2):
        off = (place(reader.corners, matrix, shift) - corners) / UNITS
        location = location + F.smooth_l1_loss(off, torch.zeros_like(off), beta=0.1)
    truth = torch.from_numpy(rng.random(len(rows)) >= WANDERING)
    matrix = torch.where(truth[:, None, None], true_matrix, matrix.detach())
    shift = torch.where(truth[:, None], true_shift, shift.detach())
    noise = torch.from_numpy(rng.normal(0, 0.5, shift.shape).astype(np.float32))
    which = _draw_cells(classes, rng)
    logits = reader.classes(frames, matrix, shift + noise, which).flatten(0, 1)
    wanted = torch.from_numpy(classes).long().gather(1, which).flatten()
    entropy = F.cross_entropy(logits, wanted)
    return location, entropy, (logits.argmax(1) != wanted).float().mean()


def _draw_cells(classes: np.ndarray, rng: np.random.Generator) -> Tensor:
    """Draw cells (n, CELLS) to learn from: those that are empty are four times as rare."""
    keys = rng.random(classes.shape) * np.where(classes == EMPTY, 1.0, 4.0)
    return torch.from_numpy(np.argsort(-keys, axis=1)[:, :CELLS].copy())
