"""A teacher and ranks of torchrun: each asks about its own lanes, and goes on with its answers."""

import pytest
import torch

from tests.bits import equal
from tests.needs import needs_core
from tests.training.expert.test_run import TINY
from tests.training.ppo.test_ranks import finish, parameters, start
from training.run.jsonl import read_lines

pytestmark = [needs_core, pytest.mark.slow]
# So few bids that a rank may have none in a minibatch.
EXPERT = {"search": "worlds=2,blocks=1", "share": 0.5, "ppo": "rest", "delay": 1}
SMALL = {**TINY, "num_envs": 4, "expert": EXPERT}
SMALL["ppo"] = {**TINY["ppo"], "n_steps": 16, "batch_size": 8}


def test_a_run_goes_on_exactly_with_as_many_ranks(tmp_path):
    def run(name, *flags, **options):
        codes, said = finish(start(tmp_path, "--name", name, *flags, **{**SMALL, **options}))
        assert codes == [0, 0], said

    run("whole", total_steps=256)
    run("halves", total_steps=128)
    run("halves", "--resume", total_steps=256)
    one, other = parameters(tmp_path / "whole"), parameters(tmp_path / "halves")
    assert all(torch.equal(one["policy"][name], other["policy"][name]) for name in one["policy"])
    assert equal(one["ranks"], other["ranks"])
    asked = [rank["auxiliary"]["ahead"]["obs"] for rank in one["ranks"]]
    assert all(len(each) for each in asked)
    assert not equal(*asked)
    assert [line["step"] for line in read_lines(tmp_path / "whole/metrics.jsonl")] == [
        64,
        128,
        192,
        256,
    ]
