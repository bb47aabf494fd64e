"""Kuhn poker and Leduc poker: the smallest games of bluffing, whose exact values are known.

Each of two pays one point and gets a card. In each round they call or raise in turn; who folds
loses what is paid. At the end the higher card wins; in Leduc poker a card is shown after the first
round, and a pair with it beats all else. ``small_poker_kernels.py`` has the compiled twin.

Sources: H. W. Kuhn, "A simplified two-person poker" (1950); F. Southey and others, "Bayes' bluff:
opponent modelling in poker" (2005).
"""

from typing import NamedTuple

import numpy as np

from fastenv.game import GameSpec
from fastenv.options import check_choice
from fastenv.plain import PlainGame
from fastenv.rng import Rng

STATE_DTYPE = np.dtype(
    [
        ("rng", "u8", (4,)),
        ("bot_rng", "u8", (4,)),
        ("ep_return", "f8", (2,)),
        ("ep_length", "i4"),
        ("cards", "i4", (2,)),  # of each agent
        ("board", "i4"),  # the card that all see; -1 none
        ("paid", "i4", (2,)),
        ("round", "i4"),
        ("count", "i4"),  # moves in this round
        ("raises", "i4"),  # in this round
        ("moves", "i4", (2, 4)),  # of each round: 0 none, 1 + action
        ("points", "i4"),  # what agent 0 has won; 0 until the end
        ("done", "i1"),
        ("needs_action", "u1", (2,)),
    ],
    align=True,
)
INFO_DTYPE = np.dtype([("points", "i4")], align=True)
SHARED_DTYPE = np.dtype(
    [("ranks", "i4"), ("suits", "i4"), ("rounds", "i4"), ("raises", "i4"), ("bets", "i4", (2,))],
    align=True,
)
FOLD, CALL, RAISE = 0, 1, 2
ACTIONS, BOTS, KINDS = ("fold", "call", "raise"), ("random",), ("kuhn", "leduc")


class Rules(NamedTuple):
    """What tells the kinds apart; a card is ``rank * suits + suit``."""

    ranks: int
    suits: int
    rounds: int
    raises: int  # at most, in each round
    bets: tuple[int, int]  # what a raise adds, in each round


RULES = {"kuhn": Rules(3, 1, 1, 1, (1, 0)), "leduc": Rules(3, 2, 2, 2, (2, 4))}


class Poker:
    """One hand of cards: one attribute for each field of the row."""

    __slots__ = (*STATE_DTYPE.names, "rules")

    def __init__(self, rules):
        self.rules = rules
        self.rng, self.bot_rng, self.cards = Rng(), [0] * 4, [0, 0]
        self.clear()

    def reset(self, seed=None):
        """Start an episode: drawn are the generator of the bots, then a card for each agent."""
        if seed is not None:
            self.rng = Rng(seed)
        self.clear()
        self.bot_rng = [self.rng.next() for _ in range(4)]
        first = self.draw(self.rng)
        self.cards = [first, self.draw(self.rng, first)]

    def clear(self):
        """Set what every episode begins with."""
        self.ep_return, self.ep_length = [0.0, 0.0], 0
        self.paid, self.board, self.points, self.done = [1, 1], -1, 0, 0
        self.round = self.count = self.raises = 0
        self.moves, self.needs_action = [[0] * 4, [0] * 4], [1, 0]

    def draw(self, rng, *known):
        """Draw one of the cards that are not known."""
        card = rng.bounded(self.rules.ranks * self.rules.suits - len(known))
        for each in sorted(known):
            card += card >= each
        return card

    def legal_actions(self, agent):
        """Return what the agent may do: a fold is for who has paid less."""
        if not self.needs_action[agent]:
            return [FOLD]
        may_fold, may_raise = self.paid[agent] < self.paid[1 - agent], self.can_raise()
        return [FOLD] * may_fold + [CALL] + [RAISE] * may_raise

    def can_raise(self):
        """Return whether another raise is allowed in this round."""
        return self.raises < self.rules.raises and self.count < 3

    def step(self, actions):
        """Fold, call or raise; a raise too many is a call."""
        agent = 0 if self.needs_action[0] else 1
        action, other = actions[agent], 1 - agent
        if action == RAISE and not self.can_raise():
            action = CALL
        self.moves[self.round][self.count] = 1 + action
        self.count += 1
        if action == FOLD:
            self.end(other, self.paid[agent])
            return
        self.paid[agent] = self.paid[other]
        self.needs_action = [agent, 1 - agent]  # the other's turn
        if action == RAISE:
            self.paid[agent] += self.rules.bets[self.round]
            self.raises += 1
        elif self.count > 1:  # the round is over
            self.end_round()

    def end_round(self):
        """Show a card and begin the next round, or compare the hands."""
        self.needs_action = [1, 0]
        if self.round + 1 < self.rules.rounds:
            self.round += 1
            self.count = self.raises = 0
            self.board = self.draw(self.rng, *self.cards)
            return
        first, second = (self.strength(card) for card in self.cards)
        self.end(0 if first > second else 1, self.paid[0] if first != second else 0)

    def strength(self, card):
        """Return the rank of a card, or more for a pair."""
        rank, suits = card // self.rules.suits, self.rules.suits
        pair = self.board >= 0 and rank == self.board // suits
        return rank + self.rules.ranks * pair

    def end(self, winner, points):
        """End the hand: the winner gets the points that the other has paid."""
        self.points = points if winner == 0 else -points
        self.done, self.needs_action = 1, [0, 0]

    def resample(self, agent, rng):
        """Draw the card of the other anew; nobody knows the luck to come."""
        known = [self.cards[agent], self.board] if self.board >= 0 else [self.cards[agent]]
        self.cards[1 - agent] = self.draw(rng, *known)
        self.rng, self.bot_rng = Rng(rng.next()), [rng.next() for _ in range(4)]


