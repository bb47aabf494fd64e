"""A person, films and training among the players of any game."""

import io
import re
import sys

import numpy as np
import pytest

import fastenv
import training
from fastenv.game import Game
from tests import nim
from tests.needs import needs_core
from tests.slow import diagonal
from tests.training.begun import train
from tests.training.left import parameters
from training.play import main as play
from training.players.contest_table import find_table
from training.players.names import make_player
from training.run.envs import make_engine
from training.run.seating import has_agents, without_agents
from training.selfplay.opponents import OpponentEngine
from training.watch import main as watch

from . import agents, met
from .met import NIM, RACE
from .tables import FirstLegal, first_legal, play_table

FLAT = "SkullKingFlat-v0"


@pytest.fixture
def played(monkeypatch, capsys):
    """Play with what a person types; return status, output and errors."""

    def run(text, *flags):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        monkeypatch.setenv("COLUMNS", "80")
        status = play(["--seed", "3", *flags])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run


# -- a person --------------------------------------------------------------------------------------


def test_a_person_between_others(agent, played):
    status, out, _ = played("0\n" * 10, "--against", agent("nim3"), "perfect", "--seat", "1")
    assert status == 0
    assert "Seats: 0 nim3, 1 You, 2 perfect." in out
    assert out.count("\n  You: 0") == out.count("your move") > 0
    assert "  perfect: " in out
    assert "  nim3: " in out
    assert "The game is over" in out
    assert sum(line.split()[-2] == "1" for line in out.splitlines() if line.startswith("│")) == 1


def test_a_person_against_drawn_actions(agent, played):
    games = [
        played("0\n" * 10, "--against", agent("nim2"), *words) for words in ((), ("--sample",))
    ]
    assert [status for status, _, _ in games] == [0, 0]
    assert games[0] != games[1]


def test_who_plays_the_others_where_nobody_is_named(agent, played):
    _, out, _ = played("q\n", "--env", NIM, "--set", "players=4", "--seat", "3")
    assert "Seats: 0 random #1, 1 random #2, 2 random #3, 3 You." in out
    status, _, error = played("q\n", "--env", RACE)
    assert status == 2
    assert "--against must be given: nobody plays the others by default here" in error


def test_what_all_decide_together_is_told_when_all_have(agent, played):
    """Seat 0 is asked before the person in seat 1, who must not hear of it."""
    _, out, _ = played("1\nq\n", "--env", RACE, "--against", "fast", "--seat", "1")
    first, second, *_ = out.split("your move")
    assert "fast: " not in first
    assert "fast: 3" in second
    assert second.index("fast: 3") < second.index("You: 1")


def test_a_person_sees_what_its_seat_may_see(agent, played, monkeypatch):
    def draw(game, row, seat, mode):
        return f"what {seat} may see"

    monkeypatch.setattr(nim.NimGame, "render_seat", draw)
    monkeypatch.setattr(nim.NimGame, "render", lambda *_: "everything")
    _, out, _ = played("q\n", "--env", NIM, "--set", "players=3", "--seat", "2")
    assert "what 2 may see" in out
    assert "everything" not in out


def test_a_game_that_draws_seats_is_drawn_as_the_first_sees_it():
    class Seats(nim.NimGame):
        render = Game.render

        def render_seat(self, row, seat, mode):
            return f"what {seat} may see in {mode}"

    class Nothing(nim.NimGame):
        render = Game.render

    row = np.zeros(1, nim.state_dtype(2))[0]
    assert Seats().render(row, "ansi") == "what 0 may see in ansi"
    assert nim.NimGame().render_seat(row, 1, "ansi") == nim.NimGame().render(row, "ansi")
    with pytest.raises(NotImplementedError):
        Nothing().render(row, "ansi")


@needs_core
def test_a_person_in_a_match(agent, played):
    _, out, _ = played("?\nq\n", "--env", "DrMarioVersus-v0", "--seat", "1")
    assert "Seats: 0 random, 1 You." in out
    assert "viruses" in out


