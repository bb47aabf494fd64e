"""The pages about new games followed to the letter, and the command that writes a new game."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fastenv.__main__ import main
from fastenv.errors import ConfigError
from fastenv.scaffold import files_of_a_game, new_game
from tests.needs import needs_compiler

ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
PAGES = {
    game: (TUTORIALS / page).read_text(encoding="utf-8")
    for game, page in {"pig": "new_game.md", "liars_dice": "new_game_players.md"}.items()
}
# What a page tells to do, in its order: a file with its text, or commands.
STEP = re.compile(r"^(?:#### `(.+?)`\n\n```\w+|```sh)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
PLAYERS = [(1, False), (2, False), (2, True)]
FIRST = [PLAYERS[0], *(pytest.param(*each, marks=pytest.mark.slow) for each in PLAYERS[1:])]


def copy_of_the_checkout(folder: Path) -> Path:
    """Copy what a checkout has after `make build`; nothing that is built is older than before."""
    for name in ("fastenv", "tests", "tools", "training", "docs/examples", "build/cython"):
        golden = ("data",) if name == "tests" else ()  # large, and no test of a new game reads it
        ignored = shutil.ignore_patterns("__pycache__", "runs", *golden)
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, folder)
    return folder


def run(folder: Path, *words: str) -> str:
    """Run a command in a folder and return what it printed."""
    ours = ("PYTEST", "PYTHONPATH", "FASTENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        words, cwd=folder, env=kept, capture_output=True, text=True, check=False, timeout=1500
    )
    assert done.returncode == 0, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def test_the_pages_have_every_file_and_stay_short() -> None:
    for game, page in PAGES.items():
        listings = {name: code for name, code in STEP.findall(page) if name}
        parts = ("state.py", "reference.py", "__init__.py", "kernels.py", "_core.pyx")
        code = {part: listings[f"fastenv/{game}/{part}"] for part in parts}
        rules = code.pop("reference.py")
        assert rules
        assert sum(len(text.splitlines()) for text in code.values()) < 245
        ours = [text for name, text in listings.items() if f"/{game}/" in name]
        assert sum(len(text.splitlines()) for text in ours) <= 360


@pytest.mark.parametrize(("players", "hidden"), FIRST)
def test_a_new_game_plays_at_once(players: int, hidden: bool, tmp_path: Path) -> None:
    root = copy_of_the_checkout(tmp_path)
    written = new_game("coin_toss", root, players, hidden)
    assert [path.relative_to(root).as_posix() for path in written] == [
        *(f"fastenv/coin_toss/{name}.py" for name in ("__init__", "state", "reference", "kernels")),
        *("fastenv/coin_toss/_core.pyx", "fastenv/coin_toss/_core.pyi"),
        *("tests/coin_toss/test_coin_toss_parity.py", "fastenv/games.py"),
    ]
    script = """
import fastenv, numpy as np
for backend in ("reference", "numba"):
    vec = fastenv.make_vec("CoinToss-v0", 3, backend=backend)
    vec.reset(seed=0)
    rewards = [vec.step(np.zeros(3, np.int64))[1].sum() for _ in range(33)]
    rows = vec.get_states()
    vec.set_states(rows)
    print(backend, sum(map(abs, rewards)), rows["tosses"].tolist())
try:
    fastenv.make("CoinToss-v0", sides=3)
except fastenv.ConfigError as error:
    print(error)
rows["tosses"][1] = 11
try:
    vec.set_states(rows)
except fastenv.StateError as error:
    print(error)
"""
    lines = run(root, sys.executable, "-c", script).splitlines()
    (one, total, *rows), (other, *same) = lines[0].split(), lines[1].split()
    assert (one, other) == ("reference", "numba")
    assert [total, *rows] == same
    assert 0 < float(total) < 99  # three lanes, at most 33 tosses each
    assert lines[2].endswith("'sides' is not an option of 'CoinToss-v0'; options: none.")
    assert lines[3] == "lane 1: tosses=11 must be 0..10"


@pytest.mark.parametrize("backend", ["reference", "numba"])
def test_a_hidden_coin_is_seen_by_its_agent_alone(backend: str, tmp_path: Path) -> None:
    root = copy_of_the_checkout(tmp_path)
    new_game("coin_toss", root, players=2, hidden=True)
    script = f"""
import fastenv, numpy as np
engine = fastenv.make_engine("CoinToss-v0", 4, backend="{backend}")
engine.reset_many(seeds=0)
rows = engine.get_states()
rows["coins"] = [[0, 0], [0, 1], [1, 0], [1, 1]]
engine.set_states(rows)
print(engine.obs[..., 1].tolist())
"""
    shown = "[[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]"
    assert run(root, sys.executable, "-c", script).strip() == shown


def files(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The least that counts as a checkout."""
    for folder in ("fastenv/pig", "tests/dice"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "fastenv" / "games.py", tmp_path / "fastenv")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "name '': must be lower-case words"),
        ("Chess", "name 'Chess': must be lower-case words"),
        ("../chess", "name '../chess': must be"),
        ("chess-960", "name 'chess-960': must be"),
        ("class", "name 'class': must be"),
        ("games", "name 'games': fastenv/games.py is there already"),
        ("pig", "name 'pig': fastenv/pig is there already"),
        ("dice", "name 'dice': tests/dice is there already"),
    ],
)
def test_bad_names_write_nothing(checkout: Path, name: str, said: str) -> None:
    before = files(checkout)
    with pytest.raises(ConfigError, match=re.escape(said)):
        new_game(name, checkout)
    assert files(checkout) == before