class PokerGame(PlainGame):
    """Kuhn poker or Leduc poker, configured."""

    def __init__(self, kind="kuhn"):
        check_choice("kind", kind, KINDS)
        self.rules = rules = RULES[kind]
        self.shared = np.array([rules], SHARED_DTYPE)
        spec = GameSpec(
            num_actions=3,
            num_agents=2,
            order="turns",
            opponent="random",
            judged_by="points",
            obs_shape=(rules.ranks * rules.rounds + 1 + 8 * rules.rounds,),
            obs_bounds=(0.0, 1.0),
            state_dtype=STATE_DTYPE,
            info_dtype=INFO_DTYPE,
            kernel_module="fastenv.examples.small_poker_kernels",
            core_module="fastenv.examples.small_poker_kernels",
            render_modes=("ansi",),
            hidden=True,
            mixed=True,
            enumerable=True,
        )
        cards = rules.ranks * rules.suits
        limits = {"cards": (0, cards - 1), "board": (-1, cards - 1), "paid": (0, 100)}
        limits |= {"round": (0, rules.rounds - 1), "count": (0, 3), "raises": (0, rules.raises)}
        limits |= {"moves": (0, 3), "points": (-100, 100), "done": (0, 1), "needs_action": (0, 1)}
        super().__init__(spec, limits, BOTS)

    def create(self):
        """Return a hand."""
        return Poker(self.rules)

    def encode_obs(self, game, out):
        """Write own card, the card that all see, the seat, and all moves."""
        rules, out[...] = self.rules, 0
        for agent in range(2):
            out[agent, game.cards[agent] // rules.suits] = 1
            at = rules.ranks
            if rules.rounds > 1:
                if game.board >= 0:
                    out[agent, at + game.board // rules.suits] = 1
                at += rules.ranks
            out[agent, at] = agent
            for number in range(rules.rounds * 4):
                move = game.moves[number // 4][number % 4]
                if move > 1:
                    out[agent, at + 1 + 2 * number + move - 2] = 1

    def reward(self, game):
        """Return the points of both; 0 until the end."""
        return (float(game.points), float(-game.points)), ((), ())

    def info(self, game):
        """Return the points of agent 0."""
        return (game.points,)

    def bot_action(self, game, params, agent, obs, mask, rng):
        """Return any legal action."""
        legal = game.legal_actions(agent)
        return legal[rng.bounded(len(legal))]

    def resample(self, game, agent, rng):
        """Resample what an agent cannot know."""
        game.resample(agent, rng)

    def core(self):
        """Return reset, step and the like, compiled by Numba."""
        from fastenv.examples.small_poker_kernels import core

        return core()

    def action_name(self, action, row=None):
        """Name an action."""
        return ACTIONS[action]

    def render_seat(self, row, seat, mode):
        """Return own card, the card that all see, and all moves."""
        names = "JQK"[: self.rules.ranks]
        board = names[row["board"] // self.rules.suits] if row["board"] >= 0 else "none"
        cards = [names[card // self.rules.suits] for card in row["cards"]]
        other = cards[1 - seat] if row["done"] else "?"
        moves = "; ".join(
            " ".join(ACTIONS[move - 1] for move in moves if move) for moves in row["moves"]
        )
        paid = f"paid {row['paid'][seat]} and {row['paid'][1 - seat]}"
        return f"you {cards[seat]}  other {other}  board {board}\n{paid}\n{moves}"


make_game = PokerGame  # the registry calls it with the options of ``make``
