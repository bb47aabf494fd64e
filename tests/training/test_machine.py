"""Cores that a process may use, and the threads that follow from them."""

from pathlib import Path
from tempfile import mkdtemp

import pytest

from tests.tables import walk
from training.run import machine
from training.run.config import RunConfig


@walk(
    ("files", "cores"),
    [
        ({}, 16),
        ({"cpu.max": "max 100000\n"}, 16),
        ({"cpu.max": "250000 100000\n"}, 3),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu.max": "9900000 100000\n"}, 16),
        ({"cpu.max": "nonsense"}, 16),
        ({"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 16),
    ],
)
def test_a_container_may_have_a_share_of_the_cores(tmp_path, files, cores):
    tmp_path = Path(mkdtemp(dir=tmp_path))
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "CGROUP", tmp_path)
        patch.setattr(machine.os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
        patch.setattr(machine, "_is_linux", lambda: True)
        patch.setattr(machine.psutil, "cpu_count", lambda logical: 16)
        assert machine.physical_cores() == cores
        patch.setenv("LOCAL_WORLD_SIZE", "2")
        assert machine.cores() == max(1, cores // 2)


BESIDE = {"trainer": "expert", "expert": {"delay": 1}}


@walk(
    ("cores", "values", "engine", "network"),
    [
        (1, {}, 1, 1),
        (2, {}, 1, 1),
        (8, {}, 1, 7),
        (8, {"env_threads": 3}, 3, 5),
        (8, {"torch_threads": 2}, 1, 2),
        (8, {"env_threads": 8}, 8, 1),
        (24, {"ppo": {"batch_size": 512}}, 1, 2),
        (24, {"ppo": {"batch_size": 128}}, 1, 1),
        (1, BESIDE, 1, 1),
        (2, BESIDE, 1, 1),
        (4, BESIDE, 2, 2),
        (8, {**BESIDE, "ppo": {"batch_size": 512}}, 6, 2),
        (8, {**BESIDE, "torch_threads": 1}, 7, 1),
        (24, {**BESIDE, "ppo": {"batch_size": 512}}, 8, 2),
    ],
)
def test_threads_are_what_suits_cores_and_minibatches(monkeypatch, cores, values, engine, network):
    monkeypatch.setattr(machine, "cores", lambda: cores)
    config = RunConfig.from_mapping(values)
    assert (config.engine_threads, config.network_threads) == (engine, network)
    said = config.describe_threads()
    assert f"{engine} for the engine" in said
    assert f"{network} for the network" in said
    assert said.endswith(f"cores: {cores}")


def test_a_process_asks_git_and_the_packages_once(monkeypatch):
    asked = []

    def git(*command):
        asked.append(command[0])
        return "abc"

    monkeypatch.setattr(machine, "git", git)
    machine._find_revision.cache_clear()
    first = machine.built_from()
    monkeypatch.setattr(machine.metadata, "version", asked.append)
    second = machine.built_from()
    machine._find_revision.cache_clear()
    assert asked == ["status", "rev-parse"]
    assert first == second == {**first, "git_rev": "abc", "dirty": True}
    first["versions"].clear()
    assert machine.versions() == second["versions"]
