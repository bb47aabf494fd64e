"""Pages are short, their sentences too, and their commands can be typed (docs/style.md).

This is the part of the style that a machine can check. Paths in backticks are checked by
tests/test_paths_of_pages.py, links by tests/test_docs.py.
"""

import re
from pathlib import Path

import pytest

from tests import page_commands, prose

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "pretrained/*/README.md")
    for path in ROOT.glob(pattern)
    if not re.search(r"/(?:[._]|generated/)", path.relative_to(ROOT).as_posix())
)
NAMES = [path.relative_to(ROOT).as_posix() for path in PAGES]
RULE_BOOKS = {f"docs/{game}.md" for game in ("drmario", "gameboy", "lantern_walk", "prospector")}
LONG = RULE_BOOKS | {"docs/skullking.md", "docs/reference/options.md"}
MOST_OF_A_SENTENCE, MOST_OF_A_PAGE = 40, 3000
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@pytest.fixture(params=NAMES)
def text(request: pytest.FixtureRequest) -> str:
    """Return the text of each page."""
    return (ROOT / request.param).read_text(encoding="utf-8")


def test_no_sentence_is_long(text: str) -> None:
    counts = {prose.shown(s): len(prose.words(s)) for s in prose.sentences(text)}
    assert {s: n for s, n in counts.items() if n > MOST_OF_A_SENTENCE} == {}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LONG])
def test_no_page_is_long(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert sum(len(prose.words(block)) for block in prose.blocks(text)) <= MOST_OF_A_PAGE


def test_commands_can_be_typed(text: str) -> None:
    checked = {
        command: page_commands.faults(command, complete)
        for command, complete in page_commands.commands(text)
    }
    assert {command: found for command, found in checked.items() if found} == {}


def test_targets_of_make_exist(text: str) -> None:
    code = [*page_commands.blocks(text), *re.findall(r"`(make [\w -]+)`", text)]
    lines = [line.partition("#")[0] for block in code for line in block.splitlines()]
    named = [re.match(r"\s*(?:\$ )?make((?: [\w-]+)+)\s*$", line) for line in lines]
    targets = {word for found in named if found for word in found[1].split()}
    assert {word for word in targets if not word.startswith("-")} - TARGETS == set()


def test_pages_that_may_be_long_exist() -> None:
    assert set(NAMES) >= LONG


# -- how a page is read ----------------------------------------------------------------------------

PAGE = """---
license: mit
---
# A heading with no end

One sentence of `inline code`. `code` begins another
in two lines. Dr. Mario, e.g. Level 5, is one (as here.) "This too."

```
no text at all. None.
```

:::{note}
:class: wide
A note is read.
:::

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


def test_words_are_what_is_read() -> None:
    text = "Two words \u2013 and `a whole command of code` & [a link](to/a/page.md)."
    (block,) = prose.blocks(text)
    assert len(prose.words(block)) == 6


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
    found = list(page_commands.commands(COMMANDS))
    assert [complete for _, complete in found] == [True, True, True, False]
    called = [call for command, _ in found for call in page_commands.calls(command)]
    assert called == [
        ("training", ["benchmark", "--only", "bars", "--short"]),
        ("training", ["train", "--env", "ID", "--seed", "SEED"]),
        ("training", ["train", "--seed", "1"]),
        ("fastenv", ["envs"]),
        ("fastenv", ["verify"]),
    ]
    assert [page_commands.faults(*each) for each in found] == [[], [], [], []]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("python -m training trian", "invalid choice: 'trian'"),
        ("python -m training train --sead 3", "unrecognized arguments: --sead"),
        ("python -m training train --seed three", "argument --seed"),
        ("python -m tools.train_seeds training/configs/none.yaml --out x", "no such file"),
        ("python -m training train --set ppo.n_stepz=3", "ppo.n_stepz"),
        ("python -m training train --preset none", "invalid choice: 'none'"),
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
def test_a_command_that_cannot_be_typed_is_found(command: str, said: str) -> None:
    (found,) = page_commands.faults(command)
    assert said in found


def test_a_command_in_backticks_may_be_named_alone() -> None:
    assert page_commands.faults("python -m fastenv verify", complete=False) == []
    (found,) = page_commands.faults("python -m fastenv verify --no", complete=False)
    assert "unrecognized" in found
