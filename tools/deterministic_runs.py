"""Whether a change leaves results as they were: ``python -m tools.deterministic_runs``.

Short deterministic trainings, of every trainer but RLlib's and of every game, whose last
``model.pt`` is compared by its SHA-256; an evaluation of each; and tables in which agents, bots and
searchers meet. Of records all is compared but what is different each time: times, machines, paths.
``--out FILE`` writes what was found, ``--against FILE`` compares with what another version of the
code has written on the same machine; exit 1 if anything differs. ``--checkout DIR`` runs the code
of another folder. RLlib pins another Gymnasium: its part is ``--only rllib``, with the Python of
its environment.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.command import new_parser
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
        " --set=native.seq_len=8 --total-steps=2000"
    ),
    "native, a head for each phase": (
        f"--env=SkullKingAbility-v0 {SMALL} --set=native.heads=phase --total-steps=2000"
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
    "sb3, Worker": f"--env=SkullKingWorker-v0 --trainer=sb3 {SMALL} --total-steps=2000",
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
    "expert, Skull King by search": (
        f"{CONFIG}/skullking.yaml {SMALL} --set=expert.search=worlds=4,rollouts=policy"
        " --total-steps=1500"
    ),
    "expert, Prospector by a bot": (
        f"--env=Prospector-v0 --trainer=expert {SMALL} --set=expert.teacher=short_haul"
        " --total-steps=1500"
    ),
    "dqn, Lantern Walk with a memory": (
        f"--env=LanternWalk-v0 --trainer=dqn --num-envs=4 {PIXELS} --set=dqn.net_arch=[32]"
        " --set=dqn.capacity=2048 --set=dqn.learning_starts=256 --set=dqn.recurrent=gru"
        " --set=dqn.batch_size=64 --set=dqn.stack_k=2 --total-steps=600"
    ),
}
ALWAYS = (
    "--seed=5 --device=cpu --torch-threads=1 --set=deterministic=true --no-evaluation"
    " --set=evaluation.games=20 --set=evaluation.episodes=12 --set=evaluation.max_steps=400"
)
RLLIB = {
    "rllib, Worker": (
        f"--env=SkullKingWorker-v0 --trainer=rllib {SMALL} --set=rllib.env_runners=0"
        " --total-steps=1000"
    ),
}
EVALUATION = "--replays=2 --seed=3"
KING, PPO = "pretrained/skullking", "pretrained/skullking-ppo"
# By name, words behind `python -m training`, and the record that they write into {runs}.
TABLES = {
    "an agent, another, search and a bot": (
        f"evaluate {KING} --against {PPO} search:{PPO},worlds=4 rule_hard --games 24"
        " --output-path {runs}/table.json",
        "table.json",
    ),
    "two agents and their samples": (
        f"evaluate {KING} --against {PPO} --sample --games 40 --output-path {{runs}}/table.json",
        "table.json",
    ),
    "six players, all groups": (
        f"evaluate {KING} --against {PPO} rule_easy rule_hard heuristic random --games 8"
        " --output-path {runs}/table.json",
        "table.json",
    ),
    "Dr. Mario by frames": (
        "evaluate greedy --against random lookahead2 --env DrMarioVersus-v0 --games 4"
        " --output-path {runs}/table.json",
        "table.json",
    ),
    "agents beside each other": (
        "evaluate pretrained/prospector --against short_haul random_legal --episodes 12"
        " --output-path {runs}/table.json",
        "table.json",
    ),
    **{
        f"bots of {env}": (
            f"evaluate --bots --env {env} --episodes 6 --max-steps 400"
            " --output-path {runs}/bots.json",
            "bots.json",
        )
        for env in (
            *("Prospector-v0", "DrMarioPlacement-v0", "DrMarioFrame-v0"),
            *("DrMarioVersus-v0", "GameBoyGoal-v0", "LanternWalk-v0"),
        )
    },
    "best response": (
        "exploit heuristic --env SkullKingFlat-v0 --seeds 1 --total-steps 1000 --games 40"
        " --search worlds=2 --name response --runs {runs}",
        "response.json",
    ),
    "comparison over seeds": (
        "compare --env Prospector-v0 --seeds 1,2 --variant a --variant b --with ppo.n_epochs=2"
        f" --total-steps 1000 --games 10 {SMALL.replace('--num-envs', '--set=num_envs')}"
        " --set=deterministic=true --name both"
        " --runs {runs}",
        "both.json",
    ),
}
# Keys of records that are different each time.
VOLATILE = (
    *(
        "created",
        "command",
        "git_rev",
        "dirty",
        "host",
        "versions",
        "wall_s",
        "cpu_ms_per_decision",
    ),
    "config_sha256",  # changes with the options that there are
    *("created_at", "generated_at", "run_id", "training_s", "core_s", "cpu_s", "core_minutes"),
)


def call(words: str, checkout: Path) -> None:
    """Run ``python -m`` with words, as a shell takes them, by the code of a folder."""
    command = [sys.executable, "-m", *shlex.split(words)]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{words}\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}")


def record_hash(path: Path, folder: str) -> str:
    """Return the SHA-256 of what a record says, but for what is different each time."""

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: kept(v) for k, v in sorted(value.items()) if k not in VOLATILE}
        if isinstance(value, list):
            return [kept(each) for each in value]
        return value.replace(folder, "") if isinstance(value, str) else value

    text = json.dumps(kept(json.loads(path.read_text(encoding="utf-8"))), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def train(flags: str, checkout: Path, runs: str) -> dict[str, str]:
    """Return the SHA-256 of the last ``model.pt`` of a training, and of its evaluation.

    Parameters
    ----------
    flags : str
        Of ``training train``, as a shell takes them.
    checkout : Path
        The folder whose code trains.
    runs : str
        Where the run goes.
    """
    call(f"training train {flags} {ALWAYS} --name=run --runs={runs}", checkout)
    checkpoints = Path(runs, "run", "checkpoints")
    newest = checkpoints / (checkpoints / "latest").read_text().strip()
    found = {"model.pt": hashlib.sha256((newest / "model.pt").read_bytes()).hexdigest()}
    call(f"training evaluate run --runs={runs} {EVALUATION}", checkout)
    found["evaluation.json"] = record_hash(Path(runs, "run", "evaluation.json"), runs)
    return found


def table(words: str, name: str, checkout: Path, runs: str) -> str:
    """Return the SHA-256 of the record that a command writes."""
    call(f"training {words.format(runs=runs)}", checkout)
    return record_hash(Path(runs, name), runs)


def results(only: str, checkout: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the SHA-256 of everything whose name has a text."""
    trainings = RLLIB if only.startswith("rllib") else RUNS
    for name, flags in trainings.items():
        if only in name:
            with tempfile.TemporaryDirectory() as runs:
                for file, value in train(flags, checkout, runs).items():
                    yield f"{name}: {file}", value
    for name, (words, file) in TABLES.items():
        if only in name:
            with tempfile.TemporaryDirectory() as runs:
                yield name, table(words, file, checkout, runs)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("deterministic_runs", __doc__)
    parse.add_argument("--checkout", type=Path, default=machine.ROOT, metavar="DIR")
    parse.add_argument("--out", type=Path, metavar="FILE", help="JSON to write")
    parse.add_argument("--against", type=Path, metavar="FILE", help="what --out has written")
    parse.add_argument("--only", default="", metavar="TEXT", help="results whose name has it")
    args = parse.parse_args(argv)
    before = {} if args.against is None else json.loads(args.against.read_text())["results"]
    found, differing = {}, 0
    for name, value in results(args.only, args.checkout):
        found[name] = value
        same = before.get(name) in (None, value)
        differing += not same
        print(f"{value[:16]}  {'' if same else 'DIFFERS  '}{name}", flush=True)
    if args.out is not None:
        record = {**machine.revision(), "host": machine.host(), "versions": machine.versions()}
        args.out.write_text(json.dumps({**record, "results": found}, indent=1) + "\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
