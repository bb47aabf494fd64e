"""Agents and bots at the tables of any game: two to eight seats, draws, mixtures, refusals."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

import fastenv
import training
from fastenv.errors import ConfigError
from tests.slow import every, together
from tests.tables import walk
from training.evaluate import main
from training.evaluation import contest as contests
from training.evaluation.contest import contest, load_players
from training.evaluation.standings import AHEAD, IQM, OVER, show
from training.players import network
from training.players.bots import Bot
from training.players.contest_table import ContestTable, find_table
from training.players.names import make_player
from training.run import games
from training.run.envs import make_engine

from .met import NIM, RACE
from .tables import FirstLegal, play_table, rank_by_points

FLAT = "SkullKingFlat-v0"
PRETRAINED = "pretrained/skullking-ppo"
VERSUS = "DrMarioVersus-v0"


def by_name(found):
    return {one.name.rpartition("/")[2]: one for one in found.standings}


def seated(count, games):
    """Return who sits where in every rotation of so many games."""
    return (np.arange(count) + np.arange(games)[:, None]) % count


# -- Skull King ------------------------------------------------------------------------------------


@walk("players", [2, 3, 4, 5, 6, 8])
def test_skull_king_is_the_game_of_external_opponents(players):
    """The table was made so before games had ``seats="all"``."""
    options = {"opponents": "external", "agent_seat": 0, "num_players": players}
    before = make_engine(FLAT, 2 * players, {**options, "deals": "duplicate"})
    now = find_table([], FLAT, {"num_players": players}).make(2 * players)
    names = ["rule_hard", "heuristic", "random"]
    seating, seeds = seated(players, 2 * players), np.repeat([7, 8], players)
    reached = [
        play_table(
            engine,
            [Bot(names[k % 3], engine) for k in range(players)],
            seating,
            seeds,
        )
        for engine in (before, now)
    ]
    assert (reached[0] == reached[1]).all(), "seeds 7 and 8"
    assert np.unique(reached[0]).size > players


def test_a_contest_of_skull_king_has_the_numbers_that_were_noted():
    """That is of rules, deals, seats and draws together: a change of one of them shows here."""
    players = load_players([PRETRAINED, "rule_hard", "random", "heuristic"])
    found = by_name(contest(players, 40, seed=3, resamples=50))
    points = {name: one.points.value for name, one in found.items()}
    noted = {"skullking-ppo": 225.25, "heuristic": 124.5, "rule_hard": 89.0, "random": -170.5}
    assert points == noted
    wins = [found[name].wins.value for name in noted]
    np.testing.assert_allclose(wins, [0.6625, 0.2, 0.1375, 0.0], atol=1e-6)
    np.testing.assert_allclose(
        [found[name].skill.value for name in noted],
        [43.948, 33.937, 27.168, -5.312],
        atol=1e-3,
    )


def test_six_seats_take_agents_of_six(trained):
    with pytest.raises(ConfigError, match=r"skullking\S* cannot sit .*players=4 must be 6"):
        contest(load_players([PRETRAINED, "random"]), 6, options={"num_players": 6})


# -- other games -----------------------------------------------------------------------------------


@walk(("env", "options"), [(FLAT, {}), (RACE, {}), (NIM, {"players": 5})])
def test_equal_players_get_the_same_from_every_rotation(agent, env, options):
    table = find_table([], env, options)
    count = table.seats.count
    engine, players = table.make(2 * count), [FirstLegal() for _ in range(count)]
    seeds = np.repeat([5, 6], count)
    reached = play_table(engine, players, seated(count, 2 * count), seeds)
    for first in (0, count):
        assert (reached[first : first + count] == reached[first]).all()
    assert engine.ended.all()
    assert all(each.asked for each in players)


def test_two_in_a_race(agent):
    found = contest(load_players([agent("race"), "slow"]), 40, seed=1, resamples=50)
    assert (found.env, found.deals, found.num_players) == (RACE, 20, 2)
    assert sum(one.wins.value for one in found.standings) == pytest.approx(1)
    one, other = found.standings
    assert one.skill.value > 25 > other.skill.value
    assert one.draws == other.draws
    assert 0 < one.draws.value < 1, "seed 1"
    assert found == contest(load_players([agent("race"), "slow"]), 40, seed=1, resamples=50)


def test_who_plays_best_wins(agent):
    found = by_name(contest(load_players(["perfect", "random"]), 60, env=NIM, resamples=50))
    assert found["perfect"].skill.low > found["random"].skill.high
    assert found["perfect"].wins.low > 0.5
    assert found["perfect"].draws.value == 0


def test_agents_and_bots_at_a_table_of_three(agent):
    names = [agent("nim3"), "perfect", "random"]
    found = contest(load_players(names), 30, seed=2, resamples=50)
    assert [one.seats for one in found.standings] == [1, 1, 1]
    assert sum(one.wins.value for one in found.standings) == pytest.approx(1)
    for one in found.standings:
        for interval in (one.points, one.wins, one.skill):
            assert interval.low <= interval.value <= interval.high
    # Nim pays 1 for a game: what is won is what is scored.
    assert [one.points for one in found.standings] == [one.wins for one in found.standings]
    best, _, worst = found.record()["players"]
    assert best["probability_of_improvement"][worst["name"]][0] > 0.5
    assert best["iqm"][0] >= worst["iqm"][0]


def test_of_more_players_than_seats_every_two_meet(agent):
    """Equal bots are equal, and each has played each of the three others."""
    names = ["perfect", "perfect", "random", agent("nim2")]
    found = contest(load_players(names), 40, env=NIM, resamples=50, seed=1)
    assert (found.groups, found.games) == (6, 240)
    rated = by_name(found)
    assert min(rated[n].skill.value for n in ("perfect", "perfect#2")) > rated["random"].skill.value
    assert sum(one.wins.value for one in found.standings) == pytest.approx(2)
    for one in found.record()["players"]:
        assert len(one["probability_of_improvement"]) == 3


def test_groups_of_three_of_four_are_rated_by_openskill_too():
    """Whoever has the lower number comes to more, in whatever group."""
    groups = [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]
    points = [np.tile(-np.array(who, float), (20, 3, 1)) for who in groups]
    found = rank_by_points(list("abcd"), *points, groups=groups)
    assert [one.name for one in found] == list("abcd")
    skills = [one.skill.value for one in found]
    assert skills == sorted(skills, reverse=True)
    assert [one.wins.value for one in found] == [1, 1 / 3, 0, 0]
    assert [one.iqm.to_list() for one in found] == [[-k] * 3 for k in range(4)]


def test_eight_seats_are_shared_in_turns(agent):
    found = contest(load_players([agent("nim8"), "perfect", "random"]), 16, resamples=20)
    assert {name: one.seats for name, one in by_name(found).items()} == {
        "nim8": 3,
        "perfect": 3,
        "random": 2,
    }
    assert sum(one.wins.value * one.seats for one in found.standings) == pytest.approx(1)


def test_a_match_of_dr_mario(agent):
    options = {"level": 0}
    players = load_players(["greedy", "random"])
    found = contest(players, 4, env=VERSUS, options=options, resamples=20)
    assert [(one.name, one.points.value) for one in found.standings] == [
        ("greedy", 1.0),
        ("random", -1.0),
    ]


def test_points_over_another_are_paired_by_deals():
    """Luck that falls on both leaves the interval of their difference, however much it is."""
    luck = np.random.default_rng(1).normal(0, 100, (30, 1, 1))
    points = luck + np.array([3.0, 0.0]) + np.zeros((30, 2, 2))
    first, second = rank_by_points(["a", "b"], points, resamples=50)
    assert first.over["b"].to_list() == pytest.approx([3.0, 3.0, 3.0])
    assert second.over["a"].to_list() == pytest.approx([-3.0, -3.0, -3.0])
    assert first.points.high - first.points.low > 20


@walk("kind", ["race", "lstm"])
@walk("seat", [0, 1])
def test_a_game_is_the_one_against_a_bot_of_the_engine(agent, kind, seat):
    """What a player sees there, and what it remembers, are what it has at a table."""
    policy = training.load_policy(agent(kind))
    seeds = np.arange(20, 25)
    engine = make_engine(RACE, 5, {"goal": 8, "opponent": "fast", "agent_seat": seat})
    engine.reset_many(seeds=seeds.tolist())
    state = None
    while not engine.ended.all():
        actions, state = policy.act(engine.obs, engine.mask, state)
        engine.step_many(actions, select=~engine.ended, autoreset=False)
    table = find_table([policy]).make(5)
    players = [make_player(policy, table), make_player("fast", table)]
    order = np.tile([0, 1] if seat == 0 else [1, 0], (5, 1))
    reached = play_table(table, players, order, seeds)
    assert (reached == engine.get_outcomes()).all(), "seeds 20 to 24"


@pytest.mark.parametrize("kinds", every(2, [("race", "far"), ("far", "race")]))
def test_what_the_engine_shows_is_what_an_observer_encodes(agent, kinds, monkeypatch):
    """A player with other options than the table's has its rows encoded once more."""
    players = load_players([agent(kind) for kind in kinds])
    asked = []
    encode = fastenv.BatchEngine.encode_obs_many

    def count(engine, *args, **options):
        asked.append(engine.game.shared["goal"][0])
        return encode(engine, *args, **options)

    monkeypatch.setattr(fastenv.BatchEngine, "encode_obs_many", count)
    found = contest(players, 20, resamples=20)
    goals = {"race": 8, "far": 30}
    assert set(asked) == {goals[kinds[1]]}  # the table is the first one's
    monkeypatch.setattr(network, "_shows_same", lambda *_: False)
    assert contest(players, 20, resamples=20) == found
    assert set(asked) == {8, 30}


