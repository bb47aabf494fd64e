"""Backpressure: a slow client drops views, never memory."""

from training.studio import outbox as module
from training.studio.outbox import Outbox


def drain(outbox):
    found = []
    while (each := outbox.take()) is not None:
        found.append(each[0])
    return found


def test_one_view_is_in_flight_and_the_newest_waits():
    outbox = Outbox(lambda: None)
    for index in range(5):
        outbox.put({"kind": "view", "index": index}, b"x" * 1000)
    (view,) = drain(outbox)
    assert view == {"kind": "view", "index": 4, "number": 1}
    assert outbox.dropped == 4
    for index in range(5, 50):
        outbox.put({"kind": "view", "index": index})
    assert drain(outbox) == []
    outbox.acknowledge(1)
    assert [each["index"] for each in drain(outbox)] == [49]


def test_how_things_stand_replaces_what_was_said_before():
    outbox = Outbox(lambda: None)
    for count in range(100):
        outbox.put({"kind": "timeline", "count": count})
        outbox.put({"kind": "thought", "count": count})
    assert drain(outbox) == [{"kind": "timeline", "count": 99}, {"kind": "thought", "count": 99}]


def test_a_client_that_takes_nothing_is_given_up():
    outbox = Outbox(lambda: None)
    for count in range(module.MOST + 1):
        outbox.put({"kind": "refused", "text": str(count)})
    assert outbox.overflown
    assert drain(outbox) == []
