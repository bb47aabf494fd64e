"""What must not change a game: where it is played, that it was put aside, which button turns."""

import numpy as np
import pytest

from fastenv.drmario import make_game
from fastenv.drmario import tables as t
from fastenv.engine import BatchEngine
from tests.needs import FASTEST

PRESSED = ("buttons_prev", "buttons_held", "buttons_pressed")


def exchanged(buttons):
    """Return bytes of buttons with A and B exchanged."""
    turns = t.Button.A | t.Button.B
    return np.where(np.isin(buttons & turns, [0, turns]), buttons, buttons ^ turns)


def even(rows, rng):
    """Give rows pills whose halves have one colour."""
    rows["reserve"] = 4 * rng.integers(0, t.NUM_COLORS, rows["reserve"].shape)
    for pill in ("color", "preview"):
        rows["players"][f"{pill}_second"] = rows["players"][f"{pill}_first"]
    return rows


@pytest.mark.parametrize("agents", [1, 2])
def test_even_pills_lie_alike_whichever_button_turns_them(agents):
    """Exchanging A and B turns a pill the other way, which with equal colours cannot be seen."""
    rng = np.random.default_rng(4)
    game = make_game(agents=agents, placement=False, level=12, speed="high", stack=1)
    engines = [BatchEngine(game, 8, FASTEST, info_columns=()) for _ in range(2)]
    engines[0].reset_many(seeds=7)
    rows = even(engines[0].get_states(), rng)
    for engine in engines:
        engine.set_states(rows)
    buttons, turned = np.zeros(engines[0].reward.shape, int), 0
    for step in range(400):
        drawn = rng.integers(0, 256, buttons.shape)
        buttons = np.where(rng.random(buttons.shape) < 0.6, buttons, drawn)
        for engine, pressed in zip(engines, (buttons, exchanged(buttons)), strict=True):
            engine.step_many(pressed, select=~engine.ended, autoreset=False)
        ours, theirs = (engine.get_states()["players"] for engine in engines)
        assert np.array_equal(ours["rot"], -theirs["rot"].astype(int) & 3), step
        for name in set(ours.dtype.names) - {"rot", "ev_lock_rot", *PRESSED}:
            assert np.array_equal(ours[name], theirs[name]), (step, name)
        assert engines[0].obs.tobytes() == engines[1].obs.tobytes(), step
        turned += (ours["rot"] != theirs["rot"]).sum()
    assert turned > 100
    assert (ours["locks"] > 1).all()


def twins(costs):
    """Return pairs of placements that differ in the order of the halves and cost the same."""
    cells = np.arange(t.CELLS)
    lying = [(cell, 256 + cell + 1) for cell in cells if cell % 8 < 7]
    standing = [(128 + cell, 384 + cell + 8) for cell in cells if cell < 120]
    for one, other in standing:
        assert costs[one] == costs[other]
    for one, other in lying:
        assert costs[one] <= costs[other]
    known = [(a, b) for a, b in lying + standing if costs[a] != t.INFEASIBLE]
    return [(a, b) for a, b in known if costs[a] == costs[b]]


@pytest.mark.parametrize("mode", ["warp", "replay"])
def test_even_pills_need_two_orientations(mode):
    """The other two lead to the same state, and never sooner."""
    rng = np.random.default_rng(5)
    game = make_game(level=14, speed="high", mode=mode, obs="bitplane_reduced_mask")
    engines = [BatchEngine(game, 12, FASTEST, info_columns=("costs",)) for _ in range(2)]
    engines[0].reset_many(seeds=8)
    rows = even(engines[0].get_states(), rng)
    for engine in engines:
        engine.set_states(rows)
    for step in range(12):
        costs = engines[0].info["costs"].reshape(12, -1)
        pairs = np.array([rng.choice(twins(each)) for each in costs])
        for engine, actions in zip(engines, pairs.T, strict=True):
            engine.step_many(actions, select=~engine.ended, autoreset=False)
        ours, theirs = (engine.get_states()["players"] for engine in engines)
        for name in set(ours.dtype.names) - {"rot", "ev_lock_rot", "ev_action"}:
            assert np.array_equal(ours[name], theirs[name]), (step, name)
        for name in ("reward", "tau", "mask", "terminated"):
            assert np.array_equal(getattr(engines[0], name), getattr(engines[1], name)), name
        assert engines[0].obs.tobytes() == engines[1].obs.tobytes(), step
        if engines[0].ended.any():
            break
    assert step > 2
