"""Commands of ``python -m fastenv`` for a ROM: start states, goals, and what its memory holds."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError, FileError, show
from fastenv.files import prepare, read_json, write_bytes
from fastenv.gameboy import make_game
from fastenv.gameboy.bank import make_bank
from fastenv.gameboy.common import read_rom
from fastenv.gameboy.config import CODECS, OURS
from fastenv.gameboy.goal_capture import (
    K_CONSECUTIVE,
    TAU,
    calibrated,
    capture,
    read_actions,
    replay,
)
from fastenv.gameboy.goal_template import check_folder, load_goal, save_goal
from fastenv.gameboy.ram_program import read_program
from fastenv.gameboy.ram_search import CHANGES, TYPES, RamSearch
from fastenv.gameboy.retro_import import import_retro
from fastenv.gameboy.savestate import load_state
from fastenv.gameboy.starts import BANKS, join_starts, load_starts, save_bank

_LARGEST = 1 << 20  # bytes of a file of stable-retro
BANK = """Play a ROM with random buttons from power-up, once per start state, and write the final
states; or join the states of several files (docs/gameboy.md, 18)."""
GOAL = """Capture a goal template, or replay the actions that lead to one (docs/gameboy.md, 19).
A file of actions has one line of JSON per step, a list of one number: [5]."""
CAPTURE = """Take the actions of a file from a start state; the picture after the last one is the
goal. An existing template in the folder is replaced."""
REPLAY = """Take the actions of a file in the environment of a template. The exit status is 0 if the
goal is reached, else 1."""
SEARCH = f"""Print the addresses whose values fit all save states (docs/howto/own_game_ram.md). Name
each state as FILE=NUMBER, or as FILE=CHANGE since the state before: {", ".join(CHANGES)}."""
RAM = "Search the memory of a ROM for a value, or import a RAM map from stable-retro."
IMPORT = """Write a RAM map from the variables, rewards and end conditions of stable-retro's files
(docs/gameboy.md, 20.1)."""
ROM = "ROM file; default: Lantern Walk"
CALIBRATE = """print the threshold halfway between the largest distance of the last steps (as
many as the template's k_consecutive) and the smallest distance before them"""


def add_options(name: str, parser: argparse.ArgumentParser) -> None:
    """Add the options of a command, and what runs it, to its parser."""
    parser.description, add, run, example = COMMANDS[name]
    parser.epilog = f"example: python -m fastenv {name} {example}"
    add(parser)
    parser.set_defaults(run=run)


def add_bank(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``bank``."""
    add = parser.add_argument
    add("file", type=Path, help="bank to write, .npz")
    add("--rom", metavar="FILE", default=OURS, help=ROM)
    about = "save states, battery files and banks to join"
    add("--join", metavar="FILE", nargs="+", default=[], help=about)
    add("--states", metavar="N", type=int, help="number of states; default 64")
    add("--max-steps", metavar="N", type=int, help="maximum steps to a state; default 250")
    add("--seed", metavar="N", type=int, help="seed of the random buttons; default 0")
    add("--wander", action="store_true", help="walk to random cells; Lantern Walk only")
    about = "banks whose states to exclude"
    add("--but-not", metavar="FILE", nargs="+", default=[], help=about)


def write_bank(args: argparse.Namespace) -> int:
    """Make a bank and write it.

    Raises
    ------
    ConfigError
        Numbers that are too small, ``--wander`` with another ROM than Lantern Walk, or options of
        playing with ``--join``.
    """
    numbers = {"--states": (args.states, 1), "--max-steps": (args.max_steps, 1)}
    numbers["--seed"] = (args.seed, 0)
    for option, (value, lowest) in numbers.items():
        if value is not None and value < lowest:
            raise ConfigError(f"{option} {value}: must be at least {lowest}")
    prepare("file", args.file)
    cartridge = read_rom(args.rom)
    if args.join:
        given = [option for option, (value, _) in numbers.items() if value is not None]
        given += ["--wander"] * args.wander + ["--but-not"] * bool(args.but_not)
        if given:
            raise ConfigError(f"{given[0]}: nothing is played with --join: leave it out.")
        bank = join_starts(args.join, cartridge)
        save_bank(args.file, bank, cartridge)
        print(f"{args.file}: {len(bank.rows)} states")
        return 0
    states = 64 if args.states is None else args.states
    steps = 250 if args.max_steps is None else args.max_steps
    if args.wander and cartridge.sha256 != read_rom(OURS).sha256:
        raise ConfigError("--wander: only Lantern Walk can be walked through")
    others = [load_starts(name, cartridge) for name in args.but_not]
    bank = make_bank(cartridge, states, args.seed or 0, steps, others, wander=args.wander)
    save_bank(args.file, bank, cartridge)
    print(f"{args.file}: {states} states")
    return 0


def add_goal(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``goal capture`` and ``goal replay``."""
    commands = parser.add_subparsers(dest="goal_command", required=True, metavar="command")
    for name, about in (("capture", CAPTURE), ("replay", REPLAY)):
        command = commands.add_parser(name, help=about, description=about)
        add = command.add_argument
        add("folder", help="folder of the template, or name of a built-in one")
        add("--actions", required=True, metavar="FILE", help="actions, one JSON list per line")
        add("--rom", metavar="FILE", default=OURS, help=ROM)
        about = f"start states: a bank, a save state, or one of {', '.join(BANKS)}"
        add("--states", help=about)
        about = "index of the start state in the bank; default 0"
        add("--start-state", type=int, default=0, help=about)
    add = commands.choices["capture"].add_argument
    add("--pixels", default="72x80", help="size of a frame; default 72x80")
    about = "buttons of each action; default all8"
    add("--action-codec", default="all8", choices=CODECS, help=about)
    add("--frames-per-step", type=int, default=24, help="frames per step; default 24")
    about = "frames that buttons are held in a step; default 8"
    add("--release-after-frames", type=int, default=8, help=about)
    add("--planes", type=int, default=1, help="number of frames to compare; default 1")
    add("--tau", type=float, default=TAU, help=f"distance threshold; default {TAU}")
    about = f"successive steps below the threshold; default {K_CONSECUTIVE}"
    add("--k-consecutive", type=int, default=K_CONSECUTIVE, help=about)
    commands.choices["replay"].add_argument("--calibrate", action="store_true", help=CALIBRATE)


def run_goal(args: argparse.Namespace) -> int:
    """Run ``goal capture`` or ``goal replay``."""
    return capture_goal(args) if args.goal_command == "capture" else replay_goal(args)


def capture_goal(args: argparse.Namespace) -> int:
    """Write the template of the picture behind some actions, in place of one that is there."""
    check_folder(args.folder)
    prepare("folder", Path(args.folder) / "goal.npy")
    names = ("rom", "states", "start_state", "pixels", "action_codec", "frames_per_step")
    options = {name: getattr(args, name) for name in (*names, "release_after_frames")}
    game = make_game(kind="pixels", stack_k=args.planes, **_with_states(options))
    actions = read_actions(args.actions, game.config)
    save_goal(args.folder, capture(game, actions, args.planes, args.tau, args.k_consecutive))
    print(f"{args.folder}: the picture behind {len(actions)} steps")
    return 0


def _with_states(options: dict[str, Any]) -> dict[str, Any]:
    """Return options with the start states of Lantern Walk, unless others were given."""
    if options["states"] is None and options["rom"] == OURS:
        return options | {"states": OURS}
    return options


def replay_goal(args: argparse.Namespace) -> int:
    """Say whether some actions reach the goal of a template; the status is 1 if not."""
    found = load_goal(args.folder)
    names = ("action_codec", "frames_per_step", "release_after_frames")
    options = {name: getattr(found, name) for name in names}
    options["pixels"] = {72: "72x80", 84: "84x84", 144: "160x144"}.get(found.height, "")
    options |= {"rom": args.rom, "states": args.states, "start_state": args.start_state}
    game = make_game(
        kind="goal", goal=args.folder, stack_k=found.stack_k, max_steps=None,
        **_with_states(options),
    )  # fmt: skip
    reached, distances = replay(game, read_actions(args.actions, game.config))
    if args.calibrate:
        print(f"{calibrated(distances, found.k_consecutive):.4f}")
    if reached is None:
        print(f"not reached; the smallest distance is {min(distances, default=1.0):.4f}")
        return 1
    print(f"reached in step {reached} of {len(distances)}")
    return 0


def add_ram(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``ram search`` and ``ram import``."""
    commands = parser.add_subparsers(dest="ram_command", required=True, metavar="command")
    for name, about in (("search", SEARCH), ("import", IMPORT)):
        commands.add_parser(name, help=about, description=about)
    add = commands.choices["search"].add_argument
    add("states", nargs="+", metavar="FILE=VALUE", help="save states, in order")
    add("--rom", metavar="FILE", default=OURS, help=ROM)
    about = f"number types to search; default {' '.join(TYPES)}"
    add("--types", nargs="+", default=list(TYPES), metavar="TYPE", help=about)
    about = "maximum addresses to print; default 20"
    add("--most", metavar="N", type=int, default=20, help=about)
    add = commands.choices["import"].add_argument
    add("data", type=Path, help="stable-retro's data.json")
    add("--scenario", type=Path, help="stable-retro's scenario.json")
    add("--out", type=Path, required=True, help="RAM map to write")


def run_ram(args: argparse.Namespace) -> int:
    """Run ``ram search`` or ``ram import``."""
    return run_search(args) if args.ram_command == "search" else run_import(args)


def run_search(args: argparse.Namespace) -> int:
    """Print what fits all states; the status is 1 if nothing does.

    Raises
    ------
    ConfigError, StateError
        What is no state with a value, or a state of another ROM.
    """
    if args.most < 0:
        raise ConfigError(f"--most {args.most}: must be at least 0")
    cartridge, search = read_rom(args.rom), RamSearch(args.types)
    for given in args.states:
        path, equals, text = given.rpartition("=")
        if not (path and equals):
            raise ConfigError(f"{show(given)} is not possible: it must be FILE=VALUE.")
        value = int(text) if re.fullmatch(r"-?[0-9]{1,20}", text) else text
        try:
            row = load_state(path, cartridge)
        except FileError as error:
            raise ConfigError(f"states: {error}") from error
        print(f"{given}: {search.keep(row, value):,} of {search.total:,} are left")
    for field in search.found(args.most):
        print(json.dumps(field))
    return 0 if len(search) else 1


def run_import(args: argparse.Namespace) -> int:
    """Write the RAM map, and name what it leaves out.

    Raises
    ------
    ConfigError
        For what no RAM map can say; nothing is written.
    """
    prepare("--out", args.out)
    values = []
    for path in (args.data, args.scenario):
        try:
            values.append(None if path is None else read_json(path, _LARGEST))
        except FileError as error:
            raise ConfigError(str(error)) from error
    found, left_out = import_retro(*values)
    read_program(found, str(args.data), "pixels")
    write_bytes(args.out, json.dumps(found, indent=1).encode("utf-8") + b"\n")
    for part in left_out:
        print(f"left out: {part}")
    print(f"{args.out}: {len(found['fields'])} fields")
    return 0


# name -> what it does, what adds its options, what runs it, an example
COMMANDS = {
    "bank": (BANK, add_bank, write_bank, "states.npz --states 16 --seed 3"),
    "ram": (RAM, add_ram, run_ram, "search before.state=3 after.state=more"),
    "goal": (GOAL, add_goal, run_goal, "capture cellar --actions walk.jsonl"),
}
