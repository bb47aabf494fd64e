"""What an environment must bear: the same seed and actions, while something else happens.

Each is a way to lead a second track through a case. Whatever it does, the track must show what the
first one showed, which nothing disturbed.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from fastenv.testing.laws import OWNED
from fastenv.testing.search import sample
from fastenv.testing.tracks import SingleTrack, Track, TurnsTrack

Make = Callable[..., Track]  # takes keyword arguments of the environment; its laws are quiet


class Missing(Exception):
    """The environment cannot do what a stress needs, such as copies."""


class Stress:
    """Nothing at all: the environment made again.

    Attributes
    ----------
    name : str
        As scripts write it.
    rule, source : str
        What must hold, and who says so.
    """

    name = "again"
    rule = "the same seed and actions give the same episode"
    source = "Gymnasium, Env.reset: a seed initialises the generator"

    def __init__(self, make: Make) -> None:
        self._make = make
        self._rng = np.random.default_rng(5)
        self._step = 0

    def begin(self) -> Track:
        """Return the track that is led through the case."""
        return self._make()

    def after(self, track: Track) -> Track:
        """Disturb after a reset or a step; return the track that goes on."""
        self._step += 1
        return track

    def end(self, track: Track) -> None:
        """Disturb at the end, and close what was made."""
        track.close()

    def _play(self, track: Track, seed: int | None, steps: int) -> None:
        """Lead a track through some random steps of an episode."""
        if seed is not None or track.over:
            track.reset(seed)
        for _ in range(steps):
            if track.over:
                return
            chosen = {who: sample(choice, self._rng) for who, choice in track.turn.items()}
            track.step(chosen)

    def _rarely(self) -> bool:
        """Return whether this step is one of those that are worth a copy."""
        return self._step <= 6 or self._step % 7 == 0


class Later(Stress):
    """Other episodes came before: those of the case but the last."""

    name = "after other episodes"
    rule = "what happened in other episodes does not change an episode"
    source = "Gymnasium, Env.reset: a new episode"


class Beside(Stress):
    """Another instance plays between the steps."""

    name = "beside another instance"
    rule = "instances do not share anything that changes"
    source = "Gymnasium, Env: each instance has its own state and generator"

    def begin(self) -> Track:  # noqa: D102
        track, self._other = self._make(), self._make()
        self._other.reset(93)
        return track

    def after(self, track: Track) -> Track:  # noqa: D102
        if self._other.over or self._rng.random() < 0.1:
            self._other.reset(int(self._rng.integers(1000)))
        self._play(self._other, None, 1)
        return track

    def end(self, track: Track) -> None:  # noqa: D102
        self._other.close()
        track.close()


class Copied(Stress):
    """A deep copy goes on while the original plays something else."""

    name = "copied"
    rule = "a copy goes on as the original would, and neither changes the other"
    source = "Python, copy.deepcopy"
    how = "copy"

    def after(self, track: Track) -> Track:  # noqa: D102
        super().after(track)
        if track.over or not self._rarely():
            return track
        twin = self._copy(track)
        self._play(track, None, 3)
        return twin

    def _copy(self, track: Track) -> Track:
        try:
            return track.copied(self.how)
        except Exception as error:
            raise Missing(f"{type(error).__name__}: {error}") from error


class Pickled(Copied):
    """What was pickled and read goes on while the original plays something else."""

    name = "pickled"
    rule = "what was pickled and read goes on as the original would"
    source = "Python, pickle"
    how = "pickle"


class Original(Copied):
    """The original goes on while a deep copy of it plays something else."""

    name = "beside its copy"

    def after(self, track: Track) -> Track:  # noqa: D102
        Stress.after(self, track)
        if not track.over and self._rarely():
            self._play(self._copy(track), None, 3)
        return track


class Overwritten(Stress):
    """Everything that a call returned is overwritten."""

    name = "with what it returned overwritten"
    rule = "what an environment returned belongs to the caller"
    source = OWNED

    def after(self, track: Track) -> Track:  # noqa: D102
        track.overwrite_returned()
        return track


class Generators(Stress):
    """Python's and NumPy's global generators are moved."""

    name = "with the global generators moved"
    rule = "an environment draws from its own generator alone"
    source = "Gymnasium, Env.np_random"

    def after(self, track: Track) -> Track:  # noqa: D102
        super().after(track)
        move_generators(self._step)
        return track


class Observed(Stress):
    """Everybody's observation is asked for again."""

    name = "with everybody observed again"
    rule = "looking changes nothing"
    source = "PettingZoo, AEC API: observe, last"

    def after(self, track: Track) -> Track:  # noqa: D102
        track.observe_again()
        return track


class Rendered(Stress):
    """It is drawn after every step."""

    name = "rendered"
    rule = "drawing changes nothing"
    source = "Gymnasium, Env.render"

    def begin(self) -> Track:  # noqa: D102
        try:
            track = self._make(render_mode="rgb_array")
            track.reset(94)
            picture = track.env.render()
        except Exception as error:
            raise Missing(f"{type(error).__name__}: {error}") from error
        if picture is None:
            raise Missing("render() returns None")
        return track

    def after(self, track: Track) -> Track:  # noqa: D102
        super().after(track)
        if self._rarely():
            track.env.render()
        return track


class Closed(Stress):
    """Another instance is closed, twice."""

    name = "beside a closed instance"
    rule = "closing an instance, once or twice, changes no other"
    source = "Gymnasium, Env.close"

    def begin(self) -> Track:  # noqa: D102
        other = self._make()
        self._play(other, 95, 3)
        track = self._make()
        other.close()
        other.close()
        return track

    def end(self, track: Track) -> None:  # noqa: D102
        track.close()
        track.close()


def move_generators(seed: int) -> None:
    """Seed Python's and NumPy's global generators."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002


def stresses_for(track: Track, copies: bool) -> list[type[Stress]]:
    """Return what a track of this kind must bear; that it gives the same again comes first."""
    kinds: list[type[Stress]] = [Stress, Later, Beside, Overwritten, Generators, Closed]
    if copies:
        kinds += [Copied, Original, Pickled]
    if isinstance(track, TurnsTrack):
        kinds.append(Observed)
    modes = (getattr(track.env, "metadata", None) or {}).get("render_modes") or ()
    if isinstance(track, (SingleTrack, TurnsTrack)) and "rgb_array" in modes:
        kinds.append(Rendered)
    return kinds


STRESSES = {
    each.name: each
    for each in (
        *(Stress, Later, Beside, Copied, Pickled, Original, Overwritten, Generators),
        *(Observed, Rendered, Closed),
    )
}
