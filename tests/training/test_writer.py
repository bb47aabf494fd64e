import threading

import pytest

from training.run.checkpoint import CheckpointError, CheckpointWriter


@pytest.fixture
def writer():
    writer = CheckpointWriter()
    yield writer
    writer.close()


def test_one_checkpoint_is_written_at_a_time_and_told_of_once(writer):
    go_on, done = threading.Event(), threading.Event()

    def write():
        assert go_on.wait(600)
        done.set()

    assert (writer.busy, writer.written()) == (False, None)
    writer.start(128, write)
    assert (writer.busy, writer.written()) == (True, None)
    with pytest.raises(RuntimeError, match="still being written"):
        writer.start(256, write)
    go_on.set()
    assert done.wait(600)
    assert writer.busy  # whether it went well is still to be asked
    assert writer.written(wait=True) == 128
    assert (writer.busy, writer.written(), writer.written(wait=True)) == (False, None, None)


def test_error_comes_out_where_it_is_asked_for_and_ends_nothing(writer):
    def full():
        raise OSError(28, "No space left on device")

    writer.start(1280, full)
    with pytest.raises(CheckpointError, match=r"at 1,280 decisions .*No space left.*--resume"):
        writer.written(wait=True)
    written = []
    writer.start(2560, lambda: written.append(2560))
    assert writer.written(wait=True) == 2560 == written[0]


def test_close_says_that_a_checkpoint_is_lost():
    writer = CheckpointWriter()

    def full():
        raise OSError(28, "No space left on device")

    writer.start(1280, full)
    with pytest.raises(CheckpointError, match=r"at 1,280 decisions .*No space left"):
        writer.close()
    writer.close()  # once


def test_close_waits_for_what_is_being_written():
    writer, written, go_on = CheckpointWriter(), [], threading.Event()

    def write():
        assert go_on.wait(600)
        written.append(1)

    writer.start(1, write)
    threading.Timer(0.05, go_on.set).start()
    writer.close()
    assert written == [1]
    assert not writer.busy
