"""The messages between a page and the studio.

``docs/reference/studio.md`` has the tables of these models.

Every message is an object with a ``kind``. What a client sends is checked here, before anything
else sees it; what comes back is plain JSON, or a picture behind its JSON (:func:`pack_picture`).
"""

from __future__ import annotations

import contextlib
import json
import math
import struct
import sys
import traceback
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from fastenv.errors import FastEnvError
from training.run.options import check_plain

MAX_BYTES = 1 << 20  # of a message from a client
MAX_LANES = 256
Name = Annotated[str, Field(min_length=1, max_length=300)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, lt=2**40)]


class Refusal(FastEnvError, ValueError):
    """Something was asked for that is not possible; the message is shown to who asked."""


def describe_fault(error: BaseException) -> str:
    """Describe an unforeseen fault for a client; the terminal has all of it."""
    with contextlib.suppress(ValueError, OSError):  # a terminal that is gone ends no session
        traceback.print_exception(error, file=sys.stderr)
    return f"that went wrong ({type(error).__name__}): the terminal of the studio says more."


class Message(BaseModel):
    """What all messages have in common: nothing is converted, and nothing is left over."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Describe(Message):
    """Ask what an environment is: options, bots, agents, seats. Answer: ``game``."""

    kind: Literal["describe"]
    env: Name = Field(description="id of the environment")


class Begin(Message):
    """Begin a game. Answer: ``table``, then ``view``."""

    kind: Literal["begin"]
    env: Name = Field(description="id of the environment")
    options: dict[str, Any] = Field(default={}, description="of the environment, by name")
    players: list[Name] = Field(
        default=["person"],
        max_length=16,
        description="who sits where, in seat order: `person`, a bot, an agent, or `search:WHO`; "
        "fewer than the seats take several, in turns",
    )
    seed: Count | None = Field(default=None, description="of the game; null draws one")
    lanes: int = Field(
        default=1, ge=1, le=MAX_LANES, description="games side by side, which nobody plays"
    )

    @field_validator("options")
    @classmethod
    def _check_options(cls, value: dict[str, Any]) -> dict[str, Any]:
        check_plain(value)
        return value


class Open(Message):
    """Open a moment that is kept. Answer: ``table``, then ``view``."""

    kind: Literal["open"]
    hash: Hash = Field(description="of the moment, as `kept` named it")


class Load(Message):
    """Open a moment from a file, which is checked first. Answer: ``table``, then ``view``."""

    kind: Literal["load"]
    moment: dict[str, Any] = Field(description="what the file holds")


class Act(Message):
    """Take a decision, where a person is to decide. Answer: ``view``."""

    kind: Literal["act"]
    action: int = Field(ge=0, lt=2**31, description="its number")


class Key(Message):
    """Press or release a key. What it means, the game says."""

    kind: Literal["key"]
    key: str = Field(
        pattern=r"^([a-z.]|up|down|left|right|enter|backspace)$", description="its name"
    )
    down: bool = Field(default=True, description="whether it is pressed now")
    serial: Count = Field(
        default=0, description="the client's number; the next `view` that knows of it names it"
    )


class Run(Message):
    """Let it run, or stop."""

    kind: Literal["run"]
    on: bool
    speed: float = Field(
        default=4.0, ge=0, le=1000, description="decisions a second; 0 is as fast as it goes"
    )


class Go(Message):
    """Go to a moment. Answer: ``view``."""

    kind: Literal["go"]
    branch: Count = Field(description="number of the branch")
    index: Count = Field(description="decisions since the game began")


class Take(Message):
    """Let others play on from here; the next decision begins a branch. Answer: ``table``."""

    kind: Literal["take"]
    players: list[Name] = Field(min_length=1, max_length=16, description="as in `begin`")


class Pick(Message):
    """Go on with one of several games alone. Answer: ``table``, then ``view``."""

    kind: Literal["pick"]
    lane: int = Field(ge=0, lt=MAX_LANES)


class Keep(Message):
    """Keep this moment, so that a link opens it. Answer: ``kept``."""

    kind: Literal["keep"]


class Think(Message):
    """Choose what is shown of thoughts. Answer: ``thought`` with every ``view``."""

    kind: Literal["think"]
    on: bool
    who: Name | None = Field(
        default=None, description="who thinks beside the players; null for nobody"
    )
    opened: bool = Field(default=False, description="show what is hidden from a player too")


class Film(Message):
    """Make a film of this branch. Answer: ``film``."""

    kind: Literal["film"]
    format: Literal["gif", "mp4"]
    first: Count = Field(default=0, description="the first moment")
    last: Count | None = Field(default=None, description="the last one; null for the newest")
    fps: float = Field(default=2.0, ge=0.1, le=60, description="pictures a second")


class Prove(Message):
    """Step all backends side by side from here and compare bits. Answer: ``proof``."""

    kind: Literal["prove"]
    steps: int = Field(default=100, ge=1, le=10_000, description="decisions, drawn at random")


class Runs(Message):
    """Ask which runs there are. Answer: ``runs``."""

    kind: Literal["runs"]


class Curves(Message):
    """Ask for curves of runs, which go on while they train. Answer: ``curves``."""

    kind: Literal["curves"]
    names: list[Name] = Field(max_length=12, description="of runs; none ends it")


class Ack(Message):
    """Say that a ``view`` was shown: the next one is sent after that."""

    kind: Literal["ack"]
    number: Count = Field(description="its `number`")


FromClient = Annotated[
    Describe
    | Begin
    | Open
    | Load
    | Act
    | Key
    | Run
    | Go
    | Take
    | Pick
    | Keep
    | Think
    | Film
    | Prove
    | Runs
    | Curves
    | Ack,
    Field(discriminator="kind"),
]
_ADAPTER: TypeAdapter[Any] = TypeAdapter(FromClient)
KINDS: tuple[type[Message], ...] = get_args(get_args(FromClient)[0])


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of what a client may send."""
    return _ADAPTER.json_schema()


