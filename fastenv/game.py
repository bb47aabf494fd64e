"""The interface of a game: its specification, a reference, and compiled functions.

A game is a row of bytes (``docs/explanation/design.md``). :class:`GameSpec` says what a row, an
observation and an info look like; :class:`Reference` plays in plain Python, one game an object;
:class:`Compiled` holds C functions of one row, from Cython, Numba or elsewhere. Engine, loop and
views use nothing else of a game, and a game writes no loop over lanes.
"""

from __future__ import annotations

import copy
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from fastenv.backend import Backend
from fastenv.errors import ConfigError, show
from fastenv.pillow import needs_pillow
from fastenv.rng import Rng
from fastenv.seats import Seats
from fastenv.spec import NO_KNOBS, Compiled, GameSpec

__all__ = [
    "CONSIDERED_DTYPE",
    "Compiled",
    "Game",
    "GameSpec",
    "Reference",
    "Seats",
    "Steering",
    "StepTimes",
    "add_reward",
    "first_difference",
]

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

CONSIDERED_DTYPE = np.dtype([("action", "i4"), ("count", "i4"), ("value", "f8")])


class Reference(ABC):
    """A game in plain Python: calls on an object that stands for one running game.

    The object has the attributes ``done``, ``ep_return``, ``ep_length`` and, where the spec has
    them, ``tau``, ``ep_frames``, ``needs_action`` and ``bot_rng``, as the row. With several agents
    what belongs to an agent is a list.
    """

    @abstractmethod
    def create(self) -> Any:
        """Return a game that has not been reset yet."""

    @abstractmethod
    def reset(self, game: Any, knobs: np.void, seed: int | None) -> None:
        """Start an episode with these knobs: from a seed, or continuing the game's stream."""

    @abstractmethod
    def step(self, game: Any, action: Any) -> None:
        """Take one decision, an int, or a list of one for each agent."""

    @abstractmethod
    def pack(self, game: Any) -> bytes:
        """Return the row of a game."""

    def pack_seen(self, game: Any) -> bytes:
        """Return a row in which only what the kernels read need be filled in; default all is."""
        return self.pack(game)

    @abstractmethod
    def unpack(self, row: Any) -> Any:
        """Return the game of a row, given as an object with the buffer protocol.

        What the compiled core leaves open until it is needed may be missing in it.
        """

    def unpack_seen(self, row: Any, game: Any = None) -> Any:
        """Return a game of which only what encoding reads need be filled in; default all is.

        Read are observation, mask, reward, info and what the engine keeps.

        Parameters
        ----------
        row : object with the buffer protocol
        game : object, optional
            One that this method has returned and that is no longer used: it may be filled again.
        """
        return self.unpack(row)

    @abstractmethod
    def encode_obs(self, game: Any, out: Array) -> None:
        """Write the observation."""

    @abstractmethod
    def action_mask(self, game: Any, out: Bytes) -> None:
        """Write the legal actions as 0 and 1, shape (num_actions,)."""

    @abstractmethod
    def reward(self, game: Any) -> tuple[Any, Any] | None:
        """Return the reward of the last step and its terms, or None if it was no decision.

        The terms are a tuple in the order of ``terms_dtype``; with several agents both are lists.
        """

    def info(self, game: Any) -> tuple[Any, ...]:
        """Return the columns of the state, in the order of ``info_dtype``."""
        return ()

    def bot_action(
        self,
        game: Any,
        params: np.void,
        agent: int,
        obs: Array,
        mask: Bytes,
        rng: Rng,
    ) -> int:
        """Return a scripted player's action; it draws from ``rng``.

        It may look at the game, or at what its agent sees.
        """
        raise NotImplementedError

    # -- chance (for a spec that is ``enumerable``) ----------------------------------------------

    def every_start(self) -> Iterator[tuple[float, Any]]:
        """List the games in which an episode can start.

        Yields
        ------
        (float, object)
            Probability, and a game that belongs to the caller. The probabilities add up to 1.
        """
        raise NotImplementedError

    def every_step(self, game: Any, action: Any) -> Iterator[tuple[float, Any]]:
        """List the games to which a decision can lead.

        Parameters
        ----------
        game : object
            Stays as it is.
        action : int or list of int
            As :meth:`step` takes it.

        Yields
        ------
        (float, object)
            As of :meth:`every_start`: one outcome where nothing is drawn.
        """
        raise NotImplementedError

    # -- search (optional) -----------------------------------------------------------------------

    def resample(self, game: Any, agent: int, rng: Rng) -> None:
        """Resample the hidden information of an agent, uniformly among what fits its observations.

        The game's own generators are always replaced, since nobody knows the luck to come.
        What is shown to the agent, and all that is public, stays as it is. The result may depend
        on the *set* of what is hidden, not on who has it.

        Parameters
        ----------
        game : object
        agent : int
            Or the seat, in a game whose rows show one seat at a time.
        rng : Rng
            All draws come from here.
        """
        raise NotImplementedError

    def begin_rollout(self, game: Any, players: Array | None, until: str | None, rng: Rng) -> None:
        """Prepare a game for a rollout, in which all seats are asked; default it is as it is.

        Parameters
        ----------
        game : object
        players : ndarray, shape (P,), or None
            Of the spec's ``bot_dtype``; None where the rollout is one decision that is given, so
            that no player decides anything.
        until : str or None
            One of the spec's ``stops``.
        rng : Rng
            Of the players.
        """
        return

    def stopped(self, game: Any, start: Any, until: str, number: int) -> bool:
        """Return whether a rollout that began in the game ``start`` ends by a stop condition."""
        raise NotImplementedError

    def seat_of(self, game: Any, agent: int) -> int:
        """Return the seat whose decision is due; default the agent's number."""
        return agent


