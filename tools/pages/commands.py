"""The commands that a page shows, each read by the parser that reads it when it is typed.

Commands stand in blocks of code and in backticks. In a block they are complete; in backticks a
command may be named alone, so nothing that it requires is asked for.
"""

import argparse
import contextlib
import importlib
import inspect
import io
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import fastenv
from fastenv.errors import FastEnvError
from tools import records
from tools.pages.files import PAGES
from training.evaluation.seed_flags import train_flags
from training.run import machine
from training.run.machine import ROOT
from training.run.option_layers import merge_layers
from training.run.option_layers import parser as train_parser

OURS = re.compile(r"python -m ((?:training|fastenv|tools)(?:\.\w+)*)(?![\w.])")
SHELL = re.compile(r"^\s*([A-Z]\w*)=[\"'](.*)[\"']\s*$")
# What a line of a shell may begin with before a command of ours: a prompt, a variable, a loop.
TYPED = re.compile(r"\s*(?:\$ |\w+=\S+ |for .*; do |do |time )*python ")
PLACEHOLDER = re.compile(r"(?:<[\w-]+>|[A-Z][A-Z_]*|\[.*\]|\.\.\.|…)(?:\.\.\.)?")
DISPATCHERS = ("python -m training",)
ENVS = {name.rpartition("/")[2] for name in fastenv.list_envs()}


TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
AGENT = re.compile(r"pretrained/[\w-]+")
# Modules that started commands when records were taken, by what is typed today.
RENAMED = {
    "benchmark_v9": "benchmark",
    "evaluate_seeds": "evaluate seeds",
    "matrix": "benchmark matrix",
    "milestones": "compare milestones",
    "profile": "benchmark profile",
    "tools.gameboy.bench_link": "tools.gameboy.bench --link",
    "vectorised": "benchmark vectorised",
}


def check() -> Iterator[str]:
    """Yield the commands and targets of ``make`` on pages that cannot be typed."""
    for name, text in PAGES.items():
        for command, complete in commands(text):
            yield from (f"{name}: {command}: {said}" for said in faults(command, complete))
        code = [*blocks(text), *re.findall(r"`(make [\w -]+)`", text)]
        for line in (line.partition("#")[0] for block in code for line in block.splitlines()):
            found = re.match(r"\s*(?:\$ )?make((?: [\w-]+)+)\s*$", line)
            for word in found[1].split() if found else ():
                if not word.startswith("-") and word not in TARGETS:
                    yield f"{name}: make has no target {word}"


def check_records() -> Iterator[str]:
    """Yield records that lack something, or are of commands or agents that are gone.

    One that cannot be repeated, since options, configs or agents of it are gone, is marked old.
    """
    yield from records.check()
    for path in records.committed():
        head = records.head_of(path)
        if "old" in head:
            continue
        name = path.relative_to(ROOT).as_posix()
        said = head.get("commands") or [head.get("command", "")]
        typed = [re.sub(r"(?<=python -m )([\w.]+)", _as_typed_today, each) for each in said]
        yield from (f"{name}: {each}: {said}" for each in typed for said in faults(each))
        if records.history() is None:
            continue  # this is no checkout with its history
        for agent in set(AGENT.findall(" ".join(typed))):
            weights = (f"{agent}/checkpoints", f"{agent}/*.safetensors")
            changed = machine.git("diff", "--name-only", head["git_rev"], "HEAD", "--", *weights)
            renamed = machine.git("ls-tree", head["git_rev"], agent) == ""
            if changed and not renamed:
                yield f"{name}: {agent} has been replaced since"
    for speed in records.SPEEDS:
        yield from (f"tools/records.py: {said}" for said in faults(f"python -m {speed.command}"))


def _as_typed_today(module: re.Match[str]) -> str:
    folder, _, name = module[1].partition(".")
    if folder == "training" and name:
        return f"training {RENAMED.get(name, name)}"
    return RENAMED.get(module[1], module[1])


class Parsed(Exception):
    """A command was read to its end: by which parser, and to what."""

    def __init__(self, prog: str, args: argparse.Namespace) -> None:
        super().__init__(prog)
        self.prog, self.values = prog, args


def blocks(text: str) -> Iterator[str]:
    """Yield the content of each block of code that may hold commands, with its lines joined."""
    for fence in re.finditer(r"^([ >]*)(`{3,})(.*)\n((?:.*\n)*?)\1\2\s*$", text, re.MULTILINE):
        if not fence[3].strip().startswith(("python", "{code-cell", "yaml", "json", "toml")):
            yield re.sub(r"\\\n\s*", " ", fence[4])


