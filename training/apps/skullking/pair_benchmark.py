"""Whole games of Skull King, and Manager and Worker as a configuration of the benchmark."""

from __future__ import annotations

import math
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from training.apps.skullking.columns import COLUMNS
from training.apps.skullking.evaluation import match
from training.apps.skullking.whole_games import in_whole_games, match_player
from training.bench.learning import Use, describe_speed
from training.bench.timing import noisy
from training.bench.trainer_modes import described, run_once
from training.evaluation.evaluation import play
from training.players.player import MakePlayer
from training.players.trained import load
from training.run.config import RunConfig
from training.run.config_files import load_file, merge
from training.run.envs import make_trial_lane
from training.run.folder import RunFolder

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "hierarchical.yaml"
# Five stages of the Worker to one of the Manager: timed iterations are whole rounds of them.
ROUND = 6


def settings(flags: Any) -> RunConfig:
    """Return the run of a configuration: both policies with its sizes, alternating from the start.

    Raises
    ------
    ConfigError
        If the config cannot be read or trained here.
    """
    both = {"n_steps": flags.n_steps, "batch_size": flags.batch, "n_epochs": flags.epochs}
    sizes = {
        "num_envs": flags.n_envs,
        "backend": flags.backend,
        "env_threads": flags.threads,
        "torch_threads": flags.threads,
        "device": flags.device,
        "seed": flags.seed,
        "env_options": {"opponents": flags.opponent},
        "ppo": {**both, "net_arch": list(flags.net_arch)},
        "hier": {
            "warm_start": flags.n_envs * flags.n_steps,
            "worker": both,
            "manager": both,
        },
    }
    return RunConfig.from_mapping(merge(load_file(CONFIG), sizes))


def measure(flags: Any, steps: int, games: int) -> dict[str, Any]:
    """Return the measured fields of a configuration, as ``stock.measure`` does for one agent.

    Its two policies are paid for different things, so that there is no reward to compare.

    Parameters
    ----------
    flags : Flags
    steps : int
        Steps to time, after a first iteration that is not.
    games : int
        Whole games against 3 x rule_medium, afterwards; 0 plays none.
    """
    config = settings(flags)
    iterations = 1 + ROUND * math.ceil(steps / (ROUND * config.rollout))
    with tempfile.TemporaryDirectory(prefix="fastenv-bench-") as folder:
        root = Path(folder)
        with Use(gpu=config.device == "cuda") as use:
            result = run_once(config, root, "run", iterations, evaluation=False)
        trained = load(RunFolder.open(root / "run"))
        points = _measure_means(games, match_player(trained)).get("points")
    timed, phases = result.sample, result.phases
    seconds = {"wall": timed.wall_s, "cpu": timed.cpu_s, "update": phases["update"]}
    seconds["collect"] = phases["env"] + phases["collect"]
    names = {"env": "env", "forward": "collect", "update": "update", "other": "between"}
    parts = {name: phases[phase] for name, phase in names.items()}
    engine = make_trial_lane(config).engines[0]
    return {
        "ran": described(config, engine, "trainer", result.precision),
        **describe_speed(timed.steps, seconds, parts, use),
        "trained_s": timed.wall_s,
        "points_after": points,
        "noisy": noisy([timed], config.torch_threads == 1),
    }


def play_games(logits: Any, env: str, games: int) -> dict[str, float]:
    """Return mean official points and win rate of a network against 3 x rule_medium."""
    return _measure_means(games, partial(in_whole_games, logits, env, {}))


def _measure_means(games: int, make: MakePlayer) -> dict[str, float]:
    """Return the mean of every measure of a player's match; nothing without games."""
    if not games:
        return {}
    played = play(match("rule_medium", -(-games // 4), 1 << 40).by({"player": make}))
    names = [name for name, column in COLUMNS.items() if column.kind != "kept"]
    (means,) = played.estimate(names, resamples=1).means.values()
    return {name: mean.value for name, mean in means.items() if not math.isnan(mean.value)}
