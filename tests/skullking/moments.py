"""Rows of games of Skull King by random rules, at moments of chance, for tests of search."""

import numpy as np

import fastenv
from fastenv.engine import BatchEngine
from fastenv.verify import draw_options
from tests.needs import FASTEST

TIERS = ("flat", "manager", "worker", "ability")


def game_of(tier, seed, **given):
    """Return a game with options drawn from a seed."""
    env_id = f"SkullKing{tier.title()}-v0"
    return fastenv.make_game(env_id, **draw_options(env_id, seed, **given))


def moments(game, seed, n=3, steps=70, every=6):
    """Yield rows of running games, every few steps of random play."""
    engine, rng = BatchEngine(game, n, FASTEST), np.random.default_rng(seed)
    engine.reset_many(seeds=seed)
    for step in range(int(rng.integers(every)), steps):
        if step % every == 0:
            yield engine.get_states()
        engine.step_many(fastenv.sample_legal(engine.mask, rng))


def others(row, rules, agent):
    """Return the seats with hands but one, Graybeard's too."""
    return [seat for seat in range(int(rules["num_hands"])) if seat != agent]


def hand(row, seat):
    """Return the cards of a hand."""
    return row["hand"][seat, : row["hand_len"][seat]].tolist()


def stock(row):
    """Return the cards that can still be drawn."""
    return row["stock"][row["stock_pos"] : row["stock_len"]].tolist()


def members(words):
    """Return the cards of a set."""
    bits = int(words[0]) | int(words[1]) << 64
    return {card for card in range(74) if bits >> card & 1}
