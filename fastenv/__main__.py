"""Command line: ``python -m fastenv envs|verify|bench|play|new-game``."""

from __future__ import annotations

import argparse
import ast
import math
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from textwrap import fill, wrap
from typing import Any

import numpy as np

import fastenv
from fastenv.engine import BatchEngine, rng_streams
from fastenv.errors import ConfigError, FastEnvError, show
from fastenv.game import Game, Steering
from fastenv.keys import Keys
from fastenv.registry import make_game, short_id
from fastenv.scaffold import new_game
from fastenv.startup import take_interrupts
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
    return 0


def verify_command(args: argparse.Namespace) -> int:
    """Compare the backends; exit with 1 and the first difference if there is one."""
    given = {} if args.players is None else {"num_players": args.players}
    reasons = available(make_game(args.env))
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
            print(f"  {tally.cases} configurations, {tally.steps} steps, no difference", flush=True)

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
        print(f"equal: {tally.cases} configurations, {tally.steps} steps, every bit")
        return 0
    print(tally.difference)
    extra = f" --players {args.players}" if args.players else ""
    print(
        f"replay: python -m fastenv verify --env {args.env} --seconds 1 "
        f"--seed {tally.difference.seed} --num-envs {args.num_envs}{extra}"
    )
    return 1


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
        engine = BatchEngine(game, n, name, args.threads)
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


def play(args: argparse.Namespace) -> int:
    """Play in the terminal, or watch a bot; a ROM at the speed of its console."""
    if args.rom is not None:
        from fastenv.gameboy.play import play_rom

        return play_rom(args.rom, window=args.window, scale=args.scale)
    game = make_game(args.env, **dict(args.set))
    env = fastenv.FastEnv(game, render_mode="ansi", opponent=args.opponent)
    env.reset(seed=args.seed)
    if env.game.goal:
        print(fill(env.game.goal, _columns()))
    if args.bot or env.game.steering(env.get_state()) is None:
        return _play(env, args, None)
    with Keys() as keys:
        return _play(env, args, keys)


def _play(env: Any, args: argparse.Namespace, keys: Keys | None) -> int:
    """Play an episode that has begun, by keys or by numbers of actions."""
    streams = rng_streams(args.seed or 0, 1)
    total, done = 0.0, False
    while not done:
        steering = None if keys is None else env.game.steering(env.get_state())
        if steering is None:
            print(f"\n{env.render()}\n")
        if args.bot:
            action = int(env.engine.bot_actions(args.bot, streams)[0])
            print(f"{args.bot} plays {_named(env, action)}")
            time.sleep(args.delay)
        else:
            chosen = (
                _ask(env, np.flatnonzero(env.action_masks()).tolist())
                if steering is None or keys is None
                else _steer(steering, keys)
            )
            if chosen is None:
                return 0
            action = chosen
        _, reward, terminated, truncated, _ = env.step(action)
        total, done = total + reward, terminated or truncated
    steering = None if keys is None else env.game.steering(env.get_state())
    shown = env.render() if steering is None else steering.text()
    print(f"{_over(shown, keys)}\n\nreturn {total:.2f}")
    return 0


def _over(text: str, keys: Keys | None) -> str:
    """Return text as it is written over what the terminal shows; of lines, below it."""
    if keys is None or not keys.single:
        return f"\n{text}"
    return "\x1b[H" + text.replace("\n", "\x1b[K\n") + "\x1b[J"


def _steer(steering: Steering, keys: Keys) -> int | None:
    """Return the action that somebody steers to, or None to leave."""
    due = time.monotonic() + steering.frame_time
    while True:
        print(_over(f"{steering.text()}\n\n{steering.keys}", keys), flush=True)
        key = keys.read(None if steering.idle is None else max(0.0, due - time.monotonic()))
        if key == "q":
            return None
        action = steering.press(key) if key else steering.idle
        if action is None:
            continue
        if steering.idle is not None and keys.single:
            time.sleep(max(0.0, due - time.monotonic()))
        return action


def _ask(env: Any, legal: list[int]) -> int | None:
    """Return the chosen action, or None to leave; ``?`` lists the legal ones with their names."""
    while True:
        try:
            text = input(f"action {_ranges(legal)} (? lists them, q leaves): ").strip()
        except EOFError:
            return None
        if text in ("q", "quit"):
            return None
        if text.isdecimal() and int(text) in legal:
            return int(text)
        if text == "?":
            _list([_named(env, action) for action in legal])
        elif text.isdecimal() and int(text) < env.game.spec.num_actions:
            print(f"not a legal action now: {_named(env, int(text))}")
        else:
            print("not a legal action")


def _named(env: Any, action: int) -> str:
    """Return the number of an action, and its name where the environment stands if it has one."""
    name = env.game.action_name(action, env.get_state())
    return str(action) if name == str(action) else f"{action} ({name})"


