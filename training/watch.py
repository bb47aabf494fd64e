"""Watch a trained agent play: ``python -m training.watch PATH``, or ``--out game.gif``.

It plays an episode of the environment it was trained for. In the terminal every decision is shown
with what it chose; a GIF or an MP4 has a picture of each.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from fastenv.errors import FastEnvError
from training.run import games
from training.run.values import require


def episode(policy: Any, env: Any, seed: int, max_steps: int) -> Iterator[str | None]:
    """Play an episode, and stop before each decision and at the end.

    Parameters
    ----------
    policy : Policy
    env : gymnasium.Env
        Of ``policy.make``.
    seed : int
    max_steps : int
        Decisions after which the rest is left out.

    Yields
    ------
    str or None
        What the policy is about to do; None at the end.
    """
    obs, _ = env.reset(seed=seed)
    state, best = None, not games.of(policy.env).draws
    rng = np.random.default_rng(seed)
    for _ in range(max_steps):
        action, state = policy.act(obs, env.action_masks(), state, deterministic=best, rng=rng)
        yield env.unwrapped.game.action_name(action, env.unwrapped.get_state())
        obs, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            break
    yield None


def show(console: Console, policy: Any, args: argparse.Namespace) -> None:
    """Show an episode in the terminal."""
    env, delay = policy.make(render_mode="ansi", **args.options), args.delay
    if delay is None:
        delay = 1.0 if console.is_terminal else 0.0
    for step, choice in enumerate(episode(policy, env, args.seed, args.max_steps)):
        over = "the end" if env.unwrapped.engine.ended[0] else f"cut off after {step} decisions"
        console.rule(f"decision {step + 1}" if choice is not None else over, style="dim")
        console.print(Text.from_ansi(env.render()), no_wrap=True, overflow="crop")
        if choice is not None:
            console.print(Text(f"\n{args.name} chooses {choice}", "bold cyan"))
            time.sleep(delay)
    if env.unwrapped.engine.ended[0]:
        console.print(f"return {env.unwrapped.engine.ep_return[0]:.2f}, seed {args.seed}")


def film(policy: Any, args: argparse.Namespace) -> int:
    """Write an episode as a film; return its decisions."""
    from training.logs import film as films

    films.check(args.out)
    env = policy.make(render_mode="rgb_array", **args.options)
    pictures = [env.render() for _ in episode(policy, env, args.seed, args.max_steps)]
    films.write(args.out, [*pictures, pictures[-1]], args.fps)
    return len(pictures) - 1


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(prog="python -m training.watch", description=__doc__)
    parse.add_argument("path", help="of a trained agent, or the name of a run")
    parse.add_argument("--opponents", help="bots to play with; default those of the training")
    parse.add_argument("--seed", type=int, default=0, help="of the episode")
    parse.add_argument("--max-steps", type=int, default=300, help="decisions to show; default 300")
    parse.add_argument("--delay", type=float, help="seconds of a decision in the terminal")
    parse.add_argument("--out", type=Path, help="write a film: .gif or .mp4")
    parse.add_argument("--fps", type=float, default=1.0, help="pictures a second of a film")
    parse.add_argument("--runs", default="runs", help="folder of all runs")
    return parse


def _watch(args: argparse.Namespace) -> None:
    from training.policies.load import load_policy

    require(0 <= args.seed < 2**40, "--seed", args.seed, "from 0 to 2**40 - 1")
    require(args.max_steps >= 1, "--max-steps", args.max_steps, "at least 1")
    for name in ("delay", "fps"):
        value = getattr(args, name)
        possible = value is None or (0 if name == "delay" else 0.01) <= value < math.inf
        require(possible, f"--{name}", value, "a finite number above 0")
    named = Path(args.runs) / args.path
    policy = load_policy(named if not Path(args.path).exists() and named.exists() else args.path)
    args.options = {} if args.opponents is None else {"opponents": args.opponents}
    args.name = policy.path.parents[1].name
    if args.out is None:
        show(Console(highlight=False), policy, args)
        return
    count = film(policy, args)
    print(f"{args.out}: {count} decisions, {args.out.stat().st_size / 1e6:.1f} MB")


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        _watch(args)
    except KeyboardInterrupt:
        print()
    except (FastEnvError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
