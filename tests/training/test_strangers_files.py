"""Files of training that a stranger may have made: read, or refused in one sentence."""

import json
import os
import re
import shutil
from functools import cache

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError, FastEnvError
from tools.mutate_files.reading import Files, judge
from tools.mutate_files.trained import NEWEST, TRAINED, make_told, mend_run, read_run
from training import report as report_command
from training.apps.drmario.evaluator import model
from training.evaluation import replays
from training.logs import run_data
from training.run import files
from training.run.jsonl import drop_after, read_lines
from training.studio import report

KINDS = {kind.name: kind for kind in TRAINED}
SLOW = ("times", "told")  # games are played for it; pictures are drawn of it
CASES = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in KINDS]


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Return the files of a kind, made once."""
    folder = tmp_path_factory.mktemp("originals")
    return cache(lambda name: Files(KINDS[name], 7, folder / name))


@pytest.mark.parametrize("name", CASES)
def test_changed_files_are_read_or_refused_in_one_sentence(originals, tmp_path, name):
    """``python -m tools.mutate_files`` reads thousands of them, with limits of time and memory."""
    written, different = originals(name), 0
    for number in (None, *range(12)):
        folder = tmp_path / str(number)
        folder.mkdir()
        written.write(folder, number)
        different += any((folder / p).read_bytes() != was for p, was in written.original.items())
        found, why = judge(KINDS[name], folder)
        assert found in (("accepted",) if number is None else ("accepted", "refused")), why
        shutil.rmtree(folder)
    assert different >= 6


@pytest.mark.parametrize("name", CASES)
def test_pipes_and_devices_are_refused_at_once(originals, tmp_path, name):
    written = originals(name)
    for number, path in enumerate(KINDS[name].changed or written.original):
        folder = tmp_path / str(number)
        folder.mkdir()
        written.write(folder, None)
        (folder / path).unlink()
        if number % 2:
            (folder / path).symlink_to("/dev/zero")
        else:
            os.mkfifo(folder / path)
        found, why = judge(KINDS[name], folder)
        assert found != "crash", why
        assert found == "refused" or "run/" in path or name == "told"
        shutil.rmtree(folder)


@pytest.fixture
def run(originals, tmp_path):
    """A folder that holds a tiny run, whose hashes :func:`mend_run` corrects."""
    originals("checkpoint").write(tmp_path, None)
    return tmp_path


@pytest.mark.parametrize("policy", [None, 3, [1], "policy", {"weight": 3}, {"weight": [1]}])
def test_a_policy_that_is_none_is_refused(run, policy):
    path = run / NEWEST / "model.pt"
    torch.save(torch.load(path, weights_only=True) | {"policy": policy}, path)
    mend_run(run)
    with pytest.raises(FastEnvError, match="holds another network"):
        read_run(run)


def test_an_archive_that_expands_to_more_than_it_is_long_is_refused(run):
    path = run / NEWEST / "engine.npz"
    np.savez_compressed(path, rows=np.zeros((2, 1 << 24), np.uint8))
    mend_run(run)
    with pytest.raises(FastEnvError, match=r"engine\.npz expands to 33,554,\d+ bytes"):
        read_run(run)


@pytest.mark.parametrize("step", ['"7"', "null", "[]", "true", "NaN", "[" * 900 + "]" * 900])
def test_lines_whose_step_is_no_number_are_left_out(run, step):
    for name in ("metrics", "events"):
        path = run / f"run/{name}.jsonl"
        before = read_lines(path)
        path.write_text(path.read_text() + f'{{"step": {step}, "event": "end"}}\n')
        assert read_lines(path) == before
    run_data.read_run(run / "run")
    drop_after(path, 8)
    assert {line["step"] for line in read_lines(path)} <= {0, 8}
    read_run(run)


@pytest.mark.parametrize(
    ("part", "text", "note"),
    [
        ("config.json", '{"config": {"trainer": ["native"]}}', "trainer=['native'] is left out"),
        ("config.json", '{"config": [1], "created": 5}', "config=[1] is left out"),
        ("config.json", "9" * 400, "config.json cannot be read"),
        ("summary.json", '{"steps": "12"}', "steps='12' is left out, for it must be a whole"),
        ("summary.json", "[" * 2000, "summary.json cannot be read"),
        ("metrics.jsonl", '{"step": 4, "sps": ' + "9" * 400 + "}\n", "1 line is left out"),
        ("metrics.jsonl", "[" * 2000 + "\n", "1 line is left out"),
        ("evaluations.jsonl", "\n\n", "evaluations.jsonl: 2 lines are left out"),
        ("evaluation.json", '{"matches": "all", "created": 3}', "matches='all' is left out"),
        ("evaluation.json", '{"matches": {"results": {"a": {"trained": [1]}, "b": 3}}}', ""),
        ("evaluation.json", '{"compared": {"c": {"trained": {"points": [true, "x"]}}}}', ""),
    ],
)
def test_a_report_leaves_out_what_is_no_value_and_says_so(tmp_path, part, text, note):
    make_told(tmp_path)
    (tmp_path / "runs/other" / part).write_text(text)
    paths = {name: tmp_path / "runs" / name for name in ("own", "other")}
    page = report.page(paths)
    shown = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert note in " ".join(shown["sections"][0]["notes"])
    assert [row[0]["text"] for row in shown["sections"][0]["parts"][0]["rows"]] == ["own", "other"]
    assert report_command.main([*map(str, paths.values()), "--out", str(tmp_path / "x.html")]) == 0


def test_leftovers_of_processes_with_impossible_ids_are_removed(tmp_path):
    for owner in ("9" * 200, "9" * 20, str(2**31)):
        (tmp_path / f".tmp-{owner}-x").touch()
    files.remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["backend", "num_envs", "num_threads"])
def test_a_replay_does_not_choose_how_it_is_played(originals, tmp_path, name):
    originals("replay").write(tmp_path, None)
    replay = replays.load(tmp_path / "replay.jsonl.gz")
    replay.head["options"][name] = 1
    path = replays.save(replay, tmp_path)
    with pytest.raises(replays.ReplayError, match="not a whole replay"):
        replays.load(path)


@pytest.mark.parametrize("head", ["[]", "3", "null", '"a"', "[" * 100_000 + "]" * 100_000])
def test_the_head_of_an_evaluator_is_an_object(originals, tmp_path, head):
    originals("evaluator").write(tmp_path, None)
    path = tmp_path / "judge.safetensors"
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["__metadata__"]["head"] = head
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    with pytest.raises(ConfigError) as refused:
        model.load(path)
    assert len(str(refused.value)) < 600


def test_a_replay_of_actions_and_rewards_beyond_all_bounds(originals, tmp_path):
    originals("replay").write(tmp_path, None)
    replay = replays.load(tmp_path / "replay.jsonl.gz")
    replay.frames[1]["action"] = 10**30
    again = replays.load(replays.save(replay, tmp_path))
    captions = [caption for caption, _ in replays.render_frames(again, "ansi", "fast")]
    assert f"action {10**30}" in captions[2]
    for frame in replay.frames:
        frame["reward"] = 1e308
    path = replays.save(replay, tmp_path)
    with pytest.raises(replays.ReplayError, match="not a whole replay"):
        replays.load(path)
