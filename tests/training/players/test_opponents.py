"""Trained agents among the opponents of training and evaluation."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import training
from tests.slow import late
from tests.tables import walk
from tests.training.begun import train
from tests.training.left import parameters
from training.evaluate import main as evaluate
from training.players.contest_table import find_table
from training.players.names import make_player
from training.players.network import Network
from training.run.envs import make_engine
from training.selfplay.opponents import Opponents

from .agents import TINY
from .tables import FirstLegal, first_legal, play_table

FLAT = "SkullKingFlat-v0"
PRETRAINED = "pretrained/skullking-ppo"


@pytest.mark.parametrize("kind", ["pretrained", "flat", "recurrent", "native"])
@pytest.mark.slow
def test_the_same_games_as_at_the_table(trained, kind):
    path = PRETRAINED if kind == "pretrained" else str(trained(kind))
    options = {"opponents": path, "deals": "duplicate", "agent_seat": 0}
    engine = make_engine(FLAT, 6, options)
    engine.reset_many(seeds=40)
    rewards = np.zeros(6)
    steps = 0
    while not engine.ended.any():
        rows = engine.get_states()
        assert (rows["actor"] == rows["agent"]).all()
        engine.step_many(first_legal(engine), autoreset=False)
        rewards += engine.reward
        steps += 1
    assert engine.ended.all()
    np.testing.assert_allclose(rewards, engine.ep_return, rtol=1e-5)
    policy = training.load_policy(path)
    table = find_table([policy]).make(6)
    players = [FirstLegal(), *(make_player(policy, table) for _ in range(3))]
    seating = np.tile(np.arange(4), (6, 1))
    # Opponents of an environment draw from the seed of the episode and their place.
    wanted = play_table(table, players, seating, np.arange(40, 46), first=40)
    assert (engine.get_states()["total"][:, :4] == wanted).all(), "seeds 40 to 45"


def test_bots_and_agents_side_by_side():
    options = {"opponents": [PRETRAINED, "random", PRETRAINED], "agent_seat": "rotate"}
    engine = make_engine(FLAT, 40, options)
    engine.reset_many(seeds=1)
    totals = []
    for _ in range(65):
        engine.step_many(first_legal(engine), autoreset=False)
    rows = engine.get_states()
    assert engine.ended.all()
    by_place = np.take_along_axis(rows["total"], (rows["agent"][:, None] + np.arange(4)) % 4, 1)
    totals = by_place.mean(0)
    assert min(totals[1], totals[3]) > totals[2] + 100, "seed 1"


@walk("kind", ["pretrained", *late("flat", "hier")])
def test_agents_play_beside_a_learner_of_rounds_alone(trained, kind):
    """A round with a goal, lane by lane, as agents play it at the table of whole games."""
    path = PRETRAINED if kind == "pretrained" else str(trained(kind))
    given = {"agent_seat": "rotate", "goal_mode": "uniform"}
    engine = make_engine("SkullKingWorker-v0", 24, {"opponents": path, **given})
    twin = make_engine("SkullKingWorker-v0", 24, {"opponents": "external", **given})
    policy = training.load_policy(path)
    table = find_table([policy]).make(1)
    player = make_player(policy, table)
    assert isinstance(player, Network)  # it takes all decisions, without a bot for some
    for each in (engine, twin):
        each.reset_many(seeds=7)

    def play_others():
        for lane in np.flatnonzero(~twin.ended):
            while not twin.ended[lane]:
                row = twin.get_states([lane])
                if row["actor"] == row["agent"]:
                    break
                table.set_states(row, trusted=True)
                actions = np.zeros(24, np.int32)
                actions[lane] = player.act(table, np.array([0]))[0]
                twin.step_many(actions, select=np.arange(24) == lane, autoreset=False)

    play_others()
    while not engine.ended.all():
        rows, wanted = engine.get_states(), twin.get_states()
        np.testing.assert_array_equal(rows["actor"], rows["agent"])
        for name in ("bid", "hand", "table_card", "won"):
            np.testing.assert_array_equal(rows[name], wanted[name], name)
        running = ~engine.ended
        actions = first_legal(engine)
        for each in (engine, twin):
            each.step_many(actions, select=running, autoreset=False)
        play_others()
    np.testing.assert_array_equal(engine.get_states()["won"], twin.get_states()["won"])


@pytest.mark.slow
def test_a_worker_is_trained_against_agents_to_the_bit(tmp_path):
    rounds = options(env="SkullKingWorker-v0")
    assert train(tmp_path, "whole", config=rounds | {"total_steps": 384}) == 0
    assert train(tmp_path, "parts", config=rounds | {"total_steps": 256}) == 0
    assert train(tmp_path, "parts", "--resume", "--total-steps", 384) == 0
    whole, parts = (parameters(tmp_path / name) for name in ("whole", "parts"))
    assert all((whole[name] == parts[name]).all() for name in whole)
    assert evaluate([str(tmp_path / "whole"), "--games", "4", "--episodes", "32"]) == 0


def options(**changes):
    env_options = {"opponents": [PRETRAINED, "rule_hard", PRETRAINED]}
    return TINY | {"env": FLAT, "env_options": env_options, "deterministic": True} | changes


@pytest.mark.slow
def test_evaluation_against_agents(trained, tmp_path, capsys):
    assert train(tmp_path, "agent", config=options()) == 0
    flags = ["--games", "8", "--opponents", f"random,{trained('flat')}"]
    assert evaluate([str(tmp_path / "agent"), *flags]) == 0
    record = json.loads((tmp_path / "agent/evaluation.json").read_text())
    assert list(record["matches"]["results"]) == ["random", str(trained("flat"))]


@walk(
    ("changes", "refused"),
    [
        ({"env": "SkullKingManager-v0"}, "cannot be played in this environment"),
        (
            {
                "env": "SkullKingWorker-v0",
                "env_options": {"opponents": PRETRAINED},
                "native": {"hindsight": "value"},
            },
            "'off' with trained opponents",
        ),
        (
            {
                "env": "SkullKingWorker-v0",
                "env_options": {"opponents": f"search:{PRETRAINED},worlds=4"},
            },
            "agents that search play whole games alone",
        ),
        ({"env": "SkullKingWorker-v0", "env_options": {"opponents": "external"}}, "selfplay alone"),
        ({"env_options": {"opponents": [PRETRAINED, "nobody", "random"]}}, "nobody"),
        ({"env_options": {"opponents": [PRETRAINED, "random"]}}, "3 names"),
        ({"evaluation": {"opponents": ["nobody"]}}, "the path of a trained agent, or among"),
    ],
)
def test_what_cannot_sit_there_is_refused(tmp_path, capsys, changes, refused):
    assert train(tmp_path, "x", config=options(**changes)) == 2
    assert refused in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@walk("kind", ["recurrent", "native", "prospector"])
def test_agents_that_a_resume_could_not_restore_are_refused(trained, tmp_path, capsys, kind):
    env_options = {"opponents": str(trained(kind))}
    assert train(tmp_path, "x", config=options(env_options=env_options)) == 2
    error = capsys.readouterr().err
    assert ("no memory" in error) != (kind == "prospector")
    assert kind in error


def test_opponents_begin_with_the_game_and_with_seeds_of_their_own():
    begun = {"a": [], "b": []}

    def noting(name):
        note = lambda engine, lanes, seeds: begun[name].append((lanes, seeds))  # noqa: E731
        return SimpleNamespace(begin=note)

    opponents = Opponents(None, ["a", None, "b"])
    opponents.players = [noting("a"), None, noting("b")]
    lanes = np.array([2, 5])
    opponents.begin(None, lanes, np.array([70, 90]))
    opponents.begin(None, lanes)
    for name, first in (("a", 1), ("b", 3)):
        (one, seeds), (other, none) = begun[name]
        assert one is other is lanes
        assert seeds.tolist() == [70 + first, 90 + first]
        assert none is None