def test_skull_king_draws_each_seat_its_own_hand():
    engine = fastenv.make_engine(FLAT, 1, seats="all")
    engine.reset_many(seeds=2)
    for _ in range(10):  # into the second round
        engine.step_many([int(engine.mask[0].argmax())], autoreset=False)
    row = engine.get_states()[0]
    hands = {}
    for seat in range(4):
        text = engine.game.render_seat(row, seat, "ansi")
        hands[seat] = text[text.index("Your hand") :]
        assert f"{seat}  you" in text
    assert len(set(hands.values())) == 4
    actor = int(row["actor"])
    assert hands[actor] in engine.game.render(row, "ansi")
    assert row["actor"] == actor  # it is drawn, not changed


# -- watching --------------------------------------------------------------------------------------


def test_a_table_in_the_terminal(agent, capsys):
    flags = [agent("nim3"), "--against", "perfect", "random", "--seed", "4"]
    assert watch(flags) == 0
    shown = capsys.readouterr().out
    for name in ("nim3", "perfect", "random"):
        assert f"{name} chooses " in shown
    assert re.search(r"The game is over: \w+ 1, \w+ 0, \w+ 0\. Repeat it with --seed 4\.", shown)
    assert watch(flags) == 0
    assert capsys.readouterr().out == shown  # a seed is an episode


def test_an_agent_of_several_alone(agent, capsys):
    assert watch([agent("nim2"), "--seed", "1"]) == 0
    assert "nim2 chooses " in capsys.readouterr().out


@needs_core
def test_a_match_on_film(agent, tmp_path, capsys):
    image = pytest.importorskip("PIL.Image")
    out = tmp_path / "x.gif"
    flags = ["greedy", "--against", "random", "--env", "DrMarioVersus-v0", "--max-steps", "4"]
    assert watch([*flags, "--out", str(out)]) == 0
    assert "4 decisions" in capsys.readouterr().out
    with image.open(out) as gif:
        assert gif.n_frames > 1


@pytest.mark.parametrize(
    ("flags", "refused"),
    [
        (["fast", "--against", "slow"], "--env"),
        (["fast", "--against", "slow", "random", "--env", RACE], "1 to 1 players"),
        (["fast", "--against", "nobody", "--env", RACE], "nobody"),
        (["fast", "--against", "slow", "--env", RACE, "--opponents", "slow"], "--opponents"),
        (["random", "--against", "random", "--env", "Prospector-v0"], "players do not meet"),
    ],
)
def test_tables_that_cannot_be_watched(agent, capsys, flags, refused):
    assert watch(flags) == 2
    assert refused in capsys.readouterr().err


# -- among the opponents of a training -------------------------------------------------------------


def learn(engine, seeds):
    """Play an episode in each lane; return what all seats have reached, and the learner's seat."""
    engine.reset_many(seeds=seeds.tolist())
    seats, rewards = engine.get_agents(), np.zeros(engine.num_envs)
    running = ~engine.ended
    while running.any():
        assert (engine.get_places(running) == 0).all()
        engine.step_many(first_legal(engine), select=running, autoreset=False)
        rewards += engine.reward
        running = ~engine.ended
    mine = engine.get_outcomes()[np.arange(engine.num_envs), seats]
    np.testing.assert_allclose(rewards, mine, rtol=1e-5)  # these games are won by their rewards
    return engine.get_outcomes(), seats


@pytest.mark.parametrize(("kind", "seat"), diagonal(["race", "lstm", "far"], [0, 1, "rotate"]))
def test_the_same_games_as_at_the_table(agent, kind, seat):
    path = agent(kind)
    engine = make_engine(RACE, 6, {"goal": 8, "opponent": path, "agent_seat": seat})
    assert isinstance(engine, OpponentEngine)
    reached, seats = learn(engine, np.arange(40, 46))
    assert sorted(set(seats.tolist())) == ([0, 1] if seat == "rotate" else [seat])
    table = find_table([], RACE, {"goal": 8}).make(6)
    players = [FirstLegal(), make_player(training.load_policy(path), table)]
    seating = np.where(np.arange(2) == seats[:, None], 0, 1)
    wanted = play_table(table, players, seating, np.arange(40, 46))
    assert (reached == wanted).all(), "seeds 40 to 45"


