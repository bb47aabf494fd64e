"""Steps from lists to tensors: every one trains on the same decisions, and says what it is."""

import numpy as np
import pytest

from benchmarks import replay_steps
from benchmarks.replay_steps import ListReplay, step_table
from tests.needs import needs_core
from tests.tables import walk
from tests.training.bench.described import assert_described
from tests.training.dqn.test_replay import NAMES, Both, Wild
from training.dqn.replay import ReplayLanes
from training.nets import precision

LANES = 3
SMALL = {
    "num_envs": 4,
    "dqn": {
        **{"capacity": 128, "batch_size": 16, "iteration_steps": 8, "n_step": 2},
        **{"net_arch": [8], "num_quantiles": 3, "precision": "fp32"},
    },
}


def written(n_step, rows, capacity):
    """Lists and the twin that has everything, behind so many rows of decisions."""
    engine = Wild(LANES, has_tau=True)
    both = Both([engine], 10 * LANES, n_step)
    both.replay = ListReplay(engine, LANES, capacity, n_step, both.gamma, seed=1)
    both.parts = [ReplayLanes(both.replay, 0, engine)]
    engine.reset_many(5, 0, both.parts[0].destination(behind=False), both.parts[0].legal)
    both.parts[0].store_observation(behind=False)
    rng = np.random.default_rng(2)
    for _ in range(rows):
        both.step(rng)
    return both.replay, both.twin


@walk("n_step", [1, 3])
def test_lists_draw_the_windows_that_a_list_of_all_decisions_has(n_step):
    rows, capacity = 48 + n_step, 40 * LANES  # has forgotten its first decisions
    replay, twin = written(n_step, rows, capacity)
    at = {
        twin.lanes[lane][time]["obs"].tobytes(): (lane, time)
        for lane in range(LANES)
        for time in range(rows)
    }
    assert len(at) == rows * LANES
    batch, seen = replay.sample(4000), set()
    for k in range(len(batch.action)):
        place = at[batch.obs[k].numpy().tobytes()]
        expected = twin.sample(*place)
        for name in NAMES if place not in seen else ():
            ours = getattr(batch, name)[k].numpy()
            np.testing.assert_allclose(ours, expected[name], 1e-6, 1e-6, err_msg=name)
        seen.add(place)
    assert replay.available == len(seen) == capacity
    assert max(time for _, time in seen) >= rows - n_step
    assert {twin.lanes[lane][time]["end"] for lane, time in seen} == {0, 1, 2}


@pytest.fixture(scope="module")
def step_rows():
    with pytest.MonkeyPatch.context() as patch:
        # Building takes a minute; here it is enough that it is asked for.
        patch.setattr(precision.torch, "compile", lambda function, **_: function)
        return replay_steps.rows(1, 0.001, ["Skull King"], SMALL)


@needs_core
@pytest.mark.slow
def test_rows_name_what_ran(step_rows):
    assert [row["step"] for row in step_rows] == list(replay_steps.STEPS)
    stores = ["lists", "lists", "lists", "tensors"]
    ways = ["4 lanes one at a time"] + ["4 lanes at once"] * 3
    networks = ["plain"] * 2 + ["compiled"] * 2
    for row, *parts in zip(step_rows, ways, networks, stores, strict=True):
        assert [row["runner"], row["network"], row["store"]] == parts
        assert row["name"] == ", ".join(parts)
        assert (row["dqn"]["runner"], row["dqn"]["compile"]) == (
            "legacy" if "one at a time" in row["runner"] else "vector",
            "default" if row["network"] == "compiled" else "off",
        )


@pytest.mark.slow
@needs_core
def test_steps_differ_in_what_they_name_alone(step_rows):
    assert len({row["minibatch"] for row in step_rows}) == 1
    assert all(112 <= row["stored"] <= 128 for row in step_rows)
    named = {"runner": None, "compile": None}
    assert len({str(row["dqn"] | named) for row in step_rows}) == 1
    for row in step_rows:
        assert sum(row["us_per_step"].values()) == pytest.approx(1e6 / row["steps_per_cpu_s"])
    rates = [row["steps_per_cpu_s_all"] for row in step_rows]
    for before, rate, row in zip(rates, rates[1:], step_rows[1:], strict=False):
        assert row["over_step_before_all"] == [b / a for a, b in zip(before, rate, strict=True)]


@needs_core
def test_network_that_could_not_be_compiled_is_named_plain(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("no compiler")

    monkeypatch.setattr(precision.torch, "compile", lambda *_, **__: broken)
    step = replay_steps.STEPS["tensor replay"]
    trainer = replay_steps.Trainer(replay_steps.setting("Skull King", step, SMALL), step.store)
    with pytest.warns(RuntimeWarning, match="no compiler"):
        trainer.fill()
    trainer.update()
    assert trainer.names()["network"] == "plain"


@pytest.mark.slow
@needs_core
def test_rows_are_shown_and_described(step_rows):
    assert step_table(step_rows).row_count == len(step_rows)
    assert_described(step_rows)
    for row in step_rows:
        assert {row["ran"][name] for name in ("runner", "network", "store")} == set(
            row["name"].split(", ", 2)
        )
