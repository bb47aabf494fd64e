"""Bots that choose placements where decisions are frames: the buttons they press."""

import numpy as np
import pytest

from fastenv.drmario import make_game
from fastenv.drmario import tables as t
from fastenv.drmario.planning import buttons_to, costs_of_falling, is_falling
from fastenv.drmario.player import pose_of
from fastenv.drmario.tables import Button, Mode, Next
from fastenv.engine import BatchEngine, rng_streams
from tests.drmario.boards import Narrow
from tests.needs import needs_core
from tests.slow import every, late

GAMES = {
    "low": {"level": 3, "speed": "low"},
    "high": {"level": 20, "speed": "high"},
    "medium": {"level": 12, "speed": "medium"},
    "match": {"agents": 2, "level": (12, 4), "speed": ("low", "high")},
}
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 3))]


def falling_rows(options, seed, n=4):
    """Return a game and rows in which a pill is on its way, pressed about at random."""
    made = make_game(placement=False, **options)
    engine, rng = BatchEngine(Narrow(made.config), n, "fast"), np.random.default_rng(seed)
    engine.reset_many(seeds=seed)
    found = []
    while len(found) < n:
        step(engine, "random" if rng.random() < 0.2 else "greedy")
        rows = engine.get_states()
        players = rows["players"]
        falls = (players["mode"] == Mode.PLAYING) & (players["next_action"] == Next.FALLING)
        falls &= (players["row"] < 15) & (players["locks"] > 2)
        lane = int(rng.integers(n))
        if falls[lane].any() and rng.random() < 0.1:
            found.append(rows[lane])
    return engine.game, np.array(found)


def step(engine, bot):
    """Play a frame."""
    n, agents = engine.num_envs, engine.game.spec.num_agents
    words = [rng_streams(int(engine.get_states()["frame"][0]) + k, n) for k in range(agents)]
    chosen = [engine.bot_actions(bot, words[k], agent=k) for k in range(agents)]
    engine.step_many(np.stack(chosen, axis=1) if agents == 2 else chosen[0])


@needs_core
@pytest.mark.parametrize("name", ["match", *late(*(name for name in GAMES if name != "match"))])
@pytest.mark.parametrize("seed", SEEDS)
def test_both_press_the_same(name, seed, planned):
    game, rows = falling_rows(GAMES[name], seed)
    found = 0
    for bot in ("first", "greedy", "lookahead2"):
        for agent in range(game.spec.num_agents):
            pressed = []
            for backend in ("reference", "fast"):
                engine = BatchEngine(game, len(rows), backend)
                engine.reset_many(seeds=0)
                engine.set_states(rows)
                pressed.append(engine.bot_actions(bot, rng_streams(1, len(rows)), agent=agent))
            found += (pressed[1] != 0).sum()
            assert pressed[0].tolist() == pressed[1].tolist(), (
                f"{name}, seed {seed}, {bot}, {agent}"
            )
    assert found


@needs_core
@pytest.mark.parametrize("name", every(3, GAMES))
def test_a_pill_arrives_when_it_was_promised(name, planned):
    """Whatever placement is aimed at, from wherever the pill is."""
    game, rows = falling_rows(GAMES[name], 40)
    rng = np.random.default_rng(1)
    for row in rows:
        state = game.unpack(row)
        player = state.players[0]
        if not is_falling(player):
            continue
        costs = costs_of_falling(state, player)
        feasible = [action for action, cost in enumerate(costs) if cost != t.INFEASIBLE]
        action = feasible[rng.integers(len(feasible))]
        for left in range(costs[action], 0, -1):
            assert player.next_action == Next.FALLING
            buttons = buttons_to(state, player, action, left)
            state.frame += 1
            player.frame(buttons)
        assert player.next_action == Next.PLACED
        lock = player.ev_lock_row, player.ev_lock_col, player.ev_lock_rot
        assert lock == pose_of(action)


@needs_core
@pytest.mark.parametrize("bot", ["first", "greedy"])
@pytest.mark.parametrize("options", [GAMES["low"], *late(GAMES["high"])])
def test_frames_come_to_the_game_of_the_placements(bot, options):
    """The same bottles to the end, at the same frame of the game."""
    ends = []
    for placement in (True, False):
        game = make_game(placement=placement, obs="none", **options)
        engine = BatchEngine(game, 4, "fast")
        for lane in range(4):
            engine.configure("game_seed", 1000 + lane, lane)
        engine.reset_many(seeds=0)
        running = np.ones(4, np.bool_)
        while running.any():
            chosen = engine.bot_actions(bot, rng_streams(0, 4))
            engine.step_many(chosen, select=running, autoreset=False)
            running &= ~engine.ended
        rows = engine.get_states()
        ends.append((rows["frame"].tolist(), rows["players"]["board"], rows["reason"].tolist()))
    (frames, boards, reasons), (other_frames, other_boards, other_reasons) = ends
    assert (frames, reasons) == (other_frames, other_reasons)
    np.testing.assert_array_equal(boards, other_boards)


@needs_core
def test_nothing_is_pressed_where_nothing_falls():
    engine = BatchEngine(make_game(placement=False, level=0), 8, "fast")
    engine.reset_many(seeds=1)
    pressed = 0
    for _ in range(400):
        players = engine.get_states()["players"][:, 0]
        chosen = engine.bot_actions("greedy", rng_streams(0, 8))
        falls = (players["mode"] == Mode.PLAYING) & (players["next_action"] == Next.FALLING)
        assert not chosen[~falls].any()
        pressed += int((chosen[falls] != 0).sum())
        engine.step_many(chosen)
    assert pressed


@needs_core
def test_left_and_right_held_together_are_seen_as_left(planned):
    """What somebody else pressed before does not stop a bot."""
    game, rows = falling_rows(GAMES["high"], 3)
    held = Button.LEFT | Button.RIGHT
    for name in ("buttons_prev", "buttons_held"):
        rows["players"][name] = held
    rows["players"]["buttons_pressed"] = 0
    rows["players"]["hor_velocity"] = 15
    pressed = []
    for backend in ("reference", "fast"):
        engine = BatchEngine(game, len(rows), backend)
        engine.reset_many(seeds=0)
        engine.set_states(rows)
        pressed.append(engine.bot_actions("greedy", rng_streams(1, len(rows))).tolist())
    assert pressed[0] == pressed[1]
