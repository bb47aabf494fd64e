"""Native PPO. An iteration is: collect, bootstrap, advantages, update; read it top to bottom."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from training.nets.actor_critic import ActorCritic
from training.nets.distribution import Sampler
from training.nets.layers import fuse
from training.nets.layout import obs_layout, without_padding
from training.nets.precision import (
    Compiled,
    Precision,
    choose,
    cpu_seconds,
    prepare_device,
)
from training.nets.recurrent import forget
from training.ppo import diagnostics
from training.ppo.loss import KL, TERMS, Auxiliary, Objective
from training.ppo.options import ActorCriticRun, NativeConfig, PPOConfig
from training.ppo.rollout import (
    Minibatches,
    MinibatchPart,
    Piece,
    RewardScale,
    Rollout,
    RolloutLanes,
    StagedRolloutLanes,
    TruncatedEpisodes,
)
from training.ppo.warm_start import load_first_parameters
from training.run import checkpoint
from training.run.checkpoint import State
from training.run.engine import Engine, restore_lanes, rows_of, seating_of
from training.run.options import decay, require
from training.run.ranks import SINGLE_RANK, Ranks
from training.run.seeds import stream_seed, training_seed
from training.run.trainer import Metrics, Trainer, TrainingError, check_loss, check_parameters
from training.selfplay.league import League

CHECK_MASKS_EVERY = 1000  # rollouts
VALUES_AT_ONCE = 8192  # observations whose values are computed together
# What each rank has of its own in a checkpoint, beside its lanes.
_OWN = ("sampler", "minibatch", "state")
_AUXILIARY = "auxiliary"  # likewise, of the loss beside PPO


class PPOTrainer(Trainer):
    """PPO on an engine; see :class:`training.run.trainer.Trainer`.

    Parameters
    ----------
    config : ActorCriticRun
        Of this rank's share of lanes and minibatches.
    engine : Engine
        Not reset yet: that happens at the first iteration, unless a state is loaded.
    ranks : Ranks
        Processes that train the network together.
    league : League, optional
        Of self-play; the engine is a seat of it.

    Attributes
    ----------
    iteration : int
        Iterations until now.
    net : ActorCritic
    rollout : Rollout
    by_epoch : dict of str to list of float
        ``kl`` and ``clipfrac`` of each epoch of the last update.

    Raises
    ------
    ConfigError
        A network that does not fit the environment, a device or precision that is not there.
    """

    net: ActorCritic
    # What each part of an iteration belongs to, with ``native.timers``.
    PHASES: ClassVar[dict[str, str]] = {
        "_decide": "forward",
        "bootstrap": "forward",
        "advantages": "gae",
        "_evaluate_exactly": "forward",
        "_compute_gradients": "loss",
        "_evaluate_jointly": "forward",
        "_further_loss": "loss",
        "backward_from": "backward",
        "_scaled_loss": "loss",
        "_backward": "backward",
        "_optimizer_step": "optimizer",
    }

    def __init__(
        self,
        config: ActorCriticRun,
        engine: Engine,
        *,
        ranks: Ranks = SINGLE_RANK,
        league: League | None = None,
    ) -> None:
        self.config, self.ppo, self.native = config, config.ppo, config.native
        self.engine, self.engines, self.num_envs = engine, [engine], engine.num_envs
        self.ranks, self.league = ranks, league
        self._auxiliary: Auxiliary | None = None
        self.iteration = 0
        self.by_epoch: dict[str, list[float]] = {}
        self._some: np.ndarray | None = None  # the decisions that PPO learns; None for all
        self._values_later = False
        self._started = False

        self.device = prepare_device(config)
        self.make_network()
        self._make_rollout()
        self.make_minibatches()
        self._precision: Precision | None = None
        self._asked = config.precision
        if self._asked != "auto":
            self._set_precision(self._asked)
        native = self.native
        self._forward = self.net.step
        self._closed_form = self.device.type == "cpu" and native.compile == "off"
        self._loss = self._forward_and_loss
        graphs = self.device.type == "cuda" and native.compile == "reduce-overhead"
        alone = "0 with native.compile='reduce-overhead', whose graphs overwrite gradients"
        require(
            not (graphs and native.micro_batch), "native.micro_batch", native.micro_batch, alone
        )
        if native.compile != "off":
            self._forward = Compiled(self._forward, native.compile)
            self._loss = Compiled(self._loss, native.compile)
        self._phases = self._time_phases() if native.timers else None

    # -- an iteration ------------------------------------------------------------------------------

    def iterate(self) -> Metrics:
        """Collect a rollout and learn from it; return its figures.

        Returns
        -------
        dict
            ``train`` (terms of the loss and what decides the update) and ``phases`` in seconds.

        Raises
        ------
        TrainingError
            The loss is not finite, or a lane has no legal action.
        """
        if self.league is not None:
            self.league.begin_iteration(self.steps, self.net)
        self.ranks.send("iterate")
        self.start()
        begin = time.perf_counter()
        objective, scheduled_values = self.follow_schedules(self.steps / self.config.total_steps)
        if self._phases is not None:
            self._phases.start()
        self.collect()
        collected = time.perf_counter()
        self.bootstrap()
        self.advantages()
        train = self.update(objective)
        # Behind the update: within an iteration all see the same scale.
        if self.native.normalize_observations:
            self.net.encoder.update(self.rollout.obs[:-1].flatten(0, 1), self.ranks.sum)

        self.steps += self.rollout.steps * self.num_envs * self.ranks.size
        self.iteration += 1
        now = time.perf_counter()
        env = self._lanes.env_s
        phases = {"env": env, "collect": collected - begin - env, "update": now - collected}
        if self._phases is not None:
            phases = self._phases.stop(env)
        pool = {} if self.league is None else self.league.end_iteration(self.steps)
        return {"train": {**train, **scheduled_values, **pool}, "phases": phases}

    def follow_schedules(self, done: float) -> tuple[Objective, dict[str, float]]:
        """Set the learning rate for the share ``done`` of the run.

        Returns
        -------
        Objective
        dict
            ``lr`` and ``clip_range``.
        """
        ppo, native = self.ppo, self.native
        lr = decay(ppo.learning_rate, ppo.lr_schedule, done)
        objective = Objective.of(ppo, native, decay(1.0, native.ent_schedule, done))
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        return objective, {"lr": lr, "clip_range": objective.clip}

    # -- collect -----------------------------------------------------------------------------------

    def collect(self) -> None:
        """Take T decisions in every lane."""
        rollout = self.rollout
        self._lanes.begin()
        some = None if self._auxiliary is None else self._auxiliary.learnt_by_ppo()
        self._some, self._values_later = some, some is not None and self._knows_values_later
        with self._acting(), self._autocast:
            for t in range(rollout.steps):
                state = self._decide(t)
                self._lanes.step(t, self._actions.numpy(), state, self.on_step)
                self.end_step(t, state)
        if self.iteration % CHECK_MASKS_EVERY == 0 and not bool(rollout.mask.any(-1).all()):
            raise TrainingError(
                "a lane has no legal action: the environment's mask must allow at least one."
            )

    @property
    def _knows_values_later(self) -> bool:
        """Whether values can be computed after the rollout, for less than beside the logits."""
        separate = self.net.value_tower is not None and not self.net.is_recurrent
        return separate and self.native.compile == "off"

    def _acting(self) -> AbstractContextManager[Any]:
        """Return the context to act in; tensors of inference mode cannot enter captured graphs."""
        return torch.no_grad() if self.native.compile != "off" else torch.inference_mode()

    def _decide(self, t: int) -> Tensor:
        """Choose the actions of decision t; return the states behind it."""
        rollout, state = self.rollout, self._state
        if rollout.states.shape[2] and t % self.native.seq_len == 0:
            rollout.states[t // self.native.seq_len] = state
        mask, view = rollout.mask[t], self._view(t)
        if self._values_later:
            logits, after = self.net.logits(rollout.obs[t]), state
        else:
            logits, rollout.value[t], after = self._forward(rollout.obs[t], state=state, **view)
        if self._auxiliary is not None:
            logits = self._auxiliary.decide(t, self.engine, logits)
        action, logp = self._sampler.draw(logits, mask)
        rollout.logp[t] = logp
        rollout.action[t] = action
        self._actions.copy_(action, non_blocking=self._pinned)
        if self._pinned:
            torch.cuda.current_stream().synchronize()  # the one point of a step that waits
        return after

    def end_step(self, t: int, state: Tensor) -> None:
        """Follow a step whose outcome is stored; ``state`` is what :meth:`_decide` returned."""
        if self._auxiliary is not None:
            self._auxiliary.observe(t, self.engine)
        if state.shape[1]:
            self._state[:] = forget(state.float(), self.rollout.done[t])

    def _view(self, t: int) -> dict[str, Tensor]:
        """Store the value network's own view after t decisions, and return it as its arguments."""
        return {} if self.rollout.view is None else {"view": self._lanes.store_view(t)}

    # -- bootstrap ---------------------------------------------------------------------------------

    def bootstrap(self) -> None:
        """Compute the values of what follows the rollout and of truncated episodes in it.

        Where PPO learns only some decisions, those of these decisions too, and no others.
        """
        rollout, truncated = self.rollout, self._lanes.truncated
        with torch.inference_mode(), self._autocast:
            view = self._view(rollout.steps)
            if self._values_later:
                self._write_values()
            else:
                rollout.value[-1] = self.net.value(rollout.obs[-1], state=self._state, **view)
            rollout.bootstrap.zero_()
            if truncated.count:  # cells of a memory may refuse a batch of nothing
                truncated.write(self.values_of(truncated), rollout.bootstrap)

    def _write_values(self) -> None:
        """Write the values of the decisions that PPO learns; the others have none."""
        rollout = self.rollout
        assert self._some is not None
        chosen = np.flatnonzero(self._some)
        rollout.value.zero_()
        for places in torch.from_numpy(chosen).to(self.device).split(VALUES_AT_ONCE):
            obs = rollout.obs.flatten(0, 1).index_select(0, places)
            view = {}
            if rollout.view is not None:
                view["view"] = rollout.view.flatten(0, 1).index_select(0, places)
            state = self.net.initial_state(len(places))
            values = self.net.value(obs, state=state, **view).float()
            rollout.value.view(-1).index_copy_(0, places, values)

    def values_of(self, truncated: TruncatedEpisodes) -> Tensor:
        """Return the values (k,) of the last observations of episodes that were cut off."""
        if self.net.view_size:
            raise TrainingError(
                "native.critic_view needs episodes that are never cut off: the rows behind them "
                "are not kept."
            )
        states = truncated.states(self.net.state_size, self.device)
        size = VALUES_AT_ONCE
        parts = zip(truncated.obs().split(size), states.split(size), strict=True)
        values = [self.net.value(o.to(self.device), state=s).float() for o, s in parts]
        return torch.cat(values)

    # -- advantages --------------------------------------------------------------------------------

    def advantages(self) -> None:
        """Write advantages and returns into the rollout."""
        if self._rewards is not None:
            self._rewards.scale(self.rollout, self.ppo.gamma)
        self.rollout.write_advantages(self.ppo.gamma, self.ppo.gae_lambda, self._some)

    # -- update ------------------------------------------------------------------------------------

    def update(self, objective: Objective) -> dict[str, float]:
        """Learn from the rollout; return the mean terms of the loss over the minibatches.

        Raises
        ------
        TrainingError
            The loss is not finite.
        """
        rollout, ppo = self.rollout, self.ppo
        if not self._closed_form:
            objective = objective.on_device(self.device)
        sums = torch.zeros(len(TERMS) + 1, dtype=torch.float64, device=self.device)
        self.minibatches.begin(self.precision.name, self.rollout.learnt)
        if self._auxiliary is not None:
            samples = rollout.steps * self.num_envs
            self._auxiliary.begin(rollout, samples // ppo.batch_size)
        watch = diagnostics.StepWatch(self.net.named_parameters()) if self.diagnoses else None
        passes: list[tuple[int, Tensor]] = []
        minibatches = 0
        within_kl = True
        for _ in range(ppo.n_epochs):
            for number, parts in enumerate(self.minibatches.epoch()):
                further = self._further(parts, number)
                if further is None:
                    terms = self._gradient(parts, objective)
                else:
                    terms = self._joint_gradient(parts[0], objective, number, further)
                minibatches += 1
                if ppo.target_kl is not None:
                    self.ranks.average([terms])  # all stop, or none
                sums[:-1] += terms
                # Reading the value waits for the device, so it is read only if it decides.
                if ppo.target_kl is not None and float(terms[KL]) > 1.5 * ppo.target_kl:
                    self.optimizer.zero_grad(set_to_none=True)
                    within_kl = False
                    break
                if self._auxiliary is not None and further is None:
                    self._add_auxiliary_gradient(self._auxiliary, number)
                sums[-1] += self._optimizer_step(watch if minibatches == 1 else None)
            passes.append((minibatches, sums.clone()))
            if not within_kl:
                break
        self.ranks.average([sums])
        self.by_epoch = means_by_epoch(passes)
        *totals, norms = sums.tolist()
        means = [total / minibatches for total in totals]
        steps = minibatches if within_kl else minibatches - 1  # the last one ended the update
        for mean in means:
            check_loss(mean, self.iteration + 1)
        self.precision.count_skipped(self.updates, self.optimizer)
        return {
            **dict(zip(TERMS, means, strict=True)),
            "grad_norm": norms / max(1, steps),
            **rollout.explained(),
            "minibatches": minibatches,
            "skipped_steps": self.precision.skipped,
            **({} if self._auxiliary is None else self._auxiliary.metrics()),
            **({} if watch is None else {"layers": self._diagnose(watch)}),
        }

    @property
    def diagnoses(self) -> bool:
        """Whether this iteration records layer diagnostics; the first one does."""
        every = self.native.diagnostics
        return every > 0 and self.iteration % every == 0

    def _diagnose(self, watch: diagnostics.StepWatch) -> diagnostics.Layers:
        """Diagnose each layer behind an update whose first step was watched."""
        obs = diagnostics.sample(self.rollout.obs[:-1])
        view = self.rollout.view
        shown = None if view is None else diagnostics.sample(view[:-1])
        dead = diagnostics.dead_units(deepcopy(self.net), obs, shown)
        return diagnostics.merged(watch.record(), dead)

    def _further(self, parts: Sequence[MinibatchPart], minibatch: int) -> Tensor | None:
        """Return what the further loss wants to see in the pass of this minibatch; None if none."""
        if self._auxiliary is None or not self._closed_form or self.net.is_recurrent:
            return None
        if len(parts) != 1 or self.ppo.target_kl is not None:  # which may end the update first
            return None
        return self._auxiliary.further(minibatch)

    def _joint_gradient(
        self, part: MinibatchPart, objective: Objective, minibatch: int, further: Tensor
    ) -> Tensor:
        """Add the gradients of PPO and of the further loss; return the terms of PPO's loss.

        One pass, with fewer and larger products than :meth:`_gradient` and
        :meth:`_add_auxiliary_gradient`, which come to the same but for rounding.
        """
        piece, sums = self.rollout.gather(part), np.zeros(len(TERMS))
        outputs, logits = self._evaluate_jointly(piece, further)
        gradients = self._compute_gradients(objective, outputs, piece, sums)
        loss = self._further_loss(minibatch, logits)
        self.backward_from((*outputs, loss), (*gradients, None))
        return torch.from_numpy(sums)

    def _evaluate_jointly(
        self, piece: Piece, further: Tensor
    ) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """Compute what :meth:`_evaluate_exactly` does, and the logits of further observations."""
        count = len(piece.obs)
        with self._autocast:
            obs = torch.cat((piece.obs, further.to(piece.obs.dtype)))
            logits, value = self.net(obs, piece.view, count)
        own = logits[:count].float().contiguous(), value.float().contiguous()
        return own, logits[count:]

    def _further_loss(self, minibatch: int, logits: Tensor) -> Tensor:
        """Compute the further loss from the logits of what it wanted to see."""
        assert self._auxiliary is not None
        with self._autocast:
            loss = self._auxiliary.loss(self.net, minibatch, logits)
        assert loss is not None  # who wants to see something has a loss
        return loss

    def _add_auxiliary_gradient(self, auxiliary: Auxiliary, minibatch: int) -> None:
        """Add the gradient of the further loss to that of a minibatch."""
        with self._autocast:
            loss = auxiliary.loss(self.net, minibatch)
        if loss is not None:
            self._scaler.scale(loss).backward()

    def _gradient(self, parts: Iterable[MinibatchPart], objective: Objective) -> Tensor:
        """Add the gradients of the parts of a minibatch up; return its terms of the loss."""
        sums = np.zeros(len(TERMS))
        terms: list[Tensor] = []
        for part in parts:
            piece = self.rollout.gather(part)
            if self._closed_form:
                outputs = self._evaluate_exactly(piece)
                gradients = self._compute_gradients(objective, outputs, piece, sums)
                self.backward_from(outputs, gradients)
            else:
                share = len(piece.samples.adv) / piece.total
                loss, means = self._scaled_loss(piece, objective, share)
                terms.append(means)
                self._backward(loss, piece, objective, share)
        return torch.stack(terms).sum(0) if terms else torch.from_numpy(sums)

    def _evaluate_exactly(self, piece: Piece) -> tuple[Tensor, Tensor]:
        """Compute logits (k, A) and values (k,) of a piece in float32, contiguous."""
        with self._autocast:
            logits, value = self._evaluate(piece)
        return logits.float().contiguous(), value.float().contiguous()

    def _compute_gradients(
        self, objective: Objective, outputs: tuple[Tensor, Tensor], piece: Piece, sums: np.ndarray
    ) -> tuple[Tensor, Tensor]:
        """Compute the gradients by the outputs of a piece of a minibatch; add its terms up."""
        return objective.gradients(*outputs, piece.samples, piece.total, sums)

    def backward_from(
        self, outputs: Sequence[Tensor], gradients: Sequence[Tensor | None] | None = None
    ) -> None:
        """Add the gradients of the parameters from those by some outputs; 1 by default."""
        torch.autograd.backward(outputs, gradients)

    def _scaled_loss(
        self, piece: Piece, objective: Objective, share: float
    ) -> tuple[Tensor, Tensor]:
        """Compute the part of a piece in the loss of its minibatch, scaled, and in its terms."""
        loss, means = self._loss(piece, objective)
        return self._scaler.scale(loss * share), means * share

    def _backward(self, loss: Tensor, piece: Piece, objective: Objective, share: float) -> None:
        if isinstance(self._loss, Compiled):
            self._loss.backward(loss, lambda: self._scaled_loss(piece, objective, share)[0])
        else:
            loss.backward()

    def _forward_and_loss(self, piece: Piece, objective: Objective) -> tuple[Tensor, Tensor]:
        with self._autocast:
            logits, value = self._evaluate(piece)
        return objective.loss(logits, value, piece.samples)

    def _evaluate(self, piece: Piece) -> tuple[Tensor, Tensor]:
        """Compute logits (k, A) and values (k,) of the decisions of a piece."""
        if piece.states is None or piece.done is None:
            return self.net(piece.obs, piece.view)
        logits, value, _ = self.net.unroll(piece.obs, piece.states, piece.done)
        return logits.flatten(0, 1), value.flatten(0, 1)

    def _optimizer_step(self, watch: diagnostics.StepWatch | None = None) -> Tensor:
        """Clip the gradients and step; return their norm before."""
        if self.ranks.size > 1:
            self.ranks.average_gradients(self.net.parameters())
        scaler = self._scaler
        scaler.unscale_(self.optimizer)
        if watch is not None:
            watch.before()
        parameters = self.net.parameters()
        norm = torch.nn.utils.clip_grad_norm_(parameters, self.ppo.max_grad_norm)
        scaler.step(self.optimizer)
        scaler.update()
        if watch is not None:
            watch.after()
        self.optimizer.zero_grad(set_to_none=True)
        self.updates += 1
        return norm.detach()

    # -- before the first iteration ----------------------------------------------------------------

    def make_network(self) -> None:
        """Make the network, its optimizer and the sampler of its actions."""
        ppo, native, seed = self.ppo, self.native, self.config.seed
        net = ActorCritic(obs_layout(self.engine), ppo, native, stream_seed(seed, "init"))
        self.net = net.to(self.device)
        self.optimizer = adam(self.net.parameters(), ppo, native)
        self._sampler = Sampler(self.ranks.seed(stream_seed(seed, "sampler")), self.device)

    def make_minibatches(self) -> None:
        """Make what cuts a rollout into minibatches, with its generator."""
        self.minibatches = Minibatches(self.rollout, self.ppo, self.native, ranks=self.ranks)
        seed = self.ranks.seed(stream_seed(self.config.seed, "minibatch"))
        self.minibatches.generator.manual_seed(seed)

    def lane_seeds(self) -> Any:
        """Return the seeds of the lanes, or that of the first, from which they count."""
        return training_seed(self.config.seed) + self.ranks.rank * self.num_envs

    def _make_rollout(self) -> None:
        ppo, engine, device = self.ppo, self.engine, self.device
        self.rollout = Rollout(
            ppo.n_steps,
            self.num_envs,
            engine,
            device,
            varying_tau=engine.spec.has_tau,
            state_size=self.net.state_size,
            chunk=self.native.seq_len if self.net.is_recurrent else ppo.n_steps,
            view_size=self.net.view_size,
        )
        kind = RolloutLanes if device.type == "cpu" else StagedRolloutLanes
        self._lanes = kind(self.rollout, engine, ppo.gamma)
        self._state = self.net.initial_state(self.num_envs)
        scaled = self.native.normalize_rewards
        self._rewards = RewardScale(self.num_envs).to(device) if scaled else None
        self._pinned = device.type == "cuda"
        # What is on the way to the engine.
        self._actions = torch.zeros(self.num_envs, dtype=torch.int64, pin_memory=self._pinned)

    def add_auxiliary(self, auxiliary: Auxiliary) -> None:
        """Add a further loss, beside that of each minibatch; before the first iteration."""
        self._auxiliary = auxiliary

    def _time_phases(self) -> diagnostics.Phases:
        """Time the parts of an iteration from now on; return their seconds."""
        phases = diagnostics.Phases(self.device)
        phases.time(self, self.PHASES)
        phases.time(self._lanes, {"step": "store"})
        phases.time(self.rollout, {"gather": "gather"})
        return phases

    def begin(self) -> None:
        """Give the network its first parameters, if there are any, in all ranks."""
        self.ranks.send("begin")
        if self.native.warm_start is not None:
            load_first_parameters(self.config, self.engine, self.net)

    def start(self) -> None:
        """Reset the lanes and choose the precision, once; an iteration does it if it must."""
        if not self._started:
            self._reset(0)
            self._started = True
        if self._precision is None:
            name = self.ranks.broadcast(choose(self._asked, self.device, self._measure_seconds))
            self._set_precision(name)

    def _measure_seconds(self, precision: str) -> float:
        """Measure forward and backward pass of a minibatch of the first observations."""
        rollout = self.rollout
        lanes = torch.arange(self.ppo.batch_size) % self.num_envs
        obs = rollout.obs[-1].index_select(0, lanes.to(self.device))
        state = self.net.initial_state(len(obs))
        context, net = Precision(precision, self.device), deepcopy(self.net)
        if precision == "bf16":
            fuse(net)

        def minibatch() -> None:
            with context.autocast:
                logits, value, _ = net.step(obs, state=state)
            (logits.float().square().mean() + value.float().square().mean()).backward()

        return cpu_seconds(minibatch)

    def _set_precision(self, name: str) -> None:
        self._precision = precision = Precision(name, self.device)
        # Bound once: they are asked for in every pass.
        self._autocast, self._scaler = precision.autocast, precision.scaler
        if name == "bf16" and isinstance(self.net, nn.Module):  # one of several is taken apart
            fuse(self.net)

    def reset_lanes(self, shift: int | None = None) -> None:
        """See :meth:`Trainer.reset_lanes`.

        For data that must not begin in what was set up before: what was under way is lost.
        """
        self.ranks.send("reset_lanes", shift=shift)
        if self._started:
            self._reset(shift)
            self._state.zero_()
            if self._rewards is not None:
                self._rewards.sums.zero_()

    def _reset(self, shift: int | None) -> None:
        seeds = None if shift is None else self.lane_seeds() + shift
        self._lanes.reset(seeds, self.on_step)

    # -- saving ------------------------------------------------------------------------------------

    def state(self) -> State:
        """See :meth:`Trainer.state`; the arrays are observations and masks."""
        check_parameters(self.net)
        self.ranks.send("state")
        self.start()  # a run may be stopped, and saved, before its first iteration
        copied = {
            "policy": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self._scaler.state_dict(),
            "sampler": self._sampler.state_dict(),
            "minibatch": {"generator": self.minibatches.generator.get_state()},
            "state": self._state,
        }
        if self._auxiliary is not None:
            copied[_AUXILIARY] = self._auxiliary.state_dict()
        if self._rewards is not None:
            copied["rewards"] = self._rewards.state_dict()
        counters = {
            "steps": self.steps,
            "iteration": self.iteration,
            "updates": self.updates,
            "skipped_steps": self.precision.skipped,
            "precision": self.precision.name,
        }
        state = State(
            steps=self.steps,
            model=checkpoint.copy_to_host(copied),
            values={
                "counters": counters,
                "ranks": self.ranks.size,
                "selfplay": None if self.league is None else self.league.state_dict(),
            },
            rows=rows_of(self.engines),
            arrays={
                "obs": without_padding(self.rollout.obs[-1], self.engine),
                "mask": self.rollout.mask[-1].cpu().numpy().copy(),
                **seating_of(self.engines),
            },
        )
        return gather_state(self.ranks, state)

    def load_state(self, state: State) -> None:
        """Put back what :meth:`state` returned; as many ranks as have saved it must be there."""
        if self.league is not None:
            self.league.load_state_dict(state.values["selfplay"], state.steps)
        own = get_rank_state(self.ranks, state)
        self.ranks.send("load_state", path=str(state.path))
        model, counters, arrays = own.model, own.values["counters"], own.arrays
        self.net.load_state_dict(model["policy"])
        self.optimizer.load_state_dict(model["optimizer"])
        self._set_precision(counters["precision"])
        self._scaler.load_state_dict(model["scaler"])
        self.precision.skipped = int(counters["skipped_steps"])
        self._sampler.load_state_dict(model["sampler"])
        self.minibatches.generator.set_state(model["minibatch"]["generator"])
        self._state.copy_(model["state"])
        if self._auxiliary is not None:
            self._auxiliary.load_state_dict(model[_AUXILIARY])
        if self._rewards is not None:
            self._rewards.load_state_dict(model["rewards"])
        restore_lanes(self.engines, own.rows, arrays)
        self.rollout.obs[-1].copy_(torch.from_numpy(arrays["obs"]))
        self.rollout.mask[-1].copy_(torch.from_numpy(arrays["mask"]))
        self.steps, self.iteration = int(counters["steps"]), int(counters["iteration"])
        self.updates = int(counters["updates"])
        self._started = True

    # -- the other ranks ---------------------------------------------------------------------------

    def follow_first_rank(self) -> None:
        """Train as one of torchrun's other ranks, until the first rank ends."""
        try:
            for each in (signal.SIGINT, signal.SIGTERM):
                signal.signal(each, signal.SIG_IGN)  # the first decides when it is over
            while (command := self.ranks.receive())[0] != "end":
                self.obey(*command)
        finally:
            self.close()

    def obey(self, command: str, details: dict[str, Any]) -> None:
        """Carry out a command of the first rank (:meth:`Ranks.send`)."""
        if command == "configure":
            self.engine.configure(details["name"], details["value"], details["idx"])
        elif command == "load_state":
            self.load_state(checkpoint.load(Path(details["path"]), {}))
        else:
            {
                "begin": self.begin,
                "iterate": self.iterate,
                "state": self.state,
                "reset_lanes": self.reset_lanes,
            }[command](**details)

    def close(self) -> None:
        """Leave the other ranks."""
        self.ranks.leave()


def gather_state(ranks: Ranks, state: State) -> State:
    """Gather the lanes and generators of all ranks into the state of the first."""
    if ranks.size == 1:
        return state
    model = state.model
    own = {
        "sampler": model["sampler"]["generator"].numpy(),
        "minibatch": model["minibatch"]["generator"].numpy(),
        "state": model["state"].numpy(),
    }
    parts = ranks.gather({"rows": state.rows, **state.arrays, **own})
    auxiliary = ranks.gather(model[_AUXILIARY]) if _AUXILIARY in model else []
    if not parts:
        return state
    names = ("rows", *state.arrays)
    lanes = {name: np.concatenate([part[name] for part in parts]) for name in names}
    each = [{name: torch.from_numpy(part[name]) for name in _OWN} for part in parts]
    for mine, theirs in zip(each, auxiliary, strict=False):
        mine[_AUXILIARY] = theirs
    rest = {name: value for name, value in model.items() if name not in (*_OWN, _AUXILIARY)}
    return replace(state, model={**rest, "ranks": each}, rows=lanes.pop("rows"), arrays=lanes)


def get_rank_state(ranks: Ranks, state: State) -> State:
    """Return the share of a rank in the state that :func:`gather_state` returned.

    Raises
    ------
    ValueError
        If other ranks have saved it than are here.
    """
    saved = int(state.values.get("ranks", 1))
    if saved != ranks.size:
        raise ValueError(
            f"it continues with as many ranks as have saved it, {saved}, and here it is "
            f"{ranks.size} (torchrun --nproc-per-node)"
        )
    if ranks.size == 1:
        return state
    lanes = len(state.rows) // ranks.size
    here = slice(ranks.rank * lanes, (ranks.rank + 1) * lanes)
    model = dict(state.model)
    own = model.pop("ranks")[ranks.rank]
    model |= {name: {"generator": own[name]} for name in ("sampler", "minibatch")}
    model |= {name: own[name] for name in (_AUXILIARY,) if name in own}
    return replace(
        state,
        model={**model, "state": own["state"]},
        rows=state.rows[here],
        arrays={name: array[here] for name, array in state.arrays.items()},
    )


def means_by_epoch(passes: list[tuple[int, Tensor]]) -> dict[str, list[float]]:
    """Compute the means of each epoch from minibatches and sums of terms up to its end."""
    ends = torch.stack([sums for _, sums in passes]).tolist()
    means: dict[str, list[float]] = {"kl": [], "clipfrac": []}
    for k, (count, _) in enumerate(passes):
        first, before = (passes[k - 1][0], ends[k - 1]) if k else (0, [0.0] * len(ends[k]))
        for name, values in means.items():
            at = TERMS.index(name)
            values.append((ends[k][at] - before[at]) / (count - first))
    return means


def adam(parameters: Iterable[Tensor], ppo: PPOConfig, native: NativeConfig) -> torch.optim.Adam:
    """Make the optimizer of a run; one kernel for all parameters."""
    return torch.optim.Adam(parameters, lr=ppo.learning_rate, eps=native.adam_eps, fused=True)
