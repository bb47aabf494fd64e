"""Trained networks in whole games: each takes the decisions of its tier, a bot the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from fastenv import registry
from training.nets.actor_critic import Logits, RecurrentLogits
from training.players.bots import Bot
from training.players.network import Network, seen_by
from training.players.parts import Parts, learnt_part
from training.players.player import MakePlayer, Player
from training.players.trained import WITHOUT, Trained
from training.run import games


def tier_of(env: str) -> str | None:
    """Return the tier of an environment: flat, manager, worker or ability; None in other games."""
    return registry.ENVS[registry.short_id(env)][1].get("tier")


def in_whole_games(
    logits: Logits | RecurrentLogits,
    env: str,
    env_options: Mapping[str, Any],
    engine: Any,
    *,
    bids: str = "rule_hard",
    sample: bool = False,
) -> Player:
    """Return a network as a player of whole games, with a bot for decisions it has not learnt.

    Parameters
    ----------
    logits : Logits or RecurrentLogits
    env : str
        What it was trained on, with ``env_options``.
    env_options : mapping
    engine : BatchEngine
        Of whole games.
    bids : str
        The bot that bids for a Worker; a Manager's cards are played by ``rule_hard``.
    sample : bool
        The network's actions are drawn.
    """
    part = games.get_game(env).table.parts.get(registry.short_id(env))
    if part is None:
        return Network(logits, engine, sample=sample)
    network = Network(logits, engine, seen_by(env, env_options), sample=sample)
    bot = part.bot if tier_of(env) == "manager" else bids
    return Parts(part.column, [learnt_part(network, part, env_options)], Bot(bot, engine))


def match_player(trained: Trained, bids: str, *, sample: bool = False) -> MakePlayer:
    """Make the factory of a trained agent in whole games; see :func:`in_whole_games`."""
    if trained.search is not None:
        return trained.search
    if trained.pair is not None:
        make: MakePlayer = trained.pair.player
        return make
    config = trained.config
    maker = partial(in_whole_games, trained.logits, config.env, config.env_options)
    return partial(maker, bids=bids, sample=sample)


def who_plays(trained: Trained, bids: str) -> str:
    """Describe in words who takes which decisions of a trained agent's whole games."""
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
