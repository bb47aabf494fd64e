"""ONNX files choose what the trained networks choose."""

import importlib
import sys

import numpy as np
import pytest

import training
from tests.slow import late
from training import export

SINGLE = ("attention", "cards", "sb3", "recurrent", "ssm", "ensemble")


@pytest.fixture
def onnx():
    for name in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(name, reason=f"{name} is not installed: see requirements-dev.txt")
    return importlib.import_module("onnx")


def session(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def chosen_alike(actions, found, logits):
    """Whether the actions are the same, or the logits tell them apart by rounding alone."""
    rows = np.arange(len(actions))
    gap = np.abs(logits[rows, actions] - logits[rows, found])
    return (actions == found) | (gap < 1e-5)


@pytest.mark.parametrize("kind", [*late("attention", "ssm"), "sb3", "recurrent", "ensemble"])
@pytest.mark.slow
def test_same_actions_along_games(onnx, trained, tmp_path, kind, capsys):
    folder = tmp_path / "files"
    assert export.main([str(trained(kind)), str(folder), "--onnx"]) == 0
    assert "policy.onnx" in capsys.readouterr().out
    run = session(folder / "policy.onnx")
    policy = training.load_policy(trained(kind))
    vec = policy.make_vec(9, autoreset_mode="same_step")
    obs, _ = vec.reset(seed=2)
    state = np.zeros((9, policy.state_size), np.float32)
    for _ in range(20):
        mask = vec.action_masks()
        given = {"obs": obs, "mask": mask.astype(np.uint8)}
        given |= {"state": state} if policy.state_size else {}
        actions, after = policy.act(obs, mask, state if policy.state_size else None)
        found, logits, *states = run.run(None, given)
        assert chosen_alike(actions, found, logits).all(), "seed 2"
        assert (np.isneginf(logits) == ~mask).all()
        if policy.state_size:
            np.testing.assert_allclose(states[0], after, atol=1e-4)
            state = after
        obs, _, terminated, truncated, _ = vec.step(actions)
        state[terminated | truncated] = 0


@pytest.mark.slow
def test_any_number_of_rows_and_what_it_was_trained_for(onnx, trained, tmp_path):
    export.main([str(trained("native")), str(tmp_path / "x"), "--onnx"])
    run = session(tmp_path / "x/policy.onnx")
    for n in (1, 2, 50):
        mask = np.zeros((n, 11), np.uint8)
        mask[:, 6] = 1
        action, logits = run.run(None, {"obs": np.zeros((n, 203), np.float32), "mask": mask})
        assert (action == 6).all()
        assert logits.shape == (n, 11)
    about = run.get_modelmeta().custom_metadata_map
    assert about["env"] == "SkullKingWorker-v0"
    assert about["steps"] == "128"
    onnx.checker.check_model(str(tmp_path / "x/policy.onnx"))


@pytest.mark.slow
def test_a_pair_is_two_files(onnx, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert export.main([str(trained("hier")), "--onnx"]) == 0
    policy = training.load_policy(trained("hier"))
    vec = policy.make_vec(40)
    obs, _ = vec.reset(seed=7)
    runs = {name: session(tmp_path / f"hier-onnx/{name}.onnx") for name in ("manager", "worker")}
    for name in ("manager", "worker"):
        mask = vec.action_masks()
        actions, _ = policy.act(obs, mask)
        assert (obs["phase"] == (name == "manager")).all()
        given = {"obs": obs[name], "mask": mask.astype(np.uint8)}
        found, logits = runs[name].run(None, given)
        assert chosen_alike(actions, found, logits).all()
        obs, *_ = vec.step(actions)


def test_nothing_is_written_over(onnx, trained, tmp_path, capsys):
    assert export.main([str(trained("native")), str(tmp_path), "--onnx"]) == 2
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["onnx", "onnxscript"])
def test_what_is_missing_is_named(trained, tmp_path, capsys, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    assert export.main([str(trained("native")), str(tmp_path / "x"), "--onnx"]) == 2
    error = capsys.readouterr().err
    assert "pip install onnx onnxscript" in error
    assert not (tmp_path / "x").exists()


def test_a_folder_is_asked_for(trained, capsys):
    assert export.main([str(trained("native"))]) == 2
    assert "FOLDER must be given" in capsys.readouterr().err
