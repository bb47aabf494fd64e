import io
import sys
import threading

import pytest

from fastenv import ticker
from fastenv.ticker import EVERY_S, FIRST_S, print_dots, tell_progress
from training.run.folder import RunFolder


class Heard(io.StringIO):
    """A file that tells when it has so many dots."""

    def __init__(self, dots):
        super().__init__()
        self.enough, self._dots = threading.Event(), dots

    def write(self, text):
        written = super().write(text)
        if self.getvalue().count(".") >= self._dots:
            self.enough.set()
        return written


def test_what_lasts_is_heard_of_again_and_again():
    out = Heard(3)
    with print_dots("loading", 0.001, out):
        assert out.enough.wait(60)
    text, end = out.getvalue()[:-1], out.getvalue()[-1]
    assert text.rstrip(".") == "loading "
    assert end == "\n"


def test_what_is_done_at_once_is_not_heard_of():
    out = io.StringIO()
    with print_dots("loading", 60, out):
        pass
    assert out.getvalue() == ""


def test_two_that_say_nothing_are_no_two_seconds():
    assert 2 * FIRST_S <= EVERY_S <= 1


def test_error_ends_the_line():
    out = Heard(1)

    def fail():
        with print_dots("loading", 0.001, out):
            assert out.enough.wait(60)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert out.getvalue().endswith(".\n")


def test_it_says_how_far_it_is(monkeypatch):
    monkeypatch.setattr(ticker, "PROGRESS_S", 0.0)
    out = Heard(3)
    tell_progress(1, 2, "games")  # to nobody
    with print_dots("evaluate", 0.001, out):
        assert out.enough.wait(60)
        tell_progress(1_000, 2_000, "games")
        while "1,000 of 2,000 games" not in out.getvalue():
            out.enough.clear()
            out.enough.wait(0.01)
    assert out.getvalue().count("1,000 of 2,000 games") == 1
    assert all(line.startswith("evaluate ") for line in out.getvalue().splitlines())
    assert max(map(len, out.getvalue().splitlines())) <= ticker.WIDTH + len("evaluate ")


def test_who_is_heard_needs_no_dots(monkeypatch):
    out, said = Heard(1), io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setattr(sys, "stdout", said)
    with print_dots("loading", 3600.0):
        print("a line")
        line = ticker._open[-1]
        line.tick("loading", 3600.0)
        assert out.getvalue() == ""
        line.written = -1e9
        line.tick("loading", 3600.0)
        assert out.getvalue() == "loading ."
        print("another", end="")
        assert out.getvalue() == "loading .\n"
        line.written = -1e9
        line.tick("loading", 3600.0)  # nothing within the line of somebody else
    assert out.getvalue() == "loading .\n"
    assert said.getvalue() == "a line\nanother"
    assert sys.stdout is said


def test_file_that_is_gone_disturbs_nobody():
    out = io.StringIO()
    out.close()
    with print_dots("loading", 0.001, out):
        threading.Event().wait(0.01)


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_streams_that_are_closed_stay_so(monkeypatch, closed):
    """Python has None there where a program is started without one, and prints nothing."""
    out = Heard(1)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setattr(sys, closed, None)
    with print_dots("loading", 0.001):
        assert closed == "stderr" or out.enough.wait(60)
        print("a line", file=sys.stdout)
        assert getattr(sys, closed) is None
    assert getattr(sys, closed) is None
    assert ("a line\n" in out.getvalue()) == (closed == "stderr")


def test_what_others_say_meanwhile_begins_on_a_line_of_its_own(monkeypatch):
    out = Heard(3)
    monkeypatch.setattr(sys, "stderr", out)
    with print_dots("loading", 0.001):
        assert out.enough.wait(60)
        before = out.getvalue().count(".")
        print("half a line", end="", file=sys.stderr)
        threading.Event().wait(0.05)  # no dot within it
        print(", and its end", file=sys.stderr)
        out.enough.clear()
        while out.getvalue().count(".") == before:
            assert out.enough.wait(60)
            out.enough.clear()
    assert sys.stderr is out
    first, said, again, end = out.getvalue().split("\n")
    assert said == "half a line, and its end"
    assert {first.rstrip("."), again.rstrip(".")} == {"loading "}
    assert end == ""


def test_training_is_heard_of_from_its_first_line_until_it_logs(train, tmp_path, monkeypatch):
    """Whoever works before the log is open does so beside a ticker."""
    alone = []

    def watched(name, function):
        def call(*args, **options):
            if not any(thread.name == "ticker" for thread in threading.enumerate()):
                alone.append(name)
            return function(*args, **options)

        return call

    from training import train as command
    from training.callbacks import start
    from training.logs import run_log
    from training.run import loop

    for owner, name in (
        (command, "options"),
        (RunFolder, "create"),
        (start, "check_run"),
        (start, "make_callbacks"),
        (start, "set_up_torch"),
        (loop.TrainingLoop, "resume"),
        (loop.checkpoint, "load_newest"),
        (run_log, "boards_of"),
    ):
        monkeypatch.setattr(owner, name, watched(name, getattr(owner, name)))
    assert train(tmp_path, "run", "--total-steps", "64") == 0
    assert train(tmp_path, "run", "--total-steps", "128", "--resume") == 0
    assert not alone
