"""Options that were removed, and their values in older files.

Run folders, exported agents, records, files for ``--config`` and journals of sweeps were written by
versions that had these options. At the default that it had then, an option decided nothing that is
not decided so today: it is left out. Any other value asks for what is no longer there, and is
refused. Hashes of stored options are taken over the values as they were stored, so nothing is left
out before they are checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from training.run.options import format_values, require


class Removed(NamedTuple):
    """An option that was removed.

    Parameters
    ----------
    default : object
        What it was by default: what is done today.
    today : str
        How it is without the option; ends the sentence that refuses another value.
    """

    default: Any
    today: str


_ONE_VALUE = "what trackers pay is added to the rewards of the game, and there is one value of both"

# By section and name.
OPTIONS: dict[str, dict[str, Removed]] = {
    "native": {
        "env_groups": Removed(1, "all lanes are stepped together"),
        "value_clip": Removed(
            "sb3", "with native.clip_range_vf the error is that of the clipped value"
        ),
        "norm_adv": Removed("minibatch", "advantages are normalised over each minibatch"),
        "refresh_states": Removed(False, "states at chunk starts are those of the rollout"),
        "obs_device": Removed(
            "auto",
            "observations are kept on the device; with fewer num_envs or ppo.n_steps they take "
            "less of its memory",
        ),
        "clip_schedule": Removed("constant", "clip ranges do not change during a run"),
        "intrinsic_coef": Removed(None, _ONE_VALUE),
        "intrinsic_gamma": Removed(0.99, _ONE_VALUE),
        "intrinsic_episodic": Removed(True, _ONE_VALUE),
    },
    "selfplay": {
        "weights": Removed("age", "newer snapshots are drawn more often"),
    },
}
# Kinds of trackers, and what does something like it.
TRACKERS = {
    "rnd": "visits pays for what is new",
    "memory": "visits with scope: episode pays for what is new in an episode",
    "likelihood": "episodes tells what episodes bring",
}


def drop_removed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the removed options from those of a run.

    Parameters
    ----------
    values : mapping
        Plain values.

    Raises
    ------
    ConfigError
        If one has another value than its old default; names it.
    """
    left = dict(values)
    for section in OPTIONS:
        if isinstance(given := left.get(section), Mapping):
            left[section] = drop_from_section(section, given)
    return left


def drop_from_section(section: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the removed options from those of a section; see :func:`drop_removed`."""
    for name, removed in OPTIONS[section].items():
        if name in values:
            value, default = values[name], removed.default
            allowed = (
                f"{format_values(default)} or left out: the option was removed, and {removed.today}"
            )
            require(_is_default(value, default), f"{section}.{name}", value, allowed)
    return {name: value for name, value in values.items() if name not in OPTIONS[section]}


def refuse_tracker(option: str, kind: object) -> None:
    """Refuse a kind of tracker that was removed.

    Parameters
    ----------
    option : str
        That names it.
    kind : object

    Raises
    ------
    ConfigError
    """
    if isinstance(kind, str) and kind in TRACKERS:
        require(False, option, kind, f"another kind: this one was removed, and {TRACKERS[kind]}")


def _is_default(value: Any, default: Any) -> bool:
    """Tell whether a value is the default; 1.0 is 1, but true is not."""
    if isinstance(default, bool) or not isinstance(default, int | float):
        return type(value) is type(default) and bool(value == default)
    return type(value) in (int, float) and bool(value == default)
