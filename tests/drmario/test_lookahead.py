"""The bots that look ahead, against their readable twins.

The compiled planner gives the costs throughout; that it is right is tested elsewhere.
"""

import numpy as np
import pytest

from fastenv.drmario import DrMarioGame, make_game
from fastenv.drmario import tables as t
from fastenv.drmario.greedy import branch
from fastenv.drmario.lookahead import candidates, drawn_pill, lookahead_action
from fastenv.drmario.tables import Color, Tile
from fastenv.engine import BatchEngine, rng_streams
from fastenv.errors import ConfigError
from tests.drmario.boards import GAMES, play_out, positions
from tests.needs import needs_core
from tests.slow import late

NO_ATTACKS = t.Looking(8)


class Weighed(DrMarioGame):
    """A game whose players follow and weigh other numbers, which are set first."""

    def bot(self, name):
        row = super().bot(name)
        for field, value in self.changes.items():
            row[field] = value
        return row


def compiled(game, rows, name, agent, **changes):
    """Return what a compiled bot does in rows, where a decision is due."""
    weighed = Weighed(game.config)
    weighed.changes = changes
    engine = BatchEngine(weighed, len(rows), "fast")
    engine.reset_many(seeds=0)
    engine.set_states(rows)
    return engine.bot_actions(name, rng_streams(0, len(rows)), agent=agent).tolist()


def readable(game, row, agent, weights, looking):
    """Return what the reference does, None without a decision."""
    unpacked = game.unpack(row)
    costs = unpacked.costs()[agent]
    if costs is None:
        return None
    return lookahead_action(unpacked, unpacked.players[agent], costs, weights, looking)


@needs_core
@pytest.mark.parametrize("name", ["match", *late(*(name for name in GAMES if name != "match"))])
@pytest.mark.parametrize("seed", [0, *late(1)])
def test_two_placements(name, seed, planned):
    game, rows = positions(GAMES[name], 2, 20 + seed)
    drawn = np.random.default_rng(seed)
    other = {weight: int(drawn.integers(-300, 300)) for weight in t.LOOKAHEAD}
    for weights, looking in ((t.LOOKAHEAD, NO_ATTACKS), (other, t.Looking(3, attack=2000))):
        for agent in range(game.spec.num_agents):
            changes = {**weights, **looking._asdict()}
            found = compiled(game, rows, "lookahead2", agent, **changes)
            for lane, row in enumerate(rows):
                wanted = readable(game, row, agent, weights, looking)
                where = f"{name}, seed {seed}, lane {lane}, agent {agent}, {weights}"
                assert wanted is None or found[lane] == wanted, where


@needs_core
@pytest.mark.parametrize("seed", [0, *late(1)])
@pytest.mark.parametrize("name", ["high", *late("low", "match")])
def test_three_placements(name, seed, planned):
    game, rows = positions(GAMES[name], 2, 40 + seed)
    for agent in range(game.spec.num_agents):
        looking = t.Looking(2, 2)
        found = compiled(game, rows, "lookahead3", agent, **looking._asdict())
        for lane, row in enumerate(rows[:1]):
            wanted = readable(game, row, agent, t.LOOKAHEAD_FAR, looking)
            where = f"{name}, seed {seed}, lane {lane}, agent {agent}"
            assert wanted is None or found[lane] == wanted, where


@needs_core
@pytest.mark.parametrize(
    ("name", "seed", "looking", "count"),
    [
        ("high", 0, t.Looking(1, 1, kept=1, plies=1, repeats=1), 1),
        *(
            pytest.param(*each, 2, marks=pytest.mark.slow)
            for each in (
                ("high", 0, t.Looking(2, 1, kept=2, plies=1, repeats=1)),
                ("high", 1, t.Looking(2, 1, kept=2, plies=3, repeats=2)),
                ("low", 2, t.Looking(3, 2, kept=1, plies=2, repeats=1)),
                ("few viruses", 3, t.Looking(2, 1, kept=2, plies=8, repeats=1)),
                ("matches", 4, t.Looking(2, 1, kept=2, plies=2, repeats=3)),
                ("match", 5, t.Looking(2, 1, kept=2, plies=2, repeats=1, attack=500)),
            )
        ),
    ],
)
def test_rollouts(name, seed, looking, count, planned):
    game, rows = positions(GAMES[name], count, 50 + seed)
    for agent in range(game.spec.num_agents):
        found = compiled(game, rows, "rollouts", agent, **looking._asdict())
        for lane, row in enumerate(rows):
            wanted = readable(game, row, agent, t.LOOKAHEAD_FAR, looking)
            where = f"{name}, seed {seed}, lane {lane}, agent {agent}, {looking}"
            assert wanted is None or found[lane] == wanted, where


