"""What the studio asks of a machine: ``python -m benchmarks.studio --out FILE``.

A browser without a window is driven by Playwright; the server runs in a process of its own, whose
CPU seconds and memory are read from the system.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from websockets.sync.client import connect
from websockets.typing import Origin

from tools.command import new_parser
from training.run import files, machine

AGENT = "pretrained/skullking-ppo"
FRAMES = {
    "game boy": ("LanternWalk-v0", "ArrowRight"),
    "dr. mario": ("DrMarioFrame-v0", "ArrowLeft"),
}
FRAMES_S = 10.0
PAUSE_S = 10.0  # between the page and the click on it that begins
KEYS = 60


@contextmanager
def server(runs: str) -> Iterator[tuple[psutil.Process, str, float]]:
    """Start a studio; yield its process, its link and when it was started."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "training", "studio", "--port", "0", "--runs", runs]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=machine.ROOT) as process:
        assert process.stdout is not None
        found = re.search(r"http\S+", process.stdout.readline())
        assert found is not None
        try:
            yield psutil.Process(process.pid), found[0], begun
        finally:
            process.terminate()


def start(runs: str) -> dict[str, float]:
    """Return seconds from the start of the program to the page, and its bytes."""
    seconds, cpu = [], []
    for _ in range(5):
        with server(runs) as (process, url, begun):
            urllib.request.urlopen(url).read()
            seconds.append(time.perf_counter() - begun)
            cpu.append(sum(process.cpu_times()[:2]))
    page = machine.ROOT / "training" / "studio" / "page"
    size = sum(path.stat().st_size for path in page.iterdir())
    found = {"page_s": statistics.median(seconds), "page_cpu_s": statistics.median(cpu)}
    return {**found, "page_bytes": float(size)}


def first_move(runs: str) -> float:
    """Return seconds from a click to an agent's first decision, in a studio that is just open."""
    seconds = []
    for _ in range(3):
        with server(runs) as (_, url, _), socket_of(url) as socket:
            tell(socket, kind="describe", env="SkullKingFlat-v0")  # as the page does
            time.sleep(PAUSE_S)
            begun = time.perf_counter()
            tell(socket, kind="begin", env="SkullKingFlat-v0", players=[AGENT], seed=1)
            tell(socket, kind="run", on=True, speed=0.0)
            wait_for(socket, lambda said: said.get("index", 0) >= 1)
            seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds)


def socket_of(url: str) -> Any:
    """Return a websocket to a studio."""
    address = url.replace("http://", "ws://").replace("/#", "/session?")
    origin = Origin(url.partition("/#")[0])
    return connect(address, origin=origin, max_size=None)


def tell(socket: Any, **message: Any) -> None:
    """Send a message."""
    socket.send(json.dumps(message))


def wait_for(socket: Any, condition: Callable[[dict[str, Any]], bool]) -> None:
    """Read until a message fulfils a condition; views are acknowledged."""
    while True:
        data = socket.recv(timeout=120)
        if isinstance(data, bytes):
            data = data[4 : 4 + int.from_bytes(data[:4], "little")].decode()
        said = json.loads(data)
        if said["kind"] == "refused":
            raise SystemExit(f"error: {said['text']}")
        if said["kind"] == "view":
            tell(socket, kind="ack", number=said["number"])
        if condition(said):
            return


def frames(runs: str) -> dict[str, dict[str, float]]:
    """Return frames a second, the server's CPU and the latency of keys, by game."""
    from playwright.sync_api import sync_playwright

    found = {}
    with sync_playwright() as api, server(runs) as (process, url, _):
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = api.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(url)
        for name, (env, key) in FRAMES.items():
            page.click("#tab-table")
            page.wait_for_selector('[data-key^="family-"]', timeout=120_000)
            first = f"(each) => each.envs.some((kind) => kind.env === '{env}')"
            family = page.evaluate(f"studio.form.games.find({first}).envs[0].env")
            page.click(f'[data-key="family-{family}"]')
            page.click(f'[data-key="game-{env}"]')
            page.wait_for_timeout(2000)
            page.click("#begin")
            page.wait_for_selector("canvas", timeout=120_000)
            page.keyboard.press(key)
            page.wait_for_timeout(2000)
            found[name] = _frames_of(page, process, key)
            page.click("#run")
        browser.close()
    return found


