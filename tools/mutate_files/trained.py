"""Kinds of files of ``training/``: runs and checkpoints, options, replays, networks, records."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from tools.mutate_files.reading import Kind

TINY = {
    "env": "SkullKingWorker-v0",
    "name": "run",
    "num_envs": 2,
    "total_steps": 16,
    "torch_threads": 1,
    "device": "cpu",
    "ppo": {"n_steps": 4, "batch_size": 8, "n_epochs": 1, "net_arch": [4], "precision": "fp32"},
    "trackers": {"visits": {"cell": "round", "num_cells": 16, "count_bonus": 0.1}},
    "evaluation": {"during": "off", "after_training": False},
    "checkpoints": {"every": 8},
}
NEWEST = "run/checkpoints/ckpt_000000000016"
RUN = (
    *("run/config.json", "run/metrics.jsonl", "run/events.jsonl", "run/summary.json"),
    *(f"{NEWEST}/{name}" for name in ("model.pt", "trainer.json", "engine.npz", "trackers.pt")),
    *(f"{NEWEST}/MANIFEST.json", "run/checkpoints/latest"),
)
WEIGHTS = ("agent/model.safetensors", "agent/config.json")


# -- a run and its checkpoints ---------------------------------------------------------------------


def make_run(folder: Path) -> None:
    """Train for two iterations."""
    from training.callbacks.start import train
    from training.run.config import RunConfig
    from training.run.envs import make_lanes
    from training.run.folder import RunFolder

    run = RunFolder.create(folder, RunConfig.from_mapping(TINY))
    train(run, make_lanes(run.config))
    for extra in ("tb", "checkpoints/ckpt_000000000008"):
        for path in sorted((run.path / extra).rglob("*"), reverse=True):
            path.unlink()
        (run.path / extra).rmdir()


def mend_run(folder: Path) -> None:
    """Correct the hashes in ``config.json`` and ``MANIFEST.json``, as far as they can be read."""
    from training.run.options import hash_json

    try:
        path = folder / "run/config.json"
        config = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps(config | {"sha256": hash_json(config["config"])}), "utf-8")
        path = folder / NEWEST / "MANIFEST.json"
        manifest = json.loads(path.read_text("utf-8"))
        for name, record in manifest["files"].items():
            content = (folder / NEWEST / name).read_bytes()
            record |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        rest = {key: value for key, value in manifest.items() if key != "sha256"}
        path.write_text(json.dumps(rest | {"sha256": hash_json(rest)}), "utf-8")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return


def read_run(folder: Path) -> None:
    """Play with a trained policy, report on its run, and go on with the training."""
    from training.callbacks.start import make_callbacks
    from training.logs import run_data
    from training.players.trained import load_policy
    from training.ppo.run import make_trainer
    from training.run.envs import make_lanes
    from training.run.folder import RunFolder
    from training.run.loop import TrainingLoop
    from training.run.signals import Stop

    run_data.read_run(folder / "run")
    policy = load_policy(folder / "run")
    env = policy.make()
    obs, info = env.reset(seed=0)
    policy.act(obs, info["action_mask"])
    env.close()
    run = RunFolder.open(folder / "run")
    lanes = make_lanes(run.config)
    trainer = make_trainer(run.config, lanes, run.path)
    callbacks = make_callbacks(run, trainer)
    loop = TrainingLoop(run, trainer, callbacks, lanes.backend, Stop())
    with run.lock():
        loop.resume()
    trainer.on_step = None
    trainer.iterate()
    trainer.close()


def make_weights(folder: Path) -> None:
    """Export the agent of a tiny run for a hub of models."""
    from training.evaluation.run_card import make
    from training.players.export import export
    from training.run.folder import RunFolder

    make_run(folder)
    export(RunFolder.open(folder / "run"), folder / "agent", make_card=make)
    shutil.rmtree(folder / "run")


def mend_weights(folder: Path) -> None:
    """Correct the hash in ``model.safetensors``, as far as it can be read."""
    from training.run import weights

    path = folder / "agent/model.safetensors"
    library = weights.load_library("this")
    try:
        with library.safe_open(path, "pt") as file:
            head = dict(file.metadata())
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        about = json.loads(head["about"]) | {"sha256": weights.digest(tensors)}
        path.write_bytes(library.torch.save(tensors, head | {"about": json.dumps(about)}))
    except Exception:  # it is damaged on purpose
        return


def read_weights(folder: Path) -> None:
    """Play with an agent that was exported."""
    from training.players.trained import load_policy

    policy = load_policy(folder / "agent")
    env = policy.make()
    obs, info = env.reset(seed=0)
    policy.act(obs, info["action_mask"])
    env.close()


# -- what is read of a run of somebody else -----------------------------------------------------

TOLD = tuple(
    f"runs/other/{name}"
    for name in (
        *("config.json", "metrics.jsonl", "evaluations.jsonl", "events.jsonl"),
        *("summary.json", "evaluation.json"),
    )
)


def make_told(folder: Path) -> None:
    """Write all that a run says of itself, as two of them have said it."""
    from training.run.config import RunConfig
    from training.run.folder import RunFolder

    interval = [0.5, 0.25, 0.75]
    measured = {"points": [12.0, 9.5, 14.0], "win_rate": interval, "rank": None}
    for seed, name in enumerate(("own", "other")):
        config = RunConfig.from_mapping({**TINY, "name": name, "seed": seed})
        run = RunFolder.create(folder / "runs", config)
        (run.checkpoints / "latest").touch()
        for k in range(1, 5):
            record = {
                **{"step": 8 * k, "wall_s": 0.5 * k, "sps": 16.0, "sps_cpu": 20.0},
                **{"episode": {"return_mean": 0.25 * k}, "rounds": {"hit_rate": 0.5}},
                **{"train": {"kl": 0.01, "entropy": None}, "phases": {"env": 0.1, "update": 0.4}},
            }
            _append(run.metrics, record)
        results = {"points": measured["points"], "wins": 0.5}
        _append(run.evaluations, {"step": 16, "results": results, "best": True})
        gate = {"successes": 3, "failures": 1, "stage": 2, "interval": [0.4, 0.9]}
        _append(run.events, {"event": "gate", "step": 16, **gate})
        run.write_summary({"status": "finished", "steps": 32, "precision": "fp32"})
        players = {"trained": measured, "heuristic": {"points": [8.0, 7.0, 9.0]}}
        record = {
            **{"env": config.env, "created": "2024-05-06T07:08:09Z", "policy": "highest legal"},
            **{"config_sha256": config.sha256(), "intervals": "95 %", "checkpoint": "x"},
            "matches": {
                **{"players": 4, "games": 10, "first_seed": 0, "protocol": "all deals"},
                "results": {"random": players, "3 x rule_hard": players},
            },
            "goals": {"rates": {"trained": {"overall": interval, "round_1": interval}}},
            "episodes": {"policies": {"trained": {"intervals": {"return": interval}}}},
            "compared": {"episodes": {"trained": {"return": interval}}},
        }
        (run.path / "evaluation.json").write_text(json.dumps(record), "utf-8")


def _append(path: Path, record: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def read_told(folder: Path) -> None:
    """Show a run beside another wherever runs are shown: in reports, curves, lists and pictures."""
    from rich.console import Console

    from training.evaluation.trainings import seconds_of
    from training.logs import run_data
    from training.logs.dashboard import Dashboard
    from training.logs.sections import make_sections
    from training.run.folder import RunFolder
    from training.run.jsonl import read_lines
    from training.studio import forms, messages, report, runs
    from training.studio.places import Places
    from training.terminal import panels

    places = Places(folder / "runs", folder / "pretrained")
    listed = runs.listed(places)
    messages.dump({"kind": "runs", "runs": listed})
    assert {entry["name"] for entry in listed} >= {"own"}
    messages.dump(forms.describe(str(TINY["env"]), places))
    paths = {name: places.find(name) for name in ("own", "other")}
    report.page(paths)
    messages.dump(runs.CurveReader(paths).read_all())
    found = run_data.read_runs([*paths.values()])
    for run in found:
        panels.read_training(run.path)
    make_sections(found)
    Dashboard("other", 64, 32, Console(file=io.StringIO())).history(
        read_lines(paths["other"] / "metrics.jsonl"),
        read_lines(paths["other"] / "evaluations.jsonl"),
    )
    seconds_of(RunFolder.open(paths["other"]))


# -- options of a run ------------------------------------------------------------------------------

OPTIONS = {
    **TINY,
    "seed": 5,
    "env_options": {"num_players": 4, "schedule": [3, 4], "round_weights": [1.0, 2.0]},
    "schedules": {"opponents": [[0, "rule_easy"], [300, "rule_hard"]]},
    "mask_schedule": [{"action": 3, "until": 100, "ticks": 4}],
}


def make_options(folder: Path) -> None:
    """Write a config file."""
    config = {key: value for key, value in OPTIONS.items() if key != "mask_schedule"}
    (folder / "config.yaml").write_text(json.dumps(config, indent=1), "utf-8")


def read_options(folder: Path) -> None:
    """Check options as the command line does before it trains."""
    from training.callbacks.start import check_run
    from training.run import envs
    from training.run.config import RunConfig
    from training.run.config_files import load_file

    config = RunConfig.from_mapping(load_file(folder / "config.yaml"))
    check_run(config, envs.make_engine(config.env, 1, config.env_options))
    config.sha256()


# -- replays ---------------------------------------------------------------------------------------


def make_replay(folder: Path) -> None:
    """Record an episode of a few steps."""
    from training.evaluation import replays
    from training.run.envs import make_engine

    options = {"time_max": 60}
    actions: list[int] = []
    engine = make_engine("Prospector-v0", 1, options)
    engine.reset_many(seeds=3)
    while len(actions) < 5 and not engine.ended[0]:
        actions.append(int(np.flatnonzero(engine.mask[0])[0]))
        engine.step_many(actions[-1:], autoreset=False)
    replay = replays.record("Prospector-v0", options, 3, actions)
    path = replays.save(replay, folder)
    path.rename(folder / "replay.jsonl.gz")
    entry = {"replay_path": "replay.jsonl.gz", "return_total": 1.0}
    index = {"schema_version": replays.SCHEMA_VERSION, "replays": [entry]}
    (folder / "replay_index.json").write_text(json.dumps(index), "utf-8")


def read_replay(folder: Path) -> None:
    """Play an episode again, and add it to the index."""
    from training.evaluation import replays

    replay = replays.load(folder / "replay.jsonl.gz")
    played = replays.play_again(replay)
    replays.first_difference(replay, played)
    for _ in replays.render_frames(replay, "ansi"):
        pass
    replays.add_to_index(folder, folder / "replay.jsonl.gz", replay)


# -- networks and records of Dr. Mario -------------------------------------------------------------


def make_evaluator(folder: Path) -> None:
    """Write an evaluator that knows nothing."""
    from training.apps.drmario.evaluator import model

    head = model.Head(hidden=8, quantiles=5, about={"games": 1, "seed": 2})
    model.new_evaluator(head, 0).save(folder / "judge.safetensors")


def read_evaluator(folder: Path) -> None:
    """Judge a situation."""
    from training.apps.drmario.evaluator import model
    from training.apps.drmario.evaluator.features import SITUATION

    model.load(folder / "judge.safetensors").quantiles(np.zeros(1, SITUATION))


def make_reader(folder: Path) -> None:
    """Write a reader that knows nothing."""
    from training.apps.drmario.reader.network import Reader, save_reader

    save_reader(Reader(), folder / "reader.safetensors", json.dumps({"steps": 3}))


def read_reader(folder: Path) -> None:
    """Load a reader, as its commands do."""
    from training.apps.drmario.reader.network import load_reader

    load_reader(folder / "reader.safetensors")


def make_times(folder: Path) -> None:
    """Write a store with some clears."""
    from training.apps.drmario import best_times
    from training.evaluation.evaluation import Evaluation, play

    options = {"level": -15, "speed": "low"}
    games = Evaluation("times", best_times.ENV, options, ["first"], seeds=range(3, 7), max_steps=60)
    played = play(games, keep_actions=["first"])
    with best_times.BestTimes(folder / "times.sqlite") as store:
        store.add(best_times.list_clears(played.with_column("speed", "low"))[:2], "run")


def read_times(folder: Path) -> None:
    """Ask a store, and add what it knows to another."""
    from training.apps.drmario.best_times import BestTimes

    with BestTimes(folder / "times.sqlite") as store, BestTimes(folder / "other.sqlite") as other:
        store.floor(-15, "low")
        store.quantiles(-15, "low", of="spawns")
        other.add(store.top(-15, "low"))


TRAINED = (
    Kind("checkpoint", make_run, read_run, changed=RUN, mend=mend_run),
    Kind("weights", make_weights, read_weights, changed=WEIGHTS, mend=mend_weights),
    Kind("told", make_told, read_told, changed=TOLD),
    Kind("config", make_options, read_options),
    Kind("replay", make_replay, read_replay),
    Kind("evaluator", make_evaluator, read_evaluator),
    Kind("reader", make_reader, read_reader),
    Kind("times", make_times, read_times),
)
