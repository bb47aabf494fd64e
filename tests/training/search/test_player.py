"""Who searches, at tables and in episodes: alike in any batch, and what it thinks."""

from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

import fastenv
import training
from fastenv.errors import ConfigError
from fastenv.skullking.tables import Phase
from tests.tables import walk
from tests.training.players.tables import play_table
from training.evaluation.contest import load_players
from training.evaluation.loop import Loop, ask
from training.players.contest_table import find_table
from training.players.names import make_player
from training.players.player import Thought, begin_all, every_lane
from training.run.envs import make_engine
from training.search.agent import SearchAgent, SearchPlayer, draw_step, load
from training.search.estimates import ActionEstimates
from training.search.options import SearchOptions
from training.search.searcher import SearchResult
from training.terminal import text, thinking
from training.terminal.session import Source, TerminalSession

FLAT = "SkullKingFlat-v0"
PRETRAINED = "pretrained/skullking-ppo"


def table(lanes, first=0):
    engine = find_table([], FLAT).make(lanes)
    engine.reset_many(seeds=np.arange(lanes) + first)
    return engine


def seat(name, engine, seed=1):
    """Return the player of a name, whose games begin."""
    player = make_player(load(name), engine)
    begin_all(player, engine, seed)
    return player


def to_cards(engine):
    streams = fastenv.engine.rng_streams(1, engine.num_envs)
    while (engine.get_states()["phase"] == Phase.BID).any() or (engine.mask.sum(1) < 2).any():
        engine.step_many(engine.bot_actions("rule_hard", streams))
    return engine


@walk("options", ["", ",lead=1", ",temperature=5", ",decisions=all"])
def test_games_beside_it_change_nothing(options):
    engine = to_cards(table(4))
    lanes = np.arange(4)
    together, alone = (
        seat(f"search:{PRETRAINED},worlds=4{options}", engine, seed=7) for _ in range(2)
    )
    for _ in range(3):
        actions = together.act(engine, lanes)
        assert [int(alone.act(engine, lanes[[k]])[0]) for k in (3, 1, 0, 2)] == [
            actions[k] for k in (3, 1, 0, 2)
        ]
        engine.step_many(actions)


def test_a_game_is_the_same_whatever_was_played_before():
    who, seating, seeds = load("search:heuristic,worlds=2"), np.array([[0, 1, 1, 1]]), np.array([5])
    engine = find_table([], FLAT).make(1)
    players = [make_player(who, engine), make_player("rule_hard", engine)]
    first = play_table(engine, players, seating, seeds, 60)
    assert (play_table(engine, players, seating, seeds, 60) == first).all()


def test_only_some_decisions_are_searched_and_counted():
    engine = table(3)
    player, lanes = seat("search:heuristic,worlds=2", engine), np.arange(3)
    player.explains = True
    (cost,) = Loop(engine, [player], seeds=lanes).costs
    ask(engine, [player], lanes, costs=[cost])  # bids are not
    assert (player.cost.decisions, player.cost.searched) == (3, 0)
    assert all(player.thought(lane) is None for lane in lanes)
    ask(to_cards(engine), [player], lanes, costs=[cost])
    assert (player.cost.decisions, player.cost.searched) == (6, 3)
    assert all(player.thought(lane) is not None for lane in lanes)
    assert player.cost.cpu_s > 0


def test_a_lead_that_nothing_has_leaves_the_policy_alone():
    engine = to_cards(table(6))
    plain, never = (
        seat(f"search:{PRETRAINED},worlds=4{more}", engine) for more in ("", ",lead=1000000")
    )
    own = make_player(training.load_policy(PRETRAINED), engine)
    lanes, differ = np.arange(6), False
    for _ in range(4):
        actions = own.act(engine, lanes)
        assert (never.act(engine, lanes) == actions).all()
        differ |= (plain.act(engine, lanes) != actions).any()
        to_cards_step(engine, actions)
    assert differ


