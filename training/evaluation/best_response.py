"""Best responses to an agent: a lower bound on its exploitability.

One seat is trained against copies of one agent, which does not change, or searches with it as the
known blueprint. Nobody can win more than its even share against a perfect agent of a game in which
all seats are alike. What is gained beyond it was found with the budget that is stated; with more,
more may be.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape

from training.evaluation.contest import POINTS, load_players
from training.evaluation.contest import plan as plan_games
from training.evaluation.evaluation import Entrant, play
from training.evaluation.intervals import Interval, half_width, over_seeds
from training.evaluation.results import Results, join
from training.evaluation.tables import format_interval, make_table
from training.evaluation.trainings import Training, fit_to_time, train_or_resume
from training.players.contest_table import ContestTable
from training.players.policy import Policy
from training.run import files, games
from training.run.config import RunConfig
from training.run.option_layers import Say, fit_rollout
from training.run.options import canonical_json, require
from training.run.seating import SEARCH as PREFIX
from training.run.seeds import MATCH_SEEDS

SCRATCH, AGENT, SEARCH = "scratch", "agent", "search"
WAYS = (SCRATCH, AGENT, SEARCH)
RESPONSE = "response"
UNTIL, SHARE = 0.25, 0.25  # of a run in which the agent is imitated, and of its decisions
WORLDS = 64
ORIGIN = ("command", "created", "git_rev", "dirty", "host", "versions")  # of a row that is kept
_ROW = {"wins", "points", "points_gained"}
_ROWS = {SEARCH: _ROW | {"cpu_ms_per_decision"}}
_TRAINED = _ROW | {"steps", "core_minutes", "runs"}


@dataclass(frozen=True)
class Response:
    """The results of one response in its seat, with intervals over deals.

    Parameters
    ----------
    wins : Interval
        Share of games that it won; shared wins count 1/k.
    points : Interval
        Mean of a game.
    gain : Interval
        Of these, more than the agent gets in that seat on the same deals.
    """

    wins: Interval
    points: Interval
    gain: Interval

    def record(self) -> dict[str, Any]:
        """Return the response as JSON values."""
        return {
            "wins": self.wins.to_list(),
            "points": self.points.to_list(),
            "points_gained": self.gain.to_list(),
        }


@dataclass
class Measured:
    """The games that responses to one agent play.

    Parameters
    ----------
    table : ContestTable
    agent : str
        A path or the name of a bot.
    games : int
    seed : int
        First of the deals.
    """

    table: ContestTable
    agent: str
    games: int
    seed: int
    _own: Results | None = field(default=None, repr=False)

    @property
    def deals(self) -> int:
        """Deals; each is played once in every rotation of the seats."""
        return -(-self.games // self.table.seats.count)

    def record(self) -> dict[str, Any]:
        """Return the table, the games and the seeds as JSON values."""
        seats = self.table.seats.count
        return {
            "agent": self.agent,
            "env": self.table.env,
            "options": dict(self.table.options),
            "seats": seats,
            "games": self.deals * seats,
            "first_seed": MATCH_SEEDS + self.seed,
            "even_share": 1 / seats,
            "judged_by": self.table.judged_by,
        }

    def play(self, response: Entrant | None) -> tuple[Results, float | None]:
        """Play all deals; return the results of the first seat and the cost of its decisions.

        Parameters
        ----------
        response : Entrant or None
            In the first seat; None for the agent itself.

        Returns
        -------
        Results
            Named ``response``, or ``agent``.
        float or None
            Milliseconds of CPU time a decision; None of a bot.
        """
        others = load_players([self.agent] * self.table.seats.count)
        name, first = (AGENT, others[0]) if response is None else (RESPONSE, response)
        group = [replace(first, name=name), *others[1:]]
        (games,) = plan_games(self.table, group, self.deals, self.seed).values()
        own = play(games).of(player=name)
        return own, None if isinstance(first.who, str) else own.costs[name].cpu_ms

    def measure(self, response: Entrant) -> tuple[Response, float | None]:
        """Play with a response and estimate its results; see :meth:`play`."""
        if self._own is None:
            self._own, _ = self.play(None)
        played, cost = self.play(response)
        drawn = join([played, self._own]).estimate(("win", "points"), seed=self.seed)
        means, gain = drawn.means[RESPONSE], drawn.difference(RESPONSE, AGENT, "points")
        return Response(means["win"], means["points"], gain), cost


# -- what is trained -------------------------------------------------------------------------------


def train_config(
    base: RunConfig, table: ContestTable, agent: str, way: str, seed: int
) -> RunConfig:
    """Make the options of the training of a response.

    Parameters
    ----------
    base : RunConfig
        How it learns.
    table : ContestTable
    agent : str
        Who has the other seats, and with ``way="agent"`` is imitated first.
    way : {"scratch", "agent"}
    seed : int

    Raises
    ------
    ConfigError
        For a trainer that cannot meet trained agents.
    """
    seats = table.seats
    meets = base.MEETS_AGENTS and not base.members and base.selfplay is None
    allowed = "native or expert, alone and without selfplay: it trains against one agent"
    require(meets, "trainer", base.trainer, allowed)
    options = {**base.env_options, **table.options, seats.opponents: [agent] * (seats.count - 1)}
    changed = {"seed": seed, "env_options": options, "preset": None}
    if way == SCRATCH:
        return base.replace(**changed)
    values = {**base.to_dict(), **changed, "trainer": "expert"}
    values["expert"] = {"teacher": agent, "share": SHARE, "until": UNTIL}
    config: RunConfig = RunConfig.from_mapping(values)
    return config


def plan(
    base: RunConfig,
    table: ContestTable,
    agent: str,
    ways: Sequence[str],
    seeds: Sequence[int],
    name: str,
    runs: Path,
    *,
    core_seconds: float | None = None,
    steps: int | None = None,
    say: Say,
) -> list[Training]:
    """Plan the trainings, each with its length.

    The speed is that of a training from scratch; one that imitates first is as many decisions long.
    A training that is shorter than its rollout gets a shorter rollout.

    Parameters
    ----------
    base, table, agent
        See :func:`train_config`.
    ways : sequence of str
    seeds : sequence of int
    name : str
        What the names of the runs begin with.
    runs : Path
        Folder of the runs.
    core_seconds : float, optional
        Of one core; None where decisions are given.
    steps : int, optional
        Decisions.
    say : callable
        Takes a line on each change of the options, once if it is that of several trainings.
    """
    trained = [way for way in ways if way != SEARCH]
    trainings = [
        Training(way, train_config(base, table, agent, way, seed), "")
        for seed in seeds
        for way in trained
    ]
    if core_seconds is not None and trainings:
        config = train_config(base, table, agent, SCRATCH, seeds[0])
        measured = Training(SCRATCH, config.replace(name=f"{name}-{SCRATCH}-{seeds[0]}"), "")
        (timed,) = fit_to_time([measured], core_seconds, runs)
        steps = timed.config.total_steps
    changed = {} if steps is None else {"total_steps": steps}
    lines: list[str] = []
    planned = []
    for each in trainings:
        named = f"{name}-{each.variant}-{each.config.seed}"
        config = fit_rollout(each.config.replace(name=named, **changed), lines.append)
        planned.append(replace(each, config=config))
    for line in dict.fromkeys(lines):
        say(line)
    return planned


def search_name(agent: str, policy: Policy | None, env: str, given: str | None) -> str:
    """Return the name of the search that takes the agent as the blueprint of all seats.

    Parameters
    ----------
    agent : str
    policy : Policy or None
        None of a bot.
    env : str
        Of the table.
    given : str or None
        Options of the search; default those that know the agent best.
    """
    if given is None:
        rules = games.find(env, "search")
        beliefs = policy is not None and rules is not None and rules.beliefs is not None
        network = policy is not None and not policy.state_size
        given = f"worlds={WORLDS},rollouts={'policy' if network else agent}"
        given += ",belief=bids" if beliefs else ""
    return f"{PREFIX}{agent},{given}"


def name_deciders(table: ContestTable, ways: Sequence[str]) -> dict[str, str]:
    """Return the options that cannot be set for a response, and what decides each instead.

    Parameters
    ----------
    table : ContestTable
    ways : sequence of str
    """
    deciders = {"env": "--env", "seed": "--seeds", "name": "--name"}
    deciders["total_steps"] = "--total-steps or --core-minutes"
    deciders[f"env_options.{table.seats.opponents}"] = "AGENT"
    deciders |= {f"env_options.{name}": "the table of AGENT" for name in table.options}
    return deciders | ({"expert": "--ways agent"} if AGENT in ways else {})


# -- all of it -------------------------------------------------------------------------------------


def keep_ways(
    path: Path, measured: Measured, ways: Sequence[str], length: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the rows of other ways in an existing record, with their origin.

    Parameters
    ----------
    path : Path
        Of the record.
    measured : Measured
    ways : sequence of str
        Those that are measured now.
    length : mapping
        ``core_minutes`` and ``total_steps`` of the trainings.

    Returns
    -------
    kept : dict
        Row by way.
    length : dict
        That of all trainings in the record.

    Raises
    ------
    ConfigError
        For another file than a record of responses to this agent, or one whose rows do not go
        together with those that are asked for.
    """
    if not path.exists():
        return {}, dict(length)
    earlier, ours = _read_record(path, measured), measured.record()
    origin = {name: earlier[name] for name in ORIGIN if name in earlier}
    rows = earlier["ways"].items()
    kept = {way: {"from": origin, **row} for way, row in rows if way not in ways}
    stays = f"that of {path} with its {' and '.join(kept)}, or --name another"
    for name, flag in {"games": "--games", "first_seed": "--seed"}.items():
        as_asked = not kept or earlier.get(name) == ours[name]
        require(as_asked, flag, getattr(measured, flag.strip("-")), stays)
    before = {name: earlier.get(name) for name in length}
    trained = [way for way in kept if way != SEARCH]
    if not trained:
        return kept, dict(length)
    if set(ways) != {SEARCH}:
        flag = "--core-minutes" if length["total_steps"] is None else "--total-steps"
        value = next((each for each in length.values() if each is not None), None)
        require(before == length, flag, value, stays)
    return kept, before


