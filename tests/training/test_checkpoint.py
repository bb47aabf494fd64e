import hashlib
import io
import json
import os
import random
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

import fastenv
from tests.slow import every
from tests.tables import walk
from tests.training import manifests
from training.run import checkpoint
from training.run.seeds import generators_kept, global_generators, set_global_generators

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 2**22 + 1  # no process has such a number
STATES = np.zeros(3, np.dtype([("a", "i4"), ("b", "u1")], align=True))
IDENTITY = {"env": "toy", "observation length": 4}


def save(folder, steps, keep=3, value=1.0, trackers=None, **more):
    STATES["a"] = [1, 2, 3]
    state = checkpoint.State(
        steps,
        model={"weight": torch.full((2,), value), "step": 3},
        values={"note": "x", "number": 0.1},
        rows=STATES,
        arrays={"starts": np.array([True, False, True])},
        trackers=trackers,
    )
    return checkpoint.save(folder, state, IDENTITY, keep=keep, **more)


def replace(path, name, content):
    """Put another file in the place of one, and say so in the manifest."""
    (path / name).write_bytes(content)
    entries = manifests.read(path)["files"]
    entries[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifests.change(path, files=entries)


def bytes_of(write, *args, **options):
    file = io.BytesIO()
    write(file, *args, **options)
    return file.getvalue()


def npz_that_claims(shape):
    """An archive whose header promises far more than there is."""
    header = bytes_of(
        np.lib.format.write_array_header_1_0,
        {"descr": "|u1", "fortran_order": False, "shape": shape},
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("rows.npy", header + b"abc")
    return file.getvalue()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_was_saved_is_loaded(tmp_path):
    found = checkpoint.load(save(tmp_path, 12), IDENTITY)
    assert found.steps == 12
    assert torch.equal(found.model["weight"], torch.ones(2))
    assert found.values == {"note": "x", "number": 0.1}
    assert found.arrays["starts"].tolist() == [True, False, True]
    rows = found.rows.view(STATES.dtype).reshape(-1)
    np.testing.assert_array_equal(rows, STATES)


def test_trackers_are_a_file_of_their_own_that_is_checked_too(tmp_path):
    state = {"visits": {"counts": torch.arange(3), "generator": {"state": 2**100}}}
    path = save(tmp_path, 12, trackers=state)
    found = checkpoint.load(path, IDENTITY).trackers
    assert found["visits"]["generator"] == {"state": 2**100}
    assert torch.equal(found["visits"]["counts"], torch.arange(3))
    assert checkpoint.load(save(tmp_path, 13), IDENTITY).trackers is None
    (path / "trackers.pt").write_bytes(b"")
    with pytest.raises(checkpoint.DamagedCheckpointError, match=r"trackers\.pt is damaged"):
        checkpoint.load(path, IDENTITY)


def test_newest_whole_one_is_loaded_and_the_others_are_named(tmp_path):
    said = []
    assert checkpoint.load_newest(tmp_path, IDENTITY, said.append) is None
    for steps in (5, 10, 15):
        save(tmp_path, steps)
    assert checkpoint.load_newest(tmp_path, IDENTITY, said.append).steps == 15
    assert said == []
    (tmp_path / "ckpt_000000000015/MANIFEST.json").unlink()
    (tmp_path / "ckpt_000000000010/model.pt").write_bytes(b"half")
    assert checkpoint.load_newest(tmp_path, IDENTITY, said.append).steps == 5
    assert len(said) == 1
    assert said[0].endswith("ckpt_000000000005, the newest whole one, is taken instead.")
    (tmp_path / "ckpt_000000000005/engine.npz").unlink()
    with pytest.raises(checkpoint.CheckpointError, match="no whole checkpoint"):
        checkpoint.load_newest(tmp_path, IDENTITY, said.append)


@pytest.mark.parametrize("entry", [5, "text", {"bytes": 5}])
def test_manifest_that_says_nothing_of_a_file_is_damaged(tmp_path, entry):
    save(tmp_path, 5)
    path = save(tmp_path, 10)
    manifests.change(path, files=manifests.read(path)["files"] | {"model.pt": entry})
    said = []
    assert checkpoint.load_newest(tmp_path, IDENTITY, said.append).steps == 5
    assert len(said) == 1


def test_foreign_checkpoint_is_not_passed_over(tmp_path):
    save(tmp_path, 5)
    save(tmp_path, 10)
    with pytest.raises(checkpoint.CheckpointError, match="foreign"):
        checkpoint.load_newest(tmp_path, {"env": "chess"}, print)


def test_what_stays_is_the_newest_and_the_first_of_each_block(tmp_path):
    for steps in range(10, 100, 10):
        save(tmp_path, steps, keep=2, keep_every=35)
    assert names(tmp_path) == [*(f"ckpt_{n:012d}" for n in (40, 70, 80, 90)), "latest"]
    save(tmp_path, 60, keep=2)  # the run went back behind the others
    assert names(tmp_path) == [*(f"ckpt_{n:012d}" for n in (40, 60)), "latest"]


def test_what_a_killed_process_has_left_is_removed(tmp_path):
    (tmp_path / f".tmp-{os.getpid()}-removed").mkdir()
    (tmp_path / f".tmp-{NOBODY}-ckpt_000000000005").mkdir()
    (tmp_path / f".tmp-{NOBODY}-latest").write_text("x")
    save(tmp_path, 5)
    save(tmp_path, 6, keep=1)
    assert names(tmp_path) == ["ckpt_000000000006", "latest"]


def test_what_a_living_process_is_writing_stays(tmp_path):
    theirs = tmp_path / f".tmp-{os.getppid()}-ckpt_000000000005"
    theirs.mkdir()
    save(tmp_path, 6)
    assert theirs.is_dir()


def test_copies_in_host_memory_do_not_move_with_the_originals():
    weight = torch.zeros(2, requires_grad=True)
    copied = checkpoint.copy_to_host({"net": {"weight": weight}, "list": [weight, 3], "note": "x"})
    with torch.no_grad():
        weight.fill_(1.0)
    assert not copied["net"]["weight"].requires_grad
    assert copied["net"]["weight"].tolist() == copied["list"][0].tolist() == [0.0, 0.0]
    assert (copied["list"][1], copied["note"]) == (3, "x")


def test_generators_are_as_they_were_whatever_draws_from_them():
    def draw():
        return random.random(), np.random.random(), float(torch.rand(1))  # noqa: NPY002

    random.seed(3)
    np.random.seed(4)  # noqa: NPY002
    torch.manual_seed(5)
    with generators_kept():
        expected = draw()
    assert draw() == expected


def test_newest_is_the_one_pointed_at_or_the_last_whole_one(tmp_path):
    assert checkpoint.newest(tmp_path) is None
    save(tmp_path, 5)
    last = save(tmp_path, 10)
    assert checkpoint.newest(tmp_path) == last
    (tmp_path / "latest").unlink()
    (tmp_path / "ckpt_000000000099").mkdir()  # not whole
    assert checkpoint.newest(tmp_path) == last


def test_failure_while_saving_leaves_the_old_one(tmp_path, monkeypatch):
    old = save(tmp_path, 5)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save(tmp_path, 10)
    monkeypatch.undo()
    assert checkpoint.newest(tmp_path) == old
    checkpoint.load(old, IDENTITY)


def test_other_identity_is_refused(tmp_path):
    path = save(tmp_path, 5)
    with pytest.raises(checkpoint.CheckpointError, match="foreign: its env is 'toy'"):
        checkpoint.load(path, {"env": "chess"})


def test_other_format_is_refused(tmp_path):
    path = save(tmp_path, 5)
    manifests.change(path, format="their-checkpoint")
    with pytest.raises(checkpoint.CheckpointError, match="foreign"):
        checkpoint.load(path, IDENTITY)


FOREIGN = {
    "one array": ("engine.npz", bytes_of(np.save, np.zeros((3, 8), np.uint8))),
    "terabytes": ("engine.npz", npz_that_claims((2**45,))),
    "beyond 64 bits": ("engine.npz", npz_that_claims((2**62, 2**62))),
    "no rows": ("engine.npz", bytes_of(np.savez, lanes=np.zeros(3))),
    "rows of floats": ("engine.npz", bytes_of(np.savez, rows=np.zeros((3, 8)))),
    "rows of one axis": ("engine.npz", bytes_of(np.savez, rows=np.zeros(3, np.uint8))),
    "objects": ("engine.npz", bytes_of(np.savez, rows=np.array([{}]), allow_pickle=True)),
    "no archive": ("engine.npz", b""),
    "a tensor": ("model.pt", bytes_of(lambda file: torch.save(torch.ones(3), file))),
    "a list": ("model.pt", bytes_of(lambda file: torch.save([1], file))),
    "code": ("model.pt", bytes_of(lambda file: torch.save({"run": print}, file))),
    "no tensors": ("model.pt", b"hello"),
    "trackers": ("trackers.pt", bytes_of(lambda file: torch.save(torch.ones(3), file))),
    "[]": ("trainer.json", b"[]"),
    "no JSON": ("trainer.json", b"{"),
    "NaN": ("trainer.json", b'{"a": NaN}'),
    "deep": ("trainer.json", b'{"a": ' + b"[" * 100_000),
    "digits": ("trainer.json", b'{"a": ' + b"9" * 5000 + b"}"),
    "no text": ("trainer.json", b'{"a": "\xff"}'),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_file_of_something_else_is_refused_by_name(tmp_path, kind):
    path = save(tmp_path, 5, trackers={})
    name, content = FOREIGN[kind]
    replace(path, name, content)
    with pytest.raises(checkpoint.CheckpointError) as error:
        checkpoint.load(path, IDENTITY)
    assert f"{name} cannot be read: it holds something else" in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value).replace(str(tmp_path), "")) < 400


@pytest.mark.parametrize(
    "content",
    [
        '{"steps": Infinity}',
        '{"a": ' * 100_000,
        '{"steps": ' + "9" * 5000 + "}",
        "[]",
        '"sha256"',
        "3",
        "",
        "{}",
    ],
    ids=range(8),
)
def test_manifest_that_is_none_is_passed_over(tmp_path, content):
    save(tmp_path, 5)
    path = save(tmp_path, 10)
    (path / "MANIFEST.json").write_text(content)
    with pytest.raises(checkpoint.DamagedCheckpointError, match=r"MANIFEST\.json"):
        checkpoint.load(path, IDENTITY)
    said = []
    assert checkpoint.load_newest(tmp_path, IDENTITY, said.append).steps == 5
    assert len(said) == 1


@pytest.mark.parametrize("entry", [{"steps": "5"}, {"steps": 5.5}, {"identity": []}, {"files": []}])
def test_manifest_of_other_kinds_of_values_is_damaged(tmp_path, entry):
    path = save(tmp_path, 5)
    manifests.change(path, **entry)
    with pytest.raises(checkpoint.DamagedCheckpointError, match=r"MANIFEST\.json"):
        checkpoint.load(path, IDENTITY)


def test_manifest_that_was_changed_is_damaged_and_one_without_a_hash_is_not(tmp_path):
    path = save(tmp_path, 5)
    file = path / "MANIFEST.json"
    manifest = json.loads(file.read_text())
    file.write_text(json.dumps(manifest | {"steps": 6}))
    with pytest.raises(checkpoint.DamagedCheckpointError, match="its hash is wrong"):
        checkpoint.load(path, IDENTITY)
    del manifest["sha256"]  # as earlier versions have saved it
    file.write_text(json.dumps(manifest))
    assert checkpoint.load(path, IDENTITY).steps == 5


@pytest.mark.parametrize("seed", every(3, range(3)))
def test_whatever_happens_to_a_file_it_is_found_or_does_not_matter(tmp_path, seed):
    print("seed", seed)
    rng = random.Random(seed)
    good = save(tmp_path / "good", 10, trackers={"visits": torch.arange(5)})
    expected = checkpoint.load(good, IDENTITY)
    found = 0
    for name in names(good) * 25:
        bad = tmp_path / "bad"
        shutil.copytree(good, bad)
        content = bytearray((good / name).read_bytes())
        if rng.random() < 0.3:
            del content[rng.randrange(len(content)) :]
        for _ in range(rng.randint(1, 3)):
            if content:
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        (bad / name).write_bytes(content)
        try:
            loaded = checkpoint.load(bad, IDENTITY)
        except checkpoint.CheckpointError:
            found += 1
        else:
            assert loaded.steps == expected.steps
            assert loaded.values == expected.values
            assert torch.equal(loaded.model["weight"], expected.model["weight"])
            assert np.array_equal(loaded.rows, expected.rows)
        shutil.rmtree(bad)
    assert found > 100  # of 125: what a MANIFEST is not read for may change, such as spaces


def test_global_generators_go_through_json():
    random.seed(3)
    np.random.seed(4)  # noqa: NPY002
    saved = json.loads(json.dumps(global_generators()))
    drawn = random.random(), np.random.random()  # noqa: NPY002
    set_global_generators(saved)
    assert (random.random(), np.random.random()) == drawn  # noqa: NPY002


@walk(
    ("env", "layout"),
    [
        ("DrMarioPlacement-v0", "28a8b277a3c4e800"),
        ("DrMarioVersus-v0", "db7a7736a0140266"),
    ],
)
def test_trainings_of_before_rows_had_a_new_name_go_on(env, layout):
    spec = fastenv.make_game(env).spec
    assert checkpoint.identity_of_rows(spec, 4) == {"state layout": layout, "lanes": 4}
