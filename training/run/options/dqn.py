"""Options of the DQN trainer, the section ``dqn`` of a run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from training.run.options.ppo import (
    ENCODERS,
    NATURE,
    RECURRENT,
    SCHEDULES,
    check_cell,
    check_convs,
)
from training.run.values import require


@dataclass(frozen=True)
class DQNConfig:
    """Hyper-parameters of DQN; those of the sections ``ppo`` and ``native`` are not used.

    Parameters
    ----------
    capacity : int
        Decisions that the replay keeps.
    batch_size : int
        Decisions of an update.
    learning_starts : int
        Decisions that must be stored, and ready to be drawn, before the first update.
    replay_ratio : float
        Decisions drawn from the replay for each one that is taken: the unit of effort. There are
        ``replay_ratio * num_envs / batch_size`` updates for a decision in every lane; fractions
        are carried over.
    iteration_steps : int
        Decisions per lane from one boundary to the next, where a run logs, saves and evaluates.
    n_step : int
        Rewards that a target adds up before it takes the network's word for the rest.
    gamma : float
        Discount of one primitive step; a decision that takes ``tau`` of them has ``gamma**tau``.
    target_sync : int
        Updates from one copy of the network into the target network to the next.
    polyak : float or None
        In place of copies: the share of the network that goes into the target at every update.
    double : bool
        The network chooses the action that the target network values; else the target does both.
    dueling : bool
        A value of the state and advantages of the actions, rather than a value for each action.
    num_quantiles : int
        Of the distribution of returns that is learnt by quantile regression; 1 learns a number.
    kappa : float
        Up to which error the Huber loss is quadratic.
    noisy : bool
        Explore with noise in the last layers; ``epsilon_start`` and ``epsilon_end`` hold as well.
    noise_groups : int
        Groups of lanes that have a noise of their own; fewer where there are fewer lanes.
    epsilon_start, epsilon_end, epsilon_fraction : float
        Share of actions that are drawn from all legal ones: at first, and from this fraction of
        the run on; it falls linearly in between.
    prioritized : bool
        Draw decisions in proportion to their last error.
    priority_alpha, priority_beta : float
        Power of the errors; power of the weights that make up for it, at first: at the end it is 1.
    learning_rate, lr_schedule, adam_eps, max_grad_norm
        As in the sections ``ppo`` and ``native``.
    net_arch, activation, encoder, convs, precision
        Likewise.
        ``net_arch`` may be empty here.
    stack_k : int
        Frames that the network sees; the replay keeps them one by one and puts them together when
        they are drawn. For environments that show a single one, ``env_options.stack_k: 1``.
    head_width : int
        Hidden layer of each stream of the head, with the noise if there is any; 0 for none.
    bonus_head : bool
        A further number for each action, which is added to all of its quantiles.
    side_weight, goal_weight : float
        Weights of further losses: side features, and goal, are to be read off what the head sees;
        with ``encoder: pixels``.
    compile : {"off", "default"}
        Whether ``torch.compile`` builds the networks.
    recurrent : {"none", "gru", "lstm", "ssm", "gru_lstm", "ssm_gru_lstm"}
        A cell of ``recurrent_size`` behind the hidden layers. What is drawn then are sequences.
    recurrent_size, seq_len, burn_in : int
        Output of the cell; decisions of a sequence; its first decisions, which only bring the
        stored state up to date and are not learnt from. Every decision is learnt from in one
        sequence: they begin ``seq_len - burn_in`` decisions apart.
    replay_device : {"auto", "cpu"}
        ``cpu`` keeps the replay in host memory when the network is elsewhere.
    save_replay : bool
        Checkpoints have the replay: a run that goes on does so exactly. Without it a run that goes
        on begins with an empty one, and waits for ``learning_starts`` again.
    runner : {"vector", "legacy"}
        ``legacy`` takes one lane at a time through the same parts, to find faults.
    warm_start : str or None
        Folder of a run of this trainer, on the same environment and with the same network, whose
        newest checkpoint has the first parameters.
    """

    capacity: int = 1_048_576
    batch_size: int = 256
    learning_starts: int = 50_000
    replay_ratio: float = 8.0
    iteration_steps: int = 128
    n_step: int = 3
    gamma: float = 0.99
    target_sync: int = 2000
    polyak: float | None = None
    double: bool = True
    dueling: bool = True
    num_quantiles: int = 51
    kappa: float = 1.0
    noisy: bool = False
    noise_groups: int = 16
    epsilon_start: float = 1.0
    epsilon_end: float = 0.05
    epsilon_fraction: float = 0.1
    prioritized: bool = False
    priority_alpha: float = 0.6
    priority_beta: float = 0.4
    learning_rate: float = 1e-4
    lr_schedule: str = "constant"
    adam_eps: float = 1.5e-4
    max_grad_norm: float = 10.0
    net_arch: tuple[int, ...] = (256, 256)
    activation: str = "relu"
    encoder: str = "auto"
    convs: tuple[tuple[int, ...], ...] = NATURE
    precision: str | None = None
    stack_k: int = 1
    head_width: int = 0
    bonus_head: bool = False
    side_weight: float = 0.0
    goal_weight: float = 0.0
    compile: str = "off"
    recurrent: str = "none"
    recurrent_size: int = 128
    seq_len: int = 24
    burn_in: int = 8
    replay_device: str = "auto"
    save_replay: bool = True
    runner: str = "vector"
    warm_start: str | None = None

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        for name in (
            *("capacity", "batch_size", "learning_starts", "iteration_steps", "n_step"),
            *("target_sync", "num_quantiles", "noise_groups", "recurrent_size", "seq_len"),
            "stack_k",
        ):
            value = getattr(self, name)
            require(value >= 1, f"dqn.{name}", value, "at least 1")
        for name in ("replay_ratio", "kappa", "learning_rate", "adam_eps", "max_grad_norm"):
            value = getattr(self, name)
            require(value > 0, f"dqn.{name}", value, "above 0")
        for name in (
            *("gamma", "epsilon_start", "epsilon_end", "epsilon_fraction"),
            *("priority_alpha", "priority_beta"),
        ):
            value = getattr(self, name)
            require(0 <= value <= 1, f"dqn.{name}", value, "from 0 to 1")
        share = self.polyak is None or 0 < self.polyak <= 1
        require(share, "dqn.polyak", self.polyak, "above 0 and at most 1, or null for copies")
        wide = min(self.net_arch, default=1) >= 1
        require(wide, "dqn.net_arch", self.net_arch, "layer widths of at least 1")
        check_convs(self.convs, "dqn.convs")
        for name in ("burn_in", "head_width", "side_weight", "goal_weight"):
            value = getattr(self, name)
            require(value >= 0, f"dqn.{name}", value, "at least 0")
        enough = self.batch_size <= self.learning_starts
        allowed = f"at most dqn.learning_starts={self.learning_starts}: there must be as many"
        require(enough, "dqn.batch_size", self.batch_size, allowed)
        choices: dict[str, Collection[object]] = {
            "lr_schedule": SCHEDULES,
            "activation": ("relu", "tanh", "gelu"),
            "encoder": ENCODERS,
            "compile": ("off", "default"),
            "precision": ("fp32", "bf16", "fp16", "auto", None),
            "recurrent": RECURRENT,
            "replay_device": ("auto", "cpu"),
            "runner": ("vector", "legacy"),
        }
        for name, words in choices.items():
            value = getattr(self, name)
            require(value in words, f"dqn.{name}", value, "one of " + ", ".join(map(repr, words)))

        if self.recurrent != "none":
            below = self.burn_in < self.seq_len
            require(below, "dqn.burn_in", self.burn_in, f"below dqn.seq_len={self.seq_len}")
            whole = self.batch_size % self.learnt == 0
            allowed = f"a multiple of dqn.seq_len - dqn.burn_in = {self.learnt}"
            require(whole, "dqn.batch_size", self.batch_size, allowed)
            check_cell(self.recurrent, self.recurrent_size, "dqn.recurrent_size")

    @property
    def learnt(self) -> int:
        """Decisions that are learnt from of what is drawn at once: of a sequence, or 1."""
        return 1 if self.recurrent == "none" else self.seq_len - self.burn_in

    @property
    def reach(self) -> int:
        """How far behind the first decision of what is drawn at once the last observation is."""
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
        """Return how many last observations are kept; see :func:`finals_of`."""
        return finals_of(self.rows(num_envs) * num_envs, num_envs, self.reach)

    def epsilon(self, done: float) -> float:
        """Return the share of random actions after the share ``done`` of a run."""
        over = 1.0 if self.epsilon_fraction == 0 else min(1.0, done / self.epsilon_fraction)
        return self.epsilon_start + (self.epsilon_end - self.epsilon_start) * over

    def beta(self, done: float) -> float:
        """Return the power of the weights after the share ``done`` of a run."""
        return self.priority_beta + (1.0 - self.priority_beta) * min(1.0, done)


def finals_of(capacity: int, lanes: int, reach: int) -> int:
    """Return how many last observations of episodes that were cut off a replay keeps.

    One for every 16 decisions, and enough for all that can just be drawn.
    """
    return max(capacity // 16, lanes * (reach + 1))
