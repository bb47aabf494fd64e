"""The 8-puzzle of docs/examples/: plain and ported, and what docs/howto/own_environment.md says."""

import contextlib
import io
import json
import re
import shlex
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import fastenv
from docs.examples.eight_puzzle import DOWN, GOAL, LEFT, RIGHT, UP, EightPuzzle
from fastenv.__main__ import main as fastenv_main
from fastenv.errors import ConfigError
from fastenv.examples import FOLDER
from fastenv.testing import compare
from fastenv.testing.factories import source_of
from fastenv.testing.hunt import Hunt
from fastenv.testing.jobs import Job
from fastenv.testing.search import Search
from fastenv.verify import Case, available
from tests.tables import walk

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "howto" / "own_environment.md").read_text("utf-8")
SECTION = PAGE.partition("## One game, all three ways\n")[2]
PLAIN, PORT = "docs.examples.eight_puzzle:EightPuzzle", "EightPuzzle-v0"
TINY = [
    *("num_envs=4", "total_steps=256", "ppo.n_steps=16", "ppo.batch_size=32", "ppo.n_epochs=1"),
    *("ppo.net_arch=[16]", "evaluation.during=off", "evaluation.episodes=8"),
    "evaluation.bootstrap=50",
]
TRAINED = [word for option in TINY for word in ("--set", option)]
SHORT = {"train": TRAINED, "compare": TRAINED, "evaluate": ["--episodes", "8"], "watch": ["--text"]}
SEATED = ["--games", "8"]  # of an evaluation against another player


def make_port(backend="auto", **options):
    return fastenv.make(PORT, backend=backend, **options)


def make_late():
    """Return the port with an episode of a move too many."""
    text = (FOLDER / "eight_puzzle_game.py").read_text("utf-8")
    right, late = "self.moves >= self.limit", {"__name__": "late"}
    assert text.count(right) == 1
    exec(text.replace(right, "self.moves > self.limit"), late)
    return fastenv.FastEnv(late["make_game"](), backend="reference")


# -- the rules -------------------------------------------------------------------------------------


def put(env, board, moves=0):
    """Bring an environment to a board."""
    env.reset(seed=0)
    if isinstance(env, EightPuzzle):
        env.board, env.blank, env.moves = [*board], board.index(0), moves
        return
    row = env.get_state()
    row["board"], row["blank"], row["moves"] = board, board.index(0), moves
    env.set_state(row)


@walk("make", [EightPuzzle, make_port, partial(make_port, "reference")])
@walk(
    ("board", "moves", "action", "after", "ends"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 0, 8], 0, RIGHT, GOAL, (1.0, True, False)),
        ([1, 2, 3, 4, 5, 0, 7, 8, 6], 0, DOWN, GOAL, (1.0, True, False)),
        ([1, 2, 3, 4, 5, 0, 7, 8, 6], 29, DOWN, GOAL, (1.0, True, False)),
        ([0, 1, 3, 4, 2, 5, 7, 8, 6], 0, UP, [0, 1, 3, 4, 2, 5, 7, 8, 6], (0.0, False, False)),
        ([1, 2, 3, 0, 4, 5, 7, 8, 6], 28, LEFT, [1, 2, 3, 0, 4, 5, 7, 8, 6], (0.0, False, False)),
        ([1, 2, 3, 4, 0, 5, 7, 8, 6], 28, LEFT, [1, 2, 3, 0, 4, 5, 7, 8, 6], (0.0, False, False)),
        ([1, 2, 3, 4, 0, 5, 7, 8, 6], 29, UP, [1, 0, 3, 4, 2, 5, 7, 8, 6], (0.0, False, True)),
    ],
)
def test_a_move_does_what_the_rules_say(make, board, moves, action, after, ends):
    env = make()
    put(env, board, moves)
    obs, *paid, _ = env.step(action)
    assert tuple(paid) == ends
    assert obs.reshape(9, 9).argmax(axis=1).tolist() == after
    assert obs.sum() == 9


@walk("make", [EightPuzzle, make_port, partial(make_port, "reference")])
def test_the_mask_says_which_moves_stay_on_the_board(make):
    env = make()
    for at, legal in enumerate(("dr", "dlr", "dl", "udr", "udlr", "udl", "ur", "ulr", "ul")):
        put(env, [*range(1, at + 1), 0, *range(at + 1, 9)])
        assert "".join(np.array([*"udlr"])[env.action_masks()]) == legal


def test_an_episode_never_begins_at_the_goal_and_can_be_solved():
    env = EightPuzzle(shuffle=2)
    boards = set()
    for seed in range(40):
        env.reset(seed=seed)
        tiles = [tile for tile in env.board if tile]
        swaps = sum(a > b for k, a in enumerate(tiles) for b in tiles[k + 1 :])
        assert swaps % 2 == 0
        boards.add(tuple(env.board))
    assert tuple(GOAL) not in boards
    assert len(boards) == 4  # all that lie two moves away


