"""Tiny trained agents of every kind."""

import pytest

from . import agents, met


@pytest.fixture(scope="session")
def trained():
    """Return the committed folder of a tiny agent of a kind; not to be changed."""

    def folder(kind):
        if kind == "sb3":
            pytest.importorskip("sb3_contrib")
        return agents.FOLDER / kind

    return folder


@pytest.fixture(scope="module")
def agent():
    """Return the folder of a tiny agent of a kind of :mod:`met`, as text."""
    met.register()
    yield lambda kind: str(agents.FOLDER / kind)
    met.unregister()
