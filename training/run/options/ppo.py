"""Options of PPO: the sections ``ppo``, of all trainers, and ``native``, of ours alone."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from training.run import games
from training.run.values import require

SCHEDULES = ("constant", "linear", "cosine")
ENCODERS = ("auto", "flat", "conv", "pixels")
HEADS = (
    *("single", "phase"),
    *("placements", "map", "shift_and_score", "factorised", "cell_attention"),
)
RECURRENT = ("none", "gru", "lstm", "ssm", "gru_lstm", "ssm_gru_lstm")
# Channels, side of the kernel and stride of the convolutions of Mnih et al., Human-level control
# through deep reinforcement learning, 2015.
NATURE = ((32, 8, 4), (64, 4, 2), (64, 3, 1))


@dataclass(frozen=True)
class PPOConfig:
    """Hyper-parameters of PPO, for all trainers; named as in Stable-Baselines3 where it has them.

    Parameters
    ----------
    n_steps : int
        Decisions per lane and iteration, T; ``n_steps * num_envs`` is the rollout.
    batch_size : int
        Samples of a minibatch; must divide the rollout, so that no minibatch is ragged.
    n_epochs : int
        Passes over a rollout.
    learning_rate : float
        At the start.
    lr_schedule : {"constant", "linear", "cosine"}
        ``linear`` and ``cosine`` fall to zero at ``total_steps``; ``cosine`` is native alone.
    gamma : float
        Discount of one primitive step; with the native trainer a decision that takes ``tau`` of
        them has ``gamma**tau``.
    gae_lambda : float
        Per decision, not per primitive step.
    clip_range, ent_coef, vf_coef, max_grad_norm : float
    target_kl : float or None
        An update ends early, before the step, once a minibatch is beyond 1.5 times this; None
        never does.
    net_arch : tuple of int
        Hidden layers of the policy network and, separately, of the value network.
    activation : {"relu", "tanh", "gelu"}
        ``gelu`` is native alone.
    precision : {"fp32", "bf16", "fp16", "auto"} or None
        Of matrix products; everything else stays float32. ``auto`` takes what is fastest here,
        ``fp16`` is native alone. None takes ``fp32`` with sb3 and in deterministic runs, else
        ``auto``.
    rollout_buffer : {"stock", "fast"}
        sb3: who stores the rollout, SB3 or :mod:`training.sb3.buffer`.
    algorithm : {"stock", "batch"}
        sb3: who collects the rollout, SB3 or :mod:`training.sb3.algo`.
    """

    n_steps: int = 128
    batch_size: int = 4096
    n_epochs: int = 4
    learning_rate: float = 3e-4
    lr_schedule: str = "constant"
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    ent_coef: float = 0.0
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    target_kl: float | None = None
    net_arch: tuple[int, ...] = (256, 256)
    activation: str = "relu"
    precision: str | None = None
    rollout_buffer: str = "stock"
    algorithm: str = "stock"

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        for name in ("n_steps", "batch_size", "n_epochs"):
            value = getattr(self, name)
            require(value >= 1, f"ppo.{name}", value, "at least 1")
        for name in ("learning_rate", "clip_range", "max_grad_norm"):
            value = getattr(self, name)
            require(value > 0, f"ppo.{name}", value, "above 0")
        for name in ("gamma", "gae_lambda"):
            value = getattr(self, name)
            require(0 <= value <= 1, f"ppo.{name}", value, "from 0 to 1")
        for name in ("ent_coef", "vf_coef"):
            value = getattr(self, name)
            require(value >= 0, f"ppo.{name}", value, "at least 0")
        positive = self.target_kl is None or self.target_kl > 0
        require(positive, "ppo.target_kl", self.target_kl, "above 0, or null for none")
        wide = bool(self.net_arch) and min(self.net_arch) >= 1
        require(wide, "ppo.net_arch", self.net_arch, "one or more layer widths of at least 1")
        for name, allowed in {
            "lr_schedule": SCHEDULES,
            "activation": ("relu", "tanh", "gelu"),
            "precision": ("fp32", "bf16", "fp16", "auto", None),
            "rollout_buffer": ("stock", "fast"),
            "algorithm": ("stock", "batch"),
        }.items():
            _one_of(f"ppo.{name}", getattr(self, name), allowed)

    def check_rollout(self, num_envs: int) -> None:
        """Refuse a minibatch that does not divide the rollout of ``num_envs`` lanes."""
        rollout = self.n_steps * num_envs
        require(
            rollout % self.batch_size == 0,
            "ppo.batch_size",
            self.batch_size,
            f"a divisor of the rollout, num_envs * ppo.n_steps = {rollout}",
        )

    def precision_asked(self, *, chooses: bool) -> str:
        """Return the precision; where none is given, ``auto`` of who may choose, else ``fp32``."""
        return self.precision or ("auto" if chooses else "fp32")


@dataclass(frozen=True)
class NativeConfig:
    """Options of the native trainer that SB3 does not have.

    Parameters
    ----------
    trunk : {"separate", "shared"}
        Whether policy and value have hidden layers of their own.
    encoder : {"auto", "flat", "conv", "pixels"}
        ``auto``: images and boards in an observation go through convolutions, the rest is
        flattened; ``flat``: everything is; ``conv``: as ``auto``, and there must be an image;
        ``pixels``: a larger network for images, :mod:`training.nets.pixels`.
    convs : tuple of (int, int, int)
        Convolutions over an image: channels, side of the kernel and stride of each.
    heads : {"single", "phase", "placements", "map", "shift_and_score", "factorised", \
            "cell_attention"}
        ``phase``: a policy head for each decision phase, for tiers that show the phase;
        ``placements``: each action is scored by what convolutions find where it fills the board,
        and only those that are possible; ``map``: a plane of scores for each orientation, as the
        others (:mod:`training.nets.placements`). For games that tell where actions lie
        (:class:`training.run.games.Placements`).
    attention : int
        Width of the attention over card slots, for tiers that show cards; 0 for none.
    recurrent : {"none", "gru", "lstm", "ssm", "gru_lstm", "ssm_gru_lstm"}
        A cell of ``recurrent_size`` behind the hidden layers; the last two have a GRU and an LSTM
        of half of it each, side by side, behind an ``ssm`` or without one.
    recurrent_size, seq_len, burn_in : int
        Output of the cell; decisions of a chunk that is unrolled in an update (divides
        ``ppo.n_steps`` and ``ppo.batch_size``); its first decisions that only bring the state up
        to date and are not learnt from.
    refresh_states : bool
        Compute the states at chunk starts anew for every epoch after the first.
    clip_range_vf : float or None
        Values may move this far in an update; None lets them.
    value_clip : {"sb3", "max"}
        With ``clip_range_vf``: the error of the clipped value, or half the larger of both errors.
    value_loss : {"mse", "huber"}
    norm_adv : {"minibatch", "batch", "off"}
        Over what advantages are brought to mean 0 and deviation 1.
    clip_schedule, ent_schedule : {"constant", "linear", "cosine"}
        How clip ranges and entropy weight fall to zero at the end of the run. They are set once an
        iteration, from the share of the run that lay before it.
    adam_eps : float
    env_groups : {1, 2}
        With 2, one half of the lanes steps while the network handles the other.
    compile : {"off", "default", "reduce-overhead"}
        Whether ``torch.compile`` builds the two hot functions.
    micro_batch : int
        Samples of one forward and backward pass; the gradients of a minibatch are sums over them.
        0 chooses: on a CPU as many as stay in the cache, on a device the whole minibatch.
    obs_device : {"auto", "cpu"}
        ``cpu`` keeps observations in host memory and brings each minibatch to the device.
    timers : bool
        Split the time of an iteration by phase; on CUDA (untested) each boundary waits for it.
    diagnostics : int
        Iterations from one look at the layers to the next, see :mod:`training.ppo.diagnostics`; 0
        for none.
    intrinsic_coef : float or None
        Weight of the advantages of intrinsic rewards, which then have a value head and a discount
        of their own (:mod:`training.ppo.intrinsic`); None adds what trackers pay to the rewards of
        the game.
    intrinsic_gamma : float
        Their discount of a primitive step.
    intrinsic_episodic : bool
        Whether their returns end with an episode, or go on in the next one.
    hindsight : str
        A further loss that the game offers, ``off`` for none; see
        :attr:`training.run.games.GameTraining.auxiliaries`.
    """

    trunk: str = "separate"
    encoder: str = "auto"
    convs: tuple[tuple[int, ...], ...] = NATURE
    heads: str = "single"
    attention: int = 0
    recurrent: str = "none"
    recurrent_size: int = 128
    seq_len: int = 16
    burn_in: int = 0
    refresh_states: bool = False
    clip_range_vf: float | None = None
    value_clip: str = "sb3"
    value_loss: str = "mse"
    norm_adv: str = "minibatch"
    clip_schedule: str = "constant"
    ent_schedule: str = "constant"
    adam_eps: float = 1e-5
    env_groups: int = 1
    compile: str = "off"
    micro_batch: int = 0
    obs_device: str = "auto"
    timers: bool = False
    diagnostics: int = 10
    intrinsic_coef: float | None = None
    intrinsic_gamma: float = 0.99
    intrinsic_episodic: bool = True
    hindsight: str = "off"

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        for name in ("recurrent_size", "seq_len"):
            value = getattr(self, name)
            require(value >= 1, f"native.{name}", value, "at least 1")
        check_convs(self.convs, "native.convs")
        for name in ("attention", "burn_in", "micro_batch", "diagnostics"):
            value = getattr(self, name)
            require(value >= 0, f"native.{name}", value, "at least 0")
        gamma, coef = self.intrinsic_gamma, self.intrinsic_coef
        require(0 <= gamma <= 1, "native.intrinsic_gamma", gamma, "from 0 to 1")
        weight = coef is None or 0 <= coef < math.inf
        require(weight, "native.intrinsic_coef", coef, "at least 0, or null for one value of both")
        alone = coef is None or self.hindsight == "off"
        off = "'off' with native.intrinsic_coef, whose values it knows nothing of"
        require(alone, "native.hindsight", self.hindsight, off)
        require(self.adam_eps > 0, "native.adam_eps", self.adam_eps, "above 0")
        positive = self.clip_range_vf is None or self.clip_range_vf > 0
        require(positive, "native.clip_range_vf", self.clip_range_vf, "above 0, or null for none")
        for name, allowed in {
            "trunk": ("separate", "shared"),
            "encoder": ENCODERS,
            "heads": HEADS,
            "recurrent": RECURRENT,
            "value_clip": ("sb3", "max"),
            "value_loss": ("mse", "huber"),
            "norm_adv": ("minibatch", "batch", "off"),
            "clip_schedule": SCHEDULES,
            "ent_schedule": SCHEDULES,
            "env_groups": (1, 2),
            "compile": ("off", "default", "reduce-overhead"),
            "obs_device": ("auto", "cpu"),
            "hindsight": ("off", *games.auxiliaries()),
        }.items():
            _one_of(f"native.{name}", getattr(self, name), allowed)
        if self.recurrent != "none":
            below = self.burn_in < self.seq_len
            require(below, "native.burn_in", self.burn_in, f"below native.seq_len={self.seq_len}")
            check_cell(self.recurrent, self.recurrent_size, "native.recurrent_size")

    def check_with(self, ppo: PPOConfig) -> None:
        """Refuse what the section ``ppo`` contradicts."""
        learnt = ppo.batch_size
        if self.recurrent != "none":
            for name in ("n_steps", "batch_size"):
                size = getattr(ppo, name)
                allowed = f"a divisor of ppo.{name}={size}"
                require(size % self.seq_len == 0, "native.seq_len", self.seq_len, allowed)
            learnt -= learnt // self.seq_len * self.burn_in
        one = self.norm_adv == "minibatch" and learnt == 1
        allowed = "enough to learn from two samples or more, to have a deviation (native.norm_adv)"
        require(not one, "ppo.batch_size", ppo.batch_size, allowed)

    @property
    def aux_head(self) -> int:
        """Outputs of a further head on the policy's hidden layers, for hindsight; 0 for none."""
        return 0 if self.hindsight == "off" else games.auxiliaries()[self.hindsight]


