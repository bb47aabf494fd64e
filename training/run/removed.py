"""Options in a file that the trainer of a run does not have: removed ones, and other trainers'.

Run folders, exported agents, records, files for ``--config`` and journals of sweeps were written by
versions that had these options. At the default that it had then, an option decided nothing that is
not decided so today: it is left out. Any other value asks for what is no longer there, and is
refused. Hashes of stored options are taken over the values as they were stored, so nothing is left
out before they are checked.

A config that was written for several trainers, or by an older version, has sections of them all.
Those that the trainer of a run does not use must have their usual values, and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from training.run import registry
from training.run.options import Options, format_values, require


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
_NOT_CLIPPED = "values may move as far as the error pulls them"
_NOT_READ_OFF = "nothing of the observation is to be read off what the head sees"

# By section and name.
OPTIONS: dict[str, dict[str, Removed]] = {
    "native": {
        "env_groups": Removed(1, "all lanes are stepped together"),
        "value_clip": Removed("sb3", _NOT_CLIPPED),
        "clip_range_vf": Removed(None, _NOT_CLIPPED),
        "norm_adv": Removed("minibatch", "advantages are normalised over each minibatch"),
        "refresh_states": Removed(False, "states at chunk starts are those of the rollout"),
        "obs_device": Removed(
            "auto",
            "observations are kept on the device; with fewer num_envs or ppo.n_steps they take "
            "less of its memory",
        ),
        "clip_schedule": Removed("constant", "clip ranges do not change during a run"),
        "burn_in": Removed(0, "all decisions of a chunk are learnt from"),
        "intrinsic_coef": Removed(None, _ONE_VALUE),
        "intrinsic_gamma": Removed(0.99, _ONE_VALUE),
        "intrinsic_episodic": Removed(True, _ONE_VALUE),
    },
    "ppo": {
        "rollout_buffer": Removed("stock", "Stable-Baselines3 stores the rollout"),
        "algorithm": Removed("stock", "Stable-Baselines3 collects the rollout"),
    },
    "dqn": {
        "polyak": Removed(None, "the network is copied into the target network"),
        "head_width": Removed(0, "streams of the head have no hidden layers of their own"),
        "bonus_head": Removed(False, "actions have quantiles alone"),
        "side_weight": Removed(0.0, _NOT_READ_OFF),
        "goal_weight": Removed(0.0, _NOT_READ_OFF),
        "warm_start": Removed(None, "a training begins with parameters of its own"),
        "noise_groups": Removed(16, "lanes act in at most 16 groups, each with a noise of its own"),
    },
    "evaluation": {
        "goals": Removed("uniform", "goals of the comparison are any from 0 to N"),
        "bids": Removed("rule_hard", "rule_hard bids for a Worker in a whole game"),
    },
    "gate": {
        "futility": Removed(True, "a test of method eprocess ends once it is hopeless"),
        "rehearsal": Removed(0.0, "mode linear trains on the newest stage alone"),
        "ready": Removed(None, "watch tests where the success rate in training is high enough"),
    },
    "hier": {
        "adaptive_epochs": Removed(False, "each policy has its n_epochs"),
        "cards": Removed("sample", "the Worker draws the Manager's cards from its policy"),
        "goals": Removed(
            {"manager": 0.5, "estimate": 0.25, "uniform": 0.25},
            "half of the Worker's lanes play to the Manager's bids, a quarter to what the hand "
            "promises, a quarter to any goal",
        ),
        "balance": Removed("episodes", "env_options.round_weights weighs a Worker's rounds"),
    },
    "selfplay": {
        "weights": Removed("age", "newer snapshots are drawn more often"),
        "play": Removed("sample", "snapshots draw their actions, as the learner does"),
    },
}
# Of trackers, by kind.
TRACKER_OPTIONS: dict[str, dict[str, Removed]] = {
    "visits": {
        "inverse_bonus": Removed(0.0, "count_bonus is divided by the root of the visits"),
    },
    "archive": {
        "sampling": Removed("inverse_sqrt", "what was seldom seen is drawn more often"),
        "capture_min_visits": Removed(3, "cells with more visits are not taken up"),
    },
    "quests": {
        "scope": Removed("episode", "a lane begins its quests anew in each episode"),
    },
    "progress": {
        "half_life": Removed(256.0, "what was counted has half its weight after 256 episodes"),
    },
}
# Of the stages of quests and the events of progress.
ITEMS: dict[str, dict[str, Removed]] = {
    "stages": {
        "requires": Removed([], "quests do not wait for each other"),
    },
    "events": {
        "weight": Removed(1.0, "each event is logged by itself"),
        "limit": Removed(None, "an event may happen in any step of an episode"),
        "prior": Removed([1.0, 1.0], "both numbers of a posterior begin with 1"),
    },
}
# Kinds of trackers, and what does something like it.
TRACKERS = {
    "rnd": "visits pays for what is new",
    "memory": "visits with scope: episode pays for what is new in an episode",
    "likelihood": "the log has the returns of episodes",
    "episodes": "the log has return and length of episodes, and the rates that the game counts",
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
    return _drop(OPTIONS[section], section, values)


def drop_from_tracker(kind: str, option: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the removed options from those of a tracker that an option names; likewise."""
    return _drop(TRACKER_OPTIONS.get(kind, {}), option, values)


def drop_from_item(items: str, option: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the removed options from those of a stage or an event; likewise."""
    return _drop(ITEMS[items], option, values)


def _drop(gone: Mapping[str, Removed], option: str, values: Mapping[str, Any]) -> dict[str, Any]:
    for name, removed in gone.items():
        if name in values:
            value, default = values[name], removed.default
            allowed = (
                f"{format_values(default)} or left out: the option was removed, and {removed.today}"
            )
            require(_is_default(value, default), f"{option}.{name}", value, allowed)
    return {name: value for name, value in values.items() if name not in gone}


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


# -- of other trainers -----------------------------------------------------------------------------


def drop_other_trainers(model: type[Options], values: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the options of other trainers from those of a run.

    Parameters
    ----------
    model : type of RunConfig
        Options of the run's trainer.
    values : mapping
        Plain values.

    Raises
    ------
    ConfigError
        If one of another trainer is not as usual, or not an option at all.
    """
    trainer = str(values.get("trainer", "native"))
    own = {}
    for name, value in values.items():
        owner = None if name in model.model_fields else _find_owner(name)
        if owner is None:
            own[name] = value  # what is no option at all is refused with the rest
        else:
            require(isinstance(value, Mapping), name, value, "a mapping of options to values")
            other, section = owner
            _require_defaults(section, section.from_mapping(value), other, trainer)
    return own


def _require_defaults(section: type[Options], given: Options, owner: str, trainer: str) -> None:
    usual = section()
    for option in section.names():
        value = getattr(usual, option)
        only = f"{format_values(value)} with trainer={trainer!r}: it belongs to trainer={owner!r}"
        same = getattr(given, option) == value
        require(same, f"{section.SECTION}{option}", getattr(given, option), only)


def _find_owner(name: str) -> tuple[str, type[Options]] | None:
    """Find the first trainer with that section, and the section."""
    for trainer in registry.TRAINERS:
        field = registry.OPTIONS.load(trainer).model_fields.get(name)
        kind = None if field is None else field.annotation
        if isinstance(kind, type) and issubclass(kind, Options):
            return trainer, kind
    return None
