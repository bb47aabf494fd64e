"""The command line: ``python -m fastenv`` lists its commands."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

import fastenv
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, FastEnvError, UnknownOptionError
from fastenv.files import prepare
from fastenv.game import Game
from fastenv.options import parse_option
from fastenv.play import play
from fastenv.registry import make_game, short_id
from fastenv.scaffold import new_game
from fastenv.startup import take_interrupts
from fastenv.ticker import print_dots
from fastenv.vector import sample_legal
from fastenv.verify import BACKENDS, Tally, available, verify


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table, with rich where it is installed."""
    text = [[str(cell) for cell in row] for row in rows]
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(map(len, column)) for column in zip(columns, *text, strict=True)]
        print(title)
        for row in (list(columns), *text):
            print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())
        return
    drawn = Table(title=title, title_justify="left")
    for k, name in enumerate(columns):
        drawn.add_column(name, justify="left" if k == 0 else "right", no_wrap=k == 0)
    for row in text:
        drawn.add_row(*row)
    Console().print(drawn)


def _shape(game: Game) -> str:
    """Return the shape of an observation, or those of its fields."""
    spec = game.spec
    if spec.obs_dtype.names is None:
        return str(spec.obs_shape)
    return ", ".join(f"{name} {spec.obs_dtype[name].shape}" for name in spec.obs_dtype.names)


def envs(_args: argparse.Namespace) -> int:
    """List ids, sizes and the backends that run here."""
    rows = []
    backends: dict[str, list[str]] = {}
    for env_id in fastenv.list_envs():
        game = make_game(env_id)
        runs = [name for name, reason in available(game).items() if reason is None]
        rows.append((env_id, _shape(game), game.spec.num_actions, game.spec.state_dtype.itemsize))
        backends.setdefault(", ".join(runs), []).append(env_id)
    table("environments", ("id", "observation", "actions", "bytes of a row"), rows)
    for names, env_ids in backends.items():
        of = "" if len(backends) == 1 else f" of {', '.join(env_ids)}"
        print(f"backends{of} that run here: {names}")
    _print_bots_and_presets()
    return 0


def play_command(args: argparse.Namespace) -> int:
    """Play in the terminal, or watch a bot; a ROM at the speed of its console.

    Raises
    ------
    ConfigError
        Naming options that do not apply to what is played.
    """
    of_rom = args.rom is not None
    used, unused = (OF_ROM, OF_GAME) if of_rom else (OF_GAME, OF_ROM)
    if given := [f"--{name}" for name in unused if getattr(args, name) is not None]:
        only, how = ("not", "with") if of_rom else ("only", "without")
        known = ", ".join(f"--{name}" for name in used)
        raise ConfigError(
            f"{', '.join(given)}: {only} possible with --rom; {how} it there are {known}"
        )
    for name, default in used.items():
        if getattr(args, name) is None:
            setattr(args, name, default)
    if of_rom:
        from fastenv.gameboy.play import play_rom

        return play_rom(args.rom, **{name: getattr(args, name) for name in OF_ROM})
    return play(args)


def verify_command(args: argparse.Namespace) -> int:
    """Compare the backends; exit with 1 and the first difference if there is one."""
    given = {} if args.players is None else {"num_players": args.players}
    try:
        reasons = available(make_game(args.env, **given))
    except UnknownOptionError:
        raise ConfigError(
            f"--players {args.players}: {args.env} has no option num_players: leave it out"
        ) from None
    backends = [name for name, reason in reasons.items() if reason is None]
    for name, reason in reasons.items():
        if reason is not None:
            print(f"not compared: {name}: {reason}")
    if len(backends) < 2:
        print("nothing to compare with: only the reference runs here", file=sys.stderr)
        return 2
    last = [time.monotonic()]

    def report(tally: Tally) -> None:
        if time.monotonic() - last[0] > 5:
            last[0] = time.monotonic()
            print(f"  {_count(tally.cases)}, {tally.steps} steps, no difference", flush=True)

    if args.script:
        prepare("--script", args.script)
    print(f"{args.env}: comparing {', '.join(backends)} for {args.seconds:g} s, seed {args.seed}")
    tally = verify(
        args.env,
        args.seconds,
        args.seed,
        num_envs=args.num_envs,
        backends=backends,
        report=report,
        **given,
    )
    if tally.difference is None:
        print(f"equal: {_count(tally.cases)}, {tally.steps} steps, every bit")
        last = args.seed + tally.cases - 1
        print(
            f"a sample and no proof: seeds {args.seed} to {last}, of which {tally.cut} had no time "
            f"for all their steps; --seed {last + 1} continues, --seconds takes more"
        )
        return 0
    print(tally.difference)
    extra = f" --players {args.players}" if args.players else ""
    print(
        f"replay: python -m fastenv verify --env {args.env} --seconds {args.seconds:g} "
        f"--seed {tally.difference.seed} --num-envs {args.num_envs}{extra}"
    )
    if args.script:
        args.script.write_text(tally.script)
    else:
        print("--script FILE writes a program of few steps that shows it again")
    return 1


