"""Capture a goal template, or replay the actions that led to one (docs/gameboy.md, 19).

``python -m fastenv.gameboy.goal capture FOLDER --actions FILE`` takes the actions of a file from a
start state and makes the picture behind them the goal. ``replay`` takes the actions in the
environment of a template: the exit status is 0 if its goal is reached on the way, else 1. With
``--calibrate`` it prints a threshold in the middle between the largest distance of steps at the
goal (the last ones, as many as must follow one another) and the smallest one of the others.

A file of actions has one line of JSON a step, a list of one number, ``[5]``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, FastEnvError, FileError
from fastenv.files import parse_json, read_regular, show_path
from fastenv.gameboy import GameBoyGame, make_game
from fastenv.gameboy.config import CODECS, OURS, GameBoyConfig
from fastenv.gameboy.frames import unpack
from fastenv.gameboy.goals import GoalTemplate, load_goal, save_goal
from fastenv.gameboy.starts import BANKS
from fastenv.gameboy.state import state_dtype

Array = npt.NDArray[Any]
TAU, K_CONSECUTIVE = 0.05, 2
_LARGEST = 1 << 24  # bytes of a file of actions


def read_actions(path: str | Path, config: GameBoyConfig) -> list[int]:
    """Return the actions of a file.

    Raises
    ------
    ConfigError
        Naming the line that is no list of one action.
    """
    found = []
    try:
        lines = read_regular(path, _LARGEST).splitlines()
    except FileError as error:
        raise ConfigError(f"actions: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            values = parse_json(line, f"line {number}")
        except FileError:
            values = None
        last = len(config.actions) - 1
        right = isinstance(values, list) and len(values) == 1 and type(values[0]) is int
        if not right or not 0 <= values[0] <= last:
            raise ConfigError(
                f"actions: {show_path(path)}: line {number} must be a list of one action, 0 to "
                f"{last}."
            )
        found.append(values[0])
    return found


def write_actions(path: str | Path, actions: Sequence[int]) -> None:
    """Write actions to a file."""
    Path(path).write_text("".join(f"[{action}]\n" for action in actions), encoding="utf-8")


def capture(
    game: GameBoyGame, actions: Sequence[int], planes: int, tau: float, k_consecutive: int
) -> GoalTemplate:
    """Return the template of the frames behind some actions.

    Parameters
    ----------
    game : GameBoyGame
        Of any kind.
    actions : sequence of int
        From its start state on.
    planes : int
        Frames that are compared: 1, the newest one, or all of the environment's.
    tau, k_consecutive : float, int
        Of the template.

    Raises
    ------
    ConfigError
        If ``planes`` is neither, or an episode ends on the way.
    """
    config, form = game.config, game.config.format
    if planes not in (1, config.stack_k):
        raise ConfigError(f"planes={planes} is not possible: it must be 1 or {config.stack_k}.")
    engine = BatchEngine(game, 1)
    engine.reset_many(seeds=0)
    start = engine.get_states()
    for step, action in enumerate(actions, 1):
        engine.step_many(np.array([action]), autoreset=False)
        if engine.ended[0] and step < len(actions):
            raise ConfigError(f"actions are not possible: the episode ends with step {step}.")
    stack = engine.get_states()[0]["stack"]
    size = len(form.ys), len(form.xs)
    shades = np.array(unpack(stack[-planes:].tobytes()), np.uint8).reshape(planes, *size)
    return GoalTemplate(
        shades if planes > 1 else shades[0],
        rom_sha256=game.common.cartridge.sha256,
        state_sha256=_machine_hash(start, game.common.cartridge.ram_size),
        actions_sha256=_hash(json.dumps(list(actions)).encode("ascii")),
        action_codec=config.action_codec,
        frames_per_step=config.frames_per_step,
        release_after_frames=config.release_after_frames,
        height=size[0],
        width=size[1],
        stack_k=planes,
        tau=tau,
        k_consecutive=k_consecutive,
    )


def _machine_hash(lane: Array, cart_ram: int) -> str:
    """Return the SHA-256 of the machine of a row."""
    machine = np.zeros(1, state_dtype(cart_ram))
    for name in machine.dtype.names or ():
        machine[name] = lane[name]
    return _hash(machine.tobytes())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def replay(game: GameBoyGame, actions: Sequence[int]) -> tuple[int | None, list[float]]:
    """Return the step in which a goal is reached, if it is, and the distances of all steps.

    Parameters
    ----------
    game : GameBoyGame
        Of kind ``goal``; the actions go on behind its goal, but not behind a truncation.
    actions : sequence of int
    """
    engine, reached, distances = BatchEngine(game, 1, info_columns=["dist"]), None, []
    engine.reset_many(seeds=0)
    for step, action in enumerate(actions, 1):
        engine.step_many(np.array([action]), autoreset=False)
        distances.append(float(engine.info["dist"][0]))
        if engine.truncated[0]:
            break
        if engine.terminated[0]:
            reached = step if reached is None else reached
            rows = engine.get_states()
            rows["done"] = 0
            engine.set_states(rows, trusted=True)
    return reached, distances


def calibrated(distances: Sequence[float], at_goal: int) -> float:
    """Return a threshold between the last steps, which are at the goal, and all others.

    Raises
    ------
    ConfigError
        If there is none: a step before is as near as one at the goal.
    """
    inside, outside = max(distances[-at_goal:]), min(distances[:-at_goal], default=1.0)
    if outside <= inside:
        raise ConfigError(
            f"tau cannot be found: a step away from the goal is {outside:.4f} from it, one at the "
            f"goal {inside:.4f}."
        )
    return (inside + outside) / 2


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(
        prog="python -m fastenv.gameboy.goal",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parse.add_subparsers(dest="command", required=True)
    for name, about in (("capture", "make a template"), ("replay", "try one")):
        command = commands.add_parser(name, help=about)
        command.add_argument("folder", help="of the template, or the name of one of ours")
        command.add_argument("--actions", required=True, metavar="FILE")
        command.add_argument("--rom", default=OURS, help="a ROM file; default: Lantern Walk")
        command.add_argument("--states", help=f"a bank, a save state, or one of {', '.join(BANKS)}")
        command.add_argument("--start-state", type=int, default=0, help="of the bank; default 0")
    captures = commands.choices["capture"]
    captures.add_argument("--pixels", default="72x80", help="of a frame; default 72x80")
    captures.add_argument("--action-codec", default="all8", choices=CODECS)
    captures.add_argument("--frames-per-step", type=int, default=24)
    captures.add_argument("--release-after-frames", type=int, default=8)
    captures.add_argument("--planes", type=int, default=1, help="frames compared; default 1")
    captures.add_argument("--tau", type=float, default=TAU, help=f"default {TAU}")
    captures.add_argument("--k-consecutive", type=int, default=K_CONSECUTIVE)
    commands.choices["replay"].add_argument("--calibrate", action="store_true")
    return parse


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        return _capture(args) if args.command == "capture" else _replay(args)
    except (OSError, FastEnvError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _capture(args: argparse.Namespace) -> int:
    names = ("rom", "states", "start_state", "pixels", "action_codec", "frames_per_step")
    options = {name: getattr(args, name) for name in (*names, "release_after_frames")}
    game = make_game(kind="pixels", stack_k=args.planes, **_with_states(options))
    actions = read_actions(args.actions, game.config)
    save_goal(args.folder, capture(game, actions, args.planes, args.tau, args.k_consecutive))
    print(f"{args.folder}: the picture behind {len(actions)} steps")
    return 0


def _with_states(options: dict[str, Any]) -> dict[str, Any]:
    """Return options with the states from which goals of our ROM are captured unless told."""
    if options["states"] is None and options["rom"] == OURS:
        return options | {"states": OURS}
    return options


def _replay(args: argparse.Namespace) -> int:
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


if __name__ == "__main__":
    sys.exit(main())
