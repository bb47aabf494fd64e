"""Write small run folders of every trainer, for tests: ``python -m tools.old_runs FOLDER``.

They are committed in ``tests/data/runs``. Later versions must
load, play, continue and draw them (``tests/training/test_old_runs.py``). ``--checkout DIR`` runs
the code of another folder.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from tools.command import new_parser
from tools.deterministic_runs import ALWAYS, EVALUATION, RUNS, call
from training.run import machine

# Over the flags of deterministic runs: as little as each trainer can do.
TINY = (
    "--num-envs=4 --set=ppo.n_steps=8 --set=ppo.batch_size=32 --set=ppo.net_arch=[8]"
    " --set=checkpoints.keep=1"
)
SMALLER = {
    "native, Skull King": f"{TINY} --total-steps=256",
    "native, Worker with a memory and attention": (
        f"{TINY} --set=native.recurrent_size=8 --total-steps=256"
    ),
    "native, self-play": (
        f"{TINY} --set=selfplay.start=64 --set=selfplay.every=64 --total-steps=256"
    ),
    "native, Prospector with a tracker": f"{TINY} --total-steps=256",
    "sb3, Prospector": f"{TINY} --total-steps=256",
    "hier, Skull King": f"{TINY} --set=hier.warm_start=64 --total-steps=512",
    "ensemble, Worker": f"{TINY} --set=ppo.batch_size=16 --total-steps=256",
    "dqn, Skull King": (
        "--num-envs=4 --set=dqn.net_arch=[8] --set=dqn.capacity=128"
        " --set=dqn.learning_starts=64 --set=dqn.batch_size=32 --set=checkpoints.keep=1"
        " --total-steps=512"
    ),
    "expert, Skull King by search": f"{TINY} --total-steps=256",
}

GATE = {
    "stages": [{"name": part, "knobs": {"allowed_phases": [part]}} for part in ("early", "late")],
    "success": {"info": "ended_round", "at_least": 1},
    **{"target": 0.6, "n_max": 200, "tests": 3, "gate_every": 2, "lanes": 8},
}
# Runs that are none of the deterministic ones.
OTHERS = {
    "native, a gate with a certificate": (
        f"--env=SkullKingWorker-v0 {TINY} --total-steps=256 '--set=gate={json.dumps(GATE)}'"
    ),
}
SWEEP = (
    "training sweep --env Prospector-v0 --vary ppo.n_epochs=2..8 --trials 2 --games 4"
    " --total-steps 64 --set=num_envs=4 --set=ppo.n_steps=8 --set=ppo.batch_size=32"
    " --set=ppo.net_arch=[8] --name sweep --runs"
)

# What tells nothing that the rest does not.
LEFT_OUT = shutil.ignore_patterns(".*", "tb", "replays", "replay_index.json", "episodes.jsonl")


def short(name: str) -> str:
    """Return the name of a folder."""
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("old_runs", __doc__)
    parse.add_argument("folder", type=Path)
    parse.add_argument("--checkout", type=Path, default=machine.ROOT, metavar="DIR")
    parse.add_argument("--only", default="", metavar="TEXT", help="runs whose name has it")
    args = parse.parse_args(argv)
    flags_of = {name: f"{RUNS[name]} {smaller}" for name, smaller in SMALLER.items()} | OTHERS
    for name, own in flags_of.items():
        if args.only not in name:
            continue
        with tempfile.TemporaryDirectory() as runs:
            flags = f"{own} {ALWAYS}"
            call(f"training train {flags} --name={short(name)} --runs={runs}", args.checkout)
            call(f"training evaluate {short(name)} --runs={runs} {EVALUATION}", args.checkout)
            made = Path(runs, short(name))
            target = args.folder / short(name)
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(made, target, ignore=LEFT_OUT)
        size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
        print(f"{size / 1e3:6.0f} kB  {shlex.quote(str(target))}", flush=True)
    if args.only in "sweep":
        with tempfile.TemporaryDirectory() as runs:
            call(f"{SWEEP} {runs}", args.checkout)
            for file in ("sweep.json", "sweep.journal"):
                shutil.copy(Path(runs, file), args.folder / file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
