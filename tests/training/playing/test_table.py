"""A table and its decisions, as the terminal and the studio have them."""

import numpy as np
import pytest

import fastenv
from training.players.names import make_player
from training.players.person import Person
from training.players.player import Thought
from training.playing.decision import Decision
from training.playing.game_table import GameTable, collect_lines
from training.playing.history import take_again

FLAT = "SkullKingFlat-v0"


def make_table(who=("heuristic", Person, "random", "random"), seed=3):
    """Make a table of Skull King in its first decision."""
    engine = fastenv.make_engine(FLAT, 1, seats="all", schedule=(2,))
    engine.reset_many(seeds=seed)
    players = [make_player(each, engine) for each in who]
    return GameTable(FLAT, {}, engine, players, ["a", "You", "b", "c"][: len(who)])


def play(table):
    """Take a decision of whoever is due, a person's the first legal one; return it and the rows."""
    engine, seat = table.engine, int(table.actors()[0])
    player, before = table.players[seat], engine.get_states()[0]
    legal = np.flatnonzero(engine.mask[0])
    if isinstance(player, Person):
        player.choose(int(legal[0]))
    action = int(player.act(engine, np.zeros(1, int))[0])
    engine.step_many([action], autoreset=False)
    return (seat, action), before, engine.get_states()[0]


def test_nothing_is_said_of_bids_before_all_have_bid():
    table = make_table()
    table.begin(seeds=range(4))
    for _ in range(3):
        decision, before, after = play(table)
        assert table.describe_decisions(before, [decision], after) == []
    decision, before, after = play(table)
    (line,) = table.describe_decisions(before, [decision], after)
    assert line.startswith("Bids: a ")
    assert ", You 0," in line


def test_decisions_at_the_same_time_are_described_together():
    engine = fastenv.make_engine("DrMarioVersus-v0", 1, seats="all", level=1)
    engine.reset_many(seeds=3)
    players = [make_player("random", engine), Person(engine)]
    table = GameTable("DrMarioVersus-v0", {}, engine, players, ["a", "You"])
    table.begin(seeds=[0, 0])
    first, before, after = play(table)
    assert table.is_pending(before, after)
    second, before, after = play(table)
    assert not table.is_pending(before, after)
    lines = table.describe_decisions(before, (first, second), after)
    assert [line.partition(":")[0] for line in lines] == ["a", "You"]


def test_going_back_leads_to_the_same_rows_by_the_same_decisions():
    table = make_table()
    table.begin(seeds=range(4))
    first = table.engine.get_states()
    decisions = [play(table)[0] for _ in range(6)]
    wanted = table.engine.get_states()
    table.go(first)
    assert np.array_equal(table.engine.get_states(), first)
    take_again(table.engine, decisions)
    assert np.array_equal(table.engine.get_states(), wanted)


def test_players_draw_from_the_seed_of_their_seat():
    def bids(seeds):
        table = make_table(["random"] * 4)
        table.begin(seeds=seeds)
        return [play(table)[0] for _ in range(4)]

    assert bids(range(4)) == bids([0, 1, 2, 3])
    assert len({tuple(bids(range(k, k + 4))) for k in range(0, 40, 4)}) > 1


def test_a_game_ends_in_a_sentence_the_best_first():
    table = make_table()
    table.begin(seeds=range(4))
    while not table.engine.ended[0]:
        play(table)
    row = table.engine.get_states()[0]
    ranked = table.rank(row)
    assert [total for _, total in ranked] == sorted((x for _, x in ranked), reverse=True)
    assert dict(ranked) == dict(zip(table.names, row["total"][:4].tolist(), strict=True))
    said = table.describe_result(row, 0.0)
    assert said == f"The game is over: {', '.join(f'{name} {x:.6g}' for name, x in ranked)}."
    alone = GameTable(FLAT, {}, table.engine, [Person(table.engine)], ["You"])
    assert alone.describe_result(row, 2.5) == "The game is over: return 2.5."


@pytest.mark.parametrize(
    ("persons", "seen"), [([], [0, 1, 2]), ([1], [1, 1, 1]), ([0, 2], [0, 0, 2])]
)
def test_a_person_is_shown_no_seat_of_others(persons, seen):
    players = [Person(None) if seat in persons else object() for seat in range(3)]
    table = GameTable(FLAT, {}, None, players, list("abc"))
    assert [table.find_looking_seat(actor) for actor in range(3)] == seen


def test_the_last_lines_are_kept():
    told = [["e"], [], ["c", "d"], ["a", "b"]]  # the newest first
    assert collect_lines(told, 9) == [*"abcde"]
    assert collect_lines(told, 3) == [*"cde"]
    assert collect_lines(told, 2) == [*"de"]


def test_a_decision_says_why_as_far_as_anything_is_known():
    assert Decision().explain(str) == ""
    assert Decision(action=1).explain(str) == ""
    chances = np.array([0.25, 0.75])
    assert Decision(action=1, probabilities=chances).explain(str).startswith("The network plays 1")
    actions, mean = np.arange(2), np.array([1.0, 3.0])
    thought = Thought(actions, mean, np.zeros(2), np.full(2, 8), np.full(2, np.nan), 1, 2.0)
    shown = Decision(action=1, thought=thought, probabilities=chances).explain(str)
    assert shown.startswith("1: 3, the mean of 8 worlds.")