def test_an_own_action_that_is_beyond_doubt_behind_is_not_played():
    player = seat(f"search:{PRETRAINED},worlds=8,lead=1000000", to_cards(table(1)))
    own, legal = np.array([1]), np.array([[True, True, True]])
    found = ActionEstimates(legal, own)
    at, what, world = (x.ravel() for x in np.indices((1, 3, 8)))
    found.note(at, what, world, np.array([2.0, 0.0, 1.0])[what])
    weights, seeds = np.full((1, 3), np.nan), np.zeros(1, np.uint64)
    assert player._decide(SearchResult(found, 0.0, True), own, weights, seeds) == 1
    found.drop(0.5, halving=True)
    assert not found.open[0, 1]
    assert player._decide(SearchResult(found, 0.0, True), own, weights, seeds) == 0


def to_cards_step(engine, actions):
    engine.step_many(actions)
    to_cards(engine)


def test_a_thought_is_what_was_looked_at():
    engine = to_cards(table(2))
    player = seat(f"search:{PRETRAINED},worlds=8,rollouts=heuristic", engine)  # the best mean
    player.explains = True
    actions = player.act(engine, np.arange(2))
    for lane in range(2):
        thought = player.thought(lane)
        assert thought.actions.tolist() == np.flatnonzero(engine.mask[lane]).tolist()
        assert thought.chosen == actions[lane]
        assert thought.worlds.max() <= 8
        assert thought.wanted.sum() == pytest.approx(1)
        assert thought.finished
        best = thought.mean[thought.actions == thought.chosen]
        assert best == thought.mean[thought.worlds == thought.worlds.max()].max()


# -- Ctrl-C ----------------------------------------------------------------------------------------


def cut(player, monkeypatch):
    """Press Ctrl-C in the second block of every search."""
    blueprint, calls = player.searcher.blueprint, []
    play_on = blueprint.play_on

    def press(*args):
        calls.append(args)
        if len(calls) % 2 == 0:
            raise KeyboardInterrupt
        return play_on(*args)

    monkeypatch.setattr(blueprint, "play_on", press)


