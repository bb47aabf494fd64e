"""What every test of measured rows asks of their descriptions."""

import json

from training.bench import records
from training.bench.ran import key

HEAD = {"kind": "head", "created": "2026-01-02T03:04:05Z", "git_rev": "abc", "dirty": False}
HEAD |= {"host": {"cpu_model": "C"}}
SAME = ("env", "backend", "num_envs", "num_threads", "workload", "trainer", "precision")
SAME += ("torch_threads", "rollout_steps", "minibatch", "epochs", "net_arch", "activation")


def assert_described(rows):
    """Rows say what ran, no two the same; the history holds them, and floors find exactly them."""
    rows = [row for row in rows if row["kind"] != "bar"]
    for row in rows:
        ran = row["ran"]
        assert json.loads(json.dumps(ran, allow_nan=False)) == ran
        assert "/" not in ran.get("options", {}).get("states", ""), "a path of somebody's machine"
        for name in SAME:
            if row.get(name) is not None and ran.get(name) is not None:
                assert row[name] == ran[name], (name, ran)
    keys = [key(row) for row in rows]
    assert len(set(keys)) == len(keys), sorted(k for k in keys if keys.count(k) > 1)
    lines = records.lines(HEAD, rows, "x.jsonl")
    assert [key(line) for line in lines] == keys
    for row in rows:
        if row.get("steps_per_cpu_s") is not None:
            floor = records.find_floor(row, 1.0, lines)
            assert floor.recorded == row["steps_per_cpu_s"], row["ran"]
            assert floor.check(row)["pass"]
