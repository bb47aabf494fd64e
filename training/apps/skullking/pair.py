"""Manager and Worker in whole games, together and each with a rule bot in the other's place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from training.apps.skullking.whole_games import (
    ENV,
    MANAGER,
    WORKER,
    WholeGames,
    manager_options,
)
from training.nets.actor_critic import Logits
from training.players.bots import Bot
from training.players.network import Network, seen_by
from training.players.parts import Parts, learnt_part
from training.players.player import MakePlayer
from training.players.policy import EnvSpec
from training.run import games
from training.run.config import RunConfig
from training.run.envs import with_defaults
from training.run.seating import without_agents

BIDS, CARDS = "trained bids", "trained cards"  # the other half is the bot's
DECODED = "decoded bids"  # computed from the head over tricks; the cards are the pair's
HALVES = (BIDS, CARDS, DECODED)


@dataclass(frozen=True)
class Pair:
    """Both networks, as functions from observations to logits.

    Parameters
    ----------
    config : RunConfig
        What they were trained with.
    bids, cards : callable
        Of the Manager and of the Worker.
    decoded : callable, optional
        What each bid is expected to bring, if the Manager has learnt to tell.
    """

    config: RunConfig
    bids: Logits
    cards: Logits
    decoded: Logits | None = None

    def whole_games(self) -> tuple[Logits, EnvSpec]:
        """Return both as one function of observations of whole games, and their observer."""
        options = self.config.env_options
        whole = WholeGames(options, self.bids, self.cards)
        spec = EnvSpec(
            ENV,
            with_defaults(ENV, without_agents(options)),
            *(whole.obs_dtype, (), whole.num_actions),
            wrap=whole.wrap,
            wrap_vec=whole.wrap_vec,
            encode=whole.encode_asked,
            encode_like=lambda engine: whole.like(engine).encode_asked,
        )
        return whole.logits, spec

    def player(self, engine: Any) -> Parts:
        """Return the pair as a player of whole games; it plays the best legal actions."""
        return self._make_player(engine, bids=self.bids, cards=self.cards)

    def halves(self, bidder: str) -> dict[str, MakePlayer]:
        """Make the factories of players that share a half with the pair: they measure each half.

        Parameters
        ----------
        bidder : str
            The bot that bids for the Worker; the Manager's cards are played by ``rule_hard``.
        """
        makers: dict[str, MakePlayer] = {
            BIDS: partial(self._make_player, bids=self.bids),
            CARDS: partial(self._make_player, cards=self.cards, others=bidder),
        }
        if self.decoded is not None:
            makers[DECODED] = partial(self._make_player, bids=self.decoded, cards=self.cards)
        return makers

    def _make_player(
        self,
        engine: Any,
        *,
        bids: Logits | None = None,
        cards: Logits | None = None,
        others: str = "rule_hard",
    ) -> Parts:
        """Return networks as a player of whole games; ``others`` decides what is left."""
        options, rules = self.config.env_options, games.get_game(ENV).table.parts
        learnt = ((MANAGER, bids, manager_options(options)), (WORKER, cards, options))
        parts = [
            learnt_part(Network(logits, engine, seen_by(env, shown)), rules[env], shown)
            for env, logits, shown in learnt
            if logits is not None
        ]
        return Parts(rules[WORKER].column, parts, Bot(others, engine))
