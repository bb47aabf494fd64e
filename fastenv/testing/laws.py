"""The rules of the interfaces, held against everything that an environment returns."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from fastenv.testing.report import Fault, Finding
from fastenv.testing.values import first_difference, is_named, parts_of, show

RESET = "Gymnasium, Env.reset"
STEP = "Gymnasium, Env.step"
CLOSE = "Gymnasium, Env.close"
VECTOR = "Gymnasium, VectorEnv"
MASKS = "a mask of legal actions, as sb3-contrib and PettingZoo read it"
PARALLEL = "PettingZoo, Parallel API"
TURNS = "PettingZoo, AEC API"
OWNED = "Gymnasium, Env.step returns values; VectorEnv, copy=True by default"
STARTED = "reset", "(observation, info)", RESET
FIVE = "(observation, reward, terminated, truncated, info)"
STEPPED = "step", FIVE, STEP


class Laws:
    """The rules that an environment is held to.

    Parameters
    ----------
    known : collection of str, optional
        Rules that may be broken: that is known already. None: all of them, and what takes long is
        left out, for tracks that are only compared with.
    ignore : sequence of str
        Fields that may change.

    Attributes
    ----------
    notes : dict of Finding
        Remarks that are no fault, by their rules.
    """

    def __init__(self, known: Collection[str] | None = None, ignore: Sequence[str] = ()) -> None:
        self._known = known
        self._ignore = ignore
        self.quiet: bool = known is None
        self.notes: dict[str, Finding] = {}

    def hold(
        self, holds: Any, rule: str, source: str, value: Any, allowed: Any, *, fatal: bool = False
    ) -> None:
        """Hold a rule that somebody can go on without, unless it is ``fatal``.

        Raises
        ------
        Fault
            It is broken, and that is not known or fatal.
        """
        if holds or (not fatal and (self._known is None or rule in self._known)):
            return
        a, b = (each if isinstance(each, str) else show(each) for each in (value, allowed))
        names = "returned", "allowed"
        raise Fault((a, b), kind="law broken", rule=rule, source=source, names=names)

    def note(self, rule: str, source: str) -> None:
        """Keep a remark that is no fault."""
        self.notes[rule] = Finding("note", rule, source)

    def check_result(self, result: Any, call: str, names: str, source: str) -> Any:
        """Check that a call returned a tuple as ``names`` says, with a dict last; return it.

        Raises
        ------
        Fault
            It is none.
        """
        value, length = type(result).__name__, None
        if hasattr(result, "__len__"):
            length = len(result)
            value = f"{value} of {length}"
        right = isinstance(result, tuple) and length == names.count(",") + 1
        self.hold(right, f"{call} returns {names}", source, value, names, fatal=True)
        is_dict = isinstance(result[-1], Mapping)
        self.hold(is_dict, "info is a dict", source, result[-1], "a dict", fatal=True)
        return result

    def check_kept(self, kept: Mapping[str, Any], returned: Mapping[str, Any]) -> None:
        """Hold what an earlier call returned to be as it was."""
        old, new = dict(_fields_of(kept)), dict(_fields_of(returned))
        rule = "what a call returned stays as it was, whatever is called later"
        for name in old | new:
            found = first_difference(name, old.get(name, "nothing"), new.get(name, "nothing"))
            if found is not None and not is_named(name, self._ignore):
                said = f"{show(found[1])}, as it was returned"
                self.hold(False, rule, OWNED, f"{found[0]}: {show(found[2])}", said)

    def check_reward(self, reward: Any, source: str = STEP) -> None:
        """Hold a reward to be a finite number."""
        try:
            finite = np.shape(reward) == () and math.isfinite(reward)
        except (TypeError, ValueError):
            finite = False
        self.hold(finite, "a reward is a finite number", source, reward, "a finite number")

    def check_observation(
        self, observation: Any, space: spaces.Space[Any], agent: str = ""
    ) -> None:
        """Hold an observation to its space: shape, dtype, bounds."""
        if self.quiet:
            return
        try:
            inside = space.contains(observation)
        except Exception as error:
            inside, observation = False, f"{observation!r} ({type(error).__name__}: {error})"
        if not inside:
            rule = f"an observation{f' of {agent}' if agent else ''} lies in its space"
            source = TURNS if agent else "Gymnasium, Env.observation_space"
            self.hold(False, rule, source, why_outside(observation, space), space)

    def check_mask(
        self, mask: Any, space: spaces.Space[Any], *, needed: bool = True
    ) -> np.ndarray | None:
        """Return a mask as an array of bool, or None where there is none.

        Parameters
        ----------
        mask : object
            As the environment gives it.
        space : gymnasium.spaces.Space
            Of the actions.
        needed : bool
            Whether some action must be legal: not at the end, nor for an agent who waits.
        """
        parts = parts_of(space)
        if mask is None or not parts:
            return None
        # Of several parts they stand one after the other, or each is a mask of its own.
        joined = len(parts) > 1 and isinstance(mask, (list, tuple)) and len(mask) == len(parts)
        values = np.concatenate([*map(np.ravel, mask)]) if joined else np.asarray(mask)
        length = sum(size for size, _ in parts)
        shape = values.shape == (length,)
        rule = "a mask has an entry for each action"
        self.hold(shape, rule, MASKS, values.shape, (length,), fatal=True)
        binary = ((values == 0) | (values == 1)).all()
        self.hold(binary, "a mask holds only 0 and 1", MASKS, mask, "0 and 1")
        rule = "while an episode runs, some action is legal"
        ends = np.cumsum([size for size, _ in parts])[:-1]
        some = all(part.any() for part in np.split(values, ends))
        self.hold(not needed or some, rule, MASKS, mask, "at least one 1", fatal=True)
        return np.asarray(values != 0)


def _fields_of(returned: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of what a call returned, each info by its name."""
    for name, value in returned.items():
        if name == "info" and isinstance(value, Mapping):
            yield from ((f"info.{key}", each) for key, each in value.items())
        else:
            yield name, value


def why_outside(value: Any, space: spaces.Space[Any]) -> str:
    """Say in which way a value does not lie in its space."""
    if isinstance(space, spaces.Dict) and isinstance(value, Mapping):
        for key in space.spaces.keys() & value.keys():
            if not space[key].contains(value[key]):
                return f"[{key!r}]: {why_outside(value[key], space[key])}"
        return f"keys {sorted(map(str, value))}"
    if isinstance(space, spaces.Box) and isinstance(value, np.ndarray):
        if value.shape != space.shape:
            return f"shape {value.shape}"
        if not np.can_cast(value.dtype, space.dtype):
            return f"dtype {value.dtype}"
        outside = ~((value >= space.low) & (value <= space.high))
        if outside.any():
            place = tuple(int(k) for k in np.argwhere(outside)[0])
            bounds = f"{space.low[place]} to {space.high[place]}"
            return f"{value[place]} at {list(place)}, where {bounds} is allowed"
    return f"{show(value)} ({type(value).__name__})"
