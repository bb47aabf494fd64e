"""Rewards in plain Python (docs/skullking.md, 10.3 to 10.6), from the events of a game's last step.

They are Python floats, summed in the order of those tables; the kernels must reproduce them.
"""

from __future__ import annotations

from fastenv.skullking.blocks import high_standard
from fastenv.skullking.position import Position
from fastenv.skullking.tables import CLASS, NUMBER, STRENGTH, SUIT, CardClass, Phase, Tier

RANK_REWARD = (0.0, 10.0, 3.0, -2.0)  # no game ended, 1st, 2nd, 3rd; below that:
LOW_RANK_REWARD = -5.0
INVALID_REWARD = -0.5
TRUNCATION_REWARD = -5.0


def rank_reward(rank: int) -> float:
    """Return the reward for a rank at the end of a game (docs/skullking.md, 10.3)."""
    return RANK_REWARD[rank] if rank < len(RANK_REWARD) else LOW_RANK_REWARD


def flat_shaped(g: Position) -> float:
    """Sum the events of docs/skullking.md, 10.3, in the order of its table."""
    reward, wanted = 0.0, g.ev_needed
    if g.ev_phase == Phase.BID:
        reward += 0.1 + 2 * (1 - abs(g.ev_action - g.ev_estimate) / g.ev_cards)
    if g.ev_card >= 0 and g.ev_phase in (Phase.PLAY, Phase.TIGRESS):
        reward += 0.1
        reward += card_quality(STRENGTH[g.ev_card], wanted)
    if g.ev_trick == 1:
        reward += 3.0 if wanted > 0 else -2.0 if wanted == 0 else 0.0
        for captured, value in zip(g.ev_captures, (0.3, 0.5, 0.5, 0.7, 1.0), strict=True):
            reward += value * captured
    elif g.ev_trick == 2:
        hopeless = wanted > g.ev_left - 1
        reward += 1.5 if wanted == 0 else -1.0 if wanted > 0 and not hopeless else 0.0
    if g.ev_round:
        reward += (5.0, 2.0, -1.0, -5.0)[min(abs(g.ev_bid - g.ev_won), 3)]
        reward += 2.0 * g.ev_alliances
    return reward + rank_reward(g.ev_rank)


def card_quality(strength: float, wanted: int) -> float:
    """Judge the card played: strong ones if tricks are needed, weak ones if none is.

    See docs/skullking.md, 10.3.
    """
    if wanted > 0:
        return 1.0 if strength > 0.6 else -0.5 if strength < 0.3 else 0.0
    if wanted == 0:
        return 0.5 if strength < 0.4 else -0.3 if strength > 0.7 else 0.0
    return 0.0


def manager_shaped(g: Position) -> float:
    """Judge the bid when its round is over (docs/skullking.md, 10.4)."""
    return bid_reward(g.ev_bid, g.ev_won, g.ev_cards) if g.ev_round else 0.0


def bid_reward(bid: int, won: int, cards: int) -> float:
    """Compare a bid with the tricks won of a round of ``cards`` tricks.

    See docs/skullking.md, 10.4.
    """
    distance = abs(bid - won)
    if distance == 0:
        return 5.0 + (0.5 * cards if bid == 0 else 0.0)
    return (1.0, -1.0)[distance - 1] if distance < 3 else -2.0 - 0.5 * distance


def worker_shaped(g: Position) -> float:
    """Judge the trick and the goal, then decisions about abilities (docs/skullking.md, 10.6).

    See docs/skullking.md, 10.5.
    """
    reward = 0.0
    if g.ev_trick:
        needed_after = bool(g.rules.needed_after)
        reward = trick_reward(g.ev_trick == 1, g.ev_needed, g.ev_left, needed_after)
    if g.ev_round and g.ev_won == g.ev_bid:
        reward += g.rules.goal_bonus
    reward += ability_reward(g)
    if g.ev_round:
        reward += bet_reward(g.ev_bet, g.ev_won == g.ev_bid)
    return reward


def trick_reward(won: bool, wanted: int, left: int, needed_after: bool) -> float:
    """Compare the result of a trick with the tricks wanted before it (docs/skullking.md, 10.5).

    Parameters
    ----------
    won : bool
        Whether the agent won the trick.
    wanted, left : int
        Tricks he needed and tricks left, both before it; it is one of those left.
    needed_after : bool
        Count the trick before judging it.
    """
    if won:
        wanted -= needed_after
        return 3.0 if wanted > 0 else -1.5 if wanted == 0 else -2.0
    rest = left - 1
    return 0.5 if wanted <= rest else 0.0 if wanted == rest + 1 else -1.0


def bet_reward(bet: int, exact: bool) -> float:
    """Pay Rascal's bet at the end of a round (docs/skullking.md, 10.6)."""
    return 0.01 * (bet if exact else -bet)


def ability_reward(g: Position) -> float:
    """Judge the decision about an ability (docs/skullking.md, 10.6)."""
    if g.ev_phase == Phase.ROSIE and g.rules.rosie_shaping:
        return 0.1 if g.ev_action == 0 else -0.05
    if g.ev_phase in (Phase.BENDT_1, Phase.BENDT_2):
        return discard_reward(g.ev_card, g.ev_needed > 0)
    if g.ev_phase == Phase.RASCAL:
        bet = 10 * g.ev_action
        return 0.005 * (bet if g.ev_needed <= 0 else -bet if g.ev_needed > g.ev_left else 0)
    if g.ev_phase == Phase.HARRY:
        return change_reward(g.ev_action - 1, -g.ev_needed)
    return 0.0


def discard_reward(card: int, wants_tricks: bool) -> float:
    """Judge a card discarded with Bendt."""
    kind = CLASS[card]
    if kind == CardClass.ESCAPE:
        return 0.1 if wants_tricks else -0.05
    if kind in (CardClass.PIRATE, CardClass.KING, CardClass.MERMAID):
        return -0.15 if wants_tricks else 0.05
    if high_standard(card):
        return -0.1 if wants_tricks else 0.05
    return 0.1 if SUIT[card] in (0, 1, 2) and NUMBER[card] <= 5 else 0.0


def change_reward(change: int, missing: int) -> float:
    """Judge Harry's change of a bid, where ``missing`` would have made it exact."""
    if change == missing:
        return 0.3 if change else 0.1
    return -0.2 if change and change == -missing else 0.0


SHAPED = {
    Tier.FLAT: flat_shaped,
    Tier.MANAGER: manager_shaped,
    Tier.WORKER: worker_shaped,
    Tier.ABILITY: worker_shaped,
}


def rewards(game: Position) -> tuple[float, float, float]:
    """Return the rewards of the last step: shaped, points, points and rank.

    See docs/skullking.md, 10.3.
    """
    if game.ev_invalid:
        reward = INVALID_REWARD + (TRUNCATION_REWARD if game.ev_invalid == 2 else 0.0)
        return reward, reward, reward
    points = game.ev_points / 10 if game.ev_round else 0.0
    return SHAPED[Tier(game.rules.tier)](game), points, points + rank_reward(game.ev_rank)
