"""Who plays what in a terminal: sources of a session, made from the words of a command."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import fastenv
from fastenv import BatchEngine
from fastenv.registry import short_id
from training.callbacks.shaping import make_potential
from training.evaluation import replays
from training.evaluation.contest import load_players, table_of
from training.evaluation.evaluation import Entrant
from training.players.bots import Recorded
from training.players.contest_table import ContestTable, find_table
from training.players.names import SearchingAgent, find_base, load_who, make_player, name_in_line
from training.players.network import in_own_env
from training.players.person import Person
from training.players.player import MakePlayer
from training.players.policy import Policy
from training.players.trained import find_run, load_policy
from training.playing.decision import name_adviser
from training.playing.game_table import number_names
from training.run import games
from training.run.envs import make_engine, with_defaults
from training.run.game_view import YOU
from training.run.options import require
from training.run.registry import DEFAULT_ENVS
from training.run.seating import SEATING, is_search, without_seating
from training.terminal.session import Source


def make_watched(args: argparse.Namespace) -> Source:
    """Make the source of ``watch``: one player in its environment, or several at a table.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If somebody cannot play there.
    """
    options = dict(args.set)
    if args.against is not None:
        allowed = "left out with --against, which says who plays"
        require(args.opponents is None, "--opponents", args.opponents, allowed)
        return _make_watched_table([args.path, *args.against], args, options)
    if args.opponents is not None:
        options["opponents"] = args.opponents
    if args.env is None:
        return make_trained(args.path, args.runs, options, args.think, args.sample)
    return make_scripted(args.path, args.env, options, args.think)


def make_trained(
    path: str,
    runs: Path,
    options: Mapping[str, Any],
    think: bool = False,
    sample: bool | None = None,
) -> Source:
    """Make the source of a trained agent in the environment of its training.

    ``sample`` draws its actions.

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
        return _make_alone(agent, *_find_whole_game(agent.base, options), agent.player)
    require(not think, "--think", think, "left out: none of them searches")
    named = Path(path) if Path(path).exists() else runs / path
    allowed = "the path of a trained agent, the name of a run, or with --env a scripted player"
    require(named.exists(), "who", path, allowed)
    policy = load_policy(named)
    policy.make(**options).close()  # or it is refused
    merged = {**policy.env_spec.options, **options}
    return _make_alone(policy, policy.env, merged, partial(in_own_env, policy, sample=sample))


