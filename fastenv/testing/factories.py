"""Environments by name: a Gymnasium id, ``module:name``, or a function that can be pickled."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import inspect
import os
import pickle
import re
import runpy
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import SimpleNamespace
from typing import Any

import gymnasium

from fastenv.errors import ConfigError, show, show_reason

Factory = str | tuple[Any, ...] | Callable[..., Any]


@dataclass(frozen=True)
class Source:
    """What makes an environment, in this process or another.

    Parameters
    ----------
    target : str or callable
        A Gymnasium id, ``module:name``, or what is called.
    options : dict
        Keyword arguments.
    given : tuple
        Arguments before them.
    """

    target: str | Callable[..., Any]
    options: dict[str, Any] = field(default_factory=dict)
    given: tuple[Any, ...] = ()

    @property
    def is_id(self) -> bool:
        """Whether it is a Gymnasium id: it ends in its version."""
        return isinstance(self.target, str) and re.search(r"-v\d+$", self.target) is not None

    @property
    def path(self) -> str:
        """The id, or ``module:name``."""
        if isinstance(self.target, str):
            return self.target
        name = getattr(self.target, "__qualname__", type(self.target).__qualname__)
        return f"{_module_of(self.target)}:{name}"

    @property
    def name(self) -> str:
        """As a person would name it."""
        named = (f"{key}={value!r}" for key, value in self.options.items())
        given = ", ".join([*map(repr, self.given), *named])
        return f"{self.path}({given})" if given else self.path

    @property
    def text(self) -> str:
        """As Python text for a script."""
        parts = [repr(self.path)] + [write_value(self.options)] * bool(self.options or self.given)
        parts += map(write_value, self.given)
        return f"({', '.join(parts)})" if len(parts) > 1 else parts[0]

    @property
    def takes_limit(self) -> bool:
        """Whether episodes can be cut short by a keyword argument ``max_episode_steps``."""
        if self.is_id:
            return True
        target = find(self.target) if isinstance(self.target, str) else self.target
        try:
            return "max_episode_steps" in inspect.signature(target).parameters
        except (TypeError, ValueError):
            return False

    def with_options(self, options: Mapping[str, Any]) -> Source:
        """Return it with more keyword arguments."""
        return replace(self, options=self.options | dict(options))

    def make(self, **more: Any) -> Any:
        """Make an environment.

        Raises
        ------
        ConfigError
            Nothing has that name.
        """
        given = self.options | more
        if self.is_id:
            try:
                return gymnasium.make(_full_id(self.path), disable_env_checker=True, **given)
            except (gymnasium.error.Error, ImportError) as error:
                raise ConfigError(f"{self.path}: {show_reason(error)}") from error
        found = find(self.target) if isinstance(self.target, str) else self.target
        if not callable(found):
            raise ConfigError(f"{self.path}: must be something to call, got {type(found).__name__}")
        return found(*self.given, **given)


def source_of(field: str, factory: object) -> Source:
    """Return the :class:`Source` that makes an environment.

    Raises
    ------
    ConfigError
        It cannot, such as an instance; names the argument.
    """
    if isinstance(factory, tuple) and len(factory) > 1:  # as scripts write it
        source = source_of(field, factory[0]).with_options(factory[1])
        return replace(source, given=source.given + factory[2:])
    if isinstance(factory, functools.partial):
        return source_of(field, (factory.func, factory.keywords, *factory.args))
    if isinstance(factory, str):
        source = Source(factory)
        if not source.is_id and ":" not in factory:
            raise ConfigError(
                f"{field}={show(factory)}: must be a Gymnasium id such as CartPole-v1, or "
                "module:name of something that makes an environment"
            )
        return source
    instance = hasattr(factory, "step") and not isinstance(factory, type)
    if instance or not callable(factory):
        raise ConfigError(
            f"{field}: must be an id or a function that makes an environment, got "
            f"{type(factory).__name__}: an instance cannot be made again"
        )
    return Source(factory)


def check_pickled(field: str, function: object) -> None:
    """Refuse what cannot be given to another process.

    Raises
    ------
    ConfigError
    """
    try:
        pickle.dumps(function)
    except Exception as error:
        raise ConfigError(
            f"{field}: must be a function that can be pickled, defined in a module: "
            f"{show_reason(error)}"
        ) from None


def find(name: str) -> Any:
    """Import the object that ``module:name`` names.

    Raises
    ------
    ConfigError
        There is no such thing.
    """
    module, _, path = name.rpartition(":")
    try:
        if module.endswith(".py"):
            found: Any = SimpleNamespace(**runpy.run_path(module))
        else:
            found = importlib.import_module(module)
        for each in path.split("."):
            found = getattr(found, each)
    except (ImportError, AttributeError, ValueError, OSError) as error:
        raise ConfigError(f"{name}: {show_reason(error)}") from error
    except (Exception, SystemExit) as error:  # whatever a module does while it is imported
        reason = f"{type(error).__name__}: {show_reason(error)}"
        raise ConfigError(f"{name}: cannot be imported: {reason}") from error
    return found


def find_function(field: str, name: str) -> Any:
    """Import what ``module:name`` names for an argument, or refuse its value."""
    try:
        return find(name)
    except ConfigError as error:
        said = f"must be module:name of a function: {error}"
        raise ConfigError(f"{field}={show(name)}: {said}") from error


def write_value(value: Any) -> str:
    """Return a value as Python text of a script, which has ``find`` and ``pickle``."""
    if isinstance(value, Mapping) and type(value) is dict:
        return f"{{{', '.join(f'{key!r}: {write_value(each)}' for key, each in value.items())}}}"
    with contextlib.suppress(Exception):
        if ast.literal_eval(repr(value)) == value:
            return repr(value)
    name = getattr(value, "__qualname__", None)
    if isinstance(value, Enum):
        name = f"{type(value).__qualname__}.{value.name}"
    if name is not None:
        return f"find({f'{_module_of(value)}:{name}'!r})"
    return f"pickle.loads({pickle.dumps(value)!r})"


def _module_of(target: Any) -> str:
    """Return the module in which a function or class stands, or the file of a program."""
    name = str(getattr(target, "__module__", ""))
    if name not in ("__main__", "__mp_main__"):
        return name
    main = sys.modules[name]
    spec = getattr(main, "__spec__", None)
    return spec.name if spec else os.path.abspath(getattr(main, "__file__", name))


def _full_id(name: str) -> str:
    """Return an id of fastenv with its namespace, any other as it is."""
    if "/" not in name and ":" not in name and name not in gymnasium.registry:
        import fastenv  # registers its ids

        if f"fastenv/{name}" in gymnasium.registry or name in fastenv.list_envs():
            return f"fastenv/{name}"
    return name
