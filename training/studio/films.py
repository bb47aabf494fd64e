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


def film(table: Table, timeline: Timeline, message: Film, places: Places) -> bytes:
    """Make the film of moments of the branch that is shown.

    Raises
    ------
    Refusal, FilmError
        If it cannot be made.
    """
    newest = timeline.branches[timeline.branch].last
    last = newest if message.last is None else min(message.last, newest)
    count = last - message.first + 1
    if count < 1:
        raise Refusal(f"film from {message.first} to {last}: there is nothing between them.")
    step = -(-count // MAX_PICTURES)
    with files.temporary_folder(places.kept) as folder:
        path = folder / f"film.{message.format}"
        writer.check(path)
        moments = range(message.first, last + 1, step)
        writer.write(path, (_draw(table, timeline.row(k)) for k in moments), message.fps)
        return path.read_bytes()


def _draw(table: Table, row: np.ndarray) -> np.ndarray:
    """Draw a moment as a person at the table sees it, or all of it where no person plays."""
    game = table.engine.game
    pixels: np.ndarray
    if table.persons and table.meets:
        pixels = game.render_seat(row[0], table.persons[0], "rgb_array")
    else:
        pixels = game.render(row[0], "rgb_array")
    return np.asarray(pixels)
