"""Placements in plain Python: the golden episodes, warp beside replay, refusals and budgets."""

import numpy as np
import pytest

from fastenv.drmario import tables as t
from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.placement import new_game
from tests.drmario import golden
from tests.slow import late

ADJACENCY = ("adj", "virus_adj")


def placed(knobs=None, seed=1, **options):
    """Return a game of placements at its first decision."""
    game = new_game(DrMarioConfig(**options))
    game.reset(game.config.replace(**knobs or {}).knobs_record()[0], seed)
    return game


def decision_columns(game, before):
    """Return what a golden file has of a step, by the names of its columns."""
    player = game.players[0]
    shown = {
        "cost_to_lock": player.ev_cost,
        "tau": game.tau,
        "tiles_total": player.ev_tiles_virus + player.ev_tiles_nonvirus,
        "tiles_virus": player.ev_tiles_virus,
        "tiles_nonvirus": player.ev_tiles_nonvirus,
        "match_events": player.ev_matches,
        "viruses_after": t.from_bcd(player.virus_bcd),
        "terminated": int(game.done == 1),
        "truncated": int(game.done == 2),
        "reason": game.reason,
    }
    for name, flags in zip(
        ADJACENCY, (player.ev_adjacency, player.ev_virus_adjacency), strict=True
    ):
        for kind, number in (("pair", 1), ("triplet", 2)):
            for color, flag in zip("RYB", flags, strict=True):
                shown[f"{name}_{kind}_{color}"] = int(flag == number)
    return before | shown


def at_decision(game):
    """Return what a golden file has of a decision that is due."""
    player, costs = game.players[0], game.costs()[0]
    return {
        "feasible_count": sum(cost != t.INFEASIBLE for cost in costs),
        "first": t.CANONICAL[player.color_first],
        "second": t.CANONICAL[player.color_second],
        "preview_first": t.CANONICAL[player.preview_first],
        "preview_second": t.CANONICAL[player.preview_second],
        "reserve_index": player.reserve_index,
    }


def replay_episode(episode, **options):
    """Play a golden episode and compare every decision of it."""
    game = placed(
        level=episode.level, speed=t.SPEEDS[episode.speed], game_seed=episode.seed, **options
    )
    assert game.players[0].board == episode.boards[0].tolist()
    for i, row in enumerate(episode.rows):
        mask = np.array(game.costs()[0]) != t.INFEASIBLE
        np.testing.assert_array_equal(mask, episode.masks[i], err_msg=f"{episode}: mask {i}")
        before = at_decision(game)
        game.step([row["action"]])
        got = decision_columns(game, before)
        for name, value in got.items():
            assert value == row[name], f"{episode}: decision {i}: {name}"
        assert game.players[0].board == episode.boards[i + 1].tolist(), f"{episode}: {i}"
    assert game.done or episode.rows[-1]["terminated"] == 0


EPISODES = [
    episode for path in golden.files("placement_episodes") for episode in golden.episodes(path)
]


@pytest.mark.parametrize("episodes", [EPISODES[:2], *late(EPISODES[:4], EPISODES[::3])], ids=len)
def test_episodes_are_the_golden_ones(episodes):
    for episode in episodes:
        replay_episode(episode)