def _read_record(path: Path, measured: Measured) -> dict[str, Any]:
    """Read a record of responses to the same agent; ConfigError for any other file."""
    earlier, ours = files.read_object(path), measured.record()
    rows = earlier.get("ways")
    valid = isinstance(rows, dict) and all(
        isinstance(row, dict) and way in WAYS and _ROWS.get(way, _TRAINED) <= row.keys()
        for way, row in rows.items()
    )
    table = ("agent", "env", "options")
    same = all(canonical_json(earlier.get(name)) == canonical_json(ours[name]) for name in table)
    allowed = f"another one: {path} is no record of responses to {measured.agent} at this table"
    require(valid and same, "--name", path.stem, allowed)
    return earlier


def respond(
    measured: Measured,
    trainings: Sequence[Training],
    search: str | None,
    runs: Path,
    say: Say = lambda _: None,
) -> dict[str, Any]:
    """Run the trainings, let all responses play, and return the record of these ways.

    A run that has begun goes on where it was.

    Parameters
    ----------
    measured : Measured
    trainings : sequence of Training
    search : str or None
        Name of an agent that searches.
    runs : Path
    say : callable
        Takes a line on each response.
    """
    ways: dict[str, list[dict[str, Any]]] = {}
    for each in trainings:
        run, _, trained = train_or_resume(runs, each.config)
        (player,) = load_players([str(run.path)])
        response, _ = measured.measure(player)
        ways.setdefault(each.variant, []).append({**trained, **response.record()})
        say(f"{run.name}: {_describe(response, measured.table.judged_by)}")
    rows: dict[str, Any] = {
        way: {**_average(runs_of), "runs": runs_of} for way, runs_of in ways.items()
    }
    if search is not None:
        (player,) = load_players([search])
        response, cost = measured.measure(player)
        rows[SEARCH] = {**response.record(), "name": search, "cpu_ms_per_decision": cost}
    return {**measured.record(), "ways": rows}


