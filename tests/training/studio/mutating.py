"""Messages that are nearly right."""

import copy
import json
import random

GOOD = [
    {"kind": "describe", "env": "SkullKingFlat-v0"},
    {"kind": "begin", "env": "SkullKingFlat-v0", "players": ["person", "heuristic"], "seed": 3},
    {"kind": "begin", "env": "DrMarioPlacement-v0", "options": {"level": 3}, "lanes": 2},
    {"kind": "open", "hash": "0" * 64},
    {"kind": "load", "moment": {"format": "fastenv-moment", "version": 1, "row": "eJw="}},
    {"kind": "act", "action": 1},
    {"kind": "key", "key": "left", "down": True, "serial": 4},
    {"kind": "run", "on": False, "speed": 2.0},
    {"kind": "go", "branch": 0, "index": 1},
    {"kind": "take", "players": ["person"]},
    {"kind": "pick", "lane": 1},
    {"kind": "keep"},
    {"kind": "think", "on": True, "who": "search:heuristic,worlds=2", "opened": True},
    {"kind": "film", "format": "gif", "first": 0, "last": 2},
    {"kind": "prove", "steps": 2},
    {"kind": "curves", "names": ["pretrained/skullking-ppo"]},
    {"kind": "ack", "number": 3},
]
WORDS = [
    *("", "../../etc/passwd", "/etc/passwd", "pretrained/../README.md", "search:../x", "%2e%2e"),
    *("search:heuristic,value=/etc/passwd", "runs/../..", "\0", "\ud800", "a" * 5000, "__class__"),
    *("person", "nobody", "🙂", "{}", "<script>", "lookahead:/etc/passwd", "file:///etc/passwd"),
]
FIELDS = ["x", "kind", "options", "players", "env", *WORDS]
OPTIONS = ["rom", "states", "level", "schedule", "demo", *WORDS]
VALUES = [None, True, -1, 0, 2**70, 1e400, -0.0, 1.5, [], {}, [[[[]]]], {"a": {"b": [1]}}, *WORDS]


def mutate(rng):
    """Return the text of a message that is broken somewhere."""
    message = json.loads(json.dumps(rng.choice(GOOD)))
    for _ in range(rng.randint(1, 3)):
        way = rng.random()
        key = rng.choice([*message]) if message else "kind"
        if way < 0.15:
            message.pop(key, None)
        elif way < 0.3:
            message[rng.choice(["x", "kind", "options", "players", "env", *WORDS])] = rng.choice(
                VALUES
            )
        elif way < 0.5 and isinstance(message.get(key), list | dict):
            inner = message[key]
            if isinstance(inner, list):
                inner.append(copy.deepcopy(rng.choice(VALUES)))
            else:
                inner[rng.choice(["rom", "states", "level", "schedule", "demo", *WORDS])] = (
                    copy.deepcopy(rng.choice(VALUES))
                )
        else:
            message[key] = copy.deepcopy(rng.choice(VALUES))
    text = json.dumps(message)
    if rng.random() < 0.2:
        at = rng.randrange(len(text) + 1)
        text = (
            text[:at]
            + rng.choice(["", "\0", "}", "[" * 2000, '"', "NaN", "\\ud800"])
            + text[at + 1 :]
        )
    return text


def mutated(count, seed=5):
    """Return broken messages."""
    rng = random.Random(seed)
    return [mutate(rng) for _ in range(count)]
