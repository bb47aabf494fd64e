"""The sentences and the words of a Markdown page: what a reader reads, without code and tables.

Left out are blocks of code, tables, comments, what stands between the marks of a generated part,
and the head of a model card. Inline code counts as one word, and of a link the text counts.
"""

import re
from collections.abc import Iterable, Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tools.pages.files import PAGES

GENERATED = re.compile(
    r"<!-- (?P<mark>[\w().]+)(?P<colon>:| )begin -->.*?<!-- (?P=mark)(?P=colon)end -->", re.DOTALL
)
FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
# Directives of MyST whose content is read as text, below their options.
TEXT = re.compile(r"\{(?:admonition|attention|caution|danger|hint|important|note|seealso|tip|w\w+)")
OPTIONS = re.compile(r"\A(?:\s*:[\w-]+:.*\n)+")
CODE = "\x00"  # stands for inline code and for addresses
ADDRESS = re.compile(r"https?://\S+")
ROLE = re.compile(r"\{[\w:-]+\}$")  # of MyST, before inline code
MARKDOWN = MarkdownIt("commonmark").enable("table")
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
    in_table = False
    for token in MARKDOWN.parse(GENERATED.sub("\n\n", FRONT.sub("", text))):
        if token.type in ("table_open", "table_close"):
            in_table = token.type == "table_open"
        elif token.type == "fence" and TEXT.match(token.info):
            yield from blocks(OPTIONS.sub("", token.content))
        elif token.type == "inline" and not in_table and (line := line_of(token.children or ())):
            yield line


def line_of(tokens: Iterable[Token]) -> str:
    """Return what is read of a block: no marks, no pictures and no tags."""
    line = ""
    for token in tokens:
        if token.type == "code_inline":
            line = ROLE.sub("", line) + CODE
        elif token.type == "text":
            line += ADDRESS.sub(CODE, token.content)
        elif token.type in ("softbreak", "hardbreak", "html_inline"):
            line += " "
    return line.strip()


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
