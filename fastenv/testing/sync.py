"""Bring one environment into the state of another: how, and by which recipe for known games."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastenv.errors import ConfigError
from fastenv.testing.factories import find_function, write_value
from fastenv.testing.masks import find_mask, find_method
from fastenv.testing.report import Call, Fault, Refused
from fastenv.testing.stress import Tracks
from fastenv.testing.tracks import Actions, Frame, Track
from fastenv.testing.values import first_difference, say_error, show, to_action

OUTCOME = "outcome (observation, reward, terminated)"


@dataclass(frozen=True)
class Sync:
    """How a reference takes over what another environment drew by chance.

    Two packages draw from other generators. So the reference is set into the state of the fast one
    where an episode begins, or after every step too.

    Parameters
    ----------
    set_state : callable
        ``set_state(fast, reference, observation)``: put the reference into the state in which the
        fast one shows ``observation``. Of a vector environment ``fast`` is the whole, and
        ``reference`` and ``observation`` those of one lane.
    each_step : bool
        Set it after each step too, once the step was compared: rounding does not add up.
    outcomes : callable, optional
        ``outcomes(reference, action)``, before a step: everything that chance may make of it, as
        ``(observation, reward, terminated)``. What the fast one shows must be among it.
    """

    set_state: Callable[[Any, Any, Any], None]
    each_step: bool = False
    outcomes: Callable[[Any, Any], list[tuple[Any, float, bool]]] | None = None


@dataclass
class Following:
    """A reference that takes over the state of the first of two.

    Parameters
    ----------
    first, second : Track
        The second has single environments.
    sync : Sync
    rtol : float
        Relative tolerance of outcomes.
    """

    first: Track
    second: Track
    sync: Sync
    rtol: float
    _shown: Frame | str = ""

    def lead(self) -> Tracks:
        """Yield the second, and bring it into the first's state before the next call."""
        while True:
            yield self.second
            if isinstance(self._shown, dict):
                self._set_state(self._shown)

    def _set_state(self, shown: Frame) -> None:
        second = self.second
        each_step = self.sync.each_step or self.sync.outcomes is not None
        for who, env in second.singles().items():
            if (who in second.begun or each_step) and who not in second.resting:
                try:
                    self.sync.set_state(self.first.env, env, shown[who, "observation"])
                except Exception as error:
                    raise Refused(f"sync: {say_error(error)}") from error

    def expect(self, call: Call, shown: Frame | str) -> Frame | str:
        """Return what the second shows, with the first's in the place of what it cannot know.

        Raises
        ------
        Fault
            The first shows none of the outcomes that the second allows.
        """
        self._shown, second = shown, self.second
        if isinstance(call, dict) and isinstance(shown, dict) and self.sync.outcomes is not None:
            return self._expect_outcomes(call, shown)
        other = second.attempt(call)
        if isinstance(shown, str) or isinstance(other, str):
            return other
        later = {  # where an episode began, its state is not set yet
            (who, field)
            for who, field in shown | other
            if who in second.begun
            and (field in ("observation", "mask") or field.startswith("info."))
        }
        known = {key: value for key, value in other.items() if key not in later}
        return known | {key: shown[key] for key in later & shown.keys()}

    def _expect_outcomes(self, actions: Actions, shown: Frame) -> Frame:
        """Hold a step to be one of its outcomes; return it with what does not depend on chance."""
        first, second, frame = self.first, self.second, dict(shown)
        singles = second.singles()
        for who, env in singles.items():
            if who in second.resting:
                continue
            allowed = self._list_outcomes(env, actions[who])
            seen = shown.get((who, "final observation"), shown[who, "observation"])
            got = seen, shown[who, "reward"], bool(shown[who, "terminated"])
            if not any(first_difference("", got, each, self.rtol) is None for each in allowed):
                values = show(got), f"one of {show(allowed)}"
                raise Fault(values, who=who, field=OUTCOME)
            frame |= self._step_beside(who, env, actions[who], shown, seen)
        for who in first.begun & singles.keys():
            singles[who].reset()
        # Its episodes end and begin where the first's do, and its state will be set.
        second.over, second.begun, second.resting = first.over, first.begun, first.resting
        return frame

    def _list_outcomes(self, env: Any, action: Any) -> list[tuple[Any, float, bool]]:
        assert self.sync.outcomes is not None
        try:
            return self.sync.outcomes(env, action)
        except Exception as error:
            raise Refused(f"sync: outcomes: {say_error(error)}") from error

    def _step_beside(self, who: str, env: Any, action: Any, shown: Frame, seen: Any) -> Frame:
        """Step the reference too; return the fields that do not depend on chance.

        That is the time limit, where chance did not end one of both alone; and the mask, where it
        made the same of both.
        """
        try:
            result = env.step(to_action(env.action_space, action))
        except Exception:  # chance ended its episode before
            return {}
        observation, _, terminated, truncated, info = result
        if bool(terminated) != bool(shown[who, "terminated"]):
            return {}
        frame: Frame = {(who, "truncated"): bool(truncated)}
        same = first_difference("", seen, observation, self.rtol) is None
        mask = find_mask(find_method(env), info, observation)
        ended = shown[who, "terminated"] or shown[who, "truncated"]
        if same and mask is not None and (who, "mask") in shown and not ended:
            frame[who, "mask"] = mask
        return frame


