"""What a training that cannot begin says and leaves."""

import subprocess
import sys

import pytest

from fastenv.errors import ConfigError
from training.run.config import RunConfig
from training.run.config_files import load_file
from training.run.folder import RunFolder


def test_a_network_that_this_machine_cannot_hold_is_refused(train, tmp_path, capsys):
    assert train(tmp_path, "run", "--set", "ppo.net_arch=[1000000,1000000]") == 2
    assert "ppo.net_arch=[1000000, 1000000] is not possible" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    config = RunConfig.from_mapping({"trainer": "dqn", "dqn": {"net_arch": [10**6, 10**6]}})
    with pytest.raises(ConfigError, match=r"dqn\.net_arch=\[1000000, 1000000\] is not possible"):
        config.check_memory(400, 10)


def test_a_run_that_finds_no_memory_leaves_no_folder(train, tmp_path, capsys, monkeypatch):
    def build(*_args, **_more):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("training.ppo.run.build", build)
    assert train(tmp_path, "run") == 2
    assert "too little memory for the network" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_run_that_another_process_prepares_keeps_its_folder(train, tiny_config, tmp_path, capsys):
    """It looks as if nobody had begun: there is neither an event nor a checkpoint."""
    run = RunFolder.create(
        tmp_path, RunConfig.from_mapping(load_file(tiny_config) | {"name": "run"})
    )
    with run.lock():
        assert train(tmp_path, run.name, "--resume") == 2
    assert "is being trained by another process" in capsys.readouterr().err
    assert (run.path / "config.json").is_file()


def test_ctrl_c_while_a_command_is_imported_is_one_word():
    script = "import sys; sys.argv = ['-m']; import training; raise KeyboardInterrupt"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr == "interrupted\n"
    done = subprocess.run(
        [sys.executable, "-c", script.replace("KeyboardInterrupt", "ValueError(3)")],
        capture_output=True,
        text=True,
    )
    assert "ValueError: 3" in done.stderr


def test_the_list_of_commands_imports_neither_numpy_nor_gymnasium():
    command = [sys.executable, "-X", "importtime", "-m", "training", "-h"]
    done = subprocess.run(command, capture_output=True, text=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "train" in done.stdout
    assert imported & {"numpy", "gymnasium", "torch"} == set()
