"""The check of a GPU, on a machine without one."""

import pytest
import torch
from rich.console import Console

from benchmarks import gpu
from training.bench.targets import judge
from training.commands import gpu_check as command


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_device_it_says_so(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert command.main([]) == 0
    assert capsys.readouterr().out == "no CUDA device here: nothing was checked\n"
    assert not list(tmp_path.iterdir())


def test_settings_are_those_of_the_bars_and_differ_in_one_thing():
    graphs = gpu.graphs(64)
    assert {config.native.compile for config in graphs.values()} == set(graphs)
    assert len({c.replace(native=gpu.setting(4, 64).native).sha256() for c in graphs.values()}) == 1
    replays = gpu.replays(32)
    assert {config.dqn.replay_device for config in replays.values()} == set(replays)


@pytest.mark.slow
def test_what_is_measured_is_shown(monkeypatch):
    """The same on a CPU, small: every trainer iterates, and the record has what is shown of it."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    small = {"off": gpu.graphs(64)["off"].replace(device="cpu", env_threads=1)}
    rows = gpu.timed(small, 1, 0.01)
    dqn = {name: c.replace(device="cpu") for name, c in gpu.replays(8).items()}
    record = {"gpu": "none", "tests_passed": None, "rows": [], "bars": judge("gpu", [])}
    record |= {"compile": rows, "replay": gpu.timed(dqn, 1, 0.01)}
    console = Console(record=True, width=200)
    gpu.show(record, console)
    said = console.export_text()
    assert "GPU busy" in said
    assert '"cpu":' in said