def _set_numbers(fast: Any, reference: Any, observation: Any) -> None:
    """Set the state to the observation (CartPole, MountainCar)."""
    numbers = np.asarray(observation, np.float64)
    game = reference.unwrapped
    game.state = numbers if isinstance(getattr(game, "state", None), np.ndarray) else tuple(numbers)


def _set_pendulum(fast: Any, reference: Any, observation: Any) -> None:
    """Set angle and speed by the cosine and sine of the angle, and the speed."""
    cosine, sine, speed = np.asarray(observation, np.float64)
    reference.unwrapped.state = np.array([np.arctan2(sine, cosine), speed])


def _set_acrobot(fast: Any, reference: Any, observation: Any) -> None:
    """Set two angles by their cosines and sines, and their speeds."""
    c1, s1, c2, s2, v1, v2 = np.asarray(observation, np.float64)
    reference.unwrapped.state = np.array([np.arctan2(s1, c1), np.arctan2(s2, c2), v1, v2])


def _set_place(fast: Any, reference: Any, observation: Any) -> None:
    """Set the number of the state, which the observation is (toy games)."""
    reference.unwrapped.s = int(observation)


def _places(reference: Any, action: Any) -> list[tuple[Any, float, bool]]:
    """List every transition of a toy game's table."""
    game = reference.unwrapped
    return [
        (int(place), float(reward), bool(ended))
        for chance, place, reward, ended in game.P[int(game.s)][int(action)]
        if chance > 0
    ]


def _set_blackjack(fast: Any, reference: Any, observation: Any) -> None:
    """Set hands that look as the observation says: sum, shown card, usable ace."""
    total, shown, ace = (int(each) for each in observation)
    game = reference.unwrapped
    if ace:
        game.player = [1, total - 11]
    else:
        game.player = [10, total - 10] if total >= 12 else [2, total - 2]
    game.dealer = [shown, game.dealer[1]]


def _hands(reference: Any, action: Any) -> list[tuple[Any, float, bool]]:
    """List every card that may be drawn, or every way in which the dealer may end."""
    game = reference.unwrapped
    hand, shown = game.player, game.dealer[0]

    def look(cards: list[int]) -> tuple[int, int, int]:
        ace = int(1 in cards and sum(cards) + 10 <= 21)
        return sum(cards) + 10 * ace, shown, ace

    if action:
        drawn = [look([*hand, card]) for card in range(1, 11)]
        return [(each, -1.0 if each[0] > 21 else 0.0, each[0] > 21) for each in drawn]
    total = look(hand)[0]
    ends = [17, 18, 19, 20, 21, 0]
    paid = {float((total > end) - (total < end)) for end in ends}
    if total == 21:
        paid.add(1.5)
    return [(look(hand), reward, True) for reward in sorted(paid)]


RECIPES = {
    "CartPole": Sync(_set_numbers, each_step=True),
    "MountainCar": Sync(_set_numbers, each_step=True),
    "MountainCarContinuous": Sync(_set_numbers, each_step=True),
    "Pendulum": Sync(_set_pendulum, each_step=True),
    "Acrobot": Sync(_set_acrobot, each_step=True),
    **dict.fromkeys(
        ("FrozenLake", "FrozenLake8x8", "CliffWalking", "CliffWalkingSlippery", "Taxi"),
        Sync(_set_place, each_step=True, outcomes=_places),
    ),
    "Blackjack": Sync(_set_blackjack, each_step=True, outcomes=_hands),
}


def write_sync(sync: Sync) -> str:
    """Return a sync as an argument of a script: the name of a recipe, or its functions."""
    names = [name for name, recipe in RECIPES.items() if recipe == sync]
    given = write_value(sync.set_state), repr(sync.each_step), write_value(sync.outcomes)
    return repr(names[0]) if names else f"{write_value(Sync)}({', '.join(given)})"


def as_sync(sync: object) -> Sync | None:
    """Return a recipe by name, one that is given, or one of a function that sets the state.

    Raises
    ------
    ConfigError
        It is none of them.
    """
    if sync is None or isinstance(sync, Sync):
        return sync
    if isinstance(sync, str) and ":" in sync:
        return as_sync(find_function("sync", sync))
    if isinstance(sync, str):
        name = sync.partition("-")[0]
        if name not in RECIPES:
            raise ConfigError(f"sync={show(sync)}: must be one of {', '.join(RECIPES)}")
        return RECIPES[name]
    if callable(sync):
        return Sync(sync)
    raise ConfigError(
        f"sync={show(sync)}: must be a Sync, a function (fast, reference, observation) that sets "
        "the reference's state, or the name of a recipe"
    )
