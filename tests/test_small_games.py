"""Kuhn poker, Leduc poker and Liar's Dice of docs/examples/: rules, chance, and equal bits."""

import collections
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fastenv
from fastenv.errors import ConfigError
from fastenv.rng import Rng, every_draw
from fastenv.spec import GameSpec
from fastenv.verify import Case, available, draw_opponent
from tests.tables import walk

GAMES = {
    "kuhn": ("KuhnPoker-v0", {}),
    "leduc": ("LeducPoker-v0", {}),
    "dice": ("LiarsDice-v0", {}),
    "dice of three faces": ("LiarsDice-v0", {"faces": 3}),
}
ROOT = Path(__file__).resolve().parents[1]
FOLD, CALL, RAISE = 0, 1, 2
each_game = pytest.mark.parametrize("name", GAMES)


def make(name):
    env, options = GAMES[name]
    return fastenv.make_game(env, **options)


@pytest.mark.parity
@each_game
def test_backends_give_the_same_bits(name):
    game, options = make(name), GAMES[name][1]
    engines = {each: (each, 1) for each, why in available(game).items() if why is None}
    assert {"reference", "numba"} <= engines.keys()
    case, ended = Case(game, 3, 7, engines, options, draw_opponent(game, 3)), 0
    for _ in range(60):
        difference = case.advance(searches=0.1)
        assert difference is None, difference
        ended += int((case.standard.terminated | case.standard.truncated).sum())
    assert ended > 20


def played(name, cards, actions, board=None):
    """Return a game after some actions, of given cards or dice."""
    game = make(name)
    one = game.create()
    one.reset(0)
    if name.startswith("dice"):
        one.dice = list(cards)
    else:
        one.cards = list(cards)
    for action in actions:
        assert not one.done
        agent = one.needs_action.index(1)
        assert action in one.legal_actions(agent)
        one.step([action, action])
        if board is not None and name == "leduc" and one.board >= 0:
            one.board = board
    assert one.done
    return game.reward(one)[0]


@walk(
    ("name", "cards", "actions", "board", "points"),
    [
        ("kuhn", (2, 0), (CALL, CALL), None, 1),
        ("kuhn", (0, 1), (RAISE, CALL), None, -2),
        ("kuhn", (0, 2), (RAISE, FOLD), None, 1),
        ("kuhn", (2, 1), (CALL, RAISE, FOLD), None, -1),
        ("kuhn", (2, 1), (CALL, RAISE, CALL), None, 2),
        ("leduc", (4, 1), (CALL, CALL, CALL, CALL), 2, 1),
        ("leduc", (4, 1), (CALL, CALL, CALL, CALL), 0, -1),
        ("leduc", (4, 5), (CALL, CALL, CALL, CALL), 0, 0),
        ("leduc", (0, 2), (RAISE, RAISE, CALL, CALL, RAISE, RAISE, CALL), 1, 13),
        ("leduc", (0, 2), (RAISE, RAISE, FOLD), None, -3),
        ("leduc", (0, 2), (CALL, RAISE, CALL, RAISE, FOLD), 5, 3),
        ("dice", (0, 1), (8, 0), None, -1),  # two 2s: one 2 and one 1
        ("dice", (5, 1), (8, 0), None, 1),  # two 2s: a wild 6 and a 2
        ("dice", (5, 1), (12, 0), None, -1),  # two 6s: nothing is wild for them
        ("dice", (3, 3), (3, 10, 0), None, -1),
    ],
)
def test_outcomes_by_the_rules(name, cards, actions, board, points):
    first, second = played(name, cards, actions, board)
    assert (first, second) == (points, -points)


def facts(game, one):
    """Return the row of a game without its generators."""
    row = np.frombuffer(game.pack(one), game.spec.state_dtype)[0]
    return tuple(row[n].tobytes() for n in row.dtype.names if n not in ("rng", "bot_rng"))


@each_game
def test_starts_are_those_of_resets_as_often_as_said(name):
    game, drawn, size = make(name), collections.Counter(), 3000
    said = collections.Counter()
    for chance, one in game.every_start():
        said[facts(game, one)] += chance
    assert sum(said.values()) == pytest.approx(1)
    one = game.create()
    for seed in range(size):
        game.reset(one, None, seed)
        drawn[facts(game, one)] += 1
    assert drawn.keys() == said.keys()
    for start, chance in said.items():
        assert abs(drawn[start] - size * chance) < 5 * (size * chance) ** 0.5