def test_options_that_are_not_possible_are_refused():
    for name in ("shuffle", "limit"):
        with pytest.raises(ConfigError, match=f"{name}=0 is not possible: .* from 1 to 1000"):
            fastenv.make(PORT, **{name: 0})


# -- the same bits ---------------------------------------------------------------------------------


@pytest.mark.parity
@walk("options", [{}, {"shuffle": 3, "limit": 5}])
def test_reference_and_kernels_give_the_same_bits(options):
    game = fastenv.make_game(PORT, **options)
    engines = {name: (name, 1) for name, why in available(game).items() if why is None}
    assert {"reference", "numba"} <= engines.keys()
    case, ended = Case(game, 3, 7, engines, options), 0
    for _ in range(80):
        difference = case.advance(searches=0.1)
        assert difference is None, difference
        ended += int((case.standard.terminated | case.standard.truncated).sum())
    assert ended > 5


@pytest.mark.parity
@walk("backend", ["reference", "auto"])
@walk("options", [{}, {"shuffle": 3, "limit": 5}])
def test_the_port_is_the_plain_environment_bit_for_bit(backend, options):
    fast = source_of("fast", partial(make_port, backend)).with_options(options)
    plain = source_of("reference", PLAIN).with_options(options)
    report = Hunt(Job(fast, plain), Search(300, cases=12)).run()
    assert not report.faults, str(report)
    assert report.steps > 60


@pytest.mark.parity
def test_all_lanes_of_a_vector_are_the_plain_environment():
    many = source_of("fast", partial(fastenv.make_vec, PORT, num_envs=2, limit=6))
    plain = source_of("reference", PLAIN).with_options({"limit": 6})
    report = Hunt(Job(many, plain), Search(300, cases=4)).run()
    assert not report.faults, str(report)
    assert report.steps > 20


@walk("env", [PLAIN, PORT])
def test_nothing_is_found_in_either_alone(env):
    report = Hunt(Job(source_of("env", env)), Search(300, cases=3)).run()
    assert not report.faults, str(report)


def test_a_port_that_ends_one_move_late_is_found_as_the_page_shows():
    (finding,) = compare(make_late, PLAIN, seconds=2).faults
    (shown,) = re.findall(r"```text\n(.*?)```", SECTION, re.DOTALL)
    own = [line.strip() for line in str(finding).splitlines()]
    wheres = [line.strip() for line in shown.splitlines() if "where" in line or "source" in line]
    assert len(wheres) == 2
    assert set(wheres) <= set(own)
    assert re.search(rf"{PLAIN} *: True", shown)
    assert re.search(rf"{PLAIN} *: True", str(finding))


# -- the page --------------------------------------------------------------------------------------


def commands(text, program):
    """List the commands of a page, in its order, as words behind ``python -m`` and a program."""
    found = re.findall(rf"^python -m {program} ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    return [shlex.split(command.replace("\\\n", " ")) for command in found]


@pytest.mark.parametrize("words", commands(SECTION, "fastenv"), ids=" ".join)
def test_commands_that_verify_find_nothing(words):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert fastenv_main([*words[:-1], "1"]) == 0
    assert re.search("none found in|every bit", said.getvalue())


def run_shortly(words, runs):
    """Run a command of training in few decisions and games."""
    pytest.importorskip("torch")
    from training.__main__ import main

    short = SEATED if words[-2:] == ["--against", "random"] else SHORT[words[0]]
    assert main([*words, "--runs", str(runs), *short]) == 0, words


def test_commands_that_train_make_agents_that_are_judged(tmp_path):
    ran = commands(SECTION, "training")
    assert [words[0] for words in ran] == ["train", "evaluate"] * 2
    assert {*ran[0]} - {*ran[2]} == {PLAIN, "plain"}  # else it is the same command
    for words in ran:
        run_shortly(words, tmp_path)
    for name in ("plain", "port"):
        record = json.loads((tmp_path / name / "evaluation.json").read_text())
        assert {"trained", "random_legal"} <= set(record["episodes"]["policies"])


@pytest.mark.slow
def test_all_other_commands_of_the_page_run(tmp_path, monkeypatch):
    pytest.importorskip("pettingzoo")
    package = tmp_path / "my_package"
    package.mkdir()
    (package / "__init__.py").write_text(
        'import gymnasium\n\ngymnasium.register("Ladder-v0", "my_package.games:Ladder")\n'
    )
    (package / "games.py").write_text("from tests.training.foreign.environments import Ladder\n")
    monkeypatch.syspath_prepend(tmp_path)
    ran = commands(PAGE.replace(SECTION, ""), "training")
    assert len(ran) == 9
    for words in ran:
        run_shortly(words, tmp_path / "runs")
