import torch

from training import checkpoint, evaluate, export
from training.runs import RunFolder


def test_exported_agent_is_the_trained_one_and_small(finished, tmp_path, capsys):
    folder = tmp_path / "agent"
    assert export.main([str(finished), str(folder)]) == 0
    assert str(folder) in capsys.readouterr().out
    agent = RunFolder.open(folder)
    here, there = evaluate.load(agent), evaluate.load(RunFolder.open(finished))
    obs = there.view().obs.repeat(5, 0) + 0.5
    assert (here.logits(obs) == there.logits(obs)).all()
    assert here.steps == there.steps
    saved = checkpoint.load(here.path, {})
    assert set(saved.model) == {"policy"}
    parameters = sum(x.numel() for x in saved.model["policy"].values())
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    assert size < 4 * parameters + 30_000
    assert all(isinstance(x, torch.Tensor) for x in saved.model["policy"].values())


def test_exported_agent_is_no_run_to_go_on_with(finished, train, tmp_path, capsys):
    export.export(RunFolder.open(finished), tmp_path / "agent")
    assert train(tmp_path, "agent", "--resume", "--total-steps", "99999") == 2
    assert "foreign: its state layout" in capsys.readouterr().err


def test_nothing_is_written_over(finished, tmp_path, capsys):
    assert export.main([str(finished), str(tmp_path)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