# -- figures ---------------------------------------------------------------------------------------


def test_draws_of_given_points():
    points = np.tile([[[3.0, 3.0, 0.0], [2.5, 2.5, 2.5], [0.0, 1.0, 0.5]]], (4, 1, 1))
    found = {one.name: one for one in rank_by_points(list("abc"), points)}
    wins = {"a": (1 / 2 + 1 / 3) / 3, "b": (1 / 2 + 1 / 3 + 1) / 3, "c": 1 / 9}
    draws = {"a": 2 / 3, "b": 2 / 3, "c": 1 / 3}
    for name, one in found.items():
        assert one.wins.value == pytest.approx(wins[name])
        assert one.draws.value == pytest.approx(draws[name])
    assert max(found.values(), key=lambda one: one.skill.value).name == "b"


def test_a_game_without_an_end_is_given_up(agent, monkeypatch):
    monkeypatch.setattr(contests, "MAX_DECISIONS", 3)
    found = contest(load_players(["random", "random"]), 4, env=NIM, resamples=10)
    assert found.given_up == found.games
    assert [(one.wins.value, one.draws.value) for one in found.standings] == [(0, 0)] * 2
    assert found.record()["given_up"] == found.given_up


# -- who cannot come -------------------------------------------------------------------------------


@walk(
    ("kinds", "refused"),
    [
        (("nim3", "nim2"), r"nim2\S* cannot sit at this table: players=2 must be 3, as here"),
        (("nim2", "nim3"), r"nim3\S* cannot sit at this table: players=3 must be 2, as here"),
        (("nim3", "race"), r"race\S* cannot sit at this table: env='Race-v0' must be of the game"),
        (("race", "wide"), r"wide\S* cannot sit at this table: options=\{.*size.*\} must be those"),
    ],
)
def test_agents_that_do_not_fit_are_named(agent, kinds, refused):
    with pytest.raises(ConfigError, match=refused):
        contest(load_players([agent(kind) for kind in kinds]), 4)


