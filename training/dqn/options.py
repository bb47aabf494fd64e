"""Options of the DQN trainer: the section ``dqn``."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from training.nets.options import HiddenConfig, QNetworkConfig
from training.run import sizes
from training.run.config import Only, RunConfig
from training.run.options import Decay, Number, Truth, Whole, option, require
from training.run.sizes import RolloutSizes

# Options that shape the network.
_SHAPE = ("net_arch", "activation", "encoder", "dueling", "num_quantiles", "noisy")
# Further ones, which a checkpoint has where they are not as usual: it may be older than they are.
_SHAPE_LATER = ("recurrent", "recurrent_size", "stack_k")


class DQNConfig(QNetworkConfig):
    """Hyper-parameters of DQN."""

    capacity: Whole = option(
        1_048_576,
        "decisions that the replay keeps; more than fit into memory, twice with ``save_replay``, "
        "are refused",
        ge=1,
    )
    batch_size: Whole = option(256, "decisions of an update", ge=1)
    learning_starts: Whole = option(
        50_000,
        "decisions that must be stored, and ready to be drawn, before the first update",
        ge=1,
    )
    replay_ratio: Number = option(
        8.0,
        "decisions drawn from the replay for each one that is taken: the unit of effort. There are "
        "``replay_ratio * num_envs / batch_size`` updates for a decision in every lane; fractions "
        "are carried over",
        gt=0,
    )
    iteration_steps: Whole = option(
        128,
        "decisions per lane from one boundary to the next, where a run logs, saves and evaluates",
        ge=1,
    )
    n_step: Whole = option(
        3, "rewards that a target adds up before it takes the network's word for the rest", ge=1
    )
    gamma: Number = option(
        0.99,
        "discount of one primitive step; a decision that takes ``tau`` of them has ``gamma**tau``",
        ge=0,
        le=1,
    )
    target_sync: Whole = option(
        2000, "updates from one copy of the network into the target network to the next", ge=1
    )
    double: Truth = option(
        True,
        "the network chooses the action that the target network values; else the target does both",
    )
    kappa: Number = option(1.0, "up to which error the Huber loss is quadratic", gt=0)
    epsilon_start: Number = option(
        1.0, "share of actions that are drawn from all legal ones, at first", ge=0, le=1
    )
    epsilon_end: Number = option(0.05, "and in the end", ge=0, le=1)
    epsilon_fraction: Number = option(
        0.1, "share of the run in which it falls linearly", ge=0, le=1
    )
    prioritized: Truth = option(False, "draw decisions in proportion to their last error")
    priority_alpha: Number = option(0.6, "power of the errors", ge=0, le=1)
    priority_beta: Number = option(
        0.4,
        "power of the weights that make up for it, at first; 1 at the end of the run",
        ge=0,
        le=1,
    )
    learning_rate: Number = option(1e-4, "of Adam, at the start", gt=0)
    lr_schedule: Decay = option("constant", "``linear`` or ``cosine``: to zero at ``total_steps``")
    adam_eps: Number = option(1.5e-4, "of Adam", gt=0)
    max_grad_norm: Number = option(10.0, "gradients are clipped to it", gt=0)
    precision: Literal["fp32", "bf16", "fp16", "auto"] | None = option(None, "as ``ppo.precision``")
    compile: Literal["off", "default"] = option(
        "off",
        "``default`` of ``torch.compile``; what cannot be compiled runs as it is, with one warning",
    )
    seq_len: Whole = option(24, "decisions of a sequence, which are drawn with a memory", ge=1)
    burn_in: Whole = option(
        8,
        "its first decisions, which only bring the stored state up to date and are not learnt "
        "from; ``batch_size`` is a multiple of the others. Every decision is learnt from in one "
        "sequence: they begin ``seq_len - burn_in`` decisions apart",
        ge=0,
    )
    replay_device: Literal["auto", "cpu"] = option(
        "auto", "``cpu`` keeps the replay in host memory when the network is elsewhere"
    )
    save_replay: Truth = option(
        True,
        "checkpoints have the replay, and a run that continues does so exactly; without it such a "
        "run begins with an empty one, and waits for ``learning_starts`` again",
    )
    runner: Literal["vector", "legacy"] = option(
        "vector",
        "``legacy`` takes one lane at a time through the same parts, to find faults",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        wide = min(self.net_arch, default=1) >= 1
        require(wide, "dqn.net_arch", self.net_arch, "layer widths of at least 1")
        enough = self.batch_size <= self.learning_starts
        allowed = f"at most dqn.learning_starts={self.learning_starts}: there must be as many"
        require(enough, "dqn.batch_size", self.batch_size, allowed)
        if self.recurrent != "none":
            below = self.burn_in < self.seq_len
            require(below, "dqn.burn_in", self.burn_in, f"below dqn.seq_len={self.seq_len}")
            whole = self.batch_size % self.learnt == 0
            allowed = f"a multiple of dqn.seq_len - dqn.burn_in = {self.learnt}"
            require(whole, "dqn.batch_size", self.batch_size, allowed)
        return self

    @property
    def learnt(self) -> int:
        """Decisions that are learnt from of what is drawn at once: of a sequence, or 1."""
        return 1 if self.recurrent == "none" else self.seq_len - self.burn_in

    @property
    def reach(self) -> int:
        """Decisions from the first one of a sample to its last observation."""
        return self.n_step if self.recurrent == "none" else self.seq_len - 1 + self.n_step

    @property
    def margin(self) -> int:
        """Rows at the end of a full ring whose stacks of frames are no longer whole."""
        return self.stack_k - 1

    def rows(self, num_envs: int) -> int:
        """Return the rows of a replay; sequences begin in the same ones after each turn."""
        return self.capacity // num_envs // self.learnt * self.learnt

    def check_lanes(self, num_envs: int) -> None:
        """Refuse a replay that ``num_envs`` lanes could not learn from."""
        rows, span = self.rows(num_envs), self.reach + self.margin
        needed = -(-(span + self.learnt) // self.learnt) * self.learnt
        what = "dqn.n_step + 1" if needed == self.n_step + 1 else f"{needed}"
        allowed = f"at least {needed * num_envs}, {what} rows of {num_envs} lanes"
        require(rows >= needed, "dqn.capacity", self.capacity, allowed)
        ready = (rows - span) // self.learnt * self.learnt * num_envs
        allowed = f"at most {ready}, which a replay of dqn.capacity={self.capacity} has ready"
        require(self.learning_starts <= ready, "dqn.learning_starts", self.learning_starts, allowed)

    def finals(self, num_envs: int) -> int:
        """Return the number of final observations to keep; see :func:`finals_of`."""
        return finals_of(self.rows(num_envs) * num_envs, num_envs, self.reach)

    def epsilon(self, done: float) -> float:
        """Return the share of random actions after the share ``done`` of a run."""
        over = 1.0 if self.epsilon_fraction == 0 else min(1.0, done / self.epsilon_fraction)
        return self.epsilon_start + (self.epsilon_end - self.epsilon_start) * over

    def beta(self, done: float) -> float:
        """Return the power of the weights after the share ``done`` of a run."""
        return self.priority_beta + (1.0 - self.priority_beta) * min(1.0, done)


class DQNRun(RunConfig):
    """A run of the DQN trainer (:mod:`training.dqn`)."""

    CHOOSES_PRECISION: ClassVar[bool] = True
    ITERATION: ClassVar[str] = "iteration"
    ONLY: ClassVar[tuple[Only, ...]] = (Only("selfplay", (None,)),)

    trainer: Literal["dqn"] = option("dqn", "Q-learning from a replay")
    dqn: DQNConfig = option(DQNConfig, "hyper-parameters of DQN")

    @model_validator(mode="after")
    def _check_lanes(self) -> Self:
        dqn, num_envs = self.dqn, self.num_envs
        dqn.check_lanes(num_envs)
        legacy = dqn.runner == "legacy" and num_envs > 1
        for name in ("window_ticks", "trackers"):
            one = not (legacy and getattr(self, name))
            allowed = f"'vector' with {name}, which follows all lanes at once"
            require(one, "dqn.runner", dqn.runner, allowed)
        return self

    @property
    def asked_precision(self) -> str | None:
        """Precision that is asked for; None leaves it to the trainer."""
        return self.dqn.precision

    @property
    def gamma(self) -> float:
        """Discount of a primitive step."""
        return self.dqn.gamma

    @property
    def iteration_steps(self) -> int:
        """Decisions of a lane in an iteration."""
        return self.dqn.iteration_steps

    @property
    def net(self) -> HiddenConfig:
        """The section that has the hidden layers."""
        return self.dqn

    @property
    def network(self) -> dict[str, Any]:
        """Options that shape the network, as checkpoints have them."""
        values = self.dqn.to_dict()
        later = {name: values[name] for name in _SHAPE_LATER}
        return {
            **{name: values[name] for name in _SHAPE},
            **{name: x for name, x in later.items() if x != DQNConfig.get_default(name)},
        }

    @property
    def num_engines(self) -> int:
        """Engines that share the lanes: one each for the runner ``legacy``."""
        return self.num_envs if self.dqn.runner == "legacy" else 1

    def shorten_rollout(self, ranks: int = 1) -> Self:
        """Return options whose iteration is no longer than the run, as far as lanes divide."""
        full = RolloutSizes(self.num_envs, self.iteration_steps, 1, lane_unit=ranks)
        fitted = full.fitted(self.total_steps)
        if fitted == full:
            return self
        dqn = self.dqn.replace(iteration_steps=fitted.steps)
        return self.replace(num_envs=fitted.lanes, dqn=dqn)

    def replay_bytes(self, obs_bytes: int, num_actions: int) -> int:
        """Return the bytes of a replay; parameters as of :meth:`check_memory`."""
        dqn = self.dqn
        rows = dqn.rows(self.num_envs)
        # Beside the observation: packed mask, action, reward, discount, end and a running number.
        each = obs_bytes + -(-num_actions // 8) + 2 + 4 + 4 + 1 + 8
        decisions = rows * self.num_envs
        units = decisions // dqn.learnt
        tree = 16 << max(0, units - 1).bit_length() if dqn.prioritized else 0
        states = units * 4 * dqn.state_numbers
        return decisions * each + dqn.finals(self.num_envs) * obs_bytes + tree + states

    def check_memory(self, obs_bytes: int, num_actions: int) -> None:
        """Refuse a network or a replay that this machine cannot hold."""
        sizes.check_network(self.dqn.net_arch, num_actions, "dqn.net_arch")
        self.check_replay(obs_bytes, num_actions, sizes.memory(), copied=self.dqn.save_replay)

    def check_replay(
        self,
        obs_bytes: int,
        num_actions: int,
        there: int,
        *,
        copied: bool,
        where: str = "this machine",
    ) -> None:
        """Refuse a replay that does not fit into so many bytes; see :meth:`check_memory`.

        Parameters
        ----------
        obs_bytes, num_actions, there : int
        copied : bool
            A checkpoint takes a copy there.
        where : str
        """
        needed = self.replay_bytes(obs_bytes, num_actions)
        twice = ", twice that while it is saved (not with dqn.save_replay=false)" if copied else ""
        allowed = (
            f"less: a replay of {self.dqn.capacity:,} decisions would take "
            f"{needed / 2**30:,.1f} GiB{twice}, and {where} has {there / 2**30:,.1f}"
        )
        require(needed * (1 + copied) < there, "dqn.capacity", self.dqn.capacity, allowed)

    def sizes(self, obs_bytes: int, num_actions: int) -> str:
        """Describe replay, updates and iterations in one line."""
        dqn = self.dqn
        kept = dqn.rows(self.num_envs) * self.num_envs
        updates = dqn.replay_ratio * self.num_envs / dqn.batch_size
        megabytes = self.replay_bytes(obs_bytes, num_actions) / 2**20
        learns = self.total_steps > dqn.learning_starts
        iterations = -(-self.total_steps // self.rollout)
        idle = "" if learns else "; they end before: nothing is learnt"
        return (
            f"replay of {kept:,} decisions, {megabytes:,.0f} MiB; from {dqn.learning_starts:,} on "
            f"{updates:,.4g} updates of {dqn.batch_size:,} for a decision in each of "
            f"{self.num_envs:,} lanes, {iterations} iteration{'s' * (iterations != 1)} of "
            f"{self.rollout:,} decisions{idle}"
        )


def finals_of(capacity: int, lanes: int, reach: int) -> int:
    """Return the number of final observations of truncated episodes that a replay keeps.

    One for every 16 decisions, and enough for all that can just be drawn.
    """
    return max(capacity // 16, lanes * (reach + 1))
