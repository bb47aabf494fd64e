"""Manager and Worker in whole games, together and each with a rule bot in the other's place."""

from __future__ import annotations

from dataclasses import dataclass

from fastenv.skullking.tables import Phase
from training.apps.skullking.players import CARDS as CARD_PHASES
from training.apps.skullking.players import NetInGame
from training.apps.skullking.whole_games import ENV, WholeGames, manager_observer
from training.evaluation.policies import Bot, Policy
from training.nets.actor_critic import Logits
from training.players.policy import EnvSpec
from training.run.config import RunConfig
from training.run.envs import make_engine, with_defaults, without_guests

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
        """Return both as one function of what they see of whole games, and their observer."""
        options = self.config.env_options
        games = WholeGames(options, self.bids, self.cards)
        wraps = games.wrap, games.wrap_vec, games.encode_asked
        shown = (games.obs_dtype, (), games.num_actions, *wraps)
        return games.logits, EnvSpec(ENV, with_defaults(ENV, without_guests(options)), *shown)

    def policy(self, num_envs: int, seed: int) -> Policy:
        """Return the pair as a player of whole games; it plays the best legal actions.

        Parameters
        ----------
        num_envs : int
            Lanes of the engine it plays in.
        seed : int
            Of the bot that takes decisions which neither has learnt.
        """
        return self._with_cards(self._with_bids(self.bids, Bot("rule_hard", num_envs, seed)))

    def halves(self, num_envs: int, bidder: str, seed: int) -> dict[str, Policy]:
        """Return players that share a half with the pair: what each half is worth.

        Parameters
        ----------
        num_envs : int
        bidder : str
            The bot that bids for the Worker; the Manager's cards are played by ``rule_hard``.
        seed : int
        """
        players = {
            BIDS: self._with_bids(self.bids, Bot("rule_hard", num_envs, seed)),
            CARDS: self._with_cards(Bot(bidder, num_envs, seed)),
        }
        if self.decoded is not None:
            bot = Bot("rule_hard", num_envs, seed)
            players[DECODED] = self._with_cards(self._with_bids(self.decoded, bot))
        return players

    def _with_bids(self, bids: Logits, others: Policy) -> Policy:
        return NetInGame(bids, manager_observer(self.config.env_options), {Phase.BID}, others)

    def _with_cards(self, others: Policy) -> Policy:
        observer = make_engine(self.config.env, 1, self.config.env_options)
        return NetInGame(self.cards, observer, CARD_PHASES, others)
