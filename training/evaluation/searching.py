"""An agent that searches, evaluated in the place of the agent that it is without."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from rich.console import Console

from training.evaluation.protocols import get_protocol
from training.evaluation.run_evaluation import describe
from training.players.trained import Trained
from training.run.folder import RunFolder
from training.run.sections import EvaluationConfig


class Searches:
    """Makes players of an agent that searches, and adds up what they have spent.

    Parameters
    ----------
    agent : training.search.agent.SearchAgent
    """

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._made: list[Any] = []

    def player(self, engine: Any) -> Any:
        """Return a player of an engine."""
        self._made.append(self._agent.player(engine))
        return self._made[-1]

    def record(self) -> dict[str, Any]:
        """Return who searched how, and what a decision took, as JSON values."""
        made = self._made
        decisions = sum(player.decisions for player in made)
        spent = 1000 * sum(player.cpu_s for player in made)
        return {
            "name": self._agent.name,
            "options": made[0].searcher.options.to_dict() if made else None,
            "decisions": decisions,
            "searched": sum(player.searched for player in made),
            "cpu_ms_per_decision": round(spent / decisions, 4) if decisions else None,
        }


def evaluate(
    run: RunFolder,
    trained: Trained,
    agent: Any,
    options: EvaluationConfig,
    console: Console,
    asked: Mapping[str, Any],
) -> dict[str, Any]:
    """Let a run's agent search in the episodes of its game; print the tables.

    Nothing is written: what is in the folder of the run is of the agent alone.

    Parameters
    ----------
    run : RunFolder
    trained : Trained
        Without search; it plays too.
    agent : training.search.agent.SearchAgent
        The same with it.
    options : EvaluationConfig
    console : rich.console.Console
    asked : mapping
        See :meth:`training.evaluation.protocol.Protocol.evaluate`.

    Returns
    -------
    dict
        JSON values.
    """
    torch.set_num_threads(1)
    searches, begin = Searches(agent), time.perf_counter()
    searching = replace(trained, search=searches.player)
    protocol = get_protocol(run.config.env)
    found = protocol.evaluate(console, agent.name, searching, options, asked)
    search = searches.record()
    cost, share = search["cpu_ms_per_decision"], search["searched"] / max(search["decisions"], 1)
    console.print(
        f"{agent.name}: {cost:.2f} ms of CPU time a decision, {share:.0%} of them searched"
    )
    return {
        **describe(run, trained, options),
        "policy": "search",
        "base": str(run.path),
        "search": search,
        **found.record,
        **({} if found.rows is None else {"rows": found.rows}),
        "wall_s": round(time.perf_counter() - begin, 1),
    }
