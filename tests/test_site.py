"""The site: its links, its pages of the command line, its gallery and its list of public names."""

import argparse
import json
import re
from pathlib import Path, PurePosixPath

import pytest

import fastenv
from fastenv.registry import short_id
from tests.tables import walk
from tools.site import commands, outside
from tools.site.pages import CODE, CUT, ROOT, Site, sections, with_one_title
from training.run.registry import COMMANDS, PROGRAMS, main_commands, parts_of

SITE = Site()
PAGE = PurePosixPath("docs", "howto", "page.md")


@walk(
    ("written", "read"),
    [
        ("[a](../design.md#b)", "[a](../design.md#b)"),  # there is none: the build says so
        ("[a](../explanation/design.md#b)", "[a](../explanation/design.md#b)"),
        ("[a](../../RUNS.md#speed)", "[a](../RUNS.md#speed)"),
        ("[`a`](../../README.md)", "[`a`](../README.md)"),
        ("![a](../games.png)", "![a](../games.png)"),
        ("[![a](../games.png)](../../RUNS.md)", "[![a](../games.png)](../RUNS.md)"),
        ("[agents](../../pretrained/skullking)", "[agents](../pretrained/skullking/README.md)"),
        ("[a](https://x.org/y#z) [b](#c)", "[a](https://x.org/y#z) [b](#c)"),
        ("[the test](../../tests/test_site.py)", "the test (`tests/test_site.py`)"),
        ("[`tests/test_site.py`](../../tests/test_site.py)", "`tests/test_site.py`"),
        ("`[a](../../RUNS.md)`", "`[a](../../RUNS.md)`"),
        ("```\n[a](../../RUNS.md)\n```\n", "```\n[a](../../RUNS.md)\n```\n"),
        ('<img src="../games.png">', '<img src="../games.png">'),
    ],
)
def test_links_hold_on_the_site(written: str, read: str) -> None:
    assert SITE.linked(written, PAGE) == read


@pytest.mark.parametrize(
    ("page", "written", "read"),
    [
        ("docs/howto/sb3.md", "../gameboy.md#84-writes-within-a-line", "../{8-display}"),
        ("docs/howto/sb3.md", "../gameboy.md", "../gameboy.md"),
        ("docs/gameboy.md", "#84-writes-within-a-line", "{8-display}"),
        ("docs/gameboy.md", "#none", "#none"),
        ("docs/lantern_walk.md", "gameboy.md#none", "gameboy.md#none"),  # the build says so
    ],
)
def test_links_find_the_section_of_a_page_that_is_cut(page: str, written: str, read: str) -> None:
    read = read.format(**{"8-display": "gameboy-8-display.md#84-writes-within-a-line"})
    assert SITE.linked(f"[a]({written})", PurePosixPath(page)) == f"[a]({read})"


@pytest.mark.parametrize("page", CUT, ids=str)
def test_a_page_that_is_cut_keeps_all_its_text(page: PurePosixPath) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    parts = SITE.cut(text, page)
    first = parts.pop(page.relative_to("docs") if page.parts[0] == "docs" else page)
    assert len(parts) == len(re.findall(r"^## ", CODE.sub("", text), re.MULTILINE)) >= 5
    assert all(part.startswith("# ") for part in parts.values())
    assert re.findall(r"^[\w.-]+$", first.partition("{toctree}")[2], re.MULTILINE) == [
        part.stem for part in parts
    ]
    whole = first.partition("```{toctree}")[0] + "".join(parts.values())
    assert re.sub("^#+", "#", whole, flags=re.M) == re.sub("^#+", "#", text, flags=re.M)


def test_code_of_a_page_that_is_cut_is_no_heading() -> None:
    text = "# A\n\n## B `c`\n\n```\n## code\n```\n\n### C\n"
    read = "# B `c`\n\n```\n## code\n```\n\n## C\n"
    assert sections(text) == ("# A\n\n", {"b-c": read})


def test_links_of_the_readme_hold_on_the_site() -> None:
    readme = PurePosixPath("README.md")
    written = '[a](docs/gallery.md) [b](RUNS.md) <img alt="" src="docs/games.png">'
    read = '[a](gallery.md) [b](RUNS.md) <img alt="" src="games.png">'
    assert SITE.linked(written, readme) == read


def test_links_to_files_lead_to_the_repository_where_it_has_a_url() -> None:
    site = Site("https://host/project/blob/main/")
    read = "[a](https://host/project/blob/main/tests/test_site.py#L3)"
    assert site.linked("[a](../../tests/test_site.py#L3)", PAGE) == read


def test_lists_of_contents_find_pages_that_they_do_not_name() -> None:
    site = Site()
    here = ("a", "b", "bc", "index", "z")
    site.pages = {PurePosixPath(f"docs/x/{name}.md") for name in here}
    text = "```{toctree}\n:glob:\n\nz\nb*\nno*\n(others)\n```\n"
    written = site.with_contents(text, PurePosixPath("docs", "x", "index.md"))
    assert written == "```{toctree}\n:glob:\n\nz\nb*\na\n```\n"


