"""Runs that are killed, and what is left of their ratings."""

import sqlite3
from contextlib import contextmanager

import pytest

from training.run.stats import IterationSums


class Killed(BaseException):
    """Ends a run where it is raised."""


@contextmanager
def killed_at(step):
    """Kill the run inside at this step of its engines, and see that it was."""
    taken, add = 0, IterationSums.add

    def until_killed(sums, engine):
        nonlocal taken
        taken += 1
        if taken == step:
            raise Killed
        add(sums, engine)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IterationSums, "add", until_killed)
        with pytest.raises(Killed):
            yield


def rating_rows(run):
    """Return the rows of the ratings of a run with a pool."""
    database = sqlite3.connect(run / "ratings.sqlite")
    rows = database.execute("SELECT * FROM ratings ORDER BY step, player").fetchall()
    database.close()
    return rows
