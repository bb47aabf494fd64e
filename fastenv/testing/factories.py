"""Environments by name: a Gymnasium id, ``module:name``, or a function that can be pickled."""

from __future__ import annotations

import functools
import importlib
import pickle
import re
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium

from fastenv.errors import ConfigError, show, show_reason

Factory = str | tuple[str, Mapping[str, Any]] | Callable[..., Any]
_ID = re.compile(r"-v\d+$")


def is_id(name: str) -> bool:
    """Return whether a name is a Gymnasium id: it ends in its version."""
    return _ID.search(name) is not None


def check_factory(field: str, factory: object) -> None:
    """Refuse what cannot make an environment in another process.

    Raises
    ------
    ConfigError
        An instance, or what cannot be pickled; names the argument.
    """
    if isinstance(factory, str):
        if not is_id(factory) and ":" not in factory:
            raise ConfigError(
                f"{field}={show(factory)}: must be a Gymnasium id such as CartPole-v1, or "
                "module:name of something that makes an environment"
            )
        return
    instance = hasattr(factory, "step") and not isinstance(factory, type)
    if instance or not (callable(factory) or isinstance(factory, tuple)):
        raise ConfigError(
            f"{field}: must be an id or a function that makes an environment, got "
            f"{type(factory).__name__}: an instance cannot be made again"
        )
    try:
        pickle.dumps(factory)
    except Exception as error:
        raise ConfigError(
            f"{field}: must be a function that can be pickled, defined in a module: "
            f"{show_reason(error)}"
        ) from None


def make_env(factory: Factory, options: Mapping[str, Any] | None = None) -> Any:
    """Make an environment.

    Parameters
    ----------
    factory : str or callable
    options : mapping, optional
        Keyword arguments.

    Raises
    ------
    ConfigError
        Nothing has that name.
    """
    given = dict(options or {})
    if isinstance(factory, tuple):  # as scripts write a name with its arguments
        return make_env(factory[0], {**factory[1], **given})
    if not isinstance(factory, str):
        return factory(**given)
    if is_id(factory):
        try:
            return gymnasium.make(_full_id(factory), disable_env_checker=True, **given)
        except (gymnasium.error.Error, ImportError) as error:
            raise ConfigError(f"{factory}: {show_reason(error)}") from error
    module, _, path = factory.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{factory}: {show_reason(error)}") from error
    if not callable(found):
        raise ConfigError(f"{factory}: must be something to call, got {type(found).__name__}")
    return found(**given)


def _full_id(name: str) -> str:
    """Return an id of fastenv with its namespace, any other as it is."""
    if "/" not in name and ":" not in name and name not in gymnasium.registry:
        import fastenv  # registers its ids

        if f"fastenv/{name}" in gymnasium.registry or name in fastenv.list_envs():
            return f"fastenv/{name}"
    return name


def name_of(factory: Factory) -> str:
    """Return a factory as a person would name it."""
    if isinstance(factory, str):
        return factory
    if isinstance(factory, tuple):
        return _with_options(*factory)
    if isinstance(factory, functools.partial):
        return _with_options(name_of(factory.func), factory.keywords)
    module = getattr(factory, "__module__", "")
    return f"{module}:{getattr(factory, '__qualname__', repr(factory))}"


def _with_options(name: str, options: Mapping[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in options.items())})"


def text_of(factory: Factory) -> str:
    """Return a factory as Python text for a script."""
    if isinstance(factory, tuple):
        return repr(factory)
    if isinstance(factory, functools.partial) and not factory.args:
        pairs = ", ".join(f"{key!r}: {value!r}" for key, value in factory.keywords.items())
        return f"({name_of(factory.func)!r}, {{{pairs}}})"
    return repr(name_of(factory))
