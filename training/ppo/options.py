"""Options of PPO: the section ``ppo``, of all trainers that learn so, and ``native``, of ours."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from training.nets.options import ActorCriticConfig, HiddenConfig
from training.run import machine, sizes
from training.run.config import Only, RunConfig
from training.run.options import Decay, Number, Text, Truth, Whole, option, require
from training.run.sizes import RolloutSizes

# Options of the section ``native`` that shape the network.
_SHAPE = ("trunk", "heads", "attention", "recurrent", "recurrent_size")
# Further ones, which a checkpoint has where they are not as usual: it may be older than they are.
_SHAPE_LATER = ("hindsight", "encoder", "critic_view", "normalize_observations")
# They follow lanes step by step, and would see those of the first rank of several alone.
_ONE_RANK = ("trackers", "mask_schedule", "shaping", "best_times", "window_ticks", "selfplay")


class PPOConfig(HiddenConfig):
    """Hyper-parameters of PPO, named as in Stable-Baselines3 where it has them."""

    SECTION: ClassVar[str] = "ppo."

    n_steps: Whole = option(
        128,
        "decisions per lane and iteration; ``n_steps * num_envs`` is the rollout",
        ge=1,
    )
    batch_size: Whole = option(4096, "samples of a minibatch; divides the rollout", ge=1)
    n_epochs: Whole = option(4, "passes over a rollout", ge=1)
    learning_rate: Number = option(3e-4, "at the start; ``lr_schedule`` says how it falls", gt=0)
    lr_schedule: Decay = option(
        "constant", "``linear`` or, not with ``sb3``, ``cosine``: to zero at ``total_steps``"
    )
    gamma: Number = option(
        0.99,
        "discount of one primitive step; not with ``sb3``, a decision that takes ``tau`` of them "
        "has ``gamma**tau``",
        ge=0,
        le=1,
    )
    gae_lambda: Number = option(
        0.95, "of the advantages; per decision, not per primitive step", ge=0, le=1
    )
    clip_range: Number = option(0.2, "of the ratio", gt=0)
    ent_coef: Number = option(0.0, "weight of the entropy", ge=0)
    vf_coef: Number = option(0.5, "weight of the value loss", ge=0)
    max_grad_norm: Number = option(0.5, "gradients are clipped to it", gt=0)
    target_kl: Number | None = option(
        None,
        "ends an update early, before the step, once a minibatch is beyond 1.5 times this",
        "above 0, or null for none",
        gt=0,
    )
    precision: Literal["fp32", "bf16", "fp16", "auto"] | None = option(
        None,
        "of matrix products; everything else stays float32. ``auto`` compares the CPU time of a "
        "minibatch in both; null is ``auto`` with ``native``, ``expert`` and ``hier``, ``fp32`` "
        "else and in deterministic runs. ``sb3`` and ``rllib`` have fp32 alone",
    )

    @model_validator(mode="after")
    def _check_layers(self) -> Self:
        wide = bool(self.net_arch) and min(self.net_arch) >= 1
        require(wide, "ppo.net_arch", self.net_arch, "one or more layer widths of at least 1")
        return self

    def check_rollout(self, num_envs: int) -> None:
        """Refuse a minibatch that does not divide the rollout of ``num_envs`` lanes."""
        rollout = self.n_steps * num_envs
        allowed = f"a divisor of the rollout, num_envs * ppo.n_steps = {rollout}"
        require(rollout % self.batch_size == 0, "ppo.batch_size", self.batch_size, allowed)


class NativeConfig(ActorCriticConfig):
    """Options of our PPO beside the section ``ppo``."""

    seq_len: Whole = option(
        16, "decisions of a chunk that is unrolled; divides ``n_steps`` and ``batch_size``", ge=1
    )
    value_loss: Literal["mse", "huber"] = option("mse", "of the values")
    normalize_rewards: Truth = option(
        False,
        "rewards are divided by the deviation of their discounted sums so far; logs and "
        "evaluations show them as they are",
    )
    ent_schedule: Decay = option("constant", "as ``lr_schedule``, of the entropy weight")
    adam_eps: Number = option(1e-5, "of the optimizer", gt=0)
    compile: Literal["off", "default", "reduce-overhead"] = option(
        "off", "whether ``torch.compile`` builds the two hot functions"
    )
    micro_batch: Whole = option(
        0,
        "samples of one forward and backward pass; the gradients of a minibatch are sums over "
        "them. 0 chooses: on a CPU as many as stay in the cache (about a megabyte of a layer in "
        "fp32, 4,096 in bf16), on a device the whole minibatch",
        ge=0,
    )
    timers: Truth = option(
        False,
        "split the time of an iteration by phase; on CUDA (untested) each boundary waits for it",
    )
    diagnostics: Whole = option(
        10, "iterations from one look at the layers to the next; 0 for none", ge=0
    )
    warm_start: Text | None = option(
        None,
        "folder of a run of ``native`` or ``expert``, on the same environment and with the same "
        "network, whose newest checkpoint has the first parameters; an exported agent has none of "
        "the value, which begins anew",
    )

    def check_with(self, ppo: PPOConfig) -> None:
        """Refuse what the section ``ppo`` contradicts."""
        if self.recurrent != "none":
            for name in ("n_steps", "batch_size"):
                size = getattr(ppo, name)
                allowed = f"a divisor of ppo.{name}={size}"
                require(size % self.seq_len == 0, "native.seq_len", self.seq_len, allowed)
        allowed = "at least 2: the advantage of one sample has no deviation"
        require(ppo.batch_size != 1, "ppo.batch_size", ppo.batch_size, allowed)


class OnPolicyRun(RunConfig):
    """A run that learns from one rollout after the other by PPO."""

    ppo: PPOConfig = option(PPOConfig, "hyper-parameters of PPO")

    @model_validator(mode="after")
    def _check_rollout(self) -> Self:
        self.ppo.check_rollout(self.num_envs)
        return self

    @property
    def asked_precision(self) -> str | None:
        """Precision that is asked for; None leaves it to the trainer."""
        return self.ppo.precision

    @property
    def gamma(self) -> float:
        """Discount of a primitive step."""
        return self.ppo.gamma

    @property
    def iteration_steps(self) -> int:
        """Decisions of a lane in an iteration."""
        return self.ppo.n_steps

    @property
    def minibatch(self) -> int | None:
        """Samples of a minibatch."""
        return self.ppo.batch_size

    @property
    def net(self) -> HiddenConfig:
        """The section that has the hidden layers."""
        return self.ppo

    def units(self, ranks: int) -> dict[str, int]:
        """Return the required divisors of the lanes, steps and minibatches of a rollout."""
        return {"lane_unit": ranks, "batch_unit": ranks}

    def shorten_rollout(self, ranks: int = 1) -> Self:
        """Return options whose rollout is no longer than the run, as far as lanes divide."""
        ppo = self.ppo
        full = RolloutSizes(self.num_envs, ppo.n_steps, ppo.batch_size, **self.units(ranks))
        fitted = full.fitted(self.total_steps)
        if fitted == full:
            return self
        fewer = ppo.replace(n_steps=fitted.steps, batch_size=fitted.batch)
        return self.replace(num_envs=fitted.lanes, ppo=fewer)

    def buffer_bytes(self, obs_bytes: int, num_actions: int) -> int:
        """Return the bytes of a rollout buffer; parameters as of :meth:`check_memory`."""
        # Masks and flags are bytes, actions 8.
        return self.rollout * (obs_bytes + num_actions + 36)

    def check_memory(self, obs_bytes: int, num_actions: int) -> None:
        """Refuse a network or a rollout that this machine cannot hold."""
        sizes.check_network(self.ppo.net_arch, num_actions, "ppo.net_arch", len(self.members))
        needed, available = self.buffer_bytes(obs_bytes, num_actions), sizes.memory()
        allowed = (
            f"less with num_envs={self.num_envs:,}: a rollout would take {needed / 2**30:,.0f} "
            f"GiB, and this machine has {available / 2**30:,.0f}"
        )
        require(needed < available, "ppo.n_steps", self.ppo.n_steps, allowed)

    def sizes(self, obs_bytes: int, num_actions: int) -> str:
        """Describe rollout, minibatches and updates in one line."""
        members = max(1, len(self.members))
        minibatches = self.rollout // (members * self.ppo.batch_size)
        each = f" for each of {members} networks" if members > 1 else ""
        megabytes = self.buffer_bytes(obs_bytes, num_actions) / 2**20
        rollouts = -(-self.total_steps // self.rollout)
        return (
            f"rollout {self.num_envs} x {self.ppo.n_steps} = {self.rollout:,} decisions, "
            f"{minibatches} minibatch{'es' * (minibatches != 1)} of {self.ppo.batch_size:,}, "
            f"{minibatches * self.ppo.n_epochs} updates a rollout{each}, "
            f"{rollouts} rollout{'s' * (rollouts != 1)}, "
            f"{megabytes:,.0f} MiB of rollout buffer"
        )


class ActorCriticRun(OnPolicyRun):
    """A run of PPO with the network of the native trainer."""

    native: NativeConfig = option(NativeConfig, "network and loss of our PPO")

    @property
    def network(self) -> dict[str, Any]:
        """Options that shape the network, as checkpoints have them."""
        later = {name: getattr(self.native, name) for name in _SHAPE_LATER}
        return {
            **super().network,
            **{name: getattr(self.native, name) for name in _SHAPE},
            **{name: x for name, x in later.items() if x != NativeConfig.get_default(name)},
        }

    def facts(self, device: str) -> dict[str, Any]:
        """Describe network, rollout and ranks for the summary."""
        return {**super().facts(device), "ranks": machine.ranks()}

    @model_validator(mode="after")
    def _check_native(self) -> Self:
        self.native.check_with(self.ppo)
        return self

    def units(self, ranks: int) -> dict[str, int]:
        """Return the required divisors of the lanes, steps and minibatches of a rollout."""
        native = self.native
        chunk = native.seq_len if native.recurrent != "none" else 1
        return {"lane_unit": ranks, "step_unit": chunk, "batch_unit": chunk * ranks}


class PolicyRun(ActorCriticRun):
    """A run of PPO that trains one network."""

    CHOOSES_PRECISION: ClassVar[bool] = True
    MEETS_AGENTS: ClassVar[bool] = True

    @model_validator(mode="after")
    def _check_selfplay(self) -> Self:
        if self.selfplay is not None:
            cell = self.native.recurrent
            require(cell == "none", "native.recurrent", cell, "'none' with selfplay")
        return self

    def share_of(self, ranks: int) -> Self:
        """Return the options of one of several ranks, with its share of lanes and minibatches."""
        if ranks == 1:
            return self
        among = f"with {ranks} ranks of torchrun"
        for name in _ONE_RANK:
            value: Any = getattr(self, name)
            require(not value, name, value, f"left out {among}")
        hindsight, lanes, samples = self.native.hindsight, self.num_envs, self.ppo.batch_size
        require(hindsight == "off", "native.hindsight", hindsight, f"'off' {among}")
        scaled = self.native.normalize_rewards
        require(not scaled, "native.normalize_rewards", scaled, f"false {among}")
        require(lanes % ranks == 0, "num_envs", lanes, f"a multiple of {ranks} {among}")
        require(samples % ranks == 0, "ppo.batch_size", samples, f"a multiple of {ranks} {among}")
        ppo = self.ppo.replace(batch_size=samples // ranks)
        return self.replace(num_envs=lanes // ranks, ppo=ppo)


class NativeRun(PolicyRun):
    """A run of the native trainer (:mod:`training.ppo`)."""

    AVERAGES: ClassVar[bool] = True
    EQUAL_ITERATIONS: ClassVar[bool] = True

    trainer: Literal["native"] = option("native", "our PPO")


# What trainers of several networks, or over several processes, do not do.
ONE_NETWORK = (
    Only("selfplay", (None,)),
    Only("shaping", (None,), ": it is for one policy"),
    Only("best_times", (None,), ": it is for one policy"),
)
