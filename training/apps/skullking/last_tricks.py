"""The regret of decisions in the last tricks against the best answer.

With few cards left, a player's best answer to a scripted blueprint in all other seats can be
computed but for the drawing of worlds: every action is followed by every later action of the same
player, each judged over worlds that the player cannot tell apart at that later moment. So a later
decision never knows more than a player would, unlike one inside a single world.
"""

from __future__ import annotations

import numpy as np

from fastenv import BatchEngine
from training.players.draws import mix
from training.search.rules import margin

PARTS = 1 << 16  # rows that are looked at together
FIRST, LATER = 1, 2  # what a seed is for


def action_values(
    engine: BatchEngine,
    rows: np.ndarray,
    seeds: np.ndarray,
    worlds: tuple[int, ...],
    blueprint: str = "heuristic",
) -> np.ndarray:
    """Estimate the value of each action of the actor in this round, if it goes on in the best way.

    Parameters
    ----------
    engine : BatchEngine
        Of the game; its lanes are not touched.
    rows : ndarray, shape (n,)
        In phase PLAY, with at most ``len(worlds)`` tricks to come.
    seeds : ndarray of uint64, shape (n,)
    worlds : tuple of int
        Drawn for the first decision, the second, ...; the last is used for all behind it.
    blueprint : str
        Bot in all other seats.

    Returns
    -------
    ndarray of float64, shape (n, A)
        Margin over the mean of the others, in points; NaN for illegal actions. Its best entry is
        a little too high, by the luck of a maximum: compare on values of other seeds.
    """
    each = engine.num_actions * worlds[0]
    parts = [
        _compute_values(engine, rows[i:j], seeds[i:j], worlds, blueprint)
        for i, j in _divide(len(rows), max(1, PARTS // each))
    ]
    return np.concatenate(parts) if parts else np.zeros((0, engine.num_actions))


def _divide(count: int, size: int) -> list[tuple[int, int]]:
    return [(first, min(count, first + size)) for first in range(0, count, size)]


def _compute_values(
    engine: BatchEngine,
    rows: np.ndarray,
    seeds: np.ndarray,
    worlds: tuple[int, ...],
    blueprint: str,
) -> np.ndarray:
    legal = engine.action_masks_many(rows, trusted=True) != 0
    width, seats = worlds[0], rows["actor"].astype(np.int64)
    number = np.tile(np.arange(width), len(rows))
    drawn = engine.resample(
        rows, seats, mix(seeds.repeat(width), number, FIRST), worlds=width, trusted=True
    )
    places, actions = np.nonzero(legal)
    of = (places[:, None] * width + np.arange(width)).ravel()
    what, who = actions.repeat(width).astype(np.int32), seats[places].repeat(width)
    luck = mix(seeds[places].repeat(width), np.tile(np.arange(width), len(places)), LATER)
    then = _play_to_next_decision(engine, drawn[of], what, who, luck, blueprint)
    value = margin(engine.game.outcomes(then), then, who)
    running = np.flatnonzero(then["done"] == 0)
    if running.size:
        then_on = mix(luck[running], np.zeros(len(running)), FIRST)
        after = worlds[1:] or worlds
        later = action_values(engine, then[running], then_on, after, blueprint)
        value[running] = np.nanmax(later, axis=1)
    values = np.full(legal.shape, np.nan)
    values[places, actions] = value.reshape(len(places), width).mean(1)
    return values


def _play_to_next_decision(
    engine: BatchEngine,
    rows: np.ndarray,
    actions: np.ndarray,
    seats: np.ndarray,
    seeds: np.ndarray,
    blueprint: str,
) -> np.ndarray:
    """Return rows at the next decision of a seat with a choice, or at the end of the round."""
    rows, running = rows.copy(), np.arange(len(rows))
    while running.size:
        then = engine.rollout(
            rows[running], actions, blueprint, "round", 1, seeds[running], trusted=True
        ).rows
        rows[running] = then
        own = (then["actor"] == seats[running]) & (then["done"] == 0)
        own[own] = engine.action_masks_many(then[own], trusted=True).sum(1) > 1
        running = running[(then["done"] == 0) & ~own]
        actions = np.full(len(running), -1, np.int32)
    return rows


def regret(first: np.ndarray, second: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Compute the regret of actions against the best ones, in points, shape (n,).

    The best action is chosen by values of other worlds than it is judged by, so that luck does not
    count as skill; the mean is a little below the true one.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n, A)
        Values by different seeds.
    actions : ndarray of int, shape (n,)
    """
    every = np.arange(len(actions))
    best = np.nanargmax(first, axis=1)
    behind: np.ndarray = second[every, best] - second[every, actions]
    return behind
