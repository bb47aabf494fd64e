"""The sentences and the words of a Markdown page: what a reader reads, without code and tables.

Left out are blocks of code, tables, comments, what stands between the marks of a generated part,
and the head of a model card. Inline code counts as one word, and of a link the text counts.
"""

import re
from collections.abc import Iterator

from tools.pages.files import PAGES

GENERATED = re.compile(
    r"<!-- (?P<mark>[\w().]+)(?P<colon>:| )begin -->.*?<!-- (?P=mark)(?P=colon)end -->", re.DOTALL
)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
FENCE = re.compile(r"^(?P<indent>[ >]*)(?P<fence>`{3,}|~{3,}|:{3,})(?P<info>.*)$")
# Directives of MyST whose content is read as text.
TEXT = re.compile(r"\{(?:admonition|attention|caution|danger|hint|important|note|seealso|tip|w\w+)")
FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
# What begins a block of its own: a heading, an item, a quote, a term's meaning, a footnote.
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)]|>|:|\[\^\w+\]:)\s+(?:\[[ x]\]\s+)?")
HEADING = re.compile(r"^\s*#{1,6}\s")
OPTION = re.compile(r"^\s*:[\w-]+:(?:\s|$)")  # of a directive
RULE = re.compile(r"^\s*(?:[-*_=]\s*){3,}$")
TABLE = re.compile(r"^\s*>?\s*\|")
CODE = "\x00"  # stands for inline code
CLOSING = "\"')\\]*_\u201d\u2019"  # quotes and brackets, which belong to the sentence before
OPENING = "\"'(\\[*_\u201c\u2018"
END = re.compile(
    rf"[.!?][{CLOSING}]*(?=\s+[{OPENING}]*[A-Z0-9{CODE}])|\s\u00b7\s"
)  # or a dot of a list
# Words that a dot does not end a sentence behind.
SHORT = re.compile(r"\b(?:Dr|Mr|Ms|St|No|Fig|vs|al|e\.g|i\.e|cf|approx|[A-Z])\.$")
WORD = re.compile(rf"[\w{CODE}]")
RULE_BOOKS = {f"docs/{game}.md" for game in ("drmario", "gameboy", "lantern_walk", "prospector")}
LONG = RULE_BOOKS | {"docs/skullking.md", "docs/reference/options.md", "CHANGELOG.md"}  # looked up
MOST_OF_A_SENTENCE, MOST_OF_A_PAGE, MOST_OF_THE_README = 40, 3000, 900


def check() -> Iterator[str]:
    """Yield the sentences and the pages that are too long (docs/style.md)."""
    for name, text in PAGES.items():
        for sentence in sentences(text):
            if (count := len(words(sentence))) > MOST_OF_A_SENTENCE:
                yield f"{name}: a sentence of {count} words: {shown(sentence)}"
        count = sum(len(words(block)) for block in blocks(text))
        if name not in LONG and count > MOST_OF_A_PAGE:
            yield f"{name}: a page of {count} words"
    # Tables are looked up, not read.
    read = [line for line in PAGES["README.md"].splitlines() if not line.startswith("|")]
    begin = " ".join(PAGES["README.md"].split()[:150])
    if len(words("\n".join(read))) > MOST_OF_THE_README:
        yield "README.md: it is not read in a minute"
    if "<!-- first:end -->" not in begin or "```python import fastenv" not in begin:
        yield "README.md: the first figure and the first code do not stand on the first screen"


def blocks(text: str) -> Iterator[str]:
    """Yield paragraphs, headings and items of a page, each in one line."""
    text = COMMENT.sub("\n\n", GENERATED.sub("\n\n", FRONT.sub("", text)))
    block: list[str] = []
    for line in without_code(text.splitlines()):
        alone = not line.strip() or RULE.match(line) or TABLE.match(line)
        if alone or ITEM.match(line) or HEADING.match(line):
            yield from joined(block)
            block = []
        if not alone:
            block.append(HEADING.sub("", ITEM.sub("", line)))
            if HEADING.match(line):
                yield from joined(block)
                block = []
    yield from joined(block)


def without_code(lines: list[str]) -> Iterator[str]:
    """Yield the lines outside of blocks of code; an empty one in the place of each fence."""
    opened: list[str] = []  # fences of what is open, the innermost last
    hidden = ""
    for line in lines:
        found = FENCE.match(line)
        if found is None:
            if not (hidden or (opened and OPTION.match(line))):
                yield line
            continue
        fence, info = found["fence"], found["info"].strip()
        if hidden:
            if fence.startswith(hidden) and not info:
                hidden = ""
        elif opened and fence.startswith(opened[-1]) and not info:
            opened.pop()
        elif fence[0] == ":" or TEXT.match(info):
            opened.append(fence)
        else:
            hidden = fence
        yield ""


def joined(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a block as one text, without the marks of Markdown."""
    text = " ".join(line.strip() for line in lines)
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", CODE, text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)  # pictures
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"<https?://[^>]*>|https?://\S+", CODE, text)
    text = re.sub(r"<[^>]+>", " ", text)
    text = re.sub(r"\{[\w:-]+\}(?=\x00)", "", text)  # roles of MyST
    if text.strip():
        yield text.strip()


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page."""
    for block in blocks(text):
        start = 0
        for found in END.finditer(block):
            if not SHORT.search(block[start : found.end()]):
                yield block[start : found.end()].strip()
                start = found.end()
        yield block[start:].strip()


def words(text: str) -> list[str]:
    """Return the words of a text: what has a letter, a digit or code in it."""
    return [word for word in text.split() if WORD.search(word)]


def shown(sentence: str) -> str:
    """Return a sentence as a message shows it."""
    return sentence.replace(CODE, "`...`")
