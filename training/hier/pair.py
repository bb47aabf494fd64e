"""Manager and Worker in whole games, together and each with a rule bot in the other's place."""

from __future__ import annotations

from dataclasses import dataclass

from fastenv.skullking.tables import Phase
from training.config import RunConfig
from training.envs import make_engine
from training.evaluation.policies import Bot, NetInGame, Policy
from training.hier.options import manager_view
from training.ppo.policy import Logits

BIDS, CARDS = "trained bids", "trained cards"  # the other half is the bot's


@dataclass(frozen=True)
class Pair:
    """Both networks, as functions from observations to logits.

    Parameters
    ----------
    config : RunConfig
        What they were trained with.
    bids, cards : callable
        Of the Manager and of the Worker.
    """

    config: RunConfig
    bids: Logits
    cards: Logits

    def policy(self, num_envs: int, seed: int) -> Policy:
        """Return the pair as a player of whole games; it plays the best legal actions.

        Parameters
        ----------
        num_envs : int
            Lanes of the engine it plays in.
        seed : int
            Of the bot that takes decisions which neither has learnt.
        """
        return self._with_cards(self._with_bids(Bot("rule_hard", num_envs, seed)))

    def halves(self, num_envs: int, bidder: str, seed: int) -> dict[str, Policy]:
        """Return players of which one half is the pair's: what each of the two is worth.

        Parameters
        ----------
        num_envs : int
        bidder : str
            The bot that bids for the Worker; the Manager's cards are played by ``rule_hard``.
        seed : int
        """
        return {
            BIDS: self._with_bids(Bot("rule_hard", num_envs, seed)),
            CARDS: self._with_cards(Bot(bidder, num_envs, seed)),
        }

    def _with_bids(self, others: Policy) -> Policy:
        return NetInGame(self.bids, manager_view(self.config), {Phase.BID}, others)

    def _with_cards(self, others: Policy) -> Policy:
        view = make_engine(self.config.env, 1, self.config.env_options)
        return NetInGame(self.cards, view, {Phase.PLAY, Phase.TIGRESS}, others)
