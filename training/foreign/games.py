"""A foreign environment as a game, and how a name leads to it."""

from __future__ import annotations

import inspect
import json
import sys
import weakref
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from fastenv.errors import ConfigError, FastEnvError, StateError, show, show_reason
from fastenv.game import Game
from fastenv.game import first_difference as differing
from fastenv.memory import Batch
from fastenv.paths import PythonLanes
from fastenv.registry import Entry
from fastenv.rng import Rng
from fastenv.spec import NO_KNOBS, GameSpec
from fastenv.testing.factories import Source
from fastenv.testing.factories import find as find_object
from training.foreign.batches import (
    NO_SINGLE_RESETS,
    VectorLanes,
    WorkerLanes,
    resets_lanes,
)
from training.foreign.lanes import (
    AgentsLane,
    Lane,
    LiveLane,
    SingleLane,
    TogetherLane,
    TurnsLane,
    call,
    close_quietly,
)
from training.foreign.spaces import Actions, Observation
from training.run.games import GameTraining

TIMEOUT = "step_timeout"  # option: seconds that a step of a lane may take; none by default
TIMEOUT_S = 600.0  # of processes, where none is given
RECORD = GameTraining(files={"native": "foreign.yaml"})
AnyLane = TypeVar("AnyLane", bound=Lane)
RANDOM = "random"  # the only scripted player
MOST_SHOWN = 256  # numbers of an observation in text


def find(name: str) -> Entry | None:
    """Return the entry of a Gymnasium id or of ``module:name``; None for any other name.

    Raises
    ------
    ConfigError
        A name of that form of which nothing can be made.
    """
    if ":" not in name and not (Source(name).is_id and name in gymnasium.registry):
        return None

    def make_game(**options: Any) -> ForeignGame:
        return ForeignGame(name, options)

    return Entry(lambda: SimpleNamespace(make_game=make_game), {})


_MODULES: dict[str, tuple[str, ...]] = {}  # of environments that have been made in this process
DEEPEST = 64  # wrappers around each other


def modules_of(name: str) -> tuple[str, ...]:
    """Return the root modules of an environment, its wrappers and the classes that they extend."""
    own = [name.partition(":")[0].partition(".")[0]] if ":" in name else []
    return tuple(dict.fromkeys([*own, *_MODULES.get(name, ())]))


def _root_modules(env: Any) -> tuple[str, ...]:
    modules: dict[str, None] = {}
    for _ in range(DEEPEST):
        modules |= dict.fromkeys(each.__module__.partition(".")[0] for each in type(env).__mro__)
        lanes = getattr(env, "envs", None)  # of a vector
        inner = lanes[0] if isinstance(lanes, list) and lanes else getattr(env, "env", None)
        if inner is None:
            break
        env = inner
    return tuple(name for name in modules if name not in sys.stdlib_module_names)