def _count(configurations: int) -> str:
    return f"{configurations} configuration{'s' * (configurations != 1)}"


def bench(args: argparse.Namespace) -> int:
    """Time the steps of random legal play; choosing the actions is not counted."""
    game = make_game(args.env)
    rows = []
    for name, reason in available(game).items():
        if args.backend not in ("all", name):
            continue
        if reason is not None:
            rows.append((name, "-", "-", reason))
            continue
        n = args.num_envs if name == "fast" else min(args.num_envs, 64)
        engine = BatchEngine(game, n, name, args.threads, opponent=args.opponent)
        engine.reset_many(seeds=args.seed)
        rng, steps, spent = np.random.default_rng(args.seed), 0, 0.0
        engine.step_many(sample_legal(engine.mask, rng))
        while spent < args.seconds:
            actions = sample_legal(engine.mask, rng)
            start = time.perf_counter()
            engine.step_many(actions)
            spent += time.perf_counter() - start
            steps += n
        rows.append((name, n, f"{steps / spent:,.0f}", f"{1e9 * spent / steps:,.0f}"))
    threads = f"{args.threads} thread{'s' * (args.threads != 1)}"
    table(f"{args.env}, {threads}", ("backend", "lanes", "steps/s", "ns/step"), rows)
    return 0


def _print_bots_and_presets() -> None:
    """Print the names of scripted players and presets of each game."""
    bots: dict[tuple[str, ...], list[str]] = {}
    presets: dict[str, list[str]] = {}
    for env_id in fastenv.list_envs():
        with suppress(FastEnvError):  # a game may need options
            game = make_game(env_id)
            bots.setdefault(game.bot_names, []).append(short_id(env_id))
            for name, options in game.presets.items():
                given = ", ".join(f"{option}={value!r}" for option, value in options.items())
                presets.setdefault(f"preset={name!r}: {given}", []).append(short_id(env_id))
    of = [("bots", ", ".join(names), env_ids) for names, env_ids in bots.items() if names]
    of += [("presets", given, env_ids) for given, env_ids in presets.items()]
    for kind, text, env_ids in of:
        print(fill(f"{kind} of {', '.join(env_ids)}:", 80, subsequent_indent="  "))
        print(fill(text, 80, initial_indent="  ", subsequent_indent="  "))


def new_game_command(args: argparse.Namespace) -> int:
    """Write the folder of a new game, and say what comes next."""
    for path in new_game(args.name, args.root, args.players, args.hidden, args.judged_by):
        print(path)
    if args.players > 1 and args.judged_by is None:
        print('players are ranked by wins; is it played for points? Say judged_by="points" there')
    print(
        f"next: python -m tools.structs {args.name}, then make build; "
        "see docs/tutorials/new_game.md"
    )
    return 0


