"""Play a game in the terminal, by keys or by numbers of actions, or watch a bot play."""

from __future__ import annotations

import argparse
import shutil
import time
from textwrap import fill
from typing import Any

import numpy as np

import fastenv
from fastenv.engine import rng_streams
from fastenv.game import Steering
from fastenv.keys import Keys
from fastenv.registry import make_game


def play(args: argparse.Namespace) -> int:
    """Run ``python -m fastenv play``; return its exit status."""
    game = make_game(args.env, **dict(args.set))
    env = fastenv.FastEnv(game, render_mode="ansi", opponent=args.opponent)
    env.reset(seed=args.seed)
    if env.game.goal:
        print(fill(env.game.goal, _columns()))
    if args.bot or env.game.steering(env.get_state()) is None:
        return play_episode(env, args, None)
    with Keys() as keys:
        return play_episode(env, args, keys)


def play_episode(env: Any, args: argparse.Namespace, keys: Keys | None) -> int:
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
                else steer(steering, keys)
            )
            if chosen is None:
                return 0
            action = chosen
        _, reward, terminated, truncated, _ = env.step(action)
        total, done = total + reward, terminated or truncated
    steering = None if keys is None else env.game.steering(env.get_state())
    shown = env.render() if steering is None else steering.text()
    print(f"{written_over(shown, keys)}\n\nreturn {total:.2f}")
    return 0


def written_over(text: str, keys: Keys | None) -> str:
    """Return text as it is written over what the terminal shows; of lines, below it."""
    if keys is None or not keys.single:
        return f"\n{text}"
    return "\x1b[H" + text.replace("\n", "\x1b[K\n") + "\x1b[J"


def steer(steering: Steering, keys: Keys) -> int | None:
    """Return the action chosen by keys, or None to leave."""
    due = time.monotonic() + steering.frame_time
    while True:
        print(written_over(f"{steering.text()}\n\n{steering.keys}", keys), flush=True)
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
