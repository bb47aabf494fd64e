"""Trainings that tests begin as the command line does, in this process."""

import json
import tempfile
from pathlib import Path

from training.train import main


def train(runs, name, *flags, config=None, evaluation=False):
    """Train by a file of options, or by what it would hold; return the exit status.

    Without options it is the flags that say what is trained, or to go on.
    """
    given = [] if evaluation else ["--no-evaluation"]
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(config, dict):
            values, config = config, Path(folder, "config.json")
            config.write_text(json.dumps(values))
        if config:
            given += ["--config", config]
        return main([str(word) for word in (*given, "--runs", runs, "--name", name, *flags)])
