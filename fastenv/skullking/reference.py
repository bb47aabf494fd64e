"""One game of Skull King in plain Python: the oracle of the compiled implementations.

This file is the flow of the game: turns, abilities, scores. How a round is dealt and bid for is in
``dealing.py``; the pure rules (legality, tricks, points of a round) are in ``rules.py`` and
re-exported here; the opponents are in ``bots.py``; what a game consists of, and how it becomes a
row, is in ``position.py``.

>>> from fastenv.skullking.config import SkullKingConfig
>>> config = SkullKingConfig(tier="flat", num_players=4)
>>> game = SkullKing(config.rules_record(), config.default_knobs(1), seed=7)
>>> while not game.done:
...     game.step(game.legal_actions()[0])
>>> game.rounds_done
10
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastenv.rng import GOLDEN_GAMMA, Rng, splitmix64
from fastenv.skullking import bots
from fastenv.skullking.dealing import RUNNING, Dealing
from fastenv.skullking.position import MASK64, load, pack, to_namespace
from fastenv.skullking.rules import (
    DEFAULT_RULES,
    FREE,
    OPEN,
    Captures,
    Play,
    RoundScore,
    Trick,
    TrickRules,
    captured,
    effective_class,
    estimate,
    hand_sizes,
    lead_suit,
    legal_cards,
    resolve_trick,
    score_round,
    shows_void,
    tigress_mode,
    winning_play,
)
from fastenv.skullking.tables import (
    BENDT,
    BID_SHARE_UNIT,
    CLASS,
    GRAYBEARD,
    HARRY,
    INVALID_LIMIT,
    JADE,
    NUM_ACTIONS,
    NUMBER,
    PIRATES,
    RASCAL,
    ROSIE,
    STRENGTH,
    SUIT,
    TIGRESS,
    TIGRESS_AS_PIRATE,
    TRUMP,
    Abilities,
    Bot,
    CardClass,
    Phase,
    Tier,
)

__all__ = [
    "DEFAULT_RULES",
    "FREE",
    "GRAYBEARD",
    "OPEN",
    "Captures",
    "Play",
    "RoundScore",
    "SkullKing",
    "Trick",
    "TrickRules",
    "captured",
    "effective_class",
    "estimate",
    "hand_sizes",
    "lead_suit",
    "legal_cards",
    "pack",
    "resolve_trick",
    "score_round",
    "tigress_mode",
    "to_namespace",
    "unpack",
    "winning_play",
]

BETS = (0, 10, 20)


class SkullKing(Dealing):
    """One game, from the point of view of the agent in seat ``agent``.

    ``reset`` and ``step`` always return at a decision (``phase`` names it) or at the end of the
    episode. It is the agent's, or that of a seat of ``Bot.EXTERNAL``: ``actor`` says whose. All
    other seats are played by bots.

    Parameters
    ----------
    rules : RULES_DTYPE record or SimpleNamespace
        Rule switches, see ``config.py``.
    knobs : KNOBS_DTYPE record or SimpleNamespace
        Opponents and other options that are read at every reset.
    seed : int, optional
        Start an episode at once.
    """

    # attributes of a position that are set here
    seen_strength: float
    round_idx: int
    rng: Rng
    deal_seed: int
    agent: int
    pirates: int
    turn: int
    first_leader: int
    phase: int
    done: int
    rosie_lead: int
    harry_seat: int
    jade_seat: int
    jade_pos: int
    first_discard: int
    rascal_seat: int
    rascal_bet: int
    ev_phase: int
    ev_action: int
    ev_cards: int
    ev_left: int
    ev_needed: int
    ev_invalid: int
    ev_card: int
    ev_round: int
    ev_bid: int
    ev_won: int
    ev_points: int
    ev_bonus: int
    ev_alliances: int
    ev_bet: int
    ev_rank: int
    last_seat: list[int]
    last_card: list[int]
    table_card: list[int]
    table_seat: list[int]
    table_mode: list[int]
    discard: list[int]
    ev_captures: list[int]
    alliances: list[tuple[int, int]]

    def __init__(self, rules: Any, knobs: Any, seed: int | None = None) -> None:
        super().__init__(rules, knobs)
        if seed is not None:
            self.reset(seed)

    # -- an episode ----------------------------------------------------------------------------

    def reset(self, seed: int | None = None) -> None:
        """Start an episode: with its own stream if there is a seed, else with the next draws."""
        rules, knobs, players = self.rules, self.knobs, self.rules.num_players
        # 1 stream of random numbers, deals, and the agent's seat
        if seed is not None:
            self.rng = Rng(seed)
            self.deal_seed = seed & MASK64 if rules.duplicate_deals else 0
            self.agent = max(knobs.agent_seat, 0)
        else:
            following = splitmix64((self.deal_seed + GOLDEN_GAMMA) & MASK64)
            self.deal_seed = following if rules.duplicate_deals else 0
            rotated = (self.agent + 1) % players
            self.agent = rotated if knobs.agent_seat < 0 else knobs.agent_seat
        # 2 forget the last episode, take the knobs
        self.clear_episode()
        self.bots[self.agent] = Bot.RULE_HARD
        for j in range(1, players):
            self.bots[(self.agent + j) % players] = knobs.opponents[j]
        self.abilities = rules.abilities if knobs.abilities else Abilities.OFF
        self.pirates = knobs.pirates
        # 3 the round to play, and its first leader
        self.draw_round()
        # 4 deal and bid, go on to the first decision
        self.start_round()
        self.advance()

    def step(self, action: int) -> None:
        """Take the actor's decision and play on to the next one; nothing if the episode is over.

        Parameters
        ----------
        action : int
            0..10. An illegal one changes nothing but the count of invalid actions.
        """
        if self.done:
            return
        # 1 clear the events, note what the agent decides and when; decisions of external seats
        # belong to what followed from the agent's, as those of bots do
        if self.actor == self.agent:
            self.clear_events()
            self.ev_phase, self.ev_action = self.phase, action
            self.ev_cards, self.ev_left = self.cards, self.cards - self.tricks
            if self.phase not in (Phase.BID, Phase.CANNON):
                self.ev_needed = self.bid[self.agent] - self.won[self.agent]
        # 2 legality
        if action not in self.legal_actions():
            self.invalid_count += 1
            self.ev_invalid = 1
            if self.invalid_count == INVALID_LIMIT:
                self.ev_invalid = self.done = 2
            return
        # 3 apply the decision
        self.apply(action)
        # 4 play on: tricks, abilities, rounds
        self.advance()

    def legal_actions(self) -> list[int]:
        """Return the legal actions of the pending decision; all of them at the end.

        See docs/skullking.md, 8.1, 8.2.
        """
        hand, bid = self.hand[self.actor], self.bid[self.actor]
        if self.phase == Phase.BID:
            return list(range(self.cards + 1))
        if self.phase == Phase.PLAY:
            legal = legal_cards(hand, self.plays(), self.rules)
            return [slot for slot, card in enumerate(hand) if card in legal]
        if self.phase in (Phase.BENDT_1, Phase.BENDT_2):
            return [slot for slot in range(len(hand)) if slot != self.first_discard]
        if self.phase == Phase.HARRY:
            return [a for a in range(3) if 0 <= bid + a - 1 <= self.cards]
        return list(
            {
                Phase.CANNON: range(2),
                Phase.TIGRESS: range(2),
                Phase.ROSIE: range(self.rules.num_players),
                Phase.RASCAL: range(3),
                Phase.END: range(NUM_ACTIONS),
            }[Phase(self.phase)]
        )

    def apply(self, action: int) -> None:
        """Carry out a legal decision of the actor; ``phase`` is what is asked next."""
        phase, self.phase = self.phase, RUNNING
        handlers: dict[int, Callable[[int], None]] = {
            Phase.BID: self.apply_bid,
            Phase.CANNON: self.apply_cannon,
            Phase.PLAY: self.apply_card,
            Phase.TIGRESS: self.apply_tigress,
            Phase.ROSIE: self.apply_rosie,
            Phase.BENDT_1: self.apply_discard,
            Phase.BENDT_2: self.apply_discard,
            Phase.RASCAL: self.apply_bet,
            Phase.HARRY: self.apply_change,
        }
        handlers[phase](action)

    def advance(self) -> None:
        """Play on until somebody must be asked or the episode ends."""
        while self.phase == RUNNING:
            if len(self.table_card) == self.rules.num_hands:
                self.finish_trick()
            elif self.tricks == self.cards:
                self.finish_round()
            else:
                self.next_turn()

    # -- the cards of a trick (docs/skullking.md, 3.4, 3.5) ------------------------------------

    def next_turn(self) -> None:
        """Let the next seat play a card, or ask it for one."""
        self.turn = seat = self.seat_order()[len(self.table_card)]
        if self.rules.tier != Tier.MANAGER and self.is_outside(seat):
            self.ask(Phase.PLAY, [seat])
        elif self.is_graybeard(seat):
            self.lay(seat, self.hand[seat][0], 0)  # the top of his pile, whatever the suit
        else:
            card = bots.choose_card(self.bot_of(seat), self.view(seat), self.rng)
            self.lay(seat, card, self.auto_mode(seat, card))

    def seat_order(self) -> list[int]:
        """Return the seats of the current trick in play order."""
        players = self.rules.num_players
        if self.rules.num_hands == players:
            return [(self.leader + i) % players for i in range(players)]
        other = 1 - self.human_leader  # 7.2: Graybeard leads after a trick he won, else is second
        if self.leader == GRAYBEARD:
            return [GRAYBEARD, self.human_leader, other]
        return [self.human_leader, GRAYBEARD, other]

    def is_outside(self, seat: int) -> bool:
        """Tell whether a seat is played from outside: the agent's, or an external one."""
        return seat == self.agent or self.bots[seat] == Bot.EXTERNAL

    def bot_of(self, seat: int) -> int:
        """Return the bot that decides for a seat what is not asked of it."""
        return Bot.RULE_HARD if self.bots[seat] == Bot.EXTERNAL else self.bots[seat]

    def auto_mode(self, seat: int, card: int) -> int:
        """Return the mode in which a seat plays a card without being asked.

        See docs/skullking.md, 8.3.
        """
        return tigress_mode(self.bid[seat], self.won[seat]) if card == TIGRESS else 0

    def apply_card(self, slot: int) -> None:
        """Play the card in a hand slot; the Tigress may ask for her mode first, still in hand."""
        card = self.hand[self.actor][slot]
        if card == TIGRESS and self.rules.tigress_agent:
            self.phase = Phase.TIGRESS
            return
        self.play(card, self.auto_mode(self.actor, card))

    def apply_tigress(self, mode: int) -> None:
        """Play the Tigress as an escape (0) or a pirate (1)."""
        self.play(TIGRESS, mode)

    def play(self, card: int, mode: int) -> None:
        """Lay the actor's card; the agent's is an event."""
        if self.actor == self.agent:
            self.ev_card = card
        self.lay(self.actor, card, mode)

    def lay(self, seat: int, card: int, mode: int) -> None:
        """Move a card from a hand to the table, where everybody sees it."""
        suit = lead_suit(self.plays(), bool(self.rules.late_suit))
        if not self.is_graybeard(seat) and shows_void(card, suit, self.rules):
            self.voids[seat] |= 1 << suit
        self.hand[seat].remove(card)
        self.table_card.append(card)
        self.table_seat.append(seat)
        self.table_mode.append(mode)
        self.played.add(card)
        self.learn(card)
        self.seen_strength += STRENGTH[card]
        kind = CLASS[card]
        counted = (CardClass.PIRATE, CardClass.KING, CardClass.MERMAID, CardClass.ESCAPE)
        if kind in counted:
            self.counts[counted.index(kind)] += 1
        elif kind == CardClass.NUMBER and SUIT[card] != TRUMP and NUMBER[card] >= 10:
            self.counts[4] += 1

    # -- the end of a trick (docs/skullking.md, 4) ---------------------------------------------

    def finish_trick(self) -> None:
        """Give a complete trick to its winner, find the next leader, use the winner's ability."""
        plays = self.plays()
        trick = resolve_trick(plays, self.rules)
        winner = trick.winner
        if winner < 0:
            self.destroyed += 1
        else:
            self.won[winner] += 1
            self.bonus[winner] += 0 if self.is_graybeard(winner) else trick.bonus
        self.alliances += [
            pair for pair in trick.alliances if not any(map(self.is_graybeard, pair))
        ]
        self.played_last[plays[-1].seat] += 1
        self.tricks += 1
        self.last_seat = self.table_seat
        self.last_card = [TIGRESS_AS_PIRATE if play.mode else play.card for play in plays]
        self.table_card, self.table_seat, self.table_mode = [], [], []
        self.rosie_lead = 0
        self.set_leader(trick.next_leader)
        if self.rules.tier != Tier.MANAGER:
            self.ev_trick = 1 if winner == self.agent else 2
            if winner == self.agent:
                self.ev_captures = list(trick.captures)
        card = next((play.card for play in plays if play.seat == winner), -1)
        if card in PIRATES and self.abilities != Abilities.OFF and not self.is_graybeard(winner):
            self.use_ability(winner, card)

    def set_leader(self, seat: int) -> None:
        """Note who leads the next trick, and the last player to lead for Graybeard's sake.

        See docs/skullking.md, 7.2.
        """
        self.leader = seat
        if not self.is_graybeard(seat):
            self.human_leader = seat

    # -- pirate abilities (docs/skullking.md, 6) -----------------------------------------------

    def use_ability(self, seat: int, pirate: int) -> None:
        """Use the ability of the pirate that won a trick, before the next lead."""
        if pirate == HARRY:
            self.harry_seat = seat  # used when the round ends
        elif self.tricks == self.cards:
            return  # after the last trick only Harry works
        elif pirate == JADE:
            self.use_jade(seat)
        elif pirate == BENDT and not self.draw(seat):
            return  # no stock left: nothing to draw, nothing to discard
        elif self.decides(seat, pirate):
            phases = {ROSIE: Phase.ROSIE, BENDT: Phase.BENDT_1, RASCAL: Phase.RASCAL}
            self.turn = seat
            self.ask(phases[pirate], [seat])
        else:
            self.bot_ability(seat, pirate)

    def decides(self, seat: int, pirate: int) -> bool:
        """Tell whether a seat is asked about a pirate, instead of a bot's rule."""
        asked = self.abilities == Abilities.AGENT and self.is_outside(seat)
        return asked and bool(self.pirates >> (pirate - ROSIE) & 1)

    def bot_ability(self, seat: int, pirate: int) -> None:
        """Let the bot of a seat decide about Rosie, Bendt or Rascal."""
        kind, view = self.bot_of(seat), self.view(seat)
        if pirate == ROSIE:
            self.use_rosie(bots.choose_leader(kind, view, self.rng))
        elif pirate == RASCAL:
            self.use_rascal(seat, BETS[bots.choose_bet(kind, view, self.rng)])
        else:
            slots = [bots.choose_discard(kind, view, self.rng)]
            if self.surplus(seat) == 2:
                slots.append(bots.choose_discard(kind, view, self.rng, slots[0]))
            self.use_bendt(seat, slots)

    def use_jade(self, seat: int) -> None:
        """Jade: look at the stock, as it is then."""
        self.abilities_used += 1
        self.jade_seat, self.jade_pos = seat, self.stock_pos
        if seat == self.actor:
            for card in self.stock[self.stock_pos :]:
                self.learn(card)
                self.out.add(card)

    def use_rosie(self, leader: int) -> None:
        """Rosie: choose who leads the next trick."""
        self.set_leader(leader)
        self.rosie_lead = 1
        self.abilities_used += 1

    def apply_rosie(self, action: int) -> None:
        """Count the seats of Rosie's choice from the actor's own."""
        self.use_rosie((self.actor + action) % self.rules.num_players)

    def draw(self, seat: int) -> int:
        """Bendt, first half: draw up to two cards to the end of the hand; return how many."""
        cards = self.stock[self.stock_pos : self.stock_pos + 2]
        if cards:
            self.bendt_seat = seat
            self.voids[seat] = 0  # the new cards may be of any suit
        self.stock_pos += len(cards)
        self.hand[seat] += cards
        if seat == self.actor:
            for card in cards:
                self.learn(card)
        return len(cards)

    def surplus(self, seat: int) -> int:
        """Return how many cards a hand holds beyond one for each trick to come."""
        return len(self.hand[seat]) - (self.cards - self.tricks)

    def use_bendt(self, seat: int, slots: list[int]) -> None:
        """Bendt, second half: discard as many cards as were drawn and sort the hand again."""
        hand = self.hand[seat]
        self.discard = [hand[slot] for slot in slots]
        self.hand[seat] = sorted(card for card in hand if card not in self.discard)
        if seat == self.actor:
            self.out.update(self.discard)
        self.abilities_used += 1

    def apply_discard(self, slot: int) -> None:
        """Choose a discard; both leave the hand together."""
        seat = self.actor
        if seat == self.agent:
            self.ev_card = self.hand[seat][slot]
        first, self.first_discard = self.first_discard, -1
        if first >= 0:
            self.use_bendt(seat, [first, slot])
        elif self.surplus(seat) == 1:
            self.use_bendt(seat, [slot])
        else:
            self.first_discard, self.phase = slot, Phase.BENDT_2

    def use_rascal(self, seat: int, bet: int) -> None:
        """Rascal: bet on one's own bid."""
        self.rascal_seat, self.rascal_bet = seat, bet
        self.abilities_used += 1

    def apply_bet(self, action: int) -> None:
        """Bet 0, 10 or 20."""
        self.use_rascal(self.actor, BETS[action])

    def use_harry(self, change: int) -> None:
        """Harry: change the bid of who won a trick with him."""
        self.bid[self.harry_seat] += change
        self.abilities_used += 1
        self.harry_seat = -1

    def apply_change(self, action: int) -> None:
        """Change the actor's bid by -1, 0 or +1 and close the round."""
        self.use_harry(action - 1)
        self.score()

    # -- the end of a round (docs/skullking.md, 5) ---------------------------------------------

    def finish_round(self) -> None:
        """After the last trick: Harry's change of a bid, then the scores."""
        if self.harry_seat >= 0:
            seat = self.harry_seat
            if self.decides(seat, HARRY):
                self.turn = seat
                self.ask(Phase.HARRY, [seat])
                return
            self.use_harry(bots.choose_change(self.bot_of(seat), self.view(seat), self.rng))
        self.score()

    def score(self) -> None:
        """Score the round for everybody, then go on to the next one or end the episode."""
        exact = [won == bid for won, bid in zip(self.won, self.bid, strict=True)]
        paid = [pair for pair in self.alliances if all(exact[seat] for seat in pair)]
        for seat in range(self.rules.num_players):
            self.score_seat(seat, alliances=sum(seat in pair for pair in paid))
            self.record_round(seat)
        self.rounds_done += 1
        if self.rules.full_game and self.round_idx + 1 < self.rules.num_rounds:
            self.round_idx += 1
            self.first_leader = (self.first_leader + 1) % self.rules.num_players  # 3.4
            self.start_round()
        else:
            self.end_episode()

    def score_seat(self, seat: int, alliances: int) -> None:
        """Add the points of a round to a player's total."""
        bid, won, cannon = self.bid[seat], self.won[seat], bool(self.cannon[seat])
        bet = self.rascal_bet if seat == self.rascal_seat else 0
        result = score_round(
            bid, won, self.cards, self.bonus[seat], alliances, bet, self.rules.scoring, cannon
        )
        self.total[seat] += result.points
        if seat == self.agent:
            self.ev_round = self.round_idx + 1
            self.ev_bid, self.ev_won = bid, won
            self.ev_points, self.ev_bonus = result
            self.ev_alliances, self.ev_bet = alliances, bet

    def record_round(self, seat: int) -> None:
        """Add a completed round to the public history of a seat."""
        bid, error = self.bid[seat], self.won[seat] - self.bid[seat]
        self.bid_sum[seat] += bid
        self.bid_share[seat] += bid * BID_SHARE_UNIT // self.cards
        self.error[seat] += error
        self.abs_error[seat] += abs(error)
        self.hits[seat] += error == 0
        self.zero_bids[seat] += bid == 0
        self.last_bid[seat] = bid

    def end_episode(self) -> None:
        """End the episode; after a full game players with equal totals share the better rank."""
        self.done, self.phase, self.turn = 1, Phase.END, self.agent
        self.give_turn(self.agent)
        if self.rules.full_game:
            totals = self.total[: self.rules.num_players]
            self.ev_rank = 1 + sum(total > totals[self.agent] for total in totals)


def unpack(row: Any, rules: Any, knobs: Any) -> SkullKing:
    """Build a game from a row, an object with the buffer protocol; the inverse of ``pack``."""
    game = SkullKing.__new__(SkullKing)  # not SkullKing(...): load sets all it would clear
    game.rules, game.knobs = to_namespace(rules), to_namespace(knobs)
    load(game, row)
    return game
