"""Tiny trained agents of every kind, which are committed in ``tests/data/agents``.

``python -m tests.training.players.agents`` trains each for some hundred decisions and exports it.
They are trained again only when a version stops reading them, which the change log then says.
"""

import contextlib
import io
import shutil
import sys
import tempfile
from pathlib import Path

from tests.training.begun import train
from tests.training.players import met
from training.players.export import export
from training.run.folder import RunFolder

FOLDER = Path(__file__).resolve().parents[2] / "data" / "agents"
TINY = {
    "env": "SkullKingWorker-v0",
    "num_envs": 8,
    "total_steps": 128,
    "torch_threads": 1,
    "device": "cpu",
    "ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 1, "net_arch": [8]},
    "evaluation": {"during": "off"},
}
KINDS = {
    "native": {},
    "flat": {"env": "SkullKingFlat-v0"},
    "manager": {"env": "SkullKingManager-v0"},
    "prospector": {"env": "Prospector-v0"},
    "recurrent": {
        "env": "SkullKingFlat-v0",
        "native": {"recurrent": "lstm", "recurrent_size": 8, "seq_len": 4},
    },
    "ssm": {"native": {"recurrent": "ssm", "recurrent_size": 8, "seq_len": 4}},
    "attention": {"native": {"attention": 8, "heads": "phase"}, "env": "SkullKingFlat-v0"},
    "cards": {"native": {"heads": "cards"}, "env": "SkullKingFlat-v0"},
    "sb3": {"trainer": "sb3"},
    "ensemble": {"trainer": "ensemble", "ensemble": {"seeds": [3, 4]}},
    "hier": {
        "trainer": "hier",
        "total_steps": 300,
        "num_envs": 16,
        "ppo": {"n_steps": 4, "batch_size": 16, "net_arch": [8]},
        "hier": {"warm_start": 64},
    },
}


def main(kinds):
    """Train and export those of some kinds, or all of them."""
    met.register()
    for kind in kinds or KINDS | met.KINDS:
        options = KINDS.get(kind) or met.KINDS.get(kind, {})
        with tempfile.TemporaryDirectory() as runs, contextlib.redirect_stdout(io.StringIO()):
            assert train(runs, kind, config=TINY | options) == 0
            shutil.rmtree(FOLDER / kind, ignore_errors=True)
            if kind == "ensemble":  # of which the network of one member would be exported
                unused = shutil.ignore_patterns("*.jsonl", "tb", ".lock", "summary.json")
                shutil.copytree(Path(runs, kind), FOLDER / kind, ignore=unused)
            else:
                export(RunFolder.open(Path(runs, kind)), FOLDER / kind)


if __name__ == "__main__":
    main(sys.argv[1:])
