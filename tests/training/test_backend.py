import hashlib
import json

import pytest

import fastenv
from fastenv import BackendUnavailableError, ConfigError
from tests.needs import needs_core
from tests.slow import every
from training.run import envs
from training.run.folder import RunFolder
from training.run.options import canonical_json

ENV = "SkullKingWorker-v0"


@pytest.fixture
def broken(monkeypatch):
    """A machine on which the compiled core is there but does not work."""
    engine = fastenv.BatchEngine

    def only_uncompiled(game, num_envs, backend, **how):
        if backend == "fast":
            raise OSError("wrong ELF class:\nELFCLASS32")
        return engine(game, num_envs, backend, **how)

    monkeypatch.setattr(envs, "BatchEngine", only_uncompiled)


@pytest.fixture
def nothing_compiled(monkeypatch):
    """A machine on which nothing but plain Python works."""

    def broken(game, num_envs, backend, **how):
        if backend == "reference":
            return engine(game, num_envs, backend, **how)
        raise ImportError(backend)

    engine = fastenv.BatchEngine
    monkeypatch.setattr(envs, "BatchEngine", broken)


@pytest.mark.parametrize(
    ("requested", "taken", "published"),
    [
        ("reference", "reference", ("reference", "reference")),
        ("numba", "numba", ("reference", "reference")),
        ("cython", "cython", ("native", "native")),
        ("fast", "fast", ("native", "native")),
        ("auto", "fast", ("auto", "native")),
    ],
)
@needs_core
def test_request_is_met(requested, taken, published):
    engine, chosen = envs.build(requested, ENV)
    assert engine.backend == chosen.name == taken
    record = chosen.record()
    assert record["backend"] == taken
    assert (record["ppo_env_impl_requested"], record["ppo_env_impl_selected"]) == published
    assert not record["ppo_env_impl_auto_fallback"]
    assert (record["ppo_native_available"], record["ppo_native_probe"]) == (True, "ok")
    stepped = "native_batch" if published[1] == "native" else "serial"
    assert record["ppo_vector_backend_selected"] == stepped


def test_auto_falls_back_and_says_why(broken):
    record = envs.build("auto", ENV)[1].record()
    assert record["ppo_env_impl_selected"] == "reference"
    assert record["ppo_env_impl_auto_fallback"]
    assert not record["ppo_native_available"]
    assert record["ppo_native_probe"] == "OSError: wrong ELF class: ELFCLASS32"
    assert record["ppo_vector_backend_selected"] == "serial"


def test_auto_takes_numba_where_no_core_works(broken):
    chosen = envs.build("auto", ENV)[1]
    assert chosen.name == chosen.record()["backend"] == "numba"


def test_auto_takes_numba_where_no_core_was_built(no_core):
    chosen = envs.build("auto", ENV)[1]
    assert chosen.name == "numba"
    assert "compiler" in chosen.probe


def test_auto_takes_plain_python_where_nothing_else_works(nothing_compiled):
    assert envs.build("auto", ENV)[1].name == "reference"


@pytest.mark.parametrize("name", ["fast", "numba", "cython"])
def test_backend_that_does_not_work_is_an_error_with_the_reason(nothing_compiled, name):
    with pytest.raises(BackendUnavailableError, match=f"backend='{name}' .*ImportError: {name}"):
        envs.build(name, ENV)


def test_reference_needs_nothing_native(broken):
    record = envs.build("reference", ENV)[1].record()
    assert record["backend"] == "reference"
    assert not record["ppo_env_impl_auto_fallback"]
    assert not record["ppo_native_available"]


@needs_core
def test_probe_really_plays(monkeypatch):
    def step_many(self, actions, **how):
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(fastenv.BatchEngine, "step_many", step_many)
    found = envs.probe(lambda: fastenv.make_engine(ENV, 2, backend="fast"))
    assert found == (None, "RuntimeError: no such instruction")


def test_another_word_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match="'auto', 'reference', 'numba', 'cython', 'fast'"):
        envs.build("turbo", ENV)


def test_bad_option_is_no_reason_to_fall_back():
    with pytest.raises(ConfigError, match="num_players"):
        envs.build("auto", ENV, {"num_players": 99})


def test_fallback_is_written_into_the_summary(train, tmp_path, broken, capsys):
    assert train(tmp_path, "slow", "--total-steps", 128) == 0
    summary = json.loads((tmp_path / "slow/summary.json").read_text())
    assert summary["ppo_env_impl_auto_fallback"]
    assert summary["backend"] == "numba"
    assert "ELFCLASS32" in summary["ppo_native_probe"]
    assert summary["ppo_policy_arch"] == "mlp-32-relu"
    assert summary["ppo_policy_updates"] > 0
    said = capsys.readouterr().err
    assert "on the backend numba, which is slow: OSError: wrong ELF class" in said


@needs_core
@pytest.mark.parametrize("name", every(2, ["reference", "numba", "cython"]))
def test_backends_train_the_same(train, finished, tmp_path, name):
    assert train(tmp_path, name, "--backend", name, "--total-steps", 256) == 0
    assert json.loads((tmp_path / name / "summary.json").read_text())["backend"] == name
    pair = [
        [json.loads(line)["train"] for line in (run / "metrics.jsonl").read_text().splitlines()]
        for run in (tmp_path / name, finished)
    ]
    assert pair[0] == pair[1][:2]


def test_run_that_was_begun_under_the_old_name_goes_on(train, tmp_path):
    assert train(tmp_path, "old", "--total-steps", 256) == 0
    path = tmp_path / "old/config.json"
    record = json.loads(path.read_text())
    config = record["config"]
    config["env_impl"] = config.pop("backend")
    record["sha256"] = hashlib.sha256(canonical_json(config).encode()).hexdigest()
    path.write_text(json.dumps(record))
    assert RunFolder.open(tmp_path / "old").config.backend == "auto"
    assert train(tmp_path, "old", "--resume", "--total-steps", 512) == 0
    assert json.loads((tmp_path / "old/summary.json").read_text())["steps"] == 512
    # Another backend is not what it began with, though it would play alike.
    assert train(tmp_path, "old", "--resume", "--backend", "reference") == 2
