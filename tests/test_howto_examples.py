"""The Python examples of docs/howto/ run as they stand; agents.md has a test of its own."""

import re
from pathlib import Path

import pytest

from tests.processes import run_python

pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")
pytest.importorskip("pettingzoo")

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "howto"
# Page -> how many examples it has.
ADAPTERS = {
    **{"gymnasium": 2, "sb3": 2, "pettingzoo": 2, "torch": 2, "cleanrl": 2},
    **{"migration": 5, "performance": 2, "own_environment": 2},
}
GAMES = {"drmario_reader": 1, "train_gameboy": 1}
# Tested where agents, metrics and RAM maps are, and below.
ELSEWHERE = {"agents": 3, "evaluate": 1, "torchrl": 4, "own_game_ram": 7, "verify_any": 4}


def examples_of(page):
    return re.findall(r"```python\n(.*?)```", (FOLDER / f"{page}.md").read_text("utf-8"), re.DOTALL)


def run(*texts, folder=ROOT):
    """Run texts in one process, each with names of its own; each prints one line."""
    code = "\n".join(f"exec({text!r}, {{'__name__': '__main__'}})" for text in texts)
    done = run_python("-c", code, cwd=folder)
    assert len(done.stdout.splitlines()) == len(texts), done.stdout


def test_examples_of_all_pages_are_known():
    pages = {path.stem for path in FOLDER.glob("*.md")}
    counts = {page: len(examples_of(page)) for page in pages}
    assert {page: n for page, n in counts.items() if n} == ADAPTERS | GAMES | ELSEWHERE


def test_ids_that_the_page_of_sb3_names_have_one_image_or_a_dict():
    import fastenv

    text = (FOLDER / "sb3.md").read_text("utf-8")
    said = re.search(r"Pass `pixel_mode=\"gray\"` to (.*?)\. .*?\. (.*?) have a `Dict`", text)
    images, dicts = (set(re.findall(r"`(\w+-v\d+)`", part)) for part in said.groups())
    ids = {name.rpartition("/")[2] for name in fastenv.list_envs()}
    specs = {
        name: fastenv.make_game(name, pixel_mode="gray").spec
        for name in ids
        if name.startswith(("GameBoy", "Lantern"))
    }
    assert images == {name for name, spec in specs.items() if len(spec.obs_shape) == 3}
    assert dicts == {
        name for name, spec in specs.items() if "pixels" in (spec.obs_dtype.names or ())
    }


@pytest.mark.slow
def test_examples_run():
    run(*(text for page in ADAPTERS for text in examples_of(page)))


@pytest.mark.slow
def test_examples_of_games_run(tmp_path):
    (tmp_path / "pretrained").symlink_to(ROOT / "pretrained")
    run(*(text for page in GAMES for text in examples_of(page)), folder=tmp_path)
    assert (tmp_path / "walk.gif").stat().st_size > 0


@pytest.mark.slow
def test_examples_of_torchrl_run():
    pytest.importorskip("torchrl")
    pytest.importorskip("tensordict")
    run(*examples_of("torchrl"), "import docs.examples.torchrl_env; print(1)")
