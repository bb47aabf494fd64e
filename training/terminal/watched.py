"""Players to watch, and their episodes: in the terminal, or as a film."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

import fastenv
from fastenv.registry import short_id
from training.players.names import Agent, load_who, maker, name_in_line
from training.players.network import in_own_env
from training.players.player import MakePlayer, begin_all, every_lane
from training.players.policy import Policy
from training.players.table import find_table
from training.players.trained import load_policy
from training.run import games
from training.run.names import is_search
from training.run.options import require
from training.run.seating import SEATING
from training.terminal.thinking import Thoughts


@dataclass(frozen=True)
class Watched:
    """A player to watch.

    Parameters
    ----------
    name : str
    make : callable
        Returns an environment, given its ``render_mode``.
    player : callable
        Makes the player, given the engine of that environment.
    thoughts : Thoughts or None
        Its thoughts; None where they are not shown.
    """

    name: str
    make: Callable[..., Any]
    player: MakePlayer
    thoughts: Thoughts | None = None


def trained(
    path: str, runs: Path, options: Mapping[str, Any], think: bool = False, sample: bool = False
) -> Watched:
    """Load a trained agent with the environment of its training; ``sample`` draws its actions.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If there is none.
    """
    if is_search(path):
        agent = load_who(path, runs)
        assert not isinstance(agent, str | Policy)
        allowed = "search:RUN, or with --env search:BOT"
        require(isinstance(agent.base, Policy), "who", path, allowed)
        assert isinstance(agent.base, Policy)
        return searching(agent, _make_env_maker(agent.base, options), think)
    require(not think, "--think", think, "left out: none of them searches")
    named = Path(path) if Path(path).exists() else runs / path
    allowed = "the path of a trained agent, the name of a run, or with --env a scripted player"
    require(named.exists(), "who", path, allowed)
    policy = load_policy(named)
    make, player = partial(policy.make, **options), partial(in_own_env, policy, sample=sample)
    return Watched(name_in_line(policy), make, player)


def searching(agent: Agent, make: Callable[..., Any], think: bool) -> Watched:
    """Make an agent that searches, to watch."""
    return Watched(name_in_line(agent), make, agent.player, Thoughts(think))


def _make_env_maker(policy: Policy, options: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a function that makes an agent's environment, of whole games if it knows a part."""
    if short_id(policy.env) not in games.get_game(policy.env).table.parts:
        return partial(policy.make, **options)
    table, learnt = find_table([policy]), policy.env_spec.options
    seating = {name: learnt[name] for name in SEATING if name in learnt}
    return partial(fastenv.make, table.env, **{**table.options, **seating, **options})


def scripted(name: str, env: str, options: Mapping[str, Any], think: bool = False) -> Watched:
    """Make a scripted player, or one that looks ahead by a file, with an environment.

    Raises
    ------
    ConfigError
        If there is no such player, environment or option.
    """
    make = partial(fastenv.make, env, **options)
    if is_search(name):
        agent = load_who(name)
        assert not isinstance(agent, str | Policy)
        return searching(agent, make, think)
    check_think(think, [name], fastenv.make_game(env, **options))
    kind, *behind = name.split(":")
    short = ":".join((kind, *behind[1:]))  # without the file
    return Watched(short, make, maker(name), Thoughts(True) if think else None)


def check_think(think: bool, names: Sequence[str], game: Any) -> None:
    """Refuse ``--think`` where none of the players of a game has anything to show."""
    thinks = any(is_search(name) or name in game.bots_that_look_ahead for name in names)
    ahead = ", ".join(game.bots_that_look_ahead)
    allowed = f"left out: none of them searches{ahead and f' or is one of {ahead}'}"
    require(not think or thinks, "--think", think, allowed)


@dataclass(frozen=True)
class Episode:
    """An episode that can be followed.

    Parameters
    ----------
    steps : iterator of str or None
        Stops before each decision and describes it; None at the end.
    draw : callable
        Returns the state, in the mode that was asked for.
    is_over : callable
        Returns whether it has ended, or was cut off.
    result : callable
        Describes the result.
    say : callable
        Prints the thought of the decision that is about to be made.
    """

    steps: Iterator[str | None]
    draw: Callable[[], Any]
    is_over: Callable[[], bool]
    result: Callable[[], str]
    say: Callable[[Console], None] = lambda console: None


def alone(who: Watched, seed: int, max_steps: int, mode: str) -> Episode:
    """Make an episode of one player in an environment.

    Parameters
    ----------
    who : Watched
    seed : int
    max_steps : int
        Decisions after which the rest is left out.
    mode : {"ansi", "rgb_array"}
        What it is drawn as.
    """
    env: Any = who.make(render_mode=mode)
    engine, thoughts = env.unwrapped.engine, who.thoughts
    player, lane = who.player(engine), every_lane(engine)
    if thoughts is not None:
        thoughts.listen([player])
    chosen: list[int] = []  # the action that is about to be taken

    def steps() -> Iterator[str | None]:
        env.reset(seed=seed)
        begin_all(player, engine, seed)
        for _ in range(max_steps):
            action = int(player.act(engine, lane)[0])
            if thoughts is not None:
                thoughts.hear(player)
            chosen[:] = [action]
            name = env.unwrapped.game.action_name(action, env.unwrapped.get_state())
            yield f"{who.name} chooses {name}"
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                break
        chosen.clear()
        yield None

    def draw() -> Any:
        if not chosen:
            return env.render()
        return env.unwrapped.game.render_choice(env.unwrapped.get_state(), chosen[0], mode)

    def say(console: Console) -> None:
        if thoughts is not None:
            game, row = env.unwrapped.game, env.unwrapped.get_state()
            thoughts.draw(console, lambda action: game.action_name(action, row))

    return Episode(
        steps(),
        draw,
        lambda: bool(engine.ended[0]),
        lambda: f"return {engine.ep_return[0]:.2f}",
        say,
    )


def show(console: Console, episode: Episode, args: argparse.Namespace) -> None:
    """Show an episode in the terminal."""
    delay = args.delay
    if delay is None:
        delay = 1.0 if console.is_terminal else 0.0
    for step, choice in enumerate(episode.steps):
        over = "the end" if episode.is_over() else f"cut off after {step} decisions"
        console.rule(f"decision {step + 1}" if choice is not None else over, style="dim")
        console.print(Text.from_ansi(episode.draw()), no_wrap=True, overflow="crop")
        if choice is not None:
            episode.say(console)
            console.print(Text(f"\n{choice}", "bold cyan"))
            time.sleep(delay)
    if episode.is_over():
        console.print(f"{episode.result()}, seed {args.seed}")


def film(episode: Episode, args: argparse.Namespace) -> int:
    """Write an episode as a film; return its decisions."""
    from training.logs import film as films

    films.check(args.out)
    pictures = [episode.draw() for _ in episode.steps]
    films.write(args.out, [*pictures, pictures[-1]], args.fps)
    return len(pictures) - 1