def test_a_page_has_one_title_on_the_site() -> None:
    text = "# A\n\n## B\n\n```\n# code\n```\n"
    assert with_one_title(text) == text
    read = "# A\n\n```\n# code\n```\n\n## B\n\n### `C`\n"
    assert with_one_title("# A\n\n```\n# code\n```\n\n# B\n\n## `C`\n") == read


def test_every_command_and_option_has_its_place() -> None:
    pages = commands.pages()
    assert {f"fastenv-{name}" for name in fastenv.__main__.COMMANDS} < set(pages)
    for command in (*main_commands(COMMANDS), *main_commands(PROGRAMS)):
        page = pages[f"training-{command}"]
        for words in (command, *(f"{command} {part}" for part in parts_of(command))):
            assert f".. program:: python -m training {words}\n" in page
    assert "   * - .. option:: --total-steps N\n\n     -" in pages["training-train"]
    assert ".. option:: --env ENV\n" in pages["fastenv-bench"]
    assert [name for name, page in pages.items() if str(ROOT) in page or "  \n" in page] == []


def test_options_stand_in_tables_with_default_and_meaning() -> None:
    parser = argparse.ArgumentParser(prog="python -m x", description="Do it.")
    parser.add_argument("file", help="to read")
    parser.add_argument("--count", type=int, default=3, metavar="N", help="how many")
    parser.add_argument("--secret", help=argparse.SUPPRESS)
    text = "".join(commands.section(parser, 0))
    rows = re.findall(r"^   \* - \.\. option:: (.*)\n\n     -(.*)\n     -(.*)$", text, re.MULTILINE)
    assert rows == [("file", "", " To read."), ("--count N", " 3", " How many.")]


def test_the_page_of_the_command_line_lists_every_command() -> None:
    text = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    linked = re.findall(
        r"^\| \[`[\w-]+`\]\(cli/([\w-]+)\.rst\) \| \S", commands.contents(text), re.M
    )
    assert sorted(linked) == sorted(commands.pages())


def test_every_id_is_in_the_gallery_with_its_picture() -> None:
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    names = [short_id(env_id) for env_id in fastenv.list_envs()]
    assert sorted(re.findall(r"^### (\S+)$", page, re.MULTILINE)) == sorted(names)
    assert sorted(re.findall(r"\]\(gallery/(\S+)\.png\)", page)) == sorted(names)
    pictures = [path.stem for path in (ROOT / "docs" / "gallery").iterdir()]
    assert sorted(pictures) == sorted(names), "python -m tools.pictures gallery"


def test_every_public_name_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "api" / "fastenv.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^ +([\w.]+)$|^\.\. py:data:: (\w+)$", page, re.MULTILINE)
    names = {"".join(pair) for pair in listed}
    assert set(fastenv.__all__) <= names


def test_what_comes_from_elsewhere_is_found(tmp_path: Path) -> None:
    links = '<a href="https://x.org"><link rel="canonical" href="https://x.org"><img src="a.png">'
    loads = '<script defer src="https://x.org/a.js"></script><link href="//x.org/b.css" rel="a">'
    (tmp_path / "a.html").write_text(links + loads)
    (tmp_path / "a.css").write_text("a { background: url(data:x) } b { src: url('//x.org/c') }")
    found = [line.rpartition("loads ")[2] for line in outside.loaded_from_elsewhere(tmp_path)]
    assert found == ["//x.org/c", "https://x.org/a.js", "//x.org/b.css"]


def test_the_history_draws_what_was_recorded_twice(tmp_path: Path) -> None:
    from tools.site import history  # with Matplotlib, which no other test imports

    rows = [
        {"created": f"2026-01-0{day}T00:00:00Z", "cpu_model": "X", "noisy": day == 2, "ran": ran}
        for day in (1, 2)
        for ran in ({"timed": "step_many", "backend": "fast", "env": "A-v0", "num_envs": 4},)
    ]
    rows.append({**rows[0], "ran": {**rows[0]["ran"], "num_envs": 8}})  # only once
    rows.append({**rows[0], "ran": {**rows[0]["ran"], "backend": "numba"}})
    file = tmp_path / "history.jsonl"
    file.write_text("\n".join(json.dumps({**row, "steps_per_cpu_s": 1e6}) for row in rows))
    (series,) = history.by_environment(file).values()
    assert [len(found) for found in series.values()] == [2]
    history.draw(series, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")


def test_the_page_of_the_history_shows_every_picture(tmp_path: Path) -> None:
    from tools.site import history

    history.write(tmp_path)
    shown = re.findall(r"\((history-[\w-]+\.svg)\)", (tmp_path / "history.md").read_text())
    assert sorted(shown) == sorted(path.name for path in tmp_path.glob("*.svg"))
    assert len(shown) >= 5
