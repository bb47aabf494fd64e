"""The loss of learning from a teacher's labels of some decisions, beside that of PPO.

Where a game keeps some of its seeds for reports, it also sets those that a run plays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fastenv.errors import ConfigError, show
from training.expert.options import ExpertConfig
from training.expert.teacher import AskedDecisions, PlayerTeacher, Teacher, to_one_hot
from training.nets.actor_critic import ActorCritic
from training.nets.distribution import masked_log_probs
from training.players.draws import mix
from training.ppo.loss import Auxiliary, split_shuffled
from training.ppo.rollout import Rollout
from training.run import games
from training.run.engine import join_rows, take_rows

DECISION = 6  # what a seed is for
SHARE = 1 << 30  # in place of a step, in the seed of what is drawn at the end of a rollout
SHARPEN = 1e6  # times the logits, which are small at first, the best action is certain


class LabelledDecisions(NamedTuple):
    """Decisions that a teacher has labelled.

    Parameters
    ----------
    obs : Tensor, shape (k, ...)
    mask : Tensor of bool, shape (k, A)
    target : Tensor of float32, shape (k, A)
    weight : Tensor of float32, shape (k,)
        The number of decisions that each stands for.
    """

    obs: Tensor
    mask: Tensor
    target: Tensor
    weight: Tensor

    @classmethod
    def load(cls, saved: dict[str, Tensor]) -> LabelledDecisions:
        """Make them of what a checkpoint holds; earlier ones lack the weights, which were 1."""
        return cls(**{"weight": torch.ones(len(saved["mask"])), **saved})


@dataclass(frozen=True)
class Question:
    """Decisions for a teacher, and what is to be learnt from its answers.

    Parameters
    ----------
    asked : AskedDecisions
    obs, mask : Tensor, shapes (k, ...) and (k, A)
    weight : Tensor of float32, shape (k,)
        See :class:`LabelledDecisions`.
    moves : ndarray of int, shape (k,), or None
        What it has played there, where it led.
    """

    asked: AskedDecisions
    obs: Tensor
    mask: Tensor
    weight: Tensor
    moves: np.ndarray | None


class Kept(NamedTuple):
    """Decisions that are kept until the end of a rollout.

    ``places`` (k,) are their numbers in it; rows, the learner's seats, and its logits are as they
    are there, ``moves`` what the teacher played if it led.
    """

    places: np.ndarray
    rows: np.ndarray
    seats: np.ndarray
    logits: np.ndarray
    moves: np.ndarray | None


class ExpertLoss(Auxiliary):
    """Cross-entropy with a teacher's answers.

    The states of some decisions are kept while a rollout is collected, and the teacher is asked
    about all of them at its end. Every pass of PPO over the rollout is one over the answers of the
    window too, in an order of their own.

    With ``expert.delay`` the answers are those to the questions of the iteration before, so a
    thread can look for them meanwhile. They are the same whenever it runs: a state waits for those
    that are on the way.

    Parameters
    ----------
    teacher : Teacher
    options : ExpertConfig
    steps, lanes : int
        Size of a rollout, T and N.
    rollouts : int
        Of the whole run.
    seed : int
        Of the decisions that are chosen, what the teacher draws, and the orders.
    episodes : EpisodeSeeds, optional
        What the episodes of the run begin with, where that is not left to the game.

    Attributes
    ----------
    weight : float
        Weight of this loss in this iteration.
    """

    def __init__(
        self,
        teacher: Teacher,
        options: ExpertConfig,
        steps: int,
        lanes: int,
        rollouts: int,
        seed: int,
        episodes: EpisodeSeeds | None = None,
    ) -> None:
        self._episodes = episodes
        self._teacher, self._options, self._seed = teacher, options, seed
        self._steps, self._lanes, self._rollouts = steps, lanes, rollouts
        self._iteration = 0
        self._window: deque[LabelledDecisions] = deque(maxlen=options.window)
        self._ahead: Future[LabelledDecisions] | None = None  # answers for the next iteration
        self._generator = torch.Generator().manual_seed(seed)
        self._rest = np.ones((steps, lanes), np.bool_)
        self._begin_iteration()

    def prepare(self, engine: Any) -> None:
        """Set the seeds of the first episodes of lanes that have not been reset."""
        if self._episodes is not None:
            self._episodes.prepare(engine, np.arange(engine.num_envs), (0, 0))

    def _begin_iteration(self) -> None:
        self._done = done = self._iteration / self._rollouts
        self.weight, self._lead = self._options.weight_at(done), self._options.lead_at(done)
        self._share = self._options.share_at(done)
        self._kept: list[Kept] = []
        self._sum, self._count = 0.0, 0

    def decide(self, t: int, engine: Any, logits: Tensor) -> Tensor:
        """Keep the states of some of the decisions; see :meth:`Auxiliary.decide`."""
        if t == 0 and self._episodes is not None:  # of a run that goes on, nobody has kept them
            self._episodes.prepare(engine, np.arange(engine.num_envs), (self._iteration + 1, 0))
        if self.weight == 0.0:
            return logits
        rng = np.random.default_rng((self._seed, self._iteration, t))
        lanes = np.flatnonzero(rng.random(engine.num_envs) < self._share)
        if self._lead > 0.0:
            led = rng.random(engine.num_envs) < self._lead
            moves, logits = self._follow_teacher(engine, logits, led, t)
            self._keep(t, engine, lanes, logits, moves[lanes])
            return logits
        self._keep(t, engine, lanes, logits)
        if self._options.ppo == "all":
            return logits
        if self._options.ppo == "none":
            return SHARPEN * logits
        covered = self._teacher.covers(engine.get_states())
        self._rest[t] = ~covered
        best = torch.from_numpy(covered).to(logits.device).unsqueeze(1)
        return torch.where(best, SHARPEN * logits, logits)

    def _keep(
        self,
        t: int,
        engine: Any,
        lanes: np.ndarray,
        logits: Tensor,
        moves: np.ndarray | None = None,
    ) -> None:
        """Keep the decisions of some lanes."""
        if lanes.size:
            own = logits.float().cpu().numpy()[lanes]
            rows, seats = engine.get_states(lanes), _get_seats(engine, lanes)
            self._kept.append(Kept(t * self._lanes + lanes, rows, seats, own, moves))

    def _follow_teacher(
        self, engine: Any, logits: Tensor, led: np.ndarray, t: int
    ) -> tuple[np.ndarray, Tensor]:
        """Return the moves of the teacher, and logits with which it plays the lanes it leads."""
        assert isinstance(self._teacher, PlayerTeacher)
        every = np.arange(engine.num_envs)
        seed = (self._seed << 20) + self._iteration * self._steps + t
        seeds = mix(np.full(len(every), seed, np.uint64), every, DECISION)
        moves = self._teacher.moves(engine.get_states(), _get_seats(engine, every), seeds)
        played = torch.from_numpy(to_one_hot(moves, logits.shape[1])).to(logits)
        led_lanes = torch.from_numpy(led).to(logits.device).unsqueeze(1)
        return moves, SHARPEN * torch.where(led_lanes, played, logits)

    def learnt_by_ppo(self) -> np.ndarray | None:
        """Return the decisions that PPO learns, None for all: see ``expert.ppo``."""
        if self._options.ppo == "none":
            return np.zeros_like(self._rest)
        return None if self._options.ppo == "all" or self.weight == 0.0 else self._rest

    def observe(self, t: int, engine: Any) -> None:
        """Set the seeds of the next episodes of lanes."""
        if self._episodes is not None:
            lanes = np.flatnonzero(engine.ended)
            self._episodes.prepare(engine, lanes, (self._iteration + 1, t + 1))

    def begin(self, rollout: Rollout, minibatches: int) -> None:
        """Ask the teacher about the kept decisions in which there is a choice."""
        self._minibatches = minibatches
        question = self._gather(rollout) if self._kept else None
        # Taken first: while the teacher still answers, it must stay as it was when it was asked.
        answers = None if self._ahead is None else self._ahead.result()
        self._ahead = None
        if question is not None:
            self._teacher.prepare(self._done)
            if self._options.delay:
                self._ahead = _begin(self._answer, question)
            else:
                answers = self._answer(question)
        if self.weight == 0.0:
            self._window.clear()
        elif answers is not None and len(answers.obs):
            self._window.append(answers)
        self._samples = self._join(rollout)

    def _gather(self, rollout: Rollout) -> Question:
        """Gather the kept decisions in which there is a choice that the teacher knows about."""
        kept = self._kept
        places = np.concatenate([each.places for each in kept])
        index = torch.from_numpy(places).to(rollout.device)
        legal = rollout.mask.flatten(0, 1).index_select(0, index).cpu().numpy()
        rows = join_rows([each.rows for each in kept])
        shares = self._teacher.shares(rows)
        drawn = np.random.default_rng((self._seed, self._iteration, SHARE)).random(len(rows))
        choice = np.flatnonzero((legal.sum(1) > 1) & (drawn < shares))
        seeds = np.full(len(choice), (self._seed << 20) + self._iteration, np.uint64)
        seats = np.concatenate([each.seats for each in kept])[choice]
        logits = np.concatenate([each.logits for each in kept])[choice]
        asked = AskedDecisions(
            take_rows(rows, choice), seats, logits, legal[choice], mix(seeds, choice, DECISION)
        )
        index = index[torch.from_numpy(choice).to(rollout.device)]
        obs, mask = (x.flatten(0, 1).index_select(0, index) for x in (rollout.obs, rollout.mask))
        moves = None
        if kept[0].moves is not None:
            moves = np.concatenate([each.moves for each in kept])[choice]
        weight = torch.from_numpy((1 / shares[choice]).astype(np.float32)).to(mask.device)
        return Question(asked, obs, mask, weight, moves)

    def _answer(self, question: Question) -> LabelledDecisions:
        asked = question.asked
        if question.moves is None:
            target = self._teacher.answers(asked)
        else:
            target = to_one_hot(question.moves, asked.legal.shape[1])
        device = question.mask.device
        labels = torch.from_numpy(target).to(device)
        answers = question.obs, question.mask, labels, question.weight
        if target.any(1).all():
            return LabelledDecisions(*answers)
        answered = torch.from_numpy(np.flatnonzero(target.any(1))).to(device)
        return LabelledDecisions(*(x.index_select(0, answered) for x in answers))

    def _join(self, rollout: Rollout) -> LabelledDecisions | None:
        """Join the answers of the window on the device of a rollout."""
        if not self._window:
            return None
        # Those that a checkpoint has brought back are in host memory.
        fields = zip(*self._window, strict=True)
        return LabelledDecisions(
            *(torch.cat([x.to(rollout.device) for x in parts]) for parts in fields)
        )

    def further(self, minibatch: int) -> Tensor | None:
        """Return the observations of a part of the answers; None if there are none."""
        samples = self._samples
        if samples is None:
            return None
        if minibatch == 0:
            self._parts = split_shuffled(samples.mask, self._minibatches, self._generator)
        index = self._parts[minibatch]
        if not len(index):
            return None
        self._part = LabelledDecisions(*(x.index_select(0, index) for x in samples))
        return self._part.obs

    def loss(self, net: ActorCritic, minibatch: int, logits: Tensor | None = None) -> Tensor | None:
        """Compute the weighted cross-entropy of a part of the answers; None if there are none."""
        if logits is None:
            obs = self.further(minibatch)
            if obs is None:
                return None
            logits = net.logits(obs)
        _, mask, target, weight = self._part
        log_probs = masked_log_probs(logits, mask)
        loss = -(weight * (target * log_probs).sum(-1)).mean()
        self._sum += float(loss.detach())
        self._count += 1
        self._last = log_probs.detach(), target
        return self.weight * loss

    def metrics(self) -> dict[str, float]:
        """Return the loss before its weight, the last agreement with answers, and their number.

        It ends the iteration.
        """
        samples = self._samples
        metrics = {"expert_samples": 0.0 if samples is None else float(len(samples.mask))}
        if self._count:
            own, target = self._last
            agreed = float((own.argmax(-1) == target.argmax(-1)).float().mean())
            metrics |= {"expert_loss": self._sum / self._count, "expert_agreement": agreed}
        self._iteration += 1
        self._begin_iteration()
        return metrics

    def state_dict(self) -> dict[str, Any]:
        """Return iterations, generator, the answers of the window and those on the way."""
        ahead = None if self._ahead is None else self._ahead.result()
        return {
            "ahead": None if ahead is None else ahead._asdict(),
            "iteration": self._iteration,
            "generator": self._generator.get_state(),
            "window": [each._asdict() for each in self._window],
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        self._iteration = int(saved["iteration"])
        self._begin_iteration()
        self._generator.set_state(saved["generator"])
        self._ahead = None
        if saved.get("ahead") is not None:  # earlier ones lack it
            self._ahead = Future()
            self._ahead.set_result(LabelledDecisions.load(saved["ahead"]))
        self._window.clear()
        self._window.extend(LabelledDecisions.load(each) for each in saved["window"])


class EpisodeSeeds:
    """Draws the seed of each episode from a part of those that the game has.

    A draw depends on the decision that is due alone, so a run that goes on draws the same.

    Parameters
    ----------
    env : str
        Id of the environment.
    part : str
        Of the seeds, such as those to train on, where others are kept for reports. The capability
        ``seeds`` is a function of it that returns the knob that sets which game is played, and its
        values.
    seed : int
        Of the draws.

    Raises
    ------
    ConfigError
        If the game has no such part.
    """

    def __init__(self, env: str, part: str, seed: int) -> None:
        seeds_for, refused = games.find(env, "seeds"), f"expert.seeds={show(part)} is not possible"
        if seeds_for is None:
            raise ConfigError(f"{refused}: this game does not split its seeds.")
        try:
            self._knob, self._seeds = seeds_for(part)
        except ConfigError as error:
            raise ConfigError(f"{refused}: {error}") from None
        self._seed = seed

    def prepare(self, engine: Any, lanes: np.ndarray, when: tuple[int, ...]) -> None:
        """Draw and set the seeds of the next episodes of lanes.

        Parameters
        ----------
        engine : BatchEngine
        lanes : ndarray of int, shape (k,)
        when : tuple of int
            Numbers that tell this draw from others of the run.
        """
        drawn = np.random.default_rng((self._seed, *when)).choice(self._seeds, len(lanes))
        for lane, value in zip(lanes.tolist(), drawn.tolist(), strict=True):
            engine.configure(self._knob, value, [lane])


def _begin(
    answer: Callable[[Question], LabelledDecisions], question: Question
) -> Future[LabelledDecisions]:
    """Begin to answer a question, in a thread that ends with it."""
    thread = ThreadPoolExecutor(1, "teacher")
    future = thread.submit(answer, question)
    thread.shutdown(wait=False)
    return future


def _get_seats(engine: Any, lanes: np.ndarray) -> np.ndarray:
    """Return the seats whose decisions are due; 0 where rows show one seat."""
    if engine.game.spec.num_agents > 1:
        seats: np.ndarray = engine.get_actors(lanes)
        return seats
    return np.zeros(len(lanes), np.int32)
