"""An agent that searches, and its player; by name ``search:PATH,worlds=64,belief=bids``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv import BatchEngine
from training.players.draws import LaneDraws, gumbel
from training.players.names import load_who, make_player
from training.players.player import Cost, KeptThoughts, Player, Weighs
from training.players.policy import Policy
from training.run import games
from training.run.options import format_values, require
from training.run.seating import SEARCH
from training.search.options import SearchOptions, parse
from training.search.rules import SearchRules
from training.search.searcher import STEP, Searcher, SearchResult, complete


@dataclass(frozen=True)
class SearchAgent:
    """A trained agent or a bot with search.

    Parameters
    ----------
    base : Policy or str
        A trained agent, or a bot by its name: it takes the decisions that are not searched.
    options : SearchOptions
    name : str
        The name that it was loaded by.
    """

    base: Policy | str
    options: SearchOptions
    name: str

    def player(self, engine: BatchEngine) -> SearchPlayer:
        """Make its player for an engine."""
        return SearchPlayer(self.base, self.options, engine)


def searching(policy: Policy, **options: Any) -> SearchAgent:
    """Make a trained agent that searches; see :meth:`training.players.policy.Policy.search`."""
    shown = {k: v if isinstance(v, str) else format_values(v) for k, v in options.items()}
    suffix = "".join(f",{name}={value}" for name, value in shown.items())
    return SearchAgent(
        policy, SearchOptions.from_mapping(options), f"{SEARCH}{policy.path}{suffix}"
    )


def load(
    name: str,
    runs: Path = Path("runs"),
    *,
    checkpoint: str | None = None,
    member: int | None = None,
) -> SearchAgent:
    """Load the agent of a name.

    Parameters
    ----------
    name : str
    runs : Path
        Folder of all runs.
    checkpoint, member
        See :func:`training.players.names.load_who`.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If there is no such agent, or an option that there is not.
    """
    who, options = parse(name)
    base = load_who(who, runs, checkpoint=checkpoint, member=member)
    assert isinstance(base, Policy | str)  # as parse has seen to
    return SearchAgent(base, options, name)


class SearchPlayer(KeptThoughts):
    """A player that searches; see :class:`training.players.player.Player`.

    Parameters
    ----------
    base : Policy or str
        A trained agent or a bot: it takes the decisions that are not searched.
    options : SearchOptions
    engine : BatchEngine

    Attributes
    ----------
    explains : bool
        See :class:`training.players.player.Explains`.
    searcher : Searcher
    cost : Cost
        Of its decisions so far, which the loop that plays counts, and those that it searched.

    Raises
    ------
    ConfigError
        If it cannot play there, or options of the search do not fit game or network.
    """

    def __init__(self, base: Policy | str, options: SearchOptions, engine: BatchEngine) -> None:
        super().__init__()
        policy = base if isinstance(base, Policy) else None
        self._base: Player = make_player(base, engine)
        rules = games.find(engine, "search") or SearchRules()
        options = complete(options, rules, engine.game.bot_names, policy)
        self.searcher = Searcher(engine, policy, options)
        heat = self.searcher.options.temperature
        has_probabilities = policy is not None and not policy.state_size
        allowed = "null without a network, and with one that has a memory"
        require(heat is None or has_probabilities, "search.temperature", heat, allowed)
        # A seed of its own for each lane, so that games beside it change nothing.
        self._draws = LaneDraws(engine.num_envs)
        self._remembers = policy is not None and policy.state_size > 0
        self.cost = Cost()

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Reset lanes in which games begin."""
        self._base.begin(engine, lanes, seeds)
        self._draws.begin(lanes, seeds)
        self.searcher.begin(lanes)
        self._forget(lanes)

    def probabilities(self, engine: Any, lanes: np.ndarray) -> npt.NDArray[np.float64]:
        """Return the probabilities of its base where nothing is searched; NaN elsewhere."""
        probabilities = np.full((len(lanes), engine.num_actions), np.nan)
        left = ~self.searcher.wants(engine.get_states(lanes), engine.mask[lanes] != 0)
        if left.any() and isinstance(self._base, Weighs):
            probabilities[left] = self._base.probabilities(engine, lanes[left])
        return probabilities

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Choose legal actions, by search where it is wanted.

        Raises
        ------
        KeyboardInterrupt
            If the search was interrupted and it does not explain; else the best so far is played.
        """
        engine.refresh()
        self._forget(lanes)
        searcher = self.searcher
        rows, legal = engine.get_states(lanes), engine.mask[lanes] != 0
        searcher.watch(lanes, rows)
        draws = self._draws.next(lanes)
        searched = searcher.wants(rows, legal)
        actions, wanted = self._ask_base(engine, lanes, ~searched)
        where = np.flatnonzero(searched)
        finished = True
        if where.size:
            seats = searcher.seats_of(engine, rows[where], lanes[where])
            seeds = draws[where]
            own = actions[where] if searcher.options.lead > 0 else None
            results = searcher.search(rows[where], seats, legal[where], seeds, lanes[where], own)
            actions[where] = self._decide(results, actions[where], wanted[where], seeds)
            if self.explains:
                self._keep_thoughts(results, lanes[where], actions[where], wanted[where])
            finished = results.finished
        self.cost.searched += len(where)
        if not finished and not self.explains:
            raise KeyboardInterrupt
        return actions

    def _ask_base(
        self, engine: Any, lanes: np.ndarray, left: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ask the base for actions where they are needed, and for probabilities if they are.

        Parameters
        ----------
        engine : BatchEngine
        lanes : ndarray of int, shape (k,)
        left : ndarray of bool, shape (k,)
            Decisions that are not searched.
        """
        options = self.searcher.options
        wanted_too = options.temperature is not None or self.explains
        everywhere = self._remembers or wanted_too or options.lead > 0
        actions = np.zeros(len(lanes), np.int32)
        where = np.flatnonzero(left | everywhere)
        # Before it acts: a base that remembers then remembers this decision too.
        wanted = np.full((len(lanes), engine.num_actions), np.nan)
        if wanted_too and isinstance(self._base, Weighs):
            wanted = self._base.probabilities(engine, lanes)
        if where.size:
            actions[where] = self._base.act(engine, lanes[where])
        if wanted_too and not self._remembers:  # of a bot all is known: what it does
            unknown = np.isnan(wanted).all(1)
            wanted[unknown] = np.eye(engine.num_actions)[actions[unknown]]
        return actions, wanted

    def _decide(
        self, results: SearchResult, own: np.ndarray, wanted: np.ndarray, seeds: np.ndarray
    ) -> np.ndarray:
        options, estimates = self.searcher.options, results.estimates
        looked = (estimates.counts > 0).any(1)
        if options.temperature is not None:
            best = draw_step(estimates.means(), wanted, options.temperature, seeds)
        else:
            best = estimates.best()
        if options.lead > 0:
            dropped = ~estimates.open[np.arange(len(own)), own]  # beyond doubt, or not compared
            looked &= dropped | (estimates.leads(best, own) > options.lead)
        chosen: np.ndarray = np.where(looked, best, own)
        return chosen.astype(np.int32)

    def _keep_thoughts(
        self, results: SearchResult, lanes: np.ndarray, actions: np.ndarray, wanted: np.ndarray
    ) -> None:
        for i, lane in enumerate(lanes.tolist()):
            self._thoughts[lane] = self.searcher.think(results, i, int(actions[i]), wanted[i])


def draw_step(
    means: np.ndarray, wanted: np.ndarray, temperature: float, seeds: np.ndarray
) -> np.ndarray:
    """Draw from the policy's distribution times exp(mean / temperature), int (n,).

    Parameters
    ----------
    means : ndarray of float64, shape (n, A)
        -inf for actions that were not looked at, which are not drawn.
    wanted : ndarray of float64, shape (n, A)
    temperature : float
    seeds : ndarray of uint64, shape (n,)
        One a draw.
    """
    with np.errstate(divide="ignore"):
        logits = np.log(wanted) + means / temperature
    logits = np.where(np.isfinite(means), logits, -np.inf)
    drawn: np.ndarray = (logits + gumbel(seeds, means.shape[1], STEP)).argmax(1)
    return drawn
