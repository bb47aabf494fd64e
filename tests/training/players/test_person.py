"""A person as a player: seated, asked and advised like all others."""

import numpy as np
import pytest

import fastenv
from fastenv.errors import ConfigError
from training.evaluation.loop import ask
from training.players.names import make_player
from training.players.person import Person
from training.players.player import begin_all
from training.playing.decision import find_thinking, get_thought, let_explain, name_adviser
from training.search.agent import parse

FLAT = "SkullKingFlat-v0"


def make_game():
    engine = fastenv.make_engine(FLAT, 1, seats="all", schedule=(2,))
    engine.reset_many(seeds=3)
    return engine


def test_a_person_plays_what_was_chosen_among_other_players():
    engine = make_game()
    players = [make_player("heuristic", engine), make_player(Person, engine)]
    players += [make_player("random", engine) for _ in range(2)]
    for seat, player in enumerate(players):
        begin_all(player, engine, seat)
    chosen = []
    while not engine.ended[0]:
        seat = int(engine.get_actors()[0])
        if isinstance(players[seat], Person):
            chosen.append(int(np.flatnonzero(engine.mask[0])[-1]))
            players[seat].choose(chosen[-1])
        actions = ask(engine, players, np.zeros(1, int), np.array([seat]))
        if seat == 1:
            assert actions.tolist() == chosen[-1:]
        engine.step_many(actions, autoreset=False)
    assert len(chosen) == 3  # a bid and two cards


def test_a_person_who_is_not_asked_on_a_screen_is_refused_in_a_sentence():
    engine = make_game()
    person = make_player(Person, engine)
    with pytest.raises(ConfigError, match="a person plays where a screen asks"):
        person.act(engine, np.zeros(1, int))
    person.choose(1)
    begin_all(person, engine, 0)  # forgets
    with pytest.raises(ConfigError, match="a person plays where a screen asks"):
        person.act(engine, np.zeros(1, int))
    person.choose(1)
    assert person.act(engine, np.zeros(1, int)).tolist() == [1]
    with pytest.raises(ConfigError, match="a person plays where a screen asks"):
        person.act(engine, np.zeros(1, int))


def test_an_adviser_thinks_for_a_person_and_begins_with_it():
    class Adviser:
        explains, begun = False, None

        def begin(self, engine, lanes, seeds=None):
            self.begun = lanes.tolist(), seeds.tolist()

        def act(self, engine, lanes):
            return np.zeros(len(lanes), np.int32)

        def thought(self, lane):
            return f"lane {lane}"

    engine, adviser = make_game(), Adviser()
    person = Person(engine, adviser)
    begin_all(person, engine, 7)
    assert adviser.begun == ([0], [7])
    let_explain([person, make_player("random", engine)])
    assert adviser.explains
    assert find_thinking(person) is adviser
    assert get_thought(find_thinking(person)) == "lane 0"
    assert find_thinking(Person(engine)) is None


@pytest.mark.parametrize(
    ("name", "worlds", "decisions"),
    [
        ("heuristic", 32, "all"),
        ("heuristic,worlds=64", 64, None),
        ("search:heuristic,decisions=bids", 32, "bids"),
    ],
)
def test_an_adviser_has_the_usual_options_unless_some_are_named(name, worlds, decisions):
    who, options = parse(name_adviser(name))
    assert (who, options.worlds, options.decisions) == ("heuristic", worlds, decisions)