@walk(
    ("names", "options", "refused"),
    [
        (["fast", "slow"], {}, "one trained agent at least, or bots of a named environment"),
        (["fast"] * 11, {"env": RACE}, "must be at most 50 groups of 2, and not 55"),
        (["fast"], {"env": RACE}, "must be 2 at least"),
        (["fast", "nobody"], {"env": RACE}, "bot 'nobody'"),
        (["random"] * 9, {"env": NIM, "options": {"players": 4}}, "50 groups of 4, and not 126"),
        (["random"] * 2, {"env": NIM, "options": {"players": 9}}, "players=9"),
        (["random"] * 2, {"env": "Chess-v0"}, "Chess-v0"),
        (["random"] * 2, {"env": "Prospector-v0"}, "players meet"),
        (["random"] * 2, {"env": "SkullKingWorker-v0"}, "env must be SkullKingFlat-v0"),
    ],
)
def test_what_cannot_be_is_refused(agent, names, options, refused):
    with pytest.raises(ConfigError, match=re.escape(refused)):
        contest(load_players(names), 4, **options)


@pytest.fixture
def kept_in_one_record():
    usual = games.get_game(RACE)
    games.register(RACE, replace(usual, table=games.TableRules()))
    yield
    games.register(RACE, usual)


def test_rules_in_the_shared_record_must_be_those_of_the_table(agent, kept_in_one_record):
    players = load_players([agent("far"), "fast"])
    said = r"far\S* cannot sit at this table: options={'goal': 30} .* played as here"
    with pytest.raises(ConfigError, match=said):
        contest(players, 4, env=RACE, options={"goal": 8})
    assert contest(players, 4, env=RACE, options={"goal": 30}, resamples=10).games == 4