def state_numbers(recurrent: str, size: int) -> int:
    """Return how many numbers the state of a lane has; see :mod:`training.nets.recurrent`."""
    both = size // 2 + size // 2 * 2
    sizes = {"none": 0, "gru": size, "lstm": 2 * size, "ssm": 64}
    return {**sizes, "gru_lstm": both, "ssm_gru_lstm": 64 + both}[recurrent]


def check_convs(convs: tuple[tuple[int, ...], ...], option: str) -> None:
    """Refuse what are no convolutions, by the name of their option."""
    triples = bool(convs) and all(len(c) == 3 and min(c) >= 1 for c in convs)
    require(triples, option, convs, "one or more of [channels, side, stride], each at least 1")


def check_cell(recurrent: str, size: int, option: str) -> None:
    """Refuse an output that a cell does not have, by the name of its option."""
    even = recurrent in ("gru", "lstm") or size % 2 == 0
    require(even, option, size, f"even, as {recurrent} has two halves")


def _one_of(name: str, value: object, allowed: Collection[object]) -> None:
    require(value in allowed, name, value, "one of " + ", ".join(map(repr, allowed)))


def scheduled(value: float, schedule: str, done: float) -> float:
    """Return what is left of ``value`` after the share ``done`` of a run.

    Parameters
    ----------
    value : float
        At the start.
    schedule : {"constant", "linear", "cosine"}
    done : float
        From 0 to 1; beyond, the value stays at its end.
    """
    done = min(max(done, 0.0), 1.0)
    if schedule == "linear":
        return value * (1.0 - done)
    if schedule == "cosine":
        return value * 0.5 * (1.0 + math.cos(math.pi * done))
    return value
