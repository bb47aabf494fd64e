"""Options of other trainers in the options of a run.

A config that was written for several trainers, or by an older version, has sections of them all.
Those that the trainer of a run does not use must have their usual values, and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from training.run import trainers
from training.run.options import Options, format_values, require, unknown_option


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
        if name in model.model_fields:
            section = _find_section(model, name)
            whole = section is None or not isinstance(value, Mapping)
            own[name] = value if whole else _drop_from_section(section, name, value, trainer)
        elif (owner := _find_owner(name)) is None:
            own[name] = value  # no option at all: it is refused with the rest
        else:
            require(isinstance(value, Mapping), name, value, "a mapping of options to values")
            for option in _drop_from_section(None, name, value, trainer):
                raise unknown_option(f"{name}.{option}", owner[1].model_fields)
    return own


def _drop_from_section(
    section: type[Options] | None, name: str, values: Mapping[str, Any], trainer: str
) -> dict[str, Any]:
    """Drop the options that a section has only with other trainers.

    Parameters
    ----------
    section : type of Options or None
        As the run's trainer has it, if it has it.
    name : str
    values : mapping
    trainer : str
    """
    known = () if section is None else section.model_fields
    left, theirs = {}, dict[str, dict[str, Any]]()
    for option, value in values.items():
        other = None if option in known else _find_owner(name, option)
        if other is None:
            left[option] = value
        else:
            theirs.setdefault(other[0], {})[option] = value
    for owner, given in theirs.items():
        model = _find_section(trainers.get_options(owner), name)
        assert model is not None
        _require_defaults(model, model.from_mapping(given), owner, trainer)
    return left


def _require_defaults(section: type[Options], given: Options, owner: str, trainer: str) -> None:
    usual = section()
    for option in section.names():
        value = getattr(usual, option)
        only = f"{format_values(value)} with trainer={trainer!r}: it belongs to trainer={owner!r}"
        same = getattr(given, option) == value
        require(same, f"{section.SECTION}{option}", getattr(given, option), only)


def _find_owner(name: str, option: str | None = None) -> Any:
    """Find the first trainer with that section, or with that option in it, and the section."""
    for trainer in trainers.names():
        section = _find_section(trainers.get_options(trainer), name)
        if section is not None and (option is None or option in section.model_fields):
            return trainer, section
    return None


def _find_section(model: type[Options], name: str) -> type[Options] | None:
    field = model.model_fields.get(name)
    kind = None if field is None else field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, Options) else None