class Steering(Protocol):
    """Turns the keys that a person presses into actions."""

    @property
    def keys(self) -> str:
        """The keys that can be pressed, as text."""

    @property
    def idle(self) -> int | None:
        """The action of a frame in which no key is pressed; None if the game waits."""

    @property
    def frame_time(self) -> float:
        """Seconds that a frame lasts, where the game does not wait."""

    def press(self, key: str) -> int | None:
        """Take a key, named as in :mod:`fastenv.keys`; return the action, None until chosen."""

    def text(self) -> str:
        """Return the screen as text."""


class StepTimes(Protocol):
    """A profile of step times by part, over all engines of a process."""

    def read(self, wall_s: float, steps: int = 1, num_threads: int = 1) -> dict[str, float]:
        """Return milliseconds a step since the last reading, by part; they are its wall time."""


def add_reward(game: Any, reward: Any) -> None:
    """Add a decision to the sums that a reference game keeps; K rewards are a list."""
    if isinstance(reward, list):
        game.ep_return = [a + b for a, b in zip(game.ep_return, reward, strict=True)]
    else:
        game.ep_return += reward
    game.ep_length += 1


def first_difference(one: Array, other: Array, path: str = "") -> str | None:
    """Return the dotted name of the first field in which two records of a dtype differ, or None."""
    if one.dtype.names is None:
        return None if one.tobytes() == other.tobytes() else path
    for name in one.dtype.names:
        found = first_difference(one[name], other[name], f"{path}.{name}" if path else name)
        if found is not None:
            return found
    return None


AnyGame = TypeVar("AnyGame", bound="Game")


