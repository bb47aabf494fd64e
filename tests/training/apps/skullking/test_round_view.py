"""What a value network sees of rounds, against a plain loop, and the rounds that it learns by."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import fastenv
from fastenv.errors import ConfigError
from fastenv.skullking.tables import (
    FEATURES,
    TIGRESS,
    TIGRESS_AS_ESCAPE,
    TIGRESS_AS_PIRATE,
    Phase,
)
from tests.slow import late
from tests.tables import walk
from training.apps.skullking.fit_values import play_samples
from training.apps.skullking.round_view import NEEDS, RoundView
from training.players.bots import Bot
from training.search.options import SearchOptions
from training.search.searcher import Searcher
from training.search.values import Head, Value, load

FLAT = "SkullKingFlat-v0"


def slow_view(row, players):
    """Return what is seen of one row, and the seats."""
    seats = [(int(row["turn"]) + j) % players for j in range(players)]
    hands, table, needs, numbers = [], [], [], []
    lying = {int(row["table_seat"][i]): i for i in range(row["table_len"])}
    for seat in seats:
        hand = set(row["hand"][seat, : row["hand_len"][seat]].tolist())
        hands += [float(card in hand) for card in range(74)]
        face = None
        if seat in lying:
            face = int(row["table_card"][lying[seat]])
            if face == TIGRESS:
                pirate = row["table_mode"][lying[seat]]
                face = TIGRESS_AS_PIRATE if pirate else TIGRESS_AS_ESCAPE
        table += [0.0] * 9 if face is None else list(FEATURES[face])
        bid, won = int(row["bid"][seat]), int(row["won"][seat])
        need = 11 if bid < 0 else min(max(bid - won, -2), 10)
        needs += [float(k == need + 2) for k in range(NEEDS)]
        allied = sum(seat in pair for pair in row["alliances"].tolist())
        numbers += [bid / 10, won / 10, row["bonus"][seat] / 50, allied / 2]
    left = max(int(row["cards"] - row["tricks"]), 1)
    progress = [row["cards"] / 10, row["table_len"] / players]
    return [*hands, *table, *needs, *numbers, *progress, *np.eye(10)[left - 1]], seats


@walk("players", [*late(2, 4), 6])
def test_view_is_that_of_a_plain_loop(players):
    options = {"num_players": players, "two_player": "plain", "tigress": "agent"}
    engine = fastenv.make_engine(FLAT, 8, seats="all", **options)
    engine.reset_many(seeds=3)
    rng, view, compared = np.random.default_rng(0), RoundView(engine.game), 0
    assert view(engine.get_states())[1].shape == (0, view.inputs)
    for _ in range(400):
        engine.refresh()
        rows, mask = engine.get_states(), engine.mask
        running, seen, seats = view(rows)
        np.testing.assert_array_equal(running, ~np.isin(rows["phase"], (Phase.BID, Phase.END)))
        for k, row in enumerate(rows[running]):
            wanted, order = slow_view(row, players)
            np.testing.assert_array_equal(seats[k], order)
            np.testing.assert_array_equal(seen[k], np.array(wanted, np.float32))
            compared += 1
        actions = np.where(mask, rng.random(mask.shape), -1).argmax(1)
        engine.step_many(actions)
    assert compared > 1000


def test_variants_exchange_suits():
    engine = fastenv.make_engine(FLAT, 50, seats="all")
    engine.reset_many(seeds=3)
    for _ in range(30):
        engine.refresh()
        engine.step_many(engine.mask.argmax(1))
    rows, view = engine.get_states(), RoundView(engine.game)
    other, swap = rows.copy(), np.arange(74)
    swap[24:38], swap[38:52] = np.arange(38, 52), np.arange(24, 38)  # the first two suits
    for name in ("hand", "table_card"):
        other[name] = np.where(other[name] < 0, -1, swap[other[name]])
    shown, changed = view(rows)[1], view(other)[1]
    assert len(shown)
    assert len(view.variants()) == 6
    same = [(shown[:, order] == changed).all() for order in view.variants()]
    assert sum(same) == 1
    assert (shown[:, view.variants()[0]] == shown).all()


def test_graybeard_gains_nothing():
    with pytest.raises(ConfigError, match="Graybeard"):
        RoundView(fastenv.make_game(FLAT, num_players=2))


def test_samples_are_on_the_way_to_what_was_gained():
    engine = fastenv.make_engine(FLAT, 40, seats="all", schedule=(2, 5), deals="duplicate")
    samples = play_samples(engine, partial(Bot, "heuristic"), 7)
    rows = samples.rows
    assert (rows["phase"] == Phase.PLAY).all()
    assert len(rows) > 100
    assert (rows["table_len"] > 0).any()
    assert (rows["tricks"] == 0).any()
    gains = {}
    for row, gained in zip(rows, samples.gained, strict=True):
        key = int(row["round_idx"]), int(row["deal_seed"])
        assert gains.setdefault(key, tuple(gained)) == tuple(gained)  # of the round, however far
    last = rows["cards"] - rows["tricks"] == 1
    exact = last & (rows["table_len"] == 0)
    found = engine.rollout(rows[exact], players="heuristic", until="round")
    gained = found.outcomes - engine.game.outcomes(rows[exact])
    np.testing.assert_array_equal(gained, samples.gained[exact])


def test_search_closes_rollouts_by_a_value(tmp_path):
    engine = fastenv.make_engine(FLAT, 6, seats="all")
    view = RoundView(engine.game)
    head = Head(env=FLAT, inputs=view.inputs, outputs=4, hidden=(8,), unit=100.0)
    path = tmp_path / "value.safetensors"
    Value(head, head.net()).save(path)
    engine.reset_many(seeds=0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        engine.refresh()
        actions = np.where(engine.mask, rng.random(engine.mask.shape), -1).argmax(1)
        engine.step_many(actions)
    engine.refresh()
    rows, legal = engine.get_states(), engine.mask != 0
    options = {"horizon": "tricks=1", "worlds": 8}
    found = []
    for more in ({}, {"value": str(path)}, {"value": str(path), "outcome": "win"}):
        searcher = Searcher(engine, options=SearchOptions(**options, **more))
        found.append(searcher.search(rows, rows["actor"], legal).estimates.means())
    seen = np.isfinite(found[0])
    assert (found[0][seen] != found[1][seen]).any()
    assert (found[2][seen] > 0).all()
    assert (found[2][seen] < 1).all()


def test_the_committed_value_fits_a_table_and_tells_last_tricks():
    root = Path(__file__).resolve().parents[4]
    path = root / "pretrained" / "skullking-value" / "value.safetensors"
    assert path.stat().st_size < 1_000_000
    value = load(path)
    engine = fastenv.make_engine(FLAT, 60, seats="all", deals="duplicate")
    samples = play_samples(engine, partial(Bot, "heuristic"), 12345)
    last = samples.rows["cards"] - samples.rows["tricks"] == 1
    _, seen, seats = RoundView(engine.game)(samples.rows[last])
    gained = np.take_along_axis(samples.gained[last], seats, axis=1)
    left = ((value(seen) - gained) ** 2).mean() / gained.var()
    assert left < 0.5
