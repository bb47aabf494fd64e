"""How long commands say nothing: ``python -m tools.waits --out benchmarks/waits.json``.

Each command runs with empty caches of compiled code, in a terminal of its own. Between its start
and its end no wait without a byte may be longer than two seconds, first lines and ends included.
In the studio, a page in a browser, no wait without a change of what the page shows.
``--python`` names another Python, such as one of an environment that was made without a compiler.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fastenv.errors import ConfigError
from tools.command import new_parser, refusing
from training.run import files, machine

ASKED_S = 2.0
LIMIT_S = 900.0
BACKEND = "import fastenv; print(fastenv.make_engine('Prospector-v0', 1).backend)"
# What a newcomer types, short; RUNS is a folder of its own, which the first one fills. A training
# of STEPS decisions ends in a minute where games step in Python, too.
STEPS, STEPS_WITHOUT_CORE = 65_536, 8_192
COMMANDS = {
    "train": "training train --env SkullKingFlat-v0 --total-steps STEPS --name first --runs RUNS "
    "--set evaluation.games=40",
    "evaluate": "training evaluate first --runs RUNS --games 40",
    "compare": "training compare --env SkullKingWorker-v0 --seeds 1,2 --total-steps 16384 "
    "--name two --runs RUNS --games 40 --variant a --variant b --with ppo.gamma=0.9",
    "sweep": "training sweep --env SkullKingWorker-v0 --trials 2 --total-steps 16384 --games 40 "
    "--name sweep --runs RUNS --vary ppo.learning_rate=1e-4..1e-2,log",
    "exploit": "training exploit heuristic --env SkullKingFlat-v0 --ways search --games 8 "
    "--name exploit --runs RUNS",
    "benchmark": "training benchmark --game prospector --short --repeats 1 --out RUNS/rows.jsonl",
    "verify": "fastenv verify --env SkullKingFlat-v0 --seconds 10",
    "watch": "training watch heuristic --env SkullKingFlat-v0 --text --delay 0",
    "play": "training play --env SkullKingFlat-v0 --seed 1",
    "studio": "training studio --port 0 --runs RUNS",
}
# What is typed as soon as the screen says something: a bid, a card, and the end.
TYPED = {"play": (("your move", b"0\r"), ("Play a card", b"0\r"), ("round 2 of 10", b"q"))}
LINK = re.compile(r"http://\S+")
STUDIO = "studio"
# Skull King with its default opponents; the page is finished when it asks for a bid.
BEGIN = "#begin"
BEGUN = "Boolean(studio.play.last && studio.play.last[0].yours)"
SHOWN = "document.body.innerText"


class Silence:
    """The longest time in which nothing was said.

    Parameters
    ----------
    begun : float
        Time at which it began, s.
    """

    def __init__(self, begun: float) -> None:
        self._begun = self._last = begun
        self.longest, self.after = 0.0, 0.0

    def hear(self, now: float) -> None:
        """Something was said at time ``now``, s."""
        if now - self._last > self.longest:
            self.longest, self.after = now - self._last, self._last - self._begun
        self._last = now

    def to_row(self) -> dict[str, Any]:
        """Return the row of a record; its seconds end where something was said last."""
        seconds = round(self._last - self._begun)
        return {
            "longest_s": round(self.longest, 2),
            "after_s": round(self.after, 2),
            "seconds": seconds,
        }


def _open_terminal(
    words: Sequence[str], env: dict[str, str]
) -> tuple[subprocess.Popen[bytes], int]:
    """Start a command in a terminal of its own; return it and the other end."""
    own, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    process = subprocess.Popen(
        words,
        stdin=other,
        stdout=other,
        stderr=other,
        cwd=machine.ROOT,
        env=env,
        start_new_session=True,
    )
    os.close(other)
    return process, own


def _read(own: int, wait: float = 0.1) -> bytes | None:
    """Return what a terminal says; None if nothing in time, and nothing at all at its end."""
    ready, _, _ = select.select([own], [], [], wait)
    try:
        return os.read(own, 1 << 16) if ready else None
    except OSError:  # the terminal of a process that has ended
        return b""


def longest_wait(
    words: Sequence[str], env: dict[str, str], typed: Sequence[tuple[str, bytes]] = ()
) -> dict[str, Any]:
    """Run a command in a terminal; return its longest wait without a byte, and its seconds.

    Parameters
    ----------
    words : sequence of str
    env : dict of str to str
        Its environment.
    typed : sequence of (str, bytes), optional
        What the screen says, and what is typed then, at once: a wait for somebody who plays is
        none.

    Raises
    ------
    ConfigError
        If it fails, or takes longer than ``LIMIT_S``.
    """
    begun = time.monotonic()
    process, own = _open_terminal(words, env)
    silence, said, new, due = Silence(begun), bytearray(), bytearray(), list(typed)
    while True:
        block, now = _read(own), time.monotonic()
        if block is None and process.poll() is None and now - begun < LIMIT_S:
            continue
        silence.hear(now)
        if not block:
            break
        said, new = said + block, new + block
        if due and due[0][0].encode() in new:
            os.write(own, due.pop(0)[1])
            new.clear()
    os.close(own)
    if process.poll() is None and now - begun >= LIMIT_S:
        process.kill()
    if process.wait() != 0 or due:
        text = said.decode(errors="replace")[-400:]
        raise ConfigError(f"{shlex.join(words)} ended with {process.returncode}: {text}")
    return silence.to_row()


def longest_wait_in_studio(words: Sequence[str], env: dict[str, str]) -> dict[str, Any]:
    """Begin a game in the studio; return the longest wait without a byte or a change of the page.

    From the start of the command to the first decision of the player. Parameters as of
    :func:`longest_wait`.

    Raises
    ------
    ConfigError
        If there is no browser, or the game does not begin within ``LIMIT_S``.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise ConfigError("the studio's page needs Playwright: pip install playwright") from error
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise ConfigError("the studio's page needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        silence = Silence(time.monotonic())
        process, own = _open_terminal(words, env)
        try:
            _begin_game(page, _find_link(own, silence), silence)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            os.close(own)
            browser.close()
    return silence.to_row()


def _find_link(own: int, silence: Silence) -> str:
    """Listen to the studio until it prints the link of its page."""
    said, stop = "", time.monotonic() + LIMIT_S
    while (link := LINK.search(said)) is None or not said[link.end() :]:
        block = _read(own)
        if block == b"" or time.monotonic() > stop:
            raise ConfigError(f"the studio printed no link: {said[-400:]}")
        if block is not None:
            silence.hear(time.monotonic())
            said += block.decode(errors="replace")
    return link.group()


def _begin_game(page: Any, link: str, silence: Silence) -> None:
    """Open the page and begin the game that it offers first; every change is noted."""
    page.goto(link)
    _watch(page, silence, lambda: page.is_visible(BEGIN))
    page.click(BEGIN)
    _watch(page, silence, lambda: page.evaluate(BEGUN))


def _watch(page: Any, silence: Silence, is_done: Callable[[], bool]) -> None:
    """Note whatever the page shows anew until something is true."""
    shown, stop = "", time.monotonic() + LIMIT_S
    while True:
        done, now = is_done(), page.evaluate(SHOWN)
        if done or now != shown:
            silence.hear(time.monotonic())
            shown = now
        if done:
            return
        if time.monotonic() > stop:
            raise ConfigError(f"the page does not go on: {shown[-400:]}")
        page.wait_for_timeout(50)


@refusing
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("waits", __doc__)
    parse.add_argument("--only", nargs="+", choices=[*COMMANDS], help="default all")
    about = "Python that runs the commands, such as one of an environment without a compiled core"
    parse.add_argument("--python", default=sys.executable, help=about)
    parse.add_argument("--out", type=Path, required=True, help="JSON file to write")
    args = parse.parse_args(argv)
    files.prepare("--out", args.out)
    shown = shlex.join(["python", "-m", "tools.waits", *(sys.argv[1:] if argv is None else argv)])
    made = subprocess.run([args.python, "-c", BACKEND], check=True, capture_output=True, text=True)
    backend = made.stdout.strip()
    steps = STEPS if backend == "fast" else STEPS_WITHOUT_CORE
    record = machine.taken_on() | {"command": shown, "backend": backend, "rows": []}
    with tempfile.TemporaryDirectory() as folder:
        runs, cache = (Path(folder) / name for name in ("runs", "cache"))
        env = os.environ | {"NUMBA_CACHE_DIR": str(cache), "TERM": "xterm"}
        for name in args.only or COMMANDS:
            shutil.rmtree(cache, ignore_errors=True)
            line = COMMANDS[name].replace("STEPS", str(steps))
            words = [args.python, "-m", *shlex.split(line.replace("RUNS", str(runs)))]
            if name == STUDIO:
                row = longest_wait_in_studio(words, env)
            else:
                row = longest_wait(words, env, TYPED.get(name, ()))
            record["rows"].append({"name": name, "command": f"python -m {line}"} | row)
            files.write_json(args.out, record)
            where = f"at {row['after_s']:.0f} s of {row['seconds']}"
            print(f"{name:10} {row['longest_s']:5.2f} s {where}", flush=True)
    return int(any(row["longest_s"] > ASKED_S for row in record["rows"]))


if __name__ == "__main__":
    sys.exit(main())