def test_the_card_of_leduc_poker_is_drawn_in_a_step():
    game = make("leduc")
    one = game.create()
    one.reset(1)
    one.cards = [0, 3]
    assert len(list(game.every_step(one, [CALL, CALL]))) == 1
    one.step([CALL, CALL])
    before = game.pack(one)
    after = [(chance, each.board) for chance, each in game.every_step(one, [CALL, CALL])]
    assert after == [(0.25, 1), (0.25, 2), (0.25, 4), (0.25, 5)]
    assert game.pack(one) == before


def test_every_draw_lists_draws_that_depend_on_draws():
    def play(rng):
        first = rng.bounded(2)
        return first, rng.bounded(3) if first else rng.next()

    found = list(every_draw(play))
    assert [chance for chance, _ in found] == [0.5, *[pytest.approx(1 / 6)] * 3]
    assert [outcome for _, outcome in found] == [(0, Rng(0).next()), (1, 0), (1, 1), (1, 2)]
    assert list(every_draw(lambda _: 7)) == [(1.0, 7)]
    with pytest.raises(ValueError, match="more outcomes than can be listed"):
        list(every_draw(lambda rng: rng.uniform()))


def test_examples_are_made_by_name_and_listed_nowhere():
    assert fastenv.make("KuhnPoker-v0").reset(seed=0)[0].shape == (12,)
    assert not any("Poker" in env or "Dice" in env for env in fastenv.list_envs())
    with pytest.raises(ConfigError, match=re.escape("kind is fixed by the id 'KuhnPoker-v0'")):
        fastenv.make("KuhnPoker-v0", kind="leduc")
    with pytest.raises(ConfigError, match=re.escape("faces=7 is not possible")):
        fastenv.make("LiarsDice-v0", faces=7)


def test_the_game_of_the_tutorial_with_one_die_each_is_the_same():
    """Its outcomes are, over all dice and bids; who begins is drawn there."""
    page = (ROOT / "docs/tutorials/new_game_players.md").read_text(encoding="utf-8")
    scope = {}
    for part in ("state", "reference"):
        listing = page.split(f"#### `fastenv/liars_dice/{part}.py`\n\n```python\n")[1]
        code = listing.split("\n```")[0].replace(
            "from fastenv.liars_dice.state import MAX_FACES, STATE_DTYPE\n", ""
        )
        exec(compile(code, f"{part}.py", "exec"), scope)  # it is our own text
    theirs = scope["LiarsDice"]({"dice": 1, "faces": 3, "wild": True})
    ours = fastenv.make_game("LiarsDice-v0", faces=3).create()
    for dice in np.ndindex(3, 3):
        for bids in range(1, 2**6):
            theirs.reset(0)
            ours.reset(0)
            theirs.needs_action = [1, 0]
            theirs.hands = [[int(k == die) for k in range(6)] for die in dice]
            ours.dice = list(dice)
            for action in (*(bid for bid in range(1, 7) if bids >> (bid - 1) & 1), 0):
                agent = ours.needs_action.index(1)
                assert theirs.needs_action == ours.needs_action
                assert theirs.legal_actions(agent) == ours.legal_actions(agent)
                theirs.step([action] * 2)
                ours.step([action] * 2)
            assert (theirs.winner, theirs.done) == (ours.winner, 1)


@pytest.mark.parametrize("name", ["hidden", "mixed", "enumerable"])
def test_a_spec_takes_truths_alone(name):
    spec = make("kuhn").spec
    values = {field: getattr(spec, field) for field in ("num_actions", "state_dtype", "obs_shape")}
    with pytest.raises(ConfigError, match=f"{name}='yes': must be True or False"):
        GameSpec(**values, num_agents=2, **{name: "yes"}).check()


def test_a_pickle_is_read_where_nothing_was_imported():
    """So it enters a process that is spawned."""
    names = "import pickle, sys; game = pickle.load(sys.stdin.buffer); print(game.env_id)"
    for env, _ in GAMES.values():
        given = pickle.dumps(fastenv.make_game(env))
        command = [sys.executable, "-c", names]
        told = subprocess.run(command, input=given, capture_output=True, check=True, cwd=ROOT)
        assert told.stdout.decode().split() == [env]
