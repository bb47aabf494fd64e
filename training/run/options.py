"""The base of all options: pydantic models that refuse a value in one sentence.

A model of options derives from :class:`Options`. Its fields say what is allowed; what several of
them must fulfil together a validator asks with :func:`require`. Whatever is wrong raises
:class:`fastenv.ConfigError`, which names option, value and what is allowed.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, Self, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    Strict,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError

from fastenv.errors import ConfigError, UnknownOptionError, show

MAX_NAME = 100  # characters of an option in a message; a stranger may have given any
MAX_LISTED = 35  # options in a message; of more, the few that are most like the one given
MOST_ALIKE = 20
MAX_WRITTEN = 200  # characters of a number
MAX_DEPTH = 40  # levels of nesting: those of a file, and the sections above it
_DIGITS = r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d[\d_]*)(?:\.\d+)?"
_NUMBER = re.compile(rf"({_DIGITS})(?:e\+?(\d{{1,2}})| ?([kmgb]))?", re.ASCII | re.IGNORECASE)
_ZEROS = {"k": 3, "m": 6, "g": 9, "b": 9}


# -- refusing --------------------------------------------------------------------------------------


def require(ok: bool, name: str, value: object, allowed: str) -> None:
    """Refuse ``value`` of the option ``name`` unless ``ok``."""
    if not ok:
        raise _make_refusal(name, value, allowed)


def _make_refusal(name: str, value: object, allowed: str) -> ConfigError:
    name = name if len(name) <= MAX_NAME and name.isprintable() else show(name)
    if value is None and name.startswith("--"):  # a flag that nobody has given
        return ConfigError(f"{name} must be {allowed}.")
    return ConfigError(f"{name}={show(value)} is not possible: {name} must be {allowed}.")


def unknown_option(name: str, known: Iterable[str]) -> UnknownOptionError:
    """Make the error for an unknown option.

    Parameters
    ----------
    name : str
        With its section, such as ``ppo.n_step``.
    known : iterable of str
        Options of that section, without it.
    """
    section, _, last = name.rpartition(".")
    names, typed = sorted(known), last[:MAX_NAME].lower()
    alike = difflib.get_close_matches(typed, names, MOST_ALIKE, cutoff=0.0)
    near = difflib.get_close_matches(typed, names, 1, cutoff=0.75)
    meant = f"did you mean {f'{section}.{near[0]}'.lstrip('.')!r}? " if near else ""
    more = len(names) - MOST_ALIKE
    listed = names if len(names) <= MAX_LISTED else [*alike[:-1], f"{alike[-1]} and {more} more"]
    return UnknownOptionError(
        f"{show(name)} is not an option; {meant}options: {', '.join(listed)}."
    )


class _Part:
    """The part of a value that is wrong; pydantic would try to print it, however large it is."""

    def __init__(self, value: object) -> None:
        self.value = value


def refused(allowed: str, **value: object) -> PydanticCustomError:
    """Make the error that a validator of one value raises.

    Parameters
    ----------
    allowed : str
        What stands behind "must be".
    value : object, optional
        The part of the value that is wrong; default all of it.
    """
    parts = {name: _Part(each) for name, each in value.items()}
    return PydanticCustomError("refused", "{allowed}", {"allowed": allowed, **parts})


def format_values(*values: object) -> str:
    """Format values of an option for a sentence: null, false and empty as in YAML."""
    words = {None: "null", False: "false", True: "true", (): "empty"}
    texts = [
        "empty"
        if value == {}
        else words[value]
        if value in (None, ()) or type(value) is bool
        else repr(value)
        for value in values
    ]
    return " or ".join(texts)


# -- values ----------------------------------------------------------------------------------------


def whole_number(value: Any) -> Any:
    """Parse an integer that people write as ``1e6``, ``2M``, ``2_000_000`` or ``2,000,000``.

    What is no such text or number, or no integer below 2**63, is returned as it is.
    """
    if not isinstance(value, str | float):
        return value
    text = value.strip() if isinstance(value, str) else repr(value)
    match = _NUMBER.fullmatch(text) if len(text) <= MAX_WRITTEN else None
    if match is None:
        return value
    digits, exponent, suffix = match.groups()
    zeros = _ZEROS[suffix.lower()] if suffix else int(exponent or 0)
    number = Decimal(digits.replace(",", "").replace("_", "")).scaleb(zeros)
    whole = number == number.to_integral_value() and abs(number) < 2**63
    return int(number) if whole else value


def _check_whole(value: Any) -> int:
    number = whole_number(value)
    if isinstance(number, str):
        raise refused("an integer, such as 500, 2e6 or 2M")
    if not isinstance(number, int) or isinstance(number, bool) or abs(number) >= 2**63:
        raise refused("an integer of 64 bits")
    return int(number)


def _check_number(value: Any) -> float:
    if isinstance(value, str):  # YAML reads 3e-4 as a text
        try:
            value = float(value)
        except ValueError:
            raise refused("a number") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refused("a finite number")
    large = isinstance(value, int) and abs(value) >= 2**1023
    if large or not math.isfinite(value):
        raise refused("a finite number")
    return float(value)


def _check_text(value: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise refused("a text of characters that UTF-8 has")
    return value


def check_plain(value: Any, depth: int = 0) -> Any:
    """Refuse values that JSON cannot hold, such as a date or NaN, in an option of any values."""
    if depth >= MAX_DEPTH:
        raise refused(f"nested at most {MAX_DEPTH} levels deep", value=value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise refused("a mapping of texts", value=value)
        for key, item in value.items():
            _check_text(key)
            check_plain(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            check_plain(item, depth + 1)
    elif isinstance(value, str):
        _check_text(value)
    else:
        known = value is None or isinstance(value, bool | int | float)
        known = known and (not isinstance(value, int) or abs(value) < 2**63)
        known = known and (not isinstance(value, float) or math.isfinite(value))
        if not known:
            allowed = "finite numbers of 64 bits, true, false, null, lists and mappings of them"
            raise refused(f"texts, {allowed}", value=value)
    return value


def _check_pairs(value: Any) -> Any:
    """Check the pairs of a schedule, and return them with their steps as numbers."""
    rising = "[step, value] pairs, rising from step 0"
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise refused(rising)
    pairs = []
    for pair in value:
        fits = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
        step = whole_number(pair[0]) if fits else None
        if type(step) is not int:
            raise refused(rising)
        pairs.append((step, check_plain(pair[1])))
    starts = [step for step, _ in pairs]
    if not starts or starts[0] != 0 or sorted(set(starts)) != starts:
        raise refused(rising)
    return tuple(pairs)


class _AlsoText:
    """Lets a JSON schema take a number that is a text, such as 2M or 3e-4 out of YAML."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [handler(schema), {"type": "string"}]}