def test_who_sits_where_is_no_option_of_a_table(agent):
    with pytest.raises(ConfigError, match="opponent='fast' is not possible"):
        contest(load_players([agent("race"), "fast"]), 4, options={"opponent": "fast"})


def test_a_table_says_what_it_plays(agent):
    policy = training.load_policy(agent("nim3"))
    assert find_table([policy]) == ContestTable(NIM, {"players": 3})
    assert find_table([policy], NIM, {"sticks": 12}).options == {"players": 3, "sticks": 12}
    with pytest.raises(ConfigError, match=r"env='Race-v0' .* must be Nim-v0 .*nim3"):
        find_table([policy], RACE)


# -- in a terminal ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "tables"), together([(140, 2), (80, 4), (60, 7)], 2))
def test_standings_fit_a_terminal(capsys, width, tables):
    points = np.random.default_rng(0).integers(-300, 300, size=(20, 4, 4)) // 100 * 100.0
    names = ["pretrained/skullking-ppo", "rule_hard", "an/agent", "random"]
    found = contests.Contest(FLAT, rank_by_points(names, points, resamples=50), 20, 4, 0, 1, 2)
    show(Console(width=width), found)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= width
    assert shown.count("│ pretrained") == tables
    assert "…" not in shown
    statistics = (OVER, IQM, AHEAD)
    for heading in ("points", "wins %", "drawn %", "openskill", *statistics):
        assert shown.count(f" {heading} ┃") == 1
    assert "2 games were given up" in shown


# -- the command -----------------------------------------------------------------------------------


def test_command_lets_bots_meet(agent, capsys, tmp_path):
    path = tmp_path / "report.json"
    flags = ["--against", "random", "--env", NIM, "--set", "players=3", "--games", "9"]
    assert main(["perfect", *flags, "--output-path", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "9 games: 3 deals, 3 rotations of the seats" in shown
    assert "openskill" in shown
    assert "drawn" not in shown
    report = json.loads(path.read_text())
    assert (report["env"], report["games"], report["given_up"]) == (NIM, 9, 0)
    assert [len(one["openskill"]) for one in report["players"]] == [3, 3]
    assert [one["draw_share"] for one in report["players"]] == [[0.0, 0.0, 0.0]] * 2


@walk(
    ("flags", "refused"),
    [
        (["--bots", "--set", "players=3"], "must be left out with --bots"),
        (["fast", "--against", "slow"], "--env"),
    ],
)
def test_command_refuses(agent, capsys, flags, refused):
    assert main(flags) == 2
    assert refused in capsys.readouterr().err


def test_a_table_takes_from_an_agent_only_what_players_share():
    """In Skull King the number of players; rewards and opponents are a learner's own."""
    learnt = {"num_players": 5, "reward": "points", "opponents": "rule_hard"}
    agent = SimpleNamespace(env=FLAT, env_spec=SimpleNamespace(options=learnt), path="a")
    without = dict(find_table([], FLAT).options)
    assert find_table([agent]).options == {**without, "num_players": 5}
    assert find_table([agent], options={"num_players": 3}).options == {**without, "num_players": 3}
