"""Cases of verify: worlds and rollouts are drawn, compared, and held to what a world must be."""

import numpy as np
import pytest

from fastenv.errors import StateError
from fastenv.verify import Case, draw_opponent
from tests.needs import needs_core
from tests.nim import NimGame
from tests.race import ENGINES, HERE, OtherFunctions
from tests.ring import RingGame
from tests.slow import diagonal
from tests.tables import walk
from tests.toy import RaceGame, WalkGame

TWO = {name: (name, 1) for name in (HERE[0], HERE[-1])}
ALONE = {"reference": ("reference", 1)}
GAMES = {
    "walk": lambda: WalkGame(raise_illegal=True),
    "race": RaceGame,
    "strict race": lambda: RaceGame(raise_illegal=True),
    "ring": lambda: RingGame("mixed", stones=30),
}


@walk(("seed", "name"), diagonal(range(3), GAMES))
def test_backends_agree_on_worlds_and_rollouts(name, seed):
    game = GAMES[name]()
    case = Case(game, seed, 3, ENGINES, {}, draw_opponent(game, seed))
    for _ in range(15):
        difference = case.advance(searches=1)
        assert difference is None, str(difference)


def test_the_steps_of_a_case_do_not_depend_on_its_searches():
    one, other = (Case(RaceGame(), 2, 3, ALONE) for _ in range(2))
    for _ in range(20):
        one.advance(searches=0)
        other.advance(searches=1)
    assert one.events == [event for event in other.events if event[0] != "search"]


def test_a_game_without_resample_or_bots_has_none(monkeypatch):
    case = Case(NimGame(), 0, 2, ALONE)
    monkeypatch.setattr(case, "_check_rollouts", lambda rows, lanes, rng: "rollouts")
    assert case.check_search() == "rollouts"
    case.standard.game.bot_names = ()
    assert case.check_search() is None


class Leaky(RaceGame):
    """Its worlds move the agent, take from what it sees, or leave the board."""

    change = None

    def resample(self, game, agent, rng):
        super().resample(game, agent, rng)
        if self.change == "seen":
            game.board[game.place[agent] + 3] ^= 1
        if self.change == "mask":
            game.needs_action[agent] ^= 1
        if self.change == "impossible":
            game.place[1 - agent] = -4
        if self.change == "obs":
            game.place[1 - agent] += 1


@walk("opponent", [None, "fast"])
@walk(
    ("change", "said"),
    [
        ("seen", "row and world of it differ in 'obs.ahead[3]', lane "),
        ("obs", "row and world of it differ in 'obs.me', lane "),
        ("mask", "row and world of it differ in 'mask[1]', lane "),
        ("impossible", "resample and validate differ in 'world', lane "),
    ],
)
def test_worlds_that_look_different_are_found(change, said, opponent):
    case = Case(Leaky(), 4, 3, ALONE, {}, opponent)
    assert case.check_search() is None
    case.standard.game.change = change
    text = str(next(filter(None, (case.check_search() for _ in range(20)))))
    assert said in text
    assert "resample for agents [" in text
    assert "seed of the case: 4" in text


class Strict(WalkGame):
    """A walk whose check refuses some generators."""

    def validate(self, rows):
        super().validate(rows)
        wrong = np.flatnonzero(rows["rng"][:, 0] % np.uint64(2))
        if wrong.size:
            raise StateError(f"lane {wrong[0]}: rng")


def test_worlds_that_are_impossible_are_found():
    case = Case(Strict(), 0, 5, ALONE)
    for engine in case.engines.values():
        rows = engine.get_states()
        rows["rng"][:, 0] &= ~np.uint64(1)
        engine.set_states(rows)
    text = str(next(filter(None, (case.check_search() for _ in range(20)))))
    assert "resample and validate differ in 'world', lane " in text
    assert "validate: lane 0: rng" in text


class Slow(RaceGame):
    """A race whose conditions, or luck, are others in Python."""

    wrong = ""

    def resample(self, game, agent, rng):
        super().resample(game, agent, rng)
        if self.wrong == "world":
            game.bot_rng[2] ^= 1

    def bot_action(self, game, params, agent, obs, mask, rng):
        action = super().bot_action(game, params, agent, obs, mask, rng)
        return 0 if self.wrong == "rollout" else action


@needs_core
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("world", "reference and fast differ in 'world.bot_rng[2]', lane "),
        ("rollout", "reference and fast differ in 'rollout.decisions', lane |'rollout.rows."),
    ],
)
def test_differences_between_backends_are_found(wrong, said):
    case = Case(Slow(), 4, 3, TWO)
    assert all(case.check_search() is None for _ in range(5))
    case.standard.game.wrong = wrong
    text = str(next(filter(None, (case.check_search() for _ in range(20)))))
    assert any(each in text for each in said.split("|"))
    assert (
        "resample for agents [" if wrong == "world" else "rollouts of lanes [0, 1, 2]: "
    ) in text


@needs_core
def test_a_bot_in_python_alone_is_compared_too():
    case = Case(OtherFunctions({}, {"bot": 0}), 1, 3, TWO)
    assert all(case.check_search() is None for _ in range(5))
