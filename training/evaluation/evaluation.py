"""An evaluation as data: players, opponents and episodes; and the loop that plays it.

An :class:`Evaluation` describes it, and :func:`play` plays it. A table of ``training evaluate``, a
contest, a point of the curve of a training, a comparison over seeds and a best response are such
data (:mod:`training.evaluation.judging` makes them of what a game says), and their
:class:`training.evaluation.results.Results` is what tables and records are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import fastenv
from fastenv import BatchEngine
from fastenv.seats import Opponent
from fastenv.ticker import tell_progress
from training.evaluation.intervals import RESAMPLES
from training.evaluation.loop import GiveUp, Loop, Prepare
from training.evaluation.results import Estimates, Recorder, Results, add_costs, join
from training.players.names import AnyPlayer, find_base, make_player, name_in_line
from training.players.policy import Policy
from training.run.envs import make_engine, with_defaults
from training.run.options import require
from training.run.seating import without_seating

# Looks at an engine after a step of some lanes, int (k,).
Watch = Callable[[Any, np.ndarray], None]
LANES = 512  # that play at once where episodes are of no match
DEFAULT_EPISODES, MAX_STEPS = 300, 30_000


@dataclass(frozen=True)
class Entrant:
    """A participant of an evaluation and its name in tables.

    Parameters
    ----------
    name : str
    who : Policy, SearchingAgent, str or callable
        A trained agent, an agent with search, the name of a bot, or what makes a player.
    """

    name: str
    who: AnyPlayer

    @property
    def base(self) -> Policy | str:
        """The trained agent or the bot behind it: itself, unless it searches."""
        return find_base(self.who)  # type: ignore[arg-type]

    @property
    def short(self) -> str:
        """The name in a line of text."""
        return self.name if callable(self.who) else name_in_line(self.who)


@dataclass(frozen=True)
class Evaluation:
    """The episodes, players, opponents and measures of an evaluation.

    Parameters
    ----------
    name : str
        What tables and records call what is played, such as ``against 3 x rule_hard``.
    env : str
        Environment id.
    options : mapping
        Of the environment.
    who : sequence of Entrant or str
        Those who play the same episodes, one after the other, in the learner's seat; at a table,
        those who sit there together. A bot may be there by its name.
    against : str or sequence of str or Entrant, optional
        Who has the other seats: bots or agents that the environment itself lets play, by option; at
        a table, those who sit behind ``who``.
    seeds : range
        Of the episodes, or of the deals.
    rotations : int
        How often each deal is played, the players one seat further each time; 1 without deals.
    at_table : bool
        All seats are played from outside, by ``who`` and ``against`` together.
    draws : int or None
        What players draw in the first episode has this seed, in the next one more, and of the next
        player one more; None draws from the seeds of the episodes.
    lanes : int or None
        Episodes that are played at once; default ``LANES`` at most. All games of deals always are.
    max_steps : int
        Decisions after which an episode is given up.
    measures : tuple of str
        Columns whose means are taken; empty for all that are measured.
    decides : str
        The column that ranks players.
    resamples, resample_seed : int
        Of the intervals.
    """

    name: str
    env: str
    options: Mapping[str, Any] = field(default_factory=dict)
    who: Sequence[Entrant | str] = ()
    against: Opponent | Sequence[Entrant | str] | None = None
    seeds: range = range(DEFAULT_EPISODES)
    rotations: int = 1
    at_table: bool = False
    draws: int | None = None
    lanes: int | None = None
    max_steps: int = MAX_STEPS
    measures: tuple[str, ...] = ()
    decides: str = "return"
    resamples: int = RESAMPLES
    resample_seed: int = 0

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        require(len(self.seeds) >= 1, "episodes", len(self.seeds), "at least 1")
        require(self.max_steps >= 1, "max_steps", self.max_steps, "at least 1")
        require(self.resamples >= 1, "bootstrap", self.resamples, "at least 1")

    @property
    def players(self) -> list[str]:
        """The names of ``who``."""
        return [_make_entrant(each).name for each in self.who]

    @property
    def episodes(self) -> int:
        """Episodes of each who plays."""
        return len(self.seeds) * self.rotations

    def by(self, players: Mapping[str, AnyPlayer]) -> Evaluation:
        """Copy the evaluation with other players."""
        return replace(self, who=[Entrant(name, who) for name, who in players.items()])

    def estimate(self, played: Results) -> Estimates:
        """Estimate the means of its measures with their intervals."""
        names = [name for name in self.measures or played.measured if name in played]
        return played.estimate(names, resamples=self.resamples, seed=self.resample_seed)

    def make_engine(self) -> BatchEngine:
        """Make an engine to play on."""
        if self.at_table:
            return fastenv.make_engine(self.env, self.episodes, seats="all", **self.options)
        options = dict(self.options)
        if self.against is not None:
            seats = fastenv.make_game(self.env, **without_seating(options)).seats
            options["opponent" if seats is None else seats.opponents] = self.against
        count = self.episodes
        if self.rotations == 1:
            return make_engine(self.env, min(count, self.lanes or LANES), options)
        engine = make_engine(self.env, count, options)
        for seat in range(self.rotations):
            engine.configure("agent_seat", seat, np.arange(seat, count, self.rotations))
        return engine


def play(
    evaluation: Evaluation,
    engine: BatchEngine | None = None,
    *,
    keep_actions: Sequence[str] = (),
    prepare: Prepare | None = None,
    give_up: GiveUp | None = None,
    watch: Mapping[str, Watch] | None = None,
    sample: bool | None = None,
) -> Results:
    """Play an evaluation.

    Parameters
    ----------
    evaluation : Evaluation
    engine : BatchEngine, optional
        Of :meth:`Evaluation.make_engine`, if it is there already.
    keep_actions : sequence of str
        Players whose actions are to be kept.
    prepare, give_up : callable, optional
        See :class:`training.evaluation.loop.Loop`.
    watch : mapping of str to callable, optional
        Who looks at the engine after each step of a player.
    sample : bool, optional
        Whether trained agents draw their actions; default as is usual in their games.

    Returns
    -------
    Results
        A row for each episode; at a table for each episode and seat.
    """
    engine = evaluation.make_engine() if engine is None else engine
    who = [_make_entrant(each) for each in evaluation.who]
    if evaluation.at_table:
        against = evaluation.against or ()
        others = [against] if isinstance(against, str | Entrant) else against
        groups, seats = [[*who, *map(_make_entrant, others)]], len(who) + len(others)
    else:
        groups, seats = [[each] for each in who], 0
    number = np.arange(evaluation.episodes)
    seeds = np.array(evaluation.seeds)[number // evaluation.rotations]
    seating = (np.arange(seats) + number[:, None]) % seats if seats else None
    played = []
    for group in groups:
        names, draws = [each.name for each in group], None
        if evaluation.draws is not None:
            draws = [evaluation.draws + k + number for k in range(len(group))]
        players = [make_player(each.who, engine, sample=sample) for each in group]
        recorder = Recorder(engine, seeds, names, seating, names[0] in keep_actions)
        loop = Loop(
            *(engine, players, seeds, seating, draws, evaluation.max_steps),
            *(give_up, prepare, recorder.begun),
        )
        looks = (watch or {}).get(names[0])
        _play_all(loop, recorder, looks, "games" if evaluation.rotations > 1 else "episodes")
        played.append(
            replace(recorder.results(), costs=add_costs(zip(names, loop.costs, strict=True)))
        )
    return join(played)


def _play_all(loop: Loop, recorder: Recorder, watch: Watch | None, unit: str) -> None:
    """Play all episodes of a loop."""
    done = 0
    for step in loop:
        recorder.note(loop.engine, step)
        if watch is not None:
            watch(loop.engine, step.lanes)
        done += len(step.finished)
        if len(step.finished):
            tell_progress(done, len(loop.seeds), unit)


def _make_entrant(who: Entrant | str) -> Entrant:
    return Entrant(who, who) if isinstance(who, str) else who


# -- names -----------------------------------------------------------------------------------------


def count_players(env: str, options: Mapping[str, Any]) -> int:
    """Count the players that meet in an environment with these options."""
    rules = without_seating(with_defaults(env, options))
    return int(fastenv.make_game(env, **rules).spec.num_agents)


def name_sets(opponents: Sequence[Opponent]) -> dict[str, Opponent]:
    """Return opponent sets by their names in tables and records, each once.

    A set is named by one player for all other seats, or one for each.
    """
    sets: dict[str, Opponent] = {}
    for opponent in opponents:
        names = [opponent] if isinstance(opponent, str) else [*opponent]
        sets[names[0] if len({*names}) == 1 else " + ".join(names)] = opponent
    return sets
