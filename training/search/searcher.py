"""Draws worlds, plays all actions in them, and estimates the values of the actions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fastenv import BatchEngine, checks
from fastenv.errors import ConfigError, StateError
from fastenv.rollouts import Stop, check_resample
from training.players.draws import mix
from training.players.player import Thought
from training.players.policy import Policy
from training.run import games
from training.run.engine import take_rows
from training.run.options import require
from training.search.blueprints import (
    POLICY,
    Blueprint,
    BotBlueprint,
    Model,
    ModelBlueprint,
    Start,
    SteppedBlueprint,
)
from training.search.estimates import ActionEstimates
from training.search.options import SearchOptions
from training.search.rules import SearchRules
from training.search.values import Closing

AT_ONCE = 1 << 15  # worlds in memory
FIRST_WORLDS = 8  # with a budget of time: worlds before the clock is looked at
END, OPEN, MODEL = "end", "open", "model"
CANDIDATES = 4  # worlds that are weighed for each that is played, with a belief
STEP, WORLD, ROLLOUT, CHOICE = 0, 1, 2, 3  # purposes of seeds


class Belief(Protocol):
    """Weighs worlds; it watches the games that are searched."""

    def begin(self, lanes: np.ndarray) -> None:
        """Reset lanes in which games begin."""

    def watch(self, lanes: np.ndarray, rows: np.ndarray) -> None:
        """Observe the rows of games at the searcher's decisions, searched or not."""

    def log_weights(
        self, worlds: np.ndarray, seats: np.ndarray, each: int, lanes: np.ndarray | None
    ) -> np.ndarray:
        """Compute the log-likelihood of the others' decisions in worlds, float64 (m,).

        Parameters
        ----------
        worlds : ndarray, shape (m,)
            ``each`` of every position, behind each other.
        seats : ndarray of int, shape (m,)
            Who searches.
        each : int
        lanes : ndarray of int, shape (m // each,), or None
            Games that have been watched.
        """


@dataclass(frozen=True)
class SearchResult:
    """The results of a search for several positions.

    Attributes
    ----------
    estimates : ActionEstimates
    milliseconds : float
        Time per position.
    finished : bool
        False where the search was interrupted.
    """

    estimates: ActionEstimates
    milliseconds: float
    finished: bool


