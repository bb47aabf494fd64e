import json

import numpy as np
import pytest
import torch

from training import export as command
from training import load_policy
from training.players.export import export
from training.players.trained import load
from training.players.value import find_value
from training.run import checkpoint, files, machine
from training.run.folder import RunFolder
from training.train import main


def saved_policy(run):
    found = checkpoint.load(checkpoint.newest(run / "checkpoints"), {})
    return found.model["policy"]


def test_exported_agent_is_the_trained_one_and_small(finished, tmp_path, capsys):
    folder = tmp_path / "agent"
    assert command.main([str(finished), str(folder)]) == 0
    assert str(folder) in capsys.readouterr().out
    agent = RunFolder.open(folder)
    here, there = load(agent), load(RunFolder.open(finished))
    obs = there.engine().obs.repeat(5, 0) + 0.5
    assert (here.logits(obs) == there.logits(obs)).all()
    assert here.steps == there.steps
    saved = checkpoint.load(here.path, {})
    assert set(saved.model) == {"policy"}
    played = {k: v for k, v in saved_policy(finished).items() if not k.startswith("value_")}
    assert set(saved.model["policy"]) == set(played)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    assert size < 4 * sum(x.numel() for x in played.values()) + 30_000
    assert all(isinstance(x, torch.Tensor) for x in saved.model["policy"].values())


def test_exported_agent_in_half_precision_is_nearly_the_same(finished, tmp_path, capsys):
    folder = tmp_path / "agent"
    assert command.main([str(finished), str(folder), "--half"]) == 0
    here, there = load(RunFolder.open(folder)), load(RunFolder.open(finished))
    obs = there.engine().obs.repeat(5, 0) + 0.5
    np.testing.assert_allclose(here.logits(obs), there.logits(obs), atol=1e-2)
    assert {x.dtype for x in checkpoint.load(here.path, {}).model["policy"].values()} == {
        torch.float16
    }
    assert command.main([str(finished), str(tmp_path / "onnx"), "--half", "--onnx"]) == 2
    assert "--half" in capsys.readouterr().err


def test_half_precision_leaves_the_scale_of_observations(tmp_path):
    """It may be of larger numbers, and of more observations, than float16 has."""
    sizes = ("num_envs=4", "ppo.n_steps=16", "ppo.batch_size=32", "ppo.net_arch=[8]")
    words = [word for each in sizes for word in ("--set", each)]
    words += ["--env", "CartPole-v1", "--set", "native.normalize_observations=true"]
    words += ["--total-steps", "64", "--no-evaluation", "--runs", str(tmp_path), "--name", "run"]
    assert main(words) == 0
    run = RunFolder.open(tmp_path / "run")
    export(run, tmp_path / "half", half=True)
    whole, half = (saved_policy(tmp_path / name) for name in ("run", "half"))
    for name, value in half.items():
        scale = name.startswith("encoder.scale.")
        assert value.dtype == (whole[name].dtype if scale else torch.float16)
    assert {f"encoder.scale.{name}" for name in ("mean", "var", "count")} < set(half)


def test_values_are_kept_where_they_are_asked_for(finished, tmp_path, capsys):
    assert command.main([str(finished), str(tmp_path / "whole"), "--values"]) == 0
    assert set(saved_policy(tmp_path / "whole")) == set(saved_policy(finished))
    export(RunFolder.open(finished), tmp_path / "bare")
    trained, whole, bare = (
        find_value(load_policy(path), "it")
        for path in (finished, tmp_path / "whole", tmp_path / "bare")
    )
    obs = np.random.default_rng(2).random((5, 203), np.float32)
    assert trained[0](obs).tolist() == whole[0](obs).tolist()
    assert len(set(whole[0](obs).tolist())) == 5
    assert bare[0] is None
    assert "--values" in bare[1]
    command.main([str(finished), "--hub", str(tmp_path / "hub"), "--values"])
    assert find_value(load_policy(tmp_path / "hub"), "it")[0](obs) == pytest.approx(trained[0](obs))
    assert command.main([str(finished), str(tmp_path / "onnx"), "--values", "--onnx"]) == 2
    assert "--values" in capsys.readouterr().err


def test_agents_without_a_value_say_why(tmp_path):
    for name, word in (("lantern_walk", "memory"), ("skullking-ppo", "something else"),
                       ("prospector", "what decides the play alone")):  # fmt: skip
        value, why = find_value(load_policy(machine.ROOT / "pretrained" / name), name)
        assert value is None
        assert word in why
        assert why.startswith(f"{name} shows no value: ")


def test_exported_agent_is_no_run_to_go_on_with(finished, train, tmp_path, capsys):
    export(RunFolder.open(finished), tmp_path / "agent")
    assert train(tmp_path, "agent", "--resume", "--total-steps", "99999") == 2
    assert "is of an exported agent, which cannot be trained on" in capsys.readouterr().err


def test_nothing_is_written_over(finished, tmp_path, capsys):
    assert command.main([str(finished), str(tmp_path)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("flags", [[], ["--hub"]])
def test_of_two_exports_into_one_folder_the_slower_one_is_refused(
    finished, tmp_path, capsys, monkeypatch, flags
):
    place = tmp_path / "agent"
    put, said = files.put_in_place, []

    def after_another(whole, path):
        monkeypatch.setattr(files, "put_in_place", put)
        assert command.main([str(finished), *flags, str(place)]) == 0
        said.append({file.name: file.read_bytes() for file in place.iterdir() if file.is_file()})
        return put(whole, path)

    monkeypatch.setattr(files, "put_in_place", after_another)
    assert command.main([str(finished), *flags, str(place)]) == 2
    assert capsys.readouterr().err == f"error: {place} is there already: name a new folder.\n"
    assert {file.name: file.read_bytes() for file in place.iterdir() if file.is_file()} == said[0]
    assert [path.name for path in tmp_path.iterdir()] == ["agent"]


def test_both_networks_of_a_pair_are_exported(tmp_path):
    sizes = {"n_steps": 4, "batch_size": 16, "net_arch": [8]}
    hier = {"warm_start": 64, "manager": {"hindsight": "tricks"}}
    config = tmp_path / "pair.json"
    config.write_text(
        json.dumps(
            {
                "env": "SkullKingWorker-v0",
                "trainer": "hier",
                "total_steps": 300,
                "num_envs": 16,
                "device": "cpu",
                "ppo": sizes,
                "hier": hier,
                "evaluation": {"during": "off"},
            }
        )
    )
    flags = ["--config", str(config), "--runs", str(tmp_path), "--name", "pair", "--no-evaluation"]
    assert main(flags) == 0
    run = RunFolder.open(tmp_path / "pair")
    export(run, tmp_path / "agent")
    here, there = (load(r).pair for r in (RunFolder.open(tmp_path / "agent"), run))
    obs = np.random.default_rng(3).random((6, 171), np.float32)
    assert (here.decoded(obs) == there.decoded(obs)).all()
    assert (here.networks["manager"](obs) == there.networks["manager"](obs)).all()
    cards = np.random.default_rng(4).random((6, 203), np.float32)
    assert (here.networks["worker"](cards) == there.networks["worker"](cards)).all()
    assert set(saved_policy(tmp_path / "agent")) == {"worker", "manager"}