@pytest.mark.parametrize(
    ("players", "hidden", "said"),
    [
        (0, False, "players 0: must be 1 or 2"),
        (3, True, "players 3: must be 1 or 2"),
        (1, True, "hidden True: must be left out of a game for 1 player"),
    ],
)
def test_other_players_write_nothing(
    checkout: Path, players: int, hidden: bool, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(checkout)
    words = ["new-game", "chess", "--root", str(checkout), "--players", str(players)]
    assert main([*words, *(["--hidden"] if hidden else [])]) == 2
    assert capsys.readouterr().err == f"error: {said}\n"
    assert files(checkout) == before


def test_the_command_takes_players(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["new-game", "chess", "--root", str(checkout), "--players", "2"]
    assert main(words) == 0
    assert "next: python -m tools.structs chess" in capsys.readouterr().out
    assert "num_agents=2" in (checkout / "fastenv/chess/__init__.py").read_text(encoding="utf-8")


def test_what_ranks_players_is_asked_for(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["new-game", "--root", str(checkout), "--players", "2"]
    assert main([*given, "tide"]) == 0
    assert 'Say judged_by="points" there' in capsys.readouterr().out
    assert main([*given, "poker", "--judged-by", "points"]) == 0
    assert "judged_by" not in capsys.readouterr().out
    for name, judged_by in {"tide": "win", "poker": "points"}.items():
        text = (checkout / "fastenv" / name / "__init__.py").read_text(encoding="utf-8")
        assert f'judged_by="{judged_by}",' in text
    assert main(["new-game", "--root", str(checkout), "solo", "--judged-by", "win"]) == 2
    assert "judged_by win: must be left out of a game for 1 player" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["ape", "zed"])
@pytest.mark.parametrize(("players", "hidden"), PLAYERS)
def test_imports_are_in_order_whatever_the_name(
    checkout: Path, name: str, players: int, hidden: bool
) -> None:
    for path in new_game(name, checkout, players, hidden):
        text = path.read_text(encoding="utf-8")
        imported = re.findall(r"^from fastenv\.(\S+) import", text, flags=re.MULTILINE)
        assert imported == sorted(imported), path


def test_a_game_that_hides_draws_each_seat_its_own() -> None:
    hidden, open_ = (files_of_a_game(2, each)["__init__.py"] for each in (True, False))
    assert "coins'][seat]" in hidden
    assert "render_seat" not in open_


def test_a_new_game_needs_a_checkout(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must be a checkout of fastenv"):
        new_game("chess", tmp_path)
    assert files(tmp_path) == {}


def test_a_second_game_is_entered_below_the_first(checkout: Path) -> None:
    new_game("go", checkout)
    new_game("liars_dice", checkout)
    text = (checkout / "fastenv" / "games.py").read_text(encoding="utf-8")
    first, second = (
        f'register_game({load}, {{"{env_id}": {{}}}})'
        for load, env_id in (("_go", "Go-v0"), ("_liars_dice", "LiarsDice-v0"))
    )
    assert text.index("from fastenv import go") < text.index(first) < text.index(second)
    compile(text, "games.py", "exec")


@needs_compiler
@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_games_of_the_scaffold_pass_their_tests(tmp_path: Path) -> None:
    root = copy_of_the_checkout(tmp_path)
    names = ("alone", "in_turn", "unseen")
    for name, (players, hidden) in zip(names, PLAYERS, strict=True):
        new_game(name, root, players, hidden)
    python = sys.executable
    run(root, python, "-m", "tools.structs", *names)
    run(root, python, "setup.py", "-q", "build_ext", "--inplace")
    assert "15 passed" in run(root, python, "-m", "pytest", "-q", *(f"tests/{n}" for n in names))
    for env_id in ("Alone-v0", "InTurn-v0", "Unseen-v0"):
        printed = run(root, python, "-m", "fastenv", "verify", "--env", env_id, "--seconds", "1")
        assert "comparing reference, numba, cython, fast" in printed
        assert "every bit" in printed


@needs_compiler
@pytest.mark.slow
@pytest.mark.timeout(3000)  # it builds, tests and trains: minutes, and many more beside other work
@pytest.mark.parametrize("game", PAGES)
def test_the_page_followed_to_the_letter(game: str, tmp_path: Path) -> None:
    """Every listing and every command, from the scaffold to an agent that is evaluated."""
    pytest.importorskip("sb3_contrib")
    root, printed = copy_of_the_checkout(tmp_path), {}
    steps = STEP.findall(PAGES[game])
    assert steps[0][1].startswith(f"python -m fastenv new-game {game}")
    for name, text in steps:
        if name:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
            continue
        for line in text.splitlines():
            python, *words = shlex.split(line)
            assert python == "python"
            command = " ".join(words[1:3]) if words[1] == "training" else words[1]
            printed[command] = printed.get(command, "") + run(root, sys.executable, *words)
    assert " passed" in printed["pytest"]
    assert "every bit" in printed["fastenv"]
    assert "trained" in printed["training evaluate"]
    met = ["random_legal"] if game == "pig" else ["honest", "liar-self", "6 groups"]
    assert all(who in printed["training evaluate"] for who in met)
    assert (root / "liar.gif").exists() == (game == "liars_dice")
