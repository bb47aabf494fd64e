"""Self-play as a run: from the command line, resumed, refused."""

import json
import shutil
import sqlite3

import pytest
import torch

from training.callbacks.of_run import check_environment
from training.run import checkpoint
from training.run.config import RunConfig, load_file
from training.run.envs import trial_lanes

FLAGS = {
    "env": "SkullKingFlat-v0",
    "env_options.schedule": "[1,2]",
    "schedules.opponents": "[[0,rule_easy],[300,rule_hard]]",
    "selfplay.start": 100,
    "selfplay.every": 100,
    "selfplay.keep": 2,
}


def flags(**changes):
    chosen = FLAGS | changes
    return [word for name, value in chosen.items() for word in ("--set", f"{name}={value}")]


def records(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def history(run):
    database = sqlite3.connect(run / "ratings.sqlite")
    rows = database.execute("SELECT * FROM ratings ORDER BY step, player").fetchall()
    database.close()
    return rows


@pytest.fixture(scope="module")
def played(train, tmp_path_factory):
    """The folder of a finished run of four iterations; not to be changed."""
    runs = tmp_path_factory.mktemp("selfplay")
    assert train(runs, "whole", *flags()) == 0
    return runs / "whole"


def test_snapshots_are_taken_rated_and_reported(played):
    first, *rest = [record["train"] for record in records(played)]
    assert not any(name.startswith("pool_") for name in first)
    assert [record["pool_members"] for record in rest] == [1, 2, 2]
    assert all(0 <= record["pool_win_rate"] <= 1 for record in rest if "pool_win_rate" in record)
    assert any("pool_win_rate" in record for record in rest)
    assert sorted(path.name for path in (played / "pool").iterdir()) == [
        "000.pt", "001.pt", "002.pt"]  # fmt: skip
    rows = history(played)
    assert sorted({step for step, *_ in rows}) == [256, 384, 512]
    assert [player for step, player, *_ in rows if step == 512] == [-1, 0, 1, 2]
    ratings = [rating for step, _, rating, *_ in rows if step == 512]
    assert ratings[0] == records(played)[-1]["train"]["pool_rating"]
    assert sum(games for step, _, _, games, _ in rows if step == 512) > 0


def test_a_snapshot_is_the_learner_as_it_was(played):
    stored = torch.load(played / "pool" / "001.pt", weights_only=True)
    then = torch.load(played / "checkpoints/ckpt_000000000256/model.pt", weights_only=True)
    assert stored["steps"] == 256
    assert all(torch.equal(x, stored["policy"][name]) for name, x in then["policy"].items())


def test_a_resumed_run_equals_an_uninterrupted_one(train, tmp_path, played):
    assert train(tmp_path, "halves", *flags(), "--total-steps", 384) == 0
    assert train(tmp_path, "halves", "--total-steps", 512, "--resume", config=None) == 0
    identity = {}
    ours, theirs = (
        checkpoint.load(checkpoint.newest(run / "checkpoints"), identity)
        for run in (tmp_path / "halves", played)
    )
    assert all(torch.equal(x, theirs.model["policy"][n]) for n, x in ours.model["policy"].items())
    assert ours.rows.tobytes() == theirs.rows.tobytes()
    assert ours.trainer["selfplay"] == theirs.trainer["selfplay"]
    assert history(tmp_path / "halves") == history(played)
    stripped = [[r[k] for k in ("step", "train")] for r in records(tmp_path / "halves")]
    assert stripped == [[r[k] for k in ("step", "train")] for r in records(played)]


def test_an_earlier_checkpoint_forgets_what_came_after(train, tmp_path, played):
    shutil.copytree(played, tmp_path / "again")
    shutil.rmtree(tmp_path / "again/checkpoints/ckpt_000000000512")
    assert train(tmp_path, "again", "--resume", config=None) == 0
    assert history(tmp_path / "again") == history(played)


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_a_run_without_its_snapshots_says_which_one(train, tmp_path, capsys, played, damage):
    shutil.copytree(played, tmp_path / "run")
    file = tmp_path / "run" / "pool" / "002.pt"
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes() + b"x")
    assert train(tmp_path, "run", "--total-steps", 640, "--resume", config=None) == 2
    error = capsys.readouterr().err
    assert "002.pt is missing or damaged" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"env": "SkullKingWorker-v0"}, "env='SkullKingWorker-v0'"),
        ({"env": "Prospector-v0", "schedules": "{}", "env_options": "{}"}, "env='Prospector-v0'"),
        ({"env_options.invalid_action": "penalty"}, "invalid_action='raise'"),
        ({"trainer": "sb3"}, "trainer='sb3'"),
        ({"trackers": "{archive: {cell: round}}"}, "trackers=['archive']"),
        ({"native.env_groups": 2}, "native.env_groups=2"),
        ({"native.recurrent": "gru"}, "native.recurrent='gru'"),
        ({"selfplay.keep": 0}, "selfplay.keep=0"),
        ({"selfplay.weights": "luck"}, "selfplay.weights='luck'"),
        ({"selfplay.bots": 1}, "selfplay.bots=1.0"),
    ],
)
def test_what_cannot_be_played_is_refused_with_nothing_written(
    train, tmp_path, capsys, changes, says
):
    base = {} if "schedules" in changes else FLAGS
    chosen = {k: v for k, v in base.items() if k not in changes} | {"selfplay.start": 0} | changes
    words = [word for name, value in chosen.items() for word in ("--set", f"{name}={value}")]
    assert train(tmp_path / "runs", "bad", *words) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_the_config_of_self_play_is_possible():
    config = RunConfig.from_mapping(load_file("training/configs/selfplay.yaml"))
    assert (config.selfplay.start, config.selfplay.every) == (1_000_000, 200_000)
    check_environment(config)
    assert trial_lanes(config).engines[0].num_envs == 1


def test_snapshots_are_due_from_the_start_on():
    options = RunConfig.from_mapping({"selfplay": {"start": 100, "every": 50}}).selfplay
    assert [options.due(steps) for steps in (0, 99, 100, 149, 150, 250)] == [0, 0, 1, 1, 2, 4]
    assert RunConfig().selfplay is None
