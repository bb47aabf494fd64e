"""Bots and trained policies in the seats of whole games that are played from outside."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.engine import rng_streams
from fastenv.skullking.tables import Phase
from training.policies.policy import Policy, refuse_unless
from training.run.envs import make_engine

FLAT = "SkullKingFlat-v0"
# Decisions of the tiers of part of a game; a bot takes the others.
_PHASES = {
    "flat": tuple(Phase),
    "manager": (Phase.BID,),
    "worker": (Phase.PLAY, Phase.TIGRESS),
    "ability": (Phase.PLAY, Phase.TIGRESS),
}
_OTHERS = "rule_hard"


def table(num_envs: int, num_players: int) -> BatchEngine:
    """Return an engine of whole games by the official rules; equal seeds are equal deals."""
    seats = {"opponents": "external", "agent_seat": 0, "num_players": num_players}
    return make_engine(FLAT, num_envs, {**seats, "deals": "duplicate"})


class BotGuest:
    """A bot; see :class:`training.run.games.Guest`.

    Parameters
    ----------
    name : str
    engine : BatchEngine
    seed : int
        Of its generators, one a lane.

    Raises
    ------
    ConfigError
        If there is no such bot.
    """

    takes_all = True

    def __init__(self, name: str, engine: BatchEngine, seed: int) -> None:
        engine.game.bot(name)
        self._name, self._streams = name, rng_streams(seed, engine.num_envs)

    def begin(self, lanes: np.ndarray) -> None:
        """Bots remember nothing."""

    def act(self, engine: BatchEngine, lanes: np.ndarray) -> np.ndarray:
        """Return its choices."""
        actions: np.ndarray = engine.bot_actions(self._name, self._streams)[lanes]
        return actions


class PolicyGuest:
    """A trained policy, beside ``rule_hard`` where it takes only some of the decisions.

    Parameters
    ----------
    policy : Policy
    engine : BatchEngine
    seed : int
        Of the bot's generators.

    Attributes
    ----------
    takes_all : bool
        It decides everything itself.

    Raises
    ------
    ConfigError
        If it is of another game, or of another number of players.
    """

    def __init__(self, policy: Policy, engine: Any, seed: int) -> None:
        observer = make_engine(policy.env, 1, policy.env_spec.options)
        config: Any = getattr(observer.game, "config", None)
        tier = str(getattr(config, "tier", ""))
        allowed = f"of the game of {FLAT}, whose table this is"
        refuse_unless(tier in _PHASES, f"env {policy.env} of {policy.path}", allowed)
        players, seats = config.num_players, engine.game.config.num_players
        refuse_unless(
            players == seats,
            f"num_players={players} of {policy.path}",
            f"{seats}, as at this table",
        )
        self.takes_all = tier == "flat"
        self._policy, self._phases = policy, _PHASES[tier]
        self._encode = policy.env_spec.encode or (
            lambda rows: observer.encode_obs_many(rows, trusted=True)
        )
        self._of_a_round = tier != "flat" and config.mode == "round"
        self._others = BotGuest(_OTHERS, engine, seed)
        self._states = np.zeros((engine.num_envs, policy.state_size), np.float32)

    def begin(self, lanes: np.ndarray) -> None:
        """Forget what was in lanes whose games begin."""
        self._states[lanes] = 0

    def act(self, engine: BatchEngine, lanes: np.ndarray) -> np.ndarray:
        """Return its best legal actions, or the bot's."""
        phase = engine.info["decision_phase"][lanes]
        if self._of_a_round:
            self._states[lanes[phase == Phase.BID]] = 0
        own = np.isin(phase, self._phases)
        actions = np.zeros(len(lanes), np.int32) if own.all() else self._others.act(engine, lanes)
        asked = lanes[own]
        if asked.size:
            state = self._states[asked] if self._policy.state_size else None
            obs = self._encode(engine.get_states(asked))
            actions[own], state = self._policy.act(obs, engine.mask[asked], state)
            if state is not None:
                self._states[asked] = state
        return actions
