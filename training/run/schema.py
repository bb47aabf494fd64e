"""The JSON schema of a file of options, for editors and authors of such files."""

from __future__ import annotations

from typing import Annotated, Any, Union

from pydantic import Field, TypeAdapter

from training.run import trainers

# Further keys of a file, beside the options of a run; see training.run.layers and name_backend.
BESIDE: dict[str, dict[str, Any]] = {
    "without_core": {
        "type": "object",
        "description": "options in the place of its own where there is no compiled core",
    },
    "use_numba": {"type": "boolean", "description": "a part of ``backend``"},
    "use_cython": {"type": "boolean", "description": "a part of ``backend``"},
}
DEFAULT = "native"  # the trainer of a file that names none


def schema() -> dict[str, Any]:
    """Make the schema of the options of all trainers, told apart by ``trainer``."""
    models = {name: trainers.get_options(name) for name in trainers.names()}
    union: Any = Union[tuple(models.values())]  # noqa: UP007
    kind: Any = Annotated[union, Field(discriminator="trainer")]
    whole = TypeAdapter(kind).json_schema()
    for trainer, model in models.items():
        one = whole["$defs"][model.__name__]
        one["properties"] |= BESIDE
        if trainer != DEFAULT:  # or a file without would be of every trainer
            one["required"] = ["trainer", *one.get("required", ())]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **whole}
