"""The loss by a teacher's answers: where they are kept."""

import torch

from tests.training.ppo.engines import Corridor
from training.expert.loss import ExpertLoss, LabelledDecisions
from training.expert.options import ExpertConfig
from training.ppo.rollout import Rollout

META = torch.device("meta")  # holds no numbers, but is another device than that of a checkpoint


def made():
    return ExpertLoss(None, ExpertConfig(window=2), steps=4, lanes=3, rollouts=10, seed=1)


def test_answers_of_a_checkpoint_come_to_where_new_ones_are_made():
    before, after = made(), made()
    target = torch.tensor([[0.0, 1.0]]).repeat(5, 1)
    answers = LabelledDecisions(
        torch.rand(5, 9), torch.ones(5, 2, dtype=torch.bool), target, torch.ones(5)
    )
    before._window.append(answers)
    saved = before.state_dict()
    del saved["window"][0]["weight"]  # as earlier checkpoints lack it
    after.load_state_dict(saved)
    rollout = Rollout(4, 3, Corridor(3), META)
    for count in (5, 10):
        after.begin(rollout, 2)
        assert [x.device for x in after._samples] == [META] * 4
        assert [len(x) for x in after._samples] == [count] * 4
        after._window.append(LabelledDecisions(*(x.to(META) for x in answers)))
