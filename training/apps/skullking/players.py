"""Trained networks in whole games: each takes the decisions of its tier, others the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fastenv import BatchEngine, registry
from fastenv.skullking.tables import Phase
from training.evaluation.policies import (
    Begins,
    Bot,
    Memory,
    Net,
    Policy,
    choose_legal,
    episode_begins,
)
from training.nets.actor_critic import Logits, RecurrentLogits
from training.players.trained import WITHOUT, Trained
from training.run.envs import make_engine

CARDS = {Phase.PLAY, Phase.TIGRESS}  # phases in which a card is played


def tier_of(env: str) -> str | None:
    """Return the tier of an environment: flat, manager, worker or ability; None in other games."""
    return registry.ENVS[registry.short_id(env)][1].get("tier")


def round_begins(engine: BatchEngine) -> np.ndarray:
    """Return the lanes of a whole game that are about to bid."""
    begins: np.ndarray = engine.info["decision_phase"] == Phase.BID
    return begins


class NetInGame:
    """A network of a smaller tier in whole games: it takes its own decisions, others the rest.

    Parameters
    ----------
    logits : Logits or RecurrentLogits
    observer : BatchEngine
        An engine of the network's tier; encodes what the network sees of a whole game's row.
    phases : set of Phase
        Decisions of the network.
    others : Policy
        Takes the others: a bot, or another network of a smaller tier.
    begins : callable
        Where an episode of the network's tier begins in a game; see :class:`Memory`.
    drawn : int, optional
        Its actions are drawn, by a generator with this seed.
    """

    def __init__(
        self,
        logits: Logits | RecurrentLogits,
        observer: BatchEngine,
        phases: set[Phase],
        others: Policy,
        begins: Begins = round_begins,
        drawn: int | None = None,
    ) -> None:
        self._memory, self._observer, self._others = Memory(logits, begins), observer, others
        self._phases = sorted(phases)
        self._rng = None if drawn is None else np.random.default_rng(drawn)

    def act(self, engine: BatchEngine) -> np.ndarray:
        """See :class:`Policy`."""
        own = np.isin(engine.info["decision_phase"], self._phases)
        actions = np.zeros(len(own), np.int32) if own.all() else self._others.act(engine)
        lanes = np.flatnonzero(own)
        self._memory.forget(engine)
        if lanes.size:
            obs = self._observer.encode_obs_many(engine.get_states(lanes), trusted=True)
            logits = self._memory.logits(obs, lanes)
            actions[lanes] = choose_legal(logits, engine.mask[lanes], self._rng)
        return actions


def in_whole_games(
    logits: Logits | RecurrentLogits,
    env: str,
    env_options: dict[str, Any],
    num_envs: int,
    *,
    bids: str = "rule_hard",
    seed: int = 0,
    draws: bool = False,
) -> Policy:
    """Return a network as a player of whole games, with a bot for decisions it has not learnt.

    Parameters
    ----------
    logits : Logits or RecurrentLogits
    env : str
        What it was trained on, with ``env_options``.
    env_options : mapping
    num_envs : int
        Lanes of the engine it plays in.
    bids : str
        Who bids for a Worker; a Manager's cards are played by ``rule_hard``.
    seed : int
        Of the bot.
    draws : bool
        The network's actions are drawn.
    """
    tier, drawn = tier_of(env), seed if draws else None
    if tier == "flat":
        return Net(logits, seed=drawn)
    observer = make_engine(env, 1, env_options)
    if tier == "manager":
        # An episode of the Manager is one bid, or the ten of a game.
        begins = episode_begins if env_options.get("mode") == "game" else round_begins
        cards = Bot("rule_hard", num_envs, seed)
        return NetInGame(logits, observer, {Phase.BID}, cards, begins, drawn)
    return NetInGame(logits, observer, CARDS, Bot(bids, num_envs, seed), drawn=drawn)


def match_policy(
    trained: Trained, num_envs: int, bids: str, seed: int, draws: bool = False
) -> Policy:
    """Return a trained agent as a player of whole games; see :func:`in_whole_games`."""
    if trained.search is not None:
        return trained.search(seed, num_envs)
    if trained.pair is not None:
        policy: Policy = trained.pair.policy(num_envs, seed)
        return policy
    config = trained.config
    options = dict(config.env_options)
    return in_whole_games(
        trained.logits, config.env, options, num_envs, bids=bids, seed=seed, draws=draws
    )


def who_plays(trained: Trained, bids: str) -> str:
    """Return who takes which decisions of a trained agent's whole games, in words."""
    if trained.search is not None:
        alone = replace(trained, search=None)
        return f"searches; {WITHOUT}: {who_plays(alone, bids)}"
    if trained.pair is not None:
        return "bids by the Manager, cards by the Worker"
    tier = tier_of(trained.config.env)
    if tier == "flat":
        return "bids and cards by the network"
    if tier == "manager":
        return "bids by the network, cards by rule_hard"
    return f"bids by {bids}, cards by the network"
