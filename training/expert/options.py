"""Options of the expert trainer: those of our PPO, and the section ``expert``."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from training.ppo.options import PolicyRun
from training.run.options import Number, Options, Text, Whole, option, require


class ExpertConfig(Options):
    """Who is asked about which decisions, and how much the answers count.

    Of a share of the decisions the teacher says what it would do. The network learns to do likewise
    beside what PPO learns: the cross-entropy with the answers is a further loss.
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
    share: Number = option(
        0.1, "share of the decisions that it is asked about", "above 0 and at most 1", gt=0, le=1
    )
    weight: Number = option(1.0, "of this loss beside that of PPO", gt=0)
    ppo: Literal["all", "rest"] = option(
        "all",
        "decisions that PPO learns: ``all``, or the ``rest``, those of a kind that a search leaves "
        "to the policy; the best action is then played in the others, and ``ppo.gamma`` discounts "
        "from one of the rest to the next",
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
    window: Whole = option(1, "newest rollouts whose answers are learnt from", ge=1)

    def weight_at(self, done: float) -> float:
        """Return the weight of the loss after a share of the run; 0 where nobody is asked."""
        return self.weight if self.until is None else self.weight * max(0.0, 1 - done / self.until)


class ExpertRun(PolicyRun):
    """A run of the expert trainer (:mod:`training.expert`)."""

    trainer: Literal["expert"] = option("expert", "our PPO with a teacher")
    expert: ExpertConfig = option(ExpertConfig, "who is asked, about what")

    @model_validator(mode="after")
    def _check_expert(self) -> Self:
        for name, alone in {"recurrent": "none", "hindsight": "off"}.items():
            value = getattr(self.native, name)
            require(value == alone, f"native.{name}", value, f"{alone!r} with trainer='expert'")
        groups = self.native.env_groups
        require(groups == 1, "native.env_groups", groups, "1 with trainer='expert'")
        own = self.expert.teacher is None
        allowed = "'all' with expert.teacher, who answers everything"
        require(own or self.expert.ppo == "all", "expert.ppo", self.expert.ppo, allowed)
        allowed = "null with expert.ppo='rest'"
        one_value = self.expert.ppo == "all" or self.native.intrinsic_coef is None
        require(one_value, "native.intrinsic_coef", self.native.intrinsic_coef, allowed)
        allowed = "left out with expert.teacher, whose name says how it searches"
        require(own or not self.expert.search, "expert.search", self.expert.search, allowed)
        return self