class Searcher:
    """Searches positions of one game.

    Parameters
    ----------
    engine : BatchEngine
        Of the game; its lanes are not touched.
    policy : Policy, optional
        The network that the search improves; needed for rollouts by it, and by beliefs.
    options : SearchOptions, optional
    seed : int
        Of all worlds and rollouts.

    Attributes
    ----------
    options : SearchOptions
        With the game's own defaults.
    blueprint : Blueprint
        Who plays rollouts.
    belief : Belief or None
        Weighs worlds; None where all are equally likely.
    looks_at : callable
        Tells in which rows (k,) a decision is of the kind that is searched, bool (k,).

    Raises
    ------
    ConfigError
        If the game has no ``resample``, or options do not fit it.
    """

    def __init__(
        self,
        engine: BatchEngine,
        policy: Policy | None = None,
        options: SearchOptions | None = None,
        seed: int = 0,
    ) -> None:
        check_resample(engine.game)
        self.rules = rules = games.find(engine, "search") or SearchRules()
        bots = engine.game.bot_names
        self.options = chosen = complete(options or SearchOptions(), rules, bots)
        threads = engine.num_threads  # and as many lanes, which an engine wants
        self._engine = BatchEngine(engine.game, threads, num_threads=threads)
        self.model: Model | None = None
        self.blueprint = self._make_blueprint(policy)
        self._until = None if chosen.horizon == END else chosen.horizon
        self._limit = chosen.limit
        name = chosen.outcome or ""
        outcome = rules.find_outcome(name, engine.game)
        allowed = " or ".join((*rules.outcomes, *rules.made))
        require(outcome is not None, "search.outcome", name, allowed)
        assert outcome is not None
        self._value_of = outcome
        alone = engine.game.num_seats == 1 and name == "margin"  # of nobody else's points
        self._unit = rules.units.get("points" if alone else name, "")
        self._close = None if chosen.value is None else Closing.load(chosen.value, engine.game)
        name = chosen.decisions or ""
        allowed = " or ".join((*rules.searched, "all"))
        require(name in rules.searched or name == "all", "search.decisions", name, allowed)
        self.looks_at = rules.searched.get(name, every_decision)
        self.belief = self._make_belief(policy)
        self._seed = seed
        self._check_horizon(policy)

    def _make_blueprint(self, policy: Policy | None) -> Blueprint:
        name = self.options.rollouts
        if name == POLICY:
            allowed = "a bot: there is no network to search for"
            require(policy is not None, "search.rollouts", name, allowed)
            assert policy is not None
            return SteppedBlueprint(self._engine, policy, self.rules.actor)
        if name == MODEL:
            allowed = "a bot: nobody can tell in this game who the others are"
            require(self.rules.opponents is not None, "search.rollouts", name, allowed)
            assert self.rules.opponents is not None
            self.model = self.rules.opponents(policy, self._engine)
            return ModelBlueprint(self._engine, policy, self.model, self.rules.actor)
        bots = self._engine.game.bot_names
        names = (name or "").split("+")
        allowed = " or ".join((*bots, POLICY))
        if len(bots) > 1:
            allowed += f", or several bots such as {'+'.join(bots[-2:])}"
        require(set(names) <= set(bots), "search.rollouts", name, allowed)
        return BotBlueprint(self._engine, names)

    def _check_horizon(self, policy: Policy | None) -> None:
        """Refuse a horizon that the game has not, or that these rollouts would run past."""
        until, name = self._until, self.options.rollouts
        try:
            Stop.parse(self._engine.spec, until, self._limit)
        except ConfigError as error:
            raise ConfigError(f"search.horizon: {error}") from None
        stepped = name == POLICY or (name == MODEL and policy is not None)
        allowed = f"{' or '.join((*self.rules.ends, END))} where a network plays rollouts"
        ends = until is None or until in self.rules.ends
        require(ends or not stepped, "search.horizon", until, allowed)

    @property
    def asks_policy(self) -> bool:
        """Whether the network itself is asked in a search."""
        stepped = self.options.rollouts in (POLICY, MODEL)
        return stepped or self.belief is not None

    def _make_belief(self, policy: Policy | None) -> Belief | None:
        name = self.options.belief
        if name in ("uniform", OPEN):
            return None
        allowed = "uniform: this game knows no other"
        require(self.rules.beliefs is not None, "search.belief", name, allowed)
        allowed = "uniform where there is no policy whose bids and plays are known"
        require(policy is not None, "search.belief", name, allowed)
        assert self.rules.beliefs is not None
        belief: Belief = self.rules.beliefs(name, policy, self._engine, self.model)
        return belief

    def seats_of(self, engine: Any, rows: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """Return the seats whose decisions are due, int32 (k,): 0 in games for one."""
        if self.rules.actor:
            return rows[self.rules.actor].astype(np.int32)
        if engine.spec.num_agents > 1:
            seats: np.ndarray = engine.get_actors(lanes)
            return seats
        return np.zeros(len(rows), np.int32)

    # -- watching --------------------------------------------------------------------------------

    def begin(self, lanes: np.ndarray) -> None:
        """Reset lanes in which games begin."""
        for watcher in (self.belief, self.model):
            if watcher is not None:
                watcher.begin(lanes)

    def watch(self, lanes: np.ndarray, rows: np.ndarray) -> None:
        """Observe the rows of games at decisions, searched or not."""
        for watcher in (self.belief, self.model):
            if watcher is not None:
                watcher.watch(lanes, rows)

    # -- searching -------------------------------------------------------------------------------

    def wants(self, rows: np.ndarray, legal: np.ndarray) -> np.ndarray:
        """Tell which decisions to search, bool, shape (n,): those of the kind with a choice.

        Parameters
        ----------
        rows : ndarray, shape (n,)
        legal : ndarray of bool, shape (n, A)
        """
        wanted: np.ndarray = legal.sum(1) > 1
        return wanted & self.looks_at(rows)

    def search(
        self,
        rows: np.ndarray,
        seats: np.ndarray,
        legal: np.ndarray,
        seeds: np.ndarray | None = None,
        lanes: np.ndarray | None = None,
        own: np.ndarray | None = None,
    ) -> SearchResult:
        """Estimate the value of every legal action.

        Parameters
        ----------
        rows : ndarray, shape (n,)
            Complete rows of running games.
        seats : ndarray of int, shape (n,)
            The seat that decides, whose information is used.
        legal : ndarray of bool, shape (n, A)
        seeds : ndarray of uint64, shape (n,), optional
            One a position: the same position and seed gives the same, whatever is searched beside
            it; default those of the searcher on.
        lanes : ndarray of int, shape (n,), optional
            Games of which a belief has watched the decisions before.
        own : ndarray of int, shape (n,), optional
            What would be played without the search: halving keeps it.

        Returns
        -------
        SearchResult
            Ctrl-C ends a search early: ``finished`` is then False, and the rest of the positions
            have no estimates.

        Raises
        ------
        StateError
            A row of a game that is over.
        ValueError
            A seat that is not there.
        """
        begun, n = time.perf_counter(), len(rows)
        over = rows["done"] != 0
        if over.any():
            raise StateError(f"row {int(over.argmax())}: the game is over, nothing can follow")
        checks.as_seats(seats, n, self._engine.game.num_seats, "seats")
        if seeds is None:
            seeds = np.arange(self._seed, self._seed + n).astype(np.uint64)
        estimates = [ActionEstimates(legal[:0])]
        finished, step = True, max(1, AT_ONCE // self.options.worlds)
        for first in range(0, n, step):
            part = slice(first, first + step)
            some = None if lanes is None else lanes[part]
            position = _Positions(rows[part], seats[part], legal[part], seeds[part], some)
            kept = None if own is None else own[part]
            estimates.append(ActionEstimates(legal[part], kept))
            finished = finished and self._spend(position, estimates[-1])
        spent = 1000 * (time.perf_counter() - begun) / max(n, 1)
        return SearchResult(ActionEstimates.join(estimates), spent, finished)

    def _spend(self, position: _Positions, estimates: ActionEstimates) -> bool:
        """Spend the budget on positions; return False if it was interrupted."""
        options, budget = self.options, self.options.budget_ms
        begun, done = time.perf_counter(), 0
        block = FIRST_WORLDS if budget else -(-options.worlds // options.blocks)
        try:
            while estimates.undecided.any():
                if budget is None:
                    block = min(block, options.worlds - done)
                self._evaluate(position, estimates, done, block)
                done += block
                spent = done / options.worlds
                if budget is not None:
                    whole = budget / 1000 * len(position.rows)
                    spent = (time.perf_counter() - begun) / whole
                if spent >= 1.0:
                    break
                estimates.drop(spent, options.halving)
        except KeyboardInterrupt:
            return False
        return True

    def _evaluate(
        self, position: _Positions, estimates: ActionEstimates, done: int, block: int
    ) -> None:
        """Play the open actions of undecided positions in further worlds."""
        here = np.flatnonzero(estimates.undecided)
        worlds = self._draw_worlds(position, here, done, block)
        places, actions = np.nonzero(estimates.open[here])
        each = np.arange(block)
        of = (places[:, None] * block + each).ravel()
        at, what = here[places].repeat(block), actions.repeat(block)
        seeds = mix(position.seeds[at], done + np.tile(each, len(places)), ROLLOUT)
        first = self._make_first(what, position.seats[at])
        lanes = None if position.lanes is None else position.lanes[at]
        how = (seeds, self._until, self._limit, position.seats[at], lanes)
        ends = self.blueprint.play_on(Start(worlds, of, first, *how))
        outcomes = self._engine.game.outcomes(ends)
        if self._close is not None:
            outcomes = self._close(outcomes, ends)
        values = self._value_of(outcomes, ends, position.seats[at])
        estimates.note(at, what, np.tile(each, len(places)), values)

    def _make_first(self, actions: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """Make first decisions of rollouts; where agents act together, bots take the others."""
        agents = self._engine.spec.num_agents
        if agents == 1:
            return actions.astype(np.int32)
        first = np.full((len(actions), agents), -1, np.int32)
        first[np.arange(len(actions)), seats] = actions
        return first

    def _draw_worlds(
        self, position: _Positions, here: np.ndarray, done: int, block: int
    ) -> np.ndarray:
        """Draw worlds of positions, a block of each behind the other."""
        count = block if self.belief is None else CANDIDATES * block
        number = done * count // block + np.tile(np.arange(count), len(here))
        rows, seats = take_rows(position.rows, here), position.seats[here]
        if self.options.belief == OPEN:
            return rows.repeat(count)
        seeds = mix(position.seeds[here].repeat(count), number, WORLD)
        drawn = self._engine.resample(rows, seats, seeds, worlds=count, trusted=True)
        if self.belief is None:
            return drawn
        lanes = None if position.lanes is None else position.lanes[here]
        weights = self.belief.log_weights(drawn, seats.repeat(count), count, lanes)
        luck = mix(position.seeds[here], np.full(len(here), done), CHOICE)
        kept = choose_by_weight(weights.reshape(len(here), count), block, luck)
        return take_rows(drawn, (np.arange(len(here))[:, None] * count + kept).ravel())

    def think(
        self, results: SearchResult, position: int, chosen: int, wanted: np.ndarray
    ) -> Thought:
        """Make the thought of one position from the results of a search.

        Parameters
        ----------
        results : SearchResult
        position : int
        chosen : int
        wanted : ndarray of float64, shape (A,)
            Probabilities of the policy.
        """
        one, options = results.estimates.take([position]), self.options
        legal = np.flatnonzero(one.legal[0])
        error = one.behind(np.array([chosen]))[1][0]
        error[chosen] = one.errors()[0, chosen]
        return Thought(
            legal,
            one.means()[0, legal],
            error[legal],
            one.counts[0, legal],
            wanted[legal],
            chosen,
            results.milliseconds,
            results.finished,
            f"{options.worlds}" if options.budget_ms is None else f"{options.budget_ms:g} ms",
            self._unit,
        )


@dataclass(frozen=True)
class _Positions:
    rows: np.ndarray
    seats: np.ndarray
    legal: np.ndarray
    seeds: np.ndarray
    lanes: np.ndarray | None


def every_decision(rows: np.ndarray) -> np.ndarray:
    """Tell that a decision is searched in all rows (k,), bool (k,)."""
    return np.ones(len(rows), np.bool_)


def complete(
    options: SearchOptions,
    rules: SearchRules,
    bots: Sequence[str],
    policy: Policy | None = None,
) -> SearchOptions:
    """Fill options that are not set with the defaults of a game.

    Parameters
    ----------
    options : SearchOptions
    rules : SearchRules
        Of the game.
    bots : sequence of str
        That it has, the strongest last.
    policy : Policy, optional
        The agent that searches in whole games, whose own defaults count where nothing is said of
        rollouts.
    """
    usual = {
        "rollouts": rules.rollouts or (bots[-1] if bots else ""),
        "horizon": rules.horizon or END,
        "limit": rules.limit,
        "outcome": rules.outcome,
        "decisions": rules.decisions,
    }
    values = options.model_dump(exclude_unset=True)
    values = {name: each for name, each in values.items() if each is not None or name not in usual}
    usual |= rules.options
    if policy is not None and rules.network is not None and _leaves_rollouts(values, rules):
        usual |= rules.network(policy)
    if values.get("budget_ms") is not None:
        usual.pop("worlds", None)
    return SearchOptions(**{**usual, **values})


def _leaves_rollouts(values: Mapping[str, Any], rules: SearchRules) -> bool:
    """Tell whether options leave open who plays rollouts, and a network may."""
    return "rollouts" not in values and values.get("horizon", rules.horizon) in (None, *rules.ends)


def choose_by_weight(log_weights: np.ndarray, count: int, seeds: np.ndarray) -> np.ndarray:
    """Draw worlds by their weights, systematically: int (n, count).

    Parameters
    ----------
    log_weights : ndarray of float64, shape (n, c)
        Of the candidates of each position; where all are -inf they are equally likely.
    count : int
    seeds : ndarray of uint64, shape (n,)
    """
    best = log_weights.max(1, keepdims=True)
    weights = np.exp(log_weights - np.where(np.isfinite(best), best, 0.0))
    weights[~np.isfinite(best[:, 0])] = 1.0
    edges = np.cumsum(weights, axis=1)
    start = (seeds >> np.uint64(11)).astype(np.float64) * 2.0**-53
    marks = (np.arange(count) + start[:, None]) / count * edges[:, -1:]
    chosen: np.ndarray = (marks[:, :, None] >= edges[:, None, :]).sum(2)
    return np.minimum(chosen, log_weights.shape[1] - 1)
