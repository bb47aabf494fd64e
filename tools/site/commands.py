"""Write the pages of the command line from the parsers of its commands.

Each command of ``python -m fastenv`` and ``python -m training`` has a page in reStructuredText,
where Sphinx knows programs and options: they are found by the search and can be linked. Options
stand in a table. The page of the command line gets a table of the commands.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastenv.__main__
from tools.site.pages import ROOT
from training.run.registry import COMMANDS, PROGRAMS, main_commands, parts_of

UNDERLINES = "=-~"
WIDTH = "88"  # columns of a usage


def pages() -> dict[str, str]:
    """Return the pages, by their names without the suffix."""
    found = {f"fastenv-{name}": "".join(section(each, 0)) for name, each in of_fastenv()}
    for command in (*main_commands(COMMANDS), *main_commands(PROGRAMS)):
        text = [*section(of_training(command), 0)]
        for part in parts_of(command):
            text += section(of_training(command, part), 1)
        found[f"training-{command}"] = "".join(text)
    return found


def of_fastenv() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield name and parser of each command of ``python -m fastenv``."""
    module = fastenv.__main__
    for name in (*module.COMMANDS, *module.GAMEBOY_COMMANDS):
        yield name, subcommands(module.parser(name))[name]


def of_training(command: str, part: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of a command of ``python -m training``, or of a further part of it.

    It stands as ``parser`` in the module of what runs the command.
    """
    if part is None:
        main = {**COMMANDS, **PROGRAMS}[command].load()
    else:
        main = parts_of(command)[part].load()
    made: argparse.ArgumentParser = sys.modules[main.__module__].parser()
    return made


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of what may stand behind a command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def section(parser: argparse.ArgumentParser, depth: int) -> Iterator[str]:
    """Yield what a page says of a command, and below it what may stand behind the command.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    depth : int
        Of its heading; 0 is that of the page.
    """
    title = parser.prog.removeprefix("python -m ")
    yield f"{title}\n{UNDERLINES[depth] * len(title)}\n\n"
    yield f"{escaped(parser.description or '')}\n\n"
    yield f"{block('text', usage(parser))}.. program:: {parser.prog}\n\n"
    yield from table(parser)
    examples = re.findall(r"^example: (.*)$", parser.epilog or "", flags=re.MULTILINE)
    if examples:
        yield f"Example:\n\n{block('bash', examples[0])}"
    for each in subcommands(parser).values():
        yield from section(each, depth + 1)


def usage(parser: argparse.ArgumentParser) -> str:
    """Return the usage of a command, in lines of one width wherever it is written."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    try:
        return parser.format_usage().strip()
    finally:
        del os.environ["COLUMNS"]
        if before is not None:
            os.environ["COLUMNS"] = before


def table(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the table of a command's options and arguments."""
    shown_ones = [
        action
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        and action.dest != "help"
        and not isinstance(action, argparse._SubParsersAction)
    ]
    if not shown_ones:
        return
    yield ".. list-table::\n   :class: options\n   :widths: 30 15 55\n   :header-rows: 1\n\n"
    yield "   * - option\n     - default\n     - meaning\n"
    for action in shown_ones:
        name, default, meaning = option(parser, action)
        yield f"   * - .. option:: {name}\n\n     - {default}\n     - {meaning}\n".replace(
            " \n", "\n"
        )
    yield "\n"


def option(parser: argparse.ArgumentParser, action: argparse.Action) -> tuple[str, str, str]:
    """Return the names, the default and the meaning of an option or argument, for a page."""
    formatter = parser._get_formatter()
    value = "" if action.nargs == 0 else f" {formatter._format_args(action, word(action))}"
    names = [f"{name}{value}" for name in action.option_strings] or [word(action)]
    said = [formatter._expand_help(action)] if action.help else []
    if action.choices is not None and action.metavar is not None:
        said.append(f"One of {', '.join(map(str, action.choices))}.")
    if action.required and action.option_strings:
        said.append("Required.")
    if isinstance(action, argparse._AppendAction) and "repeatable" not in (action.help or ""):
        said.append("Can be given more than once.")
    default = shown(action.default) if action.option_strings and has_default(action) else ""
    sentences = [text[:1].upper() + text[1:] for text in said]
    whole = " ".join(text if text.endswith((".", "?")) else f"{text}." for text in sentences)
    return ", ".join(names), escaped(default), escaped(whole)


def word(action: argparse.Action) -> str:
    """Return the placeholder of a value in the usage."""
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return f"{{{','.join(map(str, action.choices))}}}"
    return action.dest.upper() if action.option_strings else action.dest


def has_default(action: argparse.Action) -> bool:
    """Tell whether an option that is left out has a value that is worth a word."""
    return action.default not in (None, False, [], argparse.SUPPRESS, "")


def shown(value: Any) -> str:
    """Return a default; a path as it is from the root of the checkout."""
    if isinstance(value, Path) and value.is_relative_to(ROOT):
        return value.relative_to(ROOT).as_posix()
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def escaped(text: str) -> str:
    """Return a paragraph in which reStructuredText sees no markup but names of options."""
    text = re.sub(r"([\\`*_|])", r"\\\1", " ".join(text.split())).replace("::", ":\\:")
    return re.sub(r"(?<![\w`-])--[a-z][a-z-]*[a-z](?=[\s.,:;)]|$)", r"``\g<0>``", text)


def block(language: str, text: str) -> str:
    """Return a block of code."""
    lines = "\n".join(f"   {line}" for line in text.splitlines())
    return f".. code-block:: {language}\n\n{lines}\n\n"


def contents(text: str) -> str:
    """Return the page of the command line with its tables of commands, at their marks."""
    lists = {"fastenv": dict(of_fastenv())}
    commands = (*main_commands(COMMANDS), *main_commands(PROGRAMS))
    lists["training"] = {command: of_training(command) for command in commands}
    for program, found in lists.items():
        rows = []
        for name, each in found.items():
            said = " ".join((each.description or "").split()).replace("|", r"\|")
            rows.append(f"| [`{name}`](cli/{program}-{name}.rst) | {said} |")
        mark = f"<!-- commands of {program} -->"
        assert mark in text, f"no place for the commands of {program}"
        text = text.replace(mark, "\n".join(["| command | what it does |", "|---|---|", *rows]))
    return text


def write(folder: Path) -> None:
    """Write the pages into a folder, and the tables of commands into the page above it."""
    page = folder.with_suffix(".md")
    page.write_text(contents(page.read_text(encoding="utf-8")), encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
