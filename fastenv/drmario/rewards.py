"""The reward of a step and its terms in plain Python (docs/drmario.md, 14.1).

Every term is a coefficient times what it counts, so what is to be avoided has a negative one. The
reward is the sum of the terms in their order, rounded to single precision once.
"""

from __future__ import annotations

import math

from fastenv.drmario.adjacency import PAIR, TRIPLET
from fastenv.drmario.player import Player
from fastenv.drmario.reference import DrMario
from fastenv.drmario.state import COEFFICIENTS
from fastenv.drmario.tables import Button, Reason

COUNTED_BUTTONS = Button.A | Button.B | Button.LEFT | Button.RIGHT | Button.DOWN


def reward(game: DrMario) -> tuple[list[float], list[tuple[float, ...]]]:
    """Return the reward of every player and its terms, in the order of ``REWARD_TERMS``."""
    terms = [player_terms(game, k) for k in range(len(game.players))]
    return [total(each) for each in terms], terms


def total(terms: tuple[float, ...]) -> float:
    """Return the sum, term by term: ``sum`` of newer Pythons corrects what rounding loses."""
    added = 0.0
    for term in terms:
        added += term
    return added


def player_terms(game: DrMario, k: int) -> tuple[float, ...]:
    """Return the terms of a player: those of a match with two players, of a level with one."""
    if game.versus:
        return (0.0,) * 14 + match_terms(game, k)
    player = game.players[0]
    ended = game.done == 1
    cleared = ended and game.goal_met(player)
    lost = ended and not cleared
    return (
        *placed_terms(game, player),
        budget_bonus(game, player) if cleared else 0.0,
        coefficient(game, "topout_penalty") if lost else 0.0,
        seconds(game, "time_penalty_clear_per_60_frames", game.ep_frames if cleared else 0),
        seconds(game, "time_bonus_topout_per_60_frames", game.ep_frames if lost else 0),
        seconds(game, "time_penalty_per_60_frames", game.tau),
        *frame_terms(game, player),
        0.0,
        0.0,
        0.0,
    )


def coefficient(game: DrMario, name: str) -> float:
    """Return a coefficient of the reward."""
    return game.config.rewards.get(name, COEFFICIENTS[name])


def seconds(game: DrMario, name: str, frames: int) -> float:
    """Return a coefficient for each 60 frames."""
    return coefficient(game, name) * (frames / 60.0)


def placed_terms(game: DrMario, player: Player) -> tuple[float, ...]:
    """Compute the reward terms of cleared cells and of the last pill's neighbours."""
    share = player.ev_tiles_virus / player.initial_viruses if player.initial_viruses else 0.0
    pills, viruses = player.ev_adjacency, player.ev_virus_adjacency
    return (
        coefficient(game, "virus_clear_bonus") * share,
        coefficient(game, "non_virus_clear_bonus") * player.ev_tiles_nonvirus,
        coefficient(game, "adjacency_pair_bonus") * pills.count(PAIR),
        coefficient(game, "adjacency_triplet_bonus") * pills.count(TRIPLET),
        coefficient(game, "virus_adjacency_pair_bonus") * viruses.count(PAIR),
        coefficient(game, "virus_adjacency_triplet_bonus") * viruses.count(TRIPLET),
    )


def budget_bonus(game: DrMario, player: Player) -> float:
    """Compute the bonus of a met goal, scaled by the budget left (docs/drmario.md, 14.3)."""
    bonus = coefficient(game, "terminal_clear_bonus")
    if game.task_max_frames:
        budget, used = game.task_max_frames, game.ep_frames
    elif game.task_max_spawns:
        budget, used = game.task_max_spawns, player.locks
    else:
        return bonus
    left = math.tanh((budget - used) / max(1.0, budget / 2.0))
    return left * (bonus if left >= 0 else abs(coefficient(game, "topout_penalty")))


def frame_terms(game: DrMario, player: Player) -> tuple[float, float, float]:
    """Compute the reward terms that only games of frames have: locks, height and buttons."""
    if game.config.placement:
        return 0.0, 0.0, 0.0
    base, growth = coefficient(game, "pill_place_base"), coefficient(game, "pill_place_growth")
    before = player.locks - 1.0
    pressed = (player.buttons_pressed & COUNTED_BUTTONS).bit_count()
    return (
        base * (1.0 + growth * (before * before)) if player.ev_locks else 0.0,
        coefficient(game, "column_height_penalty") * (player.height - player.ev_height),
        coefficient(game, "action_penalty_scale") * pressed,
    )


def match_terms(game: DrMario, k: int) -> tuple[float, float, float]:
    """Compute the reward terms of a match: win, garbage sent, and win by an empty bottle."""
    own, other = game.players[k], game.players[1 - k]
    won = lost = 0
    if game.done == 1 and game.reason == Reason.CLEAR:
        won, lost = own.stage_clear, other.stage_clear
    elif game.done == 1:
        won, lost = other.level_fail, own.level_fail
    by_clear = won and not lost and game.reason == Reason.CLEAR
    return (
        float(won - lost),
        coefficient(game, "garbage_coef") * own.ev_garbage_sent,
        coefficient(game, "clear_win_bonus") if by_clear else 0.0,
    )
