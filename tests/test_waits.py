"""The longest wait of a command without a byte is found, wherever it is."""

import os
import sys

import pytest

from fastenv.errors import ConfigError
from tests.tables import walk
from tools.waits import longest_wait

SAID = "import time; p = lambda *t, **k: print(*t, **k, flush=True); "


@walk(
    ("code", "least", "after"),
    [
        ("time.sleep(0.4); p(1)", 0.4, 0.0),
        ("p(1); time.sleep(0.4); p(2)", 0.4, None),
        ("p(1); time.sleep(0.4)", 0.4, None),
        ("[(p('.', end=''), time.sleep(0.1)) for _ in range(3)]", 0.1, None),
    ],
)
def test_the_longest_wait_is_found(code, least, after):
    row = longest_wait([sys.executable, "-S", "-c", SAID + code], dict(os.environ))
    assert row["longest_s"] >= least
    assert after is None or row["after_s"] == after


def test_what_is_typed_follows_what_the_screen_says():
    code = "time.sleep(0.2); p('bid?'); p('bid', input()); time.sleep(0.4); p('card?'); input()"
    typed = (("bid?", b"4\n"), ("card?", b"7\n"))
    row = longest_wait([sys.executable, "-S", "-c", SAID + code], dict(os.environ), typed)
    assert row["longest_s"] >= 0.4
    assert row["after_s"] > 0


def test_a_question_that_never_comes_is_refused():
    with pytest.raises(ConfigError, match=r"ended with 0: bid"):
        longest_wait(
            [sys.executable, "-S", "-c", SAID + "p('bid?')"], dict(os.environ), (("card?", b"7"),)
        )


def test_a_command_that_fails_is_refused_with_what_it_said():
    with pytest.raises(ConfigError, match=r"ended with 3: nothing"):
        longest_wait(
            [sys.executable, "-S", "-c", "print('nothing'); raise SystemExit(3)"], dict(os.environ)
        )