def test_agents_in_several_seats(agent):
    paths = [agent("nim4"), agent("again4"), agent("nim4")]
    engine = make_engine(NIM, 8, {"players": 4, "opponent": paths, "agent_seat": 2})
    reached, seats = learn(engine, np.arange(60, 68))
    assert (seats == 2).all()
    table = find_table([], NIM, {"players": 4}).make(8)
    others = [make_player(training.load_policy(path), table) for path in paths]
    seating = np.tile([2, 3, 0, 1], (8, 1))
    wanted = play_table(table, [FirstLegal(), *others], seating, np.arange(60, 68))
    assert (reached == wanted).all(), "seeds 60 to 67"


def test_episodes_go_on_with_who_sits_there(agent):
    engine = make_engine(RACE, 4, {"goal": 8, "opponent": agent("race"), "agent_seat": "rotate"})
    engine.reset_many(seeds=[1, 2, 3, 4])
    seats = [engine.get_agents()]
    for _ in range(60):
        engine.step_many(first_legal(engine))
        seats.append(engine.get_agents())
        assert (engine.get_places() == 0).all()
        assert engine.has_outside().all()
    assert (np.array(seats) != seats[0]).any()


@pytest.mark.parametrize(
    ("env", "options", "refused"),
    [
        (RACE, {"opponent": "no/where"}, "must be a run folder"),
        (NIM, {"players": 3, "opponent": ["no/where"]}, "one name or 2"),
        (RACE, {"opponent": "nim3"}, "env='Nim-v0' must be of the game of Race-v0"),
        (NIM, {"opponent": "nim3"}, "players=3 must be 2, as here"),
        ("Prospector-v0", {"opponents": "nim3"}, "cannot be played in this environment"),
    ],
)
def test_what_cannot_sit_there_is_refused(agent, env, options, refused):
    if options.get("opponent") == "nim3" or options.get("opponents") == "nim3":
        options = {name: agent("nim3") for name in options}
    with pytest.raises(fastenv.errors.FastEnvError, match=refused):
        make_engine(env, 2, options).reset_many(seeds=[0, 1])


def test_paths_are_found_in_both_options():
    assert has_agents({"opponent": "a/b"})
    assert has_agents({"opponents": ["random", "a/b"]})
    assert not has_agents({"opponent": "random", "preset": "a/b"})
    assert without_agents({"opponent": ["a/b", "random"], "goal": 8}) == {"goal": 8}
    assert without_agents({"opponent": "fast", "goal": 8}) == {"opponent": "fast", "goal": 8}


# -- a whole training ------------------------------------------------------------------------------


def options(agent, **changes):
    env_options = {"goal": 8, "opponent": agent("race"), "agent_seat": "rotate"}
    config = {"env": RACE, "env_options": env_options, "deterministic": True, **changes}
    return agents.TINY | config


def test_training_goes_on_to_the_bit(agent, tmp_path):
    assert train(tmp_path, "whole", config=options(agent, total_steps=512)) == 0
    assert train(tmp_path, "halves", config=options(agent, total_steps=256)) == 0
    assert train(tmp_path, "halves", "--resume", "--total-steps", 512) == 0
    whole, halves = (parameters(tmp_path / name) for name in ("whole", "halves"))
    assert all((whole[name] == halves[name]).all() for name in whole)
    policy = training.load_policy(tmp_path / "whole")
    assert policy.env_spec.options["opponent"] == "slow"  # the first one of the race


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"trainer": "sb3"}, "bots with trainer='sb3'"),
        ({"selfplay": {"every": 100}}, "selfplay"),
        ({"schedules": {"opponent": [[0, "fast"]]}}, "opponent"),
        ({"env_options": {"opponent": "lstm", "goal": 8}}, "no memory"),
        ({"env_options": {"opponent": "nim2", "goal": 8}}, "must be of the game of Race-v0"),
        ({"env_options": {"opponent": "no/where"}}, "must be a run folder"),
    ],
)
def test_opponents_of_a_training_that_are_refused(agent, tmp_path, capsys, changes, refused):
    if changes.get("env_options", {}).get("opponent") in met.KINDS:
        kind = changes["env_options"]["opponent"]
        changes = {"env_options": {"goal": 8, "opponent": agent(kind)}}
    assert train(tmp_path, "x", config=options(agent, **changes)) == 2
    assert refused in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