Whole = Annotated[int, BeforeValidator(_check_whole), _AlsoText()]
Number = Annotated[float, BeforeValidator(_check_number), _AlsoText()]
Truth = Annotated[bool, Strict()]
Text = Annotated[str, Strict(), AfterValidator(_check_text)]
Plain = Annotated[dict[str, Any], AfterValidator(check_plain)]
Decay = Literal[
    "constant", "linear", "cosine"
]  # of a number that falls to zero over a run; see :func:`decay`
# From each step on its value holds.
Schedule = Annotated[tuple[tuple[int, Any], ...], BeforeValidator(_check_pairs)]


def decay(value: float, schedule: str, done: float) -> float:
    """Decay ``value`` to that after the share ``done`` of a run.

    Parameters
    ----------
    value : float
        At the start.
    schedule : {"constant", "linear", "cosine"}
    done : float
        From 0 to 1; beyond, the value stays at its end.
    """
    done = min(max(done, 0.0), 1.0)
    if schedule == "linear":
        return value * (1.0 - done)
    if schedule == "cosine":
        return value * 0.5 * (1.0 + math.cos(math.pi * done))
    return value


# -- models ----------------------------------------------------------------------------------------


class Options(BaseModel):
    """Options that belong together: frozen, checked when they are made, refused by name.

    Attributes
    ----------
    SECTION : str
        What stands before the names of the options in errors, such as ``ppo.``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    SECTION: ClassVar[str] = ""

    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise _to_config_error(type(self), error) from None

    @model_validator(mode="before")
    @classmethod
    def _read_off(cls, values: Any) -> Any:
        """Take false for the word ``off``, which YAML reads so."""
        if not isinstance(values, dict):
            return values
        words = {name for name, value in values.items() if value is False and _has_words(cls, name)}
        return {**values, **dict.fromkeys(words, "off")} if words else values

    @classmethod
    def from_mapping(cls, values: Any) -> Self:
        """Build options from plain values.

        Raises
        ------
        ConfigError
            For an unknown option, or a value of the wrong type or out of range; names it.
        """
        check_names(cls, values)
        return cls(**values)

    def replace(self, **changes: Any) -> Self:
        """Copy the options with some of them replaced, and check the copy."""
        return type(self)(**{**{name: getattr(self, name) for name in self.names()}, **changes})

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the options."""
        return tuple(cls.model_fields)

    @classmethod
    def get_default(cls, name: str) -> Any:
        """Return the default of an option."""
        return cls.model_fields[name].get_default(call_default_factory=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain JSON values."""
        plain: dict[str, Any] = json.loads(json.dumps(self.model_dump()))
        return plain


def canonical_json(value: object) -> str:
    """Format a value as JSON that is the same text for equal values: keys sorted, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def hash_json(value: object) -> str:
    """Hash the canonical JSON of a value by sha256."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def check_names(model: type[Options], values: Any) -> None:
    """Refuse unknown options, in sections and lists of them too, before any value is checked.

    Parameters
    ----------
    model : type of Options
    values : mapping

    Raises
    ------
    ConfigError
    """
    section = model.SECTION.rstrip(".")
    allowed = "a mapping of options to values" if section else "a mapping"
    require(isinstance(values, Mapping), section or "config", values, allowed)
    for name, value in values.items():
        if name not in model.model_fields:
            raise unknown_option(f"{model.SECTION}{name}", model.model_fields)
        kind = model.model_fields[name].annotation
        if get_origin(kind) is tuple:
            listed = not isinstance(value, set | frozenset)  # which have no order
            require(listed, f"{model.SECTION}{name}", value, "a list")
        items = value if isinstance(value, list | tuple) else [value]
        for inner in (kind, *get_args(kind)):
            if isinstance(inner, type) and issubclass(inner, Options):
                for item in items:
                    if isinstance(item, Mapping):
                        check_names(inner, item)


def check_value(model: type[Options], name: str, value: Any) -> None:
    """Refuse a value that an option cannot have, whatever the others are.

    Parameters
    ----------
    model : type of Options
    name : str
        With its section, such as ``ppo.n_steps``; what is no option of ``model`` is left alone.
    value : object

    Raises
    ------
    ConfigError
    """
    first, _, rest = name.partition(".")
    field = model.model_fields.get(first)
    if field is None:
        return
    if rest:
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, Options):
                check_value(kind, rest, value)
        return
    parts: dict[str, Any] = {first: (field.annotation, field)}
    alone = create_model(model.__name__, __base__=Options, **parts)
    alone.SECTION = model.SECTION
    alone(**{first: value})


def _has_words(model: type[BaseModel], name: str) -> bool:
    """Tell whether an option is a text, or one of some words."""
    field = model.model_fields.get(name)
    parts = () if field is None else (field.annotation, *get_args(field.annotation))
    return any(part is str or _get_words(part) for part in parts)


def _to_config_error(model: type[Options], error: ValidationError) -> ConfigError:
    """Convert the first error that pydantic has found to one in our words."""
    first = error.errors(include_url=False)[0]
    inner = first.get("ctx", {}).get("error")
    if isinstance(inner, ConfigError):  # of a section, or of several options together
        return inner
    parts = [part for part in first["loc"] if isinstance(part, str)]
    if first["type"].startswith("string") and parts[-1:] == ["[key]"]:  # a key that is no text
        name = f"{model.SECTION}{'.'.join(parts[: max(1, parts.index('[key]') - 1)])}"
        return _make_refusal(name, first["input"], "a mapping of texts")
    name = f"{model.SECTION}{'.'.join(parts)}"
    if not parts:  # a name that is no text
        return unknown_option(f"{model.SECTION}{show(first['input'])}", model.model_fields)
    if first["type"] == "extra_forbidden":
        return unknown_option(name, model.model_fields)
    value = None if first["type"] == "missing" else first["input"]
    part = first.get("ctx", {}).get("value")
    value = part.value if isinstance(part, _Part) else value
    return _make_refusal(name, value, _describe_allowed(model, first))


_ALLOWED = {
    "missing": "given",
    "bool_type": "true or false",
    "string_type": "a text",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping of options to values",
}
_BOUNDS = {"ge": "at least {}", "gt": "above {}", "le": "at most {}", "lt": "below {}"}


def _describe_allowed(model: type[Options], error: ErrorDetails) -> str:
    """Describe the values that a field allows, or its error where that is about something else."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "refused":
        return str(context["allowed"])
    allowed = allowed_of(model, str(error["loc"][0])) if error["loc"] else ""
    if kind == "dict_type" and allowed:
        return allowed
    return _ALLOWED.get(kind) or allowed or str(error["msg"])


def allowed_of(model: type[Options], name: str) -> str:
    """Describe the values that an option may have, empty if its type says it all."""
    field = model.model_fields[name]
    parts = get_args(field.annotation)
    null = type(None) in parts
    extra = field.json_schema_extra
    if isinstance(extra, dict) and "allowed" in extra:
        return str(extra["allowed"])
    words = [each for part in (field.annotation, *parts) if (each := _get_words(part))]
    if words:
        return f"one of {', '.join(map(repr, words[0]))}{', or null' if null else ''}"
    bounds = {
        word: getattr(each, word)
        for each in field.metadata
        for word in _BOUNDS
        if getattr(each, word, None) is not None
    }
    if not bounds:
        return ""
    if bounds.keys() == {"ge", "le"}:
        limits = f"from {bounds['ge']:g} to {bounds['le']:g}"
    else:
        limits = " and ".join(_BOUNDS[word].format(f"{value:g}") for word, value in bounds.items())
    return f"{limits}{', or null' if null else ''}"


def _get_words(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) is Literal else ()


def option(default: Any, description: str, allowed: str | None = None, **bounds: Any) -> Any:
    """Make a field of options.

    Parameters
    ----------
    default : object
        A callable makes a new one each time.
    description : str
        What the option does, for help and the tables of the documents.
    allowed : str, optional
        What is allowed, where bounds do not say it well.
    **bounds
        ``ge``, ``gt``, ``le``, ``lt``, as pydantic has them.
    """
    how: dict[str, Any] = {"default_factory" if callable(default) else "default": default}
    extra: Any = None if allowed is None else {"allowed": allowed}
    return Field(**how, description=description, json_schema_extra=extra, **bounds)