class Game(Reference):
    """A configured game.

    Attributes
    ----------
    spec : GameSpec
    shared : ndarray, shape (1,)
        One read-only record for the whole engine: rules, tables, whatever all lanes read.
    env_id : str or None
        The id it was made by, without the namespace; None if it was made by hand.
    bot_names : tuple of str
        Names that :meth:`bot` knows, the strongest player last.
    slow_bots : tuple of str
        Those of them that take seconds for a decision in the reference; ``fastenv verify`` plays
        without them.
    goal : str
        For people who play it: what it is about, and how to begin.
    presets : mapping of str to mapping
        Options by the name of what they are for; the option ``preset`` takes a name.
    resumable : bool
        Whether a row can be loaded and continues its episode. False of an environment that cannot
        be set to a saved state: rows of it are for reading alone.

    Examples
    --------
    >>> import fastenv
    >>> game = fastenv.make_game("SkullKingWorker-v0")
    >>> game.env_id, game.spec.num_actions
    ('SkullKingWorker-v0', 11)
    >>> game.bot_names[-1]
    'heuristic'
    """

    spec: GameSpec
    env_id: str | None = None
    bot_names: tuple[str, ...] = ()
    slow_bots: tuple[str, ...] = ()
    goal: str = ""
    pays_rollouts: bool = True  # whether rollouts count rewards; outcomes may say it all
    bots_read_obs: bool = True  # whether scripted players read what is shown, or the game alone
    presets: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    shared: Array = np.zeros(1, NO_KNOBS)
    resumable: bool = True
    keeps_shared: bool = False  # whether ``shared`` is another than the game is made with

    def __init_subclass__(cls, **options: Any) -> None:
        """Let methods of a game that draws in text alone return pictures of it too."""
        super().__init_subclass__(**options)
        for name in {"render", "render_seat"} & vars(cls).keys():
            setattr(cls, name, _with_pictures(vars(cls)[name]))

    # -- the shared record -----------------------------------------------------------------------

    def with_shared(self, shared: Array, trusted: bool = False) -> Game:
        """Return this game with another shared record, by which its reference plays too.

        Rows, knobs and spaces of an engine stay: a record that needs others is refused. A game
        that can tell which records are possible overrides this; of another every change is
        refused, unless it is trusted.

        Parameters
        ----------
        shared : ndarray, shape (1,)
            Of the dtype of ``self.shared``.
        trusted : bool
            Leave the check out: what is not checked can crash the process.

        Raises
        ------
        ConfigError
            Naming the field that cannot be what it is.
        """
        return self.accept_shared(copy.copy(self), shared, trusted)

    def accept_shared(self, made: AnyGame, shared: Array, trusted: bool) -> AnyGame:
        """Return a game made for a shared record, if that is what it is for; see `with_shared`."""
        made.env_id = self.env_id
        changed = first_difference(made.shared, shared)
        if changed is not None and not trusted:
            value, kept = (_part(record, changed) for record in (shared, made.shared))
            raise ConfigError(f"shared: {changed} must stay {show(kept)}, got {show(value)}")
        if changed is not None:
            made.keep_shared(shared)
        return made

    def keep_shared(self, shared: Array) -> None:
        """Take a record over as it is; a pickle of the game has it from now on."""
        self.shared, self.keeps_shared = shared.copy(), True
        self.shared.flags.writeable = False

    def pickled_attributes(self) -> dict[str, Any]:
        """Return the attributes that a pickle needs beside what the game is made from."""
        kept: dict[str, Any] = {"env_id": self.env_id}
        if self.keeps_shared:
            kept |= {"shared": self.shared, "keeps_shared": True}
        return kept

    # -- the compiled twins ----------------------------------------------------------------------

    def kernels(self) -> Compiled:
        """Return the functions of ``kernel_module``; called only if it can be imported."""
        assert self.spec.kernel_module is not None
        functions: Compiled = importlib.import_module(self.spec.kernel_module).functions()
        return functions

    def core(self) -> Any:
        """Return the ``TABLE`` of ``core_module``, or a :class:`Compiled`."""
        assert self.spec.core_module is not None
        return importlib.import_module(self.spec.core_module).TABLE

    def make_lanes(self, batch: Any, num_threads: int, usual: Callable[[Any, Any], Any]) -> Any:
        """Build the object that steps the lanes of an engine in plain Python.

        Default is one object of :meth:`create` a lane, stepped in turn, on one thread. A game that
        steps its lanes elsewhere, such as in processes, overrides it.

        Parameters
        ----------
        batch : fastenv.memory.Batch
        num_threads : int
        usual : callable
            Makes the default of a game and the memory.

        Returns
        -------
        fastenv.paths.PythonLanes
        """
        return usual(self, batch)

    # -- players ---------------------------------------------------------------------------------

    @property
    def seats(self) -> Seats | None:
        """The seats of the players; None in a game for one player."""
        agents = self.spec.num_agents
        return Seats(agents, self.spec.order) if agents > 1 else None

    @property
    def external_seats(self) -> Seats | None:
        """Seats beside the learner's that can be played from outside; default :attr:`seats`.

        A game that is only a part of another, such as one round of it, can have them although its
        players do not meet there.
        """
        return self.seats

    @property
    def num_seats(self) -> int:
        """Players at the table, P: whom a rollout needs."""
        return self.spec.num_agents

    def outcomes(self, rows: Array) -> npt.NDArray[np.float64]:
        """Return the outcome of each seat, float64, shape (k, P); default: the episode returns.

        The highest of a row that is over has won, and equal ones share it, unless the mean of
        many games is what counts (``judged_by`` of the spec).
        """
        found: npt.NDArray[np.float64] = rows["ep_return"].astype(np.float64)
        return found.reshape(len(rows), self.spec.num_agents)

    def decisions(self, rows: Array) -> npt.NDArray[np.int32]:
        """Return the number of decisions of each agent in the episode, int32, shape (k, K).

        An engine with an ``opponent`` counts on from there in rows that are loaded. Default: all
        act in every step, so each has made as many as the row counts. In a game of another order
        the default is 0, and the count begins with the load; its rows can say more.
        """
        found = np.zeros((len(rows), self.spec.num_agents), np.int32)
        if self.spec.order == "together" or self.spec.num_agents == 1:
            found += rows["ep_length"][:, None]
        return found

    # -- the rest --------------------------------------------------------------------------------

    def default_knobs(self, n: int) -> Array:
        """Return the configured knobs of ``n`` lanes."""
        return np.zeros(n, self.spec.knobs_dtype)

    def set_knob(self, knobs: Array, name: str, value: Any) -> None:
        """Write a knob into rows of ``knobs_dtype``, or raise :class:`ConfigError`."""
        raise ConfigError(f"{show(name)} is not a knob: this game has none")

    def get_knob(self, knobs: np.void, name: str) -> Any:
        """Return the value of a knob, or raise AttributeError."""
        raise AttributeError(f"this game has no knob {show(name)}")

    @abstractmethod
    def validate(self, rows: Array) -> None:
        """Raise :class:`StateError`, naming lane and field, unless all rows are possible states."""

    @abstractmethod
    def describe(self, row: np.void) -> str:
        """Name the decision that is due, for error messages."""

    def warning(self, column: str, row: np.void) -> str:
        """Describe a column of ``spec.warned_of`` that is not 0, in the state ``row``.

        Where the episode is over, the row may be that of the next one.
        """
        return f"{column} of the info is not 0"

    def action_name(self, action: int, row: np.void | None = None) -> str:
        """Name an action for people, in the state ``row`` if there is one; default is its number.

        A game whose actions mean something else in each state may need the state for more.
        """
        return str(action)

    def render(self, row: np.void, mode: str) -> Any:
        """Draw a state: ``ansi`` returns str, ``rgb_array`` uint8 of shape (H, W, 3).

        A game whose spec names ``ansi`` alone need not draw pictures: they show its text. Default
        is what seat 0 sees, in a game that says what seats do.
        """
        if type(self).render_seat is Game.render_seat:
            raise NotImplementedError
        return self.render_seat(row, 0, mode)

    def render_seat(self, row: np.void, seat: int, mode: str) -> Any:
        """Draw a state for the player of a seat, with nothing that it may not see.

        Default is :meth:`render`. A game that hides anything from a player overrides it.

        Parameters
        ----------
        row : record
        seat : int
            Any of the game's, whether or not its decision is due.
        mode : {"ansi", "rgb_array"}
        """
        return self.render(row, mode)

    def render_choice(self, row: np.void, action: int, mode: str) -> Any:
        """Draw a state with the mark of an action that is about to be taken; default without."""
        return self.render(row, mode)

    def steering(self, row: np.void) -> Steering | None:
        """Return the keys control of a state; None where actions are typed as numbers."""
        return None

    def shown(self, name: str, value: Any) -> Any:
        """Return a value of an info column as dicts show it: its label, if it has labels."""
        labels = self.spec.info_labels.get(name)
        return value if labels is None else labels[int(value)]

    def step_times(self) -> StepTimes | None:
        """Start a profile of compiled steps; None if the game has none."""
        return None

    @property
    def bots_that_look_ahead(self) -> tuple[str, ...]:
        """Return the bots that :meth:`considered` supports."""
        return ()

    def considered(
        self, row: np.void, agent: int, bot: str, backend: str | Backend = "auto"
    ) -> Array | None:
        """Return the actions that a look-ahead bot considers, with values, best first.

        Parameters
        ----------
        row : record of the spec's ``state_dtype``
        agent : int
            Whose decision it is.
        bot : str
        backend : str or Backend
            As for an engine.

        Returns
        -------
        ndarray of CONSIDERED_DTYPE, shape (k,), or None
            Action, mean value in the game's unit, and how many continuations that is the mean of.
            None for bots that do not look ahead, the default, and where no decision is due.
        """
        return None

    def bot(self, name: str) -> Array:
        """Return the parameters of a scripted player, shape (1,), or raise :class:`ConfigError`."""
        raise ConfigError(f"bot {show(name)}: this game has no scripted players")


def _with_pictures(render: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that draws its text where a game has no pictures of its own."""

    @wraps(render)
    def render_or_draw(self: Game, row: np.void, *args: Any, **options: Any) -> Any:
        *seat, mode = *args, *options.values()  # the mode is the last argument
        if mode != "rgb_array" or not self.spec.draws_text:
            return render(self, row, *args, **options)
        text = render(self, row, *seat, "ansi")
        with needs_pillow("the text"):
            from fastenv import text_picture
        return text_picture.draw(text)

    return render_or_draw


def _part(record: Array, path: str) -> Any:
    """Return the value at a dotted path in a record of shape (1,)."""
    for name in path.split("."):
        record = record[name]
    return record[0].tolist()
