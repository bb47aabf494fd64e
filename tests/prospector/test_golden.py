"""The reference against the golden files: recorded episodes, worlds, and the files themselves."""

import numpy as np
import pytest

from tests.prospector import golden
from tests.prospector.drivers import ReferenceDriver, replay
from tests.slow import every
from tests.tables import walk


@walk("path", every(9, golden.TRACES), ids=lambda path: path.stem)
def test_reference_replays_a_golden_trace(path):
    trace = golden.Trace(path)
    replay(ReferenceDriver(float(trace["time_max"])), trace)


# -- the files ----------------------------------------------------------------------------------

GOOD = golden.TRACES[0]


def rewritten(tmp_path, **changes):
    """Write a golden trace with some arrays replaced, or left out (None)."""
    arrays = golden.Trace(GOOD).arrays | changes
    path = tmp_path / "changed.npz"
    np.savez_compressed(path, **{k: v for k, v in arrays.items() if v is not None})
    return path


def refusal(load, path):
    with pytest.raises(golden.GoldenError) as error:
        load(path)
    message = str(error.value)
    assert message.startswith(path.name)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_truncated_trace_is_refused(tmp_path, share):
    path = tmp_path / "short.npz"
    content = GOOD.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert "is it complete?" in refusal(golden.Trace, path)
    assert "is it complete?" in refusal(golden.load_worlds, path)


def test_a_damaged_trace_is_refused(tmp_path):
    content = bytearray(GOOD.read_bytes())
    content[len(content) // 2] ^= 255
    path = tmp_path / "damaged.npz"
    path.write_bytes(content)
    assert "is it complete?" in refusal(golden.Trace, path)


def test_truncated_windows_are_refused(tmp_path):
    path = tmp_path / "short.json"
    path.write_text(golden.WINDOWS.read_text()[:-1000])
    assert "is it complete?" in refusal(golden.load_windows, path)
    assert golden.load_windows()


def test_a_missing_file_is_refused(tmp_path):
    refusal(golden.Trace, tmp_path / "none.npz")


@pytest.mark.parametrize("meta", ['{"schema_version": 2}', "{}", "[1]"])
def test_another_schema_is_refused(tmp_path, meta):
    path = rewritten(tmp_path, meta=np.array(meta))
    assert "schema_version is" in refusal(golden.Trace, path)
    windows = tmp_path / "windows.json"
    windows.write_text(meta)
    assert "schema_version is" in refusal(golden.load_windows, windows)


def test_incomplete_arrays_are_refused(tmp_path):
    assert "reward missing" in refusal(golden.Trace, rewritten(tmp_path, reward=None))
    assert "meta is not JSON" in refusal(golden.Trace, rewritten(tmp_path, meta=np.array("{")))
    short = golden.Trace(GOOD)["dt"][:-1]
    assert "dt has" in refusal(golden.Trace, rewritten(tmp_path, dt=short))
    assert "seeds" in refusal(golden.load_worlds, rewritten(tmp_path))


def test_pickled_objects_are_refused(tmp_path):
    objects = np.array([{}, None], object)
    assert "Object arrays" in refusal(golden.Trace, rewritten(tmp_path, extra=objects))
