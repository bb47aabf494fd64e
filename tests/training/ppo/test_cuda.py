"""What only a CUDA device can show of the native trainer (make gpu-check)."""

import pytest
import torch

from training.run.envs import make_engine

pytestmark = pytest.mark.gpu


# The compiler's own modules use what torch has deprecated.
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.parametrize("how", ["default", "reduce-overhead"])
def test_captured_graphs_learn_what_plain_functions_learn(make_trainer, how):
    """A compiler that fails is left aside with a warning, and a warning is an error here."""
    torch._dynamo.reset()
    options = {"device": "cuda", "total_steps": 2048}
    plain, compiled = (
        make_trainer(make_engine("SkullKingWorker-v0", 32), compile=name, **options)
        for name in ("off", how)
    )
    ours, theirs = plain.iterate(), compiled.iterate()
    assert torch.equal(plain.rollout.action, compiled.rollout.action)
    assert ours["train"]["loss"] == pytest.approx(theirs["train"]["loss"], rel=1e-3, abs=1e-4)
    for _ in range(3):
        compiled.iterate()
    assert compiled._forward.is_compiled
    assert compiled._loss.is_compiled


def test_gradients_of_pieces_are_that_of_the_minibatch(make_trainer):
    whole, pieces = (
        make_trainer(make_engine("SkullKingWorker-v0", 32), device="cuda", micro_batch=size)
        for size in (0, 8)
    )
    whole.iterate()
    pieces.iterate()
    for one, other in zip(whole.net.parameters(), pieces.net.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-4)


def test_graphs_refuse_pieces(make_trainer):
    with pytest.raises(ValueError, match="micro_batch"):
        make_trainer(
            make_engine("SkullKingWorker-v0", 32),
            device="cuda",
            micro_batch=8,
            compile="reduce-overhead",
        )