def _frames_of(page: Any, process: psutil.Process, key: str) -> dict[str, float]:
    page.evaluate("studio.stats.latencies.length = 0")
    before, cpu = page.evaluate("studio.stats.frames"), sum(process.cpu_times()[:2])
    begun = time.perf_counter()
    for _ in range(KEYS):
        page.keyboard.press(key, delay=40)
        page.wait_for_timeout(FRAMES_S / KEYS * 1000 - 40)
    spent = time.perf_counter() - begun
    counted = page.evaluate("studio.stats.frames") - before
    latencies = page.evaluate("studio.stats.latencies")
    return {
        "frames_a_second": counted / spent,
        "cores": (sum(process.cpu_times()[:2]) - cpu) / spent,
        "latency_ms": statistics.median(latencies),
        "keys": float(len(latencies)),
    }


def sessions(runs: str, count: int, seconds: float) -> dict[str, float]:
    """Return views and memory of several sessions, of which one is killed in the middle."""
    with server(runs) as (process, url, _):
        stop, killed, views = threading.Event(), threading.Event(), [0] * count
        threads = [
            threading.Thread(target=_play, args=(url, k, views, stop, killed if k == 0 else stop))
            for k in range(count)
        ]
        for thread in threads:
            thread.start()
        time.sleep(seconds / 4)
        early, half = process.memory_info().rss, [*views]
        time.sleep(seconds / 4)
        killed.set()
        time.sleep(seconds / 2)
        late = process.memory_info().rss
        went_on = sum(now > then for now, then in zip(views[1:], half[1:], strict=True))
        stop.set()
        for thread in threads:
            thread.join(30)
    found = {"sessions": count, "seconds": seconds, "went_on": went_on, "views": sum(views)}
    found |= {"memory_early_mb": early / 1e6, "memory_late_mb": late / 1e6}
    return {name: float(value) for name, value in found.items()}


def _play(
    url: str, k: int, views: list[int], stop: threading.Event, ended: threading.Event
) -> None:
    """Watch games without end, until somebody says stop; the socket then ends without a word."""
    envs = ("SkullKingFlat-v0", "DrMarioPlacement-v0", "Prospector-v0", "LanternWalk-v0")
    bots = ("heuristic", "greedy", "greedy_miner", "person")
    with socket_of(url) as socket:
        wait_for(socket, lambda said: said["kind"] == "hello")
        while not (stop.is_set() or ended.is_set()):
            tell(socket, kind="begin", env=envs[k % 4], players=[bots[k % 4]], seed=k)
            if bots[k % 4] == "person":
                tell(socket, kind="key", key="right", down=True)
            else:
                tell(socket, kind="run", on=True, speed=20.0)

            def watched(said: dict[str, Any]) -> bool:
                views[k] += said["kind"] == "view"
                return stop.is_set() or ended.is_set() or bool(said.get("over"))

            wait_for(socket, watched)
        socket.socket.close()


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = new_parser("studio_bars", __doc__)
    parser.add_argument("--out", type=Path, required=True, help="the record to write")
    parser.add_argument("--seconds", type=float, default=120.0, help="of ten sessions at once")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as runs:
        record = {
            **machine.taken_on(),
            "load": machine.load(),
            "start": start(runs),
            "first_move_s": first_move(runs),
            "frames": frames(runs),
            "sessions": sessions(runs, 10, args.seconds),
        }
    files.write_json(args.out, record)
    print(
        json.dumps(
            {k: record[k] for k in ("start", "first_move_s", "frames", "sessions")}, indent=1
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
