"""Runs of all kinds, whole and in part."""

import json
import shutil

import pytest


@pytest.fixture(scope="session")
def evaluated(finished, tmp_path_factory):
    """A finished run that was evaluated."""
    run = tmp_path_factory.mktemp("evaluated") / "sb3-run"
    shutil.copytree(finished, run)
    intervals = {"points": [10.0, 5.0, 15.0], "win_rate": [0.25, 0.2, 0.3]}
    bot = {"points": [-0.04, -5.0, 5.0], "win_rate": [0.2, None, 0.3]}
    record = {
        "env": "SkullKingWorker-v0",
        "created": "2026-01-02T03:04:05Z",
        "intervals": "95 %",
        "matches": {
            "protocol": "duplicate deals",
            "games": 40,
            "results": {"rule_hard": {"random": bot, "trained": intervals}},
        },
        "goals": {"rates": {"rule_hard": {"overall": [0.5, 0.4, 0.6], "round_1": [0.7, 0.6, 0.8]}}},
    }
    (run / "evaluation.json").write_text(json.dumps(record))
    return run


@pytest.fixture
def native(tmp_path):
    """What the native trainer leaves, as far as it is read here; no config, no summary."""
    run = tmp_path / "native-run"
    run.mkdir()
    lines = [
        {
            "step": 100 * k,
            "iter": k,
            "wall_s": 70.0 * k,
            "sps": 9000.0,
            "phases": {"env": 0.1, "forward": 0.2, "backward": 0.4, "gather": 0.0},
            "train": {"loss": 1.0, "entropy": 1 / k, "grad_norm": None, "kl": 0.01},
            "episode": {"n": 3, "return_mean": float(k)},
            "precision": "bf16",
        }
        for k in range(1, 21)
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    (run / "metrics.jsonl").write_text(text + '\n{"step": 21')  # was cut off
    found = [
        {"step": 500, "results": {"win rate": [0.3, 0.2, 0.4], "odd": "x"}},
        {"step": 1000, "results": {"win rate": 0.4}},
        {"step": None},
    ]
    (run / "evaluations.jsonl").write_text("\n".join(json.dumps(line) for line in found))
    return run


@pytest.fixture
def only_evaluated(evaluated, tmp_path):
    run = tmp_path / "only-evaluated"
    run.mkdir()
    shutil.copy(evaluated / "evaluation.json", run)
    return run


@pytest.fixture
def seeds_of(evaluated, tmp_path):
    """Return a function that writes the runs of a group, each with the points it came to."""

    def write(stem, points, **options):
        paths = []
        for seed, each in points.items():
            run = shutil.copytree(evaluated, tmp_path / f"{stem}-{seed}")
            config = json.loads((run / "config.json").read_text())
            config["config"] |= {"seed": seed, "name": run.name, **options}
            (run / "config.json").write_text(json.dumps(config))
            record = json.loads((run / "evaluation.json").read_text())
            players = record["matches"]["results"]["rule_hard"]
            players["trained"]["points"] = [each, each - 5, each + 5]
            (run / "evaluation.json").write_text(json.dumps(record))
            paths.append(run)
        return paths

    return write
