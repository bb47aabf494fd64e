"""What the report on pages (``python -m tools.pages``) takes for a fault."""

import json
from pathlib import Path

import pytest

from tests.tables import walk
from tools.pages import citations, commands, figures, layout, paths, prose, untested

PAGE = """---
license: mit
---
# A heading with no end

One sentence of `inline code`. `code` begins another
in two lines. Dr. Mario, e.g. Level 5, is one (as here.) "This too."

```
no text at all. None.
```

```{note}
:class: wide
A note is read.
```

```{warning}
So is this.
```

* an item, [a link](page.md#with-anchor)
  that goes on
* another; 3.14 is no end
1. a number

| a table | is not |
| --- | --- |

<!-- mark:begin -->
Generated. Left out.
<!-- mark:end -->
Behind it ![no picture](x.png).
"""


def test_a_page_is_read_as_its_reader_does() -> None:
    assert [prose.shown(each) for each in prose.sentences(PAGE)] == [
        "A heading with no end",
        "One sentence of `...`.",
        "`...` begins another in two lines.",
        "Dr. Mario, e.g. Level 5, is one (as here.)",
        '"This too."',
        "A note is read.",
        "So is this.",
        "an item, a link that goes on",
        "another; 3.14 is no end",
        "a number",
        "Behind it .",
    ]
    (block,) = prose.blocks("Two words \u2013 and `a whole command of code` & [a link](to/a.md).")
    assert len(prose.words(block)) == 6


def test_long_sentences_and_pages_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    readme = prose.PAGES["README.md"]
    pages = {"a.md": "One " * 41, "b.md": "Two words. " * 1501, "c.md": "One " * 40}
    monkeypatch.setattr(prose, "PAGES", {**pages, "README.md": readme})
    sentence, page = prose.check()
    assert sentence.startswith("a.md: a sentence of 41 words: One One")
    assert page == "b.md: a page of 3002 words"


COMMANDS = """
`python -m fastenv verify` compares.

```
X="python -m training benchmark --only"
$X bars --short           # a comment
OMP_NUM_THREADS=1 python -m training train --env ID \\
    --seed SEED > log.txt
for s in 1 2; do
  python -m training train --seed $s; python -m fastenv envs
done
```
"""


def test_commands_of_a_page_are_found() -> None:
    found = list(commands.commands(COMMANDS))
    assert [complete for _, complete in found] == [True, True, True, False]
    called = [call for command, _ in found for call in commands.calls(command)]
    assert called == [
        ("training", ["benchmark", "--only", "bars", "--short"]),
        ("training", ["train", "--env", "ID", "--seed", "SEED"]),
        ("training", ["train", "--seed", "1"]),
        ("fastenv", ["envs"]),
        ("fastenv", ["verify"]),
    ]
    assert [commands.faults(*each) for each in found] == [[], [], [], []]


@walk(
    ("command", "said"),
    [
        ("python -m training trian", "invalid choice: 'trian'"),
        ("python -m training train --sead 3", "unrecognized arguments: --sead"),
        ("python -m training train --seed three", "argument --seed"),
        ("python -m tools.train_seeds training/configs/none.yaml --out x", "no such file"),
        ("python -m training train --set ppo.n_stepz=3", "ppo.n_stepz"),
        ("python -m training train --preset none", "preset='none': there are flat"),
        (
            "python -m training compare --seeds 1,2 --variant a --variant b --with native.nets=3",
            "native.nets",
        ),
        ("python -m training compare milestones --gmaes 3", "--gmaes"),
        ("python -m fastenv verify", "required: --env"),
        ("python -m tools.none", "no such module"),
        ("python -m tools.structs pig --no", "unrecognized arguments: --no"),
        ("python -m tools.option_tables page", "takes no words"),
    ],
)
def test_a_command_that_cannot_be_typed_is_a_fault(command: str, said: str) -> None:
    (found,) = commands.faults(command)
    assert said in found


def test_a_command_in_backticks_may_be_named_alone() -> None:
    assert commands.faults("python -m fastenv verify", complete=False) == []
    (found,) = commands.faults("python -m fastenv verify --no", complete=False)
    assert "unrecognized" in found


def test_targets_that_make_lacks_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "PAGES", {"a.md": "`make test` and `make coffee`"})
    assert [*commands.check()] == ["a.md: make has no target coffee"]


@walk(
    ("text", "own", "wrong"),
    [
        ("Fly along an edge (docs/prospector.md, 9.1).", None, []),
        ("See docs/skullking.md, 2, 9.2 and 10.1.", None, []),
        ("The tiers (docs/skullking.md, 10.3 to 10.6)", None, []),
        ("What docs/howto/training.md says of it.", None, []),
        ("docs/chess.md, 1", None, ["docs/chess.md"]),
        ("docs/skullking.md, 4.7", None, ["docs/skullking.md, 4.7"]),
        ("docs/skullking.md, 4.1 and 99", None, ["docs/skullking.md, 99"]),
        ("the values of section 4", None, ["section 4"]),
        ("docs/skullking.md, section 4", None, ["section 4"]),
        ("the cap of spec 3.2", None, ["spec 3.2"]),
        ("Fly along an edge (9.1).", None, ["(9.1)"]),
        ("# -- 5 scoring ---", None, ["# -- 5"]),
        ("numbers of the game specification", None, ["game specification"]),
        ("see \u00a77", None, ["\u00a7"]),
        ("the values of section 4", "prospector", []),
        ("the values of section 99", "prospector", ["section 99"]),
    ],
)
def test_citations_of_what_is_not_there_are_faults(
    text: str, own: str | None, wrong: list[str]
) -> None:
    assert citations.faults(text, own) == wrong


def test_a_citation_may_stand_in_two_lines(tmp_path: Path) -> None:
    path = tmp_path / "rules.py"
    path.write_text("# The cap (docs/skullking.md,\n# 99) is applied.\n", encoding="utf-8")
    assert citations.faults(citations.prose(path)) == ["docs/skullking.md, 99"]
    assert {file.suffix for file in citations.FILES} >= {".py", ".pyx", ".pxd", ".h", ".md"}


def test_paths_that_are_none_are_faults() -> None:
    for shown in ("training/run/options/hindsight.py", "docs/examples/none.py", "no_such.py"):
        assert list(paths.paths_of(f"see `{shown}`")) == [shown]
        assert not paths.is_there(shown)
    for shown in ("fastenv/game.py", "test_pages.py", "fastenv/*/reference.py"):
        assert paths.is_there(shown)


def test_a_tree_is_read_as_it_looks() -> None:
    lines = ("a/      what", "  b.py, c.py    words, and more", "  d/, e/   two:", "    f.py")
    text = "\n".join((*lines, "          more of it"))
    names = ["a", "a/b.py", "a/c.py", "a/d", "a/e", "a/d/f.py", "a/e/f.py"]
    assert layout.tree_of(text) == names


def test_a_record_of_a_check_of_a_device_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "gpu.json"
    record = {"kind": "gpu check", "tests_passed": True, "dirty": False}
    for change, noticed in ({}, True), ({"tests_passed": None}, False), ({"dirty": True}, False):
        path.write_text(json.dumps(record | change))
        assert untested.is_record(path) is noticed


def test_figures_outside_of_tables_are_faults() -> None:
    text = "<!-- x:begin -->1 % [2, 3]<!-- x:end -->`4 %` 5 %, 95 % [-6.5, 7], 1.1 to 2.2 times, 8x"
    assert figures.measured(text) == ["5 %", "[-6.5, 7]", "1.1 to 2.2 times", "8x"]