def _describe(response: Response, judged_by: str) -> str:
    """Describe the result of a response by the measure that ranks players of its game."""
    if judged_by == POINTS:
        return f"{format_interval(response.gain, 1)} points gained"
    return f"wins {format_interval(response.wins, 1, 100)} %"


def join_ways(record: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Add the rows of other ways to a record, and the name of the strongest trained one.

    Parameters
    ----------
    record : mapping
        Of :func:`respond`.
    kept : mapping
        Row by way; see :func:`keep_ways`.
    """
    ways = {**kept, **record["ways"]}
    trained = {way: each for way, each in ways.items() if way != SEARCH}
    measure = POINTS if record["judged_by"] == POINTS else "wins"
    strongest = max(trained, key=lambda way: trained[way][measure][0], default=None)
    return {**record, "strongest": strongest, "ways": ways}


def _average(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Average runs over seeds; intervals hold the spread of the seeds and that of the deals."""

    def mean(which: str, least: float, most: float) -> list[float | None]:
        shared = [half_width(run[which]) for run in runs]
        return over_seeds([run[which][0] for run in runs], least, most, shared).to_list()

    return {
        "wins": mean("wins", 0.0, 1.0),
        "points": mean("points", -np.inf, np.inf),
        "points_gained": mean("points_gained", -np.inf, np.inf),
        "steps": statistics.mean(run["steps"] for run in runs),
        "core_minutes": statistics.mean(run["core_s"] for run in runs) / 60,
    }


def show(console: Console, record: Mapping[str, Any]) -> None:
    """Print the table of a record."""
    share = 100 * record["even_share"]
    title = (
        f"One seat against {record['seats'] - 1} x {escape(record['agent'])}, "
        f"{record['games']:,} games"
    )
    if record["judged_by"] != POINTS:
        title += f"; an even share is {share:.3g} % of wins"
    figures = ("wins %", "points gained", "decisions", "core minutes", "seeds")
    table = make_table(title, None, ["response"], figures)
    for way, each in record["ways"].items():
        cells = [
            format_interval(Interval.from_list(each["wins"]), 1, 100),
            format_interval(Interval.from_list(each["points_gained"]), 1),
        ]
        if way == SEARCH:
            cost = each["cpu_ms_per_decision"]
            cells += ["", f"{cost:.2f} ms a decision" if cost is not None else "", ""]
        else:
            cells += [f"{each['steps']:,.0f}", f"{each['core_minutes']:.1f}"]
            cells.append(str(len(each["runs"])))
        table.add_row(way, *cells)
    console.print(table)
