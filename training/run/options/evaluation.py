"""Options of evaluation, the section ``evaluation`` of a run."""

from __future__ import annotations

from dataclasses import dataclass

from training.run.values import require

EVALUATES = ("off", "inline", "process")
OPPONENT_SETS = (
    "random",
    "rule_easy",
    "rule_medium",
    "rule_hard",
    "rule_pi_hard",
    "heuristic",
    "mixed",
)


@dataclass(frozen=True)
class EvaluationConfig:
    """What is played during a training, at its end, and by ``python -m training.evaluate``.

    Parameters
    ----------
    during : {"off", "inline", "process"} or None
        Whether, and where, the policy is evaluated while it is trained: between two iterations, or
        in a second process. None takes ``process`` if there are three cores, else ``off``.
    every : int
        Decisions between two evaluations during the training; one is also made at its end.
    patience : int or None
        Evaluations in a row without progress after which the training ends: none of them has put
        the lower end of the interval that decides above that of all before. None goes on to
        ``total_steps``.
    curve_games : int
        Games that are played in matches: whole games of each of them for each opponent set.
    curve_opponents : tuple of str
        Their opponent sets; the first one decides which policy is best.
    curve_episodes : int
        Other games: episodes of each of them.
    after_training : bool
        Evaluate as soon as the training is done.
    games : int
        Matches: whole games for each opponent set (``opponents``); four share their deals.
    episodes : int or None
        Episodes that each policy plays, or rounds for the comparison at equal goals and deals
        (Worker and Ability runs). None takes 300, and 20,000.
    opponents : tuple of str
        Opponent sets of the matches: bots, and paths of trained agents (they have a ``/``).
    bids : {"rule_hard", "heuristic"}
        Who bids for a Worker in a whole game.
    goals : {"uniform", "estimate"}
        Goals of the comparison: any from 0 to N, or near what the hand promises.
    bootstrap : int
        Resamples of the 95 % intervals.
    seed : int
        First evaluation seed; below 2**40, where no training seed lies.
    max_steps : int
        Decisions after which an episode is given up.
    replays : int
        Best episodes of the agent to keep in ``replays/``.
    """

    during: str | None = None
    every: int = 500_000
    patience: int | None = None
    curve_games: int = 200
    curve_opponents: tuple[str, ...] = ("rule_hard",)
    curve_episodes: int = 100
    after_training: bool = True
    games: int = 1000
    episodes: int | None = None
    opponents: tuple[str, ...] = OPPONENT_SETS
    bids: str = "rule_hard"
    goals: str = "uniform"
    bootstrap: int = 2000
    seed: int = 0
    max_steps: int = 30_000
    replays: int = 0

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        known = self.during in (None, *EVALUATES)
        require(known, "evaluation.during", self.during, " or ".join(map(repr, EVALUATES)))
        for name in ("every", "curve_games", "curve_episodes", "games", "bootstrap", "max_steps"):
            value = getattr(self, name)
            require(value >= 1, f"evaluation.{name}", value, "at least 1")
        possible = self.patience is None or self.patience >= 1
        require(possible, "evaluation.patience", self.patience, "at least 1, or null for none")
        seen = self.patience is None or self.during != "off"
        allowed = "null with evaluation.during='off': nothing shows then whether there is progress"
        require(seen, "evaluation.patience", self.patience, allowed)
        some = len(self.curve_opponents) > 0
        require(some, "evaluation.curve_opponents", self.curve_opponents, "one or more sets")
        possible = self.episodes is None or self.episodes >= 1
        allowed = "at least 1, or null for the default"
        require(possible, "evaluation.episodes", self.episodes, allowed)
        require(self.replays >= 0, "evaluation.replays", self.replays, "at least 0")
        require(0 <= self.seed < 2**40, "evaluation.seed", self.seed, "from 0 to 2**40 - 1")
        for option in ("opponents", "curve_opponents"):
            for name in getattr(self, option):
                allowed = "the path of a trained agent, or among " + ", ".join(OPPONENT_SETS)
                require(name in OPPONENT_SETS or "/" in name, f"evaluation.{option}", name, allowed)
        known = self.bids in ("rule_hard", "heuristic")
        require(known, "evaluation.bids", self.bids, "'rule_hard' or 'heuristic'")
        known = self.goals in ("uniform", "estimate")
        require(known, "evaluation.goals", self.goals, "'uniform' or 'estimate'")
