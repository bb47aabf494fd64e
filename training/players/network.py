"""Networks that play: one in its own environment, and a trained agent wherever it can sit.

A network takes the observations that it was trained on. Where an engine shows exactly these, they
are taken from there; else the rows are encoded once more, by an engine of the network's own
environment or by the agent's own encoder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import fastenv
from fastenv import BatchEngine
from fastenv.errors import ConfigError, StateError, show
from fastenv.registry import short_id
from fastenv.seats import EXTERNAL
from training.nets.actor_critic import Logits, RecurrentLogits
from training.players.bots import Bot
from training.players.contest_table import find_table
from training.players.draws import LaneDraws, gumbel
from training.players.parts import Parts, learnt_part
from training.players.player import Player
from training.players.policy import Policy, legal_softmax
from training.run import games
from training.run.seating import env_of_table, needs_mixing, without_seating

# Returns the observations of a network in lanes (k,) of an engine, shape (k, ...).
Sight = Callable[[Any, np.ndarray], np.ndarray]


def shown(engine: Any, lanes: np.ndarray) -> np.ndarray:
    """Return the observations of an engine in lanes: the sight of a network trained on its like."""
    seen: np.ndarray = engine.obs[lanes]
    return seen


class Network:
    """A network; see :class:`training.players.player.Player`.

    Parameters
    ----------
    logits : Logits or RecurrentLogits
        Of its observations; one with a state remembers a game a lane, so it has one seat of each.
    engine : BatchEngine
    sight : callable, optional
        See :data:`Sight`; default :func:`shown`.
    legal : callable, optional
        Returns the masks (n, A) to obey, given the engine; default those of the engine.
    sample : bool
        Draw actions from its distribution, in place of the best.
    """

    def __init__(
        self,
        logits: Logits | RecurrentLogits,
        engine: Any,
        sight: Sight = shown,
        *,
        legal: Callable[[Any], np.ndarray] | None = None,
        sample: bool = False,
    ) -> None:
        self._logits, self.see, self._legal = logits, sight, legal
        size = logits.state_size if isinstance(logits, RecurrentLogits) else 0
        self._states = np.zeros((engine.num_envs, size), np.float32)
        self._draws = LaneDraws(engine.num_envs) if sample else None

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Reset the states of lanes."""
        self._states[lanes] = 0
        if self._draws is not None:
            self._draws.begin(lanes, seeds)

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Choose legal actions."""
        engine.refresh()
        mask = engine.mask if self._legal is None else self._legal(engine)
        scores = np.where(mask[lanes] != 0, self.logits(engine, lanes), -np.inf)
        if self._draws is not None:
            scores = scores + gumbel(self._draws.next(lanes), scores.shape[1])
        actions: np.ndarray = scores.argmax(1).astype(np.int32)
        return actions

    def logits(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Compute its logits of the decisions in lanes (k, A), and keep the next states."""
        seen = self.see(engine, lanes)
        if not isinstance(self._logits, RecurrentLogits):
            return self._logits(seen)
        logits, self._states[lanes] = self._logits(seen, state=self._states[lanes])
        return logits

    def probabilities(self, engine: Any, lanes: np.ndarray) -> npt.NDArray[np.float64]:
        """Return the probability of each action, shape (k, A); NaN with a memory."""
        engine.refresh()
        probabilities = np.full((len(lanes), engine.num_actions), np.nan)
        if len(lanes) and not isinstance(self._logits, RecurrentLogits):
            logits = self._logits(self.see(engine, lanes))
            probabilities[:] = legal_softmax(logits, engine.mask[lanes] != 0)
        return probabilities


# -- a trained agent at a table --------------------------------------------------------------------


def seat_policy(
    policy: Policy, engine: Any, *, beside: bool = False, sample: bool | None = None
) -> Player:
    """Make a player of a trained agent, together with a bot if it knows part of a game.

    Parameters
    ----------
    policy : Policy
    engine : BatchEngine
        Whose lanes may be whole games, or the parts of one that the agent has learnt.
    beside : bool
        It sits beside a learner, whose episodes may be parts of a game in which players do not
        meet; else it plays the learner's own seat there.
    sample : bool, optional
        Whether it draws its actions; see :func:`draws`.

    Raises
    ------
    ConfigError
        If it is of another game, of another number of players, or of other rules whose states are
        not those of this table.
    """
    sight = find_sight(policy, engine, beside=beside)
    network = Network(policy.logits, engine, sight, sample=draws(policy, sample))
    return with_bot(network, engine, policy.env, policy.env_spec.options)


def with_bot(network: Network, engine: Any, env: str, options: Mapping[str, Any]) -> Player:
    """Let a bot take the decisions of whole games that a network has not learnt, if there are any.

    Parameters
    ----------
    network : Network
    engine : BatchEngine
    env : str
        What it was trained on, with ``options``; its game names the bot
        (:class:`training.run.games.PartOfGame`).
    options : mapping
    """
    part = games.get_game(env).table.parts.get(short_id(env))
    if part is None:
        return network
    own = learnt_part(network, part, options)
    return Parts(part.column, [own], Bot(part.bot, engine))


