import json

import pytest

import fastenv
from fastenv import BackendUnavailableError, ConfigError
from tests.needs import needs_core
from training.run import env_impl

ENV = "SkullKingWorker-v0"


@pytest.fixture
def broken(monkeypatch):
    """A machine on which the compiled core is there but does not work."""
    engine = fastenv.BatchEngine

    def only_uncompiled(game, num_envs, backend, **how):
        if backend == "fast":
            raise OSError("wrong ELF class:\nELFCLASS32")
        return engine(game, num_envs, backend, **how)

    monkeypatch.setattr(env_impl, "BatchEngine", only_uncompiled)


@pytest.fixture
def nothing_compiled(monkeypatch):
    """A machine on which nothing but plain Python works."""

    def broken(game, num_envs, backend, **how):
        if backend == "reference":
            return engine(game, num_envs, backend, **how)
        raise ImportError(backend)

    engine = fastenv.BatchEngine
    monkeypatch.setattr(env_impl, "BatchEngine", broken)


@pytest.mark.parametrize(
    ("requested", "selected", "taken"),
    [
        ("reference", "reference", "reference"),
        ("fast", "fast", "fast"),
        ("auto", "fast", "fast"),
    ],
)
@needs_core
def test_request_is_met(requested, selected, taken):
    impl = env_impl.build(requested, ENV)[1]
    assert (impl.selected, impl.backend) == (selected, taken)
    record = impl.record()
    assert record["backend"] == taken
    published = {"fast": "native"}
    assert record["ppo_env_impl_requested"] == published.get(requested, requested)
    assert record["ppo_env_impl_selected"] == published.get(selected, selected)
    assert not record["ppo_env_impl_auto_fallback"]
    assert (record["ppo_native_available"], record["ppo_native_probe"]) == (True, "ok")


def test_auto_falls_back_and_says_why(broken):
    record = env_impl.build("auto", ENV)[1].record()
    assert record["ppo_env_impl_selected"] == "reference"
    assert record["ppo_env_impl_auto_fallback"]
    assert not record["ppo_native_available"]
    assert record["ppo_native_probe"] == "OSError: wrong ELF class: ELFCLASS32"
    assert record["ppo_vector_backend_selected"] == "serial"


def test_auto_takes_numba_where_no_core_works(broken):
    impl = env_impl.build("auto", ENV)[1]
    assert impl.backend == impl.record()["backend"] == "numba"


def test_auto_takes_numba_where_no_core_was_built(no_core):
    impl = env_impl.build("auto", ENV)[1]
    assert (impl.selected, impl.backend) == ("reference", "numba")
    assert "compiler" in impl.probe


def test_auto_takes_plain_python_where_nothing_else_works(nothing_compiled):
    impl = env_impl.build("auto", ENV)[1]
    assert (impl.selected, impl.backend) == ("reference", "reference")


def test_native_that_does_not_work_is_an_error_with_the_reason(broken):
    with pytest.raises(BackendUnavailableError, match="wrong ELF class"):
        env_impl.build("fast", ENV)


def test_reference_needs_nothing_native(broken):
    record = env_impl.build("reference", ENV)[1].record()
    assert record["backend"] == "reference"
    assert not record["ppo_env_impl_auto_fallback"]
    assert not record["ppo_native_available"]


@needs_core
def test_probe_really_plays(monkeypatch):
    def step_many(self, actions, **how):
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(fastenv.BatchEngine, "step_many", step_many)
    found = env_impl.probe(lambda: fastenv.make_engine(ENV, 2, backend="fast"))
    assert found == (None, "RuntimeError: no such instruction")


def test_another_word_is_refused_with_the_three_there_are():
    with pytest.raises(ConfigError, match="'reference', 'fast', 'auto'"):
        env_impl.build("turbo", ENV)


def test_bad_option_is_no_reason_to_fall_back():
    with pytest.raises(ConfigError, match="num_players"):
        env_impl.build("auto", ENV, {"num_players": 99})


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


def test_implementations_train_the_same(train, finished, tmp_path):
    assert train(tmp_path, "plain", "--set", "env_impl=reference", "--total-steps", 256) == 0
    pair = [
        [json.loads(line)["train"] for line in (run / "metrics.jsonl").read_text().splitlines()]
        for run in (tmp_path / "plain", finished)
    ]
    assert pair[0] == pair[1][:2]
