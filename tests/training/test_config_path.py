"""How far a run's config travels from the command line to the trainer."""

import sys
from pathlib import Path

from training.ppo.trainer import PPOTrainer
from training.run.config import RunConfig
from training.train import main

ROOT = Path(__file__).resolve().parents[2] / "training"
MOST = 14  # files to read for whoever follows it


class ArrivedError(Exception):
    """The trainer is about to be made."""


def test_config_passes_through_few_files(tiny_config, tmp_path):
    """Files of functions that are given the config, or return it, on the way to the trainer."""
    files = {"ppo/trainer.py"}

    def follow(frame, event, value):
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(str(ROOT)):
            return
        if code is PPOTrainer.__init__.__code__:
            raise ArrivedError
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = [frame.f_locals.get(name) for name in arguments] if event == "call" else [value]
        if any(isinstance(each, RunConfig) for each in given):
            files.add(Path(code.co_filename).relative_to(ROOT).as_posix())

    sys.setprofile(follow)
    try:
        main(["--config", str(tiny_config), "--runs", str(tmp_path), "--name", "run"])
        raise AssertionError("the trainer was never made")
    except ArrivedError:
        pass
    finally:
        sys.setprofile(None)
    print(sorted(files))
    assert {"run/option_layers.py", "ppo/run.py", "run/folder.py"} <= files
    assert len(files) <= MOST
