"""Self-play as a run: from the command line, resumed, refused."""

import shutil
import sqlite3

import numpy as np
import pytest
import torch

from fastenv.skullking.tables import Bot
from tests.tables import walk
from tests.training.left import lines as records
from training.callbacks.start import check_config
from training.ppo.options import NativeRun
from training.ppo.run import make_trainer
from training.run import checkpoint
from training.run.config import RunConfig
from training.run.config_files import load_file
from training.run.envs import make_trial_lane
from training.run.folder import RunFolder
from training.selfplay.pool import PoolEngine

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


def rating_rows(run):
    """Return the rows of the ratings of a run with a pool."""
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


# Without a schedule of opponents, which sets them anew whatever has been set before.
BOTS = {
    "env": "SkullKingFlat-v0",
    "env_options.schedule": "[1,1]",
    "env_options.opponents": "rule_easy",
    "env_options.agent_seat": "rotate",
    "num_envs": 16,
    "ppo.n_steps": 8,
    "selfplay.start": 128,
    "selfplay.every": 128,
    "checkpoints.every": 128,
}


def bots_flags(**changes):
    return [word for name, v in (BOTS | changes).items() for word in ("--set", f"{name}={v}")]


@pytest.mark.parametrize("share", [0, 0.25])
def test_who_sits_at_the_tables_is_as_the_page_says(train, tmp_path, monkeypatch, share):
    tables = []

    class Watched(PoolEngine):
        def step_many(self, *args, **kwargs):
            rows = self.get_states()
            assert (rows["actor"] == rows["agent"]).all()  # whose decision the trainer is given
            tables.append((rows["bots"] == Bot.EXTERNAL).sum(axis=1))
            super().step_many(*args, **kwargs)

    monkeypatch.setattr("training.selfplay.league.PoolEngine", Watched)
    assert train(tmp_path, "run", *bots_flags(**{"selfplay.bots": share})) == 0
    first, later = np.array(tables[:8]), np.array(tables[16:])  # a game takes four decisions
    assert (first == 0).all()
    bots = round(share * 16)
    assert (later[:, :bots] == 0).all()
    assert (later[:, bots:] == 3).all()


@pytest.fixture(scope="module")
def uninterrupted(train, tmp_path_factory):
    """The folder of a run of four iterations with bots that no schedule sets; not to be changed."""
    runs = tmp_path_factory.mktemp("uninterrupted")
    assert train(runs, "run", *bots_flags()) == 0
    return runs / "run"


def test_checkpoints_with_the_one_engine_of_older_versions_are_read(uninterrupted, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(uninterrupted, run)
    saved = checkpoint.load(checkpoint.newest(run / "checkpoints"), {})
    now = saved.values["selfplay"]
    then = {name: value for name, value in now.items() if name != "engines"}
    (then["engine"],) = now["engines"]
    trainer = make_trainer(RunFolder.open(run).config, folder=run)
    trainer.league.load_state_dict(then, saved.steps)
    assert trainer.league.state_dict() == now
    trainer.close()


def test_snapshots_are_taken_rated_and_reported(played):
    first, *rest = [record["train"] for record in records(played)]
    assert not any(name.startswith("pool_") for name in first)
    assert [record["pool_members"] for record in rest] == [1, 2, 2]
    assert all(0 <= record["pool_win_rate"] <= 1 for record in rest if "pool_win_rate" in record)
    assert any("pool_win_rate" in record for record in rest)
    assert sorted(path.name for path in (played / "pool").iterdir()) == [
        "000.pt", "001.pt", "002.pt"]  # fmt: skip
    rows = rating_rows(played)
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


def test_an_earlier_checkpoint_forgets_what_came_after(train, tmp_path, played):
    shutil.copytree(played, tmp_path / "again")
    shutil.rmtree(tmp_path / "again/checkpoints/ckpt_000000000512")
    assert train(tmp_path, "again", "--resume", config=None) == 0
    assert rating_rows(tmp_path / "again") == rating_rows(played)


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


@walk(
    ("changes", "says"),
    [
        ({"env": "SkullKingWorker-v0"}, "env='SkullKingWorker-v0'"),
        ({"env": "Prospector-v0", "schedules": "{}", "env_options": "{}"}, "env='Prospector-v0'"),
        ({"env_options.invalid_action": "penalty"}, "invalid_action='raise'"),
        ({"trainer": "sb3"}, "trainer='sb3'"),
        ({"trackers": "{archive: {cell: round}}"}, "trackers=['archive']"),
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
    check_config(config)
    assert make_trial_lane(config).engines[0].num_envs == 1


def test_snapshots_are_due_from_the_start_on():
    options = RunConfig.from_mapping({"selfplay": {"start": 100, "every": 50}}).selfplay
    assert [options.due(steps) for steps in (0, 99, 100, 149, 150, 250)] == [0, 0, 1, 1, 2, 4]
    assert NativeRun().selfplay is None