def parser(command: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the command line.

    Parameters
    ----------
    command : str, optional
        The one that is about to run: options of the Game Boy's commands, and of those that test
        environments, are added for it alone, because that imports much.
    """
    root = argparse.ArgumentParser(
        prog="python -m fastenv", description=ABOUT, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    root.set_defaults(run=None)
    commands = root.add_subparsers(metavar="command")
    for name, (run, about, add_options, example) in COMMANDS.items():
        sentence = f"{about[0].upper()}{about[1:]}."
        sub = commands.add_parser(name, help=about, description=sentence)
        sub.epilog = f"example: python -m fastenv {name}{example}"
        sub.set_defaults(run=run)
        add_options(sub)
    for name, about in GAMEBOY_COMMANDS.items():
        sub = commands.add_parser(name, help=about)
        if command == name:
            from fastenv.gameboy import commands as gameboy

            gameboy.add_options(name, sub)
    for name, (about, more) in TESTING_COMMANDS.items():
        sub = commands.add_parser(name, help=about, description=f"{about.capitalize()}. {more}")
        if command == name:
            from fastenv.testing import command as testing

            testing.add_options(name, sub)
            sub.set_defaults(run=getattr(testing, f"run_{name}"))
    return root


def _add_nothing(_parser: argparse.ArgumentParser) -> None:
    """Add no options."""


def _add_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--env", required=True, help=ENV)
    parser.add_argument("--seconds", type=float, default=10, help="how long to compare; default 10")
    about = "seed of the first configuration; default 0"
    parser.add_argument("--seed", type=int, default=0, help=about)
    parser.add_argument("--players", type=int, help="number of players; default: varied")
    parser.add_argument("--num-envs", type=int, default=3, help="number of environments; default 3")
    about = "write a program that shows the first difference again, in few steps"
    parser.add_argument("--script", type=Path, help=about)


def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--env", required=True, help=ENV)
    about = "backend to measure; default all"
    parser.add_argument("--backend", default="all", choices=("all", *BACKENDS), help=about)
    about = "number of environments; default 4096, at most 64 for backends but fast"
    parser.add_argument("--num-envs", type=int, default=4096, help=about)
    parser.add_argument("--threads", type=int, default=1, help="threads of the engine; default 1")
    parser.add_argument("--opponent", help=OPPONENT)
    about = "timed seconds per backend; default 1"
    parser.add_argument("--seconds", type=float, default=1, help=about)
    parser.add_argument("--seed", type=int, default=0, help="seed; default 0")


def _add_play(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--env", help=f"environment id; default {OF_GAME['env']}")
    add("--bot", help="bot that plays; default: you play")
    add("--seed", type=int, help="seed of the game")
    add("--opponent", help=OPPONENT)
    about = "option of the game, such as level=5; repeatable"
    add("--set", action="append", type=parse_option, metavar="X=Y", help=about)
    add("--delay", type=float, help="seconds between a bot's moves; default 1")
    add("--rom", type=Path, help="Game Boy ROM to play instead of an environment")
    add("--window", action="store_true", default=None, help="with --rom: play in a window")
    add("--scale", type=int, help="with --rom: scale of the window, 1 to 10; default 4")
    add("--states", help="with --rom: save state or .sav file to start from")
    add("--save", type=Path, help="with --rom: save state or .sav file to write at the end")


def _add_new_game(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="name of the package, such as liars_dice")
    about = "number of players: 1, or 2 who act in turn; default 1"
    parser.add_argument("--players", type=int, default=1, help=about)
    about = "with 2 players: each has private information"
    parser.add_argument("--hidden", action="store_true", help=about)
    about = "with 2 players: rank them by games won or by points, as in poker; default win"
    parser.add_argument("--judged-by", choices=("win", "points"), help=about)
    parser.add_argument(
        "--root", type=Path, default=Path(), help="the checkout; default: this folder"
    )


ENV = "environment id, with or without the namespace"
OPPONENT = "bot that plays the other seats, in games of several agents"
# Options of `play` and their defaults: of a game, and of a ROM.
OF_GAME: dict[str, Any] = {
    "env": "SkullKingFlat-v0", "bot": None, "seed": None, "opponent": None, "set": (), "delay": 1,
}  # fmt: skip
OF_ROM: dict[str, Any] = {"window": False, "scale": 4, "states": "power_up", "save": None}
# name -> what runs it, what it does, what adds its options, options of an example
COMMANDS: dict[str, tuple[Any, str, Callable[[argparse.ArgumentParser], None], str]] = {
    "envs": (envs, "list environments, bots and backends", _add_nothing, ""),
    "play": (play_command, "play a game in the terminal", _add_play, " --env LanternWalk-v0"),
    "bench": (bench, "measure steps per second", _add_bench, " --env Prospector-v0"),
    "verify": (
        *(verify_command, "compare the backends bit for bit"),
        *(_add_verify, " --env Prospector-v0 --seconds 60"),
    ),
    "new-game": (
        *(new_game_command, "write the folder of a new game: docs/tutorials/new_game.md"),
        *(_add_new_game, " liars_dice --players 2 --hidden"),
    ),
}
GAMEBOY_COMMANDS = {
    "bank": "generate start states of a Game Boy ROM",
    "goal": "capture a goal image of a Game Boy ROM, or replay its actions",
    "ram": "search the memory of a Game Boy ROM, or import a RAM map",
}
TESTING_COMMANDS = {
    "check": (
        "look for faults of an environment, anybody's",
        "Exits with 0 if none is found, with 1 if one is, with 2 if it cannot run.",
    ),
    "compare": (
        "look for the first difference between two environments, anybody's",
        "Exits with 0 if none is found, with 1 if one is, with 2 if it cannot run. "
        "`python -m training compare` compares runs of trainings.",
    ),
}
ABOUT = "Game environments for reinforcement learning, stepped in batches at compiled speed."
EXAMPLES = """\
examples:
  python -m fastenv play --env DrMarioPlacement-v0 --set level=5
  python -m fastenv COMMAND --help"""


def check(args: argparse.Namespace) -> None:
    """Refuse numbers that no command can do anything with.

    Raises
    ------
    ConfigError
        Names the option.
    """
    seconds, seed, delay = (getattr(args, name, None) for name in ("seconds", "seed", "delay"))
    if seconds is not None and not 0 < seconds < math.inf:
        raise ConfigError(f"--seconds {seconds:g}: must be a finite number above 0")
    if seed is not None and seed < 0:
        raise ConfigError(f"--seed {seed}: must be at least 0")
    if delay is not None and not 0 <= delay < math.inf:
        raise ConfigError(f"--delay {delay:g}: must be a finite number of at least 0")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status."""
    try:
        take_interrupts()
        given = sys.argv[1:] if argv is None else argv
        commands = parser(next(iter(given), None))
        args = commands.parse_args(given)
        if args.run is None:
            commands.print_help()
            return 0
        check(args)
        status: int = args.run(args)
    except (FastEnvError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return status


def start() -> int:
    """Run the command line of this process; a dot a second tells that a long command works."""
    command = next(iter(sys.argv[1:]), "")
    with nullcontext() if command == "play" else print_dots(command):
        return main()


if __name__ == "__main__":
    raise SystemExit(start())