def in_own_env(policy: Policy, engine: Any, *, sample: bool | None = None) -> Network:
    """Make the player of a trained agent for an environment that :meth:`Policy.make` has made."""
    make = policy.env_spec.encode_like
    sight = shown if make is None else _encode_rows(make(engine))
    return Network(policy.logits, engine, sight, sample=draws(policy, sample))


def _encode_rows(encode: Callable[[np.ndarray], np.ndarray]) -> Sight:
    return lambda engine, lanes: encode(engine.get_states(lanes))


def draws(policy: Policy, sample: bool | None = None) -> bool:
    """Tell whether a policy draws its actions.

    Where good play needs mixed strategies it always does.

    Parameters
    ----------
    policy : Policy
    sample : bool, optional
        What is asked for; default what is usual in its game
        (:attr:`training.run.games.GameTraining.draws`).
    """
    asked = games.get_game(policy.env).draws if sample is None else sample
    return asked or needs_mixing(policy.env, policy.env_spec.options)


def find_sight(policy: Policy, engine: Any, *, beside: bool = False) -> Sight:
    """Find the sight of a policy in an engine; see :func:`seat_policy`."""
    encode = policy.env_spec.encode
    if engine.seats is None and not beside:
        _check_same_env(policy, engine)
        return shown if encode is None else _encode_rows(encode)
    observer = _make_observer(policy)
    _check_same_game(policy, observer, engine)
    if encode is not None:
        return _encode_rows(encode)
    return shown if _shows_same(observer, engine) else partial(_encode_again, observer)


def _encode_again(observer: BatchEngine, engine: Any, lanes: np.ndarray) -> np.ndarray:
    rows = engine.get_states(lanes)
    if observer.opponent is None:  # rows show the seat that decides
        return observer.encode_obs_many(rows, trusted=True)
    return observer.encode_obs_many(rows, trusted=True, seat=engine.get_actors(lanes))


def sight_of_rows(policy: Policy) -> Callable[[np.ndarray], np.ndarray]:
    """Find the function from rows (k,) that show one seat to the policy's observations."""
    if policy.env_spec.encode is not None:
        return policy.env_spec.encode
    return partial(_make_observer(policy).encode_obs_many, trusted=True)


def seen_by(env: str, options: Mapping[str, Any]) -> Sight:
    """Make the sight of a network trained in an environment, in rows of its game."""
    observer = fastenv.make_engine(env, 1, **without_seating(options))
    return lambda engine, lanes: observer.encode_obs_many(engine.get_states(lanes), trusted=True)


def _make_observer(policy: Policy) -> BatchEngine:
    """Make an engine of the policy's environment that encodes the rows of others."""
    options = without_seating(policy.env_spec.options)
    one_each = fastenv.make_game(policy.env, **options).spec.num_agents > 1
    seating: dict[str, Any] = {"seats": "all"} if one_each else {}
    return fastenv.make_engine(policy.env, 1, **options, **seating)


def _check_same_env(policy: Policy, engine: Any) -> None:
    """Refuse a policy in a game for one player that does not show its observations."""
    where = engine.game.env_id
    _check(short_id(policy.env) == where, policy, "env", policy.env, f"{where}, as here")
    for name in ("obs_dtype", "obs_shape", "num_actions"):
        own, shown = getattr(policy, name), getattr(engine, name)
        _check(own == shown, policy, name, str(own), f"{shown}, as here")


def _check_same_game(policy: Policy, observer: BatchEngine, engine: Any) -> None:
    """Refuse a policy for a table whose game, rules or seats differ from its own."""
    where, mine, theirs = engine.game.env_id, observer.spec, engine.spec
    same = env_of_table(policy.env) == env_of_table(where or "")
    _check(same, policy, "env", policy.env, f"of the game of {where}")
    own, seats = find_table([policy]).seats, engine.external_seats
    _check(own.count == seats.count, policy, "players", own.count, f"{seats.count}, as here")
    same = mine.num_actions == theirs.num_actions
    _check(same, policy, "actions", mine.num_actions, f"{theirs.num_actions}, as here")
    same = mine.state_dtype == theirs.state_dtype
    if (
        same and seats.fields is None and observer.game.resumable
    ):  # rows that show one seat are of the tier that shows it
        trial = BatchEngine(engine.game, 1, opponent=EXTERNAL)
        trial.reset_many(seeds=0)
        try:
            observer.game.validate(trial.get_states())
        except StateError:
            same = False
    if games.get_game(where or "").table.one_record:
        same &= observer.game.shared.tobytes() == engine.game.shared.tobytes()
    options = without_seating(policy.env_spec.options)
    _check(same, policy, "options", options, "those of games that are played as here")


def _check(fits: bool, policy: Policy, name: str, value: object, allowed: str) -> None:
    if not fits:
        setting = f"{name}={show(value)}"
        raise ConfigError(f"{policy.path} cannot sit at this table: {setting} must be {allowed}.")


def _shows_same(observer: BatchEngine, engine: Any) -> bool:
    """Tell whether an engine shows, of the seat that must act, what an observer would encode.

    Compiled encoders know nothing but the row and the shared record; others may. Where rows cannot
    be loaded, what is shown is all there is.
    """
    one, other = observer.game, engine.game
    same = one.env_id == other.env_id and one.spec == other.spec
    compiled = one.spec.kernel_module is not None or not one.resumable
    return compiled and same and bool(one.shared.tobytes() == other.shared.tobytes())
