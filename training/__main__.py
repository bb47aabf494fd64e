"""The command line: ``python -m training`` lists its commands.

A command is registered by :mod:`training.composition` and imported when it is asked for. Words
behind it can name a further part of it, such as ``watch replay``; each has a parser of its own.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Mapping
from contextlib import nullcontext

from training.run.registry import (
    COMMANDS,
    DEFAULT_ENVS,
    PROGRAMS,
    Command,
    main_commands,
    parts_of,
)

PROG = "python -m training"


def _format_commands(title: str, commands: Mapping[str, Command]) -> str:
    lines = [f"{title}:"]
    for name, command in commands.items():
        parts = ", ".join(parts_of(name))
        lines.append(f"  {name:<10} {command.about}{parts and f'; also {parts}'}")
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command name, whose help lists all commands."""
    listed = (
        _format_commands("commands", main_commands(COMMANDS)),
        _format_commands("applications", main_commands(PROGRAMS)),
        "Each command has --help. docs/howto/training.md shows how to use them together.",
        f"example: {PROG} train --env {DEFAULT_ENVS['train']} --name first",
    )
    parse = argparse.ArgumentParser(
        prog=PROG,
        usage=f"{PROG} COMMAND [options]",
        description="Train agents for the games of fastenv, evaluate them, and measure both.",
        epilog="\n\n".join(listed),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [*main_commands(COMMANDS), *main_commands(PROGRAMS)]
    parse.add_argument("command", nargs="?", choices=names, help=argparse.SUPPRESS)
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    words = sys.argv[1:] if argv is None else argv
    commands = parser()
    name = commands.parse_args(words[:1]).command
    if name is None:
        commands.print_help()
        return 0
    parts = parts_of(name)
    if len(words) > 1 and words[1] in parts:
        return parts[words[1]].load()(words[2:])
    return {**COMMANDS, **PROGRAMS}[name].load()(words[1:])


# These draw on the terminal, where dots would disturb.
INTERACTIVE = ("play", "watch", "studio")


def talk_and_run() -> int:
    """Run the command line, with a dot a second unless it draws on the terminal."""
    name = next(iter(sys.argv[1:]), "")
    if name in ("", "-h", "--help"):  # a list of commands, for which nothing is imported
        return main()
    from fastenv.ticker import print_dots

    with nullcontext() if name in INTERACTIVE else print_dots(name):
        return main()


if __name__ == "__main__":
    ended = talk_and_run()
    gc.freeze()  # or Python looks through all of torch before it ends, seconds without a word
    sys.exit(ended)
