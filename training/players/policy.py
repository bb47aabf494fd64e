"""A trained agent as a function of observations: numpy in, numpy out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import fastenv
from fastenv.errors import ConfigError
from training.nets.actor_critic import Logits, RecurrentLogits
from training.run import registry
from training.run.config import RunConfig

Env = gymnasium.Env[Any, int]
VectorEnv = gymnasium.vector.VectorEnv[Any, Any, Any]
Observation = np.ndarray | Mapping[str, np.ndarray]


@dataclass(frozen=True)
class EnvSpec:
    """The environment of a policy, and the observations that it takes.

    Parameters
    ----------
    env : str
        Environment id.
    options : mapping
        Options of the environment.
    obs_dtype, obs_shape : dtype, tuple of int
        Of one observation; a structured dtype is shown as a Dict.
    num_actions : int
    wrap, wrap_vec : callable, optional
        Put around an environment (or a vector environment) of that id, so that it shows these
        observations; not needed where it does so itself.
    encode : callable, optional
        Returns the observations of state rows of the environment, if ``wrap`` does.
    encode_like : callable, optional
        Returns such a function for an engine whose rules may be others than those of the training.
    """

    env: str
    options: Mapping[str, Any]
    obs_dtype: np.dtype[Any]
    obs_shape: tuple[int, ...]
    num_actions: int
    wrap: Callable[[fastenv.FastEnv], Env] | None = None
    wrap_vec: Callable[[fastenv.FastVectorEnv], VectorEnv] | None = None
    encode: Callable[[np.ndarray], np.ndarray] | None = None
    encode_like: Callable[[Any], Callable[[np.ndarray], np.ndarray]] | None = None


class Policy:
    """A trained agent; :func:`training.load_policy` makes it.

    Attributes
    ----------
    env : str
        Id of the environment it plays in.
    config : RunConfig
        What it was trained with.
    path : Path
        The checkpoint.
    steps : int
        Decisions it was trained for.
    member : int or None
        Which network of an ensemble it is, from 1 on.
    obs_dtype, obs_shape : dtype, tuple of int
        Of one observation. Structured where the environment shows a Dict.
    num_actions : int
    state_size : int
        Numbers that it remembers of a game; 0 for a network without memory.
    env_spec : EnvSpec
        Its environment and observations.
    logits : Logits or RecurrentLogits
        Its network.
    """

    def __init__(
        self,
        config: RunConfig,
        path: Path,
        steps: int,
        logits: Logits | RecurrentLogits,
        env_spec: EnvSpec,
        member: int | None = None,
    ) -> None:
        self.config, self.path, self.steps, self.member = config, path, steps, member
        self.logits, self.env_spec = logits, env_spec
        self.env, self.num_actions = env_spec.env, env_spec.num_actions
        self.obs_dtype, self.obs_shape = env_spec.obs_dtype, env_spec.obs_shape
        self.state_size = logits.state_size if isinstance(logits, RecurrentLogits) else 0

    def __repr__(self) -> str:
        """Describe the agent in one line."""
        return f"<Policy of {self.env}, {self.steps:,} decisions, {self.path}>"

    # -- playing ---------------------------------------------------------------------------------

    def act(
        self,
        obs: Observation,
        mask: np.ndarray,
        state: np.ndarray | None = None,
        *,
        deterministic: bool = True,
        rng: np.random.Generator | int | None = None,
    ) -> tuple[Any, np.ndarray | None]:
        """Choose legal actions.

        Parameters
        ----------
        obs : ndarray, shape obs_shape or (n, *obs_shape), or dict of such arrays
            As the environment of :meth:`make` or :meth:`make_vec` shows it.
        mask : ndarray of bool or 0/1, shape (A,) or (n, A)
            The legal actions, of which every row has one.
        state : ndarray of float32, shape (state_size,) or (n, state_size), optional
            State of a recurrent network; None where all games begin. Where one game of several
            has ended, the caller resets it: ``state[terminated | truncated] = 0``.
        deterministic : bool
            Take the best legal action; False draws from the policy's distribution.
        rng : numpy Generator or seed, optional
            To draw from; a seed draws the same in every call.

        Returns
        -------
        int, or ndarray of int32, shape (n,)
        ndarray of float32, like ``state``, or None for a network without memory

        Raises
        ------
        ConfigError
            If observation, mask or state do not fit; names which, its shape and what is allowed.
        """
        rows, single = self._convert_obs(obs)
        legal = self._check_mask(mask, len(rows), single)
        logits, memory = self._compute_logits(rows, self._check_state(state, len(rows), single))
        logits = np.where(legal, logits, -np.inf)
        if not deterministic:  # the largest of logits with Gumbel noise is a draw from softmax
            logits = logits + np.random.default_rng(rng).gumbel(size=logits.shape)
        actions = logits.argmax(1).astype(np.int32)
        if single:
            return int(actions[0]), None if memory is None else memory[0]
        return actions, memory

    def probabilities(
        self, obs: Observation, mask: np.ndarray, state: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the probability of each action, float64, shape (A,) or (n, A).

        Parameters
        ----------
        obs, mask, state
            See :meth:`act`.

        Raises
        ------
        ConfigError
            See :meth:`act`.
        """
        rows, single = self._convert_obs(obs)
        legal = self._check_mask(mask, len(rows), single)
        logits, _ = self._compute_logits(rows, self._check_state(state, len(rows), single))
        chances = legal_softmax(logits, legal)
        return chances[0] if single else chances

    def search(self, **options: Any) -> Any:
        """Make an agent that searches, and plays as this policy where it does not.

        It plays wherever a policy plays: at tables, in contests and evaluations.

        Parameters
        ----------
        **options
            Of :class:`training.search.options.SearchOptions`: ``worlds=64``, ``belief="bids"``.

        Returns
        -------
        training.search.agent.SearchAgent

        Raises
        ------
        ConfigError
            For an option that there is not, or a value that is not possible.
        """
        return registry.FUNCTIONS.load("searching")(self, **options)

    def _compute_logits(
        self, rows: np.ndarray, memory: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Compute the network's logits and next states."""
        if isinstance(self.logits, RecurrentLogits):
            assert memory is not None
            return self.logits(rows, state=memory)
        return self.logits(rows), memory

    def _convert_obs(self, obs: Observation) -> tuple[np.ndarray, bool]:
        """Convert observations to rows (n, *obs_shape); return them, and whether it was one."""
        names = self.obs_dtype.names
        if names is None:
            refuse_unless(
                not isinstance(obs, Mapping), "obs as a dict", f"an array, as {self.env} has"
            )
            return self._check_array("obs", obs, self.obs_dtype, self.obs_shape)
        if isinstance(obs, np.ndarray) and obs.dtype == self.obs_dtype:
            return _make_writable(np.atleast_1d(obs)), obs.ndim == 0
        fits = isinstance(obs, Mapping) and set(obs) == set(names)
        kind = f"{type(obs).__name__} of {', '.join(obs)}" if isinstance(obs, Mapping) else "array"
        allowed = f"a dict of {', '.join(names)}, as make() and make_vec() show it"
        refuse_unless(fits, f"obs as {kind}", allowed)
        parts = {
            name: self._check_array(
                f"obs[{name!r}]", obs[name], self.obs_dtype[name].base, self.obs_dtype[name].shape
            )
            for name in names
        }
        sizes = {name: len(part) for name, (part, _) in parts.items()}
        refuse_unless(len(set(sizes.values())) == 1, f"obs of {sizes} rows", "equally many of each")
        rows = np.zeros(next(iter(sizes.values())), self.obs_dtype)
        for name, (part, _) in parts.items():
            rows[name] = part
        return rows, all(single for _, single in parts.values())

    def _check_array(
        self, name: str, values: Any, dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> tuple[np.ndarray, bool]:
        array = np.asarray(values)
        single = array.shape == shape
        shapes = f"of shape {shape} or (n, {', '.join(map(str, shape))})".replace(", )", ",)")
        allowed = f"{shapes}, as {self.env} shows it to this policy"
        fits = single or (array.ndim > 0 and array.shape[1:] == shape)
        refuse_unless(fits, f"{name} of shape {array.shape}", allowed)
        fits = array.dtype == dtype or (dtype.kind == "f" and array.dtype.kind == "f")
        fits |= dtype.kind in "iu" and array.dtype.kind in "iu" and np.can_cast(array.dtype, dtype)
        refuse_unless(fits, f"{name} of {array.dtype}", f"of {dtype}")
        array = _make_writable(np.ascontiguousarray(array, dtype))
        return (array[None] if single else array), single

    def _check_mask(self, mask: Any, n: int, single: bool) -> np.ndarray:
        legal = np.asarray(mask)
        shape = (self.num_actions,) if single else (n, self.num_actions)
        allowed = f"of shape {shape}: {self.env} has {self.num_actions} actions"
        refuse_unless(legal.shape == shape, f"mask of shape {legal.shape}", allowed)
        legal = np.asarray(legal.reshape(n, self.num_actions) != 0)
        stuck = ~legal.any(1)
        row = f"mask of row {int(stuck.argmax())} without a legal action" if n else ""
        refuse_unless(not stuck.any(), row, "1 for at least one action in every row")
        return legal

    def _check_state(self, state: Any, n: int, single: bool) -> np.ndarray | None:
        if not self.state_size:
            refuse_unless(state is None, "state", "None: this network has no memory")
            return None
        if state is None:
            return np.zeros((n, self.state_size), np.float32)
        memory = np.asarray(state, np.float32)
        shape = (self.state_size,) if single else (n, self.state_size)
        allowed = f"None or of shape {shape}"
        refuse_unless(memory.shape == shape, f"state of shape {memory.shape}", allowed)
        return _make_writable(np.ascontiguousarray(memory.reshape(n, self.state_size)))

    # -- where it plays --------------------------------------------------------------------------

    def make(self, **changes: Any) -> Env:
        """Make a single environment of its training.

        Parameters
        ----------
        **changes
            Over the options of the training: those of :func:`fastenv.make` and of the game.

        Raises
        ------
        ConfigError
            If it would not show what the policy sees; see also :func:`fastenv.make`.
        """
        env = fastenv.make(self.env, **{**self.env_spec.options, **changes})
        wrapped = env if self.env_spec.wrap is None else self.env_spec.wrap(env)
        self.check(wrapped.observation_space, wrapped.action_space, changes)
        return wrapped

    def make_vec(self, num_envs: int, **changes: Any) -> VectorEnv:
        """Make a vector environment of its training.

        Parameters
        ----------
        num_envs : int
        **changes
            Over the options of the training: those of :func:`fastenv.make_vec` and of the game.

        Raises
        ------
        ConfigError
            See :meth:`make`.
        """
        vec = fastenv.make_vec(self.env, num_envs, **{**self.env_spec.options, **changes})
        wrapped = vec if self.env_spec.wrap_vec is None else self.env_spec.wrap_vec(vec)
        self.check(wrapped.single_observation_space, wrapped.single_action_space, changes)
        return wrapped

    def check(
        self,
        observations: spaces.Space[Any],
        actions: spaces.Space[Any],
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Refuse an environment whose spaces are others than those of the training.

        Parameters
        ----------
        observations, actions : Space
            Of a single environment.
        options : mapping, optional
            Options of the environment, to name in the error.

        Raises
        ------
        ConfigError
        """
        named = f" with {', '.join(f'{k}={v!r}' for k, v in options.items())}" if options else ""
        shown, wanted = _describe_space(observations), _describe(self.obs_dtype, self.obs_shape)
        allowed = f"{wanted}, which {self.env} showed in the training of {self.path}"
        refuse_unless(shown == wanted, f"observation {shown}{named}", allowed)
        fits = getattr(actions, "n", None) == self.num_actions
        refuse_unless(fits, f"action space {actions}{named}", f"Discrete({self.num_actions})")


def legal_softmax(logits: np.ndarray, legal: np.ndarray) -> np.ndarray:
    """Compute the probabilities of legal actions, float64 (n, A), from logits (n, A)."""
    scores = np.where(legal, logits, -np.inf).astype(np.float64)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    chances: np.ndarray = weights / weights.sum(1, keepdims=True)
    return chances


def _make_writable(array: np.ndarray) -> np.ndarray:
    """Copy an array if it is read-only: torch has no such tensors, and would warn."""
    return array if array.flags.writeable else array.copy()


def refuse_unless(fits: bool, value: str, allowed: str) -> None:
    """Raise :class:`ConfigError` unless something fits a policy."""
    if not fits:
        raise ConfigError(f"{value} does not fit the policy: must be {allowed}.")


def _describe_space(space: spaces.Space[Any]) -> dict[str, str] | str:
    if isinstance(space, spaces.Dict):
        return {name: str(_describe_space(part)) for name, part in space.items()}
    return f"{space.dtype} {space.shape}"


def _describe(dtype: np.dtype[Any], shape: tuple[int, ...]) -> dict[str, str] | str:
    if dtype.names is None:
        return f"{dtype} {shape}"
    return {name: str(_describe(dtype[name].base, dtype[name].shape)) for name in dtype.names}
