"""Where the compiled core does not work, a config may ask for less: its section without_core."""

import json
from pathlib import Path

import pytest

from fastenv import ConfigError
from tests.needs import needs_core
from tests.training.conftest import TINY
from training.run.config_files import load_file
from training.train import merge_layers, parser

CONFIGS = Path(__file__).resolve().parents[2] / "training" / "configs"
MAIN = CONFIGS / "skullking.yaml"  # of `make train`
FULL = load_file(MAIN)
LESS = FULL.pop("without_core")


@pytest.fixture
def tiny(tmp_path):
    """A config file with such a section."""
    path = tmp_path / "tiny.json"
    less = {"total_steps": 128, "checkpoints": {"keep": 2}}
    path.write_text(json.dumps(TINY | {"without_core": less}))
    return path


def config_of(*flags, file=MAIN, base=None):
    return merge_layers(parser().parse_args(["--config", str(file), *flags]), base or {})


def test_make_train_does_less_and_says_what_to_install(no_core, capsys):
    config = config_of()
    assert config.total_steps == LESS["total_steps"] < FULL["total_steps"]
    (said,) = capsys.readouterr().err.splitlines()
    change = f"total_steps {LESS['total_steps']:,} instead of {FULL['total_steps']:,}"
    assert said.startswith("no compiled core, so on numba and ")
    assert change in said
    assert "install a C compiler" in said


def test_environment_alone_does_less_too(no_core):
    config = merge_layers(parser().parse_args(["--env", FULL["env"]]), {})
    assert (config.total_steps, config.trainer) == (LESS["total_steps"], LESS["trainer"])
    assert config.ppo.batch_size == LESS["ppo"]["batch_size"]


@needs_core
def test_with_the_core_nothing_is_less(capsys):
    assert config_of().total_steps == FULL["total_steps"]
    assert capsys.readouterr().err == ""


def test_options_of_the_trainer_with_the_core_can_be_set():
    config = config_of("--set", "expert.search=worlds=4", "--backend", "reference")
    assert (config.trainer, config.expert.search) == (FULL["trainer"], "worlds=4")


def test_without_the_core_they_are_left_out(no_core):
    config = config_of("--set", "expert.search=worlds=4")
    assert (config.trainer, config.total_steps) == (LESS["trainer"], LESS["total_steps"])


def test_what_is_asked_for_is_done(no_core, capsys):
    for flags in (["--total-steps", "50000"], ["--set", "total_steps=50000"]):
        config = config_of(*flags)
        assert config.total_steps == 50_000
        assert config.evaluation.games == FULL["evaluation"]["games"]
    assert config_of("--backend", "reference").total_steps == FULL["total_steps"]
    assert capsys.readouterr().err == ""


def test_a_run_that_goes_on_keeps_what_it_began_with(no_core, capsys):
    for began in (1_000_000, 7_000):
        base = config_of("--total-steps", str(began)).to_dict()
        capsys.readouterr()
        assert config_of(base=base).total_steps == began
        assert config_of("--total-steps", "9000000", base=base).total_steps == 9_000_000
        assert capsys.readouterr().err == ""


def test_a_run_that_goes_on_takes_what_else_a_file_changes_in_such_a_section(tmp_path, tiny):
    base = config_of(file=tiny).to_dict()
    path = tmp_path / "changed.json"
    less = {"total_steps": 128, "checkpoints": {"keep": 2}}
    path.write_text(json.dumps({"checkpoints": {"every": 64, "keep": 9}, "without_core": less}))
    kept = config_of(file=path, base=base).checkpoints
    assert (kept.every, kept.keep) == (64, base["checkpoints"]["keep"])


def test_the_run_records_what_it_did(no_core, train, tiny, tmp_path, capsys):
    assert train(tmp_path, "less", config=tiny) == 0
    said = capsys.readouterr().err
    assert "total_steps 128 instead of 512, checkpoints.keep 2 instead of 3" in said
    recorded = json.loads((tmp_path / "less/config.json").read_text())["config"]
    assert (recorded["total_steps"], recorded["checkpoints"]["keep"]) == (128, 2)
    assert recorded["checkpoints"]["every"] == TINY["checkpoints"]["every"]
    assert "without_core" not in recorded
    summary = json.loads((tmp_path / "less/summary.json").read_text())
    assert (summary["steps"], summary["backend"]) == (128, "numba")


@pytest.mark.parametrize(
    ("section", "named"), [(5, "without_core=5"), ({"stepps": 1}, "'stepps' is not an option")]
)
def test_a_section_that_cannot_be_is_refused_everywhere(tmp_path, section, named):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(TINY | {"without_core": section}))
    with pytest.raises(ConfigError, match=named):
        config_of(file=path)
