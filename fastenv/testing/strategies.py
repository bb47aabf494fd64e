"""Episodes as a Hypothesis strategy, for properties of your own; needs the extra ``testing``."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
from gymnasium import spaces
from hypothesis import strategies as st

from fastenv.testing.factories import Factory, source_of
from fastenv.testing.laws import Laws
from fastenv.testing.report import Call
from fastenv.testing.search import sample
from fastenv.testing.tracks import Choice, Frame, make_track


def episodes(env: Factory, *, most_steps: int = 50) -> st.SearchStrategy[list[tuple[Call, Frame]]]:
    """Return a strategy of episodes that are played by legal actions.

    Parameters
    ----------
    env : str or callable
        As in :func:`fastenv.testing.compare`.
    most_steps : int
        How many an episode has at most.

    Returns
    -------
    SearchStrategy
        Of lists of pairs: a call (a seed for the reset, or the actions of everybody whose turn it
        is), and what it showed. That is a dict with keys such as ``("", "observation")`` or
        ``("player_0", "reward")``: who is shown it ("" in a single environment), and the field.
    """
    source = source_of("env", env)

    @st.composite
    def draw_episode(draw: Any) -> list[tuple[Call, Frame]]:
        with closing(make_track(source.make(), Laws())) as track:
            seed = draw(st.integers(0, 2**31 - 1))
            played: list[tuple[Call, Frame]] = [(seed, track.reset(seed))]
            for _ in range(draw(st.integers(0, most_steps))):
                if track.over:
                    break
                actions = {who: draw(_actions(choice)) for who, choice in track.turn.items()}
                played.append((actions, track.step(actions)))
            return played

    return draw_episode()


def _actions(choice: Choice) -> st.SearchStrategy[Any]:
    """Return a strategy of legal actions, the first of a discrete space the simplest."""
    if isinstance(choice.space, spaces.Discrete):
        count, first = int(choice.space.n), int(choice.space.start)
        legal = range(count) if choice.mask is None else choice.mask.nonzero()[0].tolist()
        return st.sampled_from([first + k for k in legal])
    seeds = st.integers(0, 2**32 - 1)
    return seeds.map(lambda seed: sample(choice, np.random.default_rng(seed)))
