"""Options of the native trainer: what is learnt (:class:`PPOConfig`), and how it is computed."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from training.run.values import require

SCHEDULES = ("constant", "linear", "cosine")
CELLS = ("none", "gru", "lstm", "ssm")


def _one_of(name: str, value: object, allowed: Collection[str]) -> None:
    require(value in allowed, name, value, "one of " + ", ".join(map(repr, allowed)))


@dataclass(frozen=True)
class PPOConfig:
    """Hyper-parameters of native PPO; the defaults are those of the training spec, section 6.1.

    Parameters
    ----------
    rollout_steps : int
        Decisions per lane and iteration, T; the rollout has ``T * num_envs`` samples.
    minibatch_size : int
        Samples of a minibatch; divides the rollout.
    epochs : int
        Passes over a rollout.
    learning_rate : float
        At the start.
    lr_schedule, clip_schedule, ent_schedule : {"constant", "linear", "cosine"}
        How learning rate, clip ranges and entropy weight fall to zero at the end of the run. They
        are set once an iteration, from the share of the run that lay before it.
    adam_eps, adam_betas : float, tuple of float
    gamma : float
        Discount of one primitive step; a decision that takes ``tau`` of them has ``gamma**tau``.
    gae_lambda : float
        Per decision, not per primitive step.
    clip_range : float
    clip_range_vf : float or None
        Values may move this far in an update; None lets them.
    value_clip : {"sb3", "max"}
        With ``clip_range_vf``: the error of the clipped value, or half the larger of both errors.
    value_loss : {"mse", "huber"}
    vf_coef, ent_coef, max_grad_norm : float
    target_kl : float or None
        An update ends early, before the step, once a minibatch is beyond 1.5 times this.
    norm_adv : {"minibatch", "batch", "off"}
        Over what advantages are brought to mean 0 and deviation 1.
    hidden : tuple of int
        Hidden layers.
    activation : {"tanh", "relu", "gelu"}
    trunk : {"separate", "shared"}
        Whether policy and value have hidden layers of their own.
    hidden_gain, policy_gain, value_gain : float
        Gains of the orthogonal initialisation; biases are 0.
    encoder : {"auto", "flat", "conv"}
        ``auto``: images and boards in an observation go through convolutions, the rest is
        flattened; ``flat``: everything is; ``conv``: as ``auto``, and there must be an image.
    heads : {"single", "phase"}
        ``phase``: one policy head for each decision phase, for tiers that show the phase.
    attention : int
        Width of the attention over card slots, for tiers that show cards; 0 for none.
    recurrent : {"none", "gru", "lstm", "ssm"}
        A cell behind the hidden layers.
    recurrent_size : int
        Output of the cell.
    seq_len : int
        Decisions of a chunk that is unrolled in an update; divides ``rollout_steps``.
    burn_in : int
        First decisions of a chunk that only bring the state up to date and are not learnt from.
    refresh_states : bool
        Compute the states at chunk starts anew for every epoch after the first.
    aux_head : int
        Outputs of a further head on the policy's hidden layers, for an auxiliary loss; 0 for none.
    """

    rollout_steps: int = 128
    minibatch_size: int = 4096
    epochs: int = 4
    learning_rate: float = 3e-4
    lr_schedule: str = "linear"
    clip_schedule: str = "constant"
    ent_schedule: str = "constant"
    adam_eps: float = 1e-5
    adam_betas: tuple[float, ...] = (0.9, 0.999)
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    clip_range_vf: float | None = None
    value_clip: str = "sb3"
    value_loss: str = "mse"
    vf_coef: float = 0.5
    ent_coef: float = 0.0
    max_grad_norm: float = 0.5
    target_kl: float | None = None
    norm_adv: str = "minibatch"
    hidden: tuple[int, ...] = (256, 256)
    activation: str = "tanh"
    trunk: str = "separate"
    hidden_gain: float = math.sqrt(2.0)
    policy_gain: float = 0.01
    value_gain: float = 1.0
    encoder: str = "auto"
    heads: str = "single"
    attention: int = 0
    recurrent: str = "none"
    recurrent_size: int = 128
    seq_len: int = 16
    burn_in: int = 0
    refresh_states: bool = False
    aux_head: int = 0

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        self._check_numbers()
        for name, allowed in {
            "lr_schedule": SCHEDULES,
            "clip_schedule": SCHEDULES,
            "ent_schedule": SCHEDULES,
            "value_clip": ("sb3", "max"),
            "value_loss": ("mse", "huber"),
            "norm_adv": ("minibatch", "batch", "off"),
            "activation": ("tanh", "relu", "gelu"),
            "trunk": ("separate", "shared"),
            "encoder": ("auto", "flat", "conv"),
            "heads": ("single", "phase"),
            "recurrent": CELLS,
        }.items():
            _one_of(f"ppo.{name}", getattr(self, name), allowed)
        wide = bool(self.hidden) and min(self.hidden) >= 1
        require(wide, "ppo.hidden", self.hidden, "one or more layer widths of at least 1")
        learnt = self.minibatch_size
        if self.recurrent != "none":
            self._check_recurrent()
            learnt -= learnt // self.seq_len * self.burn_in
        one = self.norm_adv == "minibatch" and learnt == 1
        allowed = "enough to learn from two samples or more, to have a deviation (norm_adv)"
        require(not one, "ppo.minibatch_size", self.minibatch_size, allowed)

    def _check_numbers(self) -> None:
        for name in ("rollout_steps", "minibatch_size", "epochs", "recurrent_size", "seq_len"):
            value = getattr(self, name)
            require(value >= 1, f"ppo.{name}", value, "at least 1")
        for name in ("learning_rate", "adam_eps", "clip_range", "max_grad_norm"):
            value = getattr(self, name)
            require(value > 0, f"ppo.{name}", value, "above 0")
        for name in ("gamma", "gae_lambda"):
            value = getattr(self, name)
            require(0 <= value <= 1, f"ppo.{name}", value, "from 0 to 1")
        for name in ("ent_coef", "vf_coef", "attention", "burn_in", "aux_head"):
            value = getattr(self, name)
            require(value >= 0, f"ppo.{name}", value, "at least 0")
        for name in ("target_kl", "clip_range_vf"):
            value = getattr(self, name)
            positive = value is None or value > 0
            require(positive, f"ppo.{name}", value, "above 0, or null for none")
        betas = self.adam_betas
        proper = len(betas) == 2 and all(0 <= b < 1 for b in betas)
        require(proper, "ppo.adam_betas", betas, "two numbers from 0 to below 1")

    def _check_recurrent(self) -> None:
        whole = self.rollout_steps % self.seq_len == 0
        require(
            whole,
            "ppo.seq_len",
            self.seq_len,
            f"a divisor of ppo.rollout_steps={self.rollout_steps}",
        )
        whole = self.minibatch_size % self.seq_len == 0
        require(
            whole,
            "ppo.seq_len",
            self.seq_len,
            f"a divisor of ppo.minibatch_size={self.minibatch_size}",
        )
        require(self.burn_in < self.seq_len, "ppo.burn_in", self.burn_in, "below seq_len")
        even = self.recurrent != "ssm" or self.recurrent_size % 2 == 0
        require(even, "ppo.recurrent_size", self.recurrent_size, "even, as ssm has two heads")

    def check_rollout(self, num_envs: int) -> None:
        """Refuse a minibatch that does not divide the rollout of ``num_envs`` lanes."""
        rollout = self.rollout_steps * num_envs
        require(
            rollout % self.minibatch_size == 0,
            "ppo.minibatch_size",
            self.minibatch_size,
            f"a divisor of the rollout, num_envs * ppo.rollout_steps = {rollout}",
        )


@dataclass(frozen=True)
class ExecutionConfig:
    """How the native trainer computes; in fp32 nothing here changes what is learnt.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda", "mps"}
    precision : {"auto", "fp32", "bf16", "fp16"}
        Of matrix products; everything else stays float32. ``auto`` measures before it chooses.
    compile : {"off", "default", "reduce-overhead"}
        Whether ``torch.compile`` builds the two hot functions.
    deterministic : bool
        Only algorithms that give the same bits every time.
    micro_batch : int
        Samples of one forward and backward pass on the CPU; the gradients of a minibatch are sums
        over them. 0 chooses: as many as stay in the cache.
    obs_device : {"auto", "cpu"}
        ``cpu`` keeps observations in host memory and brings each minibatch to the device.
    timers : bool
        Split the time of an iteration by phase; on CUDA this waits for the device at each border.
    """

    device: str = "auto"
    precision: str = "auto"
    compile: str = "off"
    deterministic: bool = False
    micro_batch: int = 0
    obs_device: str = "auto"
    timers: bool = False

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        for name, allowed in {
            "device": ("auto", "cpu", "cuda", "mps"),
            "precision": ("auto", "fp32", "bf16", "fp16"),
            "compile": ("off", "default", "reduce-overhead"),
            "obs_device": ("auto", "cpu"),
        }.items():
            _one_of(name, getattr(self, name), allowed)
        require(self.micro_batch >= 0, "micro_batch", self.micro_batch, "at least 0")


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
