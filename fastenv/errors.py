"""Every error a user can meet, one class each.

All of them derive from :class:`FastEnvError` and from the built-in class a caller would expect,
so ``except ValueError`` keeps working for those who never heard of fastenv.
"""


class FastEnvError(Exception):
    """Base class of all errors raised by fastenv."""


class ConfigError(FastEnvError, ValueError):
    """An environment option has a value that is not allowed; the message names the field."""


class InvalidActionError(FastEnvError, ValueError):
    """An action is out of range or, with ``invalid_action="raise"``, illegal in its state.

    Nothing in the batch has moved when it is raised.
    """


class StateError(FastEnvError, ValueError):
    """A state row from outside is out of range or inconsistent; lane and field are named."""


class BackendUnavailableError(FastEnvError, ImportError):
    """A backend was asked for by name but cannot be imported here."""


class ResetNeededError(FastEnvError, RuntimeError):
    """``step`` was called on a lane that has no running episode."""