def test_rollouts_draw_every_pill_once_in_a_ply():
    """Whatever is hashed, the nine third pills are followed by nine different ones."""
    for hashed in (0, 1, 0xFFFFFFFF, t.ROLLOUT_HASH):
        for ply in range(12):
            drawn = {drawn_pill(third, hashed, ply) for third in range(t.NUM_PILLS)}
            assert drawn == set(range(t.NUM_PILLS))


@needs_core
def test_pills_that_nobody_knows_do_not_count(planned):
    """Another reserve behind the preview, and another generator: the same decision."""
    game, rows = positions(GAMES["high"], 6, 80)
    others = rows.copy()
    at = rows["players"]["reserve_index"][:, 0]
    rng = np.random.default_rng(1)
    for row, k in zip(others, at.tolist(), strict=True):
        row["reserve"][np.arange(k, k + 100) % 128] = rng.integers(0, 9, 100)
        row["rng"] = rng.integers(1, 2**60, 4)
    for name in ("lookahead2", "lookahead3", "rollouts"):
        assert compiled(game, rows, name, 0) == compiled(game, others, name, 0)


@needs_core
def test_the_preview_counts():
    """Two pills clear a column of three viruses that neither clears alone."""
    game = make_game(level=0, speed="low")
    engine = BatchEngine(game, 1, "fast")
    engine.reset_many(seeds=1)
    rows = engine.get_states()
    player = rows["players"][0, 0]
    player["board"][:] = t.EMPTY
    player["board"][[8 * 15 + 5, 8 * 14 + 5]] = Tile.VIRUS | Color.RED, Tile.VIRUS | Color.BLUE
    player["virus_bcd"] = 2
    player["color_first"], player["color_second"] = Color.BLUE, Color.BLUE
    player["preview_first"], player["preview_second"] = Color.BLUE, Color.RED
    rows["players"][0, 0] = player
    engine.set_states(rows)
    action = int(engine.bot_actions("lookahead2", rng_streams(0, 1))[0])
    engine.step_many(np.array([action], np.int32), autoreset=False)
    engine.step_many(engine.bot_actions("lookahead2", rng_streams(0, 1)), autoreset=False)
    assert engine.get_states()["players"][0, 0]["virus_bcd"] == 1


@needs_core
def test_equal_halves_are_weighed_once():
    game, rows = positions(GAMES["high"], 1, 5)
    player = game.unpack(rows[0]).players[0]
    player.color_first = player.color_second = 1
    costs = game.unpack(rows[0]).costs()[0]
    alike = candidates(player, costs, t.LOOKAHEAD, NO_ATTACKS)
    boards = [tuple(branch(player, each.action)[0].board) for each in alike]
    assert len(set(boards)) == len(boards) < sum(cost != t.INFEASIBLE for cost in costs)


@pytest.mark.slow
@needs_core
def test_it_clears_more_than_greedy():
    """High bottles at high speed: greedy loses some, looking ahead none."""
    cleared = {}
    for name in ("greedy", "lookahead2"):
        engine = BatchEngine(make_game(level=20, speed="high", obs="none"), 40, "fast")
        rows = play_out(engine, name, 400, seed=9)
        cleared[name] = int((rows["reason"] == t.Reason.CLEAR).sum())
    assert cleared["lookahead2"] >= 39
    assert cleared["greedy"] < cleared["lookahead2"]


@needs_core
def test_attacks_are_worth_something_in_matches_alone():
    """A pill that makes two runs at once, beside a virus that it could clear instead."""
    game = make_game(agents=2, level=(0, 0), speed=("low", "low"))
    engine = BatchEngine(game, 1, "fast")
    engine.reset_many(seeds=1)
    rows = engine.get_states()
    player = rows["players"][0, 0]
    red, blue = Tile.SINGLE | Color.RED, Tile.SINGLE | Color.BLUE
    board = dict.fromkeys((120, 121, 122), red) | dict.fromkeys((116, 117, 118), blue)
    board |= {124: Tile.SINGLE | Color.YELLOW, 125: red, 126: Tile.SINGLE | Color.YELLOW}
    board |= dict.fromkeys((127, 119, 111), Tile.VIRUS | Color.RED)
    player["board"][:] = t.EMPTY
    for cell, tile in board.items():
        player["board"][cell] = tile
    player["virus_bcd"] = 9  # others are elsewhere
    player["color_first"], player["color_second"] = Color.RED, Color.BLUE
    player["preview_first"] = player["preview_second"] = Color.YELLOW
    rows["players"][0, 0] = player
    runs = {}
    for name, value in (("lookahead2", 0), ("attack2", 0), ("attack2", 10**6)):
        action = compiled(game, rows, name, 0, attack=value)[0]
        runs[name, value] = branch(game.unpack(rows[0]).players[0], action)[0].combo_counter
    assert runs["lookahead2", 0] == runs["attack2", 0]
    assert runs["attack2", 10**6] == 2 > runs["attack2", 0]
    with pytest.raises(ConfigError, match="attack2"):
        make_game(level=0).bot("attack2")
