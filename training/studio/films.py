"""A branch as a film."""

from __future__ import annotations

import numpy as np

from training.logs import film as writer
from training.run import files
from training.studio.messages import Film
from training.studio.places import Places
from training.studio.refusal import Refusal
from training.studio.table import Table
from training.studio.timeline import Timeline

MAX_PICTURES = 600


def film(table: Table, timeline: Timeline, asked: Film, places: Places) -> bytes:
    """Return the film of moments of the branch that is shown.

    Raises
    ------
    Refusal, FilmError
        If it cannot be made.
    """
    newest = timeline.branches[timeline.branch].last
    last = newest if asked.last is None else min(asked.last, newest)
    count = last - asked.first + 1
    if count < 1:
        raise Refusal(f"film from {asked.first} to {last}: there is nothing between them.")
    step = -(-count // MAX_PICTURES)
    with files.temporary_folder(places.kept) as folder:
        path = folder / f"film.{asked.format}"
        writer.check(path)
        moments = range(asked.first, last + 1, step)
        writer.write(path, (_picture(table, timeline.row(k)) for k in moments), asked.fps)
        return path.read_bytes()


def _picture(table: Table, row: np.ndarray) -> np.ndarray:
    """Return a picture as who plays sees it, or of all there is where nobody does."""
    game = table.engine.game
    found: np.ndarray
    if table.persons and table.meets:
        found = game.render_seat(row[0], table.persons[0], "rgb_array")
    else:
        found = game.render(row[0], "rgb_array")
    return np.asarray(found)