def _columns() -> int:
    """Return the width of the terminal, of very wide ones what is still easy to read."""
    return min(shutil.get_terminal_size().columns, 100)


def _list(names: list[str]) -> None:
    """Print names in columns, down first."""
    cell = max(map(len, names)) + 2
    height = -(-len(names) // max(1, (_columns() + 2) // cell))
    for line in range(height):
        print("".join(name.ljust(cell) for name in names[line::height]).rstrip())


def _ranges(numbers: list[int]) -> str:
    """Return increasing numbers as text, neighbours as ranges: ``"0-3, 7"``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _what_there_is() -> str:
    """Return ids of environments, bots and presets of each game, as text for ``--help``."""
    of: dict[tuple[str, ...], list[str]] = {}
    presets: dict[str, list[str]] = {}
    for env_id in fastenv.list_envs():
        with suppress(FastEnvError):  # a game may need options
            game = make_game(env_id)
            of.setdefault(game.bot_names, []).append(env_id)
            for name, options in game.presets.items():
                given = ", ".join(f"{option}={value!r}" for option, value in options.items())
                presets.setdefault(f"preset={name!r}, {given}", []).append(env_id)
    lines = ["environments:", *(f"  {env_id}" for env_id in fastenv.list_envs())]
    for names, env_ids in of.items():
        if names:
            lines += ["", f"bots of {', '.join(map(short_id, env_ids))}:"]
            lines += wrap(", ".join(names), 78, initial_indent="  ", subsequent_indent="  ")
    for given, env_ids in presets.items():
        who = f"presets of {', '.join(map(short_id, env_ids))}:"
        lines += ["", *wrap(who, 80), f"  {given}"]
    return "\n".join(lines)


def new_game_command(args: argparse.Namespace) -> int:
    """Write the folder of a new game, and say what comes next."""
    for path in new_game(args.name, args.root):
        print(path)
    print(f"next: python -m tools.structs {args.name}, then make build; see docs/new_game.md")
    return 0


def option(text: str) -> tuple[str, Any]:
    """Return name and value of an option of a game; the value is a Python literal or a word."""
    name, equals, value = text.partition("=")
    if not (name.isidentifier() and equals):
        raise argparse.ArgumentTypeError(f"{show(text)}: must be NAME=VALUE, such as level=5")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, value


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    root = argparse.ArgumentParser(prog="python -m fastenv", description=fastenv.__doc__)
    root.formatter_class = argparse.RawDescriptionHelpFormatter
    root.epilog = _what_there_is()
    commands = root.add_subparsers(required=True, metavar="command")

    def command(name: str, run: Any, about: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=about, description=about, epilog=root.epilog)
        sub.formatter_class = root.formatter_class
        sub.set_defaults(run=run)
        return sub

    command("envs", envs, "list the environments and the backends that run here")

    sub = command("verify", verify_command, "compare the backends bit for bit")
    sub.add_argument("--env", required=True, help="id, with or without the namespace")
    sub.add_argument("--seconds", type=float, default=10)
    sub.add_argument("--seed", type=int, default=0, help="of the first configuration")
    sub.add_argument("--players", type=int, help="fix the number of players")
    sub.add_argument("--num-envs", type=int, default=3)

    sub = command("bench", bench, "measure steps per second")
    sub.add_argument("--env", required=True)
    sub.add_argument("--backend", default="all", choices=("all", *BACKENDS))
    sub.add_argument("--num-envs", type=int, default=4096)
    sub.add_argument("--threads", type=int, default=1)
    sub.add_argument("--seconds", type=float, default=1)
    sub.add_argument("--seed", type=int, default=0)

    sub = command("play", play, "play a game in the terminal")
    sub.add_argument("--env", default="SkullKingFlat-v0")
    sub.add_argument("--bot", help="let this bot play")
    sub.add_argument("--seed", type=int)
    sub.add_argument("--opponent", help="of several agents: the bot that plays the others")
    about = "option of the game: level=5"
    sub.add_argument("--set", action="append", default=[], type=option, metavar="X=Y", help=about)
    sub.add_argument("--delay", type=float, default=1, help="seconds between a bot's moves")
    sub.add_argument("--rom", type=Path, help="a Game Boy ROM to play instead")
    sub.add_argument("--window", action="store_true", help="play the ROM in a window")
    sub.add_argument("--scale", type=int, default=4, help="of the window, 1 to 10; default 4")

    sub = command("new-game", new_game_command, "write the folder of a new game: docs/new_game.md")
    sub.add_argument("name", help="of its package, such as connect_four")
    sub.add_argument("--root", type=Path, default=Path(), help="the checkout; default: here")
    return root


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
        args = parser().parse_args(argv)
        check(args)
        status: int = args.run(args)
    except FastEnvError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return status


if __name__ == "__main__":
    raise SystemExit(main())