def message_rows() -> list[tuple[str, list[tuple[str, str]], str]]:
    """Return kind, fields with their meaning, and meaning of what a client may send."""
    rows = []
    for model in KINDS:
        fields = {name: each for name, each in model.model_fields.items() if name != "kind"}
        named = [(name, each.description or "") for name, each in fields.items()]
        about = " ".join((model.__doc__ or "").split())
        rows.append((model.__name__.lower(), named, about))
    return rows


def parse(data: str | bytes) -> Any:
    """Read a message that a client has sent.

    Raises
    ------
    Refusal
        In one sentence, with what is wrong.
    """
    if len(data) > MAX_BYTES:
        raise Refusal(f"a message of {len(data)} bytes: at most {MAX_BYTES} are taken.")
    try:
        value = json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Refusal("a message must be one object of JSON.") from None
    try:
        return _ADAPTER.validate_python(value)
    except ValidationError as error:
        raise Refusal(_describe_error(error)) from None
    except RecursionError:
        raise Refusal("a message must not be nested so deep.") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _describe_error(error: ValidationError) -> str:
    """Describe the first error: where, and why."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part)[:40] for part in first["loc"][:5])
    reason = " ".join(str(first["msg"]).split())[:300].rstrip(".")
    return f"message {where}: {reason}." if where else f"message: {reason}."


def dump(message: dict[str, Any]) -> str:
    """Return a message as the JSON that is sent; numbers that JSON has not become null."""
    try:
        return _ENCODER.encode(message)
    except ValueError:
        return _ENCODER.encode(_replace_infinite(message))


def _to_plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_to_plain)


def _replace_infinite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _replace_infinite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_infinite(each) for each in value]
    if isinstance(value, np.generic | np.ndarray):
        return _replace_infinite(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def pack_picture(message: dict[str, Any], pixels: bytes) -> bytes:
    """Return a message with pixels behind it: four bytes of its length, JSON, pixels."""
    head = dump(message).encode()
    return struct.pack("<I", len(head)) + head + pixels
