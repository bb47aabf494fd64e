"""Options of the expert trainer: those of our PPO, and the section ``expert``."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from training.ppo.options import PolicyRun
from training.run.options import Number, Options, Text, Whole, option, require


class ExpertConfig(Options):
    """Options of learning from a teacher.

    The teacher labels a share of the decisions with the action that it would take. The
    cross-entropy with these labels is added to the loss of PPO.
    """

    SECTION: ClassVar[str] = "expert."

    teacher: Text | None = option(
        None,
        "who is asked: the path of a trained agent, a bot, or ``search:WHO``; null is the network "
        "itself, which searches",
    )
    search: Text = option(
        "",
        "options of the search of the network itself, such as ``worlds=32,rollouts=policy``; see "
        "the section ``search``",
    )
    rest_search: Text = option(
        "",
        "options of a second search, which also answers some of the decisions that the first one "
        "leaves to PPO, such as ``decisions=bids,worlds=4,rollouts=policy``; empty asks about none",
    )
    rest_share: Number = option(
        0.1,
        "share of those that it is asked about; an answer counts as much as all it stands for",
        "above 0 and at most 1",
        gt=0,
        le=1,
    )
    late_search: Text = option(
        "",
        "options of the search that takes the place of ``expert.search`` late in the run, such as "
        "``worlds=8,rollouts=policy``, in whose rollouts the network plays all seats; empty keeps "
        "the first",
    )
    late_start: Number = option(
        0.8,
        "share of the run after which ``expert.late_search`` begins",
        "above 0 and below 1",
        gt=0,
        lt=1,
    )
    late_share: Number = option(
        0.25,
        "share of the decisions that it is asked about, in place of ``expert.share``",
        "above 0 and at most 1",
        gt=0,
        le=1,
    )
    seeds: Text = option(
        "",
        "part of the seeds of the game that episodes are drawn from, such as ``tuning``; empty "
        "draws them all",
    )
    share: Number = option(
        0.1, "share of the decisions that it is asked about", "above 0 and at most 1", gt=0, le=1
    )
    weight: Number = option(1.0, "of this loss beside that of PPO", gt=0)
    ppo: Literal["all", "rest", "none"] = option(
        "all",
        "decisions that PPO learns: ``all``; the ``rest``, those of a kind that a search leaves "
        "to the policy: the best action is then played in the others, and ``ppo.gamma`` discounts "
        "from one of the rest to the next; or ``none``: the network learns from the teacher alone, "
        "in the states that its best actions lead to",
    )
    lead: Number = option(
        0.0,
        "share of the run over which ``expert.teacher`` also plays: all decisions at first, then "
        "linearly fewer; with ``expert.ppo: none``",
        "from 0 to 1",
        ge=0,
        le=1,
    )
    until: Number | None = option(
        None,
        "share of the run over which the weight falls linearly to 0, after which nobody is asked; "
        "null keeps it",
        "above 0 and at most 1, or null",
        gt=0,
        le=1,
    )
    temperature: Number = option(
        5.0,
        "what differences between means are divided by: the answer of a search is "
        "policy**prior * exp(mean / temperature)",
        gt=0,
    )
    prior: Number = option(
        1.0,
        "power of the network's own policy in it; 0 forgets what it would have done",
        ge=0,
        le=1,
    )
    delay: Whole = option(
        0,
        "iterations by which its answers come late: with 1 it looks for them beside the learning "
        "and collecting, on cores of its own where there are some; 0 waits for them",
        "0 or 1",
        ge=0,
        le=1,
    )
    window: Whole = option(1, "newest rollouts whose answers are learnt from", ge=1)

    def weight_at(self, done: float) -> float:
        """Return the weight of the loss after a share of the run; 0 where nobody is asked."""
        return self.weight if self.until is None else self.weight * max(0.0, 1 - done / self.until)

    def is_late(self, done: float) -> bool:
        """Tell whether ``late_search`` answers after a share of the run."""
        return bool(self.late_search) and done >= self.late_start

    def share_at(self, done: float) -> float:
        """Return the share of decisions to ask about after a share of the run."""
        return self.late_share if self.is_late(done) else self.share

    def lead_at(self, done: float) -> float:
        """Return the share of decisions that the teacher plays after a share of the run."""
        return 0.0 if done >= self.lead else 1 - done / self.lead


class ExpertRun(PolicyRun):
    """A run of the expert trainer (:mod:`training.expert`)."""

    trainer: Literal["expert"] = option("expert", "our PPO with a teacher")
    expert: ExpertConfig = option(ExpertConfig, "who is asked, about what")

    @property
    def works_beside(self) -> bool:
        """Whether the teacher answers beside the training."""
        return self.expert.delay > 0

    @model_validator(mode="after")
    def _check_expert(self) -> Self:
        for name, alone in {"recurrent": "none", "hindsight": "off"}.items():
            value = getattr(self.native, name)
            require(value == alone, f"native.{name}", value, f"{alone!r} with trainer='expert'")
        self._check_teacher()
        return self

    def _check_teacher(self) -> None:
        expert = self.expert
        own = expert.teacher is None
        allowed = "'all' or 'none' with expert.teacher, who answers everything"
        require(own or expert.ppo != "rest", "expert.ppo", expert.ppo, allowed)
        allowed = "left out with expert.teacher, whose name says how it searches"
        for name in ("search", "rest_search", "late_search"):
            value = getattr(expert, name)
            require(own or not value, f"expert.{name}", value, allowed)
        alone = expert.ppo == "none"
        allowed = "null with expert.ppo='none': nothing would be learnt without answers"
        require(not alone or expert.until is None, "expert.until", expert.until, allowed)
        allowed = "0 without expert.teacher, and where PPO learns from what is played"
        require(expert.lead == 0 or (alone and not own), "expert.lead", expert.lead, allowed)
