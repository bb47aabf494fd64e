"""A session without a server, and a server in a thread."""

import json
import threading
import time

import pytest

pytest.importorskip("starlette", reason="the studio needs Starlette: pip install '.[studio]'")

from training.run import machine
from training.studio import messages
from training.studio.outbox import Outbox
from training.studio.places import Places
from training.studio.server import Studio, bind, make_server
from training.studio.session import ClientSession

AGENT = "pretrained/skullking-ppo"


class Asked:
    """A session, asked as a client would ask it; every answer is kept."""

    def __init__(self, places):
        self.outbox = Outbox(lambda: None)
        self.films = []
        self.session = ClientSession(places, self.outbox, lambda name: f"link {name}", self._film)
        self.said = []

    def _film(self, data, kind):
        self.films.append((kind, data))
        return f"/film/{len(self.films)}.{kind}"

    def ask(self, kind, **given):
        """Send a message; return what was said of its answer, by kind, the last of each."""
        message = messages.parse(json.dumps({"kind": kind, **given}))
        first = len(self.said)
        self.session.handle(message)
        self.listen()
        return {each["kind"]: each for each in self.said[first:]}

    def listen(self):
        """Take what waits; it is JSON, and what is said is what a client reads."""
        while (found := self.outbox.take()) is not None:
            message, pixels = found
            read = json.loads(messages.dump(message))
            self.said.append({**read, "pixels": len(pixels)})
            if message["kind"] == "view":
                self.outbox.acknowledge(message["number"])

    def go_on(self, until=lambda said: False, limit=3000):
        """Do what is due until nothing is, or what was said fulfils a condition."""
        for _ in range(limit):
            due = self.session.due()
            if due is None:
                return
            time.sleep(max(0.0, min(due - time.monotonic(), 0.05)))
            self.session.tick()
            self.listen()
            if self.said and until(self.said[-1]):
                return
        raise AssertionError("it goes on and on")

    def last(self, kind):
        """Return the newest message of a kind."""
        return next(each for each in reversed(self.said) if each["kind"] == kind)


@pytest.fixture
def places(tmp_path):
    """Runs of nobody, and the agents of the repository."""
    return Places(tmp_path / "runs", machine.ROOT / "pretrained")


@pytest.fixture
def asked(places):
    """A session."""
    return Asked(places)


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """A studio that serves, until the tests of a module are over."""
    places = Places(tmp_path_factory.mktemp("studio") / "runs", machine.ROOT / "pretrained")
    listening = bind(0)
    made = Studio(places, listening.getsockname()[1])
    server = make_server(made)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield made
    server.should_exit = True
    thread.join(10)
