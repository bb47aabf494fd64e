"""The command line: ``python -m training`` lists its commands.

A command is found here and imported when it is asked for. Words behind it can name a further part
of it, such as ``watch replay``; each has a parser of its own.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext

from fastenv.ticker import print_dots
from training.run import registry
from training.run.registry import Command

PROG = "python -m training"
Main = Callable[[list[str]], int]


def _load_train() -> Main:
    from training import train

    return train.main


def _load_evaluate() -> Main:
    from training import evaluate

    return evaluate.main


def _load_compare() -> Main:
    from training import compare

    return compare.main


def _load_protocol() -> Main:
    from training.commands import protocol

    return protocol.main


def _load_milestones() -> Main:
    from training.commands import milestones

    return milestones.main


def _load_sweep() -> Main:
    from training import sweep

    return sweep.main


def _load_report() -> Main:
    from training import report

    return report.main


def _load_exploit() -> Main:
    from training import exploit

    return exploit.main


def _load_watch() -> Main:
    from training import watch

    return watch.main


def _load_replay() -> Main:
    from training.commands import replay

    return replay.main


def _load_play() -> Main:
    from training import play

    return play.main


def _load_studio() -> Main:
    from training.commands import studio

    return studio.main


def _load_export() -> Main:
    from training import export

    return export.main


def _load_benchmark() -> Main:
    from training import benchmark_v9

    return benchmark_v9.main


def _load_profile() -> Main:
    from training.commands import profile

    return profile.main


def _load_matrix() -> Main:
    from training.commands import matrix

    return matrix.main


def _load_vectorised() -> Main:
    from training.commands import vectorised

    return vectorised.main


def _load_gpu_check() -> Main:
    from training.commands import gpu_check

    return gpu_check.main


COMMANDS = {
    "train": Command("train an agent, or resume a run", _load_train),
    "evaluate": Command("measure how agents and bots play", _load_evaluate),
    "compare": Command("compare training options over seeds", _load_compare),
    "sweep": Command("search for better training options", _load_sweep),
    "report": Command("write a page that compares runs", _load_report),
    "exploit": Command("train best responses to an agent", _load_exploit),
    "watch": Command("watch an agent or a bot play", _load_watch),
    "play": Command("play against trained agents and bots", _load_play),
    "studio": Command("play, watch and inspect games in the browser", _load_studio),
    "export": Command("export a trained agent as a small folder", _load_export),
    "benchmark": Command("measure speed", _load_benchmark),
}
# Their further parts, beside those that are programs over one game.
PARTS: dict[str, dict[str, Callable[[], Main]]] = {
    "compare": {"protocol": _load_protocol, "milestones": _load_milestones},
    "watch": {"replay": _load_replay},
    "benchmark": {
        "profile": _load_profile,
        "matrix": _load_matrix,
        "vectorised": _load_vectorised,
        "gpu-check": _load_gpu_check,
    },
}


def parts_of(command: str) -> dict[str, Callable[[], Main]]:
    """Return the loaders of the further parts of a command, by name."""
    programs = {word: part.load for word, part in registry.parts_of(command).items()}
    return {**PARTS.get(command, {}), **programs}


def applications() -> dict[str, Command]:
    """Return the programs over one game that are no part of a command, by name."""
    return {name: each for name, each in registry.PROGRAMS.items() if " " not in name}


def _format_commands(title: str, commands: Mapping[str, Command]) -> str:
    lines = [f"{title}:"]
    for name, command in commands.items():
        parts = ", ".join(parts_of(name))
        lines.append(f"  {name:<10} {command.about}{parts and f'; also {parts}'}")
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command name, whose help lists all commands."""
    listed = (
        _format_commands("commands", COMMANDS),
        _format_commands("applications", applications()),
        "Each command has --help. docs/howto/training.md shows how to use them together.",
        f"example: {PROG} train --env {registry.DEFAULT_ENVS['train']} --name first",
    )
    parse = argparse.ArgumentParser(
        prog=PROG,
        usage=f"{PROG} COMMAND [options]",
        description="Train agents for the games of fastenv, evaluate them, and measure both.",
        epilog="\n\n".join(listed),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [*COMMANDS, *applications()]
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
        return parts[words[1]]()(words[2:])
    return {**COMMANDS, **applications()}[name].load()(words[1:])


# These draw on the terminal, where dots would disturb.
INTERACTIVE = ("play", "watch", "studio")


def talk_and_run() -> int:
    """Run the command line, with a dot a second unless it draws on the terminal."""
    name = next(iter(sys.argv[1:]), "")
    with nullcontext() if name in INTERACTIVE else print_dots(name):
        return main()


if __name__ == "__main__":
    ended = talk_and_run()
    gc.freeze()  # or Python looks through all of torch before it ends, seconds without a word
    sys.exit(ended)
