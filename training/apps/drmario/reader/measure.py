"""Measure a reader: on frames that no training has seen, and by playing through it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fastenv.drmario import tables as t
from training.apps.drmario.best_times import ENV
from training.apps.drmario.compare import load_player
from training.apps.drmario.reader import camera, cell_classes, positions
from training.apps.drmario.reader.cell_classes import BOARD
from training.apps.drmario.reader.network import Reader
from training.apps.drmario.reader.player import CameraPlayer
from training.evaluation.evaluation import Evaluation, play
from training.evaluation.intervals import Resamples, share
from training.evaluation.judging import EPISODES
from training.run.envs import with_defaults
from training.run.options import require
from training.run.seeds import MATCH_SEEDS

BATCH = 32  # frames that are drawn at once
RESAMPLES = 1000
LANES = 64  # games that are played at once
LEVEL = 5  # of bots


def measure(reader: Reader, count: int, seed: int = 0, agent: Path | None = None) -> dict[str, Any]:
    """Read frames of play: half of them at a decision, half while a pill is on its way.

    Parameters
    ----------
    reader : Reader
    count : int
        Of frames, about.
    seed : int
    agent : Path, optional
        A trained one, whose games are read too.

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
    cameras = camera.draw(len(rows), rng)
    read, wanted = [], []
    for k in range(0, len(rows), BATCH):
        pictures, classes = cell_classes.draw_pictures(rows[k : k + BATCH])
        read.append(reader.read_classes(camera.shoot(pictures, cameras[k : k + BATCH], rng)))
        wanted.append(classes)
    return score(np.concatenate(read), np.concatenate(wanted))


def score(classes: np.ndarray, wanted: np.ndarray) -> dict[str, Any]:
    """Return shares of what was read right.

    Parameters
    ----------
    classes, wanted : ndarray of uint8, shape (n, 138)
        Classes of cells.
    """
    read, true = cell_classes.read_cells(classes), cell_classes.read_cells(wanted)
    falls = (true.pill != cell_classes.NO_PILL).any(1)
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


# -- playing through it ----------------------------------------------------------------------------


def compare(
    who: str,
    reader: Reader,
    *,
    episodes: int,
    max_steps: int,
    level: int | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Let a player play the same games on rows and through a camera.

    Parameters
    ----------
    who : str
    reader : Reader
    episodes : int
    max_steps : int
        Decisions of an episode at most.
    level : int, optional
        Default that of the training.
    seed : int

    Returns
    -------
    dict
        ``players``: shares of clears, viruses left and refused placements; ``difference``: of the
        shares of clears, pixels less rows, with its 95 % interval over games.
    """
    require(episodes >= 2, "--episodes", episodes, "at least 2")
    require(max_steps >= 1, "--max-steps", max_steps, "at least 1")
    player, options = load_player(who, flag="--who")
    options = with_defaults(ENV, {"level": LEVEL}) if options is None else options
    options["level"] = options["level"] if level is None else level
    first = MATCH_SEEDS + seed
    games = Evaluation(
        *(EPISODES, ENV, options),
        seeds=range(first, first + episodes),
        lanes=LANES,
        max_steps=max_steps,
    )
    played = play(
        games.by({"rows": player, "pixels": partial(CameraPlayer, player, reader, options)})
    )
    drawn = played.estimate(["clear", "viruses", "frames_to_clear"], seed=seed)
    outcomes: dict[str, dict[str, Any]] = {}
    for name, means in drawn.means.items():
        own = played.of(player=name)
        outcomes[name] = {column: mean.to_list() for column, mean in means.items()}
        outcomes[name]["decisions"] = int(own["steps"].sum())
        outcomes[name]["refused"] = float(own["invalid_actions"].sum() / own["steps"].sum())
    return {
        "level": options["level"],
        "speed": options["speed"],
        "episodes": episodes,
        "max_steps": max_steps,
        "players": outcomes,
        "difference": drawn.difference("pixels", "rows", "clear").to_list(),
    }