def commands(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each command of a page, and whether it must be complete."""
    for block in blocks(text):
        variables: dict[str, str] = {}
        for line in block.splitlines():
            if found := SHELL.match(line):
                variables[found[1]] = found[2]
                continue
            for name, value in variables.items():
                line = value.join(re.split(rf"\$\{{?{name}\b\}}?", line))
            if TYPED.match(line) and OURS.search(line):
                yield line.strip(), True
    outside = re.sub(r"^([ >]*)(`{3,}).*\n(?:.*\n)*?\1\2\s*$", "", text, flags=re.MULTILINE)
    for _, span in re.findall(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", outside):
        if OURS.search(span):
            yield span.strip(), False


def calls(command: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each module of ours that a line of a shell runs, and its words."""
    command = re.sub(r"\$\(.*?\)|\$\{?\w+\}?", "1", command)
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if not re.fullmatch(r"[();<>|&]+", word):
            words.append(word)
            continue
        for k in range(len(words) - 2):
            if words[k : k + 2] == ["python", "-m"] and OURS.match(f"python -m {words[k + 2]}"):
                yield words[k + 2], words[k + 3 :]
                break
        words = []


def faults(command: str, complete: bool = True) -> list[str]:
    """List the errors of the parsers for a command; empty if it can be typed."""
    found = []
    for module, words in calls(command):
        words = [word for word in (re.sub(r"(\.\.\.|…)$", "", word) for word in words) if word]
        if words and PLACEHOLDER.fullmatch(words[0]) and module in ("training", "fastenv"):
            continue  # any command
        read = read_by_parser(module, words, complete)
        if isinstance(read, str) and any(map(PLACEHOLDER.fullmatch, words)):  # such as a number
            words = ["1" if PLACEHOLDER.fullmatch(word) else word for word in words]
            read = read_by_parser(module, words, complete)
        if isinstance(read, Parsed):
            made_up = any("OPTION=" in word for word in words)
            read = refused_option(read) if complete and not made_up else ""
        found += [read] if read else []
        found += [f"{word}: no such file" for word in words if missing(word)]
    return found


def missing(word: str) -> bool:
    """Tell whether a word names a config of ours that is not there."""
    return word.startswith("training/configs/") and not (ROOT / word).exists()


def read_by_parser(module: str, words: list[str], complete: bool) -> Parsed | str:
    """Parse words with the parser of a module; return the values, or the text of the error."""
    try:
        run = entry(module)
    except ImportError as error:
        return str(error)
    if run is None:
        return f"{module} takes no words" if words else ""
    said = io.StringIO()
    parse = argparse.ArgumentParser.parse_args

    def parse_and_stop(
        self: argparse.ArgumentParser, args: Any = None, namespace: Any = None
    ) -> argparse.Namespace:
        if not complete:
            ask_for_nothing(self)
        found: argparse.Namespace = parse(self, args, namespace)
        if self.prog in DISPATCHERS:
            return found
        raise Parsed(self.prog, found)

    with (
        mock.patch.object(argparse.ArgumentParser, "parse_args", parse_and_stop),
        mock.patch.object(sys, "argv", [module, *words]),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(said),
    ):
        try:
            run(words)
        except Parsed as done:
            return done
        except SystemExit as ended:
            return said.getvalue().strip().splitlines()[-1] if ended.code else ""
    return ""


def refused_option(done: Parsed) -> str:
    """Return the error of the options of a command that trains; empty if they are valid.

    Runs that go on have options of their own, and games that a tutorial writes are not there.
    """
    args = done.values
    if done.prog not in ("python -m training train", "python -m training compare"):
        return ""
    known = args.env is None or args.env.rpartition("/")[2] in ENVS
    made_up = args.config and PLACEHOLDER.fullmatch(args.config)
    if not known or made_up or getattr(args, "resume", False):
        return ""
    trainings = [args]
    if done.prog.endswith("compare"):
        lines = [
            train_flags(args, each.file or args.config, [*args.set, *each.options])
            for each in args.variants
        ]
        trainings = [train_parser().parse_args(line) for line in lines]
    try:
        with contextlib.chdir(ROOT):
            for each in trainings:
                each.backend = each.backend or "reference"  # what runs here is not the question
                merge_layers(each, {}, say=lambda _: None)
    except FastEnvError as error:
        return str(error)
    return ""


def entry(module: str) -> Callable[[list[str]], object] | None:
    """Return the function that runs a module, called with its words; None if it takes none.

    Raises
    ------
    ImportError
        If there is no such module.
    """
    path = ROOT / module.replace(".", "/")
    name = f"{module}.__main__" if path.is_dir() else module
    source = (path / "__main__.py") if path.is_dir() else path.with_suffix(".py")
    if not source.exists():
        raise ImportError(f"python -m {module}: no such module")
    text = source.read_text(encoding="utf-8")
    if "arse_args(" not in text and "parser(" not in text:
        return None  # to call it would do its work
    main: Callable[..., object] = importlib.import_module(name).main
    return main if inspect.signature(main).parameters else lambda _words: main()


def ask_for_nothing(parser: argparse.ArgumentParser) -> None:
    """Let a parser take a command of which only a part is named."""
    for action in parser._actions:
        action.required = False
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                ask_for_nothing(each)
        elif not action.option_strings and action.nargs in (None, "+"):
            action.nargs = "?" if action.nargs is None else "*"
    for group in parser._mutually_exclusive_groups:
        group.required = False
