"""Evaluation of Asteroid Prospector: a policy beside the reference lines and all scripted bots.

Cashing out at once returns about nothing, which is more than most play does, so a return alone says
little: every table shows that line, and how long the episodes were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from fastenv import BatchEngine
from training.apps.prospector.bots import BOTS, REFERENCE_LINES
from training.evaluation.protocol import EpisodeProtocol, Plan
from training.run.config import RunConfig

FIRST_SEED = 7  # of the published tables; training seeds lie elsewhere


class ProspectorProtocol(EpisodeProtocol):
    """Episodes of a given length, beside reference lines and bots."""

    options = (*EpisodeProtocol.options, "time_max")
    has_benchmark = True
    reference_lines = REFERENCE_LINES
    caption = (
        f"{EpisodeProtocol.caption} cash_out ends an episode with its first action: what returns "
        "less would better not have played."
    )

    def kind(self, name: str) -> str:
        """Return what a contender is; market timers of other commodities are bots too."""
        return "bot" if name.startswith(BOTS) else super().kind(name)

    def about(self, engine: BatchEngine) -> dict[str, Any]:
        """Return the ticks of an episode."""
        game: Any = engine.game
        return {"time_max": game.config.time_max}

    def env_options(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the length of the episodes, if one was asked for."""
        time_max = asked.get("time_max")
        return {} if time_max is None else {"time_max": time_max}

    def play_bots(
        self, console: Console, env: str, names: Sequence[str] | None, asked: Mapping[str, Any]
    ) -> dict[str, Any]:
        """See :meth:`Protocol.play_bots`; by default from the first published seed on."""
        return super().play_bots(console, env, names, {"seed": FIRST_SEED, **asked})

    def benchmark(
        self,
        config: RunConfig,
        seeds: Sequence[int],
        asked: Mapping[str, Any],
        root: Path,
        run_id: str,
        enforce: bool,
    ) -> dict[str, Any]:
        """See :meth:`Protocol.benchmark`."""
        from training.apps.prospector import benchmark

        seed = asked.get("seed", FIRST_SEED)
        more = self.env_options(asked)
        plan = Plan(asked["episodes"], seed, asked["max_steps"], env_options=more)
        return benchmark.run(self, config, seeds, plan, root, run_id, enforce)

    def show_benchmark(self, console: Console, report: Mapping[str, Any]) -> None:
        """See :meth:`Protocol.show_benchmark`."""
        from training.apps.prospector import benchmark

        benchmark.show(console, report)
