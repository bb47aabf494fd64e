"""Options of a run: frozen dataclasses, read in layers, refused by name when something is wrong.

The layers are, each over the one before: defaults, preset, file, command line.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from fastenv.backend import named
from fastenv.errors import ConfigError, FileError
from fastenv.files import read_regular
from training.run import machine, plain
from training.run.options.checkpoints import CheckpointConfig
from training.run.options.dqn import DQNConfig
from training.run.options.ensemble import EnsembleConfig
from training.run.options.evaluation import EvaluationConfig
from training.run.options.hier import HierConfig
from training.run.options.mask_schedule import LateAction
from training.run.options.ppo import NativeConfig, PPOConfig
from training.run.options.rllib import RLlibConfig
from training.run.options.selfplay import SelfPlayConfig
from training.run.options.shaping import ShapingConfig
from training.run.values import Schedule, build, canonical_json, require, shown

TRAINERS = ("native", "sb3", "hier", "ensemble", "dqn", "rllib")
BACKENDS = ("auto", "reference", "numba", "cython", "fast")
_FLAGS = ("use_numba", "use_cython")
_CHOOSE_BACKEND = ("backend", "env_impl", *_FLAGS)
# They follow lanes step by step, and would see those of the first rank of several alone.
_ONE_RANK = ("trackers", "mask_schedule", "shaping", "best_times", "window_ticks", "selfplay")


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides what a run does.

    Parameters
    ----------
    env : str
        Environment id, with or without the namespace.
    trainer : {"native", "sb3", "hier", "ensemble", "dqn", "rllib"}
        :mod:`training.ppo`, stock ``sb3_contrib.MaskablePPO``, a Manager and a Worker with
        :mod:`training.apps.skullking.hier`, several networks at once with :mod:`training.ensemble`,
        :mod:`training.dqn`, or PPO of Ray RLlib with :mod:`training.rllib`.
    name : str or None
        Folder under ``runs/``; None makes one up from the id and the time.
    preset : str or None
        Which preset the values started from; for the record only.
    seed : int
        All generators derive from it.
    total_steps : int
        Decisions, summed over the lanes; the last rollout is finished, so it can be a little more.
        Commands shorten the rollout of a shorter run (:mod:`training.run.shorter`).
    num_envs : int
        Lanes of the engine.
    env_threads : int
        Threads inside the engine.
    torch_threads : int or None
        Threads of the network; None takes the physical cores less ``env_threads``, at least 1.
    backend : {"auto", "reference", "numba", "cython", "fast"}
        What the lanes run on; ``auto`` takes the fastest that works here. In files and on command
        lines ``use_numba`` and ``use_cython`` can stand for it; see :func:`name_backend`.
    device : {"auto", "cpu", "cuda"}
        ``cuda`` is untested.
    deterministic : bool
        Only algorithms that give the same bits every time.
    env_options : mapping
        Options of the environment; checked by it. ``invalid_action`` is "raise" unless given.
    schedules : mapping of str to list of [step, value]
        Knobs of the environment that change during training: from each step on its value holds.
    mask_schedule : tuple of LateAction
        Actions that are held back at the start of episodes, less and less as training goes on.
    trackers : mapping of str to mapping
        What is followed in the lanes, and what it adds to rewards; see
        :mod:`training.callbacks.trackers.options`.
    gate : mapping
        Stages of knobs that follow one another when a test is passed; see
        :mod:`training.callbacks.curriculum`. Empty for none.
    shaping : ShapingConfig or None
        Potential whose change is added to rewards; see :mod:`training.callbacks.shaping`.
    best_times : str or None
        File for the fastest episodes, where the game keeps them; None for none.
    episode_events : bool
        Write an event ``episode_end`` into ``events.jsonl`` for each episode.
    window_ticks : int
        Ticks of a window of ``windows.jsonl`` (:mod:`training.callbacks.windows`); 0 for none.
    wandb : bool
        Draw curves on Weights & Biases too (:class:`training.logs.boards.WandbBoard`).
    selfplay : SelfPlayConfig or None
        Opponents that are snapshots of the learner; None for none.
    ppo, native, hier, ensemble, dqn, rllib, checkpoints, evaluation : see there
    """

    env: str = "SkullKingWorker-v0"
    trainer: str = "native"
    name: str | None = None
    preset: str | None = None
    seed: int = 1
    total_steps: int = 10_000_000
    num_envs: int = 512
    env_threads: int = 1
    torch_threads: int | None = None
    backend: str = "auto"
    device: str = "auto"
    deterministic: bool = False
    env_options: Mapping[str, Any] = field(default_factory=dict)
    schedules: Mapping[str, Schedule] = field(default_factory=dict)
    mask_schedule: tuple[LateAction, ...] = ()
    trackers: Mapping[str, Any] = field(default_factory=dict)
    gate: Mapping[str, Any] = field(default_factory=dict)
    shaping: ShapingConfig | None = None
    best_times: str | None = None
    episode_events: bool = False
    window_ticks: int = 0
    wandb: bool = False
    selfplay: SelfPlayConfig | None = None
    ppo: PPOConfig = field(default_factory=PPOConfig)
    native: NativeConfig = field(default_factory=NativeConfig)
    hier: HierConfig = field(default_factory=HierConfig)
    ensemble: EnsembleConfig = field(default_factory=EnsembleConfig)
    dqn: DQNConfig = field(default_factory=DQNConfig)
    rllib: RLlibConfig = field(default_factory=RLlibConfig)
    checkpoints: CheckpointConfig = field(default_factory=CheckpointConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        for name in ("total_steps", "num_envs", "env_threads"):
            value = getattr(self, name)
            require(value >= 1, name, value, "at least 1")
        possible = self.torch_threads is None or 1 <= self.torch_threads <= 1024
        allowed = "from 1 to 1024, or null for the default"
        require(possible, "torch_threads", self.torch_threads, allowed)
        require(self.window_ticks >= 0, "window_ticks", self.window_ticks, "at least 0")
        require(0 <= self.seed < 2**32, "seed", self.seed, "from 0 to 2**32 - 1")
        choices = {"trainer": TRAINERS, "backend": BACKENDS, "device": ("auto", "cpu", "cuda")}
        for name, words in choices.items():
            value = getattr(self, name)
            require(value in words, name, value, "one of " + ", ".join(map(repr, words)))
        if self.name is not None:
            plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", self.name) is not None
            require(plain, "name", self.name, "letters, digits, '.', '_' and '-' alone")
        self._check_trainer()
        for name, schedule in self.schedules.items():
            starts = [start for start, _ in schedule]
            rising = bool(starts) and starts[0] == 0 and sorted(set(starts)) == starts
            require(
                rising, f"schedules.{name}", schedule, "[step, value] pairs, rising from step 0"
            )

    def _check_trainer(self) -> None:
        """Refuse what the chosen trainer does not do."""
        if self.trainer == "dqn":
            self._check_dqn()
        else:
            self._check_unused("dqn", vars(DQNConfig()), "dqn")
            self.ppo.check_rollout(self.num_envs)
        if self.trainer != "hier":
            self._check_unused("hier", vars(HierConfig()), "hier")
        if self.trainer != "rllib":
            self._check_unused("rllib", vars(RLlibConfig()), "rllib")
        if self.trainer in ("sb3", "dqn"):
            self._check_unused("native", vars(NativeConfig()), "native")
        else:
            self._check_unused("ppo", {"rollout_buffer": "stock", "algorithm": "stock"}, "sb3")
        self._check_selfplay()
        self._check_ensemble()
        self._check_shaping()
        if self.best_times is not None:
            self._require_alone("best_times", self.best_times)
        if self.trainer == "sb3":
            self._check_sb3()
        else:
            self._check_native()
        if self.trainer == "rllib":
            self._check_rllib()

    def _check_unused(self, section: str, usual: Mapping[str, Any], owner: str) -> None:
        """Refuse options that belong to another trainer, unless they have their usual values."""
        for name, value in usual.items():
            given = getattr(getattr(self, section), name)
            only = f"{value!r} with trainer={self.trainer!r}: it belongs to trainer={owner!r}"
            require(given == value, f"{section}.{name}", given, only)

    def _check_selfplay(self) -> None:
        if self.selfplay is None:
            return
        require(self.trainer == "native", "trainer", self.trainer, "'native' with selfplay")
        for name, alone in {"env_groups": 1, "recurrent": "none"}.items():
            value = getattr(self.native, name)
            require(value == alone, f"native.{name}", value, f"{alone!r} with selfplay")

    def _check_ensemble(self) -> None:
        seeds = self.ensemble.seeds
        if self.trainer != "ensemble":
            require(not seeds, "ensemble.seeds", seeds, f"empty with trainer={self.trainer!r}")
            return
        require(bool(seeds), "ensemble.seeds", seeds, "one seed or more with trainer='ensemble'")
        during = self.evaluation.during
        allowed = "'off' with trainer='ensemble': its members are evaluated when they are trained"
        require(during in (None, "off"), "evaluation.during", during, allowed)
        patience = self.evaluation.patience
        require(patience is None, "evaluation.patience", patience, "null with trainer='ensemble'")
        for name, alone in {"env_groups": 1, "hindsight": "off"}.items():
            value = getattr(self.native, name)
            require(value == alone, f"native.{name}", value, f"{alone!r} with trainer='ensemble'")

    def _check_shaping(self) -> None:
        if self.shaping is None:
            return
        self._require_alone("shaping.phi", self.shaping.phi)
        gamma = self.shaping.gamma
        allowed = f"the discount of the learner, {self.gamma}, or null, which stands for it"
        require(gamma in (None, self.gamma), "shaping.gamma", gamma, allowed)

    def _require_alone(self, name: str, value: object) -> None:
        """Refuse what is for trainers of one network that plays against nobody of its kind."""
        alone = self.trainer in ("native", "sb3", "dqn") and self.selfplay is None
        allowed = "null with self-play and with trainers of several networks"
        require(alone, name, value, allowed)

    def _check_dqn(self) -> None:
        self._check_unused("ppo", vars(PPOConfig()), "native")
        self.dqn.check_lanes(self.num_envs)
        legacy = self.dqn.runner == "legacy" and self.num_envs > 1
        for name in ("window_ticks", "trackers"):
            one = not (legacy and getattr(self, name))
            allowed = f"'vector' with {name}, which follows all lanes at once"
            require(one, "dqn.runner", self.dqn.runner, allowed)

    def _check_sb3(self) -> None:
        lacking = {"precision": "fp16", "activation": "gelu", "lr_schedule": "cosine"}
        for name, missing in lacking.items():
            value = getattr(self.ppo, name)
            require(value != missing, f"ppo.{name}", value, "something else with trainer='sb3'")

    def _check_native(self) -> None:
        self.native.check_with(self.ppo)
        groups = self.native.env_groups
        even = self.num_envs % groups == 0
        require(even, "native.env_groups", groups, f"a divisor of num_envs={self.num_envs}")
        coef = self.native.intrinsic_coef
        allowed = "null without trackers, which pay for what is new"
        require(coef is None or bool(self.trackers), "native.intrinsic_coef", coef, allowed)
        for name in ("window_ticks", "trackers"):
            one = groups == 1 or not getattr(self, name)
            require(one, "native.env_groups", groups, f"1 with {name}, which follows one group")

    def _check_rllib(self) -> None:
        """Refuse what belongs to loops of ours, or to what RLlib computes otherwise."""
        self.rllib.check_sizes(self.num_envs, self.rollout, self.ppo.batch_size)
        usual = RunConfig.__dataclass_fields__
        for name in ("deterministic", "mask_schedule", "episode_events", "window_ticks"):
            value = getattr(self, name)
            require(value == usual[name].default, name, value, "left out with trainer='rllib'")
        for name in ("trackers", "gate"):
            value = getattr(self, name)
            require(not value, name, value, "empty with trainer='rllib'")
        for name, possible in {"precision": (None, "fp32"), "target_kl": (None,)}.items():
            value = getattr(self.ppo, name)
            allowed = f"{' or '.join(map(str, possible))} with trainer='rllib'"
            require(value in possible, f"ppo.{name}", value, allowed)
        schedule = self.ppo.lr_schedule
        allowed = "'constant' or 'linear' with trainer='rllib'"
        require(schedule != "cosine", "ppo.lr_schedule", schedule, allowed)
        ours = NativeConfig()
        for name in (
            *("recurrent", "norm_adv", "value_clip", "value_loss", "clip_schedule"),
            *("ent_schedule", "env_groups", "compile", "hindsight", "clip_range_vf"),
        ):
            value, only = getattr(self.native, name), getattr(ours, name)
            require(value == only, f"native.{name}", value, f"{only!r} with trainer='rllib'")

    @property
    def precision(self) -> str:
        """Precision of the layers that is asked for."""
        chooses = self.trainer in ("native", "hier", "dqn") and not self.deterministic
        asked = self.dqn.precision if self.trainer == "dqn" else self.ppo.precision
        return asked or ("auto" if chooses else "fp32")

    @property
    def evaluates(self) -> str:
        """How the policy is evaluated while it is trained: off, inline or process."""
        if self.evaluation.during is not None:
            return self.evaluation.during
        one = self.trainer != "ensemble"
        if one and machine.physical_cores() >= 3:
            return "process"
        return "off" if self.evaluation.patience is None else "inline"

    @property
    def gamma(self) -> float:
        """Discount of a primitive step."""
        return self.dqn.gamma if self.trainer == "dqn" else self.ppo.gamma

    @property
    def rollout(self) -> int:
        """Decisions of an iteration."""
        dqn = self.trainer == "dqn"
        return self.num_envs * (self.dqn.iteration_steps if dqn else self.ppo.n_steps)

    def share_of(self, ranks: int) -> Self:
        """Return the options of one of several ranks, with its share of lanes and minibatches.

        Raises
        ------
        ConfigError
            If they do not divide, or with options that are for one process.
        """
        if ranks == 1:
            return self
        among = f"with {ranks} ranks of torchrun"
        require(self.trainer == "native", "trainer", self.trainer, f"'native' {among}")
        for name in _ONE_RANK:
            value = getattr(self, name)
            require(not value, name, value, f"left out {among}")
        hindsight, lanes, samples = self.native.hindsight, self.num_envs, self.ppo.batch_size
        require(hindsight == "off", "native.hindsight", hindsight, f"'off' {among}")
        require(lanes % ranks == 0, "num_envs", lanes, f"a multiple of {ranks} {among}")
        require(samples % ranks == 0, "ppo.batch_size", samples, f"a multiple of {ranks} {among}")
        ppo = dataclasses.replace(self.ppo, batch_size=samples // ranks)
        return dataclasses.replace(self, num_envs=lanes // ranks, ppo=ppo)

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain JSON values."""
        return json.loads(json.dumps(dataclasses.asdict(self)))

    def sha256(self) -> str:
        """Return the hash of the canonical JSON of the options."""
        return hashlib.sha256(canonical_json(self.to_dict()).encode()).hexdigest()

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Build a config from nested plain values.

        Raises
        ------
        ConfigError
            For an unknown option, or a value of the wrong type or out of range; names it.
        """
        return build(cls, name_backend(values), "")


def name_backend(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with the backend by its name, if they choose one in any way.

    Parameters
    ----------
    values : mapping
        Of one layer. ``use_numba`` and ``use_cython`` choose as in :func:`fastenv.make`: one that
        is left out beside the other is false. ``env_impl`` is what ``backend`` was once called, and
        ``native`` what the fast one was.

    Raises
    ------
    ConfigError
        For an unknown name, or names and flags that contradict each other.
    """
    require(isinstance(values, Mapping), "config", values, "a mapping")
    rest = dict(values)
    given = {name: rest.pop(name) for name in _CHOOSE_BACKEND if name in rest}
    if not given:
        return rest
    both = "backend" in given and "env_impl" in given
    require(not both, "env_impl", given.get("env_impl"), "left out beside backend, its new name")
    word = "env_impl" if "env_impl" in given else "backend"
    name = given.get(word, "auto")
    if (word, name) == ("env_impl", "native"):
        name = "fast"
    known = isinstance(name, str) and name in BACKENDS
    require(known, word, name, "one of " + ", ".join(map(repr, BACKENDS)))
    for flag in _FLAGS:
        value = given.get(flag)
        require(value is None or isinstance(value, bool), flag, value, "true or false")
    chosen = named(name, *(given.get(flag) for flag in _FLAGS))
    return rest | {"backend": "auto" if chosen is None else chosen.name}


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with the values of ``over``; sections are merged, other values replaced."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping) and key != "schedules":
            value = merge(old, value)
        merged[key] = value
    return merged


def load_file(path: str | Path) -> dict[str, Any]:
    """Read a YAML or JSON file (JSON is YAML) that holds one mapping.

    Raises
    ------
    ConfigError
        If it cannot be read, or is something else.
    """
    where = f"config file {path}"
    try:
        text = read_regular(path, plain.MAX_BYTES).decode()
    except (FileError, UnicodeDecodeError) as error:
        reason = error if isinstance(error, FileError) else f"{where} is not UTF-8 text."
        raise ConfigError(str(reason)) from error
    values = plain.parse(text, where)
    if not isinstance(values, dict):
        raise ConfigError(f"{where} must hold a mapping of options to values.")
    return values


def parse_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """Turn ``section.option=value`` texts into nested values; values are read as YAML.

    Raises
    ------
    ConfigError
        For a text without ``=``, or a value that is no plain YAML.
    """
    nested: dict[str, Any] = {}
    for text in assignments:
        path, equals, value = text.partition("=")
        where, parts = f"--set {shown(text)}", path.split(".")
        if not equals or not all(parts) or len(parts) > plain.MAX_DEPTH:
            raise ConfigError(f"{where}: must be option=value, such as ppo.n_steps=64.")
        inner = plain.parse(value, where)
        for part in reversed(parts):
            inner = {part: inner}
        nested = merge(nested, inner)
    return nested