class Form:
    """What one environment of a name says of all: its kind, spaces and ways to draw."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self.is_vector = "num_envs" in _parameters(name)
        env = _make(name, {**options, "num_envs": 2} if self.is_vector else options)
        try:
            _MODULES[name] = _root_modules(env)
            self._look(name, env, options)
        except BaseException as error:
            close_quietly(env)
            if isinstance(error, FastEnvError) or not isinstance(error, Exception):
                raise
            reason = f"{type(error).__name__}: {show_reason(error)}"
            raise ConfigError(f"{name}: its spaces cannot be read: {reason}") from error
        with call(name, "close"):
            env.close()

    def _look(self, name: str, env: Any, options: Mapping[str, Any]) -> None:
        if self.is_vector:
            self._look_at_vector(name, env)
            return
        self.lane: type[LiveLane] = _kind(name, env)
        modes = (getattr(env, "metadata", None) or {}).get("render_modes", ())
        self.draws = next((mode for mode in ("rgb_array", "ansi") if mode in modes), None)
        if self.draws is not None and not _can_draw(name, options, self.draws):
            self.draws = None
        self.agents = 1
        if issubclass(self.lane, SingleLane):
            seen, chosen = env.observation_space, env.action_space
        else:
            names = list(env.possible_agents)
            self.agents = len(names)
            if self.agents < 2:
                raise ConfigError(
                    f"{name}: possible_agents={show(names)}: must be at least two; make it an "
                    "environment of Gymnasium, which is for one agent"
                )
            seen = _same(name, "observation", [env.observation_space(each) for each in names])
            chosen = _same(name, "action", [env.action_space(each) for each in names])
            parts = getattr(seen, "spaces", None)
            if isinstance(parts, dict) and {*parts} == {"observation", "action_mask"}:
                seen = parts["observation"]
        self.observation, self.actions = Observation(name, seen), Actions(name, chosen)
        _ = self.observation.dtype  # refuses spaces that cannot be shown

    def _look_at_vector(self, name: str, env: Any) -> None:
        if not isinstance(env, VectorEnv):
            raise ConfigError(
                f"{name}: takes num_envs, so it must make a VectorEnv, got {type(env).__name__}"
            )
        self.lane, self.draws, self.agents = SingleLane, None, 1
        self.observation = Observation(name, env.single_observation_space)
        self.actions = Actions(name, env.single_action_space)
        _ = self.observation.dtype
        self.resets_lanes = resets_lanes(name, env, self.actions)
        usual = AutoresetMode.NEXT_STEP  # as Gymnasium takes it where nothing is said
        self.mode = AutoresetMode(env.metadata.get("autoreset_mode", usual))
        if self.mode is not AutoresetMode.SAME_STEP and not self.resets_lanes:
            raise ConfigError(f"{name}: {NO_SINGLE_RESETS}")


def _parameters(name: str) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of what makes an environment: one with ``num_envs`` makes vectors."""
    if Source(name).is_id:
        return {}
    try:
        return inspect.signature(find_object(name)).parameters
    except (TypeError, ValueError):
        return {}


def _can_draw(name: str, options: Mapping[str, Any], mode: str) -> bool:
    """Return whether an environment can be made with a render mode."""
    parameters = _parameters(name)
    if Source(name).is_id or "render_mode" in parameters:
        return True
    if not any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return False
    try:  # it may pass them on, as PettingZoo's functions do
        close_quietly(_make(name, {**options, "render_mode": mode}))
    except ConfigError:
        return False
    return True


