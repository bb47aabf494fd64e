"""How a game of several agents is evaluated: episodes against opponent sets.

An opponent set is who plays all other seats. Everybody who is compared plays the same episodes in
the same seats, the learner's, against the same opponents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from rich.console import Console
from rich.table import Table

from fastenv import BatchEngine
from fastenv.errors import ConfigError
from fastenv.seats import Opponent
from training.evaluation import episodes
from training.evaluation.bootstrap import Interval
from training.evaluation.episodes import Comparison, Episodes
from training.evaluation.protocol import (
    Curve,
    EpisodeProtocol,
    EvaluationResult,
    Headline,
    Plan,
)
from training.evaluation.shares import share
from training.logs.run_data import describe_opponents
from training.players.network import Network
from training.players.player import MakePlayer
from training.players.trained import AGENT, Trained
from training.run.backend import make_seated
from training.run.config import RunConfig
from training.run.envs import (
    check_agents,
    get_scheduled_values,
    with_defaults,
    with_seating,
)
from training.run.games import GameTraining
from training.run.names import is_agent, is_search
from training.run.options import require
from training.run.sections import EARLIER_SETS, EvaluationConfig

SHARES = ("win", "draw")
Sets = dict[str, Opponent]  # who plays, by its name in tables and records


class OpponentProtocol(EpisodeProtocol):
    """Episodes against opponent sets, judged by the share of wins, or what the game says.

    Parameters
    ----------
    game : GameTraining
    bots : sequence of str
        See :class:`EpisodeProtocol`.
    judged_by : str
        What ranks players, unless ``game`` says it.
    """

    options: ClassVar[tuple[str, ...]] = (*EpisodeProtocol.options, "opponents")
    measures: ClassVar[tuple[str, ...]] = (*SHARES, "points", "return")
    caption = (
        "Everybody plays the same episodes in the same seats, every seat in turn; means with 95 % "
        "intervals over episodes; a win that k share counts 1/k."
    )

    def __init__(
        self, game: GameTraining, bots: Sequence[str] = (), judged_by: str = SHARES[0]
    ) -> None:
        super().__init__(game, bots)
        self.measure = game.judged_by or judged_by
        self.shares = (*SHARES, *self.shares)

    # -- who plays against whom --------------------------------------------------------------------

    def trained_against(self, config: RunConfig, steps: int) -> Opponent:
        """Return the opponent of a training, after so many decisions where a schedule names it."""
        scheduled = get_scheduled_values(config.schedules, steps).get("opponent")
        found: Opponent = scheduled or with_seating(config.env, config.env_options)["opponent"]
        return found

    def sets(self, config: RunConfig, option: str, names: Sequence[str] | None, steps: int) -> Sets:
        """Return the opponent sets of an option of the section ``evaluation``.

        Parameters
        ----------
        config : RunConfig
        option : {"opponents", "curve_opponents"}
        names : sequence of str or None
            Its value.
        steps : int
            Decisions that the agent has been trained for.

        Raises
        ------
        ConfigError
            For a name that the game does not know, or none at all.
        """
        allowed = "one or more opponents, or null"
        require(names is None or len(names) > 0, f"evaluation.{option}", names, allowed)
        unknown = self._unknown(config.env, config.env_options, names or ())
        if names is not None and unknown is not None and tuple(names) != EARLIER_SETS[option]:
            raise ConfigError(f"evaluation.{option}: {unknown}")
        if names is not None and unknown is None:
            return name_sets(names)
        strongest = self.bots[:1] if option == "opponents" else ()
        return name_sets([self.trained_against(config, steps), *strongest])

    def _unknown(
        self, env: str, options: Mapping[str, Any], names: Sequence[str]
    ) -> ConfigError | None:
        """Return why one of some names is no player of the game, if one is none."""
        bots = [name for name in names if not is_agent(name)]  # others are trained agents
        try:
            for name in filter(is_search, names):
                check_agents(env, {**options, "opponent": name})
            if not bots:
                return None
            game, _ = make_seated(env, with_defaults(env, {**options, "opponent": bots[0]}))
            for name in bots:
                game.bot(name)
        except ConfigError as error:
            return error
        return None

    def check(self, config: RunConfig) -> None:
        """See :meth:`Protocol.check`: opponents must be players of the game."""
        for option in EARLIER_SETS:
            self.sets(config, option, getattr(config.evaluation, option), config.total_steps)

    # -- what is asked -----------------------------------------------------------------------------

    def compare(self, played: dict[str, Episodes], plan: Plan) -> Comparison:
        """See :meth:`EpisodeProtocol.compare`; with Wilson's intervals of wins and draws."""
        compared = super().compare(played, plan)
        for name, found in played.items():
            compared.means[name].update({which: share(found.columns[which]) for which in SHARES})
        return compared

    def evaluate(
        self,
        console: Console,
        title: str,
        trained: Trained,
        options: EvaluationConfig,
        asked: Mapping[str, Any],
    ) -> EvaluationResult:
        """See :meth:`Protocol.evaluate`; replays are chosen against the first opponent set."""
        config, plan = trained.config, self.plan(options, asked)
        sets = self.sets(config, "opponents", options.opponents, trained.steps)
        players = {**trained.players(), **self.scripted()}
        record, rows, kept = self.play_sets(
            console, title, config.env, config.env_options, plan, sets, players
        )
        more = {**plan.env_options, "opponent": next(iter(sets.values()))}
        return EvaluationResult({"matches": record}, rows, kept[AGENT], more)

    def play_sets(
        self,
        console: Console,
        title: str,
        env: str,
        options: Mapping[str, Any],
        plan: Plan,
        sets: Sets,
        players: Mapping[str, MakePlayer],
    ) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Episodes]]:
        """Let players play against all opponent sets, and print a table of each.

        Returns
        -------
        record : dict
            What came out, for JSON.
        rows : list of dict
            The episodes, likewise.
        played : dict of str to Episodes
            Those against the first set, with the agent's actions.
        """
        results, policies, rows = {}, {}, []
        kept: dict[str, Episodes] = {}
        for name, opponent in sets.items():
            engine = plan.engine(env, {**options, "opponent": opponent})
            keep = () if kept else (AGENT,)
            played = plan.play(engine, players, keep_actions=keep)
            kept = kept or played
            compared, seats = self.compare(played, plan), engine.spec.num_agents
            against = f"{title} against {describe_opponents(name, seats)}"
            self.print(console, against, compared, plan, {})
            policies[name] = self.policies(compared, played)
            results[name] = {who: each.pop("intervals") for who, each in policies[name].items()}
            about = self._about(engine, compared)
            rows += [{"opponent": name, **row} for who, x in played.items() for row in x.rows(who)]
        record = {
            "protocol": "the same seeds and seats for every policy; 95 % intervals over episodes, "
            "by bootstrap; of wins and draws, Wilson's",
            "env": env,
            **about,
            "games": plan.count,
            "first_seed": plan.base_seed,
            "max_steps": plan.max_steps,
            "bootstrap": plan.bootstrap,
            "results": results,
            "policies": policies,
        }
        return record, rows, kept

    def _about(self, engine: BatchEngine, compared: Comparison) -> dict[str, Any]:
        """Return what the record says of all sets."""
        return {
            "players": engine.spec.num_agents,
            "agent_seat": engine.agent_seat,
            "backend": engine.backend,
            "baseline": compared.baseline,
            "judged_by": compared.measure,
        }

    def play_bots(
        self, console: Console, env: str, names: Sequence[str] | None, asked: Mapping[str, Any]
    ) -> dict[str, Any]:
        """See :meth:`Protocol.play_bots`: each in the learner's seat against each opponent set.

        Unless opponents are named, all play against all.
        """
        players, plan = self.scripted(names), self.plan_of_bots(asked)
        against = asked.get("opponents") or names or self.bots
        allowed = "named: this game does not say who plays it"
        require(bool(against), "--opponents", None, allowed)
        unknown = self._unknown(env, {}, against)
        if unknown is not None:
            raise ConfigError(f"{'--opponents' if asked.get('opponents') else '--bot'}: {unknown}")
        quiet = Console(quiet=True)
        record, rows, _ = self.play_sets(quiet, "bots", env, {}, plan, name_sets(against), players)
        console.print(self._cross_table(record, plan))
        console.print(f"rows against columns; {self.caption[0].lower()}{self.caption[1:]}")
        return {**record, "episodes": rows}

    def _cross_table(self, record: Mapping[str, Any], plan: Plan) -> Table:
        """Return a row for each player and a column for each opponent set."""
        measure, heading, cell = self.columns("")[0]
        last = plan.base_seed + plan.count - 1
        table = Table(
            title=f"bots: {heading} of {plan.count:,} episodes, seeds {plan.base_seed} to {last}",
            title_justify="left",
        )
        table.add_column("player", no_wrap=True)
        for name in record["results"]:
            table.add_column(describe_opponents(name, record["players"]), justify="right")
        for who in next(iter(record["results"].values())):
            found = (Interval.from_list(each[who][measure]) for each in record["results"].values())
            table.add_row(who, *map(cell, found))
        return table

    def curve(self, config: RunConfig) -> Curve:
        """See :meth:`Protocol.curve`."""
        return OpponentCurve(self, config)

    def paired(
        self, trained: Trained, options: EvaluationConfig, reference: RunConfig
    ) -> dict[str, dict[str, dict[str, list[float | None]]]]:
        """See :meth:`Protocol.paired`: by opponent set; by default the baseline's opponent."""
        plan, found = self.plan(options, {}), {}
        option = "curve_opponents" if options.opponents is None else "opponents"
        sets = self.sets(reference, option, options.opponents, reference.total_steps)
        for name, opponent in sets.items():
            engine = plan.engine(reference.env, {**reference.env_options, "opponent": opponent})
            played = plan.play(engine, {AGENT: trained.players()[AGENT]})
            means = self.compare(played, plan).means[AGENT]
            against = f"against {describe_opponents(name, engine.spec.num_agents)}"
            found[against] = {AGENT: {m: interval.to_list() for m, interval in means.items()}}
        return found

    def headline(self, what: str, players: int) -> Headline:
        """See :meth:`Protocol.headline`; of wins, which ties share, everybody's part is even."""
        found = super().headline(what, players)
        return found._replace(even=1 / players) if found.column[0] == SHARES[0] else found

    def played(self, what: str, options: Mapping[str, Any]) -> str:
        """See :meth:`Protocol.played`."""
        return f"{super().played(what, options)} {what}"