def _find_whole_game(policy: Policy, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Find an agent's environment and its options, of whole games if it knows a part."""
    learnt = policy.env_spec.options
    if short_id(policy.env) not in games.get_game(policy.env).table.parts:
        policy.make(**options).close()  # or it is refused
        return policy.env, {**learnt, **options}
    table = find_table([policy])
    seating = {name: learnt[name] for name in SEATING if name in learnt}
    return table.env, {**table.options, **seating, **options}


def _make_alone(
    who: Policy | SearchingAgent, env: str, options: Mapping[str, Any], player: MakePlayer
) -> Source:
    base = find_base(who)
    policies = {0: base} if isinstance(base, Policy) else {}
    make = partial(_make_engine, env, options)
    return Source(env, options, make, [name_in_line(who)], [player], policies)


def _make_engine(env: str, options: Mapping[str, Any], num_envs: int) -> Any:
    """Make the engine behind the environments of an id."""
    vec: Any = fastenv.make_vec(env, num_envs, **options)
    return vec.unwrapped.engine


def make_scripted(name: str, env: str, options: Mapping[str, Any], think: bool = False) -> Source:
    """Make the source of a scripted player, or one that looks ahead by a file.

    Raises
    ------
    ConfigError
        If there is no such player, environment or option.
    """
    if is_search(name):
        agent = load_who(name)
        assert not isinstance(agent, str | Policy)
        return _make_alone(agent, env, options, agent.player)
    check_think(think, [name], fastenv.make_game(env, **options))
    kind, *behind = name.split(":")
    short = ":".join((kind, *behind[1:]))  # without the file
    return Source(
        env, options, partial(_make_engine, env, options), [short], [partial(make_player, name)]
    )


def show_more(source: Source) -> Source:
    """Return a source whose engines write all small columns of state and reward.

    Beside them stands what the training of an agent alone has left, and added to its rewards.
    """
    agent = source.policies.get(0) if len(source.names) == 1 else None
    shaped = agent is not None and agent.config.shaping is not None
    return replace(
        source,
        engine=lambda num_envs: _show_columns(source.engine(num_envs)),
        potential=partial(make_potential, agent.config) if agent and shaped else None,
        run=None if agent is None else find_run(agent.path)[0].path,
    )


def _show_columns(engine: Any) -> Any:
    if type(engine) is not BatchEngine:
        return engine
    game = engine.game
    sizes = {name: game.spec.info_dtype[name].itemsize for name in game.spec.info_columns}
    small = [name for name, size in sizes.items() if size <= 64]
    return BatchEngine(
        *(game, engine.num_envs, engine.backend),
        info_columns=(*small, *game.spec.term_columns),
        opponent=engine.opponent,
        agent_seat=engine.agent_seat,
    )


def check_think(think: bool, names: Sequence[str], game: Any) -> None:
    """Refuse ``--think`` where none of the players of a game has anything to show."""
    thinks = any(is_search(name) or name in game.bots_that_look_ahead for name in names)
    ahead = ", ".join(game.bots_that_look_ahead)
    allowed = f"left out: none of them searches{ahead and f' or is one of {ahead}'}"
    require(not think or thinks, "--think", think, allowed)


def _make_watched_table(
    names: Sequence[str], args: argparse.Namespace, options: Mapping[str, Any]
) -> Source:
    """Make the source of players who meet.

    The first has seat 0; if they are fewer than the seats, they take several, in turns.
    """
    entrants = load_players(names, Path(args.runs))
    table = table_of(entrants, args.env, options)
    seats = table.seats.count
    require(len(entrants) <= seats, "--against", names[1:], f"1 to {seats - 1} players")
    seated = [entrants[k % len(entrants)] for k in range(seats)]
    check_think(args.think, names, table.make(1).game)
    return _make_seated(table, seated, args.sample)


def _make_seated(table: ContestTable, seated: Sequence[Entrant], sample: bool | None) -> Source:
    """Make the source of a table whose seats are taken."""
    names = number_names([each.short for each in seated])
    players = [partial(make_player, each.who, sample=sample) for each in seated]
    policies = {k: each.who for k, each in enumerate(seated) if isinstance(each.who, Policy)}
    return Source(table.env, table.options, table.make, names, players, policies)


def make_played(args: argparse.Namespace) -> Source:
    """Make the source of ``play``: a person, alone or at a table.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If somebody cannot sit at the table.
    """
    options, against = dict(args.set), args.against
    if not against:
        env = args.env or DEFAULT_ENVS["play"]
        whole = with_defaults(env, options)
        against = _find_default_players(env, whole)
        if not against:
            require(args.seat == 0, "--seat", args.seat, "left out without --against")
            make = partial(make_engine, env, options=options)
            person = _make_person(args, [], make(1).game)
            return Source(env, whole, make, [YOU], [person], most=1)
    entrants = load_players(against, Path(args.runs))
    trained = any(not isinstance(each.who, str) for each in entrants)
    env = args.env if args.env or trained else DEFAULT_ENVS["play"]
    table = table_of(entrants, env, options)
    seats = table.seats.count
    require(len(entrants) < seats, "--against", against, f"1 to {seats - 1} players")
    require(0 <= args.seat < seats, "--seat", args.seat, f"from 0 to {seats - 1}")
    seated = [entrants[k % len(entrants)] for k in range(seats - 1)]
    seated.insert(args.seat, Entrant(YOU, _make_person(args, against, table.make(1).game)))
    return replace(_make_seated(table, seated, args.sample), most=1)


def _make_person(args: argparse.Namespace, against: Sequence[str], game: Any) -> MakePlayer:
    """Return what makes the person, with an adviser if one is asked for (``--think``)."""
    if args.think is None:
        return Person
    bots = game.bot_names
    usual = (
        *filter(is_search, against),
        *(name for name in against if name not in bots),
        *(against or bots[-1:]),
    )
    name = args.think or next(iter(usual), "")
    allowed = "given a name: this game has no bots that could search"
    require(bool(name), "--think", name, allowed)
    adviser = load_who(name_adviser(name), Path(args.runs))
    return lambda engine: Person(engine, make_player(adviser, engine))


def _find_default_players(env: str, options: Mapping[str, Any]) -> list[str]:
    """Find the default players of the other agents of a game; none in a game for one.

    Raises
    ------
    ConfigError
        If the game names nobody either.
    """
    game = fastenv.make_game(env, **without_seating(options))
    if game.spec.num_agents == 1:
        return []
    opponent = options.get("opponent", game.spec.opponent)
    names = f"; there are {', '.join(game.bot_names)}" if game.bot_names else ""
    allowed = f"given: nobody plays the others by default here{names}"
    require(opponent is not None, "--against", None, allowed)
    return [opponent] if isinstance(opponent, str) else list(opponent)


# -- what was recorded -----------------------------------------------------------------------------


def make_replay(replay: replays.Replay, name: str, backend: str = "auto") -> Source:
    """Make the source of a recorded episode."""
    head, actions = replay.head, replay.actions
    return Source(
        short_id(head["env"]),
        head["options"],
        partial(make_engine, head["env"], options=head["options"], backend=backend),
        [name],
        [lambda engine: Recorded(actions, behind=0)],
        most=1,
        seed=head["seed"],
        limit=len(actions),
        notes=[", ".join(frame["events"]) for frame in replay.frames],
    )
