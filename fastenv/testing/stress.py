"""What an environment must bear: the same seeds and actions, while something else happens.

Each stress is a generator: it yields the track that takes the next call of a case, and disturbs
between two calls. Whatever it does, the track must show what the first one showed, which nothing
disturbed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np

from fastenv.testing.laws import CLOSE, OWNED, RESET
from fastenv.testing.report import Fault, Finding, Kind, Missing
from fastenv.testing.search import sample
from fastenv.testing.tracks import Frame, Track, TurnsTrack
from fastenv.testing.values import say_error

# Makes a track, with more keyword arguments of the environment; whoever gives it closes the tracks.
Make = Callable[..., Track]
Tracks = Generator[Track, None, None]
Lead = Callable[[Make], Tracks]


def lead_again(make: Make) -> Tracks:
    """Do nothing else."""
    track = make()
    while True:
        yield track


def between(disturb: Callable[[Track, int], None]) -> Lead:
    """Return what disturbs a track after each of its calls, with the number of the call."""

    def lead(make: Make) -> Tracks:
        for number, track in enumerate(lead_again(make)):
            yield track
            disturb(track, number)

    return lead


def _lead_anew(make: Make) -> Tracks:
    while True:
        track = make()
        yield track
        while not track.over:
            yield track


def _lead_beside(make: Make) -> Tracks:
    track, other, rng = make(), make(), np.random.default_rng(5)
    other.reset(93)
    while True:
        yield track
        if other.over or rng.random() < 0.1:
            other.reset(int(rng.integers(1000)))
        play_on(other, rng, 1)


def _lead_closed(make: Make) -> Tracks:
    other = make()
    other.reset(95)
    play_on(other, np.random.default_rng(5), 3)
    track = make()
    other.close()
    other.close()
    while True:
        yield track


def _lead_copied(make: Make, how: str = "copy", original: bool = False) -> Tracks:
    """Let a copy go on while the original plays something else, or the other way round."""
    rng, track = np.random.default_rng(5), make()
    for number in count():
        yield track
        if is_rare(number) and not track.over:
            try:
                twin = track.copied(how)
            except Exception as error:
                raise Missing(say_error(error)) from error
            play_on(twin if original else track, rng, 3)
            track = track if original else twin


def _lead_rendered(make: Make) -> Tracks:
    try:
        track = make(render_mode="rgb_array")
        track.reset(94)
        picture = track.env.render()
    except Exception as error:
        raise Missing(say_error(error)) from error
    if picture is None:
        raise Missing("render() returns None")
    for number in count():
        yield track
        if is_rare(number):
            track.env.render()


def _lead_unseeded(make: Make) -> Tracks:
    """Compare the starts after a reset without a seed, before any call of the case."""
    firsts, seconds = [], []
    for seed in range(8):
        track = make()
        firsts.append(_look_of(track.reset(seed)))
        seconds.append(_look_of(track.reset(None)))
    random_start = len(set(firsts)) > 2
    if random_start and (len(set(seconds)) == 1 or seconds == firsts):
        raise Fault(("the same start each time", "another start each time"))
    yield from lead_again(make)


def _look_of(frame: Frame) -> str:
    return str(sorted((str(key), repr(value)) for key, value in frame.items() if key[1] != "mask"))


def play_on(track: Track, rng: np.random.Generator, steps: int) -> str:
    """Lead a track through random steps of its episode; return what goes wrong, "" if nothing.

    Most often nobody looks: what it raises is found where it is looked at.
    """
    try:
        for _ in range(steps):
            if not track.over:
                track.step({who: sample(choice, rng) for who, choice in track.turn.items()})
    except Exception as error:
        track.over = True
        return str(error) if isinstance(error, Fault) else say_error(error)
    return ""


def is_rare(number: int) -> bool:
    """Return whether this call is one of those that are worth a copy or a picture."""
    return number < 6 or number % 7 == 0


def move_generators(seed: int) -> None:
    """Seed Python's and NumPy's global generators."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002


@dataclass(frozen=True)
class Stress:
    """What happens to a second track, which must show what the first one showed.

    Parameters
    ----------
    name : str
        As scripts write it; "" of the case itself: alone, or beside a reference.
    rule, source : str
        What must hold, and who says so.
    lead : callable
        Takes what makes a track, and yields the second track of each call.
    kind, names
        Of a finding; by default a difference between the track alone and under the stress.
    """

    name: str
    rule: str
    source: str
    lead: Lead = lead_again
    kind: Kind = "difference"
    names: tuple[str, ...] = ()

    def find(self, index: int, fault: Fault) -> Finding:
        """Return the finding of a fault in a call of a case."""
        fields = {"kind": self.kind, "rule": self.rule, "source": self.source}
        names = self.names or ("alone", self.name)
        fields |= {"names": names, "stress": self.name, "index": index}
        return Finding(**(fields | fault.fields))


AGAIN = Stress("again", "the same seed and actions give the same episode", f"{RESET}: the seed")
ANEW = Stress(
    "made anew for each episode",
    "what happened in other episodes does not change an episode",
    f"{RESET}: a new episode",
    _lead_anew,
)
BESIDE = Stress(
    "beside another instance",
    "instances do not share anything that changes",
    "Gymnasium, Env: each instance has its own state and generator",
    _lead_beside,
)
OVERWRITTEN = Stress(
    "with what it returned overwritten",
    "what it returned belongs to the caller",
    OWNED,
    between(lambda track, _number: track.overwrite_returned()),
)
MOVED = Stress(
    "with the global generators moved",
    "an environment draws from its own generator alone",
    "Gymnasium, Env.np_random",
    between(lambda _track, number: move_generators(number)),
)
OBSERVED = Stress(
    "with everybody observed again",
    "looking changes nothing",
    "masks; PettingZoo: observe",
    between(lambda track, _number: track.observe_again()),
)
CLOSED = Stress(
    "beside a closed instance", "closing one, even twice, changes no other", CLOSE, _lead_closed
)
COPIED = Stress(
    "copied",
    "a copy goes on as the original would, and neither changes the other",
    "Python, copy.deepcopy",
    _lead_copied,
)
PICKLED = Stress(
    "pickled",
    "what was pickled and read goes on as the original would",
    "Python, pickle",
    partial(_lead_copied, how="pickle"),
)
BESIDE_COPY = Stress(
    "beside its copy", COPIED.rule, COPIED.source, partial(_lead_copied, original=True)
)
RENDERED = Stress("rendered", "drawing changes nothing", "Gymnasium, Env.render", _lead_rendered)
UNSEEDED = Stress(
    "reset without a seed",
    "a reset without a seed goes on with the generator",
    f"{RESET}: without a seed the generator is not reset",
    _lead_unseeded,
)
COPIES = COPIED, PICKLED, BESIDE_COPY
# Repeating the case comes first.
STRESSES = (
    *(AGAIN, ANEW, BESIDE, OVERWRITTEN, MOVED, OBSERVED, CLOSED),
    *(*COPIES, RENDERED, UNSEEDED),
)
OF_TWO = BESIDE, RENDERED, COPIED, UNSEEDED  # what two that are led alike do not show


def stresses_for(track: Track, *, copies: bool) -> list[Stress]:
    """Return the stresses that apply to a track."""
    left_out = set() if copies else {*COPIES}
    if not isinstance(track, TurnsTrack) and track.ask is None:
        left_out.add(OBSERVED)
    modes = (getattr(track.env, "metadata", None) or {}).get("render_modes") or ()
    if track.mode is not None or "rgb_array" not in modes:
        left_out.add(RENDERED)
    return [each for each in STRESSES if each not in left_out]