def _read_timeout(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (number and 0 < value < float("inf")):
        raise ConfigError(f"env_options.{TIMEOUT}={value!r}: must be seconds above 0")
    return None if value is None else float(value)


def _make(name: str, options: Mapping[str, Any]) -> Any:
    try:
        return Source(name, dict(options)).make()
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError(
            f"{name}: cannot be made: {type(error).__name__}: {show_reason(error)}"
        ) from error


def _kind(name: str, env: Any) -> type[LiveLane]:
    if isinstance(env, gymnasium.Env):
        return SingleLane
    if isinstance(env, VectorEnv):
        raise ConfigError(
            f"{name}: makes a {type(env).__name__}, so it must take num_envs, the number of lanes"
        )
    if hasattr(env, "possible_agents"):
        return TurnsLane if hasattr(env, "agent_iter") else TogetherLane
    raise ConfigError(
        f"{name}: must make an environment of Gymnasium or PettingZoo, got {type(env).__name__}"
    )


def _same(name: str, what: str, of_agents: list[Any]) -> Any:
    """Return the space that all agents have, since one policy plays them all."""
    if any(each != of_agents[0] for each in of_agents):
        raise ConfigError(
            f"{name}: its agents have different {what} spaces; one policy plays all agents here, "
            "so they must be the same (SuperSuit's pad_observations and pad_action_space do it)"
        )
    return of_agents[0]


@lru_cache(maxsize=64)
def _form(name: str, options: str) -> Form:
    return Form(name, json.loads(options))


class ForeignGame(Game):
    """An environment of Gymnasium or PettingZoo.

    Parameters
    ----------
    name : str
        A Gymnasium id, or ``module:name`` of what makes an environment.
    options : mapping
        Its keyword arguments, JSON values.

    Raises
    ------
    ConfigError
        There is no such environment, or its spaces cannot be trained on; names what.
    """

    resumable = False

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        try:
            json.dumps(dict(options))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"options of {name}: must be plain values: {error}") from None
        # What it was made with, and what of it the environment takes.
        self.name, self.given = name, dict(options)
        self.options = {key: value for key, value in options.items() if key != TIMEOUT}
        self.timeout_s = _read_timeout(options.get(TIMEOUT))
        self.form = _form(name, json.dumps(self.options, sort_keys=True))
        form, agents = self.form, self.form.agents
        if form.is_vector and self.timeout_s is not None:
            raise ConfigError(
                f"env_options.{TIMEOUT}: {name} makes a vector environment, whose steps nobody can "
                "stop; leave it out, or name a function that makes one environment"
            )
        self._lanes: weakref.WeakSet[Lane] = weakref.WeakSet()
        self._several = agents > 1
        if self._several:
            self.bot_names = (RANDOM,)
        self._draws: str | None = self.options.get("render_mode", form.draws)
        shown = form.observation
        self.spec = GameSpec(
            num_actions=form.actions.count,
            state_dtype=_row_dtype(agents),
            num_agents=agents,
            order="turns" if form.lane is TurnsLane else "mixed",
            opponent=RANDOM if self._several else None,
            judged_by="win" if form.lane is TurnsLane else "points",
            obs_dtype=shown.dtype,
            obs_shape=shown.shape,
            obs_bounds=shown.bounds,
            knobs_dtype=NO_KNOBS,
            render_modes=("ansi", *(("rgb_array",) if self._draws == "rgb_array" else ())),
            hidden=self._several,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Make it again from its name and options elsewhere."""
        return _restore, (self.name, self.given, self.pickled_attributes())

    # -- a lane ----------------------------------------------------------------------------------

    def create(self, draws: bool = True) -> LiveLane:
        """Make a lane with an environment of its own, which can be drawn or not."""
        shown = {"render_mode": self._draws} if draws and self._draws else {}
        options = {**self.options, **shown}
        return self.track(self.form.lane(self.name, _make(self.name, options), self.form.actions))

    def track(self, lane: AnyLane) -> AnyLane:
        """Remember a lane, so that its row can be drawn."""
        self._lanes.add(lane)
        return lane

    def make_vector(self, num_envs: int) -> Any:
        """Make the vector environment of so many lanes."""
        return _make(self.name, {**self.options, "num_envs": num_envs})

    def make_lanes(
        self, batch: Batch, num_threads: int, usual: Callable[[Any, Any], Any]
    ) -> PythonLanes:
        """Make lanes that are stepped in turn here, in processes, or by a vector environment."""
        if self.form.is_vector:
            return VectorLanes(self, batch)
        if num_threads > 1 or self.timeout_s is not None:
            return WorkerLanes(self, batch, num_threads, self.timeout_s or TIMEOUT_S)
        lanes: PythonLanes = usual(self, batch)
        return lanes

    def reset(self, game: LiveLane, knobs: np.void, seed: int | None) -> None:
        """Begin an episode."""
        game.reset(seed)

    def step(self, game: LiveLane, action: Any) -> None:
        """Take one decision."""
        game.step(action)

    def encode_obs(self, game: Lane, out: Any) -> None:
        """Write the observation."""
        write = self.form.observation.write
        if not self._several:
            write(game.obs, out)
            return
        for k, seen in enumerate(game.obs):
            write(seen, out[k])

    def action_mask(self, game: Lane, out: Any) -> None:
        """Write the legal actions."""
        if not self._several:
            out[:] = 1 if game.mask is None else game.mask
            return
        for k, acts in enumerate(game.needs_action):
            if acts:
                out[k] = 1 if game.mask[k] is None else game.mask[k]
            else:
                out[k] = 0
                out[k, 0] = 1

    def reward(self, game: Lane) -> tuple[Any, Any]:
        """Return the reward of the last step."""
        return (game.paid, [()] * len(game.paid)) if self._several else (game.paid, ())

    def bot_action(
        self, game: Any, params: np.void, agent: int, obs: Any, mask: Any, rng: Rng
    ) -> int:
        """Return a random legal action."""
        legal = np.flatnonzero(mask)
        return int(legal[rng.bounded(len(legal))])

    def bot(self, name: str) -> Any:
        """Return the parameters of the player ``random``."""
        if name in self.bot_names:
            return np.zeros(1, self.spec.bot_dtype)
        return super().bot(name)

    # -- rows --------------------------------------------------------------------------------------

    def pack(self, game: Lane) -> bytes:
        """Return the counters of a lane: no environment can be written down."""
        row = np.zeros(1, self.spec.state_dtype)
        row["done"], row["ep_return"], row["ep_length"] = game.done, game.ep_return, game.ep_length
        row["seed"], row["moves"] = game.seed & (2**64 - 1), game.moves
        if self._several:
            row["needs_action"], row["bot_rng"] = game.needs_action, game.bot_rng
            row["ends"] = game.ends
        return row.tobytes()

    def unpack(self, row: Any) -> Any:
        """Refuse a row: no environment can be made of it."""
        raise self._no_state()

    def validate(self, rows: Any) -> None:
        """Refuse rows; see :meth:`unpack`."""
        raise self._no_state()

    def _fits(self, lane: Lane, row: np.void) -> bool:
        """Return whether a row is that of a lane as it is now."""
        agents = len(lane.needs_action)
        if agents != self.form.agents:
            return False
        ours = np.frombuffer(self.pack(lane), row.dtype)
        return differing(ours, np.array([row], row.dtype)) is None

    def _no_state(self) -> StateError:
        return StateError(
            f"{self.name}: an environment of another package cannot be set to a saved state, so "
            "nothing that goes back to one, searches or draws worlds is possible with it"
        )

    def describe(self, row: np.void) -> str:
        """Name the decision that is due."""
        return f"decision {int(row['ep_length']) + 1}"

    def render(self, row: np.void, mode: str) -> Any:
        """Draw the lane that a row was read from, if it is still there: by its own ``render``."""
        lane = next((each for each in [*self._lanes] if self._fits(each, row)), None)
        drawn = None
        if lane is not None and self._draws == mode:
            with call(self.name, "render"):
                drawn = lane.render()
                drawn = drawn if drawn is None or mode == "ansi" else np.asarray(drawn, np.uint8)
        if mode == "rgb_array":
            if drawn is None:
                raise StateError(f"{self.name}: only the present state of a lane can be drawn")
            return drawn
        if isinstance(drawn, str):
            return drawn
        if lane is None:
            return f"{self.name}, decision {int(row['ep_length'])}: the state has passed"
        return _as_text(self.name, lane)


def _restore(name: str, options: Mapping[str, Any], attributes: Mapping[str, Any]) -> ForeignGame:
    game = ForeignGame(name, options)
    vars(game).update(attributes)
    return game


def _row_dtype(agents: int) -> np.dtype[Any]:
    each = () if agents == 1 else (agents,)
    fields: list[Any] = [("ep_return", "f8", each), ("seed", "u8"), ("moves", "u8")]
    fields += [("ep_length", "i4"), ("done", "i1")]
    if agents > 1:
        fields += [("bot_rng", "u8", (4,)), ("needs_action", "u1", each), ("ends", "i1", each)]
    return np.dtype(fields, align=True)


def _as_text(name: str, lane: Lane) -> str:
    """Describe what a lane shows in text, for environments that draw none."""
    several = isinstance(lane, AgentsLane)
    turn = lane.needs_action.index(True) if several and True in lane.needs_action else 0
    seen = lane.obs[turn] if several else lane.obs
    return f"{name}, decision {lane.ep_length}\n{_as_lines(seen)}"


def _as_lines(seen: Any) -> str:
    if isinstance(seen, dict):
        return "\n".join(f"{key}: {_as_lines(part)}" for key, part in seen.items())
    if isinstance(seen, tuple):
        return ", ".join(map(_as_lines, seen))
    array = np.asarray(seen)
    if array.size > MOST_SHOWN:
        return f"{array.dtype} of shape {array.shape}"
    return np.array2string(array, precision=3, suppress_small=True)
