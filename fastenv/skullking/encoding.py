"""Observation, action mask, reward and info in plain Python: what the kernels must reproduce.

Everything is a function of a reference game as it waits for a decision (``reference.py``);
observation and mask are the view of its ``actor``, reward and info those of its ``agent``. The
blocks of an observation are in ``blocks.py`` and its neighbours, the rewards in ``rewards.py``;
both are Python floats, which are rounded to float32 once, here.

>>> import numpy as np
>>> from fastenv.skullking.config import SkullKingConfig
>>> from fastenv.skullking.reference import SkullKing
>>> config = SkullKingConfig(tier="worker")
>>> game = SkullKing(config.rules_record(), config.default_knobs(1), seed=7)
>>> obs = np.empty(203, np.float32)
>>> encode_obs(game, obs)
>>> round(10 * float(obs[126])) == game.bid[game.agent]
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fastenv.skullking.blocks import MEMORY, BlockFunction, allies, on_track, stage
from fastenv.skullking.blocks_game import FLAT, MANAGER
from fastenv.skullking.blocks_round import ABILITY, DECISIONS, WORKER
from fastenv.skullking.layout import layout
from fastenv.skullking.rewards import rank_reward, rewards
from fastenv.skullking.tables import Abilities, Phase, Reward, Tier

if TYPE_CHECKING:
    from fastenv.skullking.reference import SkullKing

__all__ = ["action_mask", "encode_obs", "info", "reward", "rewards"]

BLOCKS: dict[Tier, dict[str, BlockFunction]] = {
    Tier.FLAT: FLAT | DECISIONS | MEMORY,
    Tier.MANAGER: MANAGER | MEMORY,
    Tier.WORKER: WORKER | MEMORY,
    Tier.ABILITY: ABILITY | MEMORY,
}


def encode_obs(game: SkullKing, out: npt.NDArray[np.float32]) -> None:
    """Write the observation of the actor.

    Parameters
    ----------
    game : SkullKing
        A reference game; its rules name the tier.
    out : ndarray of float32, shape (obs_dim,)
        Overwritten completely; all values are in [-1, 1].
    """
    rules = game.rules
    if game.phase in (Phase.BID, Phase.CANNON) and game.has_goal():
        out[:] = 0.0  # an external seat is asked; an agent with a goal sees nothing of it
        return
    blocks = BLOCKS[Tier(rules.tier)]
    decides = rules.abilities == Abilities.AGENT
    for block in layout(rules.tier, rules.num_players, bool(rules.memory), decides):
        out[block.offset : block.stop] = blocks[block.name](game)


def action_mask(game: SkullKing, out: npt.NDArray[np.uint8]) -> None:
    """Write 1 for each legal action and 0 for the others.

    Parameters
    ----------
    game : SkullKing
    out : ndarray of uint8, shape (11,)
        Overwritten completely; never all 0. All 1 at the end, where actions mean nothing.
    """
    out[:] = 0
    out[game.legal_actions()] = 1


def reward(game: SkullKing) -> tuple[float, tuple[float, float, float]] | None:
    """Return the reward of the agent's last decision.

    It is given when the agent is asked again or the episode ends: with bots that is in every step.
    While a seat played from outside is asked, there is none yet: None.

    Returns
    -------
    reward : float
        The one that ``rules.reward`` selects, rounded to float32.
    terms : tuple of float
        All three, rounded to float32, in the order of ``layout.REWARD_COLUMNS``.
    """
    if not game.done and (game.actor != game.agent or game.ev_phase < 0):
        return None
    shaped, points, ranked = (float(np.float32(value)) for value in rewards(game))
    terms = (shaped, points, ranked)
    return terms[Reward(game.rules.reward)], terms


def info(game: SkullKing) -> tuple[int, ...]:
    """Return the info columns, in the order of the game's ``info_dtype``."""
    g, me = game, game.agent
    totals = g.total[: g.rules.num_players]
    seats = (g.actor, _scores(g)) if g.rules.all_seats else ()
    return (
        g.round_idx + 1,
        g.cards,
        g.bid[me],
        g.won[me],
        g.ev_points,
        g.total[me],
        1 + sum(total > g.total[me] for total in totals),
        stage(g),
        g.phase,
        g.ev_round,
        g.ev_cards if g.ev_round else 0,
        g.ev_bid,
        g.ev_won,
        g.ev_bonus,
        g.ev_alliances,
        g.ev_rank,
        int(g.ev_invalid != 0),
        sum(on_track(g, seat) for seat in allies(g, me)),
        *seats,
    )


def _scores(g: SkullKing) -> list[int]:
    """Return ten times what each seat has been paid in this episode (docs/skullking.md, 9.5)."""
    players = g.rules.num_players
    scores = list(g.total)
    if g.ev_rank and g.rules.reward == Reward.POINTS_RANK:
        for seat in range(players):
            rank = 1 + sum(total > g.total[seat] for total in g.total[:players])
            scores[seat] += int(10 * rank_reward(rank))
    return scores