class OpponentCurve(Curve):
    """Episodes against the opponent sets of ``evaluation.curve_opponents``.

    Parameters
    ----------
    protocol : OpponentProtocol
    config : RunConfig
    """

    def __init__(self, protocol: OpponentProtocol, config: RunConfig) -> None:
        options = config.evaluation
        self._protocol, each = protocol, options.curve_episodes
        self._plan = Plan(each, 0, options.max_steps, options.bootstrap)
        sets = protocol.sets(
            *(config, "curve_opponents", options.curve_opponents, config.total_steps)
        )
        self._engines = {
            name: self._plan.engine(config.env, {**config.env_options, "opponent": opponent})
            for name, opponent in sets.items()
        }
        self.count = each * len(sets)
        self.decides = self._name(protocol.measure, next(iter(sets)))

    def _name(self, measure: str, opponent: str) -> str:
        seats = self._engines[opponent].spec.num_agents
        return f"{measure}, {describe_opponents(opponent, seats)}"

    def play(self, agent: Trained, seed: int) -> Mapping[str, Interval]:
        """See :meth:`Curve.play`."""
        make = partial(Network, agent.logits)
        measures = dict.fromkeys((self._protocol.measure, *self._protocol.measures, "steps"))
        found: dict[str, Interval] = {}
        for name, engine in self._engines.items():
            play = partial(episodes.play, engine, make, self._plan.count)
            played = {AGENT: play(seed, self._plan.max_steps)}
            means = self._protocol.compare(played, self._plan).means[AGENT]
            found |= {self._name(measure, name): means[measure] for measure in measures}
        return found


def name_sets(opponents: Sequence[Opponent]) -> Sets:
    """Return opponent sets by what tables and records call them, each once."""
    return {name_set(each): each for each in opponents}


def name_set(opponent: Opponent) -> str:
    """Return what tables and records call an opponent set: a name, or one for each other seat."""
    names = [opponent] if isinstance(opponent, str) else [*opponent]
    return names[0] if len({*names}) == 1 else " + ".join(names)
