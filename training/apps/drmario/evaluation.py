"""Evaluation of Dr. Mario: clears of an evaluation go to a store of best times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.tables import FEWEST_VIRUSES_LEVEL
from training.apps.drmario.best_times import BestTimes, list_clears, prepare
from training.evaluation.judging import Judging
from training.evaluation.results import EvaluationReport
from training.players.trained import TrainedAgent
from training.run.config import EvaluationConfig
from training.run.envs import with_defaults
from training.run.folder import name_of_agent
from training.run.options import require


class DrMarioJudging(Judging):
    """How agents of Dr. Mario are judged: a return would mix how often they clear and how fast."""

    shown = ("clear", "frames_to_clear", "timeout")
    caption = "Frames to clear are those of cleared episodes."
    options = ("best_times",)

    def refuse(
        self, trained: TrainedAgent, options: EvaluationConfig, asked: Mapping[str, Any]
    ) -> None:
        """Refuse a store of best times that cannot take these clears, before minutes of play.

        Raises
        ------
        ConfigError
        """
        path = asked.get("best_times")
        if path is None:
            return
        level = trained.config.env_options.get("level", DrMarioConfig.level)
        fits = not FEWEST_VIRUSES_LEVEL <= level < 0
        require(fits, "level", level, "another than -3 to -1 with --best-times")
        prepare(path, trained.config.env_options)

    def play_further(
        self,
        console: Console,
        trained: TrainedAgent,
        options: EvaluationConfig,
        evaluated: EvaluationReport,
        asked: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Add the cleared episodes of an agent to the store of best times that was asked for.

        Parameters
        ----------
        console : rich.console.Console
        trained : TrainedAgent
        options : EvaluationConfig
            Nothing of it is used.
        evaluated : EvaluationReport
            Of its episodes, with their actions and the options of their environment.
        asked : mapping
            Options of the command.

        Returns
        -------
        dict
            Empty: the record has no more.
        """
        path, played = asked.get("best_times"), evaluated.played
        if path is None or played is None:
            return {}
        with BestTimes(path) as store:
            rules = with_defaults(trained.config.env, evaluated.env_options)
            speed = rules.get("speed", DrMarioConfig.speed)
            clears = list_clears(played.with_column("speed", speed))
            count = store.add(clears, name_of_agent(trained.path))
        console.print(f"{path}: {count} new of {len(clears)} clears")
        return {}
