"""DQN. A step is: act in every lane, store, and update as often as the replay ratio asks for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.graph import increment_version

from training.dqn import loss
from training.dqn.adam import ClippedAdam
from training.dqn.direct import Direct, is_supported
from training.dqn.explore import EpsilonGreedy
from training.dqn.options import DQNRun
from training.dqn.replay import RUNNING, ReplayLanes, TensorReplay
from training.dqn.sequences import SequenceReplay
from training.nets.layers import fuse
from training.nets.layout import obs_layout, without_padding
from training.nets.precision import (
    Precision,
    choose,
    cpu_seconds,
    prepare_device,
)
from training.nets.q_network import QNetwork
from training.nets.recurrent import forget
from training.run.checkpoint import State, copy_to_host
from training.run.engine import Engine, restore_lanes, rows_of, seating_of
from training.run.options import decay
from training.run.seeds import stream_seed, training_seed
from training.run.trainer import Metrics, Trainer, TrainingError, check_loss, check_parameters

# Means over the updates of an iteration.
TERMS = ("loss", "error", "value", "grad_norm")
NOISES = 16  # groups of lanes that act with a noise of their own, at most


class DQNTrainer(Trainer):
    """DQN on one engine, or on several that are stepped one after the other.

    Parameters
    ----------
    config : DQNRun
    engines : sequence of Engine
        Not reset yet: that happens at the first iteration, unless a state is loaded.

    Attributes
    ----------
    iteration : int
        Iterations until now.
    net, target : QNetwork
    replay : TensorReplay

    Raises
    ------
    ConfigError
        A network that does not fit the environment, a device or precision that is not there.
    """

    net: QNetwork

    def __init__(self, config: DQNRun, engines: Sequence[Engine]) -> None:
        self.config, self.dqn, self.engines = config, config.dqn, list(engines)
        self.num_envs = sum(engine.num_envs for engine in self.engines)
        self.iteration = 0
        self._owed = 0.0  # decisions that are still to be drawn for those that were taken
        self._started = False
        self._env_s = 0.0

        self.device = prepare_device(config)
        self._asked = config.precision
        self._make_network()
        self._make_replay()
        self._precision: Precision | None = None
        self._acting: Precision | None = None
        if self._asked != "auto":
            self._precision = self._acting = Precision(self._asked, self.device)

    def _make_network(self) -> None:
        """Make the networks, their optimizer, and the explorer that chooses actions."""
        dqn, device = self.dqn, self.device
        layout = obs_layout(self.engines[0])
        self.net = QNetwork(layout, dqn, stream_seed(self.config.seed, "init")).to(device)
        if self._asked != "fp32":
            fuse(self.net)
        self.target = deepcopy(self.net).requires_grad_(False)
        # Found once: looking for them takes longer than a step on them.
        self._ours: list[Tensor] = list(self.net.parameters())
        self._theirs: list[Tensor] = list(self.target.parameters())
        if dqn.compile != "off":
            for net in (self.net, self.target):
                net.compile_parts(dqn.compile)
        self.optimizer = ClippedAdam(
            self._ours, lr=dqn.learning_rate, eps=dqn.adam_eps, max_norm=dqn.max_grad_norm
        )
        self._direct: Direct | None = None
        if dqn.compile == "off" and is_supported(self.net, device):
            self._direct = Direct(self.net, self.target, dqn.double, dqn.kappa)
        self._explorer = EpsilonGreedy(stream_seed(self.config.seed, "sampler"))
        self._noise = torch.Generator(device).manual_seed(stream_seed(self.config.seed, "noise"))

    def _make_replay(self) -> None:
        dqn, engines = self.dqn, self.engines
        options: dict[str, Any] = {
            "n_step": dqn.n_step,
            "gamma": dqn.gamma,
            "device": self.device if dqn.replay_device == "auto" else None,
            "seed": stream_seed(self.config.seed, "minibatch"),
            "alpha": dqn.priority_alpha if dqn.prioritized else None,
            "stack": self.net.stack,
        }
        sizes = engines[0], self.num_envs, dqn.capacity
        self.replay: TensorReplay
        if self.net.is_recurrent:
            options |= {"seq_len": dqn.seq_len, "burn_in": dqn.burn_in}
            self.replay = SequenceReplay(*sizes, state_size=self.net.state_size, **options)
        else:
            self.replay = TensorReplay(*sizes, **options)
        self._state = torch.zeros(self.num_envs, self.net.state_size, device=self.device)
        firsts = np.cumsum([0, *(engine.num_envs for engine in engines)]).tolist()
        parts = zip(firsts, engines, strict=False)
        self._lanes = [ReplayLanes(self.replay, first, engine) for first, engine in parts]

    # -- an iteration ----------------------------------------------------------------------------

    def iterate(self) -> Metrics:
        """Take ``iteration_steps`` decisions in every lane, and learn; return the figures.

        Returns
        -------
        dict
            ``train`` (means over the updates, and what decides them) and ``phases`` in seconds.

        Raises
        ------
        TrainingError
            The loss is not finite, or a lane has no legal action.
        """
        self.start()
        begin, before = time.perf_counter(), self.updates
        done = self.steps / self.config.total_steps
        lr = decay(self.dqn.learning_rate, self.dqn.lr_schedule, done)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        self._env_s = learn_s = 0.0
        sums = torch.zeros(len(TERMS), dtype=torch.float64, device=self.device)
        for _ in range(self.dqn.iteration_steps):
            self.step()
            collected = time.perf_counter()
            self.learn(sums)
            learn_s += time.perf_counter() - collected
        self.iteration += 1
        updates = self.updates - before
        self.precision.count_skipped(self.updates, self.optimizer)
        spent = time.perf_counter() - begin - self._env_s - learn_s
        return {
            "train": {
                **(self._means(sums, updates) if updates else {}),
                "updates": updates,
                "replay_ratio": updates * self.dqn.batch_size / self._decisions,
                "replay_size": self.replay.size * self.num_envs,
                "epsilon": self.dqn.epsilon(done),
                "lr": lr,
                "skipped_steps": self.precision.skipped,
            },
            "phases": {"env": self._env_s, "collect": spent, "update": learn_s},
        }

    @property
    def _decisions(self) -> int:
        """Decisions of an iteration in all lanes."""
        return self.dqn.iteration_steps * self.num_envs

    def _means(self, sums: Tensor, updates: int) -> dict[str, float]:
        means = dict(zip(TERMS, (sums / updates).tolist(), strict=True))
        check_loss(means["loss"], self.iteration, "dqn")
        return means

    def start(self) -> None:
        """Reset the lanes and choose the precision, once; an iteration does it if it must."""
        if not self._started:
            self._reset(0)
            self._started = True
        if self._precision is None:
            self._precision = Precision(
                choose(self._asked, self.device, self._measure_seconds), self.device
            )
            # Of few lanes it is the weights that a lower precision would cast at every decision.
            self._acting = Precision(
                choose(self._asked, self.device, self._measure_acting_seconds), self.device
            )

    def reset_lanes(self, shift: int | None = None) -> None:
        """See :meth:`Trainer.reset_lanes`.

        The episodes that were under way are cut off where they are.
        """
        if self._started:
            self.replay.cut()
            self._reset(shift)
            self._state.zero_()

    def _reset(self, shift: int | None) -> None:
        first = training_seed(self.config.seed) + (shift or 0)
        for lanes in self._lanes:
            obs = lanes.destination(behind=False)
            seeds = None if shift is None else first + lanes.slice.start
            lanes.engine.reset_many(seeds=seeds, obs_out=obs, mask_out=lanes.legal)
            if self.on_step is not None:
                self.on_step(lanes.engine, None, obs, lanes.legal)
            lanes.store_observation(behind=False)
            if not lanes.legal.any(1).all():
                raise TrainingError(
                    "a lane has no legal action: the environment's mask must allow at least one."
                )

    # -- acting ----------------------------------------------------------------------------------

    def step(self) -> None:
        """Take a decision in every lane and store it."""
        epsilon = self.dqn.epsilon(self.steps / self.config.total_steps)
        if isinstance(self.replay, SequenceReplay):
            self.replay.store_state(self._state)
        for lanes, chosen in zip(self._lanes, self.choose(epsilon), strict=True):
            action = chosen.cpu()
            obs, begin = lanes.destination(behind=True), time.perf_counter()
            engine, actions = lanes.engine, action.numpy()
            engine.step_many(actions, obs_out=obs, mask_out=lanes.legal)
            self._env_s += time.perf_counter() - begin
            if self.on_step is not None:
                self.on_step(engine, actions, obs, lanes.legal)
            lanes.store(action)
        if self.net.is_recurrent:
            done = self.replay.end[self.replay.head] != RUNNING
            self._state = forget(self._state, done.to(self.device))
        self.replay.advance()
        self.steps += self.num_envs

    def choose(self, epsilon: float) -> list[Tensor]:
        """Choose the actions (n,) of each engine's lanes; their states go on."""
        return [self._choose(lanes, epsilon) for lanes in self._lanes]

    def _choose(self, lanes: ReplayLanes, epsilon: float) -> Tensor:
        """Choose the actions (n,) of an engine's lanes; their state goes on."""
        obs, mask = lanes.seen.to(self.device), lanes.mask.to(self.device)
        self.net.draw_noise(min(NOISES, len(obs)), self._noise)
        assert self._acting is not None
        values, state = self._values(obs, lanes.slice, self._acting)
        if self.net.is_recurrent:
            self._state[lanes.slice] = state
        return self._explorer.choose(values, mask, epsilon)

    @torch.no_grad()
    def _values(self, obs: Tensor, here: slice, precision: Precision) -> tuple[Tensor, Tensor]:
        """Compute the values of actions (n, A) in some lanes, and their states behind them."""
        state = self._state[here]
        if self._direct is not None:
            return self._direct.values(obs, precision.name), state
        with precision.autocast:
            if not self.net.is_recurrent:
                return self.net.logits(obs), state
            values, _, state = self.net.step(obs, state=state)
        return values, state

    # -- learning --------------------------------------------------------------------------------

    def learn(self, sums: Tensor) -> None:
        """Make the updates that are due; add the terms of each to ``sums``, shape (len(TERMS),)."""
        dqn = self.dqn
        if self.replay.available < dqn.learning_starts:
            return
        self._owed += dqn.replay_ratio * self.num_envs
        while self._owed >= dqn.batch_size:
            self._owed -= dqn.batch_size
            sums += self.update()

    def update(self) -> Tensor:
        """Draw decisions and learn from them; return the terms, shape (len(TERMS),)."""
        dqn = self.dqn
        beta = dqn.beta(self.steps / self.config.total_steps)
        batch = on_device(self.replay.sample(dqn.batch_size, beta), self.device)
        if self._direct is not None:
            terms, error = self._direct.gradients(batch, self.precision.name)
        else:
            terms, error = self._gradients(batch)
        norm = self._descend()
        self.updates += 1
        self._update_target()
        self.replay.update_priorities(batch.index, error)
        return torch.cat((terms, norm.view(1)))

    def _descend(self) -> Tensor:
        """Take a step against the gradients; return their norm."""
        if self.optimizer.in_one_pass:
            return self.optimizer.descend()
        scaler = self.precision.scaler
        scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self._ours, self.dqn.max_grad_norm)
        scaler.step(self.optimizer)
        scaler.update()
        increment_version(self._ours)  # which torch's kernel for a step leaves as it is
        self.optimizer.zero_grad(set_to_none=True)
        return norm.detach()

    def _gradients(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Set the gradients of the loss of a batch; see :meth:`Direct.gradients`."""
        for net in (self.net, self.target):
            net.draw_noise(1, self._noise)
        with self.precision.autocast:
            theta, target = self._evaluate(batch)
        ours = (batch.weight * loss.quantile_huber(theta, target, self.dqn.kappa)).mean()
        self.precision.scaler.scale(ours).backward()
        means = theta.detach().mean(1)
        error = (target.mean(1) - means) * (batch.weight > 0)
        terms = (ours, error.abs().mean(), means.mean())
        return torch.stack([term.detach() for term in terms]), error

    def _evaluate(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Compute quantiles and targets; see :mod:`training.dqn.loss`."""
        recurrent = self.net.is_recurrent
        compute = loss.compute_sequence_targets if recurrent else loss.compute_targets
        return compute(self.net, self.target, batch, self.dqn.double)

    @torch.no_grad()
    def _update_target(self) -> None:
        """Copy the network into the target network when that is due."""
        if self.updates % self.dqn.target_sync == 0:
            torch._foreach_copy_(self._theirs, self._ours)

    def _measure_seconds(self, precision: str) -> float:
        """Measure forward and backward pass of a minibatch of the first observations."""
        head = self.replay.head * self.num_envs
        lanes = torch.arange(self.dqn.batch_size, device=self.replay.device) % self.num_envs
        obs = self.replay.observations(head + lanes).to(self.device)
        context = Precision(precision, self.device)
        state = torch.zeros(len(obs), self.net.state_size, device=self.device)

        def minibatch() -> None:
            if self._direct is not None:
                self._direct.passes(obs, precision)
                return
            with context.autocast:
                quantiles = self.net.head(self.net.latent(obs, state=state)[0])
            quantiles.float().square().mean().backward()

        seconds = cpu_seconds(minibatch)
        self.optimizer.zero_grad(set_to_none=True)
        return seconds

    def _measure_acting_seconds(self, precision: str) -> float:
        """Measure the values of a decision in the lanes of the first engine."""
        obs, here = self._lanes[0].seen.to(self.device), self._lanes[0].slice
        context = Precision(precision, self.device)

        def decision() -> None:
            self._values(obs, here, context)

        return cpu_seconds(decision)

    # -- saving ----------------------------------------------------------------------------------

    def state(self) -> State:
        """See :meth:`Trainer.state`; the arrays are observations and masks."""
        check_parameters(self.net, "dqn")
        self.start()
        assert self._acting is not None
        replay = self.replay.state_dict() if self.dqn.save_replay else None
        copied = {
            "policy": self.net.state_dict(),
            "target": self.target.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.precision.scaler.state_dict(),
            "state": self._state,
            "noise": self._noise.get_state(),
            "minibatch": self.replay.generator.get_state(),
        }
        counters = {
            "steps": self.steps,
            "iteration": self.iteration,
            "updates": self.updates,
            "owed": self._owed,
            "skipped_steps": self.precision.skipped,
            "precision": self.precision.name,
            "acting_precision": self._acting.name,
            "explorer": self._explorer.state_dict(),
            "replay": None if replay is None else replay["counters"],
        }
        return State(
            steps=self.steps,
            model=copy_to_host(copied),
            values={"counters": counters},
            rows=rows_of(self.engines),
            arrays={
                "obs": without_padding(self.replay.obs[self.replay.head], self.engines[0]),
                "mask": np.concatenate([lanes.legal for lanes in self._lanes]),
                **seating_of(self.engines),
            },
            replay=None if replay is None else replay["arrays"],
        )

    def load_state(self, state: State) -> None:
        """Put back what :meth:`state` returned; see :meth:`Trainer.load_state`."""
        model, counters, arrays = state.model, state.values["counters"], state.arrays
        self.net.load_state_dict(model["policy"])
        self.target.load_state_dict(model["target"])
        self.optimizer.load_state_dict(model["optimizer"])
        self._precision = Precision(counters["precision"], self.device)
        acting = counters.get("acting_precision", self.precision.name)
        self._acting = Precision(acting, self.device)
        self.precision.scaler.load_state_dict(model["scaler"])
        self.precision.skipped = int(counters["skipped_steps"])
        self._state.copy_(model["state"])
        self._noise.set_state(model["noise"])
        self._explorer.load_state_dict(counters["explorer"])
        if self.dqn.save_replay and state.replay is not None:
            self.replay.load_state_dict({"arrays": state.replay, "counters": counters["replay"]})
        self.replay.generator.set_state(model["minibatch"])
        restore_lanes(self.engines, state.rows, arrays)
        for lanes in self._lanes:
            lanes.restore(arrays["obs"][lanes.slice], arrays["mask"][lanes.slice])
        self.steps, self.iteration = int(counters["steps"]), int(counters["iteration"])
        self.updates, self._owed = int(counters["updates"]), float(counters["owed"])
        self._started = True


def on_device(batch: Any, device: torch.device) -> Any:
    """Move the tensors of a batch to a device."""
    if batch.obs.device == device:
        return batch
    tensors = {k: x.to(device) for k, x in vars(batch).items() if isinstance(x, Tensor)}
    return replace(batch, **tensors)
