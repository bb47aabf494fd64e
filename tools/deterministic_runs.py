"""Whether a change leaves what is learnt as it was: ``python -m tools.deterministic_runs``.

Short deterministic trainings, of every trainer but RLlib's and of every game, whose last
``model.pt`` is compared by its SHA-256. ``--out FILE`` writes what was found, ``--against FILE``
compares with what another version of the code has written on the same machine; exit 1 if a run
differs. ``--checkout DIR`` runs the code of another folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from training.run import machine

SMALL = "--num-envs=16 --set=ppo.n_steps=16 --set=ppo.batch_size=64 --set=ppo.net_arch=[32]"
TINY = "--set=ppo.batch_size=32 --set=ppo.n_steps=8"
PIXELS = "--set=env_options.stack_k=1 --set=env_options.states=lantern_walk"
CONFIG = "--config=training/configs"
# By name, the flags of a training; all are of one thread, deterministic and without evaluation.
RUNS = {
    "native, Skull King": f"--env=SkullKingFlat-v0 {SMALL} --total-steps=2000",
    "native, Worker with a memory and attention": (
        f"--env=SkullKingWorker-v0 {SMALL} --set=native.recurrent=gru --set=native.attention=8"
        " --set=native.seq_len=8 --set=native.norm_adv=batch --total-steps=2000"
    ),
    "native, two groups of lanes": (
        f"--env=SkullKingAbility-v0 {SMALL} --set=native.env_groups=2 --set=native.heads=phase"
        " --total-steps=2000"
    ),
    "native, self-play": (
        f"{CONFIG}/selfplay.yaml {SMALL} --set=selfplay.start=512 --set=selfplay.every=512"
        " --total-steps=3000"
    ),
    "native, Prospector with a tracker": (f"{CONFIG}/prospector.yaml {SMALL} --total-steps=2000"),
    "native, Dr. Mario by placements": f"{CONFIG}/drmario.yaml {SMALL} --total-steps=2000",
    "native, Lantern Walk with an archive": (
        f"{CONFIG}/lantern_walk.yaml --num-envs=8 {TINY} --set=native.seq_len=8 --total-steps=512"
    ),
    "sb3, Prospector": f"--env=Prospector-v0 --trainer=sb3 {SMALL} --total-steps=2000",
    "sb3, Worker": (
        f"--env=SkullKingWorker-v0 --trainer=sb3 {SMALL} --set=ppo.rollout_buffer=fast"
        " --set=ppo.algorithm=batch --total-steps=2000"
    ),
    "hier, Skull King": (
        f"{CONFIG}/hierarchical.yaml {SMALL} --set=hier.warm_start=500"
        " '--set=hier.manager={n_steps: 4, batch_size: 16, n_epochs: 2, hindsight: tricks}'"
        " --total-steps=3000"
    ),
    "ensemble, Worker": (
        f"--env=SkullKingWorker-v0 --trainer=ensemble {SMALL} --set=ensemble.seeds=[1,2]"
        " --total-steps=2000"
    ),
    "dqn, Skull King": (
        "--env=SkullKingFlat-v0 --trainer=dqn --num-envs=16 --set=dqn.net_arch=[32]"
        " --set=dqn.capacity=4096 --set=dqn.learning_starts=512 --set=dqn.prioritized=true"
        " --set=dqn.noisy=true --total-steps=4000"
    ),
    "dqn, Lantern Walk with a memory": (
        f"--env=LanternWalk-v0 --trainer=dqn --num-envs=4 {PIXELS} --set=dqn.net_arch=[32]"
        " --set=dqn.capacity=2048 --set=dqn.learning_starts=256 --set=dqn.recurrent=gru"
        " --set=dqn.batch_size=64 --set=dqn.stack_k=2 --total-steps=600"
    ),
}
ALWAYS = "--seed=5 --device=cpu --torch-threads=1 --set=deterministic=true --no-evaluation"


def model_hash(flags: str, checkout: Path) -> str:
    """Return the SHA-256 of the last ``model.pt`` of a training.

    Parameters
    ----------
    flags : str
        Of ``training train``, as a shell takes them.
    checkout : Path
        The folder whose code trains.
    """
    with tempfile.TemporaryDirectory() as folder:
        words = [*shlex.split(flags), *ALWAYS.split(), "--name=run", f"--runs={folder}"]
        command = [sys.executable, "-m", "training.train", *words]
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(words)}\n{done.stderr[-2000:]}")
        checkpoints = Path(folder, "run", "checkpoints")
        newest = checkpoints / (checkpoints / "latest").read_text().strip()
        return hashlib.sha256((newest / "model.pt").read_bytes()).hexdigest()


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = argparse.ArgumentParser(prog="python -m tools.deterministic_runs", description=__doc__)
    parse.add_argument("--checkout", type=Path, default=machine.ROOT, metavar="DIR")
    parse.add_argument("--out", type=Path, metavar="FILE", help="JSON to write")
    parse.add_argument("--against", type=Path, metavar="FILE", help="what --out has written")
    parse.add_argument("--only", default="", metavar="TEXT", help="runs whose name has it")
    args = parse.parse_args(argv)
    before = {} if args.against is None else json.loads(args.against.read_text())["runs"]
    found, differing = {}, 0
    for name, flags in RUNS.items():
        if args.only not in name:
            continue
        found[name] = model_hash(flags, args.checkout)
        same = before.get(name) in (None, found[name])
        differing += not same
        print(f"{found[name][:16]}  {'' if same else 'DIFFERS  '}{name}", flush=True)
    if args.out is not None:
        record = {**machine.revision(), "host": machine.host(), "versions": machine.versions()}
        args.out.write_text(json.dumps({**record, "runs": found}, indent=1) + "\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
