"""How a round of Skull King begins, in plain Python: the deal, the bids, who is asked for them.

Part of the oracle: ``reference.SkullKing`` goes on from here with the tricks.
"""

from __future__ import annotations

from fastenv.rng import Rng
from fastenv.skullking import bots
from fastenv.skullking.position import MASK64, Position
from fastenv.skullking.rules import (
    Play,
    clamp_bid,
    estimate,
    is_special,
    legal_cards,
)
from fastenv.skullking.tables import Bot, GoalMode, Phase, Scoring, Tier

RUNNING = -1  # `phase` while no seat is asked


class Dealing(Position):
    """A position that can be dealt and bid for."""

    # attributes of a position that are set here
    round_idx: int
    first_leader: int
    cards: int
    leader: int
    human_leader: int
    turn: int
    phase: int
    actor: int
    specials_known: int
    ev_estimate: int
    out: set[int]
    known: set[int]
    stock: list[int]

    # -- deal and bids (docs/skullking.md, 3.2, 3.3) ------------------------------------------

    def draw_round(self) -> None:
        """Draw the round of an episode that samples one, and who leads first (8.4, draws 1, 2)."""
        rules = self.rules
        if not rules.full_game:
            u, last = self.rng.uniform(), rules.num_rounds - 1
            cdf = self.knobs.round_cdf
            self.round_idx = next((r for r in range(last) if u < cdf[r]), last)
        deals = Rng(self.deal_seed) if rules.duplicate_deals else self.rng
        self.first_leader = deals.bounded(rules.num_players)

    def has_goal(self) -> bool:
        """Tell whether the agent's bid is given as its goal: a Worker's, but not at a table."""
        rules = self.rules
        return rules.tier in (Tier.WORKER, Tier.ABILITY) and not rules.all_seats

    def start_round(self) -> None:
        """Deal and let everybody bid; a Worker's bid is its goal (docs/skullking.md, 10.5)."""
        self.clear_round()
        self.cards = self.rules.schedule[self.round_idx]
        self.deal()
        self.leader = self.human_leader = self.turn = self.first_leader
        if self.has_goal():
            self.bid[self.agent] = self.draw_goal()
        for seat in range(self.rules.num_players):
            # nobody sees a bid: views hide them while bids are asked for
            if seat != self.agent and self.bots[seat] != Bot.EXTERNAL:
                self.bid[seat] = bots.choose_bid(self.bots[seat], self.view(seat), self.rng)
                if self.rules.scoring == Scoring.RASCAL_CANNON:
                    self.cannon[seat] = bots.choose_cannon(self.bots[seat], self.rng)
        self.phase = RUNNING
        self.ask(Phase.BID, self.bidders())

    def bidders(self) -> list[int]:
        """Return who is asked for a bid: the agent, unless it has a goal, then external seats."""
        players, first = self.rules.num_players, int(self.has_goal())
        seats = [(self.agent + j) % players for j in range(first, players)]
        return [s for s in seats if s == self.agent or self.bots[s] == Bot.EXTERNAL]

    def ask(self, phase: Phase, seats: list[int]) -> None:
        """Ask the first of ``seats`` for a decision; go on if there is none."""
        if seats:
            self.phase = phase
            self.give_turn(seats[0])

    def give_turn(self, seat: int) -> None:
        """Make a seat the actor; what counts as known is what that seat has seen."""
        if seat != self.actor:
            self.actor = seat
            self.look_again()

    def look_again(self) -> None:
        """Write down what the actor has seen."""
        seat = self.actor
        jade = self.stock[self.jade_pos :] if seat == self.jade_seat else []
        self.out = {*jade, *(self.discard if seat == self.bendt_seat else [])}
        self.known, self.specials_known = set(), 0
        for card in {*self.hand[seat], *self.played, *self.out}:
            self.learn(card)

    def deal(self) -> None:
        """Shuffle the deck and deal it (8.4, draw 3)."""
        rng = self.rng
        if self.rules.duplicate_deals:
            rng = Rng((self.deal_seed + ((self.round_idx + 1) << 40)) & MASK64)
        deck = list(self.rules.deck)
        for i in range(len(deck) - 1, 0, -1):
            j = rng.bounded(i + 1)
            deck[i], deck[j] = deck[j], deck[i]
        for seat in range(self.rules.num_hands):
            dealt = deck[seat * self.cards : (seat + 1) * self.cards]
            # docs/skullking.md, 8.2; Graybeard's pile keeps the deal order (docs/skullking.md, 7.2)
            self.hand[seat] = dealt if self.is_graybeard(seat) else sorted(dealt)
        self.stock = deck[self.rules.num_hands * self.cards :]
        self.actor = self.agent
        for card in self.hand[self.agent]:
            self.learn(card)

    def draw_goal(self) -> int:
        """Return the goal of a Worker episode (docs/skullking.md, 8.4 and 10.5)."""
        mode, cards = self.knobs.goal_mode, self.cards
        if mode == GoalMode.UNIFORM:
            return self.rng.bounded(cards + 1)
        if mode == GoalMode.FIXED:
            return min(int(self.knobs.goal), cards)
        goal = estimate(self.hand[self.agent], cards)
        if mode == GoalMode.ESTIMATE:
            return clamp_bid(goal + self.rng.bounded(3) - 1, cards)
        return goal  # MANAGER: until the trainer writes the Manager's bid

    def apply_bid(self, bid: int) -> None:
        """Take the actor's bid; when all have bid, the bids are revealed."""
        bidders = self.bidders()
        if self.actor == self.agent:
            self.ev_estimate = estimate(self.hand[self.agent], self.cards)
        self.bid[self.actor] = bid
        self.ask(Phase.BID, bidders[bidders.index(self.actor) + 1 :])
        if self.phase == RUNNING and self.rules.scoring == Scoring.RASCAL_CANNON:
            self.ask(Phase.CANNON, bidders)

    def apply_cannon(self, cannonball: int) -> None:
        """Choose between grapeshot and cannonball (docs/skullking.md, 7.1)."""
        bidders = self.bidders()
        self.cannon[self.actor] = cannonball
        self.ask(Phase.CANNON, bidders[bidders.index(self.actor) + 1 :])

    # -- who sees what --------------------------------------------------------------------------

    def is_graybeard(self, seat: int) -> bool:
        """Tell whether a seat is the ghost's."""
        return seat >= int(self.rules.num_players)

    def learn(self, card: int) -> None:
        """Note that the actor has seen a card."""
        if card not in self.known:
            self.known.add(card)
            self.specials_known += is_special(card)

    def plays(self) -> list[Play]:
        """Return the cards on the table in play order."""
        return list(map(Play, self.table_seat, self.table_card, self.table_mode))

    def view(self, seat: int) -> bots.View:
        """Return a player's view of the game, with the fields that bots use."""
        hand, plays = self.hand[seat], self.plays()
        return bots.View(
            seat=seat,
            hand=tuple(hand),
            legal=tuple(legal_cards(hand, plays, self.rules)),
            table=tuple(plays),
            bid=self.bid[seat],
            won=self.won[seat],
            cards=self.cards,
            num_players=self.rules.num_players,
            num_hands=self.rules.num_hands,
        )
