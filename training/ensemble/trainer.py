"""PPO on M equal networks at once: one engine, whose lanes they share out in blocks.

Each member learns what a trainer alone, with its seed and its part of the lanes, would learn: it
has generators, learning rate, entropy weight, clip range and gradient norm of its own. What they
share are forward and backward passes, in which every matrix product is one over all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap

from training.ensemble.options import EnsembleRun
from training.ensemble.stacked import (
    StackedAdam,
    StackedMinibatches,
    StackedNet,
    StackedSampler,
    numbered,
)
from training.nets.actor_critic import ActorCritic
from training.nets.layout import obs_layout
from training.ppo.diagnostics import Layers, StepWatch, dead_units, merged, sample
from training.ppo.loss import KL, OF_A_MEMBER, TERMS, Objective
from training.ppo.rollout import (
    Minibatches,
    MinibatchPart,
    Samples,
    TruncatedEpisodes,
    explained_variance,
)
from training.ppo.trainer import PPOTrainer
from training.run.engine import Engine
from training.run.options import decay, require
from training.run.seeds import stream_seed, training_seed
from training.run.stats import IterationSums
from training.run.trainer import TrainingError


def check_members(config: EnsembleRun) -> None:
    """Refuse lanes and minibatches that the members cannot share out.

    Raises
    ------
    ConfigError
        Names the option.
    """
    members, lanes = len(config.members), config.num_envs
    whole = lanes % members == 0
    require(whole, "num_envs", lanes, f"a multiple of the {members} members of the ensemble")
    config.ppo.check_rollout(lanes // members)


class EnsembleTrainer(PPOTrainer):
    """PPO on M networks at once; see :class:`training.ppo.trainer.PPOTrainer`.

    Parameters
    ----------
    config : EnsembleRun
        Sizes of rollout and minibatch are those of one member.
    engine : Engine
        Member ``k`` of M, from 0, has the lanes ``k * n`` to ``(k + 1) * n - 1``.

    Raises
    ------
    ConfigError
        See :func:`check_members`.
    """

    PHASES: ClassVar[dict[str, str]] = {**PPOTrainer.PHASES, "_evaluate_members": "forward"}
    net: StackedNet  # type: ignore[assignment]
    optimizer: StackedAdam  # type: ignore[assignment]
    minibatches: StackedMinibatches  # type: ignore[assignment]

    def __init__(self, config: EnsembleRun, engine: Engine) -> None:
        check_members(config)
        self.members = members = config.ensemble.members(config.ppo)
        self._each = engine.num_envs // len(members)
        self._sums = [IterationSums(engine, frames=None) for _ in members]
        self._parts = [_view_lanes(engine, self._block(k)) for k in range(len(members))]
        super().__init__(config, engine)

    def _block(self, member: int) -> slice:
        """Return the lanes of a member."""
        return slice(member * self._each, (member + 1) * self._each)

    # -- the parts of every member ---------------------------------------------------------------

    def make_network(self) -> None:
        """Make the networks of the members, their optimizers and samplers."""
        layout, seeds = obs_layout(self.engine), [member.seed for member in self.members]
        inits = (stream_seed(seed, "init") for seed in seeds)
        options = self.ppo, self.native
        nets = [ActorCritic(layout, *options, init).to(self.device) for init in inits]
        self.net = StackedNet(nets)
        self.optimizer = StackedAdam(self.net, *options)
        samplers = [stream_seed(seed, "sampler") for seed in seeds]
        self._sampler = StackedSampler(samplers, self.device)  # type: ignore[assignment]

    def make_minibatches(self) -> None:
        """Make what cuts each member's lanes into minibatches, with its generator."""
        minibatches = []
        for k, member in enumerate(self.members):
            lanes = self._block(k)
            own = range(lanes.start, lanes.stop)
            minibatches.append(Minibatches(self.rollout, self.ppo, self.native, own))
            minibatches[-1].generator.manual_seed(stream_seed(member.seed, "minibatch"))
        self.minibatches = StackedMinibatches(minibatches)

    def lane_seeds(self) -> Any:
        """Return the seeds of the lanes, which count from that of each member."""
        own = np.arange(self._each, dtype=np.int64)
        return np.concatenate([training_seed(member.seed) + own for member in self.members])

    def follow_schedules(self, done: float) -> tuple[Objective, dict[str, float]]:
        """See :meth:`PPOTrainer.follow_schedules`; the figures are means over the members."""
        ppo, native = self.ppo, self.native
        rates = [decay(m.learning_rate, ppo.lr_schedule, done) for m in self.members]
        self.optimizer.set_rates(rates)
        ent_left = decay(1.0, native.ent_schedule, done)
        clips = [member.clip_range for member in self.members]
        entropies = [member.ent_coef * ent_left for member in self.members]
        objective = Objective.of(ppo, native, ent_left)
        own: Any = {"clip": self._row(clips), "ent_coef": self._row(entropies)}
        size = len(self.members)
        means = {"lr": sum(rates) / size, "clip_range": sum(clips) / size}
        return replace(objective, **own), means

    def _row(self, values: Sequence[float]) -> Tensor:
        return torch.tensor(values, dtype=torch.float32, device=self.device)

    def values_of(self, truncated: TruncatedEpisodes) -> Tensor:
        """See :meth:`PPOTrainer.values_of`; each member's network values its own lanes."""
        obs, owners = truncated.obs(), torch.from_numpy(truncated.lanes() // self._each)
        values = torch.zeros(truncated.count, device=self.device)
        for k in range(len(self.members)):
            rows = torch.nonzero(owners == k).squeeze(1)
            for part in rows.split(8192):
                if len(part):
                    own = self.net.value_of(k, obs[part].to(self.device))
                    values[part.to(self.device)] = own.float()
        return values

    # -- an iteration ----------------------------------------------------------------------------

    def collect(self) -> None:
        """Take T decisions in every lane; see :meth:`PPOTrainer.collect`."""
        for sums in self._sums:
            sums.clear()
        super().collect()

    def end_step(self, t: int, state: Tensor) -> None:
        """See :meth:`PPOTrainer.end_step`; the episodes of each member are counted."""
        super().end_step(t, state)
        for sums, part in zip(self._sums, self._parts, strict=True):
            sums.add(part)

    def update(self, objective: Objective) -> dict[str, Any]:
        """Learn from the rollout.

        Parameters
        ----------
        objective : Objective
            Its clip range and entropy weight are tensors (M,).

        Returns
        -------
        dict
            Means over the members; under ``members`` those of each, with its episodes.

        Raises
        ------
        TrainingError
            The loss of a member is not finite.
        """
        rollout, ppo, size = self.rollout, self.ppo, len(self.members)
        sums = torch.zeros(size, len(TERMS) + 1, dtype=torch.float64, device=self.device)
        done, steps = [0] * size, [0] * size  # minibatches, and those that were stepped by
        active = list(range(size))
        watches = [self.optimizer.watch(k) for k in active] if self.diagnoses else []
        batches = rollout.steps * self._each // ppo.batch_size
        for _ in range(ppo.n_epochs):
            parts = {k: self.minibatches.members[k].epoch() for k in active}
            for batch in range(batches):
                terms = self._gradients({k: parts[k][batch] for k in active}, objective)
                sums[active, :-1] += terms
                for k in active:
                    done[k] += 1
                active = self._within_kl(active, terms)
                for k in active:
                    watch = watches[k] if watches and done[k] == 1 else None
                    sums[k, -1] += self.optimizer.step(k, watch)
                    steps[k] += 1
                    self.updates += 1
                self.optimizer.zero_grad()
                if not active:
                    break
            if not active:
                break
        means = self._average(sums, done, steps)
        self._check_finite(means)
        layers = [self._diagnose_member(k, watch) for k, watch in enumerate(watches)]
        return self._summarise(means, layers)

    def _average(
        self, sums: Tensor, minibatches: Sequence[int], steps: Sequence[int]
    ) -> list[dict[str, Any]]:
        """Average the terms of each member's update from sums (M, TERMS + 1).

        Terms were added up over minibatches, norms of gradients over steps.
        """
        rollout, done = self.rollout, minibatches
        blocks = [self._block(k) for k in range(len(self.members))]
        counts = [[n] * len(TERMS) + [max(1, k)] for n, k in zip(done, steps, strict=True)]
        means = (sums / torch.tensor(counts, device=self.device)).tolist()
        return [
            {
                **dict(zip((*TERMS, "grad_norm"), mean, strict=True)),
                "explained_variance": float(
                    explained_variance(rollout.value[:-1, block], rollout.ret[:, block])
                ),
                "minibatches": count,
            }
            for mean, block, count in zip(means, blocks, done, strict=True)
        ]

    def _diagnose_member(self, member: int, watch: StepWatch) -> Layers:
        """Diagnose each layer of a member; see :meth:`PPOTrainer._diagnose`."""
        obs = sample(self.rollout.obs[:-1, self._block(member)]).to(self.device)
        return merged(watch.record(), dead_units(self.net.member(member), obs))

    def _within_kl(self, active: list[int], terms: Tensor) -> list[int]:
        """Return the members that go on after a minibatch with these terms, (members, TERMS)."""
        limit = self.ppo.target_kl
        if limit is None:
            return active
        kl = terms[:, KL].tolist()
        return [k for k, moved in zip(active, kl, strict=True) if not moved > 1.5 * limit]

    def _gradients(
        self, minibatches: Mapping[int, Sequence[MinibatchPart]], objective: Objective
    ) -> Tensor:
        """Add up the gradients of a minibatch of some members; return the terms of their losses."""
        active = list(minibatches)
        ranges = {name: getattr(objective, name)[active] for name in OF_A_MEMBER}

        def loss(logits: Tensor, value: Tensor, samples: Samples, ranges: Any) -> Any:
            return replace(objective, **ranges).loss(logits, value, samples)

        sums: Any = 0.0
        for parts in zip(*minibatches.values(), strict=True):
            pieces = [self.rollout.gather(part) for part in parts]
            obs = torch.stack([piece.obs for piece in pieces])
            fields = zip(*(piece.samples for piece in pieces), strict=True)
            samples = Samples(*(torch.stack(field) for field in fields))
            share = obs.shape[1] / pieces[0].total
            logits, value = self._evaluate_members(obs, active)
            losses, terms = vmap(loss)(logits, value, samples, ranges)
            self.backward_from((losses.sum() * share,))
            sums = sums + terms.double() * share
        total: Tensor = sums
        return total

    def _evaluate_members(self, obs: Tensor, active: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Compute logits (m, k, A) and values (m, k) of the members of a minibatch."""
        with self._autocast:
            outputs: tuple[Tensor, Tensor] = self.net(obs, active)
        return outputs

    def _check_finite(self, means: Sequence[Mapping[str, Any]]) -> None:
        for number, terms in numbered(means).items():
            if not all(math.isfinite(terms[name]) for name in TERMS):
                raise TrainingError(
                    f"the loss of member {number} became {terms['loss']} in iteration "
                    f"{self.iteration + 1}: nothing of this iteration is saved; lower its "
                    "learning rate or leave it out, and begin again or go on from the last "
                    "checkpoint."
                )

    def _summarise(
        self, each: Sequence[dict[str, Any]], layers: Sequence[Layers]
    ) -> dict[str, Any]:
        """Average the terms over the members, and add terms, layers and episodes of each."""
        means = {name: sum(terms[name] for terms in each) / len(each) for name in each[0]}
        members = zip(each, self.members, self._sums, strict=True)
        every = [terms | {"seed": m.seed} | sums.record() for terms, m, sums in members]
        for record, its in zip(every, layers, strict=False):
            record["layers"] = its
        return {**means, "skipped_steps": 0, "members": numbered(every)}


def _view_lanes(engine: Engine, lanes: slice) -> Any:
    """View the arrays that :class:`IterationSums` reads, for some lanes of an engine.

    The arrays of an engine are overwritten, never replaced, so views of them stay.
    """
    names = ("terminated", "truncated", "ep_return", "ep_length", "ep_frames")
    tables = ("info", "final_info")
    return SimpleNamespace(
        num_envs=lanes.stop - lanes.start,
        spec=engine.spec,
        **{name: getattr(engine, name)[lanes] for name in names},
        **{n: {key: x[lanes] for key, x in getattr(engine, n).items()} for n in tables},
    )
