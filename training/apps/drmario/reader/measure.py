"""Measure a reader on frames that no training has seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fastenv.drmario import tables as t
from training.apps.drmario.reader import camera, cell_classes, positions
from training.apps.drmario.reader.cell_classes import BOARD
from training.apps.drmario.reader.network import Reader
from training.evaluation.intervals import Resamples, share
from training.run.options import require
from training.run.seeds import MATCH_SEEDS

BATCH = 32
RESAMPLES = 1000


def measure(
    reader: Reader,
    count: int,
    seed: int = 0,
    agent: Path | None = None,
    ranges: camera.Ranges | None = None,
) -> dict[str, Any]:
    """Read frames of play: half of them at a decision, half while a pill is on its way.

    Parameters
    ----------
    reader : Reader
    count : int
        Of frames, about.
    seed : int
    agent : Path, optional
        A trained one, whose games are read too.
    ranges : Ranges, optional
        Of the cameras.

    Returns
    -------
    dict
        Shares with their 95 % intervals, and of how many: ``cells`` and whole ``boards`` of 128
        cells, ``previews``, ``pills`` of the frames in which one falls, and ``states``, of which
        all of it is right.
    """
    require(count >= 2, "--frames", count, "at least 2")
    first = MATCH_SEEDS + 1000 * seed
    rows = positions.mix_positions(count, first, agent, play_only=True)
    rng = np.random.default_rng(first)
    cameras = camera.draw(len(rows), rng, ranges)
    read, wanted = [], []
    for k in range(0, len(rows), BATCH):
        pictures, classes = cell_classes.draw_pictures(rows[k : k + BATCH])
        read.append(reader.read_classes(camera.shoot(pictures, cameras[k : k + BATCH], rng)))
        wanted.append(classes)
    return scores(np.concatenate(read), np.concatenate(wanted), cell_classes.has_falling_pill(rows))


def scores(classes: np.ndarray, wanted: np.ndarray, falls: np.ndarray) -> dict[str, Any]:
    """Return shares of what was read right.

    Parameters
    ----------
    classes, wanted : ndarray of uint8, shape (n, 138)
        Classes of cells.
    falls : ndarray of bool, shape (n,)
        Where a pill falls and does not rest.
    """
    read, true = cell_classes.read_cells(classes), cell_classes.read_cells(wanted)
    boards = (read.board == true.board).all(1)
    previews = (classes[:, BOARD:] == wanted[:, BOARD:]).all(1)
    pills = (read.pill == true.pill).all(1)
    cells = (read.board == true.board).sum(1, keepdims=True)
    of_cells = Resamples(cells, np.full(cells.shape, t.CELLS), RESAMPLES, 0).intervals()[0]
    parts = {
        "boards": boards,
        "previews": previews,
        "pills": pills[falls],
        "states": (boards & previews & pills)[falls],
    }
    return {
        "cells": {"share": of_cells.to_list(), "of": cells.size * t.CELLS},
        **{n: {"share": share(right).to_list(), "of": len(right)} for n, right in parts.items()},
    }