def test_ctrl_c_ends_who_does_not_explain(monkeypatch):
    engine = to_cards(table(1))
    player = seat("search:heuristic", engine)
    cut(player, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        player.act(engine, np.arange(1))


def test_ctrl_c_plays_the_best_so_far_and_twice_leaves(monkeypatch, capsys):
    engine = table(1)
    player = make_player(load("search:heuristic"), engine)
    cut(player, monkeypatch)
    makers = [lambda engine: player] * 4
    session = TerminalSession(Source(FLAT, {}, lambda lanes: engine, list("abcd"), makers), seed=3)
    console = Console(width=80)
    while session.decision.thought is None:
        text.print_thought(console, session, shown=False)
        session.step()
    assert capsys.readouterr().out == ""
    assert session.action() in session.legal()
    text.print_thought(console, session, shown=False)
    shown = capsys.readouterr().out
    assert shown == "  Interrupted after 8 worlds of 32: the best so far is played.\n"
    with pytest.raises(KeyboardInterrupt):
        text.watch(console, session, think=False, delay=0.0)


# -- draws and refusals ----------------------------------------------------------------------------


def test_steps_from_the_policy_are_drawn_by_their_weights():
    n = 40_000
    means, wanted = np.array([0.0, 2.0, 1.0, -np.inf]), np.array([0.5, 0.1, 0.3, 0.1])
    drawn = draw_step(
        np.tile(means, (n, 1)), np.tile(wanted, (n, 1)), 2.0, np.arange(n, dtype="u8")
    )
    weights = wanted * np.exp(means / 2)
    np.testing.assert_allclose(
        np.bincount(drawn, minlength=4) / n, weights / weights.sum(), atol=0.01
    )
    one = draw_step(means[None], wanted[None], 2.0, np.array([7], "u8"))
    assert one[0] == drawn[7]


def test_temperature_needs_a_network():
    with pytest.raises(ConfigError, match=r"search\.temperature=1\.0 .* null without a network"):
        make_player(load("search:heuristic,temperature=1"), table(1))


def test_who_cannot_sit_is_refused():
    with pytest.raises(ConfigError, match="bot 'nobody': must be one of"):
        make_player(load("search:nobody"), table(1))


def test_a_policy_for_one_must_be_of_this_game():
    policy = training.load_policy("pretrained/prospector")
    agent = SearchAgent(policy, SearchOptions(worlds=1), "x")
    engine = make_engine("DrMarioPlacement-v0", 1)
    with pytest.raises(ConfigError, match="env='Prospector-v0' must be DrMarioPlacement-v0, as"):
        agent.player(engine)


def test_players_are_named_in_short():
    names = [f"search:{PRETRAINED},worlds=2", "search:heuristic", "heuristic", PRETRAINED]
    players = load_players([*names, names[0]])
    own = "skullking-ppo"
    shorts = [f"search:{own}", "search:heuristic", "heuristic", own, f"search:{own}"]
    assert [player.short for player in players] == shorts
    assert [player.name for player in players] == [*names, f"{names[0]}#2"]


def test_episodes_are_played_with_opponents_inside():
    engine = make_engine(FLAT, 3, {"opponents": "rule_hard"})
    engine.reset_many(seeds=4)
    player = SearchPlayer("heuristic", SearchOptions(worlds=2), engine)
    begin_all(player, engine, 1)
    for _ in range(12):
        actions = player.act(engine, every_lane(engine))
        assert engine.mask[np.arange(3), actions].all()
        engine.step_many(actions)
    assert player.cost.searched > 0


# -- what is shown ---------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 140])
def test_a_bar_an_action_fits_the_terminal(width, capsys):
    rng = np.random.default_rng(0)
    n = 20
    mean = np.where(np.arange(n) == 3, -np.inf, rng.normal(size=n) * 100)
    worlds = np.where(np.arange(n) == 3, 0, 32)
    error = np.where(np.arange(n) == 3, np.nan, 9.5)
    thought = Thought(np.arange(n), mean, error, worlds, np.full(n, 1 / n), 5, 12.0)
    console = Console(width=width)
    console.print(
        thinking.table(thought, lambda a: f"a long name of an action of a card game, {a}", width)
    )
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert len([line for line in lines if "a long name" in line]) == thinking.MOST
    assert "▶" in lines[2]
    assert "and 8 more" in lines[-1]
    assert "…" in lines[3]  # a name that is too long, and no number
    numbers = [float(line.split()[-4]) for line in lines[3:-1]]
    assert numbers == sorted(numbers, reverse=True)


def test_equal_actions_have_equal_bars(capsys):
    same = np.zeros(3)
    thought = Thought(np.arange(3), same, same, np.full(3, 4), same * np.nan, 0, 1.0)
    Console(width=80).print(thinking.table(thought, str, 80))
    lines = capsys.readouterr().out.splitlines()[1:]
    assert lines[0].split() == ["action", "mean", "±", "worlds"]  # no policy was asked
    assert len({line.count("█") for line in lines[1:]}) == 1


def test_decisions_are_drawn_at_the_temperature_that_is_asked_for():
    """A low one takes what is worth most, a high one what the policy wants."""
    means = np.array([[0.0, 10.0, 4.0]])
    wanted, seeds = np.array([[0.98, 0.01, 0.01]]), np.arange(200).astype("u8")
    every = [np.repeat(each, 200, axis=0) for each in (means, wanted)]
    estimates = SimpleNamespace(means=lambda: every[0], counts=np.ones((200, 3)))
    player = object.__new__(SearchPlayer)
    taken = {}
    for temperature in (0.1, 1000.0):
        options = SearchOptions(temperature=temperature)
        player.searcher = SimpleNamespace(options=options)
        own = np.zeros(200, np.int32)
        chosen = player._decide(SimpleNamespace(estimates=estimates), own, every[1], seeds)
        taken[temperature] = np.bincount(chosen, minlength=3)
        assert (chosen == draw_step(*every, temperature, seeds)).all()
    assert taken[0.1][1] == 200
    assert taken[1000.0][0] > 180
