"""Evaluation of Asteroid Prospector: a policy beside the reference lines and all scripted bots.

Cashing out at once returns about nothing, which is more than most play does, so a return alone says
little: every table shows that line, and how long the episodes were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fastenv import BatchEngine
from fastenv.prospector.bots import Bot as Kind
from training.evaluation import episodes
from training.evaluation.episodes import Comparison, Episodes, Player
from training.evaluation.policies import Bot
from training.run.envs import make_engine
from training.run.values import require

# What play is measured against: cashing out above all.
REFERENCE_LINES = ("cash_out", "hold", "masked_random", "random")
BOTS = tuple(kind.name.lower() for kind in Kind if kind.name.lower() not in REFERENCE_LINES)
EPISODES = 300
FIRST_SEED = 7  # of the published tables; training seeds lie elsewhere


@dataclass(frozen=True)
class Protocol:
    """What is played.

    Parameters
    ----------
    count : int
        Episodes of each policy, all with the same seeds.
    base_seed : int
        Seed of the first episode.
    max_steps : int
        Decisions after which an episode is given up.
    time_max : float or None
        Ticks of an episode; None is the game's own.
    bootstrap : int
        Resamples of the 95 % intervals.
    """

    count: int = EPISODES
    base_seed: int = FIRST_SEED
    max_steps: int = 30_000
    time_max: float | None = None
    bootstrap: int = 2000

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        for name, shown in (("count", "episodes"), ("max_steps", "max_steps")):
            value = getattr(self, name)
            require(value >= 1, shown, value, "at least 1")
        require(self.bootstrap >= 1, "bootstrap", self.bootstrap, "at least 1")
        require(0 <= self.base_seed < 2**40, "base_seed", self.base_seed, "from 0 to 2**40 - 1")

    def engine(self, env: str, options: Mapping[str, Any]) -> BatchEngine:
        """Return an engine to play on."""
        limit = {} if self.time_max is None else {"time_max": self.time_max}
        return make_engine(env, min(self.count, episodes.LANES), {**options, **limit})


def bot(kind: str) -> Player:
    """Return a scripted player of that name; its generators are seeded like the episodes."""
    return lambda first_seed, lanes: Bot(kind, lanes, first_seed)


def scripted(names: Sequence[str] | None = None) -> dict[str, Player]:
    """Return scripted players by name; default all, reference lines first."""
    return {name: bot(name) for name in (names or (*REFERENCE_LINES, *BOTS))}


def play(
    engine: BatchEngine,
    players: Mapping[str, Player],
    protocol: Protocol,
    keep_actions: Sequence[str] = (),
) -> dict[str, Episodes]:
    """Let all players play the same episodes; the actions of some may be kept."""
    return {
        name: episodes.play(
            engine,
            player,
            protocol.count,
            protocol.base_seed,
            protocol.max_steps,
            keep_actions=name in keep_actions,
        )
        for name, player in players.items()
    }


def kind(name: str) -> str:
    """Return what a contender is: ``policy``, ``bot`` or ``reference_line``."""
    if name in REFERENCE_LINES:
        return "reference_line"
    return "bot" if name.startswith(BOTS) else "policy"  # market timers of other commodities


def compare(played: dict[str, Episodes], protocol: Protocol) -> Comparison:
    """Compare with cashing out at once, or with whoever comes first if nobody did."""
    baseline = "cash_out" if "cash_out" in played else next(iter(played))
    return episodes.compare(played, baseline, protocol.bootstrap)


def record(
    engine: BatchEngine, played: dict[str, Episodes], compared: Comparison, protocol: Protocol
) -> dict[str, Any]:
    """Return what was played and found, as JSON values."""
    return {
        "protocol": "the same seeds for every policy; 95 % bootstrap intervals over episodes",
        **asdict(protocol),
        "time_max": engine.game.config.time_max,
        "backend": engine.backend,
        "baseline": compared.baseline,
        "policies": {
            name: {
                "kind": kind(name),
                "summary": found.summary(),
                "intervals": {m: x.to_list() for m, x in compared.means[name].items()},
                "return_minus_baseline": compared.gaps[name].to_list()
                if name in compared.gaps
                else None,
            }
            for name, found in played.items()
        },
    }
